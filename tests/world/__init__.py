"""Seeded simulations: a whole cluster, random work and faults, and laws that always hold.

`trial` plays one seed, `faults` are what may go wrong in it, `checkers` are the laws, each in a
module of its own. `PODWRIGHT_SEEDS=17` or `0-199` says which seeds the tests take.
"""

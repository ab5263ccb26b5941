"""Seeded simulations: a whole cluster, random workloads and faults, and laws that always hold.

`trial` simulates one seed, `faults` contains the possible faults, and `checkers` the laws, each in
its own module. `PODWRIGHT_SEEDS=17` or `0-199` selects the seeds.
"""

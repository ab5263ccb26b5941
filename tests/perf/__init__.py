"""Benchmarks of speed and size. `make bench` runs them and asserts nothing.

Start with `bench`, which runs each case in a separate process. `engine` has the cases of the
engine, `templates` the nodes and pods of upstream's scheduler_perf, and `figures/` the results of
the releases.
"""

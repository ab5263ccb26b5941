"""Benchmarks: how fast, and how large. `make bench` runs them and asserts nothing.

Start with `bench`, which runs each case in a process of its own; `engine` holds the cases of
the engine, `templates` the nodes and pods of upstream's scheduler_perf, `figures/` what the
releases measured.
"""

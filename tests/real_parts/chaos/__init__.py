"""Real clusters with faults from seeds: ``python -m tests.real_parts.chaos scheduler --seeds 0-9``.

`cluster` runs the real control plane, whose processes can be killed; `faults` draws faults, and
injects them; `changes` draws changes of objects of every mirrored kind; `client` sends requests to
a server that may be gone. A scenario is a function in a module of its name: it runs a part of
podwright on such a cluster for one seed, waits until the cluster is quiet, and returns what is
wrong then. `__main__` has the table of scenarios.

The seed decides on the changes, the faults and their order. The time of a reply is that of the
machine, so a seed that failed once may pass: the folder of a failed run is kept.
"""

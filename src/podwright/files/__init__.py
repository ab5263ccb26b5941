"""Files in and out: manifests, snapshots, records of a cluster and logs of its scheduler.

Reads bytes and gives objects, or lines with their times; writes snapshots. It knows the store's
kinds, and neither a scheduler nor a simulation.

Start with `manifests.py`.
"""

"""Above the I/O line: sockets, clocks and processes around what the other floors do.

Start in `apiserver`, a cluster that speaks the Kubernetes API, or `live`, a scheduler for one.
"""

"""What a write means: the semantics of kube-apiserver, without a server.

Defaults, admission, validation, binding, eviction, and the objects that an API server makes by
itself. It reads no clock and opens nothing; the store below it knows versions and indexes only.
"""

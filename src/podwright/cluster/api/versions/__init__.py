"""The resources of a cluster: what serves a kind in which version, and how it is stored."""

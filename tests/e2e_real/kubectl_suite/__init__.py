"""Upstream's tests of kubectl, on `podwright up` and on upstream's control plane."""

"""Upstream's end-to-end suite against `podwright up`: ``make e2e-conformance``."""

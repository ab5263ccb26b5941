"""The stores that the tests run on."""

from podwright.cluster.api.tests.writable import make, store

__all__ = ["make", "store"]

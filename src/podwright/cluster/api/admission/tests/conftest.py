"""A server in the bare set-up, as the tests of the HTTP door have it."""

from podwright.cluster.api.endpoints.tests.conftest import server

__all__ = ["server"]

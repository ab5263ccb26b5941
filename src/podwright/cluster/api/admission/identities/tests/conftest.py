"""The server of the endpoints' tests."""

from podwright.cluster.api.endpoints.tests.conftest import server as server  # noqa: PLC0414 - a fixture

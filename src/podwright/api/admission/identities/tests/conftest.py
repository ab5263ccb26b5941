"""The server of the endpoints' tests."""

from podwright.api.endpoints.tests.conftest import server as server  # noqa: PLC0414 - a fixture

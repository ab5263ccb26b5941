"""Which Host and Origin headers are served."""

import pytest

from podwright.apiserver.hosts import AllowedHosts, forbidden


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": "127.0.0.1:8180"},
        {"host": "localhost"},
        {"host": "LOCALHOST:1"},
        {"host": "[::1]:8180"},
        {"host": "127.0.0.1", "origin": "http://localhost:3000"},
    ],
)
def test_loopback_is_served(headers):
    assert not AllowedHosts().rejection(headers)


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "rebound.example:8180"},
        {"host": "127.0.0.1.rebound.example"},
        {"host": "[::1"},
        {"host": "127.0.0.1", "origin": "https://site.example"},
        {"host": "127.0.0.1", "origin": "null"},
    ],
)
def test_other_names_are_not(headers):
    message = AllowedHosts().rejection(headers)
    assert headers.get("origin", headers["host"]) in message
    reply = forbidden(message)
    assert reply.status == 403
    assert b'"reason":"Forbidden"' in reply.body


def test_names_can_be_added():
    hosts = AllowedHosts({"cluster.example"})
    assert not hosts.rejection({"host": "Cluster.example:8443"})
    assert hosts.rejection({"host": "127.0.0.1"})

"""Health checks: each path, single checks, verbose output and exclusions."""

from __future__ import annotations

import pytest

from podwright.cluster.api.endpoints.served.plain_paths import CHECKS


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/livez/ping", "/readyz/etcd"])
def test_a_server_that_answers_is_healthy(server, path):
    assert server.reply("GET", path) == (200, "ok")


def test_verbose_output_has_a_line_for_each_check(server):
    status, text = server.reply("GET", "/livez?verbose=1")
    assert status == 200
    *lines, last, end = text.split("\n")
    assert lines == [f"[+]{name} ok" for name in CHECKS]
    assert (last, end) == ("livez check passed", "")
    assert "[+]informer-sync ok\n" in server.reply("GET", "/readyz?verbose")[1]


def test_checks_are_excluded_by_name(server):
    _, text = server.reply("GET", "/readyz?verbose&exclude=etcd&exclude=b&exclude=a")
    assert "[+]etcd excluded: ok\n" in text
    assert 'cannot be excluded: no matches for "a", "b"\n' in text


@pytest.mark.parametrize("path", ["/livez/nosuch", "/healthz/", "/livezz"])
def test_other_checks_are_not_found(server, path):
    assert server.reply("GET", path)[0] == 404

"""The texts of the health endpoints, beside those that kube-scheduler 1.36 was seen to reply."""

from __future__ import annotations

import pytest

from podwright.online.live.health_server import health_checks, health_text


def checks(*, is_listed=True, is_stopping=False, is_renewed=True, elects=True):
    return health_checks(
        lambda: is_listed, lambda: is_stopping, (lambda: is_renewed) if elects else None
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/healthz", "[+]leaderElection ok\nhealthz check passed\n"),
        ("/livez", "[+]ping ok\nlivez check passed\n"),
        (
            "/readyz",
            "[+]leaderElection ok\n[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n",
        ),
    ],
)
def test_what_passes_is_ok_and_listed_on_request(path, text):
    assert health_text(path, checks()[path]) == (True, "ok")
    assert health_text(path, checks()[path], is_verbose=True) == (True, text)


@pytest.mark.parametrize(
    ("path", "state", "failed"),
    [
        pytest.param("/readyz", {"is_listed": False}, "sched-handler-sync", id="not listed"),
        pytest.param("/readyz", {"is_stopping": True}, "shutdown", id="about to end"),
        pytest.param("/readyz", {"is_renewed": False}, "leaderElection", id="lease not renewed"),
        pytest.param("/healthz", {"is_renewed": False}, "leaderElection", id="health, too"),
    ],
)
def test_what_fails_is_named(path, state, failed):
    passes, text = health_text(path, checks(**state)[path])
    assert not passes
    assert f"[-]{failed} failed: reason withheld\n" in text
    assert text.endswith(f"{path[1:]} check failed\n")
    assert health_text(path, checks(**state)[path], excluded=[failed]) == (True, "ok")


def test_without_an_election_nothing_is_said_of_one():
    names = {path: [each.name for each in own] for path, own in checks(elects=False).items()}
    assert names == {
        "/healthz": ["ping"],
        "/livez": ["ping"],
        "/readyz": ["shutdown", "sched-handler-sync"],
    }


def test_a_check_that_does_not_exist_cannot_be_excluded():
    _, text = health_text("/livez", checks()["/livez"], excluded=["z", "a"], is_verbose=True)
    assert text == (
        '[+]ping ok\nwarn: some health checks cannot be excluded: no matches for "a","z"\n'
        "livez check passed\n"
    )


def test_what_is_excluded_is_listed_so():
    _, text = health_text("/readyz", checks()["/readyz"], excluded=["shutdown"], is_verbose=True)
    assert text == (
        "[+]leaderElection ok\n[+]shutdown excluded: ok\n[+]sched-handler-sync ok\n"
        "readyz check passed\n"
    )

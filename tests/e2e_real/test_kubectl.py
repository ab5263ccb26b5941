"""kubectl prints on the embedded cluster what it prints on upstream's control plane."""

from __future__ import annotations

import pytest
from tests.e2e_real.__main__ import (
    differences,
    outputs_of_both,
    outputs_with_running_pods,
    outputs_without_controllers,
)
from tests.e2e_real.cluster_processes import embedded, kubectl
from tests.e2e_real.kubectl_outputs import MORE_SESSION, PODS_SESSION, commands

pytestmark = pytest.mark.e2e


def test_a_session_of_kubectl_is_as_with_upstream(tmp_path):
    expected, found = outputs_of_both(tmp_path)
    assert [each.command for each in found] == [line.removeprefix("~ ") for line in commands()]
    lines = differences(list(zip(expected, found, strict=True)))
    assert not lines, "\n".join(lines)


@pytest.mark.share
def test_a_session_without_controllers_is_as_with_upstream(tmp_path):
    expected, found = outputs_without_controllers(tmp_path)
    assert len(found) >= 90
    lines = differences(list(zip(expected, found, strict=True)))
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("session", [PODS_SESSION, MORE_SESSION])
def test_a_session_with_running_pods_is_as_with_upstream(tmp_path, session):
    expected, found = outputs_with_running_pods(tmp_path, session)
    assert len(found) >= 90
    lines = differences(list(zip(expected, found, strict=True)))
    assert not lines, "\n".join(lines)


@pytest.mark.share
def test_a_wait_that_gives_up_over_http2_says_nothing_else(tmp_path, monkeypatch):
    # client-go's reflector warns where a watch of less than a second ends before it looks whether
    # it was stopped: over HTTP/1.1 in 4 of 6 waits, on kube-apiserver too. Over HTTP/2 only where
    # the watch begins in the moment in which kubectl gives up: of 120 waits of 3 to 42 ms, one on
    # kube-apiserver and three here.
    line = "error: timed out waiting for the condition on pods/web\n"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with embedded(tmp_path, "--nodes", "1", "--tls") as kubeconfig:
        assert kubectl(kubeconfig, "run", "web", "--image=app").returncode == 0
        wait = ("wait", "--for=delete", "pod/web", "--timeout=1s")
        found = [kubectl(kubeconfig, *wait).stderr for _ in range(6)]
    assert all(each.endswith(line) for each in found)
    assert found.count(line) >= 5, found

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
def test_a_wait_that_gives_up_says_nothing_else_over_http2(tmp_path, monkeypatch):
    # Over HTTP/1.1, client-go's reflector may warn before it stops, on kube-apiserver too.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with embedded(tmp_path, "--nodes", "1", "--tls") as kubeconfig:
        assert kubectl(kubeconfig, "run", "web", "--image=app").returncode == 0
        for _ in range(6):
            found = kubectl(kubeconfig, "wait", "--for=delete", "pod/web", "--timeout=1s")
            assert found.stderr == "error: timed out waiting for the condition on pods/web\n"

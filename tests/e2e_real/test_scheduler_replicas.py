"""Replicas of the live scheduler on upstream's kube-apiserver: killed, and with lost replies."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from tests.e2e.forgetful_proxy import forgetful
from tests.e2e_real.audit import Requests, audited, own_kubeconfig
from tests.e2e_real.cluster_processes import kubectl
from tests.e2e_real.test_sync import NODES, apply, node, pod, pods
from tests.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

DEPLOY = Path(__file__).parents[2] / "deploy"
PODS = 300
CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": "podwright"}],
    "clientConnection": {"qps": 1000, "burst": 1000},
    "leaderElection": {"leaseDuration": "8s", "renewDeadline": "6s", "retryPeriod": "1s"},
}


@contextmanager
def replica(
    folder: Path, name: str, *options: str
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Run `podwright scheduler` for the time of a block; yields it and its output."""
    log = folder / f"{name}.log"
    command = [str(Path(sys.executable).with_name("podwright")), "scheduler", *options]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        yield process, log
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(60)


def load(first: int) -> list[object]:
    made = [pod(f"p{number}", cpu="50m") for number in range(first, first + PODS // 3)]
    for each in made:
        each["spec"] |= {"schedulerName": "podwright", "tolerations": [{"operator": "Exists"}]}
    return made


def bound(cluster: Path) -> int:
    return sum(map(bool, pods(cluster).values()))


def scheduled(cluster: Path) -> set[str]:
    """Return the pods that have an Event of their binding."""
    items = json.loads(kubectl(cluster, "get", "events", "-o", "json").stdout)["items"]
    return {each["involvedObject"]["name"] for each in items if each["reason"] == "Scheduled"}


def is_leader(log: Path) -> bool:
    return "this replica is the leader" in log.read_text()


def test_no_pod_is_bound_twice_and_none_is_forgotten(tmp_path):
    config = tmp_path / "scheduler.yaml"
    config.write_text(yaml.safe_dump(CONFIGURATION))
    with audited(tmp_path) as (cluster, log):
        applied = kubectl(cluster, "apply", "-k", str(DEPLOY / "scheduler"))
        assert applied.returncode == 0, applied.stderr
        apply(cluster, *(node(f"n{number}") for number in range(NODES)))
        server = yaml.safe_load(cluster.read_text())["clusters"][0]["cluster"]["server"]
        with forgetful(server, every=5) as (address, cut):
            own = own_kubeconfig(cluster, tmp_path, "podwright-scheduler", server=address)
            options = ("--kubeconfig", str(own), "--config", str(config))
            with replica(tmp_path, "a", *options) as (first, first_log):
                until(lambda: is_leader(first_log))
                with replica(tmp_path, "b", *options) as (second, second_log):
                    apply(cluster, *load(0))
                    until(lambda: bound(cluster) > PODS // 10)
                    first.kill()
                    apply(cluster, *load(PODS // 3))
                    until(lambda: is_leader(second_log))
                    # A third replica takes over from one that ends as it should.
                    with replica(tmp_path, "c", *options) as (_, third_log):
                        apply(cluster, *load(2 * PODS // 3))
                        second.send_signal(signal.SIGTERM)
                        until(lambda: is_leader(third_log))
                        until(lambda: bound(cluster) == PODS)
                        second.wait(60)
                        # The replicas that have ended may have taken Events with them.
                        last = [f"p{number}" for number in range(PODS, PODS + 5)]
                        apply(cluster, *load(PODS)[:5])
                        until(lambda: set(last) <= scheduled(cluster))
        succeeded = Counter(
            name
            for name, status in Requests(log, "podwright-scheduler").bindings()
            if status == 201
        )
        assert set(succeeded.values()) == {1}
        assert len(succeeded) == PODS + 5
        assert len(cut) > PODS // 10
        assert second.returncode == 0
        assert "pods were bound" in second_log.read_text()
        # 8 CPUs per node.
        assert max(Counter(pods(cluster).values()).values()) <= 160

"""A sync, a record and a scheduler on upstream's kube-apiserver."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import yaml
from tests.e2e_real.cluster_processes import embedded, kubeconfig_of, kubectl, upstream
from tests.real_parts import control_plane
from tests.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

NODES = 4


class Cuttable:
    """A TCP proxy whose connections can be cut."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._open: list[socket.socket] = []
        self._is_closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Cut all connections."""
        while self._open:
            with suppress(OSError):
                self._open.pop().shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Accept no more connections."""
        self._is_closed = True
        self._listening.close()
        self.cut()

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            self._open += [client, server]
            for pair in ((client, server), (server, client)):
                threading.Thread(target=self._copy, args=pair, daemon=True).start()

    @staticmethod
    def _copy(source: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                to.sendall(data)
        for each in (source, to):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        source.close()


@contextmanager
def running(folder: Path, name: str, *command: str) -> Iterator[Path]:
    """Run a command of podwright for the time of a block; yields its output."""
    log = folder / f"{name}.log"
    with log.open("wb") as output:
        podwright = Path(sys.executable).with_name("podwright")
        process = subprocess.Popen([str(podwright), *command], stdout=output, stderr=output)
    try:
        yield log
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def apply(kubeconfig: Path, *objects: object) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    done = kubectl(kubeconfig, "apply", "--validate=false", "-f", "-", stdin=json.dumps(listed))
    assert done.returncode == 0, done.stderr


def node(name: str, *, cpu: str = "8"):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {
            "allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "110"},
            "capacity": {"cpu": cpu, "memory": "16Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def add_nodes(kubeconfig: Path) -> None:
    names = [f"n{number}" for number in range(NODES)]
    apply(kubeconfig, *(node(name) for name in names))
    kubectl(kubeconfig, "taint", "node", "--all", "node.kubernetes.io/not-ready-")


def pod(name: str, *, cpu: str = "100m"):
    requests = {"requests": {"cpu": cpu}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": requests}]},
    }


def pods(kubeconfig: Path) -> dict[str, str]:
    """Return the nodes of the pods in `default`, by name."""
    done = kubectl(kubeconfig, "get", "pods", "-n", "default", "-o", "json")
    items = json.loads(done.stdout)["items"]
    return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in items}


def terminating(kubeconfig: Path) -> list[str]:
    """Return the names of pods that were deleted and are still there."""
    done = kubectl(kubeconfig, "get", "pods", "-n", "default", "-o", "json")
    items = json.loads(done.stdout)["items"]
    return [e["metadata"]["name"] for e in items if e["metadata"].get("deletionTimestamp")]


def recorded_pods(record: Path) -> set[str]:
    """Return the pods at the end of a record, which may be in the middle of a line."""
    podwright = Path(sys.executable).with_name("podwright")
    listed = subprocess.run(
        [podwright, "convert", record, "-o", "name"], capture_output=True, text=True, check=False
    ).stdout.split()
    return {name.rpartition("/")[2] for name in listed if name.startswith("pod/default/")}


def test_a_sync_survives_cut_connections(tmp_path):
    with (
        upstream(tmp_path / "real", controllers=None, has_scheduler=False) as source,
        embedded(tmp_path / "ours", "--no-controllers") as target,
    ):
        document = yaml.safe_load(source.read_text())
        cluster = document["clusters"][0]["cluster"]
        proxy = Cuttable(int(cluster["server"].rpartition(":")[2]))
        cluster["server"] = f"https://127.0.0.1:{proxy.port}"
        through = tmp_path / "through"
        through.write_text(yaml.safe_dump(document))
        add_nodes(source)
        apply(source, *(pod(f"before-{number}") for number in range(5)))
        record = tmp_path / "record.jsonl"
        to = yaml.safe_load(target.read_text())["clusters"][0]["cluster"]["server"]
        with (
            running(tmp_path, "sync", "sync", "--kubeconfig", str(through), "--to", to) as log,
            running(
                tmp_path, "record", "record", "--kubeconfig", str(through), "--out", str(record)
            ),
        ):
            until(lambda: len(pods(target)) == 5)
            for round_number in range(3):
                proxy.cut()
                apply(source, *(pod(f"r{round_number}-{number}") for number in range(5)))
                kubectl(source, "delete", "pod", f"before-{round_number}", "--force")
                if round_number == 1:
                    kubectl(source, "delete", "pod", "r0-0", "--force")
                    apply(source, pod("r0-0", cpu="200m"))
                proxy.cut()
            expected = set(pods(source))
            until(lambda: set(pods(target)) == expected)
            until(lambda: all(pods(target).values()))
            until(lambda: recorded_pods(record) == expected)
        proxy.close()
        assert "errors:" not in log.read_text()
        assert set(pods(target)) == expected
        assert set(pods(source).values()) == {""}, "the source was written to"
        # The record has the same objects at its end, each added once.
        assert recorded_pods(record) == expected


def test_a_sync_catches_up_after_a_restart_and_a_compaction(tmp_path):
    with (
        control_plane.running() as plane,
        embedded(tmp_path / "ours", "--no-controllers") as target,
    ):
        source = tmp_path / "source"
        source.write_text(yaml.safe_dump(kubeconfig_of(plane.address)))
        add_nodes(source)
        apply(source, *(pod(f"before-{number}") for number in range(5)))
        log = tmp_path / "sync.log"
        podwright = Path(sys.executable).with_name("podwright")
        command = [podwright, "sync", "--kubeconfig", source, "--to", f"ours={target}"]
        with log.open("wb") as output:
            process = subprocess.Popen([*map(str, command)], stdout=output, stderr=output)
        try:
            until(lambda: len(pods(target)) == 5)
            # While it stands still, it misses changes whose versions are then removed.
            process.send_signal(signal.SIGSTOP)
            apply(source, *(pod(f"missed-{number}") for number in range(5)))
            kubectl(source, "delete", "pod", "before-0", "before-1", "--force")
            apply(source, pod("before-1", cpu="200m"))
            plane.compact()
            plane.restart_server()
            process.send_signal(signal.SIGCONT)
            expected = {f"before-{number}" for number in range(1, 5)}
            expected |= {f"missed-{number}" for number in range(5)}
            until(lambda: set(pods(target)) == expected)
            again = kubectl(target, "get", "pod", "before-1", "-o", "json").stdout
            containers = json.loads(again)["spec"]["containers"]
            assert containers[0]["resources"]["requests"]["cpu"] == "200m"
            apply(source, pod("last"))
            until(lambda: set(pods(target)) == expected | {"last"})
            until(lambda: all(pods(target).values()))
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
        assert "errors:" not in log.read_text()
        assert "too old resource version" in log.read_text()


def test_the_scheduler_binds_on_a_real_server_and_preempts(tmp_path):
    with upstream(tmp_path / "real", controllers=None, has_scheduler=False) as cluster:
        add_nodes(cluster)
        apply(
            cluster,
            {
                "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": {"name": "high"}, "value": 1000,
            },
            *(pod(f"p{number}") for number in range(40)),
        )  # fmt: skip
        with running(
            tmp_path, "scheduler", "scheduler", "--kubeconfig", str(cluster), "--no-leader-elect"
        ) as log:
            until(lambda: all(pods(cluster).values()))
            counts = [list(pods(cluster).values()).count(f"n{number}") for number in range(NODES)]
            assert max(counts) - min(counts) <= 4, counts
            high = pod("high", cpu="7500m")
            high["spec"]["priorityClassName"] = "high"
            apply(cluster, high)
            victims = until(lambda: terminating(cluster))
            preemptor = kubectl(cluster, "get", "pod", "high", "-o", "json").stdout
            assert json.loads(preemptor)["status"]["nominatedNodeName"]
            # No kubelet ends them.
            kubectl(cluster, "delete", "pod", "--force", *victims)
            until(lambda: pods(cluster).get("high"))
            described = kubectl(cluster, "describe", "pod", "high").stdout
            assert "Successfully assigned default/high" in described
        assert "bound" in log.read_text()

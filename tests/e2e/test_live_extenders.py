"""`podwright scheduler` with an extender that does not reply in time."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler

import pytest
import yaml
from tests.e2e.command_line import NODES
from tests.e2e.test_live_scheduler import OFF, scheduling
from tests.e2e.test_sync import PODS, new_pod, node_of, send, server_of
from tests.e2e_real.cluster_processes import embedded
from tests.http_servers import serving
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.share]


class _Handler(BaseHTTPRequestHandler):
    calls: list[str]
    replies: threading.Event

    def do_POST(self) -> None:
        arguments = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.calls.append(arguments["Pod"]["metadata"]["name"])
        self.replies.wait()
        body = json.dumps({"NodeNames": arguments["NodeNames"]}).encode()
        # The caller of an early request has left.
        with suppress(OSError):
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)


@contextmanager
def extender() -> Iterator[tuple[str, list[str], threading.Event]]:
    """Run an extender; yields its address, the pods of its calls, and what lets it reply."""
    calls: list[str] = []
    replies = threading.Event()
    with serving(_Handler, calls=calls, replies=replies) as address:
        try:
            yield address, calls, replies
        finally:
            replies.set()


@contextmanager
def cluster_with(folder, address, *, is_ignorable):
    """Run a cluster, and the scheduler with an extender; yields the cluster's address."""
    called = {
        "urlPrefix": address,
        "filterVerb": "filter",
        "httpTimeout": "2s",
        "nodeCacheCapable": True,
        "ignorable": is_ignorable,
    }
    config = folder / "scheduler.yaml"
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config.write_text(yaml.safe_dump(head | {"extenders": [called]}))
    manifests = folder / "nodes.yaml"
    manifests.write_text(NODES)
    with embedded(folder / "up", *OFF, str(manifests)) as kubeconfig:
        server = server_of(kubeconfig)
        options = ("--server", server, "--config", str(config), "--no-leader-elect")
        with scheduling(folder, "extended", *options):
            yield server


def test_pods_are_bound_without_an_ignorable_extender_that_does_not_reply(tmp_path):
    with (
        extender() as (address, calls, _),
        cluster_with(tmp_path, address, is_ignorable=True) as server,
    ):
        for name in ("web", "db"):
            send(server, "POST", PODS, new_pod(name))
        assert until(lambda: all(node_of(server, name) for name in ("web", "db")))
    assert set(calls) == {"web", "db"}


def test_a_pod_whose_extender_does_not_reply_says_so_and_is_tried_again(tmp_path):
    def condition():
        status = send(server, "GET", f"{PODS}/web")[1].get("status", {})
        return next(iter(status.get("conditions", ())), None)

    with (
        extender() as (address, calls, replies),
        cluster_with(tmp_path, address, is_ignorable=False) as server,
    ):
        send(server, "POST", PODS, new_pod("web"))
        found = until(condition)
        assert (found["type"], found["status"]) == ("PodScheduled", "False")
        assert "no reply within 2s (httpTimeout)" in found["message"]
        assert node_of(server, "web") == ""
        replies.set()
        assert until(lambda: node_of(server, "web"))
    assert len(calls) > 1

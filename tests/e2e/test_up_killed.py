"""`podwright up` killed at random moments under load: what was acknowledged is there."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import signal
import threading
import time

import pytest
from tests.e2e.test_up import PODS, pod, up
from tests.waiting import until

KILLS = 50
KILLS_IN_CI = 2
LOST = (http.client.HTTPException, ConnectionError, TimeoutError, ValueError)


SEEDS = [
    pytest.param(seed, marks=pytest.mark.share) if seed < KILLS_IN_CI else seed
    for seed in range(KILLS)
]


class Watcher(threading.Thread):
    """Watches all pods, and keeps where each was bound, and the last version that it read."""

    def __init__(self, port, version, bound):
        super().__init__(daemon=True)
        self.port, self.version, self.bound = port, version, bound
        self.has_begun, self.is_expired = threading.Event(), False
        self.events = 0

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection), contextlib.suppress(*LOST, AttributeError):
            path = f"/api/v1/pods?watch=true&resourceVersion={self.version}"
            connection.request("GET", path)
            response = connection.getresponse()
            assert response.status == 200
            self.has_begun.set()
            while line := response.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    assert event["object"]["code"] == 410, event
                    self.is_expired = True
                    return
                self.take(event["object"])

    def take(self, found):
        metadata = found["metadata"]
        assert int(metadata["resourceVersion"]) > int(self.version), "an event was repeated"
        self.events += 1
        self.version = metadata["resourceVersion"]
        node = found["spec"].get("nodeName")
        if node:
            # A pod is bound once, before a kill and after it.
            assert self.bound.setdefault(metadata["uid"], node) == node
        else:
            assert metadata["uid"] not in self.bound


def write(cluster, prefix, acknowledged):
    """Create pods one after the other until the server is gone."""
    connection = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=60)
    with contextlib.closing(connection), contextlib.suppress(*LOST):
        for number in range(100_000):
            name = f"{prefix}-{number}"
            connection.request("POST", PODS, json.dumps(pod(name)))
            response = connection.getresponse()
            created = json.loads(response.read())
            if response.status != 201:
                return
            acknowledged[name] = created["metadata"]["uid"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_kill_under_load_loses_nothing_that_was_acknowledged(tmp_path, seed):
    database = str(tmp_path / "cluster.db")
    draw = random.Random(seed)
    acknowledged: dict[str, str] = {}
    bound: dict[str, str] = {}
    with up(tmp_path, "--nodes", "20", "--db", database) as cluster:
        version = cluster.send("GET", "/api/v1/pods")[1]["metadata"]["resourceVersion"]
        watcher = Watcher(cluster.port, version, bound)
        watcher.start()
        assert watcher.has_begun.wait(60)
        writers = [
            threading.Thread(target=write, args=(cluster, f"w{number}", acknowledged))
            for number in range(4)
        ]
        for writer in writers:
            writer.start()
        until(lambda: acknowledged and watcher.events, pause_seconds=0.005)
        # The process may die at any moment of the load, drawn with the seed.
        time.sleep(draw.uniform(0, 1.5))
        cluster.end(signal.SIGKILL)
        for thread in (*writers, watcher):
            thread.join(60)
    with up(tmp_path, "--db", database) as cluster:
        listed = cluster.send("GET", "/api/v1/pods")[1]
        found = {each["metadata"]["name"]: each for each in listed["items"]}
        for name, uid in acknowledged.items():
            assert found[name]["metadata"]["uid"] == uid
        for each in listed["items"]:
            node = bound.get(each["metadata"]["uid"])
            assert node is None or each["spec"].get("nodeName") == node
        resumed = Watcher(cluster.port, watcher.version, bound)
        resumed.start()
        assert resumed.has_begun.wait(60)
        assert cluster.send("POST", PODS, pod("last"))[0] == 201
        last = cluster.eventually(f"{PODS}/last", lambda _: True)["metadata"]
        until(
            lambda: resumed.is_expired or int(resumed.version) >= int(last["resourceVersion"]),
            pause_seconds=0.01,
        )
        assert cluster.end() == 0

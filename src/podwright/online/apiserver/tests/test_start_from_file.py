"""A server that starts from the file of a store."""

from __future__ import annotations

from contextlib import closing

from podwright.cluster.store import open_store
from podwright.cluster.store.tests.documents import document
from podwright.online.apiserver import new_cluster
from podwright.online.apiserver.tests.conftest import SERVER, START_NS
from podwright.scheduler.machine import SchedulerOptions

EVENTS = 40
EVENT = ("", "Event")
SECOND_NS = 1_000_000_000


def test_events_are_not_read_when_a_server_starts(tmp_path):
    path = tmp_path / "cluster.db"
    with closing(open_store(path)) as store:
        store.advance(START_NS)
        for number in range(EVENTS):
            store.put(
                document(
                    "Event",
                    f"web.{number}",
                    metadata={"namespace": "default", "uid": f"u-{number}"},
                    involvedObject={"kind": "Pod", "name": "web", "uid": "u"},
                    lastTimestamp="2026-01-01T00:00:00Z",
                )
            )
    with closing(open_store(path)) as store:
        cluster = new_cluster(
            SchedulerOptions(), store=store, now_ns=START_NS, server_options=SERVER
        )
        for second in range(3):
            cluster.catch_up(START_NS + second * SECOND_NS, lambda: False)
        assert store.count(EVENT) == EVENTS
        assert sum(obj is None for _, _, obj in store._tables[EVENT].states()) == EVENTS
        assert not store._at_rest._decoded, "an Event was read"
        assert len(store.list(EVENT).objects) == EVENTS
        assert store._at_rest._decoded

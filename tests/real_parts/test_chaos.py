"""What the runs with faults draw, and how their scenarios read a cluster."""

from __future__ import annotations

import pytest
from tests.real_parts.chaos import scheduler
from tests.real_parts.chaos.__main__ import seeds_of
from tests.real_parts.chaos.changed_kinds import CHANGED_KINDS
from tests.real_parts.chaos.changes import Changes
from tests.real_parts.chaos.client import Client, Reply

from podwright.online.sync import source_kinds


class Recorded(Client):
    """Replies to requests without sending them; every fifth reply is lost."""

    def __init__(self):
        self.requests = []

    def send(self, verb, path, body=None, content_type=""):
        self.requests.append((verb, path, body))
        return Reply(0 if len(self.requests) % 5 == 0 else 200)


def changed(seed):
    client = Recorded()
    changes = Changes(client, seed)
    changes.prepare()
    for _ in range(2_000):
        changes.step()
    return client.requests


def test_a_seed_gives_the_same_changes():
    assert changed(1) == changed(1)
    assert changed(1) != changed(2)


def test_objects_of_every_mirrored_kind_are_created_changed_and_deleted():
    assert {kind.resource for kind in CHANGED_KINDS} == {kind.resource for kind in source_kinds()}
    requests = changed(1)
    for kind in source_kinds():
        verbs = {verb for verb, path, _ in requests if f"/{kind.resource}" in path}
        assert verbs == {"POST", "PATCH", "DELETE"}, kind.resource


@pytest.mark.parametrize(
    ("text", "seeds"), [("3", [3]), ("0-3", [0, 1, 2, 3]), ("1,4,7-9", [1, 4, 7, 8, 9])]
)
def test_seeds(text, seeds):
    assert seeds_of(text) == seeds


def test_a_node_that_is_over_committed_is_found():
    resources = {"cpu": "1", "pods": "2", "example.com/gpu": "1"}
    node = {"metadata": {"name": "n"}, "status": {"allocatable": resources}}

    def pod(cpu, node_name):
        container = {"resources": {"requests": {"cpu": cpu}}}
        return {"spec": {"nodeName": node_name, "containers": [container]}}

    free = scheduler.free_of([node], [pod("700m", "n"), pod("400m", "n"), pod("500m", "")])
    assert free == {"n": {"milli_cpu": -100, "gpus": 1, "pods": 0}}

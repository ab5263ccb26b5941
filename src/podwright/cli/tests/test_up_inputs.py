"""The initial objects of `podwright up`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.apimachinery.objects import InputError
from podwright.apimachinery.schema import decode
from podwright.cli.inputs import Inputs
from podwright.cli.options import Setup
from podwright.cli.serving.up_inputs import add_inputs, event_files, inputs_of
from podwright.cluster.api.tests.writable import WritableStore
from podwright.cluster.store import ObjectStore
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of
from podwright.scheduler.config import Gates
from podwright.simulation.files import LoadedObjects, load_bytes
from podwright.simulation.world import Apply, Create, Put

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "1"},
    "spec": {"nodeName": "far", "containers": [{"name": "main", "image": "web"}]},
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize("is_partial", [True, False])
def test_pods_of_a_selection_may_be_on_nodes_that_were_not_selected(is_partial):
    loaded = load_bytes([("pods.json", json.dumps(POD).encode())])
    read = Inputs(loaded, None, [], Gates(), "", {}, is_partial)

    def initial_names() -> list[str]:
        inputs = inputs_of(
            read,
            (),
            Setup(),
            nodes=0,
            has_storage_class=False,
            has_drivers=False,
            store=ObjectStore(),
            start_ns=0,
        )
        return [each.obj.name for _, each in inputs if isinstance(each, Put)]

    if is_partial:
        assert initial_names() == ["web"]
    else:
        with pytest.raises(InputError, match='there is no Node "far"'):
            initial_names()


CLASS = {
    "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "own"},
    "provisioner": "example.com/p",
}  # fmt: skip
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}


def names(
    *documents: Any,
    is_new: bool = True,
    nodes: int = 0,
    has_storage_class: bool = False,
    has_drivers: bool = False,
) -> list[str]:
    """Return the initial objects of a cluster, by kind and name."""
    store = WritableStore()
    if not is_new:
        store.create(decode(NODE), 0)
    data = "\n".join(json.dumps(each) for each in documents).encode()
    loaded = load_bytes([("f.jsonl", data)]) if documents else LoadedObjects()
    inputs = inputs_of(
        Inputs(loaded, None, [], Gates(), "", {}, False),
        (),
        Setup(),
        nodes=nodes,
        has_storage_class=has_storage_class,
        has_drivers=has_drivers,
        store=store,
        start_ns=0,
    )
    put = [each.obj for _, each in inputs if isinstance(each, Apply | Create | Put)]
    return [f"{each.kind}/{each.metadata.name}" for each in put]


STANDARD = "StorageClass/standard"


@pytest.mark.parametrize(
    ("documents", "settings", "expected"),
    [
        pytest.param([], {}, [], id="nothing"),
        pytest.param([], {"has_storage_class": True}, [STANDARD], id="a default class"),
        pytest.param([CLASS], {"has_storage_class": True}, ["StorageClass/own"],
                     id="no other class than those of the files"),
        pytest.param([], {"has_storage_class": True, "is_new": False}, [],
                     id="it is created at the first start alone"),
        pytest.param([NODE], {}, ["Node/n1"], id="objects of files"),
        pytest.param([NODE], {"is_new": False}, [], id="objects that are there are left"),
        pytest.param([CLASS], {"is_new": False}, ["StorageClass/own"], id="others are created"),
        pytest.param([], {"has_drivers": True},
                     ["CustomResourceDefinition/devicecards.podwright.dev"],
                     id="cards that drivers publish"),
    ],
)  # fmt: skip
def test_what_a_cluster_has_at_its_start(documents, settings, expected):
    assert names(*documents, **settings) == expected


def test_generated_nodes_precede_those_of_files():
    found = names(NODE, nodes=2)
    assert (len(found), found[-1]) == (3, "Node/n1")
    assert all(each.startswith("Node/") for each in found)


def test_what_is_due_at_the_start_is_done_and_the_rest_at_its_time(tmp_path):
    cluster = cluster_of()
    file = tmp_path / "events.jsonl"
    config = {"apiVersion": "v1", "kind": "ConfigMap"}
    due = {"first": 0, "second": 0, "third": 1, "fourth": 1, "fifth": 2}
    lines = [
        {"at": f"{seconds}s", "apply": config | {"metadata": {"name": name}}}
        for name, seconds in due.items()
    ]
    file.write_text("".join(json.dumps(each) + "\n" for each in lines))
    inputs = inputs_of(
        Inputs(LoadedObjects(), None, [], Gates(), "", {}, False),
        event_files([str(file)]),
        Setup(),
        nodes=0,
        has_storage_class=False,
        has_drivers=False,
        store=cluster.store,
        start_ns=START_NS,
    )
    add_inputs(cluster, inputs, START_NS)
    found = []
    for seconds in range(3):
        while not cluster.catch_up(START_NS + seconds * 10**9, lambda: False):
            pass
        keys = {obj.name for obj in cluster.store.list(("", "ConfigMap")).objects}
        found.append([name for name in due if name in keys])
    assert found == [["first", "second"], ["first", "second", "third", "fourth"], list(due)]

"""Services and controllers, whose selectors spread pods by default."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from podwright.apimachinery.objects import Object
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns.workloads import WorkloadIndex

OF_APPS = {"matchLabels": {"app": "a"}}
SELECTORS: dict[str, Any] = {
    "Service": {"app": "a"},
    "ReplicationController": {"app": "a"},
    "ReplicaSet": OF_APPS,
    "StatefulSet": OF_APPS,
}


def made(kind: str, selector: Any, **more: Any) -> Object:
    group = "v1" if kind in ("Service", "ReplicationController") else "apps/v1"
    metadata = {"name": "w", "namespace": "default"}
    head = {"apiVersion": group, "kind": kind, "metadata": metadata}
    return decode(head | {"spec": {"selector": selector}} | more)


@pytest.mark.parametrize("kind", SELECTORS)
def test_results_are_outdated_if_a_selector_may_have_changed(kind: str) -> None:
    index, selector = WorkloadIndex(), SELECTORS[kind]
    other = {"app": "b"} if selector is not OF_APPS else {"matchLabels": {"app": "b"}}
    versions = [index.version]
    for change in (
        lambda: index.put(made(kind, selector)),
        lambda: index.put(made(kind, selector, status={"observedGeneration": 2})),
        lambda: index.put(made(kind, other)),
        lambda: index.delete(made(kind, other)),
        lambda: index.delete(made(kind, other)),
        lambda: index.put(made(kind, selector)),
    ):
        change()
        versions.append(index.version)
    grows = [after > before for before, after in pairwise(versions)]
    assert grows == [True, False, True, True, False, True]


def test_kinds_of_controllers_with_one_name_are_distinct() -> None:
    index = WorkloadIndex()
    controllers = [kind for kind in SELECTORS if kind != "Service"]
    for kind in controllers:
        index.put(made(kind, SELECTORS[kind]))
    assert len(index.controllers) == 3
    index.delete(made("ReplicaSet", OF_APPS))
    assert {type(each).__name__ for each in index.controllers.values()} == {
        "ReplicationController",
        "StatefulSet",
    }


def test_other_kinds_are_ignored() -> None:
    index = WorkloadIndex()
    node = decode({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    index.put(node)
    index.delete(node)
    assert (index.version, index.services, index.controllers) == (0, {}, {})

"""Services and controllers, whose selectors spread pods by default."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from podwright.apimachinery.objects import Object, OwnerReference, parse_label_selector
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.affinity.selectors import default_selector
from podwright.scheduler.columns.workloads import WorkloadIndex

OF_APPS = {"matchLabels": {"app": "a"}}
SELECTORS: dict[str, Any] = {
    "Service": {"app": "a"},
    "ReplicationController": {"app": "a"},
    "ReplicaSet": OF_APPS,
    "StatefulSet": OF_APPS,
}


def made(
    kind: str, selector: Any, *, name: str = "w", namespace: str = "default", **more: Any
) -> Object:
    group = "v1" if kind in ("Service", "ReplicationController") else "apps/v1"
    metadata = {"name": name, "namespace": namespace}
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
    changes = [after - before for before, after in pairwise(versions)]
    assert changes == [1, 0, 1, 1, 0, 1]


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


OF_RS = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="w", uid="w")
OF_RC = OwnerReference(api_version="v1", kind="ReplicationController", name="w", uid="w")
OF_SET = OwnerReference(api_version="apps/v1", kind="StatefulSet", name="w", uid="w")
EXPRESSION = {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}
INVALID = {"matchExpressions": [{"key": "tier", "operator": "In", "values": []}]}


@pytest.mark.parametrize(
    ("workloads", "owner", "selector"),
    [
        pytest.param([], None, "", id="nothing"),
        pytest.param([made("Service", {"app": "a"})], None, "app=a", id="a service"),
        pytest.param([made("Service", {"app": "b"})], None, "", id="one that selects other pods"),
        pytest.param(
            [made("Service", {"app": "a", "x": "y"})], None, "", id="each label must be there"
        ),
        pytest.param(
            [made("Service", {"app": "a"}, namespace="other")], None, "", id="of its namespace"
        ),
        pytest.param([made("Service", {})], None, "", id="a service without a selector"),
        pytest.param(
            [made("Service", {"app": "a"}), made("Service", {"tier": "t"}, name="v")],
            None,
            "app=a,tier=t",
            id="all services",
        ),
        pytest.param([made("ReplicaSet", OF_APPS)], OF_RS, "app=a", id="a ReplicaSet"),
        pytest.param([made("ReplicaSet", OF_APPS)], None, "", id="without an owner"),
        pytest.param([made("ReplicaSet", OF_APPS)], OF_SET, "", id="an owner of another kind"),
        pytest.param([made("ReplicaSet", OF_APPS, name="v")], OF_RS, "", id="of another name"),
        pytest.param(
            [made("ReplicaSet", OF_APPS, namespace="other")], OF_RS, "", id="in another namespace"
        ),
        pytest.param(
            [made("ReplicaSet", OF_APPS)],
            OwnerReference(api_version="x/v1", kind="ReplicaSet", name="w", uid="w"),
            "",
            id="of another group",
        ),
        pytest.param([made("StatefulSet", EXPRESSION)], OF_SET, "tier", id="a StatefulSet"),
        pytest.param(
            [made("ReplicationController", {"app": "a", "x": "y"})],
            OF_RC,
            "app=a,x=y",
            id="a ReplicationController",
        ),
        pytest.param(
            [made("Service", {"app": "a"}), made("ReplicaSet", EXPRESSION)],
            OF_RS,
            "app=a,tier",
            id="service and owner",
        ),
        pytest.param(
            [made("Service", {"app": "a"}), made("ReplicaSet", OF_APPS)],
            OF_RS,
            "app=a",
            id="a requirement of both counts once",
        ),
        pytest.param(
            [made("Service", {"app": "a"}), made("ReplicaSet", INVALID)],
            OF_RS,
            "app=a",
            id="an invalid selector adds nothing",
        ),
    ],
)
def test_the_selector_that_workloads_imply(
    workloads: list[Object], owner: OwnerReference | None, selector: str
) -> None:
    index = WorkloadIndex()
    for each in workloads:
        index.put(each)
    labels = {"app": "a", "tier": "t"}
    expected = parse_label_selector(selector)
    assert default_selector(index, "default", labels, owner) == expected


@pytest.mark.parametrize("kind", SELECTORS)
def test_a_cluster_forgets_a_workload_that_is_deleted(kind: str) -> None:
    cluster, obj = Cluster(), made(kind, SELECTORS[kind])
    versions = [cluster.workloads.version]
    for change in (cluster.put, cluster.delete, cluster.delete):
        change(obj)
        versions.append(cluster.workloads.version)
    assert [late != early for early, late in pairwise(versions)] == [True, True, False]

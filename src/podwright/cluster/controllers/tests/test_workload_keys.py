"""Which workloads the controllers sync after which change."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from podwright.cluster.controllers.apps.daemon_set import DaemonSetController
from podwright.cluster.controllers.apps.deployment import DeploymentController
from podwright.cluster.controllers.apps.replica_set import (
    ReplicaSetController,
    ReplicationControllerController,
)
from podwright.cluster.controllers.apps.stateful_pods import (
    has_other_controller,
    is_stale,
    parent_and_ordinal,
    stateful_claim,
    stateful_spec,
    with_retention,
)
from podwright.cluster.controllers.apps.stateful_set import StatefulSetController
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import at, document

LABELS = {"app": "web"}
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": LABELS},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
APPS = ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")


def a_workload(kind: str, name: str = "web", status: Any = None, **spec: Any) -> Any:
    """Return a workload; `labels`, `gone`, `uid` and `owners` are its metadata."""
    metadata: dict[str, Any] = {"uid": spec.pop("uid", f"{name}-uid")}
    metadata["labels"] = spec.pop("labels", {})
    metadata["ownerReferences"] = spec.pop("owners", [])
    metadata |= {"deletionTimestamp": at(0)} if spec.pop("gone", False) else {}
    spec = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE} | spec
    api = "apps/v1" if kind in APPS else "v1"
    if kind == "ReplicationController" and "matchLabels" in spec["selector"]:
        spec["selector"] = spec["selector"]["matchLabels"]
    return document(
        kind, name, api=api, namespace="shop", metadata=metadata, spec=spec, status=status or {}
    )


def owner(kind: str, name: str = "web", **changes: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"{name}-uid",
        "controller": True,
    } | changes  # fmt: skip


def a_pod(name: str = "p", *owners: Any, **parts: Any) -> Any:
    """Return a pod; `status`, `node` and the metadata may be given."""
    spec = TEMPLATE["spec"] | ({"nodeName": parts["node"]} if parts.pop("node", "") else {})
    status = parts.pop("status", {"phase": "Running"})
    metadata = {"labels": LABELS, "uid": f"{name}-uid", "ownerReferences": list(owners), **parts}
    return document("Pod", name, namespace="shop", metadata=metadata, spec=spec, status=status)


RETENTION: Any = ({}, {"whenDeleted": "Delete"}, {"whenScaled": "Delete"},
             {"whenDeleted": "Delete", "whenScaled": "Delete"})  # fmt: skip

MAKERS: dict[str, Any] = {
    "Deployment": DeploymentController,
    "ReplicaSet": ReplicaSetController,
    "ReplicationController": ReplicationControllerController,
    "StatefulSet": StatefulSetController,
    "DaemonSet": DaemonSetController,
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_workload_is_synced_when_more_than_its_status_changes(kind) -> None:
    bench = SingleSync(MAKERS[kind])
    assert bench.put(a_workload(kind)) == ["shop/web"]
    assert bench.put(a_workload(kind)) == []
    assert bench.put(a_workload(kind, status={"observedGeneration": 1})) == []
    rows: dict[str, Any] = {
        "spec": a_workload(kind, minReadySeconds=5),
        "labels": a_workload(kind, labels={"a": "b"}),
        "deletion": a_workload(kind, gone=True),
        "another of the name": a_workload(kind, uid="second"),
    }
    for row, changed in rows.items():
        bench.put(a_workload(kind))
        assert bench.put(changed) == ["shop/web"], row
    bench.put(a_workload(kind))
    assert bench.remove(a_workload(kind)) == []
    assert bench.sync("shop/web") == []


ORPHANS = ("ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet")


@pytest.mark.parametrize("kind", ORPHANS)
def test_a_pod_concerns_its_owner_and_an_orphan_those_that_select_it(kind) -> None:
    bench = SingleSync(MAKERS[kind], a_workload(kind))
    mine, other = owner(kind), owner("Other", "other")
    selected = ["shop/web"]
    assert bench.put(a_pod("web-0", mine)) == selected
    running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    assert bench.put(a_pod("web-0", mine, status=running)) == selected
    assert bench.put(a_pod("web-0", mine, status=running | {"hostIP": "1"})) == []
    assert bench.put(a_pod("web-0", mine, status={"phase": "Failed"})) == selected
    assert bench.remove(a_pod("web-0")) == selected
    assert bench.put(a_pod("web-1", other)) == []
    assert bench.remove(a_pod("web-1")) == []
    assert bench.put(a_pod("web-2")) == selected
    assert bench.put(a_pod("web-3", labels={"app": "db"})) == []
    assert bench.put(a_pod("web-4", mine)) == selected
    assert bench.put(a_pod("web-4", other)) == selected, "it was its own"
    assert bench.put(a_pod("web-4", mine)) == selected, "it is again"
    released = bench.put(a_pod("web-4"))
    assert set(released) == {"shop/web"}, "it may be adopted"


@pytest.mark.parametrize("kind", ORPHANS)
def test_an_orphan_concerns_no_owner_that_was_removed(kind) -> None:
    bench = SingleSync(MAKERS[kind], a_workload(kind), a_workload(kind, "other"))
    assert bench.put(a_pod("a")) == ["shop/other", "shop/web"]
    bench.remove(a_workload(kind))
    assert bench.put(a_pod("b")) == ["shop/other"]
    bench.remove(a_workload(kind, "other"))
    assert bench.put(a_pod("c")) == []


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController"])
@pytest.mark.parametrize("is_removed", [True, False])
def test_a_rejection_concerns_no_later_owner_of_the_name(kind, is_removed) -> None:
    bench = SingleSync(MAKERS[kind], a_workload(kind))
    bench.controller.on_create_rejected("shop/web", "the quota is full")
    if is_removed:
        bench.remove(a_workload(kind))
        bench.put(a_workload(kind, uid="second"))
    assert any("quota" in each for each in bench.sync("shop/web")) is not is_removed


def test_the_pods_of_a_removed_owner_are_forgotten() -> None:
    for kind in ("ReplicaSet", "DaemonSet"):
        bench = SingleSync(MAKERS[kind], a_workload(kind), a_pod("a", owner(kind)))
        bench.remove(a_workload(kind))
        bench.remove(a_pod("a"))
        controller: Any = bench.controller
        if kind == "ReplicaSet":
            assert controller._counts == {}
        else:
            assert controller._daemons == {}
        assert bench.put(a_pod("b")) == []


def test_the_template_of_a_removed_owner_is_forgotten() -> None:
    """Otherwise a long run keeps that of each owner that there was."""
    for kind in ("ReplicaSet", "ReplicationController", "Deployment"):
        bench = SingleSync(MAKERS[kind], a_workload(kind))
        controller: Any = bench.controller
        assert any("create" in each for each in bench.sync("shop/web"))
        known = controller._parsed if kind == "Deployment" else controller._templates._pods
        assert len(known) == 1
        bench.remove(a_workload(kind))
        assert known == {}


# --------------------------------------------------------------------------- deployments


def test_a_replica_set_concerns_its_deployment_before_and_after() -> None:
    bench = SingleSync(DeploymentController)
    assert bench.put(a_workload("ReplicaSet", "r")) == [], "no object selects it"
    bench.put(a_workload("Deployment"))
    mine, other = owner("Deployment"), owner("Deployment", "other")
    assert bench.put(a_workload("ReplicaSet", "r", owners=[mine])) == ["shop/web"]
    both = ["shop/web", "shop/other"]
    assert bench.put(a_workload("ReplicaSet", "r", owners=[other])) == both
    assert bench.put(a_workload("ReplicaSet", "r", owners=[owner("Job", "j")])) == ["shop/other"]
    assert bench.remove(a_workload("ReplicaSet", "r")) == []
    orphan = a_workload("ReplicaSet", "s", labels=LABELS)
    assert bench.put(orphan) == ["shop/web"]
    foreign = a_workload("ReplicaSet", "t", labels={"app": "db"})
    assert bench.put(foreign) == []


@pytest.mark.parametrize(
    ("deployment", "set_owner", "before", "after", "is_synced"),
    [
        pytest.param("Recreate", "Deployment", "Running", None, True, id="removed"),
        pytest.param("Recreate", "Deployment", "Running", "Succeeded", True, id="succeeded"),
        pytest.param("Recreate", "Deployment", "Running", "Failed", True, id="failed"),
        pytest.param("Recreate", "Deployment", "Pending", "Running", False, id="started"),
        pytest.param("RollingUpdate", "Deployment", "Running", None, False, id="a rolling one"),
        pytest.param("", "Deployment", "Running", None, False, id="by default"),
        pytest.param(None, "Deployment", "Running", None, False, id="no deployment"),
        pytest.param("Recreate", "Other", "Running", None, False, id="of another kind"),
    ],
)
def test_a_recreated_deployment_waits_for_the_end_of_its_pods(
    deployment, set_owner, before, after, is_synced
) -> None:
    bench = SingleSync(DeploymentController)
    if deployment is not None:
        strategy: Any = {"strategy": {"type": deployment}} if deployment else {}
        bench.put(a_workload("Deployment", **strategy))
    bench.put(a_workload("ReplicaSet", "r", owners=[owner(set_owner)]))
    pod = a_pod("p", owner("ReplicaSet", "r"), status={"phase": before})
    assert bench.put(pod) == [], "a new pod ends nothing"
    if after is None:
        found = bench.remove(pod)
    else:
        found = bench.put(a_pod("p", owner("ReplicaSet", "r"), status={"phase": after}))
    assert found == (["shop/web"] if is_synced else [])


@pytest.mark.parametrize("owners", [[], [owner("Job", "r")], [owner("ReplicaSet", "none")]])
def test_the_end_of_another_pod_concerns_no_deployment(owners) -> None:
    bench = SingleSync(
        DeploymentController, a_workload("Deployment", strategy={"type": "Recreate"})
    )
    pod = a_pod("p", *owners)
    assert (bench.put(pod), bench.remove(pod)) == ([], [])


def test_a_set_of_the_deployments_template_without_a_deployment_of_its_own() -> None:
    bench = SingleSync(
        DeploymentController, a_workload("Deployment", gone=True),
        a_workload("ReplicaSet", "orphan", labels=LABELS),
    )  # fmt: skip
    assert not any("orphan" in each for each in bench.sync("shop/web"))
    other = SingleSync(
        DeploymentController, a_workload("Deployment"),
        a_workload("ReplicaSet", "b", labels=LABELS), a_workload("ReplicaSet", "a", labels=LABELS),
        a_workload("ReplicaSet", "c", labels={"app": "x"}, owners=[owner("Deployment")]),
    )  # fmt: skip
    assert [each.split()[2] for each in other.sync("shop/web")] == ["shop/a", "shop/b", "shop/c"]
    no_labels = {"spec": TEMPLATE["spec"]}
    bare = SingleSync(DeploymentController, a_workload("Deployment", template=no_labels))
    text = "This deployment does not select its own pods."
    assert bare.sync("shop/web") == [
        f"Warning Deployment shop/web SelectingAll by deployment-controller: {text}"
    ]


# -------------------------------------------------------------------------- stateful sets


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("web-0", ("web", 0)),
        ("web-12", ("web", 12)),
        ("a-b-3", ("a-b", 3)),
        ("web", ("", -1)),
        ("web-", ("", -1)),
        ("web-x", ("", -1)),
        ("-1", ("", 1)),
    ],
)
def test_the_name_of_a_pod_has_its_set_and_its_ordinal(name, parts) -> None:
    assert parent_and_ordinal(name) == parts


def test_a_removed_orphan_or_claim_may_free_a_name() -> None:
    bench = SingleSync(StatefulSetController, a_workload("StatefulSet"))
    orphan = a_pod("web-3", labels={})
    assert bench.put(orphan) == []
    assert bench.remove(orphan) == ["shop/web"]
    plain = a_pod("web", labels={})
    bench.put(plain)
    assert bench.remove(plain) == []
    other = a_workload("StatefulSet", "other")
    bench.put(other)
    for name, keys in (
        ("data-web-0", ["shop/web"]), ("data-x-web-0", ["shop/web"]), ("web-0", []),
        ("dataweb-0", []), ("data-web", []), ("data-other-7", ["shop/other"]),
    ):  # fmt: skip
        claim = document("PersistentVolumeClaim", name, namespace="shop")
        assert bench.put(claim) == []
        assert bench.remove(claim) == keys, name


def test_a_set_waits_after_the_removal_of_a_pod() -> None:
    second = 1_000_000_000
    maker: Any = partial(StatefulSetController, recreation_delay_ns=2 * second)
    bench = SingleSync(maker, a_workload("StatefulSet"), a_pod("web-0", owner("StatefulSet")))
    bench.remove(a_pod("web-0"))
    assert bench.sync("shop/web", 5) == ["sync shop/web at 7"]
    assert bench.sync("shop/web", 6.5) == ["sync shop/web at 7"]
    assert any("create" in each for each in bench.sync("shop/web", 7))
    bench.put(a_pod("web-0", owner("StatefulSet")))
    bench.remove(a_pod("web-0"))
    bench.remove(a_workload("StatefulSet"))
    assert bench.sync("shop/web", 8) == []
    bench.put(a_workload("StatefulSet"))
    assert bench.sync("shop/web", 8)[:1] != ["sync shop/web at 10"]


def test_the_defaults_of_a_stateful_set() -> None:
    spec = stateful_spec({})
    assert (
        spec.replicas, spec.start, spec.is_ordered, spec.is_on_delete, spec.partition,
        spec.max_unavailable, spec.min_ready_seconds, spec.revision_history_limit,
        spec.deletes_claims, spec.deletes_scaled_claims, spec.service_name, spec.template,
        spec.claim_templates, spec.match_labels,
    ) == (1, 0, True, False, 0, None, 0, 10, False, False, "", {}, (), {})  # fmt: skip
    spec = stateful_spec(
        {
            "replicas": 10,
            "ordinals": {"start": 5},
            "podManagementPolicy": "Parallel",
            "updateStrategy": {
                "type": "OnDelete",
                "rollingUpdate": {"partition": 3, "maxUnavailable": "25%"},
            },
            "minReadySeconds": 7,
            "revisionHistoryLimit": 0,
            "persistentVolumeClaimRetentionPolicy": {
                "whenDeleted": "Delete",
                "whenScaled": "Delete",
            },
            "serviceName": "s",
        }
    )
    assert (
        spec.replicas, spec.start, spec.is_ordered, spec.is_on_delete, spec.partition,
        spec.max_unavailable, spec.min_ready_seconds, spec.revision_history_limit,
        spec.deletes_claims, spec.deletes_scaled_claims, spec.service_name,
    ) == (10, 5, False, True, 3, 2, 7, 0, True, True, "s")  # fmt: skip
    assert [spec.includes(each) for each in (4, 5, 14, 15)] == [False, True, True, False]
    assert [spec.is_below_partition(each) for each in (5, 7, 8)] == [True, True, False]
    few = {"replicas": 2, "updateStrategy": {"rollingUpdate": {"maxUnavailable": "25%"}}}
    assert stateful_spec(few).max_unavailable == 1


def a_claim(*owners: Any, **metadata: Any) -> Any:
    return document("PersistentVolumeClaim", "data-web-0", namespace="shop",
                    metadata={"ownerReferences": list(owners), **metadata})  # fmt: skip


OF_SET, OF_POD = owner("StatefulSet"), owner("Pod", "web-0")
FOREIGN = {"apiVersion": "v1", "kind": "Other", "name": "x", "uid": "x"}


@pytest.mark.parametrize(
    ("ordinal", "owners", "kept_by_policy"),
    [
        pytest.param(0, (), ("", "web-uid", "", "web-uid"), id="a replica"),
        pytest.param(3, (), ("", "web-uid", "web-3-uid", "web-3-uid"), id="beyond the replicas"),
        pytest.param(0, (OF_SET,), ("", "web-uid", "", "web-uid"), id="of the set"),
        pytest.param(0, (FOREIGN,), ("x", "x web-uid", "x", "x web-uid"), id="another owner"),
        pytest.param(0, (FOREIGN | {"controller": True},), ("x", "x", "x", "x"), id="controlled"),
    ],
)
def test_who_owns_a_claim_by_the_retention_policy(ordinal, owners, kept_by_policy) -> None:
    of_set, pod = a_workload("StatefulSet"), a_pod(f"web-{ordinal}")
    claim = a_claim(*owners)
    for policy, uids in zip(RETENTION, kept_by_policy, strict=True):
        spec = stateful_spec({"replicas": 2, "persistentVolumeClaimRetentionPolicy": policy})
        found = with_retention(claim, of_set, pod, spec)
        now = [each.uid for each in found.metadata.owner_references]
        assert " ".join(now) == uids, policy
        is_same = [each.uid for each in claim.metadata.owner_references] == now
        assert (found is claim) is (is_same and not (owners == (OF_SET,) and uids == "web-uid")), (
            policy
        )


@pytest.mark.parametrize(
    ("owners", "is_other"),
    [
        pytest.param((), False, id="no owner"),
        pytest.param((OF_SET, OF_POD), False, id="the set and the pod"),
        pytest.param((OF_SET | {"uid": "old"},), True, id="an earlier set of the name"),
        pytest.param((OF_SET, OF_POD | {"uid": "old"}), True, id="an earlier pod of the name"),
        pytest.param((OF_SET | {"name": "x"},), True, id="another set"),
        pytest.param((FOREIGN,), False, id="another owner"),
        pytest.param((FOREIGN, FOREIGN | {"controller": True}), True, id="another controller"),
    ],
)
def test_another_controller_of_a_claim_counts_if_a_policy_deletes_claims(owners, is_other) -> None:
    """Upstream: stateful_set_utils.go, hasUnexpectedController."""
    of_set, pod = a_workload("StatefulSet"), a_pod("web-0")
    found = [
        has_other_controller(
            a_claim(*owners),
            of_set,
            pod,
            stateful_spec({"persistentVolumeClaimRetentionPolicy": policy}),
        )
        for policy in RETENTION
    ]
    assert found == [False, is_other, is_other, is_other]


def test_a_stale_claim_goes_with_an_earlier_pod_of_the_name() -> None:
    name = OF_POD["name"]
    assert not is_stale(a_claim(), name)
    assert not is_stale(a_claim(OF_SET), name)
    assert is_stale(a_claim(OF_SET, OF_POD), name)
    assert not is_stale(a_claim(OF_SET, OF_POD), "other")


def test_the_claim_of_an_ordinal() -> None:
    template = {
        "metadata": {
            "name": "data", "labels": {"a": "b", "app": "x"}, "annotations": {"c": "d"},
            "finalizers": ["e"],
        },
        "spec": {"accessModes": ["ReadWriteOnce"]},
    }  # fmt: skip
    spec = stateful_spec({"selector": {"matchLabels": LABELS}})
    found = stateful_claim(template, a_workload("StatefulSet"), spec, 4)
    assert found.raw == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "data-web-4", "namespace": "shop", "labels": {"a": "b", "app": "web"},
            "annotations": {"c": "d"},
        },
        "spec": {"accessModes": ["ReadWriteOnce"]},
        "status": {"phase": "Pending"},
    }  # fmt: skip
    bare = stateful_claim(
        {"metadata": {"name": "d"}}, a_workload("StatefulSet"), stateful_spec({}), 0
    )
    assert bare.raw["metadata"] == {"name": "d-web-0", "namespace": "shop"}
    assert bare.raw["spec"] == {}


# ---------------------------------------------------------------------------- daemon sets


def test_all_daemon_sets_are_synced_for_a_node_that_may_be_another() -> None:
    def a_node(*, taints: Any = (), **labels: str) -> Any:
        return document("Node", "n", metadata={"labels": labels}, spec={"taints": list(taints)})

    bench = SingleSync(DaemonSetController)
    assert bench.put(a_node()) == []
    bench.put(a_workload("DaemonSet", "b"))
    bench.put(a_workload("DaemonSet", "a"))
    both = ["shop/a", "shop/b"]
    assert bench.put(a_node()) == []
    assert bench.put(a_node(rack="r")) == both
    taints = [{"key": "k", "effect": "NoSchedule"}]
    assert bench.put(a_node(rack="r", taints=taints)) == both
    assert bench.remove(a_node()) == both
    # A pod that comes before its daemon set says nothing about nodes.
    early = SingleSync(DaemonSetController, a_pod("p", owner("DaemonSet")))
    assert early.put(a_node()) == []


def test_a_rejection_is_reported_after_the_orphans_are_adopted() -> None:
    bench = SingleSync(ReplicaSetController, a_workload("ReplicaSet", replicas=2), a_pod("p"))
    bench.controller.on_create_rejected("shop/web", "full")
    (adoption,) = bench.sync("shop/web")
    assert adoption.startswith("update Pod shop/p main: metadata.ownerReferences=")
    bench.put(a_pod("p", owner("ReplicaSet")))
    (status,) = bench.sync("shop/web")
    assert '"reason": "FailedCreate", "message": "full"' in status

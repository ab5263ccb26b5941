"""What the controllers of namespaces and quotas request in one sync, by upstream's rules.

Upstream: pkg/controller/namespace/deletion/namespaced_resources_deleter.go;
pkg/controller/resourcequota/resource_quota_controller.go
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.cluster.api import QuotaEvaluators
from podwright.cluster.api.tests.writable import WritableStore
from podwright.cluster.controllers.core.namespace import NamespaceController
from podwright.cluster.controllers.core.resource_quota import ResourceQuotaController
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import a_pod, at, document
from podwright.cluster.store.history import with_metadata

LABEL = "kubernetes.io/metadata.name"


def a_namespace(*, gone: bool = True, status: Any = None, **parts: Any) -> Any:
    metadata = {"uid": "nu", "labels": {LABEL: "shop"}} | parts.pop("metadata", {})
    metadata |= {"deletionTimestamp": at(0)} if gone else {}
    spec = {"finalizers": ["kubernetes"]} | parts
    return document(
        "Namespace", "shop", metadata=metadata, status=status or {"phase": "Active"},
        spec={name: value for name, value in spec.items() if value is not None},
    )  # fmt: skip


def a_map(name: str, namespace: str = "shop", **metadata: Any) -> Any:
    return document("ConfigMap", name, namespace=namespace, metadata=metadata)


def condition(kind: str, status: str, reason: str, message: str, second: int = 0) -> Any:
    since = {"lastTransitionTime": at(second)}
    return {"type": kind, "status": status, **since, "reason": reason, "message": message}


def conditions(remaining: str = "", finalizers: str = "", second: int = 0) -> list[Any]:
    return [
        condition("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered",
                  "All resources successfully discovered", second),
        condition("NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions",
                  "All legacy kube types successfully parsed", second),
        condition("NamespaceDeletionContentFailure", "False", "ContentDeleted",
                  "All content successfully deleted, may be waiting on finalization", second),
        condition("NamespaceContentRemaining", "True", "SomeResourcesRemain",
                  f"Some resources are remaining: {remaining}", second)
        if remaining else
        condition("NamespaceContentRemaining", "False", "ContentRemoved",
                  "All content successfully removed", second),
        condition("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain",
                  f"Some content in the namespace has finalizers remaining: {finalizers}", second)
        if finalizers else
        condition("NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers",
                  "All content-preserving finalizers finished", second),
    ]  # fmt: skip


def writes_status(remaining: str = "", finalizers: str = "", second: int = 0) -> str:
    found = json.dumps(conditions(remaining, finalizers, second))
    return f"update Namespace shop status: status.conditions={found}"


def frees(finalizers: str = "-spec.finalizers", second: int = 0) -> str:
    found = json.dumps(conditions(second=second))
    return f"update Namespace shop whole: {finalizers} status.conditions={found}"


GOING = {"deletionTimestamp": at(0)}


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [
        pytest.param(a_namespace(gone=False), [], id="complete"),
        pytest.param(
            a_namespace(gone=False, finalizers=None),
            ['update Namespace shop whole: spec.finalizers=["kubernetes"]'], id="no finalizers",
        ),
        pytest.param(
            a_namespace(gone=False, metadata={"labels": {"a": "b"}}),
            [f'update Namespace shop whole: metadata.labels.{LABEL}="shop"'], id="no label",
        ),
        pytest.param(
            a_namespace(gone=False, finalizers=["mine"], metadata={"labels": {LABEL: "x"}}),
            [f'update Namespace shop whole: metadata.labels.{LABEL}="shop"'],
            id="another label, own finalizers",
        ),
        pytest.param(
            a_namespace(gone=False, status={"x": 1}),
            ['update Namespace shop whole: status.phase="Active"'], id="no phase",
        ),
    ],
)  # fmt: skip
def test_a_new_namespace_is_completed(namespace, expected) -> None:
    bench = SingleSync(NamespaceController)
    assert bench.put(namespace) == ["shop"]
    assert bench.sync("shop") == expected
    assert bench.put(namespace) == []


def test_the_content_of_a_deleted_namespace_is_deleted_its_pods_first() -> None:
    bench = SingleSync(
        NamespaceController, a_namespace(gone=False), a_map("b"), a_map("a"), a_map("c", **GOING),
        a_map("x", "other"), document("Node", "n"),
    )  # fmt: skip
    pods = [a_pod(name, namespace="shop") for name in "qp"]
    for pod in pods:
        assert bench.put(pod) == []
    assert bench.put(a_namespace()) == ["shop"]
    assert bench.sync("shop") == ["delete Pod shop/p", "delete Pod shop/q"]
    bench.put(a_namespace(status={"phase": "Terminating", "conditions": conditions()}))
    assert bench.put(a_pod("late", namespace="other")) == []
    for pod in pods:
        assert bench.remove(pod) == ["shop"]
    remaining = "configmaps. has 1 resource instances"  # the others go at once
    assert bench.sync("shop", 1) == [
        "delete ConfigMap shop/a", "delete ConfigMap shop/b",
        'update Namespace shop status: status.conditions='
        + json.dumps([*conditions()[:3], conditions(remaining, second=1)[3], conditions()[4]]),
    ]  # fmt: skip
    for name in "abc":
        assert bench.remove(a_map(name)) == ["shop"]
    assert bench.sync("shop", 2) == [
        "update Namespace shop whole: -spec.finalizers"
    ]  # the conditions are as they were
    assert bench.remove(a_namespace()) == ["shop"]
    assert bench.put(a_map("new")) == []
    assert bench.controller.state() == {"last_pass_ns": {}}


def test_other_finalizers_of_a_namespace_stay() -> None:
    bench = SingleSync(NamespaceController, a_namespace(finalizers=["mine", "kubernetes"]))
    assert bench.sync("shop") == [frees('spec.finalizers=["mine"]')]
    plain = SingleSync(NamespaceController, a_namespace())
    assert plain.sync("shop", 4) == [frees(second=4)]


def test_what_remains_is_counted_by_resource_and_finalizer() -> None:
    def kept(kind: str, name: str, api: str = "v1", *finalizers: str) -> Any:
        return document(kind, name, api=api, namespace="shop",
                        metadata=GOING | {"finalizers": list(finalizers)})  # fmt: skip

    bench = SingleSync(
        NamespaceController, a_namespace(),
        kept("Ingress", "i", "networking.k8s.io/v1", "x"),
        kept("NetworkPolicy", "n", "networking.k8s.io/v1", "y", "x"),
        kept("Endpoints", "e", "v1", "x"),
        kept("Branch", "b", "example.com/v1", "x"),
        kept("Box", "b", "example.com/v1", "z"),
        kept("Job", "j", "batch/v1"), kept("Job", "k", "batch/v1", "x"),
    )  # fmt: skip
    remaining = ", ".join(
        f"{name} has {count} resource instances"
        for name, count in (
            ("boxes.example.com", 1), ("branches.example.com", 1), ("endpoints.", 1),
            ("ingresses.networking.k8s.io", 1), ("jobs.batch", 2),
            ("networkpolicies.networking.k8s.io", 1),
        )
    )  # fmt: skip
    finalizers = ", ".join(
        f"{name} in {count} resource instances" for name, count in (("x", 5), ("y", 1), ("z", 1))
    )
    assert bench.sync("shop") == [writes_status(remaining, finalizers)]
    bench.put(a_namespace(status={"conditions": conditions(remaining, finalizers)}))
    assert bench.sync("shop", 9) == [], "nothing has changed"


@pytest.mark.parametrize(
    ("grace", "finalizers", "second"),
    [
        pytest.param(30, [], 32, id="upstream looks after 16 and 32 s"),
        pytest.param(5, [], 6, id="after 3 and 6 s"),
        pytest.param(0, [], 2, id="after 1 and 2 s"),
        pytest.param(30, ["x"], None, id="not while they have finalizers"),
    ],
)
def test_pods_that_stay_longer_than_their_grace_period_are_a_failure(
    grace: int, finalizers: list[str], second: int | None
) -> None:
    def stuck(name: str, seconds: int, phase: str = "Running") -> Any:
        metadata = GOING | {"finalizers": finalizers}
        spec = {"terminationGracePeriodSeconds": seconds}
        status = {"phase": phase}
        return document("Pod", name, namespace="shop", metadata=metadata, spec=spec, status=status)

    pods = [stuck("p", grace), stuck("q", 0), stuck("done", 90, "Failed")]
    bench = SingleSync(NamespaceController, *pods, a_namespace())
    due = 2 * (grace // 2 + 1)
    assert bench.sync("shop") == [writes_status(), f"sync shop at {due}"]
    bench.put(a_namespace(status={"conditions": conditions()}))
    assert bench.sync("shop", due - 1) == [f"sync shop at {due}"]
    found = bench.sync("shop", due)
    if second is None:
        assert found == []
        return
    expected = conditions()
    expected[2] = condition(
        "NamespaceDeletionContentFailure", "True", "ContentDeletionFailed",
        "Failed to delete all resource types, 1 remaining: unexpected items still remain in"
        " namespace: shop for gvr: /v1, Resource=pods", second,
    )  # fmt: skip
    written = f"update Namespace shop status: status.conditions={json.dumps(expected)}"
    assert found == [written]


def test_a_large_namespace_is_deleted_in_parts_and_in_passes() -> None:
    names = [f"m{index:03}" for index in range(201)]
    bench = SingleSync(NamespaceController, *(a_map(name) for name in names), a_namespace())

    def parts(start: int) -> list[str]:
        return [f"delete ConfigMap shop/{name}" for name in names[start : start + 100]]

    assert bench.sync("shop", 7) == [*parts(0), "sync shop at 7"]
    bench.remove(a_map("m150"))
    assert bench.sync("shop", 7) == [
        *(each for each in parts(100) if not each.endswith("m150")),
        "delete ConfigMap shop/m200",
    ]
    # Everything was visited: the next pass is five seconds later, or when little is left.
    assert bench.sync("shop", 8) == ["sync shop at 12"]
    assert bench.sync("shop", 11.5) == ["sync shop at 12"]
    for name in names[:99]:
        bench.remove(a_map(name))
    assert bench.sync("shop", 11.5) == ["sync shop at 12"], "101 are many"
    bench.remove(a_map(names[99]))
    assert len(bench.sync("shop", 11.5)) == 100
    assert bench.sync("shop", 12)[:1] == ["delete ConfigMap shop/m100"]


def test_the_content_of_a_namespace_without_an_object_is_deleted_too() -> None:
    bench = SingleSync(NamespaceController, a_namespace(), a_map("a"))
    bench.remove(a_namespace())
    assert bench.sync("shop") == ["delete ConfigMap shop/a"]
    bench.remove(a_map("a"))
    assert bench.sync("shop", 1) == []
    assert bench.controller.state() == {"last_pass_ns": {}}


def test_a_pass_continues_after_a_restore() -> None:
    names = [f"m{index:03}" for index in range(150)]
    objects = [*(a_map(name) for name in names), a_namespace()]
    bench = SingleSync(NamespaceController, *objects)
    bench.sync("shop", 7)
    other = SingleSync(NamespaceController, *objects)
    other.controller.restore(bench.controller.state())
    assert other.sync("shop", 8) == ["sync shop at 12"]
    assert len(other.sync("shop", 12)) == 101


# ------------------------------------------------------------------------------- quotas

HARD = {"pods": "9", "count/configmaps": "5"}


def a_quota(name: str = "q", hard: Any = None, status: Any = None, **spec: Any) -> Any:
    spec = {"hard": HARD if hard is None else hard} | spec
    return document("ResourceQuota", name, namespace="shop", spec=spec, status=status or {})


def quotas(*objects: Any) -> SingleSync:
    evaluators = QuotaEvaluators(WritableStore(seed=1))
    return SingleSync(lambda lister: ResourceQuotaController(lister, evaluators), *objects)


def test_the_status_of_a_quota_is_what_its_namespace_uses() -> None:
    bench = quotas(a_pod("p", namespace="shop"), a_pod("p", namespace="other"), a_map("m"))
    assert bench.put(a_quota()) == ["shop/q"]
    hard = {"hard": HARD}
    rows: list[tuple[Any, list[str]]] = [
        ({}, ['status.hard.count/configmaps="5" status.hard.pods="9"'
              ' status.used.count/configmaps="1" status.used.pods="1"']),
        (hard | {"used": {"pods": "1", "count/configmaps": "1"}}, []),
        (hard | {"used": {"pods": "1000m", "count/configmaps": "1"}}, []),
        (hard | {"used": {"pods": "2", "count/configmaps": "1"}}, ['status.used.pods="1"']),
        (hard | {"used": {"pods": "1"}}, ['status.used.count/configmaps="1"']),
        (hard | {"used": {"pods": "1", "count/configmaps": "1", "services": "0"}},
         ["-status.used.services"]),
        ({"hard": {"pods": "9"}, "used": {"pods": "1", "count/configmaps": "1"}},
         ['status.hard.count/configmaps="5"']),
    ]  # fmt: skip
    for status, changed in rows:
        bench.lister.put(a_quota(status=status))
        found = bench.sync("shop/q")
        assert found == [f"update ResourceQuota shop/q status: {each}" for each in changed], status
    bench.lister.put(a_quota(hard={}, status={"hard": {}, "used": {}}))
    assert bench.sync("shop/q") == []
    bench.lister.put(a_quota(hard={}, status={"hard": {}}))
    assert len(bench.sync("shop/q")) == 1
    assert bench.sync("shop/none") == []


def test_a_quota_is_synced_when_it_changes_or_what_it_counts_becomes_free() -> None:
    bench = quotas()
    pod = a_pod("p", namespace="shop")
    assert bench.put(pod) == []
    assert bench.remove(pod) == [], "no quota"
    bench.put(a_quota("pods", {"pods": "1"}))
    bench.put(a_quota("maps", {"count/configmaps": "1"}))
    bench.put(a_quota("both"))
    assert bench.put(pod) == [], "admission has counted it"
    assert bench.put(with_metadata(pod, generation=2)) == [], "it uses the same"
    pod = a_pod("p", namespace="shop", activeDeadlineSeconds=5)
    assert bench.put(pod) == ["shop/pods", "shop/both"]
    assert bench.remove(pod) == ["shop/pods", "shop/both"]
    assert bench.put(a_map("m")) == []
    assert bench.put(a_map("m", labels={"a": "b"})) == [], "a map cannot use more"
    assert bench.remove(a_map("m")) == ["shop/maps", "shop/both"]
    other = a_pod("p", namespace="other")
    bench.put(other)
    assert bench.remove(other) == []
    service = document("Service", "s", namespace="shop", spec={"type": "NodePort"})
    bench.put(a_quota("services", {"services.nodeports": "1"}))
    bench.put(service)
    assert bench.put(service) == ["shop/services"]


def test_a_changed_quota_is_synced_and_a_restored_status_too() -> None:
    bench = quotas(a_quota())
    assert bench.put(a_quota(status={"hard": HARD})) == []
    assert bench.put(a_quota(status={"hard": {}})) == ["shop/q"]
    assert bench.put(a_quota(hard={"pods": "8"}, status={"hard": HARD})) == ["shop/q"]
    assert bench.put(a_quota("second")) == ["shop/second", "shop/q"]
    assert bench.remove(a_quota("second")) == ["shop/q"]
    assert bench.remove(a_quota()) == []
    controller: Any = bench.controller
    assert (controller._quotas, controller.state()) == ({}, {"computed": {}})


def test_a_large_quota_is_computed_once_a_second() -> None:
    maps = [a_map(f"m{index}") for index in range(199)]
    for count, waits in ((197, False), (198, False), (199, True)):
        bench = quotas(*maps[:count], a_quota())
        used = {"pods": "0", "count/configmaps": str(count)}
        bench.lister.put(a_quota(status={"hard": HARD, "used": used}))
        assert bench.sync("shop/q", 3) == []
        assert bench.sync("shop/q", 3.9) == (["sync shop/q at 4"] if waits else []), count
        assert bench.sync("shop/q", 4) == []
        bench.lister.put(a_quota(hard={"pods": "1"}, status={"hard": HARD}))
        assert len(bench.sync("shop/q", 4.1)) == 1, "a new limit is written at once"


@pytest.mark.parametrize(
    ("pods", "due"),
    [
        pytest.param([], None, id="none"),
        pytest.param([("a", 90, "Succeeded")], 2, id="none that runs"),
        pytest.param([("a", 90, "Succeeded"), ("b", 4, "Pending")], 6, id="one that runs"),
        pytest.param([("a", None, "Running")], 32, id="the default"),
        pytest.param([("a", 3, "Running"), ("b", 7, "Running")], 8, id="the longest"),
        pytest.param([("a", 1, "Running")], 2, id="one second is half of it, rounded down"),
    ],
)
def test_when_pods_that_stay_are_looked_at_again(pods, due) -> None:
    """Upstream: estimateGracefulTerminationForPods, which skips pods that have ended."""
    bench = SingleSync(
        NamespaceController, a_namespace(), document("ConfigMap", "m", namespace="x")
    )
    for name, grace, phase in pods:
        spec = {} if grace is None else {"terminationGracePeriodSeconds": grace}
        bench.put(document("Pod", name, namespace="shop", metadata=GOING, spec=spec,
                           status={"phase": phase}))  # fmt: skip
    found = [each for each in bench.sync("shop", 1) if each.startswith("sync")]
    assert found == ([] if due is None else [f"sync shop at {due}"])

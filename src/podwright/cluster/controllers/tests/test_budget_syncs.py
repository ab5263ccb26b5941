"""What the controllers of disruptions request in one sync, and what adoption rests on, in tables.

Upstream: pkg/controller/disruption/disruption.go
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from podwright.apimachinery.objects import NOTHING, label_selector
from podwright.apimachinery.objects.meta import LabelSelector, LabelSelectorRequirement
from podwright.cluster.controllers.adoption import (
    Orphans,
    PodTemplates,
    adopted,
    compiled_selector,
    pod_from_template,
    released,
    selector_of,
    with_labels,
)
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.policies.disruption_budget import (
    DisruptionController,
    StaleDisruptionController,
)
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import at, document
from podwright.cluster.controllers.workload_fields import (
    is_only_status,
    with_annotations,
    without_zeros,
)
from podwright.cluster.store import POD

LABELS = {"app": "web"}


def a_budget(status: Any = None, *, name: str = "b", labels: Any = LABELS, **spec: Any) -> Any:
    return document(
        "PodDisruptionBudget", name, api="policy/v1", namespace="shop",
        metadata={"uid": "bu", "generation": 2},
        spec={"selector": {"matchLabels": labels}, **spec}, status=status or {},
    )  # fmt: skip


def reference(kind: str, name: str, uid: str = "", api: str = "apps/v1") -> dict[str, Any]:
    return {
        "apiVersion": api, "kind": kind, "name": name, "uid": uid or f"{name}-uid",
        "controller": True,
    }  # fmt: skip


def workload(kind: str, name: str, replicas: int | None = 3, api: str = "apps/v1",
             owners: Any = ()) -> Any:  # fmt: skip
    spec = {} if replicas is None else {"replicas": replicas}
    metadata = {"uid": f"{name}-uid", "ownerReferences": list(owners)}
    return document(kind, name, api=api, namespace="shop", metadata=metadata, spec=spec)


def a_pod(name: str, *owners: Any, ready: bool = True, labels: Any = LABELS, gone: bool = False,
          namespace: str = "shop") -> Any:  # fmt: skip
    metadata: dict[str, Any] = {"labels": labels, "ownerReferences": list(owners)}
    metadata |= {"deletionTimestamp": at(0), "finalizers": ["x"]} if gone else {}
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return document(
        "Pod", name, namespace=namespace, metadata=metadata,
        status={"phase": "Running", "conditions": conditions},
    )  # fmt: skip


NAMES = ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
SET = reference("ReplicaSet", "s")


def synced(*objects: Any, seconds: float = 0) -> list[str]:
    """Return the requests; of a status its four numbers and the condition."""
    found = []
    for each in SingleSync(DisruptionController, *objects).sync("shop/b", seconds):
        if each.startswith("update PodDisruptionBudget shop/b status: "):
            fields = dict(re.findall(r"status\.(\w+)=(\d+)", each))
            numbers = "/".join(fields.get(name, "-") for name in NAMES)
            (reason,) = re.findall(r'"reason": "(\w+)"', each)
            (message,) = re.findall(r'"message": "(.*?)"}', each)
            found.append(f"{numbers} {reason}{message and ': '}{message}")
        else:
            found.append(each.replace(" PodDisruptionBudget shop/b", ""))
    return found


ROWS: list[tuple[str, dict[str, Any], list[Any], list[str]]] = [
    ("no pods", {"minAvailable": 1}, [],
     ["Normal NoPods by controllermanager: No matching pods found",
      "0/1/0/0 InsufficientPods"]),
    ("neither limit", {}, [a_pod("a", SET)], ["0/0/1/0 InsufficientPods"]),
    ("neither limit, unmanaged", {}, [a_pod("a")], ["0/0/1/0 InsufficientPods"]),
    ("as many as needed", {"minAvailable": 2}, [a_pod("a"), a_pod("b")],
     ["2/2/2/0 InsufficientPods"]),
    ("one more", {"minAvailable": 1}, [a_pod("a"), a_pod("b")], ["2/1/2/1 SufficientPods"]),
    ("unready", {"minAvailable": 1}, [a_pod("a"), a_pod("b", ready=False)],
     ["2/1/1/0 InsufficientPods"]),
    ("being deleted", {"minAvailable": 1}, [a_pod("a"), a_pod("b", gone=True)],
     ["2/1/1/0 InsufficientPods"]),
    ("other labels", {"minAvailable": 1}, [a_pod("a"), a_pod("b", labels={"app": "x"})],
     ["1/1/1/0 InsufficientPods"]),
    ("another namespace", {"minAvailable": 1}, [a_pod("a"), a_pod("b", namespace="x")],
     ["1/1/1/0 InsufficientPods"]),
    ("a share of a set", {"maxUnavailable": "34%"},
     [workload("ReplicaSet", "s"), a_pod("a", SET), a_pod("b", SET)], ["3/1/2/1 SufficientPods"]),
    ("a set without a number", {"maxUnavailable": 0},
     [workload("ReplicaSet", "s", None), a_pod("a", SET)], ["1/1/1/0 InsufficientPods"]),
    ("two sets", {"minAvailable": "50%"},
     [workload("ReplicaSet", "s", 2), workload("StatefulSet", "t", 5), a_pod("a", SET),
      a_pod("b", reference("StatefulSet", "t"))], ["7/4/2/0 InsufficientPods"]),
    ("two sets of a deployment", {"maxUnavailable": 1},
     [workload("Deployment", "d", 4),
      workload("ReplicaSet", "s", 9, owners=[reference("Deployment", "d")]),
      workload("ReplicaSet", "t", 9, owners=[reference("Deployment", "d")]),
      a_pod("a", SET), a_pod("b", reference("ReplicaSet", "t"))], ["4/3/2/0 InsufficientPods"]),
    ("a set of another kind", {"maxUnavailable": 1},
     [workload("Deployment", "d", 4),
      workload("ReplicaSet", "s", 3, owners=[reference("Widget", "d", api="x/v1")]),
      a_pod("a", SET)], ["3/2/1/0 InsufficientPods"]),
    ("a missing owner", {"maxUnavailable": 1}, [a_pod("b", SET), a_pod("a", SET)],
     ['Warning CalculateExpectedPodCountFailed by controllermanager: Failed to calculate the'
      ' number of expected pods: found no controllers for pod "a"',
      '-/-/-/0 SyncFailed: found no controllers for pod \\"a\\"']),
    ("an owner of another uid", {"maxUnavailable": 1},
     [workload("ReplicaSet", "s"), a_pod("a", reference("ReplicaSet", "s", "other"))],
     ['Warning CalculateExpectedPodCountFailed by controllermanager: Failed to calculate the'
      ' number of expected pods: found no controllers for pod "a"',
      '-/-/-/0 SyncFailed: found no controllers for pod \\"a\\"']),
    ("an owner without a scale", {"maxUnavailable": 1},
     [workload("DaemonSet", "s"), a_pod("a", reference("DaemonSet", "s"))],
     ["Warning CalculateExpectedPodCountFailed by controllermanager: Failed to calculate the"
      " number of expected pods: daemonsets.apps does not implement the scale subresource",
      "-/-/-/0 SyncFailed: daemonsets.apps does not implement the scale subresource"]),
    ("a number for an owner without a scale", {"minAvailable": 0},
     [a_pod("a", reference("DaemonSet", "s"))], ["1/0/1/1 SufficientPods"]),
    ("a share of unmanaged pods", {"maxUnavailable": 1}, [a_pod("a")],
     ['Warning UnmanagedPods by controllermanager: Pods selected by this PodDisruptionBudget'
      ' (selector: &LabelSelector{MatchLabels:map[string]string{app:'
      ' web,},MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged. As a'
      ' result, the status of the PDB cannot be calculated correctly, which may result in'
      ' undefined behavior. To account for these pods please set ".spec.minAvailable" field of'
      ' the PDB to an integer value.', "0/0/1/0 InsufficientPods"]),
    ("a number of unmanaged pods", {"minAvailable": 0}, [a_pod("a")], ["1/0/1/1 SufficientPods"]),
]  # fmt: skip


def test_the_status_of_a_budget() -> None:
    for row, spec, objects, expected in ROWS:
        # In either order of the budget and its pods.
        assert synced(a_budget(**spec), *objects) == expected, row
        assert synced(*objects, a_budget(**spec)) == expected, row


def test_an_owner_counts_as_long_as_it_has_a_pod() -> None:
    sets = [workload("ReplicaSet", "s", 2), workload("StatefulSet", "t", 5)]
    pods = [a_pod("a", SET), a_pod("b", reference("StatefulSet", "t")), a_pod("c", SET)]
    bench = SingleSync(DisruptionController, a_budget(maxUnavailable=1), *sets, *pods)
    for pod, expected in ((pods[0], 7), (pods[1], 2)):
        bench.remove(pod)
        (status,) = bench.sync("shop/b")
        assert f"status.expectedPods={expected} " in status


@pytest.mark.parametrize(
    ("disrupted", "expected"),
    [
        pytest.param({"a": at(0)}, ["3/1/2/1", "sync shop/b at 120"], id="evicted now"),
        pytest.param({"a": at(-119)}, ["3/1/2/1", "sync shop/b at 1"], id="almost overdue"),
        pytest.param(
            {"a": at(-120)},
            ["Warning Pod shop/a NotDeleted by controllermanager: Pod was expected by PDB"
             " shop/shop to be deleted but it wasn't", "3/1/3/2"],
            id="overdue",
        ),
        pytest.param({"a": at(-10), "b": at(-50)}, ["3/1/1/0", "sync shop/b at 70"], id="two"),
        pytest.param({"a": at(-50), "b": at(-10)}, ["3/1/1/0", "sync shop/b at 70"], id="sooner"),
        pytest.param({"gone": at(0)}, ["3/1/3/2"], id="that is gone"),
        pytest.param({"deleted": at(0)}, ["3/1/3/2"], id="that is being deleted"),
        pytest.param({"other": at(0)}, ["3/1/3/2"], id="that is not covered"),
    ],
)  # fmt: skip
def test_evicted_pods_do_not_count_for_two_minutes(disrupted, expected) -> None:
    """Upstream: buildDisruptedPodMap."""
    pods = [a_pod(name) for name in "abc"]
    others = [a_pod("other", labels={"app": "x"})]
    if "deleted" in disrupted:
        others.append(a_pod("deleted", labels={"app": "x"}, gone=True))
    found = synced(a_budget({"disruptedPods": disrupted}, minAvailable=1), *pods, *others)
    numbers = [each.partition(" Sufficient")[0].partition(" Insufficient")[0] for each in found]
    assert numbers == expected


def test_a_status_that_says_so_already_is_not_written() -> None:
    first = SingleSync(DisruptionController, a_budget(minAvailable=1), a_pod("a"), a_pod("b"))
    assert len(first.sync("shop/b")) == 1
    condition = {
        "type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods", "message": "",
        "lastTransitionTime": at(-9), "observedGeneration": 2,
    }  # fmt: skip
    status = {
        "currentHealthy": 2, "desiredHealthy": 1, "disruptionsAllowed": 1, "expectedPods": 2,
        "observedGeneration": 2, "conditions": [condition],
    }  # fmt: skip
    assert synced(a_budget(status, minAvailable=1), a_pod("a"), a_pod("b")) == []
    failed = condition | {"status": "False", "reason": "SyncFailed"}
    failed["message"] = 'found no controllers for pod "a"'
    # The generation of this failure is the last one whose status was computed.
    failed["observedGeneration"] = 1
    status = {"disruptionsAllowed": 0, "observedGeneration": 1, "conditions": [failed]}
    assert synced(a_budget(status, maxUnavailable=1), a_pod("a", SET)) == []
    del status["observedGeneration"], failed["observedGeneration"]
    assert synced(a_budget(status, maxUnavailable=1), a_pod("a", SET)) == []


def test_a_pod_that_several_budgets_select_is_reported_once_for_each_change() -> None:
    bench = SingleSync(DisruptionController)
    for name in "cb":
        bench.put(a_budget(name=name, minAvailable=1))
    events = []
    for pod in (
        a_pod("a"),
        a_pod("a", ready=False),
        a_pod("a", ready=False),
        a_pod("x", labels={}),
    ):
        bench.put(pod)
        events += [each for each in bench.sync("shop/b") if " Pod shop/" in each]
    note = 'Pod "shop"/"a" matches multiple PodDisruptionBudgets.  Chose "b" arbitrarily.'
    text = f"Warning Pod shop/a MultiplePodDisruptionBudgets by controllermanager: {note}"
    assert events == [text, text]


def test_which_budgets_a_pod_concerns() -> None:
    bench = SingleSync(DisruptionController)
    assert bench.put(a_pod("a")) == []
    assert bench.put(a_budget(minAvailable=1)) == ["shop/b"]
    rows: list[tuple[str, Any, list[str]]] = [
        ("as it was", a_pod("a"), []),
        ("unready", a_pod("a", ready=False), ["shop/b"]),
        ("another owner", a_pod("a", SET, ready=False), ["shop/b"]),
        ("other labels", a_pod("a", labels={"app": "x"}), ["shop/b"]),
        ("still others", a_pod("a", labels={"app": "y"}), []),
        ("covered again", a_pod("a"), ["shop/b"]),
        ("of another namespace", a_pod("a", namespace="x"), []),
        ("a new one", a_pod("b"), ["shop/b"]),
    ]
    for row, pod, keys in rows:
        assert bench.put(pod) == keys, row
    bench.put(a_pod("c", labels={"app": "x"}))
    assert [bench.remove(a_pod(name)) for name in "bc"] == [["shop/b"], []]
    assert bench.put(a_budget(minAvailable=1, labels={"app": "z"})) == ["shop/b"]
    assert bench.put(a_pod("a", ready=False)) == []
    assert bench.remove(a_budget(labels={"app": "z"})) == ["shop/b"]
    assert bench.put(a_pod("a")) == []
    assert bench.sync("shop/b") == []


def test_a_stale_condition_of_a_pod_is_reset_beside_others() -> None:
    def pod(generation: int | None, since: float) -> Any:
        target = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": at(since)}
        metadata = {} if generation is None else {"generation": generation}
        conditions = [{"type": "Ready", "status": "True"}, target]
        return document(
            "Pod", "p", namespace="shop", metadata=metadata, status={"conditions": conditions}
        )  # fmt: skip

    for generation, observed in ((None, ""), (4, ', "observedGeneration": 4')):
        bench = SingleSync(StaleDisruptionController, pod(generation, -120))
        assert bench.sync("shop/p") == [
            'update Pod shop/p status: status.conditions=[{"type": "Ready", "status": "True"},'
            ' {"type": "DisruptionTarget", "status": "False", "lastProbeTime": null,'
            f' "lastTransitionTime": "{at(0)}"{observed}}}]'
        ]
    assert SingleSync(StaleDisruptionController, pod(1, -119)).sync("shop/p") == [
        "sync shop/p at 1"
    ]


# ------------------------------------------------------------------------------- adoption


def test_selectors_that_cannot_be_used_match_nothing() -> None:
    wrong = LabelSelector(
        match_expressions=(LabelSelectorRequirement(key="a", operator="In", values=()),)
    )
    for each in (None, LabelSelector(), wrong):
        assert compiled_selector(each) is NOTHING
    good = LabelSelector(match_labels={"a": "b"})
    assert compiled_selector(good) == label_selector(good)
    exists = LabelSelector(
        match_expressions=(LabelSelectorRequirement(key="a", operator="Exists"),)
    )
    assert compiled_selector(exists).matches({"a": "x"})
    written: list[tuple[Any, bool]] = [
        ({"selector": {"matchLabels": {"a": "b"}}}, True), ({"selector": None}, False), ({}, False),
        ({"selector": {"matchLabels": 3}}, False),
    ]  # fmt: skip
    for spec, matches in written:
        owner = document("ConfigMap", "x", namespace="shop", spec=spec)
        assert selector_of(owner).matches({"a": "b"}) is matches, spec


def test_references_are_added_and_removed() -> None:
    owner = workload("ReplicaSet", "s")
    other = reference("Job", "j") | {"controller": False}
    pod = adopted(a_pod("a", other), owner)
    expected = reference("ReplicaSet", "s") | {"blockOwnerDeletion": True}
    assert pod.raw["metadata"]["ownerReferences"][1] == expected
    assert [each.uid for each in pod.metadata.owner_references] == ["j-uid", "s-uid"]
    assert [each.uid for each in released(pod, owner).metadata.owner_references] == ["j-uid"]
    assert released(a_pod("a", other), owner).metadata.owner_references[0].uid == "j-uid"


def test_the_orphans_that_an_owner_may_adopt() -> None:
    lister = Lister()
    orphans = Orphans(lister, POD)

    def put(pod: Any) -> list[str]:
        return list(orphans.observe(lister.put(pod), pod))

    one, two = workload("ReplicaSet", "s"), workload("ReplicaSet", "t")
    selector = label_selector(LabelSelector(match_labels=LABELS))
    assert put(a_pod("early")) == []
    for each in (two, one):
        orphans.put_owner(each, selector)
    assert put(a_pod("b")) == ["shop/s", "shop/t"]
    assert put(a_pod("b")) == []
    assert put(a_pod("alien", labels={"app": "x"})) == []
    assert put(a_pod("owned", SET)) == []
    assert put(a_pod("owned")) == ["shop/s", "shop/t"]
    assert put(a_pod("gone", gone=True)) == ["shop/s", "shop/t"]
    assert put(a_pod("a", namespace="x")) == []
    assert [each.name for each in orphans.adoptable_by(one)] == ["b", "early", "owned"]
    put(a_pod("b", SET))
    put(a_pod("early", labels={"app": "x"}))
    lister.delete(a_pod("owned"))
    assert orphans.adoptable_by(one) == orphans.adoptable_by(two) == []
    orphans.put_owner(one, NOTHING)
    assert put(a_pod("c")) == ["shop/t"]
    orphans.put_owner(one, selector)
    assert [each.name for each in orphans.adoptable_by(one)] == ["c"]
    orphans.remove_owner(one)
    assert list(orphans.owners) == ["shop"]
    assert orphans.adoptable_by(one) == []
    orphans.remove_owner(two)
    assert orphans.owners == {}
    orphans.remove_owner(two)
    assert orphans.observe(a_pod("c"), None) == ()


def test_a_pod_is_made_of_the_given_parts_of_a_template() -> None:
    owner = workload("ReplicaSet", "s")
    template = {
        "metadata": {"labels": {"a": "b"}, "annotations": {}, "finalizers": ["f"], "name": "n"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    pod = pod_from_template(owner, template)
    assert pod.raw == {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "generateName": "s-", "namespace": "shop", "labels": {"a": "b"}, "finalizers": ["f"],
            "ownerReferences": [reference("ReplicaSet", "s") | {"blockOwnerDeletion": True}],
        },
        "spec": template["spec"],
    }  # fmt: skip
    labeled = with_labels(pod, {"x": "y"})
    assert labeled.metadata.labels == labeled.raw["metadata"]["labels"] == {"a": "b", "x": "y"}
    assert pod.metadata.labels == {"a": "b"}
    made = PodTemplates()
    first = made.pod(owner, template)
    assert made.pod(owner, template) is first
    assert made.pod(owner, dict(template)) is not first
    last = made.pod(owner, template)
    made.forget(workload("ReplicaSet", "other"))
    assert made.pod(owner, template) is last
    made.forget(owner)
    assert made.pod(owner, template) is not last


# -------------------------------------------------------------------------------- fields


@pytest.mark.parametrize(
    ("change", "is_only"),
    [
        ({"status": {"x": 1}}, True),
        ({"metadata": {"resourceVersion": "9"}}, True),
        ({"metadata": {"managedFields": []}}, True),
        ({"spec": {"replicas": 4}}, False),
        ({"metadata": {"generation": 2}}, False),
        ({"metadata": {"uid": "other"}}, False),
        ({"metadata": {"deletionTimestamp": at(0)}}, False),
        ({"metadata": {"labels": {"a": "b"}}}, False),
        ({"metadata": {"annotations": {"a": "b"}}}, False),
        ({"metadata": {"ownerReferences": [reference("Job", "j")]}}, False),
    ],
)
def test_what_is_more_than_a_status(change, is_only) -> None:
    def made(**parts: Any) -> Any:
        metadata = {"uid": "u", **parts.pop("metadata", {})}
        parts = {"spec": {"replicas": 3}, **parts}
        return document("ReplicaSet", "s", api="apps/v1", namespace="shop", metadata=metadata,
                        **parts)  # fmt: skip

    assert is_only_status(made(), made(**change)) is is_only
    assert is_only_status(None, made()) is is_only_status(made(), None) is False


def test_fields_as_the_api_writes_them() -> None:
    assert without_zeros({"a": 0, "b": 0, "c": 2, "d": None, "e": ""}, ("b", "x")) == {
        "b": 0, "c": 2,
    }  # fmt: skip
    obj = workload("ReplicaSet", "s")
    noted = with_annotations(obj, {"a": "b"})
    assert noted.metadata.annotations == noted.raw["metadata"]["annotations"] == {"a": "b"}
    bare = with_annotations(noted, {})
    assert bare.metadata.annotations == {}
    assert bare.raw == obj.raw


def test_each_budget_of_a_namespace_has_its_own_pods() -> None:
    bench = SingleSync(DisruptionController)
    other = document(
        "PodDisruptionBudget", "b", api="policy/v1", namespace="x",
        spec={"selector": {"matchLabels": LABELS}},
    )  # fmt: skip
    for each in (a_budget(name="c"), a_budget(name="d", labels={"app": "db"}), a_budget(), other):
        assert bench.put(each) == [each.key]
    assert bench.put(a_pod("a")) == ["shop/c", "shop/b"]
    assert bench.put(a_pod("e", labels={"app": "db"})) == ["shop/d"]
    assert bench.put(a_pod("a", namespace="x")) == ["x/b"]
    assert bench.put(a_pod("a", labels={"app": "db"})) == ["shop/c", "shop/d", "shop/b"]
    # A budget that is gone concerns no pod, and the others stay.
    assert bench.remove(a_budget(name="d", labels={"app": "db"})) == ["shop/d"]
    assert bench.put(a_pod("a")) == ["shop/c", "shop/b"]
    assert bench.remove(a_budget(name="c")) == ["shop/c"]
    assert bench.put(a_pod("a", ready=False)) == ["shop/b"]
    assert bench.remove(a_budget()) == ["shop/b"]
    assert bench.remove(a_pod("a")) == []
    assert bench.remove(a_pod("a", namespace="x")) == ["x/b"]


def test_a_budget_that_comes_again_selects_as_a_new_one() -> None:
    bench = SingleSync(DisruptionController, a_budget(minAvailable=1), a_pod("a"), a_pod("b"))
    bench.remove(a_budget(minAvailable=1))
    bench.put(a_budget(minAvailable=1, labels={"app": "db"}))
    assert [each for each in bench.sync("shop/b") if "NoPods" in each]
    bench.put(a_budget(minAvailable=1))
    (status,) = bench.sync("shop/b")
    assert "status.currentHealthy=2 " in status


def test_the_pods_of_several_budgets_are_reported_by_the_first_one() -> None:
    bench = SingleSync(DisruptionController)
    for name in ("c", "b", "d"):
        bench.put(a_budget(name=name, minAvailable=1))
    pods = [a_pod(name) for name in "ef"]
    for pod in (*pods, a_pod("gone")):
        bench.put(pod)
    bench.remove(a_pod("gone"))
    reported = {
        name: [each.split()[2] for each in bench.sync(f"shop/{name}") if "Multiple" in each]
        for name in "dcb"
    }
    assert reported == {"d": [], "c": [], "b": ["shop/e", "shop/f"]}
    # What was reported is not reported again, nor what a budget that is gone was chosen for.
    bench.put(a_pod("e", ready=False))
    bench.remove(a_budget(name="b"))
    assert bench.sync("shop/b") == []
    bench.put(a_budget(name="b", minAvailable=1))
    assert not [each for each in bench.sync("shop/b") if "Multiple" in each]

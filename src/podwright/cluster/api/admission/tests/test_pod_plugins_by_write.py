"""What the plugins of pods make of single pods: whole specs, whole messages."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.amounts import texts_of
from podwright.cluster.api.admission.chain import AdmissionChain
from podwright.cluster.api.admission.plugins import OPTIONAL, default_plugins
from podwright.cluster.api.admission.pods.default_tolerations import default_tolerations
from podwright.cluster.api.admission.pods.pod_amounts import pod_amounts
from podwright.cluster.api.admission.pods.pod_priority import Priority
from podwright.cluster.api.admission.pods.pod_resize import PodResizeValidator
from podwright.cluster.api.admission.pods.runtime_classes import RuntimeClass, merged_tolerations
from podwright.cluster.api.admission.pods.topology_labels import PodTopologyLabels
from podwright.cluster.api.admission.tests.contexts import (
    a_context,
    a_store,
    a_write,
    named,
    outcome,
)


def priority_class(name: str, value: int, **parts: Any) -> Document:
    return named("scheduling.k8s.io/v1 PriorityClass", name, value=value, **parts)


HIGH = priority_class("high", 10, preemptionPolicy="Never")
PLAIN = priority_class("plain", 5)
LOW_DEFAULT = priority_class("low", 3, globalDefault=True)
HIGH_DEFAULT = priority_class("another", 7, globalDefault=True)
LOWER = "PreemptLowerPriority"


def given(text: str, computed: str) -> str:
    return (
        f'pods "p" is forbidden: the {text} must not be provided in pod spec; priority admission'
        f" controller computed {computed} from the given PriorityClass name"
    )


@pytest.mark.parametrize(
    ("classes", "spec", "keeps", "made"),
    [
        ([], {}, False, {"priority": 0, "preemptionPolicy": LOWER}),
        ([HIGH, PLAIN], {}, False, {"priority": 0, "preemptionPolicy": LOWER}),
        (
            [HIGH], {"priorityClassName": "high"}, False,
            {"priorityClassName": "high", "priority": 10, "preemptionPolicy": "Never"},
        ),
        (
            [PLAIN], {"priorityClassName": "plain"}, False,
            {"priorityClassName": "plain", "priority": 5, "preemptionPolicy": LOWER},
        ),
        (
            [named("scheduling.k8s.io/v1 PriorityClass", "bare")], {"priorityClassName": "bare"},
            False, {"priorityClassName": "bare", "priority": 0, "preemptionPolicy": LOWER},
        ),
        (
            [HIGH_DEFAULT, LOW_DEFAULT, HIGH], {}, False,
            {"priorityClassName": "low", "priority": 3, "preemptionPolicy": LOWER},
        ),
        (
            [LOW_DEFAULT], {"priorityClassName": ""}, False,
            {"priorityClassName": "low", "priority": 3, "preemptionPolicy": LOWER},
        ),
        ([], {"priorityClassName": "x"}, False,
         'pods "p" is forbidden: no PriorityClass with name x was found'),
        ([], {"priorityClassName": "x", "priority": 4}, False,
         'pods "p" is forbidden: no PriorityClass with name x was found'),
        (
            [], {"priorityClassName": "x", "priority": 4}, True,
            {"priorityClassName": "x", "priority": 4, "preemptionPolicy": LOWER},
        ),
        ([], {"priorityClassName": "x"}, True,
         'pods "p" is forbidden: no PriorityClass with name x was found'),
        ([], {"priority": 0}, False, {"priority": 0, "preemptionPolicy": LOWER}),
        ([], {"priority": 1}, False, given("integer value of priority (1)", "0")),
        ([HIGH], {"priorityClassName": "high", "priority": 9}, False,
         given("integer value of priority (9)", "10")),
        (
            [HIGH], {"priorityClassName": "high", "priority": 10}, False,
            {"priorityClassName": "high", "priority": 10, "preemptionPolicy": "Never"},
        ),
        ([HIGH], {"priorityClassName": "high", "preemptionPolicy": LOWER}, False,
         given(f"string value of PreemptionPolicy ({LOWER})", "Never")),
        ([], {"preemptionPolicy": "Never"}, False,
         given("string value of PreemptionPolicy (Never)", LOWER)),
        ([], {"preemptionPolicy": LOWER}, False, {"priority": 0, "preemptionPolicy": LOWER}),
        (
            [HIGH],
            {"priorityClassName": "high", "priority": 9, "preemptionPolicy": LOWER}, True,
            {"priorityClassName": "high", "priority": 9, "preemptionPolicy": LOWER},
        ),
        (
            [HIGH], {"priorityClassName": "high"}, True,
            {"priorityClassName": "high", "priority": 10, "preemptionPolicy": "Never"},
        ),
        (
            [named("scheduling.k8s.io/v1 PriorityClass", "bare", globalDefault=True)], {},
            False, {"priorityClassName": "bare", "priority": 0, "preemptionPolicy": LOWER},
        ),
        # A recorded priority is not that of the default class.
        ([LOW_DEFAULT], {"priority": 0}, True, {"priority": 0, "preemptionPolicy": LOWER}),
        (
            [LOW_DEFAULT], {"priority": 3}, True,
            {"priorityClassName": "low", "priority": 3, "preemptionPolicy": LOWER},
        ),
    ],
)  # fmt: skip
def test_the_priority_of_a_new_pod(
    classes: list[Document], spec: Document, made: Document | str, *, keeps: bool
) -> None:
    new = {"metadata": {"name": "p"}, "spec": spec}
    expected = made if isinstance(made, str) else new | {"spec": made}
    store = a_store(*classes)
    assert (
        outcome(Priority(a_context(store, keeps_given=keeps)), a_write("v1 Pod", new)) == expected
    )
    if keeps:  # as if it were restored
        write = a_write("v1 Pod", new, is_restored=True)
        assert outcome(Priority(a_context(store)), write) == expected


WRONG_GROUP = (
    'podgroups.scheduling.k8s.io "g" is forbidden: priority set in the pod group (4) must match the'
    " priority computed (10) based on the priority class set in the spec"
)
NO_CLASS = 'podgroups.scheduling.k8s.io "g" is forbidden: no PriorityClass with name x was found'


@pytest.mark.parametrize(
    ("classes", "spec", "made", "kept"),
    [
        ([], {}, {"priority": 0}, {}),
        ([PLAIN], {"priority": 0}, {"priority": 0}, {"priority": 0}),
        (
            [HIGH], {"priorityClassName": "high"},
            {"priorityClassName": "high", "priority": 10},
            {"priorityClassName": "high", "priority": 10},
        ),
        ([LOW_DEFAULT], {}, {"priorityClassName": "low", "priority": 3}, {"priority": 3}),
        (
            [HIGH], {"priorityClassName": "high", "priority": 4}, WRONG_GROUP,
            {"priorityClassName": "high", "priority": 4},
        ),
        ([HIGH], {"priorityClassName": "x"}, NO_CLASS, NO_CLASS),
        (
            [HIGH], {"priorityClassName": "x", "priority": 4}, NO_CLASS,
            {"priorityClassName": "x", "priority": 4},
        ),
    ],
)  # fmt: skip
def test_the_priority_of_a_new_pod_group(
    classes: list[Document], spec: Document, made: Document | str, kept: Document | str
) -> None:
    """Upstream: plugin/pkg/admission/priority/admission.go, admitPodGroup"""
    new = {"metadata": {"name": "g"}, "spec": spec}
    for keeps, outcome_of in ((False, made), (True, kept)):
        expected = outcome_of if isinstance(outcome_of, str) else new | {"spec": outcome_of}
        context = a_context(a_store(*classes), keeps_given=keeps, sets_group_priority=True)
        write = a_write("scheduling.k8s.io/v1alpha2 PodGroup", new)
        assert outcome(Priority(context), write) == expected
    without_gate = Priority(a_context(a_store(*classes)))
    assert outcome(without_gate, a_write("scheduling.k8s.io/v1alpha2 PodGroup", new)) == new
    update = a_write("scheduling.k8s.io/v1alpha2 PodGroup", new, new)
    context = a_context(a_store(*classes), sets_group_priority=True)
    assert outcome(Priority(context), update) == new


def test_a_changed_pod_keeps_its_priority() -> None:
    plugin = Priority(a_context(a_store(LOW_DEFAULT)))
    stored = {"spec": {"priority": 4, "preemptionPolicy": "Never", "x": 1}}
    for new, made in (
        ({"y": 1}, {"y": 1, "priority": 4, "preemptionPolicy": "Never"}),
        ({"priority": 5}, {"priority": 5, "preemptionPolicy": "Never"}),
    ):
        assert outcome(plugin, a_write("v1 Pod", {"spec": new}, stored)) == {"spec": made}
    assert outcome(plugin, a_write("v1 Pod", {"spec": {}}, {"spec": {}})) == {"spec": {}}
    write = a_write("v1 Pod", {"spec": {}}, stored, subresource="status")
    assert outcome(plugin, write) == {"spec": {}}


@pytest.mark.parametrize(
    ("new", "operation", "name", "is_rejected"),
    [
        ({"globalDefault": True}, "CREATE", "", True),
        ({"globalDefault": False}, "CREATE", "", False),
        ({}, "CREATE", "", False),
        ({"globalDefault": True}, "UPDATE", "other", True),
        ({"globalDefault": True}, "UPDATE", "low", False),
        ({"globalDefault": True}, "DELETE", "other", False),
        (None, "DELETE", "other", False),
    ],
)
def test_one_class_is_the_default(
    new: Document | None, operation: Any, name: str, *, is_rejected: bool
) -> None:
    kind = "scheduling.k8s.io/v1 PriorityClass"
    write = a_write(kind, new, {}, operation=operation, name=name, namespace="")
    found = outcome(Priority(a_context(a_store(LOW_DEFAULT))), write)
    assert isinstance(found, str) is is_rejected
    if is_rejected:
        assert str(found).endswith(
            "PriorityClass low is already marked as default. Only one default can exist"
        )
    free = a_write(kind, new, {}, operation=operation, name=name, namespace="")
    assert outcome(Priority(a_context(a_store(PLAIN))), free) == new


# -------------------------------------------------------------------------- runtime classes


def runtime_class(**parts: Any) -> Document:
    return named("node.k8s.io/v1 RuntimeClass", "r", handler="h", **parts)


OTHER = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
WITHOUT = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
POD_FIXED = {"overhead": {"podFixed": {"cpu": "1"}}}
NAMED = {"runtimeClassName": "r"}


@pytest.mark.parametrize(
    ("parts", "spec", "keeps", "made"),
    [
        ({}, {}, False, {}),
        ({}, {"overhead": {"cpu": "1"}}, False, WITHOUT),
        ({}, {"overhead": {"cpu": "1"}}, True, {"overhead": {"cpu": "1"}}),
        ({}, {"overhead": {}}, False, WITHOUT),
        ({}, NAMED, False, NAMED),
        (POD_FIXED, NAMED, False, NAMED | {"overhead": {"cpu": "1"}}),
        (
            POD_FIXED, NAMED | {"overhead": {"cpu": "1000m"}}, False,
            NAMED | {"overhead": {"cpu": "1"}},
        ),
        (POD_FIXED, NAMED | {"overhead": {"cpu": "2"}}, False, OTHER),
        (POD_FIXED, NAMED | {"overhead": {"memory": "1"}}, False, OTHER),
        (POD_FIXED, NAMED | {"overhead": {"cpu": "2"}}, True, NAMED | {"overhead": {"cpu": "2"}}),
        (POD_FIXED, NAMED | {"overhead": {}}, True, NAMED | {"overhead": {"cpu": "1"}}),
        ({"overhead": {}}, NAMED, False, NAMED | {"overhead": {}}),
        ({"overhead": {"podFixed": None}}, NAMED, False, NAMED | {"overhead": {}}),
        ({}, NAMED | {"overhead": {"cpu": "1"}}, False, WITHOUT),
        (
            {"scheduling": {"nodeSelector": {"b": "1", "a": "2"}}}, NAMED, False,
            NAMED | {"nodeSelector": {"a": "2", "b": "1"}},
        ),
        (
            {"scheduling": {"nodeSelector": {"b": "1"}}}, NAMED | {"nodeSelector": {"b": "1"}},
            False, NAMED | {"nodeSelector": {"b": "1"}},
        ),
        (
            {"scheduling": {"nodeSelector": {"c": "1", "b": "1", "a": "1"}}},
            NAMED | {"nodeSelector": {"c": "2", "b": "2"}}, False,
            "conflict: runtimeClass.scheduling.nodeSelector[b] = 1; pod.spec.nodeSelector[b] = 2",
        ),
        (
            {"scheduling": {"tolerations": [{"key": "a", "operator": "Exists"}]}},
            NAMED | {"tolerations": [{"key": "b", "operator": "Exists"}]}, False,
            NAMED | {"tolerations": [{"key": "b", "operator": "Exists"},
                                     {"key": "a", "operator": "Exists"}]},
        ),
        ({"scheduling": {}}, NAMED, False, NAMED),
        (
            {"scheduling": {}}, NAMED | {"tolerations": [{"operator": "Exists"}] * 2}, False,
            NAMED | {"tolerations": [{"operator": "Exists"}]},
        ),
        ({}, {"runtimeClassName": "x"}, False, 'pod rejected: RuntimeClass "x" not found'),
        ({}, {"runtimeClassName": "x"}, True, 'pod rejected: RuntimeClass "x" not found'),
        (
            {}, {"runtimeClassName": "x", "overhead": {"cpu": "1"}}, True,
            {"runtimeClassName": "x", "overhead": {"cpu": "1"}},
        ),
        ({}, {"runtimeClassName": ""}, False, "resource name may not be empty"),
        (
            {}, {"runtimeClassName": "a/%"}, False,
            'invalid resource name "a/%": [may not contain \'/\' may not contain \'%\']',
        ),
    ],
)  # fmt: skip
def test_what_a_runtime_class_makes_of_a_new_pod(
    parts: Document, spec: Document, made: Document | str, *, keeps: bool
) -> None:
    plugin = RuntimeClass(a_context(a_store(runtime_class(**parts)), keeps_given=keeps))
    new = {"metadata": {"name": "p"}, "spec": spec}
    found = outcome(plugin, a_write("v1 Pod", new))
    if isinstance(made, str):
        assert isinstance(found, str)
        assert found.removeprefix('pods "p" is forbidden: ') == made
    else:
        assert found == new | {"spec": made}
    for write in (a_write("v1 Pod", new, new), a_write("v1 Pod", new, subresource="binding")):
        assert outcome(plugin, write) == new


def toleration(text: str) -> Document:
    """Return a toleration of `KEY OPERATOR VALUE EFFECT SECONDS`, where `-` is none."""
    names = ("key", "operator", "value", "effect", "tolerationSeconds")
    parts = zip(names, text.split(" "), strict=True)
    found: Document = {name: part for name, part in parts if part != "-"}
    if "tolerationSeconds" in found:
        found["tolerationSeconds"] = int(found["tolerationSeconds"])
    return found


@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        (["a Equal x - -", "a Equal x - -"], [0]),
        (["a Equal x NoExecute -", "a Exists - NoExecute -"], [1]),
        (["a Exists - NoExecute -", "a Equal x NoExecute -"], [0]),
        (["a Equal x NoExecute -", "a Equal x - -"], [1]),
        (["a Equal x NoExecute -", "- Exists - - -"], [1]),
        (["a Equal x NoExecute -", "b Exists - - -"], [0, 1]),
        (["a Equal x NoExecute -", "a Equal y NoExecute -"], [0, 1]),
        (["a Exists - NoExecute 5", "a Exists - NoExecute 9"], [1]),
        (["a Exists - NoExecute 9", "a Exists - NoExecute 5"], [0]),
        (["a Exists - NoExecute 9", "a Exists - NoExecute -"], [1]),
        (["a Exists - NoExecute -", "a Exists - NoExecute 9"], [0]),
        (["a Exists - NoSchedule 5", "a Exists - NoSchedule -"], [1]),
        (["a - x NoSchedule -", "a Equal x NoSchedule -"], [0]),
        (["a Equal x NoSchedule -", "a - x NoSchedule -"], [1]),
        (["a Lt 5 NoSchedule -", "a Exists - NoSchedule -"], [1]),
        (["a Lt 5 NoSchedule -", "a Lt 5 NoSchedule -"], [0]),
        (["a Lt 5 NoSchedule -", "a Lt 6 NoSchedule -"], [0, 1]),
    ],
)
def test_tolerations_that_others_include(texts: list[str], kept: list[int]) -> None:
    tolerations = [toleration(text) for text in texts]
    assert merged_tolerations(tolerations) == [tolerations[index] for index in kept]
    assert merged_tolerations([]) == []


def test_tolerations_that_a_pod_does_not_have() -> None:
    def added(*names: str) -> list[Document]:
        return [toleration(f"node.kubernetes.io/{name} Exists - NoExecute 300") for name in names]

    both = ("not-ready", "unreachable")
    for texts, names in (
        ([], both),
        (["x Exists - NoExecute -"], both),
        (["node.kubernetes.io/not-ready Exists - NoExecute 5"], ("unreachable",)),
        (["node.kubernetes.io/unreachable Exists - - -"], ("not-ready",)),
        (["node.kubernetes.io/not-ready Exists - NoSchedule -"], both),
        (["- Exists - NoExecute -"], ()),
        (["- Exists - - -"], ()),
        (["- Exists - NoSchedule -"], both),
    ):
        written = [toleration(text) for text in texts]
        assert default_tolerations(written) == [*written, *added(*names)], texts


# ------------------------------------------------------------------------------ topology

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


@pytest.mark.parametrize(
    ("subresource", "document", "labels"),
    [
        ("", {"spec": {"nodeName": "both"}}, {ZONE: "z", REGION: "r"}),
        ("", {"spec": {"nodeName": "zone"}}, {ZONE: "z"}),
        ("", {"spec": {"nodeName": "bare"}}, None),
        ("", {"spec": {"nodeName": "absent"}}, None),
        ("", {"spec": {}}, None),
        (
            "", {"metadata": {"labels": {ZONE: "own", "a": "1"}}, "spec": {"nodeName": "both"}},
            {ZONE: "z", REGION: "r", "a": "1"},
        ),
        ("binding", {"target": {"kind": "Node", "name": "zone"}}, {ZONE: "z"}),
        ("binding", {"target": {"kind": "Pod", "name": "zone"}}, None),
        ("binding", {"target": None}, None),
        ("eviction", {"spec": {"nodeName": "both"}}, None),
    ],
)  # fmt: skip
def test_the_topology_of_a_node_as_labels_of_its_pods(
    subresource: str, document: Document, labels: Document | None
) -> None:
    store = a_store(
        named("v1 Node", "both", metadata={"labels": {ZONE: "z", REGION: "r", "x": "y"}}),
        named("v1 Node", "zone", metadata={"labels": {ZONE: "z"}}),
        named("v1 Node", "bare"),
    )
    plugin = PodTopologyLabels(a_context(store))
    found = outcome(plugin, a_write("v1 Pod", document, subresource=subresource))
    before = document.get("metadata") or {}
    expected = document if labels is None else document | {"metadata": before | {"labels": labels}}
    assert found == expected
    assert outcome(plugin, a_write("v1 Pod", document, document)) == document
    has_no_node = not (document.get("spec") or {}).get("nodeName")
    assert plugin.decides_by_template(a_write("v1 Pod", document)) is has_no_node


def test_the_pods_of_a_template_are_decided_alike_by_all_plugins() -> None:
    chain = AdmissionChain(default_plugins(a_context(), enabled=OPTIONAL))
    write = a_write("v1 Pod", {"spec": {"containers": [{"name": "c", "image": "i"}]}})
    plugins = chain.plugins_for(write.resource)
    assert [each.name for each in plugins if not each.decides_by_template(write)] == []


# -------------------------------------------------------------------------------- resize


def resized(requests: Document, generation: int, node: str | None = "n") -> Document:
    spec: Document = {"containers": [{"name": "c", "resources": {"requests": requests}}]}
    metadata = {"name": "p", "generation": generation}
    return {"metadata": metadata, "spec": spec | ({"nodeName": node} if node else {})}


TOO_LITTLE = "node didn't have enough allocatable resources: "


@pytest.mark.parametrize(
    ("new", "facts", "message"),
    [
        (resized({"cpu": "2", "memory": "1Gi"}, 2), {}, None),
        (resized({"cpu": "2001m"}, 2), {}, f"{TOO_LITTLE}cpu, requested: 2001, allocatable: 2000"),
        (
            resized({"memory": "1073741825"}, 2), {},
            f"{TOO_LITTLE}memory, requested: 1073741825, allocatable: 1073741824",
        ),
        (
            resized({"cpu": "3", "memory": "2Gi", "x/y": "9"}, 2), {},
            f"{TOO_LITTLE}cpu, requested: 3000, allocatable: 2000; memory, requested: 2147483648,"
            " allocatable: 1073741824",
        ),
        (resized({"cpu": "3"}, 1), {}, None),
        (resized({"cpu": "3"}, 2, None), {}, None),
        (resized({"cpu": "3"}, 2, "absent"), {}, 'node "absent" not found'),
        (
            resized({"cpu": "1"}, 2, "windows"), {},
            'pod resize is only supported on linux nodes, node "windows" is "windows"',
        ),
        (resized({"cpu": "1"}, 2, "linux"), {},
         f"{TOO_LITTLE}cpu, requested: 1000, allocatable: 0"),
        (resized({"cpu": "3"}, 2), {"subresource": ""}, None),
        (resized({"cpu": "3"}, 2), {"subresource": "status"}, None),
        (resized({"cpu": "3"}, 2), {"operation": "CREATE"}, None),
    ],
)  # fmt: skip
def test_what_a_node_can_grant(new: Document, facts: Document, message: str | None) -> None:
    system = "kubernetes.io/os"
    store = a_store(
        named("v1 Node", "n", status={"allocatable": {"cpu": "2", "memory": "1Gi"}}),
        named("v1 Node", "windows", metadata={"labels": {system: "windows"}}),
        named("v1 Node", "linux", metadata={"labels": {system: "linux"}}),
    )
    old = resized({"cpu": "1"}, 1)
    write = a_write("v1 Pod", new, old, **{"subresource": "resize", **facts})
    found = outcome(PodResizeValidator(a_context(store)), write)
    expected = None if message is None else f'pods "p" is forbidden: {message}'
    assert (found if isinstance(found, str) else None) == expected


# --------------------------------------------------------------------------------- amounts


def container(name: str, cpu: str, limit: str = "", **more: Any) -> Document:
    resources: Document = {"requests": {"cpu": cpu}}
    if limit:
        resources["limits"] = {"cpu": limit}
    return {"name": name, "resources": resources, **more}


ALWAYS = {"restartPolicy": "Always"}


def status_of(name: str, requests: str, allocated: str = "") -> Document:
    found: Document = {"name": name, "resources": {"requests": {"cpu": requests}}}
    return found | ({"allocatedResources": {"cpu": allocated}} if allocated else {})


@pytest.mark.parametrize(
    ("spec", "status", "requests"),
    [
        ({}, {}, {}),
        ({"containers": [container("a", "1"), container("b", "500m")]}, {}, {"cpu": "1500m"}),
        (
            {"containers": [container("a", "1")], "initContainers": [container("i", "3")]}, {},
            {"cpu": "3"},
        ),
        (
            {"containers": [container("a", "4")], "initContainers": [container("i", "3")]}, {},
            {"cpu": "4"},
        ),
        (
            {"containers": [container("a", "1")],
             "initContainers": [container("s", "2", **ALWAYS)]}, {},
            {"cpu": "3"},
        ),
        (  # A step runs beside the sidecars before it.
            {"containers": [container("a", "1")],
             "initContainers": [container("s", "2", **ALWAYS), container("i", "4")]}, {},
            {"cpu": "6"},
        ),
        (
            {"containers": [container("a", "1")],
             "initContainers": [container("i", "4"), container("s", "2", **ALWAYS)]}, {},
            {"cpu": "4"},
        ),
        ({"containers": [container("a", "1")], "overhead": {"cpu": "250m", "x": "1"}}, {},
         {"cpu": "1250m", "x": "1"}),
        (
            {"containers": [container("a", "1")],
             "resources": {"requests": {"cpu": "5", "x/y": "1", "hugepages-2Mi": "2Mi"}}}, {},
            {"cpu": "5", "hugepages-2Mi": "2Mi"},
        ),
        # During a resize, the larger amounts count.
        ({"containers": [container("a", "1")]}, {"containerStatuses": [status_of("a", "2")]},
         {"cpu": "2"}),
        ({"containers": [container("a", "3")]}, {"containerStatuses": [status_of("a", "2")]},
         {"cpu": "3"}),
        ({"containers": [container("a", "1")]},
         {"containerStatuses": [status_of("a", "1", "4")]}, {"cpu": "4"}),
        ({"containers": [container("a", "1")]}, {"containerStatuses": [status_of("b", "9")]},
         {"cpu": "1"}),
        ({"containers": [container("a", "1")]},
         {"containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "9"}}]},
         {"cpu": "1"}),
        (
            {"containers": [container("a", "3")]},
            {"containerStatuses": [status_of("a", "2")],
             "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]},
            {"cpu": "2"},
        ),
        (
            {"containers": [container("a", "3")]},
            {"containerStatuses": [status_of("a", "2")],
             "conditions": [{"type": "PodResizePending", "reason": "Deferred"}]},
            {"cpu": "3"},
        ),
        (
            {"containers": [container("a", "1")],
             "initContainers": [container("s", "1", **ALWAYS)]},
            {"initContainerStatuses": [status_of("s", "3")]},
            {"cpu": "4"},
        ),
        (
            {"containers": [container("a", "1")], "initContainers": [container("i", "2")]},
            {"initContainerStatuses": [status_of("i", "9")]},
            {"cpu": "2"},
        ),
    ],
)  # fmt: skip
def test_the_requests_of_a_pod(spec: Document, status: Document, requests: Document) -> None:
    assert texts_of(pod_amounts({"spec": spec, "status": status}, "requests")) == requests


def test_the_limits_of_a_pod() -> None:
    spec = {"containers": [container("a", "1", "2"), container("b", "1")]}
    for overhead, limits in (
        ({}, {"cpu": "2"}),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "3"}),
    ):
        assert texts_of(pod_amounts({"spec": spec | {"overhead": overhead}}, "limits")) == limits
    none = {"containers": [container("a", "1", "0")], "overhead": {"cpu": "1"}}
    assert texts_of(pod_amounts({"spec": none}, "limits")) == {"cpu": "0"}

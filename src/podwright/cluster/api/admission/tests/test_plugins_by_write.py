"""What each plugin makes of single writes: whole objects, whole messages."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import SOURCE_UID, Document
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.chain import AdmissionChain
from podwright.cluster.api.admission.default_classes import (
    DefaultIngressClass,
    DefaultStorageClass,
    PersistentVolumeClaimResize,
)
from podwright.cluster.api.admission.namespace_lifecycle import NamespaceLifecycle
from podwright.cluster.api.admission.new_objects import (
    PodGroupProtection,
    StorageObjectInUseProtection,
    TaintNodesByCondition,
    protected,
)
from podwright.cluster.api.admission.plugin import Plugin, metadata_of, name_of, set_spec, spec_of
from podwright.cluster.api.admission.plugins import PLUGINS, default_plugins
from podwright.cluster.api.admission.tests.contexts import (
    a_context,
    a_store,
    a_write,
    named,
    outcome,
)
from podwright.cluster.api.users import User
from podwright.cluster.api.versions.resources import built_in_resources

SPARSE: tuple[Document, ...] = (
    {},
    {"metadata": None, "spec": None, "status": None},
    {"metadata": {}, "spec": {}, "status": {}},
)
"""Objects that lack what plugins read."""


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE", "DELETE", "CONNECT"])
def test_plugins_take_objects_that_lack_everything(operation: Any) -> None:
    """A plugin without something to read neither fails nor rejects; what it sets is complete."""
    namespaces = [named("v1 Namespace", "default")]
    plugins = default_plugins(
        a_context(a_store(*namespaces)), enabled=("OwnerReferencesPermissionEnforcement",)
    )
    made: dict[tuple[str, str], list[Document | str | None]] = {}
    for (version, kind), resource in built_in_resources().items():
        for plugin in plugins:
            if plugin.resources is not None and (
                (resource.group, resource.plural) not in plugin.resources
            ):
                continue
            for sparse in SPARSE:
                old = None if operation in ("CREATE", "CONNECT") else dict(sparse)
                new = None if operation == "DELETE" else dict(sparse)
                namespace = "default" if resource.namespaced else ""
                write = a_write(
                    f"{version} {kind}", new, old, operation=operation, namespace=namespace
                )
                found = outcome(plugin, write)
                if found != new:
                    made.setdefault((plugin.name, kind), []).append(found)
    completed = {key: [spec_or_text(each) for each in found] for key, found in made.items()}
    assert completed == SET_BY_PLUGINS[operation]


def spec_or_text(found: Document | str | None) -> Any:
    if found is None or isinstance(found, str):
        return found
    return found.get("spec") or found.get("metadata")


_TAINT = {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}
_TOLERATIONS = {
    "tolerations": [
        {
            "key": f"node.kubernetes.io/{name}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        }
        for name in ("not-ready", "unreachable")
    ]
}
_PRIORITY = {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
SET_BY_PLUGINS: dict[str, Any] = {
    "CREATE": {
        ("TaintNodesByCondition", "Node"): [_TAINT] * 3,
        ("Priority", "Pod"): [_PRIORITY] * 3,
        ("DefaultTolerationSeconds", "Pod"): [_TOLERATIONS] * 3,
        ("StorageObjectInUseProtection", "PersistentVolume"): [
            {"finalizers": ["kubernetes.io/pv-protection"]}
        ] * 3,
        ("StorageObjectInUseProtection", "PersistentVolumeClaim"): [
            {"finalizers": ["kubernetes.io/pvc-protection"]}
        ] * 3,
        ("PodGroupProtection", "PodGroup"): [
            {"finalizers": ["scheduling.k8s.io/podgroup-protection"]}
        ] * 3,
    },
    "UPDATE": {("DefaultTolerationSeconds", "Pod"): [_TOLERATIONS] * 3},
    "DELETE": {},
    "CONNECT": {},
}  # fmt: skip


def test_the_name_of_a_write() -> None:
    def of(new: Document | None, old: Document | None = None, name: str = "") -> str:
        return name_of(a_write("v1 Pod", new, old, name=name))

    assert of({"metadata": {"name": "a"}}) == "a"
    assert of({"metadata": {"name": "a"}}, name="b") == "b"
    assert of({"metadata": {"generateName": "a-"}}) == "a-"
    assert of({"metadata": {"name": "a", "generateName": "b-"}}) == "a"
    # The deletion of a collection has no name, and no new object.
    assert of(None, {"metadata": {"name": "c"}}) == "Unknown"
    assert of({"metadata": {"name": "a"}}, {"metadata": {"name": "c"}}) == "a"
    assert [of(each) for each in SPARSE] == ["Unknown"] * 3
    assert of(None) == "Unknown"


def test_the_parts_of_a_write() -> None:
    write = a_write("v1 Pod", {"metadata": {"name": "a"}, "spec": {"b": 1}})
    assert spec_of(write) == {"b": 1}
    set_spec(write, b=2, c=3)
    assert write.object == {"metadata": {"name": "a"}, "spec": {"b": 2, "c": 3}}
    assert metadata_of(write) == {"name": "a"}
    for part in (spec_of, metadata_of):
        assert [part(a_write("v1 Pod", each)) for each in (*SPARSE, None)] == [{}] * 4


# ------------------------------------------------------------------------------ chain


class Recorder(Plugin):
    """Keeps its calls, and requires a second round where it should."""

    resources = frozenset({("", "pods")})

    def __init__(self, name: str, calls: list[str], *, requires: bool = False) -> None:
        self.name = name
        self._calls = calls
        self._requires = requires

    def admit(self, attributes: Attributes) -> None:
        self._calls.append(f"admit {self.name}")
        if self._requires and not attributes.reinvocation.is_second:
            attributes.reinvocation.is_required = True

    def validate(self, attributes: Attributes) -> None:
        self._calls.append(f"validate {self.name}")


@pytest.mark.parametrize(
    ("requires", "calls"),
    [
        (False, ["admit Priority", "admit B", "validate Priority", "validate B"]),
        (
            True,
            ["admit Priority", "admit B", "admit Priority", "admit B", "validate Priority",
             "validate B"],
        ),
    ],
)  # fmt: skip
def test_plugins_run_in_order_and_again_if_one_requires_it(
    calls: list[str], *, requires: bool
) -> None:
    found: list[str] = []
    chain = AdmissionChain([Recorder("Priority", found, requires=requires), Recorder("B", found)])
    write = a_write("v1 Pod", {})
    chain.admit(write)
    chain.validate(write)
    assert found == calls
    chain.admit(a_write("v1 Node", {}))
    assert found == calls


def test_what_an_administrator_copies_was_completed_at_its_source() -> None:
    masters = User("root", groups=("x", "system:masters"))
    copied = {"metadata": {"annotations": {SOURCE_UID: "u"}}}
    for new, facts, runs in (
        (copied, {"user": masters}, False),
        (copied, {"user": User("root", groups=("x",))}, True),
        (copied, {"user": masters, "operation": "UPDATE"}, True),
        (copied, {"user": masters, "subresource": "binding"}, True),
        ({"metadata": {"annotations": {"a": "u"}}}, {"user": masters}, True),
        ({"metadata": {"annotations": None}}, {"user": masters}, True),
        ({"metadata": {}}, {"user": masters}, True),
        ({}, {"user": masters}, True),
        (None, {"user": masters}, True),
    ):
        found: list[str] = []
        chain = AdmissionChain([Recorder("Priority", found), Recorder("B", found)])
        chain.admit(a_write("v1 Pod", new, **facts))
        assert found == (["admit Priority"] * runs + ["admit B"]), (new, facts)


def test_the_plugins_that_are_not_run_for_copies() -> None:
    skipped = []
    for name in PLUGINS:
        found: list[str] = []
        chain = AdmissionChain([Recorder(name, found)])
        masters = User("root", groups=("system:masters",))
        write = a_write("v1 Pod", {"metadata": {"annotations": {SOURCE_UID: "u"}}}, user=masters)
        chain.admit(write)
        skipped += [] if found else [name]
    assert sorted(skipped) == [
        "DefaultStorageClass", "DefaultTolerationSeconds", "LimitRanger",
        "MutatingAdmissionPolicy", "PodGroupWorkloadExists", "Priority", "ResourceQuota",
        "RuntimeClass", "ServiceAccount", "TaintNodesByCondition",
    ]  # fmt: skip


# ---------------------------------------------------------------------------- namespaces


@pytest.mark.parametrize(
    ("kind", "namespace", "operation", "message"),
    [
        ("v1 Pod", "default", "CREATE", None),
        ("v1 Pod", "ending", "CREATE",
         'pods "a" is forbidden: unable to create new content in namespace ending because it is'
         " being terminated"),
        ("v1 Pod", "ending", "UPDATE", None),
        ("v1 Pod", "ending", "CONNECT", None),
        ("v1 Pod", "absent", "CREATE", 'namespaces "absent" not found'),
        ("v1 Pod", "absent", "UPDATE", 'namespaces "absent" not found'),
        ("v1 Pod", "absent", "DELETE", None),
        ("v1 Pod", "", "CREATE", None),
        ("authorization.k8s.io/v1 LocalSubjectAccessReview", "absent", "CREATE", None),
        ("v1 Namespace", "kube-system", "DELETE",
         'namespaces "kube-system" is forbidden: this namespace may not be deleted'),
        ("v1 Namespace", "kube-public", "DELETE",
         'namespaces "kube-public" is forbidden: this namespace may not be deleted'),
        ("v1 Namespace", "default", "DELETE",
         'namespaces "default" is forbidden: this namespace may not be deleted'),
        ("v1 Namespace", "default", "UPDATE", None),
        ("v1 Namespace", "absent", "DELETE", None),
        ("v1 Namespace", "absent", "CREATE", None),
    ],
)  # fmt: skip
def test_which_writes_a_namespace_allows(
    kind: str, namespace: str, operation: Any, message: str | None
) -> None:
    store = a_store(
        named("v1 Namespace", "default"),
        named("v1 Namespace", "ending", status={"phase": "Terminating"}),
    )
    name = namespace if kind == "v1 Namespace" else ""
    new = None if operation == "DELETE" else {"metadata": {"name": "a"}}
    write = a_write(kind, new, {}, operation=operation, namespace=namespace, name=name)
    found = outcome(NamespaceLifecycle(a_context(store)), write)
    assert (found if isinstance(found, str) else None) == message


# -------------------------------------------------------------------------- new objects


NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("taints", "made"),
    [
        ([], [NOT_READY]),
        ([{"key": "a", "effect": "NoSchedule"}], [{"key": "a", "effect": "NoSchedule"}, NOT_READY]),
        ([NOT_READY], [NOT_READY]),
        ([NOT_READY | {"value": "x"}], [NOT_READY | {"value": "x"}]),
        (
            [NOT_READY | {"effect": "NoExecute"}],
            [NOT_READY | {"effect": "NoExecute"}, NOT_READY],
        ),
    ],
)
def test_a_new_node_is_not_ready(taints: list[Document], made: list[Document]) -> None:
    spec = {"podCIDR": "10.0.0.0/24"}
    found = outcome(
        TaintNodesByCondition(a_context()), a_write("v1 Node", {"spec": spec | {"taints": taints}})
    )
    assert found == {"spec": spec | {"taints": made}}
    for write in (
        a_write("v1 Node", {"spec": {}}, {}),
        a_write("v1 Node", {"spec": {}}, subresource="status"),
    ):
        assert outcome(TaintNodesByCondition(a_context()), write) == {"spec": {}}


def test_finalizers_of_new_objects() -> None:
    claim = {"metadata": {"name": "a", "finalizers": ["x"]}, "spec": {}}
    own = "kubernetes.io/pvc-protection"
    assert protected(claim, own)["metadata"] == {"name": "a", "finalizers": ["x", own]}
    has_it = {"metadata": {"finalizers": [own]}}
    assert protected(has_it, own) is has_it
    for plugin, kind in (
        (StorageObjectInUseProtection(a_context()), "v1 PersistentVolumeClaim"),
        (PodGroupProtection(a_context()), "scheduling.k8s.io/v1alpha2 PodGroup"),
    ):
        if tuple(kind.split(" ")) not in built_in_resources():
            continue
        for write in (a_write(kind, claim, claim), a_write(kind, claim, subresource="status")):
            assert outcome(plugin, write) == claim


# ------------------------------------------------------------------------------- classes


def a_class(name: str, created: str, value: str = "true", key: str = "storageclass") -> Document:
    prefix = {
        "storageclass": "storageclass.kubernetes.io/is-default-class",
        "beta": "storageclass.beta.kubernetes.io/is-default-class",
        "ingress": "ingressclass.kubernetes.io/is-default-class",
    }[key]
    kind = (
        "networking.k8s.io/v1 IngressClass"
        if key == "ingress"
        else "storage.k8s.io/v1 StorageClass"
    )
    metadata = {"annotations": {prefix: value}, "creationTimestamp": created}
    return named(kind, name, metadata=metadata)


OLD, NEW = "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("classes", "claim", "options", "name"),
    [
        ([], {"spec": {}}, {}, None),
        ([a_class("a", OLD)], {"spec": {}}, {}, "a"),
        ([a_class("a", OLD), a_class("b", NEW)], {"spec": {}}, {}, "b"),
        ([a_class("a", NEW), a_class("b", OLD)], {"spec": {}}, {}, "a"),
        ([a_class("b", OLD), a_class("a", OLD)], {"spec": {}}, {}, "a"),
        ([a_class("a", OLD), a_class("b", NEW, "false")], {"spec": {}}, {}, "a"),
        ([a_class("a", OLD, key="beta")], {"spec": {}}, {}, "a"),
        ([named("storage.k8s.io/v1 StorageClass", "a")], {"spec": {}}, {}, None),
        ([a_class("a", OLD)], {"spec": {"storageClassName": ""}}, {}, ""),
        ([a_class("a", OLD)], {"spec": {"storageClassName": "x"}}, {}, "x"),
        (
            [a_class("a", OLD)],
            {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": ""}}}, {},
            None,
        ),
        ([a_class("a", OLD)], {"metadata": {"annotations": {"x": ""}}}, {}, "a"),
        ([a_class("a", OLD)], {"spec": {}}, {"is_restored": True}, None),
        ([a_class("a", OLD)], {"spec": {}}, {"operation": "UPDATE"}, None),
        ([a_class("a", OLD)], {"spec": {}}, {"subresource": "status"}, None),
    ],
)  # fmt: skip
def test_the_class_of_a_new_claim(
    classes: list[Document], claim: Document, options: Document, name: str | None
) -> None:
    plugin = DefaultStorageClass(a_context(a_store(*classes)))
    found = outcome(plugin, a_write("v1 PersistentVolumeClaim", claim, **options))
    assert isinstance(found, dict)
    assert (found.get("spec") or {}).get("storageClassName") == name
    assert {key: found[key] for key in claim if key != "spec"} == {
        key: claim[key] for key in claim if key != "spec"
    }


@pytest.mark.parametrize(
    ("ingress", "options", "name"),
    [
        ({"spec": {}}, {}, "b"),
        ({"metadata": {"annotations": {"kubernetes.io/ingress.class": "x"}}, "spec": {}}, {}, None),
        ({"spec": {"ingressClassName": "x"}}, {}, "x"),
        ({"spec": {"ingressClassName": ""}}, {}, ""),
        ({"spec": {}}, {"operation": "UPDATE"}, None),
        ({"spec": {}}, {"subresource": "status"}, None),
    ],
)
def test_the_class_of_a_new_ingress(ingress: Document, options: Document, name: str | None) -> None:
    classes = [
        a_class("a", OLD, key="ingress"), a_class("b", NEW, key="ingress"),
        a_class("c", NEW, "no", "ingress"),
    ]  # fmt: skip
    plugin = DefaultIngressClass(a_context(a_store(*classes)))
    found = outcome(plugin, a_write("networking.k8s.io/v1 Ingress", ingress, **options))
    assert isinstance(found, dict)
    assert found["spec"].get("ingressClassName") == name


ONLY_BOUND = "Only bound persistent volume claims can be expanded"
ONLY_DYNAMIC = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc"
    " must support resize"
)


@pytest.mark.parametrize(
    ("new", "old", "options", "message"),
    [
        (("2Gi", "grows"), ("1Gi", "grows", "Bound"), {}, None),
        (("1Gi", "stays"), ("1Gi", "stays", "Pending"), {}, None),
        (("1Gi", "stays"), ("2Gi", "stays", "Bound"), {}, None),
        (("2Gi", "grows"), ("1Gi", "grows", "Pending"), {}, ONLY_BOUND),
        (("2Gi", "grows"), ("1Gi", "grows", None), {}, ONLY_BOUND),
        (("2Gi", "stays"), ("1Gi", "stays", "Bound"), {}, ONLY_DYNAMIC),
        (("2Gi", "none"), ("1Gi", "none", "Bound"), {}, ONLY_DYNAMIC),
        (("2Gi", ""), ("1Gi", "", "Bound"), {}, ONLY_DYNAMIC),
        (("2Gi", "grows"), ("1Gi", "stays", "Bound"), {}, ONLY_DYNAMIC),
        (("2Gi", "grows"), (None, "grows", "Bound"), {}, None),
        (("2Gi", "stays"), ("1Gi", "stays", "Bound"), {"operation": "CREATE"}, None),
        (("2Gi", "stays"), ("1Gi", "stays", "Bound"), {"subresource": "status"}, None),
    ],
)
def test_which_claims_grow(new: Any, old: Any, options: Document, message: str | None) -> None:
    def claim(size: str | None, name: str, phase: str | None = None) -> Document:
        requests = {"requests": {"storage": size}} if size else {}
        spec = {"storageClassName": name, "resources": requests}
        return {"metadata": {"name": "c"}, "spec": spec} | (
            {"status": {"phase": phase}} if phase else {}
        )

    kind = "storage.k8s.io/v1 StorageClass"
    store = a_store(
        named(kind, "grows", allowVolumeExpansion=True, provisioner="x"),
        named(kind, "stays", allowVolumeExpansion=False, provisioner="x"),
    )
    write = a_write("v1 PersistentVolumeClaim", claim(*new), claim(*old), **options)
    found = outcome(PersistentVolumeClaimResize(a_context(store)), write)
    expected = None if message is None else f'persistentvolumeclaims "c" is forbidden: {message}'
    assert (found if isinstance(found, str) else None) == expected

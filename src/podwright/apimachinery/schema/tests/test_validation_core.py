"""Validation and defaults of nodes, pods' annotations and namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import built_in

Document = dict[str, Any]
PROFILE = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"


def problems(api_version: str, kind: str, document: Document) -> list[str]:
    found = built_in().find(api_version, kind)
    assert found is not None
    made = found.with_defaults({"metadata": {"name": "x"}} | document)
    return [f"{path}: {message}" for path, message, _ in found.validation_problems(made)]


@pytest.mark.parametrize(
    ("networks", "path"),
    [
        (["10.0.0.0/24"], ""),
        (["10.0.0.0/24", "fd00::/64"], ""),
        (["10.0.0.0/24", "10.0.1.0/24"], "spec.podCIDRs"),
        (["10.0.0.0/24", "fd00::/64", "fd01::/64"], "spec.podCIDRs"),
        (["10.0.0.0/24", "x"], "spec.podCIDRs[1]"),
    ],
)
def test_a_node_has_one_network_of_each_family(networks: list[str], path: str) -> None:
    found = problems("v1", "Node", {"spec": {"podCIDR": networks[0], "podCIDRs": networks}})
    assert [line.partition(":")[0] for line in found] == ([path] if path else [])


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (f"{PROFILE}c", "runtime/default", ""),
        (f"{PROFILE}c", "unconfined", ""),
        (f"{PROFILE}c", "localhost/x", ""),
        (f"{PROFILE}c", "", ""),
        (f"{PROFILE}i", "unconfined", ""),
        (f"{PROFILE}c", "x", f'[{PROFILE}c]: Invalid value: "x": invalid AppArmor profile name'),
        (f"{PROFILE}d", "unconfined", f'[{PROFILE}d]: Invalid value: "d": container not found'),
        (SECCOMP, "localhost/a", ""),
        (SECCOMP, "localhost/../a", f".{SECCOMP}: Invalid value: \"../a\": must not contain '..'"),
        (SECCOMP, "x", f'.{SECCOMP}: Invalid value: "x": must be a valid seccomp profile'),
    ],
)
def test_a_profile_is_of_a_container_of_the_pod(annotation: str, value: str, expected: str) -> None:
    containers = {"containers": [{"name": "c", "image": "a"}],
                  "initContainers": [{"name": "i", "image": "a"}]}  # fmt: skip
    metadata = {"name": "x", "namespace": "d", "annotations": {annotation: value}}
    found = problems("v1", "Pod", {"metadata": metadata, "spec": containers})
    assert len(found) == bool(expected), found
    assert "".join(found).startswith(f"metadata.annotations{expected}" if expected else "")


def test_a_namespace_has_its_name_as_a_label() -> None:
    kind = built_in().find("v1", "Namespace")
    assert kind is not None
    for labels in ({}, {"a": "b"}, {"kubernetes.io/metadata.name": "other"}):
        made = kind.with_defaults({"metadata": {"name": "x", "labels": labels}})
        assert made["metadata"]["labels"] == labels | {"kubernetes.io/metadata.name": "x"}
        assert made["status"] == {"phase": "Active"}
    assert kind.with_defaults({"metadata": {}})["metadata"] == {}


def test_kinds_are_in_namespaces_or_not() -> None:
    kinds = built_in()
    assert kinds.is_namespaced("", "Pod")
    assert not kinds.is_namespaced("", "Node")
    # A custom kind that scheduling reads, and one that nothing knows.
    assert kinds.is_namespaced("scheduling.x-k8s.io", "PodGroup")
    assert not kinds.is_namespaced("example.com", "Train")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("cephfs", "spec.cephfs: deprecated in v1.28, non-functional in v1.31+"),
        ("rbd", "spec.rbd: deprecated in v1.28, non-functional in v1.31+"),
        ("storageos", "spec.storageOS: deprecated in v1.22, non-functional in v1.25+"),
        ("scaleIO", "spec.scaleIO: deprecated in v1.16, non-functional in v1.22+"),
        ("glusterfs", "spec.glusterfs: deprecated in v1.25, non-functional in v1.26+"),
        (
            "photonPersistentDisk",
            "spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
        ),
        ("nfs", ""),
    ],
)
def test_a_volume_of_a_removed_driver_gets_a_warning(source: str, text: str) -> None:
    kind = built_in().find("v1", "PersistentVolume")
    assert kind is not None
    volume = {"metadata": {"name": "x"}, "spec": {source: {}}}
    assert kind.write_warnings(volume, None) == ([text] if text else [])


CLASS = "volume.beta.kubernetes.io/storage-class"


@pytest.mark.parametrize(
    ("before", "after", "notes", "count"),
    [
        pytest.param(None, "fast", {CLASS: "fast"}, 0, id="the annotation becomes the field"),
        pytest.param(None, "fast", {}, 0, id="and goes"),
        pytest.param(None, "fast", {CLASS: "slow"}, 1, id="another annotation"),
        pytest.param(None, "slow", {CLASS: "fast"}, 1, id="another class"),
        pytest.param(None, None, {CLASS: "slow"}, 1, id="a changed annotation"),
        pytest.param("fast", "slow", {CLASS: "fast"}, 1, id="a changed class"),
    ],
)
def test_the_class_of_a_claim_is_that_of_its_annotation(
    before: str | None, after: str | None, notes: Document, count: int
) -> None:
    kind = built_in().find("v1", "PersistentVolumeClaim")
    assert kind is not None

    def claim(name: str | None, annotations: Document) -> Document:
        spec: Document = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            **({} if name is None else {"storageClassName": name}),
        }
        metadata = {"name": "x", "namespace": "d", "resourceVersion": "1", "uid": "u"}
        return kind.with_defaults(
            {"metadata": metadata | {"annotations": annotations}, "spec": spec}
        )

    found = kind.update_problems(claim(after, notes), claim(before, {CLASS: "fast"}))
    assert len(found) == count, found


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        pytest.param(
            {"name": "c", "image": {}},
            ["spec.containers[0].image: Invalid value: {}: must be a string"],
            id="the image that is missing then is no second error",
        ),
        pytest.param(
            {"name": "C", "image": {}},
            [
                "spec.containers[0].image: Invalid value: {}: must be a string",
                'spec.containers[0].name: Invalid value: "C": a lowercase RFC 1123 label',
            ],
            id="its neighbor is checked",
        ),
        pytest.param(
            3,
            ["spec.containers[0]: Invalid value: 3: "],
            id="neither is what an empty entry lacks",
        ),
    ],
)
def test_a_value_of_a_wrong_type_has_one_error(container: Any, expected: list[str]) -> None:
    kind = built_in().find("v1", "Pod")
    assert kind is not None
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x", "namespace": "d"},
        "spec": {"containers": [container]},
    }
    _, found = kind.checked(pod)
    assert len(found) == len(expected), found
    for (path, message, _), each in zip(found, expected, strict=True):
        assert f"{path}: {message}".startswith(each)


@pytest.mark.parametrize(
    ("endpoints", "labels", "warned"),
    [
        (None, {}, False),
        ([{}], {}, False),
        ([{"addresses": ["10.0.0.1"]}], {}, False),
        ([{"addresses": ["10.0.0.1", "010.0.0.1"]}], {}, True),
        (
            [{"addresses": ["010.0.0.1"]}],
            {"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"},
            False,
        ),
    ],
)
def test_addresses_of_a_slice_get_warnings_unless_a_controller_wrote_them(
    endpoints: Any, labels: Document, warned: bool
) -> None:
    kind = built_in().find("discovery.k8s.io/v1", "EndpointSlice")
    assert kind is not None
    written = {"metadata": {"labels": labels}, "addressType": "IPv4"}
    written |= {} if endpoints is None else {"endpoints": endpoints}
    found = kind.write_warnings(written, None)
    assert [line.partition(":")[0] for line in found] == ["endpoints[0].addresses[1]"] * warned

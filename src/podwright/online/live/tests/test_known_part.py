"""Objects with values of a later version."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import FieldError, InvalidObject, encode
from podwright.apimachinery.schema import decode
from podwright.online.live.known_part import known_part

TAINT = {"key": "a", "effect": "NoSchedule"}
NODE = {"cpu": "4", "pods": "110"}


def of(kind: str, spec: dict[str, Any], **fields: Any) -> dict[str, Any]:
    metadata = {"name": "a", "uid": "u"} | ({"namespace": "d"} if kind == "Pod" else {})
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec, **fields}


def pod(**spec: Any) -> dict[str, Any]:
    requests = {"resources": {"requests": {"cpu": "3"}}}
    return of("Pod", {"nodeName": "n", "containers": [{"name": "c", **requests}], **spec})


def part(document: dict[str, Any]) -> dict[str, Any]:
    """Return what is delivered of an object that cannot be decoded."""
    before = repr(document)
    with pytest.raises(InvalidObject) as caught:
        decode(document)
    try:
        found: dict[str, Any] = encode(known_part(document, caught.value))
    finally:
        assert repr(document) == before
    return found


@pytest.mark.parametrize("spec", [
    {"topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "Later", "labelSelector": {}}]},
    {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Later"}]}]}}}},
    {"tolerations": [{"key": "a", "operator": "Later"}, {"operator": "Exists", "effect": "Later"}]},
    {"preemptionPolicy": "Later"},
    {"restartPolicy": "Later"},
])  # fmt: skip
def test_a_pod_with_a_node_keeps_its_room(spec):
    found = part(pod(**spec))
    assert found["spec"]["nodeName"] == "n"
    assert found["spec"]["containers"] == pod()["spec"]["containers"]
    assert "Later" not in repr(found)


def test_a_node_keeps_the_taints_and_amounts_that_are_known():
    taints = [{"key": key, "effect": effect} for key, effect in (
        ("a", "Later"), ("b", "NoSchedule"), ("c", "Later"), ("d", "NoExecute"))]  # fmt: skip
    status = {"allocatable": NODE | {"memory": "1 later"}}
    found = part(of("Node", {"taints": taints}, status=status))
    assert found["spec"]["taints"] == [taints[1], taints[3]]
    assert found["status"]["allocatable"] == NODE


def test_an_object_without_metadata_or_without_a_spec_has_a_known_part():
    unknown = of("Node", {"taints": [TAINT, TAINT | {"effect": "Later"}]})
    assert part(unknown | {"metadata": None})["spec"]["taints"] == [TAINT]
    status = {"allocatable": NODE | {"memory": "1 later"}}
    found = part(of("Node", {}, status=status) | {"spec": None})
    assert found["status"]["allocatable"] == NODE


@pytest.mark.parametrize(
    ("path", "taints"),
    [
        pytest.param("spec.taints[0].value", [TAINT, {**TAINT, "value": "v"}], id="a field"),
        pytest.param("spec.taints[1]", [{**TAINT, "value": "v"}], id="an element"),
        pytest.param("spec.taints[1].later", [{**TAINT, "value": "v"}], id="a field that lacks"),
        pytest.param("spec.taints[v]", None, id="an element without an index: the whole list"),
        pytest.param("spec.taints.value", None, id="a field of all elements"),
        pytest.param("spec.taints[2].value", None, id="an element that does not exist"),
        pytest.param(
            "spec.taints[0].value.text", [TAINT, {**TAINT, "value": "v"}], id="a part of a text"
        ),
    ],
)
def test_what_is_nearest_to_a_path_is_removed(path, taints):
    document = of("Node", {"taints": [{**TAINT, "value": "v"}, {**TAINT, "value": "v"}]})
    error = InvalidObject([FieldError(source="", path=path, message="is not known")])
    assert encode(known_part(document, error))["spec"].get("taints") == taints


@pytest.mark.parametrize("document", [
    pytest.param(pod(nodeName="", restartPolicy="Later"), id="a pod that waits"),
    pytest.param(pod(nodeName=7), id="a pod whose node is not known"),
    pytest.param(of("Node", {}) | {"metadata": {"name": 7}}, id="a node without a name"),
])  # fmt: skip
def test_an_object_without_a_known_part_is_the_error_that_it_was(document):
    with pytest.raises(InvalidObject):
        decode(document)
    with pytest.raises(InvalidObject):
        part(document)

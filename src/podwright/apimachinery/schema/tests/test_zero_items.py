"""Null items are zero values, as Go decodes them, and validation reports what they lack."""

from typing import Any

import pytest

from podwright.apimachinery.schema import built_in


def problems(api_version, kind, **fields):
    found = built_in().find(api_version, kind)
    assert found is not None
    document = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, **fields}
    return [(path, message) for path, message, _ in found.checked(document)[1]]


def pod(**spec):
    return problems("v1", "Pod", spec={"containers": [{"name": "main", "image": "app"}]} | spec)


@pytest.mark.parametrize(
    ("found", "path"),
    [
        pytest.param(pod(containers=[None]), "spec.containers[0].name", id="a container"),
        pytest.param(pod(tolerations=[None]), "spec.tolerations[0].operator", id="a toleration"),
        pytest.param(pod(volumes=[None]), "spec.volumes[0].name", id="a volume"),
        pytest.param(
            pod(containers=[{"name": "main", "image": "app", "env": [None], "ports": [None]}]),
            "spec.containers[0].env[0].name",
            id="a variable and a port",
        ),
        pytest.param(
            problems("networking.k8s.io/v1", "Ingress",
                     spec={"rules": [{"http": {"paths": [None]}}]}),
            "spec.rules[0].http.paths[0].pathType",
            id="a path of an ingress",
        ),
        pytest.param(
            problems("rbac.authorization.k8s.io/v1", "ClusterRole", rules=[None]),
            "rules[0].verbs",
            id="a rule of a role",
        ),
    ],
)  # fmt: skip
def test_a_null_item_lacks_what_an_empty_one_lacks(found, path):
    assert path in [each for each, _ in found]


def test_a_null_string_is_empty_and_null_fields_are_absent():
    container = {"name": "main", "image": "app", "args": ["a", None], "command": None}
    kind = built_in().find("v1", "Pod")
    assert kind is not None
    document: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
                "spec": {"containers": [container], "affinity": None}}  # fmt: skip
    made, found = kind.checked(document)
    assert not found
    assert made["spec"]["containers"][0]["args"] == ["a", ""]
    assert document["spec"]["containers"][0]["args"] == ["a", None]


def test_a_null_quantity_is_zero():
    """Upstream: UnmarshalJSON in pkg/api/resource/quantity.go of apimachinery."""
    limits = {"cpu": None, "memory": "1Gi"}
    container = {"name": "main", "image": "app", "resources": {"limits": limits}}
    spec = {"containers": [container], "overhead": None}
    kind = built_in().find("v1", "Pod")
    assert kind is not None
    found = kind.with_zero_items({"apiVersion": "v1", "kind": "Pod", "spec": spec})["spec"]
    assert found["containers"][0]["resources"]["limits"] == {"cpu": "0", "memory": "1Gi"}
    assert found["overhead"] is None

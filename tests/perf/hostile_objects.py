"""Objects and requests of hostile clients, for `tests.perf.attack_requests`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

JSON: Final = "application/json"
DEFAULT: Final = "/api/v1/namespaces/default"
CONTAINER: Final = {"name": "main", "image": "app"}
POD: Final = {"containers": [CONTAINER]}


def request(
    method: str, path: str, body: Any = None, media: str = JSON, headers: str = ""
) -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode() if body else b""
    head = (
        f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media}\r\n"
        f"content-length: {len(data)}\r\n{headers}\r\n"
    )
    return head.encode() + data


def object_of(kind: str, name: str, api_version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def posted(path: str, document: dict[str, Any]) -> Callable[[], Sequence[bytes]]:
    return lambda: [request("POST", path, document)]


def pod_with(name: str, **spec: Any) -> Callable[[], Sequence[bytes]]:
    return posted(f"{DEFAULT}/pods", object_of("Pod", name, spec={**POD, **spec}))


def repeated(count: int, make: Callable[[int], Any]) -> list[Any]:
    return [make(number) for number in range(count)]


def owner_references() -> Sequence[bytes]:
    owners = repeated(
        30_000,
        lambda n: {"apiVersion": "v1", "kind": "Pod", "name": f"p{n}", "uid": f"{n:08}"},
    )
    document = object_of("ConfigMap", "owned")
    document["metadata"]["ownerReferences"] = owners
    return [request("POST", f"{DEFAULT}/configmaps", document)]


def device_class() -> Sequence[bytes]:
    expression = " || ".join(
        f'device.attributes["a.example.com"].name{n}.startsWith("{n}")' for n in range(100)
    )[:9_000].rpartition(" || ")[0]
    selectors = [{"cel": {"expression": expression}}] * 32
    return [
        request(
            "POST",
            "/apis/resource.k8s.io/v1/deviceclasses",
            object_of("DeviceClass", "many", "resource.k8s.io/v1", spec={"selectors": selectors}),
        )
    ]


DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(plural: str, schema: dict[str, Any]) -> dict[str, Any]:
    kind = plural.capitalize()
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return object_of(
        "CustomResourceDefinition",
        f"{plural}.example.com",
        "apiextensions.k8s.io/v1",
        spec={
            "group": "example.com",
            "scope": "Namespaced",
            "names": {
                "plural": plural,
                "singular": plural,
                "kind": kind,
                "listKind": f"{kind}List",
            },
            "versions": [version],
        },
    )


def custom(plural: str, spec: Any) -> bytes:
    document = object_of(plural.capitalize(), "one", "example.com/v1", spec=spec)
    return request("POST", f"/apis/example.com/v1/namespaces/default/{plural}", document)


def pairs_rule() -> dict[str, Any]:
    numbers = {"type": "array", "maxItems": 1000, "items": {"type": "integer"}}
    rule = {"rule": "self.a.all(x, self.b.all(y, x != y))"}
    spec = {
        "type": "object",
        "properties": {"a": numbers, "b": numbers},
        "x-kubernetes-validations": [rule],
    }
    return {"type": "object", "properties": {"spec": spec}}


def set_schema() -> dict[str, Any]:
    properties = {
        "set": {
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {"type": "string"},
        },
        "map": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
            },
        },
        "pattern": {"type": "string", "pattern": "^(a+)+$"},
    }
    return {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": properties}},
    }


def deep_schema(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def policy_of_cost() -> Sequence[bytes]:
    """Return a policy with an expression that costs its budget; it is deleted by `denied`."""
    tens = "[" + ",".join(map(str, range(10))) + "]"
    loops = "".join(f"{tens}.all(v{n}, " for n in range(6))
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    group, kind = "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"
    policy = object_of(
        kind,
        "long",
        group,
        spec={
            "failurePolicy": "Ignore",
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": loops + "v0 >= 0" + ")" * 6}],
        },
    )
    bound = {"policyName": "long", "validationActions": ["Deny"]}
    binding = object_of(f"{kind}Binding", "long", group, spec=bound)
    return [
        request("POST", _POLICIES, policy),
        request("POST", _POLICY_BINDINGS, binding),
    ]


def denied() -> Sequence[bytes]:
    document = object_of("ConfigMap", "by-policy")
    return [
        *[request("POST", f"{DEFAULT}/configmaps", document)] * 2,
        request("DELETE", f"{_POLICY_BINDINGS}/long"),
    ]


_POLICIES: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
_POLICY_BINDINGS: Final = f"{_POLICIES.removesuffix('ies')}ybindings"

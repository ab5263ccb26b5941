"""The requests of hostile clients, for `tests.perf.attacks`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

_JSON: Final = "application/json"
_YAML: Final = "application/yaml"
_APPLY: Final = "application/apply-patch+yaml"
_MERGE: Final = "application/merge-patch+json"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_JSON_PATCH: Final = "application/json-patch+json"
DEFAULT: Final = "/api/v1/namespaces/default"
_CONTAINER: Final = {"name": "main", "image": "app"}
_POD: Final = {"containers": [_CONTAINER]}


class Attack(msgspec.Struct, frozen=True):
    """Requests of a hostile client.

    Attributes
    ----------
    name : str
    requests : callable
        Returns the requests, as bytes for the connection.
    prepared : callable
        Returns requests that are executed before, without measuring.
    connections : int
        On how many connections all requests are sent at once.
    takes_replies : bool
        Whether the client reads the replies; otherwise it waits for `seconds`.
    seconds : float
        How long the client stays if its requests are watches, or it takes no replies.
    """

    name: str
    requests: Callable[[], Sequence[bytes]]
    prepared: Callable[[], Sequence[bytes]] = lambda: ()
    connections: int = 1
    takes_replies: bool = True
    seconds: float = 0.0


def request(
    method: str, path: str, body: Any = None, media: str = _JSON, headers: str = ""
) -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode() if body else b""
    head = (
        f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media}\r\n"
        f"content-length: {len(data)}\r\n{headers}\r\n"
    )
    return head.encode() + data


def _object(kind: str, name: str, api_version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def _posted(path: str, document: dict[str, Any]) -> Callable[[], Sequence[bytes]]:
    return lambda: [request("POST", path, document)]


def pod_with(name: str, **spec: Any) -> Callable[[], Sequence[bytes]]:
    return _posted(f"{DEFAULT}/pods", _object("Pod", name, spec={**_POD, **spec}))


def _repeated(count: int, make: Callable[[int], Any]) -> list[Any]:
    return [make(number) for number in range(count)]


def _owner_references() -> Sequence[bytes]:
    owners = _repeated(
        30_000,
        lambda n: {"apiVersion": "v1", "kind": "Pod", "name": f"p{n}", "uid": f"{n:08}"},
    )
    document = _object("ConfigMap", "owned")
    document["metadata"]["ownerReferences"] = owners
    return [request("POST", f"{DEFAULT}/configmaps", document)]


def _device_class() -> Sequence[bytes]:
    expression = " || ".join(
        f'device.attributes["a.example.com"].name{n}.startsWith("{n}")' for n in range(100)
    )[:9_000].rpartition(" || ")[0]
    selectors = [{"cel": {"expression": expression}}] * 32
    return [
        request(
            "POST",
            "/apis/resource.k8s.io/v1/deviceclasses",
            _object("DeviceClass", "many", "resource.k8s.io/v1", spec={"selectors": selectors}),
        )
    ]


_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def _definition(plural: str, schema: dict[str, Any]) -> dict[str, Any]:
    kind = plural.capitalize()
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return _object(
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


def _custom(plural: str, spec: Any) -> bytes:
    document = _object(plural.capitalize(), "one", "example.com/v1", spec=spec)
    return request("POST", f"/apis/example.com/v1/namespaces/default/{plural}", document)


def _pairs_rule() -> dict[str, Any]:
    numbers = {"type": "array", "maxItems": 1000, "items": {"type": "integer"}}
    rule = {"rule": "self.a.all(x, self.b.all(y, x != y))"}
    spec = {
        "type": "object",
        "properties": {"a": numbers, "b": numbers},
        "x-kubernetes-validations": [rule],
    }
    return {"type": "object", "properties": {"spec": spec}}


def _set_schema() -> dict[str, Any]:
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


def _deep_schema(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def _aliases() -> bytes:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: aliases}\n"
    return (head + "\n".join(lines) + "\n").encode()


def _many_aliases() -> bytes:
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: aliases}\nx: &x {a: b}\ny: [\n"
    return (head + "*x,\n" * 690_000 + "]\n").encode()


def _anchors() -> bytes:
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: anchors}\ny:\n"
    return (head + "".join(f"- &a{n} b\n" for n in range(220_000))).encode()


def _config_maps(count: int, size: int) -> Sequence[bytes]:
    text = "x" * size
    return [
        request(
            "POST",
            "/api/v1/namespaces/many/configmaps",
            _object("ConfigMap", f"c{n}", data={"text": text}),
        )
        for n in range(count)
    ]


def _many_objects() -> Sequence[bytes]:
    namespace = request("POST", "/api/v1/namespaces", _object("Namespace", "many"))
    return [namespace, *_config_maps(4_000, 4_096)]


_WATCH: Final = (
    "GET",
    "/api/v1/namespaces/many/configmaps?watch=1&sendInitialEvents=true"
    "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
)


def _managers() -> Sequence[bytes]:
    return [
        request(
            "PATCH",
            f"{DEFAULT}/configmaps/managed?fieldManager=m{n}",
            _object("ConfigMap", "managed", data={f"k{n}": "v"}),
            _APPLY,
        )
        for n in range(400)
    ]


def _patch(operations: Any, media: str = _JSON_PATCH) -> bytes:
    return request("PATCH", f"{DEFAULT}/configmaps/patched", operations, media)


def _patched() -> Sequence[bytes]:
    document = _object("ConfigMap", "patched", data={f"k{n}": "v" for n in range(1000)})
    return [request("POST", f"{DEFAULT}/configmaps", document)]


def _endpoint_slice(addresses: int, endpoints: int) -> dict[str, Any]:
    return _object(
        "EndpointSlice",
        "many",
        "discovery.k8s.io/v1",
        addressType="IPv4",
        endpoints=[
            {"addresses": [f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in range(addresses)]}
        ]
        * endpoints,
    )


def _nested(depth: int, opening: str = '{"a":', closing: str = "}") -> bytes:
    head = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"deep"},"x":'
    return (head + opening * depth + "1" + closing * depth + "}").encode()


def _spread(n: int) -> dict[str, Any]:
    return {
        "maxSkew": 1,
        "topologyKey": f"k{n}",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"a": "b"}},
    }


def _merge_list(n: int) -> dict[str, Any]:
    return {"name": f"c{n}", "image": "app"}


def _policy() -> Sequence[bytes]:
    """Return a policy with an expression that costs its budget; it is deleted by `_denied`."""
    tens = "[" + ",".join(map(str, range(10))) + "]"
    loops = "".join(f"{tens}.all(v{n}, " for n in range(6))
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    group, kind = "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"
    policy = _object(
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
    binding = _object(f"{kind}Binding", "long", group, spec=bound)
    return [
        request("POST", _POLICIES, policy),
        request("POST", _POLICY_BINDINGS, binding),
    ]


def _denied() -> Sequence[bytes]:
    document = _object("ConfigMap", "by-policy")
    return [
        *[request("POST", f"{DEFAULT}/configmaps", document)] * 2,
        request("DELETE", f"{_POLICY_BINDINGS}/long"),
    ]


_POLICIES: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
_POLICY_BINDINGS: Final = f"{_POLICIES.removesuffix('ies')}ybindings"
_COUNT: Final = 20_000
_CONFIG_MAPS: Final = f"{DEFAULT}/configmaps"

ATTACKS: Final = (
    Attack("timeout-digits", lambda: [request("GET", f"{DEFAULT}?timeout={'1' * 16_000}")]),
    Attack("timeout-parts", lambda: [request("GET", f"{DEFAULT}?timeout={'1h' * 30_000}x")]),
    Attack(
        "clock-step-digits",
        lambda: [request("POST", "/podwright/v1/clock/step", {"duration": "1" * 16_000})],
    ),
    Attack(
        "cron-every-digits",
        _posted(
            "/apis/batch/v1/namespaces/default/cronjobs",
            _object(
                "CronJob",
                "digits",
                "batch/v1",
                spec={
                    "schedule": f"@every {'1' * 16_000}",
                    "jobTemplate": {
                        "spec": {"template": {"spec": {**_POD, "restartPolicy": "Never"}}}
                    },
                },
            ),
        ),
    ),
    Attack(
        "cron-time-zone-dots",
        _posted(
            "/apis/batch/v1/namespaces/default/cronjobs",
            _object(
                "CronJob",
                "dots",
                "batch/v1",
                spec={
                    "schedule": "@daily",
                    "timeZone": "." * 3_000,
                    "jobTemplate": {
                        "spec": {"template": {"spec": {**_POD, "restartPolicy": "Never"}}}
                    },
                },
            ),
        ),
    ),
    Attack("owner-references", _owner_references),
    Attack("containers", pod_with("containers", containers=_repeated(_COUNT, _merge_list))),
    Attack(
        "containers-of-a-kubelet",
        pod_with(
            "stored",
            containers=_repeated(_COUNT, _merge_list),
            automountServiceAccountToken=False,
        ),
    ),
    Attack(
        "small-patches-of-a-large-pod",
        lambda: [
            request(
                "PATCH", f"{DEFAULT}/pods/stored", {"metadata": {"labels": {"a": f"{n}"}}}, _MERGE
            )
            for n in range(3)
        ],
    ),
    Attack(
        "containers-apply",
        lambda: [
            request(
                "PATCH",
                f"{DEFAULT}/pods/applied?fieldManager=m",
                _object("Pod", "applied", spec={"containers": _repeated(_COUNT, _merge_list)}),
                _APPLY,
            )
        ],
    ),
    Attack(
        "spread-constraints",
        pod_with("spread", topologySpreadConstraints=_repeated(_COUNT, _spread)),
    ),
    Attack(
        "tolerations",
        pod_with(
            "tolerations",
            tolerations=_repeated(_COUNT, lambda n: {"key": f"k{n}", "operator": "Exists"}),
        ),
    ),
    Attack(
        "volume-mounts",
        pod_with(
            "mounts",
            containers=[
                _CONTAINER
                | {
                    "volumeMounts": _repeated(
                        _COUNT, lambda n: {"name": f"v{n}", "mountPath": f"/m{n}"}
                    )
                }
            ],
        ),
    ),
    Attack(
        "environment",
        pod_with(
            "environment",
            containers=[
                _CONTAINER | {"env": _repeated(_COUNT, lambda n: {"name": f"v{n}", "value": "x"})}
            ],
        ),
    ),
    Attack(
        "container-ports",
        pod_with(
            "ports",
            containers=[
                _CONTAINER | {"ports": _repeated(_COUNT, lambda n: {"containerPort": n + 1})}
            ],
        ),
    ),
    Attack(
        "allowed-topologies",
        _posted(
            "/apis/storage.k8s.io/v1/storageclasses",
            _object(
                "StorageClass",
                "topologies",
                "storage.k8s.io/v1",
                provisioner="p",
                allowedTopologies=_repeated(
                    _COUNT,
                    lambda n: {"matchLabelExpressions": [{"key": "zone", "values": [f"z{n}"]}]},
                ),
            ),
        ),
    ),
    Attack(
        "endpoint-addresses",
        _posted(
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            _endpoint_slice(90_000, 1),
        ),
    ),
    Attack(
        "endpoints-addresses",
        _posted(
            f"{DEFAULT}/endpoints",
            _object(
                "Endpoints",
                "many",
                subsets=[
                    {
                        "addresses": [
                            {"ip": f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}"} for n in range(60_000)
                        ],
                        "ports": [{"port": 80}],
                    }
                ],
            ),
        ),
    ),
    Attack(
        "header-lines",
        lambda: [request("GET", DEFAULT, headers="a: b\r\n" * 190_000)],
    ),
    Attack(
        "header-lines-below-limit",
        lambda: [request("GET", DEFAULT, headers="a:b\r\n" * 200_000)],
    ),
    Attack("long-path", lambda: [request("GET", "/api/v1" + "/a" * 30_000)]),
    Attack("query-parameters", lambda: [request("GET", f"{DEFAULT}?" + "a=b&" * 15_000)]),
    Attack(
        "label-selector",
        lambda: [
            request(
                "GET",
                "/api/v1/pods?labelSelector=" + "%2C".join(f"k{n}!=v" for n in range(6_000)),
            )
        ],
    ),
    Attack(
        "label-selector-values",
        lambda: [
            request(
                "GET",
                "/api/v1/pods?labelSelector=a+in+("
                + "%2C".join(f"k{n}" for n in range(7_000))
                + ")",
            )
        ],
    ),
    Attack(
        "field-selector",
        lambda: [
            request(
                "GET",
                "/api/v1/pods?fieldSelector="
                + ",".join(f"metadata.name!=a{n}" for n in range(3_000)),
            )
        ],
    ),
    Attack("yaml-aliases", lambda: [request("POST", _CONFIG_MAPS, _aliases(), _YAML)]),
    Attack("yaml-many-aliases", lambda: [request("POST", _CONFIG_MAPS, _many_aliases(), _YAML)]),
    Attack("yaml-anchors", lambda: [request("POST", _CONFIG_MAPS, _anchors(), _YAML)]),
    Attack(
        "yaml-keys",
        lambda: [
            request(
                "POST",
                _CONFIG_MAPS,
                b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: keys}\ndata:\n"
                + b"".join(b" k%d: v\n" % n for n in range(200_000)),
                _YAML,
            )
        ],
    ),
    Attack(
        "yaml-apply-keys",
        lambda: [
            request(
                "PATCH",
                f"{_CONFIG_MAPS}/keys?fieldManager=m",
                b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: keys}\ndata:\n"
                + b"".join(b" k%d: v\n" % n for n in range(100_000)),
                _APPLY,
            )
        ],
    ),
    Attack(
        "yaml-depth",
        lambda: [
            request(
                "POST",
                _CONFIG_MAPS,
                b"apiVersion: v1\nkind: ConfigMap\nx: " + b"[" * 1_000_000,
                _YAML,
            )
        ],
    ),
    Attack("json-depth", lambda: [request("POST", _CONFIG_MAPS, _nested(500_000))]),
    Attack("json-depth-below-limit", lambda: [request("POST", _CONFIG_MAPS, _nested(9_000))]),
    Attack(
        "json-escapes",
        lambda: [
            request(
                "POST",
                _CONFIG_MAPS,
                json.dumps(
                    _object("ConfigMap", "escapes", data={f"é{n}": "v" for n in range(150_000)})
                ).encode(),
            )
        ],
    ),
    Attack(
        "json-keys",
        _posted(
            _CONFIG_MAPS,
            _object("ConfigMap", "keys", data={f"k{n}": "v" for n in range(200_000)}),
        ),
    ),
    Attack(
        "json-brackets-in-text",
        _posted(_CONFIG_MAPS, _object("ConfigMap", "brackets", data={"a": "[" * 3_000_000})),
    ),
    Attack(
        "unknown-fields",
        _posted(
            _CONFIG_MAPS, _object("ConfigMap", "unknown") | {f"k{n}": 1 for n in range(200_000)}
        ),
    ),
    Attack(
        "body-of-100-mb",
        lambda: [request("POST", _CONFIG_MAPS, b'{"a":"' + b"x" * 100_000_000 + b'"}')],
    ),
    Attack(
        "labels",
        lambda: [
            request(
                "POST",
                _CONFIG_MAPS,
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": "l", "labels": {f"k{n}": "v" for n in range(100_000)}},
                },
            )
        ],
    ),
    Attack(
        "managed-fields",
        lambda: [
            request(
                "POST",
                _CONFIG_MAPS,
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {
                        "name": "mf",
                        "managedFields": [
                            {
                                "manager": f"m{n}",
                                "operation": "Apply",
                                "apiVersion": "v1",
                                "fieldsType": "FieldsV1",
                                "fieldsV1": {"f:data": {f"f:k{n}": {}}},
                            }
                            for n in range(10_000)
                        ],
                    },
                },
            )
        ],
    ),
    Attack("managers", _managers),
    Attack(
        "json-patch-operations",
        lambda: [
            _patch([{"op": "add", "path": f"/data/n{n}", "value": "x"} for n in range(10_000)])
        ],
        prepared=_patched,
    ),
    Attack(
        "json-patch-above-limit",
        lambda: [_patch([{"op": "test", "path": "/data/k1", "value": "v"}] * 60_000)],
    ),
    Attack(
        "json-patch-copies",
        lambda: [
            _patch([{"op": "copy", "from": "/data", "path": f"/data/c{n}"} for n in range(100)])
        ],
    ),
    Attack(
        "json-patch-insertions",
        lambda: [
            _patch(
                [{"op": "add", "path": "/metadata/finalizers", "value": []}]
                + [
                    {"op": "add", "path": "/metadata/finalizers/0", "value": f"a.b/f{n}"}
                    for n in range(9_999)
                ]
            )
        ],
    ),
    Attack(
        "merge-patch-keys",
        lambda: [_patch({"data": {f"k{n}": "w" for n in range(150_000)}}, _MERGE)],
    ),
    Attack(
        "strategic-merge-list",
        lambda: [
            request(
                "PATCH",
                "/apis/apps/v1/namespaces/default/deployments/strategic",
                {"spec": {"template": {"spec": {"containers": _repeated(_COUNT, _merge_list)}}}},
                _STRATEGIC,
            )
        ],
        prepared=_posted(
            "/apis/apps/v1/namespaces/default/deployments",
            _object(
                "Deployment",
                "strategic",
                "apps/v1",
                spec={
                    "replicas": 0,
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {"containers": _repeated(2_000, _merge_list)},
                    },
                },
            ),
        ),
    ),
    Attack(
        "strategic-merge-order",
        lambda: [
            request(
                "PATCH",
                f"{_CONFIG_MAPS}/patched",
                {
                    "metadata": {
                        "$setElementOrder/finalizers": [f"a.b/f{n}" for n in range(_COUNT)],
                        "finalizers": [f"a.b/f{n}" for n in range(_COUNT)],
                    }
                },
                _STRATEGIC,
            )
        ],
    ),
    Attack("device-class-selectors", _device_class),
    Attack(
        "cel-pairs",
        lambda: [_custom("pairs", {"a": list(range(1000)), "b": list(range(1000, 2000))})],
        prepared=_posted(_DEFINITIONS, _definition("pairs", _pairs_rule())),
    ),
    Attack(
        "cel-pairs-by-small-patches",
        lambda: [
            request(
                "PATCH",
                "/apis/example.com/v1/namespaces/default/pairs/one",
                {"metadata": {"labels": {"a": f"{n}"}}},
                _MERGE,
            )
            for n in range(3)
        ],
        prepared=lambda: [_custom("pairs", {"a": list(range(400)), "b": list(range(400, 800))})],
    ),
    Attack("policies", _denied, prepared=_policy),
    Attack(
        "custom-sets",
        lambda: [_custom("sets", {"set": [f"s{n}" for n in range(_COUNT)]})],
        prepared=_posted(_DEFINITIONS, _definition("sets", _set_schema())),
    ),
    Attack(
        "custom-list-maps",
        lambda: [_custom("sets", {"map": _repeated(_COUNT, lambda n: {"name": f"s{n}"})})],
    ),
    Attack("custom-pattern", lambda: [_custom("sets", {"pattern": "a" * 40 + "b"})]),
    Attack("definition-depth", _posted(_DEFINITIONS, _definition("deeps", _deep_schema(3_000)))),
    Attack(
        "definition-properties",
        _posted(
            _DEFINITIONS,
            _definition(
                "wides",
                {
                    "type": "object",
                    "properties": {f"p{n}": {"type": "string"} for n in range(50_000)},
                },
            ),
        ),
    ),
    Attack(
        "definition-enum",
        _posted(
            _DEFINITIONS,
            _definition(
                "enums",
                {
                    "type": "object",
                    "properties": {
                        "e": {"type": "string", "enum": [f"e{n}" for n in range(100_000)]}
                    },
                },
            ),
        ),
    ),
    Attack(
        "definition-any-of",
        _posted(
            _DEFINITIONS,
            _definition(
                "anies",
                {
                    "type": "object",
                    "properties": {
                        "e": {
                            "type": "string",
                            "anyOf": [{"pattern": f"^{n}$"} for n in range(30_000)],
                        }
                    },
                },
            ),
        ),
    ),
    Attack(
        "network-policy-rules",
        _posted(
            "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
            _object(
                "NetworkPolicy",
                "rules",
                "networking.k8s.io/v1",
                spec={
                    "podSelector": {},
                    "ingress": [
                        {"from": [{"ipBlock": {"cidr": f"10.{n >> 8 & 255}.{n & 255}.0/24"}}]}
                        for n in range(_COUNT)
                    ],
                },
            ),
        ),
    ),
    Attack(
        "node-addresses",
        _posted(
            "/api/v1/nodes",
            _object(
                "Node",
                "addresses",
                status={
                    "addresses": [{"type": "Hostname", "address": f"h{n}"} for n in range(_COUNT)]
                },
            ),
        ),
    ),
    Attack(
        "small-requests-pipelined",
        lambda: [request("GET", "/version")] * 5_000,
    ),
    Attack(
        "watches-from-scratch",
        lambda: [request(*_WATCH)],
        prepared=_many_objects,
        connections=500,
        seconds=20.0,
    ),
    Attack(
        "watches-without-reading",
        lambda: [request(*_WATCH)],
        connections=500,
        takes_replies=False,
        seconds=10.0,
    ),
    Attack(
        "watches-with-table",
        lambda: [
            request(*_WATCH, headers="accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n")
        ],
        connections=20,
        seconds=20.0,
    ),
    Attack(
        "lists-from-scratch",
        lambda: [request("GET", "/api/v1/namespaces/many/configmaps")],
        connections=100,
    ),
    Attack(
        "lists-as-yaml",
        lambda: [
            request("GET", "/api/v1/namespaces/many/configmaps", headers=f"accept: {_YAML}\r\n")
        ],
    ),
    Attack(
        "lists-with-table",
        lambda: [
            request(
                "GET",
                "/api/v1/namespaces/many/configmaps",
                headers="accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n",
            )
        ],
        connections=10,
    ),
    Attack(
        "lists-for-humans",
        lambda: [request("GET", "/api/v1/namespaces/many/configmaps?pretty=true")],
        connections=10,
    ),
)

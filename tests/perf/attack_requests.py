"""The requests of hostile clients, for `tests.perf.attacks`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from tests.perf.hostile_objects import (
    CONTAINER,
    DEFAULT,
    DEFINITIONS,
    POD,
    custom,
    deep_schema,
    definition,
    denied,
    device_class,
    object_of,
    owner_references,
    pairs_rule,
    pod_with,
    policy_of_cost,
    posted,
    repeated,
    request,
    set_schema,
)

_YAML: Final = "application/yaml"
_APPLY: Final = "application/apply-patch+yaml"
_MERGE: Final = "application/merge-patch+json"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_JSON_PATCH: Final = "application/json-patch+json"


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
            object_of("ConfigMap", f"c{n}", data={"text": text}),
        )
        for n in range(count)
    ]


def _many_objects() -> Sequence[bytes]:
    namespace = request("POST", "/api/v1/namespaces", object_of("Namespace", "many"))
    return [namespace, *_config_maps(4_000, 4_096)]


_WATCH: Final = (
    "GET",
    "/api/v1/namespaces/many/configmaps?watch=1&sendInitialEvents=true"
    "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
)


def _conditions(count: int) -> str:
    """Return a label selector with many conditions, which objects without labels meet."""
    return "%2C".join(f"k{n}!=v" for n in range(count))


def _managers() -> Sequence[bytes]:
    return [
        request(
            "PATCH",
            f"{DEFAULT}/configmaps/managed?fieldManager=m{n}",
            object_of("ConfigMap", "managed", data={f"k{n}": "v"}),
            _APPLY,
        )
        for n in range(400)
    ]


def _patch(operations: Any, media: str = _JSON_PATCH) -> bytes:
    return request("PATCH", f"{DEFAULT}/configmaps/patched", operations, media)


def _patched() -> Sequence[bytes]:
    document = object_of("ConfigMap", "patched", data={f"k{n}": "v" for n in range(1000)})
    return [request("POST", f"{DEFAULT}/configmaps", document)]


def _endpoint_slice(addresses: int, endpoints: int) -> dict[str, Any]:
    return object_of(
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


def _extended_resources() -> dict[str, str]:
    return {f"example.com/r{n}": "1" for n in range(_COUNT)}


def _many_subjects() -> Sequence[bytes]:
    group = "rbac.authorization.k8s.io"
    subjects = repeated(_COUNT, lambda n: {"kind": "User", "apiGroup": group, "name": f"u{n}"})
    document = object_of(
        "ClusterRoleBinding",
        "many",
        f"{group}/v1",
        roleRef={"apiGroup": group, "kind": "ClusterRole", "name": "view"},
        subjects=subjects,
    )
    return [request("POST", f"/apis/{group}/v1/clusterrolebindings", document)]


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
        posted(
            "/apis/batch/v1/namespaces/default/cronjobs",
            object_of(
                "CronJob",
                "digits",
                "batch/v1",
                spec={
                    "schedule": f"@every {'1' * 16_000}",
                    "jobTemplate": {
                        "spec": {"template": {"spec": {**POD, "restartPolicy": "Never"}}}
                    },
                },
            ),
        ),
    ),
    Attack(
        "cron-time-zone-dots",
        posted(
            "/apis/batch/v1/namespaces/default/cronjobs",
            object_of(
                "CronJob",
                "dots",
                "batch/v1",
                spec={
                    "schedule": "@daily",
                    "timeZone": "." * 3_000,
                    "jobTemplate": {
                        "spec": {"template": {"spec": {**POD, "restartPolicy": "Never"}}}
                    },
                },
            ),
        ),
    ),
    Attack("owner-references", owner_references),
    Attack("containers", pod_with("containers", containers=repeated(_COUNT, _merge_list))),
    Attack(
        "containers-of-a-kubelet",
        pod_with(
            "stored",
            containers=repeated(_COUNT, _merge_list),
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
                object_of("Pod", "applied", spec={"containers": repeated(_COUNT, _merge_list)}),
                _APPLY,
            )
        ],
    ),
    Attack(
        "spread-constraints",
        pod_with("spread", topologySpreadConstraints=repeated(_COUNT, _spread)),
    ),
    Attack(
        "tolerations",
        pod_with(
            "tolerations",
            tolerations=repeated(_COUNT, lambda n: {"key": f"k{n}", "operator": "Exists"}),
        ),
    ),
    Attack(
        "volume-mounts",
        pod_with(
            "mounts",
            containers=[
                CONTAINER
                | {
                    "volumeMounts": repeated(
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
                CONTAINER | {"env": repeated(_COUNT, lambda n: {"name": f"v{n}", "value": "x"})}
            ],
        ),
    ),
    Attack(
        "container-ports",
        pod_with(
            "ports",
            containers=[
                CONTAINER | {"ports": repeated(_COUNT, lambda n: {"containerPort": n + 1})}
            ],
        ),
    ),
    Attack(
        "extended-resources",
        pod_with(
            "resources",
            containers=[
                CONTAINER
                | {"resources": dict.fromkeys(("requests", "limits"), _extended_resources())}
            ],
        ),
    ),
    Attack(
        "allowed-topologies",
        posted(
            "/apis/storage.k8s.io/v1/storageclasses",
            object_of(
                "StorageClass",
                "topologies",
                "storage.k8s.io/v1",
                provisioner="p",
                allowedTopologies=repeated(
                    _COUNT,
                    lambda n: {"matchLabelExpressions": [{"key": "zone", "values": [f"z{n}"]}]},
                ),
            ),
        ),
    ),
    Attack(
        "endpoint-addresses",
        posted(
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            _endpoint_slice(90_000, 1),
        ),
    ),
    Attack(
        "endpoints-addresses",
        posted(
            f"{DEFAULT}/endpoints",
            object_of(
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
                    object_of("ConfigMap", "escapes", data={f"é{n}": "v" for n in range(150_000)})
                ).encode(),
            )
        ],
    ),
    Attack(
        "json-keys",
        posted(
            _CONFIG_MAPS,
            object_of("ConfigMap", "keys", data={f"k{n}": "v" for n in range(200_000)}),
        ),
    ),
    Attack(
        "json-brackets-in-text",
        posted(_CONFIG_MAPS, object_of("ConfigMap", "brackets", data={"a": "[" * 3_000_000})),
    ),
    Attack(
        "unknown-fields",
        posted(
            _CONFIG_MAPS, object_of("ConfigMap", "unknown") | {f"k{n}": 1 for n in range(200_000)}
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
                {"spec": {"template": {"spec": {"containers": repeated(_COUNT, _merge_list)}}}},
                _STRATEGIC,
            )
        ],
        prepared=posted(
            "/apis/apps/v1/namespaces/default/deployments",
            object_of(
                "Deployment",
                "strategic",
                "apps/v1",
                spec={
                    "replicas": 0,
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {"containers": repeated(2_000, _merge_list)},
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
    Attack("device-class-selectors", device_class),
    Attack(
        "cel-pairs",
        lambda: [custom("pairs", {"a": list(range(1000)), "b": list(range(1000, 2000))})],
        prepared=posted(DEFINITIONS, definition("pairs", pairs_rule())),
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
        prepared=lambda: [custom("pairs", {"a": list(range(400)), "b": list(range(400, 800))})],
    ),
    Attack("policies", denied, prepared=policy_of_cost),
    Attack(
        "custom-sets",
        lambda: [custom("sets", {"set": [f"s{n}" for n in range(_COUNT)]})],
        prepared=posted(DEFINITIONS, definition("sets", set_schema())),
    ),
    Attack(
        "custom-list-maps",
        lambda: [custom("sets", {"map": repeated(_COUNT, lambda n: {"name": f"s{n}"})})],
    ),
    Attack("custom-pattern", lambda: [custom("sets", {"pattern": "a" * 40 + "b"})]),
    Attack("definition-depth", posted(DEFINITIONS, definition("deeps", deep_schema(3_000)))),
    Attack(
        "definition-properties",
        posted(
            DEFINITIONS,
            definition(
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
        posted(
            DEFINITIONS,
            definition(
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
        posted(
            DEFINITIONS,
            definition(
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
    Attack("openapi-of-definitions", lambda: [request("GET", "/openapi/v2")]),
    Attack(
        "quota-names",
        lambda: [
            request(
                "POST",
                f"{DEFAULT}/resourcequotas",
                object_of(
                    "ResourceQuota",
                    "names",
                    spec={"hard": {f"count/n{n}.a": "1" for n in range(_COUNT)}},
                ),
            ),
            # Counted by none of the names, and then given back.
            request("POST", f"{DEFAULT}/configmaps", object_of("ConfigMap", "uncounted")),
            request("DELETE", f"{DEFAULT}/configmaps/uncounted"),
            request("DELETE", f"{DEFAULT}/resourcequotas/names"),
        ],
    ),
    Attack(
        "access-review-groups",
        posted(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            object_of(
                "SubjectAccessReview",
                "",
                "authorization.k8s.io/v1",
                spec={
                    "user": f"u{_COUNT - 1}",
                    "groups": [f"g{n}" for n in range(_COUNT)],
                    "resourceAttributes": {"verb": "get", "resource": "pods"},
                },
            ),
        ),
        prepared=_many_subjects,
    ),
    Attack(
        "network-policy-rules",
        posted(
            "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
            object_of(
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
        posted(
            "/api/v1/nodes",
            object_of(
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
        "watches-with-many-label-conditions",
        lambda: [request(_WATCH[0], _WATCH[1] + f"&labelSelector={_conditions(5_000)}")],
        connections=20,
        seconds=20.0,
    ),
    Attack(
        "lists-from-scratch",
        lambda: [request("GET", "/api/v1/namespaces/many/configmaps")],
        connections=100,
    ),
    Attack(
        "lists-with-many-label-conditions",
        lambda: [
            request(
                "GET",
                f"/api/v1/namespaces/many/configmaps?labelSelector={_conditions(6_000)}",
            )
        ],
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

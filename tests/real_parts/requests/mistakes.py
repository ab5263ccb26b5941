"""Changes of documents: typical mistakes, and valid values that a document did not have.

A change is a path with a new value, or with `REMOVED`. Upstream's limits are values on both sides
of each limit.
"""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any, Final, TypeAlias

from tests.conformance.recordings import read_recording
from tests.conformance.replay import RECORDINGS
from tests.conformance.variations import Pool

from podwright.apimachinery.schema import built_in

Document: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str | int, ...]
Change: TypeAlias = tuple[Path, Any]
REMOVED: Final = "<removed>"

_QUANTITIES: Final = (
    "-1", "0", "abc", "1.5", "0.5m", "1e3", "100Mi", "1Ki", "999999999999999999999", "2", 3, 1.5,
    "", "1 Gi", "500m",
)  # fmt: skip
_NAMES: Final = (
    "", "A", "-a", "a_b", "a.b", "a" * 63, "a" * 64, "a" * 253, "a" * 254, "web", "main", "a/b",
    "a b", "ü", "1", "kubernetes.io/x", "a..b",
)  # fmt: skip
_PORTS: Final = (0, -1, 1, 65535, 65536, "http", "80", "a_b", "x" * 16, "", 1.5)
_COUNTS: Final = (0, -1, 1, 2, 100, 101, 2147483647, 2147483648, "3", 1.5, None)
_PERCENTS: Final = ("0%", "100%", "101%", "-1%", "50", "a%", 0, -1, 5, "", "1.5%")
_LABELS: Final[tuple[Any, ...]] = (
    {}, {"a b": "c"}, {"a": "b c"}, {"a": "x" * 64}, {"x" * 64: "a"}, {"a/b/c": "d"}, {"/a": "b"},
    {"a": 1}, {"-a": "b"}, {"c": "-d"}, {"example.com/a": "b"}, {"a": None}, {"a": ""},
)  # fmt: skip
_SELECTORS: Final[tuple[Any, ...]] = (
    {}, {"matchLabels": {"app": "web"}}, {"matchLabels": {"a b": "c d"}},
    {"matchExpressions": [{"key": "a", "operator": "In"}]},
    {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
    {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
    {"matchExpressions": [{"key": "", "operator": "in", "values": ["-x"]}]}, None,
)  # fmt: skip

_UID: Final = "11111111-0000-0000-0000-000000000000"
_OWNER: Final = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": _UID}
_SET: Final = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "uid": "u", "controller": True}
_OWNERS: Final[tuple[Any, ...]] = (
    [_OWNER], [_OWNER | {"uid": ""}], [_OWNER | {"kind": "Event"}],
    [_SET | {"name": "a"}, _SET | {"name": "b", "uid": "v"}],
)  # fmt: skip

BY_NAME: Final[dict[str, tuple[Any, ...]]] = {
    "cpu": _QUANTITIES, "memory": _QUANTITIES, "storage": _QUANTITIES, "pods": _QUANTITIES,
    "sizeLimit": _QUANTITIES, "divisor": (*_QUANTITIES, "1", "1Mi"),
    "containerPort": _PORTS, "hostPort": _PORTS, "port": _PORTS, "targetPort": _PORTS,
    "nodePort": (*_PORTS, 30001, 29999), "number": _PORTS, "endPort": _PORTS,
    "replicas": _COUNTS, "parallelism": _COUNTS, "completions": _COUNTS, "count": _COUNTS,
    "labels": _LABELS, "annotations": _LABELS, "matchLabels": _LABELS, "nodeSelector": _LABELS,
    "selector": _SELECTORS, "labelSelector": _SELECTORS, "podSelector": _SELECTORS,
    "maxSurge": _PERCENTS, "maxUnavailable": _PERCENTS, "minAvailable": _PERCENTS,
    "image": ("", " nginx", "nginx ", "Nginx:1", "n:1@sha256:x"),
    "name": _NAMES, "hostname": _NAMES, "subdomain": _NAMES, "serviceName": _NAMES,
    "serviceAccountName": _NAMES, "schedulerName": _NAMES, "nodeName": _NAMES,
    "priorityClassName": (*_NAMES, "system-cluster-critical"), "runtimeClassName": _NAMES,
    "key": _NAMES, "topologyKey": _NAMES, "driver": _NAMES, "claimName": _NAMES,
    "deviceClassName": _NAMES, "volumeName": _NAMES, "storageClassName": _NAMES, "pool": _NAMES,
    "operator": ("", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", "exists", "Foo"),
    "effect": ("", "NoSchedule", "PreferNoSchedule", "NoExecute", "NoSchedul"),
    "values": ([], ["a"], ["a", "b"], ["a b"], ["1"], ["x" * 64], None, "a"),
    "restartPolicy": ("", "Always", "Never", "OnFailure", "never"),
    "mountPath": ("", "/", "data", "/data", "/a:b", "a\\b"),
    "path": ("", "/", "../x", "/a/../b", "x", "a/b"),
    "tolerationSeconds": (0, -1, 60, None), "value": ("", "a", "a b", "-a", "x" * 64, 1, True),
    "weight": (0, 1, 100, 101, -1), "maxSkew": (0, 1, -1), "minDomains": (0, 1, -1),
    "clusterIP": ("None", "", "10.0.0.300", "10.0.0.77", "11.0.0.1", "fe80::1"),
    "type": ("", "ClusterIP", "NodePort", "ExternalName", "Recreate", "RollingUpdate", "OnDelete",
             "Foo", "Opaque", "Localhost", "kubernetes.io/tls"),
    "protocol": ("TCP", "UDP", "SCTP", "tcp", ""),
    "schedule": ("* * * * *", "", "@daily", "* * *", "TZ=UTC * * * * *", "61 * * * *"),
    "timeZone": ("", "UTC", "Local", "Nowhere/x", "Europe/Berlin"),
    "accessModes": ([], ["ReadWriteOnce"], ["Foo"], ["ReadWriteOncePod", "ReadWriteOnce"]),
    "ip": ("", "1.2.3", "1.2.3.4", "::1", "01.2.3.4", "127.0.0.1"),
    "podCIDR": ("10.2.0.0/24", "10.2.0.0/33", "x", "10.1.0.0/24"),
    "cidr": ("10.0.0.0/8", "10.0.0.1/8", "x", "::/0", "10.0.0.0/33"),
    "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway", "Foo", ""),
    "generateName": ("gen-", "Gen-", "x" * 250 + "-", "x" * 60 + "-", "a."),
    "finalizers": ([], ["a"], ["example.com/a"], ["foregroundDeletion"], ["a/b/c"], ["orphan"]),
    "ownerReferences": _OWNERS,
    "expression": ("true", "device.driver ==", "1", "foo", "device.attributes['a']", ""),
    "httpGet": ({"port": 80}, {"port": 0}, {"path": "x", "port": "http", "scheme": "FTP"}, None),
    "verbs": ([], ["get"], ["*"], ["foo"], None), "resources": ({}, [], ["pods"], None),
    "terminationGracePeriodSeconds": (0, -1, 1, 30), "uid": ("", "x"), "namespace": ("other", ""),
    "resourceVersion": ("", "0", "1", "x", "99999999"), "creationTimestamp": ("x", None),
    "deletionTimestamp": ("2021-01-01T00:00:00Z",), "volumeMode": ("Block", "Filesystem", "x"),
    "size": ("small", "huge", 3, None), "when": ("2021-01-01", "x", "2021-01-01T00:00:00Z"),
    "names": ([], ["x", "x"], ["toolong"], ["a", "b", "c", "d"], "x"),
    "pairs": ([{"k": "a"}, {"k": "a"}], [{"v": "b"}], [{"k": "a", "v": None}], []),
    "rules": ([], None), "subjects": ([], [{"kind": "Foo", "name": "x"}], [{"kind": "User"}]),
    "imagePullPolicy": ("Always", "IfNotPresent", "Never", "always", ""),
    "hard": ({"pods": "-1"}, {"foo": "1"}, {"requests.cpu": "x"}, {"a/b/c": "1"}, {}),
    "taints": ([{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}], []),
    "data": ({"a b": "c"}, {"..": "x"}, {"k": 1}, {"k": "not base64"}, {}, None, {"k": "YQ=="}),
    "immutable": (True, False, None), "stringData": ({"k": "v"}, {"a b": "c"}, {}),
    "capacity": ({"storage": "0"}, {"storage": "-1"}, {}, {"cpu": "1"}),
    "hostPath": ({"path": ".."},),
    "dnsPolicy": ("Default", "None", "Foo", ""), "sessionAffinity": ("None", "ClientIP", "x"),
    "externalTrafficPolicy": ("Local", "Cluster", "x", ""), "maxReplicas": (0, 1, -1, 2147483648),
    "minReplicas": (0, -1, 6, None),
    "roleRef": ({"kind": "Role", "name": "b"}, {"kind": "Foo"}, {}),
    "pathType": ("Exact", "Prefix", "Foo", None), "host": ("*.example.com", "a b", "1.2.3.4", ""),
    "completionMode": ("NonIndexed", "Indexed", "x"), "suspend": (True, False, "yes"),
    "provisioner": ("", "a b", "x"), "volumeBindingMode": ("Immediate", "x", None),
    "reclaimPolicy": ("Delete", "Recycle", "x"), "preemptionPolicy": ("Never", "x", ""),
    "leaseDurationSeconds": (0, -1, 10), "holderIdentity": ("", "you"),
    "externalName": ("", "a b", "x.y", "foo.bar."), "podManagementPolicy": ("OrderedReady", "x"),
}  # fmt: skip


_KIND_PATHS: Final = (("apiVersion",), ("kind",), ("metadata",))
_KIND_SHARE: Final = 0.03
_UNKNOWN_SHARE: Final = 0.06
_OTHER_TYPES: Final[tuple[Any, ...]] = ("text", 7, True, None, [], {}, ["a"], 1.5)
_METADATA: Final = (
    "labels", "annotations", "finalizers", "ownerReferences", "generateName", "deletionTimestamp",
    "uid", "namespace", "resourceVersion", "creationTimestamp",
)  # fmt: skip


def _pool() -> Pool:
    exchanges = (
        each for path in sorted(RECORDINGS.glob("*.jsonl.gz")) for each in read_recording(path)
    )
    return Pool(exchanges, built_in())


class Changes:
    """Draws changes of documents."""

    def __init__(self) -> None:
        self.pool = _pool()

    def draw(self, document: Document, random: Random) -> list[Change]:
        """Return one change of a document, rarely two."""
        count = 2 if random.random() < 0.15 else 1
        return [self._one(document, random) for _ in range(count)]

    def _one(self, document: Document, random: Random) -> Change:
        parts = [
            path
            for path in paths_of(document)
            if path not in _KIND_PATHS or random.random() < _KIND_SHARE
        ]
        path = random.choice(parts)
        roll = random.random()
        if roll < 0.52:
            # Fields with known mistakes are often deep, beside few other fields.
            path = random.choice([each for each in parts if each[-1] in BY_NAME] or parts)
            values = BY_NAME.get(str(path[-1]), (None, "", 0, {}, []))
            return path, copy.deepcopy(random.choice(values))
        if roll < 0.62:
            return path, REMOVED
        if roll < 0.66:
            return path, copy.deepcopy(random.choice(_OTHER_TYPES))
        lists = [each for each in parts if isinstance(each[-1], int)]
        if roll < 0.74 and lists:
            path = random.choice(lists)
            holder = at(document, path[:-1])
            return (*path[:-1], len(holder)), copy.deepcopy(at(document, path))
        structs = [each for each in parts if isinstance(at(document, each), dict)]
        return self._added(document, [*structs, (), ("metadata",)], random)

    def _added(self, document: Document, structs: list[Path], random: Random) -> Change:
        for _ in range(8):
            path = random.choice(structs)
            if path and path[-1] in ("metadata", "labels", "annotations"):
                name = random.choice(_METADATA)
                return ("metadata", name), copy.deepcopy(random.choice(BY_NAME[name]))
            if random.random() < _UNKNOWN_SHARE:
                return (*path, "unknownField"), 1
            added = self.pool.field(document, path, random)
            if added is None or added[0] in ("apiVersion", "kind", "metadata"):
                continue
            name, value = added
            if name in BY_NAME and random.random() < 0.3:
                value = copy.deepcopy(random.choice(BY_NAME[name]))
            return (*path, name), value
        return ("metadata", "labels", "changed"), "yes"


def paths_of(value: Any, path: Path = ()) -> list[Path]:
    """Return the paths of all parts of a value, except of the value itself."""
    found = [path] if path else []
    if isinstance(value, dict):
        for name, part in value.items():
            found += paths_of(part, (*path, name))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            found += paths_of(part, (*path, index))
    return found


def at(value: Any, path: Path) -> Any:
    """Return the part of a value at a path."""
    for name in path:
        value = value[name]
    return value


def changed(document: Any, changes: list[Change]) -> Any:
    """Return a document with changes; a change whose place is not there is left out."""
    document = copy.deepcopy(document)
    for path, value in changes:
        holder = document
        for name in path[:-1]:
            if isinstance(holder, dict) and isinstance(name, str):
                holder = holder.setdefault(name, {})
            elif isinstance(holder, list) and isinstance(name, int) and name < len(holder):
                holder = holder[name]
            else:
                holder = None
        last = path[-1]
        if isinstance(holder, dict) and isinstance(last, str):
            if value == REMOVED:
                holder.pop(last, None)
            else:
                holder[last] = copy.deepcopy(value)
        elif isinstance(holder, list) and isinstance(last, int):
            if value == REMOVED:
                del holder[last : last + 1]
            elif last < len(holder):
                holder[last] = copy.deepcopy(value)
            else:
                holder.append(copy.deepcopy(value))
    return document


def described(changes: list[Change]) -> str:
    """Return changes as text."""
    return "; ".join(
        f"{'.'.join(map(str, path))}={json.dumps(value)[:70]}" for path, value in changes
    )

"""Creations from a template are those of a server that executes each request in full.

Both servers get the same requests: pods of a few templates, and between them changes of all that
admission and authorization depend on.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from hypothesis import given, note, strategies as st
from tests.properties.effort import effort

from podwright.cluster.api.admission import default_plugins
from podwright.cluster.api.endpoints import (
    BARE_TOKENS,
    ApiServer,
    HttpReply,
    HttpRequest,
    ServerOptions,
    User,
    bare_store,
)

START_NS = 1_772_445_600_000_000_000
USERS = {
    "admin": BARE_TOKENS["admin-token"],
    "alice": BARE_TOKENS["alice-token"],
    "node": User("system:node:n1", groups=("system:nodes", "system:authenticated")),
}
HEADERS = [
    {"content-type": "application/json", "user-agent": "one/1"},
    {"content-type": "application/json", "user-agent": "two/1", "accept": "application/yaml"},
    {"content-type": "application/json", "impersonate-user": "alice"},
]
NAMESPACES = ("default", "other")


def _pod(spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "registry.example/app:1",
        "ports": [{"containerPort": 80}],
        "env": [{"name": "LONG", "value": "so that the text of the spec is long enough"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container], **spec},
    }


TEMPLATES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({}, {"labels": {"app": "web", "name": "in-labels"}}),
    ({}, {"annotations": {"note": '100% "name":"quoted"'}}),
    ({"priorityClassName": "high"}, {}),
    ({"runtimeClassName": "sandboxed"}, {}),
    ({"serviceAccountName": "robot"}, {}),
    ({"nodeName": "n1"}, {}),
    ({"schedulingGates": [{"name": "wait"}]}, {}),
    ({"securityContext": {"runAsUser": 0}, "hostNetwork": True}, {}),
    ({}, {"uid": "sent", "resourceVersion": "", "creationTimestamp": None}),
    (
        {},
        {
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": "c",
                    "uid": "u",
                    "blockOwnerDeletion": True,
                }
            ]
        },
    ),
    (
        {
            "volumes": [
                {
                    "name": "v",
                    "ephemeral": {
                        "volumeClaimTemplate": {
                            "spec": {
                                "accessModes": ["ReadWriteOnce"],
                                "resources": {"requests": {"storage": "1Gi"}},
                            }
                        }
                    },
                }
            ]
        },
        {},
    ),
]
_RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"


def _limits(default: str, maximum: str) -> dict[str, Any]:
    item = {
        "type": "Container",
        "default": {"cpu": default},
        "defaultRequest": {"cpu": default},
        "max": {"cpu": maximum},
    }
    return {"kind": "LimitRange", "metadata": {"name": "limits"}, "spec": {"limits": [item]}}


def _priority_class(name: str, value: int, *, is_default: bool) -> dict[str, Any]:
    return {
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "globalDefault": is_default,
    }


def _quota(count: int) -> dict[str, Any]:
    amounts = {"pods": str(count)}
    return {
        "kind": "ResourceQuota",
        "metadata": {"name": "quota"},
        "spec": {"hard": amounts},
        "status": {"hard": amounts, "used": {"pods": "0"}},
    }


_POLICY = {
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "policy"},
    "spec": {
        "matchConstraints": {"resourceRules": [_RULE]},
        "validations": [{"expression": "!object.metadata.name.endsWith('1')"}],
    },
}
_MUTATION = {
    "kind": "MutatingAdmissionPolicy",
    "metadata": {"name": "mutation"},
    "spec": {
        "matchConstraints": {"resourceRules": [_RULE]},
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "mutations": [
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {
                    "expression": "Object{metadata: Object.metadata{labels: {'set': 'true'}}}"
                },
            }
        ],
    },
}


def _binding(kind: str, policy: str) -> dict[str, Any]:
    spec: dict[str, Any] = {"policyName": policy}
    if kind.startswith("Validating"):
        spec["validationActions"] = ["Deny"]
    return {"kind": kind, "metadata": {"name": f"{policy}-binding"}, "spec": spec}


_ROLE_BINDING = {
    "kind": "RoleBinding",
    "metadata": {"name": "alice"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "maker"},
    "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "alice"}],
}

_ROLE = {
    "kind": "ClusterRole",
    "metadata": {"name": "maker"},
    "rules": [{"verbs": ["create"], "apiGroups": [""], "resources": ["pods"]}],
}

# The collection, its version and the documents that are created in it.
STATE: list[tuple[str, str, dict[str, Any]]] = [
    *(
        (f"/api/v1/namespaces/{each}/{plural}", "v1", document)
        for each in NAMESPACES
        for plural, document in (
            ("limitranges", _limits("100m", "1")),
            ("limitranges", _limits("200m", "100m")),
            ("resourcequotas", _quota(3)),
            ("serviceaccounts", {"kind": "ServiceAccount", "metadata": {"name": "robot"}}),
        )
    ),
    *(
        ("/apis/scheduling.k8s.io/v1/priorityclasses", "scheduling.k8s.io/v1", each)
        for each in (
            _priority_class("high", 1000, is_default=False),
            _priority_class("usual", 5, is_default=True),
            _priority_class("other", 4, is_default=True),
        )
    ),
    (
        "/apis/node.k8s.io/v1/runtimeclasses",
        "node.k8s.io/v1",
        {
            "kind": "RuntimeClass",
            "metadata": {"name": "sandboxed"},
            "handler": "h",
            "overhead": {"podFixed": {"cpu": "10m"}},
        },
    ),
    (
        "/api/v1/nodes",
        "v1",
        {
            "kind": "Node",
            "metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "a"}},
        },
    ),
    *(
        (f"{_ADMISSION}/{plural}", _ADMISSION[6:], each)
        for plural, each in (
            ("validatingadmissionpolicies", _POLICY),
            ("mutatingadmissionpolicies", _MUTATION),
        )
    ),
    *(
        (f"{_ADMISSION}/{kind.lower()}s", _ADMISSION[6:], _binding(kind, policy))
        for kind, policy in (
            ("ValidatingAdmissionPolicyBinding", "policy"),
            ("MutatingAdmissionPolicyBinding", "mutation"),
        )
    ),
    (f"{_RBAC}/clusterroles", _RBAC[6:], _ROLE),
    (f"{_RBAC}/namespaces/default/rolebindings", _RBAC[6:], _ROLE_BINDING),
]
PRESENT = ("ServiceAccount", "PriorityClass", "RuntimeClass", "ClusterRole", "RoleBinding")
"""The kinds whose objects of `STATE` exist at first."""

_LEVELS = ("privileged", "baseline", "restricted")

templates = st.tuples(
    st.one_of(st.integers(0, 4), st.integers(0, len(TEMPLATES) - 1)),
    st.sampled_from(["default", "default", "other"]),
    st.sampled_from(["", "", "", "", "dryRun=All", "fieldManager=x"]),
    st.sampled_from([0, 0, 0, 0, 0, 1, 2]),
    st.booleans(),
)
users = st.sampled_from(["admin", "admin", "admin", "alice", "alice", "node"])
namings = st.sampled_from(["counted"] * 4 + ["generated"] * 3 + ["same", "BAD", "bad-"])
changes = st.tuples(st.sampled_from(["create", "create", "delete"]), st.integers(0, len(STATE) - 1))
levels = st.tuples(
    st.just("level"),
    st.sampled_from(NAMESPACES),
    st.sampled_from(["enforce", "warn"]),
    st.sampled_from(_LEVELS),
)
ends = st.tuples(st.just("end"), st.just("other"))
others = st.one_of(changes, changes, changes, levels, ends)


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """Return steps that create pods of one to three templates, with changes between them."""
    known = draw(st.lists(templates, min_size=1, max_size=3))
    naming, user = draw(namings), draw(users)
    steps: list[tuple[Any, ...]] = [("pods", known[0], naming, user)] * 2
    for _ in range(draw(st.integers(1, 6))):
        steps += draw(st.lists(others, max_size=2))
        user = draw(st.sampled_from([user, user, draw(users)]))
        naming = draw(st.sampled_from([naming, naming, draw(namings)]))
        steps.append(("pods", draw(st.sampled_from(known)), naming, user))
    return steps


LABELS = ("web", "web-1", "a.b_C", "x" * 63, "x" * 64, "-x", "", "é", 'a"b', "1")
VARIABLES = ("A", "B", "AB", "A_B", "a", "_", "Z9", "with-hyphen", "with space", "", "=", "é")
TEXTS = ("1", "", " ", "$(A)", "a <b> & 'c'", 'a "quote"', "\\", "\n", "x" * 1025, "100m", "web")
IMAGES = ("app:1", "app:v1.2-x", "app", "app:latest", "host:5000/app", "a/b:1@sha256:x", " ", "")
CPUS = ("100m", "250m", "1", "1000m", "2000m", "0", "-1", "1.5", "0.1", "1e3", "100", 1, None, "x")
MEMORIES = ("500Mi", "512Mi", "1024Mi", "1Gi", "1Ki", "100m", "1.5Gi", "2048Ki", "1000000", "0Mi")
USUAL = ("web", ("A", "B"), "1", "app:1", ("100m", "100m"), ("500Mi", "500Mi"), "web")

_pairs = st.one_of(
    st.sampled_from(CPUS).map(lambda each: (each, each)),
    st.tuples(st.sampled_from(CPUS), st.sampled_from(CPUS)),
)
_memory_pairs = st.one_of(
    st.sampled_from(MEMORIES).map(lambda each: (each, each)),
    st.tuples(st.sampled_from(MEMORIES), st.sampled_from(MEMORIES)),
)
_unusual = st.tuples(
    st.sampled_from(LABELS),
    st.tuples(st.sampled_from(VARIABLES), st.sampled_from(VARIABLES)),
    st.sampled_from(TEXTS),
    st.sampled_from(IMAGES),
    _pairs,
    _memory_pairs,
    st.sampled_from(LABELS),
)


@st.composite
def varied(draw: st.DrawFn) -> tuple[Any, ...]:
    """Return a step that creates pods whose values differ in a few places from usual ones."""
    pods = []
    for _ in range(draw(st.integers(3, 8))):
        values, unusual = list(USUAL), draw(_unusual)
        for place in draw(st.lists(st.integers(0, len(USUAL) - 1), max_size=2)):
            values[place] = unusual[place]
        pods.append(tuple(values))
    sides = draw(st.sampled_from([("requests", "limits"), ("requests",), ("limits",)]))
    of_pod = draw(st.sampled_from([None, None, None, {"limits": {"cpu": "300m"}}]))
    selecting = draw(st.sampled_from([(), ("affinity",), ("spread",), ("affinity", "spread")]))
    return ("varied", pods, sides, of_pod, selecting, draw(st.booleans()))


def _selecting(value: str, fields: tuple[str, ...]) -> dict[str, Any]:
    """Return parts of a spec that select pods by a label, and by their own index."""
    selector = {"matchLabels": {"app": value}}
    term = {"topologyKey": "zone", "labelSelector": selector}
    affinity = {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": term | {"matchLabelKeys": ["index"]}}
            ]
        },
    }
    constraint = term | {
        "maxSkew": 1,
        "whenUnsatisfiable": "ScheduleAnyway",
        "matchLabelKeys": ["index"],
    }
    parts = {"affinity": affinity, "spread": [constraint]}
    return {
        {"affinity": "affinity", "spread": "topologySpreadConstraints"}[field]: parts[field]
        for field in fields
    }


def _varied_pod(
    name: str,
    values: tuple[Any, ...],
    sides: tuple[str, ...],
    of_pod: Any,
    selecting: tuple[str, ...],
) -> dict[str, Any]:
    label, variables, text, image, cpu, memory, selected = values
    amounts = {}
    for side, *pair in zip(sides, cpu, memory, strict=False):
        amounts[side] = dict(zip(("cpu", "memory"), pair, strict=True))
    env = [{"name": each, "value": f"{text}"} for each in variables]
    container = {"name": "main", "image": image, "env": env, "resources": amounts}
    other = {"name": "other", "image": "other:1", "env": [{"name": "OTHER", "value": text}]}
    spec: dict[str, Any] = {"containers": [container, other], **_selecting(selected, selecting)}
    if of_pod is not None:
        spec["resources"] = of_pod
    labels = {"app": label, "index": name}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
    }


NOTES = (
    "Successfully assigned default/web to node-1",
    "100% of <all> & more: 'x'",
    "x" * 1024,
    "x" * 1025,
    "",
    " ",
    'a "quoted" note',
    '"' * 1024,
    '"' + "x" * 1023,
    "x" + '"' * 1024,
    '\\"',
    "a back\\slash",
    "é",
    "two\nlines",
)
TIMES = (
    "2026-03-02T10:00:00.000001Z",
    "2026-02-28T23:59:59.999999Z",
    "2026-02-29T10:00:00.000000Z",
    "2026-03-02T10:00:00Z",
    "2026-03-02T10:00:00.1Z",
    "2026-03-02T25:00:00.000000Z",
    "0001-01-01T00:00:00.000000Z",
    "",
)


def _event(number: int, note: str, time: str, *, is_new: bool) -> dict[str, Any]:
    """Return an Event of a pod; those with one `is_new` are of one template."""
    pod_reference = {
        "kind": "Pod",
        "namespace": "default",
        "name": f"web-{number}",
        "uid": f"00000000-0000-4000-8000-{number:012x}",
        "apiVersion": "v1",
        "resourceVersion": str(number),
    }
    metadata = {"name": f"web-{number}.{number:x}", "namespace": "default"}
    document: dict[str, Any] = {"metadata": metadata, "type": "Normal", "reason": "Scheduled"}
    if is_new:
        return document | {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "eventTime": time,
            "reportingController": "default-scheduler",
            "reportingInstance": "scheduler-1",
            "action": "Binding",
            "note": note,
            "regarding": pod_reference,
        }
    return document | {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": pod_reference,
        "message": note,
        "source": {"component": "kubelet", "host": f"node-{number}"},
        "reportingInstance": f"node-{number}",
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }


events = st.tuples(
    st.just("events"),
    st.booleans(),
    st.sampled_from(NOTES),
    st.sampled_from(TIMES),
    st.sampled_from([0, 6, 12, 18]),
)


class Session:
    """A server and the requests of steps to it."""

    def __init__(self, templates_max: int) -> None:
        self.store = bare_store(START_NS)
        options = ServerOptions(
            authorization_modes=("Node", "RBAC"),
            admission=partial(default_plugins, enabled=("NodeRestriction", "ServiceAccount")),
            templates_max=templates_max,
            learned_at=2,
        )
        self.server = ApiServer(self.store, options)
        self.now_ns = START_NS
        self.count = 0
        self.replies: list[tuple[Any, ...]] = []
        for name in NAMESPACES:
            self.send("POST", "/api/v1/namespaces", _named("v1", "Namespace", name))
            accounts = f"/api/v1/namespaces/{name}/serviceaccounts"
            self.send("POST", accounts, _named("v1", "ServiceAccount", "default"))
        for index, (_, _, document) in enumerate(STATE):
            if document["kind"] in PRESENT:
                self.take(("create", index))

    def send(
        self,
        method: str,
        path: str,
        document: Any = None,
        *,
        query: str = "",
        headers: int = 0,
        user: str = "admin",
        is_compact: bool = True,
    ) -> None:
        """Send a request, a third of a second after the last."""
        self.now_ns += 333_333_333
        separators = (",", ":") if is_compact else None
        body = b"" if document is None else json.dumps(document, separators=separators).encode()
        sent = HEADERS[headers]
        if method == "PATCH":
            sent = {"content-type": "application/merge-patch+json"}
        request = HttpRequest(method, path, query, sent, body)
        reply = self.server.handle(request, USERS[user], self.now_ns)
        assert isinstance(reply, HttpReply), "no request is a watch"
        self.replies.append((method, path, reply.status, reply.headers, reply.body))

    def take(self, step: tuple[Any, ...]) -> None:
        """Send the requests of a step."""
        match step:
            case ("pods", template, naming, user):
                index, namespace, query, headers, is_compact = template
                spec, metadata = TEMPLATES[index]
                for _ in range(5):
                    self.count += 1
                    names = {
                        "counted": {"name": f"web-{self.count}"},
                        "generated": {"generateName": "web-"},
                        "same": {"name": "web-same"},
                        "BAD": {"name": f"BAD-{self.count}"},
                        "bad-": {"name": f"bad-{self.count}-"},
                    }[naming]
                    self.send(
                        "POST",
                        f"/api/v1/namespaces/{namespace}/pods",
                        _pod(spec, **metadata, **names),
                        query=query,
                        headers=headers,
                        user=user,
                        is_compact=is_compact,
                    )
            case ("varied", pods, sides, of_pod, selecting, is_compact):
                for number, values in enumerate([USUAL] * 4 + pods):
                    self.count += 1
                    # The first four teach the server.
                    own = f"{values[0]}-{number}"
                    numbered = (own, *values[1:-1], own) if number < 4 else values
                    self.send(
                        "POST",
                        "/api/v1/namespaces/default/pods",
                        _varied_pod(f"web-{self.count}", numbered, sides, of_pod, selecting),
                        is_compact=is_compact,
                    )
            case ("create", index):
                path, version, document = STATE[index]
                self.send("POST", path, {"apiVersion": version, **document})
                if document["kind"] == "ResourceQuota":
                    status = {"status": document["status"]}
                    self.send("PATCH", f"{path}/quota/status", status)
            case ("delete", index):
                path, _, document = STATE[index]
                self.send("DELETE", f"{path}/{document['metadata']['name']}")
            case ("level", namespace, mode, level):
                labels = {f"pod-security.kubernetes.io/{mode}": level}
                self.send(
                    "PATCH", f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": labels}}
                )
            case ("end", namespace):
                self.send("DELETE", f"/api/v1/namespaces/{namespace}")
            case ("events", is_new, note, time, first):
                group = "apis/events.k8s.io/v1" if is_new else "api/v1"
                path = f"/{group}/namespaces/default/events"
                usual = NOTES[0], TIMES[0 if is_new else 3]
                for number in range(first, first + 6):
                    values = (note, time) if number > first + 2 else usual
                    self.send("POST", path, _event(number, *values, is_new=is_new))
            case _:
                raise AssertionError(step)

    def state(self) -> list[tuple[str, Any]]:
        """Return the stored objects, in the order of their documents' fields, and their structs."""
        found = []
        for kind in self.store.kinds():
            for obj in self.store.list(kind).objects:
                found.append((obj.key, (json.dumps(obj.raw), obj)))
                assert self.store.encodings.of(obj.raw) == _encoded(obj.raw), obj.key
        return found


def _encoded(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def _named(version: str, kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


@effort(40, deadline=None)
@given(st.lists(st.one_of(events, events, others), min_size=2, max_size=6))
def test_events_from_templates_are_those_in_full(taken: list[tuple[Any, ...]]) -> None:
    _compare(taken)


@effort(60, deadline=None)
@given(histories())
def test_pods_from_templates_are_those_in_full(taken: list[tuple[Any, ...]]) -> None:
    _compare(taken)


@effort(60, deadline=None)
@given(st.lists(st.one_of(varied(), varied(), others), min_size=1, max_size=4))
def test_pods_that_vary_are_those_in_full(taken: list[tuple[Any, ...]]) -> None:
    _compare(taken)


def test_usual_pods_that_vary_are_executed_from_templates() -> None:
    session = Session(templates_max=3)
    everywhere = ("affinity", "spread")
    session.take(("varied", [USUAL] * 3, ("requests", "limits"), None, everywhere, True))
    # All but the first two.
    assert session.server._forms.executed_count == 5


def _compare(taken: list[tuple[Any, ...]]) -> None:
    prepared, full = Session(templates_max=3), Session(templates_max=0)
    for step in taken:
        for session in (prepared, full):
            session.take(step)
        note(f"{step}: {[each[2] for each in full.replies]}")
        assert prepared.replies == full.replies
    assert prepared.state() == full.state()
    prepared.store.validate()

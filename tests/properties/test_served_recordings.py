"""Laws of the recording of a served cluster: every kind of action is replayed.

Clients of a served cluster write objects as no other input has them: with managed fields, and with
keys in any order. The replay of the recording has to send the same bytes to extenders, and results
that follow the log have to equal those of a replay.
"""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import example, given, note, strategies as st
from tests.properties.effort import effort
from tests.properties.exercised import Exercised

import podwright as pw
from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import decode
from podwright.cluster.api.endpoints import (
    HttpReply,
    HttpRequest,
    ServerOptions,
    User,
    static_tokens,
)
from podwright.online.apiserver import Cluster, ClusterOptions, generated_nodes, new_cluster
from podwright.scheduler.config import ExtenderCall, ExtenderReply, parse_gates, read_configuration
from podwright.scheduler.machine import Action, SchedulerOptions
from podwright.simulation.kss import LiveResults, kss_annotations
from podwright.simulation.recording import UnknownCycle
from podwright.simulation.recording.log.log_format import decode_actions
from podwright.simulation.recording.log.replay import verify

pytestmark = pytest.mark.property

SECOND_NS = 1_000_000_000
START_NS = 1_800_000_000 * SECOND_NS
ADMIN = User("admin", groups=("system:masters", "system:authenticated"))
SERVER = ServerOptions(tokens=(static_tokens({"secret": ADMIN}),), anonymous=ADMIN)
GATES = "GenericWorkload=true,GangScheduling=true"
PODS = "/api/v1/namespaces/default/pods"
CARD = "example.com/card"
VERBS = {
    "filter": "filterVerb",
    "prioritize": "prioritizeVerb",
    "preempt": "preemptVerb",
    "bind": "bindVerb",
}

EXTENDER = st.builds(
    lambda verbs, others: {
        "urlPrefix": "http://extender",
        **{VERBS[verb]: verb for verb in sorted(verbs)},
        **({"weight": 2} if "prioritize" in verbs else {}),
        **others,
    },
    st.sets(st.sampled_from(sorted(VERBS)), min_size=1),
    st.fixed_dictionaries(
        {},
        optional={
            "nodeCacheCapable": st.just(True),
            "ignorable": st.just(True),
            "managedResources": st.just([{"name": CARD}]),
        },
    ),
)
REPLIES = st.lists(
    st.sampled_from(["answers", "answers", "answers", "drops", "fails", "500", "timeout"]),
    min_size=1,
    max_size=5,
)
POD = st.fixed_dictionaries(
    {
        "kind": st.just("pod"),
        "cpu": st.sampled_from(["100m", "6", "6"]),
        "priority": st.sampled_from([0, 0, 1000]),
        "needs": st.sampled_from(["", "", "claim", "class", "device", "card", "gang"]),
        "reversed": st.booleans(),
    }
)
CHANGE = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["label pod", "label node", "write pod", "delete pod"]),
        "number": st.integers(0, 5),
    }
)
WAIT = st.fixed_dictionaries({"kind": st.just("wait"), "seconds": st.sampled_from([1, 12, 40])})
STEPS = st.lists(POD | POD | CHANGE | WAIT, min_size=3, max_size=10)

OBJECTS: tuple[Document, ...] = (
    {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "late"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    },
    {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "made"},
        "provisioner": "rancher.io/local-path",
        "volumeBindingMode": "WaitForFirstConsumer",
    },
    *(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"volume-{number}"},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "late",
                "hostPath": {"path": f"/{number}"},
            },
        }
        for number in range(2)
    ),
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "cards"},
        "spec": {"extendedResourceName": CARD},
    },
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "node-0-cards"},
        "spec": {
            "driver": "cards.example.com",
            "nodeName": "node-0",
            "pool": {"name": "node-0", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"card-{number}"} for number in range(3)],
        },
    },
    {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    },
)


class RecordsNode(pw.Plugin):
    """Writes the node that it reserves into its pod, as device plugins write the device."""

    name = "RecordsNode"

    def reserve(self, cycle: pw.Cycle, node_name: str) -> pw.Status:
        assert self.handle is not None
        self.handle.request(pw.PodMetadataPatch(annotations={CARD: node_name}), cycle.pod)
        return pw.Status()


class Session:
    """A served cluster, its clients, and its extenders."""

    def __init__(
        self, extenders: list[Document], replies: list[str], *, has_gangs: bool = False
    ) -> None:
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "extenders": extenders,
        }
        self.plugins = (RecordsNode,) if has_gangs else ()
        self.cluster: Cluster = new_cluster(
            SchedulerOptions(
                plugins=self.plugins,
                configuration=read_configuration(document, source="test"),
                gates=parse_gates(GATES if has_gangs else ""),
            ),
            now_ns=START_NS,
            options=ClusterOptions(),
            server_options=SERVER,
            call_extender=self.reply,
        )
        self.cluster.world.add(*generated_nodes(2), *map(decode, OBJECTS))
        self.now_ns = START_NS
        self.pods: list[str] = []
        self._replies = replies
        self._calls = 0
        self.settle()

    def send(self, method: str, path: str, body: Document | None = None, kind: str = "") -> None:
        """Send the request of a client; it may be rejected."""
        headers = {"content-type": kind or "application/json", "user-agent": "kubectl"}
        data = b"" if body is None else json.dumps(body).encode()
        reply = self.cluster.handle(HttpRequest(method, path, "", headers, data), self.now_ns)
        assert isinstance(reply, HttpReply)
        note(f"{method} {path}: {reply.status}")
        assert reply.status in (200, 201, 404, 409), reply.body

    def read(self, path: str) -> Document | None:
        reply = self.cluster.handle(HttpRequest("GET", path, "", {}, b""), self.now_ns)
        assert isinstance(reply, HttpReply)
        found: Document = json.loads(reply.body)
        return found if reply.status == 200 else None

    def settle(self) -> None:
        """Process what is due, with all calls to extenders."""
        scheduler = self.cluster.schedulers[0]
        while not self.cluster.catch_up(self.now_ns, lambda: False) or scheduler.extender_calls:
            calls = list(scheduler.extender_calls)
            scheduler.extender_calls.clear()
            for number, call in calls:
                scheduler.world.extender_replied(number, self.reply(call))

    def wait(self, seconds: int) -> None:
        for _ in range(seconds):
            self.now_ns += SECOND_NS
            self.cluster.begin_turn(self.now_ns)
            self.settle()

    def reply(self, call: ExtenderCall) -> ExtenderReply:
        """Reply as the extender of a call."""
        manner = self._replies[self._calls % len(self._replies)]
        self._calls += 1
        body = json.loads(call.body)
        if manner == "timeout":
            return ExtenderReply(error="timeout")
        if manner == "500":
            return ExtenderReply(status=500)
        if manner == "fails":
            # All results but that of prioritize have the field.
            found: Any = [] if call.verb == "prioritize" else {"Error": "no licence"}
        else:
            found = getattr(self, f"_{call.verb}")(body, drops=manner == "drops")
        return ExtenderReply(status=200, body=json.dumps(found).encode())

    def _filter(self, body: Document, *, drops: bool) -> Any:
        if body["NodeNames"] is not None:
            return {"NodeNames": body["NodeNames"][drops:]}
        return {"Nodes": {"items": body["Nodes"]["items"][drops:]}, "FailedNodes": {}}

    def _prioritize(self, body: Document, *, drops: bool) -> Any:
        names = body["NodeNames"] or [each["metadata"]["name"] for each in body["Nodes"]["items"]]
        return [{"Host": name, "Score": place} for place, name in enumerate(names[drops:])]

    def _preempt(self, body: Document, *, drops: bool) -> Any:
        given = body["NodeNameToMetaVictims"]
        if given is None:
            given = {
                node: {"Pods": [{"UID": pod["metadata"]["uid"]} for pod in victims["Pods"]]}
                for node, victims in body["NodeNameToVictims"].items()
            }
        return {"NodeNameToMetaVictims": dict(sorted(given.items())[drops:])}

    def _bind(self, body: Document, *, drops: bool) -> Any:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": body["PodName"], "uid": body["PodUID"]},
            "target": {"kind": "Node", "name": body["Node"]},
        }
        if not drops:  # otherwise it says that it has bound the pod, and has not
            self.send("POST", f"{PODS}/{body['PodName']}/binding", binding)
        return {"Error": ""}

    # ---------------------------------------------------------------- steps

    def take(self, step: Document) -> None:
        if step["kind"] == "wait":
            self.wait(step["seconds"])
        elif step["kind"] == "pod":
            self._create(step)
        else:
            self._change(step["kind"], step["number"])
        self.wait(1)

    def _create(self, step: Document) -> None:
        for _ in range(2 if step["needs"] == "gang" else 1):
            name = f"pod-{len(self.pods)}"
            self.pods.append(name)
            pod, extra = _pod(name, step)
            for path, obj in extra:
                self.send("POST", path, obj)
            self.send("POST", PODS, _reversed(pod) if step["reversed"] else pod)

    def _change(self, kind: str, number: int) -> None:
        patch = {"metadata": {"labels": {"changed": str(self.now_ns)}}}
        patch_kind = "application/merge-patch+json"
        if kind == "label node":
            self.send("PATCH", f"/api/v1/nodes/node-{number % 2}", patch, patch_kind)
            return
        if not self.pods:
            return
        path = f"{PODS}/{self.pods[number % len(self.pods)]}"
        if kind == "label pod":
            self.send("PATCH", path, patch, patch_kind)
        elif kind == "delete pod":
            self.send("DELETE", path)
        elif (found := self.read(path)) is not None:
            found["metadata"].setdefault("annotations", {})["written"] = "yes"
            self.send("PUT", path, _reversed(found))


def _pod(name: str, step: Document) -> tuple[Document, list[tuple[str, Document]]]:
    """Return a pod, and the objects that it needs with their paths."""
    resources: Document = {"requests": {"cpu": step["cpu"]}}
    spec: Document = {
        "containers": [{"name": "main", "image": "app", "resources": resources}],
        "priority": step["priority"],
    }
    if step["priority"]:
        spec["priorityClassName"] = "high"
    extra: list[tuple[str, Document]] = []
    match step["needs"]:
        case "claim" | "class":
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
            claim = {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "late" if step["needs"] == "claim" else "made",
                "resources": {"requests": {"storage": "1Gi"}},
            }
            path = "/api/v1/namespaces/default/persistentvolumeclaims"
            extra.append((path, {"metadata": {"name": name}, "spec": claim}))
        case "device":
            requests = [{"name": "card", "exactly": {"deviceClassName": "cards"}}]
            path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
            body = {"metadata": {"name": name}, "spec": {"devices": {"requests": requests}}}
            extra.append((path, body))
            spec["resourceClaims"] = [{"name": "card", "resourceClaimName": name}]
            resources["claims"] = [{"name": "card"}]
        case "card":
            resources["limits"] = {CARD: "1"}
        case "gang":
            spec["schedulingGroup"] = {"podGroupName": "gang"}
        case _:
            pass
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}, extra


def _reversed(value: Any) -> Any:
    """Return a document with the keys of all its objects in reverse order."""
    if isinstance(value, dict):
        return {key: _reversed(each) for key, each in reversed(value.items())}
    return list(map(_reversed, value)) if isinstance(value, list) else value


def _may_be_used(extenders: list[Document]) -> bool:
    """Whether at most one extender binds pods, and one manages the resource, as is required."""
    keys = [key for each in extenders for key in each]
    return keys.count("bindVerb") < 2 and keys.count("managedResources") < 2


def _step(cpu: str = "6", **others: Any) -> Document:
    """Return a step that creates a pod as no client with a manifest writes it."""
    return {"kind": "pod", "cpu": cpu, "priority": 0, "needs": "", "reversed": True, **others}


_EVERY_VERB: Document = {"urlPrefix": "http://extender", "weight": 1} | {
    key: verb for verb, key in VERBS.items() if verb != "bind"
}
_PREEMPTION = [_step(), _step(needs="claim"), _step(), _step(priority=1000)]
"""Two pods fill the nodes, and the last one has to preempt."""


def test_every_kind_of_action_is_replayed(record_property):
    found = Exercised()
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }

    @effort(10)
    @given(st.lists(EXTENDER, max_size=2).filter(_may_be_used), REPLIES, STEPS, st.booleans())
    @example([], ["answers"], [_step(needs="gang"), _step(needs="claim")], True)
    @example([_EVERY_VERB], ["answers"], _PREEMPTION, False)
    @example([_EVERY_VERB | {"nodeCacheCapable": True}], ["answers"], _PREEMPTION, False)
    @example([], ["answers"], [_step(needs=each) for each in ("class", "device", "card")], False)
    def check(
        extenders: list[Document], replies: list[str], steps: list[Document], has_gangs: bool
    ) -> None:
        session = Session(extenders, replies, has_gangs=has_gangs)
        session.send("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", high)
        log = session.cluster.world.log
        live = LiveResults(log, plugins=session.plugins)
        for step in steps:
            note(f"{step}")
            session.take(step)
        session.wait(12)
        verification = verify(log, plugins=session.plugins, progress=False)
        assert verification.is_same, str(verification.difference)
        for name in session.pods:
            pod = f"default/{name}"
            try:
                expected = kss_annotations(log, pod, plugins=session.plugins)
            except UnknownCycle:
                expected = {}
            assert live.annotations(pod) == expected
        for entry in log.entries():
            for action in decode_actions(entry.actions):
                found.count(type(action).__name__)

    check()
    found.at_least(record_property, {each.__name__: 1 for each in get_args(Action)})

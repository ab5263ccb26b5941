"""The fake API server of the traces: a store of documents, and a script of failures."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, ClassVar, TypeAlias

import msgspec

from podwright.apimachinery.objects import Condition, Duration, Object, encode, timestamp_text
from podwright.apimachinery.schema import built_in, decode
from podwright.scheduler.assembly import Registry, build_machine
from podwright.scheduler.config import DEFAULT_GATES, Gates, parse_gates
from podwright.scheduler.framework import (
    CallError,
    Code,
    Cycle,
    EventHint,
    Pending,
    Plugin,
    Progress,
    StateKey,
    Status,
    TieRule,
)
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    DeletePod,
    Event,
    Machine,
    ObjectDeleted,
    ObjectPut,
    PatchPodGroupStatus,
    PatchPodStatus,
    SchedulerOptions,
    TimerFired,
    UpdateClaim,
    UpdateVolume,
)
from podwright.scheduler.queueing import SECOND_NS
from podwright.simulation.world import EventHeap
from podwright.testing.parity.comparison import Case
from podwright.testing.parity.sequence import effective_configuration

Document: TypeAlias = dict[str, Any]
Call: TypeAlias = (
    Bind | PatchPodStatus | PatchPodGroupStatus | DeletePod | UpdateVolume | UpdateClaim
)

_FIRST_START_NS = 946_771_200 * SECOND_NS  # 2000-01-02T00:00:00Z
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_GROUPS = {"PodGroup": "scheduling.k8s.io"}
"""The groups of the kinds outside the core group."""


class Server:
    """Stores objects, and applies the scheduler's calls to them.

    Parameters
    ----------
    script : dict
        `script` of the case: `api` rules, `grace_seconds`, and `starts_by_name`: pods do not start
        in the order in which they are bound, but in that of the numbers at the end of their names.
    watch : callable
        Receives every change before the call that made it returns.
    clock : EventHeap
        Has the current time.
    """

    def __init__(
        self,
        script: Document,
        watch: Callable[[Event], None],
        clock: EventHeap[TimerFired | Call],
    ) -> None:
        self._rules = [dict(rule) for rule in script.get("api", [])]
        self._grace_seconds: float | None = script.get("grace_seconds")
        self._starts_by_name: bool = script.get("starts_by_name", False)
        self._watch = watch
        self._clock = clock
        self._objects: dict[tuple[str, str], Document] = {}
        self._version = 0
        self._binding_count = 0
        self._errors: dict[int, str] = {}
        self._conditions: set[tuple[str, str, str, object]] = set()

    # ---------------------------------------------------------------- the user's side

    def create(self, document: Document) -> None:
        """Add an object."""
        self._write(document)

    def update(self, document: Document) -> None:
        """Replace an object; a pod keeps the fields that users cannot write."""
        present = self._objects.get(_key_of(document))
        if present is None:
            return
        if document["kind"] == "Pod":
            spec, meta = dict(document["spec"]), dict(document["metadata"])
            if "nodeName" in present["spec"]:
                spec["nodeName"] = present["spec"]["nodeName"]
            if "deletionTimestamp" in present["metadata"]:
                meta["deletionTimestamp"] = present["metadata"]["deletionTimestamp"]
            document = {**document, "metadata": meta, "spec": spec}
            if "status" in present:
                document["status"] = present["status"]
        self._write(document)

    def delete(self, kind: str, name: str) -> None:
        """Remove an object immediately."""
        document = self._objects.pop((kind, name), None)
        if document is not None:
            self._watch(ObjectDeleted(decode(document)))

    def terminate(self, name: str) -> None:
        """Delete a pod as the API does: with its grace period, if it has one."""
        pod = self._objects.get(("Pod", name))
        if pod is None:
            return
        if self._grace_seconds is None or not pod["spec"].get("nodeName"):
            self.delete("Pod", name)
        elif "deletionTimestamp" not in pod["metadata"]:
            gone_ns = self._clock.now_ns + round(self._grace_seconds * SECOND_NS)
            meta = {**pod["metadata"], "deletionTimestamp": timestamp_text(gone_ns)}
            self._write({**pod, "metadata": meta})

    def reap(self) -> None:
        """Remove the pods whose deletion has started, in order of names."""
        going = [
            name
            for (kind, name), document in self._objects.items()
            if kind == "Pod" and "deletionTimestamp" in document["metadata"]
        ]
        for name in sorted(going):
            self.delete("Pod", name)

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the names of all objects of a kind, in order of arrival."""
        return tuple(name for (of_kind, name) in self._objects if of_kind == kind)

    # ---------------------------------------------------------------- the volume controller

    def bind_volumes(self) -> None:
        """Bind every claim that has a volume reserved, and provision the selected ones."""
        for name in self._unbound_claims():
            claim = self._objects["PersistentVolumeClaim", name]
            volume = self._reserved_for(name)
            node = (claim["metadata"].get("annotations") or {}).get(_SELECTED_NODE)
            if volume is None and node is not None:
                volume = _provisioned(claim, node)
                self._write(volume)
                volume = self._objects["PersistentVolume", volume["metadata"]["name"]]
            if volume is not None:
                self._bind_volume(claim, volume)

    def reset_volumes(self) -> None:
        """Provisioning failed: take the choice of node off every unbound claim."""
        for name in self._unbound_claims():
            claim = self._objects["PersistentVolumeClaim", name]
            annotations = dict(claim["metadata"].get("annotations") or {})
            if annotations.pop(_SELECTED_NODE, None) is not None:
                meta = {**claim["metadata"], "annotations": annotations}
                self._write({**claim, "metadata": meta})

    def _unbound_claims(self) -> list[str]:
        return sorted(
            name
            for (kind, name), document in self._objects.items()
            if kind == "PersistentVolumeClaim" and not document["spec"].get("volumeName")
        )

    def _reserved_for(self, claim: str) -> Document | None:
        for (kind, _), document in sorted(self._objects.items()):
            reference = document.get("spec", {}).get("claimRef") if "Volume" in kind else None
            if (
                kind == "PersistentVolume"
                and reference
                and f"{reference['namespace']}/{reference['name']}" == claim
            ):
                return document
        return None

    def _bind_volume(self, claim: Document, volume: Document) -> None:
        meta = claim["metadata"]
        annotations = {**(meta.get("annotations") or {}), _BIND_COMPLETED: "yes"}
        self._write(
            {
                **claim,
                "metadata": {**meta, "annotations": annotations},
                "spec": {**claim["spec"], "volumeName": volume["metadata"]["name"]},
                "status": {**claim.get("status", {}), "phase": "Bound"},
            }
        )
        self._write({**volume, "status": {**volume.get("status", {}), "phase": "Bound"}})

    # ---------------------------------------------------------------- the scheduler's calls

    def describe(self, call: Call) -> tuple[str, Document]:
        """Return which object a call is about, and the call as the vectors write it."""
        match call:
            case Bind():
                return call.pod, {"call": "bind", "node": call.node}
            case PatchPodStatus():
                return call.pod, {"call": "patch_status", "patch": self._patch(call)}
            case PatchPodGroupStatus():
                patch = {"conditions": [_condition(call.condition)]}
                return call.pod_group, {"call": "patch_podgroup_status", "patch": patch}
            case DeletePod():
                return call.pod, {"call": "delete"}
            case UpdateVolume(_, volume):
                reference = volume.spec.claim_ref
                described: Document = {
                    "call": "update_pv",
                    "claim": f"{reference.namespace}/{reference.name}" if reference else "",
                    "annotations": dict(volume.metadata.annotations),
                }
                return volume.key, described
            case UpdateClaim(_, claim):
                annotations = dict(claim.metadata.annotations)
                return claim.key, {"call": "update_pvc", "annotations": annotations}

    def _patch(self, call: PatchPodStatus) -> Document:
        """Return the changes of a status patch."""
        patch: Document = {}
        if call.condition is not None:
            patch["conditions"] = [_condition(call.condition)]
        if call.nominated_node is not None:
            patch["nominatedNodeName"] = call.nominated_node or None
        return patch

    def unchanged(self, name: str, call: Document) -> frozenset[tuple[str, str]]:
        """Return the values of a patch that equal the object's: condition type and key."""
        return frozenset(
            (condition["type"], key)
            for condition in call.get("patch", {}).get("conditions", [])
            for key, value in condition.items()
            if (name, condition["type"], key, value) in self._conditions
        )

    def begin(self, call: Call) -> int:
        """Use up a rule of the script; returns how long the call takes, in ns."""
        name, described = self.describe(call)
        for rule in self._rules:
            if (
                rule["call"] == described["call"]
                and rule["name"] in ("*", name)
                and rule["times"] > 0
            ):
                rule["times"] -= 1
                self._errors[call.call] = rule.get("error", "")
                delay: float = rule.get("delay", 0)
                return round(delay * SECOND_NS)
        return 0

    def finish(self, call: Call) -> CallDone:
        """Apply a call, and reply to it."""
        kind, name = _object_of(call)
        short = name.rpartition("/")[2]
        known = built_in().of(_GROUPS.get(kind, ""), kind)
        assert known is not None, f"{kind} is not in the schema"
        resource = known.row.resource
        error = _error_of(self._errors.pop(call.call, ""), resource, short)
        if error is not None:
            return CallDone(call.call, error)
        document = self._objects.get((kind, name))
        if document is None:
            return CallDone(call.call, _not_found(resource, short))
        match call:
            case Bind():
                if "deletionTimestamp" in document["metadata"] or document["spec"].get("nodeName"):
                    return CallDone(call.call, _conflict(resource, short))
                self._bind(document, call.node)
            case PatchPodStatus():
                self._patch_status(document, call.condition, call.nominated_node)
            case PatchPodGroupStatus():
                self._patch_status(document, call.condition, None)
            case DeletePod():
                self.terminate(name)
            case UpdateVolume(_, obj) | UpdateClaim(_, obj):
                version = document["metadata"]["resourceVersion"]
                if obj.metadata.resource_version != version:
                    return CallDone(call.call, _conflict(resource, short))
                return CallDone(call.call, obj=self._write(encode(obj)))
        return CallDone(call.call)

    def _bind(self, pod: Document, node: str) -> None:
        status = dict(pod.get("status", {}))
        status.pop("nominatedNodeName", None)
        conditions = [c for c in status.get("conditions", []) if c["type"] != "PodScheduled"]
        conditions.append(
            {
                "type": "PodScheduled",
                "status": "True",
                "lastTransitionTime": timestamp_text(self._clock.now_ns),
            }
        )
        status["conditions"] = conditions
        status["phase"] = "Running"
        second = self._binding_count
        if self._starts_by_name:
            name: str = pod["metadata"]["name"]
            second = int(name.removeprefix(name.rstrip("0123456789")))
        status["startTime"] = timestamp_text(_FIRST_START_NS + second * SECOND_NS)
        self._binding_count += 1
        self._write({**pod, "spec": {**pod["spec"], "nodeName": node}, "status": status})

    def _patch_status(
        self, document: Document, set_condition: Condition | None, nominated_node: str | None
    ) -> None:
        status = dict(document.get("status", {}))
        if nominated_node is not None:
            status.pop("nominatedNodeName", None)
            if nominated_node:
                status["nominatedNodeName"] = nominated_node
        if set_condition is not None:
            written = _condition(set_condition)
            conditions = [dict(condition) for condition in status.get("conditions", [])]
            for index, condition in enumerate(conditions):
                if condition["type"] == written["type"]:
                    conditions[index] = {**condition, **written}
                    break
            else:
                conditions.append(written)
            status["conditions"] = conditions
        self._write({**document, "status": status})

    def _write(self, document: Document) -> Object:
        self._version += 1
        meta = {**document["metadata"], "resourceVersion": str(self._version)}
        document = {**document, "metadata": meta}
        kind, name = _key_of(document)
        self._objects[kind, name] = document
        for condition in document.get("status", {}).get("conditions", []):
            self._conditions.update(
                (name, condition["type"], key, value) for key, value in condition.items()
            )
        obj = decode(document)
        self._watch(ObjectPut(obj))
        return obj


def _key_of(document: Document) -> tuple[str, str]:
    meta = document["metadata"]
    name = meta["name"]
    namespace = meta.get("namespace")
    return document["kind"], f"{namespace}/{name}" if namespace else name


def _object_of(call: Call) -> tuple[str, str]:
    match call:
        case Bind() | PatchPodStatus() | DeletePod():
            return "Pod", call.pod
        case PatchPodGroupStatus():
            return "PodGroup", call.pod_group
        case UpdateVolume(_, volume):
            return "PersistentVolume", volume.key
        case UpdateClaim(_, claim):
            return "PersistentVolumeClaim", claim.key


def _condition(condition: Condition) -> Document:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": condition.last_transition_time,
    }


def _error_of(scripted: str, resource: str, name: str) -> CallError | None:
    """Return the scripted error of a call; None if it succeeds."""
    match scripted:
        case "":
            return None
        case "conflict":
            return _conflict(resource, name)
        case "not_found":
            return _not_found(resource, name)
        case "forbidden":
            return CallError(f'{resource} "{name}" is forbidden: denied', "Forbidden")
        case text:
            return CallError(text)


def _conflict(resource: str, name: str) -> CallError:
    text = f'Operation cannot be fulfilled on {resource} "{name}": the object has been modified'
    return CallError(text, "Conflict")


def _not_found(resource: str, name: str) -> CallError:
    return CallError(f'{resource} "{name}" not found', "NotFound")


def _provisioned(claim: Document, node: str) -> Document:
    """Make the volume of a claim, reachable from its node only."""
    meta, spec = claim["metadata"], claim["spec"]
    hostname = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pv-{meta['name']}"},
        "spec": {
            "storageClassName": spec.get("storageClassName", ""),
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": meta["namespace"],
                "name": meta["name"],
                "uid": meta.get("uid", ""),
            },
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [hostname]}]}},
        },
    }


# Builds a machine from a trace, with scripted plugins.

_CODES = {code.label: code for code in Code}
_OUTCOME: StateKey[Status] = StateKey("trace/outcome")


class _Scripted(Plugin):
    """A plugin whose results are in the trace."""

    outcomes: ClassVar[dict[str, dict[str, list[dict[str, Any]]]]] = {}
    plugin_calls: ClassVar[dict[str, list[Any]]] = {}

    def _play(self, point: str, cycle: Cycle, node: str, *, at_end: str) -> dict[str, Any]:
        """Note the call and take the next outcome for the pod."""
        pod = cycle.pod.key
        self.plugin_calls[pod].append([self.name, point, node])
        by_pod = self.outcomes.get(point, {})
        left = by_pod.get(pod)
        if left is None:
            left = by_pod.setdefault(pod, list(by_pod.get("*", [])))
        return left.pop(0) if left else {"status": at_end}

    def _answer(
        self, point: str, cycle: Cycle, node: str, *, at_end: str = "Success"
    ) -> Status | Pending:
        outcome = self._play(point, cycle, node, at_end=at_end)
        status = _status_of(outcome)
        delay = outcome.get("delay")
        if not delay:
            return status
        cycle.write(_OUTCOME, status)
        return Pending(delay_ns=round(delay * SECOND_NS))


class _Stub(_Scripted):
    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        """Play the script."""
        return _status_of(self._play("reserve", cycle, node_name, at_end="Success"))

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        """Note the call."""
        self.plugin_calls[cycle.pod.key].append([self.name, "unreserve", node_name])

    def permit(self, cycle: Cycle, node_name: str) -> tuple[Status, Duration]:
        """Play the script."""
        outcome = self._play("permit", cycle, node_name, at_end="Success")
        return _status_of(outcome), timedelta(seconds=outcome.get("timeout", 0))

    def pre_bind_pre_flight(self, cycle: Cycle, node_name: str) -> Status:
        """Play the script."""
        return _status_of(self._play("pre_bind_pre_flight", cycle, node_name, at_end="Success"))

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        """Play the script."""
        return self._answer("pre_bind", cycle, node_name)

    def continue_pre_bind(self, cycle: Cycle, node_name: str, progress: Progress) -> Status:
        """Return the scripted result after the delay."""
        return cycle.read(_OUTCOME)

    def post_bind(self, cycle: Cycle, node_name: str) -> None:
        """Note the call."""
        self.plugin_calls[cycle.pod.key].append([self.name, "post_bind", node_name])


class _StubBind(_Scripted):
    def bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        """Play the script."""
        return self._answer("bind", cycle, node_name, at_end="Skip")

    def continue_bind(self, cycle: Cycle, node_name: str, progress: Progress) -> Status:
        """Return the scripted result after the delay."""
        return cycle.read(_OUTCOME)


def machine_of(
    case: Case, script: dict[str, Any], plugin_calls: dict[str, list[Any]], start_ns: int
) -> Machine:
    """Build the machine of a trace.

    Parameters
    ----------
    plugin_calls : dict of str to list, written
        Per pod the calls of scripted plugins.
    """
    played = script.get("plugins", {})
    events = script.get("events", {})
    stubs = [
        type(
            name,
            (base,),
            {
                "name": name,
                "plugin_calls": plugin_calls,
                "outcomes": {
                    point: {pod: list(outcomes) for pod, outcomes in by_pod.items()}
                    for point, by_pod in played.get(name, {}).items()
                },
                **(_registering(events[name]) if name in events else {}),
            },
        )
        for name, base in (("StubA", _Stub), ("StubB", _Stub), ("StubBind", _StubBind))
    ]
    registry = Registry(stubs)
    configuration = effective_configuration(case.get("config"), registry, gates_of(case))
    # The vectors were made with one worker.
    configuration = msgspec.structs.replace(configuration, parallelism=script.get("workers", 1))
    return build_machine(
        configuration,
        registry,
        SchedulerOptions(
            tie_rule=TieRule.HEAP,
            start_ns=start_ns,
            batching=True,
            assumed_pod_expiry_ns=script.get("assumed_pod_expiry_ns", 0),
        ),
    )


def _registering(hints: list[EventHint]) -> dict[str, Any]:
    """Register these events for a plugin; by default it registers all events."""
    return {"events_to_register": lambda _self: tuple(hints)}


def gates_of(case: Case) -> Gates:
    """Return the feature gates that a trace sets, the others as they are by default."""
    changed = case.get("gates") or {}
    text = ",".join(f"{name}={str(is_on).lower()}" for name, is_on in sorted(changed.items()))
    return parse_gates(text) if text else DEFAULT_GATES


def _status_of(outcome: dict[str, Any]) -> Status:
    message = outcome.get("message")
    return Status(_CODES[outcome["status"]], (message,) if message else ())

"""The results of one scheduling attempt, in the annotations of kube-scheduler-simulator.

Thirteen annotations hold the result of each plugin at each extension point. Four more hold the
answers of extenders, if any was called. All values except the node's name are JSON as Go writes
it. Plugins appear under their names. Custom results of plugins (`add_custom_result`) have their
own keys.

Intended differences from the original:

- Filter results are those of the pod's own filtering. In the original, dry runs of preemption
  overwrite them.
- A plugin that was not called at Reserve, Permit or PreBind because it had nothing to do for the
  pod has the result `success`, as if it had been called.
- Nodes in an extender's answer are written as the extender sent them.

Upstream: kube-scheduler-simulator simulator/scheduler/plugin/wrappedplugin.go,
simulator/scheduler/plugin/resultstore/ store.go,
simulator/scheduler/extender/resultstore/resultstore.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import write_go_json
from podwright.scheduler.config import ExtenderCall, ExtenderReply, ExtenderVerb, format_duration
from podwright.scheduler.framework import (
    EXTENDER,
    MAX_EXTENDER_PRIORITY,
    MAX_NODE_SCORE,
    CalledExtender,
    Explanation,
    MalformedJSON,
    PluginCall,
    Point,
    PreFilterResult,
    Profile,
    Status,
    read_first_value,
    typed_field,
    wrap_int64,
)
from podwright.scheduler.machine import (
    Action,
    Bind,
    CallExtender,
    EmitEvent,
    ExtenderReplied,
    ObjectDeleted,
)
from podwright.simulation.recording import Entry

PREFIX: Final = "kube-scheduler-simulator.sigs.k8s.io/"
HISTORY: Final = f"{PREFIX}result-history"

_SUCCESS, _PASSED, _WAIT, _VICTIM = "success", "passed", "wait", "preemption victim"
_OK = 200
_EXTENDER_KEYS: dict[ExtenderVerb, str] = {
    "filter": f"{PREFIX}extender-filter-result",
    "prioritize": f"{PREFIX}extender-prioritize-result",
    "preempt": f"{PREFIX}extender-preempt-result",
    "bind": f"{PREFIX}extender-bind-result",
}


class ExtenderAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of an extender.

    Parameters
    ----------
    name : str
        Its `urlPrefix`.
    weight : int
    """

    name: str
    weight: int
    verb: ExtenderVerb
    reply: ExtenderReply


class PlacementOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to a pod after a node was chosen.

    Parameters
    ----------
    node : str
        The node on which the pod was reserved; "" if it was not reserved.
    calls : tuple of PluginCall
        The plugin calls for this pod, in order.
    is_binding : bool
        Whether a plugin or an extender was called to bind the pod.
    is_bound : bool
    """

    node: str = ""
    calls: tuple[PluginCall, ...] = ()
    is_binding: bool = False
    is_bound: bool = False


def attempt_results(
    explanation: Explanation,
    profile: Profile,
    weights: Mapping[str, int],
    *,
    placed: PlacementOutcome | None = None,
    extenders: Iterable[ExtenderAnswer] = (),
) -> dict[str, str]:
    """Return the annotations of one attempt, without the history.

    Parameters
    ----------
    explanation : Explanation
        The explanation of its cycle.
    profile : Profile
        The profile of the cycle.
    weights : mapping of str to int
        The weights of score plugins in the original; see `first_profile_weights`.
    placed : PlacementOutcome, optional
        What happened after a node was chosen; None if none was.
    extenders : iterable of ExtenderAnswer
        The answers of extenders, in order.

    Returns
    -------
    dict of str to str
        Empty if there was no node, so no plugin was called.
    """
    if not explanation.node_names:
        return {}
    placed = PlacementOutcome() if placed is None else placed
    raw, final = _scores(explanation, weights)
    permit, timeouts = _permit(profile, placed)
    results: dict[str, Any] = {
        "prefilter-result-status": {
            plugin: _status_text(answer) for plugin, answer in explanation.pre_filters.items()
        },
        "prefilter-result": {
            plugin: sorted(answer.node_names or ())
            for plugin, answer in explanation.pre_filters.items()
            if isinstance(answer, PreFilterResult)
        },
        "filter-result": _filters(explanation),
        "postfilter-result": _post_filters(explanation),
        "prescore-result": {
            p: _status_text(status) for p, status in explanation.pre_scores.items()
        },
        "score-result": raw,
        "finalscore-result": final,
        "reserve-result": _point_results(profile, "reserve", placed, has_begun=bool(placed.node)),
        "permit-result": permit,
        "permit-result-timeout": timeouts,
        "prebind-result": _point_results(profile, "pre_bind", placed, has_begun=placed.is_binding),
        "bind-result": _bind(placed),
    }
    found = {f"{PREFIX}{key}": write_go_json(value) for key, value in results.items()}
    found[f"{PREFIX}selected-node"] = placed.node
    found |= extender_results(extenders)
    custom = dict(explanation.custom_results)
    for call in placed.calls:
        custom |= call.custom_results
    custom.pop(HISTORY, None)
    # Custom results never override the others.
    return custom | found


def _status_text(answer: Status | PreFilterResult) -> str:
    if isinstance(answer, PreFilterResult) or answer.is_success:
        return _SUCCESS
    return answer.message


# -------------------------------------------------------------------- the cycle


def _filters(explanation: Explanation) -> dict[str, dict[str, str]]:
    """Return the filter results per evaluated node, up to the first rejection."""
    only = explanation.restricted_to
    called = [each for each in explanation.filters if each.applies]
    nominated = explanation.pod.status.nominated_node_name
    results: dict[str, dict[str, str]] = {}
    for node in explanation.examined:
        if only is not None and node not in only and node != nominated:
            continue
        rejection = explanation.rejected.get(node)
        by = EXTENDER if rejection is None else rejection.plugin
        statuses = results[node] = {}
        for each in called:
            # If an extender rejected the node, the filters have their own results.
            status = each.rejected.get(node) if by == EXTENDER else rejection
            if status is not None and by in (EXTENDER, each.plugin):
                statuses[each.plugin] = status.message
                break
            statuses[each.plugin] = _PASSED
    return {node: statuses for node, statuses in results.items() if statuses}


def _post_filters(explanation: Explanation) -> dict[str, dict[str, str]]:
    """Return every rejected node, with the plugin that nominated the pod to it, if any."""
    result = explanation.decision.post_filter
    if result is None:
        return {}
    nodes: dict[str, dict[str, str]] = {node: {} for node in explanation.rejected}
    if result.status.is_success and result.nominated_node in nodes:
        nodes[result.nominated_node][result.status.plugin] = _VICTIM
    return nodes


def _scores(
    explanation: Explanation, weights: Mapping[str, int]
) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    raw: dict[str, dict[str, str]] = {}
    final: dict[str, dict[str, str]] = {}
    for given in explanation.scores:
        weight = weights.get(given.plugin, 0)
        for node, score in given.raw.items():
            raw.setdefault(node, {})[given.plugin] = str(score)
        for node, score in given.normalized.items():
            # Go's int64 wraps around where Python's integers grow.
            final.setdefault(node, {})[given.plugin] = str(wrap_int64(score * weight))
    return raw, final


# -------------------------------------------------------------------- after the choice


def _last_calls(placed: PlacementOutcome, point: Point) -> dict[str, PluginCall]:
    return {call.plugin: call for call in placed.calls if call.point == point}


def _point_results(
    profile: Profile, point: Point, placed: PlacementOutcome, *, has_begun: bool
) -> dict[str, str]:
    """Return the results of a point's plugins, up to the first that failed or is pending."""
    calls = _last_calls(placed, point)
    if not has_begun and not calls:
        return {}
    statuses: dict[str, str] = {}
    for plugin in getattr(profile, point):
        answer = calls.get(plugin.name)
        if answer is None:
            statuses[plugin.name] = _SUCCESS
            continue
        if answer.status is None:
            break
        statuses[plugin.name] = _status_text(answer.status)
        if not answer.status.is_success:
            break
    return statuses


def _permit(profile: Profile, placed: PlacementOutcome) -> tuple[dict[str, str], dict[str, str]]:
    calls = _last_calls(placed, "permit")
    reserved = _last_calls(placed, "reserve").values()
    if not placed.node or any(one.status and not one.status.is_success for one in reserved):
        return {}, {}
    statuses: dict[str, str] = {}
    timeouts: dict[str, str] = {}
    for plugin in profile.permit:
        answer = calls.get(plugin.name)
        status = Status.OK if answer is None or answer.status is None else answer.status
        waits = status.code.label == "Wait"
        statuses[plugin.name] = _WAIT if waits else _status_text(status)
        timeouts[plugin.name] = format_duration(0 if answer is None else answer.timeout_ns)
        if not waits and not status.is_success:
            break
    return statuses, timeouts


def _bind(placed: PlacementOutcome) -> dict[str, str]:
    statuses: dict[str, str] = {}
    for name, answer in _last_calls(placed, "bind").items():
        if answer.status is not None:
            statuses[name] = _status_text(answer.status)
        elif placed.is_bound:
            statuses[name] = _SUCCESS
    return statuses


# -------------------------------------------------------------------- extenders


def extender_results(answers: Iterable[ExtenderAnswer]) -> dict[str, str]:
    """Return the four annotations of extenders; none if no extender answered.

    Answers that the original cannot read are errors there and are not written; nor are they here.
    """
    found: dict[ExtenderVerb, dict[str, Any]] = {verb: {} for verb in _EXTENDER_KEYS}
    for answer in answers:
        if answer.reply.error or answer.reply.status != _OK:
            continue
        try:
            result = _result(answer, read_first_value(answer.reply.body))
        except MalformedJSON:
            continue
        found[answer.verb][answer.name] = result
    if not any(found.values()):
        return {}
    return {
        # Only maps are sorted; the fields of a struct keep Go's order.
        key: write_go_json(_sorted(found[verb]), sort_keys=False)
        for verb, key in _EXTENDER_KEYS.items()
    }


def _result(answer: ExtenderAnswer, value: Any) -> Any:
    """Return an answer with the fields of its Go struct, in the order of the struct."""
    match answer.verb:
        case "filter":
            struct = "ExtenderFilterResult"
            return {
                "Nodes": _node_list(typed_field(value, struct, "Nodes", dict)),
                "NodeNames": _names(typed_field(value, struct, "NodeNames", list)),
                "FailedNodes": _map(typed_field(value, struct, "FailedNodes", dict)),
                "FailedAndUnresolvableNodes": _map(
                    typed_field(value, struct, "FailedAndUnresolvableNodes", dict)
                ),
                "Error": typed_field(value, struct, "Error", str) or "",
            }
        case "prioritize":
            return weighted_priorities(value, answer.weight)
        case "preempt":
            victims = typed_field(value, "ExtenderPreemptionResult", "NodeNameToMetaVictims", dict)
            nodes = None
            if victims is not None:
                nodes = _sorted({node: _victims(one) for node, one in victims.items()})
            return {"NodeNameToMetaVictims": nodes}
        case "bind":
            return {"Error": typed_field(value, "ExtenderBindingResult", "Error", str) or ""}


def weighted_priorities(value: Any, weight: int) -> list[dict[str, Any]] | None:
    """Return a `HostPriorityList` with weighted and scaled scores, as they are added up."""
    if value is None:
        return None
    if not isinstance(value, list):
        raise MalformedJSON("HostPriorityList: must be an array")
    scale = weight * (MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY)
    return [
        {
            "Host": typed_field(entry, "HostPriority", "Host", str) or "",
            "Score": wrap_int64((typed_field(entry, "HostPriority", "Score", int) or 0) * scale),
        }
        for entry in value
    ]


def _victims(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    pods = typed_field(value, "MetaVictims", "Pods", list)
    uids = [None if pod is None else typed_field(pod, "MetaPod", "UID", str) for pod in pods or ()]
    return {
        "Pods": None
        if pods is None
        else [None if p is None else {"UID": uid or ""} for p, uid in zip(pods, uids, strict=True)],
        "NumPDBViolations": typed_field(value, "MetaVictims", "NumPDBViolations", int) or 0,
    }


def _node_list(value: dict[str, Any] | None) -> dict[str, Any] | None:
    if value is None:
        return None
    head = {key: value[key] for key in ("kind", "apiVersion") if value.get(key)}
    return head | {"metadata": value.get("metadata") or {}, "items": value.get("items")}


def _names(value: list[Any] | None) -> list[str] | None:
    return None if value is None else [name or "" for name in value]


def _map(value: dict[str, Any] | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return _sorted({key: message or "" for key, message in value.items()})


def _sorted(value: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(value.items()))


# What happens to a pod after the choice of a node: the calls and answers of one attempt.

SCHEDULED: Final = "Scheduled"
FAILED: Final = "FailedScheduling"


class AttemptTrace:
    """Collects what concerns a pod from the events of its attempt, in order.

    Parameters
    ----------
    uid : str
        Of the pod.
    end : int
        The number of the event in which its cycle ended.
    node : str
        The node that the cycle chose; "" if there is none.
    extenders : sequence of CalledExtender
        Of its profile.

    Attributes
    ----------
    answers : list of ExtenderAnswer
        The answers of extenders about the pod, in order.
    is_decided : bool
        Whether the pod is bound, has failed, or is gone.
    """

    def __init__(
        self, uid: str, end: int, node: str, extenders: Sequence[CalledExtender] = ()
    ) -> None:
        self.answers: list[ExtenderAnswer] = []
        self.is_decided = False
        self._uid = uid
        self._end = end
        self._chosen = node
        self._extenders = {each.index: each.settings for each in extenders}
        self._calls: list[PluginCall] = []
        self._pending_extender_calls: dict[int, ExtenderCall] = {}
        self._node = ""
        self._is_binding = False
        self._event = ""

    def record_call(self, call: PluginCall) -> None:
        """Receive a call of a plugin, which may concern another pod."""
        if call.uid == self._uid:
            self._calls.append(call)

    def process(self, entry: Entry, actions: Sequence[Action]) -> None:
        """Receive an event, whose plugin calls were recorded, and its actions."""
        self._collect(entry, actions)
        if entry.index < self._end:
            return
        if entry.index == self._end:
            # Reserve is not called if the pod could not be assumed.
            has_begun = bool(self._chosen) and (bool(self._calls) or self._event != FAILED)
            self._node = self._chosen if has_begun else ""
        self.is_decided = bool(self._event) or not self._node or self._is_deletion_of_pod(entry)

    def _collect(self, entry: Entry, actions: Sequence[Action]) -> None:
        match entry.event:
            case ExtenderReplied(number, reply) if number in self._pending_extender_calls:
                call = self._pending_extender_calls.pop(number)
                settings = self._extenders[call.extender]
                self.answers.append(
                    ExtenderAnswer(
                        name=settings.url_prefix,
                        weight=settings.weight,
                        verb=call.verb,
                        reply=reply,
                    )
                )
            case _:
                pass
        for action in actions:
            match action:
                case EmitEvent(uid=uid, reason=reason) if uid == self._uid:
                    if reason in (SCHEDULED, FAILED):
                        self._event = reason
                case Bind(uid=uid) if uid == self._uid:
                    self._is_binding = True
                case CallExtender(number, request) if self._concerns_pod(entry, request):
                    self._pending_extender_calls[number] = request
                    self._is_binding |= request.verb == "bind"
                case _:
                    continue

    def _concerns_pod(self, entry: Entry, request: ExtenderCall) -> bool:
        if request.verb == "bind":
            return msgspec.json.decode(request.body, type=dict[str, str])["PodUID"] == self._uid
        # Cycles are serial, so other requests during this cycle are about this pod.
        return entry.index <= self._end

    def _is_deletion_of_pod(self, entry: Entry) -> bool:
        return isinstance(entry.event, ObjectDeleted) and entry.event.obj.uid == self._uid

    def placed(self) -> PlacementOutcome:
        """Return the outcome after the node was chosen."""
        return PlacementOutcome(
            node=self._node,
            calls=tuple(self._calls),
            is_binding=self._is_binding or any(one.point == "bind" for one in self._calls),
            is_bound=self._event == SCHEDULED,
        )

"""What one attempt to schedule a pod gave, as kube-scheduler-simulator annotates pods with it.

Thirteen annotations hold what each plugin said at each extension point, four more what extenders
said if any was asked. All values but the node's name are JSON as Go writes it. Plugins have their
own names. What plugins left to be said (`add_custom_result`) comes under its own keys.

What differs from the original on purpose:

- Filter results are those of the pod's own filtering. In the original, dry runs of preemption
  write over them.
- A plugin that had nothing to do for a pod and was therefore not called at Reserve, Permit or
  PreBind has said `success`, as it does where it is called.
- Nodes that an extender returned are written as it wrote them.

Upstream: simulator/scheduler/plugin/wrappedplugin.go, simulator/scheduler/plugin/resultstore/
store.go, simulator/scheduler/extender/resultstore/resultstore.go (kube-scheduler-simulator)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from podwright.config import ExtenderReply, ExtenderVerb, format_duration
from podwright.framework import (
    EXTENDER,
    MAX_EXTENDER_PRIORITY,
    MAX_NODE_SCORE,
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
    write_go_json,
)

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
    """What an extender answered.

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


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to a pod after a node was chosen, as far as it got.

    Parameters
    ----------
    node : str
        Where it was reserved; "" if it was not.
    heard : tuple of PluginCall
        What plugins said of this pod, in order.
    is_binding : bool
        Whether it came so far that somebody was asked to bind it.
    is_bound : bool
    """

    node: str = ""
    heard: tuple[PluginCall, ...] = ()
    is_binding: bool = False
    is_bound: bool = False


def attempt_results(
    explanation: Explanation,
    profile: Profile,
    weights: Mapping[str, int],
    *,
    placed: Placed | None = None,
    extenders: Iterable[ExtenderAnswer] = (),
) -> dict[str, str]:
    """Return the annotations of one attempt, without the history.

    Parameters
    ----------
    explanation : Explanation
        Of its cycle.
    profile : Profile
        That it ran with.
    weights : mapping of str to int
        Of score plugins, as the original has them; see `first_profile_weights`.
    placed : Placed, optional
        What happened then; None: nothing.
    extenders : iterable of ExtenderAnswer
        In order.

    Returns
    -------
    dict of str to str
        Empty if nobody was asked about the pod: there was no node.
    """
    if not explanation.node_names:
        return {}
    placed = Placed() if placed is None else placed
    raw, final = _scores(explanation, weights)
    permit, timeouts = _permit(profile, placed)
    results: dict[str, Any] = {
        "prefilter-result-status": {
            plugin: _worded(answer) for plugin, answer in explanation.pre_filters.items()
        },
        "prefilter-result": {
            plugin: sorted(answer.node_names or ())
            for plugin, answer in explanation.pre_filters.items()
            if isinstance(answer, PreFilterResult)
        },
        "filter-result": _filters(explanation),
        "postfilter-result": _post_filters(explanation),
        "prescore-result": {p: _worded(status) for p, status in explanation.pre_scores.items()},
        "score-result": raw,
        "finalscore-result": final,
        "reserve-result": _through(profile, "reserve", placed, has_begun=bool(placed.node)),
        "permit-result": permit,
        "permit-result-timeout": timeouts,
        "prebind-result": _through(profile, "pre_bind", placed, has_begun=placed.is_binding),
        "bind-result": _bind(placed),
    }
    found = {f"{PREFIX}{key}": write_go_json(value) for key, value in results.items()}
    found[f"{PREFIX}selected-node"] = placed.node
    found |= extender_results(extenders)
    custom = dict(explanation.custom_results)
    for heard in placed.heard:
        custom |= heard.custom_results
    custom.pop(HISTORY, None)
    # These never take the place of the others.
    return custom | found


def _worded(answer: Status | PreFilterResult) -> str:
    if isinstance(answer, PreFilterResult) or answer.is_success:
        return _SUCCESS
    return answer.message


# -------------------------------------------------------------------- the cycle


def _filters(explanation: Explanation) -> dict[str, dict[str, str]]:
    """Return, per node that was looked at, what was said up to the first rejection."""
    only = explanation.restricted_to
    asked = [told for told in explanation.filters if told.applies]
    nominated = explanation.pod.status.nominated_node_name
    results: dict[str, dict[str, str]] = {}
    for node in explanation.examined:
        if only is not None and node not in only and node != nominated:
            continue
        rejection = explanation.rejected.get(node)
        by = EXTENDER if rejection is None else rejection.plugin
        said = results[node] = {}
        for told in asked:
            # What an extender says of a node tells nothing about the filters.
            status = told.rejected.get(node) if by == EXTENDER else rejection
            if status is not None and by in (EXTENDER, told.plugin):
                said[told.plugin] = status.message
                break
            said[told.plugin] = _PASSED
    return {node: said for node, said in results.items() if said}


def _post_filters(explanation: Explanation) -> dict[str, dict[str, str]]:
    """Return every node with a verdict of its own, and who would make room on which."""
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
            final.setdefault(node, {})[given.plugin] = str(wrap_int64(score * weight))
    return raw, final


# -------------------------------------------------------------------- what came then


def _last_heard(placed: Placed, point: Point) -> dict[str, PluginCall]:
    return {heard.plugin: heard for heard in placed.heard if heard.point == point}


def _through(profile: Profile, point: Point, placed: Placed, *, has_begun: bool) -> dict[str, str]:
    """Return what the plugins of a point said, up to the first that objects or is not done."""
    heard = _last_heard(placed, point)
    if not has_begun and not heard:
        return {}
    said: dict[str, str] = {}
    for plugin in getattr(profile, point):
        answer = heard.get(plugin.name)
        if answer is None:
            said[plugin.name] = _SUCCESS
            continue
        if answer.status is None:
            break
        said[plugin.name] = _worded(answer.status)
        if not answer.status.is_success:
            break
    return said


def _permit(profile: Profile, placed: Placed) -> tuple[dict[str, str], dict[str, str]]:
    heard = _last_heard(placed, "permit")
    reserved = _last_heard(placed, "reserve").values()
    if not placed.node or any(one.status and not one.status.is_success for one in reserved):
        return {}, {}
    said: dict[str, str] = {}
    timeouts: dict[str, str] = {}
    for plugin in profile.permit:
        answer = heard.get(plugin.name)
        status = Status.OK if answer is None or answer.status is None else answer.status
        waits = status.code.label == "Wait"
        said[plugin.name] = _WAIT if waits else _worded(status)
        timeouts[plugin.name] = format_duration(0 if answer is None else answer.timeout_ns)
        if not waits and not status.is_success:
            break
    return said, timeouts


def _bind(placed: Placed) -> dict[str, str]:
    said: dict[str, str] = {}
    for name, answer in _last_heard(placed, "bind").items():
        if answer.status is not None:
            said[name] = _worded(answer.status)
        elif placed.is_bound:
            said[name] = _SUCCESS
    return said


# -------------------------------------------------------------------- extenders


def extender_results(answers: Iterable[ExtenderAnswer]) -> dict[str, str]:
    """Return the four annotations of extenders; none if no extender answered.

    Answers that the original cannot read are errors there, and are not written either.
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
        key: write_go_json(_sorted(found[verb]), sort_keys=False)
        for verb, key in _EXTENDER_KEYS.items()
    }


def _result(answer: ExtenderAnswer, value: Any) -> Any:
    """Return an answer with the fields that its Go struct has, in their order."""
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
            return _priorities(value, answer.weight)
        case "preempt":
            victims = typed_field(value, "ExtenderPreemptionResult", "NodeNameToMetaVictims", dict)
            nodes = None
            if victims is not None:
                nodes = _sorted({node: _victims(one) for node, one in victims.items()})
            return {"NodeNameToMetaVictims": nodes}
        case "bind":
            return {"Error": typed_field(value, "ExtenderBindingResult", "Error", str) or ""}


def _priorities(value: Any, weight: int) -> list[dict[str, Any]] | None:
    """Return a `HostPriorityList` with the scores as they are added up."""
    if value is None:
        return None
    if not isinstance(value, list):
        raise MalformedJSON("HostPriorityList: an array is expected")
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

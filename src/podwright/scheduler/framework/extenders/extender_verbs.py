"""The verbs of extenders: filter, prioritize and bind, with their requests and replies.

Each verb is a generator that yields its calls and is resumed with the replies. The fields of
requests and replies are those of extender/v1. A reply is read as Go's encoding/json reads it, so
that a reply which upstream accepts is accepted here. The verb preempt is in the room
`preemption`.

Upstream: pkg/scheduler/extender.go; staging/src/k8s.io/kube-scheduler/extender/v1/types.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from podwright.apimachinery.objects import InvalidObject, Node, Pod, decode_as, encode
from podwright.scheduler.columns import NodeColumns
from podwright.scheduler.framework.extenders.extender_calls import (
    EXTENDER,
    Answers,
    CalledExtender,
    ExtenderAnswers,
    ExtenderError,
    MalformedJSON,
    Steps,
    pod_argument,
    typed_field,
)
from podwright.scheduler.framework.rankings.scores import MAX_NODE_SCORE
from podwright.scheduler.framework.status import Status

MAX_EXTENDER_PRIORITY = 10
"""The greatest score that an extender should return."""

# -------------------------------------------------------------------- filter


class Survivors(msgspec.Struct, frozen=True):
    """The nodes that are left; extenders may name one twice, or one that does not exist.

    Parameters
    ----------
    names : tuple of str
        In the order of the last reply.
    nodes : tuple of Node, optional
        The Node objects that an extender gave for them. These replace the scheduler's: from
        then on the nodes count as empty. None: the scheduler's own.
    """

    names: tuple[str, ...]
    nodes: tuple[Node, ...] | None = None


def filter_steps(
    extenders: Sequence[CalledExtender],
    pod: Pod,
    found: Survivors,
    nodes: NodeColumns,
    statuses: dict[str, Status],
    answers: Answers,
) -> Steps[Survivors]:
    """Call the extenders' filters on the nodes that passed all filter plugins.

    Parameters
    ----------
    extenders : sequence of CalledExtender
        Those that are interested in the pod.
    found : Survivors
        The nodes, in the order in which they were found.
    nodes : NodeColumns
        The scheduler's nodes.
    statuses : dict of str to Status, written
        Why extenders reject nodes; a node that is dropped silently is not here.
    answers : Answers, written

    Raises
    ------
    ExtenderError
        If an extender fails that may not be ignored.

    Notes
    -----
    Upstream: pkg/scheduler/schedule_one.go, `findNodesThatPassExtenders`.
    """
    left = found
    for extender in extenders:
        if not left.names:
            break
        settings = extender.settings
        if not settings.filter_verb:
            continue
        results = answers.of(extender)
        results.candidates = left.names
        call = extender.call("filter", _arguments(extender, pod, left, nodes))
        reply = yield call
        try:
            kept, rejected = _read_filter(extender, extender.answer(call, reply), left, results)
        except ExtenderError as error:
            results.errors = [*results.errors, str(error)]
            if settings.ignorable:
                results.kept = left.names
                continue
            raise
        results.kept = kept.names
        results.rejected = results.rejected | rejected
        statuses.update(rejected)
        left = kept
    return left


def _arguments(
    extender: CalledExtender, pod: Pod, left: Survivors, nodes: NodeColumns
) -> dict[str, Any]:
    """Return the `ExtenderArgs`: node names if `nodeCacheCapable`, else Node objects."""
    if extender.settings.node_cache_capable:
        return {"Pod": pod_argument(pod), "Nodes": None, "NodeNames": left.names}
    objects = left.nodes or [nodes.objects[nodes.slot_of[name]] for name in left.names]
    items = [encode(node) for node in objects if node is not None]
    return {"Pod": pod_argument(pod), "Nodes": {"metadata": {}, "items": items}, "NodeNames": None}


def _read_filter(
    extender: CalledExtender, answer: Any, sent: Survivors, results: ExtenderAnswers
) -> tuple[Survivors, dict[str, Status]]:
    """Read an `ExtenderFilterResult`; `results` receives what upstream ignores in it."""
    try:
        error = typed_field(answer, "ExtenderFilterResult", "Error", str) or ""
        names = _names(answer)
        listed = typed_field(answer, "ExtenderFilterResult", "Nodes", dict)
        failed = _messages(answer, "FailedNodes")
        unresolvable = _messages(answer, "FailedAndUnresolvableNodes")
        returned = None if listed is None else _read_nodes(listed)
    except MalformedJSON as problem:
        raise extender.malformed("filter", problem) from problem
    if error:
        raise ExtenderError(error)
    rejected = {name: Status.unschedulable(text).by(EXTENDER) for name, text in failed.items()}
    rejected |= {
        name: Status.unresolvable(text).by(EXTENDER) for name, text in unresolvable.items()
    }
    if extender.settings.node_cache_capable and names is not None:
        kept = names
        objects = None if sent.nodes is None else dict(zip(sent.names, sent.nodes, strict=True))
        for name in kept:
            if name not in sent.names:
                url = extender.settings.url_prefix
                raise ExtenderError(
                    f'extender "{url}" claims a filtered node "{name}" '
                    "which is not found in the input node list"
                )
        return (
            Survivors(kept, None if objects is None else tuple(objects[name] for name in kept)),
            rejected,
        )
    if returned is not None:
        return Survivors(tuple(node.metadata.name for node in returned), returned), rejected
    # Neither form, or names from an extender that must return nodes: no node remains.
    if names is not None:
        results.errors = [*results.errors, _UNREAD_NAMES]
    return Survivors(()), rejected


_UNREAD_NAMES = "NodeNames in the reply have no effect without nodeCacheCapable: true"


def _names(answer: Any) -> tuple[str, ...] | None:
    names = typed_field(answer, "ExtenderFilterResult", "NodeNames", list)
    if names is None:
        return None
    for name in names:
        if name is not None and not isinstance(name, str):
            raise MalformedJSON("NodeNames: must be a list of strings")
    return tuple(name or "" for name in names)


def _messages(answer: Any, key: str) -> dict[str, str]:
    messages = typed_field(answer, "ExtenderFilterResult", key, dict) or {}
    for name, message in messages.items():
        if message is not None and not isinstance(message, str):
            raise MalformedJSON(f"{key}[{name}]: must be a string")
    return {name: message or "" for name, message in messages.items()}


def _read_nodes(listed: dict[str, Any]) -> tuple[Node, ...]:
    items = typed_field(listed, "NodeList", "items", list) or []
    try:
        nodes = [decode_as({} if item is None else item, Node) for item in items]
    except InvalidObject as error:
        raise MalformedJSON(f"Nodes: {error}") from error
    # The next extender gets them as this one wrote them.
    return tuple(
        msgspec.structs.replace(node, raw=item or {})
        for node, item in zip(nodes, items, strict=True)
    )


# -------------------------------------------------------------------- prioritize


def prioritize_steps(
    extenders: Sequence[CalledExtender],
    pod: Pod,
    left: Survivors,
    nodes: NodeColumns,
    answers: Answers,
) -> Steps[dict[str, int]]:
    """Call the extenders' prioritize; a failed call gives no scores.

    Returns
    -------
    dict of str to int
        Per node that an extender scored, even with 0, the value that is added to its total. An
        extender may score nodes that were not in the request.

    Notes
    -----
    Upstream calls all extenders in parallel; the sums do not depend on the order. Upstream:
    pkg/scheduler/schedule_one.go, `prioritizeNodes`.
    """
    sums: dict[str, int] = {}
    for extender in extenders:
        settings, results = extender.settings, answers.of(extender)
        if not settings.prioritize_verb:
            # Still a score: it decides ties against nodes that have none.
            scores = dict.fromkeys(left.names, 0)
        else:
            call = extender.call("prioritize", _arguments(extender, pod, left, nodes))
            reply = yield call
            try:
                scores = _read_priorities(extender, extender.answer(call, reply))
            except ExtenderError as error:
                results.errors = [*results.errors, str(error)]
                continue
        results.scores = scores
        for name, score in scores.items():
            sums[name] = wrap_int64(sums.get(name, 0) + score)
    return sums


def _read_priorities(extender: CalledExtender, answer: Any) -> dict[str, int]:
    """Read a `HostPriorityList`; a node that is named twice gets both scores."""
    if answer is not None and not isinstance(answer, list):
        raise extender.malformed("prioritize", "must be a list of Host and Score")
    scale = extender.settings.weight * (MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY)
    scores: dict[str, int] = {}
    for entry in answer or ():
        try:
            host = typed_field(entry, "HostPriority", "Host", str) or ""
            score = typed_field(entry, "HostPriority", "Score", int) or 0
        except MalformedJSON as problem:
            raise extender.malformed("prioritize", problem) from problem
        scores[host] = wrap_int64(scores.get(host, 0) + score * scale)
    return scores


def wrap_int64(number: int) -> int:
    """Return a sum or product after the overflow of Go's int64."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


# -------------------------------------------------------------------- bind


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    """What extenders did about binding.

    Parameters
    ----------
    by_extender : bool
        True: an extender binds the pod, and Bind plugins are not called.
    error : str
        Why it failed; "" if it did not.
    ignored : tuple of str
        What failed at extenders that may be ignored.
    """

    by_extender: bool
    error: str = ""
    ignored: tuple[str, ...] = ()


def is_bound_by(extenders: Iterable[CalledExtender], pod: Pod) -> bool:
    """Return whether an extender binds `pod`."""
    return any(e.settings.bind_verb and e.is_interested(pod) for e in extenders)


def bind_steps(extenders: Iterable[CalledExtender], pod: Pod, node_name: str) -> Steps[Binding]:
    """Call the extender that binds this pod, if there is one.

    Notes
    -----
    Upstream: pkg/scheduler/schedule_one.go, `extendersBinding`.
    """
    ignored: list[str] = []
    for extender in extenders:
        if not extender.settings.bind_verb or not extender.is_interested(pod):
            continue
        metadata = pod.metadata
        call = extender.call(
            "bind",
            {
                "PodName": metadata.name,
                "PodNamespace": metadata.namespace,
                "PodUID": metadata.uid,
                "Node": node_name,
            },
        )
        reply = yield call
        error = ""
        try:
            answer = extender.answer(call, reply)
            error = typed_field(answer, "ExtenderBindingResult", "Error", str) or ""
        except ExtenderError as failure:
            error = str(failure)
        except MalformedJSON as problem:
            error = str(extender.malformed("bind", problem))
        if error and extender.settings.ignorable:
            ignored.append(error)
            continue
        return Binding(by_extender=True, error=error, ignored=tuple(ignored))
    return Binding(by_extender=False, ignored=tuple(ignored))

"""Extenders: the calls to them, and how their replies are interpreted.

An extender is an HTTP service that filters, scores or binds for the scheduler. This module
opens no socket: a cycle that needs a reply *yields* an `ExtenderCall` and is resumed with an
`ExtenderReply`. The caller of the cycle makes the HTTP call, or replays a recorded one.

    steps = runner.steps(pod, cycle_number=1)
    decision = run_steps(steps, call_extender)

Extenders are called in their configured order, ignorable ones last. An extender with
`managedResources` is called only for pods that request one of these resources.

Upstream: pkg/scheduler/extender.go; staging/src/k8s.io/kube-scheduler/extender/v1/types.go
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from podwright.columns import NodeColumns
from podwright.config import (
    EffectiveConfiguration,
    Extender,
    ExtenderCall,
    ExtenderReply,
    ExtenderVerb,
)
from podwright.framework.go_json import MalformedJSON, read_first_value, typed_field
from podwright.framework.scores import MAX_NODE_SCORE
from podwright.framework.status import Status
from podwright.objects import InvalidObject, Node, Pod, PodwrightError, decode_as, encode

R = TypeVar("R")

EXTENDER: Final = "Extender"
"""The plugin name of rejections by extenders, and in `rejected_by` if they leave no node.

Upstream: framework.ExtenderName
"""

MAX_EXTENDER_PRIORITY = 10
"""The greatest score that an extender should return."""

_OK = 200


Steps: TypeAlias = Generator[ExtenderCall, ExtenderReply, R]
"""A generator that yields calls to extenders and returns its result."""

CallExtender: TypeAlias = Callable[[ExtenderCall], ExtenderReply]


def run_steps(steps: Steps[R], call_extender: CallExtender | None) -> R:
    """Run all steps; `call_extender` makes the calls.

    Raises
    ------
    MissingExtenderCaller
        If there is a call and `call_extender` is None.
    """
    try:
        call = next(steps)
        while True:
            if call_extender is None:
                raise MissingExtenderCaller(call)
            call = steps.send(call_extender(call))
    except StopIteration as end:
        result: R = end.value
        return result


class MissingExtenderCaller(PodwrightError):  # noqa: N818 - the name describes the mistake
    """A decision needs an extender, and the caller gave no `call_extender`."""

    def __init__(self, call: ExtenderCall) -> None:
        super().__init__(
            f"extenders[{call.extender}]: the {call.verb} call to {call.url} cannot be made:"
            " no call_extender was given; podwright.client.ExtenderClient is one that calls"
            " extenders over HTTP"
        )


class ExtenderError(Exception):
    """A call to an extender failed; always caught by the steps that make the call."""


class CalledExtender(msgspec.Struct, frozen=True, kw_only=True):
    """An extender of the configuration.

    Parameters
    ----------
    settings : Extender
    index : int
        Its place in the configuration.
    managed : frozenset of str
        The resources that it manages; empty: it is called for every pod.
    """

    settings: Extender
    index: int
    managed: frozenset[str]

    def is_interested(self, pod: Pod) -> bool:
        """Return whether the extender is called for `pod` (upstream: IsInterested).

        Notes
        -----
        Upstream: pkg/scheduler/extender.go, `IsInterested`.
        """
        if not self.managed:
            return True
        return any(
            not self.managed.isdisjoint(amounts)
            for container in (*pod.spec.containers, *pod.spec.init_containers)
            for amounts in (container.resources.requests, container.resources.limits)
        )

    def call(self, verb: ExtenderVerb, body: Mapping[str, Any]) -> ExtenderCall:
        """Return the call of a verb; the verb must be configured."""
        settings = self.settings
        return ExtenderCall(
            extender=self.index,
            verb=verb,
            url=f"{settings.url_prefix.rstrip('/')}/{self._path(verb)}",
            body=msgspec.json.encode(body),
            timeout_ns=settings.http_timeout_ns,
        )

    def answer(self, call: ExtenderCall, reply: ExtenderReply) -> Any:
        """Return the JSON value of a successful reply.

        Raises
        ------
        ExtenderError
            If there was no reply, its status is not 200, or it is not JSON.
        """
        if reply.error:
            raise ExtenderError(reply.error)
        if reply.status != _OK:
            path = self._path(call.verb)
            raise ExtenderError(
                f"failed {path} with extender at URL {call.url}, code {reply.status}"
            )
        try:
            return read_first_value(reply.body)
        except MalformedJSON as error:
            raise self.malformed(call.verb, error) from error

    def malformed(self, verb: ExtenderVerb, error: object) -> ExtenderError:
        """Return the error of a reply that cannot be decoded."""
        url = self.settings.url_prefix
        return ExtenderError(f'extender "{url}" gives a malformed answer to {verb}: {error}')

    def _path(self, verb: ExtenderVerb) -> str:
        settings = self.settings
        paths: dict[ExtenderVerb, str] = {
            "filter": settings.filter_verb,
            "prioritize": settings.prioritize_verb,
            "preempt": settings.preempt_verb,
            "bind": settings.bind_verb,
        }
        return paths[verb]


def extenders_of(configuration: EffectiveConfiguration) -> tuple[CalledExtender, ...]:
    """Return the extenders of a configuration, in call order."""
    return tuple(
        CalledExtender(
            settings=settings,
            index=index,
            managed=frozenset(resource.name for resource in settings.managed_resources),
        )
        for settings, index in zip(
            configuration.extenders, configuration.extender_indexes, strict=True
        )
    )


def interested_in(pod: Pod, extenders: Iterable[CalledExtender]) -> tuple[CalledExtender, ...]:
    """Return the extenders that are called for `pod`."""
    return tuple([extender for extender in extenders if extender.is_interested(pod)])


class ExtenderAnswers(msgspec.Struct, kw_only=True):
    """The results of one extender in one cycle, for the explanation.

    Parameters
    ----------
    index : int
        Its place in the configuration.
    url : str
    asked : tuple of str
        The nodes passed to its filter; None if it was not called.
    kept : tuple of str
        The nodes that it kept, as in the reply.
    rejected : dict of str to Status
        The nodes for which it gave a reason.
    scores : dict of str to int
        Per node, the value that it adds to the total.
    errors : list of str
        What failed, in order.
    """

    index: int
    url: str
    asked: tuple[str, ...] | None = None
    kept: tuple[str, ...] = ()
    rejected: dict[str, Status] = {}
    scores: dict[str, int] = {}
    errors: list[str] = []


class Answers:
    """The results of all extenders in one cycle."""

    def __init__(self) -> None:
        self._by_index: dict[int, ExtenderAnswers] = {}

    def of(self, extender: CalledExtender) -> ExtenderAnswers:
        """Return the entry of `extender`, to be filled."""
        found = self._by_index.get(extender.index)
        if found is None:
            found = ExtenderAnswers(index=extender.index, url=extender.settings.url_prefix)
            self._by_index[extender.index] = found
        return found

    def all(self) -> tuple[ExtenderAnswers, ...]:
        """Return the entries of extenders that were called, in the order of the configuration."""
        return tuple(self._by_index[index] for index in sorted(self._by_index))


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
        results.asked = left.names
        call = extender.call("filter", _arguments(extender, pod, left, nodes))
        reply = yield call
        try:
            kept, rejected = _read_filter(extender, extender.answer(call, reply), left)
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
        return {"Pod": encode(pod), "Nodes": None, "NodeNames": left.names}
    objects = left.nodes or [nodes.objects[nodes.slot_of[name]] for name in left.names]
    items = [encode(node) for node in objects if node is not None]
    return {"Pod": encode(pod), "Nodes": {"metadata": {}, "items": items}, "NodeNames": None}


def _read_filter(
    extender: CalledExtender, answer: Any, asked: Survivors
) -> tuple[Survivors, dict[str, Status]]:
    """Read an `ExtenderFilterResult`."""
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
        objects = None if asked.nodes is None else dict(zip(asked.names, asked.nodes, strict=True))
        for name in kept:
            if name not in asked.names:
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
    return Survivors(()), rejected


def _names(answer: Any) -> tuple[str, ...] | None:
    names = typed_field(answer, "ExtenderFilterResult", "NodeNames", list)
    if names is None:
        return None
    for name in names:
        if name is not None and not isinstance(name, str):
            raise MalformedJSON("NodeNames: a list of strings is expected")
    return tuple(name or "" for name in names)


def _messages(answer: Any, key: str) -> dict[str, str]:
    messages = typed_field(answer, "ExtenderFilterResult", key, dict) or {}
    for name, message in messages.items():
        if message is not None and not isinstance(message, str):
            raise MalformedJSON(f"{key}[{name}]: a string is expected")
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
        raise extender.malformed("prioritize", "a list of Host and Score is expected")
    scale = extender.settings.weight * (MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY)
    scores: dict[str, int] = {}
    for entry in answer or ():
        try:
            host = typed_field(entry, "HostPriority", "Host", str) or ""
            score = typed_field(entry, "HostPriority", "Score", int) or 0
        except MalformedJSON as problem:
            raise extender.malformed("prioritize", problem) from problem
        scores[host] = wrap_int64(scores.get(host, 0) + wrap_int64(score * scale))
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

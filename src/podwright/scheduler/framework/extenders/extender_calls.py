"""Extenders: which ones are called for a pod, how a call is made, and what is recorded of it.

An extender is an HTTP service that filters, scores or binds for the scheduler. This module
opens no socket: a cycle that needs a reply *yields* an `ExtenderCall` and is resumed with an
`ExtenderReply`. The caller of the cycle makes the HTTP call, or replays a recorded one.

    steps = runner.steps(pod, cycle_number=1)
    decision = run_steps(steps, call_extender)

Extenders are called in their configured order, ignorable ones last. An extender with
`managedResources` is called only for pods that request one of these resources. The requests and
replies of the verbs are in `extender_verbs`.

Upstream: pkg/scheduler/extender.go; staging/src/k8s.io/kube-scheduler/extender/v1/types.go
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from podwright.apimachinery.objects import Document, Pod, PodwrightError, encode
from podwright.scheduler.config import (
    EffectiveConfiguration,
    Extender,
    ExtenderCall,
    ExtenderReply,
    ExtenderVerb,
)
from podwright.scheduler.framework.status import Status

R = TypeVar("R")

EXTENDER: Final = "Extender"
"""The plugin name of rejections by extenders, and in `rejected_by` if they leave no node.

Upstream: framework.ExtenderName
"""

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
            " no call_extender was given; podwright.online.client.ExtenderClient is one that calls"
            " extenders over HTTP"
        )


def pod_argument(pod: Pod) -> Document:
    """Return a pod as extenders receive it: without `managedFields`.

    Notes
    -----
    Upstream: pkg/scheduler/scheduler.go, `newPodInformer`, which trims them. Nodes keep theirs.
    """
    document = encode(pod)
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return document
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**document, "metadata": kept}


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
        # Keys are sorted, so that the body does not depend on the order in a client's document: a
        # replayed log has equal documents, whose keys may be in another order.
        return self.forwarded(verb, msgspec.json.encode(body, order="deterministic"))

    def forwarded(self, verb: ExtenderVerb, body: bytes) -> ExtenderCall:
        """Return the call of a verb with a body that is JSON already."""
        settings = self.settings
        return ExtenderCall(
            extender=self.index,
            verb=verb,
            url=f"{settings.url_prefix.rstrip('/')}/{self._path(verb)}",
            body=body,
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
            index=configuration.extender_indexes[place],
            managed=frozenset(resource.name for resource in settings.managed_resources),
        )
        for place, settings in enumerate(configuration.extenders)
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
    candidates : tuple of str
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
    candidates: tuple[str, ...] | None = None
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


# JSON read with the rules of Go's encoding/json.
#
# Only the first value is read; the rest of the text is ignored. Keys are matched case-
# insensitively, null is equivalent to a missing field, and unknown keys are ignored; a value of
# another type is an error.

T = TypeVar("T")

_WHITESPACE: Final = " \t\r\n"
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_NAMES = {dict: "an object", list: "an array", str: "a string", int: "a number", bool: "a bool"}


class MalformedJSON(ValueError):  # noqa: N818 - the name describes the input
    """The text is not JSON, or a value is of the wrong type."""


def _refuse(constant: str) -> Any:
    raise MalformedJSON(f"{constant} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


def read_first_value(body: bytes) -> Any:
    """Return the first JSON value.

    Raises
    ------
    MalformedJSON
        If there is none.
    """
    # Go also replaces bytes that are not UTF-8.
    text = body.decode("utf-8", errors="replace").lstrip(_WHITESPACE)
    if not text:
        raise MalformedJSON("EOF")
    try:
        value, _ = _DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        raise MalformedJSON(f"{error.msg} at character {error.pos}") from error
    except (RecursionError, ValueError) as error:
        raise MalformedJSON(f"not readable: {error}") from error
    return value


def typed_field(answer: Any, struct: str, key: str, kind: type[T]) -> T | None:
    """Return one field of an object; None if it is absent or null.

    Parameters
    ----------
    answer : object
        A JSON value; null is an object without fields.
    struct : str
        The name of the Go struct, for errors.

    Raises
    ------
    MalformedJSON
        If `answer` is not an object, or the field is not of the type `kind`.
    """
    if answer is None:
        return None
    if not isinstance(answer, dict):
        raise MalformedJSON(f"{struct}: must be an object, not {_describe(answer)}")
    # The last one counts, as Go's encoding/json sets a field for each name that differs in case.
    lowered, length = key.lower(), len(key)
    found = [answer[name] for name in answer if len(name) == length and name.lower() == lowered]
    value = found[-1] if found else None
    if value is None:
        return None
    # No field is a boolean, which Python counts among the integers.
    if not isinstance(value, kind) or isinstance(value, bool):
        expected = _NAMES.get(kind, kind.__name__)
        raise MalformedJSON(f"{struct}.{key}: must be {expected}, not {_describe(value)}")
    if isinstance(value, int) and not _LEAST <= value <= _MOST:
        raise MalformedJSON(f"{struct}.{key}: {value} is out of range")
    return value


def _describe(value: Any) -> str:
    if isinstance(value, float):
        return f"the number {value}"
    return _NAMES.get(type(value), "null")

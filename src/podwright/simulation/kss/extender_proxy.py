"""The proxy through which another scheduler calls its extenders, so that results are recorded.

The configuration of that scheduler names the proxy in place of each extender. The proxy forwards
each call to the extender, records the answer, and returns it.

Upstream: kube-scheduler-simulator simulator/scheduler/extender/{service,extender}.go,
simulator/scheduler/simulator_config.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

import msgspec

from podwright.apimachinery.objects import NamespacedName, PodwrightError
from podwright.scheduler.config import Extender, ExtenderCall, ExtenderReply, ExtenderVerb
from podwright.scheduler.framework import CalledExtender, MalformedJSON, read_first_value
from podwright.simulation.kss.results import ExtenderAnswer, extender_results, weighted_priorities

VERBS: Final[Mapping[str, ExtenderVerb]] = {verb: verb for verb in get_args(ExtenderVerb)}
"""The verb of each route `/extender/<route>/<index>`."""

PODS_MAX: Final = 10_000
"""The answers about so many pods are kept; the oldest are discarded first."""

DEFAULT_TIMEOUT_NS: Final = 5_000_000_000
"""Upstream: pkg/scheduler/extender.go, DefaultExtenderTimeout"""

_OK: Final = 200


class UnknownExtender(PodwrightError):  # noqa: N818 - named for what it is
    """A call for an extender or a verb that the configuration does not have."""


class ExtenderFailed(PodwrightError):  # noqa: N818 - named for what happened
    """An extender did not answer a forwarded call."""


class ExtenderProxy:
    """Forwards calls to extenders, and keeps their answers.

    Parameters
    ----------
    extenders : sequence of Extender
        Of the configuration.
    """

    def __init__(self, extenders: Sequence[Extender]) -> None:
        self._extenders = [
            CalledExtender(settings=_with_timeout(each), index=index, managed=frozenset())
            for index, each in enumerate(extenders)
        ]
        self._answers: dict[NamespacedName, list[ExtenderAnswer]] = {}

    def call(self, index: int, verb: ExtenderVerb, body: bytes) -> ExtenderCall:
        """Return the call that is forwarded.

        Raises
        ------
        UnknownExtender
        """
        extender = self._extender(index)
        if not getattr(extender.settings, f"{verb}_verb"):
            raise UnknownExtender(f"extenders[{index}] has no {verb}Verb")
        return extender.forwarded(verb, body)

    def answered(self, call: ExtenderCall, reply: ExtenderReply) -> bytes:
        """Keep the answer to a forwarded call, and return the body for the caller.

        The scores of `prioritize` are weighted and scaled, as the original returns them.

        Raises
        ------
        ExtenderFailed
        """
        if reply.error or reply.status != _OK:
            raise ExtenderFailed(reply.error or f"{call.url}: status {reply.status}")
        settings = self._extender(call.extender).settings
        try:
            value = read_first_value(reply.body)
            body = reply.body
            if call.verb == "prioritize":
                body = msgspec.json.encode(weighted_priorities(value, settings.weight))
            pod = _pod_of(read_first_value(call.body))
        except MalformedJSON as error:
            raise ExtenderFailed(f"{call.url}: {error}") from error
        answers = self._answers.setdefault(pod, [])
        answers.append(
            ExtenderAnswer(
                name=settings.url_prefix, weight=settings.weight, verb=call.verb, reply=reply
            )
        )
        if len(self._answers) > PODS_MAX:
            del self._answers[next(iter(self._answers))]
        return body

    def annotations(self, pod: NamespacedName) -> dict[str, str]:
        """Return the annotations with the answers about a pod."""
        return extender_results(self._answers.get(pod, ()))

    def _extender(self, index: int) -> CalledExtender:
        if not 0 <= index < len(self._extenders):
            raise UnknownExtender(
                f"there is no extenders[{index}]: the configuration has {len(self._extenders)}"
            )
        return self._extenders[index]


def _with_timeout(extender: Extender) -> Extender:
    timeout_ns = extender.http_timeout_ns or DEFAULT_TIMEOUT_NS
    return msgspec.structs.replace(extender, http_timeout_ns=timeout_ns)


def _pod_of(arguments: Any) -> NamespacedName:
    """Return the pod that a request of a scheduler is about."""
    if not isinstance(arguments, dict):
        raise MalformedJSON("the arguments are not an object")
    if "PodName" in arguments:
        return f"{arguments.get('PodNamespace')}/{arguments['PodName']}"
    metadata = (arguments.get("Pod") or {}).get("metadata") or {}
    return f"{metadata.get('namespace')}/{metadata.get('name')}"

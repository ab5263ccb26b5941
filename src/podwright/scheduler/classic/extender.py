"""Extenders: external processes that filter, score, preempt and bind.

Callables that the caller provides return the replies of an extender, so this module opens no
socket. A driver that cannot wait raises its own exception from the callable, and runs the
same cycle again when the reply has arrived: a cycle is a function of its inputs.

Upstream: pkg/scheduler/core/extender.go, pkg/scheduler/api/types.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from podwright.apimachinery.objects import Pod, PodwrightError, encode
from podwright.scheduler.classic.cluster import ClassicCluster
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.victims import Victims
from podwright.scheduler.config import (
    Extender as ExtenderOfConfiguration,
    ExtenderCall,
    ExtenderManagedResource,
    ExtenderReply,
    ExtenderTLSConfig,
    ExtenderVerb,
)
from podwright.scheduler.framework import (
    Answers,
    CalledExtender,
    ExtenderAnswers,
    MalformedJSON,
    Status,
    read_first_value,
    typed_field,
)


class ExtenderError(PodwrightError):
    """The call of an extender failed, or the extender returned an error."""


class ManagedResource(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An extended resource that the extender manages.

    Parameters
    ----------
    name : str
        The resource.
    ignored_by_scheduler : bool
        Whether PodFitsResources ignores it.
    """

    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One extender as a policy describes it; an empty verb is not called."""

    url_prefix: str = msgspec.field(default="", name="urlPrefix")
    filter_verb: str = msgspec.field(default="", name="filterVerb")
    preempt_verb: str = msgspec.field(default="", name="preemptVerb")
    prioritize_verb: str = msgspec.field(default="", name="prioritizeVerb")
    bind_verb: str = msgspec.field(default="", name="bindVerb")
    weight: int = 0
    enable_https: bool = msgspec.field(default=False, name="enableHttps")
    tls_config: ExtenderTLSConfig | None = msgspec.field(default=None, name="tlsConfig")
    http_timeout_ns: int = msgspec.field(default=0, name="httpTimeout")
    node_cache_capable: bool = msgspec.field(default=False, name="nodeCacheCapable")
    managed_resources: tuple[ManagedResource, ...] = msgspec.field(
        default=(), name="managedResources"
    )
    ignorable: bool = False

    def is_interested(self, pod: Pod) -> bool:
        """Whether the pod requests a managed resource, or the extender manages all pods."""
        if not self.managed_resources:
            return True
        managed = {resource.name for resource in self.managed_resources}
        return any(
            name in managed
            for container in (*pod.spec.containers, *pod.spec.init_containers)
            for resources in (container.resources.requests, container.resources.limits)
            for name in resources
        )


class ExtenderAnswer(msgspec.Struct, frozen=True):
    """The result of an extender's filter.

    Parameters
    ----------
    node_names : tuple of str
        The nodes that pass; all others are rejected, with or without a reason.
    failed : mapping of str to str
        Reasons by node.
    error : str
        The error of the extender; "" if there is none.
    """

    node_names: tuple[str, ...] = ()
    failed: Mapping[str, str] = {}
    error: str = ""


class Extender:
    """An extender with its callables.

    Parameters
    ----------
    settings : ExtenderSettings
        From the policy.
    filter : callable or None
        `(pod, node names) -> ExtenderAnswer`.
    prioritize : callable or None
        `(pod, node names) -> node name to score`.
    preempt : callable or None
        `(pod, node name to Victims) -> node name to Victims`: the nodes that remain.

    Notes
    -----
    Each callable may raise `ExtenderError`.
    """

    def __init__(
        self,
        settings: ExtenderSettings,
        *,
        filter: Callable[[Pod, Sequence[str]], ExtenderAnswer] | None = None,  # noqa: A002 - the verb
        prioritize: Callable[[Pod, Sequence[str]], Mapping[str, int]] | None = None,
        preempt: Callable[[Pod, Mapping[str, Victims]], Mapping[str, Victims]] | None = None,
    ) -> None:
        self.settings = settings
        self._filter = filter
        self._prioritize = prioritize
        self._preempt = preempt

    @property
    def supports_preemption(self) -> bool:
        """Whether the extender has a preempt verb."""
        return self._preempt is not None and self.settings.preempt_verb != ""

    def filter(self, pod: Pod, node_names: Sequence[str]) -> ExtenderAnswer:
        """Return the nodes that pass; all nodes if the extender does not filter.

        Raises
        ------
        ExtenderError
            The call failed, or the extender returned an error.
        """
        if not self.settings.filter_verb or self._filter is None:
            return ExtenderAnswer(tuple(node_names))
        answer = self._filter(pod, node_names)
        if answer.error:
            raise ExtenderError(answer.error)
        return answer

    def scores(self, pod: Pod, node_names: Sequence[str]) -> Mapping[str, int]:
        """Return the weighted scores of the nodes; empty after an error."""
        if not self.settings.prioritize_verb or self._prioritize is None:
            return {}
        try:
            scores = self._prioritize(pod, node_names)
        except ExtenderError:
            return {}  # upstream: "prioritization errors from extender can be ignored"
        return {name: score * self.settings.weight for name, score in scores.items()}

    def preempt(self, pod: Pod, victims: Mapping[str, Victims]) -> Mapping[str, Victims]:
        """Return the nodes that the extender accepts, with the victims that it accepts.

        Raises
        ------
        ExtenderError
            The call failed, or the extender returned an error.
        """
        assert self._preempt is not None, self.settings.url_prefix
        return self._preempt(pod, victims)


def request_body(settings: ExtenderSettings, pod: Pod, nodes: Sequence[NodeInfo]) -> dict[str, Any]:
    """Return the body of a filter or prioritize request.

    Notes
    -----
    The keys of v1.16 are capitalized. An extender with its own node cache receives names only.
    """
    body: dict[str, Any] = {"Pod": encode(pod), "Nodes": None, "NodeNames": None}
    if settings.node_cache_capable:
        body["NodeNames"] = [info.name for info in nodes]
    else:
        items = [encode(info.node) for info in nodes if info.node is not None]
        body["Nodes"] = {"metadata": {}, "items": items}
    return body


# The extenders of a policy, as calls that a driver makes.
#
# A cycle of the v1.16 rules is plain code that calls its extenders and uses their replies at once,
# but a driver may have to wait for a reply. So a cycle runs with the replies that are known. If it
# needs another one it ends in `ReplyNeeded`, the driver makes the call, and the cycle runs again
# from its start. It is a function of its inputs, so it reaches the same point again.
#
# Keys on the wire are those of 1.16, which are capitalized.

_TIMEOUT_NS = 5_000_000_000
_OK = 200


class ReplyNeeded(Exception):  # noqa: N818 - named for what it is
    """The cycle needs the reply to a call, and must be run again with it."""

    def __init__(self, call: ExtenderCall) -> None:
        super().__init__(f"{call.verb} call to {call.url}")
        self.call = call


def called_extender(index: int, settings: ExtenderSettings) -> CalledExtender:
    """Return an extender of a policy as an extender of a configuration.

    Parameters
    ----------
    index : int
        Its index in the policy.
    """
    return CalledExtender(
        settings=ExtenderOfConfiguration(
            url_prefix=settings.url_prefix,
            filter_verb=settings.filter_verb,
            preempt_verb=settings.preempt_verb,
            prioritize_verb=settings.prioritize_verb,
            bind_verb=settings.bind_verb,
            weight=settings.weight,
            enable_https=settings.enable_https,
            tls_config=settings.tls_config,
            http_timeout_ns=settings.http_timeout_ns or _TIMEOUT_NS,
            node_cache_capable=settings.node_cache_capable,
            managed_resources=tuple(
                ExtenderManagedResource(
                    name=resource.name, ignored_by_scheduler=resource.ignored_by_scheduler
                )
                for resource in settings.managed_resources
            ),
            ignorable=settings.ignorable,
        ),
        index=index,
        managed=frozenset(resource.name for resource in settings.managed_resources),
    )


class PolicyExtenders:
    """The extenders of a policy, and the replies that are known in this cycle.

    Parameters
    ----------
    numbered : sequence of (int, ExtenderSettings)
        In the order of calls, each with its index in the policy.
    cluster : ClassicCluster
        The cluster with the nodes and the victims.

    Attributes
    ----------
    called : tuple of CalledExtender
        The same extenders for the driver that makes the calls.
    extenders : tuple of Extender
        The same for the rules.
    """

    def __init__(
        self, numbered: Sequence[tuple[int, ExtenderSettings]], cluster: ClassicCluster
    ) -> None:
        self._cluster = cluster
        self._replies: Sequence[ExtenderReply] = ()
        self._asked_count = 0
        self._answers = Answers()
        self.called = tuple(called_extender(index, settings) for index, settings in numbered)
        self.extenders = tuple(
            self._extender(settings, called)
            for (_, settings), called in zip(numbered, self.called, strict=True)
        )

    def begin(self, replies: Sequence[ExtenderReply]) -> None:
        """Start the cycle again, with the replies that have arrived, in order."""
        self._replies = replies
        self._asked_count = 0
        self._answers = Answers()

    def answers(self) -> tuple[ExtenderAnswers, ...]:
        """Return the replies of the extenders in this cycle, for its explanation."""
        return self._answers.all()

    def _extender(self, settings: ExtenderSettings, called: CalledExtender) -> Extender:
        def ask_filter(pod: Pod, node_names: Sequence[str]) -> ExtenderAnswer:
            answers = self._answers.of(called)
            answers.candidates = tuple(node_names)
            answer = self._ask(called, "filter", self._body(settings, pod, node_names))
            read = _filtered(settings, answer)
            answers.kept = read.node_names
            answers.rejected = {
                name: Status.unschedulable(reason).by("Extender")
                for name, reason in read.failed.items()
            }
            if read.error:
                answers.errors.append(read.error)
            return read

        def ask_scores(pod: Pod, node_names: Sequence[str]) -> Mapping[str, int]:
            answer = self._ask(called, "prioritize", self._body(settings, pod, node_names))
            scores = _scores(answer)
            self._answers.of(called).scores = {
                name: score * settings.weight for name, score in scores.items()
            }
            return scores

        def ask_preempt(pod: Pod, victims: Mapping[str, Victims]) -> Mapping[str, Victims]:
            answer = self._ask(called, "preempt", _victims_body(settings, pod, victims))
            return self._accepted(answer)

        return Extender(settings, filter=ask_filter, prioritize=ask_scores, preempt=ask_preempt)

    def _body(
        self, settings: ExtenderSettings, pod: Pod, node_names: Sequence[str]
    ) -> dict[str, Any]:
        return request_body(settings, pod, [self._cluster.node_infos[name] for name in node_names])

    def _ask(self, called: CalledExtender, verb: ExtenderVerb, body: Mapping[str, Any]) -> Any:
        """Return the JSON value of a reply; raise `ReplyNeeded` if it is unknown."""
        call = called.call(verb, body)
        if self._asked_count == len(self._replies):
            raise ReplyNeeded(call)
        reply = self._replies[self._asked_count]
        self._asked_count += 1
        try:
            return _value(call, reply)
        except ExtenderError as error:
            self._answers.of(called).errors.append(str(error))
            raise

    def _accepted(self, answer: Any) -> dict[str, Victims]:
        left = _field(answer, "ExtenderPreemptionResult", "NodeNameToMetaVictims", dict) or {}
        accepted = {}
        for name, entry in left.items():
            info = self._cluster.node_infos.get(name)
            if info is None:
                raise ExtenderError(f"the extender accepts victims on an unknown node: {name}")
            by_uid = {pod.metadata.uid: pod for pod in info.pods.values()}
            uids = [
                _field(pod, "MetaPod", "UID", str) or ""
                for pod in _field(entry, "MetaVictims", "Pods", list) or ()
            ]
            missing = [uid for uid in uids if uid not in by_uid]
            if missing:
                raise ExtenderError(
                    f"the extender claims to preempt a pod that is not on node {name}: {missing[0]}"
                )
            # Upstream forgets the violations of budgets here, so that the choice ignores them.
            accepted[name] = Victims(tuple(by_uid[uid] for uid in uids), 0)
        return accepted


def _value(call: ExtenderCall, reply: ExtenderReply) -> Any:
    if reply.error:
        raise ExtenderError(reply.error)
    if reply.status != _OK:
        verb = call.url.rpartition("/")[2]
        raise ExtenderError(f"Failed {verb} with extender at URL {call.url}, code {reply.status}")
    try:
        return read_first_value(reply.body)
    except MalformedJSON as error:
        raise ExtenderError(str(error)) from error


def _field(answer: Any, struct: str, key: str, kind: type[Any]) -> Any:
    try:
        return typed_field(answer, struct, key, kind)
    except MalformedJSON as error:
        raise ExtenderError(str(error)) from error


def _filtered(settings: ExtenderSettings, answer: Any) -> ExtenderAnswer:
    struct = "ExtenderFilterResult"
    error = _field(answer, struct, "Error", str) or ""
    failed = _field(answer, struct, "FailedNodes", dict) or {}
    names = _field(answer, struct, "NodeNames", list)
    if not settings.node_cache_capable or names is None:
        nodes = _field(answer, struct, "Nodes", dict)
        items = _field(nodes, "NodeList", "items", list) or ()
        names = [(item.get("metadata") or {}).get("name", "") for item in items]
    return ExtenderAnswer(tuple(names), failed, error)


def _scores(answer: Any) -> dict[str, int]:
    entries = answer or []
    if not isinstance(entries, list):
        raise ExtenderError("HostPriorityList: must be a list")
    scores: dict[str, int] = {}
    for entry in entries:
        host = _field(entry, "HostPriority", "Host", str) or ""
        scores[host] = scores.get(host, 0) + (_field(entry, "HostPriority", "Score", int) or 0)
    return scores


def _victims_body(
    settings: ExtenderSettings, pod: Pod, victims: Mapping[str, Victims]
) -> dict[str, Any]:
    knows_pods = settings.node_cache_capable
    entries = {
        name: {
            "Pods": [
                {"UID": victim.metadata.uid} if knows_pods else encode(victim)
                for victim in found.pods
            ],
            "NumPDBViolations": 0 if knows_pods else found.violations_count,
        }
        for name, found in victims.items()
    }
    return {
        "Pod": encode(pod),
        "NodeNameToVictims": None if knows_pods else entries,
        "NodeNameToMetaVictims": entries if knows_pods else None,
    }

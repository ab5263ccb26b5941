"""Extenders: external processes that filter, score, preempt and bind.

Callables that the caller provides return the replies of an extender, so this module opens no
socket. A driver that cannot wait raises its own exception from the callable, and runs the
same cycle again when the reply has arrived: a cycle is a function of its inputs.

Upstream: pkg/scheduler/core/extender.go, pkg/scheduler/api/types.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from podwright.apimachinery.objects import Pod, PodwrightError, encode
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.victims import Victims
from podwright.scheduler.config import ExtenderTLSConfig


class ExtenderError(PodwrightError):
    """The call of an extender failed, or the extender returned an error."""


class ManagedResource(msgspec.Struct, frozen=True, rename="camel"):
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
        return bool(self.settings.preempt_verb) and self._preempt is not None

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

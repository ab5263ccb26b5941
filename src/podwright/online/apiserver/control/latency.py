"""The latency of the Kubernetes API over HTTP: show the rules, or replace them."""

from __future__ import annotations

import msgspec

from podwright.apimachinery.objects import format_duration
from podwright.online.apiserver.control.endpoints import Endpoint, declared, endpoint
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.wire.latency import ANY, ApiLatency, LatencyRule, read_latency_rule


class LatencyRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules, in the form of the option `--api-latency`.

    Attributes
    ----------
    rules : list of str
        The last one that matches a request applies.
    """

    rules: list[str]


class _Latency:
    """The endpoints."""

    def __init__(self, latency: ApiLatency) -> None:
        self._latency = latency

    @endpoint("GET", "/latency")
    async def show(self) -> LatencyRules:
        """Show the delays of requests of the Kubernetes API."""
        return LatencyRules([_text(rule) for rule in self._latency.rules])

    @endpoint("PUT", "/latency")
    async def replace(self, body: LatencyRules) -> LatencyRules:
        """Replace the delays of requests of the Kubernetes API."""
        rules: list[LatencyRule] = []
        for index, text in enumerate(body.rules):
            try:
                rules.append(read_latency_rule(text))
            except ValueError as error:
                raise Problem(422, str(error), field=f"rules[{index}]") from error
        self._latency.rules = tuple(rules)
        return await self.show()


def _text(rule: LatencyRule) -> str:
    duration = format_duration(rule.delay_ns)
    if rule.resource != ANY:
        return f"{rule.verb}:{rule.resource}={duration}"
    return duration if rule.verb == ANY else f"{rule.verb}={duration}"


def latency_endpoints(latency: ApiLatency) -> list[Endpoint]:
    """Return the endpoints of the latency."""
    return declared(_Latency(latency))

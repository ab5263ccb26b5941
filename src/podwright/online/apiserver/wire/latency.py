"""Latency of the Kubernetes API: replies are delayed as over a slow network.

The delay is real time before a request is executed, so that clients such as controllers and foreign
schedulers act on old state. podwright's own scheduler and controllers do not use HTTP; their
requests are not delayed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from podwright.apimachinery.documents import did_you_mean
from podwright.apimachinery.objects import parse_duration
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints import HttpRequest, request_info

ANY: Final = "*"
DELAY_MAX_NS: Final = 60_000_000_000
"""Clients end a request after about this time."""

VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


class LatencyRule(msgspec.Struct, frozen=True):
    """How long the requests of a verb to a resource are delayed.

    Attributes
    ----------
    verb : str
        As in RBAC; `*` for all.
    resource : str
        As in RBAC, such as `pods` or `pods/binding`; `plural.group` for a custom resource; `*` for
        all resources and subresources.
    delay_ns : int
    """

    verb: str
    resource: str
    delay_ns: int


class ApiLatency:
    """The rules of a server; the last one that matches a request applies.

    Parameters
    ----------
    rules : iterable of LatencyRule
    """

    def __init__(self, rules: Iterable[LatencyRule] = ()) -> None:
        self.rules = tuple(rules)

    def delay_seconds(self, request: HttpRequest) -> float:
        """Return how long a request is delayed; 0 for paths that are not of a resource."""
        info = request_info(request)
        if not info.is_resource:
            return 0.0
        resource, _, subresource = info.resource_path.partition("/")
        custom = f"{resource}.{info.group}" + (f"/{subresource}" if subresource else "")
        names = (ANY, info.resource_path, custom)
        for rule in reversed(self.rules):
            if rule.verb in (ANY, info.verb) and rule.resource in names:
                return rule.delay_ns / 1e9
        return 0.0


def read_latency_rule(text: str) -> LatencyRule:
    """Read a rule: `DURATION`, `VERB=DURATION` or `VERB:RESOURCE=DURATION`.

    Parameters
    ----------
    text : str
        For example `50ms`, `list=1s` or `create:pods/binding=200ms`.

    Raises
    ------
    ValueError
        The text has another form, or names an unknown verb or resource.
    """
    selector, equals, duration = text.rpartition("=")
    verb, colon, resource = selector.partition(":")
    if (equals and not verb) or (colon and not resource):
        raise ValueError(
            f'"{text}" is not DURATION, VERB=DURATION or VERB:RESOURCE=DURATION, such as 50ms or'
            " create:pods=50ms"
        )
    verb, resource = verb or ANY, resource or ANY
    if verb not in (ANY, *VERBS):
        raise ValueError(
            f'"{verb}" is not a verb: use {", ".join(VERBS)} or *{did_you_mean(verb, VERBS)}'
        )
    _check_resource(resource)
    delay_ns = parse_duration(duration)
    if not 0 <= delay_ns <= DELAY_MAX_NS:
        raise ValueError(f'"{duration}" must not be negative, and at most one minute')
    return LatencyRule(verb, resource, delay_ns)


def _check_resource(resource: str) -> None:
    """Reject the name of a resource that no server has."""
    plural, _, subresource = resource.partition("/")
    if resource == ANY or "." in plural:
        return
    known: dict[str, set[str]] = {}
    for kind in built_in():
        known.setdefault(kind.row.resource, set()).update(kind.row.subresources)
    if plural not in known:
        raise ValueError(
            f'"{plural}" is not a resource: use the plural name, such as pods, or plural.group of'
            f" a custom resource{did_you_mean(plural, known)}"
        )
    if subresource and subresource not in known[plural]:
        raise ValueError(
            f'"{plural}" has no subresource "{subresource}": it has'
            f" {', '.join(sorted(known[plural])) or 'none'}"
        )

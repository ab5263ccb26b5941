"""Builds a machine from a trace, with scripted plugins."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

import msgspec

from podwright.apimachinery.objects import Duration
from podwright.scheduler.assembly import Registry, build_machine
from podwright.scheduler.config import DEFAULT_GATES, Gates, parse_gates
from podwright.scheduler.framework import (
    Code,
    Cycle,
    EventHint,
    Pending,
    Plugin,
    Progress,
    StateKey,
    Status,
    TieRule,
)
from podwright.scheduler.machine import Machine, SchedulerOptions
from podwright.scheduler.queueing import SECOND_NS
from podwright.testing.parity.comparison import Case
from podwright.testing.parity.setup import effective_configuration

_CODES = {code.label: code for code in Code}
_OUTCOME: StateKey[Status] = StateKey("trace/outcome")


class _Scripted(Plugin):
    """A plugin whose results are in the trace."""

    outcomes: ClassVar[dict[str, dict[str, list[dict[str, Any]]]]] = {}
    plugin_calls: ClassVar[dict[str, list[Any]]] = {}

    def _play(self, point: str, cycle: Cycle, node: str, *, at_end: str) -> dict[str, Any]:
        """Note the call and take the next outcome for the pod."""
        pod = cycle.pod.key
        self.plugin_calls[pod].append([self.name, point, node])
        by_pod = self.outcomes.get(point, {})
        left = by_pod.get(pod)
        if left is None:
            left = by_pod.setdefault(pod, list(by_pod.get("*", [])))
        return left.pop(0) if left else {"status": at_end}

    def _answer(
        self, point: str, cycle: Cycle, node: str, *, at_end: str = "Success"
    ) -> Status | Pending:
        outcome = self._play(point, cycle, node, at_end=at_end)
        status = _status_of(outcome)
        delay = outcome.get("delay")
        if not delay:
            return status
        cycle.write(_OUTCOME, status)
        return Pending(delay_ns=round(delay * SECOND_NS))


class _Stub(_Scripted):
    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        """Play the script."""
        return _status_of(self._play("reserve", cycle, node_name, at_end="Success"))

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        """Note the call."""
        self.plugin_calls[cycle.pod.key].append([self.name, "unreserve", node_name])

    def permit(self, cycle: Cycle, node_name: str) -> tuple[Status, Duration]:
        """Play the script."""
        outcome = self._play("permit", cycle, node_name, at_end="Success")
        return _status_of(outcome), timedelta(seconds=outcome.get("timeout", 0))

    def pre_bind_pre_flight(self, cycle: Cycle, node_name: str) -> Status:
        """Play the script."""
        return _status_of(self._play("pre_bind_pre_flight", cycle, node_name, at_end="Success"))

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        """Play the script."""
        return self._answer("pre_bind", cycle, node_name)

    def continue_pre_bind(self, cycle: Cycle, node_name: str, progress: Progress) -> Status:
        """Return the scripted result after the delay."""
        return cycle.read(_OUTCOME)

    def post_bind(self, cycle: Cycle, node_name: str) -> None:
        """Note the call."""
        self.plugin_calls[cycle.pod.key].append([self.name, "post_bind", node_name])


class _StubBind(_Scripted):
    def bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        """Play the script."""
        return self._answer("bind", cycle, node_name, at_end="Skip")

    def continue_bind(self, cycle: Cycle, node_name: str, progress: Progress) -> Status:
        """Return the scripted result after the delay."""
        return cycle.read(_OUTCOME)


def machine_of(
    case: Case, script: dict[str, Any], plugin_calls: dict[str, list[Any]], start_ns: int
) -> Machine:
    """Build the machine of a trace.

    Parameters
    ----------
    plugin_calls : dict of str to list, written
        Per pod the calls of scripted plugins.
    """
    played = script.get("plugins", {})
    events = script.get("events", {})
    stubs = [
        type(
            name,
            (base,),
            {
                "name": name,
                "plugin_calls": plugin_calls,
                "outcomes": {
                    point: {pod: list(outcomes) for pod, outcomes in by_pod.items()}
                    for point, by_pod in played.get(name, {}).items()
                },
                **(_registering(events[name]) if name in events else {}),
            },
        )
        for name, base in (("StubA", _Stub), ("StubB", _Stub), ("StubBind", _StubBind))
    ]
    registry = Registry(stubs)
    configuration = effective_configuration(case.get("config"), registry, gates_of(case))
    # The vectors were made with one worker.
    configuration = msgspec.structs.replace(configuration, parallelism=script.get("workers", 1))
    return build_machine(
        configuration,
        registry,
        SchedulerOptions(
            tie_rule=TieRule.HEAP,
            start_ns=start_ns,
            batching=True,
            assumed_pod_expiry_ns=script.get("assumed_pod_expiry_ns", 0),
        ),
    )


def _registering(hints: list[EventHint]) -> dict[str, Any]:
    """Register these events for a plugin; by default it registers all events."""
    return {"events_to_register": lambda _self: tuple(hints)}


def gates_of(case: Case) -> Gates:
    """Return the feature gates that a trace sets, the others as they are by default."""
    changed = case.get("gates") or {}
    text = ",".join(f"{name}={str(is_on).lower()}" for name, is_on in sorted(changed.items()))
    return parse_gates(text) if text else DEFAULT_GATES


def _status_of(outcome: dict[str, Any]) -> Status:
    message = outcome.get("message")
    return Status(_CODES[outcome["status"]], (message,) if message else ())

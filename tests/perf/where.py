"""The time of the whole machine by kind of event, in microseconds.

    python -m tests.perf.where machine_basic_5000 machine_preemption_5000

The figures are in processor time, so that other processes affect them little. They include about
half a microsecond per event for reading the clock.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from tests.perf import machine as whole

from podwright.apimachinery.objects import Pod
from podwright.scheduler.machine import Action, CycleDue, Event, Machine, ObjectPut


class _Times:
    """Wraps `Machine.handle` and adds up its time."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.spent_ns: Counter[str] = Counter()
        self._handle = Machine.handle
        times = self

        def handle(machine: Machine, event: Event, now_ns: int) -> list[Action]:
            kind = _kind_of(machine, event)
            start_ns = time.process_time_ns()
            actions = times._handle(machine, event, now_ns)
            spent_ns = time.process_time_ns() - start_ns
            if isinstance(event, CycleDue):
                decision = machine.last_decision
                kind = f"{kind}, {'a node' if decision and decision.node else 'no node'}"
            times.counts[kind] += 1
            times.spent_ns[kind] += spent_ns
            return actions

        Machine.handle = handle  # type: ignore[assignment, method-assign]  # records the calls

    def undo(self) -> None:
        """Restore the machine."""
        Machine.handle = self._handle  # type: ignore[method-assign]  # restores it


def _kind_of(machine: Machine, event: Event) -> str:
    kind = type(event).__name__
    if not isinstance(event, ObjectPut):
        return kind
    obj = event.obj
    if not isinstance(obj, Pod):
        return f"{kind}, {type(obj).__name__}"
    place = "with a node" if obj.spec.node_name else "pending"
    age = "new" if machine.pod(obj.key) is None else "changed"
    return f"{kind}, Pod, {age}, {place}"


def main() -> None:
    """Run the given cases, or all of the machine's that have events."""
    cases = {case.name: case for case in whole.CASES}
    for name in sys.argv[1:] or list(cases):
        times = _Times()
        try:
            cases[name].measure()
        finally:
            times.undo()
        print(name)
        for kind, spent_ns in times.spent_ns.most_common():
            count = times.counts[kind]
            print(f"  {kind:36} {count:7,} x {spent_ns / count / 1_000:7.1f} us")


if __name__ == "__main__":
    main()

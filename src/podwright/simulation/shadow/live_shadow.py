"""Shadow while the changes are made: compares the decisions of a scheduler as they appear.

The changes since a base state are kept, and compared as a short record. A decision is settled once
no later change can belong to it or explain it: after four times the delay. Then its finding is
counted, and changes that no later decision needs are applied to the base state and dropped. So the
cost and the memory depend on the rate of changes, not on how long the cluster runs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, get_args

import msgspec

from podwright.apimachinery.objects import KubernetesObject, NamespacedName, Object, Pod, Unknown
from podwright.cluster.store import Change, GroupKind, kind_of
from podwright.scheduler.config import DEFAULT_GATES, Gates, KubeSchedulerConfiguration
from podwright.scheduler.framework import Plugin
from podwright.simulation.files import ChangeType, Record, RecordLine
from podwright.simulation.shadow.attempts import DEFAULT_DELAY_NS, is_binding
from podwright.simulation.shadow.comparison import Agreement, Finding, agreement, sum_of
from podwright.simulation.shadow.record_shadow import Shadow
from podwright.simulation.shadow.recorded_cluster import updated_pod, waits_to_be_bound

_READ: Final = tuple(cls for cls in get_args(Object) if cls is not Unknown)

_DELAYS: Final = 4
"""After how many times the delay a decision is settled."""

MOST_DIFFERENCES: Final = 10_000
"""The differences that are kept; older ones are only counted."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """Findings to be settled.

    Attributes
    ----------
    findings : tuple of Finding
    last_line : int
        All decisions until this line are settled.
    """

    findings: tuple[Finding, ...]
    last_line: int


class LiveShadow:
    """Compares the decisions of another scheduler with podwright's while it makes them.

    Parameters
    ----------
    configuration : KubeSchedulerConfiguration, optional
        That of the other scheduler; default: the default configuration.
    gates : Gates
        Its feature gates.
    plugins : sequence of type
        Its custom plugins.
    source : str
        The name of the configuration, for errors.
    delay_ns : int
        The most that a change may reach the scheduler late.

    Attributes
    ----------
    other_bindings : mapping of str to int
        How many pods were bound whose scheduler is not in the configuration, by its name.

    Raises
    ------
    InputError
        As for `Shadow`.
    """

    def __init__(
        self,
        *,
        configuration: KubeSchedulerConfiguration | None = None,
        gates: Gates = DEFAULT_GATES,
        plugins: Sequence[type[Plugin]] = (),
        source: str = "configuration",
        delay_ns: int = DEFAULT_DELAY_NS,
    ) -> None:
        self._configuration = configuration
        self._gates = gates
        self._plugins = plugins
        self._source = source
        self._delay_ns = delay_ns
        self._base: dict[tuple[GroupKind, NamespacedName], Object] = {}
        self._lines: list[RecordLine] = []
        self._next_line = 1
        self._settled_line = 0
        self._waiting: dict[str, int] = {}
        self._bindings = agreement(())
        self._preemptions = agreement(())
        self._differences: list[Finding] = []
        # The configuration is checked before there is anything to compare.
        self._schedulers = self._shadow(Record(source="", lines=())).schedulers
        self.other_bindings = Counter[str]()

    # ---------------------------------------------------------------- changes

    def begin(self, objects: Iterable[KubernetesObject]) -> None:
        """Start from these objects, each of which is a line of the record."""
        for obj in objects:
            self._next_line += 1
            if isinstance(obj, _READ):
                self._base[kind_of(obj), obj.key] = obj
        self._settled_line = self._next_line - 1

    def add(self, changes: Iterable[Change], now_ns: int) -> None:
        """Add changes, each of which is a line of the record.

        Parameters
        ----------
        changes : iterable of Change
            In their order.
        now_ns : int
            When they became visible, in nanoseconds since 1970.
        """
        for change in changes:
            number = self._next_line
            self._next_line += 1
            new, old = change.object, change.old
            if not isinstance(new, _READ):
                continue  # The scheduler does not read objects of unknown kinds.
            event: ChangeType = "Add" if old is None else "Update"
            line = RecordLine(
                line=number,
                time_ns=now_ns,
                seen_ns=now_ns,
                event="Delete" if change.new is None else event,
                object=new,
                old=old if isinstance(old, _READ) else None,
            )
            self._lines.append(line)
            if isinstance(new, Pod):
                self._note_waiting(line, new)
                name = new.spec.scheduler_name
                if name not in self._schedulers and is_binding(line):
                    self.other_bindings[name] += 1

    def _note_waiting(self, line: RecordLine, pod: Pod) -> None:
        if line.event != "Delete" and waits_to_be_bound(pod):
            self._waiting.setdefault(pod.uid, line.line)
        else:
            self._waiting.pop(pod.uid, None)

    # ---------------------------------------------------------------- comparing

    @property
    def has_open_decisions(self) -> bool:
        """Whether there are bindings or preemptions that are not settled."""
        start = bisect_right(self._lines, self._settled_line, key=lambda line: line.line)
        return any(_may_be_result(line) for line in self._lines[start:])

    def compare(self, now_ns: int, *, is_over: bool = False) -> Compared:
        """Compare the decisions that are final; changes nothing.

        Parameters
        ----------
        now_ns : int
            The current time, in nanoseconds since 1970.
        is_over : bool
            Whether no further changes follow: all decisions are final then.
        """
        until_ns = now_ns - _DELAYS * self._delay_ns
        last = self._next_line - 1 if is_over else self._last_line_at(until_ns)
        if last <= self._settled_line or not self.has_open_decisions:
            return Compared(findings=(), last_line=last)
        start = self._lines[0].line - len(self._base)
        objects = [
            RecordLine(
                line=start + index,
                time_ns=0,
                seen_ns=0,
                event="Add",
                object=obj,
            )
            for index, obj in enumerate(self._base.values())
        ]
        shadow = self._shadow(Record(source="", lines=(*objects, *self._lines)))
        chosen = range(self._settled_line + 1, last + 1)
        findings = tuple(one for one in shadow.findings(chosen) if one is not None)
        return Compared(findings=findings, last_line=last)

    def _last_line_at(self, time_ns: int) -> int:
        """Return the number of the last line until a time."""
        count = bisect_right(self._lines, time_ns, key=lambda line: line.seen_ns)
        return self._lines[count - 1].line if count else self._settled_line

    def _shadow(self, record: Record) -> Shadow:
        return Shadow(
            record,
            delay_ns=self._delay_ns,
            configuration=self._configuration,
            gates=self._gates,
            plugins=self._plugins,
            source=self._source,
            checks_nodes=False,
        )

    def settle(self, compared: Compared) -> None:
        """Count findings, and drop the changes that no later decision needs."""
        self._settled_line = max(self._settled_line, compared.last_line)
        found = compared.findings
        bindings = agreement(one for one in found if one.what == "binding")
        preemptions = agreement(one for one in found if one.what == "preemption")
        self._bindings = sum_of(self._bindings, bindings)
        self._preemptions = sum_of(self._preemptions, preemptions)
        self._differences += [one for one in found if one.outcome != "agreed"]
        del self._differences[:-MOST_DIFFERENCES]
        self._drop_old_lines()

    def _drop_old_lines(self) -> None:
        settled = bisect_right(self._lines, self._settled_line, key=lambda line: line.line)
        if not settled:
            return
        needed_ns = self._lines[settled - 1].seen_ns - _DELAYS * self._delay_ns
        count = bisect_right(self._lines, needed_ns, key=lambda line: line.seen_ns)
        # The decision for a pod that waits was made before its nomination.
        oldest = min(self._waiting.values(), default=self._next_line)
        count = min(count, bisect_right(self._lines, oldest - 1, key=lambda line: line.line))
        for line in self._lines[:count]:
            key = (kind_of(line.object), line.object.key)
            if line.event == "Delete":
                self._base.pop(key, None)
            else:
                self._base[key] = line.object
        del self._lines[:count]

    # ---------------------------------------------------------------- results

    def report(self) -> ShadowReport:
        """Return the agreement of all settled decisions."""
        return ShadowReport(
            bindings=self._bindings,
            preemptions=self._preemptions,
            failed_attempts=FailedAttempts(total=0, same_message=0),
            differences=tuple(self._differences),
        )


def _may_be_result(line: RecordLine) -> bool:
    """Whether a change may be a binding or a nomination."""
    if is_binding(line):
        return True
    return (pods := updated_pod(line)) is not None and (
        pods[0].status.nominated_node_name != pods[1].status.nominated_node_name
    )


# The agreement of two schedulers as a document: of `podwright shadow -o json` and over HTTP.


class FailedAttempts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Attempts that found no node.

    Attributes
    ----------
    total : int
    same_message : int
        Those that failed for the same reasons in podwright.
    """

    total: int
    same_message: int


class ShadowReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The agreement of a scheduler with podwright.

    Attributes
    ----------
    bindings, preemptions : Agreement
    failed_attempts : FailedAttempts
        Only the scheduler's log has them.
    differences : tuple of Finding
        In the order of the decisions.
    """

    bindings: Agreement
    preemptions: Agreement
    failed_attempts: FailedAttempts
    differences: tuple[Finding, ...]


def report_of(
    findings: Iterable[Finding], *, failed_count: int = 0, same_message_count: int = 0
) -> ShadowReport:
    """Summarize findings.

    Parameters
    ----------
    findings : iterable of Finding
    failed_count, same_message_count : int
        See `Shadow`.
    """
    listed = list(findings)
    return ShadowReport(
        bindings=agreement(one for one in listed if one.what == "binding"),
        preemptions=agreement(one for one in listed if one.what == "preemption"),
        failed_attempts=FailedAttempts(total=failed_count, same_message=same_message_count),
        differences=tuple(one for one in listed if one.outcome != "agreed"),
    )

"""The tables of a recorded run, by replaying it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from podwright.apimachinery.objects import KubernetesObject, NamespacedName, Pod, timestamp_ns
from podwright.cluster.store import GroupKind, kind_of
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import Machine, ObjectDeleted, ObjectPut
from podwright.scheduler.queueing import QueuedPod
from podwright.simulation.recording.folders.run_tables import Columns, RunTables
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.replay import Replay
from podwright.simulation.recording.usage.utilization import NodeAmounts

SHARE_CLASSES: Final = 11
"""Nodes that have given away less than 10 % of a resource, less than 20 %, ... less than 100 %, and
at least all of it."""


class NodeShares:
    """The number of nodes by the share of a resource that is requested, at each sample.

    Attributes
    ----------
    columns : dict of str to list
        `time`, `resource`, and `nodes`: a list of `SHARE_CLASSES` numbers.
    """

    def __init__(self) -> None:
        self.columns: Columns = {"time": [], "resource": [], "nodes": []}

    def sampled(self, at_ns: int, amounts: NodeAmounts) -> None:
        """Add the rows of a sample."""
        for resource, column in amounts.columns.items():
            allocatable = amounts.allocatable[:, column]
            has_any = allocatable > 0
            if not has_any.any():
                continue
            tenths = amounts.requested[has_any, column] * 10 // allocatable[has_any]
            classes = np.clip(tenths, 0, SHARE_CLASSES - 1)
            self.columns["time"].append(at_ns)
            self.columns["resource"].append(resource)
            counts = np.bincount(classes, minlength=SHARE_CLASSES)
            self.columns["nodes"].append(counts.tolist())


def tables_of_log(
    log: DecisionLog,
    sample_ns: int,
    end_ns: int,
    *,
    plugins: Iterable[type[Plugin]] = (),
    node_shares: NodeShares | None = None,
) -> RunTables:
    """Return the tables of a recorded run, by replaying it.

    Of a log that has dropped its oldest events, the tables start with its first checkpoint.

    Parameters
    ----------
    end_ns : int
        The end time of the run.
    plugins : iterable of type
        The user's own plugin classes that it was recorded with.
    node_shares : NodeShares, optional
        Receives the samples.
    """
    tables = RunTables(sample_ns, sampled=None if node_shares is None else node_shares.sampled)
    run = Replay(log, until=0, plugins=plugins)
    tables.attach(run.machine)
    known = _known(run.machine, tables, log.start_ns) if run.index else {}
    before_ns: int | None = None
    while (entry := run.peek()) is not None:
        now_ns, event = entry.now_ns, entry.event
        if before_ns is not None and now_ns != before_ns:
            tables.passed(before_ns, now_ns)
        before_ns = now_ns
        decided = run.machine.last_decisions
        run.step()
        if isinstance(event, ObjectPut):
            key = kind_of(event.obj), event.obj.key
            tables.changed(known.get(key), event.obj, now_ns)
            known[key] = event.obj
        elif isinstance(event, ObjectDeleted):
            gone = known.pop((kind_of(event.obj), event.obj.key), None)
            if gone is not None:
                tables.changed(gone, None, now_ns)
        if run.machine.last_decisions is not decided:
            tables.decided(run.machine.last_decisions, now_ns)
    if before_ns is not None and end_ns != before_ns:
        tables.passed(before_ns, end_ns)
    tables.end(end_ns)
    return tables


def _known(
    machine: Machine, tables: RunTables, start_ns: int
) -> dict[tuple[GroupKind, NamespacedName], KubernetesObject]:
    """Return the objects of a checkpoint, and add its pods to the tables."""
    known: dict[tuple[GroupKind, NamespacedName], KubernetesObject] = {}
    in_flight = {queued.key: queued for queued in machine.queue.in_flight()}
    for obj in machine.objects():
        known[kind_of(obj), obj.key] = obj
        if isinstance(obj, Pod):
            created_ns = timestamp_ns(obj.metadata.creation_timestamp)
            queued: QueuedPod | None = in_flight.get(obj.key) or machine.queue.get(obj.key)
            attempts = 0 if queued is None else queued.attempts
            tables.was_there(obj, start_ns if created_ns is None else created_ns, attempts)
    return known

"""Queueing hints: the result of every plugin of the default profile for one change."""

from __future__ import annotations

from podwright.apimachinery.objects import Pod, decode_pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import ClusterEvent
from podwright.scheduler.machine import hint_table
from podwright.scheduler.queueing import HintTable, derive_events
from podwright.testing.parity.comparison import Case, Check, equal, only
from podwright.testing.parity.preemption import NOW_NS
from podwright.testing.parity.setup import ClusterHandle, cluster_of, profiles_of


def default_hints(cluster: Cluster | None = None) -> HintTable:
    """Return the registrations of the plugins of the default profile."""
    (profile,) = profiles_of(None).values()
    ClusterHandle(cluster or Cluster(), NOW_NS).give_to(profile)
    return hint_table(profile)


def check_hints(case: Case) -> Check:
    """Compare the events of a change, and every plugin's hint for each."""
    pod = decode_pod(case["pod"])
    change = case["change"]
    old, new = (decode(change[side]) if side in change else None for side in ("old", "new"))
    if isinstance(new, Pod) and new.metadata.uid == pod.metadata.uid:
        pod = new
    cluster = cluster_of(case.get("objects", ()))
    if new is not None:
        cluster.put(new)
    table = default_hints(cluster)
    found = [
        {"resource": event.resource, "action": event.action.label}
        | _hints(table, pod, event, old, new)
        for event in derive_events(old, new)
    ]
    yield from only("", case["expect"], ("events",))
    expected = [{"hints": {}} | event for event in case["expect"]["events"]]
    yield equal("events", expected, found)


def _hints(
    table: HintTable, pod: Pod, event: ClusterEvent, old: object, new: object
) -> dict[str, dict[str, str]]:
    """Return every plugin's hint; an exception is an Error, as in upstream."""
    table.executions.clear()
    answers = {plugin: hint.value for plugin, hint in table.answers(pod, event, old, new).items()}
    failed = {plugin for plugin, _, answer in table.executions if answer == "Error"}
    return {"hints": answers | dict.fromkeys(failed, "Error")}

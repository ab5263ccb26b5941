"""Pods scheduled one after the other, with deletions in between."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from podwright.apimachinery.objects import (
    NamespacedName,
    Pod,
    decode_pod,
    with_fields,
    with_node_name,
    with_nominated_node_name,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly import Registry, SchedulerHandle, build_profiles
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import (
    DEFAULT_GATES,
    EffectiveConfiguration,
    Gates,
    KubeSchedulerConfiguration,
    effective,
    read_configuration,
)
from podwright.scheduler.framework import Code, Decision, PluginRunner, Profile, TieRule
from podwright.scheduler.machine import SchedulerOptions
from podwright.scheduler.preemption import Preemption
from podwright.testing.parity.comparison import (
    Case,
    Check,
    Comparison,
    compared,
    equal,
    only,
    start_time,
    time_of,
    winners_of,
)


class Deciding:
    """Decides pods one after the other on a cluster that the caller changes."""

    def __init__(self, cluster: Cluster) -> None:
        (self.profile,) = profiles_of(None).values()
        self._runner = PluginRunner(self.profile, cluster)
        self._scoring = PluginRunner(self.profile, cluster, keeps_totals=True)

    def decide(self, pod: Pod, number: int) -> tuple[Decision, list[str]]:
        """Return the decision, after PostFilter, and the nodes with the greatest total."""
        winners = winners_of(self._scoring, self._scoring.decide(pod, cycle_number=number))
        decision = self._runner.decide(pod, cycle_number=number)
        return self._runner.post_filter(decision, cycle_number=number, now_ns=NOW_NS), winners


def check_sequence(case: Case) -> Check:
    """Compare each step, then place pods and delete victims as the vector does.

    With that, ties do not diverge.
    """
    cluster = cluster_of(case["objects"])
    deciding = Deciding(cluster)
    scheduled_count = 0
    for number, step in enumerate(case["steps"]):
        if step["op"] == "delete":
            cluster.remove(step["name"])
            continue
        pod = decode_pod(step["pod"])
        expect = step["expect"]
        cluster.put(pod)
        decision, winners = deciding.decide(pod, number)
        yield from only("", expect, {*STEP_FIELDS, "nominated_node", "acceptable", "victims"})
        yield from compare_step(expect, decision, winners)
        yield from _compare_preemption(expect, decision)
        _follow(cluster, pod, expect, scheduled_count)
        scheduled_count += 1


STEP_FIELDS = frozenset({"chosen", "feasible", "max_score", "message", "winners"})
"""The optional fields of every step."""


def compare_step(expect: dict[str, Any], decision: Decision, winners: list[str]) -> Check:
    """Compare the fields of every step: the node, or the reason for no node.

    Parameters
    ----------
    winners : list of str
        Ours.
    """
    chosen, expected = expect["chosen"], expect["winners"]
    yield Comparison("chosen", chosen, expected, (chosen is None) == (not expected))
    if chosen is not None:
        yield Comparison("chosen", chosen, winners, chosen in winners)
    yield equal("feasible", expect["feasible"], decision.feasible_count)
    yield equal("winners", expected, winners)
    yield Comparison("node", expected, decision.node, decision.node in (expected or [""]))
    yield equal("winner_count", len(expected), decision.tie_count)
    yield equal("max_score", expect.get("max_score"), decision.total)
    yield equal("message", expect.get("message", ""), decision.message)


def _compare_preemption(expect: dict[str, Any], decision: Decision) -> Check:
    found = _preempted(decision)
    for field in ("acceptable", "nominated_node", "victims"):
        yield equal(f"preemption.{field}", expect.get(field), found[field])


def _follow(cluster: Cluster, pod: Pod, expect: dict[str, Any], number: int) -> None:
    """Apply the recorded scheduler's decision."""
    if expect["chosen"] is not None:
        placed = with_node_name(pod, expect["chosen"])
        cluster.put(with_fields(placed, "status", start_time=start_time(number)))
    elif expect.get("nominated_node"):
        for victim in expect["victims"]:
            cluster.remove(victim)
        cluster.put(with_nominated_node_name(pod, expect["nominated_node"]))
    else:
        cluster.delete(pod)


# The result of PostFilter, in the form of the vectors.

NOW_NS = time_of("2030-01-01T00:00:00Z")
"""Later than every start time in the vectors."""


def _preempted(decision: Decision) -> dict[str, Any]:
    """Return what preemption chose; None for each field if it has no candidate."""
    result = decision.post_filter
    details = None if result is None else result.details
    choice = details.choice if isinstance(details, Preemption) else None
    if result is None or not isinstance(details, Preemption) or choice is None:
        names = ("nominated_node", "acceptable", "candidates", "criterion", "victims")
        return dict.fromkeys(names)
    assert result.status.code == Code.SUCCESS, result.status
    return {
        # Of equal nodes both name the first.
        "nominated_node": result.nominated_node,
        "acceptable": list(choice.acceptable),
        "criterion": None if choice.criterion is None else int(choice.criterion),
        "candidates": {
            candidate.node: {
                "victims": keys_of(candidate.victims),
                "pdb_violations": candidate.pdb_violations,
            }
            for candidate in details.candidates
        },
        "victims": keys_of(details.victims),
    }


def compare_preemption(expect: dict[str, Any] | None, decision: Decision) -> Check:
    """Compare `expect.preemption` with what PostFilter did."""
    result = decision.post_filter
    if expect is None or result is None:
        yield equal("preemption", expect, None if result is None else result.status.code.label)
        return
    found = {
        "status": result.status.code.label,
        "message": result.message,
        **_preempted(decision),
        "nominated_node": result.nominated_node,
    }
    yield from compared("preemption", expect, found, nominated_node="missing")


def keys_of(pods: Iterable[Pod]) -> list[str]:
    """Return "namespace/name" of pods."""
    return [pod.key for pod in pods]


# Builds a cluster and its profiles from a case.
#
# Vectors hold objects as the API server stores them; nothing is defaulted here.


def effective_configuration(
    document: dict[str, Any] | None, registry: Registry, gates: Gates = DEFAULT_GATES
) -> EffectiveConfiguration:
    """Read a case's configuration; None is the default one."""
    if document is None:
        configuration = KubeSchedulerConfiguration()
    else:
        configuration = read_configuration(document, source="config")
    return effective(configuration, gates, implements=registry.points_of)


def profiles_of(
    document: dict[str, Any] | None, *, tie_rule: TieRule = TieRule.DRAWN
) -> dict[str, Profile]:
    """Build the profiles of a case's configuration, by schedulerName."""
    registry = Registry()
    options = SchedulerOptions(tie_rule=tie_rule)
    return build_profiles(effective_configuration(document, registry), registry, options)


def cluster_of(objects: Iterable[dict[str, Any]]) -> Cluster:
    """Put a case's objects into a cluster."""
    cluster = Cluster()
    for document in objects:
        cluster.put(decode(document))
    return cluster


# The handle of plugins whose cycles are run one by one, without a machine.


class ClusterHandle(SchedulerHandle):
    """Finds the claims of a cluster, at a fixed time.

    Parameters
    ----------
    cluster : Cluster
    now_ns : int
        The time, in nanoseconds since 1970.
    """

    def __init__(self, cluster: Cluster, now_ns: int) -> None:
        super().__init__(())
        self._cluster = cluster
        self._now_ns = now_ns

    def give_to(self, profile: Profile) -> None:
        """Give the handle to the plugins of a profile."""
        for plugin in profile.all_plugins():
            plugin.handle = self

    @property
    def binds(self) -> bool:
        """Always true: the checks run PreBind themselves."""
        return True

    @property
    def now_ns(self) -> int:
        """The fixed time."""
        return self._now_ns

    def device_class_of(self, resource: str) -> str:
        """Return the device class that backs an extended resource; "" if there is none."""
        return self._cluster.device_classes.class_of(resource)

    def find(self, kind: Any, name: NamespacedName) -> Any:
        """Return a claim; None for objects of other kinds."""
        found = self._cluster.devices.claim(name)
        return found if isinstance(found, kind) else None

"""The report of a run: what happened to nodes, workloads and pods, besides the counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from podwright._checkpointed import Checkpointed, Saved
from podwright._html import facts, paragraphs, section, table
from podwright.apimachinery.objects import NamespacedName
from podwright.simulation.autoscaling import GroupSizes
from podwright.simulation.world.inputs.input_review import IgnoredKind, InputReview, LoadEstimate
from podwright.simulation.world.runs.disruptions import (
    Disruptions,
    Evictions,
    LostPod,
    NodeDrain,
    ObservedWorld,
)
from podwright.simulation.world.runs.failed_creations import FailedCreation, FailedCreations
from podwright.simulation.world.runs.workload_health import (
    Availability,
    Rollout,
    WorkloadHealth,
)
from podwright.simulation.world.timing.model import Timing

STARTS_AT_ONCE: Final = (
    "pods are ready as soon as they are bound (0s), so rollouts and replacements take no time by"
    " themselves; KWOK Stages set a delay"
)
"""The note about the built-in stages."""


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The report of a run.

    Attributes
    ----------
    drains : tuple of NodeDrain
        In the order in which they started.
    evictions : Evictions
    availability : tuple of Availability
        Of each workload, in the order of their creation.
    rollouts : tuple of Rollout
        In the order of their ends, then those in progress.
    failed_creations : tuple of FailedCreation
        What could not be created, by owner: of controllers all, of users what exceeds a quota.
    lost_pods : tuple of LostPod
        Removed pods that no controller replaces.
    missing_owners : dict of str to str
        The owner of each initial pod whose owner is not among the objects: no controller replaces
        these pods.
    never_tried : tuple of str
        Pending pods without a scheduling attempt, without gated ones and those of other
        schedulers.
    ignored_kinds : tuple of IgnoredKind
        Objects that had no effect.
    node_groups : tuple of GroupSizes
        Those of an autoscaler that took part.
    estimate : LoadEstimate, optional
        If the initial pods that never end do not fit on the initial nodes.
    notes : tuple of str
        Assumptions that affect the results.
    """

    drains: tuple[NodeDrain, ...] = ()
    evictions: Evictions = msgspec.field(default_factory=Evictions)
    availability: tuple[Availability, ...] = ()
    rollouts: tuple[Rollout, ...] = ()
    failed_creations: tuple[FailedCreation, ...] = ()
    lost_pods: tuple[LostPod, ...] = ()
    missing_owners: dict[NamespacedName, str] = {}
    never_tried: tuple[NamespacedName, ...] = ()
    ignored_kinds: tuple[IgnoredKind, ...] = ()
    node_groups: tuple[GroupSizes, ...] = ()
    estimate: LoadEstimate | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self._counts().items() if count)
        return f"<Report: {counts or 'nothing to report'}>"

    def _repr_html_(self) -> str:
        drains = [
            (one.node, one.status, one.evicted, ", ".join(one.blocked_by)) for one in self.drains
        ]
        return section(
            "Report",
            facts(self._counts()),
            table(("Drained node", "Status", "Evicted", "Blocked by"), drains),
            paragraphs(self.notes),
        )

    def _counts(self) -> dict[str, int]:
        """Return the numbers of what is reported."""
        return {
            "drains": len(self.drains),
            "evictions": self.evictions.evicted,
            "rejected evictions": self.evictions.rejected,
            "workloads": len(self.availability),
            "rollouts": len(self.rollouts),
            "owners of rejected objects": len(self.failed_creations),
            "lost pods": len(self.lost_pods),
            "pods never tried": len(self.never_tried),
        }


class ReportObservers(Checkpointed):
    """The observers of a world that the report needs.

    Parameters
    ----------
    world : World
    missing_owners : mapping of str to str
        The owner of each pod whose owner is not among the inputs.
    """

    disruptions: Saved[Disruptions]
    _health: Saved[WorkloadHealth]
    _failed: Saved[FailedCreations]

    def __init__(self, world: ObservedWorld, missing_owners: Mapping[NamespacedName, str]) -> None:
        self.disruptions = Disruptions(world, missing_owners)
        self._health = WorkloadHealth()
        self._failed = FailedCreations()

    @property
    def observers(self) -> tuple[Disruptions, WorkloadHealth, FailedCreations]:
        """The observers that receive changes, removals of pods, and rejected creations."""
        return self.disruptions, self._health, self._failed

    def report(self, review: InputReview, now_ns: int, timing: Timing | None = None) -> Report:
        """Return the report so far; pods that were never tried are left to the tables."""
        self.disruptions.passed(now_ns)
        availability = self._health.availability(now_ns)
        return Report(
            drains=self.disruptions.drains,
            # A copy: the world may continue.
            evictions=msgspec.structs.replace(self.disruptions.evictions),
            availability=availability,
            rollouts=self._health.rollouts(now_ns),
            failed_creations=self._failed.all,
            lost_pods=self.disruptions.lost,
            missing_owners=review.missing_owners,
            ignored_kinds=review.ignored_kinds,
            estimate=review.estimate,
            notes=_notes(review, timing, has_workloads=bool(availability)),
        )


def _notes(review: InputReview, timing: Timing | None, *, has_workloads: bool) -> tuple[str, ...]:
    notes = [review.job_note] if review.job_note else []
    if timing is not None:
        notes.append(str(timing))
    starts_late = timing is not None and timing.kubelet.start is not None
    if has_workloads and review.starts_at_once and not starts_late:
        notes.append(STARTS_AT_ONCE)
    return tuple(notes)

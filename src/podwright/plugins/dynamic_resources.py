"""DynamicResources: devices requested with resource claims.

**What it does.** Pods without resource claims pass, and every node scores 0. Device allocation
is not implemented: a pod with resource claims is rejected and stays pending; it is not
scheduled as if it had no claims.

**Why it matters.** The plugin is part of the default profile, so it affects decisions (a score
of 0) and messages even in clusters without resource claims.

**Configuration.** ``filterTimeout`` and ``bindingTimeout`` are read and have no effect.

**Example.** A pod with ``spec.resourceClaims`` waits with
``resource claims are not supported: claim "gpu"``.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import ClassVar

from podwright.config import DynamicResourcesArgs
from podwright.framework import (
    Cycle,
    EventHint,
    FailedCycle,
    NodeColumns,
    Normalization,
    Plugin,
    PostFilterResult,
    Reads,
    Scores,
    StateKey,
    Status,
    Verdicts,
)
from podwright.objects import Pod
from podwright.plugins.hints import dynamic_resources as hints

_SEEN: StateKey[bool] = StateKey("DynamicResources", "not found")


class DynamicResources(Plugin):
    """Refuse pods with resource claims, and leave all others alone."""

    name = "DynamicResources"
    key_reads_all_labels = False
    Args: ClassVar[type[DynamicResourcesArgs]] = DynamicResourcesArgs
    pre_filter_reads = Reads.NOTHING
    filter_reads = Reads.NOTHING
    score_reads = Reads.NODE
    normalization = Normalization.DEFAULT
    scores_in_range = True
    rests_when_skipped = True

    def __init__(self, args: DynamicResourcesArgs | None = None) -> None:
        self.args = args

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return the events that could undo a rejection, with their hint functions."""
        return hints.events_to_register()

    def sign_pod(self, pod: Pod) -> Mapping[str, object] | None:
        """Return nothing; pods with claims are like no other."""
        if pod.spec.resource_claims:
            return None
        return {}

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the names of the claims."""
        return tuple(claim.name for claim in pod.spec.resource_claims)

    def pre_enqueue(self, pod: Pod) -> Status:
        """Admit pods without claims; reject pods with claims."""
        return Status.OK

    def pre_filter(self, cycle: Cycle) -> Status:
        """Skip pods without claims; refuse the others."""
        cycle.write(_SEEN, True)  # noqa: FBT003 - a value, not a flag
        claims = cycle.pod.spec.resource_claims
        if not claims:
            return Status.SKIPPED
        names = ", ".join(f'claim "{claim.name}"' for claim in claims)
        return Status.unresolvable(f"resource claims are not supported: {names}")

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Pass every node: pods that get here have no claims."""
        cycle.read(_SEEN)

    def post_filter(self, cycle: Cycle, failed: FailedCycle) -> PostFilterResult:
        """Free no devices; the next PostFilter plugin runs.

        Notes
        -----
        If another plugin rejected the pod before this one's PreFilter ran, upstream misses
        the state that PreFilter leaves, and fails.
        """
        if cycle.find(_SEEN) is None:
            return PostFilterResult(status=Status.error("not found"))
        return PostFilterResult(status=Status.unschedulable("no new claims to deallocate"))

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        """Set aside nothing."""
        cycle.read(_SEEN)
        return Status.OK

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        """Take back nothing."""

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status:
        """Do nothing."""
        return Status.OK

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        """Give every node 0: no device is allocated."""
        out.values[out.rows] = 0

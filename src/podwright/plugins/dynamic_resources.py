"""DynamicResources: devices requested with resource claims.

**What it does.** Pods without resource claims pass, and every node scores 0. Device allocation
is not implemented: a pod with resource claims, or with an extended resource that a DeviceClass
backs (feature gate DRAExtendedResource), is rejected and stays pending; it is not scheduled as if
it needed no devices.

**Why it matters.** The plugin is part of the default profile, so it affects decisions (a score
of 0) and messages even in clusters without resource claims.

**Configuration.** ``filterTimeout`` and ``bindingTimeout`` are read and have no effect.

**Example.** A pod with ``spec.resourceClaims`` waits with
``resource claims are not supported: claim "gpu"``; a pod that requests ``example.com/gpu``, which
the DeviceClass ``gpu`` names as its ``extendedResourceName``, waits with
``extended resources of device classes are not supported: example.com/gpu of DeviceClass "gpu"``.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import ClassVar

from podwright.config import DEFAULT_GATES, DynamicResourcesArgs, Gates
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
    device_class_refusal,
    extended_requests,
)
from podwright.objects import Pod, status_changes_requests
from podwright.objects.request_key import request_key
from podwright.plugins.hints import dynamic_resources as hints

_SEEN: StateKey[bool] = StateKey("DynamicResources", "not found")


class DynamicResources(Plugin):
    """Refuse pods that need devices, and leave all others alone."""

    name = "DynamicResources"
    key_reads_all_labels = False
    Args: ClassVar[type[DynamicResourcesArgs]] = DynamicResourcesArgs
    pre_filter_reads = Reads.DEVICE_CLASSES
    filter_reads = Reads.NOTHING
    score_reads = Reads.NODE
    normalization = Normalization.DEFAULT
    scores_in_range = True
    rests_when_skipped = True
    takes_gates = True

    def __init__(
        self, args: DynamicResourcesArgs | None = None, *, gates: Gates = DEFAULT_GATES
    ) -> None:
        self.args = args
        self._maps_device_classes = "DRAExtendedResource" in gates

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return the events that could undo a rejection, with their hint functions."""
        return hints.events_to_register()

    def sign_pod(self, pod: Pod) -> Mapping[str, object] | None:
        """Return nothing; pods with claims are like no other."""
        if pod.spec.resource_claims:
            return None
        return {}

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the names of the claims and of extended resources."""
        claims = tuple([claim.name for claim in pod.spec.resource_claims])
        extended = extended_requests(pod) if self._maps_device_classes else ()
        if not claims and not extended:
            return ()
        # Whether the amount of a resource is 0 depends on all requests.
        return (claims, request_key(pod) if extended else ())

    def key_is_of_template(self, pod: Pod) -> bool:
        """Return whether the key depends on the spec alone: the pod has not been resized."""
        return not status_changes_requests(pod)

    def pre_enqueue(self, pod: Pod) -> Status:
        """Admit pods without claims; reject pods with claims."""
        return Status.OK

    def pre_filter(self, cycle: Cycle) -> Status:
        """Skip pods that need no devices; refuse the others."""
        cycle.write(_SEEN, True)  # noqa: FBT003 - a value, not a flag
        claims = cycle.pod.spec.resource_claims
        if not claims:
            refused = (
                device_class_refusal(cycle.pod, cycle.cluster)
                if self._maps_device_classes
                else None
            )
            return Status.SKIPPED if refused is None else refused
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

"""The next size of each replica set of a deployment.

Pure arithmetic: the input is the replica sets with their reported counts, the output their new
sizes. A rollout takes one step at a time, as replica sets report progress. The module reads and
writes no objects.

A rolling update holds two limits: at most `replicas + maxSurge` replicas in total, and at least
`replicas - maxUnavailable` available ones.

Upstream: pkg/controller/deployment/rolling.go, recreate.go, sync.go;
pkg/controller/deployment/util/deployment_util.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from podwright.apimachinery.objects import Document, parse_int64, parse_uint64
from podwright.cluster.controllers.workload_fields import number

REVISION: Final = "deployment.kubernetes.io/revision"
REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"

REPLICA_FAILURE: Final = "ReplicaFailure"

_NO_DEADLINE: Final = 2**31 - 1


def scaled_value(value: int | str | None, total: int, *, round_up: bool) -> int:
    """Return a number, or a percentage of a total; 0 for an invalid value.

    Notes
    -----
    Upstream: staging/src/k8s.io/apimachinery/pkg/util/intstr/intstr.go
    """
    if isinstance(value, str):
        digits = value.removesuffix("%")
        share = 0 if digits == value else (parse_uint64(digits) or 0) * total
        return -(-share // 100) if round_up else share // 100
    return value or 0


class DeploymentSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The spec of a deployment, with the defaults of the API.

    Attributes
    ----------
    max_surge, max_unavailable : int
        Resolved to numbers of pods.
    progress_deadline_seconds : int, optional
        None for no deadline.
    """

    replicas: int
    min_ready_seconds: int
    is_recreate: bool
    max_surge: int
    max_unavailable: int
    revision_history_limit: int
    progress_deadline_seconds: int | None
    is_paused: bool
    template: Document

    @property
    def max_replicas(self) -> int:
        """The largest allowed number of replicas in total."""
        return self.replicas + self.max_surge

    @property
    def min_available(self) -> int:
        """The smallest allowed number of available replicas."""
        return self.replicas - self.max_unavailable


def deployment_spec(spec: Document) -> DeploymentSpec:
    """Read the spec of a deployment.

    Notes
    -----
    Upstream: pkg/apis/apps/v1/defaults.go; deployment_util.go, ResolveFenceposts, MaxSurge,
    MaxUnavailable
    """
    replicas = number(spec.get("replicas"), 1)
    strategy: Document = spec.get("strategy") or {}
    is_recreate = strategy.get("type") == "Recreate"
    surge = unavailable = 0
    if not is_recreate:
        rolling: Document = strategy.get("rollingUpdate") or {}
        surge = scaled_value(rolling.get("maxSurge", "25%"), replicas, round_up=True)
        share = rolling.get("maxUnavailable", "25%")
        unavailable = scaled_value(share, replicas, round_up=False)
        if not surge and not unavailable:
            # Upstream: with both at 0 a rollout could never take a step.
            unavailable = 1
    deadline = number(spec.get("progressDeadlineSeconds"), 600)
    return DeploymentSpec(
        replicas=replicas,
        min_ready_seconds=number(spec.get("minReadySeconds"), 0),
        is_recreate=is_recreate,
        max_surge=surge,
        max_unavailable=min(unavailable, replicas),
        revision_history_limit=number(spec.get("revisionHistoryLimit"), 10),
        progress_deadline_seconds=None if deadline == _NO_DEADLINE else deadline,
        is_paused=bool(spec.get("paused")),
        template=spec.get("template") or {},
    )


class RolloutSet(msgspec.Struct):
    """A replica set during a rollout.

    Attributes
    ----------
    name, created : str
        The name, and the creation timestamp, which sorts as text.
    replicas : int
        `spec.replicas`; a rollout changes it.
    annotations : dict
        A rollout changes them.
    reported, ready, available, terminating : int
        The counts of the status: `replicas`, `readyReplicas` and so on; `terminating` is None if a
        controller has written the others without it.
    min_ready_seconds : int
        `spec.minReadySeconds`.
    is_observed : bool
        Whether the status belongs to the current generation.
    is_terminating : bool
        Whether the replica set is being deleted.
    failure : dict, optional
        The condition ReplicaFailure.
    """

    name: str
    created: str
    replicas: int
    annotations: dict[str, str]
    reported: int = 0
    ready: int = 0
    available: int = 0
    terminating: int | None = 0
    min_ready_seconds: int = 0
    is_observed: bool = True
    is_terminating: bool = False
    failure: Document | None = None

    @property
    def revision(self) -> int:
        """The revision, 0 without one."""
        return revision_number(self.annotations.get(REVISION))


def revision_number(text: str | None) -> int:
    """Return a revision as a number, 0 if it is not one."""
    return max(parse_int64(text or "") or 0, 0)


def _size_of(each: RolloutSet, annotation: str) -> int | None:
    """Return the size in an annotation; None without one.

    Notes
    -----
    Upstream: deployment_util.go, getNonNegativeInt32FromAnnotation
    """
    size = parse_uint64(each.annotations.get(annotation, ""))
    return size if size is not None and size < 2**31 else None


def by_age(sets: Iterable[RolloutSet]) -> list[RolloutSet]:
    """Return sets, oldest first."""
    return sorted(sets, key=lambda each: (each.created, each.name))


class Rollout:
    """The replica sets of one deployment while they are resized.

    Parameters
    ----------
    spec : DeploymentSpec
    new : RolloutSet or None
        The set of the current template, if it exists.
    old : list of RolloutSet
        All others.
    reported : int
        `status.replicas` of the deployment.

    Attributes
    ----------
    event_notes : list of str
        The notes of the ScalingReplicaSet Events.
    """

    def __init__(
        self,
        spec: DeploymentSpec,
        new: RolloutSet | None,
        old: list[RolloutSet],
        *,
        reported: int = 0,
    ) -> None:
        self.spec = spec
        self._reported = reported
        self.new = new
        self.old = by_age(old)
        self.event_notes: list[str] = []

    @property
    def sets(self) -> list[RolloutSet]:
        """All sets, old ones first."""
        return self.old if self.new is None else [*self.old, self.new]

    @property
    def total(self) -> int:
        """The desired replicas of all sets together."""
        return sum(each.replicas for each in self.sets)

    # ------------------------------------------------------------------------- resizing

    def resize(self, each: RolloutSet, replicas: int) -> bool:
        """Set the size of a replica set; return whether that changes it."""
        was = each.replicas
        if was != replicas:
            each.replicas = replicas
            self.set_replicas_annotations(each)
            direction = "up" if replicas > was else "down"
            self.event_notes.append(
                f"Scaled {direction} replica set {each.name} from {was} to {replicas}"
            )
        return was != replicas

    def set_replicas_annotations(self, each: RolloutSet) -> None:
        """Set the annotations with the deployment's desired and maximal replicas.

        Notes
        -----
        Upstream: deployment_util.go, SetReplicasAnnotations
        """
        each.annotations = each.annotations | {
            DESIRED_REPLICAS: str(self.spec.replicas),
            MAX_REPLICAS: str(self.spec.max_replicas),
        }

    @property
    def is_scaling_event(self) -> bool:
        """Whether `spec.replicas` differs from the size that the sets are annotated with.

        Notes
        -----
        Upstream: sync.go, isScalingEvent
        """
        sizes = [_size_of(each, DESIRED_REPLICAS) for each in self.sets if each.replicas > 0]
        return any(size is not None and size != self.spec.replicas for size in sizes)

    def scale(self) -> None:
        """Distribute a new size over the sets in proportion to theirs.

        Notes
        -----
        Upstream: sync.go, scale
        """
        spec = self.spec
        only = self._active_or_newest()
        if only is not None:
            # A set that already has the size keeps its annotations, so that every later sync is a
            # scaling event, too.
            self.resize(only, spec.replicas)
            return
        if self._is_saturated():
            self.scale_down_old()
        elif not spec.is_recreate:
            self._scale_in_proportion()

    def _active_or_newest(self) -> RolloutSet | None:
        active = [each for each in self.sets if each.replicas > 0]
        if len(active) == 1:
            return active[0]
        if active:
            return None
        if self.new is not None:
            return self.new
        return self.old[-1] if self.old else None

    def _is_saturated(self) -> bool:
        new = self.new
        if new is None:
            return False
        desired = parse_int64(new.annotations.get(DESIRED_REPLICAS, ""))
        return new.replicas == desired == new.available == self.spec.replicas

    def _scale_in_proportion(self) -> None:
        active = [each for each in self.sets if each.replicas > 0]
        # Upstream: a deployment that is scaled to 0 has no surge.
        max_replicas = self.spec.max_replicas if self.spec.replicas > 0 else 0
        to_add = max_replicas - sum(each.replicas for each in active)
        newer_first = to_add > 0
        active = sorted(by_age(active), key=lambda each: each.created, reverse=newer_first)
        # The sort is stable: of equal sets, the newest grows first and the oldest shrinks first.
        active.sort(key=lambda each: -each.replicas)
        added = 0
        sizes = []
        for each in active:
            share = self._proportion(each, to_add - added) if to_add else 0
            sizes.append(each.replicas + share)
            added += share
        if sizes and to_add:
            # The remainder of the rounding goes to the largest set.
            sizes[0] = max(sizes[0] + to_add - added, 0)
        for each, size in zip(active, sizes, strict=True):
            self.set_replicas_annotations(each)
            self.resize(each, size)

    def _proportion(self, each: RolloutSet, left: int) -> int:
        """Return by how much a set grows or shrinks, limited to what is left to distribute.

        Notes
        -----
        Upstream: deployment_util.go, GetReplicaSetProportion
        """
        if not left:
            return 0
        if not self.spec.replicas:
            fraction = -each.replicas
        else:
            # Upstream: without the annotation, the size in the status replaces the former maximum.
            before = _size_of(each, MAX_REPLICAS) or self._reported
            if not before:
                return 0
            # Rounded to the nearest, halves up.
            grown = (2 * each.replicas * self.spec.max_replicas + before) // (2 * before)
            fraction = grown - each.replicas
        return min(fraction, left) if left > 0 else max(fraction, left)

    # -------------------------------------------------------------------- rolling update

    def roll(self) -> None:
        """Take one step: scale up the new set, or scale down old ones.

        Notes
        -----
        Upstream: rolling.go, rolloutRolling
        """
        assert self.new is not None, "a rolling update without a new replica set"
        size = self.new_size()
        if not self.resize(self.new, size):
            self._scale_down_old_available()

    def new_size(self) -> int:
        """Return the size that the new set may have now.

        Notes
        -----
        Upstream: deployment_util.go, NewRSNewReplicas; rolling.go, reconcileNewReplicaSet
        """
        assert self.new is not None, "no new replica set"
        spec, size = self.spec, self.new.replicas
        if spec.is_recreate or size >= spec.replicas:
            return spec.replicas
        room = spec.max_replicas - self.total
        return size + min(room, spec.replicas - size) if room > 0 else size

    def _scale_down_old_available(self) -> None:
        assert self.new is not None, "no new replica set"
        active = [each for each in self.old if each.replicas]
        if not active:
            return
        not_yet = self.new.replicas - self.new.available
        # New replicas that are not available yet may never be: old ones must stay for them.
        most = self.total - self.spec.min_available - not_yet
        if most <= 0:
            return
        if not self._clean_up_unhealthy(most):
            return
        available = sum(each.available for each in (*active, self.new))
        left = available - self.spec.min_available
        for each in active:
            if left <= 0:
                break
            fewer = min(each.replicas, left)
            self.resize(each, each.replicas - fewer)
            left -= fewer

    def _clean_up_unhealthy(self, most: int) -> bool:
        """Scale down unavailable replicas first, which does not reduce availability.

        Returns
        -------
        bool
            False if a set still has more available replicas than it should: upstream takes that as
            an error, and scales down no more until the set has reported its size.
        """
        for each in self.old:
            if most <= 0:
                break
            fewer = min(most, each.replicas - each.available)
            if each.replicas and fewer < 0:
                return False
            if each.replicas and fewer > 0:
                self.resize(each, each.replicas - fewer)
                most -= fewer
        return True

    def scale_down_old(self) -> bool:
        """Scale all old sets to 0; return whether any changed."""
        filled = [each for each in self.old if each.replicas]
        for each in filled:
            self.resize(each, 0)
        return bool(filled)

    # ---------------------------------------------------------------------------- history

    def excess_history(self) -> list[RolloutSet]:
        """Return the old sets beyond the revision history limit, oldest first.

        Notes
        -----
        Upstream: sync.go, cleanupDeployment
        """
        old = [each for each in self.old if not each.is_terminating]
        count = max(len(old) - self.spec.revision_history_limit, 0)
        old.sort(key=lambda each: (each.revision, each.created, each.name))
        return [
            each
            for each in old[:count]
            if not each.reported and not each.replicas and each.is_observed
        ]

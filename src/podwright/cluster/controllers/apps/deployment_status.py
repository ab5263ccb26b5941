"""The status of deployments: counts, and the conditions Available and Progressing.

Upstream: pkg/controller/deployment/progress.go; sync.go, calculateStatus;
pkg/controller/deployment/util/deployment_util.go; pkg/controller/deployment/sync.go,
getNewReplicaSet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from podwright.apimachinery.objects import (
    SECOND_NS,
    Document,
    KubernetesObject,
    timestamp_ns,
    timestamp_text,
)
from podwright.cluster.controllers.adoption import controller_reference_document
from podwright.cluster.controllers.apps.rollout import (
    REPLICA_FAILURE,
    DeploymentSpec,
    Rollout,
    RolloutSet,
)
from podwright.cluster.controllers.workload_fields import spec_of, status_of, without_zeros

PROGRESSING: Final = "Progressing"
AVAILABLE: Final = "Available"
NEW_AVAILABLE: Final = "NewReplicaSetAvailable"
TIMED_OUT: Final = "ProgressDeadlineExceeded"


class StatusDraft:
    """The status of a deployment while it is synced.

    Parameters
    ----------
    deployment : KubernetesObject
    now_ns : int
    collision_count : int, optional
        The number of hash collisions of replica set names.

    Attributes
    ----------
    current : dict
        The stored status.
    conditions : list of dict
        The conditions of the next status.
    collision_count : int, optional
        As the parameter; callers may set it.
    """

    def __init__(
        self, deployment: KubernetesObject, now_ns: int, collision_count: int | None
    ) -> None:
        self.current = status_of(deployment)
        self.conditions: list[Document] = list(self.current.get("conditions") or ())
        self._deployment = deployment
        self.collision_count = collision_count
        self._now_ns = now_ns

    def condition(self, kind: str) -> Document | None:
        """Return a condition."""
        return next((each for each in self.conditions if each.get("type") == kind), None)

    def remove(self, kind: str) -> None:
        """Remove a condition."""
        self.conditions = [each for each in self.conditions if each.get("type") != kind]

    def set(self, kind: str, status: str, reason: str, message: str) -> None:
        """Set a condition, unless it has the same status and reason already.

        Notes
        -----
        Upstream: deployment_util.go, SetDeploymentCondition
        """
        present = self.condition(kind)
        now = timestamp_text(self._now_ns)
        since = now
        if present is not None and present.get("status") == status:
            if present.get("reason") == reason:
                return
            since = present.get("lastTransitionTime") or now
        self._put(kind, status, reason, message, since)

    def _put(self, kind: str, status: str, reason: str, message: str, since: str) -> None:
        self.remove(kind)
        self.conditions.append(
            {
                "type": kind,
                "status": status,
                "lastUpdateTime": timestamp_text(self._now_ns),
                "lastTransitionTime": since,
                "reason": reason,
                "message": message,
            }
        )

    def finish(self, rollout: Rollout, *, is_rolling: bool) -> Document:
        """Return the new status.

        Parameters
        ----------
        rollout : Rollout
            The replica sets, whose counts are added up.
        is_rolling : bool
            Whether to evaluate progress: false while paused and in a sync that scales.
        """
        counts = self._counts(rollout)
        available = counts["availableReplicas"]
        if available >= rollout.spec.min_available:
            message = "Deployment has minimum availability."
            self.set(AVAILABLE, "True", "MinimumReplicasAvailable", message)
        else:
            message = "Deployment does not have minimum availability."
            self.set(AVAILABLE, "False", "MinimumReplicasUnavailable", message)
        if is_rolling:
            self._set_progress(rollout, counts)
            self._set_replica_failure(rollout)
        always = ["terminatingReplicas"]
        status = without_zeros(counts, always)
        status["conditions"] = self.conditions
        if self.collision_count is not None:
            status["collisionCount"] = self.collision_count
        return status

    def _counts(self, rollout: Rollout) -> dict[str, int]:
        sets = rollout.sets
        available = sum(each.available for each in sets)
        return {
            "observedGeneration": self._deployment.metadata.generation,
            "replicas": sum(each.reported for each in sets),
            "updatedReplicas": rollout.new.reported if rollout.new is not None else 0,
            "readyReplicas": sum(each.ready for each in sets),
            "availableReplicas": available,
            "unavailableReplicas": max(rollout.total - available, 0),
        } | _terminating(each.terminating for each in sets)

    # ---------------------------------------------------------------------------- progress

    def _set_progress(self, rollout: Rollout, counts: dict[str, int]) -> None:
        """Set the condition Progressing: complete, in progress, or timed out.

        Notes
        -----
        Upstream: progress.go, syncRolloutStatus
        """
        deadline = rollout.spec.progress_deadline_seconds
        if deadline is None:
            self.remove(PROGRESSING)
            return
        present = self.condition(PROGRESSING)
        is_updated = counts["replicas"] == counts["updatedReplicas"]
        if is_updated and present is not None and present.get("reason") == NEW_AVAILABLE:
            return
        subject = self._subject(rollout.new)
        if is_complete(rollout, counts):
            text = f"{subject} has successfully progressed."
            self.set(PROGRESSING, "True", NEW_AVAILABLE, text)
        elif self._is_progressing(counts):
            since = timestamp_text(self._now_ns)
            if present is not None and present.get("status") == "True":
                since = present.get("lastTransitionTime") or since
            text = f"{subject} is progressing."
            self._put(PROGRESSING, "True", "ReplicaSetUpdated", text, since)
        elif self._has_timed_out(deadline, present):
            text = f"{subject} has timed out progressing."
            self.set(PROGRESSING, "False", TIMED_OUT, text)

    def _set_replica_failure(self, rollout: Rollout) -> None:
        """Copy the condition ReplicaFailure from a replica set; the new one has precedence.

        Notes
        -----
        Upstream: progress.go, getReplicaFailures; deployment_util.go,
        ReplicaSetToDeploymentCondition
        """
        sets = ([rollout.new] if rollout.new is not None else []) + list(rollout.sets)
        failure = next((each.failure for each in sets if each.failure is not None), None)
        if failure is None:
            self.remove(REPLICA_FAILURE)
            return
        present = self.condition(REPLICA_FAILURE)
        if present is None or present.get("reason") != failure["reason"]:
            self.remove(REPLICA_FAILURE)
            since = failure["lastTransitionTime"]
            self.conditions.append({**failure, "lastUpdateTime": since})

    def _subject(self, new: RolloutSet | None) -> str:
        if new is not None:
            return f'ReplicaSet "{new.name}"'
        return f'Deployment "{self._deployment.name}"'

    def _is_progressing(self, counts: dict[str, int]) -> bool:
        was = {name: int(self.current.get(name) or 0) for name in counts}
        return (
            counts["updatedReplicas"] > was["updatedReplicas"]
            or counts["replicas"] - counts["updatedReplicas"]
            < was["replicas"] - was["updatedReplicas"]
            or counts["readyReplicas"] > was["readyReplicas"]
            or counts["availableReplicas"] > was["availableReplicas"]
        )

    def _has_timed_out(self, deadline: int, present: Document | None) -> bool:
        if present is None or present.get("reason") == NEW_AVAILABLE:
            return False
        if present.get("reason") == TIMED_OUT:
            return True
        begun_ns = timestamp_ns(present.get("lastUpdateTime")) or 0
        return begun_ns + deadline * SECOND_NS < self._now_ns

    def deadline_ns(self, rollout: Rollout, status: Document) -> int | None:
        """Return when progress times out, None if it cannot or has already.

        Notes
        -----
        Upstream: progress.go, requeueStuckDeployment, which also adds one second.
        """
        present = self.condition(PROGRESSING)
        deadline = rollout.spec.progress_deadline_seconds
        if present is None or deadline is None or present.get("reason") == TIMED_OUT:
            return None
        if is_complete(rollout, status) or present.get("reason") == NEW_AVAILABLE:
            return None
        begun_ns = timestamp_ns(present.get("lastUpdateTime")) or self._now_ns
        return begun_ns + (deadline + 1) * SECOND_NS


def is_complete(rollout: Rollout, counts: Document) -> bool:
    """Whether all replicas are updated and available, and no old pod is left.

    Notes
    -----
    Upstream: deployment_util.go, DeploymentComplete, which also compares the generations. Each
    status that is written here has the current one.
    """
    replicas = rollout.spec.replicas
    names = ("updatedReplicas", "replicas", "availableReplicas")
    return all(counts.get(name, 0) == replicas for name in names)


# The replica sets of deployments, as documents.

TEMPLATE_HASH: Final = "pod-template-hash"
"""The label that distinguishes the pods of different templates of a deployment."""


def replica_set_document(
    deployment: KubernetesObject,
    spec: DeploymentSpec,
    *,
    name: str,
    label: str,
    replicas: int,
    annotations: Mapping[str, str],
) -> Document:
    """Return the replica set for the current template of a deployment.

    Parameters
    ----------
    label : str
        The hash of the template, which is the value of `TEMPLATE_HASH`.
    """
    template = spec.template
    metadata: Document = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), TEMPLATE_HASH: label}
    selector: Document = spec_of(deployment).get("selector") or {}
    match_labels = {**(selector.get("matchLabels") or {}), TEMPLATE_HASH: label}
    parsed: Document = {
        "replicas": replicas,
        "selector": {**selector, "matchLabels": match_labels},
        "template": {**template, "metadata": {**metadata, "labels": labels}},
    }
    if spec.min_ready_seconds:
        parsed["minReadySeconds"] = spec.min_ready_seconds
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": deployment.namespace,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [controller_reference_document(deployment)],
        },
        "spec": parsed,
        "status": {"replicas": 0},
    }


def _terminating(counts: Iterable[int | None]) -> dict[str, int]:
    """Return the terminating replicas of all sets, if each set has counted its own.

    Upstream: deployment_util.go, GetTerminatingReplicaCountForReplicaSets
    """
    total = 0
    for count in counts:
        if count is None:
            return {}
        total += count
    return {"terminatingReplicas": total}

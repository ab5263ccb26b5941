"""Bindings and evictions of pods.

Upstream: pkg/registry/core/pod/storage/{storage,eviction}.go
"""

from __future__ import annotations

from typing import cast

import msgspec

from podwright.apimachinery.objects import Document, Pod, PodDisruptionBudget, aggregated, encode
from podwright.cluster.api.deletion import DeleteOptions
from podwright.cluster.api.pods.binding import (
    NO_LABELS,
    Binding,
    binding_problem,
    with_probe_times,
)
from podwright.cluster.api.pods.eviction import Eviction, decide_eviction, with_disruption_target
from podwright.cluster.api.preconditions import check_path_segment, deletion_conflict
from podwright.cluster.api.rejections import Rejection, unclassified_error
from podwright.cluster.api.stages.write import ObjectWrite, Parts, Write
from podwright.cluster.store import POD


def read_binding(_parts: Parts, write: ObjectWrite) -> None:
    """Read what a binding sets.

    Upstream: pkg/apis/core/validation/validation.go, ValidatePodBinding;
    pkg/registry/core/pod/storage/storage.go, Create

    Raises
    ------
    Rejection
        The target is not a node.
    """
    target = write.new.get("target") or {}
    problems = []
    if target.get("kind") and target["kind"] != "Node":
        problems.append(
            f'target.kind: Unsupported value: "{target["kind"]}": supported values: "Node",'
            ' "<empty>"'
        )
    if not target.get("name"):
        problems.append("target.name: Required value")
    if problems:
        raise unclassified_error(aggregated(problems))
    sent: Document = write.new.get("metadata") or {}
    write.body = Binding(
        node=target["name"],
        uid=sent.get("uid") or "",
        version=sent.get("resourceVersion") or "",
        labels=sent.get("labels") or NO_LABELS,
        annotations=sent.get("annotations") or NO_LABELS,
    )


def check_name(_parts: Parts, write: Write) -> None:
    """Check that an object can have the name of the request."""
    assert write.attributes is not None, "a client has sent the request"
    check_path_segment(write.attributes.name)


def check_binding(_parts: Parts, write: Write) -> Rejection | None:
    """Check the preconditions of a binding, and that the pod can be bound."""
    return binding_problem(write.current, write.body, is_dry_run=write.is_dry_run)


def bind(parts: Parts, write: Write) -> Rejection | None:
    """Store the bound pod."""
    write.stored = parts.storage.bind(
        write.current,
        write.body,
        write.now_ns,
        in_go_form=parts.profile.in_go_form,
        is_dry_run=write.is_dry_run,
    )
    return None


def charge_budget(parts: Parts, write: Write) -> Rejection | None:
    """Charge the disruption budget of a pod, so that concurrent evictions cannot exceed it.

    It stays charged if the eviction is rejected later.
    """
    pod: Pod = write.current
    budgets = parts.storage.store.list(PodDisruptionBudget, namespace=pod.namespace).objects
    found = decide_eviction(pod, cast("list[PodDisruptionBudget]", budgets), write.now_ns)
    if isinstance(found, Rejection):
        return found
    if found is not None and not write.is_dry_run:
        parts.server_status.update(encode(found), write.now_ns)
    return None


def announce_eviction(parts: Parts, write: Write) -> Rejection | None:
    """Set the condition, so that watchers see the reason before the deletion.

    Upstream: pkg/registry/core/pod/storage/eviction.go, addConditionAndDeletePod
    """
    pod: Pod = write.current
    eviction: Eviction = write.body
    if write.is_dry_run:
        return None
    # An empty text is not a precondition here.
    early = DeleteOptions(uid=eviction.uid or None, resource_version=eviction.version or None)
    if rejection := deletion_conflict(POD, pod, early):
        return rejection
    target = with_disruption_target(
        pod,
        "EvictionByEvictionAPI",
        "Eviction API: evicting",
        write.now_ns,
        sets_observed_generation=False,
    )
    if parts.profile.in_go_form:
        target = with_probe_times(target)
    write.current = parts.storage.update(target, scope="status").object
    return None


def read_options(_parts: Parts, write: Write) -> Rejection | None:
    """Read the options of the deletion, which are validated last."""
    options = write.body.read_options()
    if not write.is_dry_run:
        # The deletion has the version of the pod with its condition.
        options = msgspec.structs.replace(options, resource_version=None)
    write.body = options
    return None

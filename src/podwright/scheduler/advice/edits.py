"""Edits: single changes of a pod, a node or the cluster, and plans of several.

Each edit describes itself in one phrase and has an effort, by which remedies are ordered: the
smallest change first. The unit of the effort is one line of a manifest or one kubectl command
that affects nothing else; a node to be bought is 5.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    NamespacedName,
    Node,
    Object,
    Pod,
    ResourceClaim,
    with_fields,
)
from podwright.scheduler.columns import Cluster


class ReplicaCount(NamedTuple):
    """A number of replicas, or the parallelism of a Job.

    Attributes
    ----------
    kind : str
        The kind of the workload, such as `Deployment`.
    key : str
        Its `namespace/name`.
    replicas : int
        The number.
    """

    kind: str
    key: NamespacedName
    replicas: int


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """One change.

    Parameters
    ----------
    key : tuple
        What is changed, without the node that is changed: edits of one key are alternatives.
    text : str
        The change in the imperative.
    effort : float
    command : str
        The kubectl command that makes the change; "" if there is none.
    node : str
        The node that `on_node` changes, or that the edit is about.
    on_pod, on_node : callable, optional
        Return the changed copy.
    claim : str
        The ResourceClaim that `on_claim` changes, as `namespace/name`.
    on_claim : callable, optional
        Returns the changed copy.
    put : tuple of Object
        Objects to create.
    delete : tuple of Pod
        Placed pods to remove.
    drop : tuple of Object
        Other objects to delete.
    each : tuple of tuple of Pod
        Instead of `delete`: sets of pods of which a controller removes one. All have to help.
    scale : ReplicaCount, optional
        What makes the controller of the deleted pods delete them.
    extender : int
        The extender that has to accept all nodes; -1: none.
    by_hand : str
        What a person has to look at, if no request makes the change; "" otherwise.
    skipped : range
        Smaller numbers of the same change that no other edit has: to try if this one helps.
    with_number : callable, optional
        Returns the edit with such a number.
    """

    key: tuple[Hashable, ...]
    text: str
    effort: float
    command: str = ""
    node: str = ""
    on_pod: Callable[[Pod], Pod] | None = None
    on_node: Callable[[Node], Node] | None = None
    claim: str = ""
    on_claim: Callable[[ResourceClaim], ResourceClaim] | None = None
    put: tuple[Object, ...] = ()
    delete: tuple[Pod, ...] = ()
    drop: tuple[Object, ...] = ()
    each: tuple[tuple[Pod, ...], ...] = ()
    scale: ReplicaCount | None = None
    extender: int = -1
    by_hand: str = ""
    skipped: range = range(0)
    with_number: Callable[[int], Edit] | None = None


Plan: TypeAlias = tuple[Edit, ...]


class Change(NamedTuple):
    """A plan applied to the objects of a cluster.

    Parameters
    ----------
    pod : Pod
        The changed pod.
    put : tuple of Object
        Changed and new objects, without the pod.
    delete : tuple of Pod
        Placed pods that are removed.
    drop : tuple of Object
        Other objects that are deleted.
    bypassed : frozenset of int
        The extenders whose filters accept all nodes.
    evicts : bool
        Whether the pod may evict others; if not, trials need no preemption.
    """

    pod: Pod
    put: tuple[Object, ...] = ()
    delete: tuple[Pod, ...] = ()
    drop: tuple[Object, ...] = ()
    bypassed: frozenset[int] = frozenset()
    evicts: bool = True

    def affects_others(self, before: Pod) -> bool:
        """Return whether the pods ahead in the queue may be scheduled differently."""
        return bool(self.put or self.delete or self.drop or self.bypassed) or (
            self.pod.priority != before.priority
        )


def effort_of(plan: Plan) -> float:
    """Return the effort of all edits of a plan."""
    return sum(edit.effort for edit in plan)


def apply(plan: Plan, pod: Pod, cluster: Cluster) -> Change:
    """Apply the edits of a plan to copies of the objects."""
    nodes: dict[str, Node] = {}
    claims: dict[str, ResourceClaim] = {}
    put: list[Object] = []
    delete: list[Pod] = []
    drop: list[Object] = []
    bypassed: set[int] = set()
    for edit in plan:
        if edit.on_pod is not None:
            pod = edit.on_pod(pod)
        if edit.on_node is not None:
            node = nodes.get(edit.node) or cluster.nodes.objects[cluster.nodes.slot_of[edit.node]]
            assert node is not None, f"node {edit.node} does not exist"
            nodes[edit.node] = edit.on_node(node)
        if edit.on_claim is not None:
            claim = claims.get(edit.claim) or cluster.devices.claim(edit.claim)
            assert claim is not None, f"claim {edit.claim} does not exist"
            claims[edit.claim] = edit.on_claim(claim)
        put += edit.put
        delete += edit.delete
        drop += edit.drop
        if edit.extender >= 0:
            bypassed.add(edit.extender)
    return Change(
        pod,
        put=(*nodes.values(), *claims.values(), *put),
        delete=tuple(delete),
        drop=tuple(drop),
        bypassed=frozenset(bypassed),
    )


def pod_edit(
    key: tuple[Hashable, ...], text: str, effort: float, change: Callable[[Pod], Pod]
) -> Edit:
    """Return an edit of the pod."""
    return Edit(key=key, text=text, effort=effort, on_pod=change)


def spec_edit(key: tuple[Hashable, ...], text: str, effort: float, **fields: object) -> Edit:
    """Return an edit that sets fields of the pod's spec to fixed values."""
    return pod_edit(key, text, effort, lambda pod: with_fields(pod, "spec", **fields))


def numbered(numbers: Iterable[int], with_number: Callable[[int], Edit]) -> Iterator[Edit]:
    """Yield an edit for each of some increasing numbers, with those that are skipped before it."""
    last = 0
    for number in numbers:
        yield msgspec.structs.replace(
            with_number(number), skipped=range(last + 1, number), with_number=with_number
        )
        last = number


def distinct(edits: Iterable[Edit]) -> Plan:
    """Return the edits without repetitions of one key on one node."""
    return tuple({(edit.key, edit.node): edit for edit in edits}.values())

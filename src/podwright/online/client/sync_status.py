"""The state of a sync, as it is reported to its destination over HTTP.

`podwright sync` sends it, and the API server shows it at `/podwright/v1/sync`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, TypeAlias

import msgspec

SyncPhase: TypeAlias = Literal["listing", "following", "stopped"]


class BoundPods(StrEnum):
    """What happens to pods that have a node at the source."""

    initial = "initial"
    """Those of the first list keep it."""
    none = "none"
    """None keeps it."""
    kss = "kss"
    """All that have it when they are first seen keep it, as in kube-scheduler-simulator."""
    source = "source"
    """All keep it, and pods that get one later are bound to it: the source schedules."""


class _Document(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A part of the reported state: its keys are in camelCase, and unknown ones are errors."""


class SyncPolicies(_Document, frozen=True, kw_only=True):
    """The rules of a sync.

    Attributes
    ----------
    bound : BoundPods
        Which pods keep the node that they have at the source.
    excludes_running : bool
        Whether to leave out the pods that have a node in the first list.
    follows_labels : bool
        Whether changed labels of pods with a node are mirrored.
    follows_resources : bool
        Whether changed requests and limits of pods with a node are mirrored.
    mirrors_pod_status : bool
        Whether the phase of pods is mirrored, so that finished pods free their resources.
    has_explicit_spread : bool
        Whether the selector that Services and owners imply becomes constraints of the pod, instead
        of an annotation that only podwright reads.
    keeps_owners : bool
        Whether pods keep their owner references.
    keeps_accounts : bool
        Whether pods keep their service accounts, and the token volumes that were injected.
    ignores_deletions : bool
        Whether objects that the source deletes stay at the destination.
    restores_deleted : bool
        Whether a sync that starts again creates the pods again that the destination has deleted.
    freezes_node_status : bool
        Whether nodes keep the status with which they were created.
    """

    bound: BoundPods = BoundPods.initial
    excludes_running: bool = False
    follows_labels: bool = False
    follows_resources: bool = False
    mirrors_pod_status: bool = False
    has_explicit_spread: bool = False
    keeps_owners: bool = False
    keeps_accounts: bool = False
    ignores_deletions: bool = False
    restores_deleted: bool = False
    freezes_node_status: bool = False


class SyncSource(_Document, frozen=True, kw_only=True):
    """The cluster that is followed.

    Attributes
    ----------
    name : str
        Such as `context "prod"`.
    server : str
        Its address.
    identity : str
        The uid of its namespace kube-system.
    """

    name: str
    server: str
    identity: str


class SyncScope(_Document, frozen=True, kw_only=True):
    """Which objects are followed.

    Attributes
    ----------
    kinds : list of str
        Resources.
    namespaces : list of str
        None for all.
    selector : str
        A label selector; "" for all objects.
    """

    kinds: Sequence[str]
    namespaces: Sequence[str]
    selector: str


class SyncLag(_Document, frozen=True, kw_only=True):
    """How long changes take from their arrival to their durable write.

    Attributes
    ----------
    changes : int
        The changes after the first list that were written.
    waiting : int
        The groups of changes that wait.
    last_seconds, mean_seconds, longest_seconds : float
    """

    changes: int
    waiting: int
    last_seconds: float
    mean_seconds: float
    longest_seconds: float


class SyncCounts(_Document, frozen=True, kw_only=True):
    """What was done.

    Attributes
    ----------
    created, updated, deleted : int
        Objects of the destination.
    rescheduled : int
        Pods that had a node when they were first seen, and are scheduled by the destination.
    ignored : int
        Changes of pods with a node, which are not mirrored.
    kept_deleted : int
        Objects, and changes of objects, that the destination has deleted and that stay deleted.
    """

    created: int
    updated: int
    deleted: int
    rescheduled: int
    ignored: int
    kept_deleted: int


class SyncDrift(_Document, frozen=True, kw_only=True):
    """What the destination has placed or bound otherwise than the source.

    Attributes
    ----------
    pods : int
        Pods on another node.
    claims : int
        Bindings of claims and volumes that were not taken over.
    """

    pods: int
    claims: int


class Unfreed(_Document, frozen=True, kw_only=True):
    """Pods that have finished at the source and occupy resources at the destination.

    Attributes
    ----------
    pods : int
    milli_cpu, memory_bytes : int
        What they request together.
    option : str
        The option of the sync that frees them.
    """

    pods: int
    milli_cpu: int
    memory_bytes: int
    option: str = "--pod-status"


class SyncError(_Document, frozen=True, kw_only=True):
    """Rejected requests of one kind.

    Attributes
    ----------
    kind : str
        Of the object.
    reason : str
        Of the rejection, such as Forbidden.
    count : int
    """

    kind: str
    reason: str
    count: int


class SyncDifference(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A pod that is on different nodes.

    Attributes
    ----------
    pod : str
        Its `namespace/name`.
    nodes : list of str
        At the source, then at each destination; "" where it has none.
    """

    pod: str
    nodes: Sequence[str]


class SyncKind(_Document, frozen=True, kw_only=True):
    """How many objects of a kind there are.

    Attributes
    ----------
    kind : str
        The resource.
    source, here : int
        At the source within the scope, and at the destination.
    """

    kind: str
    source: int
    here: int


class SyncFieldDifference(_Document, frozen=True, kw_only=True):
    """A value of the destination that is not that of the source.

    Attributes
    ----------
    kind, key : str
        The resource and the `namespace/name` of the object.
    path : str
        Of the field; "" for the whole object.
    source, here : str
        The values as text.
    policy : str
        What explains it; "" if nothing does.
    """

    kind: str
    key: str
    path: str
    source: str
    here: str
    policy: str


class SyncCheck(_Document, frozen=True, kw_only=True):
    """A comparison of the destination with its source, as `podwright sync --check` makes it.

    Attributes
    ----------
    checked_at : str
        RFC 3339.
    compared : int
        The objects of the source that were compared.
    kinds : list of SyncKind
    differences : list of SyncFieldDifference
    differences_left_out : int
        How many more there are.
    unexplained : int
        How many differences no policy explains.
    error : str
        Why there is no result; "" if there is one.
    """

    checked_at: str
    compared: int = 0
    kinds: Sequence[SyncKind] = ()
    differences: Sequence[SyncFieldDifference] = ()
    differences_left_out: int = 0
    unexplained: int = 0
    error: str = ""


class SyncRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a sync is requested to do, as the reply to its report.

    Attributes
    ----------
    check : bool
        Whether to compare the destination with the source.
    """

    check: bool = False


class SyncStatus(_Document, frozen=True, kw_only=True):
    """The state of a sync and of one of its destinations.

    Attributes
    ----------
    source : SyncSource
    phase : str
    started_at, reported_at : str
        RFC 3339, by the clock of the sync.
    scope : SyncScope
    policies : SyncPolicies
    lag : SyncLag
    counts : SyncCounts
    drift : SyncDrift
    unfreed : Unfreed
    errors : list of SyncError
    last_error : str
        "" without one.
    source_failures : int
        Failed requests to the source, and cut watches.
    warnings : list of str
        Which kinds are not followed, and why.
    sides : list of str
        The names of the source and of the destinations, in the order of `nodes`.
    here : int
        Which of the sides the destination is.
    differences : list of SyncDifference
        The pods that all sides have placed, and not on the same node.
    differences_left_out : int
        How many more there are.
    check : SyncCheck
        The last comparison of all fields; absent without one.
    seconds_since_report : float
        By the clock of the server, which sets it in its answers.
    """

    source: SyncSource
    phase: SyncPhase
    started_at: str
    reported_at: str
    scope: SyncScope
    policies: SyncPolicies
    lag: SyncLag
    counts: SyncCounts
    drift: SyncDrift
    unfreed: Unfreed
    errors: Sequence[SyncError]
    last_error: str
    source_failures: int
    warnings: Sequence[str]
    sides: Sequence[str]
    here: int
    differences: Sequence[SyncDifference]
    differences_left_out: int
    check: SyncCheck | msgspec.UnsetType = msgspec.UNSET
    seconds_since_report: float | msgspec.UnsetType = msgspec.UNSET

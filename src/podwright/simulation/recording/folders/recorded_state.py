"""The cluster and the queue as they were at a time of a recorded run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack

import msgspec

from podwright._html import paragraphs, section, table
from podwright._version import __version__
from podwright.apimachinery.objects import (
    NamespacedName,
    Object,
    Pod,
    Time,
    timestamp_text,
    with_node_name,
)
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import Machine
from podwright.scheduler.queueing import QueuedPod, QueueName
from podwright.simulation.recording.log.decision_log import DecisionLog, require_log
from podwright.simulation.recording.log.log_format import LogError
from podwright.simulation.recording.log.record import Recorder
from podwright.simulation.recording.log.replay import Replay, replay, verify_replay


class ClusterAt(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster at a time.

    Attributes
    ----------
    now_ns : int
    objects : tuple of object
        As the API server reported them, pods last.
    node_of : dict of str to str
        The node name of each pod that is assigned to a node, or assumed there.
    assumed : frozenset of str
        The pods among them that the API server has not confirmed.
    """

    now_ns: int
    objects: tuple[Object, ...]
    node_of: Mapping[NamespacedName, str]
    assumed: frozenset[NamespacedName]

    def __repr__(self) -> str:
        return (
            f"<ClusterAt {timestamp_text(self.now_ns)}: {len(self.objects)} objects,"
            f" {len(self.node_of)} pods on nodes>"
        )

    def _repr_html_(self) -> str:
        kinds = Counter(obj.kind for obj in self.objects)
        return section(
            f"Cluster at {timestamp_text(self.now_ns)}",
            table(("Kind", "Objects"), list(kinds.items())),
            table(("Pod", "Node"), list(self.node_of.items())),
        )


class PendingPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod in the queue at a time.

    Attributes
    ----------
    attempts : int
        The number of its attempts.
    since_ns : int
        The time of its last move within the queue.
    backoff_end_ns : int
        The end of its backoff; -1 if no attempt failed.
    waits_for : tuple of str
        The plugins that rejected it, or gate it.
    """

    pod: NamespacedName
    priority: int
    attempts: int
    since_ns: int
    backoff_end_ns: int
    waits_for: tuple[str, ...]


class QueueAt(msgspec.Struct, frozen=True, kw_only=True):
    """The queue at a time: the pods of each subqueue, in the order in which they leave it.

    Attributes
    ----------
    now_ns : int
    places : dict of str to tuple of PendingPod
    nominated : dict of str to tuple of str
        The pods that are nominated to each node.
    """

    now_ns: int
    places: Mapping[str, tuple[PendingPod, ...]]
    nominated: Mapping[str, tuple[NamespacedName, ...]]

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(pods)} {place}" for place, pods in self.places.items() if pods)
        return f"<QueueAt {timestamp_text(self.now_ns)}: {counts or 'no pods'}>"

    def _repr_html_(self) -> str:
        pods = [
            (pod.pod, place, pod.priority, pod.attempts, ", ".join(pod.waits_for))
            for place, several in self.places.items()
            for pod in several
        ]
        return section(
            f"Queue at {timestamp_text(self.now_ns)}",
            table(("Pod", "Place", "Priority", "Attempts", "Waits for"), pods)
            or paragraphs(["No pods."]),
        )


def cluster_at(log: DecisionLog, at: Time, *, plugins: Iterable[type[Plugin]] = ()) -> ClusterAt:
    """Return the cluster as it was after every event up to a time.

    Parameters
    ----------
    log : DecisionLog
        The log of the run.
    at : Time
        A duration since the start of the run, such as `1h`, or a time.
    plugins : iterable of type
        The out-of-tree plugin classes that the run was recorded with.
    """
    require_log(log)
    at_ns = log.read_time(at)
    return cluster_of(replay(log, until=log.index_at_ns(at_ns), plugins=plugins), at_ns)


def cluster_of(machine: Machine, now_ns: int) -> ClusterAt:
    """Return the cluster of a machine."""
    names = machine.cluster.nodes.names
    return ClusterAt(
        now_ns=now_ns,
        objects=machine.objects(),
        node_of={key: names[placed.slot] for key, placed in machine.cluster.pods.items()},
        assumed=frozenset(machine.assumed()),
    )


def placed_objects(machine: Machine) -> list[Object]:
    """Return the objects of a machine; pods that are being bound have their nodes."""
    assumed = machine.assumed()
    return [
        with_node_name(obj, assumed[obj.key])
        if isinstance(obj, Pod) and obj.key in assumed
        else obj
        for obj in machine.objects()
    ]


def queue_at(log: DecisionLog, at: Time, *, plugins: Iterable[type[Plugin]] = ()) -> QueueAt:
    """Return the queue as it was after every event up to a time.

    Parameters
    ----------
    log, at, plugins
        As for `cluster_at`.
    """
    require_log(log)
    at_ns = log.read_time(at)
    return queue_of(replay(log, until=log.index_at_ns(at_ns), plugins=plugins), at_ns)


def queue_of(machine: Machine, now_ns: int) -> QueueAt:
    """Return the queue of a machine."""
    queue = machine.queue

    def pending(queued: QueuedPod) -> PendingPod:
        return PendingPod(
            pod=queued.key,
            priority=queued.priority,
            attempts=queued.attempts,
            since_ns=queued.timestamp_ns,
            backoff_end_ns=queue.backoff_end_ns(queued),
            waits_for=tuple(sorted(queued.rejectors)),
        )

    return QueueAt(
        now_ns=now_ns,
        places={
            place.value: tuple(map(pending, queue.pods_in(place)))
            for place in QueueName
            if place is not QueueName.NOWHERE
        },
        nominated={
            node: tuple(pod.key for pod in pods) for node, pods in queue.nominator.nodes().items()
        },
    )


# Resuming a recorded run where its log ends.


def resume(
    path: str, *, until: int | None = None, plugins: Iterable[type[Plugin]] = ()
) -> Recorder:
    """Continue a recorded run where its log ends.

    The machine is restored from the last checkpoint that has the state of all plugins, or built
    again, and handles the events after it; its actions must equal the recorded ones. Recording then
    continues. A driver uses the same objects as the machine: `Recorder.machine.objects()`.

    Parameters
    ----------
    path : str
        The folder of a log that no other process writes.
    until : int, optional
        Continue after this number of events, where a block or a checkpoint ends, and discard the
        rest.
    plugins : iterable of type
        The user's own plugin classes that it was recorded with.

    Returns
    -------
    Recorder
        The same as `record` returns.

    Raises
    ------
    LogError
        If the log cannot be read or written, another process writes it, or the replay differs
        from the recording; the log is not changed then.
    """
    with ExitStack() as opened:
        log = opened.enter_context(DecisionLog.open(path, append=True, until=until))
        recorder = resume_log(log, path, plugins=plugins)
        opened.pop_all()
    return recorder


def resume_log(log: DecisionLog, name: str, *, plugins: Iterable[type[Plugin]] = ()) -> Recorder:
    """Continue a log that can be written; see `resume`.

    Parameters
    ----------
    name : str
        What the log is called in errors.
    """
    # Unchecked, because `verify_replay` compares all actions and describes the difference.
    run = Replay(log, plugins=plugins, objects=log.objects(), is_checked=False)
    outcome = verify_replay(run)
    if outcome.difference is not None:
        raise LogError(
            f"{name} cannot be resumed: the decisions of podwright {__version__} differ from"
            f" the recorded ones; it was left as it is. {outcome.difference}"
        )
    return Recorder(run.machine, log)

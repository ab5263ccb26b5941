"""The results of scheduling as annotations of pods, as kube-scheduler-simulator stores them.

After a pod is bound or an attempt for it fails, the results of the attempt and of all before are
merged into its annotations, through the API and after the turn (`FollowedResults`).

Upstream: kube-scheduler-simulator simulator/scheduler/storereflector/storereflector.go
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from podwright.apimachinery.objects import NamespacedName, Pod, PodwrightError
from podwright.cluster.api.endpoints import HttpRequest
from podwright.cluster.store import POD, Change, ObjectStore
from podwright.online.apiserver.cluster_client import ClusterClient, RequestFailed
from podwright.online.apiserver.readers import Readers
from podwright.online.apiserver.scheduling.served_scheduler import ServedScheduler
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.simulation.kss import PREFIX, LiveResults, within_limit
from podwright.simulation.recording import DecisionLog

_LOG = logging.getLogger(__name__)
_TOO_LONG: Final = (
    "pod %s is annotated without %s: annotations may take 262144 bytes. Further pods with as many"
    " results are not reported; explanations have all results"
)


class ResultAnnotations:
    """Annotates pods with the results of their attempts.

    Parameters
    ----------
    headers : mapping of str to str
        Those of the user who annotates the pods.
    """

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers
        self._decided: dict[NamespacedName, str] = {}
        self._wake = asyncio.Event()

    # ---------------------------------------------------------------- following the cluster

    def begin(self, store: ObjectStore, now_ns: int) -> None:
        """Follow the changes of pods from now on."""
        self._changes = store.follow(POD)

    def append(self, now_ns: int) -> None:
        """Note the pods that were bound, or could not be scheduled."""
        for change in self._changes:
            if _is_decided(change):
                self._decided[change.key] = change.object.metadata.uid
        self._changes.clear()
        if self._decided:
            self._wake.set()

    async def keep_up(self, turns: TurnLoop) -> None:
        """Annotate the pods until cancelled."""
        client = ClusterClient(turns, self._headers)
        results = FollowedResults(turns)
        has_warned = False
        while True:
            await self._wake.wait()
            self._wake.clear()
            decided, self._decided = self._decided, {}
            for pod, uid in decided.items():
                try:
                    found = await results.annotations(pod)
                except PodwrightError as error:
                    _LOG.error("pod %s is not annotated: %s", pod, error)
                    continue
                present = turns.cluster.store.get(POD, pod)
                if not found or present is None:
                    continue
                kept = within_limit(found, present.metadata.annotations)
                missing = [key.removeprefix(PREFIX) for key in found if key not in kept]
                if missing and not has_warned:
                    _LOG.warning(_TOO_LONG, pod, ", ".join(missing))
                    has_warned = True
                # Those left out are removed, since the ones of an attempt before may be there.
                await _annotate(client, pod, uid, {key: kept.get(key) for key in found})


async def _annotate(
    client: ClusterClient, pod: NamespacedName, uid: str, annotations: Mapping[str, str | None]
) -> None:
    namespace, _, name = pod.partition("/")
    patch = {"metadata": {"uid": uid, "annotations": annotations}}
    request = HttpRequest(
        "PATCH",
        f"/api/v1/namespaces/{namespace}/pods/{name}",
        "fieldManager=podwright-results",
        {"content-type": "application/merge-patch+json"},
        msgspec.json.encode(patch),
    )
    try:
        await client.body_of(request)
    except RequestFailed as error:
        present = client.turns.cluster.store.get(POD, pod)
        if present is not None and present.metadata.uid == uid:  # neither deleted nor replaced
            _LOG.error("pod %s is not annotated: %s", pod, error)


def _is_decided(change: Change) -> bool:
    """Whether a change binds a pod, or writes that it cannot be scheduled."""
    new, old = change.new, change.old
    if not isinstance(new, Pod) or not isinstance(old, Pod):
        return False
    is_bound = bool(new.spec.node_name) and not old.spec.node_name
    return is_bound or (not new.spec.node_name and _scheduled(new) != _scheduled(old))


def _scheduled(pod: Pod) -> list[tuple[str, str]]:
    return [
        (one.status, one.message) for one in pod.status.conditions if one.type == "PodScheduled"
    ]


# The results of all attempts in a served cluster, found while it continues.
#
# The decision log of each scheduler is followed in slices of turns, so that each attempt is
# explained once, and the turn loop is never held up. What the followers do not keep is found by a
# replay in a reader process.

SLICE_NS: Final = 5_000_000
"""How long a log is followed in one turn; one attempt more may be explained."""


class FollowedResults:
    """The annotations of pods, kept up to date with the logs of a cluster.

    Parameters
    ----------
    turns : TurnLoop
    """

    def __init__(self, turns: TurnLoop) -> None:
        self._turns = turns
        self._readers = Readers(turns)
        self._live: dict[ServedScheduler, tuple[DecisionLog, LiveResults]] = {}

    async def annotations(self, pod: NamespacedName) -> Mapping[str, str]:
        """Return the annotations of a pod; empty if there was no attempt.

        Raises
        ------
        LogError
            The log cannot be replayed.
        CancelledError
            The server stops.
        """
        turns = self._turns
        live = await turns.call(lambda _: self._live_of(pod))
        while not await turns.call(lambda _: live.advance(_slice())):
            pass
        if live.is_kept(pod):
            return await turns.call(lambda _: live.annotations(pod))
        return await self._readers.call(lambda _: live.annotations(pod))

    def _live_of(self, pod: NamespacedName) -> LiveResults:
        """Return the results of the scheduler of a pod, since its configuration was changed."""
        cluster = self._turns.cluster
        found = cluster.store.get(Pod, pod)
        name = "" if found is None else found.spec.scheduler_name
        scheduler = cluster.scheduler_of(name) or cluster.schedulers[0]
        log = scheduler.world.log
        known = self._live.get(scheduler)
        if known is None or known[0] is not log:
            plugins = scheduler.world.components.options.plugins
            known = self._live[scheduler] = log, LiveResults(log, plugins=plugins)
        return known[1]


def _slice() -> Callable[[], bool]:
    """Return a function that says whether a slice of real time, which starts now, has ended."""
    end_ns = time.perf_counter_ns() + SLICE_NS
    return lambda: time.perf_counter_ns() >= end_ns

"""Daemon sets: one pod on each eligible node.

Each sync evaluates the nodes that may have changed. It creates missing pods, and deletes
duplicate, misplaced and failed ones. A rolling update then deletes old pods, or creates new ones
beside them. A required node affinity ties each pod to its node; the scheduler binds it.

Upstream: pkg/controller/daemon/daemon_controller.go, update.go
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import msgspec

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import (
    NOTHING,
    SECOND_NS,
    Document,
    InvalidObject,
    KubernetesObject,
    NamespacedName,
    Node,
    Pod,
    Selector,
    is_ready,
    parse_int64,
)
from podwright.cluster.controllers.adoption import (
    PodOwnerController,
    adopted,
    released,
    selector_of,
)
from podwright.cluster.controllers.apps.controller_revisions import (
    REVISION_LABEL,
    RevisionNaming,
    Revisions,
    data_of,
    template_hash,
    template_patch,
)
from podwright.cluster.controllers.apps.daemon_pods import (
    GENERATION_LABEL,
    DaemonNodes,
    NodeContribution,
    Placement,
    UpdateState,
    base_daemon_pod,
    daemon_pod,
)
from podwright.cluster.controllers.apps.rollout import scaled_value
from podwright.cluster.controllers.interface import (
    Actions,
    ControllerAction,
    CreationEvents,
    Keys,
    Requests,
    Version,
)
from podwright.cluster.controllers.kinds import (
    CONTROLLER_REVISION,
    DAEMON_SET,
    NODE,
)
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.pod_state import available_from_ns, is_equivalent
from podwright.cluster.controllers.workload_fields import (
    is_only_status,
    spec_of,
    status_of,
    without_zeros,
)
from podwright.cluster.store import POD

BURST: Final = 250
"""How many pods one sync creates at most, and deletes at most (`daemon.BurstReplicas`)."""

_GENERATION: Final = "deprecated.daemonset.template.generation"
"""The annotation of a daemon set that counts the changes of its template."""

_NAMING: Final = RevisionNaming(template_hash, REVISION_LABEL)
_BACKOFF_NS: Final = SECOND_NS
_BACKOFF_MAX_NS: Final = 15 * 60 * SECOND_NS


class _Daemon:
    """The state of one daemon set between syncs."""

    def __init__(self) -> None:
        self.key: NamespacedName = ""
        self.nodes = DaemonNodes()
        self.spec: Document | None = None
        self.selector: Selector = NOTHING
        self.base: Pod | None = None
        self.placement: Placement | None = None
        self.revision = ""
        self.generation = ""


class DaemonSetController(PodOwnerController):
    """Maintains one pod of each daemon set on each eligible node.

    Parameters
    ----------
    lister : Lister
        The objects of the cluster.
    """

    name = "daemonset-controller"
    kind = DAEMON_SET
    kinds = (DAEMON_SET, POD, NODE)
    owner_kind = DAEMON_SET[1]
    _creation_events: Saved[CreationEvents]
    _backoff: Saved[dict[str, tuple[int, int]]]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._daemons: dict[str, _Daemon] = {}
        self._creation_events = CreationEvents()
        # The delay before a failed pod is replaced, and its start, by daemon set and node.
        self._backoff = {}

    # ----------------------------------------------------------------------------- changes

    def observe(self, old: Version, new: Version) -> Keys:
        """Mark the nodes to evaluate again, and return their daemon sets."""
        if isinstance(self.latest_of(old, new), Node):
            return self._node_changed(old, new)
        return super().observe(old, new)

    def _owner_changed(self, old: Version, new: Version) -> Keys:
        if old is not None and (new is None or new.uid != old.uid):
            self._orphans.remove_owner(old)
            self._creation_events.forget(old.key)
            self._daemons.pop(old.uid, None)
            prefix = f"{old.uid}/"
            for place in [each for each in self._backoff if each.startswith(prefix)]:
                del self._backoff[place]
        if new is None or is_only_status(old, new):
            return ()
        daemon = self._daemon(new.uid)
        daemon.key = new.key
        daemon.selector = selector_of(new)
        self._orphans.put_owner(new, daemon.selector)
        return (new.key,)

    def _node_changed(self, old: Version, new: Version) -> Keys:
        if isinstance(old, Node) and isinstance(new, Node):
            is_same = old.metadata.labels == new.metadata.labels
            if is_same and old.spec.taints == new.spec.taints:
                return ()
        node = self.latest_of(old, new)
        daemons = [each for each in self._daemons.values() if each.key]
        for daemon in daemons:
            daemon.nodes.dirty[node.name] = None
        return sorted(daemon.key for daemon in daemons)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> Keys:
        was = old.metadata.controller if old is not None else None
        now = new.metadata.controller if new is not None else None
        if was is not None and now is not None and was.uid == now.uid:
            keys: list[NamespacedName] = []
            if now.kind != DAEMON_SET[1]:
                return ()
        else:
            keys = list(self._orphans.observe(old, new))
        if old is not None and was is not None and (now is None or was.uid != now.uid):
            daemon = self._daemons.get(was.uid)
            if daemon is not None and daemon.nodes.remove_pod(old.key):
                keys.append(f"{old.namespace}/{was.name}")
        if isinstance(new, Pod) and now is not None and now.kind == DAEMON_SET[1]:
            key = f"{new.namespace}/{now.name}"
            if old is None:
                self._creation_events.observe(key, new)
            self._daemon(now.uid).nodes.put_pod(new)
            if not isinstance(old, Pod) or not is_equivalent(old, new):
                keys.append(key)
        return keys

    def _daemon(self, uid: str) -> _Daemon:
        daemon = self._daemons.get(uid)
        if daemon is None:
            daemon = self._daemons[uid] = _Daemon()
        return daemon

    # -------------------------------------------------------------------------------- sync

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Create and delete pods where necessary, and update the status."""
        owner = self._lister.get(DAEMON_SET, key)
        if owner is None:
            return []
        actions = self._creation_events.events(owner, self.name)
        daemon = self._daemons[owner.uid]
        template: Document = spec_of(owner).get("template") or {}
        labels = (template.get("metadata") or {}).get("labels") or {}
        if owner.metadata.deletion_timestamp is not None or not daemon.selector.matches(labels):
            # The API server rejects a selector that does not match the template.
            return actions
        adoptions = [self.update(adopted(pod, owner)) for pod in self._orphans.adoptable_by(owner)]
        if adoptions:
            return actions + adoptions
        revisions = self._sync_revisions(owner, daemon, template)
        if isinstance(revisions, InvalidObject):
            text = f"Error creating: {revisions}"
            event = self.warning(owner, "FailedCreate", text)
            return [*actions, event]
        sync = _Sync(self._lister, self.name, owner, daemon, self._backoff, now_ns)
        sync.evaluate()
        if not sync.actions:
            # Upstream rolls once the creations and deletions before it were observed.
            sync.roll()
        actions += [*revisions.actions, *sync.actions]
        if sync.created_count:
            self._creation_events.expect(key, sync.created_count)
        actions += self.status_update(owner, sync.status(revisions.collision_count))
        limit = spec_of(owner).get("revisionHistoryLimit")
        hashes = {*daemon.nodes.live_revisions, daemon.revision}
        actions += _past(revisions, hashes, 10 if limit is None else int(limit))
        dues_ns = (daemon.nodes.next_ns(), sync.retry_ns)
        due_ns = min((each for each in dues_ns if each is not None), default=None)
        if due_ns is not None:
            actions.append(self.sync_at(key, due_ns))
        return actions

    def _sync_revisions(
        self, owner: KubernetesObject, daemon: _Daemon, template: Document
    ) -> Revisions | InvalidObject:
        """Find the revision of the template; a different one marks all nodes for evaluation."""
        collisions = status_of(owner).get("collisionCount")
        data = template_patch(template)
        initial = self._initial_revision(owner)
        revisions = Revisions(self._lister, owner, data, _NAMING, collisions, self.name, initial)
        revision = revisions.update_revision.metadata.labels[REVISION_LABEL]
        generation = _generation_of(owner)
        known = daemon.revision, daemon.generation
        if daemon.spec != spec_of(owner) or known != (revision, generation):
            try:
                base = base_daemon_pod(owner, template, revision, generation)
            except InvalidObject as error:
                return error
            daemon.base, daemon.placement = base, Placement(base)
            daemon.spec = spec_of(owner)
            daemon.revision, daemon.generation = revision, generation
            daemon.nodes.evaluate_all(self._lister.all(NODE))
        return revisions

    def _initial_revision(self, owner: KubernetesObject) -> tuple[str, int] | None:
        """Return the hash and generation of imported pods that have the current template.

        A dump of a cluster seldom includes its controller revisions, and upstream's hash cannot
        be computed here. The generation label still shows which pods are up to date, so that
        they are not replaced.

        Upstream: pkg/controller/daemon/util/daemonset_util.go, IsPodUpdated
        """
        generation = _generation_of(owner)
        if not generation or self._lister.controlled_by(owner.uid, CONTROLLER_REVISION):
            return None
        pods = self._lister.controlled_by(owner.uid, POD).values()
        labels = [pod.metadata.labels for pod in pods]
        current = [each for each in labels if each.get(GENERATION_LABEL) == generation]
        hashes = [each[REVISION_LABEL] for each in current if each.get(REVISION_LABEL)]
        return (min(hashes), int(generation)) if hashes else None


class _Sync(Requests):
    """One sync of one daemon set."""

    def __init__(
        self,
        lister: Lister,
        source: str,
        owner: KubernetesObject,
        daemon: _Daemon,
        backoff: dict[str, tuple[int, int]],
        now_ns: int,
    ) -> None:
        assert daemon.base is not None, f"{owner.key} was not revised"
        assert daemon.placement is not None, f"{owner.key} was not revised"
        self._lister = lister
        self.name = source
        self._owner = owner
        self._nodes = daemon.nodes
        self._base = daemon.base
        self._placement = daemon.placement
        self._selector = daemon.selector
        self._revision = daemon.revision
        self._generation = _generation_of(owner)
        self._backoff = backoff
        self._now_ns = now_ns
        self._events: Actions = []
        self._writes: Actions = []
        self._deletions: Actions = []
        self._deleted = 0
        self.created_count = 0
        self.retry_ns: int | None = None
        spec = spec_of(owner)
        strategy: Document = spec.get("updateStrategy") or {}
        self._rolls = strategy.get("type") != "OnDelete"
        self._rolling: Document = strategy.get("rollingUpdate") or {} if self._rolls else {}
        self._surges = bool(scaled_value(self._rolling.get("maxSurge"), 100, round_up=True))
        self._min_ready_seconds = int(spec.get("minReadySeconds") or 0)

    @property
    def actions(self) -> Actions:
        """The actions, creations before deletions."""
        return [*self._events, *self._writes, *self._deletions]

    # ------------------------------------------------------------------------------- nodes

    def evaluate(self) -> None:
        """Evaluate all nodes that may have changed, sorted by name.

        Upstream: daemon_controller.go, manage
        """
        nodes = self._nodes
        nodes.mark_due(self._now_ns)
        waiting = sorted(nodes.dirty)
        nodes.dirty.clear()
        for name in waiting:
            self._evaluate(name)

    def _evaluate(self, name: str) -> None:
        self._release_unmatched(name)
        if not name:
            return  # pods without a target node
        node = self._lister.get(NODE, name)
        pods = self._pods_on(name)
        if not isinstance(node, Node):
            # The pod garbage collector deletes bound pods of a removed node.
            for pod in pods:
                if not pod.spec.node_name and not pod.is_terminating:
                    self._delete(pod)
            rolled = self._rolled(name, pods) if pods else NodeContribution()
            self._nodes.set_contribution(name, rolled)
            return
        should_run, may_stay = self._placement.verdict(node)
        if should_run and not pods:
            self._create(name)
        elif may_stay:
            self._delete_excess(name, pods, should_run=should_run)
        else:
            for pod in pods:
                if not pod.is_terminating:
                    self._delete(pod)
        self._nodes.set_contribution(name, self._contribution(name, pods, should_run=should_run))

    def _pods_on(self, name: str) -> list[Pod]:
        """Return the pods of a node: bound ones first, then by age, oldest first.

        Upstream: daemon_controller.go, getNodesToDaemonPods
        """
        found = map(self._pod, self._nodes.pods_on(name))
        matching = (pod for pod in found if self._selector.matches(pod.metadata.labels))
        # One that has ended and is being deleted only waits for its finalizers.
        left = (pod for pod in matching if not (pod.is_terminal and pod.is_terminating))
        return sorted(left, key=_by_creation)

    def _pod(self, key: NamespacedName) -> Pod:
        pod = self._lister.get(POD, key)
        assert isinstance(pod, Pod), f"{key} is tracked but not in the lister"
        return pod

    def _release_unmatched(self, name: str) -> None:
        for key in sorted(self._nodes.pods_on(name)):
            pod = self._pod(key)
            if not self._selector.matches(pod.metadata.labels):
                self._writes.append(self.update(released(pod, self._owner)))

    def _delete_excess(self, name: str, pods: list[Pod], *, should_run: bool) -> None:
        """Delete terminated and duplicate pods; in a surge, create a missing one.

        Upstream: daemon_controller.go, podsShouldBeOnNode
        """
        running = []
        for pod in pods:
            if pod.is_terminating:
                continue
            if pod.status.phase == "Failed":
                self._replace_failed(name, pod)
            elif pod.status.phase == "Succeeded":
                text = f"Found succeeded daemon pod {pod.key} on node {name}, will try to delete it"
                self._events.append(self.event(self._owner, "SucceededDaemonPod", text))
                self._delete(pod)
            else:
                running.append(pod)
        if not self._surges:
            for pod in running[1:]:
                self._delete(pod)
            return
        if not running and should_run:
            self._create(name)
        new, old = list[Pod](), list[Pod]()
        for pod in running:
            is_current = pod.metadata.labels.get(REVISION_LABEL) == self._revision
            (new if is_current else old).append(pod)
        for pod in [*new[1:], *old[1:]]:
            self._delete(pod)
        if new and old and (not is_ready(old[0]) or self._is_available(name, new[0])):
            self._delete(old[0])

    def _replace_failed(self, name: str, pod: Pod) -> None:
        observed = status_of(self._owner).get("observedGeneration") or 0
        place = f"{self._owner.uid}/{observed}/{name}"
        delay_ns, since_ns = self._backoff.get(place, (0, 0))
        if delay_ns and self._now_ns - since_ns > 2 * _BACKOFF_MAX_NS:
            delay_ns = 0
        if delay_ns and self._now_ns - since_ns < delay_ns:
            # Any sync after the delay replaces the pod. Upstream's own is the whole delay away.
            self._nodes.dirty[name] = None
            retry_ns = self._now_ns + delay_ns
            self.retry_ns = min(self.retry_ns or retry_ns, retry_ns)
            return
        delay_ns = min(2 * delay_ns, _BACKOFF_MAX_NS) if delay_ns else _BACKOFF_NS
        self._backoff[place] = (delay_ns, self._now_ns)
        text = f"Found failed daemon pod {pod.key} on node {name}, will try to kill it"
        self._events.append(self.warning(self._owner, "FailedDaemonPod", text))
        self._delete(pod)

    # ------------------------------------------------------------------------------ shares

    def _contribution(self, name: str, pods: list[Pod], *, should_run: bool) -> NodeContribution:
        """Return the contribution of a node to the status.

        Upstream: daemon_controller.go, updateDaemonSetStatus; update.go, findUpdatedPodsOnNode
        """
        if not pods:
            return (
                NodeContribution(desired=1, update_state=UpdateState.UNAVAILABLE)
                if should_run
                else NodeContribution()
            )
        rolled = self._rolled(name, pods)
        if not should_run:
            return msgspec.structs.replace(rolled, misscheduled=1)
        first = pods[0]
        return msgspec.structs.replace(
            rolled,
            desired=1,
            current=1,
            ready=int(is_ready(first)),
            available=int(self._is_available(name, first)),
            updated=int(self._is_new(first)),
        )

    def _rolled(self, name: str, pods: list[Pod]) -> NodeContribution:
        """Return what a rolling update counts of a node with pods.

        Upstream: update.go, findUpdatedPodsOnNode, rollingUpdate
        """
        left = [pod for pod in pods if not pod.is_terminating]
        if not left:
            return NodeContribution(update_state=UpdateState.UNAVAILABLE)
        old = [pod for pod in left if not self._is_new(pod)]
        if len(old) > 1 or len(left) - len(old) > 1:
            return NodeContribution(update_state=UpdateState.SEVERAL)
        is_available = self._is_available(name, (old or left)[0])
        if len(left) > 1:
            (new,) = (pod for pod in left if pod not in old)
            is_surged = self._is_available(name, new)
            state = UpdateState.SURGED if is_surged else UpdateState.SEVERAL
        elif old:
            state = UpdateState.OLD_AVAILABLE if is_available else UpdateState.OLD_UNAVAILABLE
        else:
            state = UpdateState.UPDATED if is_available else UpdateState.UNAVAILABLE
        return NodeContribution(rolled_available=int(is_available), update_state=state)

    def _is_new(self, pod: Pod) -> bool:
        """Whether a pod has the current template.

        Upstream: util/daemonset_util.go, IsPodUpdated
        """
        labels = pod.metadata.labels
        if labels.get(REVISION_LABEL) == self._revision:
            return True
        return bool(self._generation) and labels.get(GENERATION_LABEL) == self._generation

    def _is_available(self, name: str, pod: Pod) -> bool:
        from_ns = available_from_ns(pod, self._min_ready_seconds)
        if from_ns is None:
            return False
        if from_ns > self._now_ns:
            self._nodes.evaluate_at(name, from_ns)
            return False
        return True

    # ----------------------------------------------------------------------- rolling update

    def roll(self) -> None:
        """Delete old pods, or create new ones beside them, as many as the strategy allows.

        Upstream: update.go, rollingUpdate, updatedDesiredNodeCounts
        """
        nodes = self._nodes
        if not self._rolls or not (nodes.old_available or nodes.old_unavailable or nodes.surged):
            return
        desired = nodes.counts["desired"]
        surge = scaled_value(self._rolling.get("maxSurge"), desired, round_up=True)
        share = self._rolling.get("maxUnavailable")
        at_once = scaled_value(1 if share is None else share, desired, round_up=True)
        if desired and not surge and not at_once:
            at_once = 1
        if surge:
            self._roll_with_surge(surge)
            return
        states = (UpdateState.UNAVAILABLE, UpdateState.SEVERAL, UpdateState.SURGED)
        busy = sum(nodes.update_states[state] for state in states) + len(nodes.old_unavailable)
        left = max(at_once - busy, 0)
        for name in [*nodes.old_unavailable, *nodes.old_available[:left]]:
            self._delete_old(name)

    def _roll_with_surge(self, surge: int) -> None:
        nodes = self._nodes
        may_run = dict[str, bool]()
        for name in (*nodes.old_unavailable, *nodes.old_available):
            node = self._lister.get(NODE, name)
            if not isinstance(node, Node):
                return  # Upstream fails here until the pods of a removed node are gone.
            may_run[name] = self._placement.verdict(node)[0]
        for name in nodes.old_unavailable:
            if may_run[name]:
                self._create(name)
            else:
                self._delete_old(name)
        for name in nodes.surged:
            self._delete_old(name)
        left = max(surge - nodes.update_states[UpdateState.SEVERAL], 0)
        for name in [each for each in nodes.old_available if may_run[each]][:left]:
            self._create(name)
        # A pod on a node where none should run stays until as many are available elsewhere.
        spare = max(nodes.counts["rolled_available"] - nodes.counts["desired"], 0)
        for name in [each for each in nodes.old_available if not may_run[each]][:spare]:
            self._delete_old(name)

    def _delete_old(self, name: str) -> None:
        for pod in self._pods_on(name):
            if not pod.is_terminating and not self._is_new(pod):
                self._delete(pod)

    # ------------------------------------------------------------------------------ writing

    def _create(self, name: str) -> None:
        # If the API server rejects the pod, the next sync retries.
        self._nodes.dirty[name] = None
        if self.created_count >= BURST:
            return
        self.created_count += 1
        self._writes.append(self.create(daemon_pod(self._base, name)))

    def _delete(self, pod: Pod) -> None:
        if self._deleted >= BURST:
            self._nodes.dirty[self._nodes.node_of(pod.key)] = None
            return
        self._deleted += 1
        self._deletions.append(self.delete_pod(self._owner, pod))

    def status(self, collision_count: int | None) -> Document:
        """Return the status of the daemon set."""
        counts = self._nodes.counts
        status = without_zeros(
            {
                "currentNumberScheduled": counts["current"],
                "numberMisscheduled": counts["misscheduled"],
                "desiredNumberScheduled": counts["desired"],
                "numberReady": counts["ready"],
                "observedGeneration": self._owner.metadata.generation,
                "updatedNumberScheduled": counts["updated"],
                "numberAvailable": counts["available"],
                "numberUnavailable": counts["desired"] - counts["available"],
            },
            (
                "currentNumberScheduled",
                "numberMisscheduled",
                "desiredNumberScheduled",
                "numberReady",
            ),
        )
        if collision_count is not None:
            status["collisionCount"] = collision_count
        return status


def _past(revisions: Revisions, live: Collection[str], limit: int) -> Iterable[ControllerAction]:
    """Delete the oldest unused revisions; used ones count for the limit.

    Upstream: update.go, cleanupHistory
    """
    current = data_of(revisions.update_revision)
    past = [each for each in revisions.all if data_of(each) != current]
    unused = [each for each in past if each.metadata.labels.get(REVISION_LABEL) not in live]
    for each in unused[: max(len(past) - limit, 0)]:
        yield revisions.delete(each)


def _generation_of(owner: KubernetesObject) -> str:
    """Return the number of the template that the API server has counted; empty without one."""
    generation = parse_int64(owner.metadata.annotations.get(_GENERATION, ""))
    return "" if generation is None else str(generation)


def _by_creation(pod: Pod) -> tuple[bool, str, str]:
    return (not pod.spec.node_name, pod.metadata.creation_timestamp or "", pod.name)

"""The loop of all controllers: changes in, one object synced at a time, actions out.

The keys to sync wait in one workqueue for all controllers, in the order in which they were
added. A key that is already in the workqueue is not added again.

Notes
-----
Upstream: staging/src/k8s.io/client-go/util/workqueue/default_rate_limiters.go,
DefaultTypedControllerRateLimiter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    KubernetesObject,
    NamespacedName,
    ObjectDeleted,
    ObjectPut,
    Pod,
    api_group,
)
from podwright.cluster.api import CreateObject, DeleteObject, NodeDown, NodeUp
from podwright.cluster.controllers.core.resource_quota import frees
from podwright.cluster.controllers.interface import (
    Actions,
    Controller,
    ControllerEvent,
    DrainNode,
    Keys,
    RejectedWrite,
    SyncAt,
    SyncDue,
    SyncNext,
    Version,
    WriteRejected,
    event_by,
)
from podwright.cluster.controllers.kinds import RESOURCE_QUOTA
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.subscriptions import Subscriptions
from podwright.cluster.store import EVENT, NAMESPACE, Change, GroupKind, RestingChange, kind_of

ReportFailure: TypeAlias = Callable[[str, NamespacedName, Exception], None]
"""Receives the name of a controller, the key that it synced, and what failed."""


class ControllerLoopState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a `ControllerLoop` as plain values, for checkpoints, without the objects.

    Attributes
    ----------
    workqueue : tuple
        (controller, key) of each item, in order.
    requeue_at : tuple
        (controller, key, due_ns) of each delayed item.
    rejected : tuple
        (controller, key, since_ns, is_due) of each item whose objects admission rejects, since
        when, and whether they are tried in its next sync.
    controller_states : dict
        The state of each controller, by its name.
    """

    workqueue: tuple[tuple[str, NamespacedName], ...]
    requeue_at: tuple[tuple[str, NamespacedName, int], ...]
    rejected: tuple[tuple[str, NamespacedName, int, bool], ...] = ()
    controller_states: dict[str, dict[str, Any]]


class ControllerLoop:
    """Runs controllers over one lister.

    Parameters
    ----------
    makers : iterable of callable
        Each constructs a controller for the lister.
    report_failure : callable, optional
        Receives the exceptions of controllers; what failed is then tried again later, with an
        increasing delay. Without it, exceptions pass.
    indexes_namespaces : bool
        See `Lister`.
    admission_kinds : collection of GroupKind
        Those on which it depends what admission rejects. Without `report_failure`, what it rejected
        is tried again only after a change of such an object, at the time at which it would be.

    Attributes
    ----------
    lister : Lister
        The objects of the cluster; read-only for callers.
    """

    def __init__(
        self,
        makers: Iterable[Callable[[Lister], Controller]],
        *,
        report_failure: ReportFailure | None = None,
        indexes_namespaces: bool = False,
        admission_kinds: Collection[GroupKind] = (),
    ) -> None:
        self._admission_kinds = admission_kinds
        self.lister = Lister(has_namespaces=indexes_namespaces)
        self._report_failure = report_failure
        self._failures = Failures()
        self._controllers: dict[str, Controller] = {}
        for make in makers:
            controller = make(self.lister)
            assert controller.name not in self._controllers, f"duplicate {controller.name}"
            self._controllers[controller.name] = controller
        self._subscriptions = Subscriptions(self._controllers.values())
        self._workqueue: dict[tuple[str, NamespacedName], None] = {}
        self._requeue_at: dict[tuple[str, NamespacedName], int] = {}
        self._rejected_owners: list[str] = []
        # Since when admission rejects the objects of an item, and whether they are tried next.
        self._rejected: dict[Item, tuple[int, bool]] = {}
        self._tried: Item | None = None

    @property
    def has_next(self) -> bool:
        """Whether the workqueue has an item for `SyncNext`."""
        return bool(self._workqueue)

    @property
    def draining_nodes(self) -> Collection[str]:
        """The nodes whose drains are in progress."""
        return [node for each in self._controllers.values() for node in each.draining_nodes]

    def handle(self, event: ControllerEvent, now_ns: int) -> Actions:
        """Process an event and return the actions."""
        match event:
            case ObjectPut(obj):
                self._deliver(kind_of(obj), self.lister.put(obj), obj)
            case ObjectDeleted(obj):
                old = self.lister.delete(obj)
                if old is not None:
                    self._deliver(kind_of(obj), old, None)
            case SyncNext():
                return self._sync(now_ns)
            case SyncDue(name, key):
                self._enqueue_due((name, key), now_ns)
            case NodeDown() | NodeUp() | DrainNode():
                for each in self._controllers.values():
                    self._enqueue(each.name, each.on_node_event(event, now_ns))
            case WriteRejected(request, message):
                retry = self._retry(request.user, message, now_ns)
                if isinstance(request, CreateObject):
                    self._keep_rejected(request.user, now_ns)
                    return [*self._create_rejected(request, message), *retry]
                if isinstance(request, DeleteObject):
                    self._delete_rejected(request, message)
                return retry
        return []

    def runs(self, name: str) -> bool:
        """Whether a controller of the name runs."""
        return name in self._controllers

    def retries(self, name: str) -> bool:
        """Whether a controller of the name runs, and is tried again after failures."""
        return self._report_failure is not None and self.runs(name)

    def _retry(self, name: str, message: str, now_ns: int) -> Actions:
        """Return when the current sync is tried again, after a write that was rejected."""
        item = self._failures.present
        if self._report_failure is None or item is None or item[0] != name:
            return []
        due_ns = self._failures.failed(item, now_ns, self._controllers[item[0]].retry_delays_ns)
        if due_ns is None:
            return []  # another write of the same sync was rejected before
        self._report_failure(*item, RejectedWrite(message))
        return self._requeue(item, due_ns)

    def _keep_rejected(self, name: str, now_ns: int) -> None:
        """Keep the item of the current sync until its objects are accepted.

        Upstream tries again and again, with backoff. Tries before a change on which the rejection
        depends fail too, so they are left out; they would keep a simulation from its end.
        """
        item = self._failures.present
        if self._report_failure is None and item is not None and item[0] == name:
            since_ns, _ = self._rejected.get(item, (now_ns, False))
            self._rejected[item] = since_ns, False
            self._tried = None

    def _admission_changed(self, kind: GroupKind, old: Version, new: Version) -> None:
        """Enqueue that rejected objects of a namespace may be accepted; "" is all namespaces."""
        if kind == RESOURCE_QUOTA and old is not None and new is not None and not frees(old, new):
            return
        obj = new if new is not None else old
        namespace = "" if obj is None else obj.name if kind == NAMESPACE else obj.namespace
        self._workqueue["", namespace] = None

    def _retries(self, namespace: str, now_ns: int) -> Actions:
        """Return when the rejected items of a namespace are tried again."""
        actions: Actions = []
        for item, (since_ns, _) in self._rejected.items():
            if namespace and not item[1].startswith(f"{namespace}/"):
                continue
            delays_ns = self._controllers[item[0]].retry_delays_ns
            due_ns = next_try_ns(since_ns, now_ns, delays_ns)
            known_ns = self._requeue_at.get(item)
            if known_ns is None or not now_ns < known_ns <= due_ns:
                actions += self._requeue(item, due_ns)
        return actions

    def _requeue(self, item: tuple[str, NamespacedName], due_ns: int) -> Actions:
        self._requeue_at[item] = due_ns
        return [SyncAt(due_ns, SyncDue(*item))]

    def _failed(self, item: tuple[str, NamespacedName], error: Exception, now_ns: int) -> Actions:
        """Report the exception of a sync, and return its Event and when it is tried again."""
        assert self._report_failure is not None, "exceptions pass"
        self._report_failure(*item, error)
        name, key = item
        note = f"Error syncing {key}: {type(error).__name__}: {error}"
        objects = (self.lister.get(kind, key) for kind in self._controllers[name].kinds)
        events = [
            event_by(name, obj, "FailedSync", note, is_warning=True)
            for obj in objects
            if obj is not None
        ]
        due_ns = self._failures.failed(item, now_ns, self._controllers[item[0]].retry_delays_ns)
        # Without a time, an earlier failure has set one.
        return [*events[:1], *([] if due_ns is None else self._requeue(item, due_ns))]

    def _delete_rejected(self, request: DeleteObject, message: str) -> None:
        """Deliver the rejection to the controller, by the owner of what was not deleted."""
        controller = self._controllers.get(request.user)
        obj = self.lister.get((request.group, request.object_kind), request.key)
        reference = None if obj is None else obj.metadata.controller
        if controller is not None and obj is not None and reference is not None:
            key = f"{obj.namespace}/{reference.name}"
            self._enqueue(request.user, controller.on_delete_rejected(key, message))

    def _create_rejected(self, request: CreateObject, message: str) -> Actions:
        """Record the FailedCreate Event once per sync and owner, or the controller's own Event.

        Upstream starts with one create and stops when it fails: controller_utils.go,
        slowStartBatch, createPods
        """
        obj, name = request.obj, request.user
        reference = obj.metadata.controller
        creator = self._controllers.get(name)
        if creator is None:
            return []
        if reference is None:
            # A driver or a kubelet whose part a controller takes is not a controller.
            return creator.report_rejected(obj, message)
        if reference.uid in self._rejected_owners:
            return []
        self._rejected_owners.append(reference.uid)
        key = f"{obj.namespace}/{reference.name}"
        owner = self.lister.get((api_group(reference.api_version), reference.kind), key)
        if owner is None:
            return []
        self._enqueue(name, creator.on_create_rejected(key, message))
        # Upstream reports pods only; revisions and slices that are rejected are just tried again.
        if creator.reports_creations or not isinstance(obj, Pod):
            return []
        note = f"Error creating: {message}"
        return [event_by(name, owner, "FailedCreate", note, is_warning=True)]

    def observe(self, changes: Iterable[Change]) -> None:
        """Deliver changes of a store in their order.

        When a change is delivered, the lister has that change and no later one.
        """
        lister, deliver = self.lister, self._deliver
        for change in changes:
            if change.kind == EVENT and isinstance(change, RestingChange) and not change.previous:
                # There when the loop starts. No controller waits for Events, only for their names.
                lister.add_event(change.key)
                continue
            kind, old, new = change.kind, change.old, change.new
            if new is None:
                assert old is not None, "neither an old nor a new object"
                lister.remove(kind, change.key, old)
            elif old is None:
                lister.add(kind, change.key, new)
            else:
                lister.replace(kind, change.key, old, new)
            deliver(kind, old, new)

    def _deliver(self, kind: GroupKind, old: Version, new: Version) -> None:
        """Deliver a change, which the lister has already, to its subscribers."""
        if self._rejected and kind in self._admission_kinds:
            self._admission_changed(kind, old, new)
        workqueue = self._workqueue
        for name, observe, pending_work in self._subscriptions.of(kind, old, new):
            if pending_work is None or pending_work:
                try:
                    for key in observe(old, new):
                        workqueue[name, key] = None
                except Exception as error:
                    # The edge of a controller: its failure must not stop the others.
                    if self._report_failure is None:
                        raise
                    obj = new if new is not None else old
                    self._report_failure(name, "" if obj is None else obj.key, error)

    def _enqueue(self, name: str, keys: Keys) -> None:
        for key in keys:
            self._workqueue[name, key] = None

    def _enqueue_due(self, item: Item, now_ns: int) -> None:
        due_ns = self._requeue_at.get(item)
        if due_ns is not None and due_ns <= now_ns:
            del self._requeue_at[item]
            self._workqueue[item] = None
            if item in self._rejected:
                self._rejected[item] = self._rejected[item][0], True

    def _begin_try(self, item: Item) -> None:
        """Forget the item that was tried before this one, if its objects were accepted."""
        if self._tried is not None:
            del self._rejected[self._tried]
        since_ns, is_due = self._rejected.get(item, (0, False))
        self._tried = item if is_due else None
        if is_due:
            self._rejected[item] = since_ns, False

    def _sync(self, now_ns: int) -> Actions:
        if not self._workqueue:
            return []
        name, key = next(iter(self._workqueue))
        del self._workqueue[name, key]
        if not name:
            return self._retries(key, now_ns)
        self._begin_try((name, key))
        self._rejected_owners.clear()
        actions: Actions = []
        self._failures.begin((name, key), is_waiting=(name, key) in self._requeue_at)
        try:
            found = self._controllers[name].sync(key, now_ns)
        except Exception as error:
            # The edge of a controller: its failure must not stop the others.
            if self._report_failure is None:
                raise
            return self._failed((name, key), error, now_ns)
        for action in found:
            if isinstance(action, SyncAt):
                item = (action.event.controller, action.event.key)
                known = self._requeue_at.get(item)
                # The earlier sync that is already scheduled computes the later time again.
                if known is not None and now_ns < known <= action.due_ns:
                    continue
                self._requeue_at[item] = action.due_ns
            actions.append(action)
        return actions

    # ------------------------------------------------------------------------ checkpoints

    def state(self) -> ControllerLoopState:
        """Return the state that the objects do not show."""
        return ControllerLoopState(
            workqueue=tuple(self._workqueue),
            requeue_at=tuple(
                (name, key, due_ns) for (name, key), due_ns in self._requeue_at.items()
            ),
            rejected=tuple(
                (*item, *rest) for item, rest in self._rejected.items() if item != self._tried
            ),
            controller_states={name: each.state() for name, each in self._controllers.items()},
        )

    def restore(self, state: ControllerLoopState, objects: Iterable[KubernetesObject]) -> None:
        """Restore the result of `state` and the objects; the loop must be new."""
        for obj in objects:
            # Delivery fills the controllers' indexes; the keys that it enqueues are replaced below.
            self._deliver(kind_of(obj), self.lister.put(obj), obj)
        self._workqueue = dict.fromkeys(state.workqueue)
        self._requeue_at = {(name, key): due_ns for name, key, due_ns in state.requeue_at}
        self._rejected = {(name, key): (since, seen) for name, key, since, seen in state.rejected}
        for name, each in self._controllers.items():
            each.restore(state.controller_states[name])
        # A restored controller can have other collections of pending work than at delivery above.
        self._subscriptions = Subscriptions(self._controllers.values())


# The back-off of syncs that fail.

Item: TypeAlias = tuple[str, NamespacedName]
"""The name of a controller, and the key that it syncs."""


def next_try_ns(since_ns: int, now_ns: int, delays_ns: tuple[int, int]) -> int:
    """Return the first try after `now_ns` of what has failed since `since_ns`, each time."""
    due_ns, (delay_ns, longest_ns) = since_ns, delays_ns
    while due_ns <= now_ns:
        due_ns += delay_ns
        delay_ns = min(2 * delay_ns, longest_ns)
    return due_ns


class Failures:
    """How often each item failed since it last succeeded.

    Attributes
    ----------
    present : Item, optional
        The item whose writes are executed now.
    """

    def __init__(self) -> None:
        self.present: Item | None = None
        self._counts: dict[Item, int] = {}
        self._has_failed = False

    def begin(self, item: Item, *, is_waiting: bool) -> None:
        """Start to sync an item, and forget the failures of the one before if it succeeded.

        Parameters
        ----------
        item : Item
        is_waiting : bool
            Whether the item is tried again later anyway. It does not count as a success then: a
            controller also syncs an owner to report what was rejected.
        """
        if self._counts and self.present is not None and not self._has_failed:
            self._counts.pop(self.present, None)
        self.present = item
        self._has_failed = is_waiting and item in self._counts

    def failed(self, item: Item, now_ns: int, delays_ns: tuple[int, int]) -> int | None:
        """Count a failure of the current item.

        Parameters
        ----------
        item : Item
        now_ns : int
        delays_ns : tuple of int
            `Controller.retry_delays_ns`.

        Returns
        -------
        int, optional
            When it is tried again; None if this sync has failed already.
        """
        if self._has_failed:
            return None
        self._has_failed = True
        count = self._counts.get(item, 0)
        self._counts[item] = count + 1
        first_ns, longest_ns = delays_ns
        return now_ns + min(first_ns << min(count, 30), longest_ns)

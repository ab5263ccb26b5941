"""A profile as the machine runs it: its runner, and its plugins from Reserve on.

From Reserve on, most plugins have nothing to do for most pods. Which of them do depends only on
the plugins that PreFilter skipped, so it is computed once per distinct set of skipped plugins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from podwright.apimachinery.documents import did_you_mean
from podwright.apimachinery.objects import FieldError, InputError, Pod
from podwright.scheduler import queueing
from podwright.scheduler.framework import (
    ALL_RESOURCES,
    ASSIGNED_POD,
    EXTENDER,
    UNSCHEDULABLE_POD,
    WILDCARD,
    CalledExtender,
    Decision,
    EventHint,
    Plugin,
    Profile,
    Runner,
    Status,
    described,
    raised,
)

if TYPE_CHECKING:
    from podwright.scheduler.machine.cycles.batching import Batch
    from podwright.scheduler.queueing import HintTable, QueuedPod

_OK = Status.OK
_RESOURCES = (*ALL_RESOURCES, ASSIGNED_POD, UNSCHEDULABLE_POD, WILDCARD)


class BindPlugins:
    """The plugins that are called for a pod from Reserve on, in run order.

    Attributes
    ----------
    binders : tuple of CalledExtender
        The extenders that bind pods; they come before the Bind plugins.
    binds_simply : bool
        No Bind plugin implements `continue_bind`: a successful write ends the binding.
    is_plain : bool
        Only Bind plugins are called, and extenders if there are any.
    only_binds : bool
        Neither PreBind plugins nor extenders come before the Bind plugins.
    """

    __slots__ = (
        "bind",
        "binders",
        "binds_simply",
        "is_plain",
        "only_binds",
        "permit",
        "post_bind",
        "pre_bind",
        "reserve",
        "unreserve",
    )

    def __init__(
        self,
        profile: Profile,
        skipped: frozenset[str],
        extenders: tuple[CalledExtender, ...] = (),
    ) -> None:
        self.binders = tuple(e for e in extenders if e.settings.bind_verb)
        self.reserve = _not_skipped(profile.reserve, skipped)
        self.unreserve = self.reserve[::-1]
        self.permit = _not_skipped(profile.permit, skipped)
        self.pre_bind = _not_skipped(profile.pre_bind, skipped)
        self.bind = profile.bind
        self.post_bind = _not_skipped(profile.post_bind, skipped)
        self.only_binds = not (self.pre_bind or self.binders)
        self.binds_simply = not any(p.implements("continue_bind") for p in profile.bind)
        self.is_plain = not (self.reserve or self.permit or self.pre_bind or self.post_bind)


def _not_skipped(plugins: tuple[Plugin, ...], skipped: frozenset[str]) -> tuple[Plugin, ...]:
    return tuple(
        plugin for plugin in plugins if not (plugin.rests_when_skipped and plugin.name in skipped)
    )


class RunningProfile:
    """One profile over the machine's cluster.

    Parameters
    ----------
    runner : Runner
        Decides for the pods of the profile.
    batch : Batch, optional
        Opportunistic batching, if it is on; never together with extenders.
    """

    def __init__(
        self,
        runner: Runner,
        batch: Batch | None = None,
    ) -> None:
        self.runner = runner
        self.batch = batch
        self.profile = profile = runner.profile
        self.name = profile.scheduler_name
        self.extenders = runner.extenders
        self._bind_plugins: dict[frozenset[str], BindPlugins] = {}
        self._order = sort_order(profile)
        self._grouping = _grouping(profile)

    def decide(
        self, pod: Pod, *, cycle_number: int, now_ns: int, popped: int | None = None
    ) -> Decision:
        """Choose a node for `pod` without asking extenders; see `Batch.decide`."""
        if self.batch is not None:
            return self.batch.decide(pod, cycle_number=cycle_number, now_ns=now_ns, popped=popped)
        return self.runner.decide(pod, cycle_number=cycle_number)

    def repeat(self, pod: Pod, node: str) -> Decision | None:
        """Return the decision for a node that is known to be chosen; None: `decide` is needed."""
        return None if self.batch is not None else self.runner.repeat(pod, node)

    def bind_plugins(self, skipped: frozenset[str]) -> BindPlugins:
        """Return the plugins to call for a pod for which PreFilter skipped these plugins."""
        found = self._bind_plugins.get(skipped)
        if found is None:
            found = self._bind_plugins[skipped] = BindPlugins(self.profile, skipped, self.extenders)
        return found

    def skipped_in(self, plugins: BindPlugins) -> frozenset[str]:
        """Return the skipped plugins for which `bind_plugins` returned this."""
        return next(skipped for skipped, known in self._bind_plugins.items() if known is plugins)

    def run_pre_enqueue(self, pod: Pod, now_ns: int) -> tuple[str, str, Status] | None:
        """Run PreEnqueue, and see whether the pod has a place in the queue.

        Returns
        -------
        (str, str, Status), optional
            The extension point, the plugin that gates the pod, and its status.
        """
        for plugin in self.profile.pre_enqueue:
            try:
                status: object = plugin.pre_enqueue(pod)
            except Exception as error:  # noqa: BLE001 - a user's plugin may raise anything
                status = Status.error(f"{raised(error)} (pod {pod.key})")
            if status is _OK:
                continue
            if not isinstance(status, Status):
                status = Status.error(f"returned {described(status)}, not a Status (pod {pod.key})")
            if not status.is_success:
                return "PreEnqueue", plugin.name, status
        if self._order is not None:
            status = self._order.check(pod, now_ns)
            if not status.is_success:
                return "QueueSort", self._order.plugin.name, status
        for plugin in self._grouping:
            try:
                hash(plugin.group_of(pod))
            except Exception as error:  # noqa: BLE001 - a user's plugin may raise anything
                return "GroupOf", plugin.name, Status.error(f"{raised(error)} (pod {pod.key})")
        return None


def hint_table(profile: Profile, *, has_extenders: bool = False) -> HintTable:
    """Collect the registered events of the plugins that can reject a pod.

    Extenders register nothing: every event may change their answers.
    """
    registrations: dict[str, tuple[EventHint, ...] | None] = {}
    order = sort_order(profile)
    if has_extenders:
        registrations[EXTENDER] = None
    for plugin in (
        *profile.pre_enqueue,
        *profile.holding,
        *profile.pre_filter,
        *profile.filter,
        *profile.post_filter,
        *profile.reserve,
        *profile.permit,
        *((order.plugin,) if order is not None else ()),
        *_grouping(profile),
    ):
        if plugin.name not in registrations:
            registrations[plugin.name] = _registered(plugin)
    return queueing.HintTable.from_plugins(registrations)


def custom_resources(profiles: Iterable[Profile]) -> Sequence[str]:
    """Return the custom resources whose events plugins register, by kind and group.

    Upstream: pkg/scheduler/eventhandlers.go, addAllEventHandlers
    """
    registered = frozenset[str]().union(*(hint_table(each).resources for each in profiles))
    return sorted(filter(_is_custom, registered))


def _is_custom(resource: str) -> bool:
    return "." in resource and "/" not in resource


def _registered(plugin: Plugin) -> tuple[EventHint, ...] | None:
    """Return what a plugin registers; None: every event.

    Raises
    ------
    InputError
        If it raises, or returns anything else; no machine is made then.
    """
    if not plugin.implements("events_to_register"):
        return None
    try:
        answer: object = plugin.events_to_register()
    except Exception as error:
        raise InputError([_wrong_registration(plugin, raised(error))]) from error
    if answer is None:
        return None
    if isinstance(answer, tuple | list) and all(isinstance(hint, EventHint) for hint in answer):
        for hint in answer:
            if hint.resource not in _RESOURCES and not _is_custom(hint.resource):
                near = did_you_mean(hint.resource, _RESOURCES)
                text = f"registers an unknown resource, {described(hint.resource)}{near}"
                raise InputError([_wrong_registration(plugin, text)])
        return tuple(answer)
    text = f"returned {described(answer)}; expected a tuple of EventHint"
    raise InputError([_wrong_registration(plugin, text)])


def _wrong_registration(plugin: Plugin, text: str) -> FieldError:
    return FieldError(source=f"plugin {plugin.name}", path="events_to_register", message=text)


def sort_order(profile: Profile) -> SortOrder | None:
    """Return the order of a profile's QueueSort plugin; None is PrioritySort's."""
    # A profile has one QueueSort plugin; classic rules may have none.
    own = (plugin for plugin in profile.queue_sort if plugin.name != "PrioritySort")
    return next(map(SortOrder, own), None)


def _grouping(profile: Profile) -> tuple[Plugin, ...]:
    return tuple(plugin for plugin in profile.all_plugins() if plugin.implements("group_of"))


# The order of the queue by a QueueSort plugin, whatever the plugin does wrong.
#
# A pod whose key is invalid is gated with an Event, like a pod on which a PreEnqueue plugin fails.
# A key may also become invalid after the pod has entered the queue: such a pod comes last.

_LAST = (1, 0)


class SortOrder:
    """Keys of one QueueSort plugin.

    Parameters
    ----------
    plugin : Plugin
        With `queue_sort_key`.
    """

    def __init__(self, plugin: Plugin) -> None:
        self.plugin = plugin
        self._first: object = None
        """The first key that could be used; others have to be comparable with it."""

    def __call__(self, queued: QueuedPod) -> tuple[object, int]:
        """Return the sort key of a pod; an exception of the plugin is not raised."""
        return self.key_of(queued.pod, queued.timestamp_ns), queued.entered_index

    def key_of(self, pod: Pod, timestamp_ns: int) -> tuple[int, object]:
        """Return the sort key of a pod without the order of entry."""
        key: object = None
        try:
            key = self.plugin.queue_sort_key(pod, timestamp_ns)
            is_good = self._is_good(key)
        except Exception:  # noqa: BLE001 - a user's plugin may raise anything
            is_good = False
        return (0, key) if is_good else _LAST

    def check(self, pod: Pod, timestamp_ns: int) -> Status:
        """Check the key that the plugin returns for a pod; an ERROR if it is invalid."""
        try:
            key: object = self.plugin.queue_sort_key(pod, timestamp_ns)
        except Exception as error:  # noqa: BLE001 - a user's plugin may raise anything
            return Status.error(f"{raised(error)} (pod {pod.key})")
        if self._is_good(key):
            return Status.OK
        return Status.error(f"returned {described(key)}, which cannot be sorted (pod {pod.key})")

    def _is_good(self, key: object) -> bool:
        first = key if self._first is None else self._first
        try:
            hash(key)
            # What is not equal to itself (not a number) has no place in any order.
            is_good = bool(key == key) and not key < key and _is_like(key, first)  # type: ignore[operator]  # noqa: PLR0124
        except Exception:  # noqa: BLE001 - the key is a user's object
            return False
        if is_good and self._first is None:
            self._first = key
        return is_good


def _is_like(key: object, first: object) -> bool:
    """Report whether two keys can be compared at every depth, and not only where they differ."""
    if isinstance(key, tuple) and isinstance(first, tuple):
        return all(_is_like(one, other) for one, other in zip(key, first, strict=False))
    if isinstance(key, int | float) and isinstance(first, int | float):
        return key == key  # noqa: PLR0124 - not a number
    return type(key) is type(first)

"""A profile as the machine runs it: who decides, and who has a part in placing.

Most plugins that take part in placing have nothing to do for most pods. Which of them do
follows from what PreFilter skipped, so it is worked out once per distinct set of skipped
plugins.
"""

from __future__ import annotations

from podwright.columns import Cluster
from podwright.framework import EventHint, Plugin, Status
from podwright.framework.decision import Decision
from podwright.framework.extenders import EXTENDER, CalledExtender
from podwright.framework.profile import Profile
from podwright.framework.run import Runner
from podwright.machine.batching import Batch
from podwright.objects import Pod
from podwright.queueing import HintTable


class Placing:
    """The plugins that are called for a pod from Reserve on, in run order.

    Attributes
    ----------
    binders : tuple of CalledExtender
        The extenders that bind pods; they come before the Bind plugins.
    """

    __slots__ = (
        "bind",
        "binders",
        "binds_simply",
        "is_plain",
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
        self.reserve = _taking_part(profile.reserve, skipped)
        self.unreserve = self.reserve[::-1]
        self.permit = _taking_part(profile.permit, skipped)
        self.pre_bind = _taking_part(profile.pre_bind, skipped)
        self.bind = profile.bind
        self.post_bind = _taking_part(profile.post_bind, skipped)
        # Nobody wants to have a say when a binding was written.
        self.binds_simply = not any(p.implements("continue_bind") for p in profile.bind)
        self.is_plain = not (self.reserve or self.permit or self.pre_bind or self.post_bind)


def _taking_part(plugins: tuple[Plugin, ...], skipped: frozenset[str]) -> tuple[Plugin, ...]:
    return tuple(
        plugin for plugin in plugins if not (plugin.rests_when_skipped and plugin.name in skipped)
    )


class RunningProfile:
    """One profile over the machine's cluster.

    Attributes
    ----------
    batch : Batch, optional
        Where opportunistic batching takes part; never beside extenders.
    """

    def __init__(
        self,
        profile: Profile,
        cluster: Cluster,
        *,
        seed: int,
        extenders: tuple[CalledExtender, ...] = (),
        batching: bool = False,
    ) -> None:
        self.profile = profile
        self.name = profile.scheduler_name
        self.extenders = extenders
        is_batching = batching and not extenders
        self.runner = Runner(
            profile, cluster, seed=seed, extenders=extenders, keeps_totals=is_batching
        )
        self.batch = Batch(self.runner) if is_batching else None
        self._placing: dict[frozenset[str], Placing] = {}

    def decide(self, pod: Pod, *, cycle_number: int, now_ns: int) -> Decision:
        """Choose a node for `pod` without asking extenders; see `Runner.decide`."""
        if self.batch is not None:
            return self.batch.decide(pod, cycle_number=cycle_number, now_ns=now_ns)
        return self.runner.decide(pod, cycle_number=cycle_number)

    def placing(self, skipped: frozenset[str]) -> Placing:
        """Return who is called for a pod for which PreFilter skipped these plugins."""
        found = self._placing.get(skipped)
        if found is None:
            found = self._placing[skipped] = Placing(self.profile, skipped, self.extenders)
        return found

    def skipped_in(self, placing: Placing) -> frozenset[str]:
        """Return for which skipped plugins `placing` gave this."""
        return next(skipped for skipped, known in self._placing.items() if known is placing)

    def hold_back(self, pod: Pod) -> tuple[str, Status] | None:
        """Run PreEnqueue; returns the plugin that holds the pod back and what it says."""
        for plugin in self.profile.pre_enqueue:
            try:
                status: object = plugin.pre_enqueue(pod)
            except Exception as error:  # noqa: BLE001 - a user's plugin may raise anything
                status = Status.error(f"{type(error).__name__}: {error} (pod {pod.key})")
            if not isinstance(status, Status):
                status = Status.error(f"returned {status!r}, not a Status (pod {pod.key})")
            if not status.is_success:
                return plugin.name, status
        return None


def hint_table(profile: Profile, *, has_extenders: bool = False) -> HintTable:
    """Gather what the plugins registered that can reject a pod.

    Extenders register nothing: every event may change their minds.
    """
    registrations: dict[str, tuple[EventHint, ...] | None] = {}
    if has_extenders:
        registrations[EXTENDER] = None
    for plugin in (
        *profile.pre_enqueue,
        *profile.pre_filter,
        *profile.filter,
        *profile.post_filter,
        *profile.reserve,
        *profile.permit,
    ):
        if plugin.name not in registrations:
            registrations[plugin.name] = (
                plugin.events_to_register() if plugin.implements("events_to_register") else None
            )
    return HintTable.from_plugins(registrations)

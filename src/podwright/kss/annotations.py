"""The annotations of kube-scheduler-simulator, for any attempt of any pod of a recorded run.

Nothing of them is kept while a run is recorded. An attempt is explained as `explain_cycle`
does it, and then the run goes on from there while its plugins are listened to, until the pod
is bound or has failed. Plugins that may keep something outside their cycle would be changed by
the explaining: where there are such, a machine that nobody has asked anything goes on instead.

Each attempt is one element of the history, also one after which nothing about the pod changed;
the original notices results only when the pod is updated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from podwright.assembly import Registry
from podwright.config import (
    ExtenderCall,
    Gates,
    KubeSchedulerConfiguration,
    Plugins,
    read_configuration,
    set_defaults,
)
from podwright.framework import Explanation, Plugin, PluginCall, trace_plugins
from podwright.kss.history import UnusableHistory, extend_history
from podwright.kss.results import HISTORY, ExtenderAnswer, Placed, attempt_results
from podwright.machine import Action, Bind, CallExtender, EmitEvent, ExtenderReplied, ObjectDeleted
from podwright.objects import NamespacedName
from podwright.recording import (
    Cycles,
    DecisionLog,
    Entry,
    LogError,
    PastCycle,
    Setup,
    encode_actions,
    find_cycle,
)

SCHEDULED: Final = "Scheduled"
FAILED: Final = "FailedScheduling"


class KssAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt to schedule a pod.

    Parameters
    ----------
    attempt : int
        The first is 1.
    explanation : Explanation
        Of its cycle.
    results : dict of str to str
        The annotations that it gave, without the history; empty if there was no node to ask
        about.
    """

    attempt: int
    explanation: Explanation
    results: dict[str, str]

    @property
    def uid(self) -> str:
        """The pod's; another pod may have had its name before."""
        return self.explanation.pod.metadata.uid


def kss_annotations(
    log: DecisionLog,
    pod: NamespacedName,
    attempt: int = -1,
    *,
    at_ns: int | None = None,
    plugins: Iterable[type[Plugin]] = (),
) -> dict[str, str]:
    """Return the annotations that a pod has after an attempt, history included.

    The history begins with what the pod brought along. If that is no history, it is left as
    it is and not among the annotations; the same if there is only an attempt whose results
    are too long for one.

    Parameters
    ----------
    pod : str
        `namespace/name`.
    attempt : int
        1 is the first cycle of the pod, -1 the last.
    at_ns : int, optional
        Instead of `attempt`: the last one that was over at this time.
    plugins : iterable of type
        The user's own plugin classes that the run was recorded with.

    Returns
    -------
    dict of str to str
        Empty if no plugin was asked in any attempt of this pod.

    Raises
    ------
    UnknownCycle
        If the pod was not tried then, or never.
    LogError
        If the run cannot be repeated.
    """
    return annotations_after(kss_history(log, pod, attempt, at_ns=at_ns, plugins=plugins))


def kss_history(
    log: DecisionLog,
    pod: NamespacedName,
    attempt: int = -1,
    *,
    at_ns: int | None = None,
    plugins: Iterable[type[Plugin]] = (),
) -> list[KssAttempt]:
    """Return the attempts of one pod up to one of them, oldest first.

    Parameters are those of `kss_annotations`. Attempts of an earlier pod of that name are left
    out.
    """
    own = tuple(plugins)
    cycles = Cycles(log)
    last = _attempt(
        log, find_cycle(log, pod, attempt, at_ns=at_ns, plugins=own, cycles=cycles), own
    )
    attempts = [last]
    for number in range(last.attempt - 1, 0, -1):
        earlier = _attempt(log, find_cycle(log, pod, number, plugins=own, cycles=cycles), own)
        if earlier.uid != last.uid:
            break
        attempts.append(earlier)
    return attempts[::-1]


def kss_attempt(
    log: DecisionLog,
    pod: NamespacedName,
    attempt: int = -1,
    *,
    at_ns: int | None = None,
    plugins: Iterable[type[Plugin]] = (),
) -> KssAttempt:
    """Return one attempt and its results alone; see `kss_annotations` for the parameters."""
    own = tuple(plugins)
    return _attempt(log, find_cycle(log, pod, attempt, at_ns=at_ns, plugins=own), own)


def first_profile_weights(setup: Setup, *, plugins: Iterable[type[Plugin]] = ()) -> dict[str, int]:
    """Return the weights by which the original multiplies scores, whatever profile gave them.

    Notes
    -----
    The first profile's alone, and multiPoint goes before score there, which is the other way
    round for the scheduler.
    Upstream: simulator/scheduler/plugin/plugins.go, `getScorePluginWeight`
    (kube-scheduler-simulator)
    """
    written = KubeSchedulerConfiguration()
    if setup.configuration:
        written = read_configuration(setup.configuration, source="the log's configuration")
    defaulted = set_defaults(Registry(tuple(plugins)).enable_own(written), Gates(setup.gates))
    sets = defaulted.profiles[0].plugins or Plugins()
    return {
        entry.name: entry.weight or 1 for s in (sets.score, sets.multi_point) for entry in s.enabled
    }


def annotations_after(attempts: Sequence[KssAttempt]) -> dict[str, str]:
    """Return the annotations that a pod has after its attempts, which come oldest first."""
    found: dict[str, str] = {}
    before = attempts[0].explanation.pod.metadata.annotations.get(HISTORY)
    history = before
    for one in attempts:
        if not one.results:
            continue
        found |= one.results
        try:
            history = extend_history(history, one.results)
        except UnusableHistory:
            # The plain annotations are written all the same, and the history stays.
            continue
    if history is not None and history != before:
        found[HISTORY] = history
    return found


# -------------------------------------------------------------------- one attempt


def _attempt(log: DecisionLog, past: PastCycle, plugins: tuple[type[Plugin], ...]) -> KssAttempt:
    explanation = past.explain()
    profile = past.runner.profile
    again = past
    if not all(_keeps_nothing(plugin) for plugin in profile.all_plugins()):
        again = find_cycle(log, past.pod.key, past.attempt, plugins=plugins)
    story = _Story(again)
    story.follow(explanation.decision.node)
    weights = first_profile_weights(log.setup, plugins=plugins)
    if not profile.score:
        # Priorities of the classic rules, which the original does not have.
        weights = {given.plugin: given.weight for given in explanation.scores}
    return KssAttempt(
        attempt=past.attempt,
        explanation=explanation,
        results=attempt_results(
            explanation,
            profile,
            weights,
            placed=story.placed(),
            extenders=story.answers,
        ),
    )


def _keeps_nothing(plugin: Plugin) -> bool:
    """Tell whether a plugin remembers nothing but in its cycle."""
    is_ours = type(plugin).__module__.startswith("podwright.plugins.")
    # Those that keep pods together act on others of their group.
    return is_ours and not plugin.implements("group_of")


class _Story:
    """What is heard of a pod while a run goes on from before one of its cycles.

    Attributes
    ----------
    answers : list of ExtenderAnswer
        What extenders said of it, in order.
    """

    def __init__(self, past: PastCycle) -> None:
        self.answers: list[ExtenderAnswer] = []
        self._past = past
        self._uid = past.pod.metadata.uid
        self._heard: list[PluginCall] = []
        self._asked: dict[int, ExtenderCall] = {}
        self._node = ""
        self._is_binding = False
        self._event = ""
        runner = past.run.machine.runner(past.pod.spec.scheduler_name)
        assert runner is not None, f"no profile is for {past.pod.key}, yet it was tried"
        trace_plugins(runner.profile, self._hear)

    def _hear(self, heard: PluginCall) -> None:
        if heard.uid == self._uid:
            self._heard.append(heard)

    def follow(self, node: str) -> None:
        """Go on until the pod is bound or has failed.

        Parameters
        ----------
        node : str
            Where the cycle put the pod; "" if nowhere.

        Raises
        ------
        LogError
            If the machine does not answer as it is recorded.
        """
        run, end = self._past.run, self._past.end
        while (step := run.step()) is not None:
            entry, actions = step
            if encode_actions(actions) != entry.actions:
                raise LogError(
                    f"event {entry.index} does not come out as it is recorded, so what plugins"
                    " said then cannot be told; podwright.verify says more"
                )
            self._take(entry, actions)
            if entry.index < end:
                continue
            if entry.index == end:
                # Nobody is asked where the pod could not even begin to count.
                has_begun = bool(node) and (bool(self._heard) or self._event != FAILED)
                self._node = node if has_begun else ""
            if self._event or not self._node or self._is_gone(entry):
                break

    def _take(self, entry: Entry, actions: list[Action]) -> None:
        match entry.event:
            case ExtenderReplied(number, reply) if number in self._asked:
                call = self._asked.pop(number)
                settings = next(
                    one.settings
                    for one in self._past.runner.extenders
                    if one.index == call.extender
                )
                self.answers.append(
                    ExtenderAnswer(
                        name=settings.url_prefix,
                        weight=settings.weight,
                        verb=call.verb,
                        reply=reply,
                    )
                )
            case _:
                pass
        for action in actions:
            match action:
                case EmitEvent(uid=uid, reason=reason) if uid == self._uid:
                    if reason in (SCHEDULED, FAILED):
                        self._event = reason
                case Bind(uid=uid) if uid == self._uid:
                    self._is_binding = True
                case CallExtender(number, request) if self._is_about_us(entry, request):
                    self._asked[number] = request
                    self._is_binding |= request.verb == "bind"
                case _:
                    continue

    def _is_about_us(self, entry: Entry, request: ExtenderCall) -> bool:
        if request.verb == "bind":
            return bool(msgspec.json.decode(request.body)["PodUID"] == self._uid)
        # Only one cycle runs at a time.
        return entry.index <= self._past.end

    def _is_gone(self, entry: Entry) -> bool:
        return isinstance(entry.event, ObjectDeleted) and entry.event.obj.uid == self._uid

    def placed(self) -> Placed:
        """Return how far the pod got."""
        return Placed(
            node=self._node,
            heard=tuple(self._heard),
            is_binding=self._is_binding or any(one.point == "bind" for one in self._heard),
            is_bound=self._event == SCHEDULED,
        )

"""The annotations of kube-scheduler-simulator, for any attempt of any pod of a recorded run.

A recorded run does not contain these annotations. An attempt is explained as `explain_cycle` does
it. The run is then replayed from that cycle, with its plugin calls traced, until the pod is bound
or has failed. An explanation could change plugins that keep state outside the cycle, so a profile
with such plugins is replayed on a second machine.

Each attempt is one element of the history, even if it did not change the pod. The original
records results only when the pod is updated.
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
from podwright.kss.results import HISTORY, ExtenderAnswer, PlacementOutcome, attempt_results
from podwright.machine import Action, Bind, CallExtender, EmitEvent, ExtenderReplied, ObjectDeleted
from podwright.objects import NamespacedName, Time
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
        The explanation of its cycle.
    results : dict of str to str
        The annotations of the attempt, without the history; empty if there was no node.
    """

    attempt: int
    explanation: Explanation
    results: dict[str, str]

    @property
    def uid(self) -> str:
        """The uid of the pod, which distinguishes it from earlier pods of the same name."""
        return self.explanation.pod.metadata.uid


def kss_annotations(
    log: DecisionLog,
    pod: NamespacedName,
    attempt: int = -1,
    *,
    at: Time | None = None,
    plugins: Iterable[type[Plugin]] = (),
) -> dict[str, str]:
    """Return the annotations that a pod has after an attempt, history included.

    The history continues the one that the pod had when it was created. If that is not a valid
    history, or the results of the only attempt are too long, the annotation stays as it is and is
    not part of the result.

    Parameters
    ----------
    pod : str
        `namespace/name`.
    attempt : int
        1 is the first cycle of the pod, -1 the last.
    at : Time, optional
        Instead of `attempt`: the last attempt that was over at this time.
    plugins : iterable of type
        The user's plugin classes that the run was recorded with.

    Returns
    -------
    dict of str to str
        Empty if no plugin was called in any attempt of this pod.

    Raises
    ------
    UnknownCycle
        There is no such attempt of the pod.
    LogError
        The run cannot be replayed.
    """
    return annotations_after(kss_history(log, pod, attempt, at=at, plugins=plugins))


def kss_history(
    log: DecisionLog,
    pod: NamespacedName,
    attempt: int = -1,
    *,
    at: Time | None = None,
    plugins: Iterable[type[Plugin]] = (),
) -> list[KssAttempt]:
    """Return the attempts of one pod up to one of them, oldest first.

    The parameters are those of `kss_annotations`. Attempts of earlier pods of the same name are
    excluded.
    """
    own = tuple(plugins)
    cycles = Cycles(log)
    last = _attempt(log, find_cycle(log, pod, attempt, at=at, plugins=own, cycles=cycles), own)
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
    at: Time | None = None,
    plugins: Iterable[type[Plugin]] = (),
) -> KssAttempt:
    """Return one attempt and its results; see `kss_annotations` for the parameters."""
    own = tuple(plugins)
    return _attempt(log, find_cycle(log, pod, attempt, at=at, plugins=own), own)


def first_profile_weights(setup: Setup, *, plugins: Iterable[type[Plugin]] = ()) -> dict[str, int]:
    """Return the weights by which the original multiplies the scores of all profiles.

    Notes
    -----
    The original uses the weights of the first profile only, and multiPoint overrides score. In
    the scheduler, score overrides multiPoint.
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
    """Return the annotations that a pod has after its attempts, given oldest first."""
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
            # The other annotations are still written; the history stays.
            continue
    if history is not None and history != before:
        found[HISTORY] = history
    return found


# -------------------------------------------------------------------- one attempt


def _attempt(log: DecisionLog, past: PastCycle, plugins: tuple[type[Plugin], ...]) -> KssAttempt:
    explanation = past.explain()
    profile = past.runner.profile
    replayed = past
    if not all(_is_stateless(plugin) for plugin in profile.all_plugins()):
        replayed = find_cycle(log, past.pod.key, past.attempt, plugins=plugins)
    replay = _AttemptReplay(replayed)
    replay.run_until_decided(explanation.decision.node)
    weights = first_profile_weights(log.setup, plugins=plugins)
    if not profile.score:
        # The v1.16 rules have priorities, for which the original has no weights.
        weights = {given.plugin: given.weight for given in explanation.scores}
    return KssAttempt(
        attempt=past.attempt,
        explanation=explanation,
        results=attempt_results(
            explanation,
            profile,
            weights,
            placed=replay.placed(),
            extenders=replay.answers,
        ),
    )


def _is_stateless(plugin: Plugin) -> bool:
    """Whether a plugin keeps no state outside the cycle."""
    is_in_tree = type(plugin).__module__.startswith("podwright.plugins.")
    # Plugins that group pods keep state about the other pods of a group.
    return is_in_tree and not plugin.implements("group_of")


class _AttemptReplay:
    """Replays a run from before a cycle of a pod, and collects the calls that concern the pod.

    Attributes
    ----------
    answers : list of ExtenderAnswer
        The answers of extenders about the pod, in order.
    """

    def __init__(self, past: PastCycle) -> None:
        self.answers: list[ExtenderAnswer] = []
        self._past = past
        self._uid = past.pod.metadata.uid
        self._calls: list[PluginCall] = []
        self._pending_extender_calls: dict[int, ExtenderCall] = {}
        self._node = ""
        self._is_binding = False
        self._event = ""
        runner = past.run.machine.runner(past.pod.spec.scheduler_name)
        assert runner is not None, f"there is no profile for {past.pod.key}"
        trace_plugins(runner.profile, self._record_call)

    def _record_call(self, call: PluginCall) -> None:
        if call.uid == self._uid:
            self._calls.append(call)

    def run_until_decided(self, node: str) -> None:
        """Replay until the pod is bound or has failed.

        Parameters
        ----------
        node : str
            The node that the cycle chose; "" if there is none.

        Raises
        ------
        LogError
            The machine returns other actions than the recorded ones.
        """
        run, end = self._past.run, self._past.end
        while (step := run.step()) is not None:
            entry, actions = step
            if encode_actions(actions) != entry.actions:
                raise LogError(
                    f"the replay of event {entry.index} differs from the recording, so the plugin"
                    " results are not available; use podwright.verify for details"
                )
            self._process(entry, actions)
            if entry.index < end:
                continue
            if entry.index == end:
                # Reserve is not called if the pod could not be assumed.
                has_begun = bool(node) and (bool(self._calls) or self._event != FAILED)
                self._node = node if has_begun else ""
            if self._event or not self._node or self._is_deletion_of_pod(entry):
                break

    def _process(self, entry: Entry, actions: list[Action]) -> None:
        match entry.event:
            case ExtenderReplied(number, reply) if number in self._pending_extender_calls:
                call = self._pending_extender_calls.pop(number)
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
                case CallExtender(number, request) if self._concerns_pod(entry, request):
                    self._pending_extender_calls[number] = request
                    self._is_binding |= request.verb == "bind"
                case _:
                    continue

    def _concerns_pod(self, entry: Entry, request: ExtenderCall) -> bool:
        if request.verb == "bind":
            return bool(msgspec.json.decode(request.body)["PodUID"] == self._uid)
        # Cycles are serial, so other requests during this cycle are about this pod.
        return entry.index <= self._past.end

    def _is_deletion_of_pod(self, entry: Entry) -> bool:
        return isinstance(entry.event, ObjectDeleted) and entry.event.obj.uid == self._uid

    def placed(self) -> PlacementOutcome:
        """Return the outcome after the node was chosen."""
        return PlacementOutcome(
            node=self._node,
            calls=tuple(self._calls),
            is_binding=self._is_binding or any(one.point == "bind" for one in self._calls),
            is_bound=self._event == SCHEDULED,
        )

"""The annotations of kube-scheduler-simulator, for any attempt of any pod of a recorded run.

A recorded run does not contain these annotations. An attempt is explained as `explain_cycle` does
it. The run is then replayed from that cycle, with its plugin calls traced, until the pod is bound
or has failed. An explanation could change plugins that keep state outside the cycle, so a profile
with such plugins is replayed on a second machine.

Each attempt is one element of the history, even if it did not change the pod. The original
records results only when the pod is updated.

Notes
-----
Upstream: kube-scheduler-simulator simulator/scheduler/storereflector/storereflector.go,
`updateResultHistory`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from podwright.apimachinery.objects import NamespacedName, PodwrightError, Time, write_go_json
from podwright.scheduler.assembly import Registry
from podwright.scheduler.config import (
    Gates,
    KubeSchedulerConfiguration,
    Plugins,
    read_configuration,
    set_defaults,
)
from podwright.scheduler.framework import Explanation, Plugin, Profile, trace_plugins
from podwright.simulation.kss.results import HISTORY, AttemptTrace, attempt_results
from podwright.simulation.recording import (
    Cycles,
    DecisionLog,
    LogError,
    PastCycle,
    Setup,
    encode_actions,
    find_cycle,
    require_log,
)

NO_RESULTS: Final[Mapping[str, str]] = {}


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
    log : DecisionLog
        The log of the run.
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
    require_log(log)
    at_ns = log.read_optional_time(at)
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

    The parameters are those of `find_cycle`. Attempts of earlier pods of the same name are
    excluded.
    """
    own = tuple(plugins)
    cycles = Cycles(log)
    past = find_cycle(log, pod, attempt, at_ns=at_ns, plugins=own, cycles=cycles)
    last = _attempt(log, past, own)
    attempts = [last]
    for number in range(last.attempt - 1, 0, -1):
        earlier = _attempt(log, find_cycle(log, pod, number, plugins=own, cycles=cycles), own)
        if earlier.uid != last.uid:
            break
        attempts.append(earlier)
    return attempts[::-1]


def first_profile_weights(setup: Setup, *, plugins: Iterable[type[Plugin]] = ()) -> dict[str, int]:
    """Return the weights by which the original multiplies the scores of all profiles.

    Notes
    -----
    The original uses the weights of the first profile only, and multiPoint overrides score. In
    the scheduler, score overrides multiPoint.
    Upstream: kube-scheduler-simulator simulator/scheduler/plugin/plugins.go, `getScorePluginWeight`
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
    found = PodResults(attempts[0].explanation.pod.metadata.annotations.get(HISTORY))
    for one in attempts:
        found.add(one.results)
    return found.annotations()


class PodResults:
    """The results of the attempts of a pod, oldest first.

    Parameters
    ----------
    before : str, optional
        The history that the pod had when it was created.
    """

    def __init__(self, before: str | None) -> None:
        self._before = self._history = before
        self._found: dict[str, str] = {}

    def add(self, results: Mapping[str, str]) -> None:
        """Add the results of the next attempt; empty ones change nothing."""
        if not results:
            return
        self._found |= results
        self._history = _extended(self._history, results)

    def annotations(self, more: Mapping[str, str] = NO_RESULTS) -> dict[str, str]:
        """Return the annotations, with those of an attempt that is not over yet."""
        history = _extended(self._history, more) if more else self._history
        found = {**self._found, **more}
        return found if history in (None, self._before) else {**found, HISTORY: str(history)}


def _extended(history: str | None, results: Mapping[str, str]) -> str | None:
    """Return the history with further results; as it was if it cannot be extended."""
    try:
        return extend_history(history, results)
    except UnusableHistory:
        return history


# -------------------------------------------------------------------- one attempt


def _attempt(log: DecisionLog, past: PastCycle, plugins: tuple[type[Plugin], ...]) -> KssAttempt:
    explanation = past.explain()
    profile = past.runner.profile
    replayed = past
    if not all(is_stateless(plugin) for plugin in profile.all_plugins()):
        replayed = find_cycle(log, past.pod.key, past.attempt, plugins=plugins)
    trace = _traced(replayed, explanation.decision.node)
    weights = first_profile_weights(log.setup, plugins=plugins)
    return finished_attempt(explanation, profile, weights, trace)


def finished_attempt(
    explanation: Explanation, profile: Profile, weights: Mapping[str, int], trace: AttemptTrace
) -> KssAttempt:
    """Return an attempt, from its explanation and what happened after it."""
    if not profile.score:
        # The v1.16 rules have priorities, for which the original has no weights.
        weights = {given.plugin: given.weight for given in explanation.scores}
    return KssAttempt(
        attempt=explanation.attempt,
        explanation=explanation,
        results=attempt_results(
            explanation, profile, weights, placed=trace.placed(), extenders=trace.answers
        ),
    )


def is_stateless(plugin: Plugin) -> bool:
    """Whether a plugin keeps no state outside the cycle."""
    is_in_tree = type(plugin).__module__.startswith("podwright.scheduler.plugins.")
    # Plugins that group pods keep state about the other pods of a group.
    return is_in_tree and not plugin.implements("group_of")


def _traced(past: PastCycle, node: str) -> AttemptTrace:
    """Replay a run from before a cycle of a pod until the pod is bound or has failed.

    Raises
    ------
    LogError
        The machine returns other actions than the recorded ones.
    """
    run = past.run
    runner = run.machine.runner(past.pod.spec.scheduler_name)
    assert runner is not None, f"there is no profile for {past.pod.key}"
    trace = AttemptTrace(past.pod.metadata.uid, past.end, node, past.runner.extenders)
    trace_plugins(runner.profile, trace.record_call)
    while not trace.is_decided and (step := run.step()) is not None:
        entry, actions = step
        if encode_actions(actions) != entry.actions:
            raise LogError(
                f"the replay of event {entry.index} differs from the recording, so the plugin"
                " results are not available; use podwright.verify for details"
            )
        trace.process(entry, actions)
    return trace


# The annotation in which kube-scheduler-simulator keeps the results of all attempts.
#
# A JSON array of objects, oldest first; each has the results of one attempt. The annotations of an
# object are limited to 256 KiB in total, so the oldest results are dropped when the array exceeds
# that size, and further ones where they are stored beside other annotations (`within_limit`).

LIMIT_BYTES: Final = 262_144
"""The API server's limit for the total size of an object's annotations."""


class UnusableHistory(PodwrightError):  # noqa: N818 - named for what it is
    """The history cannot be extended and stays as it is."""


def extend_history(history: str | None, results: Mapping[str, str]) -> str:
    """Append the results of an attempt.

    Parameters
    ----------
    history : str, optional
        The current annotation; None if there is none.
    results : mapping of str to str
        The annotations of the attempt.

    Raises
    ------
    UnusableHistory
        The history is not a list of objects of strings, or the results alone are too long.
    """
    texts = [write_go_json(element) for element in _elements(history)]
    texts.append(write_go_json(dict(results)))
    newest = _newest(texts, LIMIT_BYTES)
    if newest is None:
        raise UnusableHistory(
            f"the results of one attempt take {len(texts[-1].encode())} bytes, and annotations may "
            f"take {LIMIT_BYTES}"
        )
    return newest


def within_limit(results: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    """Return the results that fit into the annotations of an object.

    The last attempt precedes the history: of its annotations the largest are left out until the
    rest fits, and the history has as many of the newest elements as the rest leaves room for.

    Parameters
    ----------
    results : mapping of str to str
        The annotations of a pod after its attempts.
    others : mapping of str to str
        The annotations that it has besides.
    """
    room = LIMIT_BYTES - _size_bytes({k: v for k, v in others.items() if k not in results})
    kept = dict(results)
    if _size_bytes(kept) <= room:
        return kept
    history = kept.pop(HISTORY, None)
    largest = sorted(kept, key=lambda key: len(kept[key]))
    while kept and _size_bytes(kept) > room:
        del kept[largest.pop()]
    if history is not None:
        room -= _size_bytes(kept) + len(HISTORY)
        newest = _newest([write_go_json(element) for element in _elements(history)], room)
        if newest is not None:
            kept[HISTORY] = newest
    return kept


def _size_bytes(annotations: Mapping[str, str]) -> int:
    """Return the size of annotations as the API server counts it."""
    return sum(len(text.encode()) for pair in annotations.items() for text in pair)


def _newest(elements: Sequence[str], limit_bytes: int) -> str | None:
    """Return a history of the newest elements that fit; None if none does."""
    # The brackets, and a comma between two elements.
    sizes = [len(element.encode()) + 1 for element in elements]
    total = sum(sizes) + 1
    first = 0
    while total > limit_bytes and first < len(elements):
        total -= sizes[first]
        first += 1
    return None if first == len(elements) else f"[{','.join(elements[first:])}]"


def _elements(history: str | None) -> list[dict[str, str]]:
    if history is None:
        return []
    try:
        value = json.loads(history)
    except (ValueError, RecursionError) as error:
        raise UnusableHistory(f"the history is not JSON: {error}") from error
    # A null is the same as an empty list, and as an empty object or string inside.
    elements = [] if value is None else value
    if not isinstance(elements, list):
        raise UnusableHistory("the history is not a list")
    found: list[dict[str, str]] = []
    for element in elements:
        fields = {} if element is None else element
        if not isinstance(fields, dict) or any(
            not isinstance(text, str) and text is not None for text in fields.values()
        ):
            raise UnusableHistory("the history is not a list of objects of strings")
        found.append({key: text or "" for key, text in fields.items()})
    return found

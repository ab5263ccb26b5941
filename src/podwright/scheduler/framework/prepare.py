"""PreFilter and PreScore, with results cached per pod key.

Upstream: pkg/scheduler/framework/runtime/framework.go, `RunPreFilterPlugins`,
`RunPreScorePlugins`.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from podwright.scheduler.columns import Cluster, Reads
from podwright.scheduler.framework.adapter import PluginFailure, described
from podwright.scheduler.framework.cycle import Cycle
from podwright.scheduler.framework.plugin import Plugin
from podwright.scheduler.framework.profile import Profile
from podwright.scheduler.framework.status import Code, PreFilterResult, Status

A = TypeVar("A")

_CLUSTER = Reads.CLUSTER.value
_MOST_KEPT = 16_384
_PRE_FILTER_CODES = frozenset(
    {Code.SUCCESS, Code.SKIP, Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE}
)


class PreFilterOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The combined result of all PreFilter plugins.

    Parameters
    ----------
    rejection : Status, optional
        Set if the pod was rejected as a whole.
    skipped : frozenset of str
        Plugins whose Filter is not run.
    node_names : frozenset of str, optional
        The nodes that are left; None: all.
    restricted_by : tuple of str
        The plugins that named nodes, sorted; none after a rejection that preemption cannot undo.
    failure : PluginFailure, optional
        Set if a plugin failed; the cycle ends with it.
    """

    rejection: Status | None = None
    skipped: frozenset[str] = frozenset()
    node_names: frozenset[str] | None = None
    restricted_by: tuple[str, ...] = ()
    failure: PluginFailure | None = None

    def absent_status(self, against_nominated: str = "") -> Status:
        """Return the status of the nodes that PreFilter excluded.

        Parameters
        ----------
        against_nominated : str
            The plugin that rejects the pod's nominated node, if any.

        Notes
        -----
        The nominated node is evaluated before the others get their status, so that the status
        names the plugin that rejected it, too.
        Upstream: pkg/scheduler/schedule_one.go, findNodesThatFitPod, evaluateNominatedNode
        """
        named = {*self.restricted_by, against_nominated} - {""}
        names = " ".join(sorted(named))
        return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{names}]")


PreFilterAnswer: TypeAlias = Status | PreFilterResult
CallPlugin: TypeAlias = Callable[[Plugin], PreFilterAnswer]


def combine_pre_filters(profile: Profile, call_plugin: CallPlugin) -> PreFilterOutcome:
    """Call the PreFilter plugins in order, and stop where upstream stops.

    Parameters
    ----------
    call_plugin : callable
        Returns a plugin's result; raises PluginFailure if the plugin failed.
    """
    skipped: set[str] = set()
    node_names: frozenset[str] | None = None
    restricted_by: list[str] = []
    rejection: Status | None = None
    failure: PluginFailure | None = None
    for plugin in profile.pre_filter:
        try:
            answer = call_plugin(plugin)
        except PluginFailure as caught:
            failure = caught
            break
        if isinstance(answer, PreFilterResult):
            if answer.node_names is None:
                continue
            insort(restricted_by, plugin.name)
            node_names = answer.node_names if node_names is None else node_names & answer.node_names
            if not node_names:
                rejection = _unsatisfied(restricted_by)
                break
        elif answer.code == Code.SKIP:
            skipped.add(plugin.name)
        elif answer.code != Code.SUCCESS:
            rejection = answer.by(plugin.name)
            if answer.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                node_names, restricted_by = None, []
                break
    return PreFilterOutcome(
        rejection=rejection,
        skipped=frozenset(skipped),
        node_names=node_names,
        restricted_by=tuple(restricted_by),
        failure=failure,
    )


def call_pre_filter(plugin: Plugin, cycle: Cycle) -> PreFilterAnswer:
    """Call one plugin.

    Raises
    ------
    PluginFailure
        If the plugin raised, or returned an error or Pending, which upstream takes for one here.
    """
    try:
        answer: object = plugin.pre_filter(cycle)
    except Exception as error:
        raise PluginFailure.raised(plugin, "PreFilter", cycle, error) from error
    if isinstance(answer, PreFilterResult):
        names: object = answer.node_names
        if names is None or isinstance(names, frozenset):
            return answer
        wrong = TypeError(f"restricted the nodes to {described(names)}, not a frozenset of names")
        raise PluginFailure.raised(plugin, "PreFilter", cycle, wrong)
    if not isinstance(answer, Status):
        wrong = TypeError(f"returned {described(answer)}, not a Status or PreFilterResult")
        raise PluginFailure.raised(plugin, "PreFilter", cycle, wrong)
    if answer.code not in _PRE_FILTER_CODES:
        raise PluginFailure(plugin, "PreFilter", answer.failure)
    return answer


def call_pre_score(plugin: Plugin, cycle: Cycle) -> bool:
    """Call one plugin; return whether its Score is skipped.

    Raises
    ------
    PluginFailure
        If the plugin raised, or returned anything but success and skip.
    """
    try:
        answer: object = plugin.pre_score(cycle)
    except Exception as error:
        raise PluginFailure.raised(plugin, "PreScore", cycle, error) from error
    if not isinstance(answer, Status):
        wrong = TypeError(f"returned {described(answer)}, not a Status")
        raise PluginFailure.raised(plugin, "PreScore", cycle, wrong)
    if not answer.is_success and not answer.is_skip:
        raise PluginFailure(plugin, "PreScore", answer.failure)
    return answer.is_skip


def run_pre_filters(
    profile: Profile, cycle: Cycle, results: dict[str, PreFilterAnswer] | None = None
) -> PreFilterOutcome:
    """Run the PreFilter plugins without the cache.

    Parameters
    ----------
    results : dict of str to Status or PreFilterResult, written
        The result of each plugin that was called; an ERROR with its own message if it failed.
    """
    answers = {} if results is None else results

    def call_plugin(plugin: Plugin) -> PreFilterAnswer:
        try:
            answers[plugin.name] = call_pre_filter(plugin, cycle)
        except PluginFailure as failure:
            answers[plugin.name] = Status.error(failure.text)
            raise
        return answers[plugin.name]

    return combine_pre_filters(profile, call_plugin)


def run_pre_scores(profile: Profile, cycle: Cycle, results: dict[str, Status]) -> frozenset[str]:
    """Run the PreScore plugins without the cache; return the plugins whose Score is skipped.

    Parameters
    ----------
    results : dict of str to Status, written
        The result of each plugin that was called; an ERROR with its own message if it failed.

    Raises
    ------
    PluginFailure
        If a plugin failed.
    """
    skipped: list[str] = []
    for plugin in profile.pre_score:
        try:
            is_skipped = call_pre_score(plugin, cycle)
        except PluginFailure as failure:
            results[plugin.name] = Status.error(failure.text)
            raise
        results[plugin.name] = Status.SKIPPED if is_skipped else Status.OK
        if is_skipped:
            skipped.append(plugin.name)
    return frozenset(skipped)


class _Kept(Generic[A]):
    """The result of one plugin for one key at one extension point, and the state it wrote."""

    __slots__ = ("answer", "state", "versions")

    def __init__(self, answer: A, state: dict[str, Any], versions: tuple[int, ...]) -> None:
        self.answer = answer
        self.state = state
        self.versions = versions


class Preparation:
    """PreFilter and PreScore results, cached per plugin and key while they are valid.

    For a pod that differs from all earlier ones in one part, only the plugins that read this
    part are called.
    """

    def __init__(self, profile: Profile, cluster: Cluster) -> None:
        self._profile = profile
        self._cluster = cluster
        self._pre_filters: _Keeper[PreFilterAnswer] = _Keeper(cluster)
        self._pre_scores: _Keeper[bool] = _Keeper(cluster)

    def pre_filter(
        self, cycle: Cycle, keys: Mapping[str, int], reads: Mapping[str, int]
    ) -> PreFilterOutcome:
        """Return the result of PreFilter for a pod; the state is written to `cycle`.

        Parameters
        ----------
        keys, reads : mapping of str to int
            Per plugin, the number of the pod's key, and the `Reads` of its results.
        """
        kept = self._pre_filters

        def call_plugin(plugin: Plugin) -> PreFilterAnswer:
            name = plugin.name
            return kept.answer(plugin, keys[name], reads[name], cycle, call_pre_filter)

        return combine_pre_filters(self._profile, call_plugin)

    def pre_score(
        self, cycle: Cycle, keys: Mapping[str, int], reads: Mapping[str, int]
    ) -> frozenset[str]:
        """Return the score plugins that are skipped for a pod.

        Parameters
        ----------
        keys, reads : mapping of str to int
            As for `pre_filter`.

        Raises
        ------
        PluginFailure
            If a plugin failed.
        """
        kept = self._pre_scores
        return frozenset(
            [
                plugin.name
                for plugin in self._profile.pre_score
                if kept.answer(plugin, keys[plugin.name], reads[plugin.name], cycle, call_pre_score)
            ]
        )


class _Keeper(Generic[A]):
    """Cached results of one extension point."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._kept: dict[tuple[str, int], _Kept[A]] = {}

    def answer(
        self,
        plugin: Plugin,
        key: int,
        reads: int,
        cycle: Cycle,
        call_plugin: Callable[[Plugin, Cycle], A],
    ) -> A:
        """Return the cached result, or call the plugin; its state is written to `cycle`."""
        if reads & _CLUSTER:
            return call_plugin(plugin, cycle)
        entry = self._kept.get((plugin.name, key))
        if entry is not None and (not reads or entry.versions == self._cluster.version_of(reads)):
            if entry.state:
                cycle.take(entry.state)
            return entry.answer
        versions = self._cluster.version_of(reads)
        before = cycle.begin_recording()
        answer = call_plugin(plugin, cycle)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[plugin.name, key] = _Kept(answer, cycle.end_recording(before), versions)
        return answer


def _unsatisfied(restricted_by: list[str]) -> Status:
    names = " ".join(restricted_by)
    if len(restricted_by) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {names}")
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{names}] simultaneously")

"""The rankings of one profile: one per distinct pod key, cached.

A ranking is made in two steps. The *frame* contains the rows of all plugins but those whose
keys vary from pod to pod (`Plugin.key_varies`: the requests); pods that are equal otherwise
share a frame. A frame completed with the rows of the varying plugins is a ranking.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Any

from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import Cluster, Reads
from podwright.scheduler.framework.adapter import PluginFailure
from podwright.scheduler.framework.cycle import Cycle
from podwright.scheduler.framework.keys import Key, PodKeyCache
from podwright.scheduler.framework.plugin import KeyReads, Plugin
from podwright.scheduler.framework.prepare import Preparation, call_pre_filter, call_pre_score
from podwright.scheduler.framework.profile import Profile
from podwright.scheduler.framework.rankings.groups import Scratch
from podwright.scheduler.framework.rankings.ranking import Parts, Ranking, Sweep, is_local
from podwright.scheduler.framework.rankings.rows import ScoreRow, UncacheableScore, VerdictRow
from podwright.scheduler.framework.rankings.scores import MAX_NODE_SCORE, Normalization
from podwright.scheduler.framework.status import Status

_MOST_SEEN = 65_536
_MOST_FRAMES = 4_096
_ROW_BYTES = 128 << 20
"""How much memory rankings, filter rows and score rows may take each, roughly."""

_MOST_ROWS = 4_096
_ROWS_OF_FEW_NODES = 512
"""Number of each that is kept at most: one for each node, but no less than the second number. With
few nodes, making a row again costs less than keeping many, and workloads that are rolled out have
other keys each time."""

_LEAST_KEPT = 16
"""Number of each that is kept regardless of memory."""

_GROUPS_BYTES = 24 << 10
"""Memory of a ranking with totals per group of nodes, at most; most have few groups."""

_MOST_TOTALS = 1 << 20
"""Greatest possible total for which totals are kept settled."""

_CLUSTER, _NODE, _TERMS = Reads.CLUSTER.value, Reads.NODE.value, Reads.TERMS.value


class _Frame:
    """The rows of the steady plugins; a Plugin marks the position of a varying plugin's row.

    `spare` is the last ranking that was completed for a key that is not kept, with its varying
    rows, which are spare, too: it serves the next such key.
    """

    __slots__ = (
        "filters",
        "outcome",
        "reads",
        "scores",
        "skipped_scores",
        "spare",
        "state",
        "sweeping",
        "versions",
    )

    def __init__(self, ranking: Ranking, varying: frozenset[str]) -> None:
        self.outcome = ranking.outcome
        self.skipped_scores = ranking.skipped_scores
        self.filters = [
            row.plugin if isinstance(row, VerdictRow) and row.plugin.name in varying else row
            for row in ranking.filters
        ]
        self.scores = [
            (row.plugin if row.plugin.name in varying else row, weight)
            for row, weight in ranking.scores
        ]
        self.sweeping = ranking.sweeping_scores
        # Completing the frame overwrites the state that the varying plugins wrote.
        self.state = ranking.cycle.state
        self.reads = ranking.reads
        self.versions = ranking.prepared_for
        self.spare: tuple[Ranking, list[VerdictRow | ScoreRow]] | None = None


class RankingCache:
    """Makes and keeps rankings.

    Parameters
    ----------
    profile : Profile
    cluster : Cluster
    """

    def __init__(self, profile: Profile, cluster: Cluster) -> None:
        self._profile = profile
        self._cluster = cluster
        plugins = profile.deciding
        self._keys = PodKeyCache(plugins, cluster)
        self._names = [plugin.name for plugin in plugins]
        self._numbers = {numbers.plugin.name: numbers for numbers in self._keys.numbers}
        self._preparation = Preparation(profile, cluster)
        self._rankings: OrderedDict[Key, Ranking] = OrderedDict()
        self._frames: OrderedDict[Key, _Frame] = OrderedDict()
        self._seen: set[Hashable] = set()
        # The narrower keys without any plugin that reads the cluster.
        self._cacheable: set[Key] = set()
        self._filter_rows: OrderedDict[tuple[str, int], VerdictRow] = OrderedDict()
        self._score_rows: OrderedDict[tuple[str, int], ScoreRow] = OrderedDict()
        # For keys that are not kept: overwritten by the next such key.
        self._spare_filter_rows: dict[str, VerdictRow] = {}
        self._spare_score_rows: dict[str, ScoreRow] = {}
        self._scratch = Scratch()
        self._sweeps = {plugin.name: Sweep(plugin) for plugin in profile.filter}
        largest = MAX_NODE_SCORE * sum(weight for _, weight in profile.score)
        self._narrowing = tuple(
            (plugin, place)
            for place, plugin in enumerate(plugins)
            if plugin.implements("key_in_cluster")
        )
        self._local_filters = frozenset(p.name for p in profile.filter if is_local(p.filter_reads))
        self._local_scores = frozenset(
            p.name for p, _ in profile.score if largest < _MOST_TOTALS and _has_local_score(p)
        )
        self._find_varying()

    def _find_varying(self) -> None:
        """Determine the plugins whose rows are added to a frame."""
        profile = self._profile
        plugins = profile.deciding
        varying = [p for p in plugins if p.key_varies and self._rows_are_local(p)]
        self._varying = frozenset(plugin.name for plugin in varying)
        self._steady_places = [i for i, p in enumerate(plugins) if p.name not in self._varying]
        self._varying_places = [(p.name, i) for i, p in enumerate(plugins) if p in varying]
        self._varying_pre_filters = [p for p in profile.pre_filter if p.name in self._varying]
        self._varying_pre_scores = [p for p in profile.pre_score if p.name in self._varying]

    def of(self, pod: Pod) -> Ranking:
        """Return the ranking of all nodes for pods like `pod`, up to date.

        A key that is seen for the first time gets a ranking for the moment; one that comes
        again gets one that is kept. So pods that all differ fill no memory.

        Raises
        ------
        PluginFailure
            If PreFilter or a local filter or score failed.
        """
        while True:
            try:
                # Each failure removes a plugin from the local scores, so that the loop ends.
                return self._of(pod)
            except UncacheableScore as error:
                self._stop_caching(error.plugin)

    def narrowest(self, pod: Pod) -> Ranking:
        """Return the ranking for the pod's narrower key if it has one, otherwise its own.

        One with a narrower key has `own_state`. Its totals are right, but its state is that of
        another pod with this key, except for `own_state`, so it serves only to choose a node; see
        `Plugin.key_in_cluster`.

        Raises
        ------
        PluginFailure
            As for `of`.
        """
        while True:
            try:
                return self._narrowest(pod)
            except UncacheableScore as error:
                self._stop_caching(error.plugin)

    def prepared(self, pod: Pod) -> Ranking | None:
        """Return what `narrowest` does, but with outdated totals; None if the key is narrower.

        Raises
        ------
        PluginFailure
            If PreFilter failed.
        """
        key = self._key_of(pod)
        return None if self._may_be_narrower(key) else self._prepared(pod, key)

    def _narrowest(self, pod: Pod) -> Ranking:
        key = self._key_of(pod)
        ranking = self._rankings.get(key)
        if self._may_be_narrower(key) if ranking is None else ranking.may_be_narrower:
            if self._keys.is_full:
                self._clear_all()
                key = self._keys.key_of(pod)
            found = self._narrower_key(pod, key)
            if found is not None:
                key, own_state = found
                self._cluster.record_device_changes()
                ranking = self._of_key(pod, key)
                ranking.own_state = own_state
                return ranking
        return self._of_key(pod, key)

    def _may_be_narrower(self, key: Key) -> bool:
        """Return whether a plugin that can narrow its key reads the cluster."""
        all_numbers = self._keys.numbers
        for _, at in self._narrowing:
            if all_numbers[at].reads[key[at]].filter is Reads.CLUSTER:
                return True
        return False

    def _narrower_key(self, pod: Pod, key: Key) -> tuple[Key, dict[str, Any]] | None:
        """Return a key without a plugin that reads the cluster, and the pod's own state."""
        cycle = Cycle(pod, self._cluster)
        narrower = list(key)
        for plugin, place in self._narrowing:
            numbers = self._keys.numbers[place]
            if numbers.reads[key[place]].filter is not Reads.CLUSTER:
                continue
            try:
                of_plugin = plugin.key_in_cluster(cycle)
                if of_plugin is None:
                    return None
                narrower[place] = self._keys.number_of(place, of_plugin)
            except Exception as error:
                raise PluginFailure.raised(plugin, "PodKey", cycle, error) from error
        found = tuple(narrower)
        if found not in self._cacheable:
            for numbers, number in zip(self._keys.numbers, found, strict=True):
                if numbers.preparations[number] & _CLUSTER:
                    return None
            if len(self._cacheable) >= _MOST_SEEN:
                self._cacheable.clear()
            self._cacheable.add(found)
        return found, cycle.state

    def _of(self, pod: Pod) -> Ranking:
        return self._of_key(pod, self._key_of(pod))

    def _key_of(self, pod: Pod) -> Key:
        if self._keys.is_outdated:
            self._clear_all()
        key = self._keys.key_of(pod)
        if self._keys.is_full and key not in self._rankings:
            self._clear_all()
            key = self._keys.key_of(pod)
        return key

    def _of_key(self, pod: Pod, key: Key) -> Ranking:
        ranking = self._prepared(pod, key)
        ranking.refresh(self._cluster)
        return ranking

    def _prepared(self, pod: Pod, key: Key) -> Ranking:
        """Return the ranking for a key with PreFilter and PreScore, whose totals are outdated."""
        ranking = self._rankings.get(key)
        if ranking is None:
            return self._make(pod, key, keep=self._is_familiar(key))
        if self._is_outdated(ranking, key):
            return self._make(pod, key, keep=True)
        return ranking

    # ---------------------------------------------------------------- is it still right?

    def _is_outdated(self, ranking: Ranking, key: Key) -> bool:
        """Return whether PreFilter and PreScore must run again."""
        cluster = self._cluster
        reads = ranking.reads
        # The usual case is decided by two integers, without building a tuple of versions.
        if ranking.objects_version == cluster.objects_version:
            if not reads & (_NODE | _CLUSTER):
                return False
            if not reads & _CLUSTER and ranking.prepared_for[0] == (
                cluster.nodes.node_journal.version
            ):
                return False
        versions = cluster.version_of(reads)
        if reads & _CLUSTER or not self._is_prepared(
            key, ranking.prepared_for, versions, ranking.cycle
        ):
            return True
        ranking.prepared_for = versions
        ranking.objects_version = cluster.objects_version
        return False

    def _is_prepared(
        self, key: Key, before: tuple[int, ...], now: tuple[int, ...], cycle: Cycle
    ) -> bool:
        """Return whether what PreFilter and PreScore found for a key is right for newer versions.

        Each new workload with affinity adds terms, which concern the pods of few others.
        """
        if before == now:
            return True
        if before[:-1] != now[:-1]:  # not only that of terms
            return False
        for numbers, number in zip(self._keys.numbers, key, strict=True):
            plugin = numbers.plugin
            if not numbers.preparations[number] & _TERMS:
                continue
            if not plugin.implements("finds_same_terms"):
                return False
            try:
                if not plugin.finds_same_terms(cycle):
                    return False
            except Exception as error:
                raise PluginFailure.raised(plugin, "PreFilter", cycle, error) from error
        return True

    def _is_familiar(self, key: Hashable) -> bool:
        """Return whether a key was requested before, and record it."""
        if key in self._seen:
            return True
        if len(self._seen) >= _MOST_SEEN:
            self._seen.clear()
        self._seen.add(key)
        return False

    # ---------------------------------------------------------------- making

    def _make(self, pod: Pod, key: Key, *, keep: bool) -> Ranking:
        steady = tuple([key[place] for place in self._steady_places])
        frame = self._frames.get(steady)
        ranking = None
        if frame is not None and not frame.reads & _CLUSTER:
            cycle = Cycle(pod, self._cluster)
            cycle.take(frame.state)
            versions = self._cluster.version_of(frame.reads)
            if self._is_prepared(key, frame.versions, versions, cycle):
                frame.versions = versions
                ranking = self._complete(frame, cycle, key, keep=keep)
            else:
                del self._frames[steady]
        if ranking is None:
            ranking = self._build_ranking(pod, key, keep=keep)
            self._keep_frame(steady, ranking)
        ranking.objects_version = self._cluster.objects_version
        if keep:
            ranking.may_be_narrower = self._may_be_narrower(key)
            self._rankings[key] = ranking
            self._rankings.move_to_end(key)
            self._evict_oldest()
        return ranking

    def _build_ranking(self, pod: Pod, key: Key, *, keep: bool) -> Ranking:
        """Run PreFilter and PreScore, and collect the rows of the plugins that apply."""
        cluster, profile = self._cluster, self._profile
        cycle = Cycle(pod, cluster)
        keys = dict(zip(self._names, key, strict=True))
        reads_of = {
            numbers.plugin.name: numbers.preparations[number]
            for numbers, number in zip(self._keys.numbers, key, strict=True)
        }
        all_reads = 0
        for reads in reads_of.values():
            all_reads |= reads
        versions = cluster.version_of(all_reads)
        outcome = self._preparation.pre_filter(cycle, keys, reads_of)
        if outcome.failure is not None:
            raise outcome.failure
        failure: PluginFailure | None = None
        skipped_scores: frozenset[str] = frozenset()
        filters: list[VerdictRow | Sweep] = []
        scores: list[tuple[ScoreRow, int]] = []
        sweeping: list[tuple[Plugin, int]] = []
        if outcome.rejection is None:
            try:
                skipped_scores = self._preparation.pre_score(cycle, keys, reads_of)
            except PluginFailure as caught:
                failure = caught
            filters.extend(
                self._filter_of(plugin, keys[plugin.name], cycle, keep=keep)
                for plugin in profile.filter
                if plugin.name not in outcome.skipped
            )
            for plugin, weight in profile.score if failure is None else ():
                if plugin.name in skipped_scores:
                    continue
                if plugin.name in self._local_scores and is_local(
                    self._reads_of(plugin, keys[plugin.name]).score
                ):
                    row = self._score_of(plugin, keys[plugin.name], cycle, keep=keep)
                    scores.append((row, weight))
                else:
                    sweeping.append((plugin, weight))
        parts = Parts(
            filters=tuple(filters),
            scores=tuple(scores),
            sweeping_scores=tuple(sweeping),
            skipped_scores=skipped_scores,
            failure=failure,
        )
        return Ranking(
            cycle,
            outcome,
            parts,
            scratch=self._scratch,
            is_kept=keep,
            reads=all_reads,
            prepared_for=versions,
        )

    # ---------------------------------------------------------------- frames

    def _keep_frame(self, steady: Key, ranking: Ranking) -> None:
        """Keep what does not depend on the varying plugins, if that is worth it."""
        outcome = ranking.outcome
        if (
            not self._varying
            or ranking.failure is not None
            or outcome.rejection is not None
            or self._varying.intersection(outcome.restricted_by)
            or self._varying & outcome.skipped
        ):
            return
        rows: list[VerdictRow | ScoreRow] = [
            row for row in ranking.filters if isinstance(row, VerdictRow)
        ]
        rows += [row for row, _ in ranking.scores]
        # A spare row is overwritten by the next key that is not kept.
        if any(row.is_spare and row.plugin.name not in self._varying for row in rows):
            return
        if len(self._frames) >= _MOST_FRAMES:
            self._frames.popitem(last=False)
        self._frames[steady] = _Frame(ranking, self._varying)

    def _complete(self, frame: _Frame, cycle: Cycle, key: Key, *, keep: bool) -> Ranking | None:
        """Add the varying plugins' rows to a frame; None if they reject, restrict or skip.

        The cycle has the state of the frame.
        """
        for plugin in self._varying_pre_filters:
            answer = call_pre_filter(plugin, cycle)
            if not isinstance(answer, Status) or not answer.is_success:
                return None
        for plugin in self._varying_pre_scores:
            # A frame has rows for the scores of its own pod: other skips need other rows.
            if call_pre_score(plugin, cycle) != (plugin.name in frame.skipped_scores):
                return None
        numbers = {name: key[place] for name, place in self._varying_places}
        if not keep and frame.spare is not None:
            spare, rows = frame.spare
            if self._restart(rows, cycle, numbers) and spare.restart(cycle):
                return spare
        parts = Parts(
            filters=tuple(
                [
                    self._filter_of(row, numbers[row.name], cycle, keep=keep)
                    if isinstance(row, Plugin)
                    else row
                    for row in frame.filters
                ]
            ),
            scores=tuple(
                [
                    (self._score_of(row, numbers[row.name], cycle, keep=keep), weight)
                    if isinstance(row, Plugin)
                    else (row, weight)
                    for row, weight in frame.scores
                ]
            ),
            sweeping_scores=frame.sweeping,
            skipped_scores=frame.skipped_scores,
        )
        ranking = Ranking(
            cycle,
            frame.outcome,
            parts,
            scratch=self._scratch,
            is_kept=keep,
            reads=frame.reads,
            prepared_for=frame.versions,
        )
        frame.spare = None
        if not keep:
            every: list[VerdictRow | ScoreRow | Sweep] = [*ranking.filters]
            every += [row for row, _ in ranking.scores]
            varying = [row for row in every if row.plugin.name in self._varying]
            rows = [row for row in varying if not isinstance(row, Sweep) and row.is_spare]
            if len(rows) == len(varying):
                frame.spare = ranking, rows
        return ranking

    def _restart(
        self, rows: list[VerdictRow | ScoreRow], cycle: Cycle, numbers: Mapping[str, int]
    ) -> bool:
        """Use spare rows for another key; False if that key needs rows that read otherwise."""
        for row in rows:
            reads = self._reads_of(row.plugin, numbers[row.plugin.name])
            if row.reads is not (reads.filter if isinstance(row, VerdictRow) else reads.score):
                return False
            row.restart(cycle)
        return True

    # ---------------------------------------------------------------- rows

    def _filter_of(
        self, plugin: Plugin, key: int, cycle: Cycle, *, keep: bool
    ) -> VerdictRow | Sweep:
        reads = self._reads_of(plugin, key).filter
        if not is_local(reads):
            return self._sweeps[plugin.name]
        row = self._filter_rows.get((plugin.name, key))
        if row is None:
            if keep or self._is_familiar(("filter", plugin.name, key)):
                row = self._filter_rows[plugin.name, key] = VerdictRow(plugin, cycle, reads)
                return row
            row = self._spare_filter_rows.get(plugin.name)
            if row is None or row.reads != reads:
                row = self._spare_filter_rows[plugin.name] = VerdictRow(plugin, cycle, reads)
            row.restart(cycle)
        return row

    def _reads_of(self, plugin: Plugin, key: int) -> KeyReads:
        return self._numbers[plugin.name].reads[key]

    def _score_of(self, plugin: Plugin, key: int, cycle: Cycle, *, keep: bool) -> ScoreRow:
        reads = self._reads_of(plugin, key).score
        row = self._score_rows.get((plugin.name, key))
        if row is None:
            if keep or self._is_familiar(("score", plugin.name, key)):
                row = self._score_rows[plugin.name, key] = ScoreRow(plugin, cycle, reads)
                return row
            row = self._spare_score_rows.get(plugin.name)
            if row is None or row.reads != reads:
                row = self._spare_score_rows[plugin.name] = ScoreRow(plugin, cycle, reads)
            row.restart(cycle)
        return row

    def _evict_oldest(self) -> None:
        """Keep the memory of rankings and rows within bounds; the least used go first.

        A row that rankings still use stays with them.
        """
        n_slots = self._cluster.nodes.n_slots
        most = min(_MOST_ROWS, max(_ROWS_OF_FEW_NODES, n_slots))
        row_bytes = 8 * n_slots + 4_096
        for kept, one_bytes in (
            (self._rankings, row_bytes + _GROUPS_BYTES),
            (self._filter_rows, row_bytes),
            (self._score_rows, row_bytes),
        ):
            while len(kept) > max(_LEAST_KEPT, min(most, _ROW_BYTES // one_bytes)):
                kept.popitem(last=False)

    def _clear_all(self) -> None:
        """Clear all keys and caches: there are too many keys, or the keys are incomplete."""
        self._keys.clear()
        for kept in (self._rankings, self._frames, self._filter_rows, self._score_rows):
            kept.clear()
        self._seen.clear()
        self._cacheable.clear()
        self._preparation = Preparation(self._profile, self._cluster)

    def _stop_caching(self, plugin: Plugin) -> None:
        """Run a score plugin in every cycle from now on; see `UncacheableScore`."""
        self._local_scores -= {plugin.name}
        self._find_varying()
        self._clear_all()

    def _rows_are_local(self, plugin: Plugin) -> bool:
        """Return whether all rows of the plugin are local."""
        is_filter = plugin.implements("filter") or plugin.implements("filter_columns")
        is_score = plugin.implements("score") or plugin.implements("score_columns")
        return (not is_filter or plugin.name in self._local_filters) and (
            not is_score or plugin.name in self._local_scores
        )


def _has_local_score(plugin: Plugin) -> bool:
    """Whether raw scores can be kept per slot, and normalizing them is a known rule."""
    return is_local(plugin.score_reads) and (
        plugin.normalization is Normalization.NONE
        or (
            plugin.normalization is not Normalization.CUSTOM and not plugin.score_reads & Reads.PODS
        )
    )

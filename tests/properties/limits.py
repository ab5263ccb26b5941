"""The limits of caches and compactions in the engine, lowered so that tests reach them.

Every cache that is compacted or truncated has a limit that a history of some dozens of steps never
reaches. `tight_limits` lowers all of them; decisions must not change.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest
from tests.properties.exercised import Exercised

from podwright.scheduler.columns import cluster, images, nodes, nominations, pod_keys, ranked_pods
from podwright.scheduler.columns.affinity import counted_groups, counters, selectors
from podwright.scheduler.framework import keys, prepare
from podwright.scheduler.framework.rankings import ranking_cache

TIGHT: dict[tuple[ModuleType, str], int] = {
    (cluster, "_DEAD_SLOTS_KEPT"): 4,
    (counters, "_LEAST_COMPACTED"): 6,
    (counted_groups, "_FEW_DOMAINS"): 1,
    (cluster, "_MOST_KEPT"): 1,
    (nodes, "_LEAST_KEPT"): 48,
    (keys, "_MOST_NUMBERS"): 60,
    (keys, "_MOST_TEMPLATES"): 3,
    (nodes, "_LEAST_ROWS"): 2,
    (nominations, "_LEAST_ROWS"): 1,
    (pod_keys, "_MOST_REMEMBERED"): 8,
    (prepare, "_MOST_KEPT"): 12,
    (ranking_cache, "_LEAST_KEPT"): 2,
    (ranking_cache, "_MOST_FRAMES"): 2,
    (ranking_cache, "_MOST_SEEN"): 20,
    (ranking_cache, "_ROW_BYTES"): 1,
    (ranked_pods, "_LEAST_POOL"): 4,
    (ranked_pods, "_MIN_CAPACITY"): 1,
    (ranked_pods, "_WASTED_PART"): 8,
    (selectors, "_LEAST_COUNTERS"): 2,
    (selectors, "_LEAST_IDLE"): -1_000,
    (selectors, "_MOST_IDLE"): -1_000,
}
USUAL = {(module, name): getattr(module, name) for module, name in TIGHT}

IS_COMPILED = hasattr(cluster.Cluster, "__mypyc_attrs__")
"""Whether modules of the core are compiled: their constants and methods cannot be replaced."""

TIGHT_COUNTER_BYTES = 1
"""The limit of `SelectorCounters`, which is a constructor argument."""

COMPACTIONS = (
    "placement logs compacted",
    "journals cut off",
    "slots renumbered",
    "selectors renewed",
    "pools of ranked pods compacted",
    "counters dropped",
    "pod keys forgotten",
    "images forgotten",
    "dry runs forgotten",
    "nominations removed",
    "key numbers forgotten",
    "templates forgotten",
    "answers forgotten",
    "rows forgotten",
    "first sights forgotten",
    "frames forgotten",
)


@contextmanager
def tight_limits() -> Iterator[None]:
    """Lower all limits."""
    with _limits(TIGHT):
        yield


@contextmanager
def usual_limits() -> Iterator[None]:
    """Restore all limits within the block, for the cluster that is compared."""
    with _limits(USUAL):
        yield


def counters_are_few() -> bool:
    """Whether the limits are lowered."""
    return TIGHT[selectors, "_LEAST_COUNTERS"] == selectors._LEAST_COUNTERS


@contextmanager
def _limits(values: dict[tuple[ModuleType, str], int]) -> Iterator[None]:
    before = {(module, name): getattr(module, name) for module, name in values}
    _set(values)
    try:
        yield
    finally:
        _set(before)


def _set(values: dict[tuple[ModuleType, str], int]) -> None:
    for (module, name), value in values.items():
        setattr(module, name, value)


def watch_limits(patch: pytest.MonkeyPatch, exercised: Exercised) -> None:
    """Count how often each limit is reached, under the names in `COMPACTIONS`."""
    watch, forgetting = exercised.watch, exercised.watch_forgetting
    watch(patch, counters.PlacementLog, "_compact", "placement logs compacted")
    watch(patch, nodes.Journal, "_drop_old", "journals cut off")
    watch(patch, cluster.Cluster, "_renumber", "slots renumbered")
    watch(patch, cluster.Cluster, "_renew_selectors", "selectors renewed")
    watch(patch, ranked_pods.RankedPods, "_compact", "pools of ranked pods compacted")
    watch(patch, selectors.SelectorCounters, "_detach", "counters dropped")
    forgetting(patch, pod_keys.PodKeysCache, "of", "_known", "pod keys forgotten")
    forgetting(patch, images.ImageIndex, "_forget", "_states", "images forgotten")
    forgetting(patch, cluster.DryRunCache, "of", "_kept", "dry runs forgotten")
    forgetting(patch, keys.PodKeyCache, "key_of", "_templates", "templates forgotten")
    forgetting(patch, prepare._Keeper, "answer", "_kept", "answers forgotten")
    forgetting(patch, ranking_cache.RankingCache, "_is_familiar", "_seen", "first sights forgotten")
    forgetting(patch, ranking_cache.RankingCache, "_keep_frame", "_frames", "frames forgotten")
    forgetting(patch, ranking_cache.RankingCache, "_evict_oldest", "_filter_rows", "rows forgotten")
    watch(patch, ranking_cache.RankingCache, "_clear_all", "key numbers forgotten")
    forgetting(patch, nominations.Nominations, "remove", "_row_of", "nominations removed")

"""Placements: the sets of nodes on which a pod group is tried as a whole (alpha upstream).

One plugin generates them, others score those in which the group fits.

Upstream: pkg/scheduler/framework/runtime/framework.go, `RunPlacementGeneratePlugins`,
`RunPlacementScorePlugins`; pkg/scheduler/schedule_one_podgroup.go, findBestPlacement
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from podwright._arrays import I32Array
from podwright.apimachinery.objects import NamespacedName
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import (
    Placement,
    Plugin,
    Profile,
    Status,
    described,
    raised,
)

_MOST: Final = 100
_ANYWHERE: Final = ""


def placements_of(
    profile: Profile, cluster: Cluster, group: NamespacedName
) -> Sequence[Placement] | Status:
    """Return the placements of a group in the order of their names, or why there is none."""
    if not profile.placement_generate:
        return [Placement(_ANYWHERE, cluster.nodes.visiting_order())]
    plugin = profile.placement_generate[0]
    try:
        answer: object = plugin.generate_placements(cluster, group)
    except Exception as error:  # noqa: BLE001 - a user's plugin may raise anything
        return Status.error(raised(error)).by(plugin.name)
    if isinstance(answer, Status) and not answer.is_success:
        return answer.by(plugin.name)
    if not isinstance(answer, list | tuple) or not all(isinstance(p, Placement) for p in answer):
        return Status.error(f"returned {described(answer)}, not placements").by(plugin.name)
    if not answer:
        return Status.unschedulable("no feasible placements found").by(plugin.name)
    live = cluster.live_slots()
    found: list[Placement] = []
    for each in answer:
        slots = _slots_of(each, live)
        if slots is None:
            text = f"returned the placement {each.name!r} with slots that no node has"
            return Status.error(text).by(plugin.name)
        found.append(Placement(str(each.name), slots))
    return sorted(found, key=lambda placement: placement.name)


def _slots_of(placement: Placement, live: I32Array) -> I32Array | None:
    """Return the slots of a placement that a plugin made; None if some are not of nodes."""
    try:
        slots = np.array(placement.slots)
    except (TypeError, ValueError):
        return None
    is_good = slots.ndim == 1 and (not len(slots) or slots.dtype.kind in "iu")
    return slots.astype(np.int32) if is_good and np.isin(slots, live).all() else None


def best_placement(
    profile: Profile, cluster: Cluster, group: NamespacedName, fitting: Sequence[Placement]
) -> int | Status:
    """Return the index of the best placement, or why they cannot be compared.

    Notes
    -----
    Upstream draws one of several equally good placements; here it is the first.
    """
    totals = [0] * len(fitting)
    for plugin, weight in profile.placement_score:
        try:
            raw = [plugin.score_placement(cluster, group, each) for each in fitting]
        except Exception as error:  # noqa: BLE001 - a user's plugin may raise anything
            return _failed("running PlacementScore plugins", plugin, raised(error))
        try:
            scores = plugin.normalize_placement_scores(raw)
        except Exception as error:  # noqa: BLE001 - a user's plugin may raise anything
            step = "running NormalizePlacementScore on PlacementScore plugins"
            return _failed(step, plugin, raised(error))
        if not _are_scores(scores, len(fitting)):
            text = f"returned {described(scores)}, not a number for each placement"
            return _failed("running PlacementScore plugins", plugin, text)
        for number, score in enumerate(scores):
            if not 0 <= score <= _MOST:
                return Status.error(
                    "applying score defaultWeights on PlacementScore plugins: plugin"
                    f' "{plugin.name}" returns an invalid score {score}, it should in the range of'
                    f" [0, {_MOST}] after normalizing"
                )
            totals[number] += score * weight
    return totals.index(max(totals))


def _are_scores(scores: object, count: int) -> bool:
    return (
        isinstance(scores, list | tuple)
        and len(scores) == count
        and all(isinstance(score, int | np.integer) for score in scores)
    )


def _failed(step: str, plugin: Plugin, message: str) -> Status:
    return Status.error(f'{step}: plugin "{plugin.name}" failed with: {message}')

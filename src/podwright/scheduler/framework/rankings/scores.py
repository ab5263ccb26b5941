"""Score rows: one integer per slot, and the rules of normalization."""

from __future__ import annotations

from enum import Enum

import msgspec
import numpy as np

from podwright._arrays import I32Array, I64Array, Mask

MAX_NODE_SCORE = 100
"""Upstream: staging/src/k8s.io/kube-scheduler/framework/interface.go, MaxNodeScore."""


class Normalization(Enum):
    """What happens to a plugin's raw scores before they are weighted.

    DEFAULT and DEFAULT_REVERSED are upstream's helper.DefaultNormalizeScore. With them, instead
    of a `normalize_score`, the framework can update the normalized row incrementally.
    """

    NONE = "none"
    DEFAULT = "default"
    DEFAULT_REVERSED = "default reversed"
    CUSTOM = "custom"


class Scores:
    """The scores of one plugin for every slot.

    Attributes
    ----------
    rows : (k,) int32
        The slots to score.
    values : (n_slots,) int64
        Raw scores, then normalized ones. Slots not in `rows` hold anything.
    feasible : (n_slots,) bool or None
        The nodes that passed all filters; None where the scores may not depend on them (plugins
        whose `score_reads` does not name `Reads.CLUSTER`).
    """

    __slots__ = ("feasible", "rows", "values")

    def __init__(self, values: I64Array, rows: I32Array, feasible: Mask | None = None) -> None:
        self.values = values
        self.rows = rows
        self.feasible = feasible

    def clear(self) -> None:
        """Set the scores at `rows` to 0."""
        if len(self.rows) == len(self.values):
            self.values.fill(0)  # a tenth of the time of an index
        else:
            self.values[self.rows] = 0

    def check(self, n_slots: int) -> None:
        """Check that `values` is still an array of integers over slots, `n_slots` of them.

        Raises
        ------
        TypeError
            If it was replaced by another one.
        """
        if not _is_column(self.values, n_slots):
            raise TypeError(
                f"`out.values` must stay an array of int64 with {n_slots} entries, one per"
                " slot; write to out.values[out.rows]"
            )

    def lengthen(self, n_slots: int) -> None:
        """Make room for `n_slots`: more as nodes have arrived, or fewer after renumbering."""
        fitting: I64Array = np.zeros(n_slots, dtype=np.int64)
        kept = self.values[:n_slots]
        fitting[: len(kept)] = kept
        self.values = fitting


class RequestScore(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A score that follows from requests alone; see `Plugin.score_as_requests`.

    Parameters
    ----------
    plan : (n,) int64
        As for `kernels.resource_scores.allocation_scores`, or `balanced_scores`.
    is_balance : bool
        Which of the two.
    strategy : int
        Of the former.
    """

    plan: I64Array
    is_balance: bool = False
    strategy: int = 0


class Groups:
    """Groups of slots that a plugin does not tell apart.

    Attributes
    ----------
    n_groups : int
        The groups are numbered from 0.
    """

    n_groups: int = 0

    def assign(self, slots: I32Array, out: I32Array) -> bool:
        """Write the group of every slot in `slots` to `out`.

        A slot may change its group whenever its pods or its Node change, and at no other time.

        Parameters
        ----------
        slots : (k,) int32
        out : (n_slots,) int32, written

        Returns
        -------
        bool
            False if a slot belongs to no group: the groups must be rebuilt.
        """
        raise NotImplementedError


class FilterGroups(Groups):
    """Groups of slots with equal verdicts; see `Plugin.filter_groups`."""

    def rejected(self) -> Mask | None:
        """Return which groups the filter rejects.

        Returns
        -------
        (n_groups,) bool, optional
            None: the groups must be rebuilt.
        """
        raise NotImplementedError


class ScoreGroups(Groups):
    """Groups of slots with equal scores; see `Plugin.score_groups`."""

    def scores(self, sizes: I64Array) -> I64Array | None:
        """Return the normalized score of the slots of each group.

        Parameters
        ----------
        sizes : (n_groups,) int64
            How many feasible slots are in each.

        Returns
        -------
        (n_groups,) int64, optional
            Undefined for empty groups. None: the groups must be rebuilt.
        """
        raise NotImplementedError


def _is_column(values: object, n_slots: int) -> bool:
    if not isinstance(values, np.ndarray):
        return False
    return bool(values.dtype == np.int64 and values.shape == (n_slots,))

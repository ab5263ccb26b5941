"""The interface that decides for the pods of one scheduler name, under any rules.

`PluginRunner` (`run`) implements it by calling plugins, as kube-scheduler 1.36 does.
`podwright.scheduler.classic.ClassicRunner` implements it by the predicates and priorities of 1.16.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework.cycle import Cycle
from podwright.scheduler.framework.decision import Decision
from podwright.scheduler.framework.extenders.extender_calls import (
    CalledExtender,
    CallExtender,
    Steps,
)
from podwright.scheduler.framework.profile import Profile

if TYPE_CHECKING:
    from podwright.scheduler.framework.observing.explain import Explanation


class Runner(Protocol):
    """Decides for the pods of one scheduler name.

    A runner reads the cluster and does not change it: placing the pod is up to the caller.
    """

    @property
    def profile(self) -> Profile:
        """The profile of the scheduler name."""

    @property
    def cluster(self) -> Cluster:
        """The cluster that decisions are about."""

    @property
    def seed(self) -> int:
        """The seed of all draws."""

    @property
    def extenders(self) -> tuple[CalledExtender, ...]:
        """The extenders, in the order in which they are called."""

    @property
    def skipped(self) -> tuple[frozenset[str], frozenset[str]]:
        """The names of the filters and of the scores that were skipped for the last pod."""

    @property
    def weights(self) -> Mapping[str, int]:
        """The weight of each score, by name."""

    def with_weights(self, weights: Mapping[str, int]) -> Runner:
        """Return a runner over the same cluster that uses other weights; the rest stay."""

    def decide(self, pod: Pod, *, cycle_number: int) -> Decision:
        """Choose a node for a pod without extenders, or report why no node fits.

        Parameters
        ----------
        cycle_number : int
            Counter of the draw; the same number gives the same choice among equal nodes.
        """

    def steps(self, pod: Pod, *, cycle_number: int) -> Steps[Decision]:
        """Choose a node for a pod; yields the calls to extenders and receives their replies."""

    def post_filter(self, decision: Decision, *, cycle_number: int, now_ns: int) -> Decision:
        """Run PostFilter for the pod that `decide` rejected last; the cluster is not changed."""

    def post_filter_steps(
        self, decision: Decision, *, cycle_number: int, now_ns: int
    ) -> Steps[Decision]:
        """Run PostFilter as `post_filter` does; yields the calls to extenders."""

    def explain(
        self,
        pod: Pod,
        *,
        cycle_number: int,
        now_ns: int,
        call_extender: CallExtender | None = None,
    ) -> Explanation:
        """Run one cycle for a pod with everything recorded; the cluster is not changed."""

    def own_cycle(self, pod: Pod) -> Cycle:
        """Return the cycle of the last decision as that of `pod` alone, from Reserve on."""

    def search_position(self) -> object:
        """Return where the next search for nodes starts; valid until nodes are added or deleted."""

    def restore_search_position(self, position: object) -> None:
        """Start the next search at a position that `search_position` returned."""

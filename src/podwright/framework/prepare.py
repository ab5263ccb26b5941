"""PreFilter and PreScore: what they answer for one pod key.

Upstream: pkg/scheduler/framework/runtime/framework.go, `RunPreFilterPlugins`,
`RunPreScorePlugins`.
"""

from __future__ import annotations

import msgspec

from podwright.framework.adapter import PluginFailure
from podwright.framework.cycle import Cycle, PreFilterResult
from podwright.framework.profile import Profile
from podwright.framework.status import Code, Status


class PreFilterOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What all PreFilter plugins together say.

    Parameters
    ----------
    rejection : Status, optional
        Set if the pod was rejected as a whole.
    skipped : frozenset of str
        Plugins whose Filter is not run.
    node_names : frozenset of str, optional
        The nodes that are left; None: all.
    restricted_by : tuple of str
        The plugins that named nodes, in the order they ran.
    failure : PluginFailure, optional
        Set if a plugin failed; the cycle ends with it.
    """

    rejection: Status | None = None
    skipped: frozenset[str] = frozenset()
    node_names: frozenset[str] | None = None
    restricted_by: tuple[str, ...] = ()
    failure: PluginFailure | None = None

    @property
    def absent_status(self) -> Status:
        """What the nodes get that PreFilter left out."""
        names = " ".join(self.restricted_by)
        return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{names}]")


def run_pre_filters(profile: Profile, cycle: Cycle) -> PreFilterOutcome:
    """Run the PreFilter plugins in order."""
    skipped: set[str] = set()
    node_names: frozenset[str] | None = None
    restricted_by: list[str] = []
    rejection: Status | None = None
    failure: PluginFailure | None = None
    for plugin in profile.pre_filter:
        try:
            answer = plugin.pre_filter(cycle)
        except Exception as error:  # noqa: BLE001 - a user's plugin may raise anything
            failure = PluginFailure.raised(plugin, "PreFilter", cycle, error)
            break
        if isinstance(answer, PreFilterResult):
            if answer.node_names is None:
                continue
            restricted_by.append(plugin.name)
            node_names = answer.node_names if node_names is None else node_names & answer.node_names
            if not node_names:
                return PreFilterOutcome(
                    rejection=_unsatisfied(restricted_by),
                    skipped=frozenset(skipped),
                    node_names=node_names,
                    restricted_by=tuple(restricted_by),
                )
        elif answer.is_skip:
            skipped.add(plugin.name)
        elif answer.is_rejection:
            rejection = answer.by(plugin.name)
            if answer.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                break
        elif not answer.is_success:
            failure = PluginFailure(plugin, "PreFilter", answer.message)
            break
    return PreFilterOutcome(
        rejection=rejection,
        skipped=frozenset(skipped),
        node_names=node_names,
        restricted_by=tuple(restricted_by),
        failure=failure,
    )


def run_pre_scores(profile: Profile, cycle: Cycle) -> frozenset[str]:
    """Run the PreScore plugins; return the names of those whose Score is skipped.

    Raises
    ------
    PluginFailure
        If a plugin failed.
    """
    skipped: set[str] = set()
    for plugin in profile.pre_score:
        try:
            answer = plugin.pre_score(cycle)
        except Exception as error:
            raise PluginFailure.raised(plugin, "PreScore", cycle, error) from error
        if answer.is_skip:
            skipped.add(plugin.name)
        elif not answer.is_success:
            raise PluginFailure(plugin, "PreScore", answer.message)
    return frozenset(skipped)


def _unsatisfied(restricted_by: list[str]) -> Status:
    names = " ".join(restricted_by)
    if len(restricted_by) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {names}")
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{names}] simultaneously")

"""The interface between the cycle and the plugins.

Upstream: staging/src/k8s.io/kube-scheduler/framework/interface.go. A plugin keeps no state between
calls: the cycle passes the states that PreFilter and PreScore compute.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.oracle.cluster import Cluster, Node

Document = dict[str, Any]

UNSCHEDULABLE = "Unschedulable"
UNRESOLVABLE = "UnschedulableAndUnresolvable"
ERROR = "Error"

MAX_NODE_SCORE = 100


class Rejection(NamedTuple):
    """A rejection: a status code and its reasons."""

    code: str
    reasons: list[str]


def unschedulable(*reasons: str) -> Rejection:
    """Return a rejection that removing pods may resolve."""
    return Rejection(UNSCHEDULABLE, list(reasons))


def unresolvable(*reasons: str) -> Rejection:
    """Return a rejection that removing pods does not resolve."""
    return Rejection(UNRESOLVABLE, list(reasons))


class PluginError(Exception):
    """An internal error of a plugin: it ends the scheduling cycle."""


class PreFilter(NamedTuple):
    """The result of PreFilter: skip, a rejection, or a state and optionally the only nodes."""

    state: Any = None
    is_skip: bool = False
    rejection: Rejection | None = None
    node_names: set[str] | None = None


SKIP_FILTER = PreFilter(is_skip=True)


class PreScore(NamedTuple):
    """The result of PreScore: skip, or a state."""

    state: Any = None
    is_skip: bool = False


SKIP_SCORE = PreScore(is_skip=True)


def trunc_div(numerator: int, denominator: int) -> int:
    """Divide as Go does, toward zero."""
    quotient = abs(numerator) // abs(denominator)
    return quotient if (numerator < 0) == (denominator < 0) else -quotient


def default_normalize(scores: dict[str, int], *, reverse: bool) -> dict[str, int]:
    """Scale to 0..100 by the greatest score (helper/normalize_score.go)."""
    greatest = max(0, *scores.values())
    if greatest == 0:
        return dict.fromkeys(scores, MAX_NODE_SCORE) if reverse else scores
    scaled = {name: trunc_div(MAX_NODE_SCORE * score, greatest) for name, score in scores.items()}
    if reverse:
        return {name: MAX_NODE_SCORE - score for name, score in scaled.items()}
    return scaled


class Plugin:
    """The base class of plugins, which neither filters nor scores."""

    name = ""

    def __init__(self, cluster: Cluster, args: Document) -> None:
        self.cluster = cluster
        self.args = args

    def pre_filter(self, pod: Document) -> PreFilter:
        """Compute the state of the pod before the nodes are filtered."""
        return PreFilter()

    def copy_state(self, state: Any) -> Any:
        """Copy the PreFilter state for a dry run; only states that change override it."""
        return state

    def add_pod(self, state: Any, pod: Document, other: Document, node: Node) -> None:
        """Update the PreFilter state for a pod that is added to the node."""

    def remove_pod(self, state: Any, pod: Document, other: Document, node: Node) -> None:
        """Update the PreFilter state for a pod that is removed from the node."""

    def filter(self, state: Any, pod: Document, node: Node) -> Rejection | None:
        """Filter one node."""
        return None

    def pre_score(self, pod: Document, feasible: list[Node], state: Any) -> PreScore:
        """Compute the state for scoring from the feasible nodes and the PreFilter state."""
        return PreScore()

    def score(self, state: Any, pod: Document, node: Node) -> int:
        """Score one feasible node."""
        return 0

    def normalize(self, state: Any, scores: dict[str, int]) -> dict[str, int]:
        """Normalize the scores of all feasible nodes to 0..100."""
        return scores

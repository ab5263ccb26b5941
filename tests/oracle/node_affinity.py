"""NodeAffinity: nodeSelector, required and preferred node affinity, the profile's addedAffinity.

Upstream: pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go and
component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go.
"""

from __future__ import annotations

from typing import Any

from tests.oracle.cluster import Cluster, Node
from tests.oracle.plugin import (
    SKIP_FILTER,
    SKIP_SCORE,
    Document,
    Plugin,
    PluginError,
    PreFilter,
    PreScore,
    Rejection,
    default_normalize,
    unresolvable,
)
from tests.oracle.selectors import (
    check_term,
    is_empty_term,
    matches_node_selector,
    matches_required_affinity,
    matches_term,
    node_affinity,
)

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _named_nodes(term: Document) -> set[str] | None:
    """Return the nodes in the matchFields of a term, None if it has none."""
    names: set[str] | None = None
    for field in term.get("matchFields") or []:
        if field["key"] == "metadata.name" and field["operator"] == "In":
            values = set(field.get("values") or [])
            names = values if names is None else names & values
    return names


class NodeAffinity(Plugin):
    """Match node labels and names."""

    name = "NodeAffinity"

    def __init__(self, cluster: Cluster, args: Document) -> None:
        super().__init__(cluster, args)
        added = args.get("addedAffinity") or {}
        self.added_required: Document | None = added.get(_REQUIRED)
        self.added_preferred: list[Document] = added.get(_PREFERRED) or []

    def pre_filter(self, pod: Document) -> PreFilter:
        """Restrict the pod to nodes if every term has matchFields."""
        required = node_affinity(pod).get(_REQUIRED)
        if required is None:
            if self.added_required is None and not pod["spec"].get("nodeSelector"):
                return SKIP_FILTER
            return PreFilter()
        names: set[str] = set()
        for term in required.get("nodeSelectorTerms") or []:
            named = _named_nodes(term)
            if named is None:
                return PreFilter()
            names |= named
        if not required.get("nodeSelectorTerms"):
            return PreFilter()
        if not names:
            return PreFilter(rejection=unresolvable("pod affinity terms conflict"))
        return PreFilter(node_names=names)

    def filter(self, state: Any, pod: Document, node: Node) -> Rejection | None:
        """Filter one node; the profile's own affinity comes first."""
        if self.added_required is not None and not matches_node_selector(
            self.added_required, node.document
        ):
            return unresolvable("node(s) didn't match scheduler-enforced node affinity")
        if not matches_required_affinity(pod, node.document):
            return unresolvable("node(s) didn't match Pod's node affinity/selector")
        return None

    def pre_score(self, pod: Document, feasible: list[Node], state: Any) -> PreScore:
        """Parse the preferred terms; a malformed one is an internal error."""
        preferred = node_affinity(pod).get(_PREFERRED) or []
        if not preferred and not self.added_preferred:
            return SKIP_SCORE
        errors: list[str] = []
        for index, term in enumerate(preferred):
            if term["weight"] != 0:
                errors += check_term(term["preference"], f"[{index}]")
        if errors:
            raise PluginError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
        return PreScore(state=self.added_preferred + preferred)

    def score(self, state: Any, pod: Document, node: Node) -> int:
        """Sum the weights of the matching terms."""
        terms = state
        if terms is None:
            terms = self.pre_score(pod, [], None).state or []
        return sum(
            term["weight"]
            for term in terms
            if not is_empty_term(term["preference"])
            and matches_term(term["preference"], node.document)
        )

    def normalize(self, state: Any, scores: dict[str, int]) -> dict[str, int]:
        """Scale by the greatest sum."""
        return default_normalize(scores, reverse=False)

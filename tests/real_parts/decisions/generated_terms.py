"""Selectors, affinities, tolerations and constraints, drawn from a generator."""

from __future__ import annotations

from random import Random
from typing import Any, Final

Document = dict[str, Any]

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"

_POD_LABELS: Final = {
    "app": ("web", "db", "cache"), "tier": ("front", "back", ""), "ver": ("v1", "v2"),
}  # fmt: skip
_NODE_LABELS: Final = {
    "disk": ("ssd", "hdd", ""), "rack": ("r0", "r1", "r9"), "arch": ("amd64", "arm64"),
    ZONE: ("z0", "z1", "z2"), "absent": ("x",),
}  # fmt: skip
INTEGERS = ("0", "1", "2", "3", "05", "9223372036854775807")
_NUMBERS = (*INTEGERS, "-1", "+2", "x", "", "1.5", "9223372036854775808")


def draw_pod_labels(random: Random) -> Document:
    """Return the labels of a pod, or of a selector; often none."""
    return {key: random.choice(of) for key, of in _POD_LABELS.items() if random.random() < 0.6}


def draw_pod_selector(random: Random) -> Document | None:
    """Return a label selector over pods: none, an empty one, or some requirements."""
    share = random.random()
    if share < 0.04:
        return None
    if share < 0.1:
        return {}
    found: Document = {}
    if share < 0.75:
        found["matchLabels"] = draw_pod_labels(random)
    if share > 0.6:
        found["matchExpressions"] = [
            _expression(random, _POD_LABELS, "In", "NotIn", "Exists", "DoesNotExist")
            for _ in range(random.choice([1, 1, 2]))
        ]
    return found


def _expression(random: Random, labels: dict[str, Any], *operators: str) -> Document:
    key = random.choice(sorted(labels))
    operator = random.choice(operators)
    found: Document = {"key": key, "operator": operator}
    if operator in ("In", "NotIn"):
        values = labels[key]
        found["values"] = random.sample(values, random.randint(1, min(2, len(values))))
    return found


# -------------------------------------------------------------------- affinities


def draw_affinity(
    random: Random, spec: Document, *, of_pods: bool, nodes: list[str] | None = None
) -> None:
    """Add the affinity to pods, or that to nodes and a node selector."""
    affinity: Document = spec.setdefault("affinity", {})
    if of_pods:
        for side in ("podAffinity", "podAntiAffinity"):
            if random.random() < 0.6:
                affinity[side] = _pod_terms(random)
        return
    if random.random() < 0.3:
        key = random.choice(["disk", "arch", "rack"])
        spec["nodeSelector"] = {key: random.choice(_NODE_LABELS[key])}
    if random.random() < 0.85:
        affinity["nodeAffinity"] = draw_node_affinity(random, nodes or [])


def _pod_terms(random: Random) -> Document:
    found: Document = {}
    if random.random() < 0.5:
        found["requiredDuringSchedulingIgnoredDuringExecution"] = [
            _pod_term(random) for _ in range(random.choice([1, 1, 1, 2, 0]))
        ]
    if random.random() < 0.6:
        found["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": random.choice([1, 5, 10, 50, 100]), "podAffinityTerm": _pod_term(random)}
            for _ in range(random.choice([1, 1, 2, 3]))
        ]
    return found


def _pod_term(random: Random) -> Document:
    key = random.choice([HOSTNAME, HOSTNAME, ZONE, ZONE, "rack", REGION, "disk", "absent"])
    term: Document = {"topologyKey": key}
    selector = draw_pod_selector(random)
    if selector is not None:
        term["labelSelector"] = selector
    share = random.random()
    if share < 0.2:
        term["namespaces"] = random.sample(["default", "prod", "dev", "bare"], random.randint(1, 2))
    elif share < 0.25:
        term["namespaces"] = []
    if random.random() < 0.2:
        term["namespaceSelector"] = random.choice([
            {}, {"matchLabels": {"team": "a"}}, {"matchLabels": {"env": "prod"}},
            {"matchExpressions": [{"key": "env", "operator": "Exists"}]},
            {"matchExpressions": [{"key": "env", "operator": "DoesNotExist"}]},
            {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]},
        ])  # fmt: skip
    _merge_label_keys(random, term, "matchLabelKeys", "In")
    _merge_label_keys(random, term, "mismatchLabelKeys", "NotIn")
    return term


def _merge_label_keys(random: Random, term: Document, field: str, operator: str) -> None:
    """Add label keys as the API server stores them: in the selector, too."""
    if random.random() > 0.1 or "labelSelector" not in term:
        return
    key = random.choice(["ver", "tier"])
    value = random.choice(_POD_LABELS[key])
    selector = dict(term["labelSelector"])
    merged = {"key": key, "operator": operator, "values": [value]}
    selector["matchExpressions"] = [*selector.get("matchExpressions", []), merged]
    term |= {field: [key], "labelSelector": selector}


def draw_node_affinity(
    random: Random, nodes: list[str], numbers: tuple[str, ...] = _NUMBERS
) -> Document:
    """Return required and preferred node affinity, of a pod or of a profile."""
    found: Document = {}
    if random.random() < 0.6:
        terms = [_node_term(random, nodes, numbers) for _ in range(random.choice([1, 1, 2, 3]))]
        found["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if random.random() < 0.6:
        found["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {
                "weight": random.choice([1, 2, 10, 50, 100]),
                "preference": _node_term(random, nodes, numbers),
            }
            for _ in range(random.choice([1, 2, 3]))
        ]
    return found


def _node_term(random: Random, nodes: list[str], numbers: tuple[str, ...]) -> Document:
    term: Document = {}
    if random.random() < 0.85:
        term["matchExpressions"] = [
            _node_expression(random, numbers) for _ in range(random.choice([1, 1, 2, 3]))
        ]
    if nodes and random.random() < 0.25:
        term["matchFields"] = [
            {
                "key": "metadata.name",
                "operator": random.choice(["In", "In", "NotIn"]),
                "values": [random.choice([*nodes, "ghost"])],
            }
            for _ in range(random.choice([1, 1, 2]))
        ]
    return term


def _node_expression(random: Random, numbers: tuple[str, ...]) -> Document:
    if random.random() < 0.25:
        operator = random.choice(["Gt", "Lt"])
        return {"key": "gen", "operator": operator, "values": [random.choice(numbers)]}
    return _expression(random, _NODE_LABELS, "In", "In", "NotIn", "Exists", "DoesNotExist")


# -------------------------------------------------------------------- others


def draw_toleration(random: Random) -> Document:
    """Return a toleration; some tolerate everything, or nothing."""
    found: Document = {}
    operator = random.choice(["Exists", "Equal", "Equal", "", "Gt", "Lt"])
    if operator:
        found["operator"] = operator
    keys = ["dedicated", "spot", "gpu", "tier", "node.kubernetes.io/unschedulable"]
    if operator != "Exists" or random.random() < 0.7:
        found["key"] = random.choice(keys)
    if operator != "Exists" and random.random() < 0.7:
        found["value"] = random.choice(["a", "b", "1", "5", ""])
    if random.random() < 0.6:
        found["effect"] = random.choice(["NoSchedule", "PreferNoSchedule", "NoExecute", ""])
    if found.get("effect") == "NoExecute" and random.random() < 0.5:
        found["tolerationSeconds"] = random.choice([0, 300, -1])
    return found


def draw_spreading(random: Random, labels: Document) -> list[Document]:
    """Return topology spread constraints; most select the pod itself."""
    found: list[Document] = []
    for _ in range(random.choice([1, 1, 2, 3])):
        key = random.choice([HOSTNAME, ZONE, ZONE, "rack", "disk", "absent"])
        action = random.choice(["DoNotSchedule", "ScheduleAnyway"])
        if any((key, action) == (e["topologyKey"], e["whenUnsatisfiable"]) for e in found):
            continue
        constraint: Document = {"maxSkew": random.choice([1, 1, 2, 3]), "topologyKey": key}
        constraint["whenUnsatisfiable"] = action
        if labels and random.random() < 0.5:
            constraint["labelSelector"] = {"matchLabels": labels}
        else:
            selector = draw_pod_selector(random)
            if selector is not None:
                constraint["labelSelector"] = selector
        if action == "DoNotSchedule" and random.random() < 0.4:
            constraint["minDomains"] = random.randint(1, 5)
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if random.random() < 0.4:
                constraint[policy] = random.choice(["Honor", "Ignore"])
        _merge_label_keys(random, constraint, "matchLabelKeys", "In")
        found.append(constraint)
    return found

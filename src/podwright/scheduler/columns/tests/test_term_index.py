"""Terms of placed pods that match a pod: the index finds what a comparison with each finds."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest

from podwright.apimachinery.objects import Pod, Requirement, Selector, decode_pod, with_fields
from podwright.scheduler.columns.affinity import term_index
from podwright.scheduler.columns.affinity.term_index import (
    NO_TERMS,
    SPREAD_SELECTOR,
    AffinityTerm,
    Requirements,
    TermIndex,
    TermKind,
    affinity_terms,
    own_label_keys,
)

NOTHING, EVERYTHING = Selector((), is_nothing=True), Selector(())
SELECTORS = (
    Selector((Requirement("app", "In", ("a",)),)),
    Selector((Requirement("app", "In", ("a", "b")), Requirement("tier", "Exists"))),
    Selector((Requirement("app", "NotIn", ("a",)), Requirement("size", "DoesNotExist"))),
    Selector((Requirement("size", "Gt", ("1",)),)),
    EVERYTHING,
    NOTHING,
)
SCOPES = (
    (frozenset({"x"}), NOTHING),
    (frozenset({"y", "z"}), NOTHING),
    (frozenset[str](), EVERYTHING),
    (frozenset({"z"}), Selector((Requirement("team", "In", ("red",)),))),
)
TERMS = [
    AffinityTerm(
        kind=kind,
        topology_key=key,
        selector=selector,
        namespaces=names,
        namespace_selector=by_label,
        # Every seventh adds nothing.
        weight=weight if kind >= TermKind.PREFERRED and weight % 7 else 0,
    )
    for weight, (kind, key, selector, (names, by_label)) in enumerate(
        product(TermKind, ("zone", "host"), SELECTORS, SCOPES), 1
    )
]
PODS = [
    (namespace, {"app": app, **more}, team)
    for namespace, app, more, team in product(
        ("x", "y", "other"),
        ("a", "b", ""),
        ({}, {"tier": "1"}, {"size": "2"}, {"size": "1"}),
        ({}, {"team": "red"}),
    )
]
FACTORS = {TermKind.REQUIRED: 10, TermKind.PREFERRED: 1, TermKind.PREFERRED_ANTI: -1}


@pytest.mark.parametrize("count", [1, 20, len(TERMS)])
def test_the_index_finds_what_a_comparison_finds(count: int) -> None:
    index = TermIndex()
    for term in TERMS[:: len(TERMS) // count][:count]:
        number = index.id_of(term)
        assert index.id_of(term) == number
        # Every fifth has no carrier where its topology exists.
        index.carrier_counts[number] = number % 5
    for namespace, labels, team in PODS:
        expected: dict[str, Counter[int]] = {}
        for number, term in enumerate(index.terms.values):
            weight = term.weight if term.kind >= TermKind.PREFERRED else 1
            added = weight * FACTORS.get(term.kind, 0)
            if index.carrier_counts[number] and term.matches(namespace, labels, team) and added:
                expected.setdefault(term.topology_key, Counter())[number] += added
        found = index.matching(FACTORS, namespace, labels, team)
        assert {
            key: dict(zip(ids.tolist(), amounts.tolist(), strict=True))
            for key, (ids, amounts) in found.items()
        } == expected


@pytest.mark.parametrize("count", [2, 40])
def test_terms_are_found_in_the_order_of_their_numbers(count: int) -> None:
    index = TermIndex()
    for number in range(count):
        # Filed by other labels in turn, the label that a pod has first coming second.
        key = ("second", "first")[number % 2]
        term = AffinityTerm(
            kind=TermKind.PREFERRED,
            topology_key="zone",
            selector=Selector((Requirement(key, "In", ("a",)),)),
            namespaces=frozenset({"x"}),
            namespace_selector=NOTHING,
            weight=number + 1,
        )
        index.carrier_counts[index.id_of(term)] = 1
    found = index.matching(FACTORS, "x", {"first": "a", "second": "a"}, {})["zone"]
    assert found.ids.tolist() == [*range(count)]
    assert found.weights.tolist() == [*range(1, count + 1)]


@pytest.mark.parametrize("count", [1, 40])
def test_terms_without_a_requirement_are_those_of_every_pod(count: int) -> None:
    index = TermIndex()
    keys = [f"key{number}" for number in range(count)]
    for key in keys:
        term = AffinityTerm(
            kind=TermKind.REQUIRED,
            topology_key=key,
            selector=EVERYTHING,
            namespaces=frozenset({"x"}),
            namespace_selector=NOTHING,
        )
        index.carrier_counts[index.id_of(term)] = 1
    assert sorted(index.matching(FACTORS, "x", {"app": "a"}, {})) == sorted(keys)
    assert index.matching(FACTORS, "y", {"app": "a"}, {}) == {}


# ------------------------------------------------------------ the terms of a pod


def pod(affinity: Any, namespace: str = "x") -> Pod:
    metadata = {"name": "p", "namespace": namespace}
    return decode_pod({"metadata": metadata, "spec": {"affinity": affinity}})


HARD, SOFT = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
BROKEN = {"matchExpressions": [{"key": "k", "operator": "In", "values": []}]}


def of(app: str = "a", **more: Any) -> dict[str, Any]:
    return {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}} | more


def test_the_terms_of_a_pod_by_kind() -> None:
    terms = affinity_terms(
        pod(
            {
                "podAffinity": {HARD: [of("a")], SOFT: [{"weight": 7, "podAffinityTerm": of("b")}]},
                "podAntiAffinity": {
                    HARD: [of("c")],
                    SOFT: [{"weight": 9, "podAffinityTerm": of("d")}],
                },
            }
        )
    )
    found = [(term.kind, term.selector.requirements[0].values, term.weight) for term in terms.all]
    assert found == [
        (TermKind.REQUIRED, ("a",), 0),
        (TermKind.REQUIRED_ANTI, ("c",), 0),
        (TermKind.PREFERRED, ("b",), 7),
        (TermKind.PREFERRED_ANTI, ("d",), 9),
    ]


def test_only_the_list_with_a_mistake_is_empty() -> None:
    mistaken = {"topologyKey": "zone", "labelSelector": BROKEN}
    terms = affinity_terms(
        pod({"podAffinity": {HARD: [of(), mistaken]}, "podAntiAffinity": {HARD: [of("b")]}})
    )
    assert (terms.required, len(terms.required_anti), len(terms.errors)) == ((), 1, 1)


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
@pytest.mark.parametrize("is_hard", [True, False])
def test_a_mistake_is_reported_although_no_term_is_left(kind: str, is_hard: bool) -> None:
    mistaken = {"topologyKey": "zone", "labelSelector": BROKEN}
    written = [mistaken] if is_hard else [{"weight": 1, "podAffinityTerm": mistaken}]
    terms = affinity_terms(pod({kind: {HARD if is_hard else SOFT: written}}))
    assert terms.all == ()
    assert len(terms.errors) == 1
    both = affinity_terms(pod({kind: {HARD: [mistaken], SOFT: [
        {"weight": 1, "podAffinityTerm": mistaken}]}}))  # fmt: skip
    assert len(both.errors) == 2
    assert affinity_terms(pod({kind: {HARD: []}})).errors == ()


@pytest.mark.parametrize(
    ("term", "in_namespaces"),
    [
        pytest.param(of(), "x", id="the pod's own"),
        pytest.param(of(namespaces=["y"]), "y", id="those named"),
        pytest.param(of(namespaceSelector={"matchLabels": {"team": "red"}}), "z", id="by labels"),
        pytest.param(
            of(namespaces=["y"], namespaceSelector={"matchLabels": {"team": "red"}}),
            "yz",
            id="both",
        ),
        pytest.param(of(namespaceSelector={}), "xyz", id="all"),
    ],
)
def test_the_namespaces_of_a_term(term: dict[str, Any], in_namespaces: str) -> None:
    """Upstream: interpodaffinity/plugin.go, mergeAffinityTermNamespacesIfNotEmpty."""
    (compiled,) = affinity_terms(pod({"podAffinity": {HARD: [term]}})).all
    labels_of: dict[str, dict[str, str]] = {"x": {}, "y": {}, "z": {"team": "red"}}
    pods = compiled.resolve(labels_of)
    assert [name for name in "xyz" if pods.matches(name, {"app": "a"})] == [*in_namespaces]
    matched = [name for name in "xyz" if compiled.matches(name, {"app": "a"}, labels_of[name])]
    assert matched == [*in_namespaces]
    assert not pods.matches("x", {"app": "b"})


def test_versions_of_a_pod_share_their_terms_and_other_namespaces_do_not() -> None:
    one = pod({"podAffinity": {HARD: [of()]}})
    terms = affinity_terms(one)
    other = affinity_terms(pod({"podAffinity": {HARD: [of()]}}))
    assert (affinity_terms(one) is terms, other is terms) == (True, False)
    elsewhere = pod({"podAffinity": {HARD: [of()]}}, "y")
    assert affinity_terms(elsewhere).required[0].namespaces == {"y"}
    alike = with_fields(one, "metadata", namespace="y")
    assert alike.spec.affinity is one.spec.affinity
    assert affinity_terms(alike).required[0].namespaces == {"y"}
    assert affinity_terms(pod({"nodeAffinity": {}})).all == ()
    empty: dict[str, Any]
    for empty in ({}, {HARD: []}, {SOFT: []}):
        assert affinity_terms(pod({"podAffinity": empty})) is NO_TERMS, "which readers look for"


def test_the_terms_of_the_last_64_affinities_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_index, "_compiled", {})
    pods = [pod({"podAffinity": {HARD: [of()]}}) for _ in range(65)]
    first = affinity_terms(pods[0])
    for one in pods[1:64]:
        affinity_terms(one)
    assert affinity_terms(pods[0]) is first
    affinity_terms(pods[64])
    assert affinity_terms(pods[0]) is not first
    assert affinity_terms(pods[0]) == first


def test_terms_that_were_forgotten_are_compiled_again() -> None:
    pods = [pod({"podAffinity": {HARD: [of(f"a{i}")]}}) for i in range(70)]
    compiled = [affinity_terms(one) for one in pods]
    assert [affinity_terms(one) for one in pods] == compiled
    values = [terms.required[0].selector.requirements[0].values for terms in compiled]
    assert values == [(f"a{i}",) for i in range(70)]


EXPRESSION = {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}


def spread(**more: Any) -> dict[str, Any]:
    required = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [required | more]}


@pytest.mark.parametrize(
    ("document", "keys"),
    [
        pytest.param({}, set(), id="none"),
        pytest.param({"affinity": {"podAffinity": {HARD: [of()]}}}, {"app"}, id="affinity"),
        pytest.param(
            {
                "affinity": {
                    "podAntiAffinity": {
                        SOFT: [{"weight": 1, "podAffinityTerm": of(labelSelector=EXPRESSION)}]
                    }
                }
            },
            {"tier"},
            id="anti-affinity",
        ),
        pytest.param(
            spread(labelSelector={"matchLabels": {"app": "a"}} | EXPRESSION),
            {"app", "tier"},
            id="a constraint",
        ),
        pytest.param(
            spread(matchLabelKeys=["hash"]),
            {"hash"},
            id="keys of a constraint without a selector",
        ),
    ],
)
def test_the_label_keys_that_a_pod_uses_itself(document: dict[str, Any], keys: set[str]) -> None:
    one = decode_pod({"metadata": {"name": "p", "namespace": "x"}, "spec": document})
    assert own_label_keys(one) == keys


@pytest.mark.parametrize(
    ("text", "keys"),
    [("a=1,b in (2,3)", {"a", "b"}), ("", set()), ("a in", set())],
)
def test_the_label_keys_of_the_selector_that_a_copied_pod_keeps(text: str, keys: set[str]) -> None:
    metadata = {"name": "p", "namespace": "x", "annotations": {SPREAD_SELECTOR: text}}
    one = decode_pod({"metadata": metadata, "spec": {}})
    assert own_label_keys(one) == keys


REQUIREMENTS = [
    Requirement("app", "In", ("a",)),
    Requirement("app", "In", ("a", "b", "a")),
    Requirement("app", "NotIn", ("a", "b")),
    Requirement("app", "Exists"),
    Requirement("tier", "Exists"),
    Requirement("tier", "DoesNotExist"),
    Requirement("size", "Gt", ("1",)),
    Requirement("size", "Lt", ("1",)),
    Requirement("size", "NotIn", ("1",)),
]
"""Of labels with requirements of several kinds, and of one kind."""


@pytest.mark.parametrize(
    "labels",
    [
        {},
        *[{"app": app, **more} for app in ("a", "b", "c", "") for more in ({}, {"tier": ""})],
        *[{"size": size} for size in ("0", "1", "2", "x")],
        {"unknown": "a"},
        {"unknown": "1", "app": "b", "tier": "t", "size": "3"},
    ],
)
def test_labels_meet_the_requirements_that_match_them(labels: dict[str, str]) -> None:
    requirements = Requirements()
    numbers = [requirements.id_of(one) for one in REQUIREMENTS]
    assert numbers == [*range(1, len(REQUIREMENTS) + 1)]
    assert [requirements.id_of(one) for one in REQUIREMENTS] == numbers
    met = requirements.met(labels).tolist()
    assert met == [True, *[one.matches(labels) for one in REQUIREMENTS]], "all meet the first one"

"""Indexes of pods by labels, and of selectors by the labels that they require.

Both find what a comparison of each pod with each selector finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, product
from typing import Any

import msgspec
import numpy as np
import pytest

from podwright._arrays import I32Array
from podwright.apimachinery.objects import (
    LabelSelector,
    Pod,
    Requirement,
    Selector,
    decode_pod,
    label_selector,
)
from podwright.scheduler.columns import SPREAD_SELECTOR, kept_selector
from podwright.scheduler.columns.affinity.matching import (
    LabelClasses,
    Matcher,
    PodSelector,
    SelectorFile,
)
from podwright.scheduler.columns.affinity.term_index import SelectedLabels

NAMESPACES = ("x", "y", "z")
PODS = [
    (namespace, {key: value for key, value in (("app", app), ("size", size)) if value})
    for namespace, app, size in product(NAMESPACES, ("", "a", "b", "c"), ("", "1", "2", "9", "big"))
]
"""More than are compared one by one."""

REQUIREMENTS = (
    Requirement("app", "In", ("a",)),
    Requirement("app", "In", ("a", "b", "b", "none")),
    Requirement("app", "NotIn", ("a", "c")),
    Requirement("app", "Exists"),
    Requirement("size", "DoesNotExist"),
    Requirement("size", "Gt", ("1",)),
    Requirement("size", "Lt", ("9",)),
    Requirement("size", "In", ("big",)),
    Requirement("other", "In", ("a",)),
    Requirement("other", "DoesNotExist"),
)
SELECTORS = [
    Selector(()),
    Selector((), is_nothing=True),
    *(Selector((one,)) for one in REQUIREMENTS),
    *(Selector(pair) for pair in combinations(REQUIREMENTS, 2)),
]
PLACES = (
    None,
    frozenset[str](),
    frozenset({"x"}),
    frozenset({"x", "z"}),
    frozenset({"x", "none"}),
    frozenset({"x", "y", "none"}),
)
PARTS = [PodSelector(*pair) for pair in product(SELECTORS, PLACES)]


def classes_of(pods: list[tuple[str, dict[str, str]]]) -> LabelClasses:
    classes = LabelClasses()
    assert [classes.find(*pod) for pod in pods] == list(range(len(pods)))
    return classes


@pytest.mark.parametrize("first", [0, 1, 4, 20, 24, len(PODS) - 13, len(PODS) - 12, len(PODS)])
def test_the_classes_that_a_selector_matches(first: int) -> None:
    classes = classes_of(PODS)
    for part in PARTS:
        expected = [n for n in range(first, len(PODS)) if part.matches(*PODS[n])]
        found = classes.matching((part,), first)
        assert found.dtype == np.int32
        assert found.tolist() == expected, part


def test_several_selectors_must_match() -> None:
    classes = classes_of(PODS)
    for parts in zip(PARTS, reversed(PARTS), strict=True):
        expected = [n for n, pod in enumerate(PODS) if all(part.matches(*pod) for part in parts)]
        assert classes.matching(parts).tolist() == expected, parts
    everything = (PodSelector(Selector(()), None),)
    assert classes.matching(everything).tolist() == list(range(len(PODS))), "from the first on"
    nothing = (PodSelector(Selector((), is_nothing=True), None),)
    for empty in (nothing, everything + nothing, nothing + everything):
        assert classes.matching(empty).tolist() == []


class Recorded(PodSelector, frozen=True, kw_only=True):
    """Records the pods with which it is compared."""

    compared: list[tuple[str, Mapping[str, str]]] = msgspec.field(default_factory=list)

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        self.compared.append((namespace, labels))
        return super().matches(namespace, labels)


BIG, APP_A = Requirement("size", "In", ("big",)), Requirement("app", "In", ("a",))


@pytest.mark.parametrize(
    ("requirements", "namespaces", "compared"),
    [
        pytest.param((BIG,), None, "big", id="those that have the value"),
        pytest.param((APP_A, BIG), None, "big", id="of two values the one of fewer, which is last"),
        pytest.param((BIG, APP_A), None, "big", id="which is first"),
        pytest.param((APP_A,), frozenset({"none"}), "", id="none, without a namespace"),
        pytest.param((APP_A,), None, "", id="none one by one, where many have the value"),
        pytest.param((), frozenset({"x"}), "", id="nor where many are of the namespace"),
    ],
)
def test_a_selector_is_compared_with_the_classes_of_its_rarest_value(
    requirements: tuple[Requirement, ...], namespaces: frozenset[str] | None, compared: str
) -> None:
    classes = classes_of(PODS)
    part = Recorded(Selector(requirements), namespaces)
    found = [PODS[number] for number in classes.matching((part,)).tolist()]
    expected = [pod for pod in PODS if pod[1].get("size") == compared] if compared else []
    assert part.compared == expected
    assert found == [pod for pod in PODS if part.matches(*pod)]


def test_a_class_with_a_new_value_of_a_known_label_is_found() -> None:
    classes = classes_of(PODS)
    selecting = {
        value: (PodSelector(Selector((Requirement("app", "In", (value,)),)), None),)
        for value in ("new", "newer")
    }
    # Now the label has lists by value.
    for parts in selecting.values():
        assert classes.matching(parts).tolist() == []
    for number, value in enumerate(("new", "newer", "new")):
        labels = {"app": value, "number": str(number)}
        assert classes.find("x", labels) == len(PODS) + number
    found = {value: classes.matching(parts).tolist() for value, parts in selecting.items()}
    assert found == {"new": [len(PODS), len(PODS) + 2], "newer": [len(PODS) + 1]}


def test_a_class_has_one_number_and_its_value() -> None:
    classes = classes_of(PODS)
    assert [classes.find(*pod) for pod in reversed(PODS)] == [*reversed(range(len(PODS)))]
    assert [classes.value(number) for number in range(classes.count)] == PODS


def test_a_matcher_finds_classes_that_are_new_since_it_was_used() -> None:
    classes = classes_of(PODS[:20])
    part = PodSelector(Selector((Requirement("app", "In", ("b",)),)), frozenset({"x", "y"}))
    matcher = Matcher((part,), classes)
    for count in (20, 21, 40, len(PODS)):
        for pod in PODS[:count]:
            classes.find(*pod)
        expected = [n for n, pod in enumerate(PODS[:count]) if part.matches(*pod)]
        assert matcher.class_ids().tolist() == expected
        assert matcher.members() == set(expected)
    found = [classes.value(number) for number in matcher.class_ids().tolist()]
    assert [pod for pod in PODS if matcher.matches(*pod)] == found


class Compared(LabelClasses):
    """Records the first number of each comparison."""

    def __init__(self) -> None:
        super().__init__()
        self.firsts: list[int] = []

    def matching(self, parts: tuple[PodSelector, ...], first: int = 0) -> I32Array:
        self.firsts.append(first)
        return super().matching(parts, first)


def test_a_matcher_compares_each_class_once() -> None:
    classes = Compared()
    matcher = Matcher((PodSelector(Selector(())),), classes)
    for first, pods in ((0, PODS[:3]), (3, PODS[3:8])):
        for pod in pods:
            classes.find(*pod)
        for _ in range(2):
            assert len(matcher.members()) == len(matcher.class_ids()) == classes.count
        assert classes.firsts[-1] == first
    assert classes.firsts == [0, 3]


def test_a_pod_finds_every_selector_that_may_match_it() -> None:
    file: SelectorFile[int] = SelectorFile()
    for number, part in enumerate(PARTS):
        file.add(number, part.selector, part.namespaces)
    for pod in PODS:
        found = file.candidates(*pod)
        assert len(found) == len(set(found)), "each once"
        assert {n for n, part in enumerate(PARTS) if part.matches(*pod)} <= set(found)
    for number, part in enumerate(PARTS):
        file.discard(number, part.selector, part.namespaces)
    assert [file.candidates(*pod) for pod in PODS] == [[]] * len(PODS)
    assert not file._loose
    assert not any(file._by_label.values()), "places without a selector are freed"


@pytest.mark.parametrize(
    ("selector", "few"),
    [
        pytest.param({"app": "a"}, ["a"], id="the value of a label"),
        pytest.param({"app": "a", "size": "1"}, ["a"], id="one of two labels"),
        pytest.param(None, [], id="no selector matches nothing"),
        pytest.param({}, ["a", "b", ""], id="an empty one matches everything"),
    ],
)
def test_a_pod_finds_few_selectors_that_require_other_labels(
    selector: dict[str, str] | None, few: list[str]
) -> None:
    given = None if selector is None else LabelSelector(match_labels=selector)
    file: SelectorFile[str] = SelectorFile()
    file.add("it", label_selector(given), frozenset({"x"}))
    apps = [app for app in ("a", "b", "") if file.candidates("x", {"app": app} if app else {})]
    assert apps == few
    assert file.candidates("y", {"app": "a"}) == []


A_OR_B, ONE = Requirement("app", "In", ("a", "b")), Requirement("size", "In", ("1",))
SOME, NOT_C = Requirement("app", "Exists"), Requirement("app", "NotIn", ("c",))


@pytest.mark.parametrize(
    "requirements",
    [
        pytest.param((A_OR_B, ONE), id="one value before two"),
        pytest.param((SOME, ONE), id="one value before any"),
        pytest.param((NOT_C, ONE), id="what may be missing does not count"),
    ],
)
def test_a_selector_is_a_candidate_for_the_label_that_fewest_pods_have(
    requirements: tuple[Requirement, ...],
) -> None:
    for given in (requirements, requirements[::-1]):
        file: SelectorFile[str] = SelectorFile()
        file.add("it", Selector(given), None)
        assert file.candidates("x", {"app": "a"}) == []
        assert file.candidates("x", {"app": "c", "size": "1"}) == ["it"]


@pytest.mark.parametrize(("count", "is_filed_by_namespace"), [(16, True), (17, False)])
def test_a_selector_of_many_namespaces_is_a_candidate_in_all(
    count: int, is_filed_by_namespace: bool
) -> None:
    file: SelectorFile[str] = SelectorFile()
    file.add("it", Selector(()), frozenset(f"n{number}" for number in range(count)))
    assert file.candidates("n3", {}) == ["it"]
    assert (file.candidates("elsewhere", {}) == []) is is_filed_by_namespace


@pytest.mark.parametrize(
    ("text", "matched"),
    [
        pytest.param("app=a,size in (1,2)", [{"app": "a", "size": "1"}], id="a selector"),
        pytest.param("", [{}, {"app": "a", "size": "1"}], id="none matches everything"),
        pytest.param("app in (", [{}, {"app": "a", "size": "1"}], id="so does an invalid one"),
    ],
)
def test_the_selector_that_a_copied_pod_keeps(text: str, matched: list[dict[str, str]]) -> None:
    selector = kept_selector(pod({SPREAD_SELECTOR: text} if text else {}))
    assert [labels for labels in ({}, {"app": "a", "size": "1"}) if selector.matches(labels)] == (
        matched
    )


def pod(annotations: dict[str, str], **spec: Any) -> Pod:
    return decode_pod({"metadata": {"name": "p", "annotations": annotations}, "spec": spec})


def test_the_labels_that_selectors_use_have_a_version_of_their_number() -> None:
    labels = SelectedLabels()
    versions = []
    for keys in (["app"], ["app"], ["app", "size"], []):
        labels.add(keys)
        versions.append(labels.version)
    assert versions == [1, 1, 2, 2]

"""What keys of labels add to the selectors of a new pod, and how it is taken off again."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import with_label_keys, without_label_keys

LABELS = {"rev": "7", "app": "web"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
OWN = {"key": "tier", "operator": "Exists"}


def required(key: str, value: str, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": [value]}


def of_spec(place: str, term: dict[str, Any]) -> dict[str, Any]:
    """Return a spec with a constraint or a term of affinity."""
    if place == "topologySpreadConstraints":
        return {place: [{"maxSkew": 1}, term]}
    name, when = place.split()
    value = {"weight": 1, "podAffinityTerm": term} if when == PREFERRED else term
    return {"affinity": {"nodeAffinity": {}, name: {when: [value]}}}


PLACES = (
    "topologySpreadConstraints",
    *(f"{n} {w}" for n in ("podAffinity", "podAntiAffinity") for w in (REQUIRED, PREFERRED)),
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("keys", "expressions", "added"),
    [
        ({"matchLabelKeys": ["rev"]}, [], [required("rev", "7")]),
        ({"matchLabelKeys": ["rev", "app"]}, [OWN], [required("rev", "7"), required("app", "web")]),
        ({"mismatchLabelKeys": ["app"]}, [OWN], [required("app", "web", "NotIn")]),
        ({"matchLabelKeys": ["absent"]}, [OWN], []),
        ({}, [OWN], []),
    ],
)
def test_a_selector_requires_what_keys_of_labels_name(place, keys, expressions, added):
    def spec(*found: dict[str, Any]) -> dict[str, Any]:
        return of_spec(place, {"labelSelector": {"matchExpressions": [*found]}} | keys)

    template = spec(*expressions)
    made = with_label_keys(template, LABELS)
    assert made == spec(*expressions, *added)
    assert without_label_keys(made, LABELS) == template
    assert without_label_keys(template, LABELS) is template


@pytest.mark.parametrize("place", PLACES)
def test_a_term_without_a_selector_stays_without_one(place):
    spec = of_spec(place, {"matchLabelKeys": ["rev"]})
    assert with_label_keys(spec, LABELS) is spec
    assert without_label_keys(spec, LABELS) is spec


def test_requirements_of_other_values_and_keys_stay():
    for kept in (required("rev", "8"), required("rev", "7", "NotIn"), required("app", "web")):
        spec = of_spec(
            PLACES[0], {"matchLabelKeys": ["rev"], "labelSelector": {"matchExpressions": [kept]}}
        )
        assert without_label_keys(spec, LABELS) is spec

"""Tolerations of a runtime class are merged with those of the pod."""

from __future__ import annotations

import sys
from collections import Counter

from hypothesis import example, given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.pods import runtime_classes
from podwright.cluster.api.admission.pods.runtime_classes import merged_tolerations

_TOLERATIONS = st.fixed_dictionaries(
    {"operator": st.sampled_from(["Exists", "Equal", "", "Gt"])},
    optional={
        "key": st.sampled_from(["a", "b", ""]),
        "value": st.sampled_from(["x", "y"]),
        "effect": st.sampled_from(["NoExecute", "NoSchedule"]),
        "tolerationSeconds": st.integers(1, 3),
    },
)


def _compared_with_all_others(tolerations: list[Document]) -> list[Document]:
    """Return what MergeTolerations does, in its words."""
    merged: list[Document] = []
    for index, toleration in enumerate(tolerations):
        later = tolerations[index + 1 :]
        if any(runtime_classes._includes(other, toleration) for other in merged) or any(
            other != toleration and runtime_classes._includes(other, toleration) for other in later
        ):
            continue
        merged.append(toleration)
    return merged


@effort(500)
@example([{"operator": "Exists", "value": text} for text in "xyx"])
@example([{"operator": "Exists", "value": text} for text in "xyy"])
@given(st.lists(_TOLERATIONS, max_size=8))
def test_merging_compares_as_if_with_all_others(tolerations):
    assert merged_tolerations(tolerations) == _compared_with_all_others(tolerations)


def test_many_tolerations_are_compared_with_few():
    many = [{"key": f"k{number}", "operator": "Exists"} for number in range(500)]
    longer = [
        {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
        for seconds in (*range(500, 0, -1), 600)
    ]
    events = Counter[str]()
    sys.setprofile(lambda _, event, __: events.update([event]))
    try:
        merged = merged_tolerations([*many, *longer])
    finally:
        sys.setprofile(None)
    assert len(merged) == 501
    assert 1_001 < events["call"] < 20 * 1_001


def test_seconds_limit_a_toleration_of_evictions_only() -> None:
    every, narrow = {"operator": "Exists"}, {"operator": "Exists", "key": "a"}
    limited = {"tolerationSeconds": 5}
    assert merged_tolerations([every | limited, narrow]) == [every | limited]
    evictions = every | limited | {"effect": "NoExecute"}
    of_key = narrow | {"effect": "NoExecute"}
    assert merged_tolerations([evictions, of_key]) == [evictions, of_key]
    assert merged_tolerations([evictions, of_key | limited]) == [evictions]

"""The resources that a pod occupies: every fast path equals the oracle."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.oracle import pod_resources

from podwright.apimachinery.objects import decode_pod
from podwright.apimachinery.objects.pods.requests import (
    assigned_requests,
    has_actual_resources,
    non_zero_requests,
    score_requests_balanced,
)

pytestmark = pytest.mark.property


def name_of(entry: Any) -> str:
    return str(entry["name"])


AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "example.com/gpu"]),
    st.sampled_from(["0", "1", "250m", "2", "1Gi"]),
    max_size=3,
)
NAMES = st.sampled_from(["a", "b", "c"])
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES, "resources": st.fixed_dictionaries({"requests": AMOUNTS})}
    ),
    min_size=1,
    max_size=2,
    unique_by=name_of,
)
STATUSES = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES},
        optional={
            "resources": st.fixed_dictionaries({"requests": AMOUNTS}),
            "allocatedResources": AMOUNTS,
        },
    ),
    max_size=2,
    unique_by=name_of,
)
PODS = st.fixed_dictionaries(
    {
        "metadata": st.just({"name": "web"}),
        "spec": st.fixed_dictionaries(
            {"containers": CONTAINERS}, optional={"initContainers": CONTAINERS}
        ),
        "status": st.fixed_dictionaries(
            {},
            optional={
                "containerStatuses": STATUSES,
                "conditions": st.just([{"type": "PodResizePending", "reason": "Infeasible"}]),
            },
        ),
    }
)


def _without_zeros(amounts: dict[str, int]) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if amount}


@given(PODS)
def test_what_a_pod_occupies_is_what_the_oracle_counts(document):
    pod = decode_pod(document)
    assert assigned_requests(pod) == _without_zeros(pod_resources.assigned_requests(document))
    assert non_zero_requests(pod) == pod_resources.non_zero_requests(document)
    assert _without_zeros(score_requests_balanced(pod)) == _without_zeros(
        pod_resources.balanced_score_requests(document)
    )


@given(PODS)
def test_a_status_that_names_no_resources_changes_nothing(document):
    pod = decode_pod(document)
    if not has_actual_resources(pod):
        alone = decode_pod({"metadata": document["metadata"], "spec": document["spec"]})
        assert assigned_requests(pod) == assigned_requests(alone)

"""Labels that a node needs in order to access the volumes of a pod: of which term and volume."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import decode
from podwright.scheduler.advice.claim_fixes import ClaimFixes
from podwright.scheduler.advice.tests.test_remedies import bound_claim, claims_of, pending
from podwright.scheduler.assembly import Scheduler
from podwright.testing import make_node


def term(**labels: str) -> dict[str, Any]:
    return {
        "matchExpressions": [
            {"key": key, "operator": "In", "values": [value]} for key, value in labels.items()
        ]
    }


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param([term(rack="1")], {"rack": "1"}, id="one term"),
        pytest.param([term(rack="1"), term(rack="2")], {"rack": "1"}, id="the first of two"),
        pytest.param([term(rack="1"), term(row="2")], {"rack": "1"}, id="and no other one"),
        pytest.param(
            [term(rack="1", row="2"), term(row="3")], {"rack": "1", "row": "2"}, id="all its labels"
        ),
        pytest.param([{}, term(rack="1")], {}, id="the first has no labels"),
        pytest.param([], {}, id="no terms"),
        pytest.param(None, {}, id="no affinity"),
    ],
)
def test_a_node_gets_the_labels_of_the_first_term(
    terms: list[dict[str, Any]] | None, expected: dict[str, str]
) -> None:
    bound, volume = bound_claim("a")
    affinity = {} if terms is None else {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    scheduler = Scheduler()
    scheduler.add(bound, decode(volume.raw | {"spec": volume.raw["spec"] | affinity}))
    found = ClaimFixes(pending(volumes=claims_of("a")), scheduler.cluster)
    assert found.volume_labels(make_node("n")) == expected


def test_a_node_gets_the_labels_of_all_volumes() -> None:
    scheduler = Scheduler()
    for name, key in (("a", "rack"), ("b", "row")):
        bound, volume = bound_claim(name)
        required = {"nodeSelectorTerms": [term(**{key: name})]}
        spec = volume.raw["spec"] | {"nodeAffinity": {"required": required}}
        scheduler.add(bound, decode(volume.raw | {"spec": spec}))
    found = ClaimFixes(pending(volumes=claims_of("a", "gone", "b")), scheduler.cluster)
    assert found.volume_labels(make_node("n", labels={"row": "b"})) == {"rack": "a"}
    assert found.volume_labels(make_node("n")) == {"rack": "a", "row": "b"}

"""Sequences with devices: a claim is freed where kube-scheduler or its last user gave it up."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import encode
from podwright.testing import make_node
from podwright.testing.parity import FamilyReport, check_cases

Document = dict[str, Any]
ELSEWHERE = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gone"]}]}
REJECTED = (
    "0/1 nodes are available: 1 resourceclaim not available on the node. deallocation of"
    " ResourceClaim completed, preemption: 0/1 nodes are available: 1 Preemption is not helpful"
    " for scheduling."
)


def claim(name: str = "c", owner: str = "", namespace: str = "default") -> Document:
    """Return a claim without requests that is allocated to a node that does not exist."""
    metadata: Document = {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}"}
    if owner:
        reference = {"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": owner}
        metadata["ownerReferences"] = [reference | {"controller": True}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": {"devices": {"requests": []}},
        "status": {
            "allocation": {"devices": {}, "nodeSelector": {"nodeSelectorTerms": [ELSEWHERE]}}
        },
    }


def pod(name: str, of: str = "c") -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [{"name": "main", "image": "i"}],
            "resourceClaims": [{"name": "x", "resourceClaimName": of}],
        },
    }


def schedule(name: str, of: str = "c", **expect: Any) -> Document:
    return {"op": "schedule", "pod": pod(name, of), "expect": {"chosen": None} | expect}


def frees(name: str, claims: list[str] | None, of: str = "c") -> Document:
    """Return the step of a pod that no node fits, for which a claim is freed."""
    return schedule(name, of, feasible=0, winners=[], message=REJECTED, deallocated=claims)


def places(name: str, users: list[str], *, is_allocated: bool, of: str = "c") -> Document:
    """Return the step of a pod that is placed, after which the claim has these users."""
    key = f"default/{of}"
    write = {"verb": "update", "resource": "resourceclaims", "name": key}
    status: Document = {"reservedFor": [{"resource": "pods", "name": u, "uid": u} for u in users]}
    writes = [write | {"subresource": "status", "status": status}]
    fields: Document = {"chosen": "n", "feasible": 1, "winners": ["n"], "writes": writes}
    allocation: Document = {"devices": {}}
    status["allocation"] = allocation
    if not is_allocated:
        finalizers = ["resource.kubernetes.io/delete-protection"]
        writes.insert(0, write | {"finalizers": finalizers})
        fields["allocations"] = [{"claim": key, "allocation": allocation}]
    return schedule(name, of, **fields)


def delete(name: str) -> Document:
    return {"op": "delete", "name": f"default/{name}"}


def report_of(*steps: Document) -> FamilyReport:
    objects = [encode(make_node("n")), claim(), claim("idle"), claim("owned", owner="a")]
    objects.append(claim("owned", owner="a", namespace="other"))
    case = {"id": "x", "family": "dra_sequence", "objects": objects, "steps": list(steps)}
    reports: dict[str, FamilyReport] = {}
    check_cases([case], reports)
    return reports["dra_sequence"]


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([places("a", ["a"], is_allocated=False)], id="freed for a pod"),
        pytest.param(
            [
                places("a", ["a"], is_allocated=False),
                places("b", ["a", "b"], is_allocated=True),
                delete("a"),
                places("d", ["b", "d"], is_allocated=True),
            ],
            id="in use by another pod",
        ),
        pytest.param(
            [
                places("a", ["a"], is_allocated=False),
                places("b", ["a", "b"], is_allocated=True),
                delete("a"),
                delete("b"),
                delete("b"),
                places("d", ["d"], is_allocated=False),
            ],
            id="without users",
        ),
        pytest.param(
            [
                places("a", ["a"], is_allocated=False),
                delete("a"),
                frees("b", ["default/idle"], "idle"),
            ],
            id="without users before",
        ),
        pytest.param(
            [
                places("a", ["a"], is_allocated=False),
                delete("a"),
                schedule(
                    "b",
                    "owned",
                    winners=[],
                    pre_enqueue=['could not find ResourceClaim "default/owned"'],
                ),
            ],
            id="owned by a pod that is deleted",
        ),
    ],
)
def test_a_claim_is_freed_after_its_last_user(steps: list[Document]) -> None:
    assert report_of(frees("a", ["default/c"]), *steps).mismatches == []


@pytest.mark.parametrize(
    ("claims", "fields"),
    [
        pytest.param(["default/c"], [], id="the same one"),
        pytest.param(["default/c", "default/owned"], [], id="one of several"),
        pytest.param(["default/owned"], ["deallocated"], id="another one"),
        pytest.param(None, ["deallocated"], id="none"),
    ],
)
def test_the_claim_that_is_freed_is_compared(claims: list[str] | None, fields: list[str]) -> None:
    found = report_of(frees("a", claims))
    assert [wrong.field for wrong in found.mismatches] == fields


def test_a_claim_that_was_to_be_freed_and_was_not_is_a_difference() -> None:
    steps = (frees("a", ["default/c"]), places("a", ["a"], is_allocated=False))
    (_, given) = steps
    given["expect"]["deallocated"] = ["default/owned"]
    (wrong,) = report_of(*steps).mismatches
    assert (wrong.field, wrong.expected, wrong.actual) == ("deallocated", ["default/owned"], "")

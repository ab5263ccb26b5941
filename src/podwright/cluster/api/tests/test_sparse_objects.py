"""Objects that lack everything are prepared too: what kinds set by themselves, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import decode
from podwright.cluster.api.strategies.kinds import (
    generated_selector,
    with_generated_selector,
    with_own_selector,
    with_template_labels,
    without_generated_selector,
)
from podwright.cluster.api.strategies.preparation import (
    prepared_for_create,
    prepared_for_update,
)
from podwright.cluster.api.versions.resources import built_in_resources

NOW_NS, NOW = 1_767_225_600 * 1_000_000_000, "2026-01-01T00:00:00Z"
SPARSE: tuple[Document, ...] = (
    {},
    {"metadata": None, "spec": None, "status": None},
    {"metadata": {}, "spec": {}, "status": {}},
)
_TAINT = {"spec": {"taint": {"timeAdded": NOW}}}
_FAMILIES = {"spec": {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]}}
_GENERATION = "deprecated.daemonset.template.generation"

SET: dict[str, dict[str, Document]] = {
    "create": {
        "APIService": {
            "status": {
                "conditions": [
                    {
                        "lastTransitionTime": NOW,
                        "message": "Local APIServices are always available",
                        "reason": "Local",
                        "status": "True",
                        "type": "Available",
                    }
                ]
            }
        },
        "DaemonSet": {"metadata": {"annotations": {_GENERATION: "1"}}},
        "DeviceTaintRule": _TAINT,
        "Namespace": {
            "metadata": {"labels": {"kubernetes.io/metadata.name": ""}},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        },
        "PersistentVolume": {"status": {"phase": "Pending", "lastPhaseTransitionTime": NOW}},
        "PersistentVolumeClaim": {"status": {"phase": "Pending"}},
        "Pod": {"status": {"phase": "Pending", "qosClass": "BestEffort"}},
        "Service": _FAMILIES,
    },
    "update": {
        "DeviceTaintRule": _TAINT | {"metadata": {"generation": 1}},
        "Service": _FAMILIES,
    },
    "status": {"DaemonSet": {"metadata": {"annotations": {_GENERATION: "0"}}}},
}
"""By step and kind."""


@pytest.mark.parametrize("step", ["create", "update", "status"])
def test_what_kinds_set_in_an_object_without_anything(step: str) -> None:
    found: dict[str, list[Document]] = {}
    for resource in built_in_resources().values():
        has_status = "status" in resource.kind.row.subresources
        if resource.name == "Job" and step == "create":
            continue  # has a uid then
        for sparse in SPARSE:
            if step == "create":
                made = prepared_for_create(resource, dict(sparse), NOW_NS)
            elif step == "update":
                made = prepared_for_update(resource, dict(sparse), dict(sparse), NOW_NS)
            elif has_status:
                made = prepared_for_update(resource, dict(sparse), dict(sparse), NOW_NS, "status")
            else:
                continue
            left = {name: part for name, part in made.items() if part}
            if left:
                found.setdefault(resource.name, []).append(left)
    assert {kind: one for kind, (one, *_) in found.items()} == SET[step]
    assert all(each == one for one, *others in found.values() for each in others)


# ----------------------------------------------------------------------------------- jobs

UID = "batch.kubernetes.io/controller-uid"
OWN = {
    UID: "u", "controller-uid": "u", "batch.kubernetes.io/job-name": "j", "job-name": "j",
}  # fmt: skip


def job(metadata: Document | None = None, **spec: Any) -> Document:
    return {"metadata": {"name": "j", **(metadata or {})}, "spec": spec}


def template(labels: Document | None, **more: Any) -> Document:
    return {"template": {"metadata": ({} if labels is None else {"labels": labels}) | more}}


@pytest.mark.parametrize(
    ("sent", "metadata", "labels", "matched"),
    [
        (job(), {}, OWN, {UID: "u"}),
        (job(**template(None)), {}, OWN, {UID: "u"}),
        (job(**template({"a": "1"})), {"labels": {"a": "1", **OWN}}, {"a": "1", **OWN}, {UID: "u"}),
        (
            job({"labels": {"a": "1"}}, **template({"a": "1"})),
            {"labels": {"a": "1"}}, {"a": "1", **OWN}, {UID: "u"},
        ),
        (
            job({"labels": {"b": "1"}}, **template({"a": "1"})),
            {"labels": {"b": "1"}}, {"a": "1", **OWN}, {UID: "u"},
        ),
        (
            job({"labels": {}}, **template({"a": "1"})),
            {"labels": {"a": "1", **OWN}}, {"a": "1", **OWN}, {UID: "u"},
        ),
        (
            job(**template({UID: "x"})), {"labels": OWN | {UID: "x"}}, OWN | {UID: "x"},
            {UID: "u"},
        ),
        (
            job(selector={"matchLabels": {"c": "2"}}), {}, OWN, {UID: "u", "c": "2"},
        ),
        (job(selector={"matchLabels": {UID: "y"}}), {}, OWN, {UID: "y"}),
    ],
)  # fmt: skip
def test_the_generated_labels_and_the_selector_of_a_job(
    sent: Document, metadata: Document, labels: Document, matched: Document
) -> None:
    found = generated_selector(sent, "u")
    assert found["metadata"] == {"name": "j"} | metadata
    assert found["spec"]["template"]["metadata"]["labels"] == labels
    assert list(found["spec"]["template"]["metadata"]["labels"]) == list(labels)
    assert found["spec"]["selector"]["matchLabels"] == matched


def test_a_job_with_a_selector_keeps_it() -> None:
    own = job(selector={"matchLabels": {"a": "1"}})
    assert with_own_selector(own, "u", has_labels=False) is own
    made = with_own_selector(job(selector={}), "u", has_labels=False)
    assert made["spec"]["selector"] == {"matchLabels": {UID: "u"}}
    assert made["metadata"]["labels"] == OWN
    for sparse in SPARSE:
        assert with_template_labels(sparse) is sparse
    labeled = job({"labels": {"b": "1"}}, **template({"a": "1"}))
    assert with_template_labels(labeled) is labeled
    assert with_template_labels(job(**template({"a": "1"})))["metadata"] == {
        "name": "j", "labels": {"a": "1"},
    }  # fmt: skip


def test_generated_parts_of_a_job_can_be_removed_again() -> None:
    pod = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
    document: Document = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "labels": {"a": "1"}},
        "spec": {"template": {"metadata": {"labels": {"b": "2"}}, "spec": pod}},
    }
    made = with_generated_selector(decode(document), "u")
    assert made.raw["spec"]["selector"] == {"matchLabels": {UID: "u"}}
    assert made.raw["spec"]["template"]["metadata"]["labels"] == {"b": "2", **OWN}
    back = without_generated_selector(made)
    assert back.raw["metadata"]["labels"] == {"a": "1"}
    assert back.raw["spec"]["template"]["metadata"]["labels"] == {"b": "2"}
    assert back.raw["spec"].get("selector") is None
    own = document["spec"] | {"manualSelector": True, "selector": {"matchLabels": {"b": "2"}}}
    manual = decode(document | {"spec": own})
    assert without_generated_selector(manual) is manual
    assert with_generated_selector(manual, "u").raw["spec"]["selector"] == own["selector"]
    known = decode(document | {"metadata": {"name": "j", "uid": "v"}})
    assert with_generated_selector(known, "u").raw["spec"]["selector"] == {
        "matchLabels": {UID: "v"}
    }

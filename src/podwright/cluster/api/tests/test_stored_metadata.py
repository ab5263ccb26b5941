"""Metadata and empty parts of changed objects, and the classes of claims."""

from __future__ import annotations

import pytest

from podwright.cluster.api.admission.default_classes import class_of_claim
from podwright.cluster.api.stages.preparation import with_empty_parts, with_stored_metadata

NOW, EARLIER = "2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("new", "old", "stored"),
    [
        ({"uid": "own"}, {"uid": "u"}, {"uid": "own"}),
        ({}, {"uid": "u"}, {"uid": "u"}),
        (None, {"uid": "u"}, {"uid": "u"}),
        ({"uid": ""}, {"uid": "u"}, {"uid": "u"}),
        ({"labels": {"a": "b"}}, None, {"labels": {"a": "b"}, "uid": None}),
        ({"uid": "u", "deletionTimestamp": NOW}, {"uid": "u"},
         {"uid": "u", "deletionTimestamp": NOW}),
        ({"generation": 9, "creationTimestamp": EARLIER}, {"uid": "u", "generation": 2},
         {"uid": "u", "generation": 2}),
        ({"uid": "u"}, {"uid": "u", "creationTimestamp": EARLIER},
         {"uid": "u", "creationTimestamp": EARLIER}),
        # A deletion that has begun continues, with its grace period unless another is sent.
        ({"uid": "u"}, {"uid": "u", "deletionTimestamp": NOW, "deletionGracePeriodSeconds": 30},
         {"uid": "u", "deletionTimestamp": NOW, "deletionGracePeriodSeconds": 30}),
        ({"uid": "u", "deletionTimestamp": EARLIER, "deletionGracePeriodSeconds": 0},
         {"uid": "u", "deletionTimestamp": NOW, "deletionGracePeriodSeconds": 30},
         {"uid": "u", "deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0}),
        ({"uid": "u", "deletionGracePeriodSeconds": None}, {"uid": "u"}, {"uid": "u"}),
        ({"uid": "u", "selfLink": "/x"}, {"uid": "u"}, {"uid": "u"}),
        ({"uid": "u", "labels": {"a": "b"}}, {"uid": "u", "labels": {"c": "d"}},
         {"uid": "u", "labels": {"a": "b"}}),
    ],
)  # fmt: skip
def test_metadata_that_no_update_changes(new, old, stored):
    found = with_stored_metadata({"metadata": new, "spec": {"x": 1}}, {"metadata": old})
    assert found == {"metadata": stored, "spec": {"x": 1}}


@pytest.mark.parametrize(
    ("document", "sent", "found"),
    [
        ({"a": 1}, {"a": 1, "b": {}, "c": [], "d": 2}, {"a": 1, "b": {}, "c": []}),
        ({"a": {"x": 1}}, {"a": {"x": 1, "y": []}}, {"a": {"x": 1, "y": []}}),
        ({"a": [{"x": 1}, {}]}, {"a": [{"x": 1, "y": {}}, {"z": []}]},
         {"a": [{"x": 1, "y": {}}, {"z": []}]}),
        ({"a": [1]}, {"a": [1, {}]}, {"a": [1]}),
        ([{}, {}], [{"x": {}}], [{}, {}]),
        ({"a": 1}, [{"x": {}}], {"a": 1}),
        ([{"a": 1}], {"x": {}}, [{"a": 1}]),
        ({"a": {}}, {"b": None, "c": 0, "d": ""}, {"a": {}}),
        ({"a": 1}, None, {"a": 1}),
        (None, {"a": {}}, None),
        ({"b": None}, {"b": {}}, {"b": {}}),
    ],
)  # fmt: skip
def test_empty_parts_that_were_sent(document, sent, found):
    assert with_empty_parts(document, sent) == found


@pytest.mark.parametrize(
    ("claim", "name"),
    [
        ({}, ""),
        ({"metadata": None, "spec": None}, ""),
        ({"spec": {"storageClassName": "a"}}, "a"),
        ({"spec": {"storageClassName": None}}, ""),
        (
            {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "b"}},
             "spec": {"storageClassName": "a"}},
            "b",
        ),
        ({"metadata": {"annotations": {"x": "y"}}, "spec": {"storageClassName": "a"}}, "a"),
    ],
)  # fmt: skip
def test_the_class_of_a_claim(claim, name):
    assert class_of_claim(claim) == name

"""Changes with wrong, odd and missing values: errors with their paths, or objects to schedule."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort
from tests.properties.test_malformed_objects import ODD, structs

from podwright.apimachinery.objects import TYPE_OF, FieldError, InputError, Object
from podwright.apimachinery.schema import built_in
from podwright.online.apiserver.records.object_changes import (
    ChangedObjects,
    ObjectPatch,
    changed_objects,
)
from podwright.scheduler.assembly import Scheduler
from podwright.testing import make_node, make_pod

pytestmark = pytest.mark.property

KINDS = [
    kind
    for kind in built_in()
    if (kind.row.group, kind.row.kind) in TYPE_OF and kind.row.kind != "Workload"
]
OBJECTS: tuple[Object, ...] = (
    make_node("n1", cpu="4", taints=["a=b:NoSchedule"]),
    make_node("n2", cpu="8"),
    make_pod("placed", cpu="1", node="n2"),
    make_pod("pending", cpu="6"),
)


def as_sent(document: Any) -> Any:
    """Return a document as it is read from a request: pairs of surrogates are one character."""
    return json.loads(json.dumps(document))


@st.composite
def manifests(draw: st.DrawFn) -> Any:
    """Draw a manifest of a kind that the scheduler reads."""
    kind = draw(st.sampled_from(KINDS))
    document = draw(structs(kind.row.type))
    name = draw(st.sampled_from(["n1", "pending", "placed", "new"]))
    head = {"apiVersion": kind.api_version, "kind": kind.row.kind, "metadata": {"name": name}}
    return {**document, **head} if draw(st.integers(0, 9)) else {**head, **document}


@st.composite
def patches(draw: st.DrawFn) -> ObjectPatch:
    """Draw a patch of an object that exists."""
    obj = draw(st.sampled_from(OBJECTS))
    patch = draw(st.one_of(structs(TYPES[obj.kind]), st.dictionaries(st.sampled_from(FIELDS), ODD)))
    patch = as_sent(patch)
    return ObjectPatch(kind=obj.kind, name=obj.key, patch=patch)


TYPES = {kind.row.kind: kind.row.type for kind in KINDS}
FIELDS = ["spec", "status", "metadata", "kind", "apiVersion", "$patch", "$setElementOrder/spec"]


def check(**changes: Any) -> None:
    """Check that changes give errors with paths, or objects that can be scheduled."""
    found: ChangedObjects | None = None
    errors: Sequence[FieldError] = ()
    try:
        found = changed_objects(OBJECTS, **changes)
    except InputError as error:
        errors = error.errors
    assert all(each.path.startswith(("objects", "patches")) for each in errors), errors
    if found is None:
        assert errors
        return
    for side in found:
        scheduler = Scheduler()
        scheduler.add(*side)
        for decision in scheduler.schedule_all():
            assert decision.node or decision.message


@effort(150)
@given(manifests())
def test_a_manifest_is_rejected_with_paths_or_scheduled(manifest):
    check(put=[as_sent(manifest)])


@effort(150)
@given(patches())
def test_a_patch_is_rejected_with_paths_or_scheduled(patch):
    check(patches=[patch])

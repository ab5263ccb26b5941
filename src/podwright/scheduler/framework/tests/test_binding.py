"""Calls to the API server that PreBind and Bind plugins make."""

from typing import get_args

import msgspec
import pytest

from podwright.apimachinery.objects import (
    PersistentVolume,
    PersistentVolumeClaim,
    ResourceClaim,
    decode_as,
)
from podwright.scheduler.framework.binding import (
    BIND_BY_API,
    ApiCall,
    CallError,
    ClaimUpdate,
    ExtendedClaimPatch,
    Pending,
    PodBinding,
    PodMetadataPatch,
    ResourceClaimWrite,
    VolumeUpdate,
)

METADATA = {"name": "a", "namespace": "default"}
VOLUME = decode_as(
    {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "a"}}, PersistentVolume
)
CLAIM = decode_as(
    {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": METADATA},
    PersistentVolumeClaim,
)
DEVICES = decode_as(
    {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": METADATA, "spec": {}},
    ResourceClaim,
)
CALLS = (
    PodBinding(),
    VolumeUpdate(VOLUME),
    ClaimUpdate(CLAIM),
    ResourceClaimWrite("update", DEVICES),
    ExtendedClaimPatch("a", (("c", "example.com/gpu", "r"),)),
    PodMetadataPatch(labels={"a": "b"}),
)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: type(call).__name__)
def test_a_call_is_written_with_its_kind_and_cannot_be_changed(call):
    assert msgspec.to_builtins(call)["type"] == type(call).__name__
    field = next(iter(call.__struct_fields__), "other")
    with pytest.raises(AttributeError):
        setattr(call, field, None)


def test_every_kind_of_call_is_in_the_table():
    assert {type(call) for call in CALLS} == set(get_args(ApiCall))


def test_the_driver_binds_without_delay():
    assert Pending(calls=(PodBinding(),)) == BIND_BY_API
    assert BIND_BY_API.delay_ns is None


@pytest.mark.parametrize(
    ("reason", "is_not_found"), [("NotFound", True), ("Conflict", False), ("", False)]
)
def test_an_object_that_does_not_exist_is_known_by_the_reason(reason, is_not_found):
    assert CallError("gone", reason).is_not_found is is_not_found

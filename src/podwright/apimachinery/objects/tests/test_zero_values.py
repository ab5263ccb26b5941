"""What an object has without a field is what Go has: the zero value of its type, or nothing."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import types
import typing
from collections.abc import Iterator

import msgspec
import pytest

from podwright.apimachinery import objects
from podwright.apimachinery.objects import CoschedulingPodGroupSpec
from podwright.apimachinery.objects.meta import Struct


def structs() -> Iterator[type[Struct]]:
    """Yield the structs of Kubernetes' types."""
    face = objects.__name__
    for module in pkgutil.walk_packages(objects.__path__, f"{face}."):
        if ".tests" not in module.name:
            for _, cls in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
                if issubclass(cls, Struct) and cls.__module__ == module.name:
                    yield cls


STRUCTS = list(structs())

REQUIRED = {
    "AllocationResult": {"devices"},
    "Condition": {"type"},
    "Counter": {"value"},
    "DeviceCapacity": {"value"},
    "GangSchedulingPolicy": {"min_count"},
    "LabelSelectorRequirement": {"key", "operator"},
    "NodeSelectorRequirement": {"key", "operator"},
    "PodAffinityTerm": {"topology_key"},
    "PodSchedulingGate": {"name"},
    "PreferredSchedulingTerm": {"weight"},
    "Taint": {"key", "effect"},
    "TopologyConstraint": {"key"},
    "TopologySelectorLabelRequirement": {"key"},
    "TopologySpreadConstraint": {"max_skew", "topology_key", "when_unsatisfiable"},
    "WeightedPodAffinityTerm": {"weight", "pod_affinity_term"},
}
"""The fields without which an object is not read."""

ONE = (CoschedulingPodGroupSpec, "min_member")
"""Defaulted by its webhook; everything else is zero."""


def zero_of(hint: object) -> object:
    """Return the zero value of a type."""
    if isinstance(hint, type) and issubclass(hint, Struct):
        return hint()
    if hint is typing.Any:
        return None
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return zero_of(typing.get_args(hint)[0])
    if origin is typing.Literal:
        return ""
    if origin in {typing.Union, types.UnionType}:
        choices = typing.get_args(hint)
        return None if type(None) in choices else zero_of(choices[0])
    found: object = (origin or hint)()  # type: ignore[operator]  # a class
    return found


def test_there_are_structs() -> None:
    assert len(STRUCTS) > 140


@pytest.mark.parametrize("cls", STRUCTS, ids=[cls.__name__ for cls in STRUCTS])
def test_absent_fields_are_zero(cls) -> None:
    required = set()
    for field in msgspec.structs.fields(cls):
        if field.required:
            required.add(field.name)
            continue
        default = field.default
        if default is msgspec.NODEFAULT:
            default = field.default_factory()
        expected = 1 if (cls, field.name) == ONE else zero_of(field.type)
        assert (type(default), default) == (type(expected), expected), field.name
    assert required == REQUIRED.get(cls.__name__, set())


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


OTHER_NAMES = {
    "AWSElasticBlockStoreVolumeSource.volume_id": "volumeID",
    "AllocatedDeviceStatus.share_id": "shareID",
    "AzureDiskVolumeSource.disk_uri": "diskURI",
    "CSINodeDriver.node_id": "nodeID",
    "CinderVolumeSource.volume_id": "volumeID",
    "ContainerPort.host_ip": "hostIP",
    "DeviceAttribute.bool_value": "bool",
    "DeviceAttribute.int_value": "int",
    "DeviceAttribute.string_value": "string",
    "DeviceAttribute.version_value": "version",
    "DeviceRequestAllocationResult.share_id": "shareID",
    "NamedDisk.disk_uri": "diskURI",
    "NamedDisk.volume_id": "volumeID",
    "NodeSpec.provider_id": "providerID",
    "PortworxVolumeSource.volume_id": "volumeID",
    "ServiceSpec.cluster_ip": "clusterIP",
}
"""The names in documents that are not those of the fields in another case; `raw` has none."""


def test_fields_have_the_names_of_the_api() -> None:
    others = {
        f"{cls.__name__}.{field}": written
        for cls in STRUCTS
        for field, written in zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
        if written != ("$raw" if field == "raw" else camel(field))
    }
    assert others == OTHER_NAMES

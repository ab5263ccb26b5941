"""The managers of the replicas, on the object and on its Scale."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.patching import object_entries, scale_entries

Document = dict[str, Any]

PATHS = {"apps/v1": ("spec", "replicas"), "example.com/v1": ("spec", "size"), "no.scale/v1": ()}
REPLICAS: Document = {"f:spec": {"f:replicas": {}}}
TIME = "2026-01-01T00:00:00Z"


def entry(
    manager: str, fields: Document, operation: str = "Update", version: str = "apps/v1", **more: Any
) -> Document:
    """Return an entry."""
    found = {"manager": manager, "operation": operation, "apiVersion": version, "time": TIME}
    return found | {"fieldsType": "FieldsV1", "fieldsV1": fields} | more


def scale(manager: str, operation: str = "Update", **more: Any) -> Document:
    """Return an entry of a Scale."""
    return entry(manager, REPLICAS, operation, "autoscaling/v1", **more)


def test_a_scale_has_the_entries_of_those_who_set_the_replicas() -> None:
    entries = [
        entry("a", REPLICAS | {"f:metadata": {"f:labels": {}}}, "Apply"),
        entry("b", {"f:spec": {"f:paused": {}}}),
        entry("c", {"f:spec": {"f:size": {}}}, version="example.com/v1"),
        entry("d", REPLICAS, version="unknown/v1"),
        entry("e", REPLICAS, version="no.scale/v1"),
    ]
    assert scale_entries(entries, PATHS) == [scale("a", "Apply"), scale("c")]
    assert scale_entries(None, PATHS) == []


def test_who_scales_takes_the_replicas() -> None:
    other: Document = {"f:metadata": {"f:labels": {"f:a": {}}}}
    entries = [entry("a", REPLICAS | other, "Apply"), entry("b", REPLICAS)]
    scaled = [scale("hpa", subresource="scale", time="2026-01-01T00:00:09Z")]
    after = object_entries(entries, scaled, "apps/v1", PATHS)
    taken = entry("hpa", REPLICAS, subresource="scale")
    del taken["time"]
    assert after == [entry("a", other, "Apply"), taken]


def test_only_an_applier_that_keeps_the_replicas_keeps_the_time_of_its_entry() -> None:
    entries = [entry("a", REPLICAS, "Apply"), entry("b", REPLICAS)]
    scaled = [scale("a", "Apply"), scale("b"), scale("c", "Apply", subresource="scale")]
    after = object_entries(entries, scaled, "apps/v1", PATHS)
    joined = entry("c", REPLICAS, "Apply", subresource="scale")
    updater = entry("b", REPLICAS)
    del joined["time"], updater["time"]
    assert after == [joined, entry("a", REPLICAS, "Apply"), updater]


def test_entries_that_have_nothing_to_do_with_the_scale() -> None:
    entries = [
        entry("a", {"f:spec": {"f:paused": {}}}),
        entry("b", REPLICAS, version="no.scale/v1"),
        entry("c", REPLICAS, version="unknown/v1"),
    ]
    scaled = [entry("x", {"f:metadata": {"f:labels": {}}}, version="autoscaling/v1")]
    assert object_entries(entries, scaled, "apps/v1", PATHS) == entries[:2]

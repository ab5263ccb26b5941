"""Tests of the order in which Go's encoder writes the fields of a struct."""

from __future__ import annotations

import pytest

from podwright.apimachinery.schema import built_in, go_ordered
from podwright.apimachinery.schema.go_form import GO_ORDER


def order_of(struct):
    return [field.name for field in go_ordered(built_in().type(struct))]


@pytest.mark.parametrize("struct", GO_ORDER)
def test_a_listed_order_names_the_fields_of_its_struct(struct):
    fields = built_in().type(struct).fields.values()
    assert sorted(GO_ORDER[struct]) == sorted(field.name for field in fields if field.number)


def test_embedded_structs_keep_their_own_order():
    assert order_of("core.v1.EphemeralContainer")[-1] == "targetContainerName"
    assert order_of("core.v1.Volume")[:3] == ["name", "hostPath", "emptyDir"]


def test_a_kind_begins_with_its_kind_and_version():
    assert order_of("core.v1.ConfigMap") == [
        "kind",
        "apiVersion",
        "metadata",
        "immutable",
        "data",
        "binaryData",
    ]

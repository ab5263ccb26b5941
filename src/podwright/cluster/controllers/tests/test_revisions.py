"""Hashes of templates have upstream's form; those of revisions have its values too."""

from __future__ import annotations

import msgspec
import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.controllers.apps.controller_revisions import (
    data_of,
    fnv32,
    fnv32a,
    go_json,
    number_of,
    revision_hash,
    safe_encoded,
    template_hash,
    template_of_patch,
    template_patch,
)
from podwright.cluster.controllers.apps.deployment import same_template

TEMPLATE = {
    "metadata": {"labels": {"app": "db"}, "creationTimestamp": None},
    "spec": {"containers": [{"name": "c", "image": "db:1", "command": ["a", "<b> & c"]}]},
}


@pytest.mark.parametrize(
    ("function", "data", "expected"),
    [
        (fnv32, b"", 0x811C9DC5),
        (fnv32, b"a", 0x050C5D7E),
        (fnv32, b"foobar", 0x31F0B262),
        (fnv32a, b"a", 0xE40C292C),
        (fnv32a, b"foobar", 0xBF9CF968),
    ],
)
def test_the_hashes_are_those_of_fowler_noll_and_vo(function, data, expected):
    assert function(data) == expected


def test_a_number_is_encoded_without_vowels():
    assert safe_encoded(1234567890) == "56789bcdf4"


def test_documents_are_encoded_as_go_encodes_them():
    assert go_json({"b": "<&>", "a": [1, True, None]}) == (
        rb'{"a":[1,true,null],"b":"\u003c\u0026\u003e"}'
    )


def test_a_revision_stores_the_template_without_nulls():
    data = template_patch(TEMPLATE)
    kept = {"metadata": {"labels": {"app": "db"}}, "spec": TEMPLATE["spec"]}
    assert data == {"spec": {"template": kept | {"$patch": "replace"}}}
    assert template_of_patch(data) == kept
    # A client that makes the same patch in Go gets the same bytes.
    assert msgspec.json.encode(data) == msgspec.json.encode(data, order="sorted")


def test_collisions_change_the_hash():
    data = template_patch(TEMPLATE)
    for function in (revision_hash, template_hash):
        found = {function(data, count) for count in (None, 0, 1, 2)}
        assert len(found) == 4
        assert all(set(each) <= set("bcdf456789") and len(each) <= 10 for each in found)


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        ({"metadata": {"labels": {"app": "db", "pod-template-hash": "x"}}}, True),
        ({"metadata": {"labels": {"app": "db"}, "annotations": {}}}, True),
        ({"metadata": {"labels": {"app": "other"}}}, False),
        ({"metadata": {"labels": {"app": "db"}, "annotations": {"a": "b"}}}, False),
        ({"spec": {"containers": []}}, False),
    ],
)
def test_templates_are_compared_without_their_hash(other, is_same):
    assert same_template(TEMPLATE | other, TEMPLATE) is is_same


def test_a_recorded_template_without_metadata_is_that_of_its_set():
    spec = {"spec": TEMPLATE["spec"]}
    of_set = spec | {"metadata": {"labels": {"pod-template-hash": "x"}}}
    assert same_template(spec, of_set)
    assert not same_template(spec, of_set | {"metadata": {"labels": {"app": "db"}}})


@pytest.mark.parametrize(
    ("raw", "number", "data"),
    [
        ({"revision": 3, "data": {"spec": {}}}, 3, {"spec": {}}),
        ({"revision": 0, "data": {}}, 0, {}),
        ({"revision": None, "data": None}, 0, {}),
        ({}, 0, {}),
    ],
)
def test_a_revision_without_data_has_an_empty_one(raw, number, data):
    document = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "r"}}
    revision = decode(document | raw)
    assert (number_of(revision), data_of(revision)) == (number, data)

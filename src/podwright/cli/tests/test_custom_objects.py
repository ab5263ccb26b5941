"""Custom objects of files, by their definitions."""

import pytest

from podwright.apimachinery.objects import decode
from podwright.cli.serving.up_inputs import invalid_custom_objects, undefined_kinds
from podwright.cluster.store import ObjectStore
from podwright.simulation.files import LoadedObjects, Sourced

SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            },
            "x-kubernetes-validations": [
                {"rule": "self.color == 'red' || self.size < 10", "message": "too large"}
            ],
        }
    },
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": SCHEMA},
            }
        ],
    },
}


def sourced(*documents):
    return [Sourced(f"item {number}", decode(each)) for number, each in enumerate(documents)]


def widget(spec, *, version="v1", **metadata):
    return {
        "apiVersion": f"example.com/{version}",
        "kind": "Widget",
        "metadata": {"name": "one"} | metadata,
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        pytest.param({"size": 3, "color": "blue"}, [], id="valid"),
        # The rule would have no value of `color` without the default.
        pytest.param({"size": 12}, [], id="valid with the default"),
        pytest.param({"size": 12, "color": "blue"}, ["item 1: spec: Invalid value: too large"],
                     id="a rule"),
        pytest.param({"size": 1, "colour": "red"}, ["item 1: spec.colour: unknown field"],
                     id="an unknown field"),
        pytest.param(
            {},
            ["item 1: spec.size: Required value",
             "item 1: some validation rules were not checked because the object was invalid;"
             " correct the existing errors to complete validation"],
            id="a missing field",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_stored", [False, True], ids=["beside it", "in the store"])
def test_a_new_object_is_checked_by_its_definition(spec, problems, is_stored):
    store = ObjectStore()
    entries = sourced(DEFINITION, widget(spec))
    if is_stored:
        store.put(entries.pop(0).object)
    assert list(map(str, invalid_custom_objects(entries, store))) == problems


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(widget({}, uid="5e2b"), id="of a dump"),
        pytest.param(widget({}, version="v2"), id="of a version that is not defined"),
    ],
)
def test_other_objects_are_taken_as_they_are(document):
    assert invalid_custom_objects(sourced(DEFINITION, document), ObjectStore()) == []


def test_kinds_that_no_definition_defines_are_named_once():
    store = ObjectStore()
    store.put(decode(DEFINITION))
    objects = sourced(widget({}), widget({}, version="v2"), widget({}, version="v2"))
    loaded = LoadedObjects(sourced=tuple(objects[1:]))
    assert list(undefined_kinds(loaded, store)) == [
        "item 1: Widget (example.com/v2) is not served, because no CustomResourceDefinition"
        " defines it"
    ]
    assert list(undefined_kinds(LoadedObjects(sourced=tuple(objects[:1])), store)) == []

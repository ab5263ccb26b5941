"""Accepted names of custom resources, users of reviews, and schemas without properties."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.cluster.api.endpoints.access.access_reviews import _access_of, _user_of
from podwright.cluster.api.endpoints.custom_resources.names import (
    established,
    with_approval,
    with_names,
    without_violations,
)
from podwright.cluster.api.endpoints.openapi.plain_schemas import (
    INT_OR_STRING,
    PLAIN,
    QUANTITY,
    UNIONS,
)
from podwright.cluster.api.users import User

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
NOW, NOW_NS = "2026-01-01T00:00:00Z", 1_767_225_600 * 1_000_000_000
NAMES = {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"}


def definition(names: Document, accepted: Document | None = None, **statuses: str) -> Document:
    """Return a definition with accepted names and conditions."""
    status: Document = {} if accepted is None else {"acceptedNames": accepted}
    if statuses:
        status["conditions"] = [
            {"type": name, "status": status_} for name, status_ in statuses.items()
        ]
    return {"metadata": {"name": "foos.x.io"}, "spec": {"names": names}, "status": status}


def other(**names: Any) -> Document:
    return {"status": {"acceptedNames": names}}


def condition(found: Document, type_: str) -> tuple[str, ...] | None:
    for each in found["status"].get("conditions", ()):
        if each["type"] == type_:
            return each["status"], each.get("reason", ""), each.get("message", "")
    return None


ACCEPTED = ("True", "NoConflicts", "no conflicts found")


@pytest.mark.parametrize(
    ("others", "names", "accepted", "reason", "message"),
    [
        ([], NAMES, NAMES, "", ""),
        ([other(plural="bars", kind="Bar")], NAMES, NAMES, "", ""),
        # Of its own names, each may stay although another has it.
        (
            [other(plural="foos")], NAMES, {"plural": "", **{k: v for k, v in NAMES.items()
                                                             if k != "plural"}},
            "PluralConflict", '"foos" is already in use',
        ),
        (
            [other(singular="foos")], NAMES, {"plural": "", **{k: v for k, v in NAMES.items()
                                                               if k != "plural"}},
            "PluralConflict", '"foos" is already in use',
        ),
        (
            [other(shortNames=["foo"])], NAMES, {k: v for k, v in NAMES.items()
                                                 if k != "singular"},
            "SingularConflict", '"foo" is already in use',
        ),
        (
            [other(listKind="Foo")], NAMES, NAMES | {"kind": ""}, "KindConflict",
            '"Foo" is already in use',
        ),
        (
            [other(kind="FooList")], NAMES, {k: v for k, v in NAMES.items() if k != "listKind"},
            "ListKindConflict", '"FooList" is already in use',
        ),
        (
            [other(plural="f"), other(singular="g")], NAMES | {"shortNames": ["f", "g", "h"]},
            NAMES, "ShortNamesConflict", '["f" is already in use, "g" is already in use]',
        ),
        # The kind of another is not the name of a resource.
        ([other(kind="foos", listKind="foo")], NAMES, NAMES, "", ""),
        ([], NAMES | {"categories": ["all"], "shortNames": ["f"]},
         NAMES | {"shortNames": ["f"], "categories": ["all"]}, "", ""),
    ],
)  # fmt: skip
def test_the_names_that_a_new_definition_gets(others, names, accepted, reason, message):
    found = with_names(definition(names), others, NOW_NS)
    assert found["status"]["acceptedNames"] == accepted
    expected = ("False", reason, message) if reason else ACCEPTED
    assert condition(found, "NamesAccepted") == expected
    if reason:
        assert condition(found, "Established") == (
            "False", "NotAccepted", "not all names are accepted",
        )  # fmt: skip
    else:
        assert condition(found, "Established") == (
            "False", "Installing", "the initial names have been accepted",
        )  # fmt: skip


def test_names_that_are_accepted_stay_and_are_changed():
    given = definition(NAMES, NAMES)
    assert with_names(given, [], NOW_NS) is given
    # A name that it has stays, also if another has taken it since.
    both = definition(NAMES | {"shortNames": ["f", "g"]}, NAMES | {"shortNames": ["f"]},
                      NamesAccepted="True", Established="True")  # fmt: skip
    taken = [other(plural="foos", singular="foo", shortNames=["f"])]
    found = with_names(both, taken, NOW_NS)
    assert found["status"]["acceptedNames"] == NAMES | {"shortNames": ["f", "g"]}
    assert condition(found, "NamesAccepted") == ACCEPTED
    assert condition(found, "Established") == ("True", "", "")
    # A name that is given up is gone, one that is refused stays as it was.
    changed = definition({"plural": "foos", "singular": "bar", "kind": "Foo"}, NAMES)
    # Upstream counts the empty list kind of another definition as a name that is in use.
    bars = other(plural="bars", singular="bar", kind="Bar", listKind="BarList")
    found = with_names(changed, [bars], NOW_NS)
    assert found["status"]["acceptedNames"] == {"plural": "foos", "singular": "foo", "kind": "Foo"}
    assert condition(found, "NamesAccepted") == (
        "False", "SingularConflict", '"bar" is already in use',
    )  # fmt: skip
    # Nothing is written twice.
    assert with_names(found, [bars], NOW_NS) is found
    found = with_names(changed, [other(plural="bars", kind="Bar")], NOW_NS)
    assert found["status"]["acceptedNames"] == NAMES | {"singular": "bar"}
    assert condition(found, "NamesAccepted") == (
        "False", "ListKindConflict", '"" is already in use',
    )  # fmt: skip


def test_a_definition_is_served_once_its_names_are_accepted():
    ready = definition(NAMES, NAMES, NamesAccepted="True")
    found = established(ready, NOW_NS)
    assert condition(found, "Established") == (
        "True", "InitialNamesAccepted", "the initial names have been accepted",
    )  # fmt: skip
    for given in (
        definition(NAMES, NAMES, NamesAccepted="False"),
        definition(NAMES, NAMES, NamesAccepted="True", Established="True"),
        definition(NAMES),
    ):
        assert established(given, NOW_NS) is given


def test_conditions_about_approval_and_structure():
    plain = definition(NAMES, NonStructuralSchema="True", Established="True")
    assert with_approval(plain | {"spec": {"group": "x.io", "names": NAMES}}, NOW_NS) is not None
    left = without_violations(plain, NOW_NS)
    assert [each["type"] for each in left["status"]["conditions"]] == ["Established"]
    assert without_violations(left, NOW_NS) is left


@pytest.mark.parametrize(
    ("spec", "user"),
    [
        ({}, User("")),
        ({"user": "u", "uid": "1", "groups": ["a", "b"]}, User("u", "1", ("a", "b"))),
        ({"user": "u", "extra": {"k": ["v", "w"], "n": None}},
         User("u", extra={"k": ("v", "w"), "n": ()})),
        ({"user": None, "uid": None, "groups": None, "extra": None}, User("")),
    ],
)  # fmt: skip
def test_the_user_of_a_review(spec, user):
    assert _user_of(spec) == user


def test_the_access_of_a_review():
    user = User("u")
    access, errors = _access_of(user, {"nonResourceAttributes": {"path": "/x", "verb": "get"}})
    assert (access.is_resource, access.path, access.verb, errors) == (False, "/x", "get", [])
    access, errors = _access_of(
        user,
        {
            "resourceAttributes": {
                "verb": "list", "group": "g", "resource": "r", "subresource": "s",
                "namespace": "n", "name": "x",
            }
        },
    )  # fmt: skip
    assert (access.user, access.verb, access.group, access.version) == (user, "list", "g", "*")
    assert (access.resource, access.subresource, access.namespace, access.name) == (
        "r", "s", "n", "x",
    )  # fmt: skip
    assert (access.is_resource, errors) == (True, [])
    access, _ = _access_of(user, {"resourceAttributes": {"version": "v1"}})
    assert (access.version, access.verb, access.name) == ("v1", "", "")


def test_schemas_without_properties_have_the_type_of_their_text():
    """staging/src/k8s.io/apimachinery: OpenAPISchemaType and OpenAPISchemaFormat of the types."""
    formats = {name: schema["format"] for name, schema in PLAIN.items() if "format" in schema}
    assert formats == {
        INT_OR_STRING: "int-or-string", f"{META}.Time": "date-time",
        f"{META}.MicroTime": "date-time",
    }  # fmt: skip
    assert {name for name, schema in PLAIN.items() if schema.get("type") == "string"} == {
        f"{META}.Time", f"{META}.MicroTime",
    }  # fmt: skip
    alternatives = {
        name: [each["type"] for each in schema["oneOf"]]
        for name, schema in PLAIN.items()
        if "oneOf" in schema
    }
    assert alternatives == {QUANTITY: ["string", "number"], INT_OR_STRING: ["integer", "string"]}
    assert all(schema["type"] == "object" for schema in PLAIN.values() if "type" in schema
               and schema["type"] != "string")  # fmt: skip
    assert sum(not schema for schema in PLAIN.values()) == 4


def test_a_union_has_its_fields_and_the_discriminator_if_there_is_one() -> None:
    profile = {"localhostProfile": "LocalhostProfile"}
    assert UNIONS["core.v1.SeccompProfile"] == [
        {"discriminator": "type", "fields-to-discriminateBy": profile}
    ]
    assert UNIONS["core.v1.PodSchedulingGroup"] == [
        {"fields-to-discriminateBy": {"podGroupName": "PodGroupName"}}
    ]

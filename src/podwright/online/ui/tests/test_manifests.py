"""The text of an editor."""

import pytest

from podwright.online.ui.manifests import (
    InvalidText,
    change_between,
    conflicting_fields,
    copies_of,
    errors_in,
    read_documents,
    text_of,
)
from podwright.online.ui.server_requests import Cause, causes_of
from podwright.online.ui.templates import template_of

TWO = """\
# the first
apiVersion: v1
kind: Namespace
metadata:
  name: a
---
apiVersion: v1
kind: Pod
metadata:
  name: b
spec:
  containers:
  - name: main
    image: app
"""


def test_an_error_is_at_the_line_of_its_field():
    first, second = read_documents(TWO)
    found = errors_in(
        second,
        [
            Cause("too long", "metadata.name"),
            Cause("invalid", "spec.containers[0].image"),
            Cause("required", "spec.containers[0].resources.limits"),
            Cause("forbidden"),
        ],
    )
    assert [error.line for error in found] == [10, 14, 13, 0]
    assert errors_in(first, [Cause("invalid", "metadata.name")])[0].line == 5


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: ]", 2),
        ("a: 1\na: 2", 2),
        ("", 0),
        ("# only a comment\n---\n", 0),
    ],
)
def test_what_is_no_object_has_a_line(text, line):
    with pytest.raises(InvalidText) as caught:
        read_documents(text)
    assert caught.value.error.line == line


def test_texts_mean_what_they_mean_to_kubectl():
    found = read_documents("a: yes\nb: 2026-01-01\nc: 1e3\n")[0].value
    assert found == {"a": True, "b": "2026-01-01", "c": 1_000}
    found = read_documents("a: y\nb: N\nc: 'y'\nd: o\n")[0].value
    assert found == {"a": True, "b": False, "c": "y", "d": "o"}


def test_copies_are_numbered():
    pod = {"kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web"}}}
    assert list(copies_of(pod, 1)) == [pod]
    names = [each["metadata"]["name"] for each in copies_of(pod, 3)]
    assert names == ["web-1", "web-2", "web-3"]
    generated = {"metadata": {"generateName": "web-"}}
    assert list(copies_of(generated, 2)) == [generated, generated]


@pytest.mark.parametrize(
    "value", [{"metadata": ["name"]}, {"metadata": None}, {}, ["metadata"], "metadata"]
)
def test_what_has_no_name_has_equal_copies(value):
    assert list(copies_of(value, 2)) == [value, value]


def test_a_text_has_one_line_for_a_long_value():
    words = "word " * 100 + "end"
    assert text_of({"a": words, "b": [1, 2]}) == f"a: {words}\nb:\n- 1\n- 2\n"
    assert text_of([{"a": 1}]) == "- a: 1\n"
    assert text_of({"metadata": None}) == "metadata: null\n"


def test_the_text_of_an_object_reads_back():
    pod = {"kind": "Pod", "metadata": {"name": "名", "managedFields": [{}], "labels": {"a": "1"}}}
    text = text_of(pod)
    assert "managedFields" not in text
    assert read_documents(text)[0].value == {
        "kind": "Pod",
        "metadata": {"name": "名", "labels": {"a": "1"}},
    }


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"b": 3}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a": {"c": None}}),
        ({"a": [1, 2]}, {"a": [1]}, {"a": [1]}),
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": None, "b": {"c": 1}}, {"a": None, "b": {"c": 1}}),
        ({}, {"a": None}, {}),
        ({"a": "text"}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_a_change_has_what_differs(old, new, change):
    assert change_between(old, new) == change


@pytest.mark.parametrize(
    ("mine", "theirs", "conflicts"),
    [
        ({"spec": {"replicas": 3}}, {"spec": {"replicas": 5}}, [("spec.replicas", 5)]),
        ({"spec": {"replicas": 3}}, {"spec": {"replicas": 3, "paused": True}}, []),
        ({"spec": {"replicas": 3}}, {"metadata": {"labels": None}}, []),
        ({"spec": {"a": 1}}, {"spec": None}, [("spec", None)]),
        ({"spec": 3}, {"spec": {"a": 1}}, [("spec", {"a": 1})]),
        ({"spec": None}, {"spec": {"a": 1}}, [("spec", {"a": 1})]),
        ({"spec": [1]}, {"spec": [1]}, []),
        (
            {"a": 1, "b": {"c": 2, "d": 3}},
            {"b": {"d": 4, "c": 5}, "a": 6},
            [("a", 6), ("b.c", 5), ("b.d", 4)],
        ),
        ({}, {}, []),
    ],
)
def test_changes_of_one_field_to_different_values_conflict(mine, theirs, conflicts):
    assert list(conflicting_fields(mine, theirs)) == conflicts


@pytest.mark.parametrize(
    "kind",
    ["Pod", "Deployment", "StatefulSet", "Job", "Node", "PodDisruptionBudget", "Unknown"],
)
def test_templates_are_yaml(kind):
    found = read_documents(template_of("v1", kind, "default"))[0].value
    assert found["kind"] == kind
    assert found["metadata"]["namespace"] == "default"


def test_reasons_of_a_status_have_their_fields():
    status = {
        "kind": "Status",
        "message": "Pod is invalid",
        "details": {"causes": [{"message": "Required value", "field": "spec.containers"}]},
    }
    expected = (Cause("spec.containers: Required value", "spec.containers"),)
    assert causes_of(status, 422) == expected
    strict = {
        "message": 'strict decoding error: unknown field "spec.foo", duplicate field "spec.bar"'
    }
    assert [cause.field for cause in causes_of(strict, 400)] == ["spec.foo", "spec.bar"]
    assert causes_of({"detail": "no such plugin", "field": "profiles[0]"}, 400) == (
        Cause("no such plugin", "profiles[0]"),
    )
    assert causes_of(None, 502) == (Cause("The server answered with status 502."),)

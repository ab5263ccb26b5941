"""Names of labels, texts of errors, selectors as text, times of traces and lines of fields."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

from podwright.apimachinery.objects import (
    CREATION_TIME,
    DELETION_TIME,
    ArgumentError,
    FieldError,
    InputError,
    InvalidObject,
    Pod,
    PriorityClass,
    decode_as,
    openb_times,
    quoted,
    required,
    unsupported,
    with_fields,
)
from podwright.apimachinery.objects.admission import (
    default_priority_class,
    with_allocatable,
    with_runtime_class,
    without_pod_level_resources,
)
from podwright.apimachinery.objects.errors import (
    UNKNOWN_FIELD,
    collecting,
    decoding_problem,
    nearest,
)
from podwright.apimachinery.objects.kinds import require_objects
from podwright.apimachinery.objects.names import (
    label_key_errors,
    label_value_errors,
    subdomain_errors,
)
from podwright.apimachinery.objects.openb import SCHEDULED_TIME
from podwright.apimachinery.objects.quantity import quantity_error
from podwright.apimachinery.objects.selecting.selector import Requirement, Selector
from podwright.apimachinery.objects.texts.yaml_events import yaml_line_of
from podwright.testing import make_node, make_pod


def starts(errors: list[str]) -> list[str]:
    """Return the first words of each error."""
    return [error.split(" consist")[0].split(" must consist")[0] for error in errors]


@pytest.mark.parametrize(
    ("value", "errors"),
    [
        ("", []),
        ("a.b_c-D9", []),
        ("x" * 63, []),
        ("x" * 64, ["must be no more than 63 bytes"]),
        ("-a", ["a valid label must be an empty string or"]),
        ("a ", ["a valid label must be an empty string or"]),
        ("é" * 32, ["must be no more than 63 bytes", "a valid label must be an empty string or"]),
    ],
)
def test_values_of_labels(value, errors):
    assert starts(label_value_errors(value)) == errors


@pytest.mark.parametrize(
    ("key", "errors"),
    [
        ("a", []),
        ("example.com/a", []),
        ("x" * 63, []),
        ("x" * 64, ["name part must be no more than 63 bytes"]),
        (f"example.com/{'x' * 63}", []),
        (f"example.com/{'x' * 64}", ["name part must be no more than 63 bytes"]),
        ("", ["name part must be non-empty", "name part"]),
        ("a/", ["name part must be non-empty", "name part"]),
        ("/a", ["prefix part must be non-empty"]),
        ("a/b/c", ["a valid label key"]),
        ("A/b", ["prefix part a lowercase RFC 1123 subdomain"]),
        (f"{'a' * 254}/b", ["prefix part must be no more than 253 bytes"]),
        ("a b", ["name part"]),
    ],
)
def test_keys_of_labels(key, errors):
    found = [
        error.split(" must consist")[0].split(" consist")[0] for error in label_key_errors(key)
    ]
    assert found == errors


def test_names_of_domains():
    assert subdomain_errors("a.b-c.d9") == []
    assert subdomain_errors("a" * 253) == []
    assert subdomain_errors("a" * 254) == ["must be no more than 253 bytes"]
    for wrong in ("", "A", "a_b", "-a", "a..b", "a.-b"):
        (error,) = subdomain_errors(wrong)
        assert error.startswith("a lowercase RFC 1123 subdomain must consist of")


# ------------------------------------------------------------------------------ errors


def test_of_many_errors_the_first_are_shown():
    errors = [FieldError(source="f", path=f"a[{n}]", message="m") for n in range(60)]
    error = InputError(errors)
    assert len(error.errors) == 60
    shown = len(error.texts) - 1
    assert error.texts[0] == "f: a[0]: m"
    assert error.texts[-1] == f"... and {60 - shown} more errors"
    assert str(error) == "\n".join(error.texts)
    few = InputError(errors[:shown])
    assert few.texts == [f"f: a[{n}]: m" for n in range(shown)]
    one = InputError.of("f", "m", "p", 3)
    assert one.errors == (FieldError(source="f", path="p", message="m", value=3),)
    assert str(InputError.of("f", "m")) == "f: m"


def test_errors_are_collected_beside_a_default():
    def fails(text: str, *, path: str) -> int:
        raise InvalidObject([FieldError(source=text, path=path, message="m")])

    errors: list[FieldError] = []
    assert collecting(errors, 7, int, "3") == 3
    assert errors == []
    assert collecting(errors, 7, fails, "f", path="p") == 7
    assert [str(error) for error in errors] == ["f: p: m"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", '"a"'),
        (None, "null"),
        ({"a": "é"}, '{"a": "é"}'),
        ("x" * 78, f'"{"x" * 78}"'),
        ("x" * 79, f'"{"x" * 76}...'),
        (b"x", "\"b'x'\""),
    ],
)
def test_values_in_messages(value, text):
    assert quoted(value) == text


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    counts: list[Annotated[int, msgspec.Meta(ge=0)]] = []
    either: int | None = None


class Outer(msgspec.Struct):
    inner: Inner


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ([], ("", "must be an object")),
        ({}, ("inner", "Required value")),
        ({"inner": {}}, ("inner.name", "Required value")),
        ({"inner": {"name": 1}}, ("inner.name", "must be a string")),
        ({"inner": {"name": "a", "counts": 1}}, ("inner.counts", "must be a list")),
        ({"inner": {"name": "a", "counts": [0, -1]}},
         ("inner.counts[1]", "must be an integer >= 0")),
        ({"inner": {"name": "a", "either": "b"}}, ("inner.either", "must be an integer or null")),
        ({"inner": {"name": "a", "more": 1}}, ("inner.more", UNKNOWN_FIELD)),
    ],
)  # fmt: skip
def test_errors_of_decoding_in_the_words_of_others(document, problem):
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert(document, Outer)
    assert decoding_problem(raised.value) == problem


def test_messages_about_choices():
    assert required() == "Required value"
    assert required("x") == "Required value: x"
    assert unsupported("NoSchedul", ["NoSchedule", "", "NoExecute"]) == (
        'Unsupported value: "NoSchedul": supported values: "NoExecute", "NoSchedule"; did you mean'
        ' "NoSchedule"?'
    )
    assert unsupported(3, ["b", "a"]) == 'Unsupported value: 3: supported values: "a", "b"'
    assert nearest("noschedule", ["NoSchedule", "Other"]) == "NoSchedule"
    assert nearest("xyz", ["NoSchedule"]) is None
    assert nearest("a", []) is None


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([make_pod("a"), [make_pod("b")]], "objects[1]: must be a Kubernetes object, not a"
         " list; pass the objects as separate arguments: *objects"),
        ([{"kind": "Pod"}], "objects[0]: must be a Kubernetes object, not a dict;"
         " podwright.load reads manifests"),
        (["kind: Pod"], "objects[0]: must be a Kubernetes object, not a str; podwright.load"
         " reads manifests"),
        ([3], "objects[0]: must be a Kubernetes object, not an int"),
    ],
)  # fmt: skip
def test_what_is_no_object_is_named(objects, message):
    with pytest.raises(ArgumentError) as error:
        require_objects(objects)
    assert str(error.value) == message
    require_objects([make_pod("a"), make_node("n")])
    with pytest.raises(ArgumentError, match=r"^nodes\[0\]: "):
        require_objects(objects[-1:], "nodes")


@pytest.mark.parametrize(
    ("text", "is_suffix"),
    [("1x", False), ("1mm", True), ("1Kii", True), ("", False), (3, False), ("+-1", True),
     ("1e", True), (".", True)],
)  # fmt: skip
def test_what_is_no_quantity(text, is_suffix):
    expected = "unable to parse quantity's suffix" if is_suffix else "quantities must match"
    assert quantity_error(text).startswith(expected)


# ------------------------------------------------------------------------------ selectors


@pytest.mark.parametrize(
    ("requirement", "text", "matching", "others"),
    [
        (Requirement("a", "In", ("x",)), "a=x", [{"a": "x"}], [{}, {"a": "y"}]),
        (Requirement("a", "In", ("x", "y")), "a in (x,y)", [{"a": "y"}], [{}, {"a": "z"}]),
        (Requirement("a", "NotIn", ("x",)), "a!=x", [{}, {"a": "y"}], [{"a": "x"}]),
        (Requirement("a", "NotIn", ("x", "y")), "a notin (x,y)", [{}, {"a": "z"}], [{"a": "y"}]),
        (Requirement("a", "Exists"), "a", [{"a": ""}], [{}, {"b": "x"}]),
        (Requirement("a", "DoesNotExist"), "!a", [{}, {"b": "x"}], [{"a": ""}]),
        (Requirement("a", "Gt", ("3",)), "a>3", [{"a": "4"}], [{"a": "3"}, {"a": "x"}, {}]),
        (Requirement("a", "Lt", ("3",)), "a<3", [{"a": "2"}, {"a": "-9"}], [{"a": "3"}, {}]),
        (Requirement("a", "Gt", ("x",)), "a>x", [], [{"a": "4"}]),
        (Requirement("a", "Lt", ("3", "4")), "a<3", [], [{"a": "2"}]),
    ],
)
def test_requirements_as_text_and_what_they_match(requirement, text, matching, others):
    assert str(requirement) == text
    assert all(map(requirement.matches, matching))
    assert not any(map(requirement.matches, others))
    selector = Selector((requirement, Requirement("b", "DoesNotExist")))
    assert [selector.matches(labels) for labels in matching] == [
        "b" not in labels for labels in matching
    ]
    assert not selector.is_empty


def test_selectors_that_match_all_or_nothing():
    everything, nothing = Selector(), Selector(is_nothing=True)
    assert (everything.matches({}), everything.is_empty) == (True, True)
    assert (nothing.matches({}), nothing.is_empty) == (False, False)


# ------------------------------------------------------------------------------ traces


def pod_of_trace(**times: str) -> Pod:
    keys = {"created": CREATION_TIME, "deleted": DELETION_TIME, "scheduled": SCHEDULED_TIME}
    return make_pod("p", annotations={keys[name]: text for name, text in times.items()})


@pytest.mark.parametrize(
    ("times", "ran_seconds"),
    [
        ({"created": "5"}, None),
        ({"created": "5", "deleted": "9"}, 4),
        ({"created": "5", "deleted": "9", "scheduled": "7"}, 2),
        ({"created": "5", "deleted": "9", "scheduled": "12"}, 0),
        ({"created": "5", "deleted": "5"}, 0),
    ],
)
def test_how_long_a_pod_of_the_trace_ran(times, ran_seconds):
    found = openb_times(pod_of_trace(**times))
    assert found is not None
    assert found.created_ns == 5_000_000_000
    assert found.run_ns == (None if ran_seconds is None else ran_seconds * 1_000_000_000)
    assert openb_times(make_pod("p")) is None


@pytest.mark.parametrize(
    ("times", "details"),
    [
        ({"created": "x"}, ['Invalid value: "x": must be a whole number of seconds']),
        ({"created": "-1"}, ['Invalid value: "-1": must be a whole number of seconds']),
        ({"created": "٣"}, ['Invalid value: "٣": must be a whole number of seconds']),
        (
            {"created": "x", "deleted": "4", "scheduled": "y"},
            [
                'Invalid value: "x": must be a whole number of seconds',
                'Invalid value: "y": must be a whole number of seconds',
            ],
        ),
        (
            {"created": "5", "deleted": "4", "scheduled": "1.5"},
            [
                'Invalid value: "4": before its creation, at second 5',
                'Invalid value: "1.5": must be a whole number of seconds',
            ],
        ),
    ],
)
def test_times_of_the_trace_that_are_wrong(times, details):
    with pytest.raises(InputError) as error:
        openb_times(pod_of_trace(**times))
    assert [each.message for each in error.value.errors] == details
    assert {each.source for each in error.value.errors} == {"pod default/p"}


# ------------------------------------------------------------------------------ admission


def priority_class(name: str, value: int, *, is_default: bool = False) -> PriorityClass:
    document = {"metadata": {"name": name}, "value": value, "globalDefault": is_default}
    return decode_as(document, PriorityClass)


def test_the_default_priority_is_the_lowest_and_first():
    classes = [
        priority_class("z", 1, is_default=True),
        priority_class("b", 1, is_default=True),
        priority_class("a", 2, is_default=True),
        priority_class("c", 0),
    ]
    found = default_priority_class(classes)
    assert found is not None
    assert found.name == "b"
    assert default_priority_class(classes[3:]) is None


def test_a_pod_gets_what_its_runtime_class_has_and_keeps_its_own():
    runtime = {
        "overhead": {"podFixed": {"cpu": "100m"}},
        "scheduling": {
            "nodeSelector": {"a": "1", "b": "2"},
            "tolerations": [{"key": "k", "operator": "Exists"}],
        },
    }
    made = with_runtime_class(make_pod("p", node_selector={"b": "own"}), runtime)
    assert made.spec.overhead == {"cpu": "100m"}
    assert made.spec.node_selector == {"a": "1", "b": "own"}
    assert [each.key for each in made.spec.tolerations] == ["k"]
    assert with_runtime_class(made, runtime) == made
    own = with_fields(make_pod("p"), "spec", overhead={"cpu": "1"})
    assert with_runtime_class(own, {"overhead": {"podFixed": {"cpu": "2"}}}) is own
    pod = make_pod("p")
    assert with_runtime_class(pod, {}) is pod


def test_nodes_and_pods_without_a_part():
    node = with_fields(make_node("n"), "status", allocatable={}, capacity={"cpu": "2"})
    assert with_allocatable(node).status.allocatable == {"cpu": "2"}
    for same in (make_node("n"), with_fields(node, "status", capacity={})):
        assert with_allocatable(same) is same
    plain = make_pod("p", cpu="1")
    assert without_pod_level_resources(plain) is plain
    level = make_pod("p", spec={"resources": {"requests": {"cpu": "1"}}})
    assert level.spec.resources is not None
    assert without_pod_level_resources(level).spec.resources is None


# ------------------------------------------------------------------------------ lines

MANIFEST = """\
kind: Pod
metadata:
  labels:
    app: web
  name: p
spec:
  containers:
  - name: a
    image: i
  - name: b
    ports: [{containerPort: 1},
            {containerPort: 2}]
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("kind", 1),
        ("metadata", 2),
        ("metadata.labels[app]", 4),
        ("metadata.name", 5),
        ("spec.containers", 7),
        ("spec.containers[0].image", 9),
        ("spec.containers[1]", 10),
        ("spec.containers[1].ports[1].containerPort", 12),
        # Of a field that is not there, the line of what it would be in.
        ("spec.containers[1].image", 10),
        ("spec.volumes", 6),
        ("kind.x", 1),
        ("status", 1),
        ("", 1),
    ],
)
def test_the_line_of_a_field(path, line):
    assert yaml_line_of(MANIFEST, path) == line


def test_the_line_of_a_field_in_a_list_and_in_no_yaml():
    assert yaml_line_of("- kind: A\n- kind: B\n", "kind") == 1
    assert yaml_line_of("- kind: A\n- kind: B\n", "[1].kind") == 2
    for text in ("", "a: [", "\t"):
        assert yaml_line_of(text, "a.b") == 0


def test_all_errors_of_an_object_have_their_paths():
    wrong: dict[str, Any] = {
        "metadata": {"name": "p", "labels": ["a"]},
        "spec": {
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "x", "memory": []}}}],
            "priority": "high",
            "hostNetwork": 1,
            "tolerations": {"key": "k"},
        },
    }
    with pytest.raises(InvalidObject) as error:
        decode_as(wrong, Pod, source="f")
    found = {each.path: each.message.split(": ")[0] for each in error.value.errors}
    assert found == dict.fromkeys(
        (
            "metadata.labels",
            "spec.containers[0].resources.requests[cpu]",
            "spec.containers[0].resources.requests[memory]",
            "spec.priority",
            "spec.hostNetwork",
            "spec.tolerations",
        ),
        "Invalid value",
    )
    messages = {each.path: each.message for each in error.value.errors}
    assert messages["metadata.labels"] == 'Invalid value: ["a"]: must be a map'
    assert messages["spec.tolerations"] == 'Invalid value: {"key": "k"}: must be a list'
    assert messages["spec.containers[0].resources.requests[memory]"] == (
        "Invalid value: []: must be a quantity, such as 500m or 2Gi"
    )

"""Small parts of objects: facts of pods and volumes, recent keys, shared specs, tags of YAML."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import (
    Pod,
    decode_as,
    go_number,
    parse_schedule,
    spec as specs,
    write_go_json,
)
from podwright.apimachinery.objects.devices import DeviceTaintSelector
from podwright.apimachinery.objects.event_series import RECENT_MAX, Recent
from podwright.apimachinery.objects.meta import Int32, KubernetesObject, ObjectMeta
from podwright.apimachinery.objects.pods.pod import (
    NodeAffinity,
    PodAffinity,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    WeightedPodAffinityTerm,
)
from podwright.apimachinery.objects.pods.requests import has_same_actual_resources
from podwright.apimachinery.objects.selecting.node_terms import parse_field_selector
from podwright.apimachinery.objects.selecting.selector import requirement_problems
from podwright.apimachinery.objects.spec import Specs, facts_of
from podwright.apimachinery.objects.storage import CSIPersistentVolumeSource
from podwright.apimachinery.objects.texts.yaml_events import YamlError, read_yaml

Document = dict[str, Any]


def pod(**parts: Any) -> Pod:
    return decode_as({"apiVersion": "v1", "kind": "Pod"} | parts, Pod)


@pytest.mark.parametrize(
    ("parts", "facts"),
    [
        ({}, (0, False, False)),
        ({"spec": {"priority": 0}}, (0, False, False)),
        ({"spec": {"priority": -5}}, (-5, False, False)),
        ({"status": {"phase": "Running"}}, (0, False, False)),
        ({"status": {"phase": "Succeeded"}}, (0, True, False)),
        ({"status": {"phase": "Failed"}}, (0, True, False)),
        ({"metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
         (0, False, True)),
    ],
)  # fmt: skip
def test_a_pod_has_a_priority_and_ends(parts: Document, facts: tuple[int, bool, bool]) -> None:
    found = pod(**{"metadata": {"name": "a"}} | parts)
    assert (found.priority, found.is_terminal, found.is_terminating) == facts


@pytest.mark.parametrize(
    ("number", "is_valid"),
    [(-(2**31), True), (2**31 - 1, True), (-(2**31) - 1, False), (2**31, False)],
)
def test_an_int32_has_the_range_of_go(number: int, is_valid: bool) -> None:
    with nullcontext() if is_valid else pytest.raises(msgspec.ValidationError):
        assert msgspec.convert(number, Int32) == number


def test_preferences_have_short_names() -> None:
    preferred = (PreferredSchedulingTerm(1),)
    nodes = NodeAffinity(preferred_during_scheduling_ignored_during_execution=preferred)
    assert (nodes.required, nodes.preferred) == (None, preferred)
    term = PodAffinityTerm(topology_key="a")
    weighted = (WeightedPodAffinityTerm(1, term),)
    pods = PodAffinity(
        required_during_scheduling_ignored_during_execution=(term,),
        preferred_during_scheduling_ignored_during_execution=weighted,
    )
    assert (pods.required, pods.preferred) == ((term,), weighted)


def test_an_object_is_shown_by_its_kind_and_key() -> None:
    found = pod(metadata={"name": "a", "namespace": "d", "uid": "u"})
    assert (repr(found), found.key, found.name, found.namespace, found.uid) == (
        "<Pod d/a>", "d/a", "a", "d", "u",
    )  # fmt: skip
    assert KubernetesObject(metadata=ObjectMeta(name="a")).key == "a"


def of_status(memory: str, reason: str = "") -> Pod:
    requests = {"requests": {"memory": memory}}
    status: Document = {"containerStatuses": [{"name": "c", "resources": requests}]}
    if reason:
        condition = {"type": "PodResizePending", "status": "True", "reason": reason}
        status["conditions"] = [condition]
    spec = {"containers": [{"name": "c", "resources": {"requests": {"memory": "1Gi"}}}]}
    return pod(metadata={"name": "a"}, spec=spec, status=status)


def test_pods_occupy_the_same_unless_their_resizes_differ() -> None:
    one, two = of_status("1Gi"), of_status("2Gi")
    assert has_same_actual_resources(one, one)
    assert has_same_actual_resources(two, two)
    assert has_same_actual_resources(one, of_status("1Gi"))
    assert has_same_actual_resources(two, of_status("2Gi"))
    assert not has_same_actual_resources(one, two)
    assert not has_same_actual_resources(two, one)
    assert not has_same_actual_resources(two, of_status("3Gi"))
    assert not has_same_actual_resources(two, of_status("2Gi", "Infeasible"))
    assert has_same_actual_resources(two, of_status("2Gi", "Deferred"))


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ({}, True),
        ({"driver": "d", "pool": "p", "device": "e"}, True),
        ({"driver": "x"}, False),
        ({"pool": "x"}, False),
        ({"device": "x"}, False),
        ({"driver": ""}, False),
    ],
)
def test_an_absent_name_selects_every_device(selector: dict[str, str], *, matches: bool) -> None:
    assert DeviceTaintSelector(**selector).matches("d", "p", "e") == matches


def test_the_key_that_was_not_used_for_longest_is_forgotten() -> None:
    recent: Recent[int, str] = Recent()
    for number in range(RECENT_MAX):
        recent.put(number, "a")
    recent.put(0, "b")
    assert recent.used(1) == "a"
    assert recent.used(-1) is None
    assert len(recent) == RECENT_MAX
    recent.put(RECENT_MAX, "c")
    assert len(recent) == RECENT_MAX
    assert [recent.get(number) for number in (0, 1, 2, 3, RECENT_MAX)] == ["b", "a", None, "a", "c"]
    assert [*recent][-3:] == [0, 1, RECENT_MAX]


def test_a_volume_of_a_driver_has_a_unique_name() -> None:
    volume = CSIPersistentVolumeSource(driver="d.io", volume_handle="h")
    assert volume.unique_name == "kubernetes.io/csi/d.io^h"


@pytest.mark.parametrize(
    ("operator", "values", "problems"),
    [
        ("Gt", ("1",), []),
        ("Lt", ("0",), []),
        ("Gt", (), [("values", (), "for 'Gt', 'Lt' operators, exactly one value is required")]),
        ("Lt", ("1", "x"), [
            ("values", ("1", "x"), "for 'Gt', 'Lt' operators, exactly one value is required"),
            ("values[1]", "x", "for 'Gt', 'Lt' operators, the value must be an integer")]),
        ("In", (), [("values", (), "for 'in', 'notin' operators, values set can't be empty")]),
        ("NotIn", ("a", ""), []),
        ("Exists", ("a",), [
            ("values", ("a",), "values set must be empty for exists and does not exist")]),
        ("DoesNotExist", (), []),
    ],
)  # fmt: skip
def test_the_values_of_a_requirement_suit_its_operator(
    operator: Any, values: tuple[str, ...], problems: list[Any]
) -> None:
    assert list(requirement_problems("k", operator, values)) == problems


def test_a_selector_of_fields_is_empty_without_terms() -> None:
    assert parse_field_selector("").is_empty
    assert parse_field_selector("=").is_empty
    assert not parse_field_selector("a=").is_empty
    assert not parse_field_selector("=a").is_empty


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-1 * * * *", "failed to parse int from : "),
        ("* * +5 * *", ""),
        ("@weird", "unrecognized descriptor: @weird"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("*/2/3 * * * *", "too many slashes: */2/3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * * jan-mon *", "failed to parse int from mon: "),
        ("* * * * mon-fri", ""),
    ],
)
def test_a_schedule_has_upstreams_errors(text: str, message: str) -> None:
    try:
        parse_schedule(text)
        found = ""
    except ValueError as error:
        found = str(error)
    assert found.partition("strconv")[0] == message


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (3, "3"),
        (-3, "-3"),
        (10**30, str(10**30)),
        (0.0, "0"),
        (2.0, "2"),
        (-0.5, "-0.5"),
        (1e5, "100000"),
        (999999.5, "999999.5"),
        (1e6, "1e+06"),
        (-1234567.0, "-1.234567e+06"),
        (12345678.25, "1.234567825e+07"),
        (2.0**53, "9.007199254740992e+15"),
        (123456789012345678.0, "1.2345678901234568e+17"),
        (1e20, "1e+20"),
        (1e21, "1e+21"),
        (-1e21, "-1e+21"),
        (1.5e300, "1.5e+300"),
        (1e-4, "0.0001"),
        (1e-5, "1e-05"),
        (1.25e-7, "1.25e-07"),
        (-1.25e-7, "-1.25e-07"),
        (1e-100, "1e-100"),
        (123456789.125, "1.23456789125e+08"),
        (0.00012345, "0.00012345"),
        (5e-324, "5e-324"),
    ],
)
def test_numbers_are_printed_as_go_prints_them(number: float, text: str) -> None:
    assert go_number(number) == text


def test_other_values_are_written_as_their_texts() -> None:
    assert write_go_json({"b": ValueError("x"), "a": [1.5]}) == '{"a":[1.5],"b":"x"}'


# --------------------------------------------------------------------------- shared specs


def test_equal_documents_have_one_spec() -> None:
    table = Specs({"annotations": "", "name": "ephemeral", "other": "absent"})
    document: Document = {"a": [{"ephemeral": {}}]}
    found = table.of(document)
    assert found is not None
    assert (found, found.table, found.facts) == (document, table, {})
    assert found.read == ("annotations", "name")
    assert table.of(document) is found
    assert table.of({"a": [{"ephemeral": {}}]}) is found
    assert facts_of(found) is found.facts
    assert facts_of(document) is None
    assert Specs().of(document) is not found
    plain = table.of({"a": 1})
    assert plain is not None
    assert plain.read == ("annotations",)


def test_content_that_was_seen_once_has_no_spec_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specs, "_SEEN_MAX", 2)
    table = Specs()
    assert table.of({"a": 1}, only_repeated=True) is None
    assert table.of({"a": 1}, only_repeated=True) == {"a": 1}
    assert table.of({"b": 1}, only_repeated=True) is None
    # The third one is too many, and those before it are forgotten.
    assert table.of({"c": 1}, only_repeated=True) is None
    assert table.of({"b": 1}, only_repeated=True) is None
    assert table.of({"c": 1}, only_repeated=True) == {"c": 1}
    assert table.of({"a": 1}, only_repeated=True) == {"a": 1}


# ----------------------------------------------------------------------------------- YAML


def yaml_value(text: str, **options: Any) -> Any:
    (document,) = read_yaml(text, **options)
    return document.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("! 5", 5),
        ("! '5'", 5),
        ("!!str 5", "5"),
        ("!!binary YQ==", "YQ=="),
        ("!!int 5", 5),
        ("!!int '5'", 5),
        ("!!float 5", 5.0),
        ("!!float 1.5", 1.5),
        ("!!bool true", True),
        ("!!null ~", None),
        ("{y: n, a: [y, 'y', Y]}", {"y": "n", "a": ["y", "y", "Y"]}),
    ],
)
def test_a_tag_decides_the_type_of_a_scalar(text: str, value: Any) -> None:
    found = yaml_value(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("!!int 1.5", '"1.5" cannot be read as tag:yaml.org,2002:int'),
        ("!!float x", '"x" cannot be read as tag:yaml.org,2002:float'),
        ("!!bool 1", '"1" cannot be read as tag:yaml.org,2002:bool'),
        ("!!null 0", '"0" cannot be read as tag:yaml.org,2002:null'),
        ("!own 1", '"1" cannot be read as !own'),
        ("a: " + "[" * 990 + "]" * 990, None),
        ("a: " + "[" * 1001 + "]" * 1001, "nested too deeply"),
        ("? [a]\n: {b\n", "not YAML: "),
    ],
)
def test_what_cannot_be_read_is_an_error(text: str, message: str | None) -> None:
    if message is None:
        assert yaml_value(text)
    else:
        with pytest.raises(YamlError) as refused:
            yaml_value(text)
        assert str(refused.value).startswith(message)


def test_a_bare_letter_is_a_boolean_for_the_api_server() -> None:
    text = "{a: [y, n, Y, N, 'y'], y: 1}"
    assert yaml_value(text, reads_one_letter=True) == {
        "a": [True, False, True, False, "y"], "true": 1,
    }  # fmt: skip


def test_reading_reports_its_progress() -> None:
    shares: list[float] = []
    text = "items:\n- {a: 1}\n- {a: 2}\n- {a: 3}\n"
    list(read_yaml(text, watch=shares.append))
    assert shares == sorted(shares)
    assert [round(share * len(text)) for share in shares] == [
        text.index(f"{{a: {number}}}") for number in (1, 2, 3)
    ]
    list(read_yaml("", watch=shares.append))

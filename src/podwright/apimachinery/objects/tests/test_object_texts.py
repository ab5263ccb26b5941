"""Selectors, tolerations, quantities and copies: every rule with its text."""

from __future__ import annotations

import re
from typing import Any

import pytest

from podwright.apimachinery.objects import (
    Condition,
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    OwnerReference,
    Pod,
    PreferredSchedulingTerm,
    Quantity,
    SelectorError,
    Taint,
    Toleration,
    admit,
    decode_as,
    decode_pod,
    encode,
    format_quantity,
    label_selector,
    labels_as_selector,
    node_selector,
    parse_field_selector,
    parse_label_selector,
    parse_quantity,
    preferred_node_terms,
    tolerates,
    untolerated_taint,
    with_condition,
    with_fields,
    with_node_name,
    with_nominated_node_name,
)
from podwright.apimachinery.objects.quantity import (
    INT64_MAX,
    INT64_MIN,
    QuantityError,
    parse_quantity_text,
    quantity_error,
)
from podwright.apimachinery.objects.selecting.selector import Requirement, Selector, shown
from podwright.apimachinery.objects.workload import PriorityClass

# ------------------------------------------------------------------------------ labels

MATCHES: dict[tuple[Any, tuple[str, ...]], tuple[Any, ...]] = {
    # For a label that is absent, "", "4", "5" and "x".
    ("In", ("5", "x")): (False, False, False, True, True),
    ("In", ("",)): (False, True, False, False, False),
    ("NotIn", ("5", "x")): (True, True, True, False, False),
    ("Exists", ()): (False, True, True, True, True),
    ("DoesNotExist", ()): (True, False, False, False, False),
    ("Gt", ("4",)): (False, False, False, True, False),
    ("Lt", ("5",)): (False, False, True, False, False),
    ("Gt", ("x",)): (False, False, False, False, False),
    ("Gt", ("1", "2")): (False, False, False, False, False),
    ("Lt", ()): (False, False, False, False, False),
}


@pytest.mark.parametrize(("operator", "values"), MATCHES)
def test_a_requirement_matches_values(operator, values) -> None:
    requirement = Requirement("k", operator, values)
    labels: list[dict[str, str]] = [{}, *({"k": value} for value in ("", "4", "5", "x"))]
    assert tuple(map(requirement.matches, labels)) == MATCHES[operator, values]
    for each, expected in zip(labels, MATCHES[operator, values], strict=True):
        assert Selector((requirement,)).matches({**each, "other": "5"}) is expected


def test_a_selector_needs_all_of_its_requirements() -> None:
    both = parse_label_selector("a=1,b=2")
    rows = [{}, {"a": "1"}, {"b": "2"}, {"a": "1", "b": "2"}, {"a": "1", "b": "3"}]
    assert [both.matches(each) for each in rows] == [False, False, False, True, False]
    nothing, everything = Selector(is_nothing=True), Selector()
    assert [each.matches({}) for each in (nothing, everything)] == [False, True]
    assert [each.is_empty for each in (nothing, everything, both)] == [False, True, False]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("b=1,a=2", "a=2,b=1"),
        ("a==1", "a=1"),
        ("a!=1", "a!=1"),
        ("a in (z,b,z)", "a in (b,z)"),
        ("a notin (z,b)", "a notin (b,z)"),
        ("a in (z)", "a=z"),
        ("a notin (z)", "a!=z"),
        ("a>5,a<9", "a>5,a<9"),
        ("!a,b", "!a,b"),
        ("a,a=1,a!=1", "a,a=1,a!=1"),
        ("example.com/a", "example.com/a"),
        ("a=,b", "a=,b"),
        ("a in (,)", "a="),
        ("\ta\n=\r1 ", "a=1"),
    ],
)
def test_a_selector_is_written_in_order(text, written) -> None:
    assert str(parse_label_selector(text)) == written
    assert parse_label_selector(written) == parse_label_selector(text)


KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end"
    " with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for"
    " validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or"
    " '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
EMPTY = "values set must be empty for exists and does not exist"
PART = "unable to parse requirement: "
INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (")", "found ')', expected: !, identifier, or 'end of string'"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("!", f"{PART}found '', expected: identifier"),
        ("!=", "found '!=', expected: !, identifier, or 'end of string'"),
        ("!!a", f"{PART}found '!', expected: identifier"),
        ("a=1)", "found ')', expected: ',' or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("a=1,!", f"{PART}found '', expected: identifier"),
        ("a b", f"{PART}found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a (b)", f"{PART}found '(', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=(b)", f"{PART}found '(', expected: identifier"),
        ("a=!", f"{PART}found '!', expected: identifier"),
        ("a in b", f"{PART}found 'b' expected: '('"),
        ("a in (", f"{PART}found '', expected: ',', ')' or identifier"),
        ("a in (b", f"{PART}found '', expected: ',' or ')'"),
        ("a in (b c)", f"{PART}found 'c', expected: ',' or ')'"),
        ("a in (=)", f"{PART}found '=', expected: ',', ')' or identifier"),
        ("a in (b,=)", f"{PART}found '=', expected: ',', or identifier"),
        ("a in (b,(", f"{PART}found '(', expected: ',', or identifier"),
        ("a in (b,", f"{PART}found '', expected: ',' or ')'"),
        ("_a", f'{PART}<nil>: Invalid value: "_a": {KEY}'),
        ("a/", f'{PART}<nil>: Invalid value: "a/": name part must be non-empty; {KEY}'),
        ("a=-", f'{PART}values[0][a]: Invalid value: "-": {VALUE}'),
        ("a in (-,_)", f'{PART}[values[0][a]: Invalid value: "-": {VALUE}, values[1][a]: Invalid'
         f' value: "_": {VALUE}]'),
        ("a>b", f'{PART}values[0]: Invalid value: "b": {INTEGER}'),
        ("a<", f'{PART}values[0]: Invalid value: "": {INTEGER}'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_selector(text, message) -> None:
    with pytest.raises(SelectorError, match=f"^{re.escape(message)}$"):
        parse_label_selector(text)


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        (("a", "In", ()),
         "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"),
        (("a", "NotIn", ()),
         "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"),
        (("a", "Exists", ("b", "c")),
         f'values: Invalid value: ["b","c"]: {EMPTY}'),
        (("a", "DoesNotExist", ("ä",)),
         f'values: Invalid value: ["ä"]: {EMPTY}'),
        (("-", "In", ("b",)), f'key: Invalid value: "-": {KEY}'),
        (("a", "In", ("b", "-")), f'values[1][a]: Invalid value: "-": {VALUE}'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_expression(requirement, message) -> None:
    with pytest.raises(SelectorError) as caught:
        label_selector(LabelSelector({}, (LabelSelectorRequirement(*requirement),)))
    found = str(caught.value)
    assert message in found
    if "ä" not in message:
        assert found == message
    assert [shown(()), shown("a"), shown(("a", "ä"))] == ["null", '"a"', '["a","ä"]']


def test_labels_and_expressions_are_one_selector() -> None:
    written = LabelSelector({"b": "1"}, (LabelSelectorRequirement("a", "NotIn", ("y", "x")),))
    assert label_selector(written).requirements == (
        Requirement("a", "NotIn", ("x", "y")), Requirement("b", "In", ("1",)),
    )  # fmt: skip
    assert labels_as_selector({"b": "-", "a": ""}).requirements == (
        Requirement("a", "In", ("",)), Requirement("b", "In", ("-",)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("a=b,c!=d,e==f", [("a", "b", False), ("c", "d", True), ("e", "f", False)]),
        ("a=", [("a", "", False)]),
        ("=b", [("", "b", False)]),
        ("=", []),
        (",", []),
        ("a!==b", None),
        (r"a=\\", [("a", "\\", False)]),
        (r"a=\,,b=\=", [("a", ",", False), ("b", "=", False)]),
    ],
)
def test_the_fields_of_a_selector(text, requirements) -> None:
    if requirements is None:
        with pytest.raises(SelectorError):
            parse_field_selector(text)
        return
    found = parse_field_selector(text).requirements
    assert [(each.field, each.value, each.is_negated) for each in found] == requirements


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_what_is_wrong_with_fields(text, message) -> None:
    with pytest.raises(SelectorError, match=f"^{re.escape(message)}$"):
        parse_field_selector(text)


# ------------------------------------------------------------------- nodes and tolerations


def test_a_preferred_term_without_weight_or_conditions_is_left_out() -> None:
    def term(weight: int, *expressions: Any, fields: Any = ()) -> PreferredSchedulingTerm:
        made = NodeSelectorTerm(match_expressions=expressions, match_fields=fields)
        return PreferredSchedulingTerm(weight, made)

    zone = NodeSelectorRequirement("zone", "In", ("a",))
    name = NodeSelectorRequirement("metadata.name", "NotIn", ("n1",))
    found = preferred_node_terms([term(3, zone), term(0, zone), term(2), term(1, fields=(name,))])
    assert [weight for weight, _ in found] == [3, 1]
    assert [[each.matches(node, {"zone": zone}) for _, each in found]
            for node, zone in (("n1", "a"), ("n1", "b"), ("n2", "a"))] == [
        [True, False], [False, False], [True, True],
    ]  # fmt: skip
    other = NodeSelectorRequirement("metadata.uid", "In", ("x",))
    terms = node_selector(NodeSelector((NodeSelectorTerm(match_fields=(other,)),)))
    assert terms.errors == ()
    assert not terms.matches("n1", {}), "no other field has a value"


TAINT = Taint(key="k", value="5", effect="NoSchedule")


@pytest.mark.parametrize(
    ("fields", "tolerated", "with_comparisons"),
    [
        ({}, False, False),
        ({"value": "5"}, True, True),
        ({"key": "k", "value": "5", "operator": "Equal"}, True, True),
        ({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, True, True),
        ({"operator": "Exists", "effect": "PreferNoSchedule"}, False, False),
        ({"key": "other", "value": "5"}, False, False),
        ({"key": "k", "operator": "Gt", "value": "4"}, False, True),
        ({"key": "k", "operator": "Gt", "value": "5"}, False, False),
        ({"key": "k", "operator": "Lt", "value": "6"}, False, True),
        ({"key": "k", "operator": "Lt", "value": "5"}, False, False),
        ({"key": "k", "operator": "Lt", "value": "x"}, False, False),
        ({"operator": "Gt", "value": "4"}, False, True),
    ],
)
def test_what_a_toleration_covers(fields, tolerated, with_comparisons) -> None:
    toleration = Toleration(**fields)
    assert tolerates(toleration, TAINT) is tolerated
    assert tolerates(toleration, TAINT, comparison_operators=True) is with_comparisons
    found = untolerated_taint([TAINT], [toleration], comparison_operators=True)
    assert (found is None) is with_comparisons
    text = Taint(key="k", value="x", effect="NoSchedule")
    assert not tolerates(Toleration(operator="Gt", value="1"), text, comparison_operators=True)


def test_the_first_taint_that_prevents_scheduling_is_found() -> None:
    taints = [
        Taint(key="a", effect="PreferNoSchedule"), Taint(key="b", effect="NoExecute"),
        Taint(key="c", effect="NoSchedule"),
    ]  # fmt: skip
    of_b, of_c = (Toleration(key=key, operator="Exists") for key in "bc")
    assert untolerated_taint(taints, []) is taints[1]
    assert untolerated_taint(taints, [of_b]) is taints[2]
    assert untolerated_taint(taints, [of_c, of_b]) is None


# ----------------------------------------------------------------------------- quantities


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1", "1"), ("01", "01"), ("1000", "1k"), ("1000000", "1M"), ("1500", "1500"),
        ("1000k", "1M"), ("1000M", "1G"), ("1000G", "1T"), ("1000T", "1P"), ("1000P", "1E"),
        ("1000E", "1"), ("0.001", "1m"), ("0.000001", "1u"), ("0.000000001", "1n"),
        ("0.0000000001", "1n"), ("1.5", "1500m"), ("1.05", "1050m"), ("100m", "100m"),
        ("1024", "1024"), ("1024Ki", "1Mi"), ("1Ki", "1Ki"), ("1000Ki", "1000Ki"),
        ("1024Mi", "1Gi"), ("1024Gi", "1Ti"), ("1024Ti", "1Pi"), ("1024Pi", "1Ei"),
        ("0.5Mi", "512Ki"), ("1.5Ki", "1536"), ("-1Ki", "-1Ki"), ("-1024Ki", "-1Mi"),
        ("0.1Mi", "104857600m"), ("1e0", "1e0"), ("1e3", "1e3"), ("10e3", "10e3"), ("1e-3", "1e-3"),
        ("1E3", "1E3"), ("1000e3", "1e6"), ("0e3", "0"), ("0.0", "0"), ("-0", "0"), ("+1", "1"),
        ("+1.5", "1500m"), ("1.", "1."), (".5", "500m"), ("100000000000000000000", "100E"),
        ("1.0Gi", "1Gi"),
    ],
)  # fmt: skip
def test_a_quantity_has_one_canonical_form(text, written) -> None:
    found = format_quantity(text)
    assert found == format_quantity(parse_quantity(text))
    # As upstream, which has no suffix for more.
    assert text == "1000E" or parse_quantity(found).nano == parse_quantity(text).nano
    assert found.replace("+", "") == written


def test_what_a_quantity_is_made_of() -> None:
    rows: dict[str, Quantity] = {
        "0": Quantity(0, 0, text="0"),
        "5": Quantity(5, 0, text="5"),
        "1000": Quantity(1000, 0),
        "1.5": Quantity(15, -1),
        "-5m": Quantity(-5, -3, text="-5m"),
        "5e3": Quantity(5, 3, format="DecimalExponent", text="5e3"),
        "3Ki": Quantity(3 << 10, 0, format="BinarySI", text="3Ki"),
        "8Ki": Quantity(8 << 10, 0, format="BinarySI"),
        "0.5Ki": Quantity(512 * 10**9, -9, is_decimal=True, format="BinarySI"),
        "0.0001Ki": Quantity(102_400_000, -9, is_decimal=True),
        "1234567890123456789": Quantity(1234567890123456789 * 10**9, -9, is_decimal=True),
        "9Ei": Quantity(INT64_MAX, 0, is_decimal=True, format="BinarySI"),
        "-9Ei": Quantity(INT64_MIN + 1, 0, is_decimal=True, format="BinarySI"),
        "1.0000000001": Quantity(1_000_000_001, -9, is_decimal=True),
    }  # fmt: skip
    assert {text: parse_quantity_text(text) for text in rows} == rows


def test_sums_and_comparisons_of_quantities() -> None:
    rows = {
        ("1", "500m"): ("1500m", "DecimalSI"),
        ("1Gi", "1"): ("1073741825", "BinarySI"),
        ("0", "1Gi"): ("1Gi", "BinarySI"),
        ("1Gi", "0"): ("1Gi", "BinarySI"),
        ("1e3", "1"): ("1001", "DecimalExponent"),
        ("0.5Ki", "0"): ("512", "BinarySI"),
        ("-1", "1"): ("0", "DecimalSI"),
    }
    found = {}
    for first, second in rows:
        total = parse_quantity(first) + parse_quantity(second)
        found[first, second] = format_quantity(total), total.format
    assert found == rows
    assert parse_quantity("1") > parse_quantity("999m")
    assert not parse_quantity("1") > parse_quantity("1000m")


SUFFIX = "unable to parse quantity's suffix"
PATTERN = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


@pytest.mark.parametrize(
    ("text", "message", "upstream"),
    [
        ("", "quantities are numbers with an optional suffix, such as 500m, 2, 1.5Gi or 1e3",
         PATTERN),
        ("1GB", "quantities are numbers with an optional suffix, such as 500m, 2, 1.5Gi or 1e3",
         PATTERN),
        ("1K", 'unknown suffix "K": one of n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei, or e'
         " and a power of ten", SUFFIX),
        ("1e", 'unknown suffix "e": one of n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei, or e'
         " and a power of ten", SUFFIX),
        ("1e99999999999999999999", "the exponent is too large", SUFFIX),
        ("1" * 1_001, "a quantity has at most 1000 characters", SUFFIX),
        ("e-10", "the number has no digits", SUFFIX),
        (".e-10", "the number has no digits", SUFFIX),
        (".Ki", None, SUFFIX),
    ],
)  # fmt: skip
def test_what_is_no_quantity_says_why(text, message, upstream) -> None:
    assert quantity_error(text) == upstream
    if message is None:
        assert parse_quantity(text).value() == 0
        return
    with pytest.raises(QuantityError, match=f"^{re.escape(message)}$"):
        parse_quantity(text)
    with pytest.raises(QuantityError, match=r"not a boolean$"):
        parse_quantity(True)
    assert parse_quantity("1" * 1_000).value() != 0


# ------------------------------------------------------------------- copies and admission


def a_pod(**parts: Any) -> Pod:
    spec = {"containers": [{"name": "c"}], **parts.pop("spec", {})}
    return decode_pod({"metadata": {"name": "p", "namespace": "a"}, "spec": spec, **parts})


def test_a_changed_copy_changes_the_struct_and_the_document() -> None:
    pod = a_pod(status={"phase": "Pending"}, spec={"own": 1})
    moved = with_node_name(pod, "n")
    assert (moved.spec.node_name, moved.raw["spec"]) == ("n", pod.raw["spec"] | {"nodeName": "n"})
    assert with_node_name(moved, "").raw["spec"] == pod.raw["spec"]
    nominated = with_nominated_node_name(pod, "m")
    assert nominated.status.nominated_node_name == "m"
    assert nominated.raw["status"] == {"phase": "Pending", "nominatedNodeName": "m"}
    assert with_nominated_node_name(nominated, "").raw["status"] == {"phase": "Pending"}
    assert "nodeName" not in pod.raw["spec"]
    changed = with_fields(pod, "metadata", finalizers=("x", "y"), labels={"a": "b"})
    assert changed.raw["metadata"] == pod.raw["metadata"] | {
        "finalizers": ["x", "y"], "labels": {"a": "b"},
    }  # fmt: skip
    assert changed.raw["spec"] is pod.raw["spec"]
    one = with_fields(changed, "metadata", finalizers=("z",))
    assert (one.raw["metadata"]["finalizers"], one.metadata.finalizers) == (["z"], ("z",))
    owned = with_fields(pod, "metadata", owner_references=(OwnerReference(kind="Job", name="j"),))
    assert owned.raw["metadata"]["ownerReferences"] == [{"kind": "Job", "name": "j"}]
    back = with_fields(one, "metadata", finalizers=(), labels={})
    assert back.raw["metadata"] == pod.raw["metadata"]
    bare = with_fields(Pod(), "status", phase="Running")
    assert (bare.raw, bare.status.phase) == ({}, "Running")
    assert with_node_name(Pod(), "n").raw == {}
    assert encode(bare) == {
        "apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running"},
    }  # fmt: skip
    assert encode(pod) is pod.raw


def test_a_condition_replaces_that_of_its_type() -> None:
    old = {"type": "Ready", "status": "True", "lastTransitionTime": "t1", "own": "x"}
    other = {"type": "Other", "status": "True", "own": "y"}
    pod = a_pod(status={"conditions": [old, other]})
    same = Condition(type="Ready", status="True", reason="r", last_transition_time="t2")
    found = with_condition(pod, same)
    assert found.raw["status"]["conditions"] == [
        {"type": "Ready", "status": "True", "reason": "r", "lastTransitionTime": "t1"}, other,
    ]  # fmt: skip
    assert found.status.conditions[0].last_transition_time == "t1"
    lost = Condition(type="Other", status="False", last_transition_time="t3")
    changed = with_condition(pod, lost)
    assert changed.raw["status"]["conditions"] == [
        old, {"type": "Other", "status": "False", "lastTransitionTime": "t3"},
    ]  # fmt: skip
    new = with_condition(pod, Condition(type="New", status="True"))
    assert [each.type for each in new.status.conditions] == ["Ready", "Other", "New"]
    assert new.raw["status"]["conditions"][2] == {"type": "New", "status": "True"}
    assert with_condition(Pod(), same).raw == {}
    first = with_condition(a_pod(), same)
    assert first.raw["status"]["conditions"][0]["lastTransitionTime"] == "t2"


def a_class(name: str, value: int, policy: str = "", *, is_default: bool = False) -> PriorityClass:
    document = {"metadata": {"name": name}, "value": value, "globalDefault": is_default}
    return decode_as(document | ({"preemptionPolicy": policy} if policy else {}), PriorityClass)


CLASSES = [a_class("high", 9, "Never"), a_class("plain", 3), a_class("usual", 1, is_default=True)]


@pytest.mark.parametrize(
    ("spec", "priority", "policy"),
    [
        ({}, 1, ""),
        ({"priorityClassName": "high"}, 9, "Never"),
        ({"priorityClassName": "plain"}, 3, ""),
        ({"priorityClassName": "none"}, None, ""),
        ({"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"}, 9,
         "PreemptLowerPriority"),
        ({"priorityClassName": "high", "priority": 0}, 0, ""),
    ],
)  # fmt: skip
def test_the_priority_of_a_pod_is_that_of_its_class(spec, priority, policy) -> None:
    found = admit(a_pod(spec=spec), CLASSES).spec
    assert (found.priority, found.preemption_policy or "") == (priority, policy)


def test_requests_default_to_limits_in_all_kinds_of_containers() -> None:
    limits = {"resources": {"limits": {"cpu": "2"}}}
    spec = {"containers": [{"name": "a"}, {"name": "b", **limits}], "schedulerName": "own",
            "initContainers": [{"name": "i", **limits}]}  # fmt: skip
    pod = a_pod(spec=spec)
    found = admit(pod, ())
    assert [each.resources.requests for each in found.spec.containers] == [{}, {"cpu": "2"}]
    assert found.spec.init_containers[0].resources.requests == {"cpu": "2"}
    assert (found.spec.scheduler_name, found.raw) == ("own", pod.raw)

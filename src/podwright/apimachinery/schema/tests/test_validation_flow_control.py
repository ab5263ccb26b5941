"""Validation and defaults of API priority and fairness: upstream's paths and texts."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import built_in, flow_control_specs

Document = dict[str, Any]

VERSION = "flowcontrol.apiserver.k8s.io/v1"
GROUP = {"kind": "Group", "group": {"name": "a"}}
RESOURCES = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["*"]}


def completed(kind: str, spec: Document, name: str = "x") -> Document:
    of = built_in().find(VERSION, kind)
    assert of is not None
    document = of.with_defaults({"metadata": {"name": name}, "spec": spec})
    assert of.with_defaults(document) is document
    return document


def problems(kind: str, spec: Document, name: str = "x") -> list[str]:
    of = built_in().find(VERSION, kind)
    assert of is not None
    found = of.validation_problems(completed(kind, spec, name))
    return [f"{path.removeprefix('spec.')}: {message}" for path, message, _ in found]


def of_schema(name: str = "x", **fields: Any) -> list[str]:
    spec = {"priorityLevelConfiguration": {"name": "l"}, "matchingPrecedence": 9} | fields
    return problems("FlowSchema", spec, name)


def of_rule(**fields: Any) -> list[str]:
    found = of_schema(rules=[{"subjects": [GROUP], "resourceRules": [RESOURCES]} | fields])
    return [each.removeprefix("rules[0].") for each in found]


def of_level(spec: Document, name: str = "x") -> list[str]:
    return problems("PriorityLevelConfiguration", spec, name)


def limited(**fields: Any) -> Document:
    return {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}} | fields}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, [], id="a flow schema"),
        pytest.param({"matchingPrecedence": -1},
            ["matchingPrecedence: Invalid value: -1: must be a positive value"], id="negative"),
        pytest.param({"matchingPrecedence": 10_001},
            ["matchingPrecedence: Invalid value: 10001: must not be greater than 10000"], id="max"),
        pytest.param({"matchingPrecedence": 1}, ["matchingPrecedence: Invalid value: 1: only the"
            " schema named 'exempt' may have matchingPrecedence 1"], id="that of exempt"),
        pytest.param({"distinguisherMethod": {"type": "x"}}, ['distinguisherMethod.type:'
            ' Unsupported value: {"Type":"x"}: supported values: "ByNamespace", "ByUser"'],
            id="a method"),
        pytest.param({"priorityLevelConfiguration": None}, ["priorityLevelConfiguration.name:"
            " Required value: must reference a priority level"], id="no level"),
        pytest.param({"rules": [{}]}, [
            "rules[0].subjects: Required value: subjects must contain at least one value",
            "rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be"
            " non-empty"], id="an empty rule"),
    ],
)  # fmt: skip
def test_a_flow_schema_has_upstreams_errors(fields: Document, expected: list[str]) -> None:
    assert of_schema(**fields) == expected


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        pytest.param({"kind": "Robot"}, ['kind: Unsupported value: "Robot": supported values:'
            ' "Group", "ServiceAccount", "User"'], id="a kind"),
        pytest.param({"kind": "User"},
            ["user: Required value: user is required when subject kind is 'User'"], id="no user"),
        pytest.param({"kind": "User", "user": {"name": ""}, "group": {"name": "a"}}, [
            "user.name: Required value",
            "group: Forbidden: group is forbidden when subject kind is not 'Group'"], id="two"),
        pytest.param({"kind": "ServiceAccount", "serviceAccount": {"name": "*"}}, [
            "serviceAccount.namespace: Required value: must specify namespace for service account"],
            id="no namespace"),
    ],
)  # fmt: skip
def test_a_subject_has_upstreams_errors(subject: Document, expected: list[str]) -> None:
    found = of_rule(subjects=[subject])
    assert [each.removeprefix("subjects[0].") for each in found] == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"verbs": ["*", "get"]}, ['verbs: Invalid value: ["*","get"]: if \'*\' is'
            " present, must not specify other verbs"], id="more than all"),
        pytest.param({"verbs": ["fly"]}, ['verbs: Unsupported value: ["fly"]: supported values:'
            ' "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update",'
            ' "watch"'], id="a verb"),
        pytest.param({"namespaces": [], "clusterScope": True}, [], id="cluster scope"),
        pytest.param({"namespaces": []}, ["namespaces: Required value: resource rules that are not"
            " cluster scoped must supply at least one namespace"], id="no scope"),
    ],
)  # fmt: skip
def test_a_rule_of_resources_has_upstreams_errors(fields: Document, expected: list[str]) -> None:
    found = of_rule(resourceRules=[RESOURCES | fields])
    assert [each.removeprefix("resourceRules[0].") for each in found] == expected


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("/", ""), ("/a/*", ""), ("*", ""), ("", "must not be empty"),
        ("a", "must start with slash"), ("/a b", "must not contain white-space"),
        ("/a//b", "must not contain double slash"), ("/a*", "wildcard can only do suffix matching"),
        ("/*/*", "wildcard can only do suffix matching"),
    ],
)  # fmt: skip
def test_a_path_has_upstreams_error(url: str, problem: str) -> None:
    found = of_rule(nonResourceRules=[{"verbs": ["get"], "nonResourceURLs": [url]}])
    path = "nonResourceRules[0].nonResourceURLs[0]"
    assert found == ([f'{path}: Invalid value: "{url}": {problem}'] if problem else [])


def queue(**fields: Any) -> Document:
    return limited(limitResponse={"type": "Queue", "queuing": fields})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, ['type: Unsupported value: "": supported values: "Exempt", "Limited"'],
            id="no type"),
        pytest.param({"type": "Exempt", "limited": {}}, ['type: Invalid value: "Exempt": must be'
            " 'Exempt' if and only if `name` is 'exempt'",
            "limited: Forbidden: must be nil if the type is not Limited"], id="exempt"),
        pytest.param({"type": "Limited", "exempt": {}}, [
            "exempt: Forbidden: must be nil if the type is Limited",
            "limited: Required value: must not be empty when type is Limited"], id="no limits"),
        pytest.param(limited(nominalConcurrencyShares=-1, lendablePercent=101,
                             borrowingLimitPercent=-1), [
            "limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
            "limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
            "limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative"
            " integer"], id="numbers"),
        pytest.param(limited(limitResponse=None), ['limited.limitResponse.type: Unsupported value:'
            ' "": supported values: "Queue", "Reject"'], id="no response"),
        pytest.param(queue(), [], id="a queue"),
        pytest.param(queue(handSize=65), ["limited.limitResponse.queuing.handSize: Invalid value:"
            " 65: should not be greater than queues (64)"], id="a large hand"),
        pytest.param(queue(handSize=11), ["limited.limitResponse.queuing.handSize: Invalid value:"
            " 11: required entropy bits of deckSize 64 and handSize 11 should not be greater than"
            " 60"], id="too many bits"),
    ],
)  # fmt: skip
def test_a_priority_level_has_upstreams_errors(spec: Document, expected: list[str]) -> None:
    assert of_level(spec) == expected


def test_absent_fields_of_priority_levels_have_defaults() -> None:
    spec = completed("PriorityLevelConfiguration", queue())["spec"]
    assert spec["limited"]["nominalConcurrencyShares"] == 30
    assert spec["limited"]["limitResponse"]["queuing"] == {
        "handSize": 8, "queues": 64, "queueLengthLimit": 50,
    }  # fmt: skip
    assert completed("FlowSchema", {})["spec"] == {"matchingPrecedence": 1000}


def test_the_specs_of_mandatory_objects_are_fixed() -> None:
    fixed = flow_control_specs()
    exempt, catch_all = fixed.levels["exempt"], fixed.schemas["catch-all"]
    changed = exempt | {"exempt": {"nominalConcurrencyShares": 5, "lendablePercent": 9}}
    assert of_level(changed, "exempt") == []
    (problem,) = of_level(limited(nominalConcurrencyShares=6), "catch-all")
    assert problem.startswith('spec: Invalid value: {"Type":"Limited","Limited":{"Nominal')
    assert problem.endswith("spec of 'catch-all' must equal the fixed value")
    assert of_level(limited(), "exempt")[-1].endswith(
        "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value"
    )
    assert problems("FlowSchema", catch_all, "catch-all") == []
    (problem,) = problems("FlowSchema", catch_all | {"matchingPrecedence": 9}, "catch-all")
    assert problem.endswith("spec of 'catch-all' must equal the fixed value")

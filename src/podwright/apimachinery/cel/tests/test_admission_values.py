"""The values that expressions of admission read, what checks of rights are made, and their cost."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.cel import Access, AdmissionInput, Decision
from podwright.apimachinery.cel.uses.admission_expressions import (
    AdmissionCompiler,
    AdmissionEvaluation,
    Evaluation,
)

PODS = {"group": "", "version": "v1", "resource": "pods"}
SPENT_FROM = 10**6


def evaluated(source: str, **values: Any) -> tuple[Evaluation, int]:
    """Return the evaluation of an expression, and what it cost."""
    given = AdmissionInput(**{"object": None, "old_object": None, "request": {}, **values})
    compiler = AdmissionCompiler(has_params=True)
    evaluation = AdmissionEvaluation(compiler, given, SPENT_FROM)
    return evaluation.evaluate(compiler.compile(source, None)), SPENT_FROM - evaluation.budget


def value_of(source: str, **values: Any) -> Any:
    found, _ = evaluated(source, **values)
    assert not found.error
    return found.value


@pytest.mark.parametrize(
    ("request_", "value"),
    [
        pytest.param({}, {"userInfo": {}}, id="nothing"),
        pytest.param(
            {
                "uid": "", "kind": {}, "resource": PODS, "operation": "", "options": None,
                "userInfo": {"username": "ann", "uid": "", "groups": [], "extra": {"a": ["b"]}},
                "dryRun": False, "name": "", "namespace": None, "subResource": {},
                "requestKind": [],
            },
            {
                "uid": "", "kind": {}, "resource": PODS, "operation": "", "options": None,
                "userInfo": {"username": "ann", "extra": {"a": ["b"]}}, "dryRun": False,
            },
            id="what is empty is left out, but for the fields that are always written",
        ),
        pytest.param(
            {"name": "a", "object": {"a": 1}, "oldObject": {"a": 2}, "userInfo": None},
            {"name": "a", "userInfo": {}},
            id="the objects are variables of their own",
        ),
    ],
)  # fmt: skip
def test_a_request_is_as_its_json(request_: dict[str, Any], value: dict[str, Any]) -> None:
    assert value_of("dyn(request)", request=request_) == value


@pytest.mark.parametrize(
    ("namespace", "value"),
    [
        (None, None),
        (
            {"metadata": {"name": "a", "uid": "u", "managedFields": [], "selfLink": "/a"}},
            {"metadata": {"name": "a", "uid": "u"}, "spec": {}, "status": {}},
        ),
        (
            {"metadata": {}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}},
            {"metadata": {}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}},
        ),
        (
            {"metadata": {}, "spec": None, "status": None},
            {"metadata": {}, "spec": {}, "status": {}},
        ),
    ],
)
def test_a_namespace_has_the_fields_of_its_type(namespace: Any, value: Any) -> None:
    assert value_of("dyn(namespaceObject)", namespace=namespace) == value


def test_objects_and_parameters_are_read_as_they_are() -> None:
    values = {"object": {"a": [1]}, "old_object": {"a": None}, "params": {"b": "c"}}
    found = value_of("[object, oldObject, params]", **values)
    assert found == [{"a": [1]}, {"a": None}, {"b": "c"}]
    assert value_of("[object, oldObject, params]") == [None, None, None]


@pytest.mark.parametrize(
    ("request_", "access"),
    [
        ({}, Access(verb="get")),
        (
            {"resource": {**PODS, "group": "apps"}, "subResource": "scale", "name": "web"},
            Access(verb="get", group="apps", resource="pods", subresource="scale", name="web"),
        ),
        (
            {
                "resource": {**PODS, "group": "apps"}, "subResource": "scale",
                "requestResource": PODS, "requestSubResource": "status", "namespace": "shop",
            },
            Access(verb="get", resource="pods", subresource="status", namespace="shop"),
        ),
    ],
    ids=["nothing", "the resource", "the one that the client named"],
)  # fmt: skip
def test_a_check_is_about_the_resource_of_the_request(
    request_: dict[str, Any], access: Access
) -> None:
    checked: list[Access] = []

    def decide(access: Access) -> Decision:
        checked.append(access)
        return Decision(is_allowed=True)

    source = "authorizer.requestResource.check('get').allowed()"
    assert value_of(source, request=request_, authorize=decide) is True
    assert checked == [access]


RESOURCE = "authorizer.group('').resource('pods')"


@pytest.mark.parametrize(
    ("source", "cost"),
    [
        pytest.param(f"{RESOURCE}.check('get').allowed()", 350_004, id="a check"),
        pytest.param(f"{RESOURCE}.fieldSelector('')", 3 + 10, id="an empty selector"),
        pytest.param(f"{RESOURCE}.fieldSelector('abcd')", 3 + 10 + 1 + 2 * 50, id="of 4"),
        pytest.param(f"{RESOURCE}.labelSelector('abcde')", 3 + 10 + 1 + 3 * 50, id="of 5"),
        pytest.param(f"{RESOURCE}.labelSelector('abcdefghijk')", 3 + 10 + 2 + 6 * 50, id="of 11"),
        pytest.param("authorizer.serviceAccount('a', 'b').path('/x')", 3, id="an account, a path"),
    ],
)
def test_a_check_costs_what_upstream_counts(source: str, cost: int) -> None:
    _, spent = evaluated(source, authorize=lambda _: Decision(is_allowed=True))
    assert spent == cost


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("serviceAccount('a', '-b')", "Invalid service account name"),
        ("serviceAccount('a', 'b.c')", ""),
        (f"serviceAccount('a', '{'b' * 253}')", ""),
        (f"serviceAccount('a', '{'b' * 254}')", "Invalid service account name"),
        ("serviceAccount('a.b', 'b')", "Invalid service account namespace"),
        (f"serviceAccount('{'a' * 63}', 'b')", ""),
        (f"serviceAccount('{'a' * 64}', 'b')", "Invalid service account namespace"),
        ("path(' ')", "path must not be empty"),
        ("path('/')", ""),
        ("group('').resource('')", "resource must not be empty"),
        ("group('').resource('*')", ""),
    ],
)
def test_what_cannot_be_checked_is_an_error(call: str, error: str) -> None:
    source = f"authorizer.{call}"
    found, _ = evaluated(source, authorize=lambda _: Decision(is_allowed=True))
    text = f"expression '{source}' resulted in error: {error}"
    assert found.error == (text if error else "")


def test_a_check_of_a_service_account_is_about_it() -> None:
    checked: list[Access] = []

    def decide(access: Access) -> Decision:
        checked.append(access)
        return Decision(is_allowed=False, reason="no", error="down")

    check = "authorizer.serviceAccount('shop', 'till').path('/healthz').check('get')"
    for part, value in (("allowed", False), ("reason", "no"), ("error", "down"), ("errored", True)):
        assert value_of(f"{check}.{part}()", authorize=decide) == value
    assert checked[0] == Access(verb="get", path="/healthz", service_account=("shop", "till"))


def test_an_expression_without_an_authorizer_does_not_know_it() -> None:
    compiler = AdmissionCompiler(has_params=False)
    found = compiler.compile("authorizer.path('/').check('get').allowed()", None)
    given = AdmissionInput(object=None, old_object=None, request={}, authorize=None)
    error = AdmissionEvaluation(compiler, given, SPENT_FROM).evaluate(found).error
    assert error.endswith("resulted in error: no such attribute(s): authorizer")

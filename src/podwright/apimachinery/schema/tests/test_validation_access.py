"""Validation of roles, bindings and reviews: upstream's paths and texts."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import Kind, built_in

Document = dict[str, Any]

GROUP = "rbac.authorization.k8s.io"
ROLE = {"kind": "Role", "name": "reader"}
ALICE = {"kind": "User", "name": "alice"}
TEXT = "supported values"


def kind(api_version: str, name: str) -> Kind:
    found = built_in().find(api_version, name)
    assert found is not None
    return found


def problems(api_version: str, name: str, **fields: Any) -> list[str]:
    of = kind(api_version, name)
    document = of.with_defaults({"apiVersion": api_version, "kind": name, **fields})
    assert of.decoding_problems(document) == []
    return [f"{path}: {message}" for path, message, _ in of.validation_problems(document)]


@pytest.mark.parametrize(
    ("name", "rule", "expected"),
    [
        pytest.param("Role", {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}, [],
            id="a rule"),
        pytest.param("Role", {}, [
            "rules[0].verbs: Required value: verbs must contain at least one value",
            "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
            "rules[0].resources: Required value: resource rules must supply at least one resource",
        ], id="an empty rule"),
        pytest.param("Role", {"verbs": ["get"], "nonResourceURLs": ["/x"]}, [
            'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to'
            " non-resource URLs"], id="a path in a namespace"),
        pytest.param("ClusterRole", {"verbs": ["get"], "nonResourceURLs": ["/x"]}, [], id="a path"),
        pytest.param("ClusterRole", {
            "verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["pods"]}, [
            'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular'
            " resources and non-resource URLs"], id="a path and resources"),
        pytest.param("ClusterRole", {"verbs": ["get"], "apiGroups": [""],
            "resources": ["pods", "nodes"], "resourceNames": ["a"]}, [],
            id="names of two resources"),
    ],
)  # fmt: skip
def test_a_role_has_upstreams_errors(name: str, rule: Document, expected: list[str]) -> None:
    assert problems(f"{GROUP}/v1", name, rules=[rule]) == expected
    changed = {"metadata": {}, "rules": [rule]}
    found = kind(f"{GROUP}/v1", name).update_problems(changed, {"metadata": {}})
    assert [f"{path}: {message}" for path, message, _ in found] == expected


@pytest.mark.parametrize(
    ("name", "role", "subject", "expected"),
    [
        pytest.param("RoleBinding", ROLE, ALICE, [], id="groups by default"),
        pytest.param("ClusterRoleBinding", ROLE, ALICE,
            [f'roleRef.kind: Unsupported value: "Role": {TEXT}: "ClusterRole"'],
            id="a role of a namespace"),
        pytest.param("RoleBinding", {"kind": "Group", "name": "", "apiGroup": "x"}, ALICE, [
            f'roleRef.apiGroup: Unsupported value: "x": {TEXT}: "{GROUP}"',
            f'roleRef.kind: Unsupported value: "Group": {TEXT}: "Role", "ClusterRole"',
            "roleRef.name: Required value"], id="no role"),
        pytest.param("RoleBinding", {"kind": "Role", "name": "a%b"}, ALICE,
            ['roleRef.name: Invalid value: "a%b": may not contain \'%\''], id="a wrong name"),
        pytest.param("RoleBinding", ROLE, {"kind": "User", "name": "", "apiGroup": "x"}, [
            "subjects[0].name: Required value",
            f'subjects[0].apiGroup: Unsupported value: "x": {TEXT}: "{GROUP}"'], id="no user"),
        pytest.param("ClusterRoleBinding", {"kind": "ClusterRole", "name": "a"},
            {"kind": "ServiceAccount", "name": "a", "apiGroup": "x"}, [
            f'subjects[0].apiGroup: Unsupported value: "x": {TEXT}: ""',
            "subjects[0].namespace: Required value"], id="an account without a namespace"),
        pytest.param("RoleBinding", ROLE, {"kind": "Robot", "name": "a"}, [
            f'subjects[0].kind: Unsupported value: "Robot": {TEXT}: "ServiceAccount", "User",'
            ' "Group"'], id="an unknown subject"),
    ],
)  # fmt: skip
def test_a_binding_has_upstreams_errors(
    name: str, role: Document, subject: Document, expected: list[str]
) -> None:
    assert problems(f"{GROUP}/v1", name, roleRef=role, subjects=[subject]) == expected


@pytest.mark.parametrize("name", ["RoleBinding", "ClusterRoleBinding"])
def test_a_binding_keeps_its_role(name: str) -> None:
    of = kind(f"{GROUP}/v1", name)
    role = {"kind": "ClusterRole", "name": "reader"}
    old = of.with_defaults({"metadata": {}, "roleRef": role})
    new = of.with_defaults({"metadata": {}, "roleRef": role | {"name": "writer"}})
    assert of.update_problems(old, old) == []
    (problem,) = of.update_problems(new, old)
    printed = f'{{"APIGroup":"{GROUP}","Kind":"ClusterRole","Name":"writer"}}'
    assert problem[:2] == ("roleRef", f"Invalid value: {printed}: cannot change roleRef")


RESOURCE = {"resourceAttributes": {"verb": "get", "resource": "pods"}}


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        pytest.param("SelfSubjectAccessReview", {"spec": RESOURCE}, [], id="about oneself"),
        pytest.param("SelfSubjectAccessReview", {"spec": RESOURCE, "metadata": {"name": "a"}},
            ['metadata: Invalid value: {"name":"a"}: must be empty'], id="with a name"),
        pytest.param("SubjectAccessReview", {"spec": {**RESOURCE, "groups": ["a"]}}, [],
            id="about a group"),
        pytest.param("LocalSubjectAccessReview", {
            "metadata": {"name": "b", "namespace": "a"}, "spec": {
                "user": "u", "nonResourceAttributes": {"path": "/x"}}}, [
            'metadata: Invalid value: {"name":"b","namespace":"a"}: must be empty except for'
            " namespace",
            'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":""}: disallowed on this'
            " kind of request"], id="about a path in a namespace"),
    ],
)  # fmt: skip
def test_a_review_has_upstreams_errors(name: str, fields: Document, expected: list[str]) -> None:
    assert problems("authorization.k8s.io/v1", name, **fields) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [], id="an hour by default"),
        pytest.param({"expirationSeconds": 599}, ["spec.expirationSeconds: Invalid value: 599: may"
            " not specify a duration less than 10 minutes"], id="too short"),
        pytest.param({"expirationSeconds": 2**32 + 1}, ["spec.expirationSeconds: Invalid value:"
            " 4294967297: may not specify a duration larger than 2^32 seconds"], id="too long"),
    ],
)  # fmt: skip
def test_a_request_for_a_token_has_a_duration(spec: Document, expected: list[str]) -> None:
    assert problems("authentication.k8s.io/v1", "TokenRequest", spec=spec) == expected


def test_a_review_needs_no_name_and_a_role_does() -> None:
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    assert kind(review["apiVersion"], review["kind"]).metadata_problems(review) == []
    assert kind(f"{GROUP}/v1", "Role").metadata_problems({"metadata": {}}) != []


def test_defaults_of_a_custom_resource_definition() -> None:
    of = kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    webhook = {"clientConfig": {"service": {"namespace": "a", "name": "b"}}}
    spec = {"names": {"kind": "Widget"}, "conversion": {"strategy": "Webhook", "webhook": webhook}}
    made = of.with_defaults({"spec": spec})
    assert made["spec"]["names"] == {
        "kind": "Widget",
        "singular": "widget",
        "listKind": "WidgetList",
    }
    assert made["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"] == 443
    assert of.with_defaults(made) is made


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        pytest.param({"fieldSelector": {}}, [
            "spec.resourceAttributes.fieldSelector.requirements: Required value: when"
            " spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is"
            " required"], id="empty"),
        pytest.param({"labelSelector": {"rawSelector": "a", "requirements": [
            {"key": "-", "operator": "Is"}, {"key": "a", "operator": "In"}]}}, [
            'spec.resourceAttributes.labelSelector.rawSelector: Invalid value: "a": may not'
            " specified at the same time as requirements",
            'spec.resourceAttributes.labelSelector.requirements[0].key: Invalid value: "-": name'
            " part must consist of alphanumeric characters, '-', '_' or '.', and must start and end"
            " with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex"
            " used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            "spec.resourceAttributes.labelSelector.requirements[1].values: Required value: must be"
            " specified when `operator` is 'In' or 'NotIn'"], id="labels"),
        pytest.param({"fieldSelector": {"requirements": [
            {"operator": "Exists", "values": ["a"]}, {"key": "a", "operator": "NotIn"}]}}, [
            "spec.resourceAttributes.fieldSelector.requirements[0].key: Required value: must be"
            " specified",
            "spec.resourceAttributes.fieldSelector.requirements[0].values: Forbidden: may not be"
            " specified when `operator` is 'Exists' or 'DoesNotExist'",
            "spec.resourceAttributes.fieldSelector.requirements[1].values: Required value: must be"
            " specified when `operator` is 'In' or 'NotIn'"], id="fields"),
    ],
)  # fmt: skip
def test_the_selectors_of_a_review_are_checked(selectors: Document, expected: list[str]) -> None:
    spec = {"resourceAttributes": {"verb": "list", "resource": "pods", **selectors}}
    assert problems("authorization.k8s.io/v1", "SelfSubjectAccessReview", spec=spec) == expected


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        pytest.param([], [
            "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector"
            " required if aggregationRule is non-nil"], id="none"),
        pytest.param([{"matchLabels": {"a": "b"}}, {"matchExpressions": [
            {"key": "a", "operator": "Is"}]}], [
            "aggregationRule.clusterRoleSelectors[1].matchExpressions[0].operator: Invalid value:"
            ' "Is": not a valid selector operator',
            "aggregationRule.clusterRoleSelectors[1]: Invalid value: null: invalid label"
            " selector."],
            id="an unknown operator"),
    ],
)  # fmt: skip
def test_an_aggregation_selects_roles(selectors: list[Document], expected: list[str]) -> None:
    rule = {"clusterRoleSelectors": selectors}
    found = problems(
        "rbac.authorization.k8s.io/v1", "ClusterRole", metadata={"name": "a"}, aggregationRule=rule
    )
    assert found == expected

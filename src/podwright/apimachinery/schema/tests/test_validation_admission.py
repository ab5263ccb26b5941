"""Validation and defaults of webhooks and admission policies: upstream's paths and texts."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import Kind, built_in
from podwright.apimachinery.schema.tests.kind_errors import of_raw
from podwright.apimachinery.schema.tests.pod_errors import shown

Document = dict[str, Any]

VERSION = "admissionregistration.k8s.io/v1"
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
HOOK = {
    "name": "check.example.com", "rules": [RULE], "sideEffects": "None",
    "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://example.com/check"},
}  # fmt: skip


def kind(name: str) -> Kind:
    found = built_in().find(VERSION, name)
    assert found is not None
    return found


def problems(name: str, **fields: Any) -> list[str]:
    of = kind(name)
    document = of.with_defaults({"metadata": {"name": "x"}, **fields})
    assert of.with_defaults(document) is document
    assert of.decoding_problems(document) == []
    return [f"{path}: {message}" for path, message, _ in of.validation_problems(document)]


def of_hook(configuration: str = "ValidatingWebhookConfiguration", /, **fields: Any) -> list[str]:
    found = problems(configuration, webhooks=[{**HOOK, **fields}])
    return [each.removeprefix("webhooks[0].") for each in found]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, [], id="a webhook"),
        pytest.param({"name": ""}, ["name: Required value"], id="no name"),
        pytest.param({"name": "a.b"}, ['name: Invalid value: "a.b": should be a domain with at'
            " least three segments separated by dots"], id="a short name"),
        pytest.param({"sideEffects": None},
            ["sideEffects: Required value: must specify one of None, NoneOnDryRun"],
            id="no word about effects"),
        pytest.param({"sideEffects": "Some"}, ['sideEffects: Unsupported value: "Some": supported'
            ' values: "None", "NoneOnDryRun"'], id="effects"),
        pytest.param({"failurePolicy": "Retry", "matchPolicy": "Some", "timeoutSeconds": 31}, [
            'failurePolicy: Unsupported value: "Retry": supported values: "Fail", "Ignore"',
            'matchPolicy: Unsupported value: "Some": supported values: "Equivalent", "Exact"',
            "timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
        ], id="wrong policies"),
        pytest.param({"admissionReviewVersions": []},
            ["admissionReviewVersions: Required value: must specify one of v1, v1beta1"],
            id="no versions"),
        pytest.param({"admissionReviewVersions": ["v2", "v2"]}, [
            'admissionReviewVersions[1]: Invalid value: "v2": duplicate version',
            'admissionReviewVersions: Invalid value: ["v2","v2"]: must include at least one of v1,'
            " v1beta1"], id="unknown versions"),
        pytest.param({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}, [
            "objectSelector.matchExpressions[0].values: Required value: must be specified when"
            " `operator` is 'In' or 'NotIn'"], id="a wrong selector"),
        pytest.param({"clientConfig": {}},
            ["clientConfig: Required value: exactly one of url or service is required"],
            id="no client"),
        pytest.param({"clientConfig": {"url": "http://u:p@/x?y=1#z"}}, [
            'clientConfig.url: Invalid value: "http": \'https\' is the only allowed URL scheme;'
            " desired format: https://host[/path]",
            'clientConfig.url: Invalid value: "": host must be specified; desired format:'
            " https://host[/path]",
            'clientConfig.url: Invalid value: "u:p": user information is not permitted in the URL',
            'clientConfig.url: Invalid value: "z": fragments are not permitted in the URL',
            'clientConfig.url: Invalid value: "y=1": query parameters are not permitted in the URL',
        ], id="a wrong URL"),
        pytest.param({"clientConfig": {"service": {"name": "s", "namespace": "n", "path": "/a/"}}},
            [], id="a service"),
        pytest.param({"clientConfig": {"service": {
            "name": "", "namespace": "", "port": 0, "path": "a//b"}}}, [
            "clientConfig.service.name: Required value",
            "clientConfig.service.namespace: Required value",
            "clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and"
            " 65535, inclusive",
            'clientConfig.service.path: Invalid value: "a//b": must start with a \'/\'',
            'clientConfig.service.path: Invalid value: "a//b": segment[0] may not be empty',
            'clientConfig.service.path: Invalid value: "a//b": segment[1] may not be empty',
        ], id="a wrong service"),
        pytest.param({"clientConfig": {"service": {"name": "s"}}},
            ["clientConfig.service.name: Required value"],
            id="no namespace, which upstream calls the name"),
        pytest.param({"clientConfig": {"service": {"name": "s", "namespace": "n", "path": "//"}}},
            ['clientConfig.service.path: Invalid value: "//": segment[0] may not be empty'],
            id="an empty path"),
        pytest.param({"matchConditions": [{"name": "a", "expression": "true"},
                                          {"name": "a", "expression": " "},
                                          {"name": "", "expression": "true"}]}, [
            "matchConditions[1].expression: Required value",
            'matchConditions[1].name: Duplicate value: "a"',
            "matchConditions[2].name: Required value"], id="conditions"),
        pytest.param({"matchConditions": [{"name": f"c{i}", "expression": "true"}
                                          for i in range(65)]},
            ["matchConditions: Too many: 65: must have at most 64 items"],
            id="too many conditions"),
    ],
)  # fmt: skip
def test_a_webhook_has_upstreams_errors(fields: Document, expected: list[str]) -> None:
    assert of_hook(**fields) == expected
    assert of_hook("MutatingWebhookConfiguration", **fields) == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param({"operations": [], "apiGroups": [], "apiVersions": [], "resources": []}, [
            "operations: Required value", "apiGroups: Required value",
            "apiVersions: Required value", "resources: Required value"], id="empty"),
        pytest.param({"operations": ["*", "READ"]}, [
            'operations: Invalid value: ["*","READ"]: if \'*\' is present, must not specify other'
            " operations",
            'operations[1]: Unsupported value: "READ": supported values: "*", "CONNECT", "CREATE",'
            ' "DELETE", "UPDATE"'], id="operations"),
        pytest.param({"apiGroups": ["*", ""], "apiVersions": ["*", ""]}, [
            'apiGroups: Invalid value: ["*",""]: if \'*\' is present, must not specify other API'
            " groups",
            'apiVersions: Invalid value: ["*",""]: if \'*\' is present, must not specify other API'
            " versions", "apiVersions[1]: Required value"], id="wildcards"),
        pytest.param({"resources": ["pods/*", "pods/log", "*/scale", "deployments/scale", ""]}, [
            "resources[1]: Invalid value: \"pods/log\": if 'pods/*' is present, must not specify"
            " pods/log",
            "resources[3]: Invalid value: \"deployments/scale\": if '*/scale' is present, must not"
            " specify deployments/scale", "resources[4]: Required value"], id="subresources"),
        pytest.param({"resources": ["*/*", "pods"]}, [
            'resources: Invalid value: ["*/*","pods"]: if \'*/*\' is present, must not specify'
            " other resources"], id="all subresources"),
        pytest.param({"resources": ["*", "pods"]}, [
            'resources: Invalid value: ["*","pods"]: if \'*\' is present, must not specify other'
            " resources without subresources"], id="all resources"),
        pytest.param({"resources": ["*"]}, [], id="all resources alone"),
        pytest.param({"resources": ["pods", "*"]}, [], id="all resources at the end"),
        pytest.param({"scope": "Some"}, [
            'scope: Unsupported value: "Some": supported values: "*", "Cluster", "Namespaced"',
        ], id="scope"),
    ],
)  # fmt: skip
def test_a_rule_has_upstreams_errors(rule: Document, expected: list[str]) -> None:
    found = of_hook(rules=[{**RULE, **rule}])
    assert [each.removeprefix("rules[0].") for each in found] == expected


def test_webhooks_have_distinct_names() -> None:
    found = problems("MutatingWebhookConfiguration", webhooks=[HOOK, HOOK])
    assert found == ['webhooks[1].name: Duplicate value: "check.example.com"']
    hook = {**HOOK, "reinvocationPolicy": "Always"}
    assert problems("MutatingWebhookConfiguration", webhooks=[hook]) == [
        'webhooks[0].reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded",'
        ' "Never"'
    ]


def test_what_was_invalid_in_all_webhooks_may_stay() -> None:
    of = kind("ValidatingWebhookConfiguration")
    hook = {**HOOK, "sideEffects": "Some", "admissionReviewVersions": ["v2"]}
    old = of.with_defaults({"metadata": {}, "webhooks": [hook, hook]})
    new = of.with_defaults({"metadata": {}, "webhooks": [HOOK]})
    assert of.update_problems(old, old) == []
    assert len(of.update_problems(old, new)) == 5


def test_defaults_of_webhooks() -> None:
    of = kind("MutatingWebhookConfiguration")
    client = {"service": {"name": "s", "namespace": "n"}}
    (hook,) = of.with_defaults({"webhooks": [{**HOOK, "clientConfig": client}]})["webhooks"]
    assert hook["rules"] == [{**RULE, "scope": "*"}]
    assert hook["clientConfig"]["service"]["port"] == 443
    added = hook.keys() - HOOK.keys()
    assert {name: hook[name] for name in added} == {
        "failurePolicy": "Fail", "timeoutSeconds": 10, "matchPolicy": "Equivalent",
        "namespaceSelector": {}, "objectSelector": {}, "reinvocationPolicy": "Never",
    }  # fmt: skip


# ------------------------------------------------------------------------------ policies

MATCH = {"resourceRules": [RULE]}
POLICY = {"matchConstraints": MATCH, "validations": [{"expression": "true"}]}


def of_policy(**spec: Any) -> list[str]:
    return problems("ValidatingAdmissionPolicy", spec={**POLICY, **spec})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [], id="a policy"),
        pytest.param({"matchConstraints": None}, ["spec.matchConstraints: Required value"],
            id="no constraints"),
        pytest.param({"matchConstraints": {}},
            ["spec.matchConstraints.resourceRules: Required value"], id="no rules"),
        pytest.param({"failurePolicy": "Retry"}, ['spec.failurePolicy: Unsupported value: "Retry":'
            ' supported values: "Fail", "Ignore"'], id="a wrong policy"),
        pytest.param({"validations": []}, [
            "spec.validations: Required value: validations or auditAnnotations must contain at"
            " least one item",
            "spec.auditAnnotations: Required value: validations or auditAnnotations must contain"
            " at least one item"], id="nothing to do"),
        pytest.param({"validations": [{"expression": " ", "message": "a\nb", "reason": "Bad",
                                       "messageExpression": " "}, {
                                       "expression": "true", "message": " "}]}, [
            "spec.validations[0].expression: Required value: expression is not specified",
            'spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if'
            " specified",
            'spec.validations[0].message: Invalid value: "a\\nb": must not contain line'
            " breaks",
            'spec.validations[0].reason: Unsupported value: "Bad": supported values: "Forbidden",'
            ' "Invalid", "RequestEntityTooLarge"',
            'spec.validations[1].message: Invalid value: " ": must be non-empty if'
            " specified"], id="wrong validations"),
        pytest.param({"auditAnnotations": [{"key": "a", "valueExpression": "'b'"},
                                           {"key": "a", "valueExpression": ""},
                                           {"key": "b", "valueExpression": "x" * 5_121}]}, [
            "spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not"
            " specified",
            'spec.auditAnnotations[1].key: Duplicate value: "a"',
            "spec.auditAnnotations[2].valueExpression: Required value: must not exceed 5120 bytes"
            " in length"], id="annotations"),
        pytest.param({"variables": [{"name": "a", "expression": "1"}, {"name": "if"}, {}]}, [
            'spec.variables[1].name: Invalid value: "if": must be a valid CEL identifier',
            "spec.variables[1].expression: Required value: expression is not specified",
            "spec.variables[2].name: Required value: name is not specified",
            "spec.variables[2].expression: Required value: expression is not specified",
        ], id="variables"),
        pytest.param({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}, [],
            id="parameters of the core group"),
        pytest.param({"paramKind": {}}, ["spec.paramKind.apiVersion: Required value",
            "spec.paramKind.kind: Required value"], id="an empty kind"),
        pytest.param({"paramKind": {"apiVersion": "a/b/c", "kind": "1"}}, [
            'spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string:'
            " a/b/c",
            'spec.paramKind.kind: Invalid value: "1": may have mixed case, but should otherwise'
            " match: a DNS-1035 label must consist of lower case alphanumeric characters or '-',"
            " start with an alphabetic character, and end with an alphanumeric character (e.g."
            " 'my-name',  or 'abc-123', regex used for validation is"
            " '[a-z]([-a-z0-9]*[a-z0-9])?')"], id="a wrong kind"),
        pytest.param({"paramKind": {"apiVersion": "a.io/", "kind": "K"}}, [
            'spec.paramKind.apiVersion: Invalid value: "a.io/": version must be specified',
        ], id="no version"),
        pytest.param({"matchConstraints": {"resourceRules": [{
            **RULE, "resourceNames": ["a/b", "c", "c"]}]}}, [
            "spec.matchConstraints.resourceRules[0].resourceNames[0]: Invalid value: \"a/b\": may"
            " not contain '/'",
            'spec.matchConstraints.resourceRules[0].resourceNames[2]: Duplicate value: "c"',
        ], id="names"),
    ],
)  # fmt: skip
def test_a_policy_has_upstreams_errors(spec: Document, expected: list[str]) -> None:
    assert of_policy(**spec) == expected
    of = kind("ValidatingAdmissionPolicy")
    metadata = {"metadata": {"name": "x"}}
    changed = of.with_defaults({**metadata, "spec": {**POLICY, **spec}})
    found = of.update_problems(changed, {**metadata, "spec": {}})
    assert [f"{path}: {message}" for path, message, _ in found] == expected


def test_many_annotations_and_a_policy_without_a_name() -> None:
    annotations = [{"key": f"k{i}", "valueExpression": "'a'"} for i in range(21)]
    (problem,) = of_policy(auditAnnotations=annotations)
    assert problem.endswith("must not have more than 20 auditAnnotations")
    of = kind("ValidatingAdmissionPolicy")
    document = of.with_defaults(
        {"metadata": {}, "spec": {**POLICY, "auditAnnotations": annotations[:1]}}
    )
    assert [problem[:2] for problem in of.validation_problems(document)] == [
        (
            "spec.auditAnnotations[0].key",
            'Invalid value: "k0": requires metadata.name be non-empty',
        )
    ]


MUTATION = {"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"mutations": [MUTATION]}, [], id="a mutation"),
        pytest.param({"mutations": []},
            ["spec.mutations: Required value: mutations must contain at least one item"],
            id="none"),
        pytest.param({"mutations": [{}, {"patchType": "Merge"}, {"patchType": "JSONPatch"},
                                    {"patchType": "ApplyConfiguration", "applyConfiguration": {}}]},
            ["spec.mutations[0].patchType: Required value",
             'spec.mutations[1].patchType: Unsupported value: "Merge": supported values:'
             ' "ApplyConfiguration", "JSONPatch"',
             "spec.mutations[2].jsonPatch: Required value: must be specified when patchType is"
             " JSONPatch",
             "spec.mutations[3].applyConfiguration.expression: Required value"],
            id="wrong mutations"),
        pytest.param({"mutations": [MUTATION | {"applyConfiguration": {"expression": "x"}},
            MUTATION | {"patchType": "ApplyConfiguration"}]},
            ['spec.mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": must not'
             ' be specified when patchType is JSONPatch',
             "spec.mutations[1].applyConfiguration: Required value: must be specified when"
             " patchType is ApplyConfiguration",
             'spec.mutations[1].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when'
             " patchType is ApplyConfiguration"],
            id="a patch of the other type"),
        pytest.param({"mutations": [MUTATION], "matchConstraints": {"resourceRules": [
            MATCH["resourceRules"][0] | {"operations": ["CREATE", "DELETE"]}]}},
            ['spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE":'
             ' supported values: "*", "CONNECT", "CREATE", "UPDATE"'],
            id="an operation without an object to change"),
        pytest.param({"mutations": [MUTATION], "reinvocationPolicy": ""},
            ["spec.reinvocationPolicy: Required value"], id="no reinvocation policy"),
        pytest.param({"mutations": [MUTATION], "reinvocationPolicy": "Always"},
            ['spec.reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded",'
             ' "Never"'], id="a wrong reinvocation policy"),
    ],
)  # fmt: skip
def test_a_mutating_policy_has_upstreams_errors(spec: Document, expected: list[str]) -> None:
    whole = {"matchConstraints": MATCH, "reinvocationPolicy": "Never", **spec}
    assert problems("MutatingAdmissionPolicy", spec=whole) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"paramRef": {"name": "a", "parameterNotFoundAction": "Deny"}}, [],
                     id="parameters by name"),
        pytest.param({"policyName": ""}, ["spec.policyName: Required value"], id="no policy"),
        pytest.param({"paramRef": {}},
            ["spec.paramRef: Required value: one of name or selector must be specified",
             "spec.paramRef.parameterNotFoundAction: Required value"],
            id="no parameters"),
        pytest.param({"paramRef": {"name": "a/b", "selector": {}}}, [
            "spec.paramRef.name: Invalid value: \"a/b\": may not contain '/'",
            "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
            "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
            "spec.paramRef.parameterNotFoundAction: Required value",
        ], id="name and selector"),
        pytest.param({"paramRef": {"name": "a", "parameterNotFoundAction": "Warn"}}, [
            'spec.paramRef.parameterNotFoundAction: Unsupported value: "Warn": supported values:'
            ' "Deny", "Allow"'], id="a wrong action"),
        pytest.param({"paramRef": {"name": "a", "parameterNotFoundAction": ""}},
            ["spec.paramRef.parameterNotFoundAction: Required value"], id="no action"),
        pytest.param({"matchResources": {"matchPolicy": "Some"}}, [
            'spec.matchResources.matchPolicy: Unsupported value: "Some": supported values:'
            ' "Equivalent", "Exact"'], id="a wrong match"),
    ],
)  # fmt: skip
def test_a_binding_has_upstreams_errors(spec: Document, expected: list[str]) -> None:
    whole = {"policyName": "p", "validationActions": ["Deny"], **spec}
    assert problems("ValidatingAdmissionPolicyBinding", spec=whole) == expected
    del whole["validationActions"]
    assert problems("MutatingAdmissionPolicyBinding", spec=whole) == expected


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        pytest.param(["Warn", "Audit"], [], id="two"),
        pytest.param([], ["spec.validationActions: Required value: at least one validation action"
            " is required"], id="none"),
        pytest.param(["Deny", "Warn", "Deny", "Log"], [
            'spec.validationActions[2]: Duplicate value: "Deny"',
            'spec.validationActions[3]: Unsupported value: "Log": supported values: "Audit",'
            ' "Deny", "Warn"',
            'spec.validationActions: Invalid value: ["Deny","Warn","Deny","Log"]: must not contain'
            " both Deny and Warn (repeating the same validation failure information in the API"
            " response and headers serves no purpose)"], id="wrong"),
    ],
)  # fmt: skip
def test_actions_of_a_binding(actions: list[str], expected: list[str]) -> None:
    spec = {"policyName": "p", "validationActions": actions}
    assert problems("ValidatingAdmissionPolicyBinding", spec=spec) == expected


def of_audit(expression: str) -> list[str]:
    rule = {"resourceRules": [RULE]}
    audit = {"key": "k", "valueExpression": expression}
    return problems(
        "ValidatingAdmissionPolicy", spec={"matchConstraints": rule, "auditAnnotations": [audit]}
    )


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: [*map(shown, of_hook(name="A.b.c"))],
         ['name: Invalid value: "A.b.c": SUBDOMAIN']),
        (lambda: [*map(shown, of_hook(name="A.b"))], ['name: Invalid value: "A.b": SUBDOMAIN']),
        (lambda: of_hook(timeoutSeconds=1), []),
        (lambda: of_hook(timeoutSeconds=30), []),
        (lambda: of_hook(timeoutSeconds=0),
         ["timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds"]),
        (lambda: of_hook(clientConfig={"service": {"name": "s", "namespace": "n", "port":
          65535}}), []),
        (lambda: of_hook(clientConfig={"service": {"name": "s", "namespace": "n", "port":
          65536}}),
         ["clientConfig.service.port: Invalid value: 65536: port is not valid: must be"
           " between 1 and 65535, inclusive"]),
        (lambda: of_audit("'" + "é" * 2558 + "'"), []),
        (lambda: of_audit("'" + "é" * 2559 + "a'"),
         ["spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120"
           " bytes in length"]),
        (lambda: of_raw("ValidatingAdmissionPolicy", {"spec": {"matchConstraints":
          {"resourceRules": []}}}),
         ["spec.failurePolicy: Required value",
          "spec.matchConstraints.matchPolicy: Required value",
          "spec.matchConstraints.namespaceSelector: Required value",
          "spec.matchConstraints.objectSelector: Required value",
          "spec.matchConstraints.resourceRules: Required value",
          "spec.validations: Required value: validations or auditAnnotations must contain"
           " at least one item",
          "spec.auditAnnotations: Required value: validations or auditAnnotations must"
           " contain at least one item"]),
    ],
)  # fmt: skip
def test_limits_of_webhooks_and_policies(call: Any, expected: list[str]) -> None:
    assert call() == expected

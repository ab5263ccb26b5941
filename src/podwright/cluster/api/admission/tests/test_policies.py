"""Admission policies deny, warn of and change what requests write."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.cel import PolicyDecision
from podwright.apimachinery.schema import decode
from podwright.cluster.api.admission.policies.validating import _failure_text
from podwright.cluster.api.endpoints import HttpReply
from podwright.cluster.api.endpoints.tests.conftest import config_map, pod

GROUP = "/apis/admissionregistration.k8s.io/v1"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
ON_CONFIG_MAPS = {
    "resourceRules": [
        {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["configmaps"],
        }
    ]
}


def validate(
    server: Any, *validations: Any, actions: tuple[str, ...] = ("Deny",), **spec: Any
) -> None:
    listed = [{"expression": each} if isinstance(each, str) else each for each in validations]
    binding = spec.pop("binding", {})
    _install(
        server,
        "validatingadmissionpolicies",
        {"matchConstraints": ON_CONFIG_MAPS, "validations": listed, **spec},
        {"validationActions": list(actions), **binding},
    )


def mutate(server: Any, *mutations: dict[str, Any], name: str = "p", **spec: Any) -> None:
    constraints = spec.pop("matchConstraints", ON_CONFIG_MAPS)
    fixed = {"reinvocationPolicy": "Never", "failurePolicy": "Fail"}
    body = {"matchConstraints": constraints, "mutations": list(mutations), **fixed, **spec}
    _install(server, "mutatingadmissionpolicies", body, {}, name)


def _install(
    server: Any, plural: str, policy: dict[str, Any], binding: dict[str, Any], name: str = "p"
) -> None:
    status, reply = server.reply(
        "POST", f"{GROUP}/{plural}", {"metadata": {"name": name}, "spec": policy}
    )
    assert status == 201, reply
    bindings = plural.replace("policies", "policybindings")
    spec = {"policyName": name, **binding}
    status, reply = server.reply(
        "POST", f"{GROUP}/{bindings}", {"metadata": {"name": f"{name}-b"}, "spec": spec}
    )
    assert status == 201, reply


def json_patch(expression: str) -> dict[str, Any]:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def configuration(expression: str) -> dict[str, Any]:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


DENIED = "ValidatingAdmissionPolicy 'p' with binding 'p-b' denied request"


def test_a_denial_names_policy_binding_and_expression(server):
    validate(server, "object.data.k == 'v'")
    status, error = server.reply("POST", CONFIG_MAPS, config_map("a", k="w"))
    text = f"configmaps \"a\" is forbidden: {DENIED}: failed expression: object.data.k == 'v'"
    assert (status, error["reason"], error["message"]) == (422, "Invalid", text)
    assert error["details"]["causes"] == [{"message": text.split(": ", 1)[1]}]
    assert server.reply("POST", CONFIG_MAPS, config_map("a", k="v"))[0] == 201


@pytest.mark.parametrize(
    ("validation", "status", "message"),
    [
        pytest.param(
            {"expression": "false", "message": "no", "reason": "Forbidden"}, 403, "no", id="own"
        ),
        pytest.param(
            {"expression": "false", "messageExpression": "'not ' + object.metadata.name"},
            422,
            "not a",
            id="an expression",
        ),
        pytest.param(
            {"expression": "object.data.missing == 'x'"},
            422,
            "expression 'object.data.missing == 'x'' resulted in error: no such key: missing",
            id="an error",
        ),
    ],
)
def test_the_reason_and_the_message_of_a_denial(server, validation, status, message):
    validate(server, validation)
    found, error = server.reply("POST", CONFIG_MAPS, config_map("a", k="v"))
    assert (found, error["message"].split("denied request: ")[1]) == (status, message)


def test_warnings_and_ignored_failures_allow(server):
    validate(
        server,
        {"expression": "false", "message": "careful"},
        "object.data.missing == 'x'",
        actions=("Warn",),
        failurePolicy="Ignore",
    )
    reply = server.send("POST", CONFIG_MAPS, config_map("a", k="v"))
    assert isinstance(reply, HttpReply)
    text = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-b': careful"
    assert (reply.status, reply.header("warning")) == (201, f'299 - "{text}"')


def test_expressions_read_the_request_its_namespace_and_rights(server):
    validate(
        server,
        "request.operation == 'CREATE' && request.userInfo.username == 'admin'",
        "request.name == 'a' && request.namespace == 'default' && !request.dryRun",
        "namespaceObject.metadata.name == 'default'",
        "authorizer.group('').resource('pods').namespace('default').check('create').allowed()",
        "!authorizer.serviceAccount('default', 'x').group('').resource('pods').check('get')"
        ".allowed()",
        "variables.name == 'a'",
        variables=[{"name": "name", "expression": "object.metadata.name"}],
        matchConditions=[{"name": "c", "expression": "request.kind.kind == 'ConfigMap'"}],
    )
    status, reply = server.reply("POST", CONFIG_MAPS, config_map("a"))
    assert status == 201, reply


@pytest.mark.parametrize(
    ("match", "is_denied"),
    [
        pytest.param({}, True, id="all"),
        pytest.param({"objectSelector": {"matchLabels": {"a": "b"}}}, False, id="other labels"),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}},
            True,
            id="the namespace",
        ),
        pytest.param(
            {
                "excludeResourceRules": [
                    {
                        "apiGroups": ["*"],
                        "apiVersions": ["*"],
                        "operations": ["*"],
                        "resources": ["*"],
                        "resourceNames": ["a"],
                    }
                ]
            },
            False,
            id="excluded",
        ),
    ],
)
def test_bindings_match_resources(server, match, is_denied):
    validate(server, "false", binding={"matchResources": match} if match else {})
    assert (server.reply("POST", CONFIG_MAPS, config_map("a"))[0] == 422) == is_denied


def test_a_request_to_another_version_matches_as_the_version_of_the_rule(server):
    rule = {
        "apiGroups": ["autoscaling"],
        "apiVersions": ["v2"],
        "operations": ["CREATE"],
        "resources": ["horizontalpodautoscalers"],
    }
    validate(
        server,
        "request.kind.version == 'v2' && request.requestKind.version == 'v1'"
        " && object.spec.metrics[0].type == 'Resource'",
        matchConstraints={"resourceRules": [rule]},
    )
    body = {
        "metadata": {"name": "h"},
        "spec": {
            "maxReplicas": 2,
            "targetCPUUtilizationPercentage": 50,
            "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
        },
    }
    path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    status, reply = server.reply("POST", path, body)
    assert status == 201, reply


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        pytest.param({"name": "limits", "parameterNotFoundAction": "Deny"}, "", id="by name"),
        pytest.param(
            {"selector": {"matchLabels": {"a": "b"}}, "parameterNotFoundAction": "Deny"},
            "",
            id="by labels",
        ),
        pytest.param(
            {"name": "none", "parameterNotFoundAction": "Deny"},
            "failed to configure binding: no params found for policy binding with `Deny`"
            " parameterNotFoundAction",
            id="absent",
        ),
    ],
)
def test_parameters_come_from_objects(server, reference, message):
    limits = config_map("limits", most="3")
    limits["metadata"]["labels"] = {"a": "b"}
    server.reply("POST", CONFIG_MAPS, limits)
    validate(
        server,
        "int(object.data.count) <= int(params.data.most)",
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        binding={"paramRef": reference},
    )
    status, reply = server.reply("POST", CONFIG_MAPS, config_map("a", count="3"))
    if message:
        assert reply["message"].endswith(message)
    else:
        assert status == 201, reply
        assert server.reply("POST", CONFIG_MAPS, config_map("b", count="4"))[0] == 422


def test_parameters_that_may_be_absent_do_not_deny(server):
    validate(
        server,
        "false",
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        binding={"paramRef": {"name": "none", "parameterNotFoundAction": "Allow"}},
    )
    assert server.reply("POST", CONFIG_MAPS, config_map("a"))[0] == 201


def test_a_policy_whose_parameters_have_an_unknown_kind_denies(server):
    validate(
        server,
        "true",
        paramKind={"apiVersion": "x.io/v1", "kind": "Nosuch"},
        binding={"paramRef": {"name": "none", "parameterNotFoundAction": "Allow"}},
    )
    _, error = server.reply("POST", CONFIG_MAPS, config_map("a"))
    assert (
        "failed to find resource referenced by paramKind: 'x.io/v1, Kind=Nosuch'"
        in (error["message"])
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (None, ""),
        ({"matchConstraints": ON_CONFIG_MAPS}, ""),
        (
            {"matchConstraints": ON_CONFIG_MAPS, "paramKind": {}},
            "failed to find resource referenced by paramKind: '/, Kind='",
        ),
    ],
    ids=["no spec", "no expressions", "no kind of parameters"],
)
def test_a_policy_of_a_dump_may_lack_what_a_server_requires(server, spec, message):
    head: Any = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "p"}}
    policy = head | {"kind": "ValidatingAdmissionPolicy"} | ({} if spec is None else {"spec": spec})
    binding = head | {
        "kind": "ValidatingAdmissionPolicyBinding",
        "spec": {"policyName": "p", "validationActions": ["Deny"]},
    }
    for each in (policy, binding):
        server.store.put(decode(each))
    status, reply = server.reply("POST", CONFIG_MAPS, config_map("a"))
    assert (status, message in reply.get("message", "")) == (422 if message else 201, True)


def test_expressions_that_do_not_compile_are_invalid(server):
    body = {
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": ON_CONFIG_MAPS, "validations": [{"expression": "1 +"}]},
    }
    status, error = server.reply("POST", f"{GROUP}/validatingadmissionpolicies", body)
    assert status == 422
    assert error["details"]["causes"][0]["field"] == "spec.validations[0].expression"
    assert 'Invalid value: "1 +": compilation failed: ERROR:' in error["message"]


# ------------------------------------------------------------------------------ mutation


def test_a_json_patch_changes_the_object(server):
    mutate(
        server,
        json_patch(
            "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': object.metadata.name}},"
            " JSONPatch{op: 'test', path: '/metadata/name', value: 'a'}]"
        ),
    )
    _, made = server.reply("POST", CONFIG_MAPS, config_map("a"))
    assert made["metadata"]["labels"] == {"a": "a"}
    # A test that fails leaves the whole patch out.
    assert "labels" not in server.reply("POST", CONFIG_MAPS, config_map("b"))[1]["metadata"]


def test_a_configuration_is_merged_by_keys_and_gets_defaults(server):
    rules = {"resourceRules": [ON_CONFIG_MAPS["resourceRules"][0] | {"resources": ["pods"]}]}
    mutate(
        server,
        configuration(
            "Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: 'i',"
            " image: 'mesh:1', restartPolicy: 'Always'}]}}"
        ),
        matchConstraints=rules,
    )
    given = pod("p", initContainers=[{"name": "first", "image": "a:1"}])
    _, made = server.reply("POST", PODS, given)
    names = [each["name"] for each in made["spec"]["initContainers"]]
    assert sorted(names) == ["first", "i"]
    assert all("imagePullPolicy" in each for each in made["spec"]["initContainers"])


def test_a_configuration_cannot_replace_lists_without_keys(server):
    rules = {"resourceRules": [ON_CONFIG_MAPS["resourceRules"][0] | {"resources": ["pods"]}]}
    expression = "Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: 'a'}]}}"
    mutate(server, configuration(expression), matchConstraints=rules)
    status, error = server.reply("POST", PODS, pod("p"))
    assert (status, error["reason"]) == (403, "Invalid")
    assert error["message"] == (
        "policy 'p' with binding 'p-b' denied request: error applying patch: invalid"
        " ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.tolerations"
    )


def test_a_patch_that_makes_another_object_is_refused(server):
    mutate(server, json_patch("[JSONPatch{op: 'add', path: '/nosuch', value: 'x'}]"))
    assert server.reply("POST", CONFIG_MAPS, config_map("a"))[0] == 500


def test_policies_that_ask_for_it_run_again_after_others(server):
    # By name `a` runs before `b`, whose change it sees in the second round only.
    append = "[JSONPatch{op: 'add', path: '/data/seen', value: string(size(object.data))}]"
    mutate(server, json_patch(append), name="a", reinvocationPolicy="IfNeeded")
    mutate(server, json_patch("[JSONPatch{op: 'add', path: '/data/b', value: 'x'}]"), name="b")
    _, made = server.reply("POST", CONFIG_MAPS, config_map("c", k="v"))
    assert made["data"] == {"k": "v", "b": "x", "seen": "3"}


def test_match_conditions_choose_requests(server):
    conditions = [{"name": "c", "expression": "object.metadata.name == 'yes'"}]
    patch = json_patch("[JSONPatch{op: 'add', path: '/data/x', value: 'y'}]")
    mutate(server, patch, matchConditions=conditions)
    assert "x" in server.reply("POST", CONFIG_MAPS, config_map("yes", k="v"))[1]["data"]
    assert "x" not in server.reply("POST", CONFIG_MAPS, config_map("no", k="v"))[1]["data"]


def test_the_annotation_of_a_failure_has_the_fields_of_upstream():
    decision = PolicyDecision(is_denied=True, message="not \u00e4", reason="Invalid")
    text = _failure_text("few", "few-here", 2, decision, ["Audit", "Warn"])
    assert text == (
        '[{"message":"not \u00e4","policy":"few","binding":"few-here","expressionIndex":2,'
        '"validationActions":["Audit","Warn"]}]'
    )

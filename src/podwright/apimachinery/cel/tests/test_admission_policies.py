"""Admission policies: what is refused when they are written, and what they say of requests."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from podwright.apimachinery.cel import (
    Access,
    AdmissionInput,
    Decision,
    MatchedKind,
    MutatingPolicy,
    PolicyDecision,
    PolicyError,
    ValidatingPolicy,
    match_condition_problems,
    type_warnings,
)
from podwright.apimachinery.cel.uses.admission_expressions import (
    AdmissionCompiler,
    AdmissionEvaluation,
)

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
    "spec": {"containers": [{"name": "a", "image": "x"}], "replicas": 3},
}
REQUEST: dict[str, Any] = {
    "uid": "",
    "kind": {"group": "", "version": "v1", "kind": "Pod"},
    "resource": {"group": "", "version": "v1", "resource": "pods"},
    "requestResource": {"group": "", "version": "v1", "resource": "pods"},
    "subResource": "",
    "name": "web",
    "namespace": "shop",
    "operation": "CREATE",
    "userInfo": {"username": "ann", "groups": ["dev"], "uid": ""},
    "dryRun": False,
    "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
}
NAMESPACE = {
    "metadata": {"name": "shop", "labels": {"tier": "gold"}, "managedFields": []},
    "status": {"phase": "Active"},
}
ASKED: list[Access] = []


def decide(access: Access) -> Decision:
    """Allow what ann does, and `get` to a service account."""
    ASKED.append(access)
    if access.verb == "broken":
        return Decision(is_allowed=False, error="no connection")
    is_allowed = access.service_account is None or access.verb == "get"
    return Decision(is_allowed, "because")


VALUES = AdmissionInput(
    object=POD,
    old_object=None,
    request=REQUEST,
    params={"data": {"max": "2"}},
    namespace=NAMESPACE,
    authorize=decide,
)


def a_policy(*validations: dict[str, Any] | str, **spec: Any) -> dict[str, Any]:
    written = [{"expression": each} if isinstance(each, str) else each for each in validations]
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    return {"spec": {"paramKind": kind, "validations": written, **spec}}


def decisions_of(*validations: dict[str, Any] | str, **spec: Any) -> tuple[PolicyDecision, ...]:
    return ValidatingPolicy(a_policy(*validations, **spec)).validate(VALUES).decisions


def decision_of(validation: dict[str, Any] | str, **spec: Any) -> PolicyDecision:
    (decision,) = decisions_of(validation, **spec)
    return decision


@pytest.mark.parametrize(
    "expression",
    [
        "object.metadata.name == 'web' && oldObject == null",
        "has(object.metadata.labels) && !has(object.metadata.annotations)",
        "object.spec.replicas > int(params.data.max)",
        "request.userInfo.username == 'ann' && 'dev' in request.userInfo.groups",
        "!has(request.subResource) && !has(request.userInfo.uid) && has(request.dryRun)",
        "request.resource.resource == 'pods' && request.kind.kind == 'Pod'",
        "request.options.kind == 'CreateOptions' && request.operation != 'DELETE'",
        "namespaceObject.metadata.labels['tier'] == 'gold'",
        "!has(namespaceObject.metadata.generateName)",
        "namespaceObject.status.phase == 'Active' && !has(namespaceObject.spec.finalizers)",
        "authorizer.requestResource.check('create').allowed()",
        "authorizer.group('').resource('pods').namespace('a').check('x').reason() == 'because'",
        "authorizer.group('').resource('pods').check('broken').error() == 'no connection'",
        "authorizer.group('').resource('pods').check('get').error() == ''",
        "!authorizer.group('a').resource('b').subresource('c').name('d').check('x').errored()",
        "authorizer.serviceAccount('a', 'b.c').path('/healthz').check('get').allowed()",
        "!authorizer.serviceAccount('a', 'b').group('').resource('x').check('list').allowed()",
        "authorizer.group('').resource('pods').fieldSelector('a=b').labelSelector('c=d')"
        ".check('list').allowed()",
    ],
)
def test_a_policy_admits(expression: str) -> None:
    assert decision_of(expression) == PolicyDecision(is_denied=False)


def test_an_authorizer_is_asked_about_the_resource_of_the_request() -> None:
    ASKED.clear()
    decision_of("authorizer.requestResource.check('update').allowed()")
    decision_of(
        "authorizer.group('g').resource('r').subresource('s').namespace('n').name('m')"
        ".fieldSelector('f').labelSelector('l').check('v').allowed()"
    )
    assert [
        Access(verb="update", resource="pods", namespace="shop", name="web"),
        Access(
            verb="v",
            group="g",
            resource="r",
            subresource="s",
            namespace="n",
            name="m",
            field_selector="f",
            label_selector="l",
        ),
    ] == ASKED


@pytest.mark.parametrize(
    ("changes", "access"),
    [
        ({}, Access(resource="pods", namespace="shop", name="web")),
        ({"requestResource": None}, Access(resource="pods", namespace="shop", name="web")),
        ({"requestResource": {"group": "g", "resource": "r"}},
         Access(group="g", resource="r", namespace="shop", name="web")),
        ({"resource": {"resource": "other"}},
         Access(resource="pods", namespace="shop", name="web")),
        ({"subResource": "status", "requestSubResource": "scale"},
         Access(resource="pods", subresource="scale", namespace="shop", name="web")),
        ({"subResource": "status"},
         Access(resource="pods", subresource="status", namespace="shop", name="web")),
        ({"name": None, "namespace": None}, Access(resource="pods")),
    ],
)  # fmt: skip
def test_the_resource_of_the_request_is_the_one_that_the_client_named(
    changes: dict[str, Any], access: Access
) -> None:
    ASKED.clear()
    policy = ValidatingPolicy(a_policy("authorizer.requestResource.check('get').allowed()"))
    policy.validate(replace(VALUES, request=REQUEST | changes))
    assert [replace(access, verb="get")] == ASKED


def test_a_policy_reads_the_spec_of_the_namespace() -> None:
    namespace = NAMESPACE | {"spec": {"finalizers": ["kubernetes"]}}
    policy = ValidatingPolicy(a_policy("namespaceObject.spec.finalizers == ['kubernetes']"))
    found = policy.validate(replace(VALUES, namespace=namespace)).decisions
    assert found == (PolicyDecision(is_denied=False),)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("object.spec.x == 1", "no such key: x"),
        ("authorizer.path('  ').check('get').allowed()", "path must not be empty"),
        ("authorizer.group('').resource('').check('x').allowed()", "resource must not be empty"),
        ("authorizer.group('').resource(' ').check('x').allowed()", "resource must not be empty"),
        (
            "authorizer.serviceAccount('a.b', 'c').path('/').check('get').allowed()",
            "Invalid service account namespace",
        ),
        (
            "authorizer.serviceAccount('a', '@').path('/').check('get').allowed()",
            "Invalid service account name",
        ),
        # Upstream declares the field by another name than the value has.
        ("namespaceObject.metadata.UID == ''", "no such key: UID"),
    ],
)
def test_a_failed_expression_follows_the_failure_policy(expression: str, message: str) -> None:
    text = f"expression '{expression}' resulted in error: {message}"
    assert decision_of(expression) == PolicyDecision(is_denied=True, is_error=True, message=text)
    ignored = decision_of(expression, failurePolicy="Ignore")
    assert ignored == PolicyDecision(is_denied=False, is_error=True, message=text)


@pytest.mark.parametrize(
    ("validation", "message", "reason"),
    [
        ({}, "failed expression: object.spec.replicas < 2", "Invalid"),
        ({"message": " too many ", "reason": "Forbidden"}, "too many", "Forbidden"),
        ({"messageExpression": "'has ' + string(object.spec.replicas)"}, "has 3", "Invalid"),
        ({"messageExpression": "object.x", "message": "m"}, "m", "Invalid"),
        ({"messageExpression": "'a\\nb'", "message": "m"}, "m", "Invalid"),
        ({"messageExpression": "' '", "message": "m"}, "m", "Invalid"),
        ({"messageExpression": f"'{'é' * 2560}'", "message": "m"}, "é" * 2560, "Invalid"),
        ({"messageExpression": f"'{'é' * 2560}x'", "message": "m"}, "m", "Invalid"),
        ({"message": "  "}, "failed expression: object.spec.replicas < 2", "Invalid"),
    ],
)
def test_a_denial_has_a_message(validation: dict[str, Any], message: str, reason: str) -> None:
    source = {"expression": " object.spec.replicas < 2 ", **validation}
    expected = PolicyDecision(is_denied=True, message=message, reason=reason)
    assert decision_of(source) == expected


def test_variables_are_typed_and_read_those_before_them() -> None:
    variables = [
        {"name": "n", "expression": "object.spec.containers.size()"},
        {"name": "twice", "expression": "variables.n * 2"},
        {"name": "broken", "expression": "object.nothing"},
        {"name": "names", "expression": "object.spec.containers.map(c, c.name)"},
    ]
    first, second, third = decisions_of(
        "variables.twice == 2 && variables.names == ['a']",
        "variables.broken == 1",
        "variables.n == 'x'",
        variables=variables,
    )
    assert not first.is_denied
    assert second.message == (
        "expression 'variables.broken == 1' resulted in error: composited variable \"broken\" "
        "fails to evaluate: no such key: nothing"
    )
    assert third.message.startswith("compilation error: compilation failed: ERROR: <input>:1:13: ")
    (unknown,) = decisions_of("variables.m == 1", variables=variables)
    assert "undefined field 'm'" in unknown.message


@pytest.mark.parametrize(("expression", "count"), [("", 0), ("  ", 0), ("object.", 1)])
def test_a_missing_expression_of_a_variable_is_no_error_of_compilation(
    expression: str, count: int
) -> None:
    policy = ValidatingPolicy(a_policy("true", variables=[{"name": "n", "expression": expression}]))
    found = [each.path for each in policy.problems()]
    assert found == ["spec.variables[0].expression"] * count


def test_a_variable_without_an_expression_is_not_declared() -> None:
    policy = ValidatingPolicy(a_policy("variables.n > 1", variables=[{"name": "n"}]))
    (problem,) = policy.problems()
    assert (problem.path, "undefined field 'n'" in problem.detail) == (
        "spec.validations[0].expression",
        True,
    )


def test_conditions_decide_whether_a_policy_says_anything() -> None:
    def result(*conditions: str, **spec: Any) -> tuple[PolicyDecision, ...]:
        written = [{"name": str(i), "expression": each} for i, each in enumerate(conditions)]
        return decisions_of("false", matchConditions=written, **spec)

    assert len(result("true")) == 1
    assert result("true", "object.x == 1", "false") == ()
    (failed,) = result("object.x == 1", "object.y == 1")
    assert failed.is_error
    assert failed.message == (
        "[expression 'object.x == 1' resulted in error: no such key: x, "
        "expression 'object.y == 1' resulted in error: no such key: y]"
    )
    assert result("object.x == 1", failurePolicy="Ignore") == ()


def test_parameters_are_unknown_to_a_policy_without_their_kind() -> None:
    conditions = [{"name": "a", "expression": "params.data.max == '2'"}]
    assert decisions_of("true", matchConditions=conditions) == (PolicyDecision(is_denied=False),)
    assert match_condition_problems(conditions, "c", has_params=True) == []
    for problem in (
        *match_condition_problems(conditions, "c"),
        *ValidatingPolicy(a_policy("true", paramKind=None, matchConditions=conditions)).problems(),
        *ValidatingPolicy(a_policy("params.x == 1", paramKind=None)).problems(),
    ):
        assert "undeclared reference to 'params'" in problem.detail


def test_conditions_read_no_namespace_and_the_requested_version() -> None:
    values = replace(
        VALUES, request=REQUEST | {"resource": {"group": "", "version": "v2", "resource": "pods"}}
    )

    def decided(condition: str) -> list[str]:
        written = [{"name": "c", "expression": condition}]
        policy = ValidatingPolicy(
            a_policy(
                "request.resource.version == 'v2' && has(namespaceObject.metadata)",
                matchConditions=written,
            )
        )
        return [each.message for each in policy.validate(values).decisions]

    assert decided("namespaceObject == null && request.resource.version == 'v1'") == [""]
    assert decided("namespaceObject.metadata.name == 'shop'") == [
        "expression 'namespaceObject.metadata.name == 'shop'' resulted in error: "
        "no such key: metadata"
    ]


@pytest.mark.parametrize(
    ("expression", "is_known"),
    [
        pytest.param("namespaceObject == null", True, id="a request without a namespace"),
        pytest.param("params == null", True, id="a binding without parameters"),
        pytest.param("!has(request.name) && !has(request.options)", False, id="options are kept"),
        pytest.param("!has(request.name) && request.userInfo == {}", True, id="empty fields"),
        pytest.param("has(request.dryRun) && !request.dryRun", True, id="false is a value"),
        pytest.param("!has(request.object) && !has(request.oldObject)", True, id="no objects"),
    ],
)
def test_the_variables_of_a_bare_request(expression: str, is_known: bool) -> None:
    request = REQUEST | {
        "name": "", "userInfo": {"username": "", "groups": []}, "object": POD, "oldObject": POD,
        "options": {},
    }  # fmt: skip
    values = AdmissionInput(object=POD, old_object=None, request=request)
    # The declared types of a request have no objects: they are read as dynamic.
    source = expression.replace("has(request.o", "has(dyn(request).o").replace(
        "request.userInfo ==", "dyn(request.userInfo) =="
    )
    (decision,) = ValidatingPolicy(a_policy(source)).validate(values).decisions
    assert decision.is_denied is not is_known


def test_conditions_of_webhooks_know_no_variables() -> None:
    conditions = [{"name": "a", "expression": "request.dryRun == false"}]
    assert match_condition_problems(conditions, "c") == []
    conditions = [{"name": "a", "expression": "variables.x"}]
    (problem,) = match_condition_problems(conditions, "c")
    assert "undeclared reference to 'variables'" in problem.detail


def test_the_budget_ends_the_policy() -> None:
    check = "authorizer.path('/').check('get').allowed()"
    (over,) = decisions_of(f"{check} && {check} && {check}")
    assert over.message.endswith("operation cancelled: actual cost limit exceeded")
    decisions = decisions_of(*[f"{check} && {check}"] * 15)
    assert decisions == (
        PolicyDecision(
            is_denied=True,
            is_error=True,
            message="validation failed due to running out of cost budget, no further validation "
            "rules will be run",
        ),
    )
    conditions = [{"name": str(i), "expression": check} for i in range(8)]
    (decision,) = decisions_of("true", matchConditions=conditions)
    assert "running out of cost budget" in decision.message


def test_messages_share_the_budget_of_validations_and_annotations_have_another() -> None:
    # Each check of a right costs 350,000, of the 10,000,000 for validations and messages.
    check = "authorizer.path('/').check('get').allowed()"
    spent = [f"{check} && {check}"] * 14
    costly = {"expression": "true", "messageExpression": "string(lists.range(150000).size())"}
    admitted = PolicyDecision(is_denied=False)
    failure = (
        "failed messageExpression: validation failed due to running out of cost budget, no further"
        " validation rules will be run"
    )
    assert decisions_of(*spent, costly) == (admitted,) * 15
    assert decisions_of(*spent, costly, costly) == (
        (PolicyDecision(is_denied=True, is_error=True, message=failure),) * 16
    )
    assert decisions_of(*spent, costly, costly, failurePolicy="Ignore") == (
        (PolicyDecision(is_denied=False, is_error=True, message=failure),) * 16
    )
    # A variable is evaluated once, however many expressions read it.
    right = [{"name": "may", "expression": check}]
    assert decisions_of(*["variables.may"] * 40, variables=right) == (admitted,) * 40
    annotations = [
        {"key": "k", "valueExpression": "string(lists.range(300000).size())"} for _ in range(2)
    ]
    policy = ValidatingPolicy(a_policy(*spent, auditAnnotations=annotations))
    found = [(each.outcome, each.value) for each in policy.validate(VALUES).annotations]
    assert found == [("publish", "300000")] * 2


def test_a_check_of_a_right_costs_as_much_as_upstreams() -> None:
    compiler = AdmissionCompiler(has_params=False)
    check = compiler.compile("authorizer.path('/healthz').check('get').allowed()", None)
    evaluation = AdmissionEvaluation(compiler, VALUES, 350_003)
    assert evaluation.evaluate(check).value is True
    assert evaluation.budget == 0


def test_annotations_are_published_excluded_or_errors() -> None:
    annotations = [
        {"key": "a", "valueExpression": "' ' + request.name"},
        {"key": "b", "valueExpression": "null"},
        {"key": "c", "valueExpression": "string(object.x)"},
        {"key": "d", "valueExpression": "''"},
    ]

    def outcomes(**spec: Any) -> list[tuple[str, str, str]]:
        policy = ValidatingPolicy(a_policy("true", auditAnnotations=annotations, **spec))
        found = policy.validate(VALUES).annotations
        return [(each.key, each.outcome, each.value) for each in found]

    rest = [("d", "exclude", "")]
    start = [("a", "publish", "web"), ("b", "exclude", "")]
    assert outcomes() == [*start, ("c", "error", ""), *rest]
    assert outcomes(failurePolicy="Ignore") == [*start, ("c", "exclude", ""), *rest]


def test_expressions_that_do_not_compile_are_problems() -> None:
    policy = a_policy(
        "object.x",
        {"expression": "true", "messageExpression": "authorizer.path('/').check('a').reason()"},
        " ",
        "object.metadata.name.matches('(')",
        variables=[{"name": "v", "expression": "x"}],
        matchConditions=[{"name": "c", "expression": "variables.v"}],
        auditAnnotations=[{"key": "k", "valueExpression": "1"}],
    )
    found = [
        (each.path, each.detail.split("\n")[0], each.is_internal)
        for each in ValidatingPolicy(policy).problems()
    ]
    undeclared = "compilation failed: ERROR: <input>:1:1: undeclared reference to"
    assert found == [
        (
            "spec.matchConditions[0].expression",
            f"{undeclared} 'variables' (in container '')",
            False,
        ),
        ("spec.variables[0].expression", f"{undeclared} 'x' (in container '')", False),
        ("spec.validations[0].expression", "must evaluate to bool but got dyn", False),
        (
            "spec.validations[1].messageExpression",
            f"{undeclared} 'authorizer' (in container '')",
            False,
        ),
        (
            "spec.validations[3].expression",
            "compilation failed: ERROR: <input>:1:30: invalid matches argument",
            False,
        ),
        (
            "spec.auditAnnotations[0].valueExpression",
            "must evaluate to one of [string null_type] but got int",
            False,
        ),
    ]


def a_mutation(kind: str, expression: str) -> MutatingPolicy:
    field = {"JSONPatch": "jsonPatch"}.get(kind, "applyConfiguration")
    mutation = {"patchType": kind, field: {"expression": expression}}
    return MutatingPolicy({"spec": {"mutations": [mutation]}})


@pytest.mark.parametrize(
    ("expression", "operations"),
    [
        ("[JSONPatch{op: 'remove', path: '/a'}]", [{"op": "remove", "path": "/a"}]),
        (
            "[JSONPatch{op: 'add', path: '/l/' + jsonpatch.escapeKey('a/b~c'), value: 1.0},"
            " JSONPatch{op: 'move', from: '/a', path: '/b'}]",
            [
                {"op": "add", "path": "/l/a~1b~0c", "value": 1},
                {"op": "move", "path": "/b", "from": "/a"},
            ],
        ),
        (
            "[JSONPatch{op: 'add', path: '/s', value: Object.spec{a: [1u, 2u], "
            "t: timestamp('2024-01-01T00:00:00Z'), d: duration('1m'), b: b'x', "
            "o: Object.spec.o{n: null, ?m: optional.none()}}}]",
            [
                {
                    "op": "add",
                    "path": "/s",
                    "value": {
                        "a": [1, 2],
                        "t": "2024-01-01T00:00:00Z",
                        "d": "60s",
                        "b": "eA==",
                        "o": {"n": None},
                    },
                }
            ],
        ),
    ],
)
def test_a_mutation_gives_a_json_patch(expression: str, operations: list[Any]) -> None:
    policy = a_mutation("JSONPatch", expression)
    assert policy.problems() == []
    assert policy.mutations == ("JSONPatch",)
    assert policy.matches(VALUES)
    assert policy.patch(0, VALUES) == operations


def test_a_mutation_gives_an_apply_configuration() -> None:
    policy = a_mutation(
        "ApplyConfiguration",
        "Object{metadata: Object.metadata{labels: {'a': object.metadata.name}},"
        " spec: Object.spec{containers: [Object.spec.containers{name: 'b'}]}}",
    )
    assert policy.problems() == []
    assert policy.patch(0, VALUES) == {
        "metadata": {"labels": {"a": "web"}},
        "spec": {"containers": [{"name": "b"}]},
    }


@pytest.mark.parametrize(
    ("kind", "expression", "message"),
    [
        ("JSONPatch", "[]", "must evaluate to list\\(JSONPatch\\) but got list\\(dyn\\)"),
        ("JSONPatch", "[JSONPatch{op: object.x}]", "resulted in error: no such key: x"),
        ("JSONPatch", "[JSONPatch{oo: 'x'}]", "undefined field 'oo'"),
        ("JSONPatch", "[JSONPatch{op: object.spec.replicas}]", "unexpected type int for JSONPatch"),
        ("JSONPatch", "[JSONPatch{value: quantity('1')}]", "could not marshal to JSON"),
        ("ApplyConfiguration", "{'a': 1}", "must evaluate to Object but got map\\(string, int\\)"),
        (
            "ApplyConfiguration",
            "Object{spec: Object.wrong{}}",
            'type mismatch: unexpected type name "Object.wrong", expected "Object.spec", which',
        ),
    ],
)
def test_a_mutation_fails(kind: str, expression: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        a_mutation(kind, expression).patch(0, VALUES)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param("9007199254740991", 9007199254740991, id="the largest exact integer"),
        pytest.param("9007199254740992", "9007199254740992", id="the next one"),
        pytest.param("-9007199254740993", "-9007199254740993", id="one that floats cannot hold"),
        pytest.param("18446744073709551615u", "18446744073709551615", id="an unsigned one"),
        pytest.param("1.5", 1.5, id="a fraction"),
        pytest.param("{'a': true}", {"a": True}, id="a map"),
        pytest.param("{1: 'a'}", {"1": "a"}, id="a map with numbers as keys"),
        pytest.param("null", None, id="null"),
        pytest.param("'x'", "x", id="a string"),
    ],
)
def test_values_of_mutations_as_json(value: str, written: object) -> None:
    policy = a_mutation("JSONPatch", f"[JSONPatch{{op: 'add', path: '/a', value: {value}}}]")
    assert policy.patch(0, VALUES) == [{"op": "add", "path": "/a", "value": written}]


def test_mutations_with_conditions_and_failures() -> None:
    def policy(condition: str, **spec: Any) -> MutatingPolicy:
        conditions = [{"name": "c", "expression": condition}]
        patch = {"patchType": "JSONPatch", "jsonPatch": {"expression": "["}}
        other = {"patchType": "Other", "applyConfiguration": {"expression": "Object{}"}}
        missing = {"patchType": "ApplyConfiguration", "jsonPatch": {"expression": "[]"}}
        blank = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": " "}}
        mutations = [other, missing, patch, blank]
        return MutatingPolicy(
            {"spec": {"matchConditions": conditions, "mutations": mutations} | spec}
        )

    assert policy("true").matches(VALUES)
    assert not policy("false").matches(VALUES)
    assert policy("true").mutations == ("JSONPatch", "ApplyConfiguration")
    assert [each.path for each in policy("x").problems()] == [
        "spec.matchConditions[0].expression", "spec.mutations[2].jsonPatch.expression",
    ]  # fmt: skip
    assert not policy("true").ignores_failures
    assert policy("true", failurePolicy="Ignore").ignores_failures
    with pytest.raises(PolicyError, match="no such key: x"):
        policy("object.x == 1").matches(VALUES)
    assert not policy("object.x == 1", failurePolicy="Ignore").matches(VALUES)
    with pytest.raises(PolicyError, match=r"compilation failed: .*mismatched input"):
        policy("true").patch(0, VALUES)


def test_the_budget_of_a_mutation_counts_its_variables() -> None:
    check = "authorizer.path('/').check('get').allowed()"
    variables = [{"name": f"v{i}", "expression": f"{check} && {check}"} for i in range(15)]
    text = " && ".join(f"variables.v{i}" for i in range(15))
    expression = f"[JSONPatch{{op: {text} ? 'add' : 'remove', path: '/a'}}]"
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    policy = MutatingPolicy({"spec": {"mutations": [mutation], "variables": variables}})
    with pytest.raises(PolicyError, match="running out of cost budget"):
        policy.patch(0, VALUES)


def test_names_of_objects_inside_of_lists_and_maps_are_checked() -> None:
    nested = "Object{spec: Object.spec{a: [Object.spec.b{}], m: {'k': Object.m{}}}}"
    with pytest.raises(PolicyError) as error:
        a_mutation("ApplyConfiguration", nested).patch(0, VALUES)
    assert str(error.value) == (
        'type mismatch: unexpected type name "Object.spec.b", expected "Object.spec.a", '
        "which matches field name path from root Object type\n"
        'unexpected type name "Object.m", expected "Object.spec.m", '
        "which matches field name path from root Object type"
    )
    wrong = "[JSONPatch{op: 'add', path: '/s', value: Object.spec{o: Object.o{}}}]"
    with pytest.raises(PolicyError, match=r'"Object\.o", expected "Object\.spec\.o"'):
        a_mutation("JSONPatch", wrong).patch(0, VALUES)


def test_objects_can_be_made_in_mutations_only() -> None:
    assert "undeclared reference to 'Object'" in decision_of("Object{} == Object{}").message


def test_variables_are_known_in_policies_that_declare_some() -> None:
    """Upstream: pkg/apis/admissionregistration/validation/validation.go, getCompiler"""
    assert "undeclared reference to 'variables'" in decision_of("variables.x == 1").message
    declared = [{"name": "y", "expression": "1"}]
    found = decision_of("variables.x == 1", variables=declared).message
    assert "undefined field 'x'" in found


def test_a_constant_that_fails_is_an_internal_error() -> None:
    (problem,) = ValidatingPolicy(a_policy("int('x') == 1")).problems()
    assert problem.is_internal
    assert problem.detail.startswith("program instantiation failed: ")


def kind_of(name: str, **properties: str) -> MatchedKind:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {field: {"type": kind} for field, kind in properties.items()},
            }
        },
    }
    return MatchedKind("example.com", "v1", name, schema)


@pytest.mark.parametrize(
    ("expression", "params", "fragments"),
    [
        pytest.param("object.spec.size > params.spec.most", "integer", (), id="fields of both"),
        pytest.param(
            "object.spec.size > params.spec.least",
            "integer",
            ("example.com/v1, Kind=Box", "undefined field 'least'"),
            id="a field that the parameters lack",
        ),
        pytest.param(
            "object.spec.size > params.spec.most",
            "string",
            ("no matching overload for '_>_' applied to '(int, string)'",),
            id="another type",
        ),
        pytest.param(
            "object.spec.size > params.anything.at.all", None, (), id="parameters of no schema"
        ),
    ],
)
def test_expressions_are_checked_against_the_schemas_of_objects_and_parameters(
    expression: str, params: str | None, fragments: tuple[str, ...]
) -> None:
    if params is None:
        of_params = MatchedKind("example.com", "v1", "Limit", None)
    else:
        of_params = kind_of("Limit", most=params)
    spec = {"validations": [{"expression": "true"}, {"expression": expression}]}
    warnings = type_warnings(spec, [kind_of("Box", size="integer")], of_params)
    assert [each["fieldRef"] for each in warnings] == (
        ["spec.validations[1].expression"] if fragments else []
    )
    for fragment in fragments:
        assert fragment in warnings[0]["warning"]


def test_warnings_name_each_kind_that_an_expression_does_not_fit() -> None:
    kinds = [
        kind_of("Box", size="integer"),
        MatchedKind("example.com", "v1", "Bag", None),
        kind_of("Can", size="string"),
        kind_of("Dot", length="integer"),
    ]
    spec = {
        "variables": [
            {"name": "size", "expression": "object.spec.size"},
            {"name": "twice", "expression": "variables.size + variables.size"},
            # Of the fields of objects in variables nothing is known.
            {"name": "spec", "expression": "object.spec"},
            {"name": "list", "expression": "[object.spec]"},
            {"name": "map", "expression": "{'a': object.spec}"},
        ],
        "validations": [
            {"expression": "variables.size > 1", "messageExpression": "object.spec.size"},
            {"expression": "variables.twice == 'aa'", "messageExpression": "'a' + 1"},
            {"expression": "params.x == 1"},
            {"expression": "authorizer.requestResource.check('a').allowed()"},
            {"expression": "variables.spec.other == 1"},
            {"expression": "variables.list[0].other == variables.map['a'].other"},
            {"expression": "variables.list == 1"},
        ],
    }
    found = {
        each["fieldRef"].removeprefix("spec."): [
            line.split(": ", 1)[0] + ": " + line.rsplit(": ", 1)[1]
            for line in each["warning"].split("\n")
            if line.startswith("example.com")
        ]
        for each in type_warnings(spec, kinds, None)
    }
    box, can, dot = (f"example.com/v1, Kind={name}" for name in ("Box", "Can", "Dot"))
    overload = "found no matching overload for '_>_' applied to '(string, int)'"
    assert found == {
        "validations[0].expression": [f"{can}: {overload}"],
        "validations[0].messageExpression": [f"{dot}: undefined field 'size'"],
        "validations[1].expression": [
            f"{box}: found no matching overload for '_==_' applied to '(int, string)'"
        ],
        "validations[1].messageExpression": [
            f"{kind}: found no matching overload for '_+_' applied to '(string, int)'"
            for kind in (box, can, dot)
        ],
        "validations[2].expression": [
            f"{kind}: undeclared reference to 'params' (in container '')"
            for kind in (box, can, dot)
        ],
        "validations[3].expression": [
            f"{kind}: unexpected failed resolution of 'kubernetes.authorization.Authorizer'"
            for kind in (box, can, dot)
        ],
        "validations[6].expression": [
            f"{kind}: found no matching overload for '_==_' applied to '(list(dyn), int)'"
            for kind in (box, can, dot)
        ],
    }
    warning = type_warnings(spec, kinds, None)[3]["warning"]
    assert warning.count("\n\nexample.com/v1, Kind=") == 2
    assert warning.endswith("^\n")

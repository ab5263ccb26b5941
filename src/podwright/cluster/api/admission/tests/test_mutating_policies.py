"""Mutating policies on single writes: whole objects, errors, second rounds; and parameters."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.attributes import Reinvocation
from podwright.cluster.api.admission.policies import (
    MutatingAdmissionPolicy,
    ValidatingAdmissionPolicy,
)
from podwright.cluster.api.admission.tests.contexts import (
    a_context,
    a_store,
    a_write,
    named,
    outcome,
)
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.versions.resources import built_in_resources

GROUP = "admissionregistration.k8s.io/v1"
RULES = {
    "resourceRules": [
        {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    ]
}
OBJECT: Document = {
    "apiVersion": "v1", "kind": "ConfigMap",
    "metadata": {"name": "m", "namespace": "default"}, "data": {"a": "1"},
}  # fmt: skip


def with_data(**data: str) -> Document:
    return OBJECT | {"data": {"a": "1"} | data}


def added(path: str, value: str) -> Document:
    """Return a mutation that sets an entry of the data to the value of an expression."""
    text = f"[JSONPatch{{op: 'add', path: '{path}', value: {value}}}]"
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}


def mutating(*mutations: Document, name: str = "p", **spec: Any) -> list[Document]:
    policy = {"matchConstraints": RULES, "mutations": list(mutations), **spec}
    return [
        named(f"{GROUP} MutatingAdmissionPolicy", name, spec=policy),
        named(f"{GROUP} MutatingAdmissionPolicyBinding", "b", spec={"policyName": name}),
    ]


@pytest.mark.parametrize(
    ("spec", "operation", "result"),
    [
        pytest.param({}, None, with_data(x="y"), id="of a creation"),
        pytest.param({}, "DELETE", OBJECT, id="nothing of a deletion"),
        pytest.param(
            {"matchConditions": [{"name": "c", "expression": "object.data.a == '2'"}]}, None,
            OBJECT, id="whose condition does not hold",
        ),
        pytest.param(
            {"matchConditions": [{"name": "c", "expression": "object.data.z == '2'"}]}, None,
            "policy 'p' with binding 'b' denied request: expression 'object.data.z == '2''"
            " resulted in error: no such key: z",
            id="whose condition cannot be evaluated",
        ),
        pytest.param(
            {"matchConditions": [{"name": "c", "expression": "object.data.z == '2'"}],
             "failurePolicy": "Ignore"}, None,
            OBJECT, id="whose condition fails, which is ignored",
        ),
        pytest.param(
            {"mutations": [added("/data/z/q", "'1'"), added("/data/x", "'y'")],
             "failurePolicy": "Ignore"}, None,
            with_data(x="y"), id="the other mutations, if failures are ignored",
        ),
        pytest.param(
            {"matchConstraints": {"objectSelector": {"matchLabels": {"a": "b"}}}}, None,
            OBJECT, id="of no other labels",
        ),
    ],
)  # fmt: skip
def test_what_a_policy_changes(spec: Document, operation: str | None, result: Any) -> None:
    documents = mutating(added("/data/x", "'y'"), **spec)
    plugin = MutatingAdmissionPolicy(a_context(a_store(*documents)))
    found = outcome(plugin, a_write("v1 ConfigMap", OBJECT, operation=operation))
    assert found == result


@pytest.mark.parametrize(
    "kind",
    [
        "authorization.k8s.io/v1 SubjectAccessReview",
        "authentication.k8s.io/v1 TokenReview",
        f"{GROUP} ValidatingAdmissionPolicy",
        f"{GROUP} MutatingWebhookConfiguration",
    ],
)
def test_reviews_and_what_admission_itself_reads_are_not_changed(kind: str) -> None:
    """Upstream: plugin/policy/generic/plugin.go, ShouldHandle; rules/rules.go, IsExemptAdmission"""
    plugin = MutatingAdmissionPolicy(a_context(a_store(*mutating(added("/data/x", "'y'")))))
    assert outcome(plugin, a_write(kind, OBJECT)) == OBJECT
    assert plugin.decides_by_template(a_write(kind, OBJECT))
    assert not plugin.decides_by_template(a_write("v1 ConfigMap", OBJECT))


def test_a_binding_that_does_not_match_leaves_the_next_one() -> None:
    first = {"policyName": "p", "matchResources": {"objectSelector": {"matchLabels": {"a": "b"}}}}
    (policy, binding) = mutating(added("/data/x", "'y'"))
    unmatched = named(f"{GROUP} MutatingAdmissionPolicyBinding", "a", spec=first)
    plugin = MutatingAdmissionPolicy(a_context(a_store(policy, unmatched, binding)))
    assert outcome(plugin, a_write("v1 ConfigMap", OBJECT)) == with_data(x="y")


def test_a_patch_that_does_not_apply_is_the_first_failure() -> None:
    documents = mutating(added("/data/z/q", "'1'"), added("/y/q", "'1'"))
    plugin = MutatingAdmissionPolicy(a_context(a_store(*documents)))
    with pytest.raises(Rejection) as error:
        plugin.admit(a_write("v1 ConfigMap", OBJECT))
    status = error.value.status
    causes = [each["message"] for each in status["details"]["causes"]]
    assert (status["code"], status["reason"], status["message"]) == (403, "Invalid", causes[0])
    begins = (
        "policy 'p' with binding 'b' denied request: JSON Patch: add operation does not apply: doc"
        " is missing path:"
    )
    assert causes == [f'{begins} "{path}": missing value' for path in ("/data/z/q", "/y/q")]
    assert (status["details"]["kind"], status["details"]["name"]) == ("configmaps", "m")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("{'bogus': 1}", 'strict decoding error: unknown field "metadata.bogus"'),
        # As strictDecodingError in apimachinery's pkg/runtime/error.go.
        ("{'a': 1, 'b': 1}",
         'strict decoding error: unknown field "metadata.a", unknown field "metadata.b"'),
        # A value that cannot be read at all comes before.
        ("{'a': 1, 'labels': 1}",
         'metadata.labels: Invalid value: 1: must be a map'),
    ],
)  # fmt: skip
def test_what_the_kind_does_not_have_is_an_internal_error(value: str, problem: str) -> None:
    plugin = MutatingAdmissionPolicy(a_context(a_store(*mutating(added("/metadata", value)))))
    found = outcome(plugin, a_write("v1 ConfigMap", OBJECT))
    assert found == f"Internal error occurred: {problem}"


BODY: Document = {"metadata": {"name": "m", "namespace": "default"}}
APPLIED: Document = {
    "patchType": "ApplyConfiguration",
    "applyConfiguration": {
        "expression": "Object{metadata: Object.metadata{annotations: {'a': 'b'}}}"
    },
}


@pytest.mark.parametrize(
    ("kind", "subresource", "body"),
    [
        ("v1 Pod", "binding", {"apiVersion": "v1", "kind": "Binding", "target": {"name": "n"}}),
        ("v1 Pod", "eviction", {"apiVersion": "policy/v1", "kind": "Eviction"}),
        (
            "apps/v1 Deployment", "scale",
            {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 3},
             "status": {"replicas": 0}},
        ),
    ],
)  # fmt: skip
def test_a_policy_changes_the_bodies_of_subresources(
    kind: str, subresource: str, body: Document
) -> None:
    rules = [RULES["resourceRules"][0] | {"resources": [f"*/{subresource}"]}]
    for mutation in (added("/metadata/annotations", "{'a': 'b'}"), APPLIED):
        documents = mutating(mutation, matchConstraints={"resourceRules": rules})
        plugin = MutatingAdmissionPolicy(a_context(a_store(*documents)))
        write = a_write(kind, BODY | body, operation="CREATE", subresource=subresource)
        metadata = BODY["metadata"] | {"annotations": {"a": "b"}}
        assert outcome(plugin, write) == BODY | body | {"metadata": metadata}


# ------------------------------------------------------------------------- second rounds


def round_of(
    plugin: MutatingAdmissionPolicy, document: Document, state: Reinvocation
) -> tuple[Document | None, bool]:
    """Return the object after a round, and whether a second one is required."""
    write = a_write("v1 ConfigMap", document, reinvocation=state)
    plugin.admit(write)
    return write.object, state.is_required


@pytest.mark.parametrize(
    ("mutations", "policy", "between", "results"),
    [
        pytest.param(
            [added("/data/a", "object.data.a + '1'")], "IfNeeded", {},
            [with_data(a="11"), with_data(a="11")], id="its own change does not run it again",
        ),
        pytest.param(
            [added("/data/a", "object.data.a + '1'")], "Never", {},
            [with_data(a="11"), with_data(a="11")], id="one that never runs again",
        ),
        pytest.param(
            [added("/data/n", "string(size(object.data))")], "IfNeeded", {"x": "y"},
            [with_data(n="1"), with_data(n="3", x="y")], id="after the change of another plugin",
        ),
        pytest.param(
            [added("/data/a", "object.data.a")], "IfNeeded", {},
            [OBJECT, OBJECT], id="one that changes nothing",
        ),
        pytest.param(
            [added("/data/n", "string(size(object.data))")], "Never", {"x": "y"},
            [with_data(n="1"), with_data(n="1", x="y")],
            id="after the change of another plugin, one that never runs again",
        ),
    ],
)  # fmt: skip
def test_a_second_round_runs_what_may_run_again(
    mutations: list[Document], policy: str, between: dict[str, str], results: list[Document]
) -> None:
    documents = mutating(*mutations, reinvocationPolicy=policy)
    plugin, state = MutatingAdmissionPolicy(a_context(a_store(*documents))), Reinvocation()
    first, is_required = round_of(plugin, OBJECT, state)
    assert first == results[0]
    assert is_required is (first != OBJECT)
    assert first is not None
    state.is_second = True
    second, _ = round_of(plugin, first | {"data": first["data"] | between}, state)
    assert second == results[1]


def test_a_policy_that_changed_nothing_runs_again_after_another_plugin() -> None:
    conditions = "has(object.data.x) ? object.data.x : object.data.a"
    documents = mutating(added("/data/a", conditions), reinvocationPolicy="IfNeeded")
    plugin, state = MutatingAdmissionPolicy(a_context(a_store(*documents))), Reinvocation()
    assert round_of(plugin, OBJECT, state) == (OBJECT, False)
    state.is_second = True
    assert round_of(plugin, with_data(x="y"), state) == (with_data(a="y", x="y"), True)


# ---------------------------------------------------------------------------- parameters

PARAMETERS = [
    named("v1 ConfigMap", "few", "default", metadata={"labels": {"size": "s"}}, data={"most": "1"}),
    named("v1 ConfigMap", "many", "default", metadata={"labels": {"size": "s"}},
          data={"most": "2"}),
    named("v1 ConfigMap", "few", "other", data={"most": "3"}),
    named("v1 Namespace", "default", metadata={"labels": {"size": "s"}}),
    named("scheduling.k8s.io/v1 PriorityClass", "high", value=7),
]  # fmt: skip
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap"}
CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
DENY = {"parameterNotFoundAction": "Deny"}
OF_BINDING = "'p' with binding 'b' denied request: failed to configure binding: "
OF_POLICY = "'p' denied request: failed to configure policy: "


@pytest.mark.parametrize(
    ("kind", "reference", "namespace", "result"),
    [
        pytest.param(None, {"name": "few"}, "default", ["none"], id="a policy without a kind"),
        pytest.param(CONFIG_MAP, None, "default", ["none"], id="a binding without a reference"),
        pytest.param(CONFIG_MAP, {"name": "few"}, "default", ["1"], id="in the same namespace"),
        pytest.param(
            CONFIG_MAP, {"name": "few", "namespace": "other"}, "default", ["3"],
            id="in a given namespace",
        ),
        pytest.param(
            CONFIG_MAP, {"selector": {"matchLabels": {"size": "s"}}}, "default", ["1", "2"],
            id="several by their labels",
        ),
        pytest.param(
            CONFIG_MAP, {"selector": {}, "namespace": "other"}, "default", ["3"],
            id="all of a namespace by an empty selector",
        ),
        pytest.param(CLASS, {"name": "high"}, "default", ["7"], id="without a namespace"),
        pytest.param(CLASS, {"selector": {}}, "default", ["7"], id="all without a namespace"),
        pytest.param(
            CONFIG_MAP, {"name": "few"}, "", f"{OF_BINDING}cannot use namespaced paramRef in policy"
            " binding that matches cluster-scoped resources", id="of a namespace the request lacks",
        ),
        pytest.param(
            CONFIG_MAP, {"name": "few", "namespace": "other"}, "", ["3"],
            id="in a given namespace, of a request without one",
        ),
        pytest.param(
            CLASS, {"name": "high", "namespace": "default"}, "default",
            f"{OF_BINDING}paramRef.namespace must not be provided for a cluster-scoped"
            " `paramKind`", id="in a namespace that the kind cannot have",
        ),
        pytest.param(
            CONFIG_MAP, {}, "default", f"{OF_BINDING}one of name or selector must be provided",
            id="without a name and a selector",
        ),
        pytest.param(CONFIG_MAP, {"name": "x"}, "default", [], id="absent"),
        pytest.param(
            CONFIG_MAP, {"name": "x"} | DENY, "default",
            f"{OF_BINDING}no params found for policy binding with `Deny` parameterNotFoundAction",
            id="absent, which denies",
        ),
        pytest.param(CONFIG_MAP, {"name": "few"} | DENY, "default", ["1"], id="present"),
        pytest.param(
            {"apiVersion": "a.io/v2", "kind": "X"}, {"name": "x"}, "default",
            f"{OF_BINDING}failed to find resource referenced by paramKind: 'a.io/v2, Kind=X'",
            id="of an unknown kind",
        ),
        pytest.param(
            {"apiVersion": "v2", "kind": "ConfigMap"}, None, "default",
            f"{OF_BINDING}failed to find resource referenced by paramKind: '/v2, Kind=ConfigMap'",
            id="of an unknown version, without a reference",
        ),
    ],
)  # fmt: skip
def test_the_parameters_of_a_binding(
    kind: Document | None, reference: Document | None, namespace: str, result: list[str] | str
) -> None:
    shown = "'none'"
    if kind is not None:
        shown = (
            "string(params == null ? 'none' : has(params.data) ? params.data.most : params.value)"
        )
    validation = {"expression": "false", "messageExpression": shown}
    policy = {"matchConstraints": RULES, "validations": [validation]}
    binding = {"policyName": "p", "validationActions": ["Warn", "Deny"]}
    for ignores in (False, True):
        spec = policy | ({"paramKind": kind} if kind else {})
        spec |= {"failurePolicy": "Ignore"} if ignores else {}
        referring = binding | ({} if reference is None else {"paramRef": reference})
        store = a_store(
            named(f"{GROUP} ValidatingAdmissionPolicy", "p", spec=spec),
            named(f"{GROUP} ValidatingAdmissionPolicyBinding", "b", spec=referring),
            *PARAMETERS,
        )
        context = a_context(store, resources=tuple(built_in_resources().values()))
        write = a_write("v1 ConfigMap", OBJECT, namespace=namespace)
        found = outcome(ValidatingAdmissionPolicy(context), write)
        warned = [each.rpartition(": ")[2] for each in write.warnings]
        if isinstance(result, str):
            # A failure of the configuration that is ignored allows the request.
            assert warned == []
            assert found == (OBJECT if ignores else f"{PREFIX}{result}")
        else:
            assert warned == result
            assert isinstance(found, str) is bool(result)


PREFIX = 'configmaps "m" is forbidden: ValidatingAdmissionPolicy '


@pytest.mark.parametrize("ignores", [False, True])
def test_a_selector_that_is_not_valid_fails_the_policy_or_its_binding(ignores: bool) -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "Like"}]}
    failure = {"failurePolicy": "Ignore"} if ignores else {}
    for spec, match, begins in (
        ({"matchConstraints": {"objectSelector": selector}}, {}, OF_POLICY),
        ({}, {"matchResources": {"objectSelector": selector}}, OF_BINDING),
    ):
        policy = {"matchConstraints": RULES, "validations": [{"expression": "true"}]}
        store = a_store(
            named(f"{GROUP} ValidatingAdmissionPolicy", "p", spec=policy | spec | failure),
            named(f"{GROUP} ValidatingAdmissionPolicyBinding", "b",
                  spec={"policyName": "p", "validationActions": ["Deny"]} | match),
        )  # fmt: skip
        plugin = ValidatingAdmissionPolicy(a_context(store))
        found = outcome(plugin, a_write("v1 ConfigMap", OBJECT))
        if ignores:
            assert found == OBJECT
        else:
            assert isinstance(found, str)
            assert found.startswith(f"{PREFIX}{begins}")

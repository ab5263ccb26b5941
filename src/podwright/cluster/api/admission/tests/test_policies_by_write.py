"""Admission policies on single writes: their input, the actions of bindings, whole messages."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.cel.functions.authorizations import Access as ReadAccess
from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import decode
from podwright.cluster.api.admission.identities.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
    may_use_signer,
)
from podwright.cluster.api.admission.policies import ValidatingAdmissionPolicy
from podwright.cluster.api.admission.policies.active_policies import ActivePolicies
from podwright.cluster.api.admission.policies.matching import (
    PolicyConfigurationError,
    selector_from,
)
from podwright.cluster.api.admission.policies.policy_input import is_reviewed, policy_input
from podwright.cluster.api.admission.tests.contexts import (
    a_context,
    a_store,
    a_write,
    named,
    outcome,
)
from podwright.cluster.api.admission.uncalled_webhooks import (
    NOT_CALLED,
    NOT_CONVERTED,
    NOT_FORWARDED,
    ValidatingAdmissionWebhook,
)
from podwright.cluster.api.authorization import Access, Decision
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.users import User
from podwright.cluster.api.versions.resources import built_in_resources

GROUP = "admissionregistration.k8s.io/v1"
RULES = {
    "resourceRules": [
        {
            "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"],
            "resources": ["configmaps"],
        }
    ]
}  # fmt: skip


def policies(*validations: Document, actions: Any = ("Deny",), **spec: Any) -> list[Document]:
    policy = {"matchConstraints": RULES, "validations": list(validations), **spec}
    binding = {"policyName": "p"} | ({} if actions is None else {"validationActions": [*actions]})
    return [
        named(f"{GROUP} ValidatingAdmissionPolicy", "p", spec=policy),
        named(f"{GROUP} ValidatingAdmissionPolicyBinding", "b", spec=binding),
    ]


OBJECT = {"metadata": {"name": "m", "namespace": "default"}, "data": {"a": "1"}}
DENIED = "configmaps \"m\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied"


@pytest.mark.parametrize(
    ("validations", "actions", "result", "warnings", "annotations"),
    [
        ([{"expression": "true"}], ["Deny"], None, [], {}),
        (
            [{"expression": "false", "message": "no"}], ["Deny"], f"{DENIED} request: no", [], {},
        ),
        (
            [{"expression": "object.data.a == '2'"}], ["Deny"],
            f"{DENIED} request: failed expression: object.data.a == '2'", [], {},
        ),
        (
            [{"expression": "false", "messageExpression": "'is ' + object.data.a"}], ["Deny"],
            f"{DENIED} request: is 1", [], {},
        ),
        (
            [{"expression": "false", "message": "no"}], ["Warn"], None,
            ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no"], {},
        ),
        (
            [{"expression": "false", "message": "no"}], ["Warn", "Audit"], None,
            ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no"],
            {"validation.policy.admission.k8s.io/validation_failure": [
                {"message": "no", "policy": "p", "binding": "b", "expressionIndex": 0,
                 "validationActions": ["Warn", "Audit"]},
            ]},
        ),
        (
            [{"expression": "true"}, {"expression": "false", "message": "ö"}], ["Audit"], None, [],
            {"validation.policy.admission.k8s.io/validation_failure": [
                {"message": "ö", "policy": "p", "binding": "b", "expressionIndex": 1,
                 "validationActions": ["Audit"]},
            ]},
        ),
        ([{"expression": "false", "message": "no"}], [], None, [], {}),
        ([{"expression": "false", "message": "no"}], None, None, [], {}),
        (
            [{"expression": "false", "message": "first"},
             {"expression": "false", "message": "second"}], ["Deny"],
            f"{DENIED} request: first", [], {},
        ),
    ],
)  # fmt: skip
def test_the_actions_of_a_binding(
    validations: list[Document], actions: Any, result: str | None, warnings: list[str],
    annotations: Document,
) -> None:  # fmt: skip
    plugin = ValidatingAdmissionPolicy(a_context(a_store(*policies(*validations, actions=actions))))
    write = a_write("v1 ConfigMap", OBJECT)
    found = outcome(plugin, write)
    assert (found if isinstance(found, str) else None) == result
    assert write.warnings == warnings
    assert {key: json.loads(text) for key, text in write.audit_annotations.items()} == annotations


@pytest.mark.parametrize(
    ("reason", "code", "shown"),
    [
        (None, 422, "Invalid"),
        ("Invalid", 422, "Invalid"),
        ("Forbidden", 403, "Forbidden"),
        ("Unauthorized", 401, "Unauthorized"),
        ("RequestEntityTooLarge", 413, "RequestEntityTooLarge"),
    ],
)
def test_the_reason_of_a_denial_is_that_of_its_status(
    reason: str | None, code: int, shown: str
) -> None:

    validation = {"expression": "false", "message": "no"} | ({"reason": reason} if reason else {})
    plugin = ValidatingAdmissionPolicy(a_context(a_store(*policies(validation))))
    with pytest.raises(Rejection) as error:
        plugin.validate(a_write("v1 ConfigMap", OBJECT))
    status = error.value.status
    assert (status["code"], status["reason"]) == (code, shown)
    assert status["details"]["causes"] == [{"message": f"{DENIED.partition(': ')[2]} request: no"}]


def test_a_policy_that_is_bound_is_compiled_once_for_each_version_of_it() -> None:
    """Upstream: compilePolicy in plugin/policy/generic/policy_source.go keeps the evaluators."""
    kind, compiled = "ValidatingAdmissionPolicy", []

    def compile_policy(document: Any) -> str:
        compiled.append(document["spec"]["validations"][0]["expression"])
        return f"compiled {compiled[-1]}"

    policy, binding = policies({"expression": "true"})
    unbound = named(f"{GROUP} {kind}", "unbound", spec=policy["spec"])
    store = a_store(policy, unbound)
    followed = ActivePolicies(store, kind, compile_policy)
    assert (followed.active(), compiled) == ([], [])
    store.put(decode(binding))
    for _ in range(2):
        assert [each.compiled for each in followed.active()] == ["compiled true"]
    assert compiled == ["true"]
    store.put(decode(policies({"expression": "false"})[0]))
    assert [(each.name, each.compiled) for each in followed.active()] == [("p", "compiled false")]
    assert compiled == ["true", "false"]


def test_annotations_of_a_policy_are_joined() -> None:
    annotations = [
        {"key": "k", "valueExpression": "string(object.data.a)"},
        {"key": "l", "valueExpression": "null"},
        {"key": "m", "valueExpression": "'é' + 'x'"},
    ]
    documents = policies(actions=["Audit"], auditAnnotations=annotations)
    second = named(
        f"{GROUP} ValidatingAdmissionPolicyBinding", "c",
        spec={"policyName": "p", "validationActions": ["Audit"]},
    )  # fmt: skip
    write = a_write("v1 ConfigMap", OBJECT)
    plugin = ValidatingAdmissionPolicy(a_context(a_store(*documents, second)))
    assert outcome(plugin, write) == OBJECT
    assert write.audit_annotations == {"p/k": "1", "p/m": "éx"}
    failing = policies(
        actions=["Deny"],
        auditAnnotations=[{"key": "k", "valueExpression": "string(object.data.z)"}],
    )
    found = outcome(
        ValidatingAdmissionPolicy(a_context(a_store(*failing))), a_write("v1 ConfigMap", OBJECT)
    )
    assert isinstance(found, str)
    assert "denied request" in found


def test_a_binding_without_a_policy_applies_none() -> None:
    policy, binding = policies({"expression": "false"})
    for bare in (binding | {"spec": {}}, {k: v for k, v in binding.items() if k != "spec"}):
        plugin = ValidatingAdmissionPolicy(a_context(a_store(policy, bare)))
        assert outcome(plugin, a_write("v1 ConfigMap", OBJECT)) == OBJECT


def test_which_requests_policies_review() -> None:
    every = {"resourceRules": [RULES["resourceRules"][0] | {"resources": ["*"]}]}
    documents = policies({"expression": "false"}, matchConstraints=every)
    denying = ValidatingAdmissionPolicy(a_context(a_store(*documents)))
    for kind, is_seen in (
        ("v1 ConfigMap", True),
        ("v1 Namespace", True),
        ("authorization.k8s.io/v1 SubjectAccessReview", False),
        ("authentication.k8s.io/v1 TokenReview", False),
        (f"{GROUP} ValidatingAdmissionPolicy", False),
        (f"{GROUP} MutatingWebhookConfiguration", False),
    ):
        assert is_reviewed(a_write(kind, {})) is is_seen, kind
        assert isinstance(outcome(denying, a_write(kind, OBJECT)), str) is is_seen, kind
    plugin = ValidatingAdmissionPolicy(a_context(a_store(*policies({"expression": "true"}))))
    assert not plugin.decides_by_template(a_write("v1 ConfigMap", OBJECT))
    assert plugin.decides_by_template(a_write(f"{GROUP} ValidatingAdmissionPolicy", {}))
    empty = ValidatingAdmissionPolicy(a_context())
    assert empty.decides_by_template(a_write("v1 ConfigMap", OBJECT))


class Rights:
    """Allows accesses by their verb and name, and keeps them."""

    def __init__(self, *allowed: str) -> None:
        self._allowed = allowed
        self.asked: list[Access] = []

    def authorize(self, access: Access) -> Decision:
        self.asked.append(access)
        is_allowed = f"{access.verb} {access.name}" in self._allowed
        return Decision(is_allowed=is_allowed or None, reason="why")

    def rules_for(self, user: User, namespace: str) -> Any:
        raise AssertionError((user, namespace))


def test_the_input_of_a_policy() -> None:

    space = named("v1 Namespace", "default", metadata={"labels": {"a": "1"}})
    rights = Rights("get x")
    context = msgspec.structs.replace(a_context(a_store(space)), authorizer=rights)
    user = User("ada", uid="7", groups=("g",), extra={"e": ("1", "2")})
    resource = built_in_resources()["v1", "ConfigMap"]
    write = a_write(
        "v1 ConfigMap", OBJECT, {"metadata": {"name": "m"}}, name="m", user=user,
        options={"dryRun": ["All"]}, is_dry_run=True, subresource="s",
    )  # fmt: skip
    found = policy_input(context, write, resource, {"p": 1})
    assert found.object is OBJECT
    assert found.old_object == {"metadata": {"name": "m"}}
    assert found.params == {"p": 1}
    assert found.namespace is not None
    assert found.namespace["metadata"]["labels"] == {"a": "1"}
    kind = {"group": "", "version": "v1", "kind": "ConfigMap"}
    of_resource = {"group": "", "version": "v1", "resource": "configmaps"}
    assert found.request == {
        "uid": "",
        "kind": kind,
        "resource": of_resource,
        "subResource": "s",
        "requestKind": kind,
        "requestResource": of_resource,
        "requestSubResource": "s",
        "name": "m",
        "namespace": "default",
        "operation": "UPDATE",
        "userInfo": {
            "username": "ada", "uid": "7", "groups": ["g"], "extra": {"e": ["1", "2"]},
        },
        "dryRun": True,
        "options": {"dryRun": ["All"]},
    }  # fmt: skip
    assert found.authorize is not None
    for name, is_allowed in (("x", True), ("y", False)):
        decision = found.authorize(ReadAccess(verb="get", resource="pods", name=name))
        assert (decision.is_allowed, decision.reason) == (is_allowed, "why")
    assert [(each.user, each.version, each.is_resource) for each in rights.asked] == [
        (user, "*", True)
    ] * 2
    found.authorize(ReadAccess(verb="get", path="/x", service_account=("n", "s")))
    last = rights.asked[-1]
    where = ReadAccess(verb="v", group="g", resource="r", subresource="s", namespace="n", name="m")
    found.authorize(where)
    asked = rights.asked[-1]
    assert (asked.verb, asked.group, asked.resource, asked.subresource) == ("v", "g", "r", "s")
    assert (asked.namespace, asked.name, asked.path) == ("n", "m", "")
    assert (last.path, last.is_resource, last.user.name) == (
        "/x", False, "system:serviceaccount:n:s",
    )  # fmt: skip
    assert last.user.groups == (
        "system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated",
    )  # fmt: skip
    # The namespace of a namespace, and of an object without one, is none.
    spaces = built_in_resources()["v1", "Namespace"]
    own = a_write("v1 Namespace", space, namespace="default")
    assert policy_input(context, own, spaces, None).namespace is None
    node = a_write("v1 Node", {}, namespace="")
    assert policy_input(context, node, built_in_resources()["v1", "Node"], None).namespace is None
    lost = a_write("v1 ConfigMap", {}, namespace="absent")
    assert policy_input(context, lost, resource, None).namespace is None


@pytest.mark.parametrize(
    ("of", "subresource", "kind"),
    [
        ("v1 Pod", "status", "/v1/Pod"),
        ("v1 Pod", "binding", "/v1/Binding"),
        ("v1 Pod", "eviction", "policy/v1/Eviction"),
        ("v1 ServiceAccount", "token", "authentication.k8s.io/v1/TokenRequest"),
        ("apps/v1 Deployment", "scale", "autoscaling/v1/Scale"),
    ],
)
def test_the_kind_of_a_request_is_that_of_its_body(of: str, subresource: str, kind: str) -> None:
    write = a_write(of, {}, subresource=subresource)
    found = policy_input(a_context(a_store()), write, write.resource, None).request
    expected = dict(zip(("group", "version", "kind"), kind.split("/"), strict=True))
    assert (found["kind"], found["requestKind"]) == (expected, expected)


def test_selectors_of_policies() -> None:
    assert selector_from(None).matches({"a": "1"})
    assert selector_from({"matchLabels": {"a": "1"}}).matches({"a": "1"})
    assert not selector_from({"matchLabels": {"a": "1"}}).matches({})
    for operator in ("In", "Like"):  # without values, and none that there is
        with pytest.raises(PolicyConfigurationError):
            selector_from({"matchExpressions": [{"key": "a", "operator": operator}]})


# --------------------------------------------------------------------------- certificates

REQUEST = "certificates.k8s.io/v1 CertificateSigningRequest"
SIGNER = "example.com/a"


def request(**status: Any) -> Document:
    spec = {"signerName": SIGNER, "request": ""}
    return {"metadata": {"name": "r"}, "spec": spec, "status": status}


def refused(verb: str, what: str) -> str:
    return (
        f'certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to'
        f' {verb} {what} "{SIGNER}"'
    )


def test_the_right_to_a_signer_or_to_its_domain() -> None:
    user = User("ada")
    for allowed, may in (
        ("sign example.com/a", True),
        ("sign example.com/*", True),
        ("sign example.com/b", False),
        ("approve example.com/a", False),
    ):
        rights = Rights(allowed)
        assert may_use_signer(rights, user, "sign", SIGNER) is may
        first = rights.asked[0]
        assert (first.user, first.verb, first.group, first.resource, first.version) == (
            user, "sign", "certificates.k8s.io", "signers", "*",
        )  # fmt: skip
        assert [each.name for each in rights.asked][: 2 if not may else 1] == [
            "example.com/a", "example.com/*",
        ][: 2 if not may else 1]  # fmt: skip


@pytest.mark.parametrize(
    ("plugin", "subresource", "new", "old", "verb", "what"),
    [
        (CertificateApproval, "approval", request(), request(), "approve",
         "requests with signerName"),
        (CertificateApproval, "status", request(), request(), "", ""),
        (CertificateApproval, "", request(), request(), "", ""),
        (CertificateSigning, "status", request(certificate="x"), request(), "sign",
         "requests with signerName"),
        (CertificateSigning, "status", request(), request(certificate="x"), "sign",
         "requests with signerName"),
        (CertificateSigning, "status", request(conditions=[{"type": "A"}]), request(), "sign",
         "requests with signerName"),
        (CertificateSigning, "status", request(conditions=[], certificate=""), request(), "", ""),
        (CertificateSigning, "status", request(other="x"), request(), "", ""),
        (CertificateSigning, "approval", request(certificate="x"), request(), "", ""),
    ],
)  # fmt: skip
def test_the_rights_to_approve_and_to_sign(
    plugin: Any, subresource: str, new: Document, old: Document, verb: str, what: str
) -> None:
    write = a_write(REQUEST, new, old, subresource=subresource, namespace="")
    expected = refused(verb, what) if verb else new
    assert outcome(plugin(a_context(authorizer=Rights())), write) == expected
    assert outcome(plugin(a_context(authorizer=Rights(f"{verb} {SIGNER}"))), write) == new


def test_the_right_to_publish_a_bundle() -> None:
    kind = next(
        f"{version} {name}"
        for version, name in built_in_resources()
        if name == "ClusterTrustBundle"
    )

    def bundle(signer: str, text: str = "a", **metadata: Any) -> Document:
        spec = {"signerName": signer, "trustBundle": text}
        return {"metadata": {"name": "r"} | metadata, "spec": spec}

    owned = bundle(SIGNER, finalizers=["f"], managedFields=[{}], ownerReferences=[{}])
    for new, old, facts, is_refused in (
        (bundle(SIGNER), None, {}, True),
        (bundle(""), None, {}, False),
        (bundle(SIGNER), bundle(SIGNER), {}, False),
        (owned, bundle(SIGNER), {}, False),
        (bundle(SIGNER, labels={"a": "1"}), bundle(SIGNER), {}, True),
        (bundle(SIGNER, "b"), bundle(SIGNER), {}, True),
        (bundle(SIGNER), bundle(SIGNER, "b"), {"operation": "DELETE"}, False),
    ):
        write = a_write(kind, new, old, namespace="", **facts)
        found = outcome(ClusterTrustBundleAttest(a_context(authorizer=Rights())), write)
        assert isinstance(found, str) is is_refused, (new, old)
        if is_refused:
            assert str(found).endswith(f'user not permitted to attest for signerName "{SIGNER}"')
            assert (
                outcome(
                    ClusterTrustBundleAttest(a_context(authorizer=Rights(f"attest {SIGNER}"))),
                    write,
                )
                == new
            )


def test_unreadable_requests_for_client_certificates() -> None:
    client = "kubernetes.io/kube-apiserver-client"
    for text, reason in (
        ("", "PEM block type must be CERTIFICATE REQUEST"),
        ("eA==", "PEM block type must be CERTIFICATE REQUEST"),
    ):
        new = {"metadata": {"name": "r"}, "spec": {"signerName": client, "request": text}}
        write = a_write(REQUEST, new, namespace="")
        found = outcome(CertificateSubjectRestriction(a_context()), write)
        assert found == (
            'certificatesigningrequests.certificates.k8s.io "r" is forbidden: failed to parse CSR:'
            f" {reason}"
        )
        for other in (
            a_write(REQUEST, new, operation="DELETE", namespace=""),
            a_write(REQUEST, new, subresource="status", namespace=""),
            a_write(REQUEST, new | {"spec": {"signerName": "x", "request": text}}, namespace=""),
        ):
            assert outcome(CertificateSubjectRestriction(a_context()), other) == other.object


# ------------------------------------------------------------------------------- webhooks


@pytest.mark.parametrize(
    ("kind", "new", "warning"),
    [
        (f"{GROUP} ValidatingWebhookConfiguration", {"webhooks": [{}]}, NOT_CALLED),
        (f"{GROUP} MutatingWebhookConfiguration", {"webhooks": [{}]}, NOT_CALLED),
        (f"{GROUP} ValidatingWebhookConfiguration", {"webhooks": []}, None),
        (
            "apiextensions.k8s.io/v1 CustomResourceDefinition",
            {"spec": {"conversion": {"strategy": "Webhook"}}}, NOT_CONVERTED,
        ),
        (
            "apiextensions.k8s.io/v1 CustomResourceDefinition",
            {"spec": {"conversion": {"strategy": "None"}}}, None,
        ),
        ("apiextensions.k8s.io/v1 CustomResourceDefinition", {"spec": {}, "webhooks": [1]}, None),
        ("apiregistration.k8s.io/v1 APIService", {"spec": {"service": {}}}, NOT_FORWARDED),
        ("apiregistration.k8s.io/v1 APIService", {"spec": {}, "webhooks": [1]}, None),
    ],
)  # fmt: skip
def test_warnings_about_what_is_not_called(kind: str, new: Document, warning: str | None) -> None:
    expected = [] if warning is None else [warning]
    for write, warnings in (
        (a_write(kind, new, namespace=""), expected),
        (a_write(kind, new, {}, namespace=""), expected),
        (a_write(kind, new, {}, operation="DELETE", namespace=""), []),
        (a_write(kind, new, {}, subresource="status", namespace=""), []),
    ):
        assert outcome(ValidatingAdmissionWebhook(a_context()), write) == new
        assert write.warnings == warnings

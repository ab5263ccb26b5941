"""What is wrong with new and changed objects, and the order in which the errors are shown."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import decode
from podwright.apimachinery.schema.structural import CustomKind, CustomVersion
from podwright.cluster.api.authorization import (
    AlwaysAllow,
    AuthorizerChain,
    Decision,
    EscalationCheck,
)
from podwright.cluster.api.authorization.role_resolver import RoleResolver
from podwright.cluster.api.endpoints.tests.test_discovery import custom
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.stages.admitting import own, refuse_escalation, warn
from podwright.cluster.api.stages.checking import admin_access_problems, check_change, check_new
from podwright.cluster.api.stages.kinds.certificate_requests import signer_problems, with_requestor
from podwright.cluster.api.stages.kinds.claim_statuses import _node_of
from podwright.cluster.api.stages.kinds.custom_resources import check_kind_of_object, write_warnings
from podwright.cluster.api.stages.kinds.service_allocation import ServiceAllocations
from podwright.cluster.api.stages.tests.writes import NOW, parts, resource, sent_write
from podwright.cluster.api.users import User
from podwright.cluster.api.versions.resources import Resource, built_in_resources
from podwright.cluster.store import ObjectStore


def problems(stage: Any, kind: str, new: Document, **facts: Any) -> str | None:
    """Return the message of a stage that rejects an object."""
    options = {
        name: facts.pop(name)
        for name in ("compares_taints", "mounts_labels", "allocators", "store")
        if name in facts
    }
    try:
        stage(parts(**options), sent_write(kind, new, **facts))
    except Rejection as error:
        return str(error.status["message"]) if error.code == 422 else f"not 422: {error}"
    return None


def config_map(**metadata: Any) -> Document:
    return {"metadata": {"name": "a", "namespace": "default"} | metadata}


@pytest.mark.parametrize(
    ("kind", "new", "facts", "message"),
    [
        ("v1 ConfigMap", config_map(), {}, None),
        (
            "v1 ConfigMap", {"metadata": {"namespace": "default"}}, {},
            'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is'
            " required",
        ),
        (
            "v1 ConfigMap", {"metadata": {}}, {"namespace": ""},
            'ConfigMap "" is invalid: [metadata.name: Required value: name or generateName is'
            " required, metadata.namespace: Required value]",
        ),
        (
            "v1 ConfigMap", config_map(), {"namespace": ""},
            'ConfigMap "a" is invalid: metadata.namespace: Required value',
        ),
        ("v1 Node", {"metadata": {"name": "n"}}, {"namespace": ""}, None),
        (
            "v1 ConfigMap", config_map(finalizers=["x"]), {},
            'ConfigMap "a" is invalid: metadata.finalizers[0]: Invalid value: "x": name is neither'
            " a standard finalizer name nor is it fully qualified",
        ),
        ("v1 ConfigMap", config_map(finalizers=["x/y", "orphan"]), {}, None),
        # The registry checks the metadata of this kind, but only of a valid object.
        (
            "policy/v1 PodDisruptionBudget", config_map(name="a/b"), {},
            'PodDisruptionBudget.policy "a/b" is invalid: metadata.name: Invalid value: "a/b":'
            " may not contain '/'",
        ),
        (
            "policy/v1 PodDisruptionBudget",
            config_map(name="a/b") | {"spec": {"minAvailable": 1, "maxUnavailable": 1}}, {},
            'PodDisruptionBudget.policy "a/b" is invalid: spec: Invalid value: {"MinAvailable":1,'
            '"Selector":null,"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}: minAvailable'
            " and maxUnavailable cannot be both set",
        ),
        (
            "v1 ConfigMap", config_map(name="A") | {"data": {"/": "1"}}, {},
            'ConfigMap "A" is invalid: [metadata.name: Invalid value: "A": a lowercase RFC 1123'
            " subdomain must consist of lower case alphanumeric characters, '-' or '.', and must"
            " start and end with an alphanumeric character (e.g. 'example.com', regex used for"
            " validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'),"
            ' data[/]: Invalid value: "/": a valid config key must consist of alphanumeric'
            " characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex"
            " used for validation is '[-._a-zA-Z0-9]+')]",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_new_object(
    kind: str, new: Document, facts: Document, message: str | None
) -> None:
    assert problems(check_new, kind, new, **facts) == message


def test_a_checked_object_is_in_the_form_of_go() -> None:
    write = sent_write("v1 Node", {"spec": {"taints": []}, "metadata": {"name": "n"}}, namespace="")
    check_new(parts(), write)
    assert list(write.new) == ["metadata", "spec", "status"]
    assert write.new["spec"] == {}


def test_empty_maps_are_printed_as_they_were_sent() -> None:
    volume: Document = {
        "metadata": {"name": "v"},
        "spec": {"accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a", "type": ""}},
    }
    for capacity, shown in (({}, "{}"), (None, "null")):
        sent = volume | {"spec": volume["spec"] | {"capacity": capacity}}
        found = problems(check_new, "v1 PersistentVolume", volume, sent=sent, namespace="")
        assert found == (
            'PersistentVolume "v" is invalid: [spec.capacity: Required value, spec.capacity:'
            f' Unsupported value: {shown}: supported values: "storage"]'
        )


def deployment(labels: Document | None = None, **spec: Any) -> Document:
    template = {
        "metadata": {"labels": {"a": "1"} if labels is None else labels},
        "spec": {
            "containers": [
                {"name": "c", "image": "i", "imagePullPolicy": "Always",
                 "terminationMessagePolicy": "File"}
            ],
            "restartPolicy": "Always", "dnsPolicy": "ClusterFirst",
            "terminationGracePeriodSeconds": 30, "schedulerName": "default-scheduler",
            "securityContext": {},
        },
    }  # fmt: skip
    own = {
        "replicas": 1, "selector": {"matchLabels": {"a": "1"}}, "template": template,
        "strategy": {"type": "Recreate"}, "revisionHistoryLimit": 1, "progressDeadlineSeconds": 9,
    }  # fmt: skip
    metadata = {"name": "d", "namespace": "default", "uid": "u", "resourceVersion": "2"}
    return {"metadata": metadata, "spec": own | spec}


def test_an_empty_map_of_labels_is_not_null() -> None:
    new = deployment({})
    for labels, shown in (({}, "{}"), (None, "null")):
        sent = deployment()
        sent["spec"]["template"] = {"metadata": {"labels": labels}}
        found = problems(check_new, "apps/v1 Deployment", new, sent=sent)
        assert found is not None
        assert f"spec.template.metadata.labels: Invalid value: {shown}: `selector`" in found


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (deployment(replicas=2), None),
        (
            deployment(replicas=-1),
            'Deployment.apps "d" is invalid: spec.replicas: Invalid value: -1: must be greater than'
            " or equal to 0",
        ),
        (
            deployment(selector={"matchLabels": {"b": "1"}}),
            'Deployment.apps "d" is invalid: [spec.template.metadata.labels: Invalid value:'
            ' {"a":"1"}: `selector` does not match template `labels`, spec.selector: Invalid value:'
            ' {"matchLabels":{"b":"1"}}: field is immutable]',
        ),
    ],
)
def test_what_is_wrong_with_a_changed_object(new: Document, message: str | None) -> None:
    found = problems(check_change, "apps/v1 Deployment", new, old=deployment())
    assert found == message


TOLERATION = {"key": "a", "operator": "Gt", "value": "5", "effect": "NoSchedule"}


def runtime_class(*tolerations: Document) -> Document:
    return {
        "metadata": {"name": "r", "uid": "u", "resourceVersion": "2"}, "handler": "h",
        "scheduling": {"tolerations": [*tolerations]},
    }  # fmt: skip


def test_comparisons_of_tolerations_need_their_gate() -> None:
    kind = "node.k8s.io/v1 RuntimeClass"
    shown = (
        'RuntimeClass.node.k8s.io "r" is invalid: scheduling.tolerations[0].operator: Unsupported'
        ' value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"'
    )
    for compares, message in ((True, None), (False, shown)):
        facts = {"namespace": "", "compares_taints": compares}
        assert problems(check_new, kind, runtime_class(TOLERATION), **facts) == message
        changed = runtime_class(TOLERATION)
        assert problems(check_change, kind, changed, old=runtime_class(), **facts) == message
        kept = runtime_class(TOLERATION)
        assert problems(check_change, kind, changed, old=kept, **facts) is None


def test_labels_of_mounts_need_their_gate() -> None:
    def pod(policy: str | None) -> Document:
        made = deployment()["spec"]["template"]["spec"]
        options = {} if policy is None else {"seLinuxChangePolicy": policy}
        return {
            "metadata": {"name": "p", "namespace": "default", "resourceVersion": "2"},
            "spec": made | {"securityContext": options},
        }

    path = "spec.securityContext.seLinuxChangePolicy"
    for policy, mounts, is_right in (
        (None, False, True),
        ("Recursive", False, True),
        ("MountOption", True, True),
        ("MountOption", False, False),
        ("Other", True, False),
    ):
        made = problems(check_new, "v1 Pod", pod(policy), mounts_labels=mounts)
        assert (made is None) == is_right, (policy, mounts)
        assert is_right or f'Pod "p" is invalid: {path}: Unsupported value' in str(made)
        kept = problems(check_change, "v1 Pod", pod(policy), old=pod(policy), mounts_labels=mounts)
        assert (kept is None) == is_right, (policy, mounts)


# ------------------------------------------------------------------------------- devices


def claim(*, is_admin: bool | None = None, is_granted: bool = False, in_alternative: bool = False,
          namespace: str = "default") -> Document:  # fmt: skip
    request: Document = {"deviceClassName": "c"} | (
        {} if is_admin is None else {"adminAccess": is_admin}
    )
    requests: list[Document] = [{"name": "r", "exactly": {"deviceClassName": "c"}},
                                {"name": "s", "exactly": request}]  # fmt: skip
    if in_alternative:
        requests[1] = {"name": "s", **request}
    spec = {"devices": {"requests": requests}}
    results = [{"device": "x"}, {"device": "y", "adminAccess": True}] if is_granted else []
    status = {"allocation": {"devices": {"results": results}}}
    return {"metadata": {"name": "c", "namespace": namespace}, "spec": spec, "status": status}


ADMIN = (
    "Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true`"
    " label on the containing namespace"
)
REQUESTED, GRANTED = (
    [(f"{path}[1].adminAccess", ADMIN, None)]
    for path in ("spec.devices.requests", "status.allocation.devices.results")
)


def test_who_may_request_admin_access() -> None:
    label = {"resource.kubernetes.io/admin-access": "true"}
    store = ObjectStore()
    for name, labels in (("default", {}), ("admin", label), ("no", dict.fromkeys(label, "false"))):
        metadata = {"name": name, "labels": labels}
        store.put(decode({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}))
    claims = resource("resource.k8s.io/v1 ResourceClaim")
    for new, old, found in (
        (claim(), None, []),
        (claim(is_admin=False), None, []),
        (claim(is_admin=True), None, REQUESTED),
        (claim(is_admin=True, in_alternative=True), None, REQUESTED),
        (claim(is_admin=True, namespace="admin"), None, []),
        (claim(is_admin=True, namespace="no"), None, REQUESTED),
        (claim(is_admin=True, namespace="absent"), None, REQUESTED),
        (claim(is_granted=True), None, []),
        (claim(is_admin=True), claim(), []),
        (claim(is_granted=True), claim(), GRANTED),
        (claim(is_granted=True, namespace="admin"), claim(), []),
        (claim(is_granted=True), claim(is_granted=True), []),
        ({}, None, []),
        ({"metadata": None, "spec": None, "status": None}, {}, []),
    ):
        assert admin_access_problems(store, claims, new, old) == found, (new, old)
    template = claim(is_admin=True)
    template["spec"] = {"spec": template["spec"]}
    templates = resource("resource.k8s.io/v1 ResourceClaimTemplate")
    assert admin_access_problems(store, templates, template, None) == REQUESTED
    pods = resource("v1 Pod")
    assert admin_access_problems(store, pods, claim(is_admin=True), None) == []
    message = problems(
        check_new, "resource.k8s.io/v1 ResourceClaim", claim(is_admin=True), store=store
    )
    assert message is not None
    assert f"spec.devices.requests[1].adminAccess: {ADMIN}" in message


# ------------------------------------------------------------------------------- expressions


def policy(expression: str, **metadata: Any) -> Document:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule | {"scope": "*"}],
                             "matchPolicy": "Equivalent", "namespaceSelector": {},
                             "objectSelector": {}},
        "failurePolicy": "Fail",
        "validations": [{"expression": expression}],
    }  # fmt: skip
    return {"metadata": {"name": "p", "resourceVersion": "1"} | metadata, "spec": spec}


@pytest.mark.parametrize(
    ("expression", "subresource", "is_wrong"),
    [("true", "", False), ("1 +", "", True), ("'ö' +", "", True), ("1 +", "status", False)],
)
def test_expressions_are_checked_again_when_an_object_changes(
    expression: str, subresource: str, is_wrong: bool
) -> None:
    kind = "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy"
    message = problems(
        check_change, kind, policy(expression), old=policy("true"), subresource=subresource,
        namespace="",
    )  # fmt: skip
    if is_wrong:
        assert message is not None
        start = 'ValidatingAdmissionPolicy.admissionregistration.k8s.io "p" is invalid: '
        shown = f'spec.validations[0].expression: Invalid value: "{expression}": '
        assert message.startswith(start + shown)
    else:
        assert message is None


RULES = {"matchConstraints": policy("true")["spec"]["matchConstraints"], "failurePolicy": "Fail"}


@pytest.mark.parametrize(
    ("kind", "spec", "field"),
    [
        ("MutatingAdmissionPolicy", RULES | {"reinvocationPolicy": "Never", "mutations": [
            {"patchType": "JSONPatch", "jsonPatch": {"expression": "1 +"}},
        ]}, "spec.mutations[0].jsonPatch.expression"),
        ("MutatingAdmissionPolicy", RULES | {"reinvocationPolicy": "Never", "mutations": [
            {"patchType": "JSONPatch", "jsonPatch": {
                "expression": "[JSONPatch{op: 'remove', path: '/spec'}]"}},
        ]}, None),
        ("ValidatingAdmissionPolicy", policy("1 +")["spec"], "spec.validations[0].expression"),
        # A kind of the group that has no expressions.
        ("ValidatingAdmissionPolicyBinding",
         {"policyName": "p", "validationActions": ["Deny"]}, None),
    ],
)  # fmt: skip
def test_the_expressions_of_each_kind_are_checked(kind, spec, field):
    document = {"metadata": {"name": "p"}, "spec": spec}
    group = "admissionregistration.k8s.io/v1"
    message = problems(check_new, f"{group} {kind}", document, namespace="")
    assert (message is None) is (field is None), message
    if field is not None:
        assert f"is invalid: {field}: Invalid value: " in str(message)


def test_a_version_without_rules_has_those_of_the_stored_one():
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    document = config_map() | {"spec": {"maxReplicas": 0, "scaleTargetRef": target}}
    message = problems(check_new, "autoscaling/v1 HorizontalPodAutoscaler", document)
    assert message == (
        'HorizontalPodAutoscaler.autoscaling "a" is invalid: spec.maxReplicas: Required value: must'
        " be set and greater than 0"
    )


def test_the_address_of_an_invalid_service_is_drawn_before_its_errors_are_found():
    store = ObjectStore(seed=7)
    drawn: list[Document] = []

    def allocate(service: Document, stored: Document | None, *, is_dry_run: bool) -> Document:
        assert (stored, is_dry_run) == (None, True)
        drawn.append(ServiceAllocations(store).allocate(service, stored, is_dry_run=is_dry_run))
        return drawn[-1]

    ports = [{"port": 80, "protocol": "TCP", "targetPort": 80}] * 2
    spec = {
        "type": "ClusterIP", "ports": ports, "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
    }  # fmt: skip
    document = config_map() | {"spec": spec}
    facts = {"allocators": {("", "Service"): allocate}, "is_dry_run": True}
    message = str(problems(check_new, "v1 Service", document, **facts))
    assert "spec.ports[0].name: Required value" in message
    assert [each["spec"]["clusterIP"].rpartition(".")[0] for each in drawn] == ["10.0.0"]
    # One whose addresses are wrong is rejected before.
    document = config_map() | {"spec": spec | {"clusterIP": "x", "clusterIPs": ["x"]}}
    message = str(problems(check_new, "v1 Service", document, **facts))
    assert "spec.clusterIPs[0]: Invalid value" in message
    assert len(drawn) == 1


# ------------------------------------------------------------------------------ certificates


class Nobody:
    """Allows nothing."""

    def authorize(self, access: Any) -> Decision:
        del access
        return Decision(is_allowed=None)

    def rules_for(self, user: User, namespace: str) -> Any:
        raise AssertionError((user, namespace))


def test_who_may_change_the_status_of_a_certificate_request_of_a_pod() -> None:
    requests = next(
        each for each in built_in_resources().values() if each.name == "PodCertificateRequest"
    )
    old: Document = {"spec": {"signerName": "example.com/a"}, "status": {}}
    new: Document = old | {"status": {"conditions": [{}]}}
    text = 'User "ada" is not permitted to "sign" for signer "example.com/a"'
    refused = [("spec.signerName", f"Forbidden: {text}", None)]
    user = User("ada")
    for kind, changed, authorizer, found in (
        (requests, new, Nobody(), refused),
        (requests, old, Nobody(), []),
        (requests, {"status": None}, Nobody(), []),
        (requests, new, AlwaysAllow(), []),
        (resource("v1 Pod"), new, Nobody(), []),
    ):
        assert signer_problems(authorizer, user, kind, changed, old) == found
    ((_, message, _),) = signer_problems(Nobody(), user, requests, new, {})
    assert message.endswith('is not permitted to "sign" for signer ""')
    assert with_requestor(resource("v1 Pod"), new, user) is new
    signed = resource("certificates.k8s.io/v1 CertificateSigningRequest")
    sent: Document
    for sent in ({}, {"spec": {"username": "x", "groups": ["g"], "extra": {}}, "status": {"a": 1}}):
        made = {"spec": {"username": "ada"}, "status": {}}
        assert with_requestor(signed, sent, user) == made
    group = User("ada", uid="u", groups=("a", "b"), extra={"k": ("v",)})
    assert with_requestor(signed, {"spec": {"request": "r"}}, group)["spec"] == {
        "request": "r", "username": "ada", "uid": "u", "groups": ["a", "b"], "extra": {"k": ["v"]},
    }  # fmt: skip


NAME_IS_A = {"key": "metadata.name", "operator": "In", "values": ["a"]}


@pytest.mark.parametrize(
    ("terms", "node"),
    [
        ([{"matchFields": [NAME_IS_A]}], "a"),
        ([{"matchFields": [NAME_IS_A | {"values": ["a", "b"]}]}], None),
        ([{"matchFields": [NAME_IS_A | {"operator": "NotIn"}]}], None),
        ([{"matchFields": [NAME_IS_A | {"key": "metadata.namespace"}]}], None),
        ([{"matchFields": [NAME_IS_A] * 2}], None),
        ([{"matchFields": [NAME_IS_A]}] * 2, None),
        ([{"matchFields": [NAME_IS_A], "matchExpressions": [{"key": "k"}]}], None),
        ([{}], None),
        ([], None),
    ],
)
def test_the_only_node_of_an_allocation(terms: list[Document], node: str | None) -> None:
    assert _node_of({"nodeSelector": {"nodeSelectorTerms": terms}}) == node
    assert _node_of({}) is None


def test_roles_that_give_more_than_their_writer_has() -> None:
    store = ObjectStore()
    chain = AuthorizerChain([Nobody()])
    served = parts(store, escalation=EscalationCheck(chain, RoleResolver(store)))
    role = {
        "metadata": {"name": "r", "namespace": "default"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }
    write = sent_write("rbac.authorization.k8s.io/v1 Role", role)
    write.attributes.object = role
    with pytest.raises(Rejection) as error:
        refuse_escalation(served, write)
    assert error.value.status["code"] == 403
    assert str(error.value.status["message"]).startswith(
        'roles.rbac.authorization.k8s.io "r" is forbidden: user "ada" (groups=[]) is attempting to'
        " grant RBAC permissions not currently held:"
    )
    # Other kinds grant nothing.
    other = sent_write("v1 ConfigMap", config_map())
    refuse_escalation(served, other)
    binding = {
        "metadata": {"name": "b", "namespace": "default"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "absent"},
    }
    for reference, code, message in (
        ({"name": "absent"}, 404, 'rolebindings.rbac.authorization.k8s.io "absent" not found'),
        ({"name": ""}, 400, "Name parameter required."),
        ({"kind": "X"}, 400, 'unsupported role reference kind: "X"'),
    ):
        sent = binding | {"roleRef": binding["roleRef"] | reference}
        write = sent_write("rbac.authorization.k8s.io/v1 RoleBinding", sent)
        write.attributes.object = sent
        with pytest.raises(Rejection) as error:
            refuse_escalation(served, write)
        assert (error.value.status["code"], error.value.status["message"]) == (code, message)
    # A binding of the cluster has no namespace in which a Role could be.
    write = sent_write("rbac.authorization.k8s.io/v1 ClusterRoleBinding", binding)
    write.attributes.object, write.attributes.namespace = binding, ""
    with pytest.raises(Rejection) as error:
        refuse_escalation(served, write)
    assert error.value.status["message"] == "Namespace parameter required."


# ---------------------------------------------------------------------- owners, warnings


def test_the_sender_owns_what_it_changes() -> None:
    write = sent_write("v1 ConfigMap", config_map() | {"data": {"a": "1"}}, manager="m")
    own(parts(), write)
    (entry,) = write.new["metadata"]["managedFields"]
    assert entry == {
        "manager": "m", "operation": "Update", "apiVersion": "v1", "time": NOW,
        "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {".": {}, "f:a": {}}},
    }  # fmt: skip
    applied = sent_write("v1 ConfigMap", config_map(), tracks_fields=False)
    own(parts(), applied)
    assert applied.new == config_map()
    # A new object has no subresource; one that is changed has that of the request.
    first = sent_write("v1 ConfigMap", config_map() | {"data": {"a": "1"}}, subresource="status")
    own(parts(), first)
    entries = first.new["metadata"]["managedFields"]
    assert [each.get("subresource") for each in entries] == [None]
    new = first.new | {"data": {"a": "2"}}
    second = sent_write("v1 ConfigMap", new, old=first.new, subresource="status", manager="m")
    own(parts(), second)
    entries = second.new["metadata"]["managedFields"]
    assert {(each["manager"], each.get("subresource")) for each in entries} == {
        ("test", None), ("m", "status"),
    }  # fmt: skip


def test_warnings_about_finalizers_and_formats() -> None:
    boats = custom("sea.example.com", "v1", "Boat")

    def boat(*finalizers: str) -> Document:
        return {"metadata": {"finalizers": [*finalizers]}}

    text = "to avoid accidental conflicts with other finalizer writers"
    plain = f'metadata.finalizers: "a": prefer a domain-qualified finalizer name {text}'
    dotted = (
        f'metadata.finalizers: "b.c": prefer a domain-qualified finalizer name including a path (/)'
        f" {text}"
    )
    for new, old, found in (
        (boat(), None, []),
        ({"metadata": None}, None, []),
        (boat("a"), None, [plain]),
        (boat("b.c", "a"), None, [plain, dotted]),
        (boat("a", "b.c"), boat("a"), [dotted]),
        (boat("a"), boat("a"), []),
        (boat("x/y", "orphan", "foregroundDeletion", "kubernetes"), None, []),
    ):
        assert write_warnings(boats, new, old) == found
    assert len(write_warnings(boats, boat("a b"), None)) == 2
    assert write_warnings(resource("v1 Pod"), boat("a"), None) == []

    def definition(*formats: str) -> Document:
        fields = {f"f{i}": {"type": "string", "format": each} for i, each in enumerate(formats)}
        schema = {"type": "object", "properties": fields}
        return {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}, {}]}}

    definitions = resource("apiextensions.k8s.io/v1 CustomResourceDefinition")
    unknown = [f'unrecognized format "{each}"' for each in ("odd", "even")]
    for new, old, found in (
        (definition("date"), None, []),
        (definition("odd", "date", "even"), None, unknown),
        (definition("odd", "even"), definition("odd"), unknown[1:]),
        ({}, None, []),
        ({"spec": {"versions": None}}, None, []),
    ):
        assert write_warnings(definitions, new, old) == found
    write = sent_write(definitions, definition("odd"), namespace="", warnings=["before"])
    warn(parts(), write)
    assert write.warnings == ["before", unknown[0]]
    status = sent_write(
        definitions, definition("odd"), old={"metadata": {"name": "x"}}, namespace="",
        subresource="status",
    )  # fmt: skip
    warn(parts(), status)
    assert status.warnings == []


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ({"kind": "Train", "apiVersion": "example.com/v1"}, None),
        ({"kind": "Car", "apiVersion": "example.com/v1"},
         'Car.example.com "a" is invalid: kind: Invalid value: "Car": must be Train'),
        ({"kind": "Train", "apiVersion": "other.io/v2"},
         'Train.other.io "a" is invalid: apiVersion: Invalid value: "other.io/v2": must be'
         " example.com/v1"),
        ({"kind": "Car", "apiVersion": "v1"},
         'Car "a" is invalid: [kind: Invalid value: "Car": must be Train, apiVersion: Invalid'
         ' value: "v1": must be example.com/v1]'),
    ],
)  # fmt: skip
def test_an_object_of_another_kind_than_the_resource_is_invalid(head, message):
    version = CustomVersion(
        group="example.com", version="v1", names={"plural": "trains", "kind": "Train"},
        namespaced=True,
    )  # fmt: skip
    kind = CustomKind(version)
    trains = Resource(
        kind=kind, storage=("example.com", "Train"), storage_kind=kind, is_custom=True
    )
    document = head | {"metadata": {"name": "a", "namespace": "default"}}
    found = rejection_of(trains, document)
    assert (found and (found.code, found.message)) == (message and (422, message))
    # Of a built-in kind, the decoder has rejected it before.
    assert rejection_of(built_in_resources()["v1", "ConfigMap"], document) is None


def rejection_of(resource: Resource, document: Document) -> Rejection | None:
    try:
        check_kind_of_object(resource, document)
    except Rejection as error:
        return error
    return None

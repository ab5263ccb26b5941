"""The examples of the kinds, as the server receives them."""

import json

import pytest
import yaml

from podwright.cluster.api.endpoints import (
    BARE_TOKENS,
    ApiServer,
    HttpReply,
    HttpRequest,
    bare_options,
    bare_store,
)
from podwright.online.ui.manifests import read_documents, text_of
from podwright.online.ui.templates import template_of

WRITTEN_BY_COMPONENTS = {"Event", "CertificateSigningRequest"}


@pytest.fixture(scope="module")
def send():
    server = ApiServer(bare_store(0), bare_options())

    def send_to_server(method, path, query="", body=b""):
        request = HttpRequest(method, path, query, {}, body)
        reply = server.handle(request, BARE_TOKENS["admin-token"], 1_000_000_000)
        assert isinstance(reply, HttpReply)
        return reply.status, json.loads(reply.body)

    return send_to_server


@pytest.fixture(scope="module")
def kinds(send):
    """The kinds that users create: their version, name and path of the collection."""
    groups = send("GET", "/apis")[1]["groups"]
    found = []
    for version in ["v1", *(each["preferredVersion"]["groupVersion"] for each in groups)]:
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        for each in send("GET", root)[1]["resources"]:
            if "/" not in each["name"] and {"create", "list"} <= set(each["verbs"]):
                namespace = "default" if each["namespaced"] else ""
                place = f"/namespaces/{namespace}" if namespace else ""
                found.append((version, each["kind"], namespace, f"{root}{place}/{each['name']}"))
    return [each for each in found if each[1] not in WRITTEN_BY_COMPONENTS]


PARTS = 8
"""So many tests share the kinds."""


@pytest.mark.parametrize("part", range(PARTS))
def test_the_example_of_each_kind_is_accepted_without_unknown_fields(send, kinds, part):
    refused = {}
    for version, kind, namespace, path in kinds[part::PARTS]:
        document = yaml.safe_load(template_of(version, kind, namespace))
        body = json.dumps(document).encode()
        status, reply = send("POST", path, "dryRun=All&fieldValidation=Strict", body)
        if status != 201:
            refused[kind] = reply
    assert not refused
    assert len(kinds) > 40


def test_examples_have_more_than_a_name(kinds):
    names = {
        kind for version, kind, _, _ in kinds if template_of(version, kind, "").count("\n") == 4
    }
    assert names <= KINDS_OF_A_NAME


KINDS_OF_A_NAME = {
    "CSIDriver",
    "CSINode",
    "DeviceClass",
    "Endpoints",
    "Lease",
    "LeaseCandidate",
    "LimitRange",
    "MutatingWebhookConfiguration",
    "Namespace",
    "ResourceQuota",
    "Secret",
    "ServiceAccount",
    "ValidatingWebhookConfiguration",
}


@pytest.mark.parametrize(
    ("kind", "namespace", "begin"),
    [
        pytest.param(
            "Pod",
            "team",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: my-pod\n  namespace: team\nspec:\n",
            id="with a namespace",
        ),
        pytest.param(
            "Unicorn",
            "",
            "apiVersion: v1\nkind: Unicorn\nmetadata:\n  name: my-unicorn\n",
            id="of a custom kind",
        ),
        pytest.param(
            "IPAddress",
            "",
            "apiVersion: v1\nkind: IPAddress\nmetadata:\n  name: 10.96.0.200\nspec:\n",
            id="of a name that has a form",
        ),
    ],
)
def test_an_example_begins_with_what_it_is(kind, namespace, begin):
    assert template_of("v1", kind, namespace).startswith(begin)


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"])
def test_a_workload_selects_the_pods_of_its_template(kind):
    spec = yaml.safe_load(template_of("apps/v1", kind, ""))["spec"]
    selected = spec["selector"]["matchLabels"]
    assert selected == spec["template"]["metadata"]["labels"] == {"app": f"my-{kind.lower()}"}
    assert spec.get("replicas") == (None if kind == "DaemonSet" else 3)
    assert spec["template"]["spec"]["containers"][0]["resources"]["requests"] == {
        "cpu": "500m",
        "memory": "256Mi",
    }


def test_examples_are_indented_by_two(kinds):
    for version, kind, namespace, _ in kinds:
        lines = template_of(version, kind, namespace).splitlines()
        indents = {len(line) - len(line.lstrip(" ")) for line in lines}
        assert {indent % 2 for indent in indents} == {0}, kind


@pytest.mark.parametrize(
    ("binding", "role"), [("RoleBinding", "Role"), ("ClusterRoleBinding", "ClusterRole")]
)
def test_a_binding_is_of_the_role_of_the_example(binding, role):
    bound = yaml.safe_load(template_of("rbac.authorization.k8s.io/v1", binding, ""))["roleRef"]
    example = yaml.safe_load(template_of("rbac.authorization.k8s.io/v1", role, ""))
    assert (bound["kind"], bound["name"]) == (role, example["metadata"]["name"])
    assert example["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
    ]


@pytest.mark.parametrize("kind", ["Pod", "Deployment", "PodTemplate", "Job", "Node"])
def test_a_template_has_the_form_that_an_object_has_in_the_editor(kind):
    text = template_of("v1", kind, "default")
    (document,) = read_documents(text)
    assert text_of(document.value).splitlines() == text.splitlines()

"""What controllers and admission add to a cluster that is served."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

import msgspec
import pytest

from podwright.cluster.api.endpoints import HttpReply, HttpRequest, served_plugins
from podwright.cluster.controllers import NO_CERTIFICATE_AUTHORITY
from podwright.online.apiserver import ClusterOptions, new_cluster
from podwright.online.apiserver.generated_nodes import generated_nodes
from podwright.online.apiserver.tests.conftest import JSON, SERVER, START_NS, pod, request
from podwright.scheduler.machine import SchedulerOptions


class Driven:
    """A cluster whose time advances as the test says."""

    def __init__(self, **options):
        self.cluster = new_cluster(
            SchedulerOptions(),
            now_ns=START_NS,
            options=ClusterOptions(**options),
            server_options=msgspec.structs.replace(SERVER, admission=served_plugins),
        )
        self.cluster.world.add(*generated_nodes(2))
        self.run(1)

    def run(self, seconds):
        until_ns = self.cluster.world.now_ns + int(seconds * 1e9)
        while not self.cluster.catch_up(until_ns, lambda: False):
            pass

    def send(self, method, path, body=None, headers=()):
        sent = request(method, path, body)
        sent = HttpRequest(method, path, "", {**JSON, **dict(headers)}, sent.body)
        reply = self.cluster.handle(sent, self.cluster.world.now_ns)
        assert isinstance(reply, HttpReply)
        return reply.status, json.loads(reply.body)

    def create(self, path, body):
        status, made = self.send("POST", path, body)
        assert status == 201, made
        return made

    def items(self, path):
        return self.send("GET", path)[1]["items"]


@pytest.fixture
def driven():
    return Driven()


def a_deployment(name, replicas, **resources):
    labels = {"app": name}
    container = {"name": "main", "image": "app", "resources": resources}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def test_pods_of_users_and_controllers_have_the_account_and_its_token(driven):
    driven.create("/api/v1/namespaces/default/pods", pod("web"))
    driven.create("/apis/apps/v1/namespaces/default/deployments", a_deployment("d", 2))
    driven.run(5)
    pods = driven.items("/api/v1/namespaces/default/pods")
    assert len(pods) == 3
    for each in pods:
        assert each["spec"]["serviceAccountName"] == "default"
        (volume,) = each["spec"]["volumes"]
        (mount,) = each["spec"]["containers"][0]["volumeMounts"]
        assert mount["name"] == volume["name"]
        assert each["status"]["phase"] == "Running"


def test_a_pod_in_a_namespace_of_the_same_turn_has_its_default_account(driven):
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}}
    driven.create("/api/v1/namespaces", namespace)
    made = driven.create("/api/v1/namespaces/new/pods", pod("early"))
    assert made["spec"]["serviceAccountName"] == "default"
    status, error = driven.send(
        "POST", "/api/v1/namespaces/new/pods", pod("other", serviceAccountName="robot")
    )
    assert status == 403
    assert 'serviceaccount "robot" not found' in error["message"]


def test_the_token_of_a_secret_authenticates_until_the_secret_is_deleted(driven):
    secrets = "/api/v1/namespaces/default/secrets"
    annotations = {"kubernetes.io/service-account.name": "default"}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/service-account-token",
        "metadata": {"name": "t", "annotations": annotations},
    }
    driven.create(secrets, secret)
    driven.run(1)
    token = b64decode(driven.send("GET", f"{secrets}/t")[1]["data"]["token"]).decode()
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}

    def who(used):
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        status, found = driven.send("POST", path, review, {"authorization": f"Bearer {used}"})
        return found["status"]["userInfo"]["username"] if status == 201 else status

    assert who(token) == "system:serviceaccount:default:default"
    assert who(token[:-4] + "AAAA") == 401
    driven.send("DELETE", f"{secrets}/t")
    assert who(token) == 401


def test_the_pods_of_a_deployment_are_counted_by_quotas(driven):
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few"},
        "spec": {"hard": {"pods": "2", "count/replicasets.apps": "9"}},
    }
    quotas = "/api/v1/namespaces/default/resourcequotas"
    pods = "/api/v1/namespaces/default/pods"
    driven.create(quotas, quota)
    driven.run(1)

    def used():
        return driven.send("GET", f"{quotas}/few")[1]["status"]["used"]

    assert used() == {"pods": "0", "count/replicasets.apps": "0"}
    driven.create("/apis/apps/v1/namespaces/default/deployments", a_deployment("d", 3))
    driven.run(5)
    assert len(driven.items(pods)) == 2
    assert used() == {"pods": "2", "count/replicasets.apps": "1"}
    notes = [each["message"] for each in driven.items("/api/v1/namespaces/default/events")]
    assert any("exceeded quota: few, requested: pods=1, used: pods=2" in note for note in notes)
    # More is allowed: the controller tries again by itself.
    more = quota | {"spec": {"hard": {"pods": "5", "services": "2"}}}
    driven.send("PUT", f"{quotas}/few", more)
    driven.run(60)
    assert used() == {"pods": "3", "services": "1"}
    scale: dict[str, Any] = {"kind": "Scale", "apiVersion": "autoscaling/v1"}
    scale |= {"metadata": {"name": "d", "namespace": "default"}, "spec": {"replicas": 1}}
    driven.send("PUT", "/apis/apps/v1/namespaces/default/deployments/d/scale", scale)
    driven.run(60)
    assert used() == {"pods": "1", "services": "1"}


def a_policy(name, validations, **spec):
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [{**rule, "resources": ["deployments"]}]},
            "validations": validations,
            **spec,
        },
    }


POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


def checked(driven, policy):
    driven.create(POLICIES, policy)
    driven.run(1)
    return driven.send("GET", f"{POLICIES}/{policy['metadata']['name']}")[1]["status"]


def test_types_of_policies_are_checked_against_the_matched_kinds(driven):
    right = a_policy("right", [{"expression": "object.spec.replicas > 1"}])
    assert checked(driven, right) == {"observedGeneration": 1, "typeChecking": {}}
    validation = {
        "expression": "object.spec.replicas > '1'",
        "messageExpression": "'replicas: ' + object.spec.replicas",
    }
    status = checked(driven, a_policy("wrong", [validation]))
    assert status["observedGeneration"] == 1
    assert status["typeChecking"]["expressionWarnings"] == [
        {
            "fieldRef": "spec.validations[0].expression",
            "warning": "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload "
            "for '_>_' applied to '(int, string)'\n | object.spec.replicas > '1'\n"
            " | .....................^\n",
        },
        {
            "fieldRef": "spec.validations[0].messageExpression",
            "warning": "apps/v1, Kind=Deployment: ERROR: <input>:1:14: found no matching overload "
            "for '_+_' applied to '(string, int)'\n | 'replicas: ' + object.spec.replicas\n"
            " | .............^\n",
        },
    ]
    fixed = a_policy("wrong", [{"expression": "object.spec.replicas > 1"}])
    version = driven.send("GET", f"{POLICIES}/wrong")[1]["metadata"]["resourceVersion"]
    fixed["metadata"]["resourceVersion"] = version
    assert driven.send("PUT", f"{POLICIES}/wrong", fixed)[0] == 200
    driven.run(1)
    assert driven.send("GET", f"{POLICIES}/wrong")[1]["status"] == {
        "observedGeneration": 2,
        "typeChecking": {},
    }


def test_types_of_variables_and_of_custom_resources_are_checked(driven):
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"sails": {"type": "integer"}}}},
    }
    names = {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.sea.example.com"},
        "spec": {
            "group": "sea.example.com",
            "names": names,
            "scope": "Namespaced",
            "versions": [version],
        },
    }
    driven.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    driven.run(1)
    policy = a_policy(
        "boats",
        [{"expression": "variables.sails > 'x'"}, {"expression": "object.spec.masts == 1"}],
        variables=[{"name": "sails", "expression": "object.spec.sails"}],
    )
    rule = policy["spec"]["matchConstraints"]["resourceRules"][0]
    rule |= {"apiGroups": ["sea.example.com"], "resources": ["boats", "boats/status"]}
    warnings = checked(driven, policy)["typeChecking"]["expressionWarnings"]
    assert [each["fieldRef"] for each in warnings] == [
        "spec.validations[0].expression",
        "spec.validations[1].expression",
    ]
    assert "applied to '(int, string)'" in warnings[0]["warning"]
    assert "undefined field 'masts'" in warnings[1]["warning"]
    assert warnings[1]["warning"].startswith("sea.example.com/v1, Kind=Boat: ERROR: ")


def test_stages_that_are_created_through_the_api_act_on_the_pods_that_run(driven):
    spec = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "stages.kwok.x-k8s.io"},
        "spec": {
            "group": "kwok.x-k8s.io",
            "names": {"plural": "stages", "singular": "stage", "kind": "Stage"},
            "scope": "Cluster",
            "versions": [
                {
                    "name": "v1alpha1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
                }
            ],
        },
    }
    driven.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    driven.create("/api/v1/namespaces/default/pods", pod("web"))
    driven.run(2)
    assert driven.items("/api/v1/namespaces/default/pods")[0]["status"]["phase"] == "Running"
    stages = "/apis/kwok.x-k8s.io/v1alpha1/stages"
    stage: dict[str, Any] = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": "fails"},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
            "selector": {
                "matchExpressions": [
                    {"key": ".status.phase", "operator": "In", "values": ["Running"]}
                ]
            },
            "next": {"statusTemplate": "phase: Failed"},
        },
    }
    driven.create(stages, stage)
    driven.run(2)
    assert driven.items("/api/v1/namespaces/default/pods")[0]["status"]["phase"] == "Failed"
    stage["metadata"]["name"] = "wrong"
    stage["spec"]["next"] = {"statusTemplate": "phase: {{"}
    driven.create(stages, stage)
    driven.run(2)
    (event,) = [each for each in driven.items("/api/v1/events") if each["reason"] == "StageFailed"]
    assert event["involvedObject"]["name"] == "wrong"
    assert event["message"].startswith("Stage wrong: spec.next.statusTemplate: ")


@pytest.mark.parametrize(
    ("certificates", "text"), [("", NO_CERTIFICATE_AUTHORITY), ("the authority", "the authority")]
)
def test_the_certificate_of_the_authority_is_published_in_each_namespace(certificates, text):
    path = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"
    status, found = Driven(certificates=certificates).send("GET", path)
    assert (status, found["data"]) == (200, {"ca.crt": text})

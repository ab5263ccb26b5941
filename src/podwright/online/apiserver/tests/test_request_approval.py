"""Requests of kubelets for client certificates are approved if their users may have that."""

from __future__ import annotations

import json

import pytest
from cryptography import x509

from podwright.cluster.api.endpoints import HttpReply, ServerOptions, User, static_tokens
from podwright.cluster.controllers import KUBELET_CLIENT, KUBELET_SERVING
from podwright.online.apiserver import Cluster, ClusterOptions, new_cluster
from podwright.online.apiserver.access.certificates import Authority, RequestSigner
from podwright.online.apiserver.tests.conftest import START_NS, request
from podwright.online.apiserver.tests.test_request_signing import (
    CLIENT_USAGES,
    SERVER_USAGES,
    a_request,
)
from podwright.scheduler.machine import SchedulerOptions

PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
RBAC = "rbac.authorization.k8s.io"
NODE, NODES = "system:node:n1", ("system:nodes",)
USERS = {
    "admin": User("admin", groups=("system:masters",)),
    "node": User(NODE, groups=NODES),
    "guest": User("guest"),
}
OTHER = "Auto approving kubelet client certificate after SubjectAccessReview."


def conditions(user: str, text: str, signer: str = KUBELET_CLIENT, usages=CLIENT_USAGES):
    """Return the types and messages of the conditions of a user's request, and its status."""
    tokens = (static_tokens(USERS),)
    cluster: Cluster = new_cluster(
        SchedulerOptions(),
        now_ns=START_NS,
        server_options=ServerOptions(tokens=tokens),
        options=ClusterOptions(sign=RequestSigner(Authority.new())),
    )
    own = "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"
    for name, role, kind in (
        (NODES[0], own, "Group"),
        (NODES[0], "ask", "Group"),
        ("guest", "ask", "User"),
    ):
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"generateName": "b-"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": kind, "name": name, "apiGroup": RBAC}],
        }
        send(cluster, "admin", f"/apis/{RBAC}/v1/clusterrolebindings", binding)
    may_ask = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "ask"},
        "rules": [
            {
                "apiGroups": ["certificates.k8s.io"],
                "resources": ["certificatesigningrequests"],
                "verbs": ["create"],
            }
        ],
    }
    send(cluster, "admin", f"/apis/{RBAC}/v1/clusterroles", may_ask)
    body = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "r"},
        "spec": {"request": text, "signerName": signer, "usages": list(usages)},
    }
    send(cluster, user, PATH, body)
    while not cluster.catch_up(START_NS, lambda: False):
        pass
    status = send(cluster, "admin", f"{PATH}/r")["status"]
    found = [(each["type"], each["message"]) for each in status.get("conditions", ())]
    return found, "certificate" in status


def send(cluster: Cluster, user: str, path: str, body=None):
    sent = request("GET" if body is None else "POST", path, body)
    headers = {**sent.headers, "authorization": f"Bearer {user}"}
    reply = cluster.handle(type(sent)(sent.method, path, "", headers, sent.body), START_NS)
    assert isinstance(reply, HttpReply)
    assert reply.status in {200, 201}, reply.body
    return json.loads(reply.body)


def test_a_request_of_an_authorized_user_is_approved_and_signed():
    found, is_signed = conditions("admin", a_request(NODE, NODES))
    assert found == [("Approved", OTHER)]
    assert is_signed


def test_a_node_renews_its_own_certificate():
    own = "Auto approving self kubelet client certificate after SubjectAccessReview."
    assert conditions("node", a_request(NODE, NODES)) == ([("Approved", own)], True)


@pytest.mark.parametrize(
    ("user", "text", "signer", "usages"),
    [
        pytest.param(
            "guest", a_request(NODE, NODES), KUBELET_CLIENT, CLIENT_USAGES, id="not authorized"
        ),
        pytest.param("admin", a_request(), KUBELET_CLIENT, CLIENT_USAGES, id="no kubelet"),
        pytest.param(
            "admin", a_request(NODE, NODES), KUBELET_CLIENT, SERVER_USAGES, id="other usages"
        ),
        pytest.param(
            "admin",
            a_request(NODE, NODES, [x509.DNSName("n1")]),
            KUBELET_CLIENT,
            CLIENT_USAGES,
            id="other names",
        ),
        pytest.param(
            "admin",
            a_request(NODE, NODES, [x509.DNSName("n1")]),
            KUBELET_SERVING,
            SERVER_USAGES,
            id="a serving certificate",
        ),
    ],
)
def test_other_requests_wait_for_an_approval(user, text, signer, usages):
    assert conditions(user, text, signer, usages) == ([], False)

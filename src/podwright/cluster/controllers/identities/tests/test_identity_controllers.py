"""Namespaces get their account and certificates, secrets their tokens, roles their rules."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import pytest

from podwright.cluster.controllers.identities import (
    NO_CERTIFICATE_AUTHORITY,
    CertificateCleanerController,
    ClusterRoleAggregationController,
    RootCAPublisher,
    ServiceAccountsController,
    TokensController,
)
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import Cluster, at, document

NAMESPACE = ("", "Namespace")
ACCOUNT = ("", "ServiceAccount")
CONFIG_MAP = ("", "ConfigMap")
SECRET = ("", "Secret")
ROLE = ("rbac.authorization.k8s.io", "ClusterRole")


def a_namespace(name, phase="Active"):
    return document("Namespace", name, status={"phase": phase})


def a_role(name, *verbs, labels=(), selectors=()):
    rule = {"apiGroups": [""], "resources": ["pods"]}
    more: Any = {"aggregationRule": {"clusterRoleSelectors": list(selectors)}} if selectors else {}
    return document(
        "ClusterRole",
        name,
        api="rbac.authorization.k8s.io/v1",
        metadata={"labels": dict(labels)},
        rules=[rule | {"verbs": [verb]} for verb in verbs],
        **more,
    )


def test_each_active_namespace_has_the_default_account():
    cluster = Cluster((ServiceAccountsController,))
    cluster.add(a_namespace("shop"), a_namespace("leaving", "Terminating"))
    assert [obj.key for obj in cluster.all(ACCOUNT)] == ["shop/default"]
    cluster.delete(ACCOUNT, "shop/default")
    assert [obj.key for obj in cluster.all(ACCOUNT)] == ["shop/default"]


def test_the_certificates_of_a_namespace_are_restored():
    cluster = Cluster((RootCAPublisher,))
    cluster.add(a_namespace("shop"))
    published = cluster.raw(CONFIG_MAP, "shop/kube-root-ca.crt")
    assert published["data"] == {"ca.crt": NO_CERTIFICATE_AUTHORITY}
    cluster.edit(CONFIG_MAP, "shop/kube-root-ca.crt", "data", **{"ca.crt": "other"})
    assert cluster.raw(CONFIG_MAP, "shop/kube-root-ca.crt")["data"] == published["data"]
    cluster.edit(CONFIG_MAP, "shop/kube-root-ca.crt", "metadata", annotations=None)
    annotations = cluster.raw(CONFIG_MAP, "shop/kube-root-ca.crt")["metadata"]["annotations"]
    assert annotations["kubernetes.io/description"].startswith("Contains a CA bundle")
    cluster.delete(CONFIG_MAP, "shop/kube-root-ca.crt")
    assert cluster.has(CONFIG_MAP, "shop/kube-root-ca.crt")


@pytest.fixture
def with_tokens():
    def issue(account, secret):
        return f"token of {account.name} in {secret.name}"

    return Cluster((lambda lister: TokensController(lister, issue, "PEM"),))


def a_token_secret(name, account):
    return document(
        "Secret",
        name,
        namespace="shop",
        type="kubernetes.io/service-account-token",
        metadata={"annotations": {"kubernetes.io/service-account.name": account}},
    )


def test_a_token_secret_is_filled_and_leaves_with_its_account(with_tokens):
    account = document("ServiceAccount", "robot", namespace="shop")
    opaque = document("Secret", "opaque", namespace="shop", type="Opaque")
    with_tokens.add(account, a_token_secret("t", "robot"), opaque)
    secret = with_tokens.raw(SECRET, "shop/t")
    assert {key: b64decode(value).decode() for key, value in secret["data"].items()} == {
        "ca.crt": "PEM",
        "namespace": "shop",
        "token": "token of robot in t",
    }
    uid = with_tokens.get(ACCOUNT, "shop/robot").uid
    assert secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"] == uid
    assert "data" not in with_tokens.raw(SECRET, "shop/opaque")
    with_tokens.delete(ACCOUNT, "shop/robot")
    assert [obj.key for obj in with_tokens.all(SECRET)] == ["shop/opaque"]


def test_a_token_secret_without_an_account_is_deleted(with_tokens):
    with_tokens.add(a_token_secret("t", "missing"))
    assert with_tokens.all(SECRET) == []


def test_aggregated_roles_follow_the_roles_that_they_select():
    cluster = Cluster((ClusterRoleAggregationController,))
    to_view = {"to-view": "true"}
    cluster.add(
        a_role("view", selectors=[{"matchLabels": to_view}]),
        a_role("b", "list", "get", labels=to_view),
        a_role("a", "get", labels=to_view),
        a_role("other", "delete"),
    )

    def verbs():
        return [rule["verbs"] for rule in cluster.raw(ROLE, "view").get("rules") or ()]

    # In the order of the names of the roles, without repetition.
    assert verbs() == [["get"], ["list"]]
    cluster.edit(ROLE, "other", "metadata", labels=to_view)
    assert verbs() == [["get"], ["list"], ["delete"]]
    cluster.delete(ROLE, "b")
    assert verbs() == [["get"], ["delete"]]


@pytest.mark.parametrize(
    ("status", "hours"),
    [
        pytest.param({}, 24, id="a request without a decision"),
        pytest.param({"Denied": ""}, 1, id="a denied one"),
        pytest.param({"Failed": ""}, 1, id="a failed one"),
        pytest.param({"Approved": "PEM"}, 1, id="a signed one"),
        pytest.param({"Approved": ""}, 24, id="an approved one without a certificate"),
        pytest.param({"Seen": "", "Approved": ""}, 24, id="a condition of others is no decision"),
    ],
)
def test_old_certificate_requests_are_deleted(status, hours):
    csr = ("certificates.k8s.io", "CertificateSigningRequest")
    cluster = Cluster((CertificateCleanerController,))
    cluster.add(document(csr[1], "r", api="certificates.k8s.io/v1", spec={"request": ""}))
    if status:
        written = [
            {"type": condition, "status": "True", "lastUpdateTime": at(0)} for condition in status
        ]
        certificate = "".join(status.values())
        signed = {"certificate": certificate} if certificate else {}
        cluster.edit(csr, "r", "status", conditions=written, **signed)
    cluster.run(hours * 3600 - 1)
    assert cluster.has(csr, "r")
    cluster.run(hours * 3600)
    assert not cluster.has(csr, "r")


def token_in(cluster, name):
    return b64decode(cluster.raw(SECRET, f"shop/{name}")["data"]["token"]).decode()


def test_a_token_stays_and_what_else_is_changed_is_restored(with_tokens):
    with_tokens.add(
        document("ServiceAccount", "robot", namespace="shop"), a_token_secret("t", "robot")
    )
    own = b64encode(b"own").decode()
    with_tokens.edit(SECRET, "shop/t", "data", **{"token": own, "ca.crt": "eA=="})
    data = with_tokens.raw(SECRET, "shop/t")["data"]
    assert b64decode(data["ca.crt"]) == b"PEM"
    assert token_in(with_tokens, "t") == "own"
    with_tokens.edit(SECRET, "shop/t", "data", token=None, namespace=own)
    assert token_in(with_tokens, "t") == "token of robot in t"
    assert b64decode(with_tokens.raw(SECRET, "shop/t")["data"]["namespace"]) == b"own"


def test_a_token_secret_of_an_earlier_account_of_the_name_is_deleted(with_tokens):
    stale = a_token_secret("stale", "robot")
    stale.metadata.annotations["kubernetes.io/service-account.uid"] = "earlier"
    other = document("Secret", "none", namespace="shop", type="kubernetes.io/service-account-token")
    with_tokens.add(document("ServiceAccount", "robot", namespace="shop"), stale, other)
    assert [obj.name for obj in with_tokens.all(SECRET)] == ["none"]
    assert "data" not in with_tokens.raw(SECRET, "shop/none")


def test_all_token_secrets_of_an_account_and_no_others_go_with_it(with_tokens):
    for name in ("robot", "other"):
        with_tokens.add(document("ServiceAccount", name, namespace="shop"))
    for name, account in (("a", "robot"), ("b", "robot"), ("c", "other")):
        with_tokens.add(a_token_secret(name, account))
    with_tokens.delete(SECRET, "shop/a")
    with_tokens.replace_controllers()
    with_tokens.delete(ACCOUNT, "shop/robot")
    assert [obj.name for obj in with_tokens.all(SECRET)] == ["c"]


def test_nothing_is_created_in_a_namespace_that_leaves_or_for_other_accounts():
    cluster = Cluster((ServiceAccountsController, RootCAPublisher))
    cluster.add(a_namespace("shop"), a_namespace("leaving", "Terminating"))
    cluster.add(document("ServiceAccount", "robot", namespace="shop"))
    written = len(cluster.writes)
    assert written == 2
    cluster.delete(ACCOUNT, "shop/robot")
    cluster.edit(CONFIG_MAP, "shop/kube-root-ca.crt", "metadata", labels={"a": "b"})
    assert len(cluster.writes) == written
    assert [obj.key for obj in cluster.all(CONFIG_MAP)] == ["shop/kube-root-ca.crt"]
    assert cluster.raw(CONFIG_MAP, "shop/kube-root-ca.crt")["metadata"]["labels"] == {"a": "b"}


def test_aggregated_rules_have_their_fields_and_no_role_selects_itself():
    cluster = Cluster((ClusterRoleAggregationController,))
    label = {"to-view": "true"}
    rule = {"verbs": ["get"], "apiGroups": ["apps"], "resources": ["x"], "resourceNames": ["n"]}
    urls = {"verbs": ["get"], "nonResourceURLs": ["/healthz"]}
    selectors = [{"matchLabels": {"none": ""}}, {"matchLabels": label}]
    cluster.add(
        a_role("view", "delete", labels=label, selectors=selectors),
        document(
            "ClusterRole", "a", api="rbac.authorization.k8s.io/v1", metadata={"labels": label},
            rules=[rule | {"nonResourceURLs": []}, urls, rule],
        ),
    )  # fmt: skip
    assert cluster.raw(ROLE, "view")["rules"] == [rule, urls]
    written = len(cluster.writes)
    cluster.edit(ROLE, "view", "metadata", annotations={"a": "b"})
    assert len(cluster.writes) == written


def test_the_change_of_any_role_concerns_the_aggregated_ones():
    selectors = [{"matchLabels": {"a": "b"}}]
    bench = SingleSync(ClusterRoleAggregationController, a_role("view", selectors=selectors))
    assert bench.put(a_role("edit", selectors=selectors)) == ["edit", "view"]
    assert bench.put(a_role("a")) == ["edit", "view"]
    assert bench.put(a_role("edit")) == ["view"]
    assert bench.put(a_role("edit")) == ["view"]
    assert bench.remove(a_role("view", selectors=selectors)) == []


def test_a_role_that_is_gone_or_aggregates_no_others_is_not_written():
    bench = SingleSync(ClusterRoleAggregationController, a_role("a", "get"), a_role("b", "get"))
    bench.remove(a_role("b", "get"))
    assert [bench.sync(name) for name in ("a", "b")] == [[], []]


def test_a_role_with_a_selector_that_cannot_be_read_keeps_its_rules():
    """Upstream: clusterroleaggregation_controller.go, syncClusterRole."""
    good = {"matchLabels": {"a": "b"}}
    bad = {"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}
    worse = {"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]}
    other = a_role("other", "get", labels={"a": "b"})
    for selectors, is_written in (([good], True), ([good, bad], False), ([worse, good], False)):
        bench = SingleSync(
            ClusterRoleAggregationController, other, a_role("view", selectors=selectors)
        )
        assert bool(bench.sync("view")) == is_written

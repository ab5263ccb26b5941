"""Tokens of service accounts claim by claim, reviews of access, and the policy of a new cluster."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document, KubernetesObject
from podwright.apimachinery.schema import decode
from podwright.cluster.api.authorization.bootstrap_policy import bootstrap_policy
from podwright.cluster.api.endpoints.access.service_account_tokens import (
    ISSUER,
    ServiceAccountTokens,
    SignedClaims,
    TokenError,
    unverified_claims,
)
from podwright.cluster.api.endpoints.tests.conftest import Server
from podwright.cluster.api.identity import uid_at
from podwright.cluster.store import ObjectStore, change_of

NOW_S = 1_767_225_600
NOW_NS, SECOND_NS = NOW_S * 1_000_000_000, 1_000_000_000
CLAIM = "kubernetes.io"
EXTRA = "authentication.kubernetes.io/"


def put(store: ObjectStore, kind: str, name: str, uid: str, **parts: Any) -> KubernetesObject:
    metadata: Document = {"name": name, "uid": uid}
    if kind != "Node":
        metadata["namespace"] = "default"
    metadata |= parts.pop("metadata", {})
    document = {"apiVersion": "v1", "kind": kind, "metadata": metadata} | parts
    return store.put(decode(document)).object


class Cluster:
    """A store with an account, and what its tokens can be bound to."""

    def __init__(self) -> None:
        self.store = ObjectStore(seed=3)
        self.account = put(self.store, "ServiceAccount", "robot", "a")
        self.pod = put(self.store, "Pod", "p", "p-uid", spec={"nodeName": "n"})
        self.secret = put(self.store, "Secret", "s", "s-uid")
        self.node = put(self.store, "Node", "n", "n-uid")
        self.tokens = ServiceAccountTokens(self.store)

    def issue(self, bound: KubernetesObject | None = None, **options: Any) -> str:
        return self.tokens.issue(self.account, ["api", "x"], 600, NOW_NS, bound, **options)

    def review(self, token: str, second: int = 0, audience: str = "x") -> Any:
        return self.tokens.review(token, NOW_NS + second * SECOND_NS, (audience,))

    def problem(self, token: str, second: int = 0, audience: str = "x") -> str | None:
        try:
            self.review(token, second, audience)
        except TokenError as error:
            return str(error)
        return None


def test_the_claims_of_tokens() -> None:
    cluster = Cluster()
    own = {"namespace": "default", "serviceaccount": {"name": "robot", "uid": "a"}}
    node = {"name": "n", "uid": "n-uid"}
    for count, (bound, options, private) in enumerate(
        (
            (None, {}, own),
            (cluster.pod, {}, own | {"pod": {"name": "p", "uid": "p-uid"}, "node": node}),
            (cluster.secret, {}, own | {"secret": {"name": "s", "uid": "s-uid"}}),
            (cluster.node, {}, own | {"node": node}),
            (None, {"warned_seconds": 5}, own | {"warnafter": NOW_S + 5}),
        ),
        1,
    ):
        assert unverified_claims(cluster.issue(bound, **options)) == {
            "aud": ["api", "x"],
            "exp": NOW_S + 600,
            "iat": NOW_S,
            "iss": ISSUER,
            "jti": uid_at(3, -count),
            CLAIM: private,
            "nbf": NOW_S,
            "sub": "system:serviceaccount:default:robot",
        }
    free = put(cluster.store, "Pod", "free", "f", spec={})
    claims = unverified_claims(cluster.issue(free))
    assert claims is not None
    assert "node" not in claims[CLAIM]
    lost = put(cluster.store, "Pod", "lost", "l", spec={"nodeName": "gone"})
    claims = unverified_claims(cluster.issue(lost))
    assert claims is not None
    assert claims[CLAIM]["node"] == {"name": "gone"}


def test_the_user_of_a_token() -> None:
    cluster = Cluster()
    groups = ("system:serviceaccounts", "system:serviceaccounts:default")
    identity = f"{EXTRA}credential-id"
    of_node = {f"{EXTRA}node-name": ("n",), f"{EXTRA}node-uid": ("n-uid",)}
    of_pod = {f"{EXTRA}pod-name": ("p",), f"{EXTRA}pod-uid": ("p-uid",)}
    for count, (bound, extra) in enumerate(
        (
            (None, {}),
            (cluster.secret, {}),
            (cluster.pod, of_pod | of_node),
            (cluster.node, of_node),
        ),
        1,
    ):
        user, audiences = cluster.review(cluster.issue(bound))
        assert (user.name, user.uid) == ("system:serviceaccount:default:robot", "a")
        assert tuple(user.groups)[:2] == groups
        assert user.extra == extra | {identity: (f"JTI={uid_at(3, -count)}",)}
        assert audiences == ["x"]


def test_until_when_a_token_is_good() -> None:
    cluster = Cluster()
    token = cluster.issue()
    for second, problem in (
        (0, None),
        (660, None),
        (661, "service account token has expired"),
        (-60, None),
        (-61, "service account token is not valid yet"),
    ):
        assert cluster.problem(token, second) == problem, second


def test_tokens_that_are_not_good() -> None:
    cluster = Cluster()
    token = cluster.issue()
    assert cluster.problem(token, audience="y") == (
        'token audiences ["api" "x"] is invalid for the target audiences ["y"]'
    )
    assert cluster.tokens.lookup(token, NOW_NS) is None  # not one for the API
    own = cluster.tokens.issue(cluster.account, [ISSUER], 600, NOW_NS)
    found = cluster.tokens.lookup(own, NOW_NS)
    assert found is not None
    assert found.name == "system:serviceaccount:default:robot"
    assert cluster.tokens.lookup(own, NOW_NS + 700 * SECOND_NS) is None
    forged = SignedClaims("other").token(unverified_claims(token) or {})
    assert cluster.problem(forged) == "go-jose/go-jose: error in cryptographic primitive"
    claims = unverified_claims(token) or {}
    signed = SignedClaims("tokens/3")
    for changed in (
        claims | {"iss": "other"}, {key: claims[key] for key in claims if key != CLAIM},
    ):  # fmt: skip
        assert cluster.review(signed.token(changed)) is None
    assert cluster.review("a.b.c") is None
    assert cluster.review("x") is None


@pytest.mark.parametrize(
    ("kind", "name", "problem"),
    [
        ("ServiceAccount", "robot", "service account UID (other) does not match claim (a)"),
        ("Pod", "p", "pod UID (other) does not match service account pod ref claim (p-uid)"),
        (
            "Secret", "s",
            "secret UID (other) does not match service account secret ref claim (s-uid)",
        ),
        ("Node", "n", "node UID (other) does not match service account node ref claim (n-uid)"),
    ],
)  # fmt: skip
def test_a_token_ends_with_what_it_names(kind: str, name: str, problem: str) -> None:
    gone = {
        "ServiceAccount": 'serviceaccounts "robot" not found',
    }.get(kind, "service account token has been invalidated")
    ended = {
        "ServiceAccount": "service account default/robot has been deleted",
    }.get(kind, "service account token has been invalidated")
    cluster = Cluster()
    bound = {"Pod": cluster.pod, "Secret": cluster.secret, "Node": cluster.node}.get(kind)
    token = cluster.issue(bound)
    assert cluster.problem(token) is None
    put(cluster.store, kind, name, "other")
    assert cluster.problem(token) == problem
    uid = {"ServiceAccount": "a", "Pod": "p-uid", "Secret": "s-uid", "Node": "n-uid"}[kind]
    marked = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["f"]}
    put(cluster.store, kind, name, uid, metadata=marked)
    assert cluster.problem(token, 60) is None
    assert cluster.problem(token, 61) == ended
    store = cluster.store
    key = name if kind == "Node" else f"default/{name}"
    current = store.require(("", kind), key)
    store.commit(change_of(store.resource_version + 1, ("", kind), key, current, None))
    assert cluster.problem(token) == gone
    # The node of a pod is a fact only.
    if kind == "Node":
        assert cluster.problem(cluster.issue(cluster.pod)) is None


# ------------------------------------------------------------------------------- reviews

REVIEWS = "/apis/authorization.k8s.io/v1"


@pytest.mark.parametrize(
    ("attributes", "error"),
    [
        ({}, None),
        ({"fieldSelector": {"rawSelector": "a=b"}}, None),
        ({"fieldSelector": {"rawSelector": "a"}},
         "spec.resourceAttributes.fieldSelector ignored due to parse error"),
        ({"labelSelector": {"rawSelector": "a in (b)"}}, None),
        ({"labelSelector": {"rawSelector": "a in ("}},
         "spec.resourceAttributes.labelSelector ignored due to parse error"),
        ({"fieldSelector": {"requirements": [{"key": "a", "operator": "In", "values": ["b"]}]}},
         None),
        ({"fieldSelector": {"requirements": [{"key": "a", "operator": "Exists"}]}},
         "spec.resourceAttributes.fieldSelector ignored due to parse error"),
    ],
)  # fmt: skip
def test_a_review_says_which_selectors_it_ignores(
    server: Server, attributes: Document, error: str | None
) -> None:
    spec = {
        "user": "alice",
        "resourceAttributes": {"verb": "list", "resource": "pods"} | attributes,
    }
    status, found = server.reply("POST", f"{REVIEWS}/subjectaccessreviews", {"spec": spec})
    assert status == 201
    assert found["status"] == {"allowed": False} | ({"evaluationError": error} if error else {})


def test_reviews_of_paths_of_oneself_and_of_a_namespace(server: Server) -> None:
    path = f"{REVIEWS}/selfsubjectaccessreviews"
    for attributes, is_allowed in (
        ({"nonResourceAttributes": {"path": "/healthz", "verb": "get"}}, True),
        ({"nonResourceAttributes": {"path": "/x", "verb": "get"}}, True),
        ({"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "a"}}, True),
    ):
        status, found = server.reply("POST", path, {"spec": attributes})
        assert (status, found["status"]["allowed"]) == (201, is_allowed)
        assert found["spec"] == attributes
    for user, is_allowed in (("alice", False), ("admin", False)):
        spec = {"nonResourceAttributes": {"path": "/x", "verb": "get"}, "user": user}
        _, found = server.reply("POST", f"{REVIEWS}/subjectaccessreviews", {"spec": spec})
        assert found["status"]["allowed"] is is_allowed
    spec = {
        "nonResourceAttributes": {"path": "/x", "verb": "get"}, "user": "x",
        "groups": ["system:masters"],
    }  # fmt: skip
    _, found = server.reply("POST", f"{REVIEWS}/subjectaccessreviews", {"spec": spec})
    assert found["status"] == {"allowed": True}
    rules = f"{REVIEWS}/selfsubjectrulesreviews"
    status, found = server.reply("POST", rules, {"spec": {}})
    assert (status, found["message"]) == (400, "no namespace on request")
    status, found = server.reply("POST", rules, {"spec": {"namespace": "default"}})
    assert (status, found["spec"], found["metadata"]) == (201, {}, {})
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    assert everything in found["status"]["resourceRules"]
    assert {"verbs": ["*"], "nonResourceURLs": ["*"]} in found["status"]["nonResourceRules"]
    assert found["status"]["incomplete"] is False


def test_the_objects_of_the_policy_of_a_new_cluster() -> None:
    found = bootstrap_policy(frozenset())
    by_name = {(each["kind"], each["metadata"]["name"]): each for each in found}
    admin = by_name["ClusterRole", "cluster-admin"]
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    assert admin["rules"] == [everything, {"nonResourceURLs": ["*"], "verbs": ["*"]}]
    assert admin["apiVersion"] == "rbac.authorization.k8s.io/v1"
    assert admin["metadata"] == {
        "name": "cluster-admin",
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    }
    scoped = [each for each in found if each["kind"] in ("Role", "RoleBinding")]
    assert scoped
    assert all(each["metadata"]["namespace"] in ("kube-system", "kube-public") for each in scoped)
    assert all(
        "namespace" not in each["metadata"] for each in found if each["kind"].startswith("Cluster")
    )
    assert not any("gate" in each for each in found)
    assert not any("gate" in rule for each in found for rule in each.get("rules", ()))
    edit = by_name["ClusterRole", "system:aggregate-to-edit"]["metadata"]["labels"]
    assert edit == {
        "kubernetes.io/bootstrapping": "rbac-defaults",
        "rbac.authorization.k8s.io/aggregate-to-edit": "true",
    }


def test_rules_of_gates_that_are_off_are_left_out() -> None:
    name, gate = "system:aggregate-to-edit", "GenericWorkload"
    edit = {
        is_off: next(
            each for each in bootstrap_policy(disabled) if each["metadata"]["name"] == name
        )
        for is_off, disabled in ((False, frozenset[str]()), (True, frozenset({gate})))
    }
    groups = {
        is_off: [group for rule in role["rules"] for group in rule["apiGroups"]]
        for is_off, role in edit.items()
    }
    assert "scheduling.k8s.io" in groups[False]
    assert [each for each in groups[False] if each != "scheduling.k8s.io"] == groups[True]
    discovery = "system:cluster-trust-bundle-discovery"
    for disabled, is_there in (
        (frozenset[str](), True),
        (frozenset({"ClusterTrustBundle"}), False),
    ):
        names = {each["metadata"]["name"] for each in bootstrap_policy(disabled)}
        assert (discovery in names) is is_there

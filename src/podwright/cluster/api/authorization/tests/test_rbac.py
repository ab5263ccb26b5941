"""Authorization by roles and bindings."""

from __future__ import annotations

import pytest

from podwright.cluster.api.authorization import (
    Access,
    EscalationCheck,
    MissingRole,
    RoleWrite,
    bootstrap_policy,
)
from podwright.cluster.api.authorization.tests.conftest import ALICE
from podwright.cluster.api.endpoints.served.bare import OFF_BY_DEFAULT
from podwright.cluster.api.users import MASTERS, User, service_account_groups

ROBOT = User("system:serviceaccount:apps:robot", groups=service_account_groups("apps"))
READ = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}


@pytest.mark.parametrize(
    ("subject", "user"),
    [
        ("User/alice", ALICE),
        ("Group/dev", ALICE),
        ("ServiceAccount/robot", ROBOT),
        ("ServiceAccount/robot/apps", ROBOT),
        ("Group/system:serviceaccounts:apps", ROBOT),
    ],
)
def test_a_binding_of_a_namespace_applies_there_only(policy, subject, user):
    policy.role("reader", READ)
    policy.bind("b", "ClusterRole/reader", subject, namespace="apps")
    assert policy.may(user, "get", "pods", namespace="apps")
    assert not policy.may(user, "get", "pods", namespace="other")
    assert not policy.may(user, "get", "pods")
    assert not policy.may(User("bob"), "get", "pods", namespace="apps")


def test_a_cluster_binding_applies_everywhere(policy):
    policy.role("reader", READ)
    policy.bind("b", "ClusterRole/reader", "Group/dev", "ServiceAccount/robot/apps")
    assert policy.may(ALICE, "get", "pods")
    assert policy.may(ROBOT, "get", "pods", namespace="any")
    assert not policy.may(ROBOT, "list", "pods", namespace="any")


def test_users_with_the_same_groups_have_what_names_them(policy):
    policy.role("reader", READ)
    policy.bind("b", "ClusterRole/reader", "User/alice")
    assert policy.may(ALICE, "get", "pods")
    assert not policy.may(User("bob", groups=ALICE.groups), "get", "pods")
    assert policy.may(ALICE, "get", "pods")


def test_a_user_of_very_many_groups_has_what_each_of_them_has(policy):
    policy.role("reader", READ)
    policy.bind("b", "ClusterRole/reader", *(f"Group/g{number}" for number in range(3_000)))
    of_many = User("bob", groups=tuple(f"h{number}" for number in range(3_000)))
    assert not policy.may(of_many, "get", "pods")
    assert policy.may(User("bob", groups=(*of_many.groups, "g2999")), "get", "pods")


@pytest.mark.parametrize(("count", "is_kept"), [(0, True), (64, True), (65, False)])
def test_what_a_user_has_is_kept_unless_the_groups_are_very_many(policy, count, is_kept):
    policy.role("reader", READ)
    policy.bind("b", "ClusterRole/reader", "User/alice")
    user = User("alice", groups=tuple(f"g{number}" for number in range(count)))
    found = policy.resolver.grants_of(user, "apps")
    policy.resolver.grants_of(User("bob"), "apps")
    again = policy.resolver.grants_of(user, "apps")
    assert (again is found, again.rules) == (is_kept, [READ])


def test_changes_of_roles_and_bindings_take_effect_at_once(policy):
    policy.bind("b", "Role/reader", "User/alice", namespace="apps")
    assert not policy.may(ALICE, "get", "pods", namespace="apps")
    policy.role("reader", READ, namespace="apps")
    assert policy.may(ALICE, "get", "pods", namespace="apps")
    policy.store.drop(("rbac.authorization.k8s.io", "RoleBinding"), "apps/b")
    assert not policy.may(ALICE, "get", "pods", namespace="apps")


def test_a_role_whose_rules_are_null_allows_nothing(policy):
    policy._add("ClusterRole", "empty", "", rules=None)
    policy.role("reader", READ)
    for name in ("empty", "reader"):
        policy.bind(name, f"ClusterRole/{name}", "User/alice")
    assert policy.may(ALICE, "get", "pods")
    assert not policy.may(ALICE, "list", "pods")
    assert policy.authorizers.rules_for(ALICE, "").rules == [READ]


def test_changes_of_a_batch_take_effect_before_it_ends(policy):
    with policy.store.batch():
        policy.role("reader", READ)
        assert not policy.may(ALICE, "get", "pods")
        policy.bind("b", "ClusterRole/reader", "User/alice")
        assert policy.may(ALICE, "get", "pods")


def test_deletions_are_seen_after_the_history_is_discarded(policy):
    policy.role("reader", READ)
    policy.bind("b", "ClusterRole/reader", "User/alice")
    assert policy.may(ALICE, "get", "pods")
    policy.store.drop(("rbac.authorization.k8s.io", "ClusterRoleBinding"), "b")
    policy.store.compact(policy.store.resource_version)
    assert not policy.may(ALICE, "get", "pods")


def test_the_reason_names_the_binding_and_the_first_subject(policy):
    policy.role("reader", READ)
    policy.bind("b", "ClusterRole/reader", "User/bob", "ServiceAccount/robot", namespace="apps")
    access = Access(user=ROBOT, verb="get", resource="pods", namespace="apps")
    assert policy.authorizers.authorize(access).reason == (
        'RBAC: allowed by RoleBinding "b/apps" of ClusterRole "reader" to'
        ' ServiceAccount "robot/apps"'
    )
    policy.bind("c", "ClusterRole/reader", "Group/dev", "User/alice")
    for user, subject in (
        (User("alice"), 'User "alice"'),
        (User("x", groups=("dev",)), 'Group "dev"'),
    ):
        access = Access(user=user, verb="get", resource="pods", namespace="apps")
        assert policy.authorizers.authorize(access).reason == (
            f'RBAC: allowed by ClusterRoleBinding "c" of ClusterRole "reader" to {subject}'
        )


def test_of_many_bindings_the_first_by_name_is_the_reason(policy):
    policy.role("reader", READ)
    for name in "hgfedcba":
        policy.bind(name, "ClusterRole/reader", "User/alice", namespace="apps")
    access = Access(user=ALICE, verb="get", resource="pods", namespace="apps")
    assert policy.authorizers.authorize(access).reason.startswith(
        'RBAC: allowed by RoleBinding "a/apps" of'
    )


def test_missing_roles_are_named_in_the_refusal(policy):
    policy.bind("a", "ClusterRole/x", "User/alice")
    policy.bind("b", "Role/y", "User/alice", namespace="apps")
    access = Access(user=ALICE, verb="get", resource="pods", namespace="apps")
    assert policy.authorizers.authorize(access).reason == (
        'RBAC: [clusterrole.rbac.authorization.k8s.io "x" not found,'
        ' role.rbac.authorization.k8s.io "y" not found]'
    )


def test_the_rules_of_a_user_are_listed_with_each_missing_role_as_an_error(policy):
    policy.role("reader", READ)
    policy.bind("r", "ClusterRole/reader", "User/alice", namespace="apps")
    policy.bind("a", "ClusterRole/x", "User/alice")
    policy.bind("b", "Role/y", "User/alice", namespace="apps")
    found = policy.authorizers.rules_for(ALICE, "apps")
    assert (found.rules, found.is_incomplete, found.errors) == (
        [READ], False,
        ('clusterrole.rbac.authorization.k8s.io "x" not found',
         'role.rbac.authorization.k8s.io "y" not found'),
    )  # fmt: skip


def write(resource, new, old=None, *, user=ALICE, namespace="apps"):
    return RoleWrite(
        user=user, resource=resource, namespace=namespace, request_name="", new=new, old=old
    )


def problem(policy, *args, **more):
    return EscalationCheck(policy.authorizers, policy.resolver).problem_of(write(*args, **more))


DELETE = {"verbs": ["delete"], "apiGroups": [""], "resources": ["pods"]}


def test_nobody_writes_a_role_with_more_rights(policy):
    policy.role("reader", READ)
    policy.bind("b", "ClusterRole/reader", "User/alice", namespace="apps")
    assert problem(policy, "roles", {"rules": [READ]}) is None
    assert problem(policy, "roles", {"rules": [READ, DELETE]}) == (
        'user "alice" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC'
        ' permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}'
    )
    root = User("root", groups=(MASTERS,))
    assert problem(policy, "roles", {"rules": [DELETE]}, user=root) is None


def test_the_verb_escalate_allows_any_role(policy):
    group = ["rbac.authorization.k8s.io"]
    policy.role("e", {"verbs": ["escalate"], "apiGroups": group, "resources": ["roles"]})
    policy.bind("b", "ClusterRole/e", "User/alice", namespace="apps")
    assert problem(policy, "roles", {"rules": [DELETE]}) is None
    assert problem(policy, "clusterroles", {"rules": [DELETE]}, namespace="") is not None


def test_the_verb_bind_allows_bindings_of_the_role(policy):
    group = ["rbac.authorization.k8s.io"]
    names = ["killer"]
    policy.role(
        "b",
        {"verbs": ["bind"], "apiGroups": group, "resources": ["roles"], "resourceNames": names},
    )
    policy.bind("b", "ClusterRole/b", "User/alice", namespace="apps")
    policy.role("killer", DELETE, namespace="apps")
    policy.role("other", DELETE, namespace="apps")

    def reference(name):
        return {"roleRef": {"apiGroup": group[0], "kind": "Role", "name": name}}

    assert problem(policy, "rolebindings", reference("killer")) is None
    assert "not currently held" in str(problem(policy, "rolebindings", reference("other")))
    assert problem(policy, "rolebindings", reference("no")) == MissingRole("Role", "no")
    assert problem(policy, "rolebindings", {}) == MissingRole("", "")
    assert problem(policy, "rolebindings", {"roleRef": {}}) == MissingRole("", "")
    # There are no other kinds of roles, so that nobody may bind one.
    policy.role("all", {"verbs": ["bind"], "apiGroups": ["*"], "resources": ["*"]})
    policy.bind("all", "ClusterRole/all", "User/alice", namespace="apps")
    other = {"roleRef": {"apiGroup": group[0], "kind": "Group", "name": "g"}}
    assert problem(policy, "rolebindings", other) == MissingRole("Group", "g")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("Role", 'role.rbac.authorization.k8s.io "r" not found'),
        ("ClusterRole", 'clusterrole.rbac.authorization.k8s.io "r" not found'),
        ("Group", 'unsupported role reference kind: "Group"'),
        ("role", 'unsupported role reference kind: "role"'),
        ("", 'unsupported role reference kind: ""'),
    ],
)
def test_a_role_that_is_missing_is_named_as_its_lister_does(kind, text):
    assert MissingRole(kind, "r").text == text


def test_the_collector_may_change_owners_and_finalizers(policy):
    old = {"metadata": {"name": "r", "finalizers": ["x.io/y"]}, "rules": [DELETE]}
    new = {"metadata": {"name": "r"}, "rules": [DELETE]}
    assert problem(policy, "roles", new, old) is None
    changed = new | {"metadata": {"name": "r", "labels": {"a": "b"}}}
    assert problem(policy, "roles", changed, old) is not None


def test_aggregation_needs_everything(policy):
    rule = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    role = {"aggregationRule": rule}
    needed = "must have cluster-admin privileges to use the aggregationRule"
    assert problem(policy, "clusterroles", role, namespace="") == needed
    # It is also needed to end the aggregation, and not for a rule that selects nothing.
    assert problem(policy, "clusterroles", {}, role, namespace="") == needed
    rule["clusterRoleSelectors"] = []
    assert problem(policy, "clusterroles", role, {}, namespace="") is None


def test_a_refused_role_names_what_could_not_be_read(policy):
    policy.bind("a", "ClusterRole/x", "User/alice")
    policy.bind("b", "Role/y", "User/alice", namespace="apps")
    found = problem(policy, "roles", {"rules": [DELETE]})
    assert str(found).partition("; ")[2] == (
        'resolution errors: [[roles.rbac.authorization.k8s.io "x" not found,'
        ' roles.rbac.authorization.k8s.io "y" not found]]'
    )


def test_the_collector_may_change_bindings(policy):
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "none"}
    old = {"metadata": {"name": "b", "finalizers": ["x.io/y"]}, "roleRef": reference}
    new = old | {"metadata": {"name": "b"}}
    assert problem(policy, "rolebindings", new, old) is None
    assert problem(policy, "rolebindings", new) == MissingRole("Role", "none")


def test_the_bootstrap_policy_is_complete():
    found = bootstrap_policy(OFF_BY_DEFAULT)
    kinds = [each["kind"] for each in found]
    assert {kind: kinds.count(kind) for kind in sorted(set(kinds))} == {
        "ClusterRole": 69,
        "ClusterRoleBinding": 50,
        "Role": 7,
        "RoleBinding": 7,
    }
    names = {(each["kind"], each["metadata"]["name"]) for each in found}
    bound = {(each["roleRef"]["kind"], each["roleRef"]["name"]) for each in found
             if "roleRef" in each}  # fmt: skip
    assert bound <= names
    metadata = {each["metadata"]["name"]: each["metadata"] for each in found}
    marked = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    assert metadata["cluster-admin"] == {
        "name": "cluster-admin",
        "labels": marked,
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    }
    to_view = marked | {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    assert metadata["system:aggregate-to-view"]["labels"] == to_view
    signer = [each["metadata"].get("namespace") for each in found
              if each["metadata"]["name"] == "system:controller:bootstrap-signer"]  # fmt: skip
    assert sorted(signer) == ["kube-public", "kube-public", "kube-system", "kube-system"]


@pytest.mark.parametrize(
    ("gate", "role", "rule"),
    [
        ("GenericWorkload", "system:kube-scheduler", "podgroups/status"),
        ("GenericWorkload", "system:aggregate-to-edit", "workloads"),
        ("GenericWorkload", "system:controller:podgroup-protection-controller", "podgroups"),
        ("DRAWorkloadResourceClaims", "system:controller:resource-claim-controller", "podgroups"),
        ("WorkloadWithJob", "system:controller:job-controller", "workloads"),
        ("DRADeviceTaintRules", "system:kube-scheduler", "devicetaintrules"),
        ("PodCertificateRequest", "system:node", "podcertificaterequests"),
        ("ClusterTrustBundle", "system:cluster-trust-bundle-discovery", "clustertrustbundles"),
        ("DRAExtendedResource", "system:kube-scheduler", "create"),
        ("DRADeviceTaints", "system:controller:device-taint-eviction-controller", "pods"),
        ("ComponentFlagz", "system:monitoring", "/flagz"),
    ],
)
def test_a_rule_of_a_gate_exists_only_if_the_gate_is_on(gate, role, rule):
    def has_rule(disabled: frozenset[str]) -> bool:
        roles = {each["metadata"]["name"]: each for each in bootstrap_policy(disabled)
                 if each["kind"] == "ClusterRole"}  # fmt: skip
        rules = [each for each in roles.get(role, {}).get("rules", [])
                 if rule != "create" or each["resources"] == ["resourceclaims"]]  # fmt: skip
        assert not any("gate" in each for each in rules)
        return any(rule in words for each in rules for words in each.values())

    assert has_rule(frozenset())
    assert not has_rule(frozenset({gate}))


def test_what_a_user_may_is_not_what_another_of_the_same_name_may(policy):
    policy.role("reader", READ)
    policy.bind("everywhere", "ClusterRole/reader", "Group/dev")
    policy.bind("here", "ClusterRole/reader", "Group/ops", namespace="apps")
    users = {
        (): (False, False),
        ("dev",): (True, True),
        ("ops",): (True, False),
        ("other", "ops"): (True, False),
        ("other",): (False, False),
    }
    for _ in range(2):  # the second time, rights are remembered
        for groups, (apps, elsewhere) in users.items():
            user = User("same", groups=groups)
            assert policy.may(user, "get", "pods", namespace="apps") is apps
            assert policy.may(user, "get", "pods", namespace="other") is elsewhere
            assert policy.may(user, "get", "pods") is elsewhere
    assert not policy.may(User("dev"), "get", "pods", namespace="apps")

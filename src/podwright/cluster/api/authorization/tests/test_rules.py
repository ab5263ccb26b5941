"""What rules allow, and which rules cover others."""

from __future__ import annotations

import pytest

from podwright.cluster.api.authorization import Access
from podwright.cluster.api.authorization.policy_rules import descriptions, rule_allows, uncovered
from podwright.cluster.api.authorization.tests.conftest import ALICE


def rule(verbs: str, groups: str, resources: str, names: str = "") -> dict[str, list[str]]:
    fields = {"verbs": verbs, "apiGroups": groups, "resources": resources, "resourceNames": names}
    return {name: text.split(",") for name, text in fields.items() if text or name == "apiGroups"}


@pytest.mark.parametrize(
    ("resources", "resource", "subresource", "is_allowed"),
    [
        ("pods", "pods", "", True),
        ("pods", "pods", "log", False),
        ("pods/log", "pods", "log", True),
        ("pods/log", "pods", "", False),
        ("*/log", "pods", "log", True),
        ("*/log", "pods", "logs", False),
        ("*", "pods", "log", True),
        ("pods/*", "pods", "log", False),
        ("", "pods", "log", False),
    ],
)
def test_resources_and_subresources(resources, resource, subresource, is_allowed):
    access = Access(user=ALICE, verb="get", resource=resource, subresource=subresource)
    assert rule_allows(rule("get", "", resources), access) is is_allowed


@pytest.mark.parametrize(
    ("names", "name", "is_allowed"),
    [("", "a", True), ("a,b", "b", True), ("a", "c", False), ("a", "", False)],
)
def test_names(names, name, is_allowed):
    access = Access(user=ALICE, verb="get", resource="pods", name=name)
    assert rule_allows(rule("get", "", "pods", names), access) is is_allowed


@pytest.mark.parametrize(
    ("url", "path", "is_allowed"),
    [
        ("/healthz", "/healthz", True),
        ("/healthz", "/healthz/", False),
        ("/healthz/*", "/healthz/etcd", True),
        ("/healthz/*", "/healthz", False),
        ("/apis**", "/apis", True),
        ("*", "/anything", True),
    ],
)
def test_paths(url, path, is_allowed):
    access = Access(user=ALICE, verb="get", is_resource=False, path=path)
    assert rule_allows({"verbs": ["get"], "nonResourceURLs": [url]}, access) is is_allowed


def test_a_rule_of_resources_allows_no_path():
    access = Access(user=ALICE, verb="get", is_resource=False, path="/healthz")
    assert not rule_allows(rule("*", "*", "*"), access)


@pytest.mark.parametrize(
    ("owned", "needed", "missing"),
    [
        ([rule("get,list", "", "pods")], rule("get", "", "pods"), []),
        ([rule("get", "", "pods"), rule("list", "", "pods")], rule("get,list", "", "pods"), []),
        ([rule("*", "*", "*")], rule("get", "apps", "deployments/scale"), []),
        ([rule("get", "", "*/status")], rule("get", "", "pods/status"), []),
        ([rule("get", "", "pods")], rule("get", "", "pods/status"),
         ['{APIGroups:[""], Resources:["pods/status"], Verbs:["get"]}']),
        ([rule("get", "", "pods", "a")], rule("get", "", "pods", "a"), []),
        ([rule("get", "", "pods")], rule("get", "", "pods", "a"), []),
        ([rule("get", "", "pods", "a")], rule("get", "", "pods"),
         ['{APIGroups:[""], Resources:["pods"], Verbs:["get"]}']),
        ([rule("get", "", "pods", "a,c")], rule("get", "", "pods", "a,b,c"),
         ['{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}']),
        ([rule("get", "", "pods", "a"), rule("get", "", "pods", "b")],
         rule("get", "", "pods", "a,b"), []),
        ([rule("get", "apps", "pods")], rule("get", "", "pods"),
         ['{APIGroups:[""], Resources:["pods"], Verbs:["get"]}']),
        ([{"verbs": ["get"], "nonResourceURLs": ["*"]}], rule("get", "", "pods"),
         ['{APIGroups:[""], Resources:["pods"], Verbs:["get"]}']),
        ([rule("*", "*", "*")], {"verbs": ["get"], "nonResourceURLs": ["/api"]},
         ['{NonResourceURLs:["/api"], Verbs:["get"]}']),
        ([], rule("get,list", "", "pods", "a,b"),
         ['{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get" "list"]}',
          '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get" "list"]}']),
        ([{"verbs": ["get"], "nonResourceURLs": ["/api/*"]}],
         {"verbs": ["get", "post"], "nonResourceURLs": ["/api/v1", "/metrics"]},
         ['{NonResourceURLs:["/api/v1"], Verbs:["post"]}',
          '{NonResourceURLs:["/metrics"], Verbs:["get"]}',
          '{NonResourceURLs:["/metrics"], Verbs:["post"]}']),
    ],
)  # fmt: skip
def test_covered_rules(owned, needed, missing):
    assert descriptions(uncovered(owned, [needed])) == missing

"""Which writes a policy matches, by its rules, selectors and equivalent resources."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.policies.matching import matched_resource
from podwright.cluster.api.admission.tests.contexts import a_context
from podwright.cluster.api.users import User
from podwright.cluster.api.versions.resources import built_in_resources
from podwright.cluster.store import ObjectStore

RESOURCES = built_in_resources()
POD, NODE, NAMESPACE = (RESOURCES["v1", name] for name in ("Pod", "Node", "Namespace"))
AUTOSCALER_1, AUTOSCALER_2 = (
    RESOURCES[f"autoscaling/{version}", "HorizontalPodAutoscaler"] for version in ("v1", "v2")
)


@pytest.fixture(scope="module")
def context() -> Any:
    store = ObjectStore()
    labels = {"team": "a"}
    for name, given in (("labelled", labels), ("plain", {})):
        metadata = {"name": name, "labels": given}
        store.put(decode({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}))
    return msgspec.structs.replace(a_context(store), resources=(AUTOSCALER_1, AUTOSCALER_2, POD))


def write(resource: Any = POD, **fields: Any) -> Attributes:
    given: dict[str, Any] = {
        "operation": "CREATE",
        "resource": resource,
        "subresource": "",
        "namespace": "labelled",
        "name": "p",
        "object": {"metadata": {"name": "p", "labels": {"app": "w"}}},
        "old": None,
        "user": User(name="u"),
        "options": {},
        "is_dry_run": False,
        "now_ns": 0,
    }
    return Attributes(**(given | fields))


def rule(**fields: Any) -> dict[str, Any]:
    given = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    return {"resourceRules": [given | fields]}


TEAM = {"matchLabels": {"team": "a"}}
APP = {"matchLabels": {"app": "w"}}


@pytest.mark.parametrize(
    ("match", "attributes", "is_matched"),
    [
        ({}, write(), True),
        (rule(), write(), True),
        (rule(operations=["UPDATE"]), write(), False),
        (rule(operations=["UPDATE", "CREATE"]), write(), True),
        (rule(operations=[]), write(), False),
        (rule(apiGroups=[""]), write(), True),
        (rule(apiGroups=["apps"]), write(), False),
        (rule(apiVersions=["v2"]), write(), False),
        (rule(resources=["pods"]), write(), True),
        (rule(resources=["pods"]), write(subresource="status"), False),
        (rule(resources=["pods/status"]), write(subresource="status"), True),
        (rule(resources=["pods/status"]), write(), False),
        (rule(resources=["pods/*"]), write(subresource="status"), True),
        (rule(resources=["*/*"]), write(subresource="status"), True),
        (rule(resources=["*/scale"]), write(subresource="status"), False),
        (rule(resources=["*"]), write(subresource="status"), False),
        (rule(resources=["services", "pods"]), write(), True),
        (rule(resourceNames=["p"]), write(), True),
        (rule(resourceNames=["q"]), write(), False),
        (rule(resourceNames=[]), write(), True),
        (rule(scope="Namespaced"), write(), True),
        (rule(scope="Cluster"), write(), False),
        (rule(scope="*"), write(), True),
        (rule(scope="Other"), write(), False),
        (rule(scope="Cluster"), write(NODE, namespace=""), True),
        (rule(scope="Namespaced"), write(NODE, namespace=""), False),
        # A namespace is in itself, but not namespaced.
        (rule(scope="Cluster"), write(NAMESPACE, namespace="labelled"), True),
        (rule(scope="Namespaced"), write(NAMESPACE, namespace="labelled"), False),
        # Selectors of namespaces.
        ({"namespaceSelector": TEAM}, write(), True),
        ({"namespaceSelector": TEAM}, write(namespace="plain"), False),
        ({"namespaceSelector": TEAM}, write(namespace="absent"), False),
        ({"namespaceSelector": {}}, write(namespace="absent"), True),
        ({"namespaceSelector": TEAM}, write(NODE, namespace=""), True),
        (
            {"namespaceSelector": TEAM},
            write(NAMESPACE, namespace="new", object={"metadata": {"labels": {"team": "a"}}}),
            True,
        ),
        ({"namespaceSelector": TEAM}, write(NAMESPACE, namespace="", object=None), False),
        (
            {"namespaceSelector": TEAM},
            write(NAMESPACE, namespace="labelled", object={"metadata": {}}),
            False,
        ),
        # A deletion and a subresource have the labels that are stored.
        (
            {"namespaceSelector": TEAM},
            write(NAMESPACE, namespace="labelled", object=None, operation="DELETE"),
            True,
        ),
        (
            {"namespaceSelector": TEAM},
            write(NAMESPACE, namespace="labelled", object={}, subresource="status"),
            True,
        ),
        # Selectors of objects: the new or the old one.
        ({"objectSelector": APP}, write(), True),
        ({"objectSelector": APP}, write(object={"metadata": {}}), False),
        ({"objectSelector": APP}, write(object=None, old={"metadata": {"labels": {"app": "w"}}}),
         True),
        ({"objectSelector": APP}, write(object={}, old={}), False),
        ({"objectSelector": APP}, write(object=None, old=None), False),
        ({"objectSelector": {}}, write(object=None), True),
        # What is excluded is not matched.
        ({"excludeResourceRules": rule()["resourceRules"]}, write(), False),
        (
            rule() | {"excludeResourceRules": rule(operations=["DELETE"])["resourceRules"]},
            write(),
            True,
        ),
        (
            rule() | {"excludeResourceRules": rule(resourceNames=["p"])["resourceRules"]},
            write(),
            False,
        ),
    ],
)  # fmt: skip
def test_which_writes_a_policy_matches(context, match, attributes, is_matched):
    found = matched_resource(context, attributes, match)
    assert found is (attributes.resource if is_matched else None)


@pytest.mark.parametrize("absent", [None, []])
@pytest.mark.parametrize("field", ["operations", "apiGroups", "apiVersions", "resources"])
def test_a_rule_without_one_of_its_lists_matches_nothing(context, field, absent):
    (given,) = rule()["resourceRules"]
    without = {name: value for name, value in given.items() if name != field}
    for incomplete in (without, given | {field: absent}):
        assert matched_resource(context, write(), {"resourceRules": [incomplete]}) is None


@pytest.mark.parametrize(
    ("policy", "versions", "found"),
    [
        ("Equivalent", ["v1"], AUTOSCALER_1),
        ("Equivalent", ["v2"], AUTOSCALER_2),
        ("Equivalent", ["v1", "v2"], AUTOSCALER_2),
        ("Equivalent", ["v3"], None),
        ("Exact", ["v1"], None),
        ("Exact", ["v2"], AUTOSCALER_2),
        (None, ["v1"], None),
    ],
)
def test_another_version_of_the_resource_may_match(context, policy, versions, found):
    match = rule(apiGroups=["autoscaling"], apiVersions=versions) | {"matchPolicy": policy}
    assert matched_resource(context, write(AUTOSCALER_2), match) is found


def test_what_is_excluded_by_another_version_is_not_matched(context):
    excluded = rule(apiGroups=["autoscaling"], apiVersions=["v1"])["resourceRules"]
    match = {"excludeResourceRules": excluded, "matchPolicy": "Equivalent"}
    assert matched_resource(context, write(AUTOSCALER_2), match) is None
    assert matched_resource(context, write(AUTOSCALER_2), match | {"matchPolicy": "Exact"})
    assert matched_resource(context, write(POD), match) is POD

"""What stored roles and bindings get from the policy of a later version."""

from __future__ import annotations

import pytest

from podwright.cluster.api.authorization import reconciled

READ = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}
WRITE = {"verbs": ["create"], "apiGroups": [""], "resources": ["pods"]}
OWN = {"verbs": ["*"], "apiGroups": ["example.com"], "resources": ["*"]}
GET = READ | {"verbs": ["get"]}
ROLE = {"metadata": {"name": "r", "labels": {"a": "1"}}, "rules": [READ, WRITE]}
ALICE, BOB = {"kind": "User", "name": "alice"}, {"kind": "User", "name": "bob"}
BINDING = {"metadata": {"name": "b"}, "roleRef": {"name": "r"}, "subjects": [ALICE]}
SELECTED, OTHER = {"matchLabels": {"a": "1"}}, {"matchLabels": {"b": "1"}}
AGGREGATED = {"metadata": {"name": "r"}, "aggregationRule": {"clusterRoleSelectors": [SELECTED]}}


@pytest.mark.parametrize(
    ("stored", "expected", "changes"),
    [
        pytest.param(ROLE, ROLE, {}, id="the same"),
        pytest.param(ROLE | {"rules": [OWN, WRITE, GET]}, ROLE,
            {"rules": [OWN, WRITE, GET, READ | {"verbs": ["list"]}]}, id="a part of a rule"),
        pytest.param(ROLE | {"rules": None}, ROLE | {"rules": [WRITE]}, {"rules": [WRITE]},
            id="no rules"),
        pytest.param(ROLE | {"metadata": {"name": "r", "labels": {"a": "2", "b": "3"}}},
            ROLE | {"metadata": {"labels": {"a": "1", "c": "4"}}},
            {"metadata": {"name": "r", "labels": {"a": "2", "b": "3", "c": "4"}}}, id="a label"),
        pytest.param(
            {"metadata": {"annotations": {"rbac.authorization.kubernetes.io/autoupdate": "false"}}},
            ROLE, {}, id="an excluded role"),
        pytest.param(BINDING | {"subjects": [BOB]}, BINDING, {"subjects": [BOB, ALICE]},
            id="a subject"),
        pytest.param(BINDING | {"roleRef": {"name": "s"}, "subjects": [BOB]}, BINDING, BINDING,
            id="another role"),
        pytest.param(AGGREGATED | {"aggregationRule": {"clusterRoleSelectors": [OTHER]}},
            AGGREGATED, {"aggregationRule": {"clusterRoleSelectors": [OTHER, SELECTED]}},
            id="a selector"),
        pytest.param(AGGREGATED | {"aggregationRule": {}}, AGGREGATED,
            {"aggregationRule": {"clusterRoleSelectors": [SELECTED]}}, id="all selectors"),
        pytest.param(AGGREGATED | {"rules": [READ]}, ROLE | {"metadata": {}},
            {"rules": [READ, WRITE], "aggregationRule": None}, id="no longer aggregated"),
    ],
)  # fmt: skip
def test_a_stored_object_gets_what_it_lacks(stored, expected, changes):
    found = reconciled(stored, expected)
    assert found == stored | changes
    assert (found is stored) == (not changes)

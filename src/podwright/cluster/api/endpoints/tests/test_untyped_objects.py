"""Objects with list items that have none of their keys: nobody owns their fields.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/fieldmanager.go,
UpdateNoErrors
"""

from __future__ import annotations

import pytest

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
APPLY = "apply-patch+yaml"
KEYLESS = [{"namespace": "x"}]


def account(name, **fields):
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}} | fields


def test_such_an_object_has_no_managers(server):
    _, made = server.reply("POST", ACCOUNTS, account("a", secrets=KEYLESS))
    assert "managedFields" not in made["metadata"]
    _, made = server.reply("POST", ACCOUNTS, account("b", secrets=[{"name": "s"}]))
    assert made["metadata"]["managedFields"]
    _, changed = server.patch(f"{ACCOUNTS}/b", {"secrets": KEYLESS})
    assert "managedFields" not in changed["metadata"]
    _, changed = server.patch(f"{ACCOUNTS}/b", {"secrets": [{"name": "s"}]})
    assert "managedFields" not in changed["metadata"], "it is not tracked from then on"


def test_it_cannot_be_applied(server):
    server.reply("POST", ACCOUNTS, account("a", secrets=KEYLESS))
    path = f"{ACCOUNTS}/a?fieldManager=x"
    status, found = server.patch(path, account("a", automountServiceAccountToken=True), APPLY)
    assert status == 500
    assert found["message"] == (
        "failed to create manager for existing fields: failed to convert new object"
        " (default/a; /v1, Kind=ServiceAccount) to smd typed: .secrets: element 0: associative list"
        ' with keys has an element that omits all key fields ["name"] (and doesn\'t have default'
        " values for any key fields)"
    )


@pytest.mark.parametrize(
    ("entries", "status", "message"),
    [
        ([{}], 400, "metadata.managedFields must be nil"),
        ({}, 500, "failed to create typed patch object (/c; /v1, Kind=ConfigMap):"
                  " .metadata.managedFields: expected list, got &{map[]}"),
        ([3], 500, "failed to create typed patch object (/c; /v1, Kind=ConfigMap):"
                   " .metadata.managedFields[0]: expected map, got &{3}"),
    ],
)  # fmt: skip
def test_applied_managers_are_refused_after_their_types(server, entries, status, message):
    body = {
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "c", "managedFields": entries},
    }  # fmt: skip
    code, found = server.patch(f"{CONFIG_MAPS}/c?fieldManager=x", body, APPLY)
    assert (code, found["message"]) == (status, message)

"""Patches whose result is not an object of the kind, and the patched object in the messages."""

from __future__ import annotations

import json

import pytest

from podwright.cluster.api.endpoints.tests.conftest import config_map
from podwright.cluster.api.endpoints.tests.test_access_reviews import ALICE, grant, rule

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PATH = f"{CONFIG_MAPS}/c"


@pytest.fixture
def patch(server):
    document = config_map("c", a="1 < 2")
    document["metadata"] |= {"labels": {"x": "y", "a/b": "z"}}
    server.reply("POST", CONFIG_MAPS, document)
    return lambda patch, kind="merge-patch+json": server.patch(PATH, patch, kind)


def cause(error):
    (found,) = error["details"]["causes"]
    return found["message"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(
            {"data": {"a": 5}},
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
            id="a value of a map",
        ),
        pytest.param(
            {"data": 5},
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type"
            " map[string]string",
            id="a map",
        ),
        pytest.param({"kind": "Secret"}, "illegal base64 data at input byte 1", id="other types"),
        pytest.param(
            {"kind": "Service"},
            "converting (v1.Service) to (core.ConfigMap): unknown conversion",
            id="another kind",
        ),
        pytest.param(
            {"kind": "Strange"},
            'no kind "Strange" is registered for version "v1" in scheme'
            ' "pkg/api/legacyscheme/scheme.go:30"',
            id="an unknown kind",
        ),
        pytest.param(
            {"kind": 5},
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go"
            " struct field .kind of type string",
            id="no text",
        ),
    ],
)
def test_a_result_that_is_no_object_of_the_kind_is_invalid(patch, change, reason):
    status, error = patch(change)
    assert (status, error["reason"]) == (422, "Invalid")
    assert cause(error).endswith(f'": {reason}')


def test_a_result_without_kind_has_that_of_the_path(patch):
    status, found = patch({"kind": None, "data": {"b": "2"}})
    assert (status, found["kind"], found["data"]["b"]) == (200, "ConfigMap", "2")


def test_a_result_without_version_has_no_name(patch):
    status, error = patch({"apiVersion": None})
    assert (status, error["message"]) == (
        400,
        "the name of the object (c based on URL) was undeterminable: name must be provided",
    )


def test_a_body_without_a_name_is_rejected(server):
    status, error = server.reply("PUT", PATH, config_map(""))
    assert (status, error["message"]) == (
        400,
        "the name of the object (c based on URL) was undeterminable: name must be provided",
    )


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        pytest.param({"data": {"b": 5}}, "merge-patch+json", id="merge patch"),
        pytest.param(
            [{"op": "add", "path": "/data/b", "value": 5}], "json-patch+json", id="JSON patch"
        ),
    ],
)
def test_the_patched_object_is_shown_as_upstream_encodes_it(patch, change, kind):
    _, error = patch(change, kind)
    text, _, _ = cause(error).removeprefix("Invalid value: ").rpartition(": json: ")
    shown = json.loads(text)
    assert r'"data":{"a":"1 \u003c 2","b":5}' in shown
    pairs = json.loads(shown, object_pairs_hook=lambda pairs: pairs)
    assert [name for name, _ in pairs] == ["apiVersion", "data", "kind", "metadata"]
    metadata = dict(pairs)["metadata"]
    assert [name for name, _ in metadata][:3] == ["name", "namespace", "uid"]
    assert dict(metadata)["labels"] == [("a/b", "z"), ("x", "y")]


def test_values_of_a_json_patch_keep_their_order(patch):
    change = [{"op": "add", "path": "/data", "value": {"z": 1, "b": "2"}}]
    _, error = patch(change, "json-patch+json")
    assert r"\"data\":{\"z\":1,\"b\":\"2\"}" in cause(error)


def test_an_apply_in_another_version_owns_the_fields_of_the_first(server):
    def applied(version, manager, **spec):
        target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
        body = {
            "apiVersion": f"autoscaling/{version}", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "h"}, "spec": {"maxReplicas": 5, "scaleTargetRef": target, **spec},
        }  # fmt: skip
        path = f"/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers/h"
        return server.patch(f"{path}?fieldManager={manager}", body, "apply-patch+yaml")

    assert applied("v2", "a", minReplicas=2)[0] == 201
    # What the manager leaves out in the other version is removed, and gets its default.
    status, found = applied("v1", "a")
    assert (status, found["spec"]["minReplicas"]) == (200, 1)
    (entry,) = found["metadata"]["managedFields"]
    assert (entry["apiVersion"], entry["fieldsV1"]) == (
        "autoscaling/v1", {"f:spec": {"f:maxReplicas": {}, "f:scaleTargetRef": {}}},
    )  # fmt: skip
    assert applied("v1", "b", minReplicas=3)[0] == 200
    status, found = applied("v2", "a", minReplicas=2)
    assert (status, found["message"]) == (
        409, 'Apply failed with 1 conflict: conflict with "b": .spec.minReplicas',
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "owners"),
    [
        pytest.param([], None, id="no entries: nobody owns the fields any more"),
        pytest.param([{}], None, id="one empty entry says the same"),
        pytest.param(None, ["m"], id="null changes nothing"),
        pytest.param([{"manager": "x"}], ["m"], id="nor does an entry that cannot be read"),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_the_owners_of_fields_are_reset_by_an_empty_list(server, sent, owners, method):
    applied = {"apiVersion": "v1", "kind": "ConfigMap"} | config_map("c", a="b")
    assert server.patch(f"{PATH}?fieldManager=m", applied, "apply-patch+yaml")[0] == 201
    headers = {"content-type": "application/merge-patch+json"} if method == "PATCH" else {}
    changed = applied | {"metadata": {"name": "c", "managedFields": sent}}
    _, found = server.reply(method, f"{PATH}?fieldManager=n", changed, headers=headers)
    entries = found["metadata"].get("managedFields")
    assert (entries and [each["manager"] for each in entries]) == owners


def test_an_apply_that_creates_needs_the_right_to_create(server):
    grant(server, "patching", rule("configmaps", "patch"))
    headers = {"content-type": "application/apply-patch+yaml"}
    applied = {"apiVersion": "v1", "kind": "ConfigMap"} | config_map("c", a="b")
    path = f"{PATH}?fieldManager=m"
    status, found = server.reply("PATCH", path, applied, headers=headers, user=ALICE)
    assert (status, found["message"]) == (
        403,
        'configmaps "c" is forbidden: User "alice" cannot create resource "configmaps" in API group'
        ' "" in the namespace "default"',
    )
    server.reply("POST", CONFIG_MAPS, config_map("c"))
    assert server.reply("PATCH", path, applied, headers=headers, user=ALICE)[0] == 200

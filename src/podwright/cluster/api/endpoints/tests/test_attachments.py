"""The status of volume attachments, and runtime classes whose names are not part of a path."""

from __future__ import annotations

import pytest

from podwright.cluster.api.endpoints.tests.conftest import pod

ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
TOO_LONG = "Too long: may not be more than 262144 bytes"


@pytest.mark.parametrize(
    ("status", "field", "message"),
    [
        ({"attachError": {"errorCode": 0}}, "", ""),
        (
            {"attachError": {"errorCode": -1}},
            "status.attachError.errorCode",
            "Invalid value: -1: must be between 0 and 2147483647, inclusive",
        ),
        ({"detachError": {"message": "m" * 1024}}, "", ""),
        ({"detachError": {"message": "m" * 1025}}, "status.detachError.message", TOO_LONG),
        ({"attachmentMetadata": {"a": "x" * 262_143}}, "", ""),
        ({"attachmentMetadata": {"a": "x" * 262_144}}, "status.attachmentMetadata", TOO_LONG),
    ],
)
def test_the_status_of_an_attachment_has_limits(server, status, field, message):
    attachment = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": "va"},
        "spec": {
            "attacher": "a.b",
            "nodeName": "n",
            "source": {"persistentVolumeName": "pv"},
        },
    }
    assert server.reply("POST", ATTACHMENTS, attachment)[0] == 201
    code, found = server.patch(f"{ATTACHMENTS}/va/status", {"status": {"attached": True} | status})
    assert code == (422 if field else 200)
    if field:
        (cause,) = found["details"]["causes"]
        assert (cause["field"], cause["message"]) == (field, message)


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("x", 403, 'RuntimeClass "x" not found'),
        ("a/%", 500, "invalid resource name \"a/%\": [may not contain '/' may not contain '%']"),
        ("..", 500, "invalid resource name \"..\": [may not be '..']"),
    ],
)
def test_a_runtime_class_that_cannot_be_requested_is_an_error(server, name, status, message):
    path = "/api/v1/namespaces/default/pods"
    code, found = server.reply("POST", path, pod("p", runtimeClassName=name))
    assert code == status
    assert message in found["message"]

"""Certificate requests: whose they are, and what each path changes."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
APPROVED = {"type": "Approved", "status": "True", "reason": "r", "message": "m"}


def request(**spec: Any) -> dict[str, Any]:
    pem = b64encode(b"-----BEGIN CERTIFICATE REQUEST-----\n").decode()
    fields = {"request": pem, "signerName": "acme.io/x", "usages": ["client auth"], **spec}
    return {"metadata": {"name": "r"}, "spec": fields}


def test_a_request_is_one_of_its_user(server):
    sent = request(username="other", groups=["system:masters"], extra={"a": ["b"]})
    status, found = server.reply("POST", PATH, sent | {"status": {"conditions": [APPROVED]}})
    assert status == 201
    spec = found["spec"]
    assert (spec["username"], spec["uid"]) == ("admin", "admin-uid")
    assert "extra" not in spec
    assert found["status"] == {}


def test_an_approval_changes_only_the_conditions(server):
    server.reply("POST", PATH, request())
    change = {"spec": {"signerName": "b.io/c"}, "status": {"conditions": [APPROVED]}}
    status, found = server.patch(f"{PATH}/r/approval", change)
    assert (status, found["spec"]["signerName"]) == (200, "acme.io/x")
    (condition,) = found["status"]["conditions"]
    assert condition["lastUpdateTime"] == condition["lastTransitionTime"]
    status, found = server.patch(f"{PATH}/r/approval", {"status": {"conditions": []}})
    assert (status, found["reason"]) == (422, "Invalid")


def test_an_update_keeps_spec_and_status(server):
    server.reply("POST", PATH, request())
    change = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"signerName": "b.io/c"},
        "status": {"conditions": [APPROVED]},
    }
    status, found = server.patch(f"{PATH}/r", change)
    assert (status, found["metadata"]["labels"]) == (200, {"a": "b"})
    assert (found["spec"]["signerName"], found["status"]) == ("acme.io/x", {})


def test_a_certificate_is_set_once_and_keeps_the_approval(server):
    server.reply("POST", PATH, request())
    server.patch(f"{PATH}/r/approval", {"status": {"conditions": [APPROVED]}})
    certificate = b64encode(b"-----BEGIN CERTIFICATE-----\n").decode()
    changed = APPROVED | {"reason": "other"}
    change = {"status": {"certificate": certificate, "conditions": [changed]}}
    status, found = server.patch(f"{PATH}/r/status", change)
    assert status == 200, found
    assert found["status"]["conditions"][0]["reason"] == "r"
    change["status"]["certificate"] = b64encode(b"-----BEGIN CERTIFICATE-----\n2").decode()
    assert server.patch(f"{PATH}/r/status", change)[0] == 422

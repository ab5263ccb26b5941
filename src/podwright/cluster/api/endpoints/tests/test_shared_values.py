"""Equal parts of the objects of templates are kept once."""

from __future__ import annotations

import json

from podwright.cluster.api.endpoints import HttpReply, HttpRequest
from podwright.cluster.api.endpoints.decoding.shared_values import SharedValues
from podwright.cluster.api.endpoints.tests.conftest import ADMIN, START_NS, Server

EVENTS = "/api/v1/namespaces/default/events"
EVENT = ("", "Event")
FIELDS = [("name", 0), ("uid", 1)]
FORM = {"kind": "Pod", "name": "example", "uid": "u0"}


def record(server: Server, name: str, pod: str, reason: str) -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": pod},
        "reason": reason,
        "message": "a message",
        "source": {"component": "kubelet", "host": "node-1"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
        "type": "Normal",
    }
    data = json.dumps(document, separators=(",", ":")).encode()
    reply = server.api.handle(HttpRequest("POST", EVENTS, "", {}, data), ADMIN, START_NS)
    assert isinstance(reply, HttpReply)
    assert reply.status == 201, reply


def test_events_of_one_pod_share_its_reference(server):
    for number in range(8):
        for reason in ("Created", "Started"):
            record(server, f"{reason.lower()}-{number}", f"pod-{number}", reason)
    created, started = (
        server.store.get(EVENT, f"default/{name}-7").raw for name in ("created", "started")
    )
    assert created["involvedObject"] is started["involvedObject"]
    assert created["involvedObject"]["name"] == "pod-7"
    assert created["source"] is started["source"]
    assert created["message"] is started["message"]
    assert created["firstTimestamp"] is created["lastTimestamp"]
    assert (created["reason"], started["reason"]) == ("Created", "Started")


def test_parts_of_another_form_or_with_other_values_are_not_shared():
    shared = SharedValues()
    form = shared.form_of(FORM, FIELDS)
    part = shared.part(FORM, form, FIELDS, ["web", "u1"])
    assert part == {"kind": "Pod", "name": "web", "uid": "u1"}
    assert shared.form_of({**FORM, "name": "other"}, FIELDS) == form
    assert shared.part(FORM, form, FIELDS, ["web", "u1"]) is part
    assert shared.part(FORM, form, FIELDS, ["web", "u2"])["uid"] == "u2"
    other = {**FORM, "kind": "Node"}
    other_form = shared.form_of(other, FIELDS)
    assert other_form != form
    assert shared.part(other, other_form, FIELDS, ["web", "u1"])["kind"] == "Node"


def test_the_kept_parts_and_texts_are_bounded():
    shared = SharedValues()
    form = shared.form_of(FORM, FIELDS)
    for number in range(20_000):
        shared.part(FORM, form, FIELDS, shared.texts([f"pod-{number}", "u1"]))
    assert len(shared._parts) <= 4_096
    assert len(shared._texts) <= 4_100

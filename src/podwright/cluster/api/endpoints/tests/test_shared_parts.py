"""Equal parts of the objects of templates are kept once."""

from __future__ import annotations

import json

from podwright.apimachinery.objects import Unknown
from podwright.cluster.api.endpoints import HttpReply, HttpRequest
from podwright.cluster.api.endpoints.forms.templates import MarkedText, Part, SharedParts
from podwright.cluster.api.endpoints.tests.conftest import ADMIN, START_NS, Server

EVENTS = "/api/v1/namespaces/default/events"
EVENT = ("", "Event")


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
    shared, like = SharedParts(), Unknown(api_version="v1", kind="Event", raw={})

    def of(mark, *values):
        text = MarkedText(mark.encode())
        part = Part("involvedObject", "", is_typed=False, text=text, same=[])
        return shared.of(part, [value.encode() for value in values], like)[0]

    form = '{"kind":"Pod","name":"\ufdd00\ufdd1","uid":"\ufdd01\ufdd1"}'
    web = of(form, "web", "u1")
    assert web == {"kind": "Pod", "name": "web", "uid": "u1"}
    assert of(form, "web", "u1") is web
    assert of(form, "web", "u2")["uid"] == "u2"
    assert of(form.replace("Pod", "Node"), "web", "u1")["kind"] == "Node"
    assert of('"\ufdd00\ufdd1"', 'a \\"b\\"') == 'a "b"'
    assert of('"\ufdd00\ufdd1"', "text") == "text"


def test_the_kept_parts_are_bounded():
    shared, like = SharedParts(), Unknown(api_version="v1", kind="Event", raw={})
    text = MarkedText('{"name":"\ufdd00\ufdd1"}'.encode())
    part = Part("involvedObject", "", is_typed=False, text=text, same=[])
    for number in range(20_000):
        shared.of(part, [b"pod-%d" % number], like)
    assert len(shared._known) <= 4_096

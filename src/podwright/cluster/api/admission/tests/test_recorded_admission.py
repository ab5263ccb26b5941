"""What kube-apiserver's admission made of drawn requests, see `tests/real_parts/admission`.

`python -m tests.real_parts.admission` wrote the record. A request leaves nothing behind.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from tests.conformance.replay import START_NS
from tests.golden.left_out import Change, is_same, text, without
from tests.real_parts.admission import ENABLED, permissions, request
from tests.real_parts.admission.families import Sent
from tests.real_parts.recording import read_record

from podwright.apimachinery.objects.texts.times import timestamp_ns
from podwright.apimachinery.schema import decode
from podwright.cluster.api.admission import default_plugins
from podwright.cluster.api.endpoints import ApiServer, HttpReply, bare_options, bare_store
from podwright.cluster.store import kind_of

RECORD: Final = Path(__file__).with_name("recorded_admission.jsonl.gz")
ANSWERED: Final = ("status", "answer", "warnings")


class Server:
    """A server with all plugins of the recorded one."""

    def __init__(self) -> None:
        self.store = bare_store(START_NS)
        admission = partial(
            default_plugins, enabled=ENABLED, disabled=("ValidatingAdmissionWebhook",)
        )
        options = msgspec.structs.replace(bare_options(), admission=admission)
        self.server = ApiServer(self.store, options)
        for each in permissions():
            self.store.put(decode(each))

    def answer(self, namespace: str, sent: Sent, now: str) -> dict[str, Any]:
        """Return what is recorded of an answer."""
        now_ns = timestamp_ns(now)
        assert now_ns is not None
        reply = self.server.serve(request(namespace, sent), now_ns)
        assert isinstance(reply, HttpReply)
        warnings = ", ".join(text for name, text in reply.headers if name.lower() == "warning")
        found = {"status": reply.status, "answer": json.loads(reply.body)}
        return found | ({"warnings": warnings} if warnings else {})


# ----------------------------------------------------------------------- what is not compared


def of_numbers(names: str) -> Change:
    return lambda found: json.loads(re.sub(rf'"({names})": \d+', r'"\1": 0', json.dumps(found)))


def in_order(found: Any) -> Any:
    """Order the errors of one object."""
    answer = found["answer"]
    causes = (answer.get("details") or {}).get("causes")
    if not causes:
        return found
    details = answer["details"] | {"causes": sorted(causes, key=json.dumps)}
    # An error may have a comma in its text.
    words = sorted(re.split(r", |\[|\]$|(?<=is invalid): ", answer["message"]))
    return found | {"answer": answer | {"details": details, "message": words}}


NORMALIZATIONS: Final[dict[str, tuple[str, Change]]] = {
    "drawn": (
        "each server draws uids, and numbers other writes",
        without("uid", "resourceVersion"),
    ),
    "time": ("a request at the turn of a second", text(r"20\d\d-\d\d-\d\dT[\d:.]+Z", "TIME")),
    "name of a volume": ("drawn", text(r"kube-api-access-[a-z0-9]{5}", "kube-api-access-DRAWN")),
    "port": ("drawn", of_numbers("nodePort|healthCheckNodePort")),
    "order of errors": ("that of a Go map", in_order),
    "struct diff": (
        "upstream prints a diff of Go structs, whose spaces are drawn",
        text(r"(?s)(other than status.quantity and status.conditions).*", r"\1"),
    ),
}
"""Reason and change, by name. One that makes nothing equal fails."""


def test_requests_are_admitted_as_upstream_admits_them(record_property: Any) -> None:
    server, counts, differing = Server(), Counter[str](), list[str]()
    count = 0
    for case in read_record(RECORD):
        objects = [decode(each) for each in case["objects"]]
        for each in objects:
            server.store.put(each)
        for recorded in case["requests"]:
            count += 1
            found = server.answer(case["name"], msgspec.convert(recorded, Sent), recorded["now"])
            expected = {name: recorded[name] for name in ANSWERED if name in recorded}
            if not is_same(found, expected, NORMALIZATIONS, counts):
                differing.append(f"{case['name']}: {recorded}\n  here: {found}")
        for each in objects:
            server.store.drop(kind_of(each), each.key)
    assert not differing, f"{len(differing)} of {count} differ, the first: {differing[0]}"
    assert count >= 1_000
    for name in NORMALIZATIONS:
        record_property(name, counts[name])
        assert counts[name], f"{name} makes nothing equal: leave it out"

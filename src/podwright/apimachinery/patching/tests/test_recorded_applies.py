"""Applies and other writes of several managers: what kube-apiserver made of objects and owners.

`python -m tests.real_parts.applies` wrote the record. Each write acts on the object that upstream
had, so a difference has no consequences.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from tests.golden.left_out import is_same, without
from tests.real_parts.applies import DEFINITIONS, Step, request
from tests.real_parts.applies.configurations import DEFINITION
from tests.real_parts.recording import read_record
from tests.real_parts.requests.compare import HEADERS

from podwright.apimachinery.objects.texts.times import timestamp_ns
from podwright.apimachinery.schema import decode
from podwright.cluster.api.endpoints import (
    ApiServer,
    HttpReply,
    HttpRequest,
    bare_options,
    bare_store,
)

RECORD: Final = Path(__file__).with_name("recorded_applies.jsonl.gz")
START: Final = "2026-01-01T00:00:00Z"


class Write(NamedTuple):
    """A recorded write.

    Attributes
    ----------
    name : str
        Of the object, with the number of the write.
    kind : str
    live : dict or None
        The object before it, as it was stored.
    step : Step
    now : str
    status : int
    answer : Any
    """

    name: str
    kind: str
    live: Any
    step: Step
    now: str
    status: int
    answer: Any


def writes() -> Iterator[Write]:
    for line in read_record(RECORD):
        live = None
        for number, each in enumerate(line["steps"]):
            step = msgspec.convert(each, Step)
            yield Write(
                f"{step.name}/{number}", line["kind"], live, step, each["now"], each["status"],
                each["answer"],
            )  # fmt: skip
            if each["status"] < HTTPStatus.BAD_REQUEST:
                live = each.get("after", each["answer"])


class Server:
    """A server whose objects are put as they were recorded."""

    def __init__(self) -> None:
        self.store = bare_store(ns(START))
        self.server = ApiServer(self.store, bare_options())
        made = HttpRequest("POST", DEFINITIONS, "", HEADERS, msgspec.json.encode(DEFINITION))
        assert self.serve(made, START)[0] == HTTPStatus.CREATED

    def serve(self, sent: HttpRequest, now: str) -> tuple[int, Any]:
        reply = self.server.serve(sent, ns(now))
        assert isinstance(reply, HttpReply)
        return reply.status, json.loads(reply.body)

    def answer(self, write: Write) -> tuple[int, Any]:
        if write.live is not None:
            self.store.put(decode(write.live))
        return self.serve(request(write.kind, write.step), write.now)


def ns(time: str) -> int:
    found = timestamp_ns(time)
    assert found is not None
    return found


# ----------------------------------------------------------------------- what is not compared


def in_order(body: Any) -> Any:
    causes = (body.get("details") or {}).get("causes")
    if not causes:
        return body
    lines = re.split(r"\n(?=conflicts with)|(?<=conflicts: )", body["message"])
    ordered = sorted(causes, key=lambda each: (each["message"], each["field"]))
    return body | {"details": {"causes": ordered}, "message": sorted(lines)}


NORMALIZATIONS: Final = {
    "version": ("the recorded server numbers other writes", without("resourceVersion")),
    "order of conflicts": ("that of a Go map", in_order),
}
OF_NEW: Final = NORMALIZATIONS | {"uid": ("each server draws that of a new object", without("uid"))}


def test_writes_have_the_recorded_result_and_owners(record_property: Any) -> None:
    server, counts, differing = Server(), Counter[str](), list[str]()
    recorded = list(writes())
    for write in recorded:
        status, found = server.answer(write)
        table = NORMALIZATIONS if write.live else OF_NEW
        if status != write.status or not is_same(found, write.answer, table, counts):
            differing.append(f"{write.name}: {status} {found}\n  upstream: {write}")
    assert not differing, f"{len(differing)} of {len(recorded)} differ, the first: {differing[0]}"
    assert len(recorded) >= 2_000
    for name in OF_NEW:
        record_property(name, counts[name])
        assert counts[name], f"{name} makes nothing equal: leave it out"

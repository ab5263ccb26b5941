"""Send drawn writes to kube-apiserver, and write down its answers.

Every object gets its next write before any gets another, and no two writes of one object are in the
same second, so that the times of managers have an order. What validation rejects is left out, as an
object of the same state follows.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections import Counter
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import msgspec
from tests.real_parts.applies import DEFINITIONS, STEPS, Step, draw, request, request_of
from tests.real_parts.applies.configurations import DEFINITION, KINDS
from tests.real_parts.control_plane import running
from tests.real_parts.recording import write_record
from tests.real_parts.requests.compare import HEADERS, RealServer
from tests.waiting import until

from podwright.cluster.api.endpoints import HttpRequest

COUNT: Final = 200
ROOM: Final = Path(__file__).parents[3] / "src/podwright/apimachinery/patching"
RECORD: Final = ROOM / "tests/recorded_applies.jsonl.gz"


def main() -> int:
    """Write the record."""
    cases = [draw(seed) for seed in range(COUNT)]
    lines: list[dict[str, Any]] = [{"kind": case.kind, "steps": []} for case in cases]
    live: list[Any] = [None] * COUNT
    outcomes = Counter[int]()
    with running() as plane, contextlib.closing(RealServer(plane.port)) as server:
        server.send(HttpRequest("POST", DEFINITIONS, "", HEADERS, json.dumps(DEFINITION).encode()))
        probe = request_of("Thing", cases[0].steps[0].version, "none", "GET")
        until(lambda: _is_served(server, probe))
        for number in range(STEPS):
            began = int(time.time())
            for index, case in enumerate(cases):
                step = case.steps[number]
                if live[index] is None and step.way != "create" and number > 0:
                    continue
                recorded, live[index] = _sent(server, case.kind, step, live[index])
                if recorded is not None:
                    outcomes[recorded["status"]] += 1
                    lines[index]["steps"].append(recorded)
            while int(time.time()) == began:
                time.sleep(0.05)
    write_record(RECORD, [line for line in lines if line["steps"]])
    print(dict(outcomes), RECORD.stat().st_size)
    return 0


def _is_served(server: RealServer, probe: HttpRequest) -> bool:
    body = server.send(probe).body
    return isinstance(body, dict) and body.get("details", {}).get("kind") == "things"


def _sent(
    server: RealServer, kind: str, step: Step, live: Any
) -> tuple[dict[str, Any] | None, Any]:
    """Return what is recorded of a write, and the object after it as it is stored."""
    answer = server.send(request(kind, step))
    found = msgspec.to_builtins(step) | {"status": answer.status, "answer": answer.body}
    found["now"] = parsedate_to_datetime(answer.headers["date"]).strftime("%Y-%m-%dT%H:%M:%SZ")
    if answer.status >= HTTPStatus.BAD_REQUEST:
        is_recorded = answer.status != HTTPStatus.UNPROCESSABLE_ENTITY
        return found if is_recorded else None, live
    after = answer.body
    versions, _ = KINDS[kind]
    if len(versions) > 1 or step.subresource == "scale":
        after = server.send(request_of(kind, versions[0], step.name, "GET")).body
        found["after"] = after
    # The answer may be a second later than the write.
    if live is None:
        found["now"] = after["metadata"]["creationTimestamp"]
    elif (latest := max(_times(after), default="")) > max(_times(live), default=""):
        found["now"] = latest
    return found, after


def _times(document: Any) -> list[str]:
    entries = document["metadata"].get("managedFields") or [] if document else []
    return [each["time"] for each in entries if "time" in each]


if __name__ == "__main__":
    sys.exit(main())

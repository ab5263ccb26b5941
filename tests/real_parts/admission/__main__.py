"""Send drawn requests to kube-apiserver, and write down what its admission makes of them.

The objects that do not belong to a namespace go after each case, since they act on all requests.
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
from tests.real_parts.admission import ENABLED, Case, draw, permissions, request
from tests.real_parts.admission.families import FAMILIES
from tests.real_parts.control_plane import running
from tests.real_parts.recording import write_record
from tests.real_parts.requests.compare import HEADERS, RealServer
from tests.real_parts.requests.subjects import Subject

from podwright.cluster.api.endpoints import HttpRequest

COUNT: Final = 12
ROOM: Final = Path(__file__).parents[3] / "src/podwright/cluster/api/admission"
RECORD: Final = ROOM / "tests/recorded_admission.jsonl.gz"
WAIT_SECONDS: Final = 0.4
"""How long plugins may take to see what they watch."""


def main() -> int:
    """Write the record."""
    flags = f"--enable-admission-plugins={','.join(ENABLED)}"
    recorded, outcomes = [], Counter[str]()
    plane = running(flags, has_service_accounts=True)
    with plane as started, contextlib.closing(RealServer(started.port)) as server:
        for each in permissions():
            _created(server, "", each)
        time.sleep(WAIT_SECONDS)
        for family in FAMILIES:
            for seed in range(COUNT):
                line = _recorded(server, draw(family, seed))
                recorded.append(line)
                outcomes.update(f"{family} {each['status']}" for each in line["requests"])
    write_record(RECORD, recorded)
    for outcome, count in sorted(outcomes.items()):
        print(outcome, count)
    print(outcomes.total(), RECORD.stat().st_size)
    return 0


def _recorded(server: RealServer, case: Case) -> dict[str, Any]:
    made = [_created(server, case.name, each) for each in case.objects]
    objects = [each for each in made if each is not None]
    time.sleep(WAIT_SECONDS)
    requests = []
    for sent in case.requests:
        answer = server.send(request(case.name, sent))
        found = msgspec.to_builtins(sent) | {"status": answer.status, "answer": answer.body}
        now = parsedate_to_datetime(answer.headers["date"])
        found["now"] = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        warnings = answer.headers.get("warning")
        requests.append(found | ({"warnings": warnings} if warnings else {}))
    for each in case.objects[1:]:
        subject = Subject(each)
        if not subject.namespaced:
            server.send(HttpRequest("DELETE", subject.path, "", HEADERS, b""))
    time.sleep(WAIT_SECONDS)
    return {"family": case.family, "name": case.name, "objects": objects, "requests": requests}


def _created(server: RealServer, namespace: str, document: dict[str, Any]) -> Any:
    """Create an object, with its status, and return it; None if it is not valid."""
    subject = Subject(document)
    path = subject.collection.replace("{ns}", namespace)
    body = json.dumps(document).encode()
    made = server.send(HttpRequest("POST", path, "", HEADERS, body))
    if made.status == HTTPStatus.UNPROCESSABLE_ENTITY:
        return None
    assert made.status == HTTPStatus.CREATED, made.body
    if "status" not in document:
        return made.body
    headers = HEADERS | {"content-type": "application/merge-patch+json"}
    path = f"{subject.path.replace('{ns}', namespace)}/status"
    return server.send(HttpRequest("PATCH", path, "", headers, body)).body


if __name__ == "__main__":
    sys.exit(main())

"""Every request that real clients sent is answered with the recorded status and content type."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest
from tests.conformance.client_requests import (
    CLIENTS,
    ClientReplay,
    ClientRequest,
    read_requests,
)
from tests.conformance.replay import Answer

FILES = sorted(CLIENTS.glob("*.jsonl.gz"))

OTHERWISE = {
    # A definition without objects is gone when its deletion has been answered.
    ("kubectl delete -f m/crd.yaml", "GET", "widgets.example.com"): 404,
    # Containers are simulated and have no logs.
    ("kubectl logs p1", "GET", "log"): 400,
    # A body in protobuf has the uid of the recorded object.
    ("sched default", "PUT", "kube-scheduler"): 409,
}
"""By command, method and end of the path: the status here of what succeeded as recorded."""


NORMALIZATIONS: Final = {
    "otherwise": "see `OTHERWISE`",
    "not understood": "the recorded server was set up to refuse what succeeds otherwise",
    "known document": "the recordings do not have the values of If-None-Match",
    "JSON for protobuf": "podwright answers in JSON a client that accepts both",
    "parameters of a type": "the recordings have application/json for three documents that kubectl "
    "keeps in files; tests/golden/api has their whole types",
}
"""What is not compared, and why."""

IN_FILES = ("/api", "/apis", "/openapi/v2")
"""Documents that kubectl keeps in files."""


def difference(request: ClientRequest, answer: Answer) -> str | None:
    """Return the normalization without which an answer differs, "" if none; None if it differs."""
    status, found = answer.status, answer.headers.get("content-type")
    if (status, found) == (request.status, request.response_content_type):
        return ""
    other = OTHERWISE.get((request.command, request.method, request.path.rpartition("/")[2]))
    expected = request.response_content_type or ""
    accepted = request.accept or ""
    if other is not None and request.status < 300:
        return "otherwise" if status == other else None
    if request.was_not_understood:
        return "not understood" if 200 <= status < 300 else None
    if request.status == 304:
        return "known document" if status == 200 else None
    if status != request.status:
        return None
    if expected.startswith("application/vnd.kubernetes.protobuf") and found == "application/json":
        is_accepted = "application/json" in accepted or "*/*" in accepted
        return "JSON for protobuf" if is_accepted else None
    is_of_file = request.path in IN_FILES and expected == "application/json"
    # kube-apiserver writes `.v2.v1` in the type where clients write `.v2@v1`.
    is_first = found is not None and found == accepted.split(",")[0].replace("@", ".")
    return "parameters of a type" if is_of_file and is_first else None


@pytest.mark.conformance
def test_every_request_of_a_client_is_answered_as_recorded(record_property):
    """Statuses and content types are compared; the recordings have no bodies of answers."""
    counts: Counter[str] = Counter()
    found: list[str] = []
    for path in FILES:
        replay = ClientReplay()
        for request in read_requests(path):
            if request.is_cut:
                continue
            answer = replay.send(request)
            name = difference(request, answer)
            if name is None:
                expected = f"{request.status} {request.response_content_type} as recorded"
                text = f"{answer.status} {answer.headers.get('content-type')} {answer.body[:300]!r}"
                found.append(f"{path.name}: {request.name}: {expected}, not {text}")
            elif name:
                counts[name] += 1
    assert not found, "\n".join(found)
    for name in NORMALIZATIONS:
        record_property(name, counts[name])
    assert counts.keys() == NORMALIZATIONS.keys(), "a normalization that hides nothing goes"


def test_the_files_have_the_requests_of_eight_clients():
    requests = [request for path in FILES for request in read_requests(path)]
    assert (len(FILES), len(requests)) == (8, 853)
    # The first 400 bytes of bodies in protobuf, of a kind that others in the files have whole.
    assert sum(request.is_cut for request in requests) == 14

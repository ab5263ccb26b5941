"""Every request that real clients sent is understood: it gets a status of the recorded class."""

from __future__ import annotations

import pytest
from tests.conformance.client_requests import (
    CLIENTS,
    ClientReplay,
    ClientRequest,
    read_requests,
)

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


def expected_statuses(request: ClientRequest) -> range:
    """Return the statuses that a request may get here."""
    other = OTHERWISE.get((request.command, request.method, request.path.rpartition("/")[2]))
    if other is not None and request.status < 300:
        return range(other, other + 1)
    # The recordings do not have the headers by which a client knew a document already.
    if request.was_not_understood or request.status == 304:
        return range(200, 300)
    first = request.status // 100 * 100
    return range(first, first + 100)


@pytest.mark.conformance
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.partition(".jsonl")[0])
def test_every_request_of_a_client_is_understood(path):
    replay = ClientReplay()
    found: list[str] = []
    for request in read_requests(path):
        if request.is_cut:
            continue
        answer = replay.send(request)
        if answer.status not in expected_statuses(request):
            text = f"{request.status} as recorded, not {answer.status} {answer.body[:300]!r}"
            found.append(f"{request.name}: {text}")
    assert not found, "\n".join(found)


def test_the_files_have_the_requests_of_eight_clients():
    requests = [request for path in FILES for request in read_requests(path)]
    assert (len(FILES), len(requests)) == (8, 853)
    # The first 400 bytes of bodies in protobuf, of a kind that others in the files have whole.
    assert sum(request.is_cut for request in requests) == 14

"""Other clients change a claim between its allocation and the writes of PreBind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import ResourceClaim, decode_as, encode, with_fields
from podwright.cluster.api import Api, DeleteObject, UpdateObject
from podwright.scheduler.machine import CallDone, WriteResourceClaim
from podwright.simulation.world import START_NS, world_rounds
from podwright.simulation.world.scheduler_requests import execute
from podwright.simulation.world.tests.test_devices import (
    DRIVER,
    claims_in,
    devices,
    obj,
    pod,
    request,
    world_of,
)

pytest.importorskip("pyarrow")

USER = "another-client"
FINALIZER = "resource.kubernetes.io/delete-protection"
STATUS = {
    "allocation": {
        "devices": {"results": [{"request": "r", "driver": DRIVER, "pool": "n", "device": "gpu-0"}]}
    }
}

Change = Callable[[Api, int], None]


def claim_now(api: Api) -> ResourceClaim:
    claim = api.store.get(ResourceClaim, "default/c")
    assert claim is not None
    return claim


def update(api: Api, claim: ResourceClaim, scope: Any, now_ns: int) -> None:
    api.handle(UpdateObject(claim, scope, USER), USER, now_ns).raise_for_error()


def delete(api: Api, now_ns: int) -> None:
    request = DeleteObject("resource.k8s.io", "ResourceClaim", "default/c", "", USER)
    api.handle(request, USER, now_ns).raise_for_error()


def protect(api: Api, now_ns: int) -> None:
    update(api, with_fields(claim_now(api), "metadata", finalizers=(FINALIZER,)), "main", now_ns)


def delete_in_part(api: Api, now_ns: int) -> None:
    """Delete a claim that another client wants to keep until it has cleaned up."""
    held = with_fields(claim_now(api), "metadata", finalizers=("example.com/clean-up",))
    update(api, held, "main", now_ns)
    delete(api, now_ns)


def allocate(api: Api, now_ns: int) -> None:
    protect(api, now_ns)
    document = encode(claim_now(api)) | {"status": STATUS}
    update(api, decode_as(document, ResourceClaim), "status", now_ns)


def deallocate(api: Api, now_ns: int) -> None:
    freed = with_fields(claim_now(api), "status", allocation=None, reserved_for=(), devices=())
    update(api, freed, "status", now_ns)


def label(api: Api, now_ns: int) -> None:
    claim = claim_now(api)
    count = int(claim.metadata.labels.get("count", "0"))
    labels = claim.metadata.labels | {"count": str(count + 1)}
    update(api, with_fields(claim, "metadata", labels=labels), "main", now_ns)


class Race:
    """Executes the scheduler's calls; another client is faster for some of them.

    Parameters
    ----------
    change : callable
        What the other client does.
    before : str
        The operation that it precedes.
    times : int
        How often, within the first half second.
    """

    def __init__(self, change: Change, *, before: str, times: int = 1) -> None:
        self._change = change
        self._before = before
        self._left = times
        self.operations: list[str] = []

    def __call__(self, api: Api, action: Any, now_ns: int) -> CallDone:
        if isinstance(action, WriteResourceClaim):
            if self._left and action.operation == self._before:
                self._left -= 1
                self._change(api, now_ns)
            self.operations.append(action.operation)
        return execute(api, action, now_ns)


def claim(*, is_allocated: bool = False) -> pw.Object:
    document = obj("ResourceClaim", "c", request()).raw
    if is_allocated:
        metadata = document["metadata"] | {"finalizers": [FINALIZER]}
        document = document | {"metadata": metadata, "status": STATUS}
    return decode_as(document, ResourceClaim)


def first_failure(run: pw.Run) -> str:
    first = run.tables["decisions"].to_pylist()[0]
    assert (first["attempt"], first["result"], first["node"]) == (1, "SchedulerError", "n")
    message: str = first["message"]
    return message


@pytest.mark.parametrize(
    ("change", "before", "times", "is_allocated", "text", "operations"),
    [
        pytest.param(
            delete_in_part, "update", 1, False,
            "claim default/c got deleted in the meantime",
            ["update", "get"],
            id="deleted",
        ),
        pytest.param(
            allocate, "update", 1, False,
            "claim default/c got allocated elsewhere in the meantime",
            ["update", "get"],
            id="allocated",
        ),
        pytest.param(
            deallocate, "updateStatus", 1, True,
            "claim default/c got deallocated elsewhere in the meantime",
            ["updateStatus", "get"],
            id="deallocated",
        ),
        pytest.param(
            delete, "update", 1, False,
            'add finalizer to claim default/c: resourceclaims.resource.k8s.io "c" not found',
            ["update"],
            id="gone",
        ),
        pytest.param(
            label, "update", 9, False,
            "add finalizer to claim default/c: Operation cannot be fulfilled on resourceclaims",
            ["update", "get"] * 4 + ["update"],
            id="changed before each update",
        ),
        pytest.param(
            label, "updateStatus", 9, False,
            "add allocation and reservation to claim default/c: Operation cannot be fulfilled",
            ["update", "updateStatus"] + ["get", "updateStatus"] * 4,
            id="changed before each update of the status",
        ),
        pytest.param(
            label, "updateStatus", 9, True,
            "add reservation to claim default/c: Operation cannot be fulfilled on resourceclaims",
            ["updateStatus"] + ["get", "updateStatus"] * 4,
            id="changed before each reservation",
        ),
    ],
)  # fmt: skip
def test_a_pod_whose_claim_changed_goes_back_to_the_queue(
    monkeypatch: pytest.MonkeyPatch,
    change: Change,
    before: str,
    times: int,
    is_allocated: bool,
    text: str,
    operations: list[str],
) -> None:
    race = Race(change, before=before, times=times)
    monkeypatch.setattr(world_rounds, "execute", race)
    world = world_of(
        claim(is_allocated=is_allocated),
        devices("gpu-0", "gpu-1"),
        pod("p", resourceClaimName="c"),
    )
    run = world.run(until="500ms")
    assert race.operations == operations
    assert first_failure(run).startswith(f'running PreBind plugin "DynamicResources": {text}')


def test_a_claim_that_is_gone_after_a_conflict_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    remove = Race(delete, before="get")
    add_label = Race(label, before="update")

    def call(api: Api, action: Any, now_ns: int) -> CallDone:
        if isinstance(action, WriteResourceClaim) and action.operation == "get":
            return remove(api, action, now_ns)
        return add_label(api, action, now_ns)

    monkeypatch.setattr(world_rounds, "execute", call)
    world = world_of(claim(), devices("gpu-0"), pod("p", resourceClaimName="c"))
    run = world.run(until="500ms")
    text = "get updated claim default/c after conflict: ResourceClaim default/c: not found"
    assert first_failure(run).endswith(text)


def test_a_change_that_does_not_matter_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    race = Race(label, before="updateStatus", times=4)
    monkeypatch.setattr(world_rounds, "execute", race)
    world = world_of(claim(), devices("gpu-0"), pod("p", resourceClaimName="c"))
    run = world.run(until="500ms")
    assert run.node_of == {"default/p": "n"}
    assert race.operations == ["update", *["updateStatus", "get"] * 4, "updateStatus"]
    (written,) = claims_in(world).values()
    assert written.metadata.labels == {"count": "4"}
    assert written.metadata.finalizers == (FINALIZER,)
    # Each conflict is tried again 10 ms later.
    assert written.status.allocation is not None
    assert world.now_ns >= START_NS + 40_000_000


def test_a_pod_finds_other_devices_after_its_claim_was_deallocated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    race = Race(deallocate, before="updateStatus")
    monkeypatch.setattr(world_rounds, "execute", race)
    world = world_of(claim(is_allocated=True), devices("gpu-0"), pod("p", resourceClaimName="c"))
    run = world.run(until="60s")
    assert run.node_of == {"default/p": "n"}
    (written,) = claims_in(world).values()
    assert len(written.status.reserved_for) == 1

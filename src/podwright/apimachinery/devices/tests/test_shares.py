"""Shares of devices that a search gives up: what is free again, and what others still consume."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.devices import AllocationError
from podwright.apimachinery.devices.tests.made import (
    DRIVER,
    claim,
    devices_of,
    exactly,
    index_of,
    published,
    search,
)

NOTHING = {"requestPolicy": {"default": "0", "validRange": {"min": "0"}}}


def shared(name: str, memory: int, cores: int) -> dict[str, Any]:
    """Return a device of which a request that names no amount takes nothing."""
    amounts = {"memory": memory, "cores": cores}
    capacity = {each: {"value": str(amount)} | NOTHING for each, amount in amounts.items()}
    return {"name": name, "allowMultipleAllocations": True, "capacity": capacity}


def asking(name: str, memory: int = 0, cores: int = 0) -> dict[str, Any]:
    amounts = {"memory": memory, "cores": cores}
    requests = {each: str(amount) for each, amount in amounts.items() if amount}
    return exactly(name, capacity={"requests": requests})


@pytest.mark.parametrize(
    ("requests", "found"),
    [
        pytest.param([(1, 0), (1, 1)], "a a", id="two shares"),
        pytest.param([(1, 0), (1, 1), (1, 1)], "a a a", id="all of a device"),
        pytest.param([(1, 0), (1, 1), (2, 0)], "a a b", id="the last takes the other device"),
        pytest.param([(1, 0), (1, 1), (2, 2)], "a b a", id="and its cores are free again"),
        pytest.param([(1, 0), (1, 1), (3, 0)], "b b a", id="the first moves too"),
        pytest.param([(1, 0), (2, 1), (3, 2)], None, id="what the first has stays in use"),
        pytest.param([(0, 1), (1, 1), (3, 2)], None, id="also if it has only cores"),
        pytest.param([(0, 0), (2, 1), (3, 2)], "a b a", id="nothing is not a use"),
    ],
)
def test_a_share_that_is_given_up_is_free_and_the_others_are_not(
    requests: list[tuple[int, int]], found: str | None
) -> None:
    devices = published(shared("a", 3, 2), shared("b", 2, 1))
    several = [asking(f"r{i}", memory, cores) for i, (memory, cores) in enumerate(requests)]
    assert devices_of(search(index_of(devices), claim("c", *several)).run()) == found
    # Over claims it is the same.
    claims = [claim(f"c{i}", request) for i, request in enumerate(several)]
    assert devices_of(search(index_of(devices), *claims).run()) == found


def test_all_devices_are_an_error_by_a_constraint_whatever_earlier_requests_consume() -> None:
    # Upstream: allocator_incubating.go, allocateOne
    devices = index_of(published(shared("a", 3, 2)))
    every = exactly("all", allocationMode="All", capacity={"requests": {"memory": "1"}})
    needing = {"requests": ["all"], "matchAttribute": f"{DRIVER}/absent"}
    for memory in (2, 3):
        of_first = asking("first", memory)
        plain = search(devices, claim("c", of_first, every)).run()
        assert devices_of(plain) == ("a a" if memory == 2 else None)
        with pytest.raises(AllocationError, match="request all: cannot add device"):
            search(devices, claim("c", of_first, every, constraints=[needing])).run()

"""The search finds devices if and only if there are some: compared with trying everything.

The model tries every complete choice, in the order that upstream documents, and checks it as a
whole. What upstream's search forgets on its way is left out here: values of `distinctAttribute`
in requests for several devices, and counters of devices that are tainted, shared, or of claims
with constraints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product
from random import Random
from typing import Any, NamedTuple

from hypothesis import given, strategies as st

from podwright.apimachinery.devices.tests.made import (
    DRIVER,
    allocated,
    chosen,
    claim,
    consuming,
    counters,
    exactly,
    first_available,
    has_model,
    index_of,
    of_model,
    published,
    result,
    search,
)
from podwright.apimachinery.objects import Object

_COUNTERS = 4
_MEMORY = 4


class _Asked(NamedTuple):
    """One request or alternative."""

    name: str
    size: int | None
    model: str
    tolerates: bool
    memory: int
    is_admin: bool

    def fields(self) -> dict[str, Any]:
        """Return it as a field of a claim."""
        fields: dict[str, Any] = {"selectors": has_model(self.model) if self.model else []}
        if self.tolerates:
            fields["tolerations"] = [{"key": "k", "operator": "Exists"}]
        if self.memory:
            fields["capacity"] = {"requests": {"memory": str(self.memory)}}
        if self.is_admin:
            fields["adminAccess"] = True
        if self.size is None:
            return exactly(self.name, **fields, allocationMode="All")
        return exactly(self.name, self.size, **fields)


class _Case(NamedTuple):
    """Devices, those in use, and the claims: of each its requests, and its constraint."""

    devices: list[dict[str, Any]]
    used: dict[str, int]
    claims: list[tuple[list[list[_Asked]], str]]


def _case(random: Random) -> _Case:
    has_counters = random.random() < 0.4
    devices = []
    for number in range(random.randint(1, 4)):
        device = of_model(f"d{number}", random.choice("xy"))
        if random.random() < 0.2:
            device["capacity"] = {"memory": {"value": str(_MEMORY)}}
            device["allowMultipleAllocations"] = random.random() < 0.7
        elif has_counters and random.random() < 0.8:
            device |= consuming("", random.randint(1, 3)) | {"name": device["name"]}
        elif random.random() < 0.2:
            device["taints"] = [{"key": "k", "effect": "NoSchedule"}]
        devices.append(device)
    used = {each["name"]: random.randint(1, 3) for each in devices if random.random() < 0.15}
    claims = []
    for _ in range(random.choice((1, 1, 2))):
        kind = "" if has_counters else random.choice(("", "matchAttribute", "distinctAttribute"))
        requests = []
        for number in range(random.choice((1, 1, 2))):
            several = [_asked(random, f"r{number}", kind)]
            if random.random() < 0.3:
                several = [_asked(random, f"s{place}", kind) for place in range(2)]
                several = [each._replace(is_admin=False) for each in several]
            requests.append(several)
        claims.append((requests, kind))
    return _Case(devices, used, claims)


def _asked(random: Random, name: str, constraint: str) -> _Asked:
    count: int | None = random.choice((1, 1, 2))
    if constraint == "distinctAttribute":
        count = 1
    elif not constraint and random.random() < 0.15:
        count = None
    return _Asked(
        name,
        count,
        random.choice(("", "", "x", "y")),
        random.random() < 0.3,
        random.choice((0, 0, 0, 1, 3)),
        random.random() < 0.15,
    )


# ---------------------------------------------------------------- the model

_Choice = tuple[int, str, _Asked, dict[str, Any]]
"""The claim, the name in results, what was asked, and the device."""


def _first(case: _Case) -> list[list[tuple[str, str]]] | None:
    """Return the first choice that keeps all rules."""
    for parts in product(*_requests(case)):
        flat = [each for part in parts for each in part]
        if _is_allowed(case, flat):
            return [
                [(name, device["name"]) for of, name, _, device in flat if of == index]
                for index in range(len(case.claims))
            ]
    return None


def _requests(case: _Case) -> Iterator[list[list[_Choice]]]:
    """Yield of each request all choices for it alone, in order."""
    for index, (requests, _) in enumerate(case.claims):
        for number, several in enumerate(requests):
            ways: list[list[_Choice]] = []
            for asked in several:
                name = asked.name if len(several) == 1 else f"r{number}/{asked.name}"
                able = [each for each in case.devices if _is_able(case, asked, each)]
                count = len(able) if asked.size is None else asked.size
                sets = combinations(able, count) if count else ()
                ways += [[(index, name, asked, each) for each in of_set] for of_set in sets]
            yield ways


def _is_able(case: _Case, asked: _Asked, device: dict[str, Any]) -> bool:
    """Return whether a device would do if no other were chosen; for "All" whether it is needed."""
    if asked.model and device["attributes"]["model"]["string"] != asked.model:
        return False
    amount, free = _amounts(case, asked, device)
    return amount is not None and amount <= free


def _amounts(case: _Case, asked: _Asked, device: dict[str, Any]) -> tuple[int | None, int]:
    """Return the memory that a request takes, None if it never can, and what is free."""
    if "capacity" not in device:
        return (None if asked.memory else 0), 0
    is_used = device["name"] in case.used and device["allowMultipleAllocations"]
    return asked.memory or _MEMORY, _MEMORY - (case.used[device["name"]] if is_used else 0)


def _is_allowed(case: _Case, flat: list[_Choice]) -> bool:
    taken: dict[str, set[int]] = {}
    memory: Counter[str] = Counter()
    slots: Counter[str] = Counter()
    for index, _, asked, device in flat:
        name = device["name"]
        is_shared = device.get("allowMultipleAllocations", False)
        if asked.is_admin:
            if index in taken.get(name, ()):
                return False
        elif taken.get(name) or (name in case.used and not is_shared):
            return False
        if device.get("taints") and not asked.tolerates:
            return False
        amount, free = _amounts(case, asked, device)
        assert amount is not None
        if memory[name] + amount > free:
            return False
        if is_shared:
            memory[name] += amount
        else:
            taken.setdefault(name, set()).add(index)
        slots["card"] += _slots(device)
    in_use = sum(_slots(each) for each in case.devices if each["name"] in case.used)
    if slots["card"] and slots["card"] > _COUNTERS - in_use:
        return False
    for index, (_, kind) in enumerate(case.claims):
        models = [each["attributes"]["model"]["string"] for of, _, _, each in flat if of == index]
        if kind == "matchAttribute" and len(set(models)) > 1:
            return False
        if kind == "distinctAttribute" and len(set(models)) < len(models):
            return False
    return True


def _slots(device: dict[str, Any]) -> int:
    return sum(
        int(each["counters"]["slots"]["value"]) for each in device.get("consumesCounters", ())
    )


# ---------------------------------------------------------------- the comparison


def _objects(case: _Case) -> list[Object]:
    has_counters = any("consumesCounters" in each for each in case.devices)
    objects: list[Object] = [published(*case.devices, slices=2 if has_counters else 1)]
    if has_counters:
        objects.append(counters(_COUNTERS))
    for device in case.devices:
        name = device["name"]
        if name not in case.used:
            continue
        amounts = {"memory": str(case.used[name])}
        share: dict[str, Any] = {"shareID": "s", "consumedCapacity": amounts}
        is_shared = device.get("allowMultipleAllocations")
        objects.append(allocated(f"used-{name}", result(name, **(share if is_shared else {}))))
    return objects


@given(st.integers(0, 10**9))
def test_it_finds_the_first_choice_that_keeps_the_rules(seed: int) -> None:
    for part in range(10):
        case = _case(Random(f"{seed}/{part}"))
        claims = []
        for index, (requests, kind) in enumerate(case.claims):
            constraints = [{kind: f"{DRIVER}/model"}] if kind else []
            fields = [
                several[0].fields()
                if len(several) == 1
                else first_available(f"r{number}", *(each.fields() for each in several))
                for number, several in enumerate(requests)
            ]
            claims.append(claim(f"c{index}", *fields, constraints=constraints))
        found = search(index_of(*_objects(case)), *claims).run()
        assert chosen(found) == _first(case), case

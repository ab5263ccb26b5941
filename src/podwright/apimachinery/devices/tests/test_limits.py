"""What is remembered has limits, and what is not enabled takes no counters."""

from __future__ import annotations

import pytest

from podwright.apimachinery.devices import (
    Devices,
    Features,
    NodeDevices,
    Search,
    Solutions,
    index as indexes,
    requests,
    slices,
    solutions,
)
from podwright.apimachinery.devices.requests import requests_of
from podwright.apimachinery.devices.slices import DeviceSlice, Selection
from podwright.apimachinery.devices.solutions import NodeState
from podwright.apimachinery.devices.tests.made import (
    claim,
    consuming,
    counters,
    device_class,
    exactly,
    index_of,
    of_model,
    published,
)


def test_a_shape_keeps_its_number_until_too_many_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(indexes, "_MOST_SHAPES", 2)
    index = index_of(*(published(f"d{n}", f"e{n}", name=n, pool=n, nodeName=n) for n in "ab"))
    index.put(published("f", name="c", pool="c", nodeName="c"))
    shapes = [index.state_of(node, {})[1].shape for node in ("a", "b", "none")]
    assert shapes == [0, 0, 1]
    # The third one is one too many; numbers are not given again.
    assert index.state_of("c", {})[1].shape == 2
    assert index.state_of("a", {})[1].shape == 0
    index.put(published("d", "e", name="a", pool="a", nodeName="a"))
    assert index.state_of("a", {})[1].shape == 3


def test_requests_and_numbers_of_specs_are_read_again_when_too_many_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requests, "_MOST_KNOWN", 2)
    monkeypatch.setattr(requests, "_known", {})
    monkeypatch.setattr(indexes, "_MOST_SPECS", 2)
    several = [claim(name, exactly(name)) for name in "abc"]
    found = [requests_of(each.spec) for each in several]
    assert requests_of(several[2].spec) is found[2]
    assert requests_of(several[0].spec) is not found[0]
    assert [each.name for each in requests_of(several[0].spec)] == ["a"]
    assert len(requests._known) == 2
    index = index_of()
    assert [index.spec_number(each) for each in (*several, *several)] == [0, 1, 2, 0, 1, 2]
    assert len(index._known_specs) == 2


def test_results_and_solutions_are_forgotten_when_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "_MOST_RESULTS", 2)
    devices = DeviceSlice(published(*(of_model(name, name) for name in "abc"))).devices
    selectors = device_class("gpu", "true").spec.selectors
    selection = Selection()
    for device in (*devices, devices[2], devices[0]):
        assert selection.matches(selectors, device, "")
    assert selection.evaluation_count == 4
    monkeypatch.setattr(solutions, "_MOST_SOLUTIONS", 2)
    known = Solutions()
    states = [NodeState(number, ()) for number in range(3)]
    for state in states[:2]:
        known.add(state, (), None)
    assert [state in known for state in states] == [True, True, False]
    known.add(states[2], (), None)
    assert [state in known for state in states] == [False, False, True]


@pytest.mark.parametrize("is_enabled", [True, False])
def test_a_device_that_takes_counters_needs_the_gate(*, is_enabled: bool) -> None:
    index = index_of(counters(1), published(consuming("a", 1), slices=2))
    found = Search(
        NodeDevices("n", {}, index.pools_of("n", {})),
        [claim("c", exactly())],
        Devices(index.classes, index.allocated, index.selection),
        features=Features(partitionable_devices=is_enabled),
    ).run()
    assert (found is not None) == is_enabled

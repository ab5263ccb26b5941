"""Hints of NodeResourcesFit about nodes.

Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go, isSchedulableAfterNodeChange
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Node
from podwright.scheduler.framework import Hint
from podwright.scheduler.framework.events import NODE
from podwright.scheduler.plugins.hints.node_resources_fit import events_to_register
from podwright.testing import make_node, make_pod

GPU = "example.com/gpu"
WAITING = make_pod("waiting", cpu="2", resources={GPU: 1})
SMALL = make_node("n", cpu="1", resources={GPU: 1})
FITS = make_node("n", cpu="2", resources={GPU: 1})
NO_PODS, ONE_POD = (make_node("n", cpu="2", pods=n, resources={GPU: 1}) for n in (0, 1))
NO_GPU = make_node("n", cpu="2")


@pytest.mark.parametrize(
    ("old", "new", "is_backed", "has_gate", "expected"),
    [
        pytest.param(None, FITS, False, True, Hint.QUEUE, id="a new node with room"),
        pytest.param(None, SMALL, False, True, Hint.SKIP, id="one without"),
        pytest.param(None, ONE_POD, False, True, Hint.QUEUE, id="one with room for one pod"),
        pytest.param(None, NO_PODS, False, True, Hint.SKIP, id="one with room for none"),
        pytest.param(NO_PODS, ONE_POD, False, True, Hint.QUEUE, id="it takes one pod more"),
        pytest.param(SMALL, FITS, False, True, Hint.QUEUE, id="it has more"),
        pytest.param(FITS, FITS, False, True, Hint.SKIP, id="as much as before"),
        pytest.param(None, NO_GPU, False, True, Hint.SKIP, id="no extended resource"),
        pytest.param(None, NO_GPU, True, True, Hint.QUEUE, id="a device class backs it"),
        pytest.param(NO_GPU, NO_GPU, True, True, Hint.QUEUE, id="devices are not compared"),
        pytest.param(None, NO_GPU, True, False, Hint.SKIP, id="without the gate none does"),
    ],
)
def test_nodes_that_may_have_room(
    old: Node | None, new: Node, is_backed: bool, has_gate: bool, expected: Hint
) -> None:
    def class_of(resource: str) -> str:
        return "gpus" if is_backed and resource == GPU else ""

    events = events_to_register(class_of, dra_extended_resource=has_gate)
    (hint,) = [event.hint for event in events if event.resource == NODE]
    assert hint is not None
    assert hint(WAITING, old, new) is expected


MODEST = make_pod("waiting", memory="1Gi", resources={GPU: 1})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({"memory": "2Gi"}, {"memory": "2Gi"}, Hint.SKIP, id="nothing grew"),
        pytest.param({"memory": "2Gi"}, {"memory": "3Gi"}, Hint.QUEUE, id="what is requested"),
        pytest.param({"memory": "3Gi"}, {"memory": "2Gi"}, Hint.SKIP, id="it shrank"),
        pytest.param({"cpu": "2"}, {"cpu": "3"}, Hint.SKIP, id="what is not requested"),
        pytest.param({"pods": 10}, {"pods": 11}, Hint.QUEUE, id="the number of pods"),
        pytest.param({"pods": 11}, {"pods": 10}, Hint.SKIP, id="fewer pods"),
        pytest.param({"resources": {}}, {}, Hint.QUEUE, id="a resource that it did not have"),
        pytest.param({}, {"resources": {}}, Hint.SKIP, id="a resource is gone"),
        pytest.param(
            {"pods": 10, "memory": "3Gi"},
            {"pods": 11, "memory": "2Gi"},
            Hint.QUEUE,
            id="one grew and another shrank",
        ),
    ],
)
def test_an_updated_node_helps_if_something_requested_grew(
    old: dict[str, Any], new: dict[str, Any], expected: Hint
) -> None:
    (hint,) = [one.hint for one in events_to_register(lambda _: "") if one.resource == NODE]
    assert hint is not None
    before, after = ({"resources": {GPU: 1}} | given for given in (old, new))
    assert hint(MODEST, make_node("n", **before), make_node("n", **after)) is expected

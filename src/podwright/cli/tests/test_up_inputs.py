"""The initial objects of `podwright up`."""

from __future__ import annotations

import json

import pytest

from podwright.apimachinery.objects import InputError
from podwright.cli.inputs import Inputs
from podwright.cli.options import Setup
from podwright.cli.serving.up_inputs import inputs_of
from podwright.cluster.store import ObjectStore
from podwright.scheduler.config import Gates
from podwright.simulation.files import load_bytes
from podwright.simulation.world import Put

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "1"},
    "spec": {"nodeName": "far", "containers": [{"name": "main", "image": "web"}]},
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize("is_partial", [True, False])
def test_pods_of_a_selection_may_be_on_nodes_that_were_not_selected(is_partial):
    loaded = load_bytes([("pods.json", json.dumps(POD).encode())])
    read = Inputs(loaded, None, [], Gates(), "", {}, is_partial)

    def initial_names() -> list[str]:
        inputs = inputs_of(
            read,
            (),
            Setup(),
            nodes=0,
            has_storage_class=False,
            has_drivers=False,
            store=ObjectStore(),
            start_ns=0,
        )
        return [each.obj.name for _, each in inputs if isinstance(each, Put)]

    if is_partial:
        assert initial_names() == ["web"]
    else:
        with pytest.raises(InputError, match='there is no Node "far"'):
            initial_names()

"""Pods whose status affects their requests, as during a resize."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import Pod, decode_pod
from podwright.scheduler.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
)
from podwright.scheduler.plugins.node_resources_fit import NodeResourcesFit
from podwright.scheduler.plugins.tests.one_node_at_a_time import cycle_of, node, scored


def pod(*, is_resized: bool) -> Pod:
    status = {
        "containerStatuses": [
            {
                "name": "main",
                "image": "web",
                "imageID": "",
                "ready": True,
                "restartCount": 0,
                "resources": {"requests": {"cpu": "2"}},
                "allocatedResources": {"cpu": "2"},
            }
        ]
    }
    return decode_pod(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web", "namespace": "default", "uid": "uid"},
            "spec": {
                "containers": [
                    {"name": "main", "image": "web", "resources": {"requests": {"cpu": "1"}}}
                ]
            },
            "status": status if is_resized else {},
        }
    )


@pytest.mark.parametrize("plugin", [NodeResourcesBalancedAllocation, NodeResourcesFit])
@pytest.mark.parametrize("is_resized", [False, True])
def test_the_key_of_a_pod_in_a_resize_is_not_that_of_its_template(plugin, is_resized):
    assert plugin().key_is_of_template(pod(is_resized=is_resized)) is not is_resized
    keys = {plugin().pod_key(pod(is_resized=each)) for each in (False, True)}
    assert len(keys) == 2


def test_the_share_of_a_node_is_scored_with_the_requests_of_the_spec():
    cycles = [cycle_of(pod(is_resized=each), node("n")) for each in (False, True)]
    before, after = (scored(NodeResourcesFit(), cycle) for cycle in cycles)
    assert before == after

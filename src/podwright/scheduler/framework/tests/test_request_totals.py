"""The greatest total of requests, up to which totals are counted."""

import pytest

from podwright.scheduler.framework.run import PluginRunner
from podwright.scheduler.preemption.tests.situations import cluster_of, node, pod, profile


@pytest.mark.parametrize(
    ("requests", "greatest"),
    [
        pytest.param({"cpu": "1", "memory": "1Gi"}, 200, id="both scores"),
        pytest.param({"example.com/gpu": "1"}, 100, id="no score of the balance"),
    ],
)
def test_each_score_that_reads_requests_adds_a_hundred(requests, greatest):
    containers = [{"name": "c", "image": "i", "resources": {"requests": requests}}]
    incoming = pod("p", containers=containers)
    ranking = PluginRunner(profile(), cluster_of(node("n"))).ranking_of(incoming)
    assert ranking._requests is not None
    assert ranking._requests.greatest == greatest

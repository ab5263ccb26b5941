"""The dump of a real cluster, scheduled anew with two scoring strategies, and compared."""

import pytest
from tests.golden.real_cluster import dump

import podwright as pw
from podwright.apimachinery.objects import decode
from podwright.simulation.recording.tests.reasons import check_reasons

pytestmark = pytest.mark.golden


def configuration(strategy):
    resources = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
    args = {"scoringStrategy": {"type": strategy, "resources": resources}}
    return pw.read_configuration(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}],
        },
        source=strategy,
    )


def test_least_and_most_allocated_differ_for_the_listed_reasons():
    objects = [decode(item) for item in dump("mid")]
    spread, packed = (
        pw.Scenario(objects, configuration(strategy), reschedule=True)
        for strategy in ("LeastAllocated", "MostAllocated")
    )
    found = pw.diff(spread, packed)
    assert found.tried_counts == (850, 850)
    assert len(found.moved) > 500
    assert found.no_longer_pending
    reasons = [because for one in found.differences for because in one.reasons]
    assert (
        check_reasons(found, (spread, packed))
        == sum(because is not None for because in reasons)
        > 1000
    )

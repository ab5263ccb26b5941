"""A machine made from a configuration."""

import pytest

from podwright.scheduler.assembly import Registry, build_machine
from podwright.scheduler.config import KubeSchedulerConfiguration, effective, parse_gates
from podwright.scheduler.machine import CycleDue, ObjectPut
from podwright.testing import make_node, make_pod


@pytest.fixture
def machine():
    return build_machine(effective(KubeSchedulerConfiguration()), Registry())


@pytest.mark.parametrize(
    ("scheduler", "is_ours"),
    [
        pytest.param({}, True, id="a pod that make_pod makes"),
        pytest.param({"scheduler": "other"}, False, id="a pod of another scheduler"),
        pytest.param({"scheduler": ""}, False, id="a pod that never went through admission"),
    ],
)
def test_a_machine_takes_the_pods_that_name_one_of_its_profiles(machine, scheduler, is_ours):
    machine.handle(ObjectPut(make_node("n1")), 0)
    machine.handle(ObjectPut(make_pod("web", **scheduler)), 0)
    assert machine.has_next is is_ours


@pytest.mark.parametrize(
    ("gates", "milli_cpu"),
    [
        pytest.param("", 3000, id="on: the pod's own requests count"),
        pytest.param(
            "PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false",
            1000,
            id="off: those of its container count",
        ),
    ],
)
def test_a_machine_reads_pod_level_resources_or_not(gates, milli_cpu):
    configuration = effective(KubeSchedulerConfiguration(), parse_gates(gates))
    machine = build_machine(configuration, Registry())
    machine.handle(ObjectPut(make_node("n1")), 0)
    pod = make_pod("web", cpu="1", spec={"resources": {"requests": {"cpu": "3"}}})
    machine.handle(ObjectPut(pod), 0)
    machine.handle(CycleDue(), 0)
    assert int(machine.cluster.nodes.requested[0, 0]) == milli_cpu

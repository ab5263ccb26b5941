"""A machine made from a configuration."""

import pytest

from podwright.assembly import Registry, build_machine
from podwright.config import KubeSchedulerConfiguration, effective
from podwright.machine import ObjectPut
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

"""A machine made from a configuration."""

import pytest

from podwright.scheduler.assembly import Registry, assemble, build_machine
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import (
    KubeSchedulerConfiguration,
    Rules,
    effective,
    parse_gates,
)
from podwright.scheduler.machine import CycleDue, FlushBackoff, ObjectPut, SchedulerOptions
from podwright.scheduler.machine.tests.driving import SECOND_NS, Driver, pending
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


@pytest.mark.parametrize(("gates", "is_read"), [("DRADeviceTaintRules=true", True), ("", False)])
def test_a_machine_reads_taint_rules_of_devices_with_their_gate(gates, is_read):
    configuration = effective(KubeSchedulerConfiguration(), parse_gates(gates))
    machine = build_machine(configuration, Registry())
    assert machine.cluster.devices._reads_taint_rules is is_read


@pytest.mark.parametrize(
    ("batching", "gates", "has_batch"),
    [
        pytest.param(True, "", True, id="the gate is on by default"),
        pytest.param(False, "", False, id="the gate alone changes nothing"),
        pytest.param(True, "OpportunisticBatching=false", False, id="the gate switches it off"),
    ],
)
def test_batches_need_the_option_and_the_gate(batching, gates, has_batch):
    configuration = effective(KubeSchedulerConfiguration(), parse_gates(gates))
    machine = build_machine(configuration, Registry(), SchedulerOptions(batching=batching))
    assert (machine._state.profiles["default-scheduler"].batch is not None) is has_batch


@pytest.mark.parametrize(
    ("gates", "rules"), [("DRADeviceTaintRules=true", "modern"), ("", "modern"), ("", "classic")]
)
def test_a_scheduler_makes_the_cluster_that_its_rules_read(gates, rules):
    configuration = KubeSchedulerConfiguration(rules=Rules(name=rules))
    effective_one = effective(configuration, parse_gates(gates))
    parts = assemble(effective_one, Registry(), SchedulerOptions(configuration=configuration))
    cluster = parts.new_cluster()
    assert cluster.devices._reads_taint_rules is bool(gates)
    assert parts.reads(cluster)
    assert parts.reads(Cluster()) is (rules == "modern")


@pytest.mark.parametrize(
    ("gates", "is_taken"),
    [
        pytest.param("", True, id="on: a pod that backs off is taken where no other waits"),
        pytest.param("SchedulerPopFromBackoffQ=false", False, id="off: it waits for its time"),
    ],
)
def test_the_backoff_is_that_of_the_configuration(gates, is_taken):
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "podInitialBackoffSeconds": 3, "podMaxBackoffSeconds": 5,
    }  # fmt: skip
    run = Driver(config=config, gates=gates)
    run.put(make_node("n1", cpu="1"), pending("big", cpu="4"))
    for number, seconds in enumerate((3, 5, 5)):
        run.cycle()
        assert run.place_of("default/big") == "unschedulable"
        run.put(make_node(f"m{number}", cpu="4", taints=["a:NoSchedule"]))
        run.put(make_node(f"m{number}", cpu="1"))
        assert run.place_of("default/big") == "backoff"
        assert run.machine.has_next is is_taken
        run.now_ns += seconds * SECOND_NS - 1
        run.deliver(FlushBackoff())
        assert run.place_of("default/big") == "backoff"
        run.now_ns += SECOND_NS + 1
        run.deliver(FlushBackoff())
        assert run.place_of("default/big") == "active"

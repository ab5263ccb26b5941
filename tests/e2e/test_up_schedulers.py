"""`podwright up` with several configurations: one scheduler for each."""

from __future__ import annotations

from tests.e2e.test_up import PODS, is_running, pod, up

PACKING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: packing
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
"""
DEFAULT = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
"""


def named(name, scheduler):
    body = pod(name)
    body["spec"]["schedulerName"] = scheduler
    return body


def test_each_configuration_schedules_its_pods_also_after_a_restart(tmp_path):
    (tmp_path / "default.yaml").write_text(DEFAULT)
    (tmp_path / "packing.yaml").write_text(PACKING)
    configs = ("--config", "default.yaml", "--config", "packing.yaml", "--db", "cluster.db")
    nodes: dict[str, set[str]] = {}
    with up(tmp_path, "--nodes", "3", *configs) as cluster:
        assert cluster.send("POST", PODS, named("orphan", "missing"))[0] == 201
        for number in range(3):
            for scheduler in ("default-scheduler", "packing"):
                name = f"{scheduler}-{number}"
                assert cluster.send("POST", PODS, named(name, scheduler))[0] == 201
                found = cluster.eventually(f"{PODS}/{name}", is_running)
                nodes.setdefault(scheduler, set()).add(found["spec"]["nodeName"])
        assert "nodeName" not in cluster.send("GET", f"{PODS}/orphan")[1]["spec"]
        assert cluster.end() == 0
    assert {name: len(each) for name, each in nodes.items()} == {
        "default-scheduler": 3,
        "packing": 1,
    }
    with up(tmp_path, *configs) as cluster:
        assert cluster.send("POST", PODS, named("late", "packing"))[0] == 201
        found = cluster.eventually(f"{PODS}/late", is_running)
        assert {found["spec"]["nodeName"]} == nodes["packing"]
        assert cluster.end() == 0

"""What `podwright run show` prints of a state: assumed and nominated pods, and what is left out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cli.recorded.run_show import MomentView
from podwright.scheduler.assembly import machine_of
from podwright.scheduler.machine import CycleDue, Machine, ObjectPut, SchedulerOptions
from podwright.testing import make_pod

SECOND = 1_000_000_000


def node(name: str, ready: str, *, gpu: str = "", **spec: Any) -> Any:
    amounts = {"cpu": "2", "memory": "4Gi", "pods": "110"}
    amounts |= {"example.com/gpu": gpu} if gpu else {}
    conditions = [{"type": "MemoryPressure", "status": "True"}, {"type": "Ready", "status": ready}]
    status = {"allocatable": amounts, "conditions": conditions}
    head = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    return decode(head | {"spec": spec, "status": status})


def machine_with(*objects: Any, cycles: int = 0) -> Machine:
    machine = machine_of(SchedulerOptions())
    for obj in objects:
        machine.handle(ObjectPut(obj), SECOND)
    for _ in range(cycles):
        machine.handle(CycleDue(), 2 * SECOND)
    return machine


def view_of(machine: Machine, *, status: str = "", now_s: int = 5) -> MomentView:
    run: Any = SimpleNamespace(
        path="run", status=status, log=[None] * 9,
        since_start=lambda ns: f"{ns // SECOND}s", describe=lambda ns: f"second {ns // SECOND}",
    )  # fmt: skip
    return MomentView(run, machine, now_s * SECOND, 7)


def preempting() -> Machine:
    """Return a machine in which one pod is assumed, and one waits for the end of another."""
    return machine_with(
        node("n1", "True"), node("n2", "False", unschedulable=True), node("n3", "Unknown", gpu="4"),
        make_pod("low", cpu="2", node="n1"), make_pod("high", cpu="2", priority=100),
        make_pod("other", cpu="500m", node="n3", resources={"example.com/gpu": 1}),
        make_pod("small", cpu="0"), cycles=3,
    )  # fmt: skip


def test_assumed_and_nominated_pods_are_shown(capsys):
    view_of(preempting(), status="running").print(is_wide=False)
    assert (
        capsys.readouterr().out
        == """\
Status:   running
Time:     second 5
Events:   7 of 9
Nodes:    3: 1 NotReady,SchedulingDisabled, 1 Ready, 1 Unknown
Pods:     4: 4 Pending
Placed:   3 on nodes (1 of them assumed)
Queue:    1 unschedulable
Used:     cpu 2500m/6 41%
          memory 0/12Gi 0%
          example.com/gpu 1/4 25%

Nodes (most utilized first):
  NODE  STATUS                       PODS   CPU         MEMORY    OTHER
  n1    Ready                        1/110  2/2 100%    0/4Gi 0%
  n3    Unknown                      2/110  500m/2 25%  0/4Gi 0%  example.com/gpu 1/4 25%
  n2    NotReady,SchedulingDisabled  0/110  0/2 0%      0/4Gi 0%

Unschedulable:
  POD           PRIORITY  ATTEMPTS  AGE  BACKOFF  WAITS FOR
  default/high  100       1         3s            NodeResourcesFit, NodeUnschedulable

Nominated:
  NODE  PODS
  n1    default/high
"""
    )


def test_what_is_left_out_is_counted(capsys):
    nodes = [node(f"n{number:02}", "True") for number in range(12)]
    pods = [make_pod(f"p{number:02}", cpu="8") for number in range(11)]
    machine = machine_with(*nodes, *pods, cycles=11)
    view_of(machine, now_s=2).print(is_wide=False)
    printed = capsys.readouterr().out
    shown = [f"  n{number:02}   Ready   0/110  0/2 0%  0/4Gi 0%\n" for number in range(10)]
    assert f"{''.join(shown)}  and 2 more nodes (-o wide)\n" in printed
    rows = [
        f"  default/p{number:02}  0         1         0s   1s       NodeResourcesFit\n"
        for number in range(10)
    ]
    assert f"{''.join(rows)}  and 1 more pod (-o wide)\n" in printed


@pytest.mark.parametrize(
    ("now_s", "backoff"),
    [pytest.param(2, "1s", id="it waits"), pytest.param(3, "", id="it waits no longer at the end")],
)
def test_the_rest_of_a_backoff_is_shown(now_s, backoff):
    view = view_of(preempting(), now_s=now_s)
    (pending,) = view._queue.places["unschedulable"]
    assert view._row(pending)[4] == backoff


def test_a_document_has_all_nodes_pods_and_queues():
    found = view_of(preempting()).document()
    cpu = {"requested": "2000m", "allocatable": "2000m", "share": 1.0}
    memory = {"requested": "0", "allocatable": "4294967296", "share": 0.0}
    none = {"requested": "0", "allocatable": "0", "share": None}
    assert found["nodes"][0] == {
        "name": "n1", "status": "Ready", "pods": 1, "podsAllowed": 110,
        "resources": {"cpu": cpu, "memory": memory, "example.com/gpu": none},
    }  # fmt: skip
    assert [each["name"] for each in found["nodes"]] == ["n1", "n3", "n2"]
    assert found["pods"] == [
        {"pod": f"default/{name}", "phase": "Pending", "node": at, "queue": queue}
        for name, at, queue in (
            ("low", "n1", None), ("high", None, "unschedulable"),
            ("other", "n3", None), ("small", "n3", None),
        )
    ]  # fmt: skip
    assert found["queue"].pop("unschedulable") == [{
        "pod": "default/high", "priority": 100, "attempts": 1, "since": "1970-01-01T00:00:02Z",
        "backoffEnd": "1970-01-01T00:00:03Z", "waitsFor": ["NodeResourcesFit", "NodeUnschedulable"],
    }]  # fmt: skip
    assert list(found["queue"]) == ["active", "backoff", "errorBackoff", "gated", "inFlight"]
    assert not any(found["queue"].values())
    summary = found["summary"]
    assert (summary["podsOnNodes"], summary["assumedPods"], found["status"]) == (3, 1, None)
    assert (summary["nodes"], summary["pods"], summary["podsByPhase"]) == (3, 4, {"Pending": 4})
    assert summary["queue"] == dict.fromkeys(found["queue"], 0) | {"unschedulable": 1}
    assert summary["resources"]["cpu"]["share"] == 2_500 / 6_000
    assert found["nominated"] == {"n1": ["default/high"]}
    assert (found["event"], found["events"], found["sinceStart"]) == (7, 9, "5s")

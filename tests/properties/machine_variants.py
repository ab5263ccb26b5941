"""Machines of several configurations, with plugins that delay pods, and extenders."""

from __future__ import annotations

from typing import Any, NamedTuple

from podwright.scheduler.assembly import Registry, build_machine
from podwright.scheduler.config import parse_gates
from podwright.scheduler.framework import Cycle, Plugin, Status
from podwright.scheduler.framework.binding import Pending, Progress
from podwright.scheduler.machine import Machine, SchedulerOptions
from podwright.scheduler.queueing import SECOND_NS
from podwright.testing.parity.sequence import effective_configuration

START_NS = 1_800_000_000 * SECOND_NS


class Gate(Plugin):
    """Hold pods with the label `hold=permit` for ten seconds."""

    name = "Gate"

    def permit(self, cycle: Cycle, node_name: str) -> Status | tuple[Status, str]:
        if cycle.pod.metadata.labels.get("hold") == "permit":
            return Status.wait("held"), "10s"
        return Status.OK


class Slow(Plugin):
    """Wait three seconds at PreBind for pods with the label `hold=pre_bind`, or fail."""

    name = "Slow"

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        if cycle.pod.metadata.labels.get("hold") == "reserve":
            raise RuntimeError("the ledger is lost")
        return Status.OK

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        pass

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        held = cycle.pod.metadata.labels.get("hold") == "pre_bind"
        return Pending(delay_ns=3 * SECOND_NS) if held else Status.OK

    def continue_pre_bind(self, cycle: Cycle, node_name: str, progress: Progress) -> Status:
        is_odd = progress.now_ns // SECOND_NS % 2
        return Status.error("the disk is gone") if is_odd else Status.OK


class Variant(NamedTuple):
    """A variant of the machine."""

    name: str
    gates: str = ""
    coscheduling: bool = False
    extenders: bool = False
    assumed_pod_expiry_ns: int = 0

    def new_machine(self) -> Machine:
        registry = Registry([Gate, Slow])
        configuration = effective_configuration(
            self.configuration(), registry, parse_gates(self.gates)
        )
        return build_machine(
            configuration,
            registry,
            SchedulerOptions(start_ns=START_NS, assumed_pod_expiry_ns=self.assumed_pod_expiry_ns),
        )

    def configuration(self) -> dict[str, Any]:
        enabled = [{"name": "Gate"}, {"name": "Slow"}]
        plugins: dict[str, Any] = {"multiPoint": {"enabled": enabled}}
        if self.coscheduling:
            enabled.append({"name": "Coscheduling"})
            plugins["queueSort"] = {
                "enabled": [{"name": "Coscheduling"}],
                "disabled": [{"name": "*"}],
            }
        return {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}],
            "extenders": EXTENDERS if self.extenders else [],
        }


LICENCE = "example.com/licence"
EXTENDERS = [
    {
        "urlPrefix": "http://first",
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "preemptVerb": "preempt",
        "weight": 2,
        "nodeCacheCapable": True,
    },
    {
        "urlPrefix": "http://second",
        "filterVerb": "filter",
        "bindVerb": "bind",
        "nodeCacheCapable": True,
        "ignorable": True,
        "managedResources": [{"name": LICENCE, "ignoredByScheduler": True}],
    },
]
GANGS = "GenericWorkload=true,GangScheduling=true"
IN_THE_CYCLE = "SchedulerAsyncPreemption=false,NominatedNodeNameForExpectation=false"
VARIANTS = [
    Variant("default"),
    Variant("extenders", extenders=True),
    Variant("gangs", gates=GANGS),
    Variant("coscheduling", coscheduling=True),
    Variant("in the cycle", gates=IN_THE_CYCLE),
    Variant("expiry", assumed_pod_expiry_ns=4 * SECOND_NS),
    Variant("everything", f"{GANGS},{IN_THE_CYCLE}", extenders=True),
]

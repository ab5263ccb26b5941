"""The laws of the machine hold under the v1.16 rules, and a replay equals the recorded run."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort
from tests.properties.machine_variants import EXTENDERS, START_NS, Variant
from tests.properties.test_machine import HISTORIES, live

from podwright.apimachinery.objects import Pod
from podwright.scheduler.assembly import Registry, build_machine
from podwright.scheduler.classic import ClassicQueue
from podwright.scheduler.machine import Machine, SchedulerOptions
from podwright.testing import make_pod
from podwright.testing.parity.sequence import effective_configuration

pytestmark = pytest.mark.property

NEVER_NS = 1 << 60


class ClassicVariant(Variant):
    """A machine with the v1.16 rules; its extenders are those of a policy."""

    def new_machine(self) -> Machine:
        registry = Registry()
        rules: dict[str, Any] = {"name": "classic"}
        if self.extenders:
            rules["policy"] = {"kind": "Policy", "extenders": EXTENDERS}
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "rules": rules,
        }
        return build_machine(
            effective_configuration(document, registry),
            registry,
            SchedulerOptions(
                start_ns=START_NS, assumed_pod_expiry_ns=self.assumed_pod_expiry_ns or NEVER_NS
            ),
        )


VARIANTS = [
    ClassicVariant("classic"),
    ClassicVariant("classic, extenders", extenders=True),
    ClassicVariant("classic, expiry", assumed_pod_expiry_ns=4_000_000_000),
]
KINDS = st.sampled_from(VARIANTS)


@effort(150)
@given(KINDS, HISTORIES)
def test_no_pod_is_lost_no_node_over_committed_and_priorities_hold(
    variant: ClassicVariant, history: list[tuple[Any, ...]]
) -> None:
    """The laws are checked after every event; the plain objects agree with the columns."""
    machine = live(variant, history).machine
    plain = machine.cluster.classic  # type: ignore[attr-defined]  # the classic one
    for name, slot in machine.cluster.nodes.slot_of.items():
        on_columns = set(machine.cluster.pods_on[slot])
        assert set(plain.node_infos[name].pods) == on_columns
    assert len(plain.tree) == machine.cluster.nodes.n_alive


@effort(60)
@given(KINDS, HISTORIES)
def test_the_same_events_give_the_same_actions(
    variant: ClassicVariant, history: list[tuple[Any, ...]]
) -> None:
    around = live(variant, history)
    again = variant.new_machine()
    for event, now_ns, actions in around.log:
        assert msgspec.json.encode(again.handle(event, now_ns)) == actions


@effort(60)
@given(KINDS, HISTORIES)
def test_every_pod_ends(variant: ClassicVariant, history: list[tuple[Any, ...]]) -> None:
    around = live(variant, history)
    around.settle()
    machine = around.machine
    assert not machine.assumed()
    assert not machine.queue.in_flight()
    for (kind, name), obj in around.objects.items():
        if kind == "Pod":
            assert machine.pod(name) == obj


@effort(100)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20)), min_size=1, max_size=40))
def test_pods_leave_by_priority_and_then_by_when_they_entered(
    entries: list[tuple[int, int]],
) -> None:
    queue, now_ns = ClassicQueue(), 0
    pods: list[Pod] = []
    for number, (priority, delay_ns) in enumerate(entries):
        now_ns += delay_ns
        pods.append(make_pod(f"p{number}", priority=priority))
        queue.add(pods[-1], now_ns)
    left = []
    while (queued := queue.pop(now_ns)) is not None:
        left.append(queued.pod)
    assert left == sorted(pods, key=lambda pod: -pod.priority)

"""Dumps of a real cluster: every pending pod has the real message, every placed pod fits.

A dump is one state, taken while the real scheduler was paused with no pod left to try. So its last
message about a pending pod must follow from the dump. A placed pod is evaluated as if it were not
placed; a few do not fit because of changes after their binding.
"""

from collections import Counter

import pytest
from tests.golden.real_cluster import dump, scheduler_log

import podwright as pw
from podwright.apimachinery.schema import decode
from podwright.scheduler.framework.profile import TieRule

pytestmark = pytest.mark.golden

GATES_CLOSED = "Scheduling is blocked due to non-empty scheduling gates"
"""The condition that the API server writes when a pod with gates is created.

Upstream: pkg/registry/core/pod/strategy.go, `applySchedulingGatedCondition`
"""

OTHER_SCHEDULER = "search/other-scheduler"


class Dumped:
    """A dump, loaded into a scheduler."""

    def __init__(self, name):
        items = dump(name)
        self.documents = {
            f"{one['metadata']['namespace']}/{one['metadata']['name']}": one
            for one in items
            if one["kind"] == "Pod"
        }
        # Messages and feasible nodes do not depend on the tie rule.
        self.scheduler = pw.Scheduler(tie_rule=TieRule.HEAP, draws_preemption_offset=False)
        self.scheduler.add(*map(decode, items))
        self.node_count = sum(one["kind"] == "Node" for one in items)

    def without_node(self):
        return {key: one for key, one in self.documents.items() if "nodeName" not in one["spec"]}

    def running(self):
        """Return the pods that have a node and are not terminated, by name."""
        return {
            key: one
            for key, one in self.documents.items()
            if "nodeName" in one["spec"] and one["status"]["phase"] not in ("Succeeded", "Failed")
        }


@pytest.fixture(scope="module")
def dumps():
    return {name: Dumped(name) for name in ("mid", "end")}


def condition(pod):
    """Return the message of a pod's PodScheduled condition."""
    found = [one for one in pod["status"].get("conditions", ()) if one["type"] == "PodScheduled"]
    return found[0].get("message", "") if found else ""


@pytest.mark.parametrize(("name", "unschedulable", "gated"), [("mid", 23, 10), ("end", 8, 0)])
def test_every_pending_pod_is_explained_with_the_real_message(dumps, name, unschedulable, gated):
    dumped = dumps[name]
    seen: Counter[object] = Counter()
    for key, pod in dumped.without_node().items():
        ours, real = dumped.scheduler.explain(key).decision.message, condition(pod)
        if gates := pod["spec"].get("schedulingGates"):
            names = " ".join(gate["name"] for gate in gates)
            assert (ours, real) == (f"waiting for scheduling gates: [{names}]", GATES_CLOSED)
            seen["gated"] += 1
        elif key == OTHER_SCHEDULER:
            assert (ours, real) == ('no profile has schedulerName "custom-scheduler"', "")
            seen["of another scheduler"] += 1
        else:
            assert real.startswith(f"0/{dumped.node_count} nodes are available: ")
            assert ours == real, key
            seen["unschedulable"] += 1
    expected = {"unschedulable": unschedulable, "gated": gated, "of another scheduler": 1}
    assert seen == Counter(expected)


def test_the_messages_at_the_end_are_the_last_ones_of_the_schedulers_log(dumps):
    last = {
        line.pod: line.message for line in scheduler_log().lines if line.what == "unschedulable"
    }
    scheduler = dumps["end"].scheduler
    pods = [key for key in dumps["end"].without_node() if key != OTHER_SCHEDULER]
    assert [scheduler.explain(key).decision.message for key in pods] == [last[key] for key in pods]


@pytest.mark.parametrize(
    ("name", "fitting", "expected"),
    [
        pytest.param(
            "mid",
            1028,
            # At 122 s these nodes were tainted with maintenance=soon:NoSchedule, which evicts no
            # pods.
            {
                ("node(s) had untolerated taint(s)", "ip-10-17-0-6"): 7,
                ("node(s) had untolerated taint(s)", "ip-10-16-0-86"): 5,
                ("node(s) had untolerated taint(s)", "ip-10-16-0-105"): 7,
                # A terminating pod is not scheduled.
                ("skip schedule deleting pod", "ip-10-18-0-76"): 1,
            },
            id="mid",
        ),
        pytest.param(
            "end",
            1020,
            # At 360 s its kubelet reported 2500m as allocatable. The requests there exceed this by
            # more than any of its pods requests.
            {("Insufficient cpu", "ip-10-18-0-106"): 7},
            id="end",
        ),
    ],
)
def test_every_placed_pod_fits_on_its_node_except_for_later_changes(dumps, name, fitting, expected):
    dumped = dumps[name]
    seen: Counter[object] = Counter()
    fits = 0
    for key, pod in dumped.running().items():
        explanation = dumped.scheduler.explain_again(key)
        node = pod["spec"]["nodeName"]
        if node in explanation.feasible:
            fits += 1
            assert explanation.decision.node in explanation.feasible
            continue
        rejection = explanation.rejected.get(node)
        message = rejection.message if rejection else explanation.decision.message
        seen[message.partition(":")[0], node.partition(".")[0]] += 1
    assert (fits, seen) == (fitting, Counter(expected))

"""Decisions compared while they are made: as in the comparison of the whole record."""

import pytest

from podwright.apimachinery.objects import KubernetesObject
from podwright.cluster.store import FreshChange, kind_of
from podwright.scheduler.framework import Cycle, NodeView, Plugin, Status
from podwright.simulation.shadow import LiveShadow, Shadow, report_of
from podwright.simulation.shadow.tests.test_shadow import Cluster, node, pod, with_status

SECOND_NS = 1_000_000_000


def change_of(line):
    is_deletion = line.event == "Delete"
    new: KubernetesObject | None = None if is_deletion else line.object
    obj = line.object
    return FreshChange(line.line, kind_of(obj), obj.key, line.old, new, obj)


def busy_cluster(count=40, *, gone_ms=0):
    """Record bindings to the better and the worse node, and a waiting pod, which may go."""
    cluster = Cluster(node("n1", "32", memory="64Gi"), node("n2", "32", memory="64Gi"))
    waiting = pod("waits")
    cluster.add_pending(500, waiting)
    cluster.update(510, with_status(waiting, nominatedNodeName="n1"))
    for number in range(count):
        ms = 1000 + 700 * number
        name = f"web-{number}"
        cluster.add_pending(ms, pod(name, "250m"))
        cluster.bind(ms + 10, pod(name, "250m"), "n1" if number % 5 == 0 else "n2")
        if number % 3 == 2:
            cluster.delete(ms + 300, pod(f"web-{number - 1}", "250m", "n2"))
    nominated = with_status(waiting, nominatedNodeName="n1")
    if gone_ms:
        cluster.delete(gone_ms, nominated)
    else:
        cluster.update(31_000, nominated | {"spec": nominated["spec"] | {"nodeName": "n1"}})
    return cluster.record()


def followed(record, every, **options):
    """Compare a record in parts, as its lines appear; the number of lines kept at most too."""
    live = LiveShadow(**options)
    first = [line for line in record.lines if line.seen_ns == record.lines[0].seen_ns]
    live.begin([line.object for line in first])
    kept = 0
    for index, line in enumerate(record.lines[len(first) :]):
        live.add([change_of(line)], line.seen_ns)
        if index % every == 0:
            live.settle(live.compare(line.seen_ns))
        kept = max(kept, len(live._lines))
    end_ns = record.lines[-1].seen_ns
    live.settle(live.compare(end_ns, is_over=True))
    return live, kept


@pytest.mark.parametrize("every", [1, 7, 10_000])
def test_decisions_compared_in_parts_are_those_of_the_whole_record(every):
    record = busy_cluster()
    whole = report_of(one for one in Shadow(record).findings() if one is not None)
    live, _ = followed(record, every)
    assert live.report() == whole
    assert whole.bindings.total == 41
    assert whole.bindings.unexplained > 0
    assert not live.has_open_decisions


def test_changes_are_dropped_when_no_decision_needs_them():
    # The pod that waits keeps the changes since its nomination.
    record = busy_cluster(80)
    lines = tuple(line for line in record.lines if line.object.name != "waits")
    _, kept = followed(type(record)(source="", lines=lines), 1)
    assert kept < 20 < len(lines)
    _, kept_while_it_waits = followed(busy_cluster(30), 1)
    assert kept_while_it_waits > 60
    _, kept = followed(busy_cluster(30, gone_ms=1500), 1)
    assert kept < 25, "until it is deleted"


def test_what_was_deleted_long_ago_is_gone():
    old, web = pod("old", "4", "large"), pod("web", "3")
    cluster = Cluster(node("large", "4"), node("small", "2"), old)
    cluster.delete(1000, old)
    for ms in (5000, 9000):
        cluster.update(ms, node("small", "2", {f"app:{ms}": 1}))
    cluster.add_pending(20_000, web)
    cluster.bind(20_010, web, "large")
    live, _ = followed(cluster.record(), 1)
    assert (live.report().bindings.total, live.report().bindings.agreed) == (1, 1)


def test_the_decisions_of_a_scheduler_with_another_name_are_not_compared():
    cluster = Cluster(node("n1"), node("n2"))
    for ms, name in ((1000, "theirs"), (2000, "default-scheduler")):
        web = pod(name, schedulerName=name)
        cluster.add_pending(ms, web)
        cluster.bind(ms + 10, web, "n1" if name == "theirs" else "n2")
    live, _ = followed(cluster.record(), 1)
    assert (live.report().bindings.total, live.report().bindings.agreed) == (1, 1)
    assert live.other_bindings == {"theirs": 1}


def test_a_decision_is_open_until_later_changes_cannot_matter():
    record = busy_cluster(1)
    live = LiveShadow()
    live.begin([])
    live.add(map(change_of, record.lines), record.lines[-1].seen_ns)
    assert live.has_open_decisions
    assert live.compare(record.lines[-1].seen_ns).findings == ()
    live.settle(live.compare(record.lines[-1].seen_ns + SECOND_NS))
    assert live.report().bindings.total == 2


def test_a_node_that_does_not_exist_is_a_difference():
    cluster = Cluster(node("n1"))
    cluster.add_pending(1000, pod("web"))
    cluster.bind(1010, pod("web"), "n7")
    live, _ = followed(cluster.record(), 1)
    (found,) = live.report().differences
    assert (found.outcome, found.rejection) == ("unexplained", "there is no such node")


class NotOnFirst(Plugin):
    """Rejects n1."""

    name = "NotOnFirst"

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        """Reject it."""
        return Status.unschedulable("not on n1") if node.name == "n1" else Status()


def test_the_plugins_of_the_other_scheduler_decide():
    cluster = Cluster(node("n1", "32"), node("n2", "1"))
    cluster.add_pending(1000, pod("web", "250m"))
    cluster.bind(1010, pod("web", "250m"), "n2")
    record = cluster.record()
    for plugins, outcome in (((), "unexplained"), ((NotOnFirst,), "agreed")):
        (whole,) = Shadow(record, plugins=plugins).findings()
        assert whole is not None
        assert whole.outcome == outcome
        live, _ = followed(record, 1, plugins=plugins)
        assert getattr(live.report().bindings, outcome) == 1


def test_a_decision_is_settled_after_four_delays_and_counted_once():
    delay_ns = 10_000_000
    cluster = Cluster(node("n1"), node("n2"), pod("first"), pod("second"))
    for ms, name in ((1000, "first"), (1015, "second")):
        cluster.update(ms, pod(name, on="n1"))
    *given, first, second = cluster.record().lines
    live = LiveShadow(delay_ns=delay_ns)
    live.begin([line.object for line in given])
    assert not live.has_open_decisions
    for line in (first, second):
        live.add([change_of(line)], line.seen_ns)
    for now_ns, found in (
        (first.seen_ns + 4 * delay_ns - 1, []),
        (first.seen_ns + 4 * delay_ns, ["a/first"]),
        (second.seen_ns + 4 * delay_ns - 1, ["a/first"]),
        (second.seen_ns + 4 * delay_ns, ["a/first", "a/second"]),
    ):
        assert [one.pod for one in live.compare(now_ns).findings] == found
    part = live.compare(first.seen_ns + 4 * delay_ns)
    assert (part.last_line, live.has_open_decisions) == (first.line, True)
    live.settle(part)
    assert live.compare(first.seen_ns + 4 * delay_ns).findings == ()
    rest = live.compare(second.seen_ns + 4 * delay_ns)
    assert [one.pod for one in rest.findings] == ["a/second"]
    live.settle(rest)
    assert (live.report().bindings.total, live.has_open_decisions) == (2, False)
    assert live.compare(second.seen_ns, is_over=True).findings == ()


def test_a_nomination_may_be_a_decision_until_it_is_settled():
    cluster = Cluster(node("n1"), pod("p"))
    cluster.update(1000, with_status(pod("p"), message="other"))
    cluster.update(1010, with_status(pod("p"), message="other", nominatedNodeName="n1"))
    *given, other, nomination = cluster.record().lines
    live = LiveShadow()
    live.begin([line.object for line in given])
    for line, is_open in ((other, False), (nomination, True)):
        live.add([change_of(line)], line.seen_ns)
        assert live.has_open_decisions is is_open


def test_lines_that_the_scheduler_does_not_read_are_counted():
    def thing(name):
        metadata = {"name": name, "namespace": "a", "uid": f"uid-{name}"}
        return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata}

    cluster = Cluster(thing("first"), node("free"), node("busy"), pod("old", "2", "busy"))
    cluster.add_pending(1000, pod("web"))
    cluster.add(1005, thing("second"))
    cluster.bind(1010, pod("web"), "busy")
    record = cluster.record()
    whole = report_of(one for one in Shadow(record).findings() if one is not None)
    live, _ = followed(record, 1)
    assert live.report() == whole
    assert [one.line for one in whole.differences] == [7]

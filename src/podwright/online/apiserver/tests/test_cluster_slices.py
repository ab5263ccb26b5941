"""What a slice of a cluster does: its worlds in turn, the Events between, and when it ends."""

from types import SimpleNamespace
from typing import Any

import pytest

from podwright.online.apiserver.breakpoints import Breakpoints
from podwright.online.apiserver.cluster import Cluster

NOW_NS = 7


class Part:
    """A world, the API server or the Events, which log what they are called for."""

    def __init__(self, log: list[str], name: str, pending: int = 0) -> None:
        self.store, self.pending = None, pending
        self.log, self.name, self.is_done, self.is_between_steps = log, name, True, True
        self.names, self.options, self.monitor = (name,), f"options of {name}", f"of {name}"

    @property
    def world(self) -> Any:
        return self

    def catch_up(self, now_ns: int, is_over: Any) -> bool:
        assert now_ns == NOW_NS
        self.log.append(f"{self.name}{' to its end' if is_over() else ''}")
        return self.is_done

    def pass_idle_time(self, now_ns: int) -> None:
        self.log.append(f"{self.name} idle {now_ns}")

    def advance(self, now_ns: int) -> None:
        self.log.append(f"server {now_ns}")

    @property
    def has_pending(self) -> bool:
        return self.pending > 0

    def write(self, *_: object) -> None:
        self.log.append("events")
        self.pending -= 1

    def write_checkpoint(self) -> None:
        self.log.append(f"checkpoint {self.name}")


def cluster_of(*names: str, pending: int = 0) -> tuple[Any, list[str]]:
    log: list[str] = []
    worlds: Any = [Part(log, name) for name in names]
    server, events = Part(log, "server"), Part(log, "events", pending=pending)
    cluster: Any = Cluster(worlds, server, events, Breakpoints())  # type: ignore[arg-type]
    return cluster, log


def test_the_first_scheduler_is_that_of_the_cluster() -> None:
    cluster, log = cluster_of("a", "b")
    first = cluster.schedulers[0]
    assert (cluster.world, cluster.scheduler, cluster.monitor) == (first, "options of a", "of a")
    cluster.begin_turn(NOW_NS)
    cluster.is_resting = True
    cluster.begin_turn(NOW_NS)
    assert log == ["a idle 7", "b idle 7"]


@pytest.mark.parametrize(
    ("pending", "is_over", "changes", "log", "is_done"),
    [
        pytest.param(0, False, {}, "server 7; a", True, id="nothing is left"),
        pytest.param(0, False, {"is_resting": True}, "server 7", True, id="a checkpoint"),
        pytest.param(0, False, {"hit": 1}, "server 7", True, id="a breakpoint"),
        pytest.param(1, False, {"hit": 1}, "server 7; events", True, id="Events of the last slice"),
        pytest.param(1, True, {}, "server 7; events", False, id="Events take the whole slice"),
        pytest.param(1, False, {}, "server 7; events; a", True, id="Events, then the world"),
        pytest.param(
            2, False, {}, "server 7; events; a; events", False, id="Events that the world receives"
        ),
        pytest.param(0, True, {}, "server 7; a to its end", True, id="a short slice"),
    ],
)
def test_a_slice_writes_events_before_and_after_the_world(
    pending: int, is_over: bool, changes: dict[str, Any], log: str, is_done: bool
) -> None:
    cluster, found = cluster_of("a", pending=pending)
    cluster.is_resting = "is_resting" in changes
    cluster.breakpoints.hit = changes.get("hit")
    assert cluster.catch_up(NOW_NS, lambda: is_over) is is_done
    assert "; ".join(found) == log


def test_a_breakpoint_ends_a_slice() -> None:
    cluster, log = cluster_of("a")
    cluster.breakpoints._conditions = {1: None}
    first = cluster.schedulers[0]

    def hit(_: int, is_over: Any) -> bool:
        cluster.breakpoints.hit = 1
        log.append(f"over: {is_over()}")
        return False

    first.catch_up = hit
    assert not cluster.catch_up(NOW_NS, lambda: False)
    assert log == ["server 7", "over: True"]


@pytest.mark.parametrize(
    ("worlds", "is_over", "slices", "is_done"),
    [
        pytest.param({}, False, "a b; a b", True, id="all of them in a slice"),
        pytest.param({}, True, "a!; b!", False, id="each slice starts with another one"),
        pytest.param({"a": "is_done"}, False, "a b; a b", False, id="one is not done"),
        pytest.param({"b": "is_between_steps"}, False, "a b; b! a", True, id="in a round"),
        pytest.param({"a": "is_between_steps"}, False, "a; a", False, id="its room is not known"),
    ],
)
def test_worlds_have_their_turns_but_not_within_a_round_of_another(
    worlds: dict[str, str], is_over: bool, slices: str, is_done: bool
) -> None:
    cluster, log = cluster_of("a", "b")
    for each in cluster.schedulers:
        if each.name in worlds:
            setattr(each, worlds[each.name], False)
    found, done = [], None
    for _ in range(2):
        log.clear()
        done = cluster.catch_up(NOW_NS, lambda: is_over)
        found.append(" ".join(each.replace(" to its end", "!") for each in log[1:]))
        if worlds == {"b": "is_between_steps"}:
            cluster.schedulers[1].is_between_steps = True
    assert ("; ".join(found), done) == (slices, is_done)


def test_all_worlds_are_between_two_steps_before_a_slice_is_the_last() -> None:
    cluster, _ = cluster_of("a", "b")
    first, second = cluster.schedulers

    def catch_up(*_: object) -> bool:
        first.is_between_steps = False
        return True

    second.catch_up = catch_up
    assert not cluster.catch_up(NOW_NS, lambda: False)


@pytest.mark.parametrize(
    ("backlog", "changes", "steps"),
    [
        ((True, 5), {}, 5),
        ((False, 5), {}, None),
        ((True, 5), {"is_resting": True}, None),
        ((True, 5), {"hit": 1}, None),
    ],
    ids=["late", "in time", "a checkpoint", "a breakpoint"],
)
def test_a_world_is_late_only_while_it_runs(
    backlog: tuple[bool, int], changes: dict[str, Any], steps: int | None
) -> None:
    cluster, _ = cluster_of("a")
    cluster.world.backlog = SimpleNamespace(is_late=backlog[0], steps=backlog[1])
    cluster.is_resting = "is_resting" in changes
    cluster.breakpoints.hit = changes.get("hit")
    assert cluster.late_steps == steps


@pytest.mark.parametrize("due", ["", "a", "b", "ab"])
def test_the_checkpoints_that_are_due_are_written(due: str) -> None:
    cluster, log = cluster_of("a", "b")
    for each in cluster.schedulers:
        each.is_checkpoint_due = each.name in due
    assert cluster.is_checkpoint_due is bool(due)
    cluster.write_checkpoint()
    assert log == [f"checkpoint {name}" for name in due]

"""Every public function with a time or a duration accepts the same forms."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import podwright as pw
from podwright.apimachinery.objects import parse_days
from podwright.simulation.world import START_NS
from podwright.testing import make_node, make_pod

SECOND_NS = 1_000_000_000
FIVE_MINUTES_NS = 300 * SECOND_NS
NODE = make_node("n1", cpu="2")
WEB, LATE = make_pod("web", cpu="1"), make_pod("late", cpu="1")

RELATIVE = ["5m", "300s", timedelta(minutes=5), np.timedelta64(300, "s"), "0d5m"]
ABSOLUTE = [
    "2026-01-01T00:05:00Z",
    "2026-01-01t01:05:00+01:00",
    datetime(2026, 1, 1, 0, 5, tzinfo=UTC),
    datetime(2026, 1, 1, 2, 5, tzinfo=timezone(timedelta(hours=2))),
    np.datetime64("2026-01-01T00:05"),
    np.datetime64(START_NS + FIVE_MINUTES_NS, "ns"),
    pd.Timestamp("2026-01-01T00:05Z"),
]
DURATIONS = ["5m", timedelta(minutes=5), np.timedelta64(5, "m"), pd.Timedelta(minutes=5)]


@pytest.fixture(scope="module")
def log() -> pw.DecisionLog:
    """A run with a pod at its start, and another one after five minutes."""
    world = pw.World()
    world.add(NODE, WEB)
    world.add(LATE, at="5m")
    return world.run(until="10m").log


def until_of(call: Callable[[pw.World, Any], object]) -> Callable[[Any, pw.DecisionLog], object]:
    def now_of(at: Any, _: pw.DecisionLog) -> int:
        world = pw.World()
        world.add(NODE, WEB)
        world.add(LATE, at="10m")
        call(world, at)
        return world.now_ns - world.start_ns

    return now_of


def arrival_of(call: Callable[[pw.World, Any], object]) -> Callable[[Any, pw.DecisionLog], object]:
    def decided_at(at: Any, _: pw.DecisionLog) -> int:
        world = pw.World()
        world.add(NODE)
        call(world, at)
        log = world.run().log
        return log.time_of(log.cycles_of("default/late")[0]) - world.start_ns

    return decided_at


def removed(world: pw.World, at: Any) -> None:
    # The pod gets room only when the other one is gone.
    world.add(make_pod("first", cpu="2"))
    world.remove(make_pod("first"), at=at)
    world.add(LATE, at=at)


TIMES: dict[str, tuple[Callable[[Any, pw.DecisionLog], object], object]] = {
    "World.run": (until_of(lambda world, at: world.run(at)), FIVE_MINUTES_NS),
    "World.run_until": (until_of(lambda world, at: world.run_until(until=at)), FIVE_MINUTES_NS),
    "World.steps": (until_of(lambda world, at: list(world.steps(until=at))), 0),
    "World.step": (until_of(lambda world, at: world.step(until=at)), 0),
    "World.add": (arrival_of(lambda world, at: world.add(LATE, at=at)), FIVE_MINUTES_NS),
    "World.remove": (arrival_of(removed), FIVE_MINUTES_NS),
    "simulate(until)": (
        lambda at, _: pw.simulate([NODE, WEB], until=at).summary.simulated_ns,
        FIVE_MINUTES_NS,
    ),
    "simulate(events)": (
        lambda at, _: pw.simulate([NODE, WEB], events={"at": at, "cordon": "n1"}).summary.end,
        "2026-01-01T00:05:00.000000000Z",
    ),
    "cluster_at": (lambda at, log: sorted(pw.cluster_at(log, at).node_of), ["default/late",
                                                                           "default/web"]),
    "queue_at": (lambda at, log: pw.queue_at(log, at).now_ns, START_NS + FIVE_MINUTES_NS),
    "replay": (lambda at, log: len(pw.replay(log, at=at).cluster.pods), 2),
    "explain_cycle": (lambda at, log: pw.explain_cycle(log, "default/late", at=at).attempt, 1),
    "what_if": (lambda at, log: pw.what_if(log, "default/late", at=at).is_same, True),
    "kss_annotations": (lambda at, log: bool(pw.kss_annotations(log, "default/late", at=at)), True),
    "DecisionLog.index_at": (lambda at, log: log.index_at(at) > log.index_at("4m"), True),
}  # fmt: skip


@pytest.mark.parametrize("at", [*RELATIVE, *ABSOLUTE], ids=repr)
@pytest.mark.parametrize("name", TIMES)
def test_times_have_the_same_forms_everywhere(name: str, at: Any, log: pw.DecisionLog) -> None:
    call, expected = TIMES[name]
    assert call(at, log) == expected


@pytest.mark.parametrize("at", [*RELATIVE, *ABSOLUTE], ids=repr)
def test_the_times_between_which_cycles_are_explained_have_these_forms(at: Any) -> None:
    late = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "late"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    events = [{"at": "5m", "apply": late}]
    run = pw.simulate([NODE, WEB], events=events)
    after = [explanation.pod.name for explanation in run.explain_all(between=(at, None))]
    until = [explanation.pod.name for explanation in run.explain_all(between=(None, at))]
    assert (after, until) == (["late"], ["web", "late"])


@pytest.mark.parametrize("start", ABSOLUTE, ids=repr)
def test_a_start_is_an_absolute_time(start: Any) -> None:
    begins = START_NS + FIVE_MINUTES_NS
    assert pw.World(start=start).start_ns == begins
    assert pw.record(start=start).log.start_ns == begins
    assert pw.simulate([NODE, WEB], start=start).summary.start == "2026-01-01T00:05:00.000000000Z"


@pytest.mark.parametrize("duration", DURATIONS, ids=repr)
def test_durations_have_the_same_forms_everywhere(duration: Any, tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(
        "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: "
        "{restartPolicy: Never, containers: [{name: c, image: i}]}}}}"
    )
    objects = [NODE, *pw.load(job).objects]
    run = pw.simulate(objects, job_duration=duration, sample=duration)
    assert FIVE_MINUTES_NS <= run.summary.simulated_ns < FIVE_MINUTES_NS + 30 * SECOND_NS
    recorder = pw.record(assumed_pod_expiry=duration)
    assert recorder.log.setup.assumed_pod_expiry_ns == FIVE_MINUTES_NS


@pytest.mark.parametrize("timeout", ["1ms", timedelta(milliseconds=1), "0s", timedelta()], ids=repr)
def test_a_timeout_is_a_duration(timeout: Any) -> None:
    now_ns = iter(range(0, 10**12, 10**6))
    queue = pw.BlockingQueue(lambda: next(now_ns))
    with pytest.raises(TimeoutError):
        queue.pop(timeout=timeout)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(
            lambda: pw.World().run("soon"),
            'until: Invalid value: "soon": must be a duration since the start such as 1h30m, or'
            " a time such as 2026-01-01T12:00:00Z",
            id="neither",
        ),
        pytest.param(
            lambda: pw.World().run(datetime(2026, 1, 1)),  # noqa: DTZ001 - rejected
            'until: Invalid value: "2026-01-01 00:00:00": must be a datetime with a time zone',
            id="no time zone",
        ),
        pytest.param(
            lambda: pw.World().run(pd.NaT),
            'until: Invalid value: "NaT": must be a datetime with a time zone',
            id="no time at all",
        ),
        pytest.param(
            lambda: pw.World().add(WEB, at="-5m"),
            'at: Invalid value: "-5m": must not be before the start, 2026-01-01T00:00:00Z',
            id="before the start",
        ),
        pytest.param(
            lambda: pw.World().run("3600"),
            'until: Invalid value: "3600": it has no unit: must be a duration since the start such'
            " as 1h30m, or a time such as 2026-01-01T12:00:00Z",
            id="a text without unit",
        ),
        pytest.param(
            lambda: pw.World(start="5m"),
            'start: Invalid value: "5m": must be a time such as 2026-01-01T12:00:00Z',
            id="a relative start",
        ),
        pytest.param(
            lambda: pw.World(start=timedelta(minutes=5)),
            'start: Invalid value: "0:05:00": must be a time such as 2026-01-01T12:00:00Z, or a'
            " datetime",
            id="a timedelta as start",
        ),
        pytest.param(
            lambda: pw.simulate([NODE], until="300y", start="2262-01-01T00:00:00Z"),
            'start: Invalid value: "2262-01-01T00:00:00Z": the years from 1678 to 2261 can be'
            " simulated",
            id="too late",
        ),
        pytest.param(
            lambda: pw.simulate([NODE], events={"at": datetime(2026, 1, 1), "cordon": "n1"}),  # noqa: DTZ001 - rejected
            'events: line 1: at: Invalid value: "2026-01-01 00:00:00": must be a datetime with a'
            " time zone",
            id="an event",
        ),
        pytest.param(
            lambda: pw.simulate([NODE], sample="0s"),
            'sample: Invalid value: "0s": must be a duration such as 1h30m, greater than 0',
            id="no duration",
        ),
        pytest.param(
            lambda: pw.BlockingQueue(lambda: 0).pop(timeout="-1ns"),
            'timeout: Invalid value: "-1ns": must be a duration such as 1h30m, 0 or more',
            id="a negative timeout",
        ),
    ],
)  # fmt: skip
def test_an_invalid_time_is_an_error_that_names_what_is_expected(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(pw.InputError) as raised:
        call()
    assert str(raised.value).splitlines()[0] == message


def test_a_time_before_the_present_is_an_error() -> None:
    world = pw.World()
    world.run_until("10m")
    for call in (lambda: world.add(WEB, at="9m"), lambda: world.run("9m")):
        with pytest.raises(pw.InputError, match="must not be before the current time, 2026-01-01T"):
            call()


@pytest.mark.parametrize("value", [0, 600, 1.5, np.int64(3600), Decimal(60)], ids=repr)
def test_a_number_without_a_unit_is_an_error_that_says_so(value: Any, log: pw.DecisionLog) -> None:
    world = pw.World()
    for what, call in (
        ("at", lambda: pw.cluster_at(log, value)),
        ("at", lambda: pw.queue_at(log, value)),
        ("at", lambda: pw.replay(log, at=value)),
        ("at", lambda: pw.explain_cycle(log, "default/web", at=value)),
        ("at", lambda: pw.what_if(log, "default/web", at=value)),
        ("at", lambda: pw.kss_annotations(log, "default/web", at=value)),
        ("start", lambda: pw.World(start=value)),
        ("start", lambda: pw.record(start=value)),
        ("assumed_pod_expiry", lambda: pw.record(assumed_pod_expiry=value)),
        ("until", lambda: world.run(value)),
        ("until", lambda: world.run_until(value)),
        ("until", lambda: world.step(value)),
        ("at", lambda: world.add(WEB, at=value)),
        ("at", lambda: world.remove(WEB, at=value)),
        ("at", lambda: world.do(pw.Cordon("n1"), at=value)),
        ("until", lambda: pw.simulate([NODE], until=value)),
        ("start", lambda: pw.simulate([NODE], start=value)),
        ("sample", lambda: pw.simulate([NODE], sample=value)),
        ("job_duration", lambda: pw.simulate([NODE], job_duration=value)),
        ("events: line 1: at", lambda: pw.simulate([NODE], events={"at": value, "cordon": "n1"})),
        ("timeout", lambda: pw.BlockingQueue(lambda: 0).pop(timeout=value)),
    ):
        with pytest.raises(pw.ArgumentError, match=f"^{what}: {value} has no unit: .*such as "):
            call()


def test_a_size_without_a_unit_is_an_error() -> None:
    for what, call in (
        ("memory", lambda: make_pod("p", memory="4")),
        ("memory", lambda: make_node("n", memory="16384")),
        ("hugepages-2Mi", lambda: make_pod("p", resources={"hugepages-2Mi": "4.5"})),
        (r"images\['i'\]", lambda: make_node("n", images={"i": "300"})),
    ):
        with pytest.raises(pw.ArgumentError, match=f"^{what}: [0-9.]+ has no unit: .* such as "):
            call()
    assert make_pod("p", memory="0", cpu="1").spec.containers[0].resources.requests["memory"] == "0"


@pytest.mark.parametrize(
    ("text", "hours"),
    [("7d", 168), ("1d12h", 36), ("0.5d", 12), ("-1d", -24), ("+1d0s", 24), ("1.25d30m", 30.5)],
)
def test_a_duration_may_begin_with_days(text: str, hours: float) -> None:
    assert parse_days(text) == hours * 3_600 * SECOND_NS


@pytest.mark.parametrize(
    "text", ["d", "1d-5h", "1h2d", "1d1d", "999999999999d", "106752d", "1d5", "7 d"]
)
def test_other_texts_with_days_are_not_durations(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_days(text)


@pytest.mark.parametrize(
    "value",
    [None, [1], True, b"5m", np.timedelta64("NaT"), np.array([1, 2], "m8[s]")],
    ids=repr,
)
def test_another_type_is_an_error_that_names_the_types(value: Any, log: pw.DecisionLog) -> None:
    for call in (
        lambda: pw.cluster_at(log, value),
        lambda: pw.World(start=value),
        lambda: pw.simulate([NODE], sample=value),
    ):
        with pytest.raises(pw.ArgumentError, match=r"(at|start|sample): must be .*, not "):
            call()


def test_an_attempt_and_a_time_exclude_each_other(log: pw.DecisionLog) -> None:
    with pytest.raises(pw.ArgumentError, match="attempt and at: specify one of them"):
        pw.explain_cycle(log, "default/web", 1, at="1m")
    with pytest.raises(pw.ArgumentError, match="until and at: specify one of them"):
        pw.replay(log, until=1, at="1m")

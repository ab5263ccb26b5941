"""Figures of runs, and the arithmetic of timing models, with given numbers."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from podwright.apimachinery.objects import InputError
from podwright.scheduler.framework import Decision
from podwright.simulation.recording import FOREIGN, GATED, Counts
from podwright.simulation.world.runs.run_comparison import (
    Figure,
    RunComparison,
    _absent,
    _notes,
    figures,
)
from podwright.simulation.world.runs.summary import Summary, Use, Waits, waits_of
from podwright.simulation.world.timing import fitting
from podwright.simulation.world.timing.delays import STARTING_STAGE, Client, Delays
from podwright.simulation.world.timing.model import (
    ClientTiming,
    Timing,
    duration_text,
    parse_factor,
    read_timing,
    timing_entry,
)
from podwright.testing import make_pod

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ([], Waits()),
        ([3], Waits(count=1, mean_s=3, p50_s=3, p90_s=3, p99_s=3, max_s=3)),
        ([4, 1], Waits(count=2, mean_s=2.5, p50_s=1, p90_s=4, p99_s=4, max_s=4)),
        (
            [*range(1, 11)],
            Waits(count=10, mean_s=5.5, p50_s=5, p90_s=9, p99_s=10, max_s=10),
        ),
        (
            [*range(200, 0, -1)],
            Waits(count=200, mean_s=100.5, p50_s=100, p90_s=180, p99_s=198, max_s=200),
        ),
        ([0, 0], Waits(count=2)),
    ],
)
def test_percentiles_are_values_that_some_pod_waited(seconds, expected):
    assert waits_of(each * SECOND for each in seconds) == expected


def test_waits_are_rounded_to_microseconds():
    assert waits_of([1_499, 1_501]).mean_s == 0.000002
    assert waits_of([1_499]).max_s == 0.000001


SUMMARY = Summary(
    start="2026-01-01T00:00:00.000000000Z",
    end="2026-01-01T00:01:00.000000000Z",
    simulated_ns=60 * SECOND,
    is_interrupted=False,
    counts=Counts(created=12, placed=5, succeeded=3, failed=2, deleted=1, preemptions=4, victims=6),
    pending={"Insufficient cpu": 3, GATED: 2, FOREIGN: 1},
    excluded=3,
    waits=Waits(count=5, mean_s=1.5, p50_s=1, p90_s=2, p99_s=3, max_s=4),
    utilization={"cpu": Use(mean=0.5, peak=0.75, fragmentation=0.125)},
)


def test_a_summary_in_words_and_as_a_document():
    assert repr(SUMMARY) == "<Summary of 1m0s: 12 pods, 5 placed, 6 pending>"
    assert SUMMARY.pending_count == 3
    shown = SUMMARY._repr_html_()
    for text in (
        "1m0s from 2026-01-01", "Victims", "1.5 s", "50.00%", "75.00%", "12.50%",
        "Insufficient cpu",
    ):  # fmt: skip
        assert text in shown
    facts = ("Decisions", 0), ("Pods", 12), ("Placed", 5), ("Succeeded", 3), ("Failed", 2)
    for name, count in (*facts, ("Deleted", 1), ("Preemptions", 4), ("Victims", 6)):
        assert re.search(rf">{name}</th>.*?<td[^>]*>{count}</td>", shown), name
    assert "Interrupted." not in shown
    assert shown.index("Insufficient cpu") < shown.index(GATED) < shown.index(FOREIGN)
    stopped = msgspec.structs.replace(SUMMARY, is_interrupted=True, waits=Waits())
    assert "Interrupted." in stopped._repr_html_()
    assert "1.5 s" not in stopped._repr_html_()
    document = msgspec.to_builtins(SUMMARY)
    assert document["waits"] == {
        "count": 5, "meanSeconds": 1.5, "p50Seconds": 1, "p90Seconds": 2, "p99Seconds": 3,
        "maxSeconds": 4,
    }  # fmt: skip
    assert (document["simulatedNs"], document["interrupted"]) == (60 * SECOND, False)
    assert msgspec.convert(document, Summary) == SUMMARY


def run_of(summary: Summary = SUMMARY, waits: Any = ()) -> Any:
    """Return a run with the rows of its pods: priority, seconds and outcome."""
    rows = {
        "priority": [row[0] for row in waits],
        "wait_ns": [row[1] * SECOND for row in waits],
        "outcome": [row[2] for row in waits],
    }
    return SimpleNamespace(summary=summary, rows={"waits": rows}.__getitem__)


COUNTED = [
    ("created", "pods", 12),
    ("placed", "pods", 5),
    ("succeeded", "pods", 3),
    ("failed", "pods", 2),
    ("deleted", "pods", 1),
    ("preemptions", "pods", 4),
    ("victims", "pods", 6),
    ("pending", "pods", 6),
    *(
        (f"pending: {reason}", "pods", count)
        for reason, count in sorted({"Insufficient cpu": 3, GATED: 2, FOREIGN: 1}.items())
    ),
    ("wait: pods", "pods", 5),
    ("wait mean", "s", 1.5),
    ("wait p50", "s", 1),
    ("wait p90", "s", 2),
    ("wait p99", "s", 3),
    ("wait max", "s", 4),
]
SHARES = [
    ("cpu mean", "share", 0.5),
    ("cpu peak", "share", 0.75),
    ("cpu fragmented", "share", 0.125),
]


def test_all_figures_of_a_run_in_their_order():
    same = [(3, 1, "Scheduled"), (3, 2, "Scheduled"), (9, 9, "Pending")]
    assert [*figures(run_of(waits=same))] == [*COUNTED, *SHARES]
    # With pods of several priorities, each has its waits, the highest first.
    found = [
        *figures(run_of(waits=[(0, 2, "Scheduled"), (7, 1, "Scheduled"), (7, 3, "Scheduled")]))
    ]
    assert found[: len(COUNTED)] == COUNTED
    assert found[len(COUNTED) : -len(SHARES)] == [
        ("wait of priority 7: pods", "pods", 2),
        ("wait of priority 7 mean", "s", 2),
        ("wait of priority 7 p50", "s", 1),
        ("wait of priority 7 p90", "s", 3),
        ("wait of priority 7 p99", "s", 3),
        ("wait of priority 7 max", "s", 3),
        ("wait of priority 0: pods", "pods", 1),
        *((f"wait of priority 0 {name}", "s", 2) for name in ("mean", "p50", "p90", "p99", "max")),
    ]
    nothing = msgspec.structs.replace(SUMMARY, waits=Waits(), pending={}, utilization={})
    assert [*figures(run_of(nothing))][-2:] == [("pending", "pods", 0), ("wait: pods", "pods", 0)]


@pytest.mark.parametrize(
    ("before", "after", "notes"),
    [
        ({"pending": {}}, {"pending": {}}, []),
        ({}, {"pending": {}}, ["Waits are of placed pods only."]),
        (
            {"pending": {}, "simulated_ns": 90 * SECOND, "is_interrupted": True},
            {"pending": {}},
            [
                "The runs have different lengths, 90s and 60s: means are over different times.",
                "The first run was interrupted.",
            ],
        ),
        (
            {"pending": {}},
            {"pending": {}, "is_interrupted": True},
            ["The second run was interrupted."],
        ),
    ],
)
def test_what_limits_a_comparison(before, after, notes):
    runs = [run_of(msgspec.structs.replace(SUMMARY, **fields)) for fields in (before, after)]
    assert [*_notes(*runs)] == notes


@pytest.mark.parametrize(
    ("name", "value"),
    [("pending: x", 0), ("wait of priority 1: pods", 0), ("wait p50", None), ("cpu mean", None)],
)
def test_what_it_means_that_a_run_lacks_a_figure(name, value):
    assert _absent(name) == value


def test_a_comparison_as_a_document_and_in_words():
    made = RunComparison(
        figures=(
            Figure(name="placed", unit="pods", before=2, after=3),
            Figure(name="wait max", unit="s", before=None, after=1.5),
            Figure(name="cpu mean", unit="share", before=0.5, after=0.5),
        ),
        notes=("A note.",),
    )
    assert made.document() == {
        "figures": [
            {"name": "placed", "unit": "pods", "before": 2, "after": 3, "change": 1},
            {"name": "wait max", "unit": "s", "before": None, "after": 1.5, "change": None},
            {"name": "cpu mean", "unit": "share", "before": 0.5, "after": 0.5, "change": 0.0},
        ],
        "notes": ["A note."],
    }
    assert repr(made) == "<RunComparison: 2 of 3 figures differ>"
    assert not made.is_same
    assert RunComparison(figures=made.figures[2:]).is_same
    shown = made._repr_html_()
    for text in ("Two runs", "placed", "+1", "1.5s", "50.00%", "A note."):
        assert text in shown


# ------------------------------------------------------------------------------ timing models

HEAD = "apiVersion: podwright.dev/v1alpha1\nkind: Timing\n"


@pytest.mark.parametrize(
    ("text", "factor"), [("0", 0), ("1", 1_000_000), ("1.5", 1_500_000), ("0.0000004", 0)]
)
def test_factors_are_millionths(text, factor):
    assert parse_factor(text) == factor


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("x", "must be a number"),
        ("-1", "must be at least 0"),
        ("1000000", "must be at least 0"),
        ("nan", "must be at least 0"),
    ],
)
def test_factors_that_are_none(text, detail):
    with pytest.raises(ValueError, match=f'^Invalid value: "{text}": {detail}$'):
        parse_factor(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "timing model t.yaml: nothing takes time"),
        ("name: fast\n", "timing model fast: nothing takes time"),
        (
            "cycle: {constant: 1ms, perNodeEvaluated: 3us, perNodeScored: 20us,"
            " perPlugin: {A: 2ms, B: 0s}}\n",
            "timing model t.yaml: cycles 1ms + 3us per node evaluated + 20us per node scored"
            " + 2ms per cycle by A",
        ),
        (
            "cycle: {perNodeScored: 20us}\n"
            "clients:\n"
            "  scheduler: {qps: 50, burst: 100, parallel: 2, duration: {value: 5ms}}\n"
            "  controllers: {qps: 2.5}\n"
            "watchDelay: {value: 2ms}\n"
            "kubelet: {start: {distribution: uniform, min: 1s, max: 3s}}\n",
            "timing model t.yaml: cycles 20us per node scored, writes of the scheduler 5ms; 50 a"
            " second, burst 100; 2 in parallel, writes of the controllers 2.5 a second, burst 1,"
            " watch delay 2ms, start of pods 2s (p99 2.98s)",
        ),
    ],
)
def test_a_model_in_words(text, shown):
    model = read_timing(HEAD + text, source="data/folder/t.yaml")
    assert str(model) == shown
    again = read_timing(msgspec.json.encode(model.document()), source="t.yaml")
    assert again == model


def test_a_model_without_a_name_has_none_in_words():
    assert str(Timing()) == "timing model: nothing takes time"
    assert duration_text(1_234_567) == "1.23ms"


def test_a_model_may_be_a_file_or_stand_in_a_document():
    errors: list[Any] = []
    files = {"t.yaml": HEAD.encode(), "bad.yaml": b"kind: Other\n"}

    def read(names: list[str]) -> list[tuple[str, bytes]]:
        return [(name, files[name]) for name in names]

    assert timing_entry(None, "timing", read, errors) is None
    found = timing_entry("t.yaml", "timing", read, errors)
    assert found is not None
    assert found.name == "t.yaml"
    document = found.document() | {"name": "", "cycle": {"constant": "1ms"}}
    inline = timing_entry(document, "timing", read, errors)
    assert inline is not None
    assert (inline.cycle.constant, inline.name, errors) == ("1ms", "", [])
    assert timing_entry("bad.yaml", "timing", read, errors) is None
    assert {error.path for error in errors} == {"timing"}
    assert any("bad.yaml: kind" in str(error) for error in errors)


@pytest.mark.parametrize(
    ("client", "issued", "ends"),
    [
        pytest.param({}, [0, 0, 5], [0, 0, 5], id="nothing limits it"),
        pytest.param({"burst": 9}, [0, 0, 5], [0, 0, 5], id="a burst without a rate"),
        pytest.param({"duration": 3}, [0, 0, 5], [3, 3, 8], id="each takes its time"),
        pytest.param(
            {"duration": 3, "parallel": 1}, [0, 0, 5, 20], [3, 6, 9, 23], id="one at a time"
        ),
        pytest.param(
            {"duration": 3, "parallel": 2}, [0, 0, 0, 1], [3, 3, 6, 6], id="two at a time"
        ),
        pytest.param({"qps": 0.1}, [0, 0, 0, 31], [0, 10, 20, 31], id="one in ten seconds"),
        pytest.param(
            {"qps": 0.1, "burst": 3}, [0, 0, 0, 0, 0, 100], [0, 0, 0, 10, 20, 100], id="a burst"
        ),
        pytest.param(
            {"qps": 0.1, "burst": 2}, [0, 0, 0, 15, 15], [0, 0, 10, 20, 30],
            id="tokens come back one by one",
        ),
        pytest.param(
            {"qps": 0.1, "duration": 25, "parallel": 1}, [0, 0, 0], [25, 50, 75],
            id="tokens and places",
        ),
    ],
)  # fmt: skip
def test_when_the_writes_of_a_client_take_effect(client, issued, ends):
    document = dict(client)
    if "duration" in document:
        document["duration"] = {"distribution": "constant", "value": f"{document['duration']}s"}
    made = Client(msgspec.convert(document, ClientTiming), "scheduler", 1)
    assert [made.end_ns(at * SECOND) / SECOND for at in issued] == ends


def delays(text: str) -> Delays:
    profile: Any = SimpleNamespace(all_plugins=lambda: [SimpleNamespace(name=n) for n in "AB"])
    return Delays(read_timing(HEAD + text, source="t"), {"default-scheduler": profile}, 7)


@pytest.mark.parametrize(
    ("text", "nodes", "duration_ns"),
    [
        ("", [(9, 5)], 0),
        ("cycle: {constant: 10ns}", [(9, 5)], 10),
        ("cycle: {constant: 10ns}", [(9, 5), (1, 1)], 20),
        ("cycle: {perNodeEvaluated: 10ns}", [(9, 5), (2, 0)], 110),
        ("cycle: {perNodeScored: 10ns}", [(9, 5)], 50),
        ("cycle: {perNodeScored: 10ns}", [(9, 1)], 0),
        ("cycle: {perNodeScored: 10ns}", [(9, 2)], 20),
        ("cycle: {constant: 1ns, perPlugin: {A: 2ns, B: 4ns, C: 8ns}}", [(9, 5)], 7),
        ('cycle: {constant: 10ns, factor: {value: "2.55"}}', [(9, 5)], 25),
        ("cycle: {constant: 10ns}", [], 0),
    ],
)
def test_how_long_a_cycle_takes(text, nodes, duration_ns):
    decisions = [
        Decision(pod=make_pod("p"), evaluated_count=evaluated, feasible_count=feasible)
        for evaluated, feasible in nodes
    ]
    assert delays(text).cycle_ns(decisions) == duration_ns


def test_a_pod_of_an_unknown_profile_has_no_constant():
    decision = Decision(pod=make_pod("p", scheduler="other"), evaluated_count=2)
    model = "cycle: {constant: 10ns, perNodeEvaluated: 3ns}"
    assert delays(model).cycle_ns([decision]) == 6


def test_a_watcher_receives_changes_in_their_order():
    late = delays("watchDelay: {value: 10ns}")
    assert [late.watched_ns(at) for at in (0, 5, 100)] == [10, 15, 110]
    late._watched_ns = 500
    assert [late.watched_ns(at) for at in (100, 495)] == [500, 505]
    assert delays("").watched_ns(3) == 3


def test_only_the_start_of_pods_is_late():
    late = delays("kubelet: {start: {value: 10ns}}")
    assert (late.is_late(STARTING_STAGE), late.is_late("pod-complete")) == (True, False)
    assert late.late_ns() == 10
    assert not delays("").is_late(STARTING_STAGE)
    assert STARTING_STAGE == "pod-ready"


# ------------------------------------------------------------------------------ fitted models


def line(what: str, at: int, pod: str = "a", **fields: Any) -> Any:
    known = {"evaluated_count": 0, "feasible_count": 0, "message": ""}
    return SimpleNamespace(what=what, time_ns=at, pod=pod, **(known | fields))


def attempts(*lines: Any) -> list[tuple[Any, ...]]:
    log: Any = SimpleNamespace(lines=lines)
    return [
        (each.pod, each.start_ns, each.gap_ns, each.bound_ns, each.evaluated, each.feasible)
        for each in fitting._attempts(log)
    ]


def test_the_attempts_of_a_log_have_their_gaps_and_bindings():
    assert attempts() == []
    assert attempts(
        line("queue", 0, "a"),
        line("queue", 0, "b"),
        line("attempt", 10, "a"),
        line("attempt", 14, "b"),
        line("bound", 15, "a", evaluated_count=3, feasible_count=2),
        line("queue", 16, "c"),
        # `c` was not waiting when the attempt of `b` began.
        line("attempt", 20, "c"),
        line("unschedulable", 21, "c", message="0/7 nodes are available: full"),
        line("other", 22, "c"),
        line("bound", 14, "b", evaluated_count=4, feasible_count=1),
        line("bound", 30, "x"),
    ) == [("a", 10, 4, 5, 3, 2), ("b", 14, 0, 1, 4, 1), ("c", 20, 0, 0, 7, 0)]
    # A pod that was never queued in the log cannot have waited.
    assert attempts(line("attempt", 1, "a"), line("attempt", 5, "b")) == [
        ("a", 1, 0, 0, 0, 0), ("b", 5, 0, 0, 0, 0),
    ]  # fmt: skip
    # A binding belongs to the last attempt, once; a message without nodes has none.
    assert attempts(
        line("queue", 0, "a"),
        line("attempt", 1, "a"),
        line("unschedulable", 2, "a", message="no nodes"),
        line("attempt", 4, "a"),
        line("bound", 9, "a", evaluated_count=1),
        line("bound", 12, "a", evaluated_count=9),
    ) == [("a", 1, 3, 0, 0, 0), ("a", 4, 0, 5, 1, 0)]


def test_the_terms_of_attempts_count_scored_nodes_if_there_are_two():
    made = [
        fitting._Attempt("a", 0, evaluated=evaluated, feasible=feasible)
        for evaluated, feasible in ((5, 0), (5, 1), (6, 2))
    ]
    assert fitting._terms(made).tolist() == [[1, 5, 0], [1, 5, 0], [1, 6, 2]]


def test_rates_are_those_of_most_cycles_and_none_is_negative():
    rng = np.random.default_rng(3)
    nodes = rng.integers(1, 100, size=(200, 2))
    terms = np.column_stack((np.ones(200), nodes)).astype(float)
    durations = terms @ np.array([600_000.0, 3_000.0, 20_000.0])
    durations[::20] *= 100
    durations[10::20] /= 100
    assert np.allclose(fitting._rates(terms, durations), [600_000, 3_000, 20_000], rtol=0.01)
    falling = terms @ np.array([900_000.0, -3_000.0, 0.0])
    found = fitting._rates(terms, falling)
    assert (found >= 0).all()
    assert found[1] == 0
    found = fitting._rates(terms, terms @ np.array([900_000.0, -0.5, 3_000.0]))
    assert np.allclose(found, [900_000, 0, 3_000], rtol=0.01), "nor by less than a nanosecond"
    assert (found >= 0).all()
    falling = terms @ np.array([900_000.0, -3_000.0, -2_000.0])
    assert np.allclose(fitting._rates(terms, falling), [np.median(falling), 0, 0], rtol=0.01)


def test_what_is_added_to_draws_gives_the_quantiles_of_the_sums():
    parts = np.linspace(1, 2, 500)
    found = fitting._difference(parts + 5, parts)
    assert np.allclose(np.median(found), 5, atol=0.05)
    assert (np.diff(found) >= 0).all()
    # Nothing is taken away.
    assert fitting._difference(parts, parts + 5).max() == 0


def test_quantiles_are_written_with_their_percentages():
    found = fitting._quantiles(np.arange(101.0), "{:g}".format)
    assert found.distribution == "quantiles"
    assert dict(zip(found.percents, found.values, strict=True)) == {
        percent: f"{percent:g}" for percent in found.percents
    }
    assert (found.percents[0], found.percents[-1], len(found.percents)) == (0, 100, 35)


@pytest.mark.parametrize(("cycles", "bound"), [(19, 1), (20, 0)])
def test_too_few_attempts_have_no_model(cycles, bound):
    lines = [line("queue", 0, f"p{n}") for n in range(cycles + 1)]
    lines += [line("attempt", 10 + n, f"p{n}") for n in range(cycles + 1)]
    lines += [line("bound", 99, "p0")] * bound
    log: Any = SimpleNamespace(lines=lines, source="log")
    with pytest.raises(InputError) as error:
        fitting.fit_timing(log)
    assert str(error.value) == (
        f"log: {cycles} attempts that follow another one immediately, and {bound} pods bound: at"
        " least 20 and 1 are needed to fit a timing model"
    )
    more = [line("attempt", 40 + number, f"p{number}") for number in range(20)]
    log = SimpleNamespace(lines=[*lines, *more, line("bound", 99, "p1")], source="f/log")
    counted = fitting.fit_timing(log)
    assert counted.name == "log"
    assert counted.clients.scheduler.duration is not None
    every = [f"p{number}" for number in range(cycles + 1)]
    assert fitting.fit_timing(log, pods=iter(every)) == counted
    with pytest.raises(InputError, match="and 0 pods bound"):
        fitting.fit_timing(log, pods=iter(every[2:]))

"""Traces: read from any layout, changed line by line, fitted, generated, written."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import podwright as pw
from podwright.apimachinery.objects import CREATION_TIME, DELETION_TIME, SCHEDULED_TIME
from podwright.cluster.api import pod_amounts
from podwright.cluster.kubelets import RUN_DELAY
from podwright.simulation.world.timing.distributions import uniform
from podwright.simulation.world.traces.columns_file import read_columns
from podwright.simulation.world.traces.trace_changes import (
    TRACE_STREAM,
    anonymize,
    cut,
    merge,
    run_ns_of,
    scale,
)
from podwright.simulation.world.traces.trace_lines import (
    TraceLine,
    columns_named,
    read_trace_lines,
)
from podwright.simulation.world.traces.trace_model import (
    ArrivalModel,
    LifetimeModel,
    SizeModel,
    TraceModel,
    distance,
    fit,
    fit_lifetime,
    generate,
    load_model,
)
from podwright.simulation.world.traces.trace_output import TraceDescription, describe, write_lines

S = 10**9
MODEL = TraceModel(
    arrival=ArrivalModel(per_hour=(3600.0,)),
    lifetime=LifetimeModel(distribution="lognormal", median=600, sigma=1.5, endless=0.1),
    sizes=(
        SizeModel(share=3, requests={"cpu": "500m", "memory": "1Gi"}),
        SizeModel(share=1, requests={"cpu": "4", "example.com/gpu": "2"}),
    ),
)


def lines_of(path: Path, columns: str, *, is_sorted: bool = True) -> list[TraceLine]:
    return list(read_trace_lines(str(path), columns_named(columns), is_sorted=is_sorted))


def summary(line: TraceLine) -> tuple[int, str, dict[str, float], float | None]:
    pod = line.pod
    assert pod is not None
    run_ns = run_ns_of(pod)
    requests = {name: amount.nano / 10**9 for name, amount in pod_amounts(pod, "requests").items()}
    return line.at_ns // S, pod["metadata"]["name"], requests, run_ns and run_ns / S


def pod_line(at_s: int, name: str = "a", run: str = "10s", **metadata: object) -> TraceLine:
    annotations = {"pod-complete.stage.kwok.x-k8s.io/delay": run}
    resources = {"requests": {"cpu": "1500m", "memory": "1Gi", "example.com/gpu": "1"}}
    container = {"name": "main", "image": "secret", "resources": resources}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team", "annotations": annotations, **metadata},
        "spec": {"containers": [container]},
    }
    return TraceLine(at_s * S, {"apply": pod})


# -------------------------------------------------------------------------- columns and rows


def test_an_event_without_a_time_ends_no_pod(tmp_path: Path) -> None:
    file, columns = tmp_path / "events.json", tmp_path / "columns.yaml"
    columns.write_text(
        "arrival: {column: $.at.s, unit: s}\n"
        "duration: {column: end, since: $.at.s, unit: s}\n"
        "events: {column: kind, start: [submit], end: [end], key: [id], time: $.at.s}\n"
    )
    file.write_text(
        '{"kind": "submit", "id": "a", "at": {"s": 1}}\n{"kind": "end", "id": "a"}\n'
        '{"kind": "submit", "id": "b", "at": {"s": 2}}\n'
        '{"kind": "end", "id": "b", "at": {"s": 5}}\n'
    )
    found = [summary(line) for line in lines_of(file, str(columns))]
    assert [(at_s, run_s) for at_s, _, _, run_s in found] == [(1, None), (2, 3.0)]


def test_all_mistakes_of_a_file_of_columns_are_reported_together() -> None:
    text = """
arival: t
duration: {column: d, unit: sec}
cpu: {colum: c, times: two, perReplica: true}
memory: {count: true, column: m}
name: {column: a, columns: [b]}
resources: {gpu: {unit: x}}
events: {column: type}
"""
    with pytest.raises(pw.InputError) as caught:
        read_columns(text, source="columns.yaml")
    found = {error.path: error.message for error in caught.value.errors}
    assert 'did you mean "arrival"?' in found["arival"]
    assert "Unsupported value" in found["duration.unit"]
    assert 'did you mean "column"?' in found["cpu.colum"]
    assert "must be a number" in found["cpu.times"]
    assert found.keys() >= {
        "arrival", "cpu.column", "cpu.perReplica", "memory.count", "name.columns",
        "resources[gpu].column", "events.start", "events.key", "events.time",
    }  # fmt: skip


def test_columns_that_a_table_lacks_are_reported_together(tmp_path: Path) -> None:
    file, columns = tmp_path / "jobs.csv", tmp_path / "columns.yaml"
    file.write_text("submit,cores\n0,1\n")
    columns.write_text("arrival: {column: submitt, unit: s}\ncpu: core\nname: $.a[\n")
    with pytest.raises(pw.InputError) as caught:
        lines_of(file, str(columns))
    found = {error.path: error.message for error in caught.value.errors}
    assert 'did you mean "submit"?' in found["arrival.column"]
    assert 'did you mean "cores"?' in found["cpu.column"]
    assert "is not a JSONPath" in found["name.column"]


def test_values_that_are_not_valid_are_reported_with_their_lines(tmp_path: Path) -> None:
    file, columns = tmp_path / "jobs.csv", tmp_path / "columns.yaml"
    file.write_text("t,cores\n0,1\nsoon,1\n3,many\n")
    columns.write_text("arrival: {column: t, unit: s}\ncpu: cores\n")
    with pytest.raises(pw.InputError) as caught:
        lines_of(file, str(columns))
    places = {(error.source, error.path) for error in caught.value.errors}
    assert places == {(f"{file}: line 3", "t"), (f"{file}: line 4", "cores")}
    file.write_text("t,cores\n0,1\n1\n")
    with pytest.raises(pw.InputError, match="line 3: 1 cells, but 2 columns"):
        lines_of(file, str(columns))
    columns.write_text("arrival: t\n")
    file.write_text("t\n5\n")
    with pytest.raises(pw.InputError, match=r"arrival: \{unit: s\}"):
        lines_of(file, str(columns))


_SHARED = """\
arrival: {column: t, unit: s}
cpu: {column: c, perReplica: true}
memory: {column: m, unit: MiB, perReplica: true}
replicas: r
"""


@pytest.mark.parametrize(
    ("replicas", "cpu", "memory_mib"),
    [
        pytest.param("4", [1.5] * 4, 128, id="each has its share"),
        pytest.param("1", [6], 512, id="one has all"),
        pytest.param("", [6], 512, id="an empty cell is one"),
        pytest.param("0", [], 0, id="none"),
    ],
)
def test_replicas_share_the_amounts_of_their_row(
    tmp_path: Path, replicas: str, cpu: list[float], memory_mib: int
) -> None:
    file, columns = tmp_path / "jobs.csv", tmp_path / "columns.yaml"
    file.write_text(f"t,c,m,r\n0,6,512,{replicas}\n1,1,1,1\n")
    columns.write_text(_SHARED)
    found = [summary(line)[2] for line in lines_of(file, str(columns))][:-1]
    assert found == [{"cpu": each, "memory": memory_mib * 2**20} for each in cpu]


def test_wrong_numbers_of_replicas_are_no_errors_of_what_they_share(tmp_path: Path) -> None:
    file, columns = tmp_path / "jobs.csv", tmp_path / "columns.yaml"
    file.write_text("t,c,m,r\n0,6,512,-2\n1,6,512,x\n")
    columns.write_text(_SHARED)
    with pytest.raises(pw.InputError) as caught:
        lines_of(file, str(columns))
    places = [(error.source, error.path) for error in caught.value.errors]
    assert places == [(f"{file}: line {number}", "r") for number in (2, 3)]


def test_a_hundred_errors_of_the_rows_at_once_are_reported(tmp_path: Path) -> None:
    file, columns = tmp_path / "jobs.csv", tmp_path / "columns.yaml"
    file.write_text("t,c\n" + "0,many\n" * 101)
    columns.write_text("arrival: {column: t, unit: s}\ncpu: c\n")
    with pytest.raises(pw.InputError) as caught:
        lines_of(file, str(columns))
    assert len(caught.value.errors) == 100
    assert caught.value.errors[-1].source == f"{file}: line 101"


def test_an_unknown_name_of_columns_suggests_a_shipped_one() -> None:
    with pytest.raises(pw.InputError, match='did you mean "helios"'):
        columns_named("helio")


@pytest.mark.parametrize("suffix", ["parquet", "json", "csv.gz"])
def test_a_table_in_other_files_has_the_same_rows(tmp_path: Path, suffix: str) -> None:
    import gzip

    columns = tmp_path / "columns.yaml"
    columns.write_text("arrival: {column: t, unit: ms}\ncpu: {column: c, unit: m}\nname: id\n")
    rows: dict[str, list[Any]] = {"t": [0, 1500], "c": [250, 500], "id": ["a", "b"]}
    file = tmp_path / f"jobs.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.table(rows), file)
    elif suffix == "json":
        file.write_text(
            json.dumps([{name: rows[name][row] for name in rows} for row in (0, 1)], indent=1)
        )
    else:
        file.write_bytes(gzip.compress(b"t,c,id\n0,250,a\n1500,500,b\n"))
    found = lines_of(file, str(columns))
    assert [summary(line) for line in found] == [
        (0, "a", {"cpu": 0.25}, None),
        (1, "b", {"cpu": 0.5}, None),
    ]


def test_rows_in_another_order_need_all_of_them(tmp_path: Path, monkeypatch) -> None:
    from podwright.simulation.world.traces import trace_lines

    monkeypatch.setattr(trace_lines, "ROWS_AT_ONCE", 2)
    file, columns = tmp_path / "jobs.csv", tmp_path / "columns.yaml"
    columns.write_text("arrival: {column: t, unit: s}\n")
    file.write_text("t\n5\n9\n1\n7\n")
    with pytest.raises(pw.InputError, match="line 4: t: rows are not in the order of arrival"):
        lines_of(file, str(columns))
    assert [line.at_ns // S for line in lines_of(file, str(columns), is_sorted=False)] == [
        1,
        5,
        7,
        9,
    ]
    columns.write_text("arrival: {column: t, unit: s}\nname: id\n")
    file.write_text("t,id\n1,a\n2,b\n3,a\n")
    with pytest.raises(pw.InputError, match="Duplicate value: Pod default/a"):
        lines_of(file, str(columns))


# -------------------------------------------------------------------------- other formats


def test_a_simkube_trace_has_the_run_times_of_its_pods(tmp_path: Path) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "d", "uid": "u"},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Running"},
    }
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "d"}}
    trace = {
        "version": 2,
        "config": {"trackedObjects": {}},
        "events": [
            {"ts": 100, "applied_objs": [pod, job], "deleted_objs": []},
            {"ts": 160, "applied_objs": [], "deleted_objs": [pod]},
        ],
        "index": {},
        "pod_lifecycles": {
            ("v1.Pod", "d/p"): {2**63: [{"start_ts": 101, "end_ts": 131}]},
            ("batch/v1.Job", "d/j"): {
                1: [{"start_ts": 1, "end_ts": 4}, {"start_ts": 1, "end_ts": 6}]
            },
        },
    }
    file = tmp_path / "trace.sktrace"
    file.write_bytes(msgspec.msgpack.encode(trace))
    first, second, gone = read_trace_lines(str(file))
    assert summary(first) == (0, "p", {}, 30.0)
    applied = first.action["apply"]
    assert "status" not in applied
    assert "uid" not in applied["metadata"]
    assert "nodeName" not in applied["spec"]
    template = second.action["apply"]["spec"]["template"]
    assert template["metadata"]["annotations"] == {"pod-complete.stage.kwok.x-k8s.io/delay": "3s"}
    assert (gone.at_ns, gone.action) == (60 * S, {"delete": "pod/p", "namespace": "d"})
    file.write_bytes(msgspec.msgpack.encode({**trace, "version": 1}))
    with pytest.raises(pw.InputError, match="must be 2, not 1"):
        list(read_trace_lines(str(file)))
    file.write_bytes(b"\x84\xa7version\xc1")
    with pytest.raises(pw.InputError, match="not a SimKube trace"):
        list(read_trace_lines(str(file)))


def test_written_traces_are_read_again_and_by_simulations(tmp_path: Path) -> None:
    made = list(generate(MODEL, pods=20, seed=1))
    notes: list[str] = []
    for name in ("trace.jsonl", "trace.json", "trace.csv"):
        assert write_lines(iter(made), str(tmp_path / name), warn=notes.append) == 20
    assert any("request for example.com/gpu" in note for note in notes)
    assert list(read_trace_lines(str(tmp_path / "trace.jsonl"))) == made
    for name in ("trace.json", "trace.csv"):
        again = list(read_trace_lines(str(tmp_path / name)))
        assert [line.at_ns // S for line in again] == [line.at_ns // S for line in made]
    with pytest.raises(pw.InputError, match="Unsupported value"):
        write_lines(made, str(tmp_path / "trace.txt"))
    assert not (tmp_path / "trace.txt").exists()
    amounts = {"cpu": ["64"], "memory": ["256Gi"], "gpus": ["64"]}
    gpus = {"example.com/gpu": "gpus"}
    nodes = pw.nodes_from_frame(amounts, cpu="cpu", memory="memory", resources=gpus)
    run = pw.simulate(nodes, events=str(tmp_path / "trace.jsonl"))
    assert run.summary.counts.placed == 20
    assert len(pw.read_trace(tmp_path / "trace.jsonl")) == 20


def test_event_lines_are_checked(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    spec = '{"containers":[{"name":"c","image":"i"}]}'
    pod = f'"apply":{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a"}},"spec":{spec}}}'
    start = "2026-01-01T00:00:0"
    file.write_text(f'{{"at":"{start}1Z",{pod}}}\n\n{{"at":"{start}3Z","delete":"pod/a"}}\n')
    assert [line.at_ns // S for line in read_trace_lines(str(file))] == [0, 2]
    for text, message in [
        (f'{{"at":"2s",{pod}}}\n{{"at":"1s",{pod}}}\n', "times must not decrease"),
        (f'{{"at":2,{pod}}}\n', "must be an event line"),
        (f'{{"at":"soon",{pod}}}\n', "must be a"),
        ("[]\n", "line 1"),
    ]:
        file.write_text(text)
        with pytest.raises(pw.InputError, match=message):
            list(read_trace_lines(str(file)))


# -------------------------------------------------------------------------- changes


def test_the_warnings_of_a_trace_of_objects_are_passed_on(tmp_path: Path) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "spec": {"newer": 1}}
    metadata = {"name": "n", "uid": "u", "resourceVersion": "1"}
    path = tmp_path / "dump.json"
    path.write_text(json.dumps(node | {"metadata": metadata}))
    notes: list[str] = []
    (line,) = read_trace_lines(str(path), warn=notes.append)
    assert line.action["apply"]["metadata"]["name"] == "n"
    (note,) = notes
    assert "unknown field spec.newer ignored" in note


def test_a_cut_starts_at_its_start_and_may_have_what_runs() -> None:
    trace = [pod_line(0, "a", "1h"), pod_line(5, "b"), pod_line(30, "c"), pod_line(60, "d")]
    found = list(cut(trace, from_ns=20 * S, to_ns=60 * S))
    assert [summary(line)[:2] for line in found] == [(10, "c")]
    found = list(cut(trace, from_ns=20 * S, with_running=True))
    assert [(summary(line)[:2], summary(line)[3]) for line in found] == [
        ((0, "a"), 3580.0),
        ((10, "c"), 10.0),
        ((40, "d"), 10.0),
    ]
    assert list(cut(trace)) == trace
    assert len(list(cut(trace, first=2))) == 2
    many = [pod_line(number, f"p{number}") for number in range(1000)]
    drawn = list(cut(many, share=0.3, seed=4))
    assert 250 < len(drawn) < 350
    assert list(cut(many, share=0.3)) == list(cut(many, share=0.3, seed=0))
    assert drawn == list(cut(many, share=0.3, seed=4)) != list(cut(many, share=0.3, seed=5))


def test_a_trace_is_scaled_in_rate_number_size_and_duration() -> None:
    (line,) = scale([pod_line(60)], rate=2, requests=1.5, duration=3)
    gpu = {"example.com/gpu": 1.0}
    assert summary(line) == (30, "a", {"cpu": 2.25, "memory": 1.5 * 2**30, **gpu}, 30.0)
    many = [pod_line(number, f"p{number}") for number in range(1000)]
    found = [summary(line)[1] for line in scale(many, pods=2.5, seed=1)]
    assert 2400 < len(found) < 2600
    assert len(set(found)) == len(found)


def test_traces_are_merged_in_the_order_of_time() -> None:
    one, other = [pod_line(0, "a"), pod_line(9, "b")], [pod_line(5, "a")]
    found = [summary(line)[:2] for line in merge([one, other], ["x", "y"])]
    assert found == [(0, "x-a"), (5, "y-a"), (9, "x-b")]
    with pytest.raises(pw.InputError, match="Pod team/a is also in trace 1"):
        list(merge([one, other]))


def test_an_anonymized_trace_keeps_what_scheduling_reads_and_no_name() -> None:
    secret = pod_line(
        3, "alice-train", labels={"owner": "alice"}, ownerReferences=[{"name": "alice"}]
    )
    terms = [{"labelSelector": {"matchLabels": {"owner": "alice"}}, "topologyKey": "alice/rack"}]
    selector = {"matchExpressions": [{"key": "owner", "operator": "In", "values": ["alice"]}]}
    secret.action["apply"]["spec"] |= {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        "topologySpreadConstraints": [{"labelSelector": selector, "topologyKey": "alice/rack"}],
        "nodeSelector": {"alice/disk": "alice", "kubernetes.io/arch": "arm64"},
        "schedulingGates": [{"name": "alice/gate"}],
        "priority": 7,
        "volumes": [{"name": "alice"}],
    }
    notes: list[str] = []
    other = TraceLine(4 * S, {"delete": "pod/alice"})
    (line,) = anonymize([secret, other], warn=notes.append)
    text = line.encoded().decode()
    assert "alice" not in text
    assert "secret" not in text
    assert summary(line) == (3, "pod-0", summary(secret)[2], 10.0)
    spec = line.action["apply"]["spec"]
    (label, value), *_ = line.action["apply"]["metadata"]["labels"].items()
    anti = spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert anti[0]["labelSelector"] == {"matchLabels": {label: value}}
    spread = spec["topologySpreadConstraints"][0]["labelSelector"]["matchExpressions"][0]
    assert (spread["key"], spread["values"]) == (label, [value])
    assert spec["nodeSelector"]["kubernetes.io/arch"] == "arm64"
    kept = "only pods, their groups, namespaces and priority classes are anonymized"
    assert notes == [f"1 of delete left out: {kept}"]


# -------------------------------------------------------------------------- description, models


def test_a_description_has_the_peak_of_what_runs_at_once() -> None:
    other = TraceLine(0, {"apply": {"kind": "PodGroup"}})
    found = describe([other, pod_line(0, "a", "10s"), pod_line(5, "b", "10s"), pod_line(10, "c")])
    assert (found.pods, found.endless, found.others, found.span_seconds) == (
        3,
        0,
        {"PodGroup": 1},
        10,
    )
    assert found.figures["cpu"].peak == 3.0
    assert found.figures["time between arrivals"].mean == 5.0
    assert describe(iter([TraceLine(0, {"delete": "pod/a"})])).others == {"delete": 1}
    actions = ("patch", "delete", "scale", "delete")
    several = describe([TraceLine(at, {each: "pod/a"}) for at, each in enumerate(actions)])
    assert list(several.others.items()) == [("delete", 2), ("patch", 1), ("scale", 1)]
    assert describe([]) == TraceDescription(
        pods=0, endless=0, others={}, span_seconds=0.0, figures={}
    )


def test_the_figures_of_a_description_are_values_that_were_there() -> None:
    lines = [pod_line(at, f"p{at}", run) for at, run in ((0, "1s"), (1, "2s"), (2, "9s"))]
    runs = describe(lines).figures["run time"]
    assert (runs.pods, runs.mean, runs.minimum, runs.p50, runs.p90, runs.p99, runs.maximum) == (
        3, 4.0, 1.0, 2.0, 9.0, 9.0, 9.0,
    )  # fmt: skip
    assert runs.peak is None


def test_generated_pods_have_the_distributions_of_the_model() -> None:
    pods = [summary(line) for line in generate(MODEL, pods=4000, seed=3)]
    runs = np.array([each[3] for each in pods if each[3] is not None])
    # The 0.1 % point of the test of Kolmogorov and Smirnov.
    assert distance(runs, MODEL.lifetime) < 1.95 / np.sqrt(len(runs))
    gaps = np.diff([line.at_ns / S for line in generate(MODEL, pods=4000, seed=3)])
    arrivals = LifetimeModel(distribution="exponential", mean=1.0)
    assert distance(gaps, arrivals) < 1.95 / np.sqrt(len(gaps))
    small = sum(each[2]["cpu"] == 0.5 for each in pods)
    assert abs(small - 3000) < 3.3 * np.sqrt(4000 * 0.75 * 0.25)
    assert abs(len(runs) - 3600) < 3.3 * np.sqrt(4000 * 0.9 * 0.1)
    assert pods[:50] == [summary(line) for line in generate(MODEL, pods=50, seed=3)]
    assert pods[:50] != [summary(line) for line in generate(MODEL, pods=50, seed=4)]


def test_hourly_rates_make_so_many_pods_in_each_hour() -> None:
    hourly = ArrivalModel(distribution="hourly", per_hour=(1000.0, 0.0, 250.0))
    model = msgspec.structs.replace(MODEL, arrival=hourly)
    times = [line.at_ns / S for line in generate(model, until_ns=6 * 3600 * S, seed=2)]
    counts = np.bincount(np.array(times).astype(int) // 3600, minlength=6)
    expected = np.array([1000, 0, 250] * 2)
    assert (abs(counts - expected) <= 3.3 * np.sqrt(expected)).all()
    assert counts[1] == counts[4] == 0


@pytest.mark.parametrize(
    "model",
    [
        LifetimeModel(distribution="exponential", mean=300),
        LifetimeModel(distribution="lognormal", median=600, sigma=1.2),
        LifetimeModel(distribution="weibull", scale=100, shape=0.6),
    ],
    ids=lambda model: model.distribution,
)
def test_a_fit_finds_the_distribution_and_its_parameters(model: LifetimeModel) -> None:
    times = np.array([model.at((rank + 0.5) / 3000) for rank in range(3000)])
    found = fit_lifetime(times)
    assert found.distribution == model.distribution
    for name, value in model.parameters().items():
        assert found.parameters()[name] == pytest.approx(value, rel=0.03)


@pytest.mark.parametrize("shape", [0.5, 2.0, 99.6])
def test_flat_and_steep_shapes_are_found(shape: float) -> None:
    model = LifetimeModel(distribution="weibull", scale=100, shape=shape)
    times = np.array([model.at((rank + 0.5) / 9000) for rank in range(9000)])
    assert fit_lifetime(times).shape == pytest.approx(shape, rel=0.003)


def test_a_model_of_a_trace_makes_a_trace_like_it() -> None:
    trace = list(generate(MODEL, pods=3000, seed=9))
    model = fit(trace)
    assert model.lifetime.distribution == "lognormal"
    assert model.lifetime.endless == pytest.approx(0.1, abs=0.02)
    assert model.arrival.per_hour[0] == pytest.approx(3600, rel=0.06)
    assert [size.share for size in model.sizes] == pytest.approx([0.75, 0.25], abs=0.03)
    assert load_model(model.document()) == model
    two_peaks = np.array([10.0] * 500 + [1000.0] * 500)
    mixed = fit_lifetime(two_peaks)
    assert mixed.distribution == "empirical"
    assert {mixed.at(0.2), mixed.at(0.8)} == {10.0, 1000.0}
    assert fit_lifetime(np.array([5.0, 5.0])).value == 5.0
    with pytest.raises(pw.InputError, match="two pods"):
        fit([pod_line(0)])


def test_a_model_is_of_the_pods_of_a_trace_whatever_else_is_in_it() -> None:
    pods = [pod_line(0, "a"), pod_line(10, "b"), pod_line(30, "c")]
    node = TraceLine(5 * 10**9, {"apply": {"kind": "Node", "metadata": {"name": "n"}}})
    drain = TraceLine(20 * 10**9, {"drain": "n"})
    assert fit([pods[0], node, pods[1], drain, pods[2]]) == fit(pods)


@pytest.mark.parametrize(
    ("part", "paths"),
    [
        ({"arrival": {"perHour": []}}, ["arrival.perHour"]),
        ({"arrival": {"perHour": [0]}}, ["arrival.perHour"]),
        ({"arrival": {"perHour": [0.5]}}, []),
        ({"arrival": {"perHour": [1e-6]}}, []),
        ({"arrival": {"perHour": [9e-7]}}, ["arrival.perHour"]),
        ({"arrival": {"perHour": [1, 2]}}, ["arrival.perHour"]),
        ({"arrival": {"distribution": "hourly", "perHour": [0, 1]}}, []),
        ({"arrival": {"distribution": "hourly", "perHour": [0, 0]}}, ["arrival.perHour"]),
        ({"arrival": {"distribution": "hourly", "perHour": [1, -0.5]}}, ["arrival.perHour"]),
        ({"lifetime": {"value": 0}}, ["lifetime.value"]),
        ({"lifetime": {"value": 0.5}}, []),
        ({"lifetime": {"value": 1, "endless": 0}}, []),
        ({"lifetime": {"value": 1, "endless": 1}}, []),
        ({"lifetime": {"value": 1, "endless": 1.5}}, ["lifetime.endless"]),
        ({"lifetime": {"value": 1, "endless": -0.5}}, ["lifetime.endless"]),
        ({"lifetime": {"distribution": "weibull"}}, ["lifetime.scale", "lifetime.shape"]),
        ({"lifetime": {"distribution": "empirical", "quantiles": [2]}}, ["lifetime.quantiles"]),
        ({"lifetime": {"distribution": "empirical", "quantiles": [2, 2]}}, []),
        ({"lifetime": {"distribution": "empirical", "quantiles": [-0.5, 2]}},
         ["lifetime.quantiles"]),
        ({"sizes": []}, ["sizes"]),
        ({"sizes": [{"share": 0.5}, {"share": 0}]}, ["sizes[1].share"]),
        ({"sizes": [{"requests": {"cpu": "0", "memory": "-1n"}}]}, ["sizes[0].requests[memory]"]),
    ],
)  # fmt: skip
def test_each_mistake_of_a_model_has_its_path(part: dict[str, Any], paths: list[str]) -> None:
    document = MODEL.document() | part
    if not paths:
        load_model(document)
        return
    with pytest.raises(pw.InputError) as caught:
        load_model(document)
    assert [error.path for error in caught.value.errors] == paths


@pytest.mark.parametrize(
    ("model", "share", "seconds"),
    [
        (LifetimeModel(distribution="exponential", mean=300), 0.75, 300 * np.log(4)),
        (LifetimeModel(distribution="lognormal", median=600, sigma=2), 0.5, 600),
        (LifetimeModel(distribution="weibull", scale=100, shape=0.5), 1 - np.exp(-2), 400),
        (LifetimeModel(value=7), 0.9, 7),
        (LifetimeModel(distribution="empirical", quantiles=(0, 1, 5)), 0.75, 3),
    ],
)
def test_a_share_of_the_pods_runs_for_at_most_a_time(
    model: LifetimeModel, share: float, seconds: float
) -> None:
    assert model.at(share) == pytest.approx(seconds)
    if model.distribution not in ("fixed", "empirical"):
        assert model.share_below(np.array([seconds])) == pytest.approx([share])


def test_the_lifetimes_that_were_seen_are_steps() -> None:
    steps = LifetimeModel(distribution="empirical", quantiles=(0, 1, 5, 5))
    assert steps.share_below(np.array([0.5, 1, 4.9, 5])).tolist() == [0.25, 0.5, 0.5, 1]
    assert LifetimeModel(value=3).share_below(np.array([2.9, 3])).tolist() == [0, 1]


def test_an_arrival_is_drawn_by_the_integral_of_the_rates() -> None:
    draws = [-np.log(uniform(5, TRACE_STREAM, number)) for number in range(50)]
    steady = ArrivalModel(per_hour=(7200.0,)).times_s(5)
    assert list(islice(steady, 50)) == pytest.approx(np.cumsum(draws) / 2)
    # One pod in the first hour of three, on average, and two in the last one.
    hourly = ArrivalModel(distribution="hourly", per_hour=(1.0, 0.0, 2.0)).times_s(5)
    expected = []
    for total in np.cumsum(draws):
        rounds, left = divmod(total, 3)
        hours = left if left <= 1 else 2 + (left - 1) / 2
        expected.append(3600 * (3 * rounds + hours))
    assert list(islice(hourly, 50)) == pytest.approx(expected)


@pytest.mark.parametrize(
    "lifetime",
    [
        LifetimeModel(value=1e30),
        LifetimeModel(distribution="lognormal", median=600, sigma=1e20),
        LifetimeModel(distribution="weibull", scale=10, shape=1e-4),
    ],
    ids=lambda model: model.distribution,
)
def test_no_pod_runs_for_longer_than_go_can_tell(lifetime: LifetimeModel) -> None:
    model = msgspec.structs.replace(MODEL, lifetime=lifetime)
    runs = {run_ns_of(line.pod or {}) for line in generate(model, pods=40, seed=1)}
    assert max(run_ns or 0 for run_ns in runs) == (2**63 - 1) // S * S


def test_a_generated_trace_ends_at_its_number_or_time() -> None:
    assert list(generate(MODEL, pods=9)) == list(generate(MODEL, pods=9, seed=0))
    every = list(generate(MODEL, pods=20, seed=6))
    assert [line.action["apply"]["metadata"]["name"] for line in every] == [
        f"pod-{number}" for number in range(20)
    ]
    times = [line.at_ns for line in every]
    for until_ns, count in ((times[4], 5), (times[4] - 1, 4), (times[19], 20)):
        assert list(generate(MODEL, until_ns=until_ns, seed=6)) == every[:count]
    assert list(generate(MODEL, pods=3, until_ns=times[9], seed=6)) == every[:3]
    assert list(generate(MODEL, pods=0, seed=6)) == []
    endless = msgspec.structs.replace(MODEL, lifetime=LifetimeModel(value=0.0001, endless=1.0))
    assert {summary(line)[3] for line in generate(endless, pods=9)} == {None}
    shortest = msgspec.structs.replace(endless, lifetime=LifetimeModel(value=0.0001))
    assert {summary(line)[3] for line in generate(shortest, pods=9)} == {0.001}


def test_rates_are_those_of_each_hour_that_a_trace_covers() -> None:
    # Two pods in the first hour, none in the second one, and three in half of the third one.
    seconds = [0, 3599, 7200, 8000, 9000]
    arrival = fit([pod_line(at, f"p{at}") for at in seconds]).arrival
    assert (arrival.distribution, arrival.per_hour) == ("hourly", (2.0, 0.0, 3.0))
    # The first hour of the week comes again, and half of it is in the trace.
    week = fit([pod_line(0, "a"), pod_line(168 * 3600 + 1800, "b")]).arrival.per_hour
    assert (len(week), week[:2]) == (168, (round(2 / 1.5, 6), 0.0))
    short = fit([pod_line(at, f"p{at}") for at in (10, 100, 1810)]).arrival
    assert (short.distribution, short.per_hour) == ("poisson", (4.0,))


def test_all_mistakes_of_a_model_are_reported_together(tmp_path: Path) -> None:
    file = tmp_path / "model.yaml"
    file.write_text(
        "arrival: {distribution: poisson, perHour: [1, -2]}\n"
        "lifetime: {distribution: lognormal, median: 5, endless: 2}\n"
        "sizes: [{share: 0, requests: {cpu: lots}}]\n"
    )
    with pytest.raises(pw.InputError) as caught:
        pw.generate_trace(str(file), pods=1)
    assert [error.path for error in caught.value.errors] == [
        "arrival.perHour",
        "arrival.perHour",
        "lifetime.sigma",
        "lifetime.endless",
        "sizes[0].share",
        "sizes[0].requests[cpu]",
    ]
    assert len(pw.generate_trace(MODEL.document(), pods=3)) == 3
    file.write_text("arival: {}\n")
    with pytest.raises(pw.InputError, match="did you mean"):
        pw.generate_trace(str(file), pods=1)
    for quantiles in ("[3, 1]", "[-1, 1]", "[1]"):
        file.write_text(f"lifetime: {{distribution: empirical, quantiles: {quantiles}}}\n")
        with pytest.raises(pw.InputError, match="increasing"):
            pw.generate_trace(str(file), pods=1)
    lifetime = {"distribution": "empirical", "quantiles": [0, 1]}
    assert load_model(MODEL.document() | {"lifetime": lifetime}).lifetime.quantiles == (0.0, 1.0)
    hourly = {"distribution": "hourly", "perHour": [1, 2]}
    sizes = [{"requests": {"cpu": "1"}}]
    found = load_model(MODEL.document() | {"arrival": hourly, "sizes": sizes})
    assert found.arrival.per_hour == (1.0, 2.0)
    assert [size.share for size in found.sizes] == [1.0]


def test_a_distance_is_the_greatest_difference_to_either_side_of_a_step() -> None:
    model = LifetimeModel(distribution="exponential", mean=1.0)
    assert distance(np.zeros(4), model) == 1.0
    assert distance(np.full(4, 1e9), model) == 1.0
    assert distance(np.array([np.log(2), 1e9]), model) == pytest.approx(0.5)


def test_a_list_of_pods_has_their_annotations_and_their_times(tmp_path: Path) -> None:
    annotations = {"a": "b", RUN_DELAY: "5s"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": annotations}}
    lines = [TraceLine(3 * 10**9, {"apply": pod})]
    assert write_lines(lines, str(tmp_path / "pods.json"), warn=lambda _: None) == 1
    (written,) = msgspec.json.decode((tmp_path / "pods.json").read_bytes())["items"]
    times = dict.fromkeys((CREATION_TIME, SCHEDULED_TIME), "3") | {DELETION_TIME: "8"}
    assert written["metadata"]["annotations"] == {"a": "b"} | times


def test_pods_of_a_trace_keep_their_annotations_but_those_of_their_times(tmp_path: Path) -> None:
    metadata = {"name": "p", "annotations": {"a": "b", CREATION_TIME: "5"}}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    file = tmp_path / "pods.json"
    file.write_bytes(msgspec.json.encode(pod))
    (line,) = read_trace_lines(str(file))
    assert line.action["apply"]["metadata"]["annotations"] == {"a": "b"}
    metadata = {"name": "x", "namespace": "default", "uid": "u"}
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    file.write_bytes(msgspec.json.encode([pod, other]))
    first, _ = read_trace_lines(str(file))
    document = first.action["apply"]
    assert (first.at_ns, document["kind"], document["metadata"]) == (
        0, "ConfigMap", {"name": "x", "namespace": "default"},
    )  # fmt: skip

"""Traces part by part: what is null or missing, draws by their place, times that are shifted."""

from __future__ import annotations

import csv
import json
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from podwright.cluster.api import pod_amounts
from podwright.cluster.kubelets import RUN_DELAY
from podwright.simulation.world.timing.distributions import uniform
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
    _with_run_time,
    read_trace_lines,
)
from podwright.simulation.world.traces.trace_model import (
    ArrivalModel,
    LifetimeModel,
    SizeModel,
    TraceModel,
    _fit_arrival,
    fit,
    fit_lifetime,
    generate,
)
from podwright.simulation.world.traces.trace_output import describe, write_lines

SECOND = 10**9
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "n"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
NULLS = [
    pytest.param((), id="without them"),
    pytest.param(("metadata", "annotations"), id="annotations"),
    pytest.param(("metadata", "labels"), id="labels"),
    pytest.param(("spec", "containers"), id="containers"),
    pytest.param(("spec", "containers", 0, "resources"), id="resources"),
    pytest.param(("spec", "containers", 0, "resources", "requests"), id="requests"),
]


def with_null(path: tuple[Any, ...], document: Any = POD) -> Any:
    """Return a document in which the part at a path is null."""
    if not path:
        return deepcopy(document)
    found = deepcopy(document)
    place = found
    for name in path[:-1]:
        if isinstance(place, dict):
            place.setdefault(name, {})
        place = place[name]
    place[path[-1]] = None
    return found


def at(second: float, document: Any) -> TraceLine:
    return TraceLine(round(second * SECOND), {"apply": document})


@pytest.mark.parametrize("path", NULLS)
def test_a_part_that_is_null_is_one_that_is_missing(path: tuple[Any, ...], tmp_path) -> None:
    given = with_null(path)
    lines = [at(0, given), at(1, {**given, "metadata": {**given["metadata"], "name": "q"}})]
    assert run_ns_of(given) is None
    assert pod_amounts(given, "requests") == {}
    names = [line.applied["metadata"]["name"] for line in anonymize(lines)]
    assert names == ["pod-0", "pod-1"]
    assert [line.applied["metadata"]["name"] for line in merge([lines, []], ["x", "y"])] == [
        "x-p",
        "x-q",
    ]
    found = describe(lines)
    assert (found.pods, found.endless, list(found.figures)) == (2, 2, ["time between arrivals"])
    model = fit(lines)
    assert [(size.requests, size.annotations) for size in model.sizes] == [({}, {})]
    assert [line.at_ns for line in cut(lines, first=1)] == [0]
    path_of_list, path_of_table = tmp_path / "t.json", tmp_path / "t.csv"
    assert write_lines(lines, str(path_of_list)) == write_lines(lines, str(path_of_table)) == 2
    written = json.loads(path_of_list.read_text())["items"]
    assert [len(each["metadata"]["annotations"]) for each in written] == [2, 2]
    rows = list(csv.DictReader(path_of_table.read_text().splitlines()))
    assert [(row["name"], row["cpu_milli"], row["num_gpu"]) for row in rows] == [
        ("p", "0", "0"),
        ("q", "0", "0"),
    ]


@pytest.mark.parametrize("path", NULLS)
def test_scaled_requests_of_a_pod_without_any_are_none(path: tuple[Any, ...]) -> None:
    (line,) = scale([at(0, with_null(path))], requests=2)
    assert pod_amounts(line.applied, "requests") == {}


@pytest.mark.parametrize("metadata", [None, {}, {"annotations": None}, {"annotations": {}}])
def test_a_run_time_is_added_to_what_has_no_annotations(metadata: Any) -> None:
    pod = _with_run_time({"kind": "Pod", "metadata": metadata, "spec": None}, 5 * SECOND)
    assert pod == {
        "kind": "Pod",
        "metadata": {"annotations": {RUN_DELAY: "5s"}},
        "spec": {"restartPolicy": "Never"},
    }
    for spec in (None, {}, {"template": None}):
        job = _with_run_time({"kind": "Job", "spec": spec}, 5 * SECOND)
        template = {"metadata": {"annotations": {RUN_DELAY: "5s"}}}
        assert job == {"kind": "Job", "spec": {"template": template}}
    other = {"kind": "Deployment", "spec": None}
    assert _with_run_time(other, 5 * SECOND) is other


@pytest.mark.parametrize("metadata", [None, {}])
def test_objects_without_metadata_have_no_name_in_a_trace(metadata: Any) -> None:
    group = {"apiVersion": "v1", "kind": "PodGroup", "metadata": metadata, "spec": None}
    (line,) = anonymize([at(0, group)])
    assert line.applied == {
        "apiVersion": "v1",
        "kind": "PodGroup",
        "metadata": {"name": "group-0", "namespace": "namespace-0"},
    }
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    assert [*merge([[at(0, config)], []])] == [at(0, config)]
    assert TraceLine(0, {"apply": None}).applied == {}
    assert run_ns_of({"kind": "Pod", "metadata": metadata}) is None
    assert pod_amounts({"kind": "Pod", "spec": metadata}, "requests") == {}


@pytest.mark.parametrize("factor", [0.25, 0.5, 1.75, 2.5])
def test_each_pod_of_a_scaled_trace_has_the_draw_of_its_place(factor: float) -> None:
    pods = [
        at(number, {**POD, "metadata": {"name": f"p{number}", "namespace": "n"}})
        for number in range(20)
    ]
    found = [line.at_ns // SECOND for line in scale(pods, pods=factor, seed=5)]
    whole, rest = divmod(factor, 1)
    expected = [int(whole) + (uniform(5, TRACE_STREAM, number + 1) < rest) for number in range(20)]
    assert [found.count(number) for number in range(20)] == expected


@pytest.mark.parametrize("hours", [(0.0, 0.4, 1.2, 3.9), (0.0, 1.0, 2.0), (0.0, 0.01, 30.5)])
@pytest.mark.parametrize("start_s", [1.0, 1_800.0, 5_400.0, 10_000_000.0])
def test_rates_are_those_of_the_hours_since_the_first_arrival(hours, start_s: float) -> None:
    times = np.array(hours) * 3_600
    assert _fit_arrival(times + start_s) == _fit_arrival(times)


@pytest.mark.parametrize(
    ("at_ns", "run", "created", "ended", "is_rounded"),
    [
        (0, "5s", "0", "5", False),
        (3 * SECOND, "1h", "3", "3603", False),
        (3 * SECOND, "", "3", None, False),
        (3 * SECOND, "0s", "3", "3", False),
        (3 * SECOND + 1, "", "3", None, True),
        (3 * SECOND, "1ns", "3", "4", True),
        (4 * SECOND - 1, "5s", "3", "8", True),
        (SECOND // 2, "1500ms", "0", "2", True),
    ],
)
def test_a_list_of_pods_has_whole_seconds_and_says_if_a_part_is_lost(
    tmp_path, at_ns: int, run: str, created: str, ended: str | None, is_rounded: bool
) -> None:
    annotations = {"annotations": {RUN_DELAY: run}} if run else {}
    pod = {**POD, "metadata": {**POD["metadata"], **annotations}}
    said: list[str] = []
    write_lines([TraceLine(at_ns, {"apply": pod})], str(tmp_path / "t.json"), warn=said.append)
    (item,) = json.loads((tmp_path / "t.json").read_text())["items"]
    times = {key.rpartition("/")[2]: text for key, text in item["metadata"]["annotations"].items()}
    assert times == {
        "creation-time": created,
        "scheduled-time": created,
        **({"deletion-time": ended} if ended else {}),
    }
    assert [text.partition(" of 1 ")[0] for text in said] == ["part of a second"] * is_rounded


@pytest.mark.parametrize(
    ("times", "since_start_s"),
    [
        (["0s", "5s"], [0, 5]),
        (["5s", "1m"], [5, 60]),
        (["2026-01-01T00:00:05Z", "2026-01-01T00:01:00Z"], [0, 55]),
        (["1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z"], [0, 1]),
    ],
)
def test_lines_are_since_the_start_or_the_first_time(tmp_path, times, since_start_s) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"at": each, "delete": "pod/p"}) + "\n" for each in times))
    assert [line.at_ns for line in read_trace_lines(str(path))] == [
        second * SECOND for second in since_start_s
    ]


def criterion(model: LifetimeModel, times: Any) -> float:
    """Return the information criterion of Akaike from the density of a distribution."""
    logs = np.log(times)
    if model.distribution == "exponential":
        return float(2 - 2 * np.sum(-np.log(model.mean) - times / model.mean))
    if model.distribution == "lognormal":
        spread = (logs - np.log(model.median)) / model.sigma
        return float(
            4 - 2 * np.sum(-logs - np.log(model.sigma * np.sqrt(2 * np.pi)) - spread**2 / 2)
        )
    scaled = np.log(times / model.scale)
    density = np.log(model.shape / model.scale) + (model.shape - 1) * scaled
    return float(4 - 2 * np.sum(density - np.exp(model.shape * scaled)))


def weibull(times: Any) -> LifetimeModel:
    """Return the most likely one of many shapes."""
    shapes = np.exp(np.linspace(np.log(0.3), np.log(5), 3_000))
    powers = times[None, :] ** shapes[:, None]
    logs = np.log(times)
    scores = np.log(shapes) - np.log(powers.mean(axis=1)) + (shapes - 1) * logs.mean()
    shape = float(shapes[np.argmax(scores)])
    return LifetimeModel(
        distribution="weibull", shape=shape, scale=float((times**shape).mean() ** (1 / shape))
    )


def test_the_distribution_with_the_least_criterion_is_chosen() -> None:
    """Of samples that are hard to tell apart: a parameter more has to be worth it."""
    chosen = set()
    for seed in range(60):
        draws = np.array([uniform(seed, 3, number) for number in range(1, 31)])
        times = 50 * (-np.log(draws)) ** (1 + (seed % 5 - 2) / 10)
        models = [
            LifetimeModel(distribution="exponential", mean=float(times.mean())),
            LifetimeModel(
                distribution="lognormal",
                median=float(np.exp(np.log(times).mean())),
                sigma=float(np.log(times).std()),
            ),
            weibull(times),
        ]
        criteria = {each.distribution: criterion(each, times) for each in models}
        found = fit_lifetime(times).distribution
        least = min(criteria, key=criteria.__getitem__)
        if found != "empirical" and sorted(criteria.values())[1] - criteria[least] > 0.01:
            assert found == least, (seed, criteria)
            chosen.add(found)
    assert chosen == {"exponential", "lognormal", "weibull"}


def test_a_model_and_a_seed_always_make_the_same_pods() -> None:
    model = TraceModel(
        arrival=ArrivalModel(distribution="hourly", per_hour=(1.0, 0.0, 2.0)),
        lifetime=LifetimeModel(distribution="weibull", scale=90.0, shape=0.7, endless=0.4),
        sizes=tuple(SizeModel(share=each, requests={"cpu": f"{each}"}) for each in (1, 2, 5)),
    )
    found = [
        (
            line.at_ns // SECOND,
            pod_amounts(line.applied, "requests")["cpu"].nano // SECOND,
            run_ns_of(line.applied),
        )
        for line in generate(model, pods=8, seed=3)
    ]
    assert found == [
        (458, 5, None),
        (3267, 1, None),
        (9221, 5, 83941000000),
        (9616, 5, 15382000000),
        (12020, 2, 42742000000),
        (20403, 1, None),
        (21285, 1, 25912000000),
        (29295, 2, None),
    ]

"""Pods of a trace arrive, run and end as its columns say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import podwright as pw
from podwright.simulation.world.inputs.frame_columns import (
    ARRIVAL_UNITS,
    BYTE_UNITS,
    COUNT_UNITS,
    TIME_UNITS,
    Frame,
)
from podwright.testing import make_node, make_pod

COLUMNS = {
    "submitted": [60, 0, "1m30s"],
    "seconds": [30, 600.5, "1h"],
    "cores": [1, 0.5, "1500m"],
    "bytes": [2**30, "1Gi", 2**20],
    "job": ["b", "a", "c"],
}
NODE = make_node("n1", cpu="8", memory="8Gi")
SECOND_NS = 10**9


def arrivals(frame: Any, **columns: Any) -> list[str]:
    return [line["at"] for line in pw.Workload.from_frame(frame, arrival="t", **columns)]


def pods_of(frame: Any, **columns: Any) -> list[Any]:
    """Return the pods of a frame whose arrivals are in seconds."""
    unit = {"arrival": "s", **columns.pop("unit", {})}
    return [
        line["apply"] for line in pw.Workload.from_frame(frame, arrival="t", unit=unit, **columns)
    ]


def run_times(frame: Any) -> list[str | None]:
    """Return the run time of each pod, as its annotation has it."""
    pods = pw.Workload.from_frame(
        frame, arrival="t", duration="d", unit={"arrival": "s", "duration": "s"}
    )
    found = [pod["apply"]["metadata"].get("annotations") for pod in pods]
    return [None if each is None else next(iter(each.values())) for each in found]


def test_pods_arrive_and_end():
    pods = pw.Workload.from_frame(
        COLUMNS,
        arrival="submitted",
        duration="seconds",
        cpu="cores",
        memory="bytes",
        name="job",
        unit={"arrival": "s", "duration": "s", "memory": "B"},
    )
    assert repr(pods) == "<Workload: 3 pods>"
    assert [line["apply"]["metadata"]["name"] for line in pods] == ["a", "b", "c"]
    assert [line["at"] for line in pods] == ["0s", "1m0s", "1m30s"]
    run = pw.simulate([make_node("n1", cpu="2", memory="8Gi")], events=pods)
    assert run.summary.counts.created == 3
    assert run.summary.counts.succeeded == 3
    assert run.summary.simulated_ns >= 3690 * SECOND_NS


def test_arrays_and_other_resources_are_accepted():
    frame = {"t": np.array([0.0, 1.0]), "gpus": np.array([1, 2])}
    pods = pw.Workload.from_frame(
        frame, arrival="t", resources={"nvidia.com/gpu": "gpus"}, unit={"arrival": "s"}
    )
    node = make_node("n1", cpu="2", resources={"nvidia.com/gpu": "2"})
    run = pw.simulate([node], events=pods, until="1m")
    assert list(run.node_of) == ["default/pod-0"]
    assert list(run.pending) == ["default/pod-1"]


DATES = ["2023-05-01 08:00:30", "2023-05-01 08:00:00"]
RUNS = [timedelta(seconds=90), timedelta(hours=1)]


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(
            pd.DataFrame({"t": pd.to_datetime(DATES), "d": pd.to_timedelta(RUNS)}), id="datetime64"
        ),
        pytest.param(
            pd.DataFrame({
                "t": pd.to_datetime(DATES).tz_localize("UTC").tz_convert("Asia/Kolkata"),
                "d": pd.to_timedelta(RUNS),
            }),
            id="with a time zone",
        ),
        pytest.param(
            pd.DataFrame({"t": pd.to_datetime(DATES), "d": pd.to_timedelta(RUNS)}).convert_dtypes(
                dtype_backend="pyarrow"
            ),
            id="pandas on Arrow",
        ),
        pytest.param(pd.DataFrame({"t": DATES, "d": ["90s", "1h"]}), id="texts"),
        pytest.param(
            pa.table({
                "t": pa.array(pd.to_datetime(DATES).to_pydatetime(), pa.timestamp("us", tz="UTC")),
                "d": pa.array(RUNS, pa.duration("s")),
            }),
            id="Arrow",
        ),
        pytest.param(
            {"t": np.array(DATES, dtype="datetime64[s]"), "d": np.array(RUNS, "timedelta64[s]")},
            id="arrays",
        ),
        pytest.param(
            {"t": [datetime.fromisoformat(date).replace(tzinfo=UTC) for date in DATES], "d": RUNS},
            id="objects",
        ),
    ],
)  # fmt: skip
def test_columns_of_timestamps_are_absolute_times(frame: Any):
    workload = pw.Workload.from_frame(frame, arrival="t", duration="d", cpu=None)
    assert [line["at"] for line in workload] == ["2023-05-01T08:00:00Z", "2023-05-01T08:00:30Z"]
    run = pw.simulate([NODE], events=workload)
    assert run.summary.start == "2023-05-01T08:00:00.000000000Z"
    assert run.summary.counts.succeeded == 2
    # The pod that arrives first runs for an hour.
    assert 3600 * SECOND_NS <= run.summary.simulated_ns < 3660 * SECOND_NS
    later = pw.simulate([NODE], events=workload, start="2023-05-01T00:00:00Z")
    assert later.summary.start == "2023-05-01T00:00:00.000000000Z"
    with pytest.raises(pw.InputError, match=r"workload 0: line 1: at: .* before the start"):
        pw.simulate([NODE], events=workload, start="2024-01-01T00:00:00Z")


def test_nanoseconds_of_pandas_are_kept():
    times = pd.to_datetime([1_000_000_000_000_000_001], utc=True)
    frame = pd.DataFrame({"t": times, "d": pd.to_timedelta([1], unit="ns")})
    assert arrivals(frame) == ["2001-09-09T01:46:40.000000001Z"]
    assert run_times(frame) == ["1ns"]


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(pd.Series([90.0, None]), id="floats"),
        pytest.param(pd.Series([90, None], dtype="Int64"), id="nullable integers"),
        pytest.param(pd.Series([timedelta(seconds=90), None]), id="timedeltas"),
        pytest.param(np.array([90, "NaT"], "timedelta64[s]"), id="an array"),
        pytest.param(["90s", None], id="texts"),
    ],
)
def test_a_pod_without_a_run_time_does_not_end(values: Any):
    assert run_times({"t": [0, 1], "d": values}) == ["1m30s", None]


def test_a_missing_amount_is_no_request():
    frame = pd.DataFrame(
        {"t": [0, 1], "cpu": [0.5, None], "gpu": pd.Series([None, 1], dtype="Int64")}
    )
    pods = pods_of(frame, cpu="cpu", resources={"a.b/gpu": "gpu"})
    first, second = (pod["spec"]["containers"][0]["resources"] for pod in pods)
    assert first == {"requests": {"cpu": "0.5"}}
    assert second == {"requests": {"a.b/gpu": "1"}, "limits": {"a.b/gpu": "1"}}


def test_a_workload_may_stand_among_other_events():
    first = pw.Workload.from_frame({"t": ["0s", "30s"]}, arrival="t")
    second = pw.Workload.from_frame({"t": ["10s"], "n": ["late"]}, arrival="t", name="n")
    events = [first, {"at": "20s", "delete": "pod/late"}, second]
    assert list(pw.simulate([NODE], events=events).node_of) == ["default/pod-0", "default/pod-1"]


def test_an_event_may_hold_an_object():
    event = {"at": timedelta(minutes=5), "apply": make_pod("web", cpu="1")}
    assert pw.simulate([NODE], events=event).node_of == {"default/web": "n1"}


def test_an_event_that_is_no_document_is_an_error():
    event = {"at": "5m", "scale": "deployment/web", "replicas": object()}
    with pytest.raises(pw.InputError, match="events: line 1: cannot be written as JSON: "):
        pw.simulate([NODE], events=event)


def test_missing_columns_and_invalid_times_are_errors():
    with pytest.raises(pw.InputError, match="when: no such column"):
        pw.Workload.from_frame(COLUMNS, arrival="when")
    with pytest.raises(pw.InputError, match="n: 1 rows, but t has 2"):
        pw.Workload.from_frame({"t": [0, 1], "n": ["a"]}, arrival="t", name="n")
    columns = {"t": [0, float("nan"), "soon", -1, pd.NaT, None, True, 1e300]}
    with pytest.raises(pw.InputError) as caught:
        pw.Workload.from_frame(columns, arrival="t", unit={"arrival": "s"})
    assert [error.path for error in caught.value.errors] == [f"t[{row}]" for row in range(1, 8)]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        pytest.param(
            {"t": [0, "2026-01-01T00:00:00Z"]}, "t[1]: a time, but t[0] is a duration", id="forms"
        ),
        pytest.param(
            {"t": ["2026-01-01T00:00:00Z", 0]}, "t[1]: a duration, but t[0] is a time", id="turned"
        ),
        pytest.param(
            {"t": ["9999-01-01T00:00:00Z"]},
            't[0]: Invalid value: "9999-01-01T00:00:00Z": the years from 1678 to 2261 can be'
            " simulated",
            id="year",
        ),
        pytest.param(
            {"t": [0], "d": [-1]},
            'd[0]: Invalid value: "-1": must be a duration of 0 or more',
            id="duration",
        ),
        pytest.param(
            {"t": [0], "d": ["1/2"]},
            'd[0]: Invalid value: "1/2": must be a duration of 0 or more',
            id="fraction",
        ),
        pytest.param(
            {"t": [0, 0], "n": ["a", "a"]}, 'n[1]: Duplicate value: "a": also in n[0]', id="name"
        ),
        pytest.param({"t": [0], "n": [None]}, "n[0]: Required value: a name", id="none"),
        pytest.param(
            {"t": [0], "c": ["much"]},
            'c[0]: Invalid value: "much": must be a quantity of 0 or more, such as 2, 500m or 1Gi',
            id="quantity",
        ),
        pytest.param(
            {"t": [0], "c": [-0.5]},
            'c[0]: Invalid value: "-0.5": must be a quantity of 0 or more, such as 2, 500m or 1Gi',
            id="negative",
        ),
    ],
)
def test_an_invalid_value_is_an_error_with_its_row(columns: Any, message: str):
    given: dict[str, Any] = {
        name: col
        for name, col in (("duration", "d"), ("name", "n"), ("cpu", "c"))
        if col in columns
    }
    units = {"duration": "s"} if "d" in columns else {}
    with pytest.raises(pw.InputError) as caught:
        pw.Workload.from_frame(columns, arrival="t", unit={"arrival": "s", **units}, **given)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(
            lambda: pw.Workload.from_frame([{"t": 1}], arrival="t"),
            "frame: must be a DataFrame, an Arrow table or a mapping of columns, not a list",
            id="rows",
        ),
        pytest.param(
            lambda: pw.Workload.from_frame({"t": [1]}, arrival=0),  # type: ignore[arg-type]
            "arrival: must be the name of a column, not an int",
            id="a number",
        ),
        pytest.param(
            lambda: pw.Workload.from_frame({"t": [1]}, arrival="t", resources=["t"]),  # type: ignore[arg-type]
            "resources: must be a mapping of resources to columns, not a list",
            id="a list of resources",
        ),
        pytest.param(
            lambda: pw.Workload.from_frame(
                {"t": [1]}, arrival="t", cpu="t", resources={"cpu": "t"}
            ),
            "cpu and resources['cpu']: specify one of them",
            id="twice",
        ),
    ],
)
def test_a_wrong_argument_is_an_error_that_names_it(call: Any, message: str):
    with pytest.raises(pw.ArgumentError) as caught:
        call()
    assert str(caught.value) == message


def test_an_empty_frame_has_no_pods():
    workload = pw.Workload.from_frame(pd.DataFrame({"t": []}), arrival="t")
    assert len(workload) == 0
    assert pw.simulate([NODE], events=workload).node_of == {}


# ------------------------------------------------------------------------------- units


@pytest.mark.parametrize(
    ("value", "unit", "at"),
    [
        (1_500_000, "us", "1.5s"),
        (np.int64(90), "min", "1h30m0s"),
        (0.1, "d", "2h24m0s"),
        ("2", "h", "2h0m0s"),
        (Decimal("0.000000001"), "s", "1ns"),
        (1_767_225_600, "s since 1970", "2026-01-01T00:00:00Z"),
        (1_767_225_600_000, "ms since 1970", "2026-01-01T00:00:00Z"),
        (-9_214_560_000, "s since 1970", "1678-01-01T00:00:00Z"),
        (9_214_646_399, "s since 1970", "2261-12-31T23:59:59Z"),
        ("7d", "s", "168h0m0s"),
        ("7d", "s since 1970", "168h0m0s"),
        ("2026-01-01T00:00:00Z", "s since 1970", "2026-01-01T00:00:00Z"),
        (timedelta(days=1), "s", "24h0m0s"),
    ],
)
def test_the_unit_of_a_column_is_that_of_its_bare_numbers(value: Any, unit: str, at: str):
    assert arrivals({"t": [value]}, unit={"arrival": unit}) == [at]


@pytest.mark.parametrize("value", [-9_214_560_001, 9_214_646_400])
def test_a_time_that_cannot_be_simulated_is_an_error(value: int):
    with pytest.raises(pw.InputError, match="the years from 1678 to 2261 can be simulated"):
        arrivals({"t": [value]}, unit={"arrival": "s since 1970"})


@pytest.mark.parametrize(
    ("value", "unit", "quantity"),
    [
        (4, "GiB", str(4 << 30)),
        (0.5, "Gi", str(1 << 29)),
        ("4", "GiB", str(4 << 30)),
        ("4Gi", "MiB", "4Gi"),
        (1.1, "MB", "1100000"),
        (1.5, "B", "2"),
        (np.float32(2), "kB", "2000"),
    ],
)
def test_memory_has_a_unit(value: Any, unit: str, quantity: str):
    (pod,) = pods_of({"t": [0], "m": [value]}, memory="m", unit={"memory": unit})
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"memory": quantity}


def test_columns_that_the_table_lacks_are_left_out_and_are_errors():
    frame = Frame({"c": [1], "two": [2]}, None, ())
    amounts = {"cpu": ("cpu", "c"), "memory": ("memory", "m")}
    assert list(frame.amount_columns(amounts)) == ["cpu"]
    assert list(frame.labelled("labels", {"a": "none", "b": "two"})) == ["b"]
    assert [error.path for error in frame.errors] == ["m", "none"]


def test_units_are_those_of_kubernetes_and_of_clocks():
    decimal = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
    binary = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50}
    prefixes = decimal | binary
    bytes_: dict[str, Any] = {
        "B": 1,
        "KB": 1000,
        **prefixes,
        **{f"{name}B": n for name, n in prefixes.items()},
    }
    assert dict(BYTE_UNITS) == bytes_
    assert dict(COUNT_UNITS) == {"cores": Fraction(1), "m": Fraction(1, 1000)}
    clock = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
    long = {"min": 60 * 10**9, "h": 3_600 * 10**9, "d": 86_400 * 10**9}
    assert dict(TIME_UNITS) == clock | long
    since = {f"{name} since 1970": n for name, n in clock.items()}
    assert dict(ARRIVAL_UNITS) == clock | long | since


def test_only_names_that_change_are_named():
    frame = {"t": [0, 0], "ns": ["user_1", "ok"], "g": ["a_b", "c"], "n": ["x", "y"]}
    workload = pw.Workload.from_frame(
        frame, arrival="t", name="n", namespace="ns", group="g", unit={"arrival": "s"}
    )
    why = "because Kubernetes does not accept them, such as"
    assert workload.warnings == (
        f'1 namespace changed, {why} "user_1" to "user-1"',
        f'1 group changed, {why} "a_b" to "a-b"',
    )
    kept = pw.Workload.from_frame(
        {"t": [0], "n": ["x"]}, arrival="t", name="n", unit={"arrival": "s"}
    )
    assert kept.warnings == ()


def test_cpus_may_be_thousandths_and_other_bytes_need_a_unit():
    frame = {"t": [0], "c": [1500], "e": [10]}
    columns: dict[str, Any] = {"cpu": "c", "resources": {"ephemeral-storage": "e"}}
    (pod,) = pods_of(frame, unit={"cpu": "m", "ephemeral-storage": "GB"}, **columns)
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    assert requests == {"cpu": "1500m", "ephemeral-storage": "10000000000"}
    with pytest.raises(
        pw.InputError, match=r'e\[0\]: 10 has no unit; .*"ephemeral-storage": "GiB"'
    ):
        pods_of(frame, **columns)


def test_numbers_without_a_unit_are_one_error_for_each_column():
    frame = pd.DataFrame({"t": [0, 60], "d": [600, None], "m": [4, "1"]})
    with pytest.raises(pw.InputError) as caught:
        pw.Workload.from_frame(frame, arrival="t", duration="d", memory="m")
    assert str(caught.value).splitlines() == [
        't[0]: 0 has no unit; give that of the column, such as unit={"arrival": "s"}',
        'd[0]: 600.0 has no unit; give that of the column, such as unit={"duration": "s"}',
        'm[0]: 4 has no unit; give that of the column, such as unit={"memory": "GiB"}',
    ]


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        ({"arrivals": "s"}, "unit['arrivals']: no such column is read; did you mean \"arrival\"?"),
        ({"arrival": "sec"}, "unit['arrival']: Unsupported value: \"sec\": supported values: "),
        ({"arrival": "GiB"}, "unit['arrival']: Unsupported value: \"GiB\": supported values: "),
        ({"cpu": "GiB"}, "unit['cpu']: no such column is read"),
    ],
)
def test_a_unit_that_is_not_one_is_an_error(unit: dict[str, str], message: str):
    with pytest.raises(pw.InputError) as caught:
        pw.Workload.from_frame({"t": [0]}, arrival="t", unit=unit)
    assert str(caught.value).startswith(message)


# ------------------------------------------------------------------------------- names


def test_names_that_kubernetes_refuses_are_changed_and_kept_as_annotations():
    frame = {
        "t": [0, 1, 2],
        "n": ["application_1", "Ab C.", "ok"],
        "ns": ["user_1", None, "user_1"],
    }
    workload = pw.Workload.from_frame(
        frame, arrival="t", name="n", namespace="ns", unit={"arrival": "s"}
    )
    run = pw.simulate([NODE], events=workload)
    assert list(run.node_of) == ["default/ab-c", "user-1/application-1", "user-1/ok"]
    annotations = [line["apply"]["metadata"].get("annotations") for line in workload]
    assert annotations == [
        {"podwright.dev/original-name": "application_1"},
        {"podwright.dev/original-name": "Ab C."},
        None,
    ]
    assert run.warnings == (
        "workload 0: 2 pod names changed, because Kubernetes does not accept them, such as"
        ' "application_1" to "application-1"',
        "workload 0: 1 namespace changed, because Kubernetes does not accept them, such as"
        ' "user_1" to "user-1"',
    )


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"n": ["a_1", "A-1"]},
            'n[1]: Duplicate value: "A-1": also in n[0], whose name "a_1" becomes the same',
        ),
        (
            {"n": ["a", "日本"]},
            'n[1]: Invalid value: "日本": must be a name with a letter a-z or a digit',
        ),
        (
            {"ns": ["u_1", "u-1"]},
            'ns[1]: "u_1" and "u-1" become the same name, "u-1"',
        ),
        (
            {"l": ["a", "b c"]},
            'l[1]: Invalid value: "b c": a valid label must be an empty string or consist of',
        ),
        ({"r": [1, -1]}, 'r[1]: Invalid value: "-1": must be a whole number of 0 or more'),
        ({"r": [1, 1.5]}, 'r[1]: Invalid value: "1.5": must be a whole number of 0 or more'),
        (
            {"p": [1, 2.5]},
            'p[1]: Invalid value: "2.5": must be a whole number or the name of a priority',
        ),
    ],
)
def test_values_that_no_object_can_have_are_errors(columns: Any, message: str):
    arguments: dict[str, Any] = {
        "n": {"name": "n"}, "ns": {"namespace": "ns"}, "l": {"labels": {"app": "l"}},
        "r": {"replicas": "r"}, "p": {"priority": "p"},
    }  # fmt: skip
    (given,) = columns
    with pytest.raises(pw.InputError) as caught:
        pods_of({"t": [0, 1], **columns}, **arguments[given])
    assert str(caught.value).startswith(message)


def test_the_pods_of_two_unnamed_workloads_have_distinct_names():
    first = pw.Workload.from_frame({"t": ["0s", "1s"], "g": ["a", "a"]}, arrival="t", group="g")
    second = pw.Workload.from_frame({"t": ["0s"], "g": ["a"]}, arrival="t", group="g")
    third = pw.Workload.from_frame({"t": ["0s"]}, arrival="t", prefix="batch")
    run = pw.simulate([NODE], events=[first, second, third])
    assert list(run.node_of) == [
        "default/batch-0", "default/pod-0", "default/pod-1", "default/pod2-0"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("objects", "events"),
    [
        pytest.param([make_pod("pod-0")], [], id="an initial object"),
        pytest.param(
            [], [{"at": "0s", "apply": make_pod("pod-0")}], id="an event line before"
        ),
        pytest.param([], [pw.Workload.from_frame({"t": ["0s"]}, arrival="t", prefix="pod")],
                     id="another workload"),
    ],
)  # fmt: skip
def test_a_name_of_a_workload_in_another_input_is_an_error(objects: Any, events: Any):
    workload = pw.Workload.from_frame({"t": ["0s"]}, arrival="t")
    for several in ([*events, workload], [workload, *events]):
        with pytest.raises(pw.InputError, match=r"Pod default/pod-0 is also in .*; give one of"):
            pw.simulate([NODE, *objects], events=several)


def test_objects_of_one_name_are_one_object_or_an_error():
    assert pw.simulate([NODE, NODE, make_pod("a"), make_pod("a")]).node_of == {"default/a": "n1"}
    with pytest.raises(pw.InputError, match=r"objects\[2\] .*: Pod default/a is different in obj"):
        pw.simulate([NODE, make_pod("a"), make_pod("a", cpu="2")])


# ------------------------------------------------------------------------------- columns


def test_columns_become_fields_of_pods():
    frame = pd.DataFrame({
        "t": [0, 1],
        "r": [2, None],
        "prio": [100, None],
        "class": [None, "high"],
        "app": ["web", None],
        "model": [None, 100.0],
    })  # fmt: skip
    columns: dict[str, Any] = {
        "replicas": "r", "labels": {"app": "app"}, "node_selector": {"gpu/model": "model"},
        "prefix": "trace",
    }  # fmt: skip
    several = pods_of(frame, priority="prio", **columns)
    assert [pod["metadata"]["name"] for pod in several] == ["trace-0-0", "trace-0-1", "trace-1-0"]
    first, _, last = several
    assert (first["spec"]["priority"], first["metadata"]["labels"]) == (100, {"app": "web"})
    assert last["spec"]["nodeSelector"] == {"gpu/model": "100"}
    assert "priority" not in last["spec"]
    least = pods_of({"t": [0], "p": [-(2**31)]}, priority="p")
    assert least[0]["spec"]["priority"] == -2_147_483_648
    classes = pods_of(frame, priority="class", **columns)
    assert classes[-1]["spec"]["priorityClassName"] == "high"


COSCHEDULING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [{name: Coscheduling}], disabled: [{name: PrioritySort}]}}
"""


def test_a_group_is_scheduled_all_at_once_by_coscheduling_and_otherwise_noted():
    frame = {"t": ["0s", "1m", "1m"], "g": ["Job_1", "Job_1", None], "r": [1, 2, 1]}
    workload = pw.Workload.from_frame(frame, arrival="t", group="g", replicas="r", cpu=None)
    configuration = pw.read_configuration(COSCHEDULING, source="test")
    run = pw.simulate([NODE], events=workload, configuration=configuration)
    assert len(run.node_of) == 4
    starts = {row["pod"]: row["ended"].second + 60 * row["ended"].minute
              for row in run.tables["waits"].to_pylist()}  # fmt: skip
    assert starts == {"pod-0-0": 60, "pod-1-0": 60, "pod-1-1": 60, "pod-2-0": 60}
    assert len(run.warnings) == 1
    alone = pw.simulate([NODE], events=workload)
    assert "PodGroups of scheduling.x-k8s.io have no effect: no profile" in alone.warnings[-1]


def test_strange_frames_are_errors_that_say_what_to_do():
    doubled = pd.DataFrame([["0s", "1s"]], columns=["t", "t"])
    with pytest.raises(pw.InputError, match="t: 2 columns of this name"):
        pw.Workload.from_frame(doubled, arrival="t")
    with pytest.raises(pw.InputError, match='time: no such column; did you mean "times"'):
        pw.Workload.from_frame({"times": ["0s"]}, arrival="time")

    class LazyFrame:
        columns = ("t",)

        def collect(self):
            """Return the table."""

    with pytest.raises(pw.ArgumentError, match=r"not a LazyFrame; call its collect\(\)"):
        pw.Workload.from_frame(LazyFrame(), arrival="t")
    with pytest.raises(pw.InputError, match='prefix: Invalid value: "My_"'):
        pw.Workload.from_frame({"t": ["0s"]}, arrival="t", prefix="My_")


# ------------------------------------------------------------------------------- nodes


def test_a_table_of_nodes_becomes_nodes():
    frame = pd.DataFrame({
        "host": ["Node_1", "b"], "cores": [64, 96], "gib": [256.0, None], "gpus": [8, None],
        "max": [None, 32], "zone": ["a", "b"], "count": [1, 2],
    })  # fmt: skip
    nodes = pw.nodes_from_frame(
        frame,
        name="host",
        cpu="cores",
        memory="gib",
        pods="max",
        resources={"nvidia.com/gpu": "gpus"},
        unit={"memory": "GiB"},
        labels={"topology.kubernetes.io/zone": "zone"},
        replicas="count",
    )
    assert [node.name for node in nodes] == ["node-1-0", "b-0", "b-1"]
    first, second, _ = nodes
    amounts = {"pods": "110", "cpu": "64", "memory": str(256 << 30), "nvidia.com/gpu": "8"}
    assert dict(first.status.allocatable) == amounts
    assert dict(second.status.allocatable) == {"pods": "32", "cpu": "96"}
    assert first.metadata.labels["kubernetes.io/hostname"] == "node-1-0"
    assert first.metadata.annotations == {"podwright.dev/original-name": "Node_1"}
    run = pw.simulate([*nodes, make_pod("p", gpu=8)])
    assert run.node_of == {"default/p": "node-1-0"}


def test_a_table_of_nodes_needs_units_and_columns():
    with pytest.raises(pw.InputError, match=r'm\[0\]: 64 has no unit; .* unit={"memory": "GiB"}'):
        pw.nodes_from_frame({"m": [64]}, memory="m")
    with pytest.raises(pw.InputError, match="frame: no column is read; name at least one"):
        pw.nodes_from_frame({"m": [64]})
    assert [node.name for node in pw.nodes_from_frame({"c": [1, 2]}, cpu="c")] == [
        "node-0", "node-1"
    ]  # fmt: skip


def test_the_lines_of_a_table_are_packed_and_read_like_a_list():
    table = {"s": list(range(600)), "cpu": [1] * 600}
    workload = pw.Workload.from_frame(table, arrival="s", cpu="cpu", unit={"arrival": "s"})
    names = [line["apply"]["metadata"]["name"] for line in workload]
    assert names == [f"pod-{number}" for number in range(600)]
    assert workload[-1] == workload[599] == list(workload)[599]
    assert [line["at"] for line in workload[254:258]] == ["4m14s", "4m15s", "4m16s", "4m17s"]
    with pytest.raises(IndexError):
        workload[600]
    assert list(workload.times_ns[:2]) == [0, 10**9]


def test_an_ending_that_does_not_exist_is_reported_with_those_that_do():
    with pytest.raises(pw.InputError) as caught:
        pw.simulate([make_node("n")], ending="never")  # type: ignore[arg-type]
    assert str(caught.value) == (
        'ending: Unsupported value: "never": supported values: "after_run_time", "at_deletion_time"'
    )

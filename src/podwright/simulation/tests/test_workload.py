"""Pods of a trace arrive, run and end as its columns say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import podwright as pw
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


def run_times(frame: Any) -> list[str | None]:
    """Return the run time of each pod, as its annotation has it."""
    pods = pw.Workload.from_frame(frame, arrival="t", duration="d")
    found = [pod["apply"]["metadata"].get("annotations") for pod in pods]
    return [None if each is None else next(iter(each.values())) for each in found]


def test_pods_arrive_and_end():
    pods = pw.Workload.from_frame(
        COLUMNS, arrival="submitted", duration="seconds", cpu="cores", memory="bytes", name="job"
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
    pods = pw.Workload.from_frame(frame, arrival="t", resources={"nvidia.com/gpu": "gpus"})
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
    pods = pw.Workload.from_frame(frame, arrival="t", cpu="cpu", resources={"a.b/gpu": "gpu"})
    first, second = (line["apply"]["spec"]["containers"][0]["resources"] for line in pods)
    assert first == {"requests": {"cpu": "0.5"}}
    assert second == {"requests": {"a.b/gpu": "1"}, "limits": {"a.b/gpu": "1"}}


def test_a_workload_may_stand_among_other_events():
    first = pw.Workload.from_frame({"t": [0, 30]}, arrival="t")
    second = pw.Workload.from_frame({"t": [10], "n": ["late"]}, arrival="t", name="n")
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
        pw.Workload.from_frame(columns, arrival="t")
    assert [error.path for error in caught.value.errors] == [f"t[{row}]" for row in range(1, 8)]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        pytest.param(
            {"t": [0, "2026-01-01T00:00:00Z"]}, "t[1]: a time, but t[0] is a duration", id="forms"
        ),
        pytest.param(
            {"t": ["9999-01-01T00:00:00Z"]},
            't[0]: Invalid value: "9999-01-01T00:00:00Z": the years from 1678 to 2261 can be'
            " simulated",
            id="year",
        ),
        pytest.param(
            {"t": [0], "d": [-1]},
            'd[0]: Invalid value: "-1": seconds or a duration of 0 or more are expected',
            id="duration",
        ),
        pytest.param(
            {"t": [0, 0], "n": ["a", "a"]}, 'n[1]: Duplicate value: "a": also in n[0]', id="name"
        ),
        pytest.param(
            {"t": [0], "n": [None]}, "n[0]: Required value: a name is expected", id="none"
        ),
        pytest.param(
            {"t": [0], "c": ["much"]},
            'c[0]: Invalid value: "much": a quantity of 0 or more is expected, such as 2, 500m or'
            " 1Gi",
            id="quantity",
        ),
        pytest.param(
            {"t": [0], "c": [-0.5]},
            'c[0]: Invalid value: "-0.5": a quantity of 0 or more is expected, such as 2, 500m or'
            " 1Gi",
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
    with pytest.raises(pw.InputError) as caught:
        pw.Workload.from_frame(columns, arrival="t", **given)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(
            lambda: pw.Workload.from_frame([{"t": 1}], arrival="t"),
            "frame: a DataFrame, an Arrow table or a mapping of columns is expected, not a list",
            id="rows",
        ),
        pytest.param(
            lambda: pw.Workload.from_frame({"t": [1]}, arrival=0),  # type: ignore[arg-type]
            "arrival: the name of a column is expected, not an int",
            id="a number",
        ),
        pytest.param(
            lambda: pw.Workload.from_frame({"t": [1]}, arrival="t", resources=["t"]),  # type: ignore[arg-type]
            "resources: a mapping of resources to columns is expected, not a list",
            id="a list of resources",
        ),
        pytest.param(
            lambda: pw.Workload.from_frame(
                {"t": [1]}, arrival="t", cpu="t", resources={"cpu": "t"}
            ),
            "cpu and resources['cpu']: one of them is expected",
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

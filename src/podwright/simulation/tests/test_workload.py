"""Pods of a trace arrive, run and end as its columns say."""

from __future__ import annotations

import numpy as np
import pytest

import podwright as pw
from podwright.testing import make_node

COLUMNS = {
    "submitted": [60, 0, "1m30s"],
    "seconds": [30, 600.5, "1h"],
    "cores": [1, 0.5, "1500m"],
    "bytes": [2**30, "1Gi", 2**20],
    "job": ["b", "a", "c"],
}


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
    assert run.summary.simulated_ns >= 3690 * 10**9


def test_arrays_and_other_resources_are_accepted():
    frame = {"t": np.array([0.0, 1.0]), "gpus": np.array([1, 2])}
    pods = pw.Workload.from_frame(frame, arrival="t", resources={"nvidia.com/gpu": "gpus"})
    node = make_node("n1", cpu="2", resources={"nvidia.com/gpu": "2"})
    run = pw.simulate([node], events=pods, until="1m")
    assert list(run.node_of) == ["default/pod-0"]
    assert list(run.pending) == ["default/pod-1"]


def test_missing_columns_and_invalid_times_are_errors():
    with pytest.raises(pw.InputError, match="when: no such column"):
        pw.Workload.from_frame(COLUMNS, arrival="when")
    with pytest.raises(pw.InputError, match="n: 1 rows, but t has 2"):
        pw.Workload.from_frame({"t": [0, 1], "n": ["a"]}, arrival="t", name="n")
    columns = {"t": [0, float("nan"), "soon", -1]}
    with pytest.raises(pw.InputError) as caught:
        pw.Workload.from_frame(columns, arrival="t")
    assert [error.path for error in caught.value.errors] == ["t[1]", "t[2]", "t[3]"]

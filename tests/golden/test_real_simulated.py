"""Simulations of real inputs: the record of a control plane, and the trace of a cluster."""

from __future__ import annotations

import pytest
from tests.golden import real_cluster
from tests.traces import openb

import podwright as pw
from podwright.apimachinery.objects import encode
from podwright.apimachinery.objects.pods.requests import assigned_requests
from podwright.simulation.files.manifests import load
from podwright.simulation.recording.folders.run_folder import RunFolder

pytestmark = pytest.mark.golden


@pytest.mark.slow
@pytest.mark.share
def test_the_pods_of_a_real_cluster_are_placed_by_us_as_well(tmp_path):
    record = tmp_path / "record.jsonl"
    record.write_bytes(real_cluster.content("record.jsonl"))
    run = pw.simulate([], events=record, output=tmp_path / "run")
    counts = run.summary.counts
    # The recorded scheduler placed 1998 pods, and preempted for 120. Each of its decisions is
    # compared in test_real_record.py, from the recorded state. This run draws other nodes among
    # equal ones, so that other pods find no node later; what it decides with the default seed is:
    assert (counts.created, counts.placed, counts.failed_decisions) == (2082, 2072, 15_812)
    assert (counts.preemptions, counts.victims, counts.deleted) == (81, 150, 994)
    # No other work continues after the record.
    assert run.summary.simulated_ns < 10 * 60 * 10**9
    there = load(tmp_path / "run" / "objects.json").objects
    nodes = {obj.name: obj for obj in there if isinstance(obj, pw.Node)}
    requested = dict.fromkeys(nodes, 0)
    for obj in there:
        if isinstance(obj, pw.Pod) and obj.spec.node_name in nodes:
            is_over = obj.status.phase in ("Succeeded", "Failed")
            requested[obj.spec.node_name] += 0 if is_over else assigned_requests(obj).get("cpu", 0)
    overcommitted = [
        name
        for name, node in nodes.items()
        if requested[name] > int(_milli(encode(node)["status"]["allocatable"]["cpu"]))
    ]
    assert overcommitted == []


def _milli(text: str) -> int:
    return int(text.removesuffix("m")) if text.endswith("m") else 1000 * int(text)


@pytest.mark.slow
def test_every_pod_of_the_trace_is_created_placed_and_finished_at_its_time(tmp_path):
    run = pw.simulate(openb.unpacked(tmp_path), output=tmp_path / "run")
    counts = run.summary.counts
    assert (counts.created, counts.placed, counts.succeeded) == (openb.POD_COUNT,) * 3
    assert run.pending == {}
    # The last pod of the trace is deleted in second 12,902,960.
    assert run.summary.simulated_ns == 12_902_960 * 10**9
    assert run.tables["decisions"].num_rows == openb.POD_COUNT
    assert RunFolder.open(tmp_path / "run").manifest.status == "finished"

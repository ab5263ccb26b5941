"""`podwright explain --run RUN -o kss` prints the annotations of kube-scheduler-simulator."""

import json

import pytest
from tests.e2e.command_line import QUICKSTART, run

from podwright.simulation.kss.annotations import kss_annotations
from podwright.simulation.recording.log.decision_log import DecisionLog

PREFIX = "kube-scheduler-simulator.sigs.k8s.io/"


def annotated(line, status=0):
    pod = json.loads(run(f"{line} -o kss", status=status).stdout)
    assert (pod["apiVersion"], pod["kind"], pod["metadata"].keys()) == (
        "v1", "Pod", {"name", "namespace", "annotations"},
    )  # fmt: skip
    return pod["metadata"]


def test_a_pod_is_printed_with_its_annotations(a_run):
    metadata = annotated(f"explain batch --run {a_run}")
    assert (metadata["namespace"], metadata["name"]) == ("default", "batch")
    annotations = metadata["annotations"]
    assert len(json.loads(annotations[f"{PREFIX}result-history"])) == 4
    assert json.loads(annotations[f"{PREFIX}bind-result"]) == {"DefaultBinder": "success"}
    with DecisionLog.open(a_run / "log") as log:
        assert annotations == kss_annotations(log, "default/batch")


def test_an_attempt_that_failed_ends_as_an_explanation_of_it_does(a_run):
    annotations = annotated(f"explain batch --run {a_run} --attempt 1", status=1)["annotations"]
    assert len(json.loads(annotations[f"{PREFIX}result-history"])) == 1
    assert annotations[f"{PREFIX}selected-node"] == ""
    by_time = annotated(f"explain batch --run {a_run} --at 31s", status=1)["annotations"]
    assert by_time == annotations


@pytest.mark.parametrize(
    ("line", "output"),
    [
        pytest.param(f"web-0 {QUICKSTART}", "kss requires --run", id="no run"),
        pytest.param(
            "web --run RUN --node small", "kss always includes all nodes.", id="some nodes"
        ),
        pytest.param("wep --run RUN", "did you mean default/web", id="no such pod"),
    ],
)
def test_invalid_annotation_requests_are_rejected(line, output, a_run):
    assert output in run(f"explain {line.replace('RUN', str(a_run))} -o kss", status=2).stderr

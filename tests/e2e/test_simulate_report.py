"""The report of `podwright simulate`: the exact output, as text and as JSON."""

from __future__ import annotations

import json

import pytest
import yaml
from tests.e2e.command_line import run

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: i, resources: {requests: {cpu: "1", memory: 1Gi}}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {requests: {cpu: "1", memory: 1Gi}}}]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  maxReplicas: 5
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
---
apiVersion: v1
kind: Pod
metadata: {name: alone}
spec:
  nodeName: n2
  containers: [{name: c, image: i, resources: {requests: {cpu: "1", memory: 1Gi}}}]
"""

EVENTS = """
{"at": "10m", "drain": "n1"}
{"at": "20m", "drain": "n2"}
"""

OUTPUT = """\
Simulated 1h0m0s: 3 decisions for 4 pods, 3 placed, 1 succeeded, 0 failed, 2 deleted.
Evictions: 2 by drains (4 attempts rejected).

Waiting times of scheduled pods:
  MEAN  P50  P90  P99  MAX
  0s    0s   0s   0s   0s

Utilization:
  RESOURCE  MEAN    PEAK    FRAGMENTED
  cpu       29.17%  37.50%  0.00%
  memory    14.58%  18.75%  0.00%
  pods      5.83%   7.50%   0.00%
  FRAGMENTED: the share of the free amount that typical pods of the run cannot use.
All pods are scheduled.

Drains:
  NODE  STATUS   SINCE  EVICTED  BLOCKED BY
  n1    blocked  10m0s  1        poddisruptionbudget/default/web since 10m0s, 2 pods left
  n2    done     20m0s  1

Lost pods (not replaced):
  POD            NODE  CAUSE    AT
  default/alone  n2    evicted  20m0s

Kinds without effect:
  KIND                     OBJECTS  EFFECT
  HorizontalPodAutoscaler  1        scales to its bounds only: no usage is declared

Note: pods are ready as soon as they are bound (0s), so rollouts and replacements take no time by\
 themselves; KWOK Stages set a delay.
"""

OUTPUT_OF_A_DELETED_NODE = """\
Unscheduled pods:
  PODS  REASON
  3     node(s) were unschedulable

Drains:
  NODE  STATUS  SINCE  EVICTED
  n2    done    10m0s  1

Workloads below their target:
  WORKLOAD                LOWEST  AT      BELOW TARGET  AT THE END
  deployment/default/web  0/2     30m40s  29m           0/2

Rollouts:
  WORKLOAD                STARTED  DURATION  STATUS       UPDATED
  deployment/default/web  40m0s    20m       in progress  1/2

Lost pods (not replaced):
  POD            NODE  CAUSE    AT
  default/alone  n2    evicted  10m0s

Kinds without effect:
  KIND                     OBJECTS  EFFECT
  HorizontalPodAutoscaler  1        scales to its bounds only: no usage is declared

Note: pods are ready as soon as they are bound (0s), so rollouts and replacements take no time by\
 themselves; KWOK Stages set a delay.
"""

JOB_WARNING = (
    "warning: job/default/train: no duration, so the pods complete as soon as they run (0s); set"
    " --job-duration, or the annotation pod-complete.stage.kwok.x-k8s.io/delay of the pod"
    " template\n"
)


@pytest.fixture
def line(tmp_path):
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "events.jsonl").write_text(EVENTS.lstrip())
    return f"simulate {tmp_path}/cluster.yaml --events {tmp_path}/events.jsonl --until 1h"


def test_the_report_is_printed_after_the_summary(line):
    result = run(line)
    assert result.stdout == OUTPUT
    assert JOB_WARNING in result.stderr


def test_workloads_below_their_target_and_open_rollouts_are_printed(line, tmp_path):
    events = [
        {"at": "10m", "drain": "n2"},
        {"at": "30m", "delete": "node/n1"},
        {"at": "40m", "apply": "DEPLOYMENT"},
    ]
    deployment = next(
        document for document in yaml.safe_load_all(CLUSTER) if document["kind"] == "Deployment"
    )
    deployment["spec"]["template"]["spec"]["containers"][0]["image"] = "new"
    events[2]["apply"] = deployment
    (tmp_path / "events.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in events))
    printed = run(line, status=1).stdout
    assert printed[printed.index("Unscheduled pods") :] == OUTPUT_OF_A_DELETED_NODE


def test_the_report_in_json_is_the_same_with_a_run_folder_and_after_it(line, tmp_path):
    document = run(f"{line} -o json").stdout
    folder = tmp_path / "run"
    assert run(f"{line} -o json --out {folder}").stdout == document
    assert (folder / "summary.json").read_text() == document
    assert run(f"simulate --resume {folder} -o json").stdout == document
    report = json.loads(document)["report"]
    assert [drain["status"] for drain in report["drains"]] == ["blocked", "done"]
    assert report["drains"][0]["blockedBy"] == ["default/web"]
    assert report["ignoredKinds"][0]["kind"] == "HorizontalPodAutoscaler"
    assert len(report["notes"]) == 2


def test_a_job_duration_is_used_and_stored_for_resuming(line, tmp_path):
    result = run(f"{line} --job-duration 5m -o json --out {tmp_path}/run")
    assert JOB_WARNING not in result.stderr
    assert len(json.loads(result.stdout)["report"]["notes"]) == 1
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert manifest["options"]["jobDuration"] == "5m"
    assert "--job-duration: Invalid value" in run(f"{line} --job-duration soon", status=2).stderr


def test_a_load_that_cannot_be_placed_is_announced_before_the_run(tmp_path):
    document = CLUSTER.replace("replicas: 2", "replicas: 1000")
    (tmp_path / "cluster.yaml").write_text(document)
    result = run(f"simulate {tmp_path}/cluster.yaml --until 1s --job-duration 1m", status=1)
    assert result.stderr == (
        "warning: at least 993 of 1001 pods do not fit on the initial nodes and never end: they"
        " request 1001 cpu of 8; the run ends when only their retries remain, or at --until\n"
    )


def test_the_pods_of_a_dump_without_their_owners_are_counted_by_owner(tmp_path):
    """A dump of pods and nodes only: nothing replaces the pods, which a drain evicts."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "controller": True}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"web-1-{number}", "namespace": "default", "uid": f"u{number}",
                "resourceVersion": "1", "ownerReferences": [owner | {"uid": "gone"}],
            },
            "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
        }
        for number in range(2)
    ]  # fmt: skip
    nodes = "---".join(CLUSTER.split("---")[:2])
    (tmp_path / "cluster.yaml").write_text(nodes + "---\n" + yaml.safe_dump_all(pods))
    (tmp_path / "events.jsonl").write_text('{"at": "10m", "drain": "n1"}\n')
    line = f"simulate {tmp_path}/cluster.yaml --events {tmp_path}/events.jsonl --until 1h"
    printed = run(line).stdout
    assert printed.partition("\nLost pods")[2] == (
        " (not replaced):\n"
        "  POD              NODE  CAUSE    AT     MISSING OWNER\n"
        "  default/web-1-0  n1    evicted  10m0s  ReplicaSet default/web-1\n"
        "  default/web-1-1  n1    evicted  10m0s  ReplicaSet default/web-1\n"
        "\n"
        "Missing owners (their pods are not replaced):\n"
        "  MISSING OWNER             PODS  SUCH AS\n"
        "  ReplicaSet default/web-1  2     default/web-1-0\n"
    )

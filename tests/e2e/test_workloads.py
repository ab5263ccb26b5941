"""Workloads in `podwright schedule` and `podwright explain`."""

import json

import pytest
from tests.e2e.command_line import NODES, pod, run

CHART = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: "web:1", resources: {requests: {cpu: "4"}}}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: shop}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "web:1", resources: {requests: {cpu: "1"}}}]
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: shop}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: "web:1"}]
"""
REPORT = (
    "warning: CronJob shop/nightly creates no pods now: "
    'it creates jobs by its schedule "0 3 * * *"\n'
    "Expanded 1 Deployment, 1 Job into 4 pods.\n"
)


def test_a_rendered_chart_is_checked_against_a_cluster(write):
    result = run(f"schedule {write('nodes.yaml', NODES)} - --explain", status=1, stdin=CHART)
    assert result.stdout == (
        "NAMESPACE  POD               NODE\n"
        "shop       web-677bc79bdb-0  large\n"
        "shop       web-677bc79bdb-1  large\n"
        "shop       web-677bc79bdb-2  <none>\n"
        "shop       migrate-0         small\n"
        "\n"
        "Reasons by pod:\n"
        "  shop/web-677bc79bdb-2\n"
        "    2 nodes: Insufficient cpu (NodeResourcesFit)\n"
    )
    # The input is gone when a suggested command is pasted, so none is suggested.
    assert result.stderr == f"{REPORT}3 of 4 pending pods scheduled on 2 nodes; 1 does not fit.\n"


def test_workloads_of_a_kind_that_create_no_pods_are_one_warning(write):
    """A dump of a cluster has many finished jobs."""
    ended = '{conditions: [{type: Complete, status: "True"}]}'
    job = CHART.split("---")[1]
    jobs = [job.replace("migrate", f"job-{n}") + f"status: {ended}\n" for n in range(3)]
    files = write("cluster.yaml", "---".join([NODES, *jobs]) + pod("web", "1"))
    assert run(f"schedule {files}").stderr == (
        "warning: 3 Jobs create no pods now, such as shop/job-0: it has the condition Complete\n"
        "1 of 1 pending pod scheduled on 2 nodes.\n"
    )


def test_the_rule_sets_are_compared_on_a_rendered_chart(write):
    result = run(f"compare-rules {write('nodes.yaml', NODES)} - -o json", stdin=CHART)
    assert result.stderr == REPORT
    document = json.loads(result.stdout)
    assert [pod["pod"] for pod in document["pods"]] == [
        "shop/web-677bc79bdb-0", "shop/web-677bc79bdb-1", "shop/web-677bc79bdb-2", "shop/migrate-0",
    ]  # fmt: skip
    assert document["summary"]["placed"] == {"modern": 3, "classic": 3}


def test_the_first_pod_of_a_workload_that_does_not_fit_is_explained(write):
    files = f"{write('nodes.yaml', NODES)} {write('chart.yaml', CHART)}"
    result = run(f"explain deployment/web {files}", status=1)
    assert result.stderr == REPORT
    assert result.stdout.startswith(
        "Pod:      shop/web-677bc79bdb-2\n"
        "Of:       Deployment shop/web (3 pods, 1 does not fit)\n"
        "Context:  after scheduling 2 pending pods ahead of it\n"
        "Node:     <none>\n"
    )
    assert "  - add a node like large\n" in result.stdout
    document = json.loads(run(f"explain deploy/web {files} -o json", status=1).stdout)
    assert document["workload"] == {
        "kind": "Deployment", "name": "shop/web", "pods": 3, "unfit": ["shop/web-677bc79bdb-2"],
    }  # fmt: skip


@pytest.mark.parametrize("name", ["job/migrate", "jobs.batch/migrate", "job/shop/migrate"])
def test_the_first_pod_of_a_workload_that_fits_is_explained(write, name):
    files = f"{write('nodes.yaml', NODES)} {write('chart.yaml', CHART)}"
    text = run(f"explain {name} {files} -n shop").stdout
    assert text.startswith(
        "Pod:      shop/migrate-0\nOf:       Job shop/migrate (1 pod, all fit)\n"
    )


def test_the_pods_of_one_workload_are_scheduled_alone(write):
    files = f"{write('nodes.yaml', NODES)} {write('chart.yaml', CHART)}"
    result = run(f"schedule {files} --pod job/migrate -o name")
    assert result.stdout == "shop/migrate-0\n"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        pytest.param("deployment/wbe", 'no Deployment "wbe" in these files; did you mean shop/web?',
                     id="a misspelt name"),
        pytest.param("deployment/web -n other",
                     'no Deployment "web" in namespace "other" in these files; did you mean'
                     " shop/web?",
                     id="another namespace"),
        pytest.param("web", 'no pod "web" in these files; did you mean deployment/web'
                     " (namespace shop)?", id="the name of a workload"),
        pytest.param("deployemnt/web", "did you mean deployment/web (namespace shop)?",
                     id="a misspelt kind"),
        pytest.param("cronjob/nightly", "CronJob shop/nightly has no pods: it creates jobs by its"
                     ' schedule "0 3 * * *"', id="a cron job"),
        pytest.param("sts/db", 'no StatefulSet "db" in these files', id="a kind that is absent"),
    ],
)  # fmt: skip
def test_a_name_that_is_not_found_is_answered_with_suggestions(write, name, error):
    files = f"{write('nodes.yaml', NODES)} {write('chart.yaml', CHART)}"
    assert error in run(f"explain {name} {files}", status=2).stderr


def test_a_namespace_may_have_the_name_of_a_kind(write):
    files = write("cluster.yaml", NODES + pod("web", "1", namespace="job"))
    assert "Pod:      job/web" in run(f"explain job/web {files}").stdout


def test_a_chart_without_pods_now_is_no_success(write):
    cron_job = CHART.rpartition("---")[2]
    result = run(f"schedule {write('nodes.yaml', NODES)} -", status=2, stdin=cron_job)
    assert result.stderr.endswith(
        "error: nothing to schedule: no pending pods among 0 pods (0 already placed, 2 nodes)\n"
    )
    assert "CronJob shop/nightly creates no pods now" in result.stderr


def test_an_invalid_template_is_an_error(write):
    wrong = CHART.replace('cpu: "4"', 'cpu: "four"')
    result = run(f"schedule {write('nodes.yaml', NODES)} -", status=2, stdin=wrong)
    path = "spec.template.spec.containers[0].resources.requests[cpu]"
    assert f'{path}: Invalid value: "four"' in result.stderr


BOUNDED = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 4
  maxReplicas: 6
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: team, namespace: shop}
spec: {hard: {pods: "6"}}
"""


def test_schedule_applies_autoscalers_and_quotas(write):
    files = write("chart.yaml", f"{NODES}---{CHART}---{BOUNDED}")
    least = run(f"schedule {files} --exit-zero -o name")
    assert "Deployment shop/web has 4 replicas, minReplicas of Horizontal" in least.stderr
    assert "Expanded 1 Deployment, 1 Job into 5 pods." in least.stderr
    most = run(f"schedule {files} --hpa max -o name", status=1)
    assert "1 of 1 new pods not created: exceeded quota: team, requested: pods=1" in most.stderr


@pytest.mark.parametrize(
    "command",
    ["explain deployment/shop/web FILE", "diff FILE --to-seed 1", "compare-rules FILE"],
)
def test_all_commands_that_expand_workloads_apply_autoscalers(write, command):
    bounded = BOUNDED.partition("---")[0]
    line = command.replace("FILE", write("chart.yaml", f"{NODES}---{CHART}---{bounded}"))
    for option, replicas in (("", 4), ("--hpa max", 6)):
        printed = run(f"{line} {option} --exit-zero").stderr
        assert f"Deployment shop/web has {replicas} replicas, m" in printed
    idle = command.replace("FILE", write("alone.yaml", f"{NODES}---{CHART}"))
    printed = run(f"{idle} --hpa max --exit-zero").stderr
    assert "warning: --hpa max has no effect: the files have no Horizontal" in printed

"""Folders and files as users have them: charts, kustomizations, bundles, snapshots."""

from __future__ import annotations

import json

import pytest
import yaml
from tests.e2e.command_line import NODES, pod, run

CHART = {
    "shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
    "shop/values.yaml": "replicas: 2\n",
    "shop/templates/_helpers.tpl": '{{- define "shop.name" }}shop{{ end }}\n',
    "shop/templates/deployment.yaml": "kind: Deployment\nmetadata: {name: {{ .Chart.Name }}}\n",
}
KUSTOMIZE = {
    "base/kustomization.yaml": "resources: [pod.yaml]\n",
    "base/pod.yaml": pod("web", "1"),
    "overlay/kustomization.yaml": (
        "resources: [../base]\npatchesStrategicMerge: [bigger.yaml]\nnamespace: shop\n"
    ),
    "overlay/bigger.yaml": pod("web", "2"),
}
OTHERS = {"package.json": '{"name": "shop"}', ".github/ci.yaml": "on: push\n"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def written(files):
        for name, text in {"cluster/nodes.yaml": NODES, **files}.items():
            file = tmp_path / "cluster" / name if "/nodes" not in name else tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return "cluster"

    return written


@pytest.mark.parametrize("command", ["schedule", "simulate", "convert"])
def test_a_folder_with_other_files_is_read(folder, command):
    files = CHART | KUSTOMIZE | OTHERS | {"db.yaml": pod("db", "1")}
    result = run(f"{command} {folder(files)}")
    assert result.stderr.splitlines()[:4] == [
        "cluster/base: skipped a kustomization (kustomization.yaml, pod.yaml); render it first:"
        " kubectl kustomize cluster/base",
        "cluster/overlay: skipped a kustomization (bigger.yaml, kustomization.yaml); render it"
        " first: kubectl kustomize cluster/overlay",
        "cluster: skipped files without apiVersion and kind (package.json)",
        "cluster/shop: skipped a Helm chart (Chart.yaml, templates/deployment.yaml, values.yaml);"
        " render it first: helm template cluster/shop",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shop", "no manifests in this folder, only a Helm chart"),
        ("shop/values.yaml", "part of a Helm chart, not a manifest"),
        ("shop/templates/deployment.yaml", "part of a Helm chart, not a manifest"),
    ],
)
def test_the_sources_of_a_chart_by_name_are_an_error(folder, name, expected):
    folder(CHART)
    assert run(f"schedule cluster/{name}", status=2).stderr == (
        f"error: cluster/{name}: {expected}; render it first: helm template cluster/shop\n"
    )


def test_a_rendered_chart_is_read(folder):
    rendered = f"---\n# Source: shop/templates/pod.yaml{pod('web', '1')}---\n# Source: empty.yaml\n"
    result = run(f"schedule {folder({'rendered.yaml': rendered})} -o name")
    assert result.stdout == "default/web\n"
    assert "skipped" not in result.stderr


SNAPSHOT = """{{"pods": [{{"metadata": {{"name": "web", "namespace": "default"}},
  "spec": {{"containers": [{{"name": "c", "image": "web"}}]}}}}],
 "nodes": [{{"metadata": {{"name": "n1"}},
  "status": {{"allocatable": {{"cpu": "4", "memory": "8Gi", "pods": "110"}}}}}}],
 "pvs": [], "pvcs": [], "storageClasses": [], {more}
 "schedulerConfig": {configuration}}}
"""
FILTERS = '[{"name": "NodeName"}, {"name": "EBSLimits"}, {"name": "GCEPDLimits"}]'
OLD = f"""{{"parallelism": 16, "healthzBindAddress": "0.0.0.0:10251", "percentageOfNodesToScore": 0,
 "metricsBindAddress": "0.0.0.0:10251", "profiles": [{{"schedulerName": "default-scheduler",
  "plugins": {{"filter": {{"enabled": {FILTERS}}}, "permit": {{}},
   "score": {{"enabled": [{{"name": "NodeAffinity", "weight": 1}}]}}}}}}]}}"""
CURRENT = """{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
 "profiles": [{"schedulerName": "default-scheduler"}]}"""


@pytest.mark.parametrize(
    ("more", "configuration", "warnings"),
    [
        pytest.param(
            "",
            OLD,
            [
                "it has no apiVersion and kind; it is read as kubescheduler.config.k8s.io/v1",
                "plugins that Kubernetes has removed are ignored: EBSLimits, GCEPDLimits",
                "fields that kubescheduler.config.k8s.io/v1 does not have are ignored:"
                " healthzBindAddress, metricsBindAddress",
            ],
            id="the form without a version, namespaces and priority classes",
        ),
        pytest.param(
            '"priorityClasses": [],',
            CURRENT.replace("io/v1", "io/v1beta3"),
            [
                "its version is kubescheduler.config.k8s.io/v1beta3; it is read as"
                " kubescheduler.config.k8s.io/v1"
            ],
            id="the form of an older version",
        ),
        pytest.param(
            '"priorityClasses": [], "namespaces": [],', CURRENT, [], id="the current form"
        ),
        pytest.param('"namespaces": null,', "null", [], id="an external scheduler"),
    ],
)
@pytest.mark.parametrize("command", ["schedule", "simulate"])
def test_snapshots_of_all_versions_are_read(write, command, more, configuration, warnings):
    file = write("s.json", SNAPSHOT.format(more=more, configuration=configuration))
    stderr = run(f"{command} {file}").stderr
    found = [line for line in stderr.splitlines() if "schedulerConfig" in line]
    assert found == [f"warning: {file}: schedulerConfig: {text}" for text in warnings]


def test_the_configuration_option_replaces_that_of_a_snapshot(write):
    file = write("s.json", SNAPSHOT.format(more="", configuration='{"profiles": 7}'))
    assert "profiles" in run(f"schedule {file}", status=2).stderr
    config = write("c.yaml", CURRENT)
    assert "1 of 1 pending pod scheduled" in run(f"schedule {file} -c {config}").stderr


STAGES = """apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-ready}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.phase, operator: In, values: [Pending]}
  next:
    event: {type: Normal, reason: Started, message: "started {{ .metadata.name }}"}
    statusTemplate: |
      {{ with NodeIPsWith .spec.nodeName }}
      hostIP: {{ index . 0 | Quote }}
      hostIPs:
      {{ range . }}
      - ip: {{ . | Quote }}
      {{ end }}
      {{ end }}
      phase: Running
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-settings}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .status.phase, operator: In, values: [Running]}
    - {key: .metadata.labels.settings, operator: DoesNotExist}
  steps:
  - apply:
      template: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ .metadata.name }}-settings}
        data: {host: {{ .status.hostIP | replace "." "-" | Quote }}}
  - patch: {root: metadata, template: "labels: {settings: done}"}
"""


def test_stages_apply_objects_and_record_event_messages_as_they_are(write, tmp_path):
    files = f"{write('cluster.yaml', NODES + pod('web', '1'))} {write('stages.yaml', STAGES)}"
    result = run(f"simulate {files} --no-tables --out {tmp_path}/run")
    assert (
        f"warning: {tmp_path}/stages.yaml: document 1 (line 1): spec.next.event.message: not a"
        " template; it is recorded as it is"
    ) in result.stderr
    objects = json.loads((tmp_path / "run" / "objects.json").read_text())["items"]
    (settings,) = [each for each in objects if each["kind"] == "ConfigMap"]
    assert settings["metadata"]["namespace"] == "default"
    assert settings["metadata"]["name"] == "web-settings"
    assert settings["data"] == {"host": "10-0-0-2"}


def in_events(write, lines):
    return write("events.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))


def final_objects(folder):
    return json.loads((folder / "run" / "objects.json").read_text())["items"]


def test_an_applied_pod_stays_on_its_node_with_its_new_requests(write, tmp_path):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "large"}}
    status = {"status": {"allocatable": {"cpu": "16"}}}
    events = in_events(
        write,
        [
            {"at": "1m", "apply": yaml.safe_load(pod("web", "2").partition("---")[2])},
            {"at": "2m", "apply": node | status, "subresource": "status"},
        ],
    )
    files = write("cluster.yaml", NODES + pod("web", "1"))
    run(f"simulate {files} --events {events} --no-tables --out {tmp_path}/run")
    objects = final_objects(tmp_path)
    (web,) = [each for each in objects if each["kind"] == "Pod"]
    assert web["spec"]["nodeName"] in {"small", "large"}
    assert web["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2"}
    (large,) = [each for each in objects if each["metadata"]["name"] == "large"]
    assert large["status"]["allocatable"] == {"cpu": "16", "memory": "16Gi", "pods": "110"}
    assert large["status"]["conditions"]


def test_a_status_of_a_missing_object_is_an_error(write):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n9"}, "status": {}}
    line = {"at": "1m", "apply": node, "subresource": "status"}
    events = in_events(write, [line, line | {"subresource": "scale"}])
    stderr = run(f"simulate {write('c.yaml', NODES)} --events {events}", status=2).stderr
    assert 'line 1: apply: Node "n9" does not exist at that time' in stderr
    assert 'line 2: subresource: Unsupported value: "scale": supported values: "status"' in stderr


def test_a_record_may_begin_before_1970(write, tmp_path):
    node = yaml.safe_load(NODES.partition("---")[0])
    web = yaml.safe_load(pod("web", "1").partition("---")[2])
    times = ("1969-12-31T23:59:50Z", "1970-01-01T00:00:20Z")
    added = zip(times, (node, web), strict=True)
    record = in_events(write, [{"time": t, "event": "Add", "resource": obj} for t, obj in added])
    run(f"simulate --events {record} --no-tables --out {tmp_path}/run")
    assert {each["kind"] for each in final_objects(tmp_path)} >= {"Node", "Pod"}
    assert "web" not in run(f"convert {record} -o json --at 5s").stdout

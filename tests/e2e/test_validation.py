"""Manifests are read as kubectl apply --validate=strict reads them."""

from __future__ import annotations

import pytest
from tests.e2e.command_line import NODES, run

import podwright as pw

POD = """
---
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  containers: [{{name: main, image: app, resources: {{requests: {{{requests}}}}}}}]
  {spec}
"""


def pod(spec: str = "", *, name: str = "web", requests: str = "cpu: 1") -> str:
    return POD.format(name=name, requests=requests, spec=spec)


REFUSED = [
    pytest.param(
        pod("tolerationz: []"),
        'line 18): spec.tolerationz: unknown field; did you mean "tolerations"?',
        id="a misspelled field",
    ),
    pytest.param(
        pod("nodeselector: {disk: ssd}"),
        'line 18): spec.nodeselector: unknown field; did you mean "nodeSelector"?',
        id="a field in the wrong case",
    ),
    pytest.param(
        pod("env: []"),
        "line 18): spec.env: unknown field; it is a field of spec.containers[]",
        id="a field at the wrong level",
    ),
    pytest.param(
        pod("priority: 1\n  priority: 2"),
        'cluster.yaml: line 19: duplicate key "priority"',
        id="a duplicate field",
    ),
    pytest.param(
        pod(requests="cpu: -1"),
        "line 17): spec.containers[0].resources.requests[cpu]: Invalid value: ",
        id="a negative request",
    ),
    pytest.param(
        pod().replace("requests: {cpu: 1}", "requests: {cpu: 2}, limits: {cpu: 1}"),
        "spec.containers[0].resources.requests: Invalid value: ",
        id="a request above its limit",
    ),
    pytest.param(
        "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: []}\n",
        "spec.containers: Required value",
        id="no containers",
    ),
    pytest.param(
        pod(
            "topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable:"
            " DoNotSchedule, labelSelector: {matchLabels: {a: b}}}]"
        ),
        "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
        id="a skew of zero",
    ),
    pytest.param(
        pod(name="Web_1"),
        'metadata.name: Invalid value: "Web_1": ',
        id="a bad name",
    ),
    pytest.param(
        pod("priorityClassName: urgent"),
        'spec.priorityClassName: there is no PriorityClass "urgent"',
        id="an unknown priority class",
    ),
    pytest.param(
        pod("nodeName: 5"),
        "spec.nodeName: Invalid value: 5: must be a string; put it in quotes",
        id="a number as a string",
    ),
    pytest.param(
        pod("restartPolicy: Alway"),
        'spec.restartPolicy: Unsupported value: "Alway": ',
        id="a misspelled value",
    ),
    pytest.param(
        "\n---\napiVersion: apps/v2\nkind: Deployment\nmetadata: {name: web}\n",
        'line 14): kind: no matches for kind "Deployment" in version "apps/v2"; use apps/v1',
        id="a version that never was",
    ),
    pytest.param(
        "\n---\napiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: web}\n",
        'kind: no matches for kind "Ingress" in version "extensions/v1beta1"; use'
        " networking.k8s.io/v1",
        id="a version that was removed",
    ),
    pytest.param(
        "\n---\napiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: web}\n",
        "Kubernetes 1.36 does not serve this kind",
        id="a kind that was removed",
    ),
]
"""Documents behind two nodes, and a part of the error."""


@pytest.mark.parametrize(("text", "error"), REFUSED)
def test_what_the_api_server_rejects_is_an_error(write, text: str, error: str) -> None:
    refused = run(f"schedule {write('cluster.yaml', NODES + text)}", status=2)
    assert error in refused.stderr
    assert len(refused.stderr.splitlines()) == 1, refused.stderr
    assert refused.stdout == ""


@pytest.mark.parametrize("command", ["schedule", "simulate", "explain web", "convert"])
def test_every_command_reports_all_problems_of_all_documents(write, command: str) -> None:
    files = write(
        "cluster.yaml", NODES + pod("foo: 1\n  bar: 2") + pod(name="b", requests="cpu: x")
    )
    lines = run(f"{command} {files}", status=2).stderr.splitlines()
    assert [line.partition("): ")[2].partition(":")[0] for line in lines] == [
        "spec.foo",
        "spec.bar",
        "spec.containers[0].resources.requests[cpu]",
    ]


MANY = (
    pod(
        "hostname: 5\n  restartPolicy: Alway\n  priorityClassName: urgent",
        name="Web_1",
        requests="cpu: -1",
    )
    + pod("tolerationz: []\n  priority: high\n  priorityClassName: none", name="b")
    + """
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: high
"""
)
"""Wrong types, invalid values and a missing priority class, all at once."""


@pytest.mark.parametrize("command", ["schedule", "simulate", "explain web"])
def test_errors_of_decoding_hide_no_other_errors(write, command: str) -> None:
    files = write("cluster.yaml", NODES + MANY)
    lines = run(f"{command} {files}", status=2).stderr.splitlines()
    found = [line.removeprefix(f"error: {files}: document ") for line in lines]
    assert [line.partition("): ")[2].partition(":")[0] for line in found] == [
        "spec.hostname",
        "metadata.name",
        "spec.containers[0].resources.requests[cpu]",
        "spec.restartPolicy",
        "spec.tolerationz",
        "spec.priority",
        "value",
        "spec.priorityClassName",
    ]
    assert [line.partition(":")[0] for line in found] == [
        *["3 (line 18)", "3 (line 15)", "3 (line 17)", "3 (line 19)"],
        *["4 (line 28)", "4 (line 29)", "5 (line 36)", "4 (line 23)"],
    ]
    assert lines[-1].endswith('there is no PriorityClass "none"')


def test_a_document_that_cannot_be_read_leaves_references_unchecked(write) -> None:
    files = write("cluster.yaml", NODES + pod("priorityClassName: urgent") + "\n---\na: [\n")
    (line,) = run(f"schedule {files}", status=2).stderr.splitlines()
    assert "not YAML" in line


def test_errors_in_objects_and_in_events_are_reported_together(write) -> None:
    files = write("cluster.yaml", NODES + pod("hostname: 5"))
    events = write(
        "events.jsonl",
        '{"at": "1m", "drain": "large"}\n{"at": "2m", "delete": "pod/web"}\n'
        '{"at": "3m", "drain": "absent"}\n{"at": "4m", "drain": 5}\n',
    )
    lines = run(f"simulate {files} --events {events}", status=2).stderr.splitlines()
    assert [line.rpartition("/")[2] for line in lines] == [
        "cluster.yaml: document 3 (line 18): spec.hostname: Invalid value: 5: must be a string"
        "; put it in quotes",
        'events.jsonl: line 3: drain: Node "absent" does not exist at that time',
        "events.jsonl: line 4: drain: Invalid value: 5: must be a string or an object",
    ]


def test_duplicate_keys_are_reported_or_ignored_on_request(write) -> None:
    files = write("cluster.yaml", NODES + pod("priority: 1\n  priority: 2"))
    warned = run(f"schedule {files} --validate warn").stderr
    assert f'warning: {files}: line 19: duplicate key "priority"\n' in warned
    assert "duplicate" not in run(f"schedule {files} --validate ignore").stderr


def test_the_objects_of_event_lines_are_validated(write) -> None:
    files = write("cluster.yaml", NODES)
    document = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"foo": 1}}'
    events = write("events.jsonl", f'{{"at": "1m", "apply": {document}}}\n')
    refused = run(f"simulate {files} --events {events}", status=2).stderr
    assert "line 1: apply.spec.foo: unknown field" in refused


@pytest.mark.parametrize("command", ["schedule", "explain web"])
def test_problems_are_reported_or_ignored_on_request(write, command: str) -> None:
    files = write("cluster.yaml", NODES + pod("foo: 1\n  priorityClassName: none"))
    warned = run(f"{command} {files} --validate warn").stderr
    assert f"warning: {files}: document 3 (line 18): spec.foo: unknown field\n" in warned
    assert 'there is no PriorityClass "none"' in warned
    ignored = run(f"{command} {files} --validate=ignore").stderr
    assert "foo" not in ignored
    assert "PriorityClass" not in ignored


def test_python_reports_problems_as_the_commands_do(write) -> None:
    files = write("cluster.yaml", NODES + pod("foo: 1"))
    unknown = f"{files}: document 3 (line 18): spec.foo: unknown field"
    for read in (pw.load, pw.simulate):
        with pytest.raises(pw.InputError) as refused:
            read(files)
        assert str(refused.value) == unknown
        assert read(files, validate="warn").warnings == (unknown,)
        assert read(files, validate="ignore").warnings == ()


STORED = """
---
apiVersion: v1
kind: Pod
metadata: {name: web, uid: u1, resourceVersion: "5"}
spec: {containers: [{name: main, image: app, newer: 1}], newest: 2}
---
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: {name: web, uid: u2, resourceVersion: "6", namespace: default}
spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}
"""


def test_objects_of_a_server_are_read_with_one_warning_for_each_kind(write) -> None:
    files = write("cluster.yaml", NODES + STORED)
    result = run(f"schedule {files}")
    assert "large" in result.stdout or "small" in result.stdout
    assert result.stderr.count("warning") == 1
    assert (
        "v1 Pod: unknown fields spec.containers[].newer, spec.newest ignored (newer than"
        " Kubernetes 1.36 or misspelled)" in result.stderr
    )
    assert "apiVersion: policy/v1\n" in run(f"convert {files}").stdout


@pytest.mark.parametrize("command", ["schedule", "simulate"])
def test_a_node_with_capacity_only_has_room(write, command: str) -> None:
    node = (
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
        "status: {capacity: {cpu: 4, memory: 32Gi, pods: 110}}\n"
    )
    fits = write("fits.yaml", node + pod(requests="cpu: 4"))
    run(f"{command} {fits}")
    too_large = write("large.yaml", node + pod(requests="cpu: 5"))
    run(f"{command} {too_large}", status=1)

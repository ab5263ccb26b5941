"""What a run is made of: in which order it comes, and what is refused."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import InputError
from podwright.apimachinery.objects.texts.times import timestamp_ns, timestamp_text
from podwright.apimachinery.schema import decode
from podwright.simulation.files.manifests import LoadedObjects, load
from podwright.simulation.files.record import file_lines
from podwright.simulation.world.clock import START_NS
from podwright.simulation.world.inputs.conditions import Condition, OperationSequence, Step
from podwright.simulation.world.inputs.operations import Apply, Delete, Drain, Put
from podwright.simulation.world.inputs.run_inputs import EventFile, Inputs, start_of
from podwright.simulation.world.inputs.usage_trace import usage_lines
from podwright.testing import make_node, make_pod

SECOND = 1_000_000_000

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
"""
STAGE = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-slow}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}]}
  delay: {durationMilliseconds: 90000}
  next: {statusTemplate: "phase: Running"}
"""
CRON_JOB = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec: {schedule: "0 3 * * *", jobTemplate: {spec: {template: {
  spec: {restartPolicy: Never, containers: [{name: c, image: app}]}}}}}
"""
OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time\n"
    "late,1000,1024,0,0,,LS,Running,5,20,5\n"
    "early,1000,1024,0,0,,LS,Running,0,5,0\n"
    "never,900000,1024,0,0,,LS,Running,2,5,\n"
    "brief,1000,1024,0,0,,LS,Running,7,7,7\n"
)


def pod(name: str, **spec: object) -> str:
    containers = [{"name": "c", "image": "i"}]
    return (
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n"
        f"spec: { ({'containers': containers} | spec)!r}\n"
    )


@pytest.fixture
def read(tmp_path: Path):
    def read(*texts: str, events: tuple[str, ...] = (), is_endless: bool = True) -> Inputs:
        for number, text in enumerate(texts):
            suffix = "csv" if "," in text.split("\n", 1)[0] else "yaml"
            (tmp_path / f"f{number}.{suffix}").write_text(text)
        files = []
        for number, text in enumerate(events):
            path = tmp_path / f"e{number}.jsonl"
            path.write_text(text)
            files.append(EventFile(path.name, partial(file_lines, path)))
        return Inputs(load(tmp_path), files, start_ns=START_NS, is_endless=is_endless)

    return read


def errors_of(read, *texts: str, **options) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(*texts, **options)
    return [str(error) for error in caught.value.errors]


def test_what_others_need_is_there_before_them(read):
    namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
    priority = (
        "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\n"
        "metadata: {name: high}\nvalue: 7\n"
    )
    inputs = read(pod("web", priorityClassName="high") + "---\n" + NODE + priority + namespace)
    operations = [operation for _, operation in inputs]
    assert [operation.obj.kind for operation in operations] == [
        "Namespace", "PriorityClass", "Node", "Pod",
    ]  # fmt: skip
    assert all(isinstance(operation, Apply) for operation in operations)


def test_a_dump_keeps_its_uids_and_those_owners_that_are_there(read):
    owner = "{apiVersion: apps/v1, kind: ReplicaSet, name: %s, uid: %s, controller: true}"
    dumped = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: %s, uid: %s, ownerReferences: [%s]}\n"
        "spec: {containers: [{name: c, image: app}]}\n---\n"
    )
    replica_set = (
        "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: r, uid: r1}\n"
        "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}},"
        " spec: {containers: [{name: c, image: app}]}}}\n---\n"
    )
    inputs = read(
        replica_set
        + dumped % ("kept", "p1", owner % ("r", "r1"))
        + dumped % ("orphan", "p2", owner % ("gone", "r9"))
        # Garbage collection does not look up owners of kinds that the cluster does not have.
        + dumped % ("custom", "p3", (owner % ("gone", "c9")).replace("apps/v1", "example.com/v1"))
    )
    puts = [operation for _, operation in inputs if isinstance(operation, Put)]
    owners = {put.obj.name: [one.uid for one in put.obj.metadata.owner_references] for put in puts}
    assert owners == {"r": [], "kept": ["r1"], "orphan": [], "custom": ["c9"]}


def test_pods_that_say_when_they_were_made_queue_in_that_order(read):
    dated = pod("young") + pod("old") + pod("now")
    for name, day in (("young", 2), ("old", 1)):
        dated = dated.replace(
            f"{{name: {name}}}", f"{{name: {name}, creationTimestamp: '2026-01-0{day}T00:00:00Z'}}"
        )
    applied = [operation.obj.name for _, operation in read(dated) if isinstance(operation, Apply)]
    assert applied == ["now", "old", "young"]


def test_pods_of_the_trace_come_and_are_given_up_at_their_times(read, tmp_path):
    inputs = read(NODE, OPENB)
    errors = [
        (
            (due_ns - START_NS) / SECOND,
            operation.obj.name if isinstance(operation, Apply) else f"-{operation.key[8:]}",
        )
        for due_ns, operation in inputs
        if isinstance(operation, Apply | Delete)
    ]
    assert errors == [
        (0.0, "n1"), (0.0, "early"), (2.0, "never"),
        (5.0, "-early"), (5.0, "-never"), (5.0, "late"),
        (7.0, "brief"), (7.0 + 1e-6, "-brief"), (20.0, "-late"),
    ]  # fmt: skip
    assert inputs.end_ns == START_NS + 20 * SECOND
    run = pw.simulate(tmp_path)
    assert run.summary.counts.placed == 3
    assert run.summary.counts.succeeded == 3
    assert run.summary.counts.deleted == 1


def test_stages_replace_the_built_in_ones_of_their_kind_only(read):
    inputs = read(NODE + "---" + STAGE)
    kinds = [(stage.kind, stage.name) for stage in inputs.stages]
    assert [name for kind, name in kinds if kind == "Pod"] == ["pod-slow"]
    assert "node-initialize" in [name for kind, name in kinds if kind == "Node"]


def test_the_errors_of_all_files_are_reported_together(read):
    wrong_stage = STAGE.replace("resourceRef", "resourceReff")
    errors = errors_of(
        read,
        NODE + "---" + wrong_stage,
        pod("a", priorityClassName="hihg") + pod("b", nodeName="node-1"),
        events=('{"at": "1s", "drain": "n1"}\n{"at": "0s", "drain": "n1"}\n{\n',),
    )
    assert [error.rpartition("/")[2].partition(": ")[0] for error in errors] == [
        "f0.yaml", "e0.jsonl", "e0.jsonl", "f1.yaml", "f1.yaml",
    ]  # fmt: skip
    text = "\n".join(errors)
    assert "document 2 (line 7): spec.resourceReff" in text
    assert 'spec.priorityClassName: there is no PriorityClass "hihg"' in text
    assert 'spec.nodeName: there is no Node "node-1"' in text
    assert "line 2: at: Invalid value" in text
    assert "line 3: not JSON" in text


def test_a_template_may_not_refer_to_a_class_that_is_nowhere(read):
    deployment = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n"
        "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}},"
        " spec: {priorityClassName: none, containers: [{name: c, image: app}]}}}\n"
    )
    (error,) = errors_of(read, NODE + "---\n" + deployment)
    assert "spec.template.spec.priorityClassName: there is no PriorityClass" in error


def test_the_classes_that_every_cluster_has_may_be_referred_to(read):
    assert read(pod("a", priorityClassName="system-node-critical")).pod_count == 1


def test_invalid_workloads_of_lines_are_refused(tmp_path):
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "app"}]},
    }
    spec = {"replicas": -1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    document = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    line = json.dumps({"at": "1m", "apply": document | {"spec": spec}})
    with pytest.raises(InputError) as raised:
        Inputs(LoadedObjects(), [recorded(tmp_path, line)], start_ns=START_NS)
    assert list(map(str, raised.value.errors)) == [
        "record.jsonl: line 1: apply.spec.replicas: Invalid value: -1: must be greater than or"
        " equal to 0"
    ]


def test_workloads_that_were_not_validated_are_judged_with_the_other_inputs(tmp_path):
    (tmp_path / "f.yaml").write_text(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {completions: -1, template:"
        " {spec: {restartPolicy: Never, containers: [{name: c, image: app}]}}}\n"
    )
    with pytest.raises(InputError) as raised:
        Inputs(load(tmp_path / "f.yaml", validate="ignore"), [], start_ns=START_NS)
    assert [error.path for error in raised.value.errors] == ["spec.completions"]


def test_a_cron_job_needs_an_end_unless_it_is_suspended(read):
    (error,) = errors_of(read, CRON_JOB)
    assert error.endswith("spec.schedule: starts jobs without end; set until")
    assert list(read(CRON_JOB, is_endless=False))
    assert list(read(CRON_JOB.replace("spec: {schedule", "spec: {suspend: true, schedule", 1)))


DECLARED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}, annotations: {kwok.x-k8s.io/usage-cpu: 500m}}
    spec: {containers: [{name: c, image: app}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 3
"""


def test_an_autoscaler_of_declared_usage_needs_an_end(tmp_path):
    def read(text: str, *, is_endless: bool) -> Inputs:
        (tmp_path / "f.yaml").write_text(text)
        return Inputs(load(tmp_path / "f.yaml"), [], start_ns=START_NS, is_endless=is_endless)

    with pytest.raises(InputError) as raised:
        read(DECLARED, is_endless=True)
    (error,) = raised.value.errors
    assert str(error).endswith("spec.metrics: compares the declared usage without end; set until")
    assert read(DECLARED, is_endless=False).review.ignored_kinds == ()
    undeclared = DECLARED.replace("kwok.x-k8s.io/", "example.com/")
    (ignored,) = read(undeclared, is_endless=True).review.ignored_kinds
    assert ignored.kind == "HorizontalPodAutoscaler"
    with pytest.raises(InputError) as raised:
        read(DECLARED.replace("500m", "'-1'"), is_endless=False)
    (error,) = raised.value.errors
    assert error.path == "spec.template.metadata.annotations[kwok.x-k8s.io/usage-cpu]"
    assert error.message == 'Invalid value: "-1": must be greater than or equal to 0'


def usage_trace(text: str) -> list[Any]:
    lines = ((number, line.encode(), True) for number, line in enumerate(text.splitlines(), 1))
    return [json.loads(line) for _, line, _ in usage_lines(lines, source="usage.csv")]


def test_pods_of_one_name_in_two_namespaces_keep_their_own_usage():
    rows = usage_trace("time,namespace,pod,cpu,memory\n0,a,p,1,\n0,b,p,2,1Gi\n5,a,p,,2Gi")
    usages = [row["apply"]["spec"]["usages"][0]["usage"] for row in rows]
    amounts = [
        {each: usage[each]["expression"].split('"')[1] for each in usage} for usage in usages
    ]
    assert amounts == [{"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}, {"cpu": "1", "memory": "2Gi"}]


def test_the_rows_of_a_usage_trace_are_event_lines_in_order_of_time():
    rows = usage_trace(
        """time,namespace,workload,pod,cpu,memory
        90,shop,deployment/web,,2.5,
        10s,shop,,a,500m,1Gi
        20,shop,,a,,2Gi"""
    )
    cpu, memory = (f'Quantity("{each}") / size(pod.spec.containers)' for each in ("500m", "2Gi"))
    assert [row["at"] for row in rows] == ["10s", "20s", "90s"]
    assert rows[1]["apply"]["metadata"] == {"name": "a", "namespace": "shop"}
    assert rows[1]["apply"]["spec"]["usages"] == [
        {"usage": {"cpu": {"expression": cpu}, "memory": {"expression": memory}}}
    ]
    assert rows[2] == {
        "at": "90s",
        "patch": "deployment/web",
        "namespace": "shop",
        "with": {"metadata": {"annotations": {"podwright.dev/usage-cpu": "2.5"}}},
    }


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("times,pod\n0,a", ["line 1: times", "line 1: time", "line 1: cpu or memory"]),
        (
            "time,pod,workload,cpu\nsoon,a,,1x\n0,a,deployment/b,1\n0,a,,\n0,a,,1,2",
            ["line 2: time", "line 2: cpu", "line 3: ", "line 4: ", "line 5: "],
        ),
    ],
)
def test_all_that_is_wrong_with_a_usage_trace_is_reported_with_its_place(text, wrong):
    with pytest.raises(InputError) as raised:
        usage_trace(text)
    found = [f"{each.source}: {each.path}" for each in raised.value.errors]
    assert found == [f"usage.csv: {each}" for each in wrong]


def test_an_autoscaler_follows_a_usage_trace(tmp_path):
    trace, cluster = tmp_path / "usage.csv", tmp_path / "cluster.yaml"
    trace.write_text("time,workload,cpu\n1m,deployment/web,2\n10m,deployment/web,500m\n")
    metrics = "metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, "
    metrics += 'averageValue: "1"}}}]'
    text = DECLARED.replace(", annotations: {kwok.x-k8s.io/usage-cpu: 500m}", "")
    cluster.write_text(f"{text}  {metrics}\n---{NODE}")
    assert len(pw.simulate([cluster], events=[trace], until="5m").node_of) == 2
    with pytest.raises(InputError, match="set until"):
        pw.simulate([cluster], events=[trace])


def recorded(tmp_path: Path, *lines: str) -> EventFile:
    path = tmp_path / "record.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    return EventFile(path.name, partial(file_lines, path))


DUMPED = "---".join(
    f"\napiVersion: v1\nkind: Node\n"
    f"metadata: {{name: {name}, uid: {name}, creationTimestamp: '2026-05-0{day}T00:00:00Z'}}\n"
    for name, day in (("n1", 1), ("n2", 3))
)
ADDED = (
    '{"time": "2026-07-01T00:00:00Z", "event": "Add", "resource":'
    ' {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}}'
)


@pytest.mark.parametrize(
    ("files", "lines", "begins"),
    [
        pytest.param(NODE, [], "2026-01-01T00:00:00Z", id="manifests say nothing"),
        pytest.param(DUMPED, [], "2026-05-03T00:00:00Z", id="when a dump was whole"),
        pytest.param(DUMPED, ["", ADDED], "2026-07-01T00:00:00Z", id="when a record begins"),
        pytest.param(
            NODE, ['{"at": "1m", "drain": "n1"}', ADDED], "2026-01-01T00:00:00Z", id="own lines"
        ),
        pytest.param(NODE, ["{broken"], "2026-01-01T00:00:00Z", id="a broken line"),
    ],
)
def test_a_world_begins_when_its_inputs_do(tmp_path, files, lines, begins):
    (tmp_path / "f.yaml").write_text(files)
    events = [recorded(tmp_path, *lines)] if lines else []
    assert timestamp_text(start_of(load(tmp_path / "f.yaml"), events)) == begins


def events_from(start_ns: int | None = None, recorded: str = "", *, has_usage: bool = False) -> Any:
    line = ADDED.replace("2026-07-01", recorded or "2026-07-01").encode()
    lines = [(1, line, True)] if recorded else []
    return EventFile("events", lambda: lines, start_ns, has_usage=has_usage)


@pytest.mark.parametrize(
    ("files", "begins"),
    [
        pytest.param([], "2026-01-01", id="none"),
        pytest.param([("", "2026-03-05"), ("", "2026-03-04"), ("", "2026-03-06")], "2026-03-04",
                     id="the first of several records"),
        pytest.param([("2026-02-02", ""), ("2026-02-01", ""), ("2026-02-03", "")], "2026-02-01",
                     id="the first of several traces"),
        pytest.param([("2026-02-02", ""), ("", "2026-03-04")], "2026-03-04",
                     id="that of a record, beside an earlier trace"),
        pytest.param([("", ""), ("2026-02-02", "")], "2026-02-02", id="one without a time"),
    ],
)  # fmt: skip
def test_of_several_inputs_the_first_time_counts(files, begins):
    events = [
        events_from(timestamp_ns(f"{trace}T00:00:00Z") if trace else None, record)
        for trace, record in files
    ]
    for several in (events, events[::-1]):
        assert timestamp_text(start_of(LoadedObjects(), several)) == f"{begins}T00:00:00Z"
    recorded_usage = events_from(None, "2026-01-02", has_usage=True)
    assert timestamp_text(start_of(LoadedObjects(), [*events, recorded_usage]))[:10] == begins


GOING = (
    '{"time": "2026-07-01T00:00:00.5Z", "event": "Add", "resource": {"apiVersion": "v1",'
    ' "kind": "Pod", "metadata": {"name": "p", "namespace": "default", "uid": "p",'
    ' "creationTimestamp": "2026-06-30T23:59:00Z", "deletionTimestamp": "2026-07-01T00:01:00Z"}}}'
)


@pytest.mark.parametrize(
    ("begins", "made", "dumped", "due"),
    [
        pytest.param(
            "2026-07-01T00:00:00.5Z",
            "2026-06-30T23:59:00Z",
            "2026-05-03T00:00:00Z",
            "2026-07-01T00:01:00Z",
            id="as it was",
        ),
        pytest.param(
            "2026-01-01T00:00:00.5Z",
            "2025-12-31T23:59:00Z",
            "2025-11-03T00:00:00Z",
            "2026-01-01T00:01:00Z",
            id="in winter",
        ),
    ],
)
def test_times_in_recorded_objects_are_those_of_the_world(tmp_path, begins, made, dumped, due):
    (tmp_path / "f.yaml").write_text(DUMPED)
    start_ns = timestamp_ns(begins) or 0
    inputs = Inputs(load(tmp_path / "f.yaml"), [recorded(tmp_path, GOING)], start_ns=start_ns)
    objects = [operation.obj for _, operation in inputs if isinstance(operation, Put)]
    times = {obj.name: obj.metadata.creation_timestamp for obj in objects}
    assert times["n2"] == dumped
    assert times["p"] == made
    assert objects[-1].metadata.deletion_timestamp == due


@pytest.mark.parametrize(
    ("written", "found"),
    [
        pytest.param(1, 3, id="fewer than minReplicas"),
        pytest.param(9, 5, id="more than maxReplicas"),
        pytest.param(4, 4, id="within the bounds"),
        pytest.param(0, 0, id="switched off"),
    ],
)
def test_an_autoscaler_without_usage_scales_to_its_bounds_and_no_further(written, found):
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": written, "selector": {"matchLabels": labels}, "template": template},
    }
    autoscaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "minReplicas": 3,
            "maxReplicas": 5,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        },
    }
    world = pw.World()
    world.add(pw.testing.make_node("n1"), decode(deployment), decode(autoscaler))
    world.run_until()
    assert len(world.pods) == found


def test_the_operations_of_a_sequence_are_executed_each_at_its_time_or_condition() -> None:
    world = pw.World()
    world.add(make_node("n1", cpu="4"))
    start_ns = world.now_ns
    waits = Condition(scheduled="", count=1)
    world.add_sequence(
        OperationSequence(
            iter(
                [
                    Step(place="1", at_ns=start_ns + 2 * SECOND, operation=Put(make_pod("a"))),
                    Step(place="2", after_ns=3 * SECOND, operation=Put(make_pod("b"))),
                    Step(place="3", wait=waits, operation=Put(make_pod("c"))),
                ]
            )
        )
    )
    seen = []
    for seconds in (1, 2, 4, 5):
        world.run_until_ns(start_ns + seconds * SECOND)
        seen.append("".join(sorted(pod.name for pod in world.pods)))
    assert seen == ["", "a", "a", "abc"]


N9 = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n9"}}
RECORDED_N9 = {"time": timestamp_text(START_NS), "event": "Add", "resource": N9}


@pytest.mark.parametrize(
    ("other", "missing"),
    [
        pytest.param({"at": "1m", "apply": N9}, [], id="another file creates it"),
        pytest.param(RECORDED_N9, [], id="a record has it"),
        pytest.param(
            {"at": "1m", "drain": "n9"},
            ["e0.jsonl: line 1: drain: ", "e1.jsonl: line 1: drain: ", "e1.jsonl: line 3: drain: "],
            id="another file drains it only",
        ),
        pytest.param(
            {"at": "1m", "apply": N9, "drain": "n9"},
            [
                "e0.jsonl: line 1: Required value: specify one of ",
                "e1.jsonl: line 1: drain: ",
                "e1.jsonl: line 3: drain: ",
            ],
            id="the other file is wrong",
        ),
    ],
)
def test_a_line_may_name_an_object_of_another_file(read, other, missing):
    drain = {"at": "2m", "drain": "n9"}
    waiting = {"when": {"settled": True}, "cordon": "n1"}
    lines = "".join(json.dumps(line) + "\n" for line in (drain, waiting, drain))
    events = (json.dumps(other) + "\n", lines)
    if missing:
        found = errors_of(read, NODE, events=events)
        assert all(map(str.startswith, found, missing)), found
        assert len(found) == len(missing)
        return
    inputs = read(NODE, events=events)
    (sequence,) = inputs.sequences()
    assert sequence.next_due_ns(START_NS) == START_NS + 120 * SECOND
    assert isinstance(sequence.step.operation, Drain)
    assert sequence.step.operation.node == "n9"


def test_stages_are_no_objects_of_the_cluster(read):
    assert [operation.obj.kind for _, operation in read(NODE + "---" + STAGE)] == ["Node"]


def test_what_a_file_that_cannot_be_read_may_have_is_not_missing(tmp_path):
    with pytest.raises(InputError) as caught:
        pw.simulate(tmp_path / "absent.yaml", events=[{"at": "1s", "drain": "n1"}])
    (error,) = caught.value.errors
    assert "absent.yaml" in error.source

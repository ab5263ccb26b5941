"""`podwright convert` converts one cluster between all forms."""

import gzip
import json

import pytest
import yaml
from tests.e2e.command_line import NODES, QUICKSTART, pod, run

from podwright.scheduler.machine import CycleDue, ObjectPut
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.testing import make_node, make_pod

OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time\n"
    "a,1000,1024,0,0,,LS,Running,5,20,5\n"
    "b,1000,1024,0,0,,LS,Running,0,5,0\n"
)


@pytest.fixture
def manifest(tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text(NODES + pod("web", "1", namespace="shop"))
    return path


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def names_of(text):
    return [(line["event"], line["resource"]["metadata"]["name"]) for line in lines_of(text)]


def test_a_cluster_goes_through_every_form_and_comes_back(manifest, tmp_path):
    original = json.loads(run(f"convert {manifest} -o json").stdout)["items"]
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_text(run(f"convert {manifest} -o kss").stdout)
    record = tmp_path / "record.jsonl"
    record.write_text(run(f"convert {snapshot} -o record").stdout)
    listed = tmp_path / "list.yaml"
    listed.write_text(run(f"convert {record}").stdout)
    again = json.loads(run(f"convert {listed} -o json").stdout)["items"]
    added = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    assert sorted(again, key=str) == sorted([*original, added], key=str)


def test_a_snapshot_has_a_configuration_and_the_namespaces_that_are_needed(manifest):
    result = run(f"convert {manifest} -o kss")
    snapshot = json.loads(result.stdout)
    assert snapshot["schedulerConfig"]["kind"] == "KubeSchedulerConfiguration"
    assert snapshot["namespaces"] == [{"metadata": {"name": "shop"}}]
    assert result.stderr == "added the namespaces of objects: shop\n"


def test_objects_that_a_format_does_not_support_are_reported(tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text(
        NODES + "---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
        "spec: {ports: [{port: 80}]}\n"
        "---\napiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    )
    output = run(f"convert {path} -o kss").stderr
    assert output == "omitted kinds that a snapshot does not support: 1 Service\n"
    output = run(f"convert {path} -o record").stderr
    assert output == "omitted the scheduler configuration: a record does not support it\n"
    documents = list(yaml.safe_load_all(run(f"convert {path}").stdout))
    assert [document["kind"] for document in documents] == ["List", "KubeSchedulerConfiguration"]


def test_a_record_is_the_cluster_at_its_end_or_at_a_time(tmp_path):
    tables = tmp_path / "openb_pods.csv"
    tables.write_text(OPENB)
    written = run(f"convert {tables} -o record --start 2026-01-01T00:00:00Z").stdout
    assert names_of(written) == [("Add", "b"), ("Delete", "b"), ("Add", "a"), ("Delete", "a")]
    assert lines_of(written)[2]["time"] == "2026-01-01T00:00:05.000000000Z"
    record = tmp_path / "record.jsonl.gz"
    record.write_bytes(gzip.compress(written.encode()))

    def at(*options):
        items = json.loads(run(f"convert {record} -o json {' '.join(options)}").stdout)["items"]
        return [item["metadata"]["name"] for item in items]

    assert at() == []
    assert at("--at 2026-01-01T00:00:04Z") == ["b"]
    assert at("--at 2026-01-01T00:00:05Z") == ["a"]
    assert [at(f"--at {after}") for after in ("0s", "4999ms", "5s")] == [["b"], ["b"], ["a"]]


def test_what_is_beside_a_record_was_there_before_it(manifest, tmp_path):
    record = tmp_path / "record.jsonl"
    record.write_text(
        run("convert - -o record --start 2026-01-01T00:00:00Z", stdin=pod("late", "1")).stdout
    )
    written = run(f"convert {manifest} {record} -o record").stdout
    assert names_of(written) == [
        ("Add", "small"), ("Add", "large"), ("Add", "web"), ("Add", "late"),
    ]  # fmt: skip
    assert len({line["time"] for line in lines_of(written)}) == 1


def test_a_decision_log_is_a_record(tmp_path):
    with DecisionLog.create(tmp_path / "log") as log:
        log.append(1_000_000_000, ObjectPut(make_node("n1")), [])
        log.append(2_000_000_000, ObjectPut(make_pod("web")), [])
        log.append(3_000_000_000, CycleDue(), [])
    written = run(f"convert {tmp_path / 'log'} -o record").stdout
    assert names_of(written) == [("Add", "n1"), ("Add", "web")]
    assert lines_of(written)[1]["time"] == "1970-01-01T00:00:02.000000000Z"


def test_a_run_is_a_record_and_so_the_cluster_at_any_time(a_run):
    whole = run(f"convert {a_run} -o record").stdout
    assert run(f"convert {a_run / 'log'} -o record").stdout == whole
    output = run(f"convert {a_run}").stderr
    assert "such as Deployments and Jobs" in output
    assert "objects.json" in output
    assert names_of(whole)[0] == ("Add", "default")

    def nodes_of(*options):
        items = json.loads(run(f"convert {a_run} -o json {' '.join(options)}").stdout)["items"]
        return {
            item["metadata"]["name"]: item["spec"]["nodeName"]
            for item in items
            if item["kind"] == "Pod" and "nodeName" in item["spec"]
        }

    assert nodes_of("--at 2026-01-01T00:00:25Z") == {"web": "large", "db": "large"}
    assert nodes_of("--at 25s") == {"web": "large", "db": "large"}
    assert nodes_of()["batch"] == "huge"


def test_an_incomplete_line_is_reported(manifest, tmp_path):
    record = tmp_path / "record.jsonl"
    record.write_text(run(f"convert {manifest} -o record").stdout + '{"time":"2026-')
    output = run(f"convert {record} -o json").stderr
    assert output == f"{record}: line 4 is incomplete and was ignored\n"


def test_all_errors_are_reported_together(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"time":"soon","event":"Add","resource":{}}\n')
    (tmp_path / "b.yaml").write_text("kind: Pod\n")
    files = f"{tmp_path / 'a.jsonl'} {tmp_path / 'b.yaml'}"
    output = run(f"convert {files} -o record --start never", status=2).stderr
    assert "a.jsonl: line 1: time: Invalid value" in output
    assert "b.yaml" in output
    assert '--start: Invalid value: "never": must be a time such as' in output


def test_a_time_is_a_duration_or_a_time(tmp_path):
    record = tmp_path / "record.jsonl"
    record.write_text(run(f"convert {QUICKSTART} -o record").stdout)
    output = run(f"convert {record} --at soon", status=2).stderr
    assert output == (
        'error: --at: Invalid value: "soon": must be a duration since the start such as 1h30m,'
        " or a time such as 2026-01-01T12:00:00Z\n"
    )


def test_another_time_needs_a_record():
    output = run(f"convert {QUICKSTART} --at 2026-01-01T00:00:00Z", status=2).stderr
    assert output == "error: --at: requires a record of changes or a run\n"


def test_only_one_record_can_be_read(tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(run(f"convert {QUICKSTART} -o record").stdout)
    output = run(f"convert {tmp_path / 'a.jsonl'} {tmp_path / 'b.jsonl'}", status=2).stderr
    assert "b.jsonl: is a second record of changes; the first one is " in output

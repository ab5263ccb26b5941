import errno
import json
from pathlib import Path
from typing import Any

import pytest

from podwright.apimachinery.objects import InputError
from podwright.online.client.cluster import ChangedObject, Meta
from podwright.online.sync.cluster_record import ClusterRecord, UnwritableClusterRecord, redacted
from podwright.online.sync.source import SourceChange
from podwright.online.sync.source_kinds import source_kinds
from podwright.simulation.files import load_record

KINDS = {kind.resource: kind for kind in source_kinds()}
SECOND = 1_000_000_000


def change(event, name, version, *, uid="u", kind="nodes", is_initial=False, **fields):
    metadata = {"name": name, "uid": uid, "resourceVersion": str(version), "managedFields": [{}]}
    if KINDS[kind].is_namespaced:
        metadata["namespace"] = "default"
    body = json.dumps({"metadata": metadata, **fields}).encode() if event != "Delete" else b""
    meta = Meta(
        name=name, namespace=metadata.get("namespace", ""), uid=uid, resource_version=str(version)
    )
    return SourceChange(KINDS[kind], ChangedObject(event, meta, body, is_initial), 0)


def lines(path):
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [(each["event"], each["resource"]["metadata"]["name"]) for each in found]


SPEC = {
    "containers": [
        {
            "name": "c", "image": "i", "command": ["run"], "args": ["--password", "x"],
            "env": [{"name": "A", "value": "secret"}, {"name": "B", "valueFrom": {"fieldRef": {}}}],
        }
    ]
}  # fmt: skip


def test_a_record_is_read_as_other_records(tmp_path):
    path = tmp_path / "r.jsonl"
    record = ClusterRecord(path)
    record.append([change("Add", "n", 1, is_initial=True)], SECOND)
    record.append([change("Update", "n", 2), change("Add", "p", 3, kind="pods", spec=SPEC)], SECOND)
    record.append([change("Delete", "n", 4), change("Delete", "unknown", 5)], 2 * SECOND)
    record.close()
    read = load_record(path)
    assert [(line.event, line.object.name) for line in read.lines] == [
        ("Add", "n"), ("Update", "n"), ("Add", "p"), ("Delete", "n"),
    ]  # fmt: skip
    assert json.loads(path.read_text().splitlines()[-1])["resource"] == {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "namespace": ""},
    }  # fmt: skip


REDACTED_FIELDS: dict[str, tuple[dict[str, Any], str]] = {
    "environment": ({"env": [{"name": "A", "value": "CONFIDENTIAL"}]}, "containers"),
    "arguments": ({"args": ["CONFIDENTIAL"]}, "initContainers"),
    "commands": ({"command": ["CONFIDENTIAL"]}, "ephemeralContainers"),
    "probes": ({"readinessProbe": {"exec": {"command": ["CONFIDENTIAL"]}}}, "containers"),
    "hooks": ({"lifecycle": {"preStop": {"exec": {"command": ["CONFIDENTIAL"]}}}}, "containers"),
    "headers": (
        {"livenessProbe": {"httpGet": {"port": 1, "httpHeaders": [
            {"name": "A", "value": "CONFIDENTIAL"}]}}},
        "containers",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REDACTED_FIELDS)
def test_a_confidential_field_is_left_out_of_pods_and_templates(name):
    fields, where = REDACTED_FIELDS[name]
    spec = {where: [{"name": "c", "image": "i", **fields}], "nodeName": "n"}
    pod = {"metadata": {"name": "p"}, "spec": spec}
    workload = {"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {"spec": spec}}}
    for obj in (pod, workload):
        found = json.dumps(redacted(obj))
        assert "CONFIDENTIAL" not in found
        assert '"redacted"' in found
        assert '"image": "i"' in found
        assert "CONFIDENTIAL" in json.dumps(obj), "the object itself is not changed"


def test_annotations_and_managed_fields_that_have_copies_are_left_out():
    applied = {"kubectl.kubernetes.io/last-applied-configuration": "CONFIDENTIAL", "other": "x"}
    metadata = {"name": "p", "annotations": applied, "managedFields": [{"manager": "kubectl"}]}
    template = {"metadata": {"annotations": applied}, "spec": {"containers": []}}
    found = redacted({"metadata": metadata, "spec": {"template": template}})
    assert found["metadata"] == {"name": "p", "annotations": {"other": "x"}}
    assert found["spec"]["template"]["metadata"] == {"annotations": {"other": "x"}}


def test_secrets_and_config_maps_are_never_read():
    names = {kind.resource for kind in source_kinds(has_workloads=True)}
    assert not names & {"secrets", "configmaps", "serviceaccounts"}
    with pytest.raises(InputError, match="none of the kinds that can be read"):
        source_kinds(["secrets"])


def test_what_is_confidential_is_left_out_unless_it_is_requested(tmp_path):
    for is_redacted in (True, False):
        path = tmp_path / f"{is_redacted}.jsonl"
        record = ClusterRecord(path, is_redacted=is_redacted)
        record.append([change("Add", "p", 1, kind="pods", spec=SPEC)], SECOND)
        record.close()
        text = path.read_text()
        assert ("secret" in text) is not is_redacted
        assert ("--password" in text) is not is_redacted
        assert ("managedFields" in text) is not is_redacted
        assert '"name":"A"' in text


def test_a_resumed_record_has_what_changed_meanwhile(tmp_path):
    path = tmp_path / "r.jsonl"
    record = ClusterRecord(path)
    assert record.last_ns == 0
    first = [change("Add", name, n, uid=name) for n, name in enumerate("abcd")]
    record.append(first, SECOND)
    record.close()
    with path.open("a") as file:
        file.write('{"time": "cut off')
    record = ClusterRecord(path, resumes=True)
    assert record.last_ns == SECOND
    now = [
        change("Add", "a", 0, uid="a", is_initial=True),
        change("Add", "b", 9, uid="b", is_initial=True),
        change("Add", "c", 8, uid="other", is_initial=True),
        change("Add", "e", 7, uid="e", is_initial=True),
    ]
    record.append(now, 2 * SECOND)
    record.synced(KINDS.values(), (), 2 * SECOND)
    record.append([change("Update", "e", 10, uid="e")], 3 * SECOND)
    record.close()
    assert lines(path)[4:] == [
        ("Update", "b"), ("Delete", "c"), ("Add", "c"), ("Add", "e"), ("Delete", "d"),
        ("Update", "e"),
    ]  # fmt: skip
    assert len(load_record(path).lines) == 10


@pytest.mark.parametrize(
    ("kinds", "namespaces", "deleted"),
    [
        pytest.param(("nodes", "pods"), (), ["n", "p"], id="all"),
        pytest.param(("nodes",), (), ["n"], id="a kind that is not read any more"),
        pytest.param(("nodes", "pods"), ("other",), ["n"], id="a namespace that is not read"),
        pytest.param(("nodes", "pods"), ("other", "default"), ["n", "p"], id="one that is"),
    ],
)
def test_a_resumed_record_does_not_delete_what_is_not_read(kinds, namespaces, deleted, tmp_path):
    path = tmp_path / "r.jsonl"
    record = ClusterRecord(path)
    record.append([change("Add", "n", 1), change("Add", "p", 1, kind="pods")], SECOND)
    record.close()
    record = ClusterRecord(path, resumes=True)
    record.synced([KINDS[kind] for kind in kinds], namespaces, SECOND)
    record.close()
    assert lines(path)[2:] == [("Delete", name) for name in deleted]


def test_a_record_of_another_cluster_is_not_resumed(tmp_path):
    path = tmp_path / "r.jsonl"
    record = ClusterRecord(path)
    record.append([change("Add", "kube-system", 1, kind="namespaces")], SECOND)
    record.append([change("Add", "kube-system", 1, uid="v", kind="namespaces")], SECOND)
    record.close()
    text = path.read_text()
    assert text.count("Delete") == 1, "the cluster was replaced while it was recorded"
    record = ClusterRecord(path, resumes=True)
    with pytest.raises(UnwritableClusterRecord, match="is a record of another cluster, whose"):
        record.append([change("Add", "kube-system", 1, uid="w", kind="namespaces")], SECOND)
    record.close()
    assert path.read_text() == text


def test_each_file_of_a_rotation_is_a_record_by_itself(tmp_path):
    path = tmp_path / "r.jsonl"
    record = ClusterRecord(path, largest_bytes=2000, kept_files=2)
    record.append([change("Add", "a", 1, uid="a")], SECOND)
    for version in range(2, 60):
        record.append([change("Update", "a", version, uid="a")], version * SECOND)
    record.close()
    assert len(record.files) == 2
    assert sorted(tmp_path.iterdir()) == sorted(record.files)
    one, other = (int(each.stem.removeprefix("r-")) for each in record.files)
    assert 1 < other == one + 1
    for each in record.files:
        read = load_record(each)
        assert read.lines[0].event == "Add"
        assert {line.event for line in read.lines[1:]} <= {"Update"}
    assert load_record(record.files[-1]).lines[-1].object.metadata.resource_version == "59"


def test_a_file_is_followed_by_another_as_soon_as_it_has_the_largest_size(tmp_path):
    # Each limit of a line's length: some are met exactly, in the first file and in later ones.
    for limit in range(800, 950):
        folder = tmp_path / str(limit)
        folder.mkdir()
        record = ClusterRecord(folder / "r.jsonl", largest_bytes=limit)
        for version in range(1, 20):
            path, count = record.files[-1], len(record.files)
            record.append([change("Update", "a", version, uid="a")], SECOND)
            assert (len(record.files) > count) is (path.stat().st_size >= limit)
        record.close()
        assert len(record.files) > 2


def test_a_compressed_record_is_not_resumed(tmp_path):
    path = tmp_path / "r.jsonl.gz"
    path.write_bytes(b"")
    with pytest.raises(UnwritableClusterRecord, match="unpack it"):
        ClusterRecord(path, resumes=True)


def test_an_existing_file_is_not_overwritten(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text("x\n")
    with pytest.raises(UnwritableClusterRecord, match="continue it with --resume"):
        ClusterRecord(path)
    with pytest.raises(UnwritableClusterRecord, match="line 1: this is not a record"):
        ClusterRecord(path, resumes=True)
    with pytest.raises(UnwritableClusterRecord, match="No such file"):
        ClusterRecord(tmp_path / "absent" / "r.jsonl")


def test_a_record_that_cannot_be_written_says_why_in_a_few_words(tmp_path):
    path = tmp_path / "absent" / "r.jsonl"
    with pytest.raises(UnwritableClusterRecord) as error:
        ClusterRecord(path)
    assert str(error.value) == f"{path}: cannot be written: No such file or directory"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "r.jsonl"
    record = ClusterRecord(path)
    record._file.close()
    record._file = open("/dev/full", "wb")  # noqa: SIM115, PTH123 - a device
    with pytest.raises(UnwritableClusterRecord) as error:
        record.append([change("Add", "n", 1)], SECOND)
    assert str(error.value) == f"{path}: cannot be written: No space left on device"
    assert record.lines == 0
    record.close()


def test_a_record_that_may_not_be_changed_is_not_resumed(tmp_path, monkeypatch):
    path = tmp_path / "r.jsonl"
    ClusterRecord(path).close()
    opened = Path.open

    def without_changes(file: Path, mode: str = "r", **options: Any) -> Any:
        if mode == "r+b":
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(file, mode, **options)

    monkeypatch.setattr(Path, "open", without_changes)
    with pytest.raises(UnwritableClusterRecord) as error:
        ClusterRecord(path, resumes=True)
    assert str(error.value) == f"{path}: cannot be written: Permission denied"


def test_a_record_without_changes_is_empty_and_is_resumed_with_blank_lines(tmp_path):
    path = tmp_path / "r.jsonl"
    record = ClusterRecord(path)
    record.append([change("Delete", "unknown", 1)], SECOND)
    assert (record.lines, path.read_bytes()) == (0, b"")
    record.append([change("Add", "gone", 1), change("Add", "kept", 1)], SECOND)
    record.append([change("Delete", "gone", 2)], SECOND)
    record.close()
    path.write_text(path.read_text().replace("\n", "\n\n") + '{"time": "cut')
    resumed = ClusterRecord(path, resumes=True)
    resumed.append([change("Add", "kept", 1, is_initial=True)], SECOND)
    resumed.synced(KINDS.values(), (), SECOND)
    assert resumed.lines == 0, "what was deleted before is not deleted again"
    resumed.append([change("Delete", "kept", 3)], SECOND)
    resumed.close()
    text = path.read_text().replace("\n\n", "\n")
    assert [json.loads(line)["event"] for line in text.splitlines()] == [
        "Add", "Add", "Delete", "Delete",
    ]  # fmt: skip


def test_a_rotation_neither_appends_to_a_file_nor_resumes_one(tmp_path):
    path = tmp_path / "r.jsonl"
    (tmp_path / "r-2.jsonl").write_text("mine")
    record = ClusterRecord(path, largest_bytes=1)
    with pytest.raises(UnwritableClusterRecord, match=r"r-2.jsonl: cannot be written: File exists"):
        record.append([change("Add", "n", 1)], SECOND)
    assert (tmp_path / "r-2.jsonl").read_text() == "mine"
    with pytest.raises(UnwritableClusterRecord, match="has no effect with --rotate"):
        ClusterRecord(path, resumes=True, largest_bytes=1)


def test_lines_are_counted_and_the_same_version_is_written_once(tmp_path):
    path = tmp_path / "r.jsonl"
    record = ClusterRecord(path)
    record.append([change("Add", "n", 1), change("Update", "n", 1)], SECOND)
    assert (record.lines, len(lines(path))) == (1, 1), "it is on disk at once"
    # A replaced object was deleted meanwhile; kinds have their own names.
    record.append([change("Update", "n", 2, uid="v"), change("Add", "n", 3, kind="pods")], SECOND)
    record.synced(KINDS.values(), (), SECOND)
    record.close()
    assert lines(path)[1:] == [("Delete", "n"), ("Add", "n"), ("Add", "n")]
    assert record.lines == 4
    first = path.read_text().splitlines()[0]
    start = '{"time":"1970-01-01T00:00:01.000000000Z","event":"Add","resource":{"apiVersion":"v1",'
    assert first.startswith(f'{start}"kind":"Node",')
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({"env": [{"name": "A", "value": ""}]}, {"env": [{"name": "A", "value": "redacted"}]}),
        ({"env": [{"name": "A"}]}, {"env": [{"name": "A"}]}),
        ({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}]},
         {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}]}),
        ({"command": ["a", "b"], "args": []}, {"command": ["redacted"], "args": []}),
        ({"startupProbe": {"exec": {"command": ["a"]}, "periodSeconds": 3}},
         {"startupProbe": {"exec": {"command": ["redacted"]}, "periodSeconds": 3}}),
        ({"livenessProbe": {"httpGet": {"port": 1, "httpHeaders": [{"name": "A", "value": "x"}]}}},
         {"livenessProbe": {"httpGet": {"port": 1, "httpHeaders": [
             {"name": "A", "value": "redacted"}]}}}),
        ({"readinessProbe": {"tcpSocket": {"port": 1}}},
         {"readinessProbe": {"tcpSocket": {"port": 1}}}),
        ({"lifecycle": {"postStart": {"exec": {"command": ["a"]}}, "stopSignal": "SIGTERM"}},
         {"lifecycle": {"postStart": {"exec": {"command": ["redacted"]}},
                        "stopSignal": "SIGTERM"}}),
    ],
)  # fmt: skip
def test_only_confidential_fields_are_redacted(container, expected):
    for field in ("containers", "initContainers", "ephemeralContainers"):
        obj = {"metadata": {"name": "p"}, "spec": {field: [container], "nodeName": "n"}}
        assert redacted(obj)["spec"] == {field: [expected], "nodeName": "n"}

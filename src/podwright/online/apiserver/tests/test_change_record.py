"""Tests of records that are written while a cluster is served."""

from __future__ import annotations

import json
import resource

import pytest

from podwright.apimachinery.objects import Document, KubernetesObject, decode
from podwright.cluster.store import ObjectStore
from podwright.online.apiserver import ChangeRecord, UnwritableRecord
from podwright.simulation.files import load_record

SECOND_NS = 1_000_000_000


def an_object(kind: str, name: str, **fields: object) -> KubernetesObject:
    namespace = {} if kind == "Node" else {"namespace": "default"}
    document: Document = {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, **namespace, "managedFields": [{"manager": "kubectl"}]},
        **fields,
    }
    return decode(document)


def test_a_record_has_the_objects_at_the_start_and_the_changes_in_their_order(tmp_path):
    store = ObjectStore()
    store.put(an_object("Node", "n1"))
    record = ChangeRecord(tmp_path / "record.jsonl")
    record.begin(store, SECOND_NS)
    store.put(an_object("Pod", "a", spec={"containers": []}))
    store.put(an_object("Node", "n2"))
    store.put(an_object("Pod", "a", spec={"containers": [], "nodeName": "n2"}))
    store.drop(("", "Node"), "n1")
    record.append(2 * SECOND_NS)
    record.append(3 * SECOND_NS)
    record.close()
    found = load_record(tmp_path / "record.jsonl")
    assert [(each.event, each.object.key, each.seen_ns // SECOND_NS) for each in found.lines] == [
        ("Add", "n1", 1),
        ("Add", "default/a", 2),
        ("Add", "n2", 2),
        ("Update", "default/a", 2),
        ("Delete", "n1", 2),
    ]


def test_a_record_has_no_confidential_objects_events_leases_and_field_managers(tmp_path):
    store = ObjectStore()
    store.put(an_object("Secret", "before"))
    record = ChangeRecord(tmp_path / "record.jsonl")
    record.begin(store, SECOND_NS)
    for kind in ("Secret", "ConfigMap", "Event", "Node"):
        store.put(an_object(kind, "after"))
    record.append(SECOND_NS)
    record.close()
    (line,) = (tmp_path / "record.jsonl").read_text().splitlines()
    written = json.loads(line)["resource"]
    assert written["kind"] == "Node"
    assert "managedFields" not in written["metadata"]


def test_the_files_that_continue_a_record_are_all_kept_and_none_is_confidential(tmp_path):
    store = ObjectStore()
    for kind in ("Secret", "ConfigMap", "Event", "Node"):
        store.put(an_object(kind, "before"))
    record = ChangeRecord(tmp_path / "record.jsonl", largest_bytes=1)
    record.begin(store, SECOND_NS)
    for name in ("n1", "n2", "n3"):
        store.put(an_object("Node", name))
        record.append(SECOND_NS)
        record.append(SECOND_NS)
    record.close()
    files = [*tmp_path.iterdir()]
    assert len(files) == 7, "one more for each time that it was written"
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert {line["resource"]["kind"] for line in lines} == {"Node"}
    assert sum(line["resource"]["metadata"]["name"] == "before" for line in lines) == 6


def test_an_existing_file_is_not_overwritten(tmp_path):
    path = tmp_path / "record.jsonl"
    path.write_text("kept")
    with pytest.raises(UnwritableRecord, match="exists already"):
        ChangeRecord(path)
    assert path.read_text() == "kept"


def test_a_folder_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(UnwritableRecord, match="No such file"):
        ChangeRecord(tmp_path / "absent" / "record.jsonl")


def test_a_full_disk_ends_the_record_and_nothing_else(tmp_path, caplog):
    store = ObjectStore()
    store.put(an_object("Node", "n1"))
    path = tmp_path / "record.jsonl"
    record = ChangeRecord(path)
    record.begin(store, SECOND_NS)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, limits[1]))
    try:
        for name in ("n2", "n3"):
            store.put(an_object("Node", name))
            record.append(SECOND_NS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    store.put(an_object("Node", "n4"))
    record.append(SECOND_NS)
    record.close()
    assert path.read_bytes() == before
    (line,) = caplog.messages
    assert line.startswith(f"{path}: cannot be written: File too large; ")


def test_only_its_owner_reads_a_record(tmp_path):
    ChangeRecord(tmp_path / "record.jsonl").close()
    assert (tmp_path / "record.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_large_record_continues_in_files_that_are_records_by_themselves(tmp_path):
    store = ObjectStore()
    for number in range(500):
        store.put(an_object("Node", f"n{number}"))
    path = tmp_path / "record.jsonl"
    record = ChangeRecord(path, largest_bytes=200_000, kept_files=2)
    record.begin(store, SECOND_NS)
    for turn in range(2_000):
        store.put(an_object("Pod", f"p{turn % 300}", spec={"containers": [], "n": turn}))
        if turn % 7 == 0:
            store.drop(("", "Pod"), f"default/p{turn % 300}")
        record.append(SECOND_NS * turn)
    for _ in range(9):  # nothing changes, and the objects of the last file are written to its end
        record.append(SECOND_NS * 2_000)
    record.close()
    files = sorted(tmp_path.iterdir(), key=lambda file: file.stat().st_mtime_ns)
    assert len(files) == 2
    assert record.path == files[-1] != path
    state: dict[tuple[str, str], Document] = {}
    for line in load_record(record.path).lines:
        key = (line.object.kind, line.object.key)
        if line.event == "Delete":
            del state[key]
        else:
            assert (line.event == "Add") == (key not in state), f"{line.event} {key}"
            state[key] = line.object.raw
    expected = {
        (obj.kind, obj.key): {
            **obj.raw,
            "metadata": {k: v for k, v in obj.raw["metadata"].items() if k != "managedFields"},
        }
        for kind in store.kinds()
        for obj in store.list(kind).objects
    }
    assert state == expected

"""The folder of a run: whole files, one writer, refused folders are not changed."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from typing import Any

import pytest
from pyarrow import parquet

from podwright.apimachinery.objects import Pod
from podwright.simulation.recording.folders import tables
from podwright.simulation.recording.folders.run_folder import RunFolder
from podwright.simulation.recording.folders.run_manifest import InputFile, Manifest, RunError
from podwright.simulation.recording.folders.tables import MissingExtra, arrow_table, require_arrow
from podwright.testing import make_node, make_pod

MANIFEST = Manifest(
    seed=7, start_ns=0, inputs=(InputFile("objects", "nodes.yaml", "aa"),), options={"sample": "1m"}
)
ROWS = {"waits": {"pod": ["a"], "wait_ns": [1]}}


@pytest.fixture
def opened():
    """Let go of every folder that a test leaves open."""
    folders: list[RunFolder] = []

    def opened(folder: RunFolder) -> RunFolder:
        folders.append(folder)
        return folder

    yield opened
    for folder in folders:
        folder.release()


@pytest.fixture
def begun(opened):
    return lambda path: opened(RunFolder.create(path, MANIFEST))


def test_the_manifest_has_the_inputs_and_the_status_of_the_run(tmp_path, begun):
    folder = begun(tmp_path / "run")
    assert RunFolder.open(str(tmp_path / "run")).manifest == MANIFEST
    assert (tmp_path / "run/manifest.json").read_text().startswith('{\n  "')
    folder.close("finished")
    assert not RunFolder.open(tmp_path / "run").has_results
    found = RunFolder.open(tmp_path / "run").manifest
    assert found.status == "finished"
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("status", ["interrupted", "finished"])
def test_finishing_removes_the_checkpoint_and_the_parts(tmp_path, status, begun):
    folder = begun(tmp_path)
    folder.write_checkpoint(b"here", ROWS)
    folder.write_end({"placed": 1}, "# metrics\n", [])
    folder.close(status)
    left = {file.name for file in tmp_path.iterdir()}
    kept = {"checkpoint", "parts"} if status == "interrupted" else set()
    assert left == {"manifest.json", "summary.json", "metrics.prom", "objects.json"} | kept
    assert folder.read_summary(dict[str, int]) == {"placed": 1}


def test_a_file_has_its_name_once_all_of_it_is_on_disk(tmp_path, begun, monkeypatch):
    """A power failure leaves the file that was there before, or the whole new one."""
    folder, place = begun(tmp_path), tmp_path / "manifest.json"
    before = place.read_bytes()
    sizes = []

    def synced(descriptor):
        sizes.append(os.fstat(descriptor).st_size)
        assert place.read_bytes() == before

    monkeypatch.setattr(os, "fsync", synced)
    folder.close("finished")
    assert sizes == [place.stat().st_size]
    assert place.read_bytes() != before


def test_resuming_returns_the_last_checkpoint_and_the_rows_before_it(tmp_path, begun, opened):
    folder = begun(tmp_path)
    folder.write_checkpoint(b"first", ROWS)
    folder.write_checkpoint(b"second", {"waits": {"pod": ["b"], "wait_ns": [2]}})
    # A part whose checkpoint was not written any more.
    (tmp_path / "parts" / "000002").write_bytes(b"cut")
    folder.release()
    again = opened(RunFolder.open(tmp_path))
    checkpoint = again.resume(MANIFEST)
    assert checkpoint is not None
    assert checkpoint.state == b"second"
    assert [part["waits"]["pod"] for part in again.parts()] == [["a"], ["b"]]
    assert not (tmp_path / "parts" / "000002").exists()


def test_without_a_checkpoint_a_run_restarts(tmp_path, begun, opened):
    folder = begun(tmp_path)
    (tmp_path / "log").mkdir()
    folder.release()
    assert opened(RunFolder.open(tmp_path)).resume(MANIFEST) is None
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize("written", [0, 2])
def test_the_parts_of_a_resumed_run_are_numbered_on(tmp_path, written, begun, opened):
    folder = begun(tmp_path)
    for _ in range(written):
        folder.write_checkpoint(b"before", ROWS)
    folder.release()
    again = opened(RunFolder.open(tmp_path))
    again.resume(MANIFEST)
    again.write_checkpoint(b"after", ROWS)
    parts = sorted(file.name for file in (tmp_path / "parts").iterdir())
    assert parts == [f"{number:06}" for number in range(written + 1)]


def test_a_folder_has_one_writer_at_a_time(tmp_path, begun, opened):
    folder = begun(tmp_path)
    with pytest.raises(RunError, match="is locked: another process is writing to it"):
        opened(RunFolder.open(tmp_path)).resume(MANIFEST)
    folder.release()
    opened(RunFolder.open(tmp_path)).resume(MANIFEST)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        pytest.param({"seed": 8}, "seed was 7 and is 8", id="another seed"),
        pytest.param(
            {"options": {"sample": "2m"}},
            'differ: sample was "1m" and is "2m". It',
            id="another option",
        ),
        pytest.param(
            {"inputs": (InputFile("objects", "nodes.yaml", "bb"),), "configuration": {"a": 1}},
            "differ: nodes.yaml has changed. It",
            id="a changed file with a configuration in it",
        ),
        pytest.param({"podwright": "9.9"}, "podwright was", id="another version"),
        pytest.param(
            {"inputs": (InputFile("objects", "nodes.yaml", "bb"),)},
            "nodes.yaml has changed",
            id="a changed file",
        ),
        pytest.param({"inputs": ()}, "nodes.yaml is missing", id="a missing file"),
        pytest.param(
            {"inputs": (*MANIFEST.inputs, InputFile("events", "e.jsonl", "cc"))},
            "e.jsonl is new",
            id="a new file",
        ),
    ],
)
def test_a_run_with_another_manifest_is_not_resumed(tmp_path, other, message, begun, opened):
    begun(tmp_path).release()
    given = {name: getattr(MANIFEST, name) for name in MANIFEST.__struct_fields__}
    with pytest.raises(RunError, match=message):
        opened(RunFolder.open(tmp_path)).resume(Manifest(**(given | other)))
    assert [file.name for file in tmp_path.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "is not a run folder", id="none"),
        pytest.param("{", "cannot be read", id="damaged"),
        pytest.param('{"format": 6}', "cannot be read", id="incomplete"),
        pytest.param(
            '{"format": 4, "podwright": "0.1"}',
            "is in format 4, written by podwright 0.1; .* run it again in another folder",
            id="older",
        ),
        pytest.param(
            '{"format": 7, "podwright": "9.9"}',
            "written by podwright 9.9; .* use that version",
            id="newer",
        ),
    ],
)
def test_an_invalid_run_folder_is_refused_and_not_changed(tmp_path, content, message):
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(RunError, match=message):
        RunFolder.open(tmp_path)
    if content is not None:
        assert (tmp_path / "manifest.json").read_text() == content


def test_a_damaged_checkpoint_is_refused(tmp_path, begun, opened):
    folder = begun(tmp_path)
    folder.write_checkpoint(b"first", ROWS)
    folder.release()
    whole = (tmp_path / "checkpoint").read_bytes()
    (tmp_path / "checkpoint").write_bytes(b"\x93no")
    refused = opened(RunFolder.open(tmp_path))
    with pytest.raises(RunError, match="checkpoint cannot be read"):
        refused.resume(MANIFEST)
    # It was released.
    (tmp_path / "checkpoint").write_bytes(whole)
    assert opened(RunFolder.open(tmp_path)).resume(MANIFEST) is not None


@pytest.mark.parametrize("name", ["notes.txt", "manifest.json"])
def test_a_folder_that_is_not_empty_is_refused(tmp_path, name, begun):
    (tmp_path / name).write_text("mine")
    with pytest.raises(RunError, match="is not empty: choose another folder") as caught:
        begun(tmp_path)
    assert ("--resume" in str(caught.value)) == (name == "manifest.json")
    assert (tmp_path / name).read_text() == "mine"


def test_a_file_instead_of_a_folder_is_refused(tmp_path, begun):
    (tmp_path / "run").write_text("mine")
    with pytest.raises(RunError, match="is a file; choose another name"):
        begun(tmp_path / "run")


def test_tables_have_types_and_nulls(tmp_path, begun):
    types = {"at": "time", "score": "maybe", "node": "name", "pod": "text", "share": "float"}
    rows: dict[str, list[Any]] = {
        "at": [1000],
        "score": [None],
        "node": [None],
        "pod": ["a"],
        "share": [0.5],
    }
    table = arrow_table(types, rows)
    assert [str(field.type) for field in table.schema] == [
        "timestamp[ns, tz=UTC]",
        "int64",
        "dictionary<values=string, indices=int32, ordered=0>",
        "string",
        "double",
    ]
    folder = begun(tmp_path)
    folder.write_tables({"t": types}, [{"t": rows}])
    assert folder.read_table("t").to_pylist() == table.to_pylist()


def test_the_bytes_of_a_table_do_not_depend_on_its_parts(tmp_path, begun, monkeypatch):
    monkeypatch.setattr(tables, "_ROW_GROUP", 3)
    types = {"at": "time", "node": "name", "pod": "text"}
    rows = {"at": list(range(8)), "node": ["a", None, "b", *"aabba"], "pod": list("abcdefgh")}
    contents = set()
    for name, cuts in {"one": [0, 8], "three": [0, 1, 5, 8], "each": range(9)}.items():
        folder = begun(tmp_path / name)
        parts = [
            {"t": {column: values[first:last] for column, values in rows.items()}}
            for first, last in pairwise(cuts)
        ]
        folder.write_tables({"t": types}, parts)
        contents.add((tmp_path / name / "tables/t.parquet").read_bytes())
        assert tables.to_lists(folder.read_table("t")) == rows
    assert len(contents) == 1
    assert parquet.ParquetFile(tmp_path / "one/tables/t.parquet").num_row_groups == 3


def test_without_pyarrow_the_error_names_the_package(tmp_path, begun, monkeypatch):
    folder = begun(tmp_path)
    folder.write_tables({"t": {"pod": "text"}}, [{"t": {"pod": ["x"]}}])
    written = (tmp_path / "tables/t.parquet").read_bytes()
    monkeypatch.setattr(tables, "find_spec", lambda _: None)
    for uses_tables in (
        require_arrow,
        lambda: folder.read_table("t"),
        lambda: folder.write_tables({"t": {"pod": "text"}}, []),
    ):
        with pytest.raises(MissingExtra, match=r"pip install 'podwright\[tables\]'.*--no-tables"):
            uses_tables()
    assert (tmp_path / "tables/t.parquet").read_bytes() == written


def test_the_manifest_is_plain_json(tmp_path, begun):
    begun(tmp_path)
    document = json.loads((tmp_path / "manifest.json").read_text())
    assert document["startNs"] == 0
    assert document["inputs"] == [{"role": "objects", "path": "nodes.yaml", "sha256": "aa"}]


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ({"files": ["a.yaml"]}, "podwright simulate --resume {path}"),
        ({"sample": "1m"}, "pw.simulate(..., output={path!r}, resume=True)"),
    ],
)
def test_an_interrupted_run_says_how_to_resume_it(tmp_path, options, command, opened):
    given = {name: getattr(MANIFEST, name) for name in MANIFEST.__struct_fields__}
    folder = opened(RunFolder.create(tmp_path / "run", Manifest(**(given | {"options": options}))))
    expected = command.format(path=str(tmp_path / "run"))
    assert folder.resume_command == expected
    assert folder.interruption == f"interrupted; resume the run with: {expected}"
    folder.check_begun()
    folder.interrupt()
    with pytest.raises(RunError, match="has no events: the run was interrupted before its first"):
        folder.check_begun()
    (tmp_path / "run/log").mkdir()
    (tmp_path / "run/log/00000000.pwlog").write_bytes(b"")
    folder.check_begun()


def test_a_log_that_lacks_events_is_not_that_of_a_whole_run(tmp_path, opened):
    folder = opened(RunFolder.create(tmp_path / "run", MANIFEST))
    folder.check_whole(0)
    folder.close("finished", events=1_200)
    folder.check_whole(1_200)
    with pytest.raises(RunError, match="run is not complete: its log has 1,199 of 1,200 events; "):
        folder.check_whole(1_199)


def test_an_interruption_removes_results_and_the_lock_once(tmp_path, begun, opened):
    folder = begun(tmp_path)
    folder.write_end({"placed": 1}, "", [make_pod("a"), make_node("n1")])
    assert not folder.has_results, "those of a running run are old"
    assert [pod.key for pod in folder.read_pods()] == ["default/a"]
    assert isinstance(folder.read_pods()[0], Pod)
    folder.interrupt()
    assert RunFolder.open(tmp_path).manifest.status == "interrupted"
    assert not (tmp_path / "summary.json").exists()
    assert not (tmp_path / ".lock").exists()
    # A folder that is closed is left as it is.
    (tmp_path / "summary.json").write_text("{}")
    folder.interrupt()
    assert folder.has_results
    opened(RunFolder.open(tmp_path)).lock()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_file_that_cannot_be_written_leaves_the_one_before(tmp_path, begun, error):
    folder = begun(tmp_path)
    folder.write_timeline([b"before"])

    def chunks():
        yield b"half"
        raise error

    if isinstance(error, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            folder.write_timeline(chunks())
    else:
        with pytest.raises(RunError, match="timeline cannot be written: No space left on device"):
            folder.write_timeline(chunks())
    assert (tmp_path / "timeline").read_bytes() == b"before"
    assert {file.name for file in tmp_path.iterdir()} == {".lock", "manifest.json", "timeline"}


def test_a_file_in_the_place_of_a_folder_is_an_error_that_names_the_unwritten_file(tmp_path, begun):
    folder = begun(tmp_path)
    (tmp_path / "parts").touch()
    with pytest.raises(RunError, match=r"parts/000000 cannot be written: File exists"):
        folder.write_checkpoint(b"here", ROWS)


def test_a_list_of_objects_is_json_with_any_number_of_them(tmp_path, begun):
    folder = begun(tmp_path)
    for objects in ([], [make_pod("a")], [make_pod("a"), make_pod("b")]):
        folder.write_end({}, "", objects)
        text = (tmp_path / "objects.json").read_text()
        document = json.loads(text)
        names = [each["metadata"]["name"] for each in document["items"]]
        assert names == [each.name for each in objects]
        assert text == json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def test_damaged_parts_and_results_are_named(tmp_path, begun):
    folder = begun(tmp_path)
    folder.write_checkpoint(b"here", ROWS)
    (tmp_path / "parts/000000").write_bytes(b"\xc1")
    with pytest.raises(RunError, match=r"parts/000000 cannot be read: .*; it was left as it is"):
        list(folder.parts())
    with pytest.raises(RunError, match=r"summary.json cannot be read: No such file or directory"):
        folder.read_summary(dict)
    (tmp_path / "summary.json").write_text("{")
    with pytest.raises(RunError, match=r"summary.json cannot be read: .*; it was left as it is"):
        folder.read_summary(dict)
    (tmp_path / "summary.json").write_text("[]")
    with pytest.raises(RunError, match=r": summary.json cannot be read: Expected"):
        folder.read_summary(dict)


@pytest.mark.parametrize("damage", ["no file", "a folder", "half"])
def test_a_damaged_table_is_named(damage, tmp_path, begun):
    folder = begun(tmp_path)
    folder.write_tables({"t": {"pod": "text"}}, [{"t": {"pod": ["x"]}}])
    file = tmp_path / "tables/t.parquet"
    data = file.read_bytes()
    file.unlink()
    if damage == "a folder":
        file.mkdir()
    elif damage == "half":
        file.write_bytes(data[: len(data) // 2])
    with pytest.raises(RunError, match=r"tables/t.parquet cannot be read: .*; it was left as it"):
        folder.read_table("t")


def test_a_folder_has_tables_if_it_has_each_of_them(tmp_path, begun):
    folder = begun(tmp_path)
    folder.write_tables({"a": {"pod": "text"}}, [{"a": {"pod": ["x"]}}])
    assert folder.has_tables(["a"])
    assert folder.has_tables([])
    assert not folder.has_tables(["a", "b"])


def test_a_full_disk_at_a_resumption_is_an_error_of_the_folder(
    tmp_path, begun, opened, monkeypatch
):
    begun(tmp_path).release()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    again = RunFolder.open(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "_write_manifest", fail)
        with pytest.raises(RunError) as caught:
            again.resume(MANIFEST)
    assert str(caught.value) == f"{tmp_path} cannot be written: No space left on device"
    # It was released.
    assert opened(RunFolder.open(tmp_path)).resume(MANIFEST) is None

"""The runs of a folder, over podwright's own API."""

import contextlib
import io
import tarfile
from typing import Any

import pytest

import podwright as pw
from podwright.online.apiserver import RunCollection
from podwright.online.apiserver.records import run_collection
from podwright.online.apiserver.tests.conftest import cluster_of
from podwright.simulation.recording import RunError, RunFolder

V1 = "/podwright/v1"


@pytest.fixture
def folder(tmp_path):
    """Return a folder with one run, a folder that is none, and a link to a run elsewhere."""
    runs = tmp_path / "runs"
    for path in (runs / "first", tmp_path / "elsewhere"):
        pw.simulate([pw.testing.make_node("n"), pw.testing.make_pod("p")], output=str(path))
    (runs / "notes").mkdir()
    (runs / "link").symlink_to(tmp_path / "elsewhere")
    (runs / "first" / "link").symlink_to(tmp_path / "elsewhere" / "manifest.json")
    return runs


def get(served, path, method="GET"):
    with contextlib.closing(served.connection()) as connection:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.getheader("content-type"), response.read()


def test_runs_are_listed_opened_downloaded_and_deleted(serve, folder, tmp_path):
    served = serve(cluster_of(), runs=RunCollection(folder))
    status, found = served.send("GET", f"{V1}/runs")
    assert status == 200
    (run,) = found["runs"]
    assert (run["id"], run["status"], run["problem"]) == ("first", "finished", "")

    status, found = served.send("GET", f"{V1}/runs/first")
    assert (status, found["manifest"]["status"]) == (200, "finished")
    assert found["summary"]
    sizes = {each["name"]: each["sizeBytes"] for each in found["files"]}
    assert sizes["manifest.json"] == (folder / "first/manifest.json").stat().st_size
    assert "link" not in sizes

    status, media_type, data = get(served, f"{V1}/runs/first/download")
    assert (status, media_type) == (200, "application/x-tar")
    with tarfile.open(fileobj=io.BytesIO(data)) as packed:
        assert {each.name for each in packed} == {f"first/{name}" for name in sizes}
        packed.extractall(tmp_path / "unpacked", filter="data")
    copy = RunFolder.open(tmp_path / "unpacked/first")
    assert copy.manifest == RunFolder.open(folder / "first").manifest

    status, found = served.send("DELETE", f"{V1}/runs/first")
    assert (status, found) == (200, {"runs": []})
    assert not (folder / "first").exists()
    assert (folder / "notes").is_dir()
    assert (tmp_path / "elsewhere/manifest.json").exists()


@pytest.mark.parametrize(("method", "rest"), [("GET", ""), ("GET", "/download"), ("DELETE", "")])
def test_no_name_leads_out_of_the_folder(serve, folder, tmp_path, method, rest):
    served = serve(cluster_of(0), runs=RunCollection(folder))
    for name in (
        "none", "notes", "link", "..", ".", "%2e%2e", "..%2Felsewhere", "first%2F..%2Ffirst",
    ):  # fmt: skip
        assert get(served, f"{V1}/runs/{name}{rest}", method)[0] in {404, 405}, name
    assert (tmp_path / "elsewhere/manifest.json").exists()
    assert (folder / "first/manifest.json").exists()


def test_a_run_that_is_written_is_neither_downloaded_nor_deleted(serve, folder):
    served = serve(cluster_of(0), runs=RunCollection(folder))
    writer = RunFolder.open(folder / "first")
    writer.lock()
    try:
        for method, rest in (("GET", "/download"), ("DELETE", "")):
            status, found = served.send(method, f"{V1}/runs/first{rest}")
            assert (status, found["status"]) == (409, 409)
            assert "is locked" in found["detail"]
    finally:
        writer.release()
    assert served.send("DELETE", f"{V1}/runs/first")[0] == 200


@pytest.mark.parametrize("manifest", [b"{}", b'{"format": 1, "podwright": "\xff"}', b"[" * 100_000])
def test_a_run_that_cannot_be_read_is_listed_with_the_reason(serve, folder, manifest):
    (folder / "first/manifest.json").write_bytes(manifest)
    served = serve(cluster_of(0), runs=RunCollection(folder))
    (run,) = served.send("GET", f"{V1}/runs")[1]["runs"]
    assert run["problem"]
    assert served.send("GET", f"{V1}/runs/first")[0] == 409


def test_without_a_folder_there_are_no_runs(serve):
    status, found = serve(cluster_of(0)).send("GET", f"{V1}/runs")
    assert status == 409
    assert "--runs" in found["detail"]


def test_what_a_run_has_recorded_is_read_as_that_of_a_cluster(serve, folder):
    served = serve(cluster_of(), runs=RunCollection(folder))
    run = f"{V1}/runs/first"

    status, media_type, timeline = get(served, f"{run}/timeline")
    assert (status, media_type) == (200, "application/vnd.podwright.timeline")
    assert b"default/p" in timeline

    status, found = served.send("GET", f"{run}/nodes")
    assert (status, list(found["labels"])) == (200, ["n"])

    pod = f"{run}/pods/default/p"
    status, found = served.send("GET", f"{pod}/attempts")
    assert (status, found["attempts"][0]["node"]) == (200, "n")

    status, found = served.send("GET", f"{pod}/explanation?attempt=1")
    assert (status, found["pod"]) == (200, "default/p")
    assert found["run"]["attempt"] == 1
    status, found = served.send("GET", f"{pod}/explanation?view=matrix")
    assert (status, found["nodes"]) == (200, ["n"])


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        ("none/timeline", 404, "there is no run 'none'"),
        ("first/pods/default/x/attempts", 404, "no scheduling attempt"),
        ("first/pods/default/x/explanation", 404, "default/x"),
        ("first/pods/default/p/explanation?attempt=2", 404, "default/p"),
        ("first/pods/default/p/explanation?attempt=now", 422, "has no present"),
        ("first/pods/default/p/explanation?at=soon", 422, "soon"),
    ],
)
def test_what_a_run_has_not_recorded_is_an_error(serve, folder, path, status, reason):
    served = serve(cluster_of(0), runs=RunCollection(folder))
    found, problem = served.send("GET", f"{V1}/runs/{path}")
    assert found == status
    assert reason in problem["detail"]


class Odd(pw.Plugin):
    """A plugin that the server does not have."""

    name = "Odd"

    def score(self, cycle, node):
        return len(node.pods)


def test_a_run_of_unknown_plugins_is_an_error_that_says_what_to_do(serve, folder):
    objects = [pw.testing.make_node("n"), pw.testing.make_pod("p")]
    pw.simulate(objects, plugins=[Odd], output=str(folder / "odd"))
    served = serve(cluster_of(0), runs=RunCollection(folder))
    status, found = served.send("GET", f"{V1}/runs/odd/timeline")
    assert status == 409
    assert "Odd; start it with --plugin FILE" in found["detail"]


def test_a_folder_that_cannot_be_read_is_a_problem(serve, folder, monkeypatch):
    runs = RunCollection(folder)
    served = serve(cluster_of(0), runs=runs)

    def unreadable():
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(runs, "list", unreadable)
    status, found = served.send("GET", f"{V1}/runs")
    assert (status, found["detail"]) == (409, "the folder of runs: Input/output error")


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 2_000])
def test_a_run_is_packed_piece_by_piece(tmp_path, monkeypatch, size):
    monkeypatch.setattr(run_collection, "_PIECE_BYTES", 500)
    path = tmp_path / "first"
    (path / "log").mkdir(parents=True)
    content = bytes(number % 251 for number in range(size))
    for name in ("log/a", "b", ".lock"):
        (path / name).write_bytes(content)
    (path / "link").symlink_to(path / "b")
    parts = list(run_collection._packed(path))
    assert max(map(len, parts)) <= 1024
    with tarfile.open(fileobj=io.BytesIO(b"".join(parts))) as packed:
        files: Any = {each.name: packed.extractfile(each) for each in packed}
        found = {name: file.read() for name, file in files.items()}
    assert found == {"first/b": content, "first/log/a": content}
    assert len(b"".join(parts)) == 2 * (512 + -(-size // 512) * 512) + 1024


def test_a_file_that_becomes_shorter_while_it_is_packed_is_an_error(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 10)
    parts = run_collection._packed(tmp_path)
    assert len(next(parts)) == 512
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(RunError) as error:
        next(parts)
    assert str(error.value) == f"{tmp_path}/a became shorter while it was read"


def test_a_list_shows_the_results_of_a_run_that_has_finished(folder):
    (run,) = RunCollection(folder).list()
    summary = RunFolder.open(folder / "first").read_summary(dict)
    assert run.end_time == summary["end"]
    assert (run.placed, run.pending, run.preemptions) == (1, 0, 0)
    assert run.longest_wait_seconds == summary["waits"]["maxSeconds"]
    assert run.start_time == "2026-01-01T00:00:00.000000000Z"
    assert (run.seed, run.podwright) == (0, pw.__version__)

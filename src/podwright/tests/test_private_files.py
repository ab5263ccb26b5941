"""Files and folders that can hold Secrets are closed to other users."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import podwright as pw
from podwright._private_files import (
    PRIVATE,
    exposures,
    lock_file,
    make_private_folder,
    open_private,
    replacing,
    write_private,
)
from podwright.cluster.store import open_store
from podwright.online.apiserver import kubeconfig, write_kubeconfig


@pytest.fixture(autouse=True)
def ordinary_umask():
    """Set the umask that most users have."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder):
    """Return the modes of a folder and of all in it, as text, by name."""
    found = {".": folder, **{str(each.relative_to(folder)): each for each in folder.rglob("*")}}
    return {name: f"{stat.S_IMODE(path.stat().st_mode):o}" for name, path in found.items()}


def test_a_database_and_its_log_are_private(tmp_path):
    folder = tmp_path / "kept"
    folder.mkdir(mode=0o755)
    store = open_store(folder / "cluster.db")
    found = modes(folder)
    store.close()
    assert set(found) == {".", "cluster.db", "cluster.db-wal"}
    assert {found["cluster.db"], found["cluster.db-wal"]} == {"600"}


def test_all_of_a_run_is_private(tmp_path):
    objects = [pw.testing.make_node("n1"), pw.testing.make_pod("web")]
    pw.simulate(objects, output=str(tmp_path / "runs/first"))
    found = modes(tmp_path / "runs")
    assert {"first/manifest.json", "first/log/00000000.pwlog"} <= set(found)
    folders = {name for name in found if (tmp_path / "runs" / name).is_dir()}
    assert {found.pop(name) for name in folders} == {"700"}
    assert set(found.values()) == {"600"}


def test_a_kubeconfig_and_its_new_folder_are_private(tmp_path):
    write_kubeconfig(tmp_path / "new" / "config", kubeconfig("http://127.0.0.1:1", "token", None))
    assert modes(tmp_path / "new") == {".": "700", "config": "600"}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("before", [None, b"before"])
def test_a_file_that_is_replaced_stays_until_the_new_one_is_complete(tmp_path, before, error):
    path = tmp_path / "file"
    if before is not None:
        path.write_bytes(before)
    (tmp_path / ".file.new").write_bytes(b"left by a process that was killed")

    def write():
        with replacing(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)) as caught:
        write()
    if isinstance(error, OSError):
        assert caught.value.filename == str(path)
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [before] * (before is not None)


@pytest.mark.parametrize(("before", "mode", "after"), [
    (None, PRIVATE, "600"), (None, 0o666, "644"),
    (0o664, PRIVATE, "664"), (0o600, 0o666, "600"),
])  # fmt: skip
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, before, mode, after):
    path = tmp_path / "file"
    if before is not None:
        path.touch()
        path.chmod(before)
    with replacing(path, mode) as file:
        file.write(b"whole")
    assert path.read_bytes() == b"whole"
    assert modes(tmp_path)["file"] == after
    assert len(modes(tmp_path)) == 2


def test_links_and_devices_stay_what_they_are(tmp_path):
    link, target = tmp_path / "link", tmp_path / "target"
    link.symlink_to(target)
    with replacing(link) as file:
        file.write(b"whole")
    assert link.readlink() == target
    assert target.read_bytes() == b"whole"
    os.mkfifo(pipe := tmp_path / "pipe")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with replacing(pipe) as file:
        file.write(b"whole")
    assert os.read(reader, 9) == b"whole"
    os.close(reader)


def test_what_exists_keeps_its_mode(tmp_path):
    file = tmp_path / "open"
    file.touch(mode=0o644)
    write_private(file, b"x")
    assert file.stat().st_mode & 0o777 == 0o644
    with pytest.raises(FileExistsError):
        make_private_folder(file)


@pytest.mark.parametrize(
    ("file_mode", "folder_mode", "expected"),
    [
        (0o600, 0o755, ""),
        (None, 0o755, ""),
        (0o644, 0o700, "mode 0644"),
        (0o640, 0o700, "chmod 600"),
        (0o600, 0o777, "can replace"),
        (None, 0o777, "chmod go-w"),
        (0o600, 0o1777, ""),
    ],
)
def test_open_files_and_their_folders_are_named(tmp_path, file_mode, folder_mode, expected):
    folder = tmp_path / "folder"
    folder.mkdir()
    file = folder / "cluster.db"
    if file_mode is not None:
        file.touch()
        file.chmod(file_mode)
    folder.chmod(folder_mode)
    warnings = list(exposures(None, file))
    assert [expected in each for each in warnings] == [True] * bool(expected)


def test_an_open_folder_of_runs_is_named(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir(mode=0o755)
    (warning,) = exposures(folder)
    assert warning.endswith(f"(mode 0755); close it with: chmod 700 {folder}")
    folder.chmod(0o700)
    assert not list(exposures(folder))


def test_a_warning_says_the_mode_and_how_to_close(tmp_path):
    folder, file = tmp_path / "folder", tmp_path / "folder" / "cluster.db"
    folder.mkdir()
    write_private(file, b"x")
    file.chmod(0o604)
    folder.chmod(0o757)
    assert list(exposures(file, None, folder)) == [
        f"{file} can hold Secrets and is open to other users (mode 0604); close it with: chmod 600"
        f" {file}",
        f"other users can replace {file}: they can write to its folder (mode 0757); close it with:"
        f" chmod go-w {folder}",
        f"{folder} can hold Secrets and is open to other users (mode 0757); close it with: chmod"
        f" 700 {folder}",
    ]


@pytest.mark.parametrize(("has_own_group", "warns"), [(True, False), (False, True)])
def test_a_folder_that_a_group_can_write_to_is_open_unless_the_group_is_that_of_its_user(
    tmp_path, monkeypatch, has_own_group, warns
):
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o770)
    read = Path.stat

    def changed(path, **options):
        found = list(read(path, **options))
        found[stat.ST_GID] = found[stat.ST_UID] + (not has_own_group)
        return os.stat_result(found)

    monkeypatch.setattr(Path, "stat", changed)
    assert bool(list(exposures(folder / "cluster.db"))) is warns


def test_a_file_is_locked_until_it_is_closed(tmp_path):
    path = tmp_path / "file"
    with open_private(path, "ab") as first, open_private(path, "ab", 0) as second:
        lock_file(first)
        with pytest.raises(BlockingIOError):
            lock_file(second)
        first.write(b"later, ")
        second.write(b"at once, ")
        assert path.read_bytes() == b"at once, "
        first.close()
        assert path.read_bytes() == b"at once, later, "
        lock_file(second)


def test_missing_folders_are_private_and_those_that_are_there_stay(tmp_path):
    (tmp_path / "a").mkdir(mode=0o755)
    for _ in range(2):
        make_private_folder(tmp_path / "a" / "b" / "c")
    assert modes(tmp_path / "a") == {".": "755", "b": "700", "b/c": "700"}


def test_a_parent_that_appears_meanwhile_is_not_an_error(tmp_path):
    # `new/..` is missing until `new` is created.
    make_private_folder(tmp_path / "new" / ".." / "other")
    assert modes(tmp_path / "other") == {".": "700"}

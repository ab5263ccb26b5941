"""What is shown while files are read, and the cache that the environment selects."""

from __future__ import annotations

import gc
import io
from contextlib import suppress
from pathlib import Path

import pytest
from rich.console import Console

from podwright.apimachinery.objects import FieldError, InputError
from podwright.cli import file_reading
from podwright.cli.file_reading import ErrorCollector, document_cache, read_text, reading_files
from podwright.simulation.files import LoadedObjects, load_bytes
from podwright.simulation.files.document_cache import LEAST_BYTES


def load_file(path: Path, **options) -> LoadedObjects:
    return load_bytes([(str(path), path.read_bytes())], **options)


@pytest.fixture
def screen(monkeypatch):
    """The terminal that stderr is."""
    screen = io.StringIO()
    made = Console(file=screen, force_terminal=True, width=100, color_system=None)
    monkeypatch.setattr(file_reading, "stderr", lambda: made)
    return screen


@pytest.fixture
def clock(monkeypatch):
    """The number of seconds that each look at the clock takes."""
    now = [0.0, 0.0]

    def monotonic():
        now[0] += now[1]
        return now[0]

    monkeypatch.setattr(file_reading, "monotonic", monotonic)
    return now


def pods(count: int) -> str:
    head = "apiVersion: v1\nkind: Pod\n"
    spec = "spec: {containers: [{name: c, image: i}]}\n"
    return "---\n".join(f"{head}metadata: {{name: p{n}}}\n{spec}" for n in range(count))


@pytest.fixture
def dump(tmp_path):
    (tmp_path / "dump.yaml").write_text(pods(50))
    return tmp_path / "dump.yaml"


def test_after_a_second_the_file_and_the_share_are_shown(screen, clock, dump):
    clock[1] = 0.2
    with reading_files() as watch:
        assert len(load_file(dump, watch=watch).sourced) == 50
    shown = screen.getvalue()
    assert f"reading {dump}: " in shown
    assert f"reading {dump}: 0%" not in shown


@pytest.mark.parametrize(("now", "is_shown"), [(0.99, False), (1.0, True), (1.01, True)])
def test_the_line_appears_at_a_second_and_is_gone_afterwards(screen, clock, now, is_shown):
    with reading_files() as watch:
        assert watch is not None
        watch("dump.yaml", 0.1)
        clock[0] = now
        watch("dump.yaml", 0.199)
    assert ("reading dump.yaml: 20%" in screen.getvalue()) is is_shown
    assert screen.getvalue().endswith("\x1b[2K") is is_shown


def test_within_a_second_nothing_is_shown(screen, clock, dump):
    clock[1] = 0.001
    with reading_files() as watch:
        load_file(dump, watch=watch)
    assert screen.getvalue() == ""


def test_the_share_grows_to_the_end(dump):
    shares: list[float] = []
    load_file(dump, watch=lambda _, share: shares.append(share))
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert 0.95 < shares[-1] <= 1


def test_off_a_terminal_nothing_is_watched(monkeypatch):
    monkeypatch.setattr(file_reading, "stderr", lambda: Console(file=io.StringIO()))
    with reading_files() as watch:
        assert watch is None


def test_the_collector_is_as_before_also_after_an_error():
    assert gc.isenabled()
    with suppress(KeyError), reading_files():
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()
    gc.unfreeze()


def test_the_cache_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("PODWRIGHT_CACHE", "off")
    assert document_cache() is None


@pytest.mark.parametrize(
    ("variables", "is_beside"),
    [
        pytest.param({"PODWRIGHT_CACHE": "CACHES"}, False, id="a given folder"),
        pytest.param({"XDG_CACHE_HOME": "CACHES"}, True, id="the user's caches"),
    ],
)
def test_a_folder_is_used_in_place_of_a_read_only_one(
    variables, is_beside, dump, tmp_path, monkeypatch
):
    monkeypatch.delenv("PODWRIGHT_CACHE", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    for name, value in variables.items():
        monkeypatch.setenv(name, str(tmp_path / value.lower()))
    dump.write_text(f"# {'-' * LEAST_BYTES}\n{pods(3)}")
    if is_beside:
        # Where the entry would be.
        (tmp_path / f".{dump.name}.podwright-cache").mkdir()
    load_file(dump, cache=document_cache())
    kept = [path for path in (tmp_path / "caches").rglob("*") if path.is_file()]
    assert [path.suffix for path in kept] == [".podwright-cache"]


def test_the_errors_of_several_inputs_are_collected_and_others_are_not():
    collector = ErrorCollector()
    collector.raise_all()
    for name in "ab":
        with collector:
            raise InputError([FieldError(source=name, path="p", message="m")] * 2)
    with pytest.raises(KeyError), collector:
        raise KeyError
    with collector:
        pass
    with pytest.raises(InputError) as caught:
        collector.raise_all()
    assert caught.value.texts == ["a: p: m"] * 2 + ["b: p: m"] * 2


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a: 1\n", "a: 1\n"),
        (b"a: 1\r\nb: 2\r\n", "a: 1\nb: 2\n"),
        (b"\xff\xfea\0\n\0", "a\n"),
        (b"a: \xff\n", InputError),
    ],
)
def test_a_text_is_read_from_a_file_or_from_stdin(data, text, tmp_path, monkeypatch):
    (tmp_path / "a.yaml").write_bytes(data)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    for path, source in ((tmp_path / "a.yaml", f"{tmp_path}/a.yaml"), (Path("-"), "stdin")):
        if text is InputError:
            with pytest.raises(InputError) as caught:
                read_text(path)
            assert caught.value.texts == [f"{source}: not UTF-8 text: invalid start byte at byte 3"]
        else:
            assert read_text(path) == text


def test_a_text_that_cannot_be_opened_is_an_error(tmp_path):
    with pytest.raises(InputError) as caught:
        read_text(tmp_path / "none")
    assert caught.value.texts == [f"{tmp_path}/none: cannot be read: No such file or directory"]

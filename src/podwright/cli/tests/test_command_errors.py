"""Commands that fail for other reasons than their inputs, and what their texts say."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from podwright.apimachinery.objects import FieldError, InputError, PodwrightError
from podwright.cli.clusters import options as cluster_options
from podwright.cli.clusters.options import check_installed
from podwright.cli.file_reading import MissingLiveError, document_cache
from podwright.cli.process_exit import Interruption, OSFailure
from podwright.cli.recorded.convert_run import _is_record, _warn_of_unterminated_line
from podwright.cli.reporting_group import ReportingGroup
from podwright.cli.tests.served import command
from podwright.cli.usage import PlainCommand
from podwright.cli.worker_threads import ThreadedPieces
from podwright.online.client.cluster import UnreachableCluster
from podwright.simulation.files import Record


def ended_with(error: BaseException) -> Any:
    """Run a command that raises an error."""
    app = typer.Typer(cls=ReportingGroup)

    @app.callback()
    def group() -> None:
        """Have commands."""

    @app.command()
    def fail() -> None:
        raise error

    return CliRunner().invoke(app, ["fail"])


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (PodwrightError("no"), 2, "error: no\n"),
        (InputError([FieldError(source="a", path="b", message="c")]), 2, "error: a: b: c\n"),
        (UnreachableCluster("gone"), 3, "error: gone\n"),
        (typer.Exit(7), 7, ""),
        *(
            (
                ModuleNotFoundError("", name=name),
                2,
                f"error: {name} is not installed; install it with: pip install"
                f" 'podwright[{extra}]'\n",
            )
            for name, extra in (
                ("aiohttp", "live"), ("kubernetes_asyncio.client", "live"),
                ("prometheus_client", "live"), ("cryptography.x509", "tls"), ("dask", "sweep"),
                ("distributed", "sweep"), ("httpx", "ui"), ("nicegui", "ui"),
                ("matplotlib.axes", "plots"), ("optuna", "tune"), ("pyarrow", "tables"),
            )
        ),
    ],
)  # fmt: skip
def test_an_error_of_a_command_is_a_line_and_a_status(error, status, text):
    result = ended_with(error)
    assert (result.exit_code, result.stderr, result.stdout) == (status, text, "")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ModuleNotFoundError("", name="own"), ModuleNotFoundError),
        (ModuleNotFoundError(), ModuleNotFoundError),
        (KeyError("a defect"), KeyError),
        (KeyboardInterrupt("at 5m"), Interruption),
        (OSError("no"), OSFailure),
    ],
)
def test_other_errors_are_left_to_the_end_of_the_process(error, kind):
    assert type(ended_with(error).exception) is kind


def test_a_plugin_that_ends_the_process_is_an_error_with_its_place():
    result = ended_with(SystemExit(0))
    assert result.exit_code == 2
    line = Path(__file__).read_text("utf-8").splitlines().index("        raise error") + 1
    assert result.stderr == f"error: {__file__}: line {line}: SystemExit was raised\n"


@pytest.mark.parametrize("missing", ["kubernetes_asyncio", "aiohttp"])
def test_a_real_cluster_needs_both_libraries(monkeypatch, missing):
    check_installed()
    monkeypatch.setattr(cluster_options, "find_spec", lambda name: None if name == missing else 1)
    with pytest.raises(MissingLiveError, match=r"installed; install them with: pip install"):
        check_installed()


def used(*args: str) -> str:
    """Return what a command says about its use."""
    app = typer.Typer(rich_markup_mode=None)

    @app.command(cls=PlainCommand)
    def draw(
        count: int = typer.Option(1, min=1, max=9),
        share: float = typer.Option(0.5, min=0.25),
        most: int = typer.Option(1, max=3),
        is_fair: bool = typer.Option(True, "--fair/--unfair"),
    ) -> None:
        """Draw."""

    return CliRunner().invoke(app, list(args)).stderr.strip().rpartition(": ")[2]


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("--count", "0"), "0 must be greater than or equal to 1."),
        (("--count", "10"), "10 must be less than or equal to 9."),
        (("--share", "0.1"), "0.1 must be greater than or equal to 0.25."),
        (("--most", "4"), "4 must be less than or equal to 3."),
        (("--count", "x"), "'x' is not an integer."),
        (("--share", "x"), "'x' is not a number."),
        (("--fair", "--unfair"), "contradict each other."),
        (("--fair", "--fair"), ""),
        (("--count", "1", "--count", "2"), "is given 2 times; give it once."),
    ],
)
def test_a_wrong_value_is_named_in_plain_words(args, text):
    assert used(*args).endswith(text)
    assert bool(used(*args)) is bool(text)


def test_pieces_run_on_at_most_so_many_threads_and_the_first_error_is_raised():
    threads: set[str] = set()
    done: list[int] = []
    barrier = threading.Barrier(2, timeout=30)

    def piece(index: int) -> None:
        threads.add(threading.current_thread().name)
        if index < 2:
            barrier.wait()
        done.append(index)
        if index in (3, 5):
            raise ValueError(f"piece {index}")

    with ThreadedPieces(2) as run:
        run(9, 3, piece)
        assert (sorted(done), len(threads)) == ([0, 1, 2], 2)
        with pytest.raises(ValueError, match="piece 3"):
            run(1, 6, lambda index: piece(index + 2))
        assert done[-2:] == [2, 3], "a thread ends with its error"
        run(4, 0, piece)
    with pytest.raises(RuntimeError, match="shutdown"):
        run(1, 1, piece)


NESTED = b"[" * 200_000


def test_vectors_that_cannot_be_decoded_are_named_by_their_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("deep.jsonl").write_bytes(b"\n" + NESTED)
    Path("bytes.jsonl").write_bytes(b'{"id": "\xff"}\n')
    _, errors, status = command("parity deep.jsonl bytes.jsonl")
    first, second = errors.splitlines()
    assert (first, status) == ("error: deep.jsonl: line 2: nested too deeply", 2)
    assert second.startswith("error: bytes.jsonl: line 1: not JSON: ")


CHANGE = b'{"time": "2026-01-01T00:00:00Z", "event": "Add", "resource": {}}'


@pytest.mark.parametrize(
    ("data", "is_record"),
    [
        (CHANGE, True), (b"\n  \n" + CHANGE, True), (b'{"event": "Add"}\n{}', True),
        (b'{"time": "2026-01-01T00:00:00Z", "event": "Add", "resourse": {}}', True),
        (b"{}", False), (b"", False), (b" \n", False), (b"[1]", False), (NESTED, False),
        (b'{"time": "", "kind": "Pod"}', False), (b"\xff", False), (b"kind: Pod", False),
        (b"{}\n" + CHANGE, False),
    ],
)  # fmt: skip
def test_a_record_is_known_by_its_first_line(data, is_record):
    assert _is_record(data, "a") is is_record


@pytest.mark.parametrize(
    "record", [None, Record(source="a"), Record(source="a", unterminated_line=7)]
)
def test_a_line_without_its_end_is_named(record, capsys):
    _warn_of_unterminated_line(record)
    text = "a: line 7 is incomplete and was ignored\n"
    assert capsys.readouterr().err == text * bool(record and record.unterminated_line)


@pytest.mark.parametrize(
    ("system", "variables", "folder"),
    [
        ("linux", {}, "HOME/.cache/podwright/documents"),
        ("linux", {"XDG_CACHE_HOME": ""}, "HOME/.cache/podwright/documents"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/podwright/documents"),
        ("darwin", {"XDG_CACHE_HOME": "/x"}, "HOME/Library/Caches/podwright/documents"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/podwright/documents"),
        ("win32", {}, "HOME/AppData/Local/podwright/documents"),
        (None, {}, None),
    ],
)
def test_the_cache_of_dumps_is_where_a_system_has_caches(monkeypatch, system, variables, folder):
    for name in ("PODWRIGHT_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    def home() -> Path:
        if system is None:
            raise RuntimeError
        return Path("HOME")

    monkeypatch.setattr(Path, "home", home)
    monkeypatch.setattr("sys.platform", system or "linux")
    cache = document_cache()
    assert cache is not None
    assert (None if cache._folder is None else str(cache._folder)) == folder


def test_a_simulation_without_end_names_the_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spec = '{schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never,'
    Path("cron.yaml").write_text(
        "{apiVersion: batch/v1, kind: CronJob, metadata: {name: c, namespace: default},"
        f" spec: {spec} containers: [{{name: c, image: i}}]}}}}}}}}}}}}\n"
    )
    _, errors, status = command("simulate cron.yaml")
    assert (status, errors.rpartition("; ")[2]) == (2, "set --until\n")

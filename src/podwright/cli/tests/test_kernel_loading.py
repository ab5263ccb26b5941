"""Kernels of processes that serve for long: compiled by another process, loaded by this one."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from llvmlite.binding import parse_assembly
from tests.http_servers import serving
from tests.waiting import SECONDS_MAX, until

from podwright.apimachinery.objects import PodwrightError
from podwright.cli.clusters import scheduler_run
from podwright.cli.clusters.options import ConnectionOptions, SchedulerCommandOptions
from podwright.cli.console import announce_compilation
from podwright.cli.decisions import warm_up_run
from podwright.cli.decisions.warm_up_run import (
    COMPILED,
    compile_apart,
    kernels_in_background,
    release_compiler,
)
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.kernels import _jit
from podwright.scheduler.kernels._cache import KernelCache
from podwright.testing import make_node, make_pod


@pytest.fixture
def plain() -> Iterator[None]:
    """Start with plain kernels, and leave the form that was there."""
    was_compiled = _jit._KERNELS.is_compiled
    _jit.run_as_python()
    yield
    _jit.run_as_python()
    if was_compiled:
        _jit.compile_all()


def is_compiled_by_a_cycle() -> bool:
    _jit.count_cycle(1)
    return _jit._KERNELS.is_compiled


def test_compiling_is_announced_exactly_once(capsys, monkeypatch):
    monkeypatch.setattr(_jit._KERNELS, "listeners", [])
    announce_compilation()
    for name in ("fit_codes", "divide"):
        _jit._notify(name)
    assert capsys.readouterr().err.count("compiling kernels") == 1


@pytest.mark.usefixtures("plain")
def test_a_server_without_much_work_runs_plain_kernels():
    with kernels_in_background():
        assert not is_compiled_by_a_cycle()


@pytest.mark.usefixtures("plain")
def test_a_server_compiles_in_another_process_and_ends_it(capsys, monkeypatch):
    monkeypatch.setattr(warm_up_run, "COMPILED", "a file that is missing")
    with kernels_in_background():
        _jit.count_cycle(_jit.MOST_NODE_CYCLES + 1)
        said = until(lambda: capsys.readouterr().err)
        assert "Compiling kernels in the background" in said
        assert not is_compiled_by_a_cycle()
    until(is_compiled_by_a_cycle)


@pytest.mark.usefixtures("plain")
def test_the_code_of_the_compiler_is_released_until_the_server_ends(tmp_path, monkeypatch):
    released: list[None] = []
    (tmp_path / warm_up_run.COMPILED).touch()
    monkeypatch.setattr(KernelCache, "folder", tmp_path)
    monkeypatch.setattr(warm_up_run, "prepare", lambda: True)
    monkeypatch.setattr(warm_up_run, "_RELEASE_SECONDS", 0.001)
    monkeypatch.setattr(warm_up_run, "release_compiler", lambda: released.append(None))
    with kernels_in_background():
        _jit.count_cycle(1)
        assert not released
        _jit.count_cycle(_jit.MOST_NODE_CYCLES + 1)
        until(lambda: len(released) > 2)
        until(is_compiled_by_a_cycle)
    until(lambda: "kernels" not in [thread.name for thread in threading.enumerate()])


def test_another_process_compiles_once(tmp_path):
    compilers = tmp_path / "compilers"

    def compile_all():
        with compilers.open("a") as file:
            file.write(f"{os.getpid()}\n")

    compile_apart(tmp_path, compile_all)
    compile_apart(tmp_path, compile_all)
    (process,) = compilers.read_text().split()
    assert int(process) != os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_who_reads_the_output_of_a_killed_process_does_not_wait_for_its_compiler(tmp_path):
    program = (
        "import signal, sys\n"
        "from pathlib import Path\n"
        "from podwright.cli.decisions.warm_up_run import compile_apart\n"
        "def compile_all():\n"
        "    print('compiling', flush=True)\n"
        "    signal.pause()\n"
        "compile_apart(Path(sys.argv[1]), compile_all)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"compiling\n"
    process.terminate()
    left, _ = process.communicate(timeout=SECONDS_MAX)
    assert left == b""


def test_what_was_not_compiled_is_tried_again(tmp_path):
    compile_apart(tmp_path, lambda: 1 / 0)
    assert not (tmp_path / COMPILED).exists()
    compile_apart(tmp_path, lambda: None)
    assert (tmp_path / COMPILED).exists()


def test_nothing_is_compiled_apart_that_cannot_be_kept(tmp_path):
    def compile_all():
        raise AssertionError("it would be compiled again")

    compile_apart(None, compile_all)
    compile_apart(tmp_path / "missing", compile_all)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux says what is in memory")
def test_the_compiler_leaves_the_memory_and_kernels_run_on():
    def decided():
        scheduler = Scheduler()
        scheduler.add(make_node("n1"), make_pod("web"))
        return [each.node for each in scheduler.schedule_all()]

    def code_kib():
        found = 0
        is_code = False
        for line in Path("/proc/self/smaps").read_text().splitlines():
            if "-" in line.partition(" ")[0]:
                is_code = "libllvmlite" in line and " r-xp " in line
            elif is_code and line.startswith("Rss:"):
                found += int(line.split()[1])
        return found

    assert decided() == ["n1"]
    # Whatever ran before: some of the compiler's code is in memory.
    parse_assembly("define void @f() { ret void }")
    before = code_kib()
    assert release_compiler() > 0
    assert code_kib() < before
    assert decided() == ["n1"]


def test_a_scheduler_has_its_kernels_before_it_requests_a_lease(monkeypatch):
    """A lease that is held while kernels are compiled would be lost."""
    seen: list[object] = []
    monkeypatch.setattr(scheduler_run, "load_kernels", lambda: seen.append("kernels"))

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.path)
            self.send_error(403)

    with serving(Refusing) as address:
        options = SchedulerCommandOptions(connection=ConnectionOptions(server=address))
        with pytest.raises(PodwrightError):
            scheduler_run.run_scheduler(options)
    assert seen[0] == "kernels"
    assert len(seen) > 1

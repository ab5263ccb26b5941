"""What `podwright warm-up` schedules: all decisions, and that its objects are valid.

`python -m podwright.cli.tests.test_warm_up` writes the decisions anew; the difference is to be
read before it is committed.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import InputError, encode
from podwright.cli.decisions import warm_up_run
from podwright.cli.decisions.warm_up_run import compile_apart, release_compiler, run_warm_up
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.framework import Decision
from podwright.scheduler.kernels import _jit
from podwright.scheduler.kernels._cache import KernelCache
from podwright.simulation.files import load_bytes

DECISIONS = Path(__file__).parent / "warm_up.txt"


class Recorded(Scheduler):
    """A scheduler that keeps what it is given and what it decides."""

    made: list[Recorded] = []  # noqa: RUF012 - of all instances

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.rule = str(options.get("tie_rule", ""))
        self.given: list[Any] = []
        self.lines: list[str] = []
        Recorded.made.append(self)

    def add(self, *objects: Any) -> None:
        """Add objects."""
        self.given += objects
        super().add(*objects)

    def schedule_all(self, *args: Any, **options: Any) -> Iterator[Decision]:
        """Schedule the pending pods."""
        for decision in super().schedule_all(*args, **options):
            preempted = decision.post_filter and decision.post_filter.nominated_node
            nominated = f" (nominated to {preempted})" if preempted else ""
            found = decision.node or f"{decision.message}{nominated}"
            self.lines.append(f"{decision.pod.name}: {found}")
            yield decision


def recorded() -> list[Recorded]:
    """Warm up with schedulers that keep everything."""
    Recorded.made = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(warm_up_run, "Scheduler", Recorded)
        patched.setattr(warm_up_run, "compile_all", lambda: None)
        count = warm_up_run.warm_up()
    assert count == sum(len(each.lines) for each in Recorded.made)
    return Recorded.made


@pytest.fixture(scope="module")
def schedulers() -> list[Recorded]:
    return recorded()


def text_of(schedulers: list[Recorded]) -> str:
    """Return the decisions of each scheduler."""
    parts = [
        "".join(f"{line}\n" for line in (f"=== {each.rule or 'default'} ===", *each.lines))
        for each in schedulers
    ]
    return "The decisions of the schedulers of a warm-up.\n" + "".join(parts)


def test_a_warm_up_makes_these_decisions(schedulers):
    assert text_of(schedulers).splitlines() == DECISIONS.read_text("utf-8").splitlines()


# They are given to a scheduler, not to a cluster, which would complete or reject these.
REJECTED = {
    "spec.ports: Required value",
    "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable"
    " resources",
    "spec.selector: Required value",
}


def test_the_objects_of_a_warm_up_have_fields_that_exist(schedulers):
    objects = [encode(obj) for each in schedulers for obj in each.given]
    named = {(each["kind"], each["metadata"]["name"]): each for each in objects}
    namespaces = {each["metadata"].get("namespace", "") for each in named.values()}
    assert namespaces == {"", "default"}
    with pytest.raises(InputError) as caught:
        load_bytes([("objects", msgspec.json.encode([*named.values()]))], validate="strict")
    found = {text.partition("]: ")[2] for text in caught.value.texts}
    assert found <= REJECTED


@pytest.mark.parametrize(("compiled", "text"), [
    ([], "Nothing to compile: all kernels are already cached.\n"),
    (["a", "b"], "Compiled 2 kernels for 7 decisions; cached on disk.\n"),
])  # fmt: skip
@pytest.mark.parametrize("is_kept", [True, False])
def test_a_warm_up_says_what_was_compiled(compiled, text, is_kept, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(KernelCache, "folder", tmp_path if is_kept else None)
    monkeypatch.setattr(_jit._KERNELS, "listeners", [])

    def warm_up() -> int:
        for each in compiled:
            _jit._notify(each)
        return 7

    monkeypatch.setattr(warm_up_run, "warm_up", warm_up)
    run_warm_up()
    assert capsys.readouterr().err == text
    assert [each.name for each in tmp_path.iterdir()] == ["all-compiled"] * is_kept


def test_kernels_are_compiled_apart_unless_all_are_there(tmp_path):
    folder = tmp_path / "kernels"
    compile_apart(None, pytest.fail)
    folder.mkdir()
    file = tmp_path / "written"
    compile_apart(folder, lambda: file.write_text("compiled"))
    assert file.read_text() == "compiled"
    assert (folder / "all-compiled").exists()
    compile_apart(folder, lambda: file.write_text("again"))
    assert file.read_text() == "compiled"


def test_kernels_that_cannot_be_compiled_are_not_marked(tmp_path):
    def fail() -> None:
        raise ValueError("broken")

    compile_apart(tmp_path, fail)
    assert not (tmp_path / "all-compiled").exists()


MAPS = """\
7f0000000000-7f0000003000 r-xp 00000000 08:01 1  /lib/libllvmlite.so
7f0000003000-7f0000004000 rw-p 00000000 08:01 1  /lib/libllvmlite.so
7f0000005000-7f0000006000 r-xp 00000000 08:01 1  /lib/libc.so
7f0000007000-7f0000008000 r-xp 00000000 08:01 1  /a folder/libllvmlite.so.2
"""


def test_the_code_of_the_compiler_is_released(tmp_path, monkeypatch):
    released = []

    class Library:
        @staticmethod
        def madvise(first: Any, size: Any, advice: int) -> int:
            released.append((first.value, size.value, advice))
            return 0 if len(released) == 1 else -1

    (tmp_path / "maps").write_text(MAPS)
    monkeypatch.setattr(warm_up_run, "_MAPS", tmp_path / "maps")
    monkeypatch.setattr(ctypes, "CDLL", lambda _: Library)
    assert release_compiler() == 0x3000
    assert released == [(0x7F0000000000, 0x3000, 4), (0x7F0000007000, 0x1000, 4)]
    monkeypatch.setattr(sys, "platform", "darwin")
    assert release_compiler() == 0


if __name__ == "__main__":
    DECISIONS.write_text(text_of(recorded()), "utf-8")

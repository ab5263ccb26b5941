"""Test modules are rewritten before the workers start, and not run."""

import multiprocessing
import sys
from pathlib import Path

import pytest
from tests.rewriting import new_modules, rewrite


def test_a_rewritten_module_is_kept_without_having_run(
    pytestconfig: pytest.Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    folder = tmp_path / "src/room/tests"
    folder.mkdir(parents=True)
    module = folder / "test_it.py"
    module.write_text("assert False, 'run'\n", encoding="utf-8")
    (folder / "cases.py").touch()
    (tmp_path / "tests").mkdir()
    assert new_modules(tmp_path) == [module]

    hook = pytestconfig.pluginmanager.rewrite_hook
    process = multiprocessing.get_context("fork").Process(target=rewrite, args=(hook, [module]))
    process.start()
    process.join()

    assert process.exitcode == 0
    assert new_modules(tmp_path) == []

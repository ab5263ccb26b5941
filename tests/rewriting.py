"""The assertions of all test modules are rewritten once, before workers import them.

A pytest plugin. pytest rewrites the assertions of a test module where it is first imported, and
keeps the result beside the module. Workers import all modules in the same order at the same time:
in a new checkout each of three rewrote nearly all of them, 45 of 155 s of CPU before the first
test. The workers rewrite what a process here failed to.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import sys
from collections.abc import Iterable
from importlib.abc import Loader
from pathlib import Path
from typing import Final

import pytest
from tests.choice import names_tests

ROOT: Final = Path(__file__).parents[1]
_FEW: Final = 100
"""Fewer modules than that are left to the workers."""


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Rewrite what is new, one share for each core, where workers will run all tests."""
    config = session.config
    if names_tests(config) or not getattr(config.option, "tx", None) or sys.dont_write_bytecode:
        return
    modules = new_modules(ROOT)
    if len(modules) < _FEW:
        return
    print(f"Rewriting the assertions of {len(modules):,} test modules, once", flush=True)
    cores = os.cpu_count() or 1
    hook = config.pluginmanager.rewrite_hook
    started = [
        multiprocessing.get_context("fork").Process(target=rewrite, args=(hook, share))
        for share in (modules[first::cores] for first in range(cores))
    ]
    for each in started:
        each.start()
    for each in started:
        each.join()


def new_modules(root: Path) -> list[Path]:
    """Return the test modules of which this pytest has kept nothing."""
    kept = f"*-pytest-{pytest.__version__}.pyc"
    return [
        module
        for folder in ("src", "tests")
        for module in sorted((root / folder).rglob("test_*.py"))
        if not any(module.parent.glob(f"__pycache__/{module.stem}.{kept}"))
    ]


def rewrite(hook: Loader, modules: Iterable[Path]) -> None:
    """Let pytest's import hook rewrite modules, and keep the result, without running them.

    The hook's own `exec` is replaced for that: only for a process that then ends.
    """
    setattr(sys.modules[type(hook).__module__], "exec", lambda *_: None)  # noqa: B010
    for path in modules:
        spec = importlib.util.spec_from_file_location(path.stem, path, loader=hook)
        if spec is None:
            continue
        hook.exec_module(importlib.util.module_from_spec(spec))

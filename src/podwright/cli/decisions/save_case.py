"""`podwright explain --save-case`: writes a recorded cycle as a test that runs offline."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from podwright.apimachinery.objects import FieldError, InputError
from podwright.cli.console import write_file
from podwright.cli.file_reading import read_text
from podwright.cli.recorded.recorded_run import RecordedRun
from podwright.simulation.recording import PastCycle, case_text


def save_case(run: RecordedRun, past: PastCycle, file: Path, plugins: Sequence[Path]) -> None:
    """Write a recorded cycle as a pytest file.

    Raises
    ------
    InputError
        If the file exists or cannot be written, or a plugin of the run has no file.
    """
    if len(run.plugins) > len(run.given_plugins):
        names = ", ".join(sorted(plugin.name for plugin in run.plugins[len(run.given_plugins) :]))
        message = f"needs the files of the installed plugins {names}: pass them with --plugin"
        raise InputError([FieldError(source="options", path="--save-case", message=message)])
    sources = {path.name: read_text(path) for path in plugins}
    write_case(file, case_text(run.log, past, plugins=run.plugins, sources=sources))


def write_case(file: Path, text: str) -> None:
    """Write the text of a test to a new file.

    Raises
    ------
    InputError
        If the file exists or cannot be written.
    """
    if os.path.lexists(file):
        raise InputError.of(str(file), f"cannot be written: {os.strerror(errno.EEXIST)}")
    write_file(file, text.encode())

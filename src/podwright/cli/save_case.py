"""`podwright explain --save-case`: writes a recorded cycle as a test that runs offline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from podwright.cli.input_errors import read_text
from podwright.cli.recorded_run import RecordedRun
from podwright.objects import FieldError, InputError
from podwright.recording import PastCycle, encode_case, save_cycle

_TEXT = '''"""Attempt {attempt} of pod {pod} in a recorded run; needs podwright and pytest."""

from podwright.testing import check_saved_case

POD = {pod!r}
EXPECTED = {expected!r}
PLUGINS = {plugins}
CASE = """
{case}"""


def test_the_recorded_outcome():
    check_saved_case(CASE, pod=POD, expected=EXPECTED, plugins=PLUGINS)
'''


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
    with TemporaryDirectory() as folder:
        save_cycle(run.log, past, folder, plugins=run.plugins)
        case = encode_case(Path(folder))
    decision = past.explain().decision
    text = _TEXT.format(
        attempt=past.attempt,
        pod=past.pod.key,
        expected=decision.node or decision.message,
        plugins={path.name: read_text(path) for path in plugins},
        case=case,
    )
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        message = f"cannot be written: {error.strerror}"
        raise InputError([FieldError(source=str(file), path="", message=message)]) from error

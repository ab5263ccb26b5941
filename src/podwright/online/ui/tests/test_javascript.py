"""What the elements compute, under Node without a browser; `tests/ui` has the elements."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "javascript"
NODE = shutil.which("node")
OLDEST = (20, 19)
"""The first that recognizes modules in files that end with `.js`."""


def version() -> tuple[int, ...]:
    """Return the version of Node; none if it is not there."""
    if NODE is None:
        return ()
    text = subprocess.run([NODE, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.findall(r"\d+", text)))


@pytest.mark.skipif(version() < OLDEST, reason="Node 20.19 or newer is not on PATH")
@pytest.mark.parametrize("file", sorted(path.name for path in FOLDER.glob("*.test.mjs")))
def test_modules_compute_what_their_tests_say(file: str) -> None:
    assert NODE is not None
    done = subprocess.run(
        [NODE, "--test", file], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr

"""The console entry point: how a process of the command line starts and ends.

Ctrl-C while the command line is imported ends in one line: `cli` handles an interrupt from its
first line on, and before that Typer is imported.

A process ends at once: its output is flushed and its files are closed by then, and the interpreter
would first free each object of a cluster, which takes seconds.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

_INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command line and exit with its exit status."""
    try:
        from podwright.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(_INTERRUPTED)
    try:
        run()
    except SystemExit as end:
        if isinstance(end.code, str):
            raise
        os._exit(end.code or 0)

"""The console entry point: Ctrl-C while the command line is imported ends in one line.

`cli` handles an interrupt from its first line on; before that, Typer is imported.
"""

from __future__ import annotations

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
    run()

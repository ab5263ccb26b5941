"""Runs a command of podwright, and writes the CPU and the wall time of each turn of its server.

    python tests/perf/measured_up.py FILE up --nodes 5000

The file grows by two numbers for each turn, in milliseconds, as doubles.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from typing import Any

from podwright._console import main
from podwright.online.apiserver import TurnLoop

TURN = struct.Struct("<dd")


def _measure_turns(file: str) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    turn = TurnLoop._turn

    def measured(self: TurnLoop) -> Any:
        cpu, wall = time.thread_time(), time.perf_counter()
        try:
            return turn(self)
        finally:
            milliseconds = (time.thread_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3
            os.write(descriptor, TURN.pack(*milliseconds))

    TurnLoop._turn = measured  # type: ignore[method-assign]


if __name__ == "__main__":
    _measure_turns(sys.argv.pop(1))
    sys.exit(main())

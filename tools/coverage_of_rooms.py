"""Say how much of each room the tests run, and fail where that is too little.

``python tools/coverage_of_rooms.py``

Reads ``.coverage`` as ``coverage report`` does. A room is an entry of ``source`` in
``[tool.coverage.run]``; one that matches no file is an error, so a room that moves takes its entry
along. ``fail_under`` of ``[tool.coverage.report]`` is for all rooms together and is judged by
``coverage report``.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

LEAST_PERCENT = 95
"""Of the lines of each room."""

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Print a line per room; return 1 if one is short of `LEAST_PERCENT`, 2 if one is gone."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rooms = settings["tool"]["coverage"]["run"]["source"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        command = [sys.executable, "-m", "coverage", "json", "-q", "--fail-under=0", "-o"]
        subprocess.run([*command, str(report)], cwd=ROOT, check=True)
        files = json.loads(report.read_text(encoding="utf-8"))["files"]
    status = 0
    print("ROOM                                 LINES   RUN")
    for room in rooms:
        found = [one["summary"] for name, one in files.items() if name.startswith(f"{room}/")]
        lines = sum(one["num_statements"] for one in found)
        if not lines:
            print(f"{room}: matches no file; correct source in [tool.coverage.run]")
            status = 2
            continue
        percent = 100 * sum(one["covered_lines"] for one in found) / lines
        is_short = percent < LEAST_PERCENT
        status = status or int(is_short)
        short = f"  at least {LEAST_PERCENT} % must run" if is_short else ""
        print(f"{room:<36} {lines:>5} {percent:>5.1f}{short}")
    return status


if __name__ == "__main__":
    sys.exit(main())

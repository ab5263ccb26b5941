"""The table of kinds is what its generator makes of its inputs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_table_is_generated_from_its_inputs() -> None:
    program = "import sys; sys.path.insert(0, 'tools'); import schema_table; print(end='')\n"
    program += "sys.stdout.write(schema_table.table())"
    made = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout
    present = (ROOT / "src/podwright/apimachinery/schema/table.json").read_text(encoding="utf-8")
    assert made == present, "run python tools/schema_table.py"

"""Draw autoscalers, have upstream's code answer, and write the record."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.real_parts.replicas import draw

COUNT = 1000
HERE = Path(__file__).parent
RECORD = HERE.parents[2] / "src/podwright/cluster/controllers/tests/recorded_replicas.jsonl.gz"


def main() -> int:
    """Write the record; upstream lists pods in random order, what varies by that is left out."""
    cases = [draw(seed) for seed in range(COUNT)]
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    with tempfile.TemporaryDirectory() as folder:
        program = sys.argv[1] if len(sys.argv) > 1 else f"{folder}/replicas"
        if len(sys.argv) == 1:
            subprocess.run(
                ["go", "build", "-o", program, "./replicas"], cwd=HERE.parent, check=True
            )
        answers = [
            subprocess.run([program], input=lines, stdout=subprocess.PIPE, text=True, check=True)
            .stdout.splitlines()
            for _ in range(6)
        ]  # fmt: skip
    recorded = [
        case | {"answer": json.loads(first)}
        for case, first, *others in zip(cases, *answers, strict=True)
        if all(other == first for other in others)
    ]
    text = "".join(json.dumps(case) + "\n" for case in recorded)
    RECORD.write_bytes(gzip.compress(text.encode(), mtime=0))
    errors = sum("error" in case["answer"] for case in recorded)
    print(f"{len(recorded)} cases, {errors} without a number")
    return 0


if __name__ == "__main__":
    sys.exit(main())

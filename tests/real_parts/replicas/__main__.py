"""Draw autoscalers, have upstream's code answer, and write the record."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.real_parts.recording import stable_answers, write_record
from tests.real_parts.replicas import draw

COUNT = 1200
RECORD = (
    Path(__file__).parents[3] / "src/podwright/cluster/controllers/tests/recorded_replicas.jsonl.gz"
)


def main() -> int:
    """Write the record; upstream lists pods in random order, what varies by that is left out."""
    cases = [draw(seed) for seed in range(COUNT)]
    recorded = [
        case | {"answer": json.loads(answer)}
        for case, answer in zip(cases, stable_answers("replicas", cases), strict=True)
        if answer is not None
    ]
    write_record(RECORD, recorded)
    errors = sum("error" in case["answer"] for case in recorded)
    print(f"{len(recorded)} cases, {errors} without a number")
    return 0


if __name__ == "__main__":
    sys.exit(main())

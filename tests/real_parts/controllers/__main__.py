"""Draw clusters, have upstream's controllers act on them, and write the record."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from tests.real_parts.controllers import CONTROLLERS, draw, without_order
from tests.real_parts.recording import stable_answers, write_record

COUNT = 580
ROOM = Path(__file__).parents[3] / "src/podwright/cluster/controllers"
RECORD = ROOM / "tests/recorded_decisions.jsonl.gz"


def normal(line: str) -> str:
    """Return an answer without what the order of a map decides."""
    return json.dumps(without_order(json.loads(line)))


def main() -> int:
    """Write the record; what upstream leaves to the order of a map is left out."""
    cases = [draw(controller, seed) for controller in CONTROLLERS for seed in range(COUNT)]
    answers = [
        (case, json.loads(answer))
        for case, answer in zip(cases, stable_answers("controllers", cases, normal), strict=True)
        if answer is not None
    ]
    recorded = [
        case | {"answer": answer}
        for case, answer in answers
        if "error" not in answer and "endless" not in answer
    ]
    write_record(RECORD, recorded)
    print(dict(Counter(case["controller"] for case in recorded)), RECORD.stat().st_size)
    return 0


if __name__ == "__main__":
    sys.exit(main())

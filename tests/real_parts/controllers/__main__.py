"""Draw clusters, have upstream's controllers act on them, and write the record."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from tests.real_parts.controllers import CONTROLLERS, draw, without_order
from tests.real_parts.controllers.pods_of_nodes_and_jobs import is_consistent
from tests.real_parts.recording import answer_counts, read_record, write_record

COUNT = 660
ROOM = Path(__file__).parents[3] / "src/podwright/cluster/controllers"
RECORD = ROOM / "tests/recorded_decisions.jsonl.gz"


def normal(line: str) -> str:
    """Return an answer without what the order of a map decides."""
    return json.dumps(without_order(json.loads(line)))


def main() -> int:
    """Write the record with each answer that upstream gave.

    A case with an answer that came once only is left out: there may be others.
    """
    chosen = sys.argv[1:] or [*CONTROLLERS]
    drawn = [draw(controller, seed) for controller in chosen for seed in range(COUNT)]
    cases = [case for case in drawn if is_consistent(case)]
    recorded = [each for each in read_record(RECORD) if each["controller"] not in chosen]
    for case, counts in zip(cases, answer_counts("controllers", cases, normal), strict=True):
        answers = [json.loads(answer) for answer in sorted(counts)]
        is_whole = not any("error" in each or "endless" in each for each in answers)
        if is_whole and min(counts.values()) > 1:
            recorded.append(case | {"answers": answers})
    recorded.sort(key=lambda case: [*CONTROLLERS].index(case["controller"]))
    write_record(RECORD, recorded)
    print(dict(Counter(case["controller"] for case in recorded)), RECORD.stat().st_size)
    return 0


if __name__ == "__main__":
    sys.exit(main())

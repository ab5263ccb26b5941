"""Draw expressions, evaluate them with upstream's libraries, and write the record."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.real_parts.expressions import VARIABLES, draw_expression
from tests.real_parts.expressions.limits import limits
from tests.real_parts.recording import stable_answers, write_record

COUNT = 3000
RECORD = (
    Path(__file__).parents[3] / "src/podwright/apimachinery/cel/tests/recorded_expressions.jsonl.gz"
)


def main() -> int:
    """Write the record; maps are iterated in random order, and what varies by that is left out."""
    fixed = [{"expression": each} for each in dict.fromkeys(limits())]
    cases = fixed + [draw_expression(seed) for seed in range(COUNT * 2)]
    cases = list({case["expression"]: case for case in cases}.values())
    # The program reads the variables first, and does not answer them.
    answers = stable_answers("expressions", (VARIABLES, *cases))
    stable = [
        case | json.loads(answer)
        for case, answer in zip(cases, answers, strict=True)
        if answer is not None and "panic" not in json.loads(answer)
    ][: len(fixed) + COUNT]
    write_record(RECORD, stable)
    print(f"{len(stable)} cases, {sum('problem' in case for case in stable)} do not compile")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Draw expressions, evaluate them with upstream's libraries, and write the record."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.real_parts.expressions import VARIABLES, draw_expression
from tests.real_parts.expressions.limits import limits

COUNT = 3000
HERE = Path(__file__).parent
RECORD = HERE.parents[2] / "src/podwright/apimachinery/cel/tests/recorded_expressions.jsonl.gz"


def main() -> int:
    """Write the record; maps are iterated in random order, and what varies by that is left out."""
    fixed = [{"expression": each} for each in dict.fromkeys(limits())]
    cases = fixed + [draw_expression(seed) for seed in range(COUNT * 2)]
    cases = list({case["expression"]: case for case in cases}.values())
    lines = "".join(json.dumps(document) + "\n" for document in (VARIABLES, *cases))
    with tempfile.TemporaryDirectory() as folder:
        program = sys.argv[1] if len(sys.argv) > 1 else f"{folder}/expressions"
        if len(sys.argv) == 1:
            subprocess.run(
                ["go", "build", "-o", program, "./expressions"], cwd=HERE.parent, check=True
            )
        answers = [
            subprocess.run([program], input=lines, stdout=subprocess.PIPE, text=True, check=True)
            .stdout.splitlines()
            for _ in range(6)
        ]  # fmt: skip
    stable = [
        case | json.loads(first)
        for case, first, *others in zip(cases, *answers, strict=True)
        if all(other == first for other in others) and "panic" not in json.loads(first)
    ][: len(fixed) + COUNT]
    text = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in stable)
    RECORD.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{len(stable)} cases, {sum('problem' in case for case in stable)} do not compile")
    return 0


if __name__ == "__main__":
    sys.exit(main())

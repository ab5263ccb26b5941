"""Where the record of a real 1.36 control plane is, if it is there: beside the checkout."""

from pathlib import Path

REAL = Path(__file__).parents[3] / "shared" / "real"
RECORD = REAL / "record.jsonl.gz"
LOG = REAL / "scheduler.jsonl.gz"

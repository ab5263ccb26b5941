"""A real scheduler's decisions, laid beside ours, from the record of its cluster.

Start with `shadow.py` (a record played), then `judge.py` (whether we would have done so) and
`moments.py` (what the scheduler may have known).
"""

from podwright.shadow.findings import Agreement, Finding, agreement
from podwright.shadow.shadow import Shadow

__all__ = [
    "Agreement",
    "Finding",
    "Shadow",
    "agreement",
]

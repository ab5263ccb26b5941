"""What kube-scheduler-simulator writes on pods, made from a decision log.

Start with `annotations.py`.
"""

from podwright.kss.annotations import annotations_after, kss_history

__all__ = [
    "annotations_after",
    "kss_history",
]

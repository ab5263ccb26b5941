"""kss: the pod annotations of kube-scheduler-simulator, computed from a decision log.

The room explains recorded scheduling attempts and formats them as kube-scheduler-simulator does.
It records nothing itself and does not write to pods. "The original" is kube-scheduler-simulator;
"the history" is the annotation in which it keeps the results of all attempts of a pod.

Start with `annotations.py` (the annotations of an attempt), then `results.py` (the format of the
results) and `history.py` (the annotation with all results).
"""

from podwright.kss.annotations import annotations_after, kss_history

__all__ = [
    "annotations_after",
    "kss_history",
]

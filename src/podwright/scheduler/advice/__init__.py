"""Advice for Pending pods: why nodes reject a pod, and which changes make it fit.

Words used here:

- An *edit* is one change of one object: a toleration more, a label of a node, a new node.
- A *plan* is the edits that one remedy needs together.
- A *trial* is a scheduling cycle with the edits of a plan applied; they are reverted afterwards.
- A *remedy* is a plan after whose trial the pod had a node. No other advice is given.
- A *limit* is what the remedies do not cover: trials that are not possible, rules that are unknown.

The room decides nothing itself: `Scheduler` in `assembly` and the replay of recorded runs pass it
the trials. Start with `advise.py`, then `remedies.py` (the search), `fixes.py` (from the rejections
of a plugin to edits) and `edits.py`. `rejections.py` groups the reasons and finds the nearest
nodes.
"""

from podwright.scheduler.advice.advise import Advice, find_advice
from podwright.scheduler.advice.amounts import format_amount
from podwright.scheduler.advice.device_refusals import DeviceRefusal
from podwright.scheduler.advice.edits import Change, ReplicaCount
from podwright.scheduler.advice.rejections import (
    NearNode,
    ReasonDetail,
    ReasonGroup,
    nearest_nodes,
    rejection_groups,
)
from podwright.scheduler.advice.remedies import Outcome, Remedy, Trial, UnknownReply
from podwright.scheduler.advice.trial_cluster import PlacedPods, edited

__all__ = [
    "Advice",
    "Change",
    "DeviceRefusal",
    "NearNode",
    "Outcome",
    "PlacedPods",
    "ReasonDetail",
    "ReasonGroup",
    "Remedy",
    "ReplicaCount",
    "Trial",
    "UnknownReply",
    "edited",
    "find_advice",
    "format_amount",
    "nearest_nodes",
    "rejection_groups",
]

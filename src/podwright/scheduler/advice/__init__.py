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

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.scheduler.advice.advise import Advice as Advice, find_advice as find_advice
    from podwright.scheduler.advice.amounts import format_amount as format_amount
    from podwright.scheduler.advice.device_refusals import DeviceRefusal as DeviceRefusal
    from podwright.scheduler.advice.edits import Change as Change, ReplicaCount as ReplicaCount
    from podwright.scheduler.advice.rejections import (
        NearNode as NearNode,
        ReasonDetail as ReasonDetail,
        ReasonGroup as ReasonGroup,
        nearest_nodes as nearest_nodes,
        rejection_groups as rejection_groups,
    )
    from podwright.scheduler.advice.remedies import (
        Outcome as Outcome,
        Remedy as Remedy,
        UnknownReply as UnknownReply,
    )
    from podwright.scheduler.advice.trial_cluster import (
        PlacedPods as PlacedPods,
        assumed_claims as assumed_claims,
        edited as edited,
        release_claims as release_claims,
        restore_claims as restore_claims,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)

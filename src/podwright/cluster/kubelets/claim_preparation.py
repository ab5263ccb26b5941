"""The resource claims of pods that stages run: the drivers prepare them before the first stage.

A failure is an Event and is tried again every ten seconds, a few times only: a simulation would not
end otherwise. After that the pod waits until it changes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from podwright.apimachinery.objects import SECOND_NS, Pod
from podwright.cluster.api import RecordEvent, UpdateObject
from podwright.cluster.kubelets.kubelet import (
    ObjectReader,
    PrepareError,
    has_claims,
    prepared_claims,
)

_RETRY_NS: Final = 10 * SECOND_NS
_MOST_RETRIES: Final = 5
_BASIS: Final = "prepare "


class ClaimPreparation(NamedTuple):
    """What happens before a stage is played.

    Attributes
    ----------
    actions : list of UpdateObject or RecordEvent
    retry_ns : int, optional
        When the stage is tried again; 0: when the pod changes; None: it is played now.
    basis : str
        Of the stage that is tried again; it has the number of failures.
    """

    actions: list[UpdateObject | RecordEvent]
    retry_ns: int | None = None
    basis: str = ""


def prepare_claims(pod: Pod, basis: str, reader: ObjectReader, now_ns: int) -> ClaimPreparation:
    """Prepare the claims of a pod that does not run yet.

    Parameters
    ----------
    basis : str
        Of the stage that is due.
    """
    if not has_claims(pod) or pod.is_terminating or pod.status.phase not in ("", "Pending"):
        return ClaimPreparation([])
    failures = int(basis.removeprefix(_BASIS)) if basis.startswith(_BASIS) else 0
    try:
        preparation = prepared_claims(pod, reader, now_ns)
    except PrepareError as error:
        note = f"Failed to prepare dynamic resources: {error}"
        reason = "FailedPrepareDynamicResources"
        event = RecordEvent("", "Pod", pod.key, pod.uid, "Warning", reason, note, "kubelet")
        retry_ns = now_ns + _RETRY_NS if failures < _MOST_RETRIES else 0
        return ClaimPreparation([event], retry_ns, f"{_BASIS}{failures + 1}")
    if preparation.due_ns > now_ns:
        return ClaimPreparation([], preparation.due_ns, f"{_BASIS}{failures}")
    return ClaimPreparation([*preparation.writes])

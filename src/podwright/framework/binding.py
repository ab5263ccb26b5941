"""What plugins say when binding takes time: calls to make, and when to look again.

PreBind and Bind may need the API server, or have to wait for something outside. Nothing in
the machine blocks, so such a plugin answers `Pending`: the calls that should be made now, a
time after which it wants to be asked again, or both. When every call is answered, or the
time has come, its `continue_pre_bind` (or `continue_bind`) is called with a `Progress`; it
answers with a Status, or `Pending` again. What it has to remember in between it keeps in
the cycle, under a `StateKey`.

    def pre_bind(self, cycle, node_name):
        return Pending(calls=(ClaimUpdate(claim),))

    def continue_pre_bind(self, cycle, node_name, progress):
        for answer in progress.answers:
            if answer.error is not None:
                return Status.error(answer.error.message)
        return Status.OK if self.is_bound(...) else Pending(delay_ns=1_000_000_000)

A pod that is preempted meanwhile is not continued: its binding ends with the reason.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from podwright.objects import Object, PersistentVolume, PersistentVolumeClaim


class CallError(msgspec.Struct, frozen=True, gc=False):
    """Why a call to the API server failed.

    Parameters
    ----------
    message : str
        For people, as the API server wrote it.
    reason : str
        The reason of the API's status (`NotFound`, `Conflict`, `Forbidden`); "" for anything
        else.
    """

    message: str
    reason: str = ""

    @property
    def is_not_found(self) -> bool:
        """Whether the object does not exist."""
        return self.reason == "NotFound"


class PodBinding(msgspec.Struct, frozen=True, tag=True):
    """Bind the pod to the node that it was reserved on."""


class VolumeUpdate(msgspec.Struct, frozen=True, tag=True):
    """Replace a PersistentVolume."""

    volume: PersistentVolume


class ClaimUpdate(msgspec.Struct, frozen=True, tag=True):
    """Replace a PersistentVolumeClaim."""

    claim: PersistentVolumeClaim


ApiCall: TypeAlias = PodBinding | VolumeUpdate | ClaimUpdate


class Answer(msgspec.Struct, frozen=True):
    """What came of one call.

    Parameters
    ----------
    error : CallError, optional
        None: it succeeded.
    obj : object, optional
        The object as the API server has it now.
    """

    error: CallError | None = None
    obj: Object | None = None


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """The plugin is not done yet.

    Parameters
    ----------
    calls : tuple of ApiCall
        To be made now, all at once.
    delay_ns : int, optional
        Ask again after so long; None: when the calls are answered.
    """

    calls: tuple[ApiCall, ...] = ()
    delay_ns: int | None = None


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """What happened since the plugin answered `Pending`.

    Parameters
    ----------
    now_ns : int
        The present, in nanoseconds since 1970.
    answers : tuple of Answer
        One per call, in their order; empty if the time has come first.
    """

    now_ns: int
    answers: tuple[Answer, ...] = ()


BIND_BY_API: Final = Pending(calls=(PodBinding(),))
"""What a Bind plugin answers that leaves the writing to whoever runs the machine."""

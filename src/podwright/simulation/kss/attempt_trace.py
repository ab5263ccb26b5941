"""What happens to a pod after the choice of a node: the calls and answers of one attempt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from podwright.scheduler.config import ExtenderCall
from podwright.scheduler.framework import CalledExtender, PluginCall
from podwright.scheduler.machine import (
    Action,
    Bind,
    CallExtender,
    EmitEvent,
    ExtenderReplied,
    ObjectDeleted,
)
from podwright.simulation.kss.results import ExtenderAnswer, PlacementOutcome
from podwright.simulation.recording import Entry

SCHEDULED: Final = "Scheduled"
FAILED: Final = "FailedScheduling"


class AttemptTrace:
    """Collects what concerns a pod from the events of its attempt, in order.

    Parameters
    ----------
    uid : str
        Of the pod.
    end : int
        The number of the event in which its cycle ended.
    node : str
        The node that the cycle chose; "" if there is none.
    extenders : sequence of CalledExtender
        Of its profile.

    Attributes
    ----------
    answers : list of ExtenderAnswer
        The answers of extenders about the pod, in order.
    is_decided : bool
        Whether the pod is bound, has failed, or is gone.
    """

    def __init__(
        self, uid: str, end: int, node: str, extenders: Sequence[CalledExtender] = ()
    ) -> None:
        self.answers: list[ExtenderAnswer] = []
        self.is_decided = False
        self._uid = uid
        self._end = end
        self._chosen = node
        self._extenders = {each.index: each.settings for each in extenders}
        self._calls: list[PluginCall] = []
        self._pending_extender_calls: dict[int, ExtenderCall] = {}
        self._node = ""
        self._is_binding = False
        self._event = ""

    def record_call(self, call: PluginCall) -> None:
        """Receive a call of a plugin, which may concern another pod."""
        if call.uid == self._uid:
            self._calls.append(call)

    def process(self, entry: Entry, actions: Sequence[Action]) -> None:
        """Receive an event, whose plugin calls were recorded, and its actions."""
        self._collect(entry, actions)
        if entry.index < self._end:
            return
        if entry.index == self._end:
            # Reserve is not called if the pod could not be assumed.
            has_begun = bool(self._chosen) and (bool(self._calls) or self._event != FAILED)
            self._node = self._chosen if has_begun else ""
        self.is_decided = bool(self._event) or not self._node or self._is_deletion_of_pod(entry)

    def _collect(self, entry: Entry, actions: Sequence[Action]) -> None:
        match entry.event:
            case ExtenderReplied(number, reply) if number in self._pending_extender_calls:
                call = self._pending_extender_calls.pop(number)
                settings = self._extenders[call.extender]
                self.answers.append(
                    ExtenderAnswer(
                        name=settings.url_prefix,
                        weight=settings.weight,
                        verb=call.verb,
                        reply=reply,
                    )
                )
            case _:
                pass
        for action in actions:
            match action:
                case EmitEvent(uid=uid, reason=reason) if uid == self._uid:
                    if reason in (SCHEDULED, FAILED):
                        self._event = reason
                case Bind(uid=uid) if uid == self._uid:
                    self._is_binding = True
                case CallExtender(number, request) if self._concerns_pod(entry, request):
                    self._pending_extender_calls[number] = request
                    self._is_binding |= request.verb == "bind"
                case _:
                    continue

    def _concerns_pod(self, entry: Entry, request: ExtenderCall) -> bool:
        if request.verb == "bind":
            return bool(msgspec.json.decode(request.body)["PodUID"] == self._uid)
        # Cycles are serial, so other requests during this cycle are about this pod.
        return entry.index <= self._end

    def _is_deletion_of_pod(self, entry: Entry) -> bool:
        return isinstance(entry.event, ObjectDeleted) and entry.event.obj.uid == self._uid

    def placed(self) -> PlacementOutcome:
        """Return the outcome after the node was chosen."""
        return PlacementOutcome(
            node=self._node,
            calls=tuple(self._calls),
            is_binding=self._is_binding or any(one.point == "bind" for one in self._calls),
            is_bound=self._event == SCHEDULED,
        )

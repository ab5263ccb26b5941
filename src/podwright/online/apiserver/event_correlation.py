"""How often similar Events are written, by the rules of the recorders of client-go.

A component may write 25 Events of a type about an object, and then one in five minutes. The tenth
message of one reason, and each further one until ten minutes pass without any, is written into one
Event whose message starts with "(combined from similar events): ".

Events of the scheduler have other rules; see `event_objects`.

Upstream: staging/src/k8s.io/client-go/tools/record/events_cache.go
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Recent
from podwright.simulation.world import KubernetesEvent

SIMILAR_MAX: Final = 10
"""The number of different messages from which on similar Events are combined."""

SIMILAR_NS: Final = 600_000_000_000
"""How long after the last of similar Events a new one is not combined with them."""

BURST: Final = 25
REFILL_NS: Final = 300_000_000_000
"""How long it takes until a component may write one more Event about an object."""

COMBINED: Final = "(combined from similar events): "

Signature: TypeAlias = bytes
"""The digest of what Events have in common: the texts themselves take ten times the memory."""

_DIGEST_BYTES: Final = 16


class CountedEvent(msgspec.Struct, kw_only=True):
    """A recent Event.

    Attributes
    ----------
    path : str
        Of its object; "" if none was written.
    count : int
        How often it has occurred.
    """

    path: str = ""
    count: int = 0


class _Similar(msgspec.Struct):
    """The Events of a component about an object, of a type and a reason."""

    notes: dict[str, None]
    last_ns: int


class _Allowance(msgspec.Struct):
    """What a component may still write about an object, as time that it takes to refill it."""

    available_ns: int
    at_ns: int


class EventCorrelator:
    """The correlator of one component."""

    def __init__(self) -> None:
        self._counted: Recent[Signature, CountedEvent] = Recent()
        self._similar: Recent[Signature, _Similar] = Recent()
        self._allowances: Recent[Signature, _Allowance] = Recent()

    def count(self, event: KubernetesEvent, now_ns: int) -> tuple[KubernetesEvent, CountedEvent]:
        """Count an Event, and return it as it is written."""
        signature = _similar_signature(event)
        if self._is_combined(signature, event.note, now_ns):
            event = msgspec.structs.replace(event, note=f"{COMBINED}{event.note}")
        else:
            signature = _digest(signature.hex(), event.note, event.field_path)
        counted = self._counted.used(signature)
        if counted is None:
            counted = CountedEvent()
            self._counted.put(signature, counted)
        counted.count += 1
        return event, counted

    def _is_combined(self, key: Signature, note: str, now_ns: int) -> bool:
        similar = self._similar.used(key)
        if similar is None or now_ns - similar.last_ns > SIMILAR_NS:
            similar = _Similar({}, now_ns)
            self._similar.put(key, similar)
        similar.notes[note] = None
        similar.last_ns = now_ns
        if len(similar.notes) < SIMILAR_MAX:
            return False
        # Upstream removes any of the messages: the order of Go's maps is not defined.
        del similar.notes[next(iter(similar.notes))]
        return True

    def is_allowed(self, event: KubernetesEvent, now_ns: int) -> bool:
        """Return whether an Event is written, and take it from the allowance if it is."""
        key = _digest(event.host, event.object_kind, event.key, event.uid, event.group, event.type)
        allowance = self._allowances.used(key)
        if allowance is None:
            allowance = _Allowance(BURST * REFILL_NS, now_ns)
            self._allowances.put(key, allowance)
        refilled_ns = allowance.available_ns + now_ns - allowance.at_ns
        allowance.available_ns = min(BURST * REFILL_NS, refilled_ns)
        allowance.at_ns = now_ns
        if allowance.available_ns < REFILL_NS:
            return False
        allowance.available_ns -= REFILL_NS
        return True


def _similar_signature(event: KubernetesEvent) -> Signature:
    """Return what similar Events of a component have in common."""
    return _digest(event.host, event.object_kind, event.key, event.uid, event.group, event.type,
                   event.reason)  # fmt: skip


def _digest(*parts: str) -> Signature:
    return blake2b("\0".join(parts).encode(), digest_size=_DIGEST_BYTES).digest()

"""Queueing hints: what every plugin of the default profile says of one change."""

from __future__ import annotations

from typing import Any

from podwright.machine.profiles import hint_table
from podwright.objects import Pod, decode, decode_pod
from podwright.parity.comparison import Case, Check, equal
from podwright.parity.setup import profiles_of
from podwright.queueing import HintTable, derive_events


def default_hints() -> HintTable:
    """Return what the plugins of the default profile register."""
    (profile,) = profiles_of(None).values()
    return hint_table(profile)


def check_hints(case: Case) -> Check:
    """Compare the events that a change gives, and every plugin's answer to each."""
    pod = decode_pod(case["pod"])
    change = case["change"]
    old, new = (decode(change[side]) if side in change else None for side in ("old", "new"))
    if isinstance(new, Pod) and new.metadata.uid == pod.metadata.uid:
        pod = new
    table = default_hints()
    found = [
        {
            "resource": event.resource,
            "action": event.action.label,
            "hints": {
                plugin: hint.value for plugin, hint in table.answers(pod, event, old, new).items()
            },
        }
        for event in derive_events(old, new)
    ]
    yield equal("events", [_as_queued(event) for event in case["expect"]["events"]], found)


def _as_queued(event: dict[str, Any]) -> dict[str, Any]:
    """Return an expected event; a hint that failed counts as Queue."""
    hints = event.get("hints", {})
    return event | {
        "hints": {name: "Queue" if hint == "Error" else hint for name, hint in hints.items()}
    }

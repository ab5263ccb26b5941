"""NodeName: the named node may have been added.

Upstream: pkg/scheduler/framework/plugins/nodename/node_name.go
"""

from __future__ import annotations

from podwright.scheduler.framework import NODE, ActionType, EventHint


def events_to_register() -> tuple[EventHint, ...]:
    """Return new nodes; upstream does not compare the name."""
    return (EventHint(NODE, ActionType.ADD),)

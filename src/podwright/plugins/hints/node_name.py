"""NodeName: the named node may have come.

Upstream: pkg/scheduler/framework/plugins/nodename/node_name.go
"""

from __future__ import annotations

from podwright.framework import NODE, ActionType, EventHint


def events_to_register() -> tuple[EventHint, ...]:
    """Return new nodes; upstream does not look whether it is the one."""
    return (EventHint(NODE, ActionType.ADD),)

"""DynamicResources without any claims: present, idle, and heard of in messages.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (PreFilter,
PostFilter, Score).
"""

from __future__ import annotations

from tests.oracle.plugin import SKIP_FILTER, Document, Plugin, PreFilter


class DynamicResources(Plugin):
    """Skip filtering, score 0; PostFilter says there is nothing to deallocate (`preemption`)."""

    name = "DynamicResources"

    def pre_filter(self, pod: Document) -> PreFilter:
        """Skip pods without claims; no pod of the vectors has one."""
        return SKIP_FILTER

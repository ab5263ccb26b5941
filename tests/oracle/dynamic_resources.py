"""DynamicResources without claims, which affects only messages.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (PreFilter,
PostFilter, Score).
"""

from __future__ import annotations

from tests.oracle.plugin import SKIP_FILTER, Document, Plugin, PreFilter


class DynamicResources(Plugin):
    """Skip filtering and score 0; PostFilter has nothing to deallocate (see `preemption`)."""

    name = "DynamicResources"

    def pre_filter(self, pod: Document) -> PreFilter:
        """Skip pods without claims; no pod of the vectors has claims."""
        return SKIP_FILTER

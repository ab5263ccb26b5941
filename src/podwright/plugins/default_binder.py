"""DefaultBinder: the pod is bound by the API's own means.

**What it does.** Says at Bind that the pod can be bound; the machine then asks its driver to
write the binding.

**Why it matters.** A profile needs at least one Bind plugin.

**Configuration.** None.

**Example.** A profile without it, and without another Bind plugin, is refused.

Upstream: pkg/scheduler/framework/plugins/defaultbinder/default_binder.go
"""

from __future__ import annotations

from collections.abc import Hashable

from podwright.framework import BIND_BY_API, Cycle, Pending, Plugin
from podwright.objects import Pod


class DefaultBinder(Plugin):
    """Let the machine bind the pod."""

    name = "DefaultBinder"
    key_reads_all_labels = False

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the same for every pod."""
        return ()

    def bind(self, cycle: Cycle, node_name: str) -> Pending:
        """Ask for the binding to be written."""
        return BIND_BY_API

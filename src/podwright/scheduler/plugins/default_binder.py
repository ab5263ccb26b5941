"""DefaultBinder: binds the pod with the binding subresource.

**What it does.** Requests the binding at Bind; the machine returns it as an action, and the
driver sends it.

**Why it matters.** A profile needs at least one Bind plugin.

**Configuration.** None.

**Example.** A profile without it, and without another Bind plugin, is invalid.

Upstream: pkg/scheduler/framework/plugins/defaultbinder/default_binder.go
"""

from __future__ import annotations

from collections.abc import Hashable

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import BIND_BY_API, Cycle, Pending, Plugin


class DefaultBinder(Plugin):
    """Binds the pod with the binding subresource."""

    name = "DefaultBinder"
    key_reads_all_labels = False

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the same for every pod."""
        return ()

    def bind(self, cycle: Cycle, node_name: str) -> Pending:
        """Return the binding request."""
        return BIND_BY_API

"""What happens to nodes and cannot be seen in objects: their kubelets fall silent and return."""

from __future__ import annotations

import msgspec


class NodeDown(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """A node's kubelet does not report any more, and nothing on it changes by itself."""

    node: str


class NodeUp(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """A node's kubelet reports again."""

    node: str

"""Node faults, which no object shows: a kubelet stops or resumes reporting."""

from __future__ import annotations

import msgspec


class NodeDown(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The kubelet of a node stops reporting, and the status of its pods no longer changes."""

    node: str


class NodeUp(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The kubelet of a node reports again."""

    node: str

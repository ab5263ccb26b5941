"""Compares a destination with its source, and changes neither."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

import msgspec

from podwright.online.client import SyncKind, SyncPolicies
from podwright.online.client.cluster import ReadConnection, cluster_identity
from podwright.online.sync.mirror import Mirror
from podwright.online.sync.operations import (
    AllocateClaim,
    AllocateExtended,
    BindPod,
    Create,
    Delete,
    Operation,
    Settle,
)
from podwright.online.sync.settlement import THERE, Difference, ObjectDifference
from podwright.online.sync.source import Scope, Source, SourceChange
from podwright.online.sync.source_kinds import SourceKind
from podwright.online.sync.target import Target, seen_pods

_FOREIGN: Final = "another object of this name, which sync has not created"


class Checked(msgspec.Struct, frozen=True):
    """How a destination differs from its source.

    Attributes
    ----------
    compared : int
        How many objects of the source were compared.
    kinds : list of SyncKind
    found : list of ObjectDifference
    warnings : list of str
        Which kinds were left out, and why.
    """

    compared: int
    kinds: list[SyncKind]
    found: list[ObjectDifference]
    warnings: list[str]

    @property
    def unexplained(self) -> int:
        """How many differences no policy explains."""
        return sum(not each.difference.policy for each in self.found)


async def check_target(
    connection: ReadConnection, target: Target, scope: Scope, policies: SyncPolicies
) -> Checked:
    """Compare a destination with its source.

    Raises
    ------
    RejectedRequest, UnreachableCluster
    """
    found: list[ObjectDifference] = []
    seen = seen_pods(await target.state(), await cluster_identity(connection))
    mirror = Mirror(policies, seen=seen, on_kept=found.append)
    source, kinds = Source(connection, scope), list[SyncKind]()
    async with aclosing(source.groups()) as groups:
        async for group in groups:
            if group.listed is None:
                break  # all kinds were listed
            if group.listed.is_workload:
                for each in group.changes:
                    mirror.take(each)
                continue
            listed, present = len(group.changes), await target.objects(group.listed)
            kinds.append(SyncKind(kind=group.listed.name, source=listed, here=len(present)))
            compared = _differences(mirror, target, group.listed, group.changes, present)
            found += [each async for each in compared]
    return Checked(sum(each.source for each in kinds), kinds, found, source.warnings)


async def _differences(
    mirror: Mirror,
    target: Target,
    kind: SourceKind,
    listed: Sequence[SourceChange],
    present: Mapping[str, bytes],
) -> AsyncIterator[ObjectDifference]:
    for _, operations in mirror.compare(kind, listed, present):
        for operation in operations:
            for each in await _of_operation(target, operation, is_there=operation.key in present):
                yield ObjectDifference(operation.kind, operation.key, each)


async def _of_operation(
    target: Target, operation: Operation, *, is_there: bool
) -> Sequence[Difference]:
    match operation:
        case Delete():
            return [Difference("", None, THERE)]
        case Create():
            return [Difference("", THERE, _FOREIGN if is_there else None)]
        case BindPod():
            return [Difference("spec.nodeName", operation.node, None)]
        case Settle():
            compared = await target.compare(operation)
            if compared is None:
                return ()  # its creation precedes it
            _, settlement = compared
            return [*settlement.differences, *settlement.kept]
        case AllocateClaim() | AllocateExtended():
            return [Difference("status", "devices are allocated", None)]


def value_text(value: Any) -> str:
    """Return a value of a difference as text."""
    if value is None:
        return "<none>"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()

"""Compares a destination with its source, and changes neither."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Final

import msgspec

from podwright.online.client import SyncPolicies
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
    found : list of ObjectDifference
    warnings : list of str
        Which kinds were left out, and why.
    """

    compared: int
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
    source, compared = Source(connection, scope), 0
    async for group in source.groups():
        if group.listed is None:
            break  # all kinds were listed
        if group.listed.is_workload:
            for each in group.changes:
                mirror.take(each)
            continue
        compared += len(group.changes)
        found += [each async for each in _differences(mirror, target, group.listed, group.changes)]
    return Checked(compared, found, source.warnings)


async def _differences(
    mirror: Mirror, target: Target, kind: SourceKind, listed: Sequence[SourceChange]
) -> AsyncIterator[ObjectDifference]:
    present = await target.objects(kind)
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

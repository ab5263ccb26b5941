"""`podwright sync`: follows a source with its destinations."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Final

import typer

from podwright.cli.clusters.options import SelectionOptions
from podwright.cli.clusters.remote_work import (
    FailureLines,
    once_answered,
    until_interrupted,
    warn_of_version,
)
from podwright.cli.console import print_message, print_warnings, write_at_once
from podwright.online.client import SyncDifference, SyncStatus
from podwright.online.client.cluster import ClusterAddress, ReadConnection
from podwright.online.sync import (
    Checked,
    ObjectDifference,
    ReplacedTarget,
    Scope,
    Sync,
    SyncPolicies,
    Target,
    check_target,
    later_kinds,
    mirrored_kinds,
    served_kinds,
    value_text,
)
from podwright.scheduler.advice import format_amount

_REPORT_SECONDS: Final = 10.0


async def scope_of(connection: ReadConnection, selection: SelectionOptions) -> Scope:
    """Return which objects of a source are followed.

    Raises
    ------
    InputError
        An unknown kind.
    RejectedRequest, UnreachableCluster
    """
    served = await served_kinds(connection)
    return Scope(
        kinds=mirrored_kinds(selection.kind_names(), served),
        namespaces=selection.namespaces,
        selector=selection.selector,
        later=later_kinds(selection.kind_names(), served),
    )


def run_sync(
    source: ClusterAddress,
    targets: Sequence[tuple[str, ClusterAddress]],
    policies: SyncPolicies,
    selection: SelectionOptions,
    seconds: float | None,
) -> None:
    """Sync until the duration is over, or the process is interrupted.

    Raises
    ------
    InputError
        An unknown kind.
    ConnectionSettingsError, UnreachableCluster, RejectedRequest
    """

    async def run() -> None:
        async with ReadConnection(source) as connection:
            await once_answered(lambda: warn_of_version(connection), seconds)
            scope = await once_answered(lambda: scope_of(connection, selection), seconds)

            async def follow() -> None:
                while True:
                    try:
                        await _follow(new_sync(connection, scope, policies), targets, seconds)
                    except ReplacedTarget as error:
                        print_message(
                            f"{error}; it is being brought to the state of the source again"
                        )

            await until_interrupted(follow(), seconds)

    asyncio.run(run())


async def _follow(
    sync: Sync, targets: Sequence[tuple[str, ClusterAddress]], seconds: float | None
) -> None:
    """Run a sync until it is cancelled, or one of its destinations is another cluster."""
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(Target(address, name)) for name, address in targets
        ]
        await once_answered(lambda: sync.open(opened), seconds)
        summaries = asyncio.create_task(_print_regularly(sync))
        try:
            await sync.run()
        finally:
            summaries.cancel()
            await sync.end()
            for each in sync.destinations:
                print_message(summary_of(sync.status(each)))


def run_check(
    source: ClusterAddress,
    targets: Sequence[tuple[str, ClusterAddress]],
    policies: SyncPolicies,
    selection: SelectionOptions,
) -> None:
    """Print how the destinations differ from the source.

    Raises
    ------
    Exit
        With status 1 if a difference is not explained by a policy.
    InputError
        An unknown kind.
    ConnectionSettingsError, UnreachableCluster, RejectedRequest
    """

    async def run() -> int:
        unexplained = 0
        async with ReadConnection(source) as connection:
            scope = await scope_of(connection, selection)
            for name, address in targets:
                async with Target(address, name) as target:
                    await target.check()
                    checked = await check_target(connection, target, scope, policies)
                print_warnings(checked.warnings)
                for each in checked.found:
                    write_at_once(check_line(name, each))
                print_message(check_summary(name, checked))
                unexplained += checked.unexplained
        return unexplained

    if asyncio.run(run()):
        raise typer.Exit(1)


def new_sync(connection: ReadConnection, scope: Scope, policies: SyncPolicies) -> Sync:
    """Return a sync that prints differences on stdout, and failures of the source on stderr."""
    sync = Sync(
        connection,
        scope,
        policies,
        on_difference=lambda found: write_at_once(difference_line(sync.sides, found)),
        on_failure=FailureLines(),
        on_listed=print_warnings,
    )
    return sync


async def _print_regularly(sync: Sync) -> None:
    before: list[str] = []
    warned: set[tuple[int, str]] = set()
    while True:
        lines = [summary_of(sync.status(each)) for each in sync.destinations]
        if lines != before and all(each.is_synced for each in sync.destinations):
            for line in lines:
                print_message(line)
            before = lines
        for each in sync.destinations:
            for name, text in sync.untried(each).items():
                if name not in warned:
                    print_warnings([text])
                    warned.add(name)
        await asyncio.sleep(_REPORT_SECONDS if before else 0.2)


# The state of a sync as a line of text.


def difference_line(sides: Sequence[str], found: SyncDifference) -> str:
    """Return the line of a pod that is on different nodes."""
    nodes = (f"{name}={node or '<none>'}" for name, node in zip(sides, found.nodes, strict=True))
    return "  ".join((found.pod, *nodes))


def summary_of(status: SyncStatus) -> str:
    """Return what was done at a destination, and how it differs from the source."""
    counts, lag, unfreed = status.counts, status.lag, status.unfreed
    parts = [
        f"{status.sides[status.here]}: created {counts.created}, updated {counts.updated}, "
        f"deleted {counts.deleted}",
        f"lag {lag.mean_seconds:.2f} s, at most {lag.longest_seconds:.2f} s",
        f"{status.drift.pods} pods placed otherwise",
    ]
    if status.phase == "listing":
        parts.append("the first list is not complete")
    if counts.rescheduled:
        parts.append(f"{counts.rescheduled} scheduled here that had a node")
    if counts.kept_deleted:
        parts.append(f"{counts.kept_deleted} that were deleted here stay deleted")
    if status.drift.claims:
        parts.append(f"{status.drift.claims} claims and volumes bound otherwise")
    if unfreed.pods:
        amounts = (
            f"{unfreed.milli_cpu}m cpu and {format_amount('memory', unfreed.memory_bytes)} memory"
        )
        parts.append(
            f"{unfreed.pods} pods have finished at the source and occupy {amounts} here: "
            f"{unfreed.option} frees them"
        )
    if status.errors:
        rejected = ", ".join(f"{each.kind} {each.reason} {each.count}" for each in status.errors)
        parts.append(f"errors: {rejected}, the last one: {status.last_error}")
    return "; ".join(parts)


def check_line(name: str, found: ObjectDifference) -> str:
    """Return the line of a difference between the source and a destination."""
    difference = found.difference
    place = f"{found.kind.resource}/{found.key}"
    field = f" {difference.path}" if difference.path else ""
    values = f"source {value_text(difference.source)}, {name} {value_text(difference.here)}"
    return f"{place}{field}: {values}: {difference.policy or 'not explained'}"


def check_summary(name: str, checked: Checked) -> str:
    """Return how many objects were compared, and how many differences there are."""
    count = len(checked.found)
    differences = "1 difference" if count == 1 else f"{count} differences"
    return (
        f"{name}: compared {checked.compared} objects; {differences}, "
        f"{checked.unexplained} not explained by a policy"
    )

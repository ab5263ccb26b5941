"""When a cluster is quiet: nothing changes any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.real_parts.chaos.client import Client
from tests.waiting import until, until_steady

from podwright.online.sync import SourceKind

Objects = Mapping[tuple[str, str], dict[str, Any]]
"""Objects by resource and `namespace/name`."""

SETTLE_SECONDS_MAX: Final = 180


def objects_of(client: Client, kinds: Sequence[SourceKind]) -> Objects:
    """Return all objects of some kinds, as soon as the server answers."""
    found: list[Objects] = []

    def has_answered() -> bool:
        objects = client.objects(kinds)
        if objects is not None:
            found.append(objects)
        return objects is not None

    until(has_answered, SETTLE_SECONDS_MAX)
    return found[-1]


def quiet_objects(
    client: Client, kinds: Sequence[SourceKind], *, pause_seconds: float = 2.0
) -> Objects:
    """Return all objects of some kinds, as soon as none of them has changed for three reads.

    Parameters
    ----------
    pause_seconds : float
        Between two reads; longer than what follows the cluster waits between attempts.
    """
    last: list[Objects] = []

    def versions() -> list[tuple[tuple[str, str], str]]:
        last[:] = [objects_of(client, kinds)]
        return [(key, each["metadata"]["resourceVersion"]) for key, each in last[0].items()]

    until_steady(versions, SETTLE_SECONDS_MAX, times=3, pause_seconds=pause_seconds)
    return last[0]

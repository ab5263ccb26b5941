"""The shadow of a served cluster: the decisions of another scheduler, compared as it makes them.

The changes of each turn are kept. A reader process compares the decisions among them with those of
podwright, every few seconds and when the agreement is requested, so the turn loop only keeps what
was found.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from podwright.cluster.store import ObjectStore
from podwright.online.apiserver.readers import ReaderFailed, Readers
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.online.apiserver.wire.defects import logged_defect
from podwright.simulation.files import is_recorded
from podwright.simulation.shadow import LiveShadow, ShadowReport

INTERVAL_SECONDS: Final = 5.0


class ShadowFeed:
    """Follows the changes of a store, and compares the decisions among them.

    Parameters
    ----------
    shadow : LiveShadow
        Without objects and changes.
    """

    def __init__(self, shadow: LiveShadow) -> None:
        self._shadow = shadow
        self._refreshing = asyncio.Lock()

    def begin(self, store: ObjectStore, now_ns: int) -> None:
        """Take the current objects, and follow the later changes."""
        self._changes = store.follow()
        kinds = filter(is_recorded, store.kinds())
        self._shadow.begin(obj for kind in kinds for obj in store.list(kind).objects)

    def append(self, now_ns: int) -> None:
        """Take the changes since the last call.

        Parameters
        ----------
        now_ns : int
            When they become visible to clients, in nanoseconds since 1970.
        """
        self._shadow.add((one for one in self._changes if is_recorded(one.kind)), now_ns)
        self._changes.clear()

    async def keep_up(self, turns: TurnLoop) -> None:
        """Compare every few seconds, until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL_SECONDS)
            try:
                await self.report(turns)
            except ReaderFailed as error:
                # The decisions are compared next time.
                logged_defect(error, "comparing decisions")

    async def report(self, turns: TurnLoop) -> ShadowReport:
        """Compare what is final by now, and return the agreement.

        Raises
        ------
        ReaderFailed
            The reader process crashed; nothing is lost.
        """
        shadow = self._shadow
        async with self._refreshing:
            now_ns = turns.clock.now_ns()
            if shadow.has_open_decisions:
                compared = await Readers(turns).call(lambda _: shadow.compare(now_ns))
            else:
                compared = shadow.compare(now_ns)
            shadow.settle(compared)
        return shadow.report()

    @property
    def other_bindings(self) -> Mapping[str, int]:
        """How many pods were bound by each scheduler that is not in the configuration."""
        return self._shadow.other_bindings

    def finish(self) -> ShadowReport:
        """Compare all decisions that are left, and return the agreement; no change follows."""
        self._shadow.settle(self._shadow.compare(0, is_over=True))
        return self._shadow.report()

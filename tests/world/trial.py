"""One seed, played: a cluster, random work and faults, then peace.

Everything that is drawn comes from the seed; what happens next is drawn from the cluster as it
is then. With `cuts` the world is written down and set up again every now and then, which must
make no difference.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from random import Random

import msgspec
from tests.world.checkers import Checker
from tests.world.checkers.budgets import Budgets
from tests.world.checkers.capacity import Capacity
from tests.world.checkers.convergence import Convergence
from tests.world.checkers.lives import Lives
from tests.world.faults import Fault
from tests.world.faults.nodes import NODE_FAULTS, a_node, with_taints
from tests.world.faults.pods import POD, POD_FAULTS
from tests.world.workloads import WORK, fill

from podwright.objects import decode, encode
from podwright.recording.resumption import resume
from podwright.simulation.operations import Apply, Cordon, Delete, RestoreNode, Scale
from podwright.simulation.world import World
from podwright.simulation.world_state import (
    WorldState,
    can_save,
    restored_world,
    world_state,
)

SECOND = 1_000_000_000
MOMENTS = 40
WAITS = (0, 1, 5, 20, 60, 300)
PEACE = 4 * 3600
WHAT_HAPPENS: tuple[Fault, ...] = (*NODE_FAULTS, *POD_FAULTS, *WORK)


class Trial:
    """A seed, and what came of it.

    Attributes
    ----------
    broken : list of str
        Laws that were broken, and how.
    story : list of str
        What happened, for whoever looks into it.
    digests : list of str
        Of all that was there at each moment.
    """

    def __init__(self, seed: int, *, log: Path | None = None) -> None:
        self._draw = Random(seed)
        self._cuts = None if log is None else (Random(seed + 1), log)
        self._checkers: tuple[Checker, ...] = (Capacity(), Lives(), Budgets(), Convergence())
        self.story: list[str] = []
        self.digests: list[str] = []
        path = None if log is None else str(log)
        self.world = World(seed=seed, observers=self._checkers, log=path)

    def play(self) -> Trial:
        """Play it to the end."""
        draw = self._draw
        self.world.add(*(a_node(number) for number in range(draw.randrange(3, 7))))
        fill(draw, self.world)
        for _ in range(MOMENTS):
            self._pass(draw.choice(WAITS))
            happens = draw.choice(WHAT_HAPPENS)
            self.story.append(f"{self.world.now_ns}: {happens.__name__}")
            happens(draw, self.world)
        self._pass(1)  # what has begun is known to all
        self._calm_down()
        self._pass(PEACE)
        for checker in self._checkers:
            checker.at_peace(self.world)
        return self

    def close(self) -> None:
        """Let go of the decision log."""
        self.world.log.close()

    @property
    def broken(self) -> list[str]:
        """Every law that was broken."""
        return [what for checker in self._checkers for what in checker.broken]

    def objects(self) -> list[bytes]:
        """Return all that is there, to the byte: the order of fields counts."""
        store = self.world.store
        return [
            msgspec.json.encode(encode(obj))
            for kind in store.kinds()
            for obj in store.list(kind).objects
        ]

    def _pass(self, seconds: int) -> None:
        self.world.run(self.world.now_ns + seconds * SECOND)
        self.digests.append(sha256(b"".join(self.objects())).hexdigest())
        if self._cuts is not None and self._cuts[0].random() < 0.3:
            self._cut(self._cuts[1])
        for checker in self._checkers:
            checker.at_rest(self.world)

    def _cut(self, log: Path) -> None:
        world = self.world
        if not can_save(world):
            return
        data = msgspec.msgpack.encode(world_state(world))
        world.log.flush(sync=False)
        world.log.close()
        state = msgspec.msgpack.decode(data, type=WorldState)
        recorder = resume(str(log), until=state.event_count)
        self.world = restored_world(state, recorder, world.components.options, ())

    def _calm_down(self) -> None:
        """Set right what was done to nodes, and ask for no more than there is room for."""
        world = self.world
        for number in range(4):
            if world.store.get(("", "Node"), f"n{number}") is None:
                world.add(a_node(number))
        for node in world.nodes:
            world.do(RestoreNode(node.name))
            world.do(Cordon(node.name, is_cordoned=False))
        for node in world.nodes:
            with_taints(world, node, [])
        for pod in world.pods:
            if pod.metadata.controller is None:
                world.do(Delete(POD, pod.key))
        for job in world.store.list(("batch", "Job")).objects:
            spec = job.raw["spec"] | {"suspend": False}
            world.do(Apply(decode(job.raw | {"spec": spec})))
        for kind in (("apps", "Deployment"), ("apps", "StatefulSet")):
            for obj in world.store.list(kind).objects:
                if obj.raw["spec"]["replicas"] > 2:
                    world.do(Scale(kind, obj.key, 2))

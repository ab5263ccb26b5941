"""One simulated seed: a cluster, random workloads and faults, then recovery.

All draws come from the seed, and each is made from the current state of the cluster. With a log the
world is saved and restored at random times, which must not change the result.
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
from tests.world.checkers.pod_lifecycle import PodLifecycle
from tests.world.faults import Fault
from tests.world.faults.nodes import NODE_FAULTS, a_node, with_taints
from tests.world.faults.pods import POD, POD_FAULTS
from tests.world.workloads import WORKLOAD_CHANGES, fill

from podwright.apimachinery.objects import encode
from podwright.apimachinery.schema import decode
from podwright.simulation.recording.folders.recorded_state import resume
from podwright.simulation.world.inputs.operations import Apply, Cordon, Delete, RestoreNode, Scale
from podwright.simulation.world.world import World
from podwright.simulation.world.world_state import (
    WorldState,
    can_save,
    restored_world,
    world_state,
)

SECOND = 1_000_000_000
STEP_COUNT = 40
WAIT_SECONDS = (0, 1, 5, 20, 60, 300)
RECOVERY_SECONDS = 4 * 3600
CHANGES: tuple[Fault, ...] = (*NODE_FAULTS, *POD_FAULTS, *WORKLOAD_CHANGES)


class Trial:
    """A simulation of one seed.

    Attributes
    ----------
    violations : list of str
        The violations of laws.
    story : list of str
        The executed changes, for debugging.
    digests : list of str
        A digest of all objects after each step.
    """

    def __init__(self, seed: int, *, log: Path | None = None) -> None:
        self._draw = Random(seed)
        self._restores = None if log is None else (Random(seed + 1), log)
        self._checkers: tuple[Checker, ...] = (Capacity(), PodLifecycle(), Budgets(), Convergence())
        self.story: list[str] = []
        self.digests: list[str] = []
        path = None if log is None else str(log)
        self.world = World(seed=seed, observers=self._checkers, log=path)

    def run(self) -> Trial:
        """Run the simulation to its end."""
        draw = self._draw
        self.world.add(*(a_node(number) for number in range(draw.randrange(3, 7))))
        fill(draw, self.world)
        for _ in range(STEP_COUNT):
            self._pass(draw.choice(WAIT_SECONDS))
            change = draw.choice(CHANGES)
            self.story.append(f"{self.world.now_ns}: {change.__name__}")
            change(draw, self.world)
        self._pass(1)  # let pending changes be delivered
        self._recover()
        self._pass(RECOVERY_SECONDS)
        for checker in self._checkers:
            checker.after_recovery(self.world)
        return self

    def close(self) -> None:
        """Close the decision log."""
        self.world.log.close()

    @property
    def violations(self) -> list[str]:
        """All violations of laws."""
        return [violation for checker in self._checkers for violation in checker.violations]

    def objects(self) -> list[bytes]:
        """Return all objects as JSON, including the order of their fields."""
        store = self.world.store
        return [
            msgspec.json.encode(encode(obj))
            for kind in store.kinds()
            for obj in store.list(kind).objects
        ]

    def _pass(self, seconds: int) -> None:
        self.world.run_until_ns(self.world.now_ns + seconds * SECOND)
        self.digests.append(sha256(b"".join(self.objects())).hexdigest())
        if self._restores is not None and self._restores[0].random() < 0.3:
            self._save_and_restore(self._restores[1])
        for checker in self._checkers:
            checker.after_step(self.world)

    def _save_and_restore(self, log: Path) -> None:
        world = self.world
        if not can_save(world):
            return
        data = msgspec.msgpack.encode(world_state(world))
        world.log.flush(sync=False)
        world.log.close()
        state = msgspec.msgpack.decode(data, type=WorldState)
        recorder = resume(str(log), until=state.event_count)
        self.world = restored_world(state, recorder, world.components.options, ())

    def _recover(self) -> None:
        """Undo the faults of nodes, and scale workloads down so that all of them fit."""
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

"""Faults drawn from a seed: processes that are killed, and versions that are compacted away."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

import msgspec
from tests.real_parts.chaos.cluster import ChaosCluster, Part


class Fault(msgspec.Struct, frozen=True):
    """A fault: `inject` returns when the cluster is whole again.

    Attributes
    ----------
    name : str
    weight : int
        How often it is drawn, relative to the others.
    inject : callable
        Called with a source of random numbers.
    """

    name: str
    weight: int
    inject: Callable[[random.Random], None]


def faults_of(cluster: ChaosCluster, parts: Sequence[Part] = ()) -> Sequence[Fault]:
    """Return the faults of a control plane, and of the parts under test."""
    plane = cluster.plane

    def restart(*names: str) -> Callable[[random.Random], None]:
        def inject(drawn: random.Random) -> None:
            for name in names:
                plane.kill(name)
            time.sleep(drawn.uniform(0.0, 3.0))  # how long it is away
            for name in reversed(names):
                plane.start_again(name)
            plane.wait_until_ready()

        return inject

    def compact(_drawn: random.Random) -> None:
        plane.compact()

    def compact_and_restart(drawn: random.Random) -> None:
        # A server that starts has no older versions in its cache: watches get 410.
        plane.compact()
        restart("kube-apiserver")(drawn)

    def kill(part: Part) -> Callable[[random.Random], None]:
        def inject(drawn: random.Random) -> None:
            part.kill()
            time.sleep(drawn.uniform(0.0, 3.0))
            part.start()

        return inject

    return [
        Fault("kube-apiserver is killed and started", 4, restart("kube-apiserver")),
        Fault("etcd is killed and started", 2, restart("etcd")),
        Fault(
            "kube-apiserver and etcd are killed and started", 1, restart("kube-apiserver", "etcd")
        ),
        Fault("etcd is compacted", 1, compact),
        Fault("etcd is compacted, kube-apiserver killed and started", 2, compact_and_restart),
        *(Fault(f"{part.name} is killed and started", 2, kill(part)) for part in parts),
    ]


class FaultPlan:
    """Injects faults one after another.

    Parameters
    ----------
    cluster : ChaosCluster
        Whose story says when.
    faults : sequence of Fault
    seed : int
    """

    def __init__(self, cluster: ChaosCluster, faults: Sequence[Fault], seed: int) -> None:
        self._story = cluster.story
        self._faults = faults
        self._random = random.Random(f"faults {seed}")

    def run(self, count: int, *, pause_seconds: tuple[float, float] = (1.0, 6.0)) -> None:
        """Inject some faults, with pauses before each that are drawn from an interval."""
        weights = [fault.weight for fault in self._faults]
        for _ in range(count):
            time.sleep(self._random.uniform(*pause_seconds))  # the rate of the faults
            fault = self._random.choices(self._faults, weights)[0]
            self._story.add(fault.name)
            fault.inject(self._random)
            self._story.add("whole again")

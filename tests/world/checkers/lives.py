"""Pods do not get lost: who is there waits, runs, or is on its way out, and goes only then."""

from __future__ import annotations

from tests.world.checkers import Checker

from podwright.objects import KubernetesObject, Pod
from podwright.simulation.world import World


class Lives(Checker):
    """Follows pods from their creation to their end."""

    def changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None, now_ns: int
    ) -> None:
        if isinstance(old, Pod) and new is None:
            is_wanted = old.spec.node_name and not (old.is_terminating or old.is_terminal)
            if is_wanted:
                self.breaks(f"{old.key} is gone from {old.spec.node_name}, unasked", now_ns)
        if isinstance(old, Pod) and isinstance(new, Pod) and old.uid == new.uid:
            was, now = old.spec.node_name, new.spec.node_name
            if was and now != was:
                self.breaks(f"{old.key} went from {was} to {now or 'nowhere'}", now_ns)
            if old.is_terminal and not new.is_terminal:
                self.breaks(f"{old.key} had ended and is {new.status.phase}", now_ns)

    def at_rest(self, world: World) -> None:
        waiting = sum(world.machine.queue.metrics().pending_pods.values())
        unbound = [
            pod.key
            for pod in world.pods
            if not pod.spec.node_name
            and not pod.is_terminal
            and not pod.is_terminating
            and pod.key not in world.machine.assumed()
        ]
        if waiting != len(unbound):
            self.breaks(f"{waiting} pods in the queue, without a node {unbound}", world.now_ns)

    def at_peace(self, world: World) -> None:
        for pod in world.pods:
            if pod.is_terminating:
                self.breaks(f"{pod.key} is still Terminating", world.now_ns)
            owner = pod.metadata.controller
            if owner is None:
                continue
            group = owner.api_version.rpartition("/")[0]
            there = world.store.get((group, owner.kind), f"{pod.namespace}/{owner.name}")
            if there is None or there.uid != owner.uid:
                self.breaks(f"{pod.key} belongs to a {owner.kind} that is gone", world.now_ns)

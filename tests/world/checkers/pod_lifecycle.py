"""Pods are pending, running or terminating until they are removed, and no pod is lost."""

from __future__ import annotations

from tests.world.checkers import Checker

from podwright.apimachinery.objects import KubernetesObject, Pod
from podwright.simulation.world.world import World


class PodLifecycle(Checker):
    """Follows each pod from its creation to its removal."""

    def changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None, now_ns: int
    ) -> None:
        if isinstance(old, Pod) and new is None:
            is_lost = old.spec.node_name and not (old.is_terminating or old.is_terminal)
            if is_lost:
                self.report(
                    f"{old.key} is removed from {old.spec.node_name} without a deletion", now_ns
                )
        if isinstance(old, Pod) and isinstance(new, Pod) and old.uid == new.uid:
            was, now = old.spec.node_name, new.spec.node_name
            if was and now != was:
                self.report(f"{old.key} moved from {was} to {now or 'no node'}", now_ns)
            if old.is_terminal and not new.is_terminal:
                self.report(f"{old.key} was terminal and is {new.status.phase}", now_ns)

    def after_step(self, world: World) -> None:
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
            self.report(f"{waiting} pods in the queue, but unbound are {unbound}", world.now_ns)

    def after_recovery(self, world: World) -> None:
        for pod in world.pods:
            if pod.is_terminating:
                self.report(f"{pod.key} is still Terminating", world.now_ns)
            owner = pod.metadata.controller
            if owner is None:
                continue
            group = owner.api_version.rpartition("/")[0]
            there = world.store.get((group, owner.kind), f"{pod.namespace}/{owner.name}")
            if there is None or there.uid != owner.uid:
                self.report(f"{pod.key} has a removed owner of kind {owner.kind}", world.now_ns)

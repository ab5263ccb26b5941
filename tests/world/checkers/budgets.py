"""Budgets say how many of their pods are healthy, and how many may go."""

from __future__ import annotations

from tests.world.checkers import Checker

from podwright.objects import (
    PodDisruptionBudget,
    is_ready,
    label_selector,
)
from podwright.simulation.world import World

DEPLOYMENT = ("apps", "Deployment")


class Budgets(Checker):
    """Counts again what budgets say; each has as many pods at most as its deployment wants."""

    def at_rest(self, world: World) -> None:
        for budget in world.store.list(PodDisruptionBudget).objects:
            assert isinstance(budget, PodDisruptionBudget)
            if world.store.get(DEPLOYMENT, budget.key) is None:
                continue
            selector = label_selector(budget.spec.selector)
            status = budget.status
            healthy = [
                pod
                for pod in world.pods
                if pod.namespace == budget.namespace
                and selector.matches(pod.metadata.labels)
                and is_ready(pod)
                and not pod.is_terminating
                and pod.name not in budget.status.disrupted_pods
            ]
            conditions = (budget.raw.get("status") or {}).get("conditions") or ()
            knows = all(each["reason"] != "SyncFailed" for each in conditions)
            if not knows:  # who controls a pod is gone, and the pod will be
                if status.disruptions_allowed:
                    self.breaks(f"{budget.key} allows what it does not know", world.now_ns)
                continue
            allowed = max(len(healthy) - status.desired_healthy, 0) if status.expected_pods else 0
            said = (status.current_healthy, status.disruptions_allowed)
            if said != (len(healthy), allowed):
                self.breaks(
                    f"{budget.key} says {said}, not {(len(healthy), allowed)}", world.now_ns
                )

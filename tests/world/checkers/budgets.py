"""The status of a disruption budget has the right numbers of healthy pods and disruptions."""

from __future__ import annotations

from tests.world.checkers import Checker

from podwright.apimachinery.objects import (
    PodDisruptionBudget,
    is_ready,
    label_selector,
)
from podwright.simulation.world.world import World

DEPLOYMENT = ("apps", "Deployment")


class Budgets(Checker):
    """Recounts the healthy pods and the allowed disruptions of each budget."""

    def after_step(self, world: World) -> None:
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
            is_synced = all(each["reason"] != "SyncFailed" for each in conditions)
            if not is_synced:  # the controlling owner of a pod was removed, and the pod will be
                if status.disruptions_allowed:
                    self.report(
                        f"{budget.key} allows disruptions although its sync failed", world.now_ns
                    )
                continue
            allowed = max(len(healthy) - status.desired_healthy, 0) if status.expected_pods else 0
            counts = (status.current_healthy, status.disruptions_allowed)
            if counts != (len(healthy), allowed):
                self.report(
                    f"{budget.key} has {counts}, not {(len(healthy), allowed)}", world.now_ns
                )

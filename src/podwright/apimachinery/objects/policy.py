"""Priorities and disruption budgets.

Upstream: staging/src/k8s.io/api/scheduling/v1/types.go, staging/src/k8s.io/api/policy/v1/types.go
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from podwright.apimachinery.objects.meta import (
    Condition,
    Int32,
    KubernetesObject,
    LabelSelector,
    Struct,
)
from podwright.apimachinery.objects.pods.pod import PreemptionPolicy


class PriorityClass(KubernetesObject, frozen=True, kw_only=True):
    """A named priority."""

    api_version: ClassVar[str] = "scheduling.k8s.io/v1"
    kind: ClassVar[str] = "PriorityClass"
    namespaced: ClassVar[bool] = False

    value: Int32 = 0
    global_default: bool = False
    description: str = ""
    preemption_policy: PreemptionPolicy | None = None


class PodDisruptionBudgetSpec(Struct, frozen=True, kw_only=True):
    """The pods of the budget, and how many must stay available; counts or percentages."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Struct, frozen=True, kw_only=True):
    """The remaining disruptions of the budget."""

    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str | None] = msgspec.field(default_factory=dict)
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(KubernetesObject, frozen=True, kw_only=True):
    """A limit for the disruption of the pods of a selector."""

    api_version: ClassVar[str] = "policy/v1"
    kind: ClassVar[str] = "PodDisruptionBudget"

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()

"""Disruption budgets: how many of their pods are healthy, and how many disruptions are allowed.

Theory of operation
-------------------
For each budget the controller tracks the selected pods with their health and controlling owner.
A change of a pod costs one selector match per budget of its namespace; a sync of a budget costs
the number of owners, not of pods.

The expected number of pods is the scale of their owners if the budget has `maxUnavailable` or a
percentage, and the number of selected pods otherwise. An evicted pod is listed in `disruptedPods`
and counts as unhealthy until it is removed, for two minutes at most.

Upstream: pkg/controller/disruption/disruption.go; pkg/controller/disruption/disruption.go,
syncStalePodDisruption.
"""

from __future__ import annotations

from typing import Final, cast

import msgspec

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import (
    NOTHING,
    Condition,
    Document,
    KubernetesObject,
    NamespacedName,
    OwnerReference,
    Pod,
    PodDisruptionBudget,
    Selector,
    SelectorError,
    api_group,
    condition_of,
    is_ready,
    label_selector,
    timestamp_ns,
    timestamp_text,
)
from podwright.apimachinery.schema import built_in, printed_selector
from podwright.cluster.api import conditions_with, patched, section
from podwright.cluster.controllers.apps.rollout import scaled_value
from podwright.cluster.controllers.interface import Actions, Controller, Keys, PodChange, Version
from podwright.cluster.controllers.kinds import PDB
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.workload_fields import condition
from podwright.cluster.store import POD, kind_of

_DELETION_TIMEOUT_NS: Final = 120_000_000_000


class CoveredPod(msgspec.Struct, frozen=True):
    """The health and the controlling owner of a pod."""

    is_healthy: bool
    owner: OwnerReference | None


class _CoveredPods:
    """The pods that one budget selects."""

    def __init__(self, selector: Selector) -> None:
        self.selector = selector
        self.pods: dict[NamespacedName, CoveredPod] = {}
        self.healthy_count = 0
        # The number of selected pods and the reference of each owner, by its uid.
        self.owners: dict[str, tuple[int, OwnerReference]] = {}
        self.unmanaged_count = 0

    def put(self, key: NamespacedName, pod_state: CoveredPod) -> bool:
        """Add or update a pod; return whether anything changed."""
        old = self.pods.get(key)
        if old == pod_state:
            return False
        if old is not None:
            self._count(old, -1)
        self.pods[key] = pod_state
        self._count(pod_state, 1)
        return True

    def remove(self, key: NamespacedName) -> bool:
        """Remove a pod; return whether it was selected."""
        old = self.pods.pop(key, None)
        if old is not None:
            self._count(old, -1)
        return old is not None

    def _count(self, pod_state: CoveredPod, by: int) -> None:
        self.healthy_count += by if pod_state.is_healthy else 0
        if pod_state.owner is None:
            self.unmanaged_count += by
            return
        count, _ = self.owners.get(pod_state.owner.uid, (0, pod_state.owner))
        if count + by:
            self.owners[pod_state.owner.uid] = (count + by, pod_state.owner)
        else:
            del self.owners[pod_state.owner.uid]


class ScaleError(Exception):
    """The expected number of pods cannot be computed, for the reason in the text."""


class DisruptionController(Controller):
    """Maintains the status of disruption budgets."""

    name = "disruption-controller"
    kinds = (PDB, POD)
    pod_changes = PodChange.METADATA | PodChange.READY | PodChange.ADDED | PodChange.DELETED

    event_source = "controllermanager"
    _overlaps: Saved[dict[NamespacedName, list[NamespacedName]]]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._covered: dict[str, dict[NamespacedName, _CoveredPods]] = {}
        # By the budget that is chosen, the pods that have several.
        self._overlaps = {}
        self.pending_work = self._covered

    # ---------------------------------------------------------------------------- changes

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a budget that changed, and budgets whose pods changed."""
        obj = self.latest_of(old, new)
        if isinstance(obj, Pod):
            budgets = self._covered.get(obj.namespace)
            return (
                () if budgets is None else self._observe_pod(budgets, obj, is_removed=new is None)
            )
        if isinstance(obj, PodDisruptionBudget):
            self._observe_budget(cast(PodDisruptionBudget | None, old), obj, is_removed=new is None)
            return (obj.key,)
        return ()

    def _observe_pod(
        self, budgets: dict[NamespacedName, _CoveredPods], pod: Pod, *, is_removed: bool
    ) -> list[NamespacedName]:
        keys: list[NamespacedName] = []
        matching: list[NamespacedName] = []
        pod_state: CoveredPod | None = None
        for key, covered in budgets.items():
            if is_removed or not covered.selector.matches(pod.metadata.labels):
                if covered.remove(pod.key):
                    keys.append(key)
                continue
            if pod_state is None:
                pod_state = _covered_pod(pod)
            matching.append(key)
            if covered.put(pod.key, pod_state):
                keys.append(key)
        if keys and len(matching) > 1:
            pods = self._overlaps.setdefault(min(matching), [])
            if pod.key not in pods:
                pods.append(pod.key)
        return keys

    def _observe_budget(
        self, old: PodDisruptionBudget | None, budget: PodDisruptionBudget, *, is_removed: bool
    ) -> None:
        budgets = self._covered.setdefault(budget.namespace, {})
        if is_removed:
            budgets.pop(budget.key, None)
            if not budgets:
                del self._covered[budget.namespace]
            return
        if old is not None and old.spec.selector == budget.spec.selector:
            return
        try:
            selector = label_selector(budget.spec.selector)
        except SelectorError:
            # One of an edited dump; it covers no pods, as for preemption.
            selector = NOTHING
        covered = budgets[budget.key] = _CoveredPods(selector)
        for pod in self._lister.in_namespace(POD, budget.namespace).values():
            if covered.selector.matches(pod.metadata.labels):
                covered.put(pod.key, _covered_pod(cast(Pod, pod)))

    # ------------------------------------------------------------------------------- sync

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Update the status of a budget."""
        budget = self._lister.get(PDB, key)
        if not isinstance(budget, PodDisruptionBudget):
            self._overlaps.pop(key, None)
            return []
        covered = self._covered[budget.namespace][key]
        actions = self._overlap_events(budget)
        status: Document = dict(section(budget, "status"))
        try:
            expected, desired = self._expected(budget, covered)
        except ScaleError as error:
            self._fail_safe(status, str(error), now_ns)
            if status != section(budget, "status"):
                note = f"Failed to calculate the number of expected pods: {error}"
                reason = "CalculateExpectedPodCountFailed"
                actions.append(self.warning(budget, reason, note))
                actions += self.status_update(budget, status)
            return actions
        disrupted, recheck_ns, overdue = self._disrupted(budget, covered, now_ns)
        for name in overdue:
            pod = self._lister.get(POD, f"{budget.namespace}/{name}")
            if pod is not None:
                # Upstream writes the namespace twice.
                named = f"{budget.namespace}/{budget.namespace}"
                note = f"Pod was expected by PDB {named} to be deleted but it wasn't"
                actions.append(self.warning(pod, "NotDeleted", note))
        healthy = covered.healthy_count - sum(
            1 for name in disrupted if self._is_healthy(covered, f"{budget.namespace}/{name}")
        )
        allowed = 0 if expected <= 0 else max(healthy - desired, 0)
        status["currentHealthy"] = healthy
        status["desiredHealthy"] = desired
        status["expectedPods"] = expected
        status["disruptionsAllowed"] = allowed
        status["observedGeneration"] = budget.metadata.generation
        if disrupted:
            status["disruptedPods"] = disrupted
        else:
            status.pop("disruptedPods", None)
        _set_allowed(status, budget, now_ns)
        if status != section(budget, "status"):
            actions.extend(self._pod_events(budget, covered))
            actions += self.status_update(budget, status)
        if recheck_ns is not None:
            actions.append(self.sync_at(key, recheck_ns))
        return actions

    def _overlap_events(self, budget: PodDisruptionBudget) -> Actions:
        """Return the Events about pods that this budget was chosen for, among several.

        Upstream: getPdbForPod, which chooses any of them
        """
        actions: Actions = []
        for key in self._overlaps.pop(budget.key, ()):
            pod = self._lister.get(POD, key)
            if pod is not None:
                note = (
                    f'Pod "{pod.namespace}"/"{pod.name}" matches multiple PodDisruptionBudgets.'
                    f'  Chose "{budget.name}" arbitrarily.'
                )
                actions.append(self.warning(pod, "MultiplePodDisruptionBudgets", note))
        return actions

    def _is_healthy(self, covered: _CoveredPods, key: NamespacedName) -> bool:
        pod_state = covered.pods.get(key)
        return pod_state is not None and pod_state.is_healthy

    def _pod_events(self, budget: PodDisruptionBudget, covered: _CoveredPods) -> Actions:
        if not covered.pods:
            return [self.event(budget, "NoPods", "No matching pods found")]
        spec = budget.spec
        needs_scale = spec.max_unavailable is not None or isinstance(spec.min_available, str)
        if needs_scale and covered.unmanaged_count:
            selector = printed_selector(section(budget, "spec").get("selector") or {})
            note = (
                f"Pods selected by this PodDisruptionBudget (selector: {selector}) were"
                " found to be unmanaged. As a result, the status of the PDB cannot be calculated"
                " correctly, which may result in undefined behavior. To account for these pods"
                ' please set ".spec.minAvailable" field of the PDB to an integer value.'
            )
            return [self.warning(budget, "UnmanagedPods", note)]
        return []

    # ------------------------------------------------------------------------ expectations

    def _expected(self, budget: PodDisruptionBudget, covered: _CoveredPods) -> tuple[int, int]:
        """Return the expected number of pods, and the desired number of healthy ones.

        Upstream: getExpectedPodCount
        """
        spec = budget.spec
        if spec.max_unavailable is not None:
            expected = self._scale(budget, covered)
            return expected, max(
                expected - scaled_value(spec.max_unavailable, expected, round_up=True), 0
            )
        if spec.min_available is None:
            return 0, 0
        if isinstance(spec.min_available, int):
            return len(covered.pods), spec.min_available
        expected = self._scale(budget, covered)
        return expected, scaled_value(spec.min_available, expected, round_up=True)

    def _scale(self, budget: PodDisruptionBudget, covered: _CoveredPods) -> int:
        """Return the sum of the scales of the pods' owners.

        Upstream: getExpectedScale
        """
        scales: dict[str, int] = {}
        for _, (_, owner) in sorted(covered.owners.items()):
            obj = self._controller(budget.namespace, owner)
            if obj is None:
                key = min(k for k, each in covered.pods.items() if each.owner == owner)
                raise ScaleError(f'found no controllers for pod "{key.partition("/")[2]}"')
            scales[obj.uid] = _replicas(obj)
        return sum(scales.values())

    def _controller(self, namespace: str, owner: OwnerReference) -> KubernetesObject | None:
        """Return the owner that has a scale: for a replica set its deployment, if it has one."""
        obj = self._referenced(namespace, owner)
        if obj is not None and owner.kind == "ReplicaSet":
            above = obj.metadata.controller
            if above is not None and above.kind == "Deployment":
                return self._referenced(namespace, above)
        return obj

    def _referenced(self, namespace: str, owner: OwnerReference) -> KubernetesObject | None:
        kind = (api_group(owner.api_version), owner.kind)
        obj = self._lister.get(kind, f"{namespace}/{owner.name}")
        return obj if obj is not None and obj.uid == owner.uid else None

    def _disrupted(
        self, budget: PodDisruptionBudget, covered: _CoveredPods, now_ns: int
    ) -> tuple[dict[str, str], int | None, list[str]]:
        """Return the evicted pods that still count, when to recheck, and the overdue ones.

        Upstream: buildDisruptedPodMap
        """
        kept: dict[str, str] = {}
        overdue: list[str] = []
        recheck_ns: int | None = None
        for name, since in budget.status.disrupted_pods.items():
            key = f"{budget.namespace}/{name}"
            pod = self._lister.get(POD, key)
            if key not in covered.pods or not isinstance(pod, Pod) or pod.is_terminating:
                continue
            due_ns = (timestamp_ns(since) or 0) + _DELETION_TIMEOUT_NS
            if due_ns <= now_ns:
                overdue.append(name)
                continue
            kept[name] = since or ""
            recheck_ns = due_ns if recheck_ns is None else min(recheck_ns, due_ns)
        return kept, recheck_ns, overdue

    def _fail_safe(self, status: Document, message: str, now_ns: int) -> None:
        """Allow no disruptions, because the expected number of pods is unknown.

        Upstream: failSafe
        """
        status["disruptionsAllowed"] = 0
        # Upstream: the last generation whose status was computed.
        observed = int(status.get("observedGeneration") or 0)
        _set_condition(status, observed, "False", "SyncFailed", message, now_ns)


def _covered_pod(pod: Pod) -> CoveredPod:
    return CoveredPod(not pod.is_terminating and is_ready(pod), pod.metadata.controller)


def _replicas(obj: KubernetesObject) -> int:
    """Return the scale of an owner."""
    kind = kind_of(obj)
    if kind in built_in().pod_templates and kind not in built_in().scaled:
        resource = f"{obj.kind.lower()}s.{kind[0]}"
        raise ScaleError(f"{resource} does not implement the scale subresource")
    replicas = section(obj, "spec").get("replicas")
    return 1 if replicas is None else int(replicas)


def _set_allowed(status: Document, budget: PodDisruptionBudget, now_ns: int) -> None:
    state, reason = "True", "SufficientPods"
    if status["disruptionsAllowed"] <= 0:
        state, reason = "False", "InsufficientPods"
    _set_condition(status, budget.metadata.generation, state, reason, "", now_ns)


def _set_condition(
    status: Document, observed: int, state: str, reason: str, message: str, now_ns: int
) -> None:
    fields = {"observedGeneration": observed} if observed else {}
    new = condition("DisruptionAllowed", state, reason, message, now_ns, **fields)
    status["conditions"] = conditions_with(status.get("conditions") or (), new)


# Stale DisruptionTarget conditions: announced disruptions that did not happen.
#
# A component that is about to delete a pod first sets its condition DisruptionTarget. If the pod
# is not deleted within two minutes, this controller sets the condition to False.

TIMEOUT_NS: Final = 120_000_000_000

_TARGET: Final = "DisruptionTarget"
_BY_KUBELET: Final = "TerminationByKubelet"


class StaleDisruptionController(Controller):
    """Resets stale DisruptionTarget conditions."""

    name = "stale-pod-disruption"
    kinds = (POD,)
    pod_changes = PodChange.DISRUPTION_TARGET | PodChange.ADDED

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a pod with the condition that is not terminating."""
        return (new.key,) if isinstance(new, Pod) and _stale_target(new) is not None else ()

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Reset the condition, or requeue the pod for the time when it becomes stale."""
        pod = self._lister.get(POD, key)
        target = _stale_target(pod) if isinstance(pod, Pod) else None
        if not isinstance(pod, Pod) or target is None:
            return []
        due_ns = (timestamp_ns(target.last_transition_time) or 0) + TIMEOUT_NS
        if due_ns > now_ns:
            return [self.sync_at(key, due_ns)]
        taken_back: Document = {
            "type": _TARGET,
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": timestamp_text(now_ns),
        }
        if pod.metadata.generation:
            taken_back["observedGeneration"] = pod.metadata.generation
        conditions = [
            taken_back if each.get("type") == _TARGET else each
            for each in section(pod, "status").get("conditions") or ()
        ]
        new = patched(pod, status={"conditions": conditions})
        return [self.update(new, "status")]


def _stale_target(pod: Pod) -> Condition | None:
    """Return the condition that can become stale; one set by a kubelet cannot.

    Upstream: nonTerminatingPodHasStaleDisruptionCondition
    """
    target = condition_of(pod, _TARGET)
    if target is None or target.status != "True" or target.reason == _BY_KUBELET:
        return None
    return None if pod.is_terminating or pod.is_terminal else target

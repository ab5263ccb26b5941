"""From the rejections of a node to plans: the edits after which the node might be feasible.

Only the reasons of in-tree plugins are known, in the words of 1.36 and of 1.16. A plan is a guess
that a trial has to confirm, so a rule here may be simpler than that of the plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, product
from typing import Final, TypeAlias

from podwright.apimachinery.devices import copied_slices
from podwright.apimachinery.objects import (
    LEAVING_TAINTS,
    LabelSelectorRequirement,
    Node,
    Object,
    Pod,
    ResourceClaim,
    label_selector,
    pending_requests,
    permanent_taints,
    untolerated_taint,
    workload_of,
)
from podwright.scheduler.advice import node_edits, pod_edits
from podwright.scheduler.advice.claim_fixes import ClaimFixes, VolumeFixes
from podwright.scheduler.advice.device_fixes import DeviceFixes
from podwright.scheduler.advice.device_refusals import DeviceRefusals
from podwright.scheduler.advice.edits import Edit, Plan, distinct, numbered
from podwright.scheduler.advice.rejections import rejection_of
from podwright.scheduler.columns import Cluster, PlacedPod, host_ports
from podwright.scheduler.config import Gates
from podwright.scheduler.framework import EXTENDER, Explanation, Status

_Propose: TypeAlias = Callable[[str, Node], list[Plan]]

DEVICES: Final = "DynamicResources"
"""The plugin that rejects a pod whose claims of devices are not usable or not satisfied."""

_MOST_PLANS_PER_NODE = 12
_INSUFFICIENT = "Insufficient "
_TAINT_REASONS = ("node(s) had untolerated taint", "node(s) had taint")
_SELECTOR_REASONS = (
    "node(s) didn't match Pod's node affinity/selector",
    "node(s) didn't match node selector",
)
_RESTRICTED = "node(s) didn't satisfy plugin"
_SKEW_STEPS = (1, 2, 3, 4, 6, 10, 20, 50)
_LAST_PORT = 65535
_MOST_GUESSES = 3
_NO_PLUGINS: Container[str] = frozenset()


class Fixes:
    """Proposes plans for the nodes that reject a pod.

    Parameters
    ----------
    explanation : Explanation
    cluster : Cluster
        In the state of the explanation.
    gates : Gates
    custom_plugins : container of str
        The names of the plugins whose rules are not known.
    changed_claims : mapping of str to ResourceClaim, optional
        The claims of devices with which the explanation was made, if the cluster has others.
    """

    def __init__(
        self,
        explanation: Explanation,
        cluster: Cluster,
        gates: Gates,
        *,
        custom_plugins: Container[str] = _NO_PLUGINS,
        changed_claims: Mapping[str, ResourceClaim] | None = None,
    ) -> None:
        self._explanation = explanation
        self._custom_plugins = custom_plugins
        self._pod = explanation.pod
        self._requests = pending_requests(explanation.pod)
        self._nodes = cluster.nodes
        self._cluster = cluster
        self.claims = ClaimFixes(explanation.pod, cluster)
        self._volumes = VolumeFixes(explanation.pod, cluster)
        refusals = DeviceRefusals(explanation.pod, cluster, gates, changed_claims)
        self._devices = DeviceFixes(explanation.pod, cluster, refusals)
        self._compares = "TaintTolerationComparisonOperators" in gates
        self._shrunk: dict[tuple[str, int], Edit | None] = {}
        self._used_ports: set[int] | None = None
        self._accepted: dict[str, list[Node]] = {}
        # By the start of a reason: what proposes plans for it.
        self._proposals: tuple[tuple[str | tuple[str, ...], _Propose], ...] = (
            (_INSUFFICIENT, self._shrink),
            ("node(s) were unschedulable", self._uncordon),
            (_TAINT_REASONS, self._taints),
            (_SELECTOR_REASONS, self._affinity),
            ("node(s) didn't have free ports", self._ports),
            ("node(s) didn't match pod topology spread constraints", self._spread),
            ("node(s) didn't match pod affinity rules", self._near),
            ("node(s) didn't match pod anti-affinity rules", self._apart),
            ("node(s) didn't satisfy existing pods anti-affinity rules", self._labels),
            ("node(s) exceed max volume count", self._attach_limits),
            ("cannot allocate all claims", self._device_claims),
            (f"{_RESTRICTED}(s) [NodeAffinity", self._affinity),
        )
        self._statuses: dict[str, list[Status]] = {}
        for answer in explanation.filters:
            for node, status in answer.rejected.items():
                self._statuses.setdefault(node, []).append(status)

    def statuses_of(self, name: str) -> list[Status]:
        """Return the rejections of all filters, or the extender's."""
        first = rejection_of(self._explanation, name)
        statuses = self._statuses.get(name, [])
        if first.plugin and first.plugin not in {status.plugin for status in statuses}:
            return [first, *statuses]
        if not statuses and not first.is_success:
            return [first]
        return statuses

    def node(self, name: str) -> Node | None:
        """Return the Node object."""
        slot = self._nodes.slot_of.get(name)
        return None if slot is None else self._nodes.objects[slot]

    def device_classes(self) -> Iterator[Plan]:
        """Yield plans for claims whose DeviceClass does not exist."""
        return self._devices.of_classes()

    def device_selectors(self) -> Iterator[Plan]:
        """Yield plans for selectors of devices that have wrong names, or that failed."""
        error = self._explanation.error
        has_failed = error is not None and error.plugin == DEVICES
        if has_failed or any(each.plugin == DEVICES for each in self._explanation.filters):
            yield from self._devices.of_selectors(has_failed=has_failed)

    # ---------------------------------------------------------------- one node

    def of_node(self, name: str) -> Iterator[Plan]:
        """Yield plans that might make one node feasible."""
        node = self.node(name)
        if node is None:
            return
        needs = [
            options
            for status in self.statuses_of(name)
            for reason in status.reasons
            if (options := self._options(reason, status, node)) is not None
        ]
        for chosen in islice(product(*needs), _MOST_PLANS_PER_NODE):
            if chosen:
                yield distinct(edit for plan in chosen for edit in plan)

    def _options(self, reason: str, status: Status, node: Node) -> list[Plan] | None:
        """Return the plans for one reason; None if another reason covers it."""
        known = next(
            (propose for start, propose in self._proposals if reason.startswith(start)), None
        )
        if known is not None:
            return known(reason, node)
        if status.plugin == EXTENDER:
            return self._extenders(node.name)
        if status.plugin in self._custom_plugins:
            return self._guesses(status.plugin, node)
        # The reason of a restriction says nothing that a filter's reason does not.
        return None if reason.startswith(_RESTRICTED) else []

    def _uncordon(self, _reason: str, node: Node) -> list[Plan]:
        return [(node_edits.uncordon(node.name),)]

    def _shrink(self, reason: str, node: Node) -> list[Plan]:
        resource = reason.removeprefix(_INSUFFICIENT)
        if not self._has_node_with(resource, 1):
            return [(pod_edits.remove_request(self._pod, resource),)]
        index = self._nodes.resources[resource]
        slot = self._nodes.slot_of[node.name]
        free = int(self._nodes.allocatable[slot, index] - self._nodes.requested[slot, index])
        key = (resource, free)
        # Many nodes have the same amount free, and the edit depends on nothing else of a node.
        if key not in self._shrunk:
            self._shrunk[key] = pod_edits.shrink(self._pod, resource, free)
        edit = self._shrunk[key]
        return [] if edit is None else [(edit,)]

    def _taints(self, _reason: str, node: Node) -> list[Plan]:
        tolerate: list[Edit] = []
        remove: list[Edit] = []
        for taint in node.spec.taints:
            if not untolerated_taint(
                [taint], self._pod.spec.tolerations, comparison_operators=self._compares
            ):
                continue
            if taint.key in LEAVING_TAINTS:
                return []
            if taint.key == node_edits.UNSCHEDULABLE_TAINT:
                tolerate.append(node_edits.uncordon(node.name))
                remove.append(node_edits.uncordon(node.name))
            elif (condition := node_edits.condition_behind(node, taint)) is not None:
                # A kubelet refuses pods under pressure, and one that is not ready starts none; the
                # node controller adds the taint again.
                tolerate.append(node_edits.restore(node, condition))
                remove.append(node_edits.restore(node, condition))
            else:
                tolerate.append(pod_edits.tolerate(taint))
                remove.append(node_edits.remove_taint(node.name, taint))
        plans = (tuple(tolerate), tuple(remove))
        differ = any(edit.on_node is None for edit in tolerate)
        return [plan for plan in plans[: 1 + differ] if plan]

    def _affinity(self, _reason: str, node: Node) -> list[Plan]:
        labels = node.metadata.labels
        differing = {
            key: value
            for key, value in self._pod.spec.node_selector.items()
            if labels.get(key) != value
        }
        select = [
            pod_edits.select_label(key, value, labels.get(key)) for key, value in differing.items()
        ]
        if not pod_edits.requires_other_nodes(self._pod, node):
            plans: list[Plan] = [tuple(select)]
            if not any(map(node_edits.describes_node, differing)):
                plans.append(
                    tuple(
                        node_edits.set_label(node.name, key, value, labels.get(key))
                        for key, value in differing.items()
                    )
                )
            return [plan for plan in plans if plan]
        owner = self._pod.metadata.controller
        if owner is not None and owner.kind == "DaemonSet":
            return []  # Its controller binds each pod to one node by this affinity.
        plans = [(*select, pod_edits.prefer_nodes())]
        accept = pod_edits.accept_label(self._pod, node)
        return [(*select, *accept), *plans] if accept else plans

    def _ports(self, _reason: str, node: Node) -> list[Plan]:
        slot = self._nodes.slot_of[node.name]
        taken = [
            port
            for port in dict.fromkeys(host_ports(self._pod))
            if self._cluster.ports.conflicts(slot, (port,))
        ]
        if not taken:
            return []
        if self._used_ports is None:
            pods = [placed.pod for placed in self._cluster.pods.values()]
            self._used_ports = {port.port for pod in (*pods, self._pod) for port in host_ports(pod)}
        numbers = sorted({port.port for port in taken})
        used = set(self._used_ports)
        moved: list[Edit] = []
        for number in numbers:
            free = next((n for n in range(number + 1, _LAST_PORT + 1) if n not in used), None)
            if free is None:
                return [tuple(map(pod_edits.drop_port, numbers))]
            used.add(free)
            moved.append(pod_edits.move_port(number, free))
        if self._pod.spec.host_network:
            return [tuple(moved)]
        return [tuple(moved), tuple(map(pod_edits.drop_port, numbers))]

    def _spread(self, reason: str, node: Node) -> list[Plan]:
        hard = [
            (index, constraint)
            for index, constraint in enumerate(self._pod.spec.topology_spread_constraints)
            if constraint.when_unsatisfiable == "DoNotSchedule"
        ]
        softly: list[Plan] = [(pod_edits.spread_softly(index),) for index, _ in hard]
        if len(hard) > 1:
            softly.append(tuple(edit for plan in softly for edit in plan))
        if "missing required label" in reason:
            keys = dict.fromkeys(constraint.topology_key for _, constraint in hard)
            missing = [key for key in keys if key not in node.metadata.labels]
            values = self._domain_values(missing)
            # If no node has a topology key, a label on one node would be a separate domain.
            if not missing or len(values) < len(missing):
                return softly
            labels = [node_edits.set_label(node.name, key, values[key], None) for key in missing]
            return [tuple(labels), *softly]
        raised = [numbered(_SKEW_STEPS, partial(pod_edits.raise_skew, *each)) for each in hard]
        skews: list[Plan] = [(edit,) for edits in zip(*raised, strict=True) for edit in edits]
        honored: list[Plan] = [
            (pod_edits.honor_taints(index),)
            for index, constraint in hard
            if constraint.node_taints_policy != "Honor"
        ]
        domains = [
            (pod_edits.drop_min_domains(index),)
            for index, constraint in hard
            if (constraint.min_domains or 1) > 1
        ]
        # The steps of the skew leave room for the plans after them, within the limit per node.
        room = _MOST_PLANS_PER_NODE - len(honored) - len(domains) - len(softly)
        return [*honored, *domains, *skews[:room], *softly]

    def _domain_values(self, keys: Sequence[str]) -> dict[str, str]:
        """Return a value of each topology key that another node has."""
        found: dict[str, str] = {}
        for node in self._nodes.objects:
            for key in keys:
                if node is not None and key in node.metadata.labels:
                    found.setdefault(key, node.metadata.labels[key])
        return found

    def _near(self, _reason: str, _node: Node) -> list[Plan]:
        count = len(self._pod.spec.pod_affinity.required)
        return [(pod_edits.prefer_pods(indexes),) for indexes in _each_and_all(count)]

    def _apart(self, _reason: str, _node: Node) -> list[Plan]:
        count = len(self._pod.spec.pod_anti_affinity.required)
        return [(pod_edits.avoid_pods_softly(indexes),) for indexes in _each_and_all(count)]

    def _labels(self, _reason: str, _node: Node) -> list[Plan]:
        """Return edits of the labels by which other pods' anti-affinity selects this pod."""
        labels = self._pod.metadata.labels
        keys: dict[str, None] = {}
        for placed in self._cluster.pods.values():
            for term in placed.pod.spec.pod_anti_affinity.required:
                selector = term.label_selector
                if selector is not None and label_selector(selector).matches(labels):
                    keys |= dict.fromkeys(selector.match_labels)
                    keys |= dict.fromkeys(map(_key_of, selector.match_expressions))
        return [(pod_edits.change_label(key, labels[key]),) for key in keys if key in labels]

    def _attach_limits(self, _reason: str, node: Node) -> list[Plan]:
        return self._volumes.of_node(node)

    def _device_claims(self, _reason: str, node: Node) -> list[Plan]:
        return self._devices.of_node(node)

    def _guesses(self, plugin: str, node: Node) -> list[Plan]:
        """Return changes after which a node is more like those that a custom plugin accepts."""
        accepted = self._accepted_by(plugin)
        if not accepted:
            return []
        same = dict(accepted[0].metadata.labels)
        for other in accepted[1:]:
            same = {k: v for k, v in same.items() if other.metadata.labels.get(k) == v}
        labels = node.metadata.labels
        edits = [
            node_edits.set_label(node.name, key, value, labels.get(key))
            for key, value in same.items()
            if labels.get(key) != value and not node_edits.describes_node(key)
        ]
        edits += [
            node_edits.remove_taint(node.name, taint)
            for taint in permanent_taints(node)
            if not any(taint in other.spec.taints for other in accepted)
        ]
        if node.spec.unschedulable:
            edits.append(node_edits.uncordon(node.name))
        plans: list[Plan] = [(edit,) for edit in edits[:_MOST_GUESSES]]
        return [*plans, tuple(edits)] if len(edits) > 1 else plans

    def _accepted_by(self, plugin: str) -> list[Node]:
        """Return the nodes that a filter does not reject; none if it did not run."""
        if plugin not in self._accepted:
            rejected = next(
                (each.rejected for each in self._explanation.filters if each.plugin == plugin), None
            )
            names = [] if rejected is None else self._explanation.examined
            nodes = [self.node(name) for name in names if rejected and name not in rejected]
            self._accepted[plugin] = [node for node in nodes if node is not None]
        return self._accepted[plugin]

    def _extenders(self, name: str) -> list[Plan]:
        """Return an edit for the extender that rejects a node."""
        found = next((e for e in self._explanation.extenders if name in e.rejected), None)
        if found is None:
            return []
        return [
            (
                Edit(
                    key=("extender", found.index),
                    text=f"make extenders[{found.index}] ({found.url}) accept the node",
                    effort=4.2,
                    extender=found.index,
                ),
            )
        ]

    # ---------------------------------------------------------------- new nodes

    def new_nodes(
        self, names: Sequence[str], *, counts: Sequence[int] = (1,), factor: int = 1
    ) -> Iterator[Plan]:
        """Yield plans that add nodes like existing ones, with what else the pod has to change.

        Parameters
        ----------
        names : sequence of str
            Nodes of different shapes.
        counts : sequence of int
            How many nodes, increasing.
        factor : int
            The nodes have this multiple of a request that exceeds every existing node. With more
            than 1, only such plans.
        """
        for name in names:
            node = self.node(name)
            if node is None:
                continue
            needs: list[Plan] = []
            for status in self.statuses_of(name):
                for reason in status.reasons:
                    if reason.startswith(_TAINT_REASONS):
                        needs.append(self._tolerated(node))
                    elif reason in _SELECTOR_REASONS:
                        needs += self._affinity(reason, node)[:1]
            edits = distinct(edit for plan in needs for edit in plan)
            if any(edit.on_node for edit in edits):
                continue
            larger = self._exceeded(node)
            if any(self._has_node_with(resource, amount) for resource, amount in larger.items()):
                # Another shape offers it: a node of that shape is the advice.
                continue
            if factor > 1 and not larger:
                continue
            larger = {resource: factor * amount for resource, amount in larger.items()}
            added = partial(
                node_edits.add_nodes,
                like=node,
                taken=self._nodes.slot_of,
                larger=larger,
                labels=self.claims.volume_labels(node),
                companions=partial(self._companions, name),
            )
            for new in numbered(counts, added):
                yield (*edits, new)

    def _companions(self, name: str, new_name: str) -> Iterator[Object]:
        """Yield what a new node has that is like another one, besides itself."""
        yield from self._volumes.csi_node(name, new_name)
        yield from copied_slices(self._cluster.devices.slice_objects(), name, new_name)

    def shape_of(self, node: Node) -> tuple[object, ...]:
        """Return what nodes of one shape have in common."""
        return node_edits.shape_of(node), self._volumes.limits(node.name)

    def fits_empty(self, name: str) -> bool:
        """Return whether an empty node of this shape has room for the pod."""
        node = self.node(name)
        return node is not None and not self._exceeded(node)

    def _exceeded(self, node: Node) -> dict[str, int]:
        """Return the requests that exceed the allocatable amounts of a node."""
        return {
            resource: amount
            for resource, amount in self._requests.items()
            if amount > node_edits.allocatable_of(node, resource)
        }

    def _has_node_with(self, resource: str, amount: int) -> bool:
        index = self._nodes.resources.get(resource)
        if index is None:
            return False
        slots = self._cluster.live_slots()
        return bool((self._nodes.allocatable[slots, index] >= amount).any())

    def _tolerated(self, node: Node) -> Plan:
        taints = [
            taint
            for taint in permanent_taints(node)
            if untolerated_taint(
                [taint], self._pod.spec.tolerations, comparison_operators=self._compares
            )
        ]
        return tuple(map(pod_edits.tolerate, taints))

    # ---------------------------------------------------------------- other pods

    def owners(self, names: Sequence[str]) -> dict[tuple[str, str], list[PlacedPod]]:
        """Return the pods of the workloads that run on some nodes.

        Returns
        -------
        dict of (kind, namespace/name) to list of PlacedPod
            All placed pods of each workload, on any node; no DaemonSets and static pods. Pods
            without a controller are under the kind Pod. The pod's own workload is not included:
            with fewer replicas its controller deletes pending pods first.
        """
        own = _owner_of(self._pod)
        slots = {self._nodes.slot_of[name] for name in names if name in self._nodes.slot_of}
        on_nodes: dict[tuple[str, str], None] = {}
        pods: dict[tuple[str, str], list[PlacedPod]] = {}
        for placed in self._cluster.pods.values():
            owner = _owner_of(placed.pod)
            if owner[0] in ("DaemonSet", "Node") or owner == own or placed.is_terminating:
                continue
            pods.setdefault(owner, []).append(placed)
            if placed.slot in slots:
                on_nodes[owner] = None
        return {owner: pods[owner] for owner in on_nodes}


def _owner_of(pod: Pod) -> tuple[str, str]:
    return workload_of(pod) or ("Pod", pod.key)


def _key_of(requirement: LabelSelectorRequirement) -> str:
    return requirement.key


def _each_and_all(count: int) -> Iterator[tuple[int, ...]]:
    for index in range(count):
        yield (index,)
    if count > 1:
        yield tuple(range(count))

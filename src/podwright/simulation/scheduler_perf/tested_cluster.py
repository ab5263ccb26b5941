"""The cluster of a workload: a world and the API over its store, which follow a real clock.

Upstream's tests start an API server, the scheduler, and the controllers that scheduling needs: the
garbage collector, those of namespaces and of resource claims, and one that completes claims of
volumes which the scheduler has bound. There are no kubelets: pods that are bound never run, and
nodes are what their templates say.

Upstream: test/integration/scheduler_perf/util.go, mustSetupCluster;
test/integration/util/util.go, StartFakePVController
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import (
    KubernetesObject,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodwrightError,
)
from podwright.apimachinery.schema import KindRow
from podwright.cluster.api.endpoints import (
    DEFAULT_GROUP_VERSIONS,
    GATED_RESOURCES,
    AdmissionContext,
    ApiServer,
    HttpReply,
    HttpRequest,
    Plugin,
    ServerOptions,
    User,
    add_missing_objects,
    default_plugins,
)
from podwright.cluster.controllers import (
    GarbageCollector,
    NamespaceController,
    ResourceClaimController,
)
from podwright.cluster.store import ObjectStore
from podwright.scheduler.config import GATES, Gates, set_gates
from podwright.scheduler.framework import Decision
from podwright.scheduler.machine import PluginTimer
from podwright.simulation.scheduler_perf.measuring import Collection
from podwright.simulation.scheduler_perf.test_cases import PerfWorkload
from podwright.simulation.world import START_NS, Patch, World

_CONTROLLERS: Final = (
    GarbageCollector,
    NamespaceController,
    ResourceClaimController,
)
_DEVICE_VERSIONS: Final = ("resource.k8s.io/v1beta2", "resource.k8s.io/v1beta1")
_USER: Final = User("scheduler-perf", groups=("system:masters",))
_DEVICES: Final = "DynamicResourceAllocation"
_BATCHING: Final = "OpportunisticBatching"
_CLAIM: Final = ("", "PersistentVolumeClaim")
_FAILURES: Final = 400


def _admission(context: AdmissionContext) -> list[Plugin]:
    """Return the plugins of the API; the priorities that templates set are kept, as upstream."""
    return default_plugins(msgspec.structs.replace(context, keeps_given=True))


class WorkloadError(PodwrightError):
    """A workload that cannot be executed; the text says at which operation."""


class TestedCluster:
    """The cluster, and what happens to its pods: an observer of its world.

    Parameters
    ----------
    workload : PerfWorkload
    read_ns : callable
        Returns the reading of the clock.

    Attributes
    ----------
    world : World
    pods : dict of str to dict of str to Pod
        By namespace and name.
    scheduled_counts : Counter
        How many pods of a namespace have a node.
    collection : Collection or None
        What is measured at the moment.
    notes : list of str
        What differs from what the file says.
    """

    __test__ = False  # for pytest

    def __init__(self, workload: PerfWorkload, read_ns: Callable[[], int]) -> None:
        self._read_ns = read_ns
        self._begin_ns = read_ns()
        self.collection: Collection | None = None
        self._step_ns = START_NS
        self.pods: dict[str, dict[str, Pod]] = {}
        self.scheduled_counts: Counter[str] = Counter()
        self._bound_volumes: list[PersistentVolume] = []
        self.notes: list[str] = []
        gates = self._gates(workload.gates)
        store = ObjectStore(window=1000)
        add_missing_objects(store, START_NS)
        # Upstream enables all versions of the API of devices with the gate.
        devices = {"DRADeviceTaintRules"} if workload.gates.get(_DEVICES) else set()
        gated = [each for gate, each in GATED_RESOURCES.items() if gate in gates or gate in devices]
        self._server = ApiServer(
            store,
            ServerOptions(
                group_versions=(
                    *DEFAULT_GROUP_VERSIONS,
                    *_DEVICE_VERSIONS,
                    *chain.from_iterable(gated),
                ),
                authorization_modes=("AlwaysAllow",),
                admission=_admission,
                disabled_gates=frozenset(gate for gate in GATES if gate not in gates),
                keeps_managed_fields=False,
            ),
        )
        self.world = World(
            workload.configuration,
            gates=gates,
            batching=workload.gates.get(_BATCHING, False),
            stages=(),
            controllers=_CONTROLLERS,
            observers=[self],
            store=store,
            read_ns=read_ns,
        )
        timer = PluginTimer(self.world.machine, read_ns)
        self.world.machine.metrics.plugin_timings = timer.timings

    def _gates(self, given: dict[str, bool]) -> Gates:
        """Return the feature gates: those of the file, as far as they can be set."""
        values = dict(given)
        for name, value in given.items():
            default = GATES[name].default
            if GATES[name].locked and value != default:
                del values[name]
                is_on = str(default).lower()
                self.notes.append(f"feature gate {name} is locked in 1.36, so it is {is_on}")
        for name, gate in GATES.items():
            off = [each for each in gate.requires if not values.get(each, GATES[each].default)]
            if off and name not in values and gate.default:
                values[name] = False
                self.notes.append(f"feature gate {name} is off, as it depends on {', '.join(off)}")
        return set_gates(values)

    # ------------------------------------------------------------------------- what happens

    def changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None, now_ns: int
    ) -> None:
        """Receive a change of an object."""
        if isinstance(new, PersistentVolume) and new.spec.claim_ref is not None:
            self._bound_volumes.append(new)
        before, after = (each if isinstance(each, Pod) else None for each in (old, new))
        pod = after or before
        if pod is None:
            return
        namespace = pod.metadata.namespace
        of_namespace = self.pods.setdefault(namespace, {})
        if after is None:
            of_namespace.pop(pod.metadata.name, None)
        else:
            of_namespace[pod.metadata.name] = after
        was, is_ = (each is not None and bool(each.spec.node_name) for each in (before, after))
        if was != is_:
            self.scheduled_counts[namespace] += 1 if is_ else -1
        if after is not None and is_ and not was and self.collection is not None:
            self.collection.scheduled(after, self.now_ns())

    def decided(self, decisions: Sequence[Decision], now_ns: int) -> None:
        """Receive the decisions of a scheduling cycle."""
        began_ns, self._step_ns = self._step_ns, self.now_ns()
        if self.collection is None:
            return
        for each in decisions:
            is_placed = bool(each.node)
            self.collection.decided(each.pod, began_ns, self._step_ns, is_placed=is_placed)

    # -------------------------------------------------------------------------------- time

    def now_ns(self) -> int:
        """Return the time of the clock, as a time of the world."""
        return START_NS + self._read_ns() - self._begin_ns

    def catch_up(self, until_ns: int) -> bool:
        """Let the world do what is due, at most until a time; tell whether nothing is left."""

        def is_over() -> bool:
            self._step_ns = self.now_ns()
            return self._step_ns >= until_ns

        self._step_ns = now_ns = self.now_ns()
        self._server.advance(now_ns)
        self._complete_claims()
        return self.world.catch_up(now_ns, is_over) and not self._bound_volumes

    def _complete_claims(self) -> None:
        """Let the claims of volumes have the names of these, as the controller of volumes does."""
        volumes, self._bound_volumes = self._bound_volumes, []
        for volume in volumes:
            reference = volume.spec.claim_ref
            assert reference is not None, "only volumes with claims are kept"
            key = f"{reference.namespace}/{reference.name}"
            claim = self.world.store.get(_CLAIM, key)
            if isinstance(claim, PersistentVolumeClaim) and not claim.spec.volume_name:
                metadata = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
                patch = {"metadata": metadata, "spec": {"volumeName": volume.metadata.name}}
                self.world.do(Patch(_CLAIM, key, patch, "merge"))

    # ---------------------------------------------------------------------------- requests

    def send(
        self,
        method: str,
        document: dict[str, Any],
        namespace: str,
        subresource: str = "",
    ) -> dict[str, Any]:
        """Send a request about an object to the API, and return the object of the reply.

        Raises
        ------
        WorkloadError
            The kind is not served, or the API rejects the request.
        """
        row, metadata = self._row(document), document.get("metadata") or {}
        if bool(namespace) != row.namespaced:
            scope = "namespaced: set namespace" if row.namespaced else "not namespaced"
            raise WorkloadError(f"{row.kind} is {scope}")
        root = f"/apis/{row.group}/{row.version}" if row.group else f"/api/{row.version}"
        parts = [root, *(("namespaces", namespace) if namespace else ()), row.resource]
        if method != "POST":
            if not metadata.get("name"):
                raise WorkloadError(f"{row.kind}: name is required")
            parts += [metadata["name"], *filter(None, [subresource])]
        request = HttpRequest(
            method,
            "/".join(parts),
            "fieldValidation=Strict",
            {"content-type": "application/json"},
            msgspec.json.encode(document) if method != "DELETE" else b"",
        )
        reply = self._server.handle(request, _USER, self.world.now_ns)
        assert isinstance(reply, HttpReply), "the reply to a write is not a watch"
        body: dict[str, Any] = msgspec.json.decode(reply.body)
        if reply.status >= _FAILURES:
            raise WorkloadError(str(body.get("message")))
        return body

    def _row(self, document: dict[str, Any]) -> KindRow:
        group, _, version = str(document.get("apiVersion", "")).rpartition("/")
        for each in self._server.resources:
            row = each.kind.row
            if (row.group, row.version, row.kind) == (group, version, document.get("kind")):
                return row
        raise WorkloadError(f"{document.get('apiVersion')} {document.get('kind')} is not served")

    def is_namespaced(self, document: dict[str, Any]) -> bool:
        """Tell whether an object is in a namespace."""
        return self._row(document).namespaced

    def pods_of(self, namespace: str, labels: dict[str, str]) -> list[Pod]:
        """Return the pods of a namespace with labels."""
        return [
            pod
            for pod in self.pods.get(namespace, {}).values()
            if all(pod.metadata.labels.get(key) == value for key, value in labels.items())
        ]


def is_scheduled(pod: Pod) -> bool:
    """Tell whether a pod has a node."""
    return bool(pod.spec.node_name)


def is_attempted(pod: Pod) -> bool:
    """Tell whether a pod was tried: it has a node, or the scheduler has said why it has none."""
    # The API server says so of pods with gates when it creates them, before any attempt.
    is_gated = bool(pod.spec.scheduling_gates)
    return (
        is_scheduled(pod)
        or is_gated
        or any(each.type == "PodScheduled" for each in pod.status.conditions)
    )

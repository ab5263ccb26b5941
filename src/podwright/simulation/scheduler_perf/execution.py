"""Executes a workload: one operation after the other, with a real clock.

Objects are created through the API as fast as it takes them, and the scheduler works in between:
after every few creations the world does what is due. A wait is a loop of slices of the world, and
of tasks of the background: churn, deletions at a rate.

Upstream: test/integration/scheduler_perf/executor.go; test/utils/runners.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import count
from typing import Any, Final, Protocol

import msgspec

from podwright.apimachinery.devices import (
    Devices,
    Features,
    NodeDevices,
    Search,
    allocation_results,
)
from podwright.apimachinery.objects import (
    SECOND_NS,
    KubernetesObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodwrightError,
    ResourceClaim,
    encode,
)
from podwright.apimachinery.schema import decode
from podwright.simulation.scheduler_perf.measuring import Collection, DataItem
from podwright.simulation.scheduler_perf.operations import (
    AllocResourceClaims,
    Barrier,
    Churn,
    CreateAny,
    CreateNamespaces,
    CreateNodes,
    CreatePods,
    CreatePodSets,
    CreateResourceClaims,
    CreateResourceDriver,
    DeletePods,
    Operation,
    Sleep,
    StartCollectingMetrics,
    StopCollectingMetrics,
    UpdateAny,
)
from podwright.simulation.scheduler_perf.templates import ObjectTemplate, decoded, with_metadata
from podwright.simulation.scheduler_perf.test_cases import Labels, PerfWorkload
from podwright.simulation.scheduler_perf.tested_cluster import (
    TestedCluster,
    WorkloadError,
    is_attempted,
    is_scheduled,
)
from podwright.simulation.world import Apply, Create, Delete, Patch, World, uniform

Document = dict[str, Any]

_SLICE_NS: Final = SECOND_NS // 50
_POLL_NS: Final = SECOND_NS // 10
_WAIT_MAX_NS: Final = 600 * SECOND_NS
_CREATED_AT_ONCE: Final = 30
"""How many creations are in flight upstream."""

_CHURN_MS: Final = 500
_NODE: Final = ("", "Node")
_POD: Final = ("", "Pod")
_BASE_AMOUNTS: Final = {"pods": "110", "cpu": "4", "memory": "32Gi"}
_BASE_NODE: Final[Document] = {
    "apiVersion": "v1",
    "kind": "Node",
    "status": {
        "capacity": _BASE_AMOUNTS,
        "allocatable": _BASE_AMOUNTS,
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
_BASE_NAMESPACE: Final[Document] = {"apiVersion": "v1", "kind": "Namespace"}
_BASE_RESOURCES: Final = {"cpu": "100m", "memory": "500Mi"}
_BASE_POD: Final[Document] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "pod-"},
    "spec": {
        "containers": [
            {
                "name": "pause",
                "image": "registry.k8s.io/pause:3.10.1",
                "ports": [{"containerPort": 80}],
                "resources": {"limits": _BASE_RESOURCES, "requests": _BASE_RESOURCES},
            }
        ]
    },
}


class Clock(Protocol):
    """The clock of an execution, and what it measures of the process."""

    def read_ns(self) -> int:
        """Return the reading of the clock."""

    def sleep(self, duration_ns: int) -> None:
        """Let time pass."""

    def read_memory(self) -> int:
        """Return the memory of the process, in bytes."""


class _Task:
    """Steps of the background that are due at an interval; a late one is not repeated."""

    def __init__(self, now_ns: int, interval_ns: int, steps: Iterable[object]) -> None:
        self.due_ns = now_ns + interval_ns
        self._interval_ns = interval_ns
        self._steps = iter(steps)
        self.is_over = False

    def run(self, now_ns: int) -> None:
        """Do one step if it is due."""
        if now_ns >= self.due_ns:
            self.is_over = next(self._steps, self) is self
            self.due_ns += ((now_ns - self.due_ns) // self._interval_ns + 1) * self._interval_ns


class Execution:
    """The execution of one workload.

    Parameters
    ----------
    workload : PerfWorkload
    clock : Clock
    name : str
        What the names of results start with.

    Attributes
    ----------
    items : list of DataItem
        The results so far.
    cluster : TestedCluster
    """

    def __init__(self, workload: PerfWorkload, clock: Clock, name: str) -> None:
        self._workload = workload
        self._clock = clock
        self._name = name
        self.items: list[DataItem] = []
        self.cluster = TestedCluster(workload, clock.read_ns)
        self._world: World = self.cluster.world
        self._tasks: list[_Task] = []
        self._expected: dict[str, int] = {}
        """How many pods of a namespace a barrier waits for."""
        self._node_count = 0
        self._index = 0
        self._execute: dict[type[Operation], Callable[[Any], None]] = {
            AllocResourceClaims: self._allocate_claims,
            Barrier: self._barrier,
            Churn: self._churn,
            CreateAny: self._create_any,
            CreateNamespaces: self._create_namespaces,
            CreateNodes: self._create_nodes,
            CreatePods: self._create_pods,
            CreateResourceClaims: self._create_any,
            CreateResourceDriver: self._publish_devices,
            DeletePods: self._delete_pods,
            Sleep: self._pause,
            StartCollectingMetrics: lambda each: self._start_collecting(
                each.name, each.namespaces, each.label_selector
            ),
            StopCollectingMetrics: lambda _: self._stop_collecting(),
            UpdateAny: self._update,
        }

    def run(self) -> None:
        """Execute all operations.

        Raises
        ------
        WorkloadError
            An operation that cannot be executed.
        """
        for index, operation in enumerate(_unrolled(self._workload.operations)):
            self._index = index
            try:
                self._execute[type(operation)](operation)
            except PodwrightError as error:
                where = f"operation {index} ({operation.opcode})"
                raise WorkloadError(f"{where}: {error}") from error

    def _pause(self, operation: Sleep) -> None:
        end_ns = self.cluster.now_ns() + operation.duration_ns
        self._wait(lambda: self.cluster.now_ns() >= end_ns)

    # -------------------------------------------------------------------------------- time

    def _turn(self) -> bool:
        """Do what is due, for a slice of time; tell whether nothing is left."""
        now_ns = self.cluster.now_ns()
        for task in self._tasks:
            task.run(now_ns)
        self._tasks = [task for task in self._tasks if not task.is_over]
        if self.cluster.collection is not None:
            self.cluster.collection.sample(now_ns)
        return self.cluster.catch_up(min(now_ns + _SLICE_NS, self._next_ns() or now_ns + _SLICE_NS))

    def _next_ns(self) -> int | None:
        """Return when the next task or sample is due."""
        due = [task.due_ns for task in self._tasks]
        if self.cluster.collection is not None:
            due.append(self.cluster.collection.due_ns)
        return min(due, default=None)

    def _wait(
        self,
        is_done: Callable[[], bool],
        what: Callable[[], str] | None = None,
        poll_ns: int = 0,
    ) -> None:
        """Let the world continue until a condition holds, which is evaluated at an interval.

        Raises
        ------
        WorkloadError
            The condition cannot hold any more, or not within ten minutes.
        """
        now_ns = due_ns = self.cluster.now_ns()
        end_ns = now_ns + _WAIT_MAX_NS
        while now_ns < due_ns or not is_done():
            if now_ns >= due_ns:
                due_ns = self.cluster.now_ns() + poll_ns
            is_idle = self._turn()
            now_ns = self.cluster.now_ns()
            if what is not None and now_ns >= end_ns:
                raise WorkloadError(what())
            if is_idle:
                due = (self._world.next_due_ns, self._next_ns(), now_ns + _POLL_NS)
                self._clock.sleep(max(min(each for each in due if each is not None) - now_ns, 0))
                now_ns = self.cluster.now_ns()

    def _at_rate(self, steps: Iterable[object], per_second: int, *, waits: bool = True) -> None:
        """Do steps in the background, so many a second; or all at once, for 0."""
        if not per_second:
            for _ in steps:
                pass
            return
        task = _Task(self.cluster.now_ns(), SECOND_NS // per_second, steps)
        self._tasks.append(task)
        if waits:
            self._wait(lambda: task.is_over)

    def _create_each(self, objects: Iterable[KubernetesObject]) -> None:
        """Create objects while the scheduler works."""
        for number, obj in enumerate(objects, 1):
            self._world.do(Create(obj))
            if number % _CREATED_AT_ONCE == 0:
                self._turn()

    # ------------------------------------------------------------------------------- nodes

    def _create_nodes(self, operation: CreateNodes) -> None:
        named = with_metadata(_BASE_NODE, generateName=f"node-{self._index}-")
        template = self._template(operation.node_template_path, named)

        def nodes() -> Iterator[Node]:
            for index in range(operation.count):
                document = template.document(index, operation.count)
                metadata = document.get("metadata") or {}
                # Upstream draws the names, so that it can set the label in the same request.
                prefix, number = metadata.get("generateName", ""), self._node_count + index
                name = metadata.get("name") or f"{prefix}{number:05d}"
                labels = (metadata.get("labels") or {}) | {"kubernetes.io/hostname": name}
                document = with_metadata(document, name=name, labels=labels)
                yield decoded(document, template.source, Node)

        self._create_each(nodes())
        first, self._node_count = self._node_count, self._node_count + operation.count
        # Like upstream, which takes the nodes from a list in the order of names.
        created = self._world.nodes[first : self._node_count]
        for index, node in enumerate(created):
            self._prepare(node, index, operation)
        self._declare_features()

    def _prepare(self, node: Node, index: int, operation: CreateNodes) -> None:
        unique = operation.unique_node_label_strategy
        if labels := operation.label_node_prepare_strategy:
            value = labels.label_values[index % len(labels.label_values)]
            self._patch_node(node, {"metadata": {"labels": {labels.label_key: value}}})
        elif unique is not None:
            self._patch_node(node, {"metadata": {"labels": {unique.label_key: node.metadata.uid}}})
        elif allocatable := operation.node_allocatable_strategy:
            # Upstream patches `nodeAllocatable` into the node, whose status keeps what it has.
            name = node.metadata.name
            plugins = ",".join(allocatable.migrated_plugins)
            drivers = [
                {"name": driver, "nodeID": name, "allocatable": amount}
                for driver, amount in allocatable.csi_node_allocatable.items()
            ]
            csi_node = {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSINode",
                "metadata": {
                    "name": name,
                    "annotations": {"storage.alpha.kubernetes.io/migrated-plugins": plugins},
                },
                "spec": {"drivers": drivers},
            }
            self._world.do(Apply(decode(csi_node)))

    def _patch_node(self, node: Node, patch: Document) -> None:
        self._world.do(Patch(_NODE, node.metadata.name, patch, "merge"))

    def _set_status(self, obj: KubernetesObject, fields: Document) -> None:
        """Set some fields of a status; applying keeps the others."""
        self._world.do(Apply(decode(encode(obj) | {"status": fields}), "status"))

    def _declare_features(self) -> None:
        """Let all nodes declare features, as upstream's test of NodeDeclaredFeatures does."""
        count = self._workload.declared_features
        if count and self._workload.gates.get("NodeDeclaredFeatures"):
            declared = sorted(f"Feature{number}" for number in range(1, count + 1))
            for node in self._world.nodes:
                self._set_status(node, {"declaredFeatures": declared})

    # -------------------------------------------------------------------------------- pods

    def _template(self, path: str, base: Document) -> ObjectTemplate:
        """Return the template of a file, or the one that stands for none."""
        if path:
            return self._workload.templates[path]
        return ObjectTemplate(msgspec.json.encode(base), f"the default {base['kind']}")

    def _create_namespace(self, name: str, base: Document = _BASE_NAMESPACE) -> None:
        if name and name not in self._expected:
            self._world.do(Apply(decode(with_metadata(base, name=name))))
            self._expected[name] = 0

    def _create_namespaces(self, operation: CreateNamespaces) -> None:
        base = self._template(operation.namespace_template_path, _BASE_NAMESPACE).document()
        for index in range(operation.count):
            self._create_namespace(f"{operation.prefix}-{index}", base)

    def _create_pods(self, operation: CreatePods) -> None:
        namespace = operation.namespace or f"namespace-{self._index}"
        self._create_namespace(namespace)
        if operation.collect_metrics:
            self._start_collecting(namespace, (namespace,), {})
        if operation.steady_state:
            self._keep_steady(operation, namespace)
        else:
            self._create_each(self._pods(operation, namespace))
            if operation.skip_wait_to_completion:
                self._expected[namespace] += operation.count
            else:
                self._wait_for(namespace, operation.count, {})
        if operation.collect_metrics:
            self._stop_collecting()

    def _pods(self, operation: CreatePods, namespace: str) -> Iterator[KubernetesObject]:
        """Yield the objects of an operation: pods, each after its claim and its volume."""
        path = operation.pod_template_path or self._workload.default_pod_template
        template = self._template(path, _BASE_POD)
        claim_path = operation.persistent_volume_claim_template_path
        is_constant = not claim_path and template.is_constant
        pod: Pod | None = None
        for index in range(operation.count):
            if claim_path:
                claims = self._workload.templates[claim_path]
                volumes = self._workload.templates[operation.persistent_volume_template_path]
                yield from _bound_claim(claims, volumes, namespace, index)
            if pod is None or not is_constant:
                document = template.document(index, operation.count)
                if claim_path:
                    volume = {"name": "vol", "persistentVolumeClaim": {"claimName": f"pvc-{index}"}}
                    document = document | {"spec": document["spec"] | {"volumes": [volume]}}
                document = with_metadata(document, namespace=namespace)
                pod = decoded(document, template.source, Pod)
            yield pod

    def _wait_for(
        self,
        namespace: str,
        count: int,
        labels: Labels,
        has_passed: Callable[[Pod], bool] = is_scheduled,
        passed: str = "scheduled",
    ) -> None:
        """Wait until so many pods have passed a stage."""

        def is_done() -> bool:
            return sum(map(has_passed, self.cluster.pods_of(namespace, labels))) >= count

        def what() -> str:
            pods = self.cluster.pods_of(namespace, labels)
            first = next((pod.key for pod in pods if not has_passed(pod)), "none")
            return f"{count} pods of namespace {namespace} are not {passed}; the first is {first}"

        self._wait(is_done, what, _POLL_NS)

    def _keep_steady(self, operation: CreatePods, namespace: str) -> None:
        """Replace the pods of a namespace whenever all are scheduled, for a time."""
        end_ns = self.cluster.now_ns() + operation.duration_ns
        counts = self.cluster.scheduled_counts
        most = 0
        while True:
            self._create_each(self._pods(operation, namespace))
            self._wait(
                lambda: counts[namespace] >= operation.count or self.cluster.now_ns() >= end_ns
            )
            most = max(most, counts[namespace])
            if self.cluster.now_ns() >= end_ns:
                break
            for pod in self.cluster.pods_of(namespace, {}):
                self._world.do(Delete(_POD, pod.key, 0))
        if not most:
            raise WorkloadError("no pod was scheduled during the steady state")

    def _delete_pods(self, operation: DeletePods) -> None:
        pods = self.cluster.pods_of(operation.namespace, operation.label_selector)
        steps = (Delete(_POD, pod.key) for pod in pods)
        waits = not operation.skip_wait_to_completion
        self._at_rate(map(self._world.do, steps), operation.delete_pods_per_second, waits=waits)

    def _barrier(self, operation: Barrier) -> None:
        labels = operation.label_selector
        for namespace in operation.namespaces:
            if namespace not in self._expected:
                raise WorkloadError(f"unknown namespace {namespace}")
        for namespace in operation.namespaces or tuple(self._expected):
            count = self._expected[namespace]
            if operation.stage_requirement == "Attempted":
                self._wait_for(namespace, count, labels, is_attempted, "attempted")
            else:
                self._wait_for(namespace, count, labels)
                # Upstream forgets them: no pod of theirs is pending now.
                self._expected[namespace] = 0

    # ------------------------------------------------------------------------- any objects

    def _create_any(self, operation: CreateAny | CreateResourceClaims) -> None:
        namespace = operation.namespace
        self._create_namespace(namespace)
        template = self._workload.templates[operation.template_path]
        for index in range(operation.count):
            self.cluster.send("POST", template.document(index, operation.count), namespace)

    def _update(self, operation: UpdateAny) -> None:
        self._create_namespace(operation.namespace)
        template = self._workload.templates[operation.template_path]

        def steps() -> Iterator[None]:
            for index in range(operation.count):
                document = template.document(index, operation.count)
                for subresource in ("/".join(operation.subresources), "status"):
                    self.cluster.send("PUT", document, operation.namespace, subresource)
                yield

        self._at_rate(steps(), operation.update_per_second)

    def _churn(self, operation: Churn) -> None:
        namespace = operation.namespace or f"namespace-{self._index}"
        self._world.do(Apply(decode(with_metadata(_BASE_NAMESPACE, name=namespace))))
        documents = [self._workload.templates[path].document() for path in operation.template_paths]
        is_recreating, number = operation.mode == "recreate", operation.number
        alive: list[dict[int, Document]] = [{} for _ in documents]

        def steps() -> Iterator[None]:
            for index in count() if is_recreating or not number else range(number):
                place = index % number if is_recreating else index
                for document, created in zip(documents, alive, strict=True):
                    scope = namespace if self.cluster.is_namespaced(document) else ""
                    if place in created:
                        self.cluster.send("DELETE", created.pop(place), scope)
                        continue
                    with suppress(WorkloadError):  # as upstream does
                        new = self.cluster.send("POST", document, scope)
                        if is_recreating:
                            created[place] = new
                yield

        interval_ns = (operation.interval_milliseconds or _CHURN_MS) * SECOND_NS // 1000
        self._tasks.append(_Task(self.cluster.now_ns(), interval_ns, steps()))

    # ----------------------------------------------------------------------------- devices

    def _publish_devices(self, operation: CreateResourceDriver) -> None:
        names = [node.name for node in self._world.nodes if fnmatchcase(node.name, operation.nodes)]
        driver, most = operation.driver_name, operation.max_claims_per_node
        self._create_each(decode(_slice(driver, name, most)) for name in names)
        self._wait(self._turn)

    def _allocate_claims(self, operation: AllocResourceClaims) -> None:
        """Allocate devices for claims one after the other, each from a drawn node on."""
        world, machine = self._world, self._world.machine
        self._wait(self._turn)
        nodes = list(world.nodes)
        features = Features.of(machine.gates)
        claims = [
            each
            for each in world.store.list(ResourceClaim).objects
            if isinstance(each, ResourceClaim)
            and operation.namespace in ("", each.metadata.namespace)
        ]
        for number, claim in enumerate(claims):
            if claim.status.allocation is not None:
                continue
            start = int(uniform(0, _CLAIMS_STREAM, number) * len(nodes))
            if not any(
                self._allocate(claim, node, features) for node in nodes[start:] + nodes[:start]
            ):
                raise WorkloadError(f"no node has devices for claim {claim.key}")

    def _allocate(self, claim: ResourceClaim, node: Node, features: Features) -> bool:
        devices = self._world.machine.cluster.devices
        name, labels = node.metadata.name, node.metadata.labels
        pools = devices.pools_of(name, labels, with_partitions=features.partitionable_devices)
        search = Search(
            NodeDevices(name, labels, pools),
            [claim],
            Devices(devices.classes, devices.allocated, devices.selection),
            features=features,
        )
        solution = search.run()
        if solution is None:
            return False
        (allocation,) = allocation_results(solution, [claim], devices.classes, name)
        self._set_status(claim, {"allocation": msgspec.to_builtins(allocation)})
        return True

    # --------------------------------------------------------------------------- measuring

    def _start_collecting(self, name: str, namespaces: Sequence[str], labels: Labels) -> None:
        if self.cluster.collection is not None:
            raise WorkloadError("another collection of metrics has not been stopped")
        self.cluster.collection = Collection(
            f"{self._name}/{name}",
            self._workload,
            namespaces,
            labels,
            now_ns=self.cluster.now_ns(),
            before=self._world.machine.metrics_snapshot(),
            read_memory=self._clock.read_memory,
        )

    def _stop_collecting(self) -> None:
        if self.cluster.collection is None:
            raise WorkloadError("no collection of metrics has been started")
        after = self._world.machine.metrics_snapshot()
        self.items += self.cluster.collection.items(self.cluster.now_ns(), after)
        self.cluster.collection = None


_CLAIMS_STREAM: Final = 1
"""The stream of the draws of first nodes."""


def _unrolled(operations: Iterable[Operation]) -> Iterator[Operation]:
    """Yield the operations, with those that pod sets stand for."""
    for operation in operations:
        if isinstance(operation, CreatePodSets):
            for index in range(operation.count):
                namespace = f"{operation.namespace_prefix}-{index}"
                pods = operation.create_pods_op
                yield msgspec.structs.replace(pods, opcode="createPods", namespace=namespace)
        else:
            yield operation


def _bound_claim(
    claims: ObjectTemplate, volumes: ObjectTemplate, namespace: str, index: int
) -> Iterator[KubernetesObject]:
    """Yield a claim and the volume to which it is bound."""
    name, volume_name = f"pvc-{index}", f"{namespace}-vol-{index}"
    claim = with_metadata(claims.document(), name=name, namespace=namespace)
    claim["spec"] = claim["spec"] | {"volumeName": volume_name}
    volume = with_metadata(volumes.document(), name=volume_name)
    spec = dict(volume["spec"])
    if "csi" in spec:
        spec["csi"] = spec["csi"] | {"volumeHandle": volume_name}
    elif "awsElasticBlockStore" in spec:
        spec["awsElasticBlockStore"] = spec["awsElasticBlockStore"] | {"volumeID": f"vol-{index}"}
    reference = {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name}
    volume["spec"] = spec | {"claimRef": reference | {"apiVersion": "v1"}}
    bound = {"status": {"phase": "Bound"}}
    yield decoded(claim | bound, claims.source, PersistentVolumeClaim)
    yield decoded(volume | bound, volumes.source, PersistentVolume)


def _slice(driver: str, node: str, count: int) -> Document:
    devices = [
        {
            "name": f"instance-{index}",
            "attributes": {
                "model": {"string": "A100"},
                "family": {"string": "GPU"},
                "driverVersion": {"version": "1.2.3"},
                "dra.example.com/numa": {"int": index},
            },
            "capacity": {"memory": {"value": "1Gi"}},
        }
        for index in range(count)
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": node},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "resourceSliceCount": 1},
            "devices": devices,
        },
    }

"""Benchmarks of the engine on workloads as charts write them: each has its own selectors.

    python -m tests.perf.selectors                                   each form, at both sizes
    python -m tests.perf.selectors --forms volumes --placed 300,3000

`engine` repeats the templates of scheduler_perf. Here no form is repeated: the labels, terms,
constraints and requests of every workload are drawn with a seed. Between decisions a kubelet
updates its node: its conditions, and the images that it has pulled; no label changes.

`_FORMS` has the forms of the applications. The table has the cost of a pod of each form, in
microseconds, beside pods of the same form that were placed before.
"""

from __future__ import annotations

import argparse
import gc
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from tests.perf import templates
from tests.perf.case import PODS_PER_SECOND, TIMES, Case

from podwright.apimachinery.objects import ContainerImage, Node, Pod, decode_pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework.run import PluginRunner
from podwright.testing.parity.sequence import profiles_of

Document = templates.Document

_NODES = 5_000
_ZONES = ("zone-a", "zone-b", "zone-c")
_REPLICAS = 3
_FEW, _MANY = 3_000, 30_000
"""How many pods are placed when the cost of a pod is measured for `flatness`."""

_MEASURED = 1_500
_NAMESPACES = 25
_COMMON = {
    "app": [f"app-{i}" for i in range(12)],
    "tier": ["web", "api", "cache", "db"],
    "track": ["stable", "canary"],
    "team": [f"team-{i}" for i in range(8)],
}
"""The small set that the labels of `common_labels` come from."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def common_labels() -> float:
    """Labels of a small set, terms In and NotIn over it: 5,000 nodes, 3,000 pods, 900 terms."""
    engine = Engine(_NODES)
    return engine.rate(_common_pods(_FEW))


def applications() -> float:
    """3,000 applications of 3 replicas, each with its own labels and terms: 5,000 nodes."""
    return Engine(_NODES).rate(_applications("mixed", 3_000))


def flatness() -> float:
    """The cost of a pod beside 30,000 pods of `applications` as a multiple of that beside 3,000."""
    return _flatness("mixed")


# -------------------------------------------------------------------- workloads


def _common_pods(count: int, seed: int = 1) -> list[Pod]:
    """Return pods with labels of a small set; three of ten have a preferred anti-affinity."""
    draw = random.Random(seed)
    return [decode_pod(_common_pod(draw, number)) for number in range(count)]


def _common_pod(draw: random.Random, number: int) -> Document:
    labels = {key: draw.choice(values) for key, values in _COMMON.items() if draw.random() < 0.9}
    spec: dict[str, Any] = {}
    if number % 10 < 3:
        selector = {"matchExpressions": [_expression(draw) for _ in range(draw.randint(1, 2))]}
        term = {"topologyKey": _topology_key(draw), "labelSelector": selector}
        weighted = {"weight": draw.randint(1, 100), "podAffinityTerm": term}
        spec["affinity"] = {"podAntiAffinity": {_PREFERRED: [weighted]}}
    return _pod(draw, f"common-{number}", "default", labels, spec)


def _expression(draw: random.Random) -> Document:
    key = draw.choice(list(_COMMON))
    values = draw.sample(_COMMON[key], draw.randint(1, min(5, len(_COMMON[key]) - 1)))
    return {"key": key, "operator": draw.choice(["In", "NotIn"]), "values": values}


def _topology_key(draw: random.Random) -> str:
    return draw.choice([templates.HOSTNAME, templates.ZONE])


def _applications(mode: str, count: int, first: int = 0) -> list[Pod]:
    """Return the pods of many applications in a drawn order.

    Parameters
    ----------
    mode : str
        What the applications ask for: a key of `_FORMS`, or `mixed`.
    """
    draw = random.Random(f"{mode} {first}")
    documents = [
        document
        for number in range(first, first + count)
        for document in _application(draw, mode, number)
    ]
    draw.shuffle(documents)
    return [decode_pod(document) for document in documents]


def _application(draw: random.Random, mode: str, number: int) -> Iterator[Document]:
    labels = {
        "app.kubernetes.io/name": f"app-{number}",
        "app.kubernetes.io/instance": f"app-{number}-{number % 7}",
        "team": f"team-{number % 40}",
    }
    form = _FORMS[draw.choice(list(_FORMS)) if mode == "mixed" else mode]
    spec = form(draw, labels)
    namespace = spec.pop("namespace", f"ns-{number % _NAMESPACES}")
    image = spec.pop("image", f"registry.example.com/app-{number}:v1")
    claims = spec.pop("claims", ())
    for replica in range(_REPLICAS):
        name = f"app-{number}-{replica}"
        if claims:
            of_claims = [
                {"name": each, "persistentVolumeClaim": {"claimName": f"{each}-{name}"}}
                for each in claims
            ]
            spec = {**spec, "volumes": of_claims}
        yield _pod(draw, name, namespace, labels, spec, image)


def _pod(
    draw: random.Random,
    name: str,
    namespace: str,
    labels: dict[str, str],
    spec: Document,
    image: str = "registry.example.com/app:v1",
) -> Document:
    document = templates.pod_document(
        labels=labels,
        cpu=f"{draw.choice([20, 50, 100])}m",
        memory=f"{draw.choice([32, 64])}Mi",
        namespace=namespace,
        **spec,
    )
    document["spec"]["containers"][0]["image"] = image
    document["metadata"] |= {"name": name, "uid": f"{namespace}-{name}"}
    return document


Form = Callable[[random.Random, dict[str, str]], Document]


def _own_term(labels: dict[str, str], **more: Any) -> Document:
    return {"labelSelector": _own_selector(labels), "topologyKey": templates.HOSTNAME, **more}


def _own_selector(labels: dict[str, str]) -> Document:
    return {"matchLabels": {k: v for k, v in labels.items() if k != "team"}}


def _preferred_anti(**more: Any) -> Form:
    return lambda draw, labels: {
        "affinity": {
            "podAntiAffinity": {
                _PREFERRED: [
                    {"weight": draw.randint(1, 100), "podAffinityTerm": _own_term(labels, **more)}
                ]
            }
        }
    }


def _required(field: str, **more: Any) -> Form:
    return lambda _, labels: {"affinity": {field: {_REQUIRED: [_own_term(labels, **more)]}}}


def _spreading(when_unsatisfiable: str, **more: Any) -> Form:
    return lambda draw, labels: {
        "topologySpreadConstraints": [
            {
                "maxSkew": draw.randint(1, 3),
                "topologyKey": templates.ZONE,
                "whenUnsatisfiable": when_unsatisfiable,
                "labelSelector": _own_selector(labels),
                **more,
            }
        ]
    }


def _own_tolerations(_draw: random.Random, labels: dict[str, str]) -> Document:
    toleration = {"key": labels["app.kubernetes.io/name"], "operator": "Exists"}
    return {"tolerations": [toleration]}


def _own_node_affinity(_draw: random.Random, labels: dict[str, str]) -> Document:
    avoided = [labels["app.kubernetes.io/name"]]
    expression = {"key": templates.HOSTNAME, "operator": "NotIn", "values": avoided}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"affinity": {"nodeAffinity": {_REQUIRED: terms}}}


def _other_teams(_draw: random.Random, labels: dict[str, str]) -> Document:
    """Return what the API server makes of `mismatchLabelKeys`: all pods but those of the team."""
    team = {"key": "team", "operator": "NotIn", "values": [labels["team"]]}
    selector = {"matchExpressions": [{"key": "team", "operator": "Exists"}, team]}
    term = {"topologyKey": templates.HOSTNAME, "labelSelector": selector}
    weighted = {"weight": 1, "podAffinityTerm": term}
    return {"affinity": {"podAntiAffinity": {_PREFERRED: [weighted]}}}


def _same_team(draw: random.Random, labels: dict[str, str]) -> Document:
    """Return what the API server makes of `matchLabelKeys` in a term."""
    spec = _preferred_anti()(draw, labels)
    (term,) = spec["affinity"]["podAntiAffinity"][_PREFERRED]
    team = {"key": "team", "operator": "In", "values": [labels["team"]]}
    term["podAffinityTerm"]["labelSelector"]["matchExpressions"] = [team]
    return spec


_FORMS: dict[str, Form] = {
    "plain": lambda _draw, _labels: {},
    "preferred": _preferred_anti(),
    "required": _required("podAntiAffinity"),
    "affinity": _required("podAffinity"),
    "hard": _spreading("DoNotSchedule"),
    "soft": _spreading("ScheduleAnyway"),
    "label keys of terms": _same_team,
    "mismatched label keys": _other_teams,
    "label keys of constraints": _spreading("DoNotSchedule", matchLabelKeys=["team"]),
    "honored taints": _spreading("DoNotSchedule", nodeTaintsPolicy="Honor"),
    "namespace selectors": _required(
        "podAntiAffinity", namespaceSelector={"matchLabels": {"shared": "yes"}}
    ),
    "own namespaces": lambda draw, labels: {
        **_preferred_anti()(draw, labels),
        "namespace": labels["app.kubernetes.io/name"],
    },
    "priorities": lambda draw, labels: {
        **_preferred_anti()(draw, labels),
        "priority": draw.randint(1, 1_000_000),
    },
    "tolerations": _own_tolerations,
    "node affinity": _own_node_affinity,
    "images": lambda draw, _: {"image": f"registry.example.com/common-{draw.randrange(20)}:v1"},
    "volumes": lambda draw, labels: {**_preferred_anti()(draw, labels), "claims": ["data"]},
}


# -------------------------------------------------------------------- the engine


class Engine:
    """Decisions and placements, with updates of nodes between them."""

    def __init__(self, n_nodes: int) -> None:
        self.cluster = Cluster()
        for number in range(_NAMESPACES):
            self.cluster.put(_namespace(f"ns-{number}"))
        self.nodes: list[Node] = templates.nodes(n_nodes, _ZONES)
        for node in self.nodes:
            self.cluster.put(node)
        self.runner = PluginRunner(profiles_of(None)["default-scheduler"], self.cluster)
        self.number = 0
        self.cluster.put(decode(_STORAGE_CLASS))

    def schedule(self, pods: Sequence[Pod]) -> float:
        """Schedule pods one after the other; return the processor time in seconds."""
        decide, place = self.runner.decide, self.cluster.place
        gc.collect()
        start_s = time.process_time()
        for pod in pods:
            for volume in pod.spec.volumes:
                if volume.persistent_volume_claim is not None:
                    self._put_bound_claim(pod, volume.persistent_volume_claim.claim_name)
            slot = decide(pod, cycle_number=self.number).slot
            assert slot >= 0, f"{pod.key} finds a node"
            place(pod, slot)
            self.number += 1
            self._update_node(slot, pod)
        return time.process_time() - start_s

    def rate(self, pods: Sequence[Pod]) -> float:
        """Return pods per second."""
        return len(pods) / self.schedule(pods)

    def _put_bound_claim(self, pod: Pod, name: str) -> None:
        """Add a claim, and the volume in one zone that it is bound to."""
        zone = _ZONES[self.number % len(_ZONES)]
        for document in _bound_claim(pod.metadata.namespace, name, zone):
            self.cluster.put(decode(document))

    def _update_node(self, slot: int, pod: Pod) -> None:
        """Report an image, and a heartbeat of another node."""
        node = self.nodes[slot]
        image = ContainerImage(names=(pod.spec.containers[0].image,), size_bytes=50_000_000)
        images = (*node.status.images, image)[-50:]
        self._report(slot, msgspec.structs.replace(node.status, images=images))
        other = self.number * 7 % len(self.nodes)
        conditions = self.nodes[other].status.conditions
        self._report(
            other, msgspec.structs.replace(self.nodes[other].status, conditions=(*conditions,))
        )

    def _report(self, slot: int, status: Any) -> None:
        self.nodes[slot] = msgspec.structs.replace(self.nodes[slot], status=status)
        self.cluster.put(self.nodes[slot])


_STORAGE_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "disks"},
    "provisioner": "disks.example.com",
}


def _bound_claim(namespace: str, name: str, zone: str) -> tuple[Document, Document]:
    common = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "disks",
        "volumeMode": "Filesystem",
    }
    expression = {"key": templates.ZONE, "operator": "In", "values": [zone]}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pv-{name}"},
        "spec": {
            **common,
            "capacity": {"storage": "1Gi"},
            "csi": {"driver": "disks.example.com", "volumeHandle": name},
            "claimRef": {"namespace": namespace, "name": name, "uid": f"uid-{name}"},
            "nodeAffinity": {
                "required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
            },
        },
        "status": {"phase": "Bound"},
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        },
        "spec": {
            **common,
            "volumeName": f"pv-{name}",
            "resources": {"requests": {"storage": "1Gi"}},
        },
        "status": {"phase": "Bound"},
    }
    return volume, claim


def _namespace(name: str) -> Any:
    metadata = {"name": name, "labels": {"shared": "yes"}}
    return decode({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


def seconds_by_placed(
    mode: str, placed: Sequence[int], *, nodes: int = _NODES, measured: int = _MEASURED
) -> list[float]:
    """Return the processor time of `measured` pods beside so many that were placed before."""
    engine, first, seconds = Engine(nodes), 0, []
    for target in placed:
        apps = max(target - engine.number, 0) // _REPLICAS
        engine.schedule(_applications(mode, apps, first))
        first += apps
        apps = measured // _REPLICAS
        seconds.append(engine.schedule(_applications(mode, apps, first)))
        first += apps
    return seconds


def _flatness(mode: str) -> float:
    """Return the cost of a pod with many placed pods, as a multiple of that with few."""
    few, many = seconds_by_placed(mode, (_FEW, _MANY))
    return many / few


def _case(name: str, measure: Callable[[], float], target: float) -> Case:
    return Case(name=name, unit=PODS_PER_SECOND, measure=measure, target=target, runs=3)


CASES = (
    _case("selectors_engine", common_labels, 1_000),
    _case("selectors_applications", applications, 1_000),
    Case(name="selectors_flatness", unit=TIMES, measure=flatness, target=1.5, runs=1),
)


def main() -> None:
    """Print what a pod of each form costs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--forms", default=",".join(_FORMS))
    parser.add_argument("--nodes", type=int, default=_NODES)
    parser.add_argument("--placed", default=f"{_FEW},{_MANY}", help="separated by commas")
    parser.add_argument("--measured", type=int, default=_MEASURED, help="pods")
    options = parser.parse_args()
    placed = [int(each) for each in options.placed.split(",")]
    print(f"{'us of CPU a pod, beside':26}" + "".join(f"{each:>9,}" for each in placed))
    for form in options.forms.split(","):
        seconds = seconds_by_placed(form, placed, nodes=options.nodes, measured=options.measured)
        each_us = [1e6 * spent / options.measured for spent in seconds]
        print(f"{form:26}" + "".join(f"{us:9.0f}" for us in each_us), flush=True)


if __name__ == "__main__":
    main()

"""Kubernetes objects in which names, labels and amounts often coincide."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Document = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
GPU = "example.com/gpu"

NODES = [f"n{i}" for i in range(7)]
NAMESPACES = ["default", "other"]
APPS = ["web", "db"]
INDEX = "index"
"""A label with a different value for each pod of a template, as in a Job or StatefulSet."""
CLAIMS = ["c0", "c1", "c2"]
VOLUMES = ["v0", "v1", "v2"]
IMAGES = {"registry/big:v1": 800 << 20, "registry/small:v1": 60 << 20}
BUDGETS = ["b0", "b1", "b2"]


@st.composite
def maybe(draw: st.DrawFn, strategy: st.SearchStrategy[Any]) -> Any:
    """Draw None three times out of four."""
    # The range ends with the drawn choices, so that Hypothesis shrinks to None.
    return draw(strategy) if draw(st.integers(0, 3)) == 3 else None


def _present(fields: Document) -> Document:
    return {key: value for key, value in fields.items() if value not in (None, [], {})}


# -------------------------------------------------------------------- nodes


TAINTS = [
    {"key": "slow", "effect": "PreferNoSchedule"},
    {"key": "slow", "value": "very", "effect": "PreferNoSchedule"},
    {"key": "slow", "effect": "PreferNoSchedule"},
    {"key": "dedicated", "value": "db", "effect": "NoSchedule"},
    {"key": "broken", "effect": "NoExecute"},
]
"""Most taints reject no pod: a cluster in which few pods fit tests little."""


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Document:
    """Draw a node with a name."""
    labels = {
        HOSTNAME: name,
        ZONE: draw(st.sampled_from(["a", "b", "c", "a", "b", None])),
        "disk": draw(st.sampled_from([None, "ssd", "hdd"])),
        "rank": draw(st.sampled_from([None, None, "1", "7"])),
    }
    images = draw(st.lists(st.sampled_from(sorted(IMAGES)), unique=True, max_size=2))
    # Kubelets may report one image with different sizes; the first one counts.
    growth = draw(st.sampled_from([1, 2]))
    allocatable = {
        "cpu": draw(st.sampled_from(["4", "2", "8", "4", "500m"])),
        "memory": draw(st.sampled_from(["8Gi", "16Gi", "2Gi"])),
        "pods": draw(st.sampled_from(["110", "110", "110", "3"])),
        GPU: draw(st.sampled_from([None, None, "2"])),
    }
    taints = draw(maybe(st.lists(st.sampled_from(TAINTS), min_size=1, max_size=2)))
    spec = {"taints": taints, "unschedulable": draw(maybe(maybe(st.just(True))))}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": _present(labels)},
        "spec": _present(spec),
        "status": _present(
            {
                "allocatable": _present(allocatable),
                "images": [{"names": [i], "sizeBytes": growth * IMAGES[i]} for i in images],
            }
        ),
    }


def roomy_node(name: str, zone: str) -> Document:
    """Return a node with enough resources for all pods and without taints."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: zone}},
        "spec": {},
        "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"}},
    }


# -------------------------------------------------------------------- pods


def _label_selectors() -> st.SearchStrategy[Document]:
    return st.one_of(
        st.sampled_from(APPS).map(lambda app: {"matchLabels": {"app": app}}),
        st.just({"matchExpressions": [{"key": "app", "operator": "Exists"}]}),
        st.just({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}),
        st.just({"matchLabels": {INDEX: "1"}}),
        st.just({}),
    )


@st.composite
def _pod_terms(draw: st.DrawFn) -> Document:
    term: Document = {
        "labelSelector": draw(_label_selectors()),
        "topologyKey": draw(st.sampled_from([ZONE, HOSTNAME, "disk"])),
    }
    where = draw(st.integers(0, 3))
    if where == 1:
        term["namespaces"] = ["other"]
    elif where == 2:
        term["namespaceSelector"] = {"matchLabels": {"team": "a"}}
    elif where == 3:
        term["namespaceSelector"] = {}
    return term


@st.composite
def _pod_affinities(draw: st.DrawFn) -> Document:
    required = draw(st.lists(_pod_terms(), max_size=2))
    preferred = draw(st.lists(st.tuples(st.sampled_from([1, 50]), _pod_terms()), max_size=2))
    return _present(
        {
            "requiredDuringSchedulingIgnoredDuringExecution": required,
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": weight, "podAffinityTerm": term} for weight, term in preferred
            ],
        }
    )


def _node_terms() -> st.SearchStrategy[Document]:
    expressions = [
        {"key": ZONE, "operator": "In", "values": ["a", "b"]},
        {"key": ZONE, "operator": "NotIn", "values": ["a"]},
        {"key": "disk", "operator": "Exists"},
        {"key": "disk", "operator": "DoesNotExist"},
        {"key": "rank", "operator": "Gt", "values": ["3"]},
    ]
    by_field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [NODES[1]]}]}
    by_label = st.sampled_from(expressions).map(lambda one: {"matchExpressions": [one]})
    return st.one_of(by_label, by_label, st.just(by_field))


@st.composite
def _node_affinities(draw: st.DrawFn) -> Document:
    required = draw(st.lists(_node_terms(), max_size=2))
    preferred = draw(st.lists(st.tuples(st.sampled_from([3, 90]), _node_terms()), max_size=2))
    found: Document = {}
    if required:
        found["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": required}
    if preferred:
        found["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": weight, "preference": term} for weight, term in preferred
        ]
    return found


@st.composite
def _constraints(draw: st.DrawFn) -> Document:
    when = draw(st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]))
    fields = {
        "maxSkew": draw(st.sampled_from([1, 2])),
        "topologyKey": draw(st.sampled_from([ZONE, HOSTNAME])),
        "whenUnsatisfiable": when,
        "labelSelector": draw(_label_selectors()) or {"matchLabels": {"app": "web"}},
        "minDomains": draw(maybe(st.just(3))) if when == "DoNotSchedule" else None,
        "nodeAffinityPolicy": draw(maybe(st.sampled_from(["Ignore", "Honor"]))),
        "nodeTaintsPolicy": draw(maybe(st.just("Honor"))),
    }
    return _present(fields)


def _spreading() -> st.SearchStrategy[list[Document]]:
    # The API server rejects two constraints with the same key and whenUnsatisfiable.
    return st.lists(
        _constraints(),
        min_size=1,
        max_size=2,
        unique_by=lambda one: (one["topologyKey"], one["whenUnsatisfiable"]),
    )


_TOLERATIONS = [
    {"key": "dedicated", "operator": "Equal", "value": "db", "effect": "NoSchedule"},
    {"key": "slow", "operator": "Exists"},
    {"operator": "Exists"},
]


@st.composite
def plain_templates(draw: st.DrawFn) -> Document:
    """Draw a pod template that fits on most nodes and has one kind of constraint."""
    template = draw(pod_templates())
    spec = template["spec"]
    kept = draw(st.sampled_from(["", "", "affinity", "topologySpreadConstraints", "tolerations"]))
    for field in ("nodeSelector", "affinity", "topologySpreadConstraints", "tolerations"):
        if field != kept:
            spec.pop(field, None)
    spec.pop("volumes", None)
    spec["containers"][0].pop("ports", None)
    spec["containers"][0].get("resources", {}).get("requests", {}).pop(GPU, None)
    if "affinity" in spec:
        # A term that no pod matches rejects every node for the first pod.
        spec["affinity"].pop("podAffinity", None)
    return template


@st.composite
def templates_with_volumes(draw: st.DrawFn) -> Document:
    """Draw a pod template that differs from plain ones by one or two claims."""
    template = draw(plain_templates())
    names = draw(st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=2, unique=True))
    template["spec"]["volumes"] = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names
    ]
    return template


@st.composite
def pod_templates(draw: st.DrawFn) -> Document:
    """Draw a pod without a name and without a node."""
    app = draw(st.sampled_from([*APPS, None]))
    requests = {
        "cpu": draw(st.sampled_from([None, "100m", "700m"])),
        "memory": draw(st.sampled_from([None, "256Mi", "1500Mi"])),
        GPU: draw(maybe(st.just("1"))),
    }
    ports = draw(maybe(maybe(st.sampled_from([80, 81]))))
    container = _present(
        {
            "name": "main",
            "image": draw(st.sampled_from(["plain", *sorted(IMAGES)])),
            "resources": {"requests": _present(requests)},
            "ports": ports and [{"containerPort": ports, "hostPort": ports, "protocol": "TCP"}],
        }
    )
    affinity = {
        "nodeAffinity": draw(maybe(_node_affinities())),
        "podAffinity": draw(maybe(maybe(_pod_affinities()))),
        "podAntiAffinity": draw(maybe(_pod_affinities())),
    }
    claim = draw(maybe(maybe(st.sampled_from(CLAIMS))))
    spec = {
        "schedulerName": "default-scheduler",
        "priority": draw(st.sampled_from([None, 10])),
        "containers": [container],
        "nodeSelector": draw(maybe(st.just({"disk": "ssd"}))),
        "tolerations": draw(maybe(st.sampled_from(_TOLERATIONS).map(lambda one: [one]))),
        "affinity": _present(affinity),
        "topologySpreadConstraints": draw(maybe(_spreading())),
        "volumes": claim and [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
    }
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": "u-set"}
    metadata = {
        "name": "template",
        "namespace": draw(st.sampled_from(NAMESPACES)),
        "labels": {"app": app} if app else None,
        "ownerReferences": draw(maybe(st.just([owner | {"controller": True}]))),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _present(metadata),
        "spec": _present(spec),
        "status": {"phase": "Pending"},
    }


# -------------------------------------------------------------------- other objects


def namespaces() -> st.SearchStrategy[Document]:
    """Draw a namespace, with or without the label of the selectors."""
    return st.builds(
        lambda name, team: {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": name,
                "labels": _present({"kubernetes.io/metadata.name": name, "team": team}),
            },
        },
        st.sampled_from(NAMESPACES),
        st.sampled_from([None, "a", "b"]),
    )


def services() -> st.SearchStrategy[Document]:
    """Draw a service that selects one app."""
    return st.builds(
        lambda namespace, selector: {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "service", "namespace": namespace},
            "spec": {"selector": selector},
        },
        st.sampled_from(NAMESPACES),
        st.sampled_from([*[{"app": app} for app in APPS], {INDEX: "0"}]),
    )


def replica_sets() -> st.SearchStrategy[Document]:
    """Draw the ReplicaSet that some pods belong to."""
    return st.builds(
        lambda namespace, app: {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "set", "namespace": namespace, "uid": "u-set"},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": app}}},
        },
        st.sampled_from(NAMESPACES),
        st.sampled_from(APPS),
    )


def storage_classes() -> st.SearchStrategy[Document]:
    """Draw the class of unbound claims: local volumes, or provisioned ones."""
    return st.builds(
        lambda provisioner, mode: {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "class"},
            "provisioner": provisioner,
            "volumeBindingMode": mode,
        },
        st.sampled_from(["csi.example.com", "kubernetes.io/no-provisioner"]),
        st.sampled_from(["WaitForFirstConsumer", "Immediate"]),
    )


@st.composite
def volumes(draw: st.DrawFn, name: str = "") -> Document:
    """Draw a persistent volume: of one zone by affinity or by label, or of all zones."""
    name = name or draw(st.sampled_from(VOLUMES))
    zone = draw(st.sampled_from(["a", "b"]))
    place = draw(st.integers(0, 2))
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    driver = {"driver": "csi.example.com", "volumeHandle": name}
    spec = {
        "capacity": {"storage": draw(st.sampled_from(["10Gi", "20Gi"]))},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "class",
        "volumeMode": "Filesystem",
        "csi": draw(st.sampled_from([driver, None])),
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}} if place == 1 else None,
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": _present(
            {
                "name": name,
                "uid": f"u-{name}",
                "labels": {ZONE: zone} if place == 2 else None,
            }
        ),
        "spec": _present(spec),
        "status": {"phase": "Available"},
    }


@st.composite
def claims(draw: st.DrawFn, name: str = "", namespace: str = "") -> Document:
    """Draw a claim: bound to a volume, or waiting for one."""
    name = name or draw(st.sampled_from(CLAIMS))
    volume = draw(st.sampled_from([None, *VOLUMES]))
    bound = {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": _present(
            {
                "name": name,
                "namespace": namespace or draw(st.sampled_from(NAMESPACES)),
                "uid": f"u-{name}",
                "annotations": bound if volume else None,
            }
        ),
        "spec": _present(
            {
                "accessModes": [draw(st.sampled_from(["ReadWriteOnce", "ReadWriteOncePod"]))],
                "resources": {"requests": {"storage": "12Gi"}},
                "volumeMode": "Filesystem",
                "storageClassName": "class",
                "volumeName": volume,
            }
        ),
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def csi_nodes() -> st.SearchStrategy[Document]:
    """Draw the number of volumes of the driver that a node can attach."""
    return st.builds(
        lambda name, count: {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": name, "uid": f"u-{name}"},
            "spec": {
                "drivers": [
                    {"name": "csi.example.com", "nodeID": name, "allocatable": {"count": count}}
                ]
            },
        },
        st.sampled_from(NODES),
        st.sampled_from([1, 2]),
    )


@st.composite
def budgets(draw: st.DrawFn) -> Document:
    """Draw a disruption budget; several of them cover the same pods."""
    name = draw(st.sampled_from(BUDGETS))
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": draw(st.sampled_from(["default", *NAMESPACES]))},
        "spec": {"selector": draw(_label_selectors())},
        "status": {
            "disruptionsAllowed": draw(st.sampled_from([0, 1, 2, -1])),
            "disruptedPods": draw(maybe(st.just({"p3": "2026-01-01T00:00:00Z"}))) or {},
        },
    }


def overlapping_budgets(allowed: tuple[int, int, int]) -> list[Document]:
    """Return three budgets of one namespace: for all apps, for one of them, and for the other."""
    return [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": selector},
            "status": {"disruptionsAllowed": number},
        }
        for name, selector, number in zip(
            BUDGETS,
            [
                {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
                *({"matchLabels": {"app": app}} for app in APPS),
            ],
            allowed,
            strict=True,
        )
    ]


def others() -> st.SearchStrategy[Document]:
    """Draw any object that is neither node nor pod."""
    return st.one_of(
        namespaces(),
        services(),
        replica_sets(),
        storage_classes(),
        volumes(),
        claims(),
        csi_nodes(),
        budgets(),
    )

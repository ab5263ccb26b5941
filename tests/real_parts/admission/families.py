"""What families of requests are about: the objects that plugins read, and the requests."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

import msgspec
from tests.real_parts.admission.objects import Document, a_claim, a_pod, an_object, some

REQUESTS: Final = 8
NODE, EDITOR = "system:node:n1", "editor"


class Sent(msgspec.Struct, omit_defaults=True):
    """A request.

    Attributes
    ----------
    document : dict
        The object; also of a patch or deletion, for its path.
    user : str
    method : str
    subresource : str
    """

    document: Document
    user: str = ""
    method: str = "POST"
    subresource: str = ""


Family = tuple[list[Document], list[Sent]]


def _limits(random: Random) -> Family:
    items = []
    for kind in random.choice([["Container"], ["Pod"], ["Container", "Pod"], ["Container"]]):
        item: Document = {"type": kind}
        low, high = (
            some(random, 0.5, cpu="100m", memory="128Mi"),
            some(random, 0.5, cpu="1", memory="1Gi"),
        )
        item |= {"min": low} if low else {}
        item |= {"max": high} if high else {}
        ratio = some(random, 0.3, cpu=("2", "1500m"), memory="4")
        item |= {"maxLimitRequestRatio": ratio} if ratio else {}
        if kind == "Container" and random.random() < 0.5:
            item |= {"defaultRequest": some(random, 0.6, cpu="200m", memory="256Mi")}
            item |= {"default": some(random, 0.6, cpu="500m", memory="512Mi")}
        items.append(item)
    items.append(
        {"type": "PersistentVolumeClaim"}
        | some(random, 0.6, min={"storage": "2Gi"}, max={"storage": "5Gi"})
    )
    made = [
        an_object("LimitRange", f"l{n}", spec={"limits": [item]}) for n, item in enumerate(items)
    ]
    sent = [Sent(a_pod(random, about="limits")) for _ in range(REQUESTS - 1)]
    return made, [*sent, Sent(a_claim(random))]


def _quota(random: Random) -> Family:
    # One quota: upstream checks several in the order of a Go map.
    names = [
        "requests.cpu", "limits.cpu", "requests.memory", "limits.memory", "pods", "cpu",
        "count/pods", "requests.storage", "persistentvolumeclaims", "services",
        "services.nodeports", "count/configmaps", "configmaps", "secrets",
        "fast.storageclass.storage.k8s.io/requests.storage", "requests.ephemeral-storage",
    ]  # fmt: skip
    spec: Document = {}
    if random.random() < 0.4:
        scopes = ["Terminating", "NotTerminating", "NotBestEffort", "BestEffort"]
        spec["scopes"] = [random.choice(scopes)]
        names = ["pods"] if spec["scopes"] == ["BestEffort"] else names[:6]
    hard = {name: _hard(random, name) for name in random.sample(names, min(len(names), 5))}
    used = {name: random.choice(["0", "0", value]) for name, value in hard.items()}
    spec["hard"] = hard
    status = {"hard": hard, "used": used}
    made = [an_object("ResourceQuota", "q", spec=spec, status=status)]
    sent = [Sent(a_pod(random, about="quota")) for _ in range(4)]
    service = an_object(
        "Service",
        "s",
        spec={"ports": [{"port": 80}]} | some(random, 0.6, type=("NodePort", "LoadBalancer")),
    )
    others = [service, a_claim(random), an_object("ConfigMap", "m"), an_object("Secret", "x")]
    return made, sent + [Sent(each) for each in others]


def _hard(random: Random, name: str) -> str:
    if "memory" in name or ("storage" in name and "claims" not in name):
        return random.choice(["1Gi", "3Gi"])
    return random.choice(["1", "1", "2", "0"])


LEVELS: Final = ("privileged", "baseline", "restricted", "restricted")


def _security(random: Random) -> Family:
    sent = [Sent(a_pod(random, about="security")) for _ in range(REQUESTS)]
    for each in sent[-2:]:
        pod = each.document
        template = {"metadata": {"labels": {"app": "web"}}, "spec": pod["spec"]}
        selector = {"matchLabels": {"app": "web"}}
        each.document = an_object(
            "Deployment", "d", "apps/v1", spec={"selector": selector, "template": template}
        )
    labels = security_labels(random, (*LEVELS, "nosuch"))
    return [], [*sent, Sent(an_object("Namespace", "other", metadata={"labels": labels}))]


def security_labels(random: Random, levels: tuple[str, ...] = LEVELS) -> Document:
    """Return labels of a namespace that pod security reads."""
    prefix = "pod-security.kubernetes.io/"
    labels = {
        f"{prefix}{mode}": random.choice(levels)
        for mode in ("enforce", "warn", "audit")
        if random.random() < 0.7
    }
    return labels | {
        f"{prefix}{mode}-version": random.choice(["latest", "v1.24", "v1.19", "v1.34"])
        for mode in ("enforce", "warn")
        if random.random() < 0.4
    }


def _priorities(random: Random) -> Family:
    api = "scheduling.k8s.io/v1"
    made = [
        an_object("PriorityClass", "high", api, value=1000),
        an_object("PriorityClass", "low", api, value=10, preemptionPolicy="Never"),
    ]
    if random.random() < 0.6:
        policy = some(random, 0.5, preemptionPolicy="Never")
        made.append(
            an_object("PriorityClass", "usual", api, value=100, globalDefault=True, **policy)
        )
    sent = [Sent(a_pod(random, about="priorities")) for _ in range(REQUESTS - 1)]
    other = an_object("PriorityClass", "other", api, value=5, globalDefault=random.random() < 0.7)
    return made, [*sent, Sent(other)]


def _classes(random: Random) -> Family:
    api = "node.k8s.io/v1"
    toleration = {"key": "runtime", "operator": "Equal", "value": "kata", "effect": "NoSchedule"}
    scheduling = some(random, 0.7, nodeSelector={"runtime": "kata"}, tolerations=[toleration])
    made = [
        an_object("RuntimeClass", "plain", api, handler="runc"),
        an_object(
            "RuntimeClass",
            "kata",
            api,
            handler="kata",
            overhead={"podFixed": {"cpu": "250m"}},
            scheduling=scheduling,
        ),
        an_object(
            "RuntimeClass",
            "gvisor",
            api,
            handler="runsc",
            overhead={"podFixed": some(random, 0.7, cpu="250m", memory="64Mi")},
        ),
    ]
    return made, [Sent(a_pod(random, about="classes")) for _ in range(REQUESTS)]


def _tolerations(random: Random) -> Family:
    return [], [Sent(a_pod(random, about="tolerations")) for _ in range(REQUESTS)]


def _defaults(random: Random) -> Family:
    made = []
    for name in ("fast", "slow", "third"):
        default = some(
            random,
            0.5,
            **{"storageclass.kubernetes.io/is-default-class": ("true", "true", "false")},
        )
        beta = some(random, 0.1, **{"storageclass.beta.kubernetes.io/is-default-class": "true"})
        parts = some(random, 0.5, allowVolumeExpansion=(True, False))
        made.append(
            an_object(
                "StorageClass",
                name,
                "storage.k8s.io/v1",
                metadata={"annotations": default | beta},
                provisioner="example.com/p",
                **parts,
            )
        )
    for name in ("one", "two"):
        default = some(random, 0.5, **{"ingressclass.kubernetes.io/is-default-class": "true"})
        made.append(
            an_object(
                "IngressClass",
                name,
                "networking.k8s.io/v1",
                metadata={"annotations": default},
                spec={"controller": "example.com/c"},
            )
        )
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    ingresses = [
        an_object(
            "Ingress",
            "i",
            "networking.k8s.io/v1",
            metadata=some(random, 0.3, annotations={"kubernetes.io/ingress.class": "old"}),
            spec={"defaultBackend": backend}
            | some(random, 0.3, ingressClassName=("one", "nosuch")),
        )
        for _ in range(3)
    ]
    volume = an_object(
        "PersistentVolume",
        "v",
        metadata=some(random, 0.4, labels={"topology.kubernetes.io/zone": "z"}),
        spec={
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/v"},
        },
    )
    claims = [a_claim(random, f"c{n}") for n in range(4)]
    return made, [Sent(each) for each in (*claims, *ingresses, volume)]


def _accounts(random: Random) -> Family:
    made = [
        an_object(
            "ServiceAccount",
            "default",
            **some(random, 0.3, automountServiceAccountToken=(True, False)),
        ),
        an_object(
            "ServiceAccount",
            "bot",
            imagePullSecrets=[{"name": "pull"}],
            secrets=[{"name": "one"}],
            metadata={
                "annotations": some(
                    random, 0.6, **{"kubernetes.io/enforce-mountable-secrets": "true"}
                )
            },
        ),
        an_object("ServiceAccount", "quiet", automountServiceAccountToken=False),
    ]
    made = [
        each for each in made if each["metadata"]["name"] != "default" or random.random() < 0.85
    ]
    sent = [Sent(a_pod(random, about="accounts")) for _ in range(REQUESTS)]
    for each in sent[:3]:
        spec = each.document["spec"]
        spec["volumes"].append(
            {"name": "s", "secret": {"secretName": random.choice(["one", "two"])}}
        )
        reference = {"secretRef": {"name": random.choice(["one", "two"])}}
        spec["containers"][0] |= some(random, 0.4, envFrom=[reference])
    return made, sent


def _nodes(random: Random) -> Family:
    nodes = [an_object("Node", name, metadata={"labels": {"a": "b"}}) for name in ("n1", "n2")]
    pods = [
        an_object(
            "Pod",
            f"on-{name}",
            spec={
                "containers": [{"name": "c", "image": "a"}],
                "nodeName": name,
                "serviceAccountName": "default",
            },
        )
        for name in ("n1", "n2")
    ]
    account = an_object("ServiceAccount", "default")
    claim = a_claim(random)
    node, pod = random.choice(["n1", "n2", "n1"]), random.choice(["on-n1", "on-n2", "nosuch"])
    label = random.choice(
        [
            "node-restriction.kubernetes.io/a",
            "kubernetes.io/x",
            "kubernetes.io/hostname",
            "node.kubernetes.io/a",
            "topology.kubernetes.io/zone",
            "example.com/a",
            "a",
        ]
    )
    mirror = {"kubernetes.io/config.mirror": "x"}
    owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": "u", "controller": True}
    spec: Document = {"containers": [{"name": "c", "image": "a"}]} | some(
        random, 0.8, nodeName=("n1", "n2", "n1")
    )
    spec |= some(random, 0.15, serviceAccountName="default")
    sources: list[Document] = [
        {"secret": {"secretName": "s"}}, {"configMap": {"name": "s"}}, {"emptyDir": {}},
        {"persistentVolumeClaim": {"claimName": "c"}},
    ]  # fmt: skip
    spec["volumes"] = [{"name": "v"} | each for each in sources if random.random() < 0.14]
    metadata = {"annotations": mirror if random.random() < 0.85 else {}} | some(
        random, 0.5, ownerReferences=[owner]
    )
    metadata |= some(random, 0.2, labels={label: "x"})
    conditions = {"conditions": [{"type": "Ready", "status": "True"}]}
    capacity = {"capacity": {"storage": random.choice(["1Gi", "5Gi"])}}
    sent = [
        Sent(
            an_object("Node", random.choice(["n1", "n3"]), metadata={"labels": {label: "x"}}), NODE
        ),
        Sent(an_object("Node", node, metadata={"labels": {label: "x"}}), NODE, "PATCH"),
        Sent(
            an_object(
                "Node",
                node,
                spec=random.choice(
                    [
                        {"taints": [{"key": "a", "effect": "NoSchedule"}]},
                        {"unschedulable": True},
                        {"configSource": None},
                    ]
                ),
            ),
            NODE,
            "PATCH",
        ),
        Sent(an_object("Node", node, status=conditions), NODE, "PATCH", "status"),
        Sent(an_object("Node", node), NODE, "DELETE"),
        Sent(an_object("Pod", "mirror", metadata=metadata, spec=spec), NODE),
        Sent(
            an_object("Pod", pod, status=random.choice([{"phase": "Running"}, conditions])),
            NODE,
            "PATCH",
            "status",
        ),
        Sent(an_object("Pod", pod, metadata={"labels": {"a": "b"}}), NODE, "PATCH"),
        Sent(an_object("Pod", pod), NODE, "DELETE"),
        Sent(
            an_object(
                "PersistentVolumeClaim", "c", status=random.choice([capacity, {"phase": "Bound"}])
            ),
            NODE,
            "PATCH",
            "status",
        ),
        Sent(
            an_object("Lease", random.choice(["n1", "n2"]), "coordination.k8s.io/v1", spec={}), NODE
        ),
        Sent(
            an_object(
                "CSINode", random.choice(["n1", "n2"]), "storage.k8s.io/v1", spec={"drivers": []}
            ),
            NODE,
        ),
        Sent(
            an_object(
                "Node", "n4", spec=some(random, 0.5, taints=[{"key": "a", "effect": "NoSchedule"}])
            )
        ),
    ]
    return [account, *nodes, *pods, claim], sent


def _owners(random: Random) -> Family:
    kinds = [
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "Deployment"),
        ("v1", "ConfigMap"),
        ("v1", "Pod"),
        ("example.com/v1", "Thing"),
    ]
    sent = []
    for _ in range(REQUESTS):
        references = [
            {"apiVersion": api, "kind": kind, "name": "o", "uid": f"u{kind}"}
            | some(random, 0.6, blockOwnerDeletion=(True, True, False))
            for api, kind in random.sample(kinds, random.choice([1, 2]))
        ]
        made = an_object("ConfigMap", "m", metadata={"ownerReferences": references})
        sent.append(Sent(made, random.choice([EDITOR, EDITOR, ""])))
    return [], sent


FAMILIES: Final[dict[str, Callable[[Random], Family]]] = {
    "limits": _limits,
    "quota": _quota,
    "security": _security,
    "priorities": _priorities,
    "classes": _classes,
    "tolerations": _tolerations,
    "defaults": _defaults,
    "accounts": _accounts,
    "nodes": _nodes,
    "owners": _owners,
}

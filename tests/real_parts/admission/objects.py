"""The objects of drawn requests: pods and claims, of which a family needs some parts more often."""

from __future__ import annotations

from random import Random
from typing import Any, TypeAlias

Document: TypeAlias = dict[str, Any]


def an_object(kind: str, name: str, api: str = "v1", **parts: Any) -> Document:
    """Return an object without a namespace."""
    metadata = {"name": name} | parts.pop("metadata", {})
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **parts}


def some(random: Random, share: float, **parts: Any) -> Document:
    """Return some of the parts; a tuple is a choice of values."""
    return {
        name: random.choice(value) if isinstance(value, tuple) else value
        for name, value in parts.items()
        if random.random() < share
    }


def amounts(random: Random, share: float = 0.6) -> Document:
    """Return resources of a container."""
    found: Document = {}
    for part in ("requests", "limits"):
        values = some(random, share, cpu=("100m", "500m", "1", "2"), memory=("64Mi", "1Gi", "2Gi"))
        values |= some(random, 0.15, **{"ephemeral-storage": ("1Gi", "3Gi")})
        found |= {part: values} if values else {}
    return found


def a_pod(random: Random, name: str = "p", *, about: str = "") -> Document:
    """Return a pod, of which mostly the parts are drawn that a family is about."""

    def share(*families: str) -> float:
        return 0.5 if about in families else 0.06

    def container(number: int) -> Document:
        found: Document = {"name": f"c{number}", "image": "app:1"}
        if random.random() < share("limits", "quota", "classes") + 0.2:
            found["resources"] = amounts(random)
        found |= some(random, share("security"), securityContext=container_security(random))
        found |= some(
            random, share("security") * 0.3, ports=[{"containerPort": 80, "hostPort": 80}]
        )
        mount = {
            "name": "kube-api-access-x",
            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
        }
        return found | some(random, share("accounts") * 0.3, volumeMounts=[mount])

    spec: Document = {"containers": [container(n) for n in range(random.choice([1, 1, 2]))]}
    mounted = [each for each in spec["containers"] if "volumeMounts" in each]
    spec["volumes"] = [{"name": "kube-api-access-x", "emptyDir": {}}] if mounted else []
    if random.random() < share("limits", "quota", "security") * 0.7:
        spec["initContainers"] = [container(7) | some(random, 0.5, restartPolicy="Always")]
    if random.random() < share("limits") * 0.4:
        spec["resources"] = amounts(random)
    spec |= some(
        random,
        share("classes"),
        runtimeClassName=("gvisor", "kata", "plain", "nosuch"),
        nodeSelector=({"runtime": "kata"}, {"runtime": "runc"}, {"disk": "ssd"}),
    )
    spec |= some(random, share("classes") * 0.3, overhead=({"cpu": "250m"}, {"cpu": "1"}))
    spec |= some(
        random,
        share("priorities"),
        priorityClassName=("high", "low", "nosuch", "system-node-critical"),
        priority=(1000, 10, 0),
        preemptionPolicy=("Never", "PreemptLowerPriority"),
    )
    if random.random() < share("tolerations", "classes", "priorities"):
        spec["tolerations"] = [
            each
            for each in (
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
                | some(random, 0.5, tolerationSeconds=(0, 60)),
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists"}
                | some(random, 0.5, effect=("NoExecute", "NoSchedule")),
                {"operator": "Exists"} | some(random, 0.5, effect=("NoExecute", "NoSchedule")),
                {"key": "runtime", "operator": "Equal", "value": "kata", "effect": "NoSchedule"},
                {"key": "a", "value": "b"},
            )
            if random.random() < 0.35
        ]
    if random.random() < share("security"):
        spec |= some(
            random, 0.25, hostNetwork=True, hostPID=True, hostIPC=True, hostUsers=(True, False)
        )
        spec |= some(random, 0.6, securityContext=pod_security(random))
    if random.random() < share("security"):
        sources: list[Document] = [
            {"hostPath": {"path": "/"}},
            {"emptyDir": {}},
            {"configMap": {"name": "c"}},
            {"nfs": {"server": "s", "path": "/"}},
            {"secret": {"secretName": "s"}},
            {"persistentVolumeClaim": {"claimName": "c"}},
        ]
        chosen = random.sample(sources, random.choice([1, 2]))
        spec["volumes"] += [{"name": f"v{n}"} | source for n, source in enumerate(chosen)]
    spec |= some(
        random,
        share("accounts"),
        serviceAccountName=("bot", "quiet", "nosuch", "default"),
        automountServiceAccountToken=(True, False),
        imagePullSecrets=[{"name": "own"}],
    )
    spec |= some(
        random, share("quota") * 0.4, activeDeadlineSeconds=100, terminationGracePeriodSeconds=0
    )
    metadata = some(random, 0.2, labels={"app": "web"})
    return an_object("Pod", name, metadata=metadata, spec=spec)


def container_security(random: Random) -> Document:
    capabilities = some(
        random,
        0.6,
        add=(["NET_ADMIN"], ["NET_BIND_SERVICE"], ["CHOWN", "SYS_ADMIN"]),
        drop=(["ALL"], ["ALL"], ["KILL"]),
    )
    return some(
        random,
        0.35,
        privileged=(True, False),
        allowPrivilegeEscalation=(True, False, False),
        capabilities=capabilities,
        runAsNonRoot=(True, True, False),
        runAsUser=(0, 1000),
        procMount=("Default", "Unmasked"),
        seccompProfile=profile(random),
        seLinuxOptions=({"type": "container_t"}, {"type": "spc_t"}, {"user": "u"}),
        appArmorProfile=({"type": "RuntimeDefault"}, {"type": "Unconfined"}),
        windowsOptions=({"hostProcess": True}, {"hostProcess": False}),
    )


def pod_security(random: Random) -> Document:
    sysctls = [
        {
            "name": random.choice(
                ["kernel.shm_rmid_forced", "kernel.msgmax", "net.core.somaxconn"]
            ),
            "value": "1",
        }
    ]
    return some(
        random,
        0.35,
        runAsNonRoot=(True, True, False),
        runAsUser=(0, 1000),
        seccompProfile=profile(random),
        sysctls=sysctls,
        seLinuxOptions=({"type": "container_t"}, {"role": "r"}),
        appArmorProfile=({"type": "RuntimeDefault"}, {"type": "Unconfined"}),
        fsGroup=(0, 1),
    )


def profile(random: Random) -> Document:
    return random.choice(
        [
            {"type": "RuntimeDefault"},
            {"type": "RuntimeDefault"},
            {"type": "Unconfined"},
            {"type": "Localhost", "localhostProfile": "p.json"},
        ]
    )


def a_claim(random: Random, name: str = "c") -> Document:
    spec: Document = {"accessModes": ["ReadWriteOnce"]}
    spec |= {"resources": {"requests": {"storage": random.choice(["1Gi", "2Gi", "10Gi"])}}}
    spec |= some(
        random, 0.4, storageClassName=("fast", "slow", ""), volumeMode=("Block", "Filesystem")
    )
    metadata = some(random, 0.15, annotations={"volume.beta.kubernetes.io/storage-class": "fast"})
    return an_object("PersistentVolumeClaim", name, metadata=metadata, spec=spec)

"""Configurations of objects, drawn: a part of the fields of a kind, with few values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias

import yaml

Document: TypeAlias = dict[str, Any]

DEFINITION: Final[Document] = yaml.safe_load(
    (Path(__file__).parent / "definition.yaml").read_text(encoding="utf-8")
)
"""The definition of the custom kind."""
GROUP: Final[str] = DEFINITION["spec"]["group"]


def _some(random: Random, share: float, **parts: Any) -> Document:
    """Return some of the parts; a tuple is a choice of values."""
    return {
        name: random.choice(value) if isinstance(value, tuple) else value
        for name, value in parts.items()
        if random.random() < share
    }


def _items(random: Random, *items: Any) -> list[Any]:
    """Return some items in any order; a tuple is a choice of them."""
    chosen = [random.choice(each) if isinstance(each, tuple) else each for each in items]
    return random.sample(chosen, random.randint(0, len(chosen)))


def named(random: Random, kind: str, version: str, name: str) -> Document:
    """Return the part of a configuration that all kinds have."""
    metadata: Document = {"name": name} | _some(
        random, 0.25,
        labels=_some(random, 0.6, app=("a", "b"), tier=("a", "b")),
        annotations=_some(random, 0.6, note=("a", "b"), other="c"),
        finalizers=_items(random, "example.com/a", "example.com/b"),
        ownerReferences=_items(
            random,
            {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"},
            {"apiVersion": "v1", "kind": "Pod", "name": random.choice("pq"), "uid": "u2"},
        ),
    )  # fmt: skip
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def _thing(random: Random, version: str, is_whole: bool) -> Document:
    share = 0.7 if is_whole else 0.3
    inner = _some(random, 0.6, x=("a", "b"), y=(1, 2))
    inner |= _some(
        random, 0.4, deep=_some(random, 0.6, z=("a", "b"), tags=_items(random, "a", "b"))
    )
    pairs = (
        _some(random, 0.5, v=("a", "b"), n=(1, None),
              inner=_some(random, 0.5, a="1", b=("1", "2")))
        for _ in range(3)
    )  # fmt: skip
    groups = (_some(random, 0.6, members=_items(random, "a", "b", "c"),
                    rules=_items(random, {"id": 1, "text": random.choice("ab")}, {"id": 2}))
              for _ in range(2))  # fmt: skip
    keys, names = _items(random, "a", "b", "c"), _items(random, "a", "b")
    spec = _some(
        random, share,
        replicas=(1, 2, 3), port=(80, "http"), perhaps=("a", None),
        flags=_items(random, "a", "b", "c"),
        names=_items(random, "a", "b", "c"), numbers=_items(random, 1, 2, 3),
        pairs=[{"k": key} | more for key, more in zip(keys, pairs, strict=False)],
        ports=_items(
            random,
            {"port": 80} | _some(random, 0.5, protocol="TCP", host=("a", "b")),
            {"port": 80, "protocol": "UDP"} | _some(random, 0.5, host=("a", "b")),
            {"port": 81} | _some(random, 0.5, host=("a", "b")),
        ),
        atoms=_items(random, {"a": random.choice([1, 2])}, {"a": 1, "b": 2}),
        options=_some(random, 0.5, a=("1", "2"), b=("1", "2"), c="1"),
        fixed=_some(random, 0.7, a=("1", "2"), b="1"),
        whole=_some(random, 0.5, a=("1", "2"), b="1"),
        inner=inner,
        free=_some(random, 0.5, a=({"b": 1}, {"c": [1]}, "x"), d=([1], [1, 2], {"e": None})),
        groups=[{"name": key} | more for key, more in zip(names, groups, strict=False)],
    )  # fmt: skip
    own = _some(
        random, share, **({"size": ("s", "l")} if version.endswith("v1") else {"color": "red"})
    )
    return {"spec": spec | own} if random.random() < 0.95 else {}


def _conditions(random: Random) -> list[Document]:
    return [
        {"type": each, "status": random.choice(["True", "False"])}
        for each in _items(random, "Ready", "Done", "Failed")
    ]  # fmt: skip


def _thing_status(random: Random) -> Document:
    return _some(random, 0.6, phase=("a", "b"), replicas=(1, 2), conditions=_conditions(random))


def _template(random: Random, share: float) -> Document:
    containers = [
        {"name": name, "image": random.choice(["app:1", "app:1", "app:2"])} | _some(
            random, share,
            env=_items(random, {"name": "A", "value": random.choice("xy")}, {"name": "B"},
                       {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}),
            ports=_items(random, {"containerPort": 80}, {"containerPort": 81, "name": "web"},
                         {"containerPort": 80, "protocol": "UDP"}),
            command=(["a"], ["a", "b"]),
            resources={"requests": _some(random, 0.6, cpu=("1", "1000m", "500m"), memory="1Gi")},
            volumeMounts=_items(random, {"name": "v", "mountPath": "/v"},
                                {"name": "v", "mountPath": "/w"}),
            securityContext=_some(random, 0.5, privileged=(True, False),
                                  capabilities=_some(random, 0.5, add=(["A"], ["B"]))),
            imagePullPolicy=("Always", "IfNotPresent"),
        )
        for name in random.choice([["main"], ["main"], ["main", "side"], ["side", "main"]])
    ]  # fmt: skip
    spec = {"containers": containers, "volumes": [{"name": "v", "emptyDir": {}}]} | _some(
        random, share * 0.6,
        nodeSelector=_some(random, 0.5, disk=("ssd", "hdd"), zone="a"),
        tolerations=_items(random, {"key": "a", "operator": "Exists"}, {"key": "b", "value": "c"}),
        hostAliases=_items(random, {"ip": "1.1.1.1", "hostnames": [random.choice("ab")]}),
        topologySpreadConstraints=_items(
            random,
            {"topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule",
             "maxSkew": random.choice([1, 2])},
            {"topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 1},
        ),
        imagePullSecrets=_items(random, {"name": "a"}, {"name": "b"}),
        securityContext=_some(random, 0.5, fsGroup=(1, 2), supplementalGroups=([1], [2])),
        terminationGracePeriodSeconds=(0, 30),
        affinity=({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _TERMS}}, {}),
    )  # fmt: skip
    return {"metadata": {"labels": {"app": "web"} | _some(random, 0.3, v=("1", "2"))}, "spec": spec}


_TERMS: Final = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}
_SELECTOR: Final = {"matchLabels": {"app": "web"}}


def _deployment(random: Random, _: str, is_whole: bool) -> Document:
    spec = _some(
        random, 0.35, replicas=(1, 2, 3), paused=(True, False), minReadySeconds=(0, 5),
        strategy=({"type": "Recreate"}, {"rollingUpdate": {"maxSurge": "50%"}},
                  {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}),
    )  # fmt: skip
    if is_whole or random.random() < 0.4:
        spec |= {"selector": _SELECTOR, "template": _template(random, 0.3)}
    return {"spec": spec}


def _stateful_set(random: Random, _: str, is_whole: bool) -> Document:
    spec = _some(
        random, 0.35, replicas=(1, 2, 3), minReadySeconds=(0, 5), revisionHistoryLimit=(1, 2)
    )
    if is_whole or random.random() < 0.4:
        spec |= {"selector": _SELECTOR, "template": _template(random, 0.2), "serviceName": "web"}
    return {"spec": spec}


def _pod(random: Random, _: str, is_whole: bool) -> Document:
    if not is_whole and random.random() < 0.6:
        return {}
    return {"spec": {"containers": [{"name": "main", "image": random.choice(["a:1", "a:2"])}]}
            | _some(random, 0.3, activeDeadlineSeconds=(100, 50),
                    tolerations=_items(random, {"key": "a", "operator": "Exists"}))}  # fmt: skip


def _pod_status(random: Random) -> Document:
    return _some(
        random, 0.5, phase=("Running", "Pending"), conditions=_conditions(random), podIP="1.1.1.1",
        podIPs=_items(random, {"ip": "1.1.1.1"}), message=("a", ""),
    )  # fmt: skip


def _config_map(random: Random, _: str, __: bool) -> Document:
    return _some(
        random, 0.6, data=_some(random, 0.5, a=("1", "2"), b=("1", "2", ""), c="1"),
        binaryData=_some(random, 0.5, x=("YQ==", "Yg==")), immutable=(False,),
    )  # fmt: skip


def _service(random: Random, _: str, is_whole: bool) -> Document:
    ports = _items(
        random,
        {"port": 80, "name": "http"} | _some(random, 0.4, targetPort=(8080, "web"), protocol="TCP"),
        {"port": 53, "name": "dns", "protocol": "UDP"},
        {"port": 81, "name": "other", "protocol": "TCP"}
        | _some(random, 0.4, appProtocol=("a", "b")),
    )  # fmt: skip
    spec = _some(
        random,
        0.4,
        ports=ports,
        selector=_some(random, 0.5, a=("b", "c"), d="e"),
        sessionAffinity=("None", "ClientIP"),
        publishNotReadyAddresses=(True, False),
    )
    return {"spec": ({"clusterIP": "None"} if is_whole else {}) | spec}


def _autoscaler(random: Random, version: str, is_whole: bool) -> Document:
    spec: Document = _some(random, 0.4, minReplicas=(1, 2), maxReplicas=(5, 6))
    if is_whole:
        spec |= {"maxReplicas": random.choice([5, 6])}
        spec |= {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}
    if version.endswith("v1"):
        return {"spec": spec | _some(random, 0.4, targetCPUUtilizationPercentage=(50, 80))}
    metrics = [
        {"type": "Resource", "resource": {"name": name, "target": {
            "type": "Utilization", "averageUtilization": random.choice([50, 80])}}}
        for name in _items(random, "cpu", "memory")
    ]  # fmt: skip
    behavior = {"scaleDown": {"stabilizationWindowSeconds": random.choice([1, 2])}}
    return {"spec": spec | _some(random, 0.4, metrics=metrics, behavior=behavior)}


def _node(random: Random, _: str, __: bool) -> Document:
    taints = _items(
        random,
        {"key": "a", "effect": "NoSchedule", "value": random.choice("xy")},
        {"key": "b", "effect": "NoExecute"},
    )
    return {"spec": _some(random, 0.5, taints=taints, unschedulable=(True, False))}


def _node_status(random: Random) -> Document:
    addresses = _items(
        random,
        {"type": "InternalIP", "address": random.choice(["1.1.1.1", "2.2.2.2"])},
        {"type": "Hostname", "address": "n"},
    )
    return _some(
        random,
        0.5,
        addresses=addresses,
        conditions=_conditions(random),
        capacity=_some(random, 0.6, cpu=("4", "8"), pods="110"),
    )


def _cluster_role(random: Random, _: str, __: bool) -> Document:
    rules = _items(
        random,
        {"apiGroups": [""], "resources": ["pods"], "verbs": [random.choice(["get", "list"])]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]},
    )  # fmt: skip
    selectors = [{"matchLabels": {"a": random.choice("bc")}}]
    return _some(random, 0.5, rules=rules, aggregationRule={"clusterRoleSelectors": selectors})


def _cron_job(random: Random, _: str, is_whole: bool) -> Document:
    spec = _some(
        random,
        0.4,
        schedule=("* * * * *", "1 * * * *"),
        suspend=(True, False),
        successfulJobsHistoryLimit=(1, 3),
    )
    if is_whole:
        pod = _template(random, 0.2)
        pod["spec"]["restartPolicy"] = "Never"
        job = {"template": pod} | _some(random, 0.4, completions=(1, 2))
        spec |= {"schedule": "* * * * *", "jobTemplate": {"spec": job}}
    return {"spec": spec}


def _account(random: Random, _: str, __: bool) -> Document:
    return _some(
        random, 0.5, secrets=_items(random, {"name": "a"}, {"name": "b"}),
        imagePullSecrets=_items(random, {"name": "a"}, {"name": "b"}),
        automountServiceAccountToken=(True, False),
    )  # fmt: skip


def _policy(random: Random, _: str, __: bool) -> Document:
    ingress = _items(
        random, {"ports": [{"port": random.choice([80, 81])}]}, {"from": [{"podSelector": {}}]}
    )
    spec = _some(
        random, 0.6, podSelector={"matchLabels": {"a": random.choice("bc")}}, ingress=ingress,
        policyTypes=(["Ingress"], ["Ingress", "Egress"]),
    )  # fmt: skip
    return {"spec": spec}


Make = Callable[[Random, str, bool], Document]

KINDS: Final[dict[str, tuple[tuple[str, ...], Make]]] = {
    "Thing": ((f"{GROUP}/v1", f"{GROUP}/v2"), _thing),
    "Deployment": (("apps/v1",), _deployment),
    "StatefulSet": (("apps/v1",), _stateful_set),
    "Pod": (("v1",), _pod),
    "ConfigMap": (("v1",), _config_map),
    "Service": (("v1",), _service),
    "HorizontalPodAutoscaler": (("autoscaling/v2", "autoscaling/v1"), _autoscaler),
    "Node": (("v1",), _node),
    "ClusterRole": (("rbac.authorization.k8s.io/v1",), _cluster_role),
    "CronJob": (("batch/v1",), _cron_job),
    "ServiceAccount": (("v1",), _account),
    "NetworkPolicy": (("networking.k8s.io/v1",), _policy),
}
"""The versions of each kind, and what draws the parts of a configuration."""

STATUSES: Final[dict[str, Callable[[Random], Document]]] = {
    "Thing": _thing_status,
    "Pod": _pod_status,
    "Node": _node_status,
}
"""What draws a status."""

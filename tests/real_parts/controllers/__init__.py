"""Clusters from a seed, and what kube-controller-manager's controllers make of them.

    python -m tests.real_parts.controllers [NAME ...]     rewrites the record beside the room

With names, the cases of the other controllers stay as they are. Each case is the state of one
owner, whole or half done, in which a controller runs until it writes no more; no time passes. The
record is that of `test_recorded_decisions.py` in
`cluster/controllers/tests`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Final

from tests.real_parts.controllers.parts import (
    LABELS,
    NODES,
    Document,
    a_pod,
    a_revision,
    a_template,
    an_object,
    complete_template,
    going,
    maybe,
    owner_references,
    time,
)
from tests.real_parts.controllers.pods_of_nodes_and_jobs import (
    a_daemon_set,
    a_job,
    owned_objects,
)


def draw(controller: str, seed: int) -> Document:
    """Return a case of a controller."""
    random = Random(f"controllers {controller} {seed}")
    return {
        "now": time(0),
        "controller": controller,
        "key": "default/web",
        "objects": CONTROLLERS[controller](random),
    }


def without_order(answer: Document) -> Document:
    """Return an answer in which endpoint slices with the same ports are one, with their sizes.

    Upstream takes endpoints from a map, and orders ports by a hash of Go's structs.
    """
    changed, slices = [], dict[str, Document]()
    for each in answer["changed"]:
        if each["kind"] != "EndpointSlice" or "of" in each:
            changed.append(each)
            continue
        metadata = each["metadata"]
        ports = sorted(each.get("ports") or (), key=lambda port: str(port.get("name")))
        of = [each["addressType"], metadata["labels"], metadata.get("ownerReferences"), ports]
        merged = slices.setdefault(
            json.dumps(of, sort_keys=True),
            {"kind": "EndpointSlice", "metadata": {"name": "", "uid": ""}, "of": of,
             "sizes": [], "endpoints": []},
        )  # fmt: skip
        endpoints = each.get("endpoints") or []
        merged["sizes"] = sorted([*merged["sizes"], len(endpoints)])
        texts = [json.dumps(one, sort_keys=True) for one in merged["endpoints"] + endpoints]
        merged["endpoints"] = [json.loads(text) for text in sorted(texts)]
    removed = [name for name in answer["removed"] if not name.startswith("EndpointSlice ")]
    merged_slices = [each for _, each in sorted(slices.items())]
    return answer | {"changed": changed + merged_slices, "removed": removed}


# ------------------------------------------------------------------------------- deployments


def _deployment(random: Random) -> list[Document]:
    replicas = random.choice([0, 1, 2, 3, 4, 5, 10])
    spec: Document = {
        "replicas": replicas,
        "selector": {"matchLabels": LABELS},
        "template": a_template("app:2"),
        "strategy": _strategy(random),
    }
    spec |= maybe(random, 0.3, minReadySeconds=10)
    spec |= maybe(random, 0.12, paused=True)
    spec |= maybe(random, 0.5, revisionHistoryLimit=random.choice([0, 1, 2]))
    spec |= maybe(random, 0.4, progressDeadlineSeconds=random.choice([30, 120]))
    revision = random.choice([1, 3, 7])
    sets = [
        _replica_set(random, number, replicas, spec["template"])
        for number in range(random.choice([0, 1, 1, 2, 2, 3, 4]))
    ]
    metadata: Document = {"generation": 3, "labels": dict(LABELS)} | going(random)
    metadata["annotations"] = {"note": "kept"} | maybe(
        random, 0.7, **{"deployment.kubernetes.io/revision": str(revision)}
    )
    status: Document = {"observedGeneration": random.choice([2, 3])}
    if random.random() < 0.6:
        status["conditions"] = _progress(random, sets)
    if random.random() < 0.5:
        status |= {"replicas": replicas, "updatedReplicas": random.randint(0, replicas)}
    made = an_object("Deployment", "web", "apps/v1", metadata=metadata, spec=spec, status=status)
    pods = [
        a_pod(
            random, f"p{number}",
            metadata={"ownerReferences": owner_references("ReplicaSet", "apps/v1", each)},
        )
        for number in range(random.choice([0, 0, 1, 3]))
        if (each := random.choice(["web-0", "web-1"]))
    ]  # fmt: skip
    return [made, *sets, *pods]


def _strategy(random: Random) -> Document:
    if random.random() < 0.2:
        return {"type": "Recreate"}
    surge, unavailable = random.choice(
        [(1, 0), (0, 1), (1, 1), ("25%", "25%"), ("50%", "30%"), (2, 2), ("100%", "100%"),
         (3, "10%"), ("0%", "34%"), (0, "1%")]
    )  # fmt: skip
    return {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable},
    }


def _replica_set(random: Random, number: int, replicas: int, template: Document) -> Document:
    name = f"web-{number}"
    is_new = number == 0 and random.random() < 0.7
    size = random.choice([0, 0, 1, 2, replicas, replicas, replicas + 2])
    reported = random.choice([size, size, size, max(0, size - 1), size + 1])
    ready = random.choice([reported, reported, random.randint(0, reported)])
    available = random.choice([ready, ready, random.randint(0, ready)])
    labels = LABELS | {"pod-template-hash": f"h{number}"}
    annotations = maybe(
        random, 0.8, **{"deployment.kubernetes.io/revision": str(random.randint(1, 6))}
    )
    if random.random() < 0.8:
        before = random.choice([replicas, replicas, replicas + 2, 4])
        annotations |= {
            "deployment.kubernetes.io/desired-replicas": str(before),
            "deployment.kubernetes.io/max-replicas": str(before + random.choice([0, 1, 2])),
        }
    metadata: Document = {
        "labels": labels,
        "annotations": annotations,
        "generation": 2,
        "creationTimestamp": time(4000 - number),
        "ownerReferences": owner_references("Deployment", "apps/v1"),
    } | going(random)
    if random.random() < 0.05:
        del metadata["ownerReferences"]  # an orphan
    own = json.loads(json.dumps(template if is_new else a_template(f"old:{number}")))
    own["metadata"]["labels"] = labels
    spec = {"replicas": size, "selector": {"matchLabels": labels}, "template": own}
    spec |= maybe(random, 0.2, minReadySeconds=10)
    status: Document = {
        "replicas": reported,
        "readyReplicas": ready,
        "availableReplicas": available,
        "observedGeneration": random.choice([2, 2, 2, 1]),
    }
    status |= maybe(random, 0.15, terminatingReplicas=random.choice([0, 1, 2]))
    if random.random() < 0.06:
        status["conditions"] = [
            {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
             "message": "no", "lastTransitionTime": time(30)}
        ]  # fmt: skip
    return an_object("ReplicaSet", name, "apps/v1", metadata=metadata, spec=spec, status=status)


def _progress(random: Random, sets: list[Document]) -> list[Document]:
    reason, status = random.choice(
        [("NewReplicaSetAvailable", "True"), ("ReplicaSetUpdated", "True"),
         ("NewReplicaSetCreated", "True"), ("FoundNewReplicaSet", "True"),
         ("DeploymentPaused", "Unknown"), ("DeploymentResumed", "Unknown"),
         ("ProgressDeadlineExceeded", "False")]
    )  # fmt: skip
    name = sets[0]["metadata"]["name"] if sets else "web-0"
    found = [
        {"type": "Progressing", "status": status, "reason": reason,
         "message": f'ReplicaSet "{name}" has.', "lastTransitionTime": time(800),
         "lastUpdateTime": time(random.choice([5, 60, 700]))}
    ]  # fmt: skip
    is_available = random.random() < 0.5
    found += [
        {"type": "Available", "status": str(is_available),
         "reason": f"MinimumReplicas{'Available' if is_available else 'Unavailable'}",
         "message": "Deployment.", "lastUpdateTime": time(900), "lastTransitionTime": time(900)}
    ]  # fmt: skip
    return found


# ------------------------------------------------------------------------------ replica sets


def _replicas(random: Random) -> list[Document]:
    replicas = random.choice([0, 1, 2, 3, 5, 8])
    spec: Document = {
        "replicas": replicas,
        "selector": {"matchLabels": LABELS},
        "template": a_template("app:2"),
    }
    spec |= maybe(random, 0.4, minReadySeconds=10)
    metadata = {"generation": 2} | going(random)
    status: Document = {"observedGeneration": random.choice([1, 2]), "replicas": replicas}
    if random.random() < 0.1:
        status["conditions"] = [
            {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
             "message": "no", "lastTransitionTime": time(30)}
        ]  # fmt: skip
    owner = owner_references("ReplicaSet", "apps/v1")
    pods = []
    for number in range(random.choice([0, 1, 2, 4, 6, 9])):
        own: Document = {"ownerReferences": owner}
        own |= maybe(random, 0.06, ownerReferences=[])
        own |= maybe(random, 0.06, labels={"app": "other"})
        own |= maybe(
            random, 0.2,
            annotations={"controller.kubernetes.io/pod-deletion-cost": random.choice(
                ["-1", "0", "5", "100", "no"]
            )},
        )  # fmt: skip
        containers = [{"name": "main", "restartCount": random.choice([0, 0, 3])}]
        pods.append(
            a_pod(random, f"p{number}", metadata=own, status={"containerStatuses": containers})
        )
    made = an_object("ReplicaSet", "web", "apps/v1", metadata=metadata, spec=spec, status=status)
    return [made, *pods]


# ----------------------------------------------------------------------------- stateful sets


def _stateful(random: Random) -> list[Document]:
    replicas = random.choice([0, 1, 2, 3, 4, 5])
    start = random.choice([0, 0, 0, 2])
    new, old = (a_revision("StatefulSet", n, complete_template(f"app:{n}")) for n in (2, 1))
    names = [each["metadata"]["name"] for each in (old, new)]
    spec: Document = {
        "replicas": replicas,
        "serviceName": "web",
        "selector": {"matchLabels": LABELS},
        "template": complete_template("app:2"),
    }
    spec |= maybe(random, 0.4, podManagementPolicy="Parallel")
    spec |= maybe(random, 0.3, minReadySeconds=10)
    spec |= {"ordinals": {"start": start}} if start else {}
    spec |= maybe(random, 0.15, updateStrategy={"type": "OnDelete"})
    if "updateStrategy" not in spec and random.random() < 0.5:
        rolling = {"partition": random.choice([0, 1, 2, 4])}
        spec["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": rolling}
    claims = []
    if random.random() < 0.3:
        spec["volumeClaimTemplates"] = [
            {"metadata": {"name": "data"}, "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
        ]  # fmt: skip
        spec["persistentVolumeClaimRetentionPolicy"] = {
            "whenDeleted": random.choice(["Retain", "Delete"]),
            "whenScaled": random.choice(["Retain", "Delete"]),
        }
        claims = [
            an_object("PersistentVolumeClaim", f"data-web-{number}",
                    metadata={"labels": dict(LABELS)}, spec=spec["volumeClaimTemplates"][0]["spec"])
            for number in range(6) if random.random() < 0.5
        ]  # fmt: skip
    revisions = [each for each in (old, new) if random.random() < 0.9]
    status: Document = {"observedGeneration": random.choice([1, 2]), "replicas": replicas}
    status["currentRevision"] = random.choice(names)
    status["updateRevision"] = random.choice(names)
    pods = []
    for ordinal in range(start, start + replicas + 2):
        if random.random() < 0.25:
            continue
        labels = LABELS | {
            "controller-revision-hash": random.choice(names),
            "statefulset.kubernetes.io/pod-name": f"web-{ordinal}",
            "apps.kubernetes.io/pod-index": str(ordinal),
        }
        named = {"hostname": f"web-{ordinal}", "subdomain": "web"}
        if claims or "volumeClaimTemplates" in spec:
            claim = {"claimName": f"data-web-{ordinal}"}
            named |= {"volumes": [{"name": "data", "persistentVolumeClaim": claim}]}  # type: ignore[dict-item]
        own = {"labels": labels, "ownerReferences": owner_references("StatefulSet", "apps/v1")}
        pods.append(a_pod(random, f"web-{ordinal}", metadata=own, spec=named))
    metadata = {"generation": 2} | going(random)
    made = an_object("StatefulSet", "web", "apps/v1", metadata=metadata, spec=spec, status=status)
    return [made, *revisions, *claims, *pods]


# ------------------------------------------------------------------------------------ budgets


def _budget(random: Random) -> list[Document]:
    limit = random.choice([0, 1, 2, 3, "0%", "34%", "50%", "99%", "100%"])
    spec: Document = {random.choice(["minAvailable", "maxUnavailable"]): limit}
    spec["selector"] = random.choice([{"matchLabels": LABELS}] * 9 + [{}])
    owners = []
    replicas = random.choice([0, 1, 3, 5])
    template = a_template("app:2")
    for kind, name in (("ReplicaSet", "a"), ("StatefulSet", "b"), ("ReplicaSet", "c")):
        shape: Document = {"replicas": random.choice([replicas, 2]), "template": template}
        shape["selector"] = {"matchLabels": LABELS}
        shape |= {"serviceName": "web"} if kind == "StatefulSet" else {}
        owners.append(an_object(kind, name, "apps/v1", spec=shape))
    if random.random() < 0.5:
        owners[0]["metadata"]["ownerReferences"] = owner_references("Deployment", "apps/v1", "d")
        shape = {"replicas": 4, "template": template, "selector": {"matchLabels": LABELS}}
        owners.append(an_object("Deployment", "d", "apps/v1", spec=shape))
    known = random.choice([["a"], ["a", "b"], ["a", "b", "c"], [""]])
    pods = []
    for number in range(random.choice([0, 1, 3, 4, 6])):
        name = random.choice([*known, *known, ""]) if random.random() < 0.3 else known[0]
        kind = "StatefulSet" if name == "b" else "ReplicaSet"
        own: Document = {"ownerReferences": owner_references(kind, "apps/v1", name)} if name else {}
        own |= maybe(random, 0.1, labels={"app": "other"})
        pods.append(a_pod(random, f"p{number}", metadata=own))
    metadata = {"generation": 2}
    status: Document = {
        "observedGeneration": random.choice([1, 2]), "disruptionsAllowed": 1,
        "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
    }  # fmt: skip
    if random.random() < 0.4:
        status["disruptedPods"] = {
            f"p{number}": time(random.choice([5, 100, 130, 500]))
            for number in range(5)
            if random.random() < 0.4
        }
    if random.random() < 0.4:
        allowed = random.random() < 0.5
        status["conditions"] = [
            {"type": "DisruptionAllowed", "status": str(allowed), "observedGeneration": 2,
             "reason": "SufficientPods" if allowed else "InsufficientPods", "message": "",
             "lastTransitionTime": time(77)}
        ]  # fmt: skip
    made = an_object(
        "PodDisruptionBudget", "web", "policy/v1", metadata=metadata, spec=spec, status=status
    )
    return [made, *owners, *pods]


# ---------------------------------------------------------------------------- endpoint slices


def _service(random: Random) -> list[Document]:
    ports: list[Document] = [
        {"name": "http", "port": 80, "targetPort": random.choice([8080, "web"])}
    ]
    ports = [each | {"protocol": "TCP"} for each in ports]
    if random.random() < 0.3:
        ports.append({"name": "dns", "port": 53, "targetPort": 53, "protocol": "UDP"})
    spec: Document = {"selector": LABELS, "ports": ports, "ipFamilies": ["IPv4"]}
    spec |= {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"]}
    if random.random() < 0.25:
        spec |= {"clusterIP": "None", "clusterIPs": ["None"]}
    if random.random() < 0.15:
        spec["ipFamilies"] = ["IPv4", "IPv6"]
    spec |= maybe(random, 0.2, publishNotReadyAddresses=True)
    spec |= maybe(random, 0.2, trafficDistribution=random.choice(["PreferClose", "PreferSameNode"]))
    nodes = [
        an_object("Node", name, metadata={"labels": {"topology.kubernetes.io/zone": f"z{i % 2}"}})
        for i, name in enumerate(NODES)
    ]
    count = random.choice([0, 1, 2, 4, 7, 10])
    pods = []
    for number in range(count):
        containers: list[Document] = [{"name": "main", "image": "app:2"}]
        if random.random() < 0.8:
            port = random.choice([9000, 9000, 9001])
            containers[0]["ports"] = [{"name": "web", "containerPort": port, "protocol": "TCP"}]
        own = maybe(random, 0.1, labels={"app": "other"})
        named = maybe(random, 0.2, hostname=f"h{number}", subdomain=random.choice(["web", "x"]))
        pod = a_pod(random, f"p{number}", metadata=own, spec={"containers": containers} | named)
        if random.random() < 0.93 and "nodeName" in pod["spec"]:
            address = f"10.1.0.{number + 1}"
            pod["status"] |= {"podIP": address, "podIPs": [{"ip": address}]}
            if random.random() < 0.5:
                pod["status"]["podIPs"].append({"ip": f"fd00::{number + 1}"})
        pods.append(pod)
    slices = [_slice(random, number, count) for number in range(random.choice([0, 0, 1, 2, 3, 4]))]
    metadata = {"labels": {"team": "a"}} | going(random, 0.03)
    made = an_object("Service", "web", metadata=metadata, spec=spec)
    return [made, *nodes, *pods, *slices]


def _slice(random: Random, number: int, count: int) -> Document:
    present = sorted(random.sample(range(count + 2), min(count + 2, random.choice([0, 1, 2, 3]))))
    endpoints = [
        {
            "addresses": [f"10.1.0.{each + 1}"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "nodeName": random.choice(NODES),
            "targetRef": {"kind": "Pod", "namespace": "default", "name": f"p{each}",
                          "uid": f"uid-p{each}"},
        }
        for each in present
    ]  # fmt: skip
    port = random.choice([8080, 9000, 7])
    labels = {
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": random.choice(
            ["endpointslice-controller.k8s.io"] * 9 + ["other"]
        ),
    } | maybe(random, 0.7, team="a")
    return an_object(
        "EndpointSlice", f"web-{number}", "discovery.k8s.io/v1",
        metadata={"labels": labels, "generation": 1, "generateName": "web-",
                  "ownerReferences": owner_references("Service", "v1")},
        addressType="IPv4", endpoints=endpoints,
        ports=[{"name": "http", "port": port, "protocol": "TCP"}],
    )  # fmt: skip


# ------------------------------------------------------------------------------------- quotas


def _quota(random: Random) -> list[Document]:
    compute = ["cpu", "requests.cpu", "limits.cpu", "memory", "limits.memory", "pods",
               "requests.example.com/gpu", "count/pods", "requests.ephemeral-storage"]  # fmt: skip
    others = ["services", "services.nodeports", "services.loadbalancers", "configmaps", "secrets",
              "persistentvolumeclaims", "requests.storage", "count/configmaps",
              "fast.storageclass.storage.k8s.io/requests.storage",
              "fast.storageclass.storage.k8s.io/persistentvolumeclaims"]  # fmt: skip
    spec: Document = {}
    if random.random() < 0.55:
        scopes = random.choice(
            [["Terminating"], ["NotTerminating"], ["BestEffort"], ["NotBestEffort"],
             ["PriorityClass"], ["CrossNamespacePodAffinity"], ["NotTerminating", "NotBestEffort"]]
        )  # fmt: skip
        if random.random() < 0.5 and scopes[0] == "PriorityClass":
            operator = random.choice(["In", "NotIn", "Exists", "DoesNotExist"])
            values = {} if "E" in operator else {"values": ["high", "low"]}
            match = {"scopeName": "PriorityClass", "operator": operator} | values
            spec["scopeSelector"] = {"matchExpressions": [match]}
        else:
            spec["scopes"] = scopes
        names = ["pods"] if "BestEffort" in scopes else compute
    else:
        names = compute + others
    hard = random.sample(names, min(len(names), random.choice([1, 3, 6, 12])))
    spec["hard"] = {name: random.choice(["1", "5", "20"]) for name in hard}
    objects = [_counted_pod(random, number) for number in range(random.choice([0, 1, 3, 6]))]
    for number in range(random.choice([0, 1, 3])):
        claim: Document = {"accessModes": ["ReadWriteOnce"]}
        claim["resources"] = {"requests": {"storage": random.choice(["1Gi", "500M", "3"])}}
        claim |= maybe(random, 0.6, storageClassName=random.choice(["fast", "slow", ""]))
        objects.append(an_object("PersistentVolumeClaim", f"c{number}", spec=claim))
    for number in range(random.choice([0, 1, 3])):
        kind = random.choice(["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"])
        ports = [{"port": 80 + n, "name": f"p{n}"} for n in range(random.choice([1, 2]))]
        service: Document = {"type": kind, "ports": ports}
        if kind == "LoadBalancer":
            service |= maybe(random, 0.5, allocateLoadBalancerNodePorts=False)
        service |= {"externalName": "example.com"} if kind == "ExternalName" else {}
        objects.append(an_object("Service", f"s{number}", spec=service))
    maps = range(random.choice([0, 2]))
    objects += [an_object("ConfigMap", f"m{number}", data={}) for number in maps]
    status: Document = {}
    if random.random() < 0.5:
        known = random.choice([spec["hard"], {"pods": "3", "cpu": "9"}])
        status = {"hard": known, "used": dict.fromkeys(known, random.choice(["0", "2", "7"]))}
    return [an_object("ResourceQuota", "web", spec=spec, status=status), *objects]


def _counted_pod(random: Random, number: int) -> Document:
    def resources() -> Document:
        found: Document = {}
        for part in ("requests", "limits"):
            amounts = maybe(random, 0.5, cpu=random.choice(["1", "250m", "0"]))
            amounts |= maybe(random, 0.4, memory=random.choice(["1Gi", "100M"]))
            amounts |= maybe(random, 0.15, **{"example.com/gpu": "2"})
            amounts |= maybe(random, 0.1, **{"ephemeral-storage": "1Gi"})
            found |= {part: amounts} if amounts and random.random() < 0.7 else {}
        return {"resources": found} if found else {}

    containers = [
        {"name": f"m{n}", "image": "app"} | resources() for n in range(random.choice([1, 2]))
    ]
    spec: Document = {"containers": containers}
    if random.random() < 0.25:
        restart = maybe(random, 0.5, restartPolicy="Always")
        spec["initContainers"] = [{"name": "first", "image": "app"} | restart | resources()]
    spec |= maybe(random, 0.2, activeDeadlineSeconds=random.choice([10, 100]))
    spec |= maybe(random, 0.4, priorityClassName=random.choice(["high", "low", "mid"]))
    spec |= maybe(random, 0.1, overhead={"cpu": "1"})
    if random.random() < 0.15:
        term = {"topologyKey": "zone", "labelSelector": {}, "namespaces": ["other"]}
        term |= maybe(random, 0.4, namespaces=[])
        spec["affinity"] = {
            random.choice(["podAffinity", "podAntiAffinity"]): {
                "requiredDuringSchedulingIgnoredDuringExecution": [term]
            }
        }
    pod = a_pod(random, f"p{number}", spec=spec)
    if "deletionTimestamp" in pod["metadata"]:
        pod["metadata"]["deletionTimestamp"] = time(random.choice([-20, 20, 40]))
    return pod


CONTROLLERS: Final[dict[str, Callable[[Random], list[Document]]]] = {
    "deployment": _deployment,
    "replicaset": _replicas,
    "statefulset": _stateful,
    "daemonset": a_daemon_set,
    "job": a_job,
    "disruption": _budget,
    "endpointslice": _service,
    "quota": _quota,
    "garbagecollector": owned_objects,
}

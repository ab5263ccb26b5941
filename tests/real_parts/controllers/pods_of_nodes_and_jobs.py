"""Clusters of daemon sets, of jobs, and of objects that own each other."""

from __future__ import annotations

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

# ------------------------------------------------------------------------------- daemon sets


def a_daemon_set(random: Random) -> list[Document]:
    new, old = (a_revision("DaemonSet", n, complete_template(f"app:{n}")) for n in (2, 1))
    hashes = [each["metadata"]["labels"]["controller-revision-hash"] for each in (old, new)]
    template = complete_template("app:2")
    if random.random() < 0.25:
        template["spec"]["nodeSelector"] = {"disk": "ssd"}
    if random.random() < 0.2:
        template["spec"]["tolerations"] = [{"key": "team", "operator": "Exists"}]
    spec: Document = {"selector": {"matchLabels": LABELS}, "template": template}
    if random.random() < 0.2:
        spec["updateStrategy"] = {"type": "OnDelete"}
    else:
        surge, unavailable = random.choice([(0, 1), (0, 2), (0, "50%"), (1, 0), ("50%", 0), (2, 0)])
        spec["updateStrategy"] = {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable},
        }
    spec |= maybe(random, 0.3, minReadySeconds=10)
    spec |= maybe(random, 0.3, revisionHistoryLimit=random.choice([0, 1]))
    revisions = [each for each in (old, new) if random.random() < 0.8]
    nodes, pods = [], []
    for name in NODES:
        labels = {"kubernetes.io/hostname": name} | maybe(random, 0.6, disk="ssd")
        node: Document = maybe(random, 0.15, unschedulable=True)
        taints = [
            {"key": key, "effect": effect, "value": ""}
            for key, effect in (
                ("team", "NoSchedule"), ("team", "NoExecute"),
                ("node.kubernetes.io/not-ready", "NoExecute"), ("soft", "PreferNoSchedule"),
            )
            if random.random() < 0.12
        ]  # fmt: skip
        node |= {"taints": taints} if taints else {}
        if random.random() < 0.9:
            nodes.append(an_object("Node", name, metadata={"labels": labels}, spec=node))
        for number in range(random.choice([0, 1, 1, 1, 2])):
            own = {
                "labels": LABELS
                | {"controller-revision-hash": random.choice(hashes)}
                # Without revisions, podwright takes that of such pods, for imported clusters.
                | maybe(
                    random,
                    0.2 * bool(revisions),
                    **{"pod-template-generation": random.choice("123")},
                ),
                "ownerReferences": owner_references("DaemonSet", "apps/v1"),
            }
            own |= maybe(random, 0.03, ownerReferences=[])
            affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchFields": [
                    {"key": "metadata.name", "operator": "In", "values": [name]}]}]}}}  # fmt: skip
            pod = a_pod(random, f"{name}-{number}", metadata=own, spec={"affinity": affinity})
            if "nodeName" in pod["spec"]:
                pod["spec"]["nodeName"] = name
            pods.append(pod)
    counted = {"deprecated.daemonset.template.generation": random.choice("23")}
    metadata = {"generation": 2, "annotations": counted}
    metadata |= going(random)
    status = {"observedGeneration": random.choice([1, 2]), "currentNumberScheduled": 1,
              "numberMisscheduled": 0, "desiredNumberScheduled": 2, "numberReady": 1}  # fmt: skip
    made = an_object("DaemonSet", "web", "apps/v1", metadata=metadata, spec=spec, status=status)
    return [made, *nodes, *revisions, *pods]


# -------------------------------------------------------------------------------------- jobs


def a_job(random: Random) -> list[Document]:
    spec = _job_spec(random)
    is_indexed = "completionMode" in spec
    status = _job_status(random, is_indexed=is_indexed)
    metadata = {"generation": 1} | going(random)
    pods = [
        _job_pod(random, number, spec)
        for number in range(random.choice([0, 1, 2, 3, 4, 6]))
    ]  # fmt: skip
    if status and random.random() < 0.15:
        uids = _uncounted(random, pods)
        if is_indexed:  # whose successes are counted by their indexes
            uids["succeeded"].clear()
        status["uncountedTerminatedPods"] = {name: each for name, each in uids.items() if each}
    if "podFailurePolicy" not in spec and random.random() < 0.2:
        spec["template"]["spec"]["restartPolicy"] = "OnFailure"
    spec |= maybe(random, 0.03, managedBy=random.choice(["kubernetes.io/job-controller", "a.b/c"]))
    return [an_object("Job", "web", "batch/v1", metadata=metadata, spec=spec, status=status), *pods]


def _job_spec(random: Random) -> Document:
    completions = random.choice([None, 1, 2, 3, 5])
    is_indexed = completions is not None and random.random() < 0.5
    spec: Document = {
        "parallelism": random.choice([0, 1, 2, 3, 5]),
        "backoffLimit": random.choice([0, 1, 2, 6]),
        "manualSelector": True,
        "selector": {"matchLabels": LABELS},
        "template": a_template("app:2", restartPolicy="Never"),
    }
    if completions is not None:
        spec["completions"] = completions
    if is_indexed:
        spec["completionMode"] = "Indexed"
        if random.random() < 0.35:
            spec["backoffLimitPerIndex"] = random.choice([0, 1])
            spec |= maybe(random, 0.5, maxFailedIndexes=random.choice([0, 1, 2]))
        if random.random() < 0.25:
            rule = random.choice(
                [{"succeededCount": 1}, {"succeededIndexes": "0"},
                 {"succeededIndexes": "0-2", "succeededCount": 2}]
            )  # fmt: skip
            spec["successPolicy"] = {"rules": [rule]}
    if random.random() < 0.3:
        spec["podFailurePolicy"] = {"rules": _failure_rules(random, spec)}
    else:
        spec |= maybe(random, 0.4, podReplacementPolicy="TerminatingOrFailed")
    spec |= maybe(random, 0.3, podReplacementPolicy="Failed")
    if "podFailurePolicy" in spec:
        spec["podReplacementPolicy"] = "Failed"
    spec |= maybe(random, 0.12, suspend=True)
    return spec | maybe(random, 0.25, activeDeadlineSeconds=random.choice([60, 1000]))


def _job_status(random: Random, *, is_indexed: bool) -> Document:
    status: Document = {"startTime": time(random.choice([50, 500])), "uncountedTerminatedPods": {}}
    if random.random() < 0.1:
        status = {}
    elif random.random() < 0.4:
        status |= {"failed": random.choice([0, 1, 2]), "active": random.choice([0, 1, 3])}
        if is_indexed:
            done = random.choice(["", "0", "1"])
            status |= {"completedIndexes": done} if done else {}
            status["succeeded"] = 1 if done else 0
        else:
            status["succeeded"] = random.choice([0, 0, 1, 2])
    if random.random() < 0.06:
        kind = random.choice(["FailureTarget", "SuccessCriteriaMet", "Suspended", "Complete"])
        status["conditions"] = [
            {"type": kind, "status": "True", "reason": "Set", "message": "Set.",
             "lastTransitionTime": time(20), "lastProbeTime": time(20)}
        ]  # fmt: skip
    return status


def _uncounted(random: Random, pods: list[Document]) -> dict[str, list[str]]:
    ended = [pod for pod in pods if pod["status"]["phase"] in ("Succeeded", "Failed")]
    uids: dict[str, list[str]] = {"succeeded": [], "failed": []}
    for pod in random.sample(ended, random.randint(0, len(ended))):
        uids[pod["status"]["phase"].lower()].append(pod["metadata"]["uid"])
    uids[random.choice(["succeeded", "failed"])].append("uid-gone")
    return uids


def _failure_rules(random: Random, spec: Document) -> list[Document]:
    actions = ["FailJob", "Ignore", "Count"]
    actions += ["FailIndex"] if "backoffLimitPerIndex" in spec else []
    rules: list[Document] = []
    for _ in range(random.choice([1, 2])):
        rule: Document = {"action": random.choice(actions)}
        if random.random() < 0.6:
            codes = {"operator": random.choice(["In", "NotIn"]), "values": [3, 42]}
            rule["onExitCodes"] = codes | maybe(random, 0.4, containerName="main")
        else:
            rule["onPodConditions"] = [{"type": "DisruptionTarget", "status": "True"}]
        rules.append(rule)
    return rules


def _job_pod(random: Random, number: int, spec: Document) -> Document:
    own: Document = {"ownerReferences": owner_references("Job", "batch/v1")}
    if "podFailurePolicy" in spec or random.random() < 0.85:
        own["finalizers"] = ["batch.kubernetes.io/job-tracking"]
    if "completionMode" in spec:
        index = random.choice(["0", "0", "1", "2", "4", "7"])
        own["annotations"] = {"batch.kubernetes.io/job-completion-index": index}
        if "backoffLimitPerIndex" in spec:
            failures = random.choice(["0", "0", "1"])
            own["annotations"] |= {"batch.kubernetes.io/job-index-failure-count": failures}
    own |= maybe(random, 0.04, labels={"app": "other"})
    own |= maybe(random, 0.04, ownerReferences=[])
    pod = a_pod(random, f"p{number}", metadata=own, spec={"restartPolicy": "Never"})
    if random.random() < 0.3:
        restarts = {"name": "main", "restartCount": random.choice([1, 2])}
        pod["status"]["containerStatuses"] = [restarts]
    phase = pod["status"]["phase"]
    if phase in ("Failed", "Succeeded"):
        code = 0 if phase == "Succeeded" else random.choice([1, 3, 42])
        at = time(random.choice([1500, 1600]))
        ended = {"exitCode": code, "reason": "Ended", "finishedAt": at}
        pod["status"]["containerStatuses"] = [{"name": "main", "state": {"terminated": ended}}]
        if phase == "Failed" and random.random() < 0.3:
            pod["status"]["conditions"] = [
                {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
            ]
    return pod


# ---------------------------------------------------------------------------- owned objects


def owned_objects(random: Random) -> list[Document]:
    """Return objects of two namespaces and of none that own each other, or what does not exist."""
    objects = []
    for number in range(random.choice([2, 3, 4, 6])):
        kind, api = random.choice(OWNED)
        made = an_object(kind, f"o{number}", api, metadata=_deleted(random))
        if kind in CLUSTER_SCOPED:
            made["metadata"].pop("namespace", None)
        else:
            made["metadata"]["namespace"] = random.choice(["default"] * 5 + ["other"])
        if kind == "Pod":
            made["spec"] = {"containers": [{"name": "main", "image": "app"}]}
        objects.append(made)
    for made in objects:
        owners = [_reference(random, objects) for _ in range(random.choice([0, 1, 1, 1, 2, 3]))]
        named = {owner["uid"]: owner for owner in owners if owner["uid"] != made["metadata"]["uid"]}
        if named:
            made["metadata"]["ownerReferences"] = list(named.values())
    return objects


def is_consistent(case: Document) -> bool:
    """Whether the references to one uid agree on its kind and name.

    The order in which upstream finds out which of them is right depends on its delays.
    """
    references = [
        each for obj in case["objects"] for each in obj["metadata"].get("ownerReferences") or ()
    ]
    names = {each["uid"]: (each["kind"], each["name"]) for each in references}
    return all(names[each["uid"]] == (each["kind"], each["name"]) for each in references)


OWNED: Final = (
    ("ConfigMap", "v1"), ("Secret", "v1"), ("ConfigMap", "v1"), ("Pod", "v1"),
    ("ServiceAccount", "v1"), ("Node", "v1"), ("PersistentVolume", "v1"),
)  # fmt: skip
CLUSTER_SCOPED: Final = ("Node", "PersistentVolume")


def _deleted(random: Random) -> Document:
    finalizers = random.choice(
        [[], [], [], [], ["foregroundDeletion"], ["orphan"], ["example.com/wait"],
         ["foregroundDeletion", "example.com/wait"], ["orphan", "example.com/wait"]]
    )  # fmt: skip
    if not finalizers:
        return {}
    is_deleted = random.random() < 0.8
    return {"finalizers": finalizers} | ({"deletionTimestamp": time(3)} if is_deleted else {})


def _reference(random: Random, objects: list[Document]) -> Document:
    owner = random.choice(objects)
    metadata = owner["metadata"]
    found = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"]}
    found |= {"uid": metadata["uid"]} | maybe(random, 0.5, blockOwnerDeletion=True)
    kind = random.random()
    if kind < 0.15:
        found |= {"name": "gone", "uid": "uid-gone"}
    elif kind < 0.25:
        found |= {"uid": "uid-before"}
    elif kind < 0.3:
        found |= {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "uid-w"}
    return found

"""What a remedy changes, as requests that a client can send to the Kubernetes API.

A pod of a controller is changed by the pod template of its top owner: the change of the pod alone
would be lost with it. An object whose fields cannot be changed is deleted and created.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    CSINode,
    Document,
    KubernetesObject,
    Node,
    ResourceSlice,
    encode,
    without_label_keys,
)
from podwright.apimachinery.patching import merge_difference, merge_patched, strategic_difference
from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.api import GENERATED_JOB_LABELS, without_generated_selector
from podwright.cluster.store import POD, kind_of
from podwright.scheduler.advice import Remedy, ReplicaCount
from podwright.simulation.recording.explanations.document_structs import (
    Action,
    RemedyChange,
    RemedyRequests,
)
from podwright.simulation.recording.explanations.replicas import (
    Present,
    has_template,
    owner_text,
    owners_of_pod,
    refusal,
    with_changed_template,
)

_OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
_JOB: Final = "Job"
_OF_NEW_NODES: Final = (Node, CSINode, ResourceSlice)
"""What a new machine publishes itself: a user adds the machine, by no command of kubectl."""


def remedy_changes(remedy: Remedy, present: Present) -> RemedyRequests:
    """Return the requests that make the changes of a remedy.

    Parameters
    ----------
    remedy : Remedy
    present : callable
        Returns an object of the cluster as it is, by kind and "namespace/name".
    """
    if remedy.by_hand:
        return RemedyRequests(None, remedy.by_hand)
    before = present(kind_of(remedy.pod), remedy.pod.key)
    if before is None:
        return RemedyRequests(None, f"pod {remedy.pod.key} does not exist")
    of_pod = _of_pod(before, remedy, present)
    if of_pod.changes is None:
        return of_pod
    changes: list[RemedyChange] = []
    for obj in remedy.put:
        there = present(kind_of(obj), obj.key)
        if there is None:
            changes.append(_change("create", obj, _manifest(obj)))
        else:
            changes += _update(there, obj)
    for scale in remedy.scales:
        scaled = _scaled(scale, remedy, present)
        if isinstance(scaled, str):
            return RemedyRequests(None, scaled)
        changes.append(scaled)
    victims = [] if remedy.scales else [present(POD, key) for key in remedy.delete]
    gone = [victim for victim in victims if victim is not None]
    changes += [_change("delete", obj) for obj in (*gone, *remedy.drop)]
    # The pod may need the others, such as a new priority class.
    return RemedyRequests([*changes, *of_pod.changes])


# ------------------------------------------------------------------------------ the pod


def _of_pod(before: KubernetesObject, remedy: Remedy, present: Present) -> RemedyRequests:
    """Return the change of the pod, or of the template that it is made from."""
    patch = _difference(before, remedy.pod)
    if not patch:
        return RemedyRequests([])
    is_gated = set(patch) == {"spec"} and set(patch["spec"]) == {"schedulingGates"}
    if is_gated or not before.metadata.owner_references:
        return RemedyRequests(list(_update(before, remedy.pod)))
    owners = owners_of_pod(before, present)
    top = owners[-1] if owners else None
    name = owner_text(before)
    if top is None:
        return RemedyRequests(None, f"change the pod template of {name}, which is not known here")
    if not has_template(top):
        return RemedyRequests(None, f"{top.kind} {top.key} controls the pod: make the change there")
    changed = with_changed_template(top, before, remedy)
    if changed is None:
        return RemedyRequests(None, f"the pod template of {name} does not have what would change")
    if top.kind == _JOB:
        # The template of a job cannot be changed.
        return RemedyRequests([_replacement(top, changed)])
    if reason := refusal(changed, top):
        return RemedyRequests(None, f"kube-apiserver refuses the change of {name}: {reason}")
    effect = _effect_of_template(top)
    changes = [_change("patch", top, _difference(top, changed), before=top, effect=effect)]
    job = owners[0]
    if top.kind == "CronJob":
        new_job = None if job is top else with_changed_template(job, before, remedy)
        if new_job is not None:
            changes.append(_replacement(job, new_job))
    elif _keeps_pod(top):
        effect = f"deletes pod {before.key}, which its {top.kind} creates again with the change"
        changes.append(_change("delete", before, effect=effect))
    return RemedyRequests(changes)


def _effect_of_template(owner: KubernetesObject) -> str:
    text = f"changes the pod template of {owner.kind} {owner.key}"
    if owner.kind == "CronJob":
        return f"{text}, for its next Jobs"
    if owner.kind in ("ReplicaSet", "ReplicationController") or _strategy(owner) == "OnDelete":
        return f"{text}, for new pods"
    if (encode(owner).get("spec") or {}).get("paused"):
        resume = f"kubectl rollout resume {owner.kind.lower()} {owner.name} -n {owner.namespace}"
        return f"{text}, which is paused: its pods are replaced after `{resume}`"
    return f"{text}: a rollout replaces its pods"


def _keeps_pod(owner: KubernetesObject) -> bool:
    """Return whether the controller of a changed owner does not replace a Pending pod by itself.

    Upstream: pkg/controller/statefulset/stateful_set_control.go, updateStatefulSet. With ordered
    pods, it waits until each is ready before it replaces one.
    """
    if owner.kind == "StatefulSet":
        spec = encode(owner).get("spec") or {}
        return _strategy(owner) == "OnDelete" or spec.get("podManagementPolicy") != "Parallel"
    return owner.kind in ("ReplicaSet", "ReplicationController") or _strategy(owner) == "OnDelete"


def _strategy(owner: KubernetesObject) -> str:
    spec = encode(owner).get("spec") or {}
    return str((spec.get("updateStrategy") or {}).get("type") or "")


def _scaled(scale: ReplicaCount, remedy: Remedy, present: Present) -> RemedyChange | str:
    """Return the request that scales a workload, or why there is none."""
    pod = present(POD, remedy.delete[0])
    owners = [] if pod is None else owners_of_pod(pod, present)
    owner = next((each for each in owners if (each.kind, each.key) == scale[:2]), None)
    if owner is None:
        return f"change the replicas of {scale.kind} {scale.key}, which is not known here"
    is_job = scale.kind == _JOB
    body = {"spec": {"parallelism" if is_job else "replicas": scale.replicas}}
    change = _change("patch", owner, body, before=owner)
    if is_job:
        return change
    command = f"kubectl scale {_named(owner)} --replicas={scale.replicas}"
    return msgspec.structs.replace(change, command=command)


# ------------------------------------------------------------------------------ objects


def _update(before: KubernetesObject, after: KubernetesObject) -> Iterator[RemedyChange]:
    """Yield the change of an object: a patch if kube-apiserver accepts it."""
    patch = _difference(before, after)
    if not patch:
        return
    # Without what the scheduler added to its copy.
    after = decode(merge_patched(encode(before), patch), source=f"{before.kind} {before.key}")
    if isinstance(after, Node) or not refusal(after, before):
        yield _change("patch", after, patch, before=before)
    else:
        yield _replacement(before, after)


def _replacement(before: KubernetesObject, after: KubernetesObject) -> RemedyChange:
    if before.kind == _JOB:
        before, after = map(without_generated_selector, (before, after))
        with_pods = " with its pods"
    else:
        with_pods = ""
    if before.kind == "Pod":
        # What keys of labels stand for is added to the new pod, which would be invalid with it.
        document = encode(after)
        spec = without_label_keys(document["spec"], before.metadata.labels)
        after = decode(document | {"spec": spec}, source=f"Pod {before.key}")
    name = f"{after.kind} {after.key}" if after.kind != "Pod" else f"pod {after.key}"
    effect = f"deletes {name}{with_pods}, and creates it with the change"
    return _change("replace", after, _manifest(after), before=before, effect=effect)


def _change(
    action: Action,
    obj: KubernetesObject,
    body: Document | None = None,
    *,
    before: KubernetesObject | None = None,
    effect: str = "",
) -> RemedyChange:
    return RemedyChange(
        action=action,
        api_version=obj.api_version,
        kind=obj.kind,
        namespace=obj.metadata.namespace,
        name=obj.metadata.name,
        body=body,
        command="" if isinstance(obj, _OF_NEW_NODES) else _command(action, obj, body, before),
        effect=effect,
    )


def _command(
    action: Action, obj: KubernetesObject, body: Document | None, before: KubernetesObject | None
) -> str:
    match action:
        case "create":
            return f"echo {_json(body)} | kubectl create -f -"
        case "delete":
            return f"kubectl delete {_named(obj)}"
        case "patch":
            assert before is not None, "there is an object to patch"
            return f"kubectl patch {_named(obj)} {_patch_options(before, body or {})}"
        case "replace":
            assert before is not None, "there is an object to replace"
            patch = _options_of_replacement(before, obj)
            return (
                f"kubectl get {_named(obj)} -o json | kubectl patch --local -f - {patch} -o json"
                " | kubectl replace --force -f -"
            )


def _named(obj: KubernetesObject) -> str:
    namespace = obj.metadata.namespace
    return f"{obj.kind.lower()} {obj.metadata.name}" + (f" -n {namespace}" if namespace else "")


def _options_of_replacement(before: KubernetesObject, after: KubernetesObject) -> str:
    patch = _difference(before, after)
    if before.kind == _JOB:
        # Null removes what the server generated for the deleted job.
        labels = dict.fromkeys(GENERATED_JOB_LABELS)
        template = patch.setdefault("spec", {}).setdefault("template", {})
        template.setdefault("metadata", {}).setdefault("labels", {}).update(labels)
        patch["spec"]["selector"] = None
        patch.setdefault("metadata", {}).setdefault("labels", {}).update(labels)
        return f"--type=merge -p {_json(patch)}"
    return _patch_options(before, patch)


def _patch_options(before: KubernetesObject, patch: Document) -> str:
    """Return the options of `kubectl patch`, with the smaller strategic patch if there is one."""
    kind = built_in().find(before.api_version, before.kind)
    document = encode(before)
    if kind is not None:
        after = merge_patched(document, patch)
        strategic = strategic_difference(kind, document, after)
        if strategic is not None:
            return f"-p {_json(strategic)}"
    return f"--type=merge -p {_json(patch)}"


def _json(document: Document | None) -> str:
    return shlex.quote(msgspec.json.encode(document).decode())


def _difference(before: KubernetesObject, after: KubernetesObject) -> Document:
    """Return the merge patch between two states of an object, without what the server writes."""
    documents = [
        {name: value for name, value in encode(obj).items() if name != "status"}
        for obj in (before, after)
    ]
    for document in documents:
        document["metadata"] = _metadata(document)
    return merge_difference(*documents)


def _manifest(obj: KubernetesObject) -> Document:
    """Return an object as it can be created; a node has its resources in its status."""
    has_status = isinstance(obj, Node)
    document = {name: one for name, one in encode(obj).items() if name != "status" or has_status}
    return {**document, "metadata": _metadata(document)}


def _metadata(document: Document) -> Document:
    metadata = document.get("metadata") or {}
    return {name: value for name, value in metadata.items() if name not in _OF_THE_SERVER}

"""Resource claims: created from templates, unreserved and freed when their pods are done.

A key starts with ``pod:`` or ``claim:``. A pod gets a claim for each entry of
`spec.resourceClaims` that names a template; `status.resourceClaimStatuses` names the claims. An
entry of `status.reservedFor` is removed when its pod is gone or will not run any more; with the
last one the devices are freed. A claim that was created for a pod is then deleted. A pod that was
bound without the scheduler is added to `status.reservedFor` of its allocated claims; if one is not
there or not allocated yet, the pod waits for it.

Upstream: pkg/controller/resourceclaim/controller.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from podwright._checkpointed import Saved
from podwright.apimachinery.devices import generated_claims, is_reserved_for
from podwright.apimachinery.objects import (
    DELETE_PROTECTION,
    Document,
    KubernetesObject,
    NamespacedName,
    Object,
    Pod,
    ResourceClaim,
    ResourceClaimConsumerReference,
    with_fields,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import DeleteObject, RecordEvent, finalizers_without, patched, section
from podwright.cluster.controllers.adoption import controller_reference_document
from podwright.cluster.controllers.interface import (
    Actions,
    Controller,
    ControllerAction,
    Keys,
    PodChange,
    ReportedWrite,
    Version,
)
from podwright.cluster.controllers.kinds import RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import POD, kind_of

POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"
_BASE_MAX: Final = 57
_POD, _CLAIM = "pod:", "claim:"
_FAILED: Final = "FailedResourceClaimCreation"
_RESERVED_FOR_MAX: Final = 256
"""The most users of a claim. Upstream: staging/src/k8s.io/api/resource/v1/types.go,
`ResourceClaimReservedForMaxSize`."""


class ResourceClaimController(Controller):
    """Creates claims from templates, and frees the claims of pods that are done."""

    name = "resource-claim-controller"
    event_source = "resource_claim"
    kinds = (POD, RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE)
    pod_changes = PodChange.ADDED | PodChange.TERMINAL | PodChange.DELETED | PodChange.SPEC
    only_with_devices = True
    reports_creations = True
    _waiting: Saved[dict[NamespacedName, dict[NamespacedName, None]]]
    _unreserved: Saved[dict[NamespacedName, dict[NamespacedName, None]]]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        # By the key of a template that does not exist: the pods that wait for it.
        self._waiting = {}
        # By the key of a claim that cannot be reserved yet: the pods on nodes that wait for it.
        self._unreserved = {}

    def observe(self, old: Version, new: Version) -> Keys:
        """Return the pods that need claims, and the claims whose pods are done."""
        changed = self.latest_of(old, new)
        if isinstance(changed, Pod):
            return self._observe_pod(changed, is_gone=new is None)
        if isinstance(changed, ResourceClaim):
            owner = changed.metadata.controller
            keys = [] if new is None else [_CLAIM + changed.key]
            if new is not None:
                keys += [_POD + key for key in self._unreserved.pop(changed.key, {})]
            keys += [_POD + key for key in _users_lost(old, new)]
            if owner is not None and owner.kind == "Pod" and (old is None or new is None):
                keys.append(f"{_POD}{changed.namespace}/{owner.name}")
            return keys
        waiting = {} if new is None else self._waiting.pop(new.key, {})
        return [_POD + key for key in waiting]

    def _observe_pod(self, pod: Pod, *, is_gone: bool) -> list[NamespacedName]:
        if not is_gone and not _is_done(pod):
            return [_POD + pod.key] if pod.spec.resource_claims else []
        # By name, as upstream's enqueuePod; a namespace may have thousands of claims.
        generated = generated_claims(pod)
        status = pod.raw.get("status") or {}
        names = [
            each.resource_claim_name or generated.get(each.name)
            for each in pod.spec.resource_claims
        ]
        names.append((status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName"))
        keys = [f"{pod.namespace}/{name}" for name in names if name]
        return [
            _CLAIM + key
            for key in dict.fromkeys((*keys, *self._lister.controlled_by(pod.uid, RESOURCE_CLAIM)))
        ]

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Create the claims of a pod, or free a claim."""
        if key.startswith(_POD):
            pod = self._lister.get(POD, key.removeprefix(_POD))
            if not isinstance(pod, Pod) or pod.is_terminal or pod.is_terminating:
                return []
            return self._sync_pod(pod)
        claim = self._lister.get(RESOURCE_CLAIM, key.removeprefix(_CLAIM))
        return self._sync_claim(claim) if isinstance(claim, ResourceClaim) else []

    # ------------------------------------------------------------ pods

    def _sync_pod(self, pod: Pod) -> Actions:
        """Create the claims of a pod, and name them in its status; the first error ends that.

        Upstream: syncPod, handleClaim
        """
        known = generated_claims(pod)
        owned = {
            claim.metadata.annotations.get(POD_CLAIM_NAME): claim.name
            for claim in self._lister.controlled_by(pod.uid, RESOURCE_CLAIM).values()
        }
        names = {
            entry.name: owned[entry.name]
            for entry in pod.spec.resource_claims
            if entry.resource_claim_template_name is not None and entry.name in owned
        }
        actions: Actions = []
        for entry in pod.spec.resource_claims:
            template = entry.resource_claim_template_name
            if template is None or entry.name in owned:
                continue
            # Entries with a name whose claim is gone get a new one; those without need none.
            if entry.name in known and known[entry.name] is None:
                continue
            actions.append(self._create(pod, entry.name, f"{pod.namespace}/{template}"))
            if isinstance(actions[-1], RecordEvent):
                return actions
        if any(known.get(entry) != name for entry, name in names.items()):
            statuses = [
                {"name": entry, "resourceClaimName": name}
                for entry, name in sorted((known | names).items())
                if name is not None
            ]
            updated = patched(pod, status={"resourceClaimStatuses": statuses})
            actions.append(self.update(updated, "status"))
        if pod.spec.node_name:
            actions += self._reserve(pod, known)
        return actions

    def _create(self, pod: Pod, entry: str, template_key: NamespacedName) -> ControllerAction:
        template = self._lister.get(RESOURCE_CLAIM_TEMPLATE, template_key)
        about = f"PodResourceClaim {entry}: "
        if template is None:
            self._waiting.setdefault(template_key, {})[pod.key] = None
            name = template_key.partition("/")[2]
            note = (
                f'{about}resource claim template "{name}":'
                f' resourceclaimtemplate.resource.k8s.io "{name}" not found'
            )
            return self.warning(pod, _FAILED, note)
        claim = claim_from_template(pod, entry, section(template, "spec"))
        # Upstream writes the name, which is not drawn yet.
        failed = self.warning(pod, _FAILED, f"{about}create ResourceClaim : ")
        return ReportedWrite(self.create(claim), None, failed)

    def _reserve(self, pod: Pod, generated: dict[str, str | None]) -> Actions:
        """Reserve allocated claims for a pod that was bound without the scheduler."""
        actions: Actions = []
        for entry in pod.spec.resource_claims:
            name = entry.resource_claim_name or generated.get(entry.name)
            if name is None and entry.name in generated:
                continue  # none is needed
            key = f"{pod.namespace}/{name}"
            claim = self._lister.get(RESOURCE_CLAIM, key)
            if not isinstance(claim, ResourceClaim):
                if name is not None:
                    self._unreserved.setdefault(key, {})[pod.key] = None
                return actions  # upstream: the first claim that does not exist ends the sync
            if is_reserved_for(claim, pod):
                continue
            is_full = len(claim.status.reserved_for) >= _RESERVED_FOR_MAX
            if claim.status.allocation is None or is_full:
                self._unreserved.setdefault(key, {})[pod.key] = None
                continue
            user = {"resource": "pods", "name": pod.name, "uid": pod.uid}
            users = [*(section(claim, "status").get("reservedFor") or ()), user]
            reserved = patched(claim, status={"reservedFor": users})
            actions.append(self.update(reserved, "status"))
        return actions

    # ------------------------------------------------------------ claims

    def _sync_claim(self, claim: ResourceClaim) -> Actions:
        users = claim.status.reserved_for
        left = [user for user in users if self._is_using(claim, user)]
        is_protected = DELETE_PROTECTION in claim.metadata.finalizers
        actions: Actions = []
        if len(left) < len(users):
            actions += self._without_users(claim, left, is_protected=is_protected)
        elif is_protected and claim.metadata.deletion_timestamp is not None and not left:
            if claim.status.allocation is not None:
                actions.append(self._freed(claim))
            actions.append(self._unprotected(claim))
        if not left and claim.metadata.deletion_timestamp is None and self._is_left_over(claim):
            group, kind = RESOURCE_CLAIM
            actions.append(DeleteObject(group, kind, claim.key, claim.uid, self.name))
        return actions

    def _without_users(
        self,
        claim: ResourceClaim,
        left: list[ResourceClaimConsumerReference],
        *,
        is_protected: bool,
    ) -> Actions:
        if not left and is_protected:
            return [self._freed(claim), self._unprotected(claim)]
        uids = {user.uid for user in left}
        kept = [user for user in section(claim, "status")["reservedFor"] if user["uid"] in uids]
        return [self.update(patched(claim, status={"reservedFor": kept}), "status")]

    def _freed(self, claim: ResourceClaim) -> ControllerAction:
        status = dict.fromkeys(("allocation", "reservedFor", "devices"))
        return self.update(patched(claim, status=status), "status")

    def _unprotected(self, claim: ResourceClaim) -> ControllerAction:
        # The version is that after the update of the status.
        metadata = finalizers_without(claim, DELETE_PROTECTION) | {"resourceVersion": None}
        return self.update(patched(claim, metadata=metadata))

    def _is_using(self, claim: ResourceClaim, user: ResourceClaimConsumerReference) -> bool:
        """Return whether an entry of `reservedFor` is valid; only pods can be checked."""
        if user.api_group or user.resource != "pods":
            return True
        pod = self._lister.get(POD, f"{claim.namespace}/{user.name}")
        return isinstance(pod, Pod) and pod.uid == user.uid and not _is_done(pod)

    def _is_left_over(self, claim: ResourceClaim) -> bool:
        """Return whether a claim was created for a pod that does not need it any more."""
        owner = claim.metadata.controller
        if owner is None or owner.kind != "Pod":
            return False
        pod = self._lister.get(POD, f"{claim.namespace}/{owner.name}")
        return isinstance(pod, Pod) and (pod.uid != owner.uid or _is_done(pod))


def _users_lost(old: Version, new: Version) -> Keys:
    """Return the pods for which a claim was reserved and is no longer."""
    if not isinstance(old, ResourceClaim):
        return []
    kept = {user.uid for user in new.status.reserved_for} if isinstance(new, ResourceClaim) else ()
    return [
        f"{old.namespace}/{user.name}"
        for user in old.status.reserved_for
        if user.resource == "pods" and not user.api_group and user.uid not in kept
    ]


def _is_done(pod: Pod) -> bool:
    """Return whether a pod will not run any more."""
    return pod.is_terminal or (pod.is_terminating and not pod.spec.node_name)


def claim_from_template(pod: Pod, entry: str, template: Document) -> KubernetesObject:
    """Return the claim of a pod without a name, which the API server draws.

    Parameters
    ----------
    entry : str
        The name in `spec.resourceClaims`.
    template : dict
        The spec of the template.
    """
    given = template.get("metadata") or {}
    owner = controller_reference_document(pod)
    del owner["blockOwnerDeletion"]  # as upstream
    metadata: Document = {
        "generateName": _generate_name(pod.name, entry),
        "namespace": pod.namespace,
        "annotations": {**(given.get("annotations") or {}), POD_CLAIM_NAME: entry},
        "ownerReferences": [owner],
    }
    if given.get("labels"):
        metadata["labels"] = given["labels"]
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": template.get("spec") or {},
    }
    return decode(claim, source=f"Pod {pod.key}: resource claim {entry}")


def _generate_name(pod: str, entry: str) -> str:
    """Return the start of a claim's name; a long one keeps a part of both names.

    Upstream: handleClaim
    """
    length = len(pod) + len(entry) + 2
    if length <= _BASE_MAX:
        return f"{pod}-{entry}-"
    parts = (each[: len(each) * _BASE_MAX // length] for each in (pod, entry))
    return "-".join(parts)


# The resource claims that pods get from templates, without running the controller.


class ExpandedClaims(NamedTuple):
    """The result of `expand_claims`.

    Attributes
    ----------
    claims : list of ResourceClaim
        To be added.
    pods : dict of str to Pod
        The pods whose status names their claims now, by `namespace/name`.
    notes : list of str
        Why pods get no claim.
    """

    claims: list[ResourceClaim]
    pods: dict[NamespacedName, Pod]
    notes: list[str]


def expand_claims(objects: Iterable[Object]) -> ExpandedClaims:
    """Return the claims that pending pods would get from templates.

    A pod keeps the claims that were created for it. The claims are named by a number where
    upstream draws five letters.

    Parameters
    ----------
    objects : iterable of Object
        All objects of a cluster, with the pods of its workloads.
    """
    objects = list(objects)
    found = ExpandedClaims([], {}, [])
    pods = [
        obj
        for obj in objects
        if isinstance(obj, Pod)
        and not obj.spec.node_name
        and not obj.is_terminal
        and any(entry.resource_claim_template_name for entry in obj.spec.resource_claims)
    ]
    if not pods:
        return found
    templates = {obj.key: obj for obj in objects if kind_of(obj) == RESOURCE_CLAIM_TEMPLATE}
    claims = [obj for obj in objects if isinstance(obj, ResourceClaim)]
    names = {claim.key for claim in claims}
    created: dict[tuple[str, str, str], str] = {}
    for claim in claims:
        owner = claim.metadata.controller
        entry_name = claim.metadata.annotations.get(POD_CLAIM_NAME)
        if owner is not None and owner.kind == "Pod" and entry_name is not None:
            created[f"{claim.namespace}/{owner.name}", owner.uid, entry_name] = claim.name
    lacking: dict[NamespacedName, list[NamespacedName]] = {}
    for pod in pods:
        for template in _expand(pod, templates, names, created, found):
            lacking.setdefault(template, []).append(pod.key)
    for template, keys in lacking.items():
        which = f"pod {keys[0]} needs"
        if len(keys) > 1:
            which = f"{len(keys)} pods need, such as {keys[0]}"
        found.notes.append(f"there is no ResourceClaimTemplate {template}, which {which}")
    return found


def _expand(
    pod: Pod,
    templates: Mapping[NamespacedName, KubernetesObject],
    names: set[NamespacedName],
    created: dict[tuple[str, str, str], str],
    found: ExpandedClaims,
) -> list[NamespacedName]:
    """Add the claims of one pod; return the templates that do not exist."""
    known = generated_claims(pod)
    # `Scheduler.add` gives this uid to pods without one.
    owner = pod if pod.uid else with_fields(pod, "metadata", uid=pod.key)
    new: dict[str, str] = {}
    lacking: list[NamespacedName] = []
    for entry in pod.spec.resource_claims:
        template_name = entry.resource_claim_template_name
        if template_name is None or entry.name in known:
            continue
        name = created.get((pod.key, owner.uid, entry.name))
        if name is None:
            template_key = f"{pod.namespace}/{template_name}"
            template = templates.get(template_key)
            if template is None:
                lacking.append(template_key)
                continue
            claim = claim_from_template(owner, entry.name, section(template, "spec"))
            assert isinstance(claim, ResourceClaim), claim
            name = _free_name(claim, names)
            uid = f"{claim.namespace}/{name}"
            found.claims.append(with_fields(claim, "metadata", name=name, uid=uid))
        new[entry.name] = name
    if new:
        statuses = [
            *(section(pod, "status").get("resourceClaimStatuses") or ()),
            *({"name": entry, "resourceClaimName": name} for entry, name in new.items()),
        ]
        updated = patched(pod, status={"resourceClaimStatuses": statuses})
        assert isinstance(updated, Pod), updated
        found.pods[pod.key] = updated
    return lacking


def _free_name(claim: ResourceClaim, names: set[NamespacedName]) -> str:
    prefix, namespace, number = claim.metadata.generate_name, claim.namespace, 0
    while f"{namespace}/{prefix}{number}" in names:
        number += 1
    names.add(f"{namespace}/{prefix}{number}")
    return f"{prefix}{number}"

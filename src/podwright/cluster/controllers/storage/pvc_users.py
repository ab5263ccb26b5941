"""The pods that use each PersistentVolumeClaim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podwright.apimachinery.objects import NamespacedName, Pod, Volume
from podwright.cluster.controllers.interface import Version
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import POD


def claims_of(pod: Pod) -> Iterator[NamespacedName]:
    """Yield the keys of the claims of a pod, including those of its ephemeral volumes."""
    return _claims_of(pod, pod.spec.volumes)


def mounted_claims_of(pod: Pod) -> Iterator[NamespacedName]:
    """Yield the keys of the claims that containers of a pod use, as file systems or as devices.

    Upstream: pkg/volume/util/util.go, GetPodVolumeNames
    """
    spec = pod.raw["spec"]
    used = {
        entry["name"]
        for field in ("initContainers", "containers", "ephemeralContainers")
        for container in spec.get(field) or ()
        for uses in ("volumeMounts", "volumeDevices")
        for entry in container.get(uses) or ()
    }
    return _claims_of(pod, (volume for volume in pod.spec.volumes if volume.name in used))


def _claims_of(pod: Pod, volumes: Iterable[Volume]) -> Iterator[NamespacedName]:
    for volume in volumes:
        if volume.persistent_volume_claim is not None:
            yield f"{pod.namespace}/{volume.persistent_volume_claim.claim_name}"
        elif volume.ephemeral is not None:
            yield f"{pod.namespace}/{pod.name}-{volume.name}"


class PvcUsers:
    """The pods of each claim, updated when pods are added or removed: volumes are immutable.

    Attributes
    ----------
    pods : dict
        The keys of the pods, by the key of their claim; read-only for callers.
    """

    def __init__(self, lister: Lister) -> None:
        self._lister = lister
        self.pods: dict[NamespacedName, dict[NamespacedName, None]] = {}

    def observe(self, old: Version, new: Version) -> None:
        """Process an added or removed pod."""
        if old is None and isinstance(new, Pod):
            for claim in claims_of(new):
                self.pods.setdefault(claim, {})[new.key] = None
        elif new is None and isinstance(old, Pod):
            for claim in claims_of(old):
                pods = self.pods.get(claim, {})
                pods.pop(old.key, None)
                if not pods:
                    self.pods.pop(claim, None)

    def of(self, claim: NamespacedName) -> Iterator[Pod]:
        """Yield the pods that use a claim, sorted by key."""
        for key in sorted(self.pods.get(claim, ())):
            pod = self._lister.get(POD, key)
            if isinstance(pod, Pod):
                yield pod

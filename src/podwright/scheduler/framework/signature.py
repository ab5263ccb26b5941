"""Pod signatures: equal for pods that all plugins treat the same.

Two pods with one signature have the same filter results and scores on the same nodes, so that
the second can use the results of the first (opportunistic batching). A signature consists of
*fragments*: each plugin returns the parts of the pod that it reads, under keys that plugins may
share. If one plugin cannot return a fragment, the pod has no signature; if one does not
implement fragments, no pod of the profile has a signature.

The content of a fragment is upstream's choice, even where it seems incomplete: host ports are
compared without address and protocol, requests without the defaults that scores add, and the
namespace is in no fragment. A wrong suggestion may miss a better node but never causes a wrong
placement, because a suggested node is filtered again.

Upstream: pkg/scheduler/framework/runtime/framework.go, `SignPod`;
k8s.io/kube-scheduler/framework/signers.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PreferredSchedulingTerm,
    Volume,
    pending_requests,
)
from podwright.scheduler.framework.plugin import Plugin
from podwright.scheduler.framework.profile import Profile

Signature: TypeAlias = bytes
"""All fragments of a pod as canonical JSON."""

FEATURES = "v1.Pod.Spec.RequiredFeatures()"
HOST_PORTS = "v1.Pod.Spec.HostPorts()"
IMAGE_NAMES = "v1.Pod.Spec.CanonicalImageNames()"
LABELS = "v1.Pod.Labels"
NODE_AFFINITY = "v1.Pod.Spec.Affinity.NodeAffinity"
NODE_NAME = "v1.Pod.Spec.NodeName"
NODE_SELECTOR = "v1.Pod.Spec.Affinity.NodeSelector"
RESOURCES = "v1.Pod.Spec.ContainerRequestsAndOverheads()"
SCHEDULER_NAME = "v1.Pod.Spec.SchedulerName"
TOLERATIONS = "v1.Pod.Spec.Tolerations"
VOLUMES = "v1.Pod.Spec.Volumes.NonSyntheticSources()"


class Signer:
    """Signs the pods of one profile."""

    def __init__(self, profile: Profile) -> None:
        self._plugins = profile.deciding
        self.unable = tuple(p.name for p in self._plugins if not p.implements("sign_pod"))
        """The plugins on whose account no pod of the profile has a signature."""

    def sign(self, pod: Pod) -> Signature | None:
        """Return the signature of a pod; None if it has none."""
        if self.unable:
            return None
        fragments: dict[str, object] = {SCHEDULER_NAME: pod.spec.scheduler_name}
        for plugin in self._plugins:
            own = _fragments_of(plugin, pod)
            if own is None:
                return None
            fragments |= own
        try:
            return msgspec.json.encode(fragments, order="deterministic")
        except (TypeError, ValueError, msgspec.MsgspecError):
            # A user's plugin gave something that is not data: as upstream, no signature.
            return None


def _fragments_of(plugin: Plugin, pod: Pod) -> Mapping[str, object] | None:
    try:
        return plugin.sign_pod(pod)
    except Exception:  # noqa: BLE001 - a plugin may raise anything; as upstream: no signature
        return None


# -------------------------------------------------------------------- fragments of several plugins


def resources_fragment(pod: Pod) -> dict[str, object]:
    """Return the requests of the pod."""
    return {RESOURCES: pending_requests(pod)}


def tolerations_fragment(pod: Pod) -> dict[str, object]:
    """Return the tolerations; their order does not matter."""
    tolerations = pod.spec.tolerations
    return {TOLERATIONS: sorted(tolerations, key=lambda one: (one.key or "", one.value or ""))}


def volumes_fragment(pod: Pod) -> dict[str, object]:
    """Return the sources of the volumes that scheduling reads; their order does not matter.

    The claim of an ephemeral volume is named after the pod, its template is not.
    """
    sources = [msgspec.structs.replace(volume, name="") for volume in pod.spec.volumes]
    written = [_canonical(source) for source in sources]
    # Secrets, config maps and other sources that are not read: only a name was kept.
    return {VOLUMES: sorted(source for source in written if source != _NO_SOURCE)}


def node_affinity_fragment(pod: Pod) -> dict[str, object]:
    """Return node selector and node affinity; the order of terms does not matter."""
    affinity = pod.spec.affinity
    of_node = None if affinity is None else affinity.node_affinity
    if of_node is None:
        return {NODE_SELECTOR: pod.spec.node_selector, NODE_AFFINITY: None}
    required = of_node.required_during_scheduling_ignored_during_execution
    terms = () if required is None else required.node_selector_terms
    preferred = of_node.preferred_during_scheduling_ignored_during_execution
    return {
        NODE_SELECTOR: pod.spec.node_selector,
        NODE_AFFINITY: {
            "required": sorted(_canonical(_term(term)) for term in terms),
            "preferred": sorted(_canonical(_preferred(term)) for term in preferred),
        },
    }


def _preferred(term: PreferredSchedulingTerm) -> tuple[int, object]:
    return term.weight, _term(term.preference)


def _term(term: NodeSelectorTerm) -> object:
    return _requirements(term.match_expressions), _requirements(term.match_fields)


def _requirements(requirements: Iterable[NodeSelectorRequirement]) -> list[str]:
    return sorted(_canonical((r.key, r.operator, sorted(r.values))) for r in requirements)


def _canonical(value: object) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()


_NO_SOURCE = _canonical(Volume())

"""Pod keys: the parts of a pod that the plugins of a profile read, as a tuple of numbers.

Notes
-----
Upstream: pkg/scheduler/framework/runtime/framework.go, `SignPod`;
staging/src/k8s.io/kube-scheduler/framework/signers.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    Pod,
    PodSpec,
    PreferredSchedulingTerm,
    Volume,
    pending_requests,
)
from podwright.scheduler.columns import SPREAD_SELECTOR, Cluster, Reads, own_label_keys
from podwright.scheduler.framework.adapter import PluginFailure, raised
from podwright.scheduler.framework.plugin import KeyReads, Plugin
from podwright.scheduler.framework.profile import Profile

Key: TypeAlias = tuple[int, ...]
"""Per plugin, the number of the pod's key."""

_MOST_TEMPLATES = 16_384
_MOST_NUMBERS = 1_000_000


class KeyNumbers:
    """Numbers for the keys of one plugin.

    Attributes
    ----------
    plugin : Plugin
    pod_key : callable
        The plugin's.
    numbers : dict of key to int
    reads : list of KeyReads
        Per number, what the plugin's results depend on.
    preparations : list of int
        The same for PreFilter and PreScore, as plain integers.
    """

    __slots__ = (
        "_cluster", "_usual_reads", "numbers", "plugin", "pod_key", "preparations", "reads",
    )  # fmt: skip

    def __init__(self, plugin: Plugin, cluster: Cluster) -> None:
        self.plugin = plugin
        self._cluster = cluster
        self.pod_key = plugin.pod_key
        self.numbers: dict[Hashable, int] = {}
        self.reads: list[KeyReads] = []
        self.preparations: list[int] = []
        # The reads are the same for all keys but (), unless the plugin overrides a method.
        self._usual_reads: KeyReads | None = None
        if not plugin.implements("preparation_reads") and not plugin.implements("reads_for"):
            self._usual_reads = plugin.reads_for(None, cluster)

    def add(self, key: Hashable) -> int:
        """Give a new key a number.

        Raises
        ------
        Exception
            Whatever a user's plugin raises, or if it returns no `KeyReads`.
        """
        reads = self._usual_reads
        if reads is None or key == ():
            reads = KeyReads(*map(Reads, self.plugin.reads_for(key, self._cluster)))
        number = self.numbers[key] = len(self.reads)
        self.reads.append(reads)
        self.preparations.append(int(reads.preparation))
        return number

    def clear(self) -> None:
        """Forget all keys."""
        self.numbers.clear()
        self.reads.clear()
        self.preparations.clear()


class PodKeyCache:
    """The keys of pods, cached for pods that share their spec.

    Labels that no selector uses are not part of a key, unless a plugin reads all labels. When a
    new selector uses another label, the keys become incomplete: `is_outdated`.

    Parameters
    ----------
    plugins : sequence of Plugin
        In the order of the numbers in a key.
    cluster : Cluster
    """

    def __init__(self, plugins: Sequence[Plugin], cluster: Cluster) -> None:
        self.numbers = [KeyNumbers(plugin, cluster) for plugin in plugins]
        self._selected = cluster.selected_labels
        self._classes = cluster.device_classes
        self._selectors = cluster.selectors
        self._version = self._current_version
        # Unpacked once, because a pod without a template calls all of them for each plugin.
        self._lookups = [
            (n.plugin, n.plugin.key_reads_all_labels, n.pod_key, n.numbers.get, n.add)
            for n in self.numbers
        ]
        self._reads_all_labels = any(plugin.key_reads_all_labels for plugin in plugins)
        self._template_checks = [plugin for plugin in plugins if _may_differ_in_template(plugin)]
        self._added_count = 0
        self._templates: dict[int, tuple[PodSpec, ObjectMeta, frozenset[str], Key]] = {}

    @property
    def is_outdated(self) -> bool:
        """Whether the keys, or results for them, are invalid.

        Selectors use more labels, classes other resources than at the first key, or what counts
        placed pods was renewed.
        """
        return self._version != self._current_version

    @property
    def _current_version(self) -> int:
        # A sum serves as a version, because none of its parts ever falls.
        return self._selected.version + self._classes.version + self._selectors.generation

    @property
    def is_full(self) -> bool:
        """Whether so many keys were seen that it is time to forget them."""
        return self._added_count > _MOST_NUMBERS

    def clear(self) -> None:
        """Forget all keys; they get other numbers when they come again."""
        self._version = self._current_version
        self._added_count = 0
        self._templates.clear()
        for numbers in self.numbers:
            numbers.clear()

    def template_key(self, pod: Pod) -> Key | None:
        """Return the key of a pod whose template is known; None if it is not.

        Identity of the spec is enough to be right: the entry keeps its spec alive, so its id
        cannot be given again.
        """
        known = self._templates.get(id(pod.spec))
        if known is None:
            return None
        _, metadata, own_keys, key = known
        ours = pod.metadata
        if (
            (
                metadata.labels == ours.labels
                or self._are_equivalent(metadata.labels, ours.labels, own_keys)
            )
            and metadata.namespace == ours.namespace
            and metadata.owner_references == ours.owner_references
            and metadata.annotations.get(SPREAD_SELECTOR) == ours.annotations.get(SPREAD_SELECTOR)
        ):
            return key
        return None

    def _are_equivalent(
        self, some: Mapping[str, str], others: Mapping[str, str], own_keys: frozenset[str]
    ) -> bool:
        """Return whether two label sets are equal for all selectors and plugins."""
        if self._reads_all_labels:
            return False
        keys = self._selected.keys
        for key, _ in some.items() ^ others.items():  # noqa: SIM110 - a generator doubles the time
            if key in keys or key in own_keys:
                return False
        return True

    def _without_idle_labels(self, pod: Pod, own_keys: frozenset[str]) -> Pod:
        """Return a pod without the labels that no selector uses."""
        metadata, keys = pod.metadata, self._selected.keys
        seen = {
            key: value for key, value in metadata.labels.items() if key in keys or key in own_keys
        }
        if len(seen) == len(metadata.labels):
            return pod
        metadata = msgspec.structs.replace(metadata, labels=seen)
        return msgspec.structs.replace(pod, metadata=metadata, raw=pod.raw)

    def key_of(self, pod: Pod) -> Key:
        """Return the key of a pod.

        Raises
        ------
        PluginFailure
            If a plugin's `pod_key` fails.
        """
        key = self.template_key(pod)
        if key is None:
            found = []
            own_keys = own_label_keys(pod)
            seen = self._without_idle_labels(pod, own_keys)
            plugin = None
            try:
                for plugin, reads_all, pod_key, find, add in self._lookups:  # noqa: B007 - read by the handler
                    of_plugin = pod_key(pod if reads_all else seen)
                    number = find(of_plugin)
                    if number is None:
                        number = add(of_plugin)
                        self._added_count += 1
                    found.append(number)
                key = tuple(found)
                for plugin in self._template_checks:
                    if not plugin.key_is_of_template(pod):
                        return key
            except Exception as error:
                assert plugin is not None, "no plugin was called"
                text = f"{raised(error)} (pod {pod.key})"
                raise PluginFailure(plugin, "PodKey", text) from error
            if len(self._templates) >= _MOST_TEMPLATES:
                self._templates.clear()
            self._templates[id(pod.spec)] = (pod.spec, pod.metadata, own_keys, key)
        return key

    def number_of(self, place: int, key: Hashable) -> int:
        """Return the number of a key of the plugin at a position."""
        numbers = self.numbers[place]
        number = numbers.numbers.get(key)
        if number is None:
            number = numbers.add(key)
            self._added_count += 1
        return number


def _may_differ_in_template(plugin: Plugin) -> bool:
    """Return whether some keys of this plugin may depend on more than the pod's template."""
    return plugin.implements("key_is_of_template") or not plugin.implements("pod_key")


# Pod signatures: equal for pods that all plugins treat the same.
#
# Two pods with one signature have the same filter results and scores on the same nodes, so that
# the second can use the results of the first (opportunistic batching). A signature consists of
# *fragments*: each plugin returns the parts of the pod that it reads, under keys that plugins may
# share. If one plugin cannot return a fragment, the pod has no signature; if one does not
# implement fragments, no pod of the profile has a signature.
#
# The content of a fragment is upstream's choice, even where it seems incomplete: host ports are
# compared without address and protocol, requests without the defaults that scores add, and the
# namespace is in no fragment. A wrong suggestion may miss a better node but never causes a wrong
# placement, because a suggested node is filtered again.

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
    return {TOLERATIONS: sorted(tolerations, key=lambda one: (one.key, one.value))}


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
    required = of_node.required
    terms = () if required is None else required.node_selector_terms
    preferred = of_node.preferred
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

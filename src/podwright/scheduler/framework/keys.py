"""Pod keys: the parts of a pod that the plugins of a profile read, as a tuple of numbers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from podwright.apimachinery.objects import ObjectMeta, Pod, PodSpec
from podwright.scheduler.columns import SPREAD_SELECTOR, Cluster, own_label_keys
from podwright.scheduler.framework.adapter import PluginFailure, raised
from podwright.scheduler.framework.plugin import KeyReads, Plugin

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
    """

    __slots__ = ("_cluster", "_usual_reads", "numbers", "plugin", "pod_key", "reads")

    def __init__(self, plugin: Plugin, cluster: Cluster) -> None:
        self.plugin = plugin
        self._cluster = cluster
        self.pod_key = plugin.pod_key
        self.numbers: dict[Hashable, int] = {}
        self.reads: list[KeyReads] = []
        # The reads are the same for all keys but (), unless the plugin overrides a method.
        self._usual_reads: KeyReads | None = None
        if not plugin.implements("preparation_reads") and not plugin.implements("reads_for"):
            self._usual_reads = plugin.reads_for(None, cluster)

    def add(self, key: Hashable) -> int:
        """Give a new key a number."""
        reads = self._usual_reads
        if reads is None or key == ():
            reads = self.plugin.reads_for(key, self._cluster)
        number = self.numbers[key] = len(self.reads)
        self.reads.append(reads)
        return number

    def clear(self) -> None:
        """Forget all keys."""
        self.numbers.clear()
        self.reads.clear()


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
        spec, metadata, own_keys, key = known
        ours = pod.metadata
        if (
            spec is pod.spec
            and (
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
        return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(metadata, labels=seen))

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

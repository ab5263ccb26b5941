"""What the plugins of a profile read of a pod, as one tuple of numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

from podwright.framework.adapter import PluginFailure, raised
from podwright.framework.plugin import Plugin
from podwright.objects import ObjectMeta, Pod, PodSpec

Key: TypeAlias = tuple[int, ...]
"""Per plugin, the number of the pod's key."""

_MOST_TEMPLATES = 65_536
_MOST_NUMBERS = 1_000_000


class KeyNumbers:
    """Numbers for the keys of one plugin.

    Attributes
    ----------
    plugin : Plugin
    pod_key : callable
        The plugin's.
    numbers : dict of key to int
    reads : list of int
        Per number, the `Reads` that the plugin's PreFilter and PreScore depend on.
    """

    __slots__ = ("numbers", "plugin", "pod_key", "reads")

    def __init__(self, plugin: Plugin) -> None:
        self.plugin = plugin
        self.pod_key = plugin.pod_key
        self.numbers: dict[Hashable, int] = {}
        self.reads: list[int] = []

    def add(self, key: Hashable) -> int:
        """Give a new key a number."""
        reads = int(self.plugin.preparation_reads(key))
        number = self.numbers[key] = len(self.reads)
        self.reads.append(reads)
        return number

    def clear(self) -> None:
        """Forget all keys."""
        self.numbers.clear()
        self.reads.clear()


class PodKeyBook:
    """Keys of pods, remembered for pods that share their spec.

    Parameters
    ----------
    plugins : sequence of Plugin
        In the order of the numbers in a key.
    """

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self.numbers = [KeyNumbers(plugin) for plugin in plugins]
        # The parts by themselves: for a pod like no other they are looked up for each plugin.
        self._asked = [(n.plugin, n.pod_key, n.numbers.get, n.add) for n in self.numbers]
        self._doubting = [plugin for plugin in plugins if _may_depend_on_more(plugin)]
        self._templates: dict[int, tuple[PodSpec, ObjectMeta, Key]] = {}

    @property
    def is_full(self) -> bool:
        """Whether so many keys were seen that it is time to forget them."""
        return any(len(numbers.reads) > _MOST_NUMBERS for numbers in self.numbers)

    def clear(self) -> None:
        """Forget all keys; they get other numbers when they come again."""
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
        spec, metadata, key = known
        ours = pod.metadata
        if (
            spec is pod.spec
            and metadata.labels == ours.labels
            and metadata.namespace == ours.namespace
            and metadata.owner_references == ours.owner_references
        ):
            return key
        return None

    def key_of(self, pod: Pod) -> Key:
        """Return the key of a pod.

        Raises
        ------
        PluginFailure
            If a plugin fails to say what it reads.
        """
        key = self.template_key(pod)
        if key is None:
            found = []
            plugin = None
            try:
                for plugin, pod_key, find, add in self._asked:  # noqa: B007 - for the message
                    of_plugin = pod_key(pod)
                    number = find(of_plugin)
                    found.append(add(of_plugin) if number is None else number)
                key = tuple(found)
                for plugin in self._doubting:
                    if not plugin.key_is_of_template(pod):
                        return key
            except Exception as error:
                assert plugin is not None, "no plugin was asked"
                text = f"{raised(error)} (pod {pod.key})"
                raise PluginFailure(plugin, "PodKey", text) from error
            if len(self._templates) >= _MOST_TEMPLATES:
                self._templates.clear()
            self._templates[id(pod.spec)] = (pod.spec, pod.metadata, key)
        return key


def _may_depend_on_more(plugin: Plugin) -> bool:
    """Tell whether some keys of this plugin may depend on more than the pod's template."""
    return plugin.implements("key_is_of_template") or not plugin.implements("pod_key")

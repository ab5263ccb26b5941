"""Plugins, which complete or reject writes in order.

All plugins that mutate run first, then the object is validated, then all plugins that validate.

An object that an administrator copies from another cluster was admitted there: the plugins that
have completed or counted it do not run again. It has the annotation of its uid at the source.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/{interfaces,chain}.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from podwright.apimachinery.objects import SOURCE_UID
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import Plugin
from podwright.cluster.api.versions.resources import Resource
from podwright.cluster.store import GroupKind

_AT_THE_SOURCE: Final = frozenset({
    "DefaultStorageClass", "DefaultTolerationSeconds", "LimitRanger", "MutatingAdmissionPolicy",
    "PodGroupWorkloadExists", "Priority", "ResourceQuota", "RuntimeClass", "ServiceAccount",
    "TaintNodesByCondition",
})  # fmt: skip
"""The plugins that have taken part when a copied object was created at its source."""

_ADMINISTRATORS: Final = "system:masters"


class AdmissionChain:
    """Plugins in order.

    Parameters
    ----------
    plugins : sequence of Plugin
    """

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self.plugins = tuple(plugins)
        self._for_resource: dict[tuple[str, str], tuple[Plugin, ...]] = {}
        self._that_admit: dict[tuple[str, str], tuple[Plugin, ...]] = {}
        self._that_validate: dict[tuple[str, str], tuple[Plugin, ...]] = {}

    def plugins_for(self, resource: Resource) -> tuple[Plugin, ...]:
        """Return the plugins that know of the writes of a resource."""
        key = (resource.group, resource.plural)
        found = self._for_resource.get(key)
        if found is None:
            found = tuple(
                each for each in self.plugins if each.resources is None or key in each.resources
            )
            self._for_resource[key] = found
            self._that_admit[key] = tuple(
                each for each in found if type(each).admit is not Plugin.admit
            )
            self._that_validate[key] = tuple(
                each for each in found if type(each).validate is not Plugin.validate
            )
        return found

    def admit(self, attributes: Attributes) -> None:
        """Run the mutating part of all plugins, twice if a policy changes the object."""
        plugins = self._of(attributes, self._that_admit)
        for plugin in plugins:
            plugin.admit(attributes)
        state = attributes.reinvocation
        if state.is_required:
            state.is_second = True
            for plugin in plugins:
                plugin.admit(attributes)

    def validate(self, attributes: Attributes) -> None:
        """Run the validating part of all plugins."""
        for plugin in self._of(attributes, self._that_validate):
            plugin.validate(attributes)

    def _of(
        self, attributes: Attributes, of_step: Mapping[tuple[str, str], tuple[Plugin, ...]]
    ) -> Sequence[Plugin]:
        """Return the plugins that do something in a step."""
        resource = attributes.resource
        self.plugins_for(resource)
        plugins = of_step[resource.group, resource.plural]
        if not _was_admitted(attributes):
            return plugins
        return [each for each in plugins if each.name not in _AT_THE_SOURCE]

    @property
    def template_kinds(self) -> frozenset[GroupKind]:
        """The kinds of the objects that decisions about templates depend on."""
        return frozenset().union(*(each.template_kinds for each in self.plugins))

    def decides_by_template(self, attributes: Attributes) -> bool:
        """Whether what the plugins decided about an admitted new object holds for its template."""
        plugins = self.plugins_for(attributes.resource)
        return all(each.decides_by_template(attributes) for each in plugins)

    def decides_by_shape(self, attributes: Attributes) -> bool:
        """Whether what the plugins decided about an admitted new pod holds for those alike."""
        plugins = self.plugins_for(attributes.resource)
        return all(each.decides_by_shape(attributes) for each in plugins)


def _was_admitted(attributes: Attributes) -> bool:
    """Whether an administrator creates a copy of an object that another cluster has admitted."""
    if attributes.operation != "CREATE" or attributes.subresource or attributes.object is None:
        return False
    annotations = attributes.object.get("metadata", {}).get("annotations")
    if not isinstance(annotations, dict) or SOURCE_UID not in annotations:
        return False
    return _ADMINISTRATORS in attributes.user.groups

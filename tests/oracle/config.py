"""A KubeSchedulerConfiguration as profiles: the plugins of each point, weights and arguments.

Upstream: pkg/scheduler/apis/config/v1/default_plugins.go (mergePluginSet) and

pkg/scheduler/framework/runtime/framework.go (expandMultiPointPlugins).
"""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]

DEFAULTS: dict[str, int] = {
    "SchedulingGates": 0,
    "PrioritySort": 0,
    "NodeUnschedulable": 0,
    "NodeName": 0,
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodePorts": 0,
    "NodeResourcesFit": 1,
    "VolumeRestrictions": 0,
    "NodeVolumeLimits": 0,
    "VolumeBinding": 0,
    "VolumeZone": 0,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "DefaultPreemption": 0,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "DefaultBinder": 0,
    "NodeDeclaredFeatures": 0,
}
"""The default multiPoint plugins, in order, with their weights."""

_FILTERS = (
    "NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding "
    "VolumeZone PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures"
)

EXTENDS: dict[str, frozenset[str]] = {
    point: frozenset(names.split())
    for point, names in {
        "preEnqueue": "SchedulingGates DynamicResources DefaultPreemption",
        "queueSort": "PrioritySort",
        "preFilter": _FILTERS,
        "filter": f"NodeUnschedulable NodeName TaintToleration {_FILTERS}",
        "postFilter": "DynamicResources DefaultPreemption",
        "preScore": "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding "
        "PodTopologySpread InterPodAffinity NodeResourcesBalancedAllocation",
        "score": "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread "
        "InterPodAffinity DynamicResources NodeResourcesBalancedAllocation ImageLocality",
        "reserve": "VolumeBinding DynamicResources",
        "permit": "",
        "preBind": "VolumeBinding DynamicResources",
        "bind": "DefaultBinder",
        "postBind": "",
    }.items()
}
"""The plugins that implement each extension point."""


class Profile:
    """The enabled plugins of one scheduler name."""

    def __init__(self, document: Document, extenders: list[Document]) -> None:
        self.scheduler_name: str = document.get("schedulerName") or "default-scheduler"
        plugins = document.get("plugins") or {}
        multi_point = _merge_defaults(plugins.get("multiPoint") or {})
        self.weights: dict[str, int] = {}
        self.points = {
            point: self._expand(point, plugins.get(point) or {}, multi_point) for point in EXTENDS
        }
        self.args: dict[str, Document] = {
            one["name"]: one.get("args") or {} for one in document.get("pluginConfig") or []
        }

        self.needs_choice = bool(self.points["score"]) or any(
            extender.get("filterVerb") or extender.get("prioritizeVerb") for extender in extenders
        )
        """Whether the search continues after the first feasible node."""

    def _expand(self, point: str, specific: Document, multi_point: dict[str, int]) -> list[str]:
        """Return the plugins of a point: overrides, multiPoint, then the other specific ones."""
        enabled = {one["name"]: one.get("weight") or 0 for one in specific.get("enabled") or []}
        disabled = {one["name"] for one in specific.get("disabled") or []}
        general: list[str] = []
        if "*" not in disabled:
            general = [
                name for name in multi_point if name in EXTENDS[point] and name not in disabled
            ]
        overrides = [name for name in enabled if name in general]
        rest = [name for name in enabled if name not in general]
        order = overrides + [name for name in general if name not in enabled] + rest
        if point == "score":
            for name in order:
                weight = enabled[name] if name in enabled else multi_point[name]
                self.weights[name] = weight or 1
        return order


def _merge_defaults(user: Document) -> dict[str, int]:
    """Merge the user's multiPoint set into the defaults; an entry of the same name replaces one."""
    enabled = {one["name"]: one.get("weight") or 0 for one in user.get("enabled") or []}
    disabled = {one["name"] for one in user.get("disabled") or []}
    merged: dict[str, int] = {}
    if "*" not in disabled:
        for name, weight in DEFAULTS.items():
            if name not in disabled:
                merged[name] = enabled.get(name, weight)
    for name, weight in enabled.items():
        merged.setdefault(name, weight)
    return merged


def load_profiles(config: Document | None) -> dict[str, Profile]:
    """Return the profiles by scheduler name."""
    documents = (config or {}).get("profiles") or [{}]
    extenders = (config or {}).get("extenders") or []
    profiles = [Profile(document, extenders) for document in documents]
    return {profile.scheduler_name: profile for profile in profiles}

"""Configurations of the scheduler, drawn from a generator."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from tests.real_parts.decisions.generated_terms import HOSTNAME, INTEGERS, ZONE, draw_node_affinity

Document = dict[str, Any]

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
_SCORES = (
    "NodeResourcesFit", "NodeResourcesBalancedAllocation", "NodeAffinity", "InterPodAffinity",
    "PodTopologySpread", "TaintToleration", "ImageLocality", "VolumeBinding",
)  # fmt: skip
_FILTERS = (
    "NodeResourcesFit", "NodePorts", "NodeAffinity", "InterPodAffinity", "PodTopologySpread",
    "TaintToleration", "NodeUnschedulable", "NodeName", "VolumeBinding", "NodeVolumeLimits",
    "VolumeZone", "VolumeRestrictions",
)  # fmt: skip
_RESOURCES = ("cpu", "memory", "ephemeral-storage", "example.com/gpu", "example.org/fpga", "pods")


def draw_configuration(random: Random) -> Document:
    """Return a KubeSchedulerConfiguration with one or two profiles."""
    names = random.choice([["default-scheduler"], ["default-scheduler", "batch"]])
    profiles = []
    for name in names:
        profile: Document = {"schedulerName": name}
        plugins = _plugins(random)
        if plugins:
            profile["plugins"] = plugins
        arguments = [draw(random) for draw in _ARGUMENTS if random.random() < 0.5]
        if arguments:
            profile["pluginConfig"] = arguments
        profiles.append(profile)
    kind = "KubeSchedulerConfiguration"
    return {"apiVersion": API_VERSION, "kind": kind, "profiles": profiles}


def _plugins(random: Random) -> Document:
    found: Document = {}
    if random.random() < 0.4:
        weighted = random.sample(_SCORES, random.randint(1, 4))
        found["score"] = {
            "disabled": [{"name": "*"}]
            if random.random() < 0.3
            else [{"name": n} for n in weighted],
            "enabled": [{"name": n, "weight": random.choice([1, 2, 7, 100])} for n in weighted],
        }
    if random.random() < 0.3:
        disabled = random.sample(_FILTERS, random.randint(1, 3))
        found["filter"] = {"disabled": [{"name": name} for name in disabled]}
    if random.random() < 0.2:
        # What a plugin prepares is then missing where it filters or scores.
        point = random.choice(["postFilter", "preFilter", "preScore"])
        name = "*" if point == "postFilter" else random.choice([*_FILTERS, *_SCORES])
        found[point] = {"disabled": [{"name": name}]}
    if random.random() < 0.15:
        found["multiPoint"] = {
            "enabled": [{"name": random.choice(_SCORES), "weight": random.choice([3, 5])}],
            "disabled": [{"name": random.choice(["ImageLocality", "NodePorts"])}],
        }
    return found


def _arguments(plugin: str, **values: Any) -> Document:
    return {"name": plugin, "args": {"apiVersion": API_VERSION, "kind": f"{plugin}Args"} | values}


def _resources(random: Random, *, weighted: bool) -> list[Document]:
    return [
        {"name": name, "weight": random.choice([1, 2, 5, 100]) if weighted else 1}
        for name in random.sample(_RESOURCES, random.randint(1, 4))
    ]


def _fit(random: Random) -> Document:
    values: Document = {}
    kind = random.choice(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"])
    strategy: Document = {"type": kind}
    if random.random() < 0.8:
        strategy["resources"] = _resources(random, weighted=True)
    if kind == "RequestedToCapacityRatio":
        points = sorted(random.sample(range(101), random.randint(1, 4)))
        shape = [{"utilization": point, "score": random.randint(0, 10)} for point in points]
        strategy["requestedToCapacityRatio"] = {"shape": shape}
    values["scoringStrategy"] = strategy
    if random.random() < 0.3:
        values["ignoredResources"] = ["example.com/gpu", "absent.example/x"]
    if random.random() < 0.2:
        values["ignoredResourceGroups"] = [random.choice(["example.com", "example.org"])]
    return _arguments("NodeResourcesFit", **values)


def _balanced(random: Random) -> Document:
    return _arguments(
        "NodeResourcesBalancedAllocation", resources=_resources(random, weighted=False)
    )


def _node_affinity(random: Random) -> Document:
    added = draw_node_affinity(random, ["n0", "n1", "n2"], INTEGERS)
    return _arguments("NodeAffinity", addedAffinity=added)


def _pod_affinity(random: Random) -> Document:
    return _arguments(
        "InterPodAffinity",
        hardPodAffinityWeight=random.choice([0, 1, 50, 100]),
        ignorePreferredTermsOfExistingPods=random.random() < 0.5,
    )


def _spreading(random: Random) -> Document:
    if random.random() < 0.2:
        return _arguments("PodTopologySpread", defaultingType="System")
    keys = random.sample([HOSTNAME, ZONE, "rack"], random.randint(0, 2))
    constraints = [
        {
            "maxSkew": random.randint(1, 3),
            "topologyKey": key,
            "whenUnsatisfiable": random.choice(["DoNotSchedule", "ScheduleAnyway"]),
        }
        for key in keys
    ]
    return _arguments("PodTopologySpread", defaultingType="List", defaultConstraints=constraints)


def _volumes(random: Random) -> Document:
    return _arguments("VolumeBinding", bindTimeoutSeconds=random.choice([1, 600]))


_ARGUMENTS = (_fit, _balanced, _node_affinity, _pod_affinity, _spreading, _volumes)

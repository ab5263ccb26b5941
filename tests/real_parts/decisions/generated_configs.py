"""Files of the scheduler's configuration, drawn from a seed, with odd values among others."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final

Document = dict[str, Any]

_PLUGINS: Final = (
    "SchedulingGates", "PrioritySort", "NodeUnschedulable", "NodeName", "TaintToleration",
    "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits",
    "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity", "DefaultPreemption",
    "NodeResourcesBalancedAllocation", "ImageLocality", "DefaultBinder", "DynamicResources", "*",
    "Unknown", "", "EBSLimits", "SelectorSpread",
)  # fmt: skip
_POINTS: Final = (
    "preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve",
    "permit", "preBind", "bind", "postBind", "multiPoint",
)  # fmt: skip
_INTEGERS: Final = (0, 1, 2, 5, 10, 100, 101, -1, 2147483647, None)
_DURATIONS: Final = ("15s", "10s", "2s", "0s", "-1s", "1h", "1.5s", "0", "100ms", None)
_KEYS: Final = ("zone", "a/b", "a/b/c", "", "-x", "kubernetes.io/hostname", "x" * 64)
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Odd", "")
_RESOURCES: Final = (
    "cpu",
    "memory",
    "example.com/gpu",
    "ephemeral-storage",
    "",
    "a b",
    "hugepages-2Mi",
)


def draw_config_case(seed: int) -> Document:
    """Return a case of family config."""
    return _Drawn(seed).case()


class _Drawn:
    def __init__(self, seed: int) -> None:
        self._random = Random(f"config {seed}")
        self._odd = self._random.choice([0.0, 0.02, 0.1])

    def case(self) -> Document:
        config: Document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
        }
        config |= self._some(
            0.12,
            {
                "parallelism": lambda: self._pick(_INTEGERS),
                "percentageOfNodesToScore": lambda: self._pick(_INTEGERS),
                "podInitialBackoffSeconds": lambda: self._pick(_INTEGERS),
                "podMaxBackoffSeconds": lambda: self._pick(_INTEGERS),
                "leaderElection": self._draw_leader_election,
                "clientConnection": self._draw_client_connection,
                "enableProfiling": lambda: self._pick([True, False]),
                "enableContentionProfiling": lambda: self._pick([True, False]),
                "delayCacheUntilActive": lambda: self._pick([True, False]),
            },
        )
        if self._chance(0.85):
            count = self._pick([1, 1, 1, 2, 3])
            config["profiles"] = [self._draw_profile(index) for index in range(count)]
        if self._chance(0.25):
            config["extenders"] = [self._draw_extender() for _ in range(self._pick([1, 1, 2]))]
        return {"family": "config", "file": json.dumps(config, indent=1), "gates": None}

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _pick(self, choices: Any) -> Any:
        return self._random.choice(list(choices))

    def _value(self, good: Any, odd: Any) -> Any:
        """Return one of the good values, and sometimes an odd one."""
        return self._pick(odd) if self._chance(self._odd) else self._pick(good)

    def _some(self, share: float, fields: dict[str, Callable[[], Any]]) -> Document:
        return {name: draw() for name, draw in fields.items() if self._chance(share)}

    def _draw_leader_election(self) -> Document:
        return self._some(
            0.5,
            {
                "leaderElect": lambda: self._pick([True, True, False]),
                "leaseDuration": lambda: self._pick(_DURATIONS),
                "renewDeadline": lambda: self._pick(_DURATIONS),
                "retryPeriod": lambda: self._pick(_DURATIONS),
                "resourceLock": lambda: self._value(["leases"], ["endpoints", "", None]),
                "resourceName": lambda: self._value(["a"], [""]),
                "resourceNamespace": lambda: self._value(["a"], [""]),
            },
        )

    def _draw_client_connection(self) -> Document:
        return self._some(
            0.5,
            {
                "qps": lambda: self._pick([0, 50, 0.5, -1]),
                "burst": lambda: self._pick([0, 100, -1, -2]),
                "contentType": lambda: self._pick(["application/json", ""]),
                "acceptContentTypes": lambda: self._pick(["application/json", ""]),
            },
        )

    # Profiles

    def _draw_profile(self, index: int) -> Document:
        profile: Document = {}
        if self._chance(0.9):
            names = ["default-scheduler" if index == 0 else f"s{index}"]
            profile["schedulerName"] = self._value(names, ["", "default-scheduler", "a b", None])
        if self._chance(0.15):
            profile["percentageOfNodesToScore"] = self._pick(_INTEGERS)
        if self._chance(0.5):
            count = self._random.randint(0, 3)
            points = self._random.sample(_POINTS, count)
            profile["plugins"] = {point: self._draw_set() for point in points}
        if self._chance(0.6):
            draws = self._args()
            names = self._random.sample(list(draws), self._random.randint(1, 3))
            if self._chance(self._odd):
                names.append(names[0])
            profile["pluginConfig"] = [{"name": name, "args": draws[name]()} for name in names]
            if self._chance(self._odd):
                profile["pluginConfig"].append({"name": self._pick(_PLUGINS), "args": {}})
        return profile

    def _draw_set(self) -> Document:
        return self._some(0.6, {"enabled": self._draw_plugins, "disabled": self._draw_plugins})

    def _draw_plugins(self) -> list[Document]:
        found = []
        for _ in range(self._random.randint(0, 3)):
            plugin: Document = {"name": self._value(_PLUGINS[:20], _PLUGINS)}
            if self._chance(0.3):
                plugin["weight"] = self._value([1, 2, 10], [0, -1, 100, 101, 2147483647])
            found.append(plugin)
        return found

    def _args(self) -> dict[str, Callable[[], Document]]:
        return {
            "DefaultPreemption": lambda: self._some(
                0.7,
                {
                    "minCandidateNodesPercentage": lambda: self._pick(_INTEGERS),
                    "minCandidateNodesAbsolute": lambda: self._pick(_INTEGERS),
                },
            ),
            "InterPodAffinity": lambda: self._some(
                0.7,
                {
                    "hardPodAffinityWeight": lambda: self._pick(_INTEGERS),
                    "ignorePreferredTermsOfExistingPods": lambda: self._pick([True, False, None]),
                },
            ),
            "NodeAffinity": lambda: self._some(0.9, {"addedAffinity": self._draw_affinity}),
            "NodeResourcesFit": self._draw_fit,
            "NodeResourcesBalancedAllocation": lambda: self._some(
                0.9, {"resources": self._draw_resources}
            ),
            "PodTopologySpread": self._draw_spread,
            "VolumeBinding": lambda: self._some(
                0.5,
                {
                    "bindTimeoutSeconds": lambda: self._pick([*_INTEGERS, 600]),
                    "shape": self._draw_shape,
                },
            ),
            "DynamicResources": lambda: self._some(
                0.7, {"filterTimeout": lambda: self._pick(_DURATIONS)}
            ),
        }

    def _draw_affinity(self) -> Document | None:
        if self._chance(0.05):
            return None
        return self._some(
            0.6,
            {
                "requiredDuringSchedulingIgnoredDuringExecution": lambda: {
                    "nodeSelectorTerms": self._list(self._draw_term)
                },
                "preferredDuringSchedulingIgnoredDuringExecution": lambda: self._list(
                    lambda: {
                        "weight": self._value([1, 10, 100], [0, -1, 101]),
                        "preference": self._draw_term(),
                    }
                ),
            },
        )

    def _list(self, draw: Callable[[], Any]) -> list[Any]:
        return [draw() for _ in range(self._value([1, 1, 2], [0]))]

    def _draw_term(self) -> Document:
        return self._some(
            0.6,
            {
                "matchExpressions": lambda: self._list(self._draw_expression),
                "matchFields": lambda: self._list(self._draw_field),
            },
        )

    def _draw_expression(self) -> Document:
        operator = self._value(_OPERATORS[:4], _OPERATORS)
        found: Document = {"key": self._value(["zone", "a/b"], _KEYS), "operator": operator}
        if (operator in ("In", "NotIn")) != self._chance(self._odd):
            found["values"] = self._value([["a"], ["a", "b"]], [[], ["1"], ["-"], ["x" * 64], [""]])
        if operator in ("Gt", "Lt"):
            found["values"] = self._value([["1"]], [["a"], ["1", "2"], [], ["1.5"]])
        return found

    def _draw_field(self) -> Document:
        return {
            "key": self._value(["metadata.name"], ["metadata.namespace", "", "spec.x"]),
            "operator": self._value(["In", "NotIn"], _OPERATORS),
            "values": self._value([["n1"]], [[], ["n1", "n2"], ["N1"], [""], ["a.b"]]),
        }

    def _draw_resources(self) -> list[Document]:
        found = []
        for _ in range(self._random.randint(0, 3)):
            resource: Document = {"name": self._value(_RESOURCES[:4], _RESOURCES)}
            if self._chance(0.8):
                resource["weight"] = self._value([1, 1, 5, 100], [0, -1, 101])
            found.append(resource)
        return found

    def _draw_shape(self) -> list[Document]:
        points = sorted(self._random.sample(range(101), self._random.randint(1, 3)))
        shape = [{"utilization": at, "score": self._random.randint(0, 10)} for at in points]
        if self._chance(self._odd * 2):
            field, value = self._pick(
                [("utilization", 101), ("utilization", -1), ("utilization", 50), ("score", 11),
                 ("score", -1), ("score", 100)]
            )  # fmt: skip
            self._pick(shape)[field] = value
        return shape if not self._chance(self._odd) else []

    def _draw_fit(self) -> Document:
        names = ["example.com/gpu", "cpu", "a/b"]
        return self._some(
            0.5,
            {
                "ignoredResources": lambda: self._list(
                    lambda: self._value(names, [*_KEYS, "a b", "example.com/*"])
                ),
                "ignoredResourceGroups": lambda: self._list(
                    lambda: self._value(["example.com", "a"], ["a/b", "", "-", "A", "x" * 300])
                ),
                "scoringStrategy": self._draw_strategy,
            },
        )

    def _draw_strategy(self) -> Document:
        kinds = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]
        found = self._some(
            0.8,
            {
                "type": lambda: self._value(kinds, ["", "Odd", None]),
                "resources": self._draw_resources,
            },
        )
        is_ratio = found.get("type") == "RequestedToCapacityRatio"
        if is_ratio != self._chance(self._odd):
            found["requestedToCapacityRatio"] = {"shape": self._draw_shape()}
        return found

    def _draw_spread(self) -> Document:
        found: Document = {}
        if self._chance(0.7):
            found["defaultingType"] = self._value(["List", "List", "System"], ["Odd", "", None])
        if found.get("defaultingType") == "List" or self._chance(self._odd):
            found["defaultConstraints"] = self._list(self._draw_constraint)
            if self._chance(self._odd):
                found["defaultConstraints"] *= 2
        return found

    def _draw_constraint(self) -> Document:
        actions = ["ScheduleAnyway", "DoNotSchedule"]
        found: Document = {
            "maxSkew": self._value([1, 2], [0, -1, None]),
            "topologyKey": self._value(["zone", "a/b"], _KEYS),
            "whenUnsatisfiable": self._value(actions, ["Odd", "", None]),
        }
        odd = {
            "labelSelector": lambda: self._pick([{}, {"matchLabels": {"a": "b"}}, None]),
            "minDomains": lambda: self._pick([0, 1, 2, -1, None]),
            "nodeAffinityPolicy": lambda: self._pick(["Honor", "Ignore", "Odd", ""]),
            "nodeTaintsPolicy": lambda: self._pick(["Honor", "Ignore", "Odd", ""]),
            "matchLabelKeys": lambda: self._pick([["a"], [], ["a", "a"], [""], ["-"]]),
        }
        if self._chance(self._odd * 2):
            found |= self._some(0.4, odd)
        if self._chance(self._odd):
            del found[self._pick(found)]
        return found

    # Extenders

    def _draw_extender(self) -> Document:
        verbs = ("filterVerb", "prioritizeVerb", "preemptVerb", "bindVerb")
        found: Document = {
            verb: self._value([verb], ["", None]) for verb in verbs if self._chance(0.5)
        }
        found["urlPrefix"] = self._value(["http://127.0.0.1:80/x", "https://a"], ["", ":", "a b"])
        found |= self._some(
            0.3,
            {
                "weight": lambda: self._value([1, 5], [0, -1]),
                "httpTimeout": lambda: self._pick(_DURATIONS),
                "nodeCacheCapable": lambda: self._pick([True, False]),
                "ignorable": lambda: self._pick([True, False]),
                "enableHTTPS": lambda: self._pick([True, False]),
                "managedResources": lambda: self._list(self._draw_managed),
            },
        )
        if "prioritizeVerb" in found and not self._chance(self._odd):
            found["weight"] = 1
        return found

    def _draw_managed(self) -> Document:
        names = ["example.com/a", "example.com/b"]
        found: Document = {
            "name": self._value(names, ["cpu", "", "a b", "kubernetes.io/x", "a/b/c"])
        }
        if self._chance(0.5):
            found["ignoredByScheduler"] = self._pick([True, False])
        return found

"""Changes of traces line by line, and files of columns with all that is wrong with them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from podwright.apimachinery.objects import GPU_COUNT, GPU_MILLI, InputError
from podwright.cluster.kubelets import RUN_DELAY
from podwright.simulation.world.inputs.frame_columns import Frame
from podwright.simulation.world.inputs.workload import POD_GROUP_LABEL
from podwright.simulation.world.timing.distributions import uniform
from podwright.simulation.world.traces.columns_file import (
    ColumnSource,
    EventRows,
    TraceColumns,
    read_columns,
    shipped_columns,
)
from podwright.simulation.world.traces.trace_changes import (
    TRACE_STREAM,
    anonymize,
    cut,
    merge,
    run_ns_of,
    scale,
)
from podwright.simulation.world.traces.trace_lines import TraceLine
from podwright.simulation.world.traces.trace_model import fit
from podwright.simulation.world.traces.trace_output import _table, describe

SECOND = 1_000_000_000


def pod(name: str = "a", run: str = "", kind: str = "Pod", **metadata: Any) -> dict[str, Any]:
    """Return a pod of two containers that runs for a time."""
    annotations = {"annotations": {RUN_DELAY: run}} if run else {}
    containers = [
        {
            "name": f"c{index}",
            "image": "secret",
            "command": ["secret"],
            "resources": {
                "requests": {"cpu": cpu, "memory": "1Mi", "example.com/gpu": "1"},
                "limits": {"cpu": "1"},
                "claims": [],
            },
        }
        for index, cpu in enumerate(("250m", "1"))
    ]
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "n", **annotations, **metadata},
        "spec": {"containers": containers},
    }


def at(second: float, applied: dict[str, Any]) -> TraceLine:
    return TraceLine(round(second * SECOND), {"apply": applied})


GROUP = {"apiVersion": "v1", "kind": "PodGroup", "metadata": {"name": "g", "namespace": "n"}}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}}


def shown(lines: Any) -> list[tuple[float, str, str]]:
    """Return the second, the name and the run time of each line."""
    return [
        (
            line.at_ns / SECOND,
            line.applied["metadata"]["name"],
            (line.applied["metadata"].get("annotations") or {}).get(RUN_DELAY, ""),
        )
        for line in lines
    ]


TRACE = [
    at(0, CONFIG),
    at(0, pod("early", "10s")),
    at(1, pod("endless")),
    at(2, pod("exact", "8s")),
    at(10, pod("first", "3s")),
    at(19, GROUP),
    at(20, pod("last", "3s")),
]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [(0, "m", ""), (0, "early", "10s"), (1, "endless", ""), (2, "exact", "8s"),
              (10, "first", "3s"), (19, "g", ""), (20, "last", "3s")]),
        # The end is not in the part; other objects stay for later pods.
        ({"from_ns": 10 * SECOND, "to_ns": 20 * SECOND},
         [(0, "m", ""), (0, "first", "3s"), (9, "g", "")]),
        ({"from_ns": 10 * SECOND, "to_ns": 20 * SECOND + 1},
         [(0, "m", ""), (0, "first", "3s"), (9, "g", ""), (10, "last", "3s")]),
        # What ends with the start of the part does not run in it.
        ({"from_ns": 10 * SECOND, "to_ns": 12 * SECOND, "with_running": True},
         [(0, "m", ""), (0, "endless", ""), (0, "first", "3s")]),
        ({"from_ns": 9 * SECOND, "to_ns": 10 * SECOND, "with_running": True},
         [(0, "m", ""), (0, "early", "1s"), (0, "endless", ""), (0, "exact", "1s")]),
        ({"first": 2}, [(0, "m", ""), (0, "early", "10s"), (1, "endless", "")]),
        ({"first": 1, "from_ns": 10 * SECOND}, [(0, "m", ""), (0, "first", "3s"), (9, "g", "")]),
        ({"first": 0}, [(0, "m", "")]),
        ({"share": 0.0}, [(0, "m", ""), (19, "g", "")]),
        ({"share": 1.0, "to_ns": SECOND}, [(0, "m", ""), (0, "early", "10s")]),
    ],
)  # fmt: skip
def test_a_part_of_a_trace(options, expected):
    assert shown(cut(TRACE, **options)) == expected


def test_the_draws_of_a_part_are_those_of_the_places_of_pods():
    pods = [at(number, pod(f"p{number}")) for number in range(200)]
    drawn = {name for _, name, _ in shown(cut(pods, share=0.5, seed=3))}
    assert 70 < len(drawn) < 130
    # A pod whose draw is the share itself is left out.
    share = uniform(3, TRACE_STREAM, 1)
    assert shown(cut(pods[:1], share=share, seed=3)) == []
    assert len(shown(cut(pods[:1], share=share + 1e-9, seed=3))) == 1
    # Other objects in between are not counted, and a start changes no draw.
    mixed = [line for each in pods for line in (at(0, CONFIG), each)]
    assert {name for _, name, _ in shown(cut(mixed, share=0.5, seed=3))} - {"m"} == drawn
    later = {name for _, name, _ in shown(cut(pods, share=0.5, seed=3, from_ns=50 * SECOND))}
    assert later == {name for name in drawn if int(name[1:]) >= 50}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [(4, "a", "10s"), (6, "m", "")]),
        ({"rate": 2}, [(2, "a", "10s"), (3, "m", "")]),
        ({"requests": 2}, [(4, "a", "10s"), (6, "m", "")]),
        ({"rate": 0.5}, [(8, "a", "10s"), (12, "m", "")]),
        ({"pods": 0}, [(6, "m", "")]),
        ({"pods": 3}, [(4, "a", "10s"), (4, "a-copy-1", "10s"), (4, "a-copy-2", "10s"),
                       (6, "m", "")]),
        ({"duration": 0.25}, [(4, "a", "2.5s"), (6, "m", "")]),
        ({"duration": 3, "rate": 4}, [(1, "a", "30s"), (1.5, "m", "")]),
    ],
)  # fmt: skip
def test_a_trace_with_another_load(options, expected):
    assert shown(scale([at(4, pod("a", "10s")), at(6, CONFIG)], **options)) == expected


def test_what_follows_another_object_is_scaled_as_well():
    lines = [at(2, CONFIG), at(4, pod("a")), at(6, CONFIG), at(8, pod("b"))]
    assert shown(scale(lines, rate=2)) == [
        (1, "m", ""), (2, "a", ""), (3, "m", ""), (4, "b", ""),
    ]  # fmt: skip
    names = [f"p{number}" for number in range(40)]
    pods = [at(number, pod(name)) for number, name in enumerate(names)]
    mixed = [line for each in pods for line in (at(0, CONFIG), each)]
    drawn = [name for _, name, _ in shown(scale(pods, pods=1.5, seed=3))]
    assert [name for _, name, _ in shown(scale(mixed, pods=1.5, seed=3)) if name != "m"] == drawn
    assert 40 < len(drawn) < 80


def test_a_run_time_stays_as_it_is_written_without_another_duration():
    for options, run in (({"rate": 2}, "90s"), ({"duration": 2}, "3m0s")):
        ((_, _, found),) = shown(scale([at(4, pod("a", "90s"))], **options))
        assert found == run


def test_pods_without_an_end_have_none_in_another_load():
    assert shown(scale([at(4, pod("a"))], duration=3)) == [(4, "a", "")]


@pytest.mark.parametrize(
    ("factor", "requests"),
    [
        (1, {"cpu": "250m", "memory": "1Mi", "example.com/gpu": "1"}),
        (2, {"cpu": "500m", "memory": "2097152", "example.com/gpu": "1"}),
        (0.1, {"cpu": "25m", "memory": "104858", "example.com/gpu": "1"}),
        (0.001, {"cpu": "1m", "memory": "1049", "example.com/gpu": "1"}),
        (1.5, {"cpu": "375m", "memory": "1572864", "example.com/gpu": "1"}),
    ],
)
def test_requests_are_scaled_in_thousandths_and_bytes(factor, requests):
    given = pod("a")
    (line,) = scale([at(0, given)], requests=factor)
    first, second = line.applied["spec"]["containers"]
    assert first["resources"]["requests"] == requests
    assert first["resources"]["limits"] == {"cpu": "1" if factor == 1 else f"{factor * 1000:g}m"}
    assert first["resources"]["claims"] == []
    assert (second["name"], second["image"]) == ("c1", "secret")
    # The line that was given is as it was.
    assert given == pod("a")


def needing(cpu: str) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}}


@pytest.mark.parametrize(
    ("spec", "scaled", "cores"),
    [
        # The initialization needs more than what runs afterwards.
        (
            {"initContainers": [needing("3")], "containers": [needing("1")]},
            {"initContainers": [needing("1500m")], "containers": [needing("500m")]},
            3,
        ),
        # The request of the pod as a whole counts, whatever its containers request.
        (
            {**needing("5"), "containers": [needing("1")]},
            {**needing("2500m"), "containers": [needing("500m")]},
            5,
        ),
        # The overhead of a runtime does not depend on the pod.
        (
            {"containers": [needing("1"), {"name": "c"}], "overhead": {"cpu": "1"}},
            {"containers": [needing("500m"), {"name": "c"}], "overhead": {"cpu": "1"}},
            2,
        ),
        ({"containers": [{"resources": {}}]}, {"containers": [{"resources": {}}]}, None),
    ],
    ids=["init container", "pod-level", "overhead", "nothing"],
)
def test_a_pod_requests_what_the_scheduler_counts_and_all_of_it_is_scaled(spec, scaled, cores):
    lines = [at(0, pod() | {"spec": spec}), at(1, pod() | {"spec": spec})]
    (line, _) = scale(lines, requests=0.5)
    assert line.applied["spec"] == scaled
    figures = describe(lines).figures
    assert (figures["cpu"].peak if "cpu" in figures else None) == (cores and 2 * cores)
    assert fit(lines).sizes[0].requests == ({"cpu": str(cores)} if cores else {})
    _, row, _ = _table(iter(lines), Counter())
    assert row.split(b",")[1] == str((cores or 0) * 1000).encode()


def test_how_long_a_pod_runs():
    assert [run_ns_of(pod(run=text)) for text in ("", "90s", "0s")] == [None, 90 * SECOND, 0]
    assert run_ns_of({"metadata": {}}) is None
    with pytest.raises(InputError) as error:
        run_ns_of(pod("x", "soon"))
    assert str(error.value).startswith(f"pod x: metadata.annotations[{RUN_DELAY}]: ")


def test_traces_are_merged_by_time_and_the_first_comes_first():
    one = [at(0, pod("a", labels={POD_GROUP_LABEL: "g", "x": "y"})), at(2, pod("c"))]
    two = [at(0, pod("b")), at(1, GROUP), at(2, CONFIG), TraceLine(3 * SECOND, {"delete": "pod/b"})]
    merged = [*merge([one, two], ["x", "y"])]
    names = [(line.applied.get("metadata") or {}).get("name") for line in merged]
    assert names == ["x-a", "y-b", "y-g", "x-c", "m", None]
    assert [line.at_ns // SECOND for line in merged] == [0, 0, 1, 2, 2, 3]
    assert merged[0].applied["metadata"]["labels"] == {POD_GROUP_LABEL: "x-g", "x": "y"}
    assert merged[-2] is two[-2]
    assert [*merge([one, two])] == [one[0], two[0], two[1], one[1], two[2], two[3]]
    # A name may come back in one trace, and in another namespace or kind.
    again = [at(5, pod("a")), at(6, pod("a"))]
    other = [at(5, pod("a", namespace="o")), at(7, pod("a", kind="PodGroup"))]
    assert len([*merge([again, other])]) == 4
    with pytest.raises(InputError) as error:
        [*merge([one, two, [at(9, pod("b"))]])]
    assert str(error.value) == (
        "trace 3: Pod n/b is also in trace 2; give the names of each trace a prefix: --prefix a"
        " --prefix b"
    )


def near_its_group(name: str, group: str = "g") -> dict[str, Any]:
    """Return a pod of a group whose selectors name the group."""
    given = pod(name, labels={POD_GROUP_LABEL: group})
    given["spec"]["affinity"] = {"podAffinity": [{"labelSelector": of_group(group)}]}
    return given


def of_group(*groups: str) -> dict[str, Any]:
    expressions = [
        {"key": POD_GROUP_LABEL, "operator": "In", "values": [*groups]},
        {"key": POD_GROUP_LABEL, "operator": "Exists"},
    ]
    return {"matchLabels": {POD_GROUP_LABEL: groups[0]}, "matchExpressions": expressions}


def test_selectors_of_groups_select_them_under_their_new_names():
    lines = [at(0, near_its_group("a")), at(1, GROUP), at(2, near_its_group("b", "other"))]

    def selectors(found):
        terms = [
            line.applied["spec"]["affinity"]["podAffinity"]
            for line in found
            if line.applied["kind"] == "Pod"
        ]
        return [term["labelSelector"] for (term,) in terms]

    merged = [*merge([lines, []], ["x", "y"])]
    assert selectors(merged) == [of_group("x-g"), of_group("x-other")]
    anonymous = [*anonymize(lines)]
    assert selectors(anonymous) == [of_group("group-0"), of_group("group-1")]
    assert anonymous[1].applied["metadata"]["name"] == "group-0"
    assert [*merge([lines, []])] == lines


def test_an_anonymized_trace_as_a_whole():
    labels = {"team": "red", POD_GROUP_LABEL: "g", "kubernetes.io/arch": "arm64"}
    annotations = {RUN_DELAY: "5s", "secret": "secret"}
    given = pod("secret", labels=labels, annotations=annotations)
    expressions = [
        {"key": "team", "operator": "In", "values": ["red", "blue"]},
        {"key": "size", "operator": "Gt", "values": ["4"]},
        {"key": "team", "operator": "Exists"},
        {"key": "kubernetes.io/arch", "operator": "NotIn", "values": ["arm64"]},
    ]
    given["spec"] |= {
        "initContainers": [{"name": "i", "image": "secret", "ports": [{"hostPort": 1}]}],
        "nodeSelector": {"team": "red", "kubernetes.io/os": "linux"},
        "schedulingGates": [{"name": "wait"}],
        "affinity": {"x": [{"matchExpressions": expressions, "matchFields": expressions[:1]}]},
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "rack",
                "labelSelector": {"matchLabels": {"team": "red"}},
                "matchLabelKeys": ["team"],
                "namespaces": ["n", "o"],
            }
        ],
        "tolerations": [{"key": "secretless"}],
        "priority": 3,
        "volumes": ["secret"],
        "serviceAccountName": "secret",
    }
    group = GROUP | {"spec": {"minMember": 4, "x": "secret"}}
    notes: list[str] = []
    lines = [at(1, given), at(2, group), at(3, GROUP), at(4, CONFIG), at(4, CONFIG)]
    found = [*anonymize(lines, warn=notes.append)]
    assert [line.at_ns // SECOND for line in found] == [1, 2, 3]
    resources = [
        {name: each["resources"][name] for name in ("requests", "limits")}
        for each in given["spec"]["containers"]
    ]
    assert found[0].applied == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "pod-0",
            "namespace": "namespace-0",
            "labels": {
                "label-0": "value-0", POD_GROUP_LABEL: "group-0", "kubernetes.io/arch": "arm64",
            },
            "annotations": {RUN_DELAY: "5s"},
        },
        "spec": {
            "affinity": {
                "x": [
                    {
                        "matchExpressions": [
                            {"key": "label-0", "operator": "In", "values": ["value-0", "value-1"]},
                            {"key": "label-1", "operator": "Gt", "values": ["4"]},
                            {"key": "label-0", "operator": "Exists"},
                            {
                                "key": "kubernetes.io/arch",
                                "operator": "NotIn",
                                "values": ["arm64"],
                            },
                        ],
                        "matchFields": [
                            {"key": "label-0", "operator": "In", "values": ["value-0", "value-1"]}
                        ],
                    }
                ]
            },
            "nodeSelector": {"label-0": "value-0", "kubernetes.io/os": "linux"},
            "priority": 3,
            "schedulingGates": [{"name": "gate-0"}],
            "tolerations": [{"key": "secretless"}],
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "label-2",
                    "labelSelector": {"matchLabels": {"label-0": "value-0"}},
                    "matchLabelKeys": ["label-0"],
                    "namespaces": ["namespace-0", "namespace-1"],
                }
            ],
            "initContainers": [{"name": "i0", "image": "image", "ports": [{"hostPort": 1}]}],
            "containers": [
                {"name": f"c{index}", "image": "image", "resources": each}
                for index, each in enumerate(resources)
            ],
        },
    }  # fmt: skip
    # The group of the pod has the name that its label has.
    assert [line.applied for line in found[1:]] == [
        {
            "apiVersion": "v1",
            "kind": "PodGroup",
            "metadata": {"name": "group-0", "namespace": "namespace-0"},
            **spec,
        }
        for spec in ({"spec": {"minMember": 4}}, {})
    ]
    assert notes == [f"2 of ConfigMap left out: {ONLY}"]


ONLY = "only pods, their groups, namespaces and priority classes are anonymized"


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        # Fields that hold no names.
        ({"hostNetwork": True}, {"hostNetwork": True}),
        ({"schedulerName": "second"}, {"schedulerName": "second"}),
        ({"resources": {"requests": {"cpu": "2"}}}, {"resources": {"requests": {"cpu": "2"}}}),
        # Names of other objects.
        ({"priorityClassName": "high"}, {"priorityClassName": "priority-0"}),
        (
            {"priorityClassName": "system-node-critical"},
            {"priorityClassName": "system-node-critical"},
        ),
        (
            {"schedulingGroup": {"podGroupName": "g"}},
            {"schedulingGroup": {"podGroupName": "group-0"}},
        ),
        ({"resourceClaims": [{"name": "gpu", "resourceClaimName": "secret"}]}, {}),
        # Keys that each cluster has stay; their values are names.
        (
            {"nodeSelector": {
                "kubernetes.io/hostname": "n", "topology.kubernetes.io/zone": "z",
                "topology.kubernetes.io/region": "r", "node.kubernetes.io/instance-type": "t",
                "kubernetes.io/metadata.name": "team", "rack": "n",
            }},
            {"nodeSelector": {
                "kubernetes.io/hostname": "value-0", "topology.kubernetes.io/zone": "value-1",
                "topology.kubernetes.io/region": "value-2",
                "node.kubernetes.io/instance-type": "value-3",
                "kubernetes.io/metadata.name": "namespace-1", "label-0": "value-0",
            }},
        ),
        (
            {"affinity": {"matchFields": [
                {"key": "metadata.name", "operator": "In", "values": ["n"]}
            ]}},
            {"affinity": {"matchFields": [
                {"key": "metadata.name", "operator": "In", "values": ["value-0"]}
            ]}},
        ),
        (
            {"affinity": {
                "topologyKey": "topology.kubernetes.io/zone", "mismatchLabelKeys": ["a", "b"],
                "matchLabelKeys": ["b"],
            }},
            {"affinity": {
                "topologyKey": "topology.kubernetes.io/zone",
                "mismatchLabelKeys": ["label-0", "label-1"], "matchLabelKeys": ["label-1"],
            }},
        ),
    ],
    ids=lambda part: None if part else "nothing",
)  # fmt: skip
def test_an_anonymized_pod_requests_what_it_did(given, changed):
    (found,) = anonymize([at(0, pod() | {"spec": given})])
    assert found.applied.get("spec", {}) == changed


def test_an_anonymized_container_has_ports_and_requests():
    container = {
        "name": "secret",
        "restartPolicy": "Always",
        "ports": [{"name": "secret", "containerPort": 1, "hostPort": 2, "protocol": "UDP"}],
        "resources": {"claims": [{"name": "gpu"}], "limits": {"cpu": "1"}},
    }
    claims = [{"name": "gpu", "resourceClaimName": "secret"}]
    spec = {"resourceClaims": claims, "initContainers": [container], "containers": [container]}
    notes: list[str] = []
    (found,) = anonymize([at(0, pod() | {"spec": spec})], warn=notes.append)
    kept = {
        "image": "image",
        "restartPolicy": "Always",
        "ports": [{"containerPort": 1, "hostPort": 2, "protocol": "UDP"}],
        "resources": {"limits": {"cpu": "1"}},
    }
    # All containers of a pod have different names.
    assert found.applied["spec"] == {
        "initContainers": [{"name": "i0"} | kept],
        "containers": [{"name": "c0"} | kept],
    }
    assert notes == [f"1 of resource claims of a Pod left out: {ONLY}"]


def test_groups_of_kubernetes_keep_their_members():
    group = GROUP | {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 2}},
            "disruptionMode": "PodGroup",
            "schedulingConstraints": {"topology": [{"key": "rack"}]},
            "priorityClassName": "high",
            "podGroupTemplateRef": {"workload": {"workloadName": "secret"}},
        },
    }
    member = pod() | {"spec": {"schedulingGroup": {"podGroupName": "g"}}}
    lines = [at(0, group), at(0, member)]
    changed, of_member = [line.applied for line in anonymize(lines)]
    assert changed["metadata"]["name"] == "group-0"
    assert changed["spec"] == {
        "schedulingPolicy": {"gang": {"minCount": 2}},
        "disruptionMode": "PodGroup",
        "schedulingConstraints": {"topology": [{"key": "label-0"}]},
        "priorityClassName": "priority-0",
    }
    assert of_member["spec"] == {"schedulingGroup": {"podGroupName": "group-0"}}
    changed, of_member = [line.applied for line in merge([lines, []], ["x", "y"])]
    assert changed["metadata"]["name"] == "x-g"
    assert of_member["spec"] == {"schedulingGroup": {"podGroupName": "x-g"}}


def test_deletions_of_pods_follow_their_names():
    def deletion(second: float, what: str, **fields: Any) -> TraceLine:
        return TraceLine(round(second * SECOND), {"delete": what, **fields})

    lines = [
        at(0, pod("a")),
        at(0, pod("a", namespace="default")),
        deletion(1, "pod/a", namespace="n", gracePeriodSeconds=0),
        deletion(2, "pods/a"),
        deletion(3, "deployment/a"),
        deletion(4, "pod/of-a-controller"),
    ]
    notes: list[str] = []
    assert [*anonymize(lines, warn=notes.append)][2:] == [
        deletion(1, "pod/pod-0", namespace="namespace-0", gracePeriodSeconds=0),
        deletion(2, "pod/pod-1", namespace="namespace-1"),
    ]
    assert notes == [f"2 of delete left out: {ONLY}"]
    assert [*merge([lines, []], ["x", "y"])][2:] == [
        deletion(1, "pod/x-a", namespace="n", gracePeriodSeconds=0),
        deletion(2, "pod/x-a"),  # in its namespace
        deletion(3, "deployment/a"),
        deletion(4, "pod/of-a-controller"),
    ]


def test_a_name_that_has_no_prefix_is_taken():
    lines = [at(0, CONFIG)]
    with pytest.raises(InputError) as error:
        [*merge([lines, lines], ["x", "y"])]
    assert str(error.value) == (
        "trace 2: ConfigMap default/m is also in trace 1; only names of pods and groups have"
        " prefixes: rename it in one trace"
    )


def test_traces_share_equal_objects_without_namespaces():
    high = {"apiVersion": "v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 5}
    assert [*merge([[at(0, high)], [at(1, high)]])] == [at(0, high), at(1, high)]
    with pytest.raises(InputError, match="trace 2: PriorityClass high is also in trace 1; only"):
        [*merge([[at(0, high)], [at(1, high | {"value": 6})]])]


def test_the_namespace_of_a_name_is_the_default_one():
    unnamed = pod("a")
    del unnamed["metadata"]["namespace"]
    with pytest.raises(InputError, match="trace 2: Pod default/a is also in trace 1; give"):
        [*merge([[at(0, unnamed)], [at(0, pod("a", namespace="default"))]])]
    gone = TraceLine(SECOND, {"delete": "pod/a"})
    assert [*merge([[at(0, unnamed), gone]], ["x"])][1].action == {"delete": "pod/x-a"}


def test_namespaces_and_priority_classes_are_anonymized():
    top = {"apiVersion": "v1", "metadata": {"name": "n", "labels": {"team": "n"}}}
    classes = {"value": 5, "globalDefault": True, "preemptionPolicy": "Never"}
    lines = [
        at(0, {**top, "kind": "Namespace", "spec": {"finalizers": ["kubernetes"]}}),
        at(0, {**top, "kind": "PriorityClass", **classes, "description": "secret"}),
        at(0, pod() | {"spec": {"priorityClassName": "n"}}),
    ]
    namespace, of_class, of_pod = [line.applied for line in anonymize(lines)]
    labels = {"label-0": "value-0"}
    assert namespace == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "namespace-0", "labels": labels},
    }
    assert of_class == {
        "apiVersion": "v1",
        "kind": "PriorityClass",
        "metadata": {"name": "priority-0", "labels": labels},
        **classes,
    }
    assert of_pod["metadata"]["namespace"] == "namespace-0"
    assert of_pod["spec"] == {"priorityClassName": "priority-0"}


# ------------------------------------------------------------------------------ columns


def test_all_fields_of_a_file_of_columns():
    columns = read_columns(
        """
description: A table.
header: [a, b]
query: select 1
where: {status: [ok, 2]}
events: {column: e, start: [s], end: [f], key: [j, k], time: t}
arrival: {column: t, unit: ms}
duration: {column: u, since: t, times: 2}
name: {columns: [j, k]}
cpu: cores
memory: {column: mem, unit: GiB, perReplica: true, missing: [""]}
resources: {example.com/gpu: {column: "$.gpus[*]", count: true}}
labels: {team: owner}
replicas: r
priority: {column: p, values: {high: 9}}
""",
        source="c.yaml",
    )
    assert columns.events == EventRows(
        column="e", start=("s",), end=("f",), key=("j", "k"), time="t"
    )
    assert columns.where == {"status": ("ok", "2")}
    assert dict(columns.sources()) == {
        "arrival": ColumnSource(column="t", unit="ms"),
        "duration": ColumnSource(column="u", since="t", times="2"),
        "name": ColumnSource(columns=("j", "k")),
        "cpu": ColumnSource(column="cores"),
        "memory": ColumnSource(column="mem", unit="GiB", per_replica=True, missing=("",)),
        "resources[example.com/gpu]": ColumnSource(column="$.gpus[*]", count=True),
        "priority": ColumnSource(column="p", values={"high": "9"}),
        "labels[team]": ColumnSource(column="owner"),
        "replicas": ColumnSource(column="r"),
    }
    assert [*columns.read()] == [
        ("arrival.column", "t"),
        ("duration.column", "u"),
        ("duration.column", "t"),
        ("name.column", "j"),
        ("name.column", "k"),
        ("cpu.column", "cores"),
        ("memory.column", "mem"),
        ("resources[example.com/gpu].column", "$.gpus[*]"),
        ("priority.column", "p"),
        ("labels[team].column", "owner"),
        ("replicas.column", "r"),
        ("where[status]", "status"),
        ("events", "e"),
        ("events", "j"),
        ("events", "k"),
        ("events", "t"),
    ]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("cpu: c", ["arrival: Required value: the column of arrival times"]),
        ("arrival: {unit: s}", ["arrival.column: Required value"]),
        (
            "arrival: {column: a, columns: [b]}",
            ["arrival.columns: has no effect with column; give one of them"],
        ),
        (
            "arrival: a\nreplicas: {column: b, count: true}",
            ["replicas.count: needs a JSONPath in column, such as $.attempts[*]"],
        ),
        (
            "arrival: a\ncpu: {column: b, perReplica: true}",
            ["cpu.perReplica: has no effect without replicas"],
        ),
        (
            "arrival: a\nname: {column: b, times: 2}",
            ["name.times: only numbers can be multiplied"],
        ),
        (
            "arrival: a\nlabels: {x: {column: b, times: 2}}",
            ["labels[x].times: only numbers can be multiplied"],
        ),
        ("arrival: a\nresources: {x: {column: b, times: 1/2}}", []),
        (
            "arrival: a\ncpu: {column: b, times: 1/0}",
            ['cpu.times: Invalid value: "1/0": must be a number'],
        ),
        (
            "arrival: a\ncpu: {column: b, times: x}",
            ['cpu.times: Invalid value: "x": must be a number'],
        ),
        ("arrival: a\nname: {column: b, unit: furlong}", []),
        (
            "arrival: a\nevents: {end: [x]}",
            [
                "events.column: Required value", "events.start: Required value",
                "events.key: Required value", "events.time: Required value",
            ],
        ),
    ],
)  # fmt: skip
def test_all_that_is_wrong_with_a_file_of_columns(text, problems):
    if not problems:
        assert isinstance(read_columns(text, source="c"), TraceColumns)
        return
    with pytest.raises(InputError) as error:
        read_columns(text, source="c")
    assert [str(each) for each in error.value.errors] == [f"c: {each}" for each in problems]


@pytest.mark.parametrize("field", ["arrival", "duration", "memory", "cpu"])
def test_units_are_those_of_the_field(field):
    text = f"{field}: {{column: a, unit: furlong}}\n" + ("" if field == "arrival" else "arrival: t")
    with pytest.raises(InputError, match=rf'^c: {field}\.unit: Unsupported value: "furlong": '):
        read_columns(text, source="c")


def test_the_shipped_files_are_named_in_order():
    assert list(shipped_columns()) == sorted(shipped_columns())
    assert all("arrival" in text for text in shipped_columns().values())


def test_a_frame_is_as_long_as_the_first_column_that_was_read():
    frame = Frame({"a": [], "b": [1], "c": np.array([1, 2]), "d": ["x"]}, None, ())
    assert frame.length == 0
    read = frame.column("arrival", "b")
    assert read is not None
    assert read.values == [1]
    assert frame.length == 1
    for name in "acd":
        frame.column("arrival", name)
    assert frame.length == 1
    assert [(each.path, each.message) for each in frame.errors] == [
        ("a", "0 rows, but b has 1"),
        ("c", "2 rows, but b has 1"),
    ]


@pytest.mark.parametrize(
    ("memory", "shown"),
    [("1", 1), ("1Mi", 1), ("1048577", 2), ("1M", 1), ("4Gi", 4096), ("0", 0)],
)
def test_the_memory_of_a_row_is_in_whole_mebibytes(memory, shown):
    spec = {"containers": [{"name": "c", "resources": {"requests": {"memory": memory}}}]}
    line = at(3, {"kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    left_out: Counter[str] = Counter()
    _, row = _table(iter([line]), left_out)
    assert row == f"p,0,{shown},0,0,,,,3,,3\n".encode()
    assert not +left_out


def test_a_row_has_thousandths_of_cpu_and_says_what_it_lacks():
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1500m"}}}]}
    metadata = {"name": "p", "labels": {"a": "b"}, "namespace": "shop"}
    line = at(3, {"kind": "Pod", "metadata": metadata, "spec": spec})
    left_out: Counter[str] = Counter()
    _, row = _table(iter([line]), left_out)
    assert row == b"p,1500,0,0,0,,,,3,,3\n"
    assert +left_out == {"labels": 1, "namespace": 1}


def test_shares_of_gpus_are_described_and_part_of_the_sizes_of_a_model():
    def line(second, **annotations):
        metadata = {"name": f"p{second}", "annotations": annotations}
        return at(second, {"kind": "Pod", "metadata": metadata, "spec": {"containers": []}})

    two_halves = {GPU_COUNT: "2", GPU_MILLI: "500"}
    lines = [line(0, **two_halves), line(1, **{GPU_COUNT: "3"}), line(2, **{GPU_COUNT: "x"})]
    figure = describe(lines).figures[GPU_MILLI]
    assert (figure.pods, figure.minimum, figure.maximum, figure.peak) == (2, 1000, 3000, 4000)
    model = fit(lines)
    found = [size.annotations for size in model.sizes]
    assert sorted(found, key=lambda each: each[GPU_COUNT]) == [
        two_halves, {GPU_COUNT: "3"}, {GPU_COUNT: "x"}
    ]  # fmt: skip
    sizes = model.document()["sizes"]
    assert [[*size] for size in sizes] == [["share", "annotations"]] * 3, "and nothing empty"

"""Scale-up: the number of nodes, the expanders, backoff, Events; by upstream's tables and rules."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import InputError, decode, encode
from podwright.apimachinery.objects.node import ZONE
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.autoscaling import parse_node_groups, read_node_groups
from podwright.simulation.autoscaling.expanders import (
    Choice,
    ScaleUpOption,
    best_option,
    capacity_of,
    equal_options,
)
from podwright.simulation.autoscaling.node_groups import (
    HOSTNAME,
    AutoscalerOptions,
    NodeGroup,
    NodeTemplate,
)
from podwright.simulation.autoscaling.scale_up import GroupOffer, expansion_options, pod_groups
from podwright.simulation.autoscaling.trial_cluster import TrialCluster
from podwright.simulation.world import START_NS
from podwright.simulation.world.runs.start import RunArguments, prepared_run, started_run
from podwright.testing import make_node, make_pod

SECOND_NS = 1_000_000_000


class Events:
    """Collects what the autoscaler does, with the second of the run."""

    def __init__(self):
        self.events = []
        self.about = set()
        self.nodes = []

    def event_recorded(self, event, now_ns):
        if event.source == "cluster-autoscaler":
            self.events.append(((now_ns - START_NS) // SECOND_NS, event.reason, event.note))
            self.about.add((event.reason, event.group, event.object_kind, event.key))

    def changed(self, old, new, now_ns):
        obj = old if new is None else new
        if obj.kind == "Node" and (old is None or new is None):
            second = (now_ns - START_NS) // SECOND_NS
            self.nodes.append((second, "+" if new is not None else "-", obj.name))


def group(name="a", cpu="4", memory="16Gi", size=10, **fields):
    template = {"allocatable": {"cpu": cpu, "memory": memory}, **fields.pop("template", {})}
    return {
        "name": name, "maxSize": size, "provisioningTime": "30s", "template": template, **fields
    }  # fmt: skip


def deployment(name, replicas, cpu="1", **spec):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return decode(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [container], **spec},
                },
            },
        }
    )


def simulated(objects, groups, options=None, events=(), until=None, observers=(), **keywords):
    """Return a run with an autoscaler, and what it did."""
    seen = Events()
    document = {"groups": list(groups), "options": options or {}}
    observers = (seen, *observers)
    given = RunArguments(
        node_groups=document, observers=observers, events=list(events), until=until
    )
    run = started_run(prepared_run(objects, SchedulerOptions(**keywords), given), given)
    return run, seen


def reasons(seen, reason):
    return [note for _, each, note in seen.events if each == reason]


def test_pods_get_the_nodes_that_they_need_after_the_provisioning_time():
    run, seen = simulated([deployment("web", 9)], [group()])
    assert seen.nodes == [(40, "+", "a-0"), (40, "+", "a-1"), (40, "+", "a-2")]
    assert not run.pending
    assert reasons(seen, "TriggeredScaleUp") == ["pod triggered scale-up: [{a 0->3 (max: 10)}]"] * 9
    (sizes,) = run.summary.report.node_groups
    assert [change.size for change in sizes.sizes][:2] == [0, 3]


def test_pods_that_are_to_fit_on_requested_nodes_request_no_more():
    _, seen = simulated([deployment("web", 4)], [group(provisioningTime="5m")], until="10m")
    assert len(seen.nodes) == 1


def test_a_new_node_gets_no_name_that_another_node_has():
    _, seen = simulated([deployment("web", 5), make_node("a-0", cpu="1")], [group()])
    assert [name for _, _, name in seen.nodes] == ["a-0", "a-1"]


def test_the_maximum_size_is_kept_and_another_group_is_used():
    run, seen = simulated([deployment("web", 9)], [group(size=1), group("b", cpu="2", size=9)])
    names = [name for _, _, name in seen.nodes]
    assert sorted(names) == ["a-0", "b-0", "b-1", "b-2"]
    assert not run.pending


SPREAD = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"}


def spread(name, replicas, cpu, **constraint):
    selector = {"matchLabels": {"app": name}}
    constraints = [SPREAD | {"labelSelector": selector} | constraint]
    return deployment(name, replicas, cpu, topologySpreadConstraints=constraints)


def apart_from(app, name, cpu):
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": ZONE}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return deployment(name, 1, cpu, affinity=affinity)


@pytest.mark.parametrize(
    ("objects", "count"),
    [
        pytest.param(
            [spread("web", 5, "2", minDomains=3)],
            4,
            id="only the last node is tried before there is a further one",
        ),
        pytest.param(
            [
                deployment("first", 1, "2"),
                apart_from("first", "second", "1500m"),
                apart_from("first", "third", "1"),
                spread("web", 3, "100m"),
            ],
            2,
            id="there is no further node while the last one is empty",
        ),
    ],
)
def test_nodes_are_estimated_as_by_the_binpacking_estimator(objects, count):
    """Upstream: estimator/binpacking_estimator.go, tryToScheduleOnNewNodes"""
    _, seen = simulated(objects, [group(template={"labels": {ZONE: "z"}})], until="2m")
    assert len(seen.nodes) == count


def test_a_pod_that_no_group_helps_gets_an_event_with_the_reasons():
    _, seen = simulated(
        [make_pod("huge", cpu="20"), make_pod("zone", cpu="1", node_selector={"zone": "x"})],
        [group(), group("b")],
    )
    assert not seen.nodes
    assert reasons(seen, "NotTriggerScaleUp") == [
        "pod didn't trigger scale-up: 2 Insufficient cpu",
        "pod didn't trigger scale-up: 2 node(s) didn't match Pod's node affinity/selector",
    ]


def test_new_nodes_have_room_for_the_pods_of_daemon_sets():
    document = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}}
    spec = dict(encode(deployment("agent", 0, cpu="2"))["spec"])
    spec.pop("replicas")
    run, seen = simulated([decode({**document, "spec": spec}), deployment("web", 4)], [group()])
    assert len(seen.nodes) == 2
    assert not run.pending


def test_a_group_whose_nodes_do_not_register_is_in_backoff_and_another_one_is_used():
    out = group(outages=[{"start": "0s", "end": "1h"}])
    options: dict[str, Any] = {
        "maxNodeProvisionTime": "2m",
        "expander": ["least-waste", "priority"],
    }
    options["priorities"] = {"1": ["."], "5": ["a"]}
    run, seen = simulated([deployment("web", 3)], [out, group("b")], options)
    assert [name for _, _, name in seen.nodes] == ["b-0"]
    assert not run.pending
    assert reasons(seen, "ScaleUpTimedOut") == [
        "Nodes added to group a failed to register within 2m10s"
    ]


def test_the_same_seed_gives_the_same_nodes_and_draws_differ_by_seed():
    groups = [group(name) for name in "abcdef"]
    objects = [deployment("web", 2)]
    drawn = [
        simulated(objects, groups, {"expander": ["random"]}, seed=seed)[1].nodes
        for seed in (1, 1, 2, 3, 4, 5)
    ]
    assert drawn[0] == drawn[1]
    assert len({name for ((_, _, name),) in drawn}) > 1


class Interruption:
    """Interrupts a run at a second."""

    def __init__(self, second):
        self._second = second

    def changed(self, old, new, now_ns):
        if now_ns - START_NS >= self._second * SECOND_NS:
            raise KeyboardInterrupt


@pytest.mark.parametrize("second", [245, 250, 560, 730])
def test_a_run_that_is_interrupted_continues_with_the_same_nodes(tmp_path, second):
    options = {"scaleDownUnneededTime": "1m", "scaleDownDelayAfterAdd": "1m"}
    document = {
        "groups": [group("a", size=6), group("b", cpu="8", size=4)],
        "options": {**options, "expander": ["random"]},
    }
    replicas = enumerate([20, 3, 0, 14], 1)
    given = RunArguments(
        node_groups=document,
        events=[{"at": f"{4 * n}m", "scale": "deployment/web", "replicas": r} for n, r in replicas],
        until="25m",
    )

    def run(**changes):
        arguments = msgspec.structs.replace(given, **changes)
        options = SchedulerOptions(seed=3)
        return started_run(prepared_run([deployment("web", 1)], options, arguments), arguments)

    whole = run()
    folder = {"output": tmp_path / "run", "checkpoint_events": 5}
    with pytest.raises(KeyboardInterrupt):
        run(**folder, observers=(Interruption(second),))
    resumed = run(**folder, resume=True)
    assert resumed.summary.report.node_groups == whole.summary.report.node_groups
    assert resumed.node_of == whole.node_of


def test_pods_below_the_cutoff_neither_request_nodes_nor_keep_others_from_theirs():
    low = [make_pod(f"low-{i}", cpu="2", priority=-20) for i in range(3)]
    _, seen = simulated([make_node("n", cpu="4"), *low], [group()])
    assert [name for _, _, name in seen.nodes] == ["n"]


# ---------------------------------------------------------------------------- estimates


def estimate(pods, cpu="4", memory="8Gi", limit=100, nodes=()):
    trial = TrialCluster(SchedulerOptions())
    for node in nodes:
        trial.change(None, node)
    for pod in pods:
        trial.change(None, pod)
    template = NodeTemplate(allocatable={"cpu": cpu, "memory": memory, "pods": "10"})
    offer = GroupOffer(
        group=NodeGroup(name="a", template=template), template=template, daemon_sets=(),
        limit=limit,
    )  # fmt: skip
    found = expansion_options(trial, [offer], pod_groups(trial.scheduler.pending.values()))
    return (found[0].count, len(found[0].pods)) if found else (0, 0)


@pytest.mark.parametrize(
    ("pods", "limit", "expected"),
    [
        # Upstream: estimator/binpacking_estimator_test.go, TestBinpackingEstimate
        pytest.param([("350m", "1000Mi")] * 10, 100, (5, 10), id="resources"),
        pytest.param([("200m", "1000Mi")] * 8, 1, (1, 2), id="the limit of nodes"),
        pytest.param([("5", "1Gi")], 100, (0, 0), id="a pod larger than the node"),
        pytest.param(
            [("100m", "500Mi")] * 4 + [("800m", "500Mi")] * 2, 100, (2, 6), id="the largest first"
        ),
    ],
)
def test_estimates_are_first_fit_decreasing(pods, limit, expected):
    named = [make_pod(f"p{i}", cpu=cpu, memory=memory) for i, (cpu, memory) in enumerate(pods)]
    assert estimate(named, cpu="1", memory="2500Mi", limit=limit) == expected


def test_host_ports_need_a_node_each():
    assert estimate([make_pod(f"p{i}", host_port=5555) for i in range(8)]) == (8, 8)


def test_a_template_without_a_resource_orders_pods_by_the_others():
    trial = TrialCluster(SchedulerOptions())
    for number, cpu in enumerate(["1", "3", "1"]):
        trial.change(None, make_pod(f"p{number}", cpu=cpu))
    template = NodeTemplate(allocatable={"cpu": "4", "pods": "10"})
    offer = GroupOffer(
        group=NodeGroup(name="a", template=template), template=template, daemon_sets=(), limit=9
    )
    (found,) = expansion_options(trial, [offer], pod_groups(trial.scheduler.pending.values()))
    assert [pod.name for pod in found.pods] == ["p1", "p0", "p2"]
    assert found.count == 2


@pytest.mark.parametrize(
    ("one", "other", "order"),
    [
        # The shares of a node with 4 CPUs and 8Gi, of both resources together.
        pytest.param(("1", "2Gi"), ("4", "1Gi"), ["other", "one"], id="more of the CPU"),
        pytest.param(("1", "7Gi"), ("3", "2Gi"), ["one", "other"], id="more of the memory"),
        pytest.param(("2", "4Gi"), ("3", "3Gi"), ["other", "one"], id="more of both together"),
        pytest.param(("2", "4Gi"), ("3", "2Gi"), ["one", "other"], id="equal, in their order"),
    ],
)
def test_pods_are_placed_by_the_share_of_a_node_that_they_request(one, other, order):
    """Upstream: estimator/decreasing_pod_orderer.go"""
    trial = TrialCluster(SchedulerOptions())
    for name, (cpu, memory) in (("one", one), ("other", other)):
        trial.change(None, make_pod(name, cpu=cpu, memory=memory))
    template = NodeTemplate(allocatable={"cpu": "4", "memory": "8Gi"})
    offer = GroupOffer(
        group=NodeGroup(name="a", template=template), template=template, daemon_sets=(), limit=9
    )
    (found,) = expansion_options(trial, [offer], pod_groups(trial.scheduler.pending.values()))
    assert [pod.name for pod in found.pods] == order
    assert found.count == 2


# ---------------------------------------------------------------------------- expanders


def option(name, cpu, memory, count, pods, price=0.0):
    template = NodeTemplate(allocatable={"cpu": cpu, "memory": memory})
    return ScaleUpOption(
        group=NodeGroup(name=name, template=template, price=price),
        node=template.node(name),
        count=count,
        pods=tuple(make_pod(f"p{i}", cpu="500m", memory="1000Mi") for i in range(pods)),
    )


BALANCED = option("balanced", "16", "64000Mi", 1, 1)
HIGH_MEMORY = option("highmem", "16", "128000Mi", 1, 1)
HIGH_CPU = option("highcpu", "16", "32000Mi", 1, 1)


@pytest.mark.parametrize(
    ("expander", "options", "chosen"),
    [
        # Upstream: expander/waste/waste_test.go, mostpods_test.go, leastnodes_test.go
        ("least-waste", [BALANCED, HIGH_MEMORY], ["balanced"]),
        ("least-waste", [BALANCED, HIGH_MEMORY, HIGH_CPU], ["highcpu"]),
        ("least-waste", [BALANCED, BALANCED], ["balanced", "balanced"]),
        ("most-pods", [option("a", "4", "8Gi", 1, 2), option("b", "4", "8Gi", 3, 3)], ["b"]),
        ("least-nodes", [option("a", "4", "8Gi", 2, 2), option("b", "4", "8Gi", 3, 3)], ["a"]),
        ("random", [BALANCED, HIGH_CPU], ["balanced", "highcpu"]),
        ("priority", [BALANCED, HIGH_MEMORY, HIGH_CPU], ["highmem", "highcpu"]),
        ("priority", [BALANCED], ["balanced"]),
        (
            "price",
            [option("cheap", "4", "16Gi", 1, 4, 0.1), option("dear", "4", "16Gi", 1, 4, 0.3)],
            ["cheap"],
        ),
    ],
)
def test_expanders_choose_as_upstream(expander, options, chosen):
    given = AutoscalerOptions(expander=(expander,), priorities={"10": ("^high",), "5": ("b",)})
    found = equal_options(options, Choice(options=given, node_count=1))
    assert [each.group.name for each in found] == chosen


def test_the_first_draw_of_the_first_seed_is_the_default():
    given = AutoscalerOptions(expander=("random",))
    default = Choice(options=given, node_count=1)
    names = set()
    for count in range(1, 12):
        equals = [option(f"{number}", "4", "8Gi", 1, 1) for number in range(count)]
        found = best_option(equals, default)
        assert found is not None
        choice = Choice(options=given, node_count=1, seed=0, number=0)
        assert found == best_option(equals, choice)
        names.add(found.group.name)
    assert len(names) > 1
    assert best_option([], default) is None


@pytest.mark.parametrize(
    ("nodes", "cpus"),
    [
        (1, 1), (2, 1), (3, 2), (6, 2), (7, 4), (20, 4), (21, 8), (60, 8), (61, 16), (200, 16),
        (201, 32), (5000, 32),
    ],
)  # fmt: skip
def test_the_more_nodes_a_cluster_has_the_larger_are_those_that_the_price_prefers(nodes, cpus):
    """Upstream: expander/price/preferred.go"""
    choice = Choice(options=AutoscalerOptions(expander=("price",)), node_count=nodes)
    sizes = (cpus / 4, cpus / 2, cpus, cpus * 2, cpus * 4)
    smaller, small, right, large, larger = (
        option(f"{size}", f"{int(size * 1000)}m", "16Gi", 1, 1) for size in sizes
    )
    assert equal_options([smaller, small, right, large, larger], choice) == [right]
    assert equal_options([smaller, small, large, larger], choice) == [small, large]


@pytest.mark.parametrize(("price", "chosen"), [(0.591, "two"), (0.593, "one")])
def test_the_price_is_that_of_the_pods_and_of_half_a_cpu_and_500_mebibytes(price, chosen):
    """Upstream: expander/price/price.go, priceStabilizationPod"""
    options = AutoscalerOptions(expander=("price",), pod_cpu_price=1.0, pod_memory_price=1.0)
    given = [option("one", "1", "16Gi", 1, 1), option("two", "1", "16Gi", 1, 2, price)]
    (found,) = equal_options(given, Choice(options=options, node_count=1))
    assert found.group.name == chosen


def test_the_capacity_of_a_node_is_exact_in_milli_cpu():
    node = NodeTemplate(allocatable={"cpu": "16200m", "memory": "1.5Gi"}).node("n")
    assert (capacity_of(node, "cpu"), capacity_of(node, "memory")) == (16_200, 3 << 29)


# ---------------------------------------------------------------------------- the file


def test_each_mistake_of_a_file_has_its_path():
    text = """
    options: {expander: [cheapest], scanInterval: 0s, scaleDownUnneeded: 1m, priorities: {x: [')']}}
    groups:
    - {name: a, maxSize: 1, price: -1, template: {allocatable: {cpu: many}}}
    - {name: a, minSize: 3, maxSize: 2}
    - {name: c, max: 2, provisioningTime: soon, template: {allocatable: {cpu: "1"}, taints: [{}]}}
    """
    with pytest.raises(InputError) as caught:
        parse_node_groups(text, "groups.yaml")
    assert {error.source for error in caught.value.errors} == {"groups.yaml"}
    paths = [error.path for error in caught.value.errors]
    assert paths == [
        "options.expander[0]", "options.scaleDownUnneeded", "options.scanInterval",
        "options.priorities[x]", "options.priorities[x][0]", "groups[0].price",
        "groups[0].template.allocatable[cpu]", "groups[1].template", "groups[1].maxSize",
        "groups[2].max", "groups[2].provisioningTime", "groups[2].template.taints[0].key",
        "groups[2].template.taints[0].effect", "groups[0].name", "groups[1].name",
    ]  # fmt: skip


def test_groups_without_a_name_lack_it_and_are_no_duplicates():
    document = {"groups": [group(name="", maxSize=1)] * 2}
    with pytest.raises(InputError) as caught:
        parse_node_groups(document, "groups.yaml")
    assert [each.path for each in caught.value.errors] == ["groups[0].name", "groups[1].name"]


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        pytest.param({"template": {"allocatable": {"cpu": "0"}}}, "", id="nothing of a resource"),
        pytest.param({"template": {"allocatable": {"cpu": "1m"}}}, "", id="little of it"),
        pytest.param(
            {"template": {"allocatable": {"cpu": "-1m"}}}, "template.allocatable[cpu]", id="less"
        ),
        pytest.param({"template": {}}, "template.allocatable", id="no resources"),
        pytest.param({"template": {"allocatable": {}}}, "template.allocatable", id="empty ones"),
        pytest.param({"template": None}, "template", id="no template"),
        pytest.param({"minSize": 0, "maxSize": 0}, "", id="no nodes"),
        pytest.param({"minSize": -1}, "minSize", id="fewer"),
        pytest.param({"minSize": 2, "maxSize": 1}, "maxSize", id="a maximum below the minimum"),
        pytest.param({"price": 0}, "", id="free"),
        pytest.param({"provisioningTime": "0s"}, "", id="at once"),
        pytest.param({"outages": [{"start": "0s", "end": "1ns"}]}, "", id="a short outage"),
        pytest.param({"outages": [{"start": "1s", "end": "1s"}]}, "outages[0].end", id="none"),
        pytest.param(
            {"outages": [{"start": "-1ns", "end": "1s"}]}, "outages[0].start", id="before the start"
        ),
    ],
)
def test_what_a_group_may_have(fields, path):
    document = {"groups": [group(maxSize=1) | fields]}
    if not path:
        assert len(parse_node_groups(document, "g").groups) == 1
        return
    with pytest.raises(InputError) as caught:
        parse_node_groups(document, "g")
    (error,) = caught.value.errors
    assert (error.source, error.path) == ("g", f"groups[0].{path}")


@pytest.mark.parametrize(
    ("options", "paths"),
    [
        pytest.param({"expander": ["priority"]}, ["priorities"], id="no priorities"),
        pytest.param({"expander": ["random", "priority"]}, ["priorities"], id="as the second one"),
        pytest.param({"expander": ["priority"], "priorities": {"1": ["a"]}}, [], id="some"),
        pytest.param({"priorities": {"1": ["a", "b("]}}, ["priorities[1][1]"], id="a pattern"),
        pytest.param({"priorities": {"-1": ["a"]}}, ["priorities[-1]"], id="below 0"),
        pytest.param({"priorities": {"0": ["a"]}}, [], id="unused, of priority 0"),
    ],
)
def test_the_priorities_of_the_expander(options, paths):
    document = {"groups": [group()], "options": options}
    if not paths:
        assert parse_node_groups(document, "g").options.priorities == {
            key: tuple(value) for key, value in options["priorities"].items()
        }
        return
    with pytest.raises(InputError) as caught:
        parse_node_groups(document, "g")
    assert [error.path for error in caught.value.errors] == [f"options.{path}" for path in paths]


def test_a_file_has_groups_and_its_name_is_in_its_errors(tmp_path):
    path = tmp_path / "groups.yaml"
    text = "groups: [{name: a, minSize: 1, maxSize: 2, template: {allocatable: {cpu: 4}}}]"
    path.write_text(text)
    (found,) = read_node_groups(path).groups
    assert (found.name, found.min_size, found.max_size) == ("a", 1, 2)
    path.write_text(text.replace("minSize: 1", "minSize: 3"))
    with pytest.raises(InputError) as caught:
        read_node_groups(path)
    (error,) = caught.value.errors
    assert (error.source, error.path) == (str(path), "groups[0].maxSize")


@pytest.mark.parametrize("text", ["{", "- a", "3"])
def test_a_file_of_another_form_is_named(text):
    with pytest.raises(InputError) as caught:
        parse_node_groups(text, "groups.yaml")
    assert {error.source for error in caught.value.errors} == {"groups.yaml"}


def test_a_duration_in_an_error_is_as_it_is_written():
    node_group = group(provisioningTime="-30s", outages=[{"start": "1h", "end": "30m"}])
    with pytest.raises(InputError) as caught:
        parse_node_groups({"groups": [node_group], "options": {"scanInterval": "-1s"}}, "")
    assert [str(error) for error in caught.value.errors] == [
        'groups[0].provisioningTime: Invalid value: "-30s": must not be negative',
        'groups[0].outages[0].end: Invalid value: "30m0s": must be after the start',
        'options.scanInterval: Invalid value: "-1s": must not be negative',
    ]


def test_a_node_of_the_input_belongs_to_the_group_that_its_label_names():
    node = make_node("old", cpu="4", labels={"pool": "a"})
    run, seen = simulated([node, deployment("web", 5)], [group(size=2)])
    assert [name for _, _, name in seen.nodes[:2]] == ["old", "a-0"]
    assert not run.pending

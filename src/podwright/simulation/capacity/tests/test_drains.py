"""Plans of drains: executed in another world, no step is blocked that the plan does not name."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

import podwright as pw
from podwright.apimachinery.devices import CARDS
from podwright.apimachinery.objects import (
    ArgumentError,
    InputError,
    Object,
    OwnerReference,
    decode,
    encode,
    with_fields,
)
from podwright.cluster.kubelets import RUN_DELAY
from podwright.scheduler.columns.tests.storage_objects import (
    claim,
    csi_driver,
    csi_node,
)
from podwright.simulation.autoscaling.tests.test_devices import csi_volume
from podwright.simulation.capacity import drain_report, settle_world
from podwright.simulation.capacity.tests.test_counting import workload
from podwright.testing import make_node, make_pod


def budget(name, labels, **spec):
    return decode(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchLabels": labels}} | spec,
        }
    )


def nodes(count, cpu="4"):
    return [make_node(f"n{i}", cpu=cpu, labels={"pool": "ab"[i % 2]}) for i in range(count)]


def test_nodes_are_drained_together_as_budgets_allow():
    objects = [*nodes(5), workload(replicas=4), budget("web", {"app": "web"}, maxUnavailable=1)]
    plan = pw.drain_plan(objects, selector="pool=a", seed=3)
    assert plan.is_complete
    assert sorted(name for step in plan.steps for name in step.nodes) == ["n0", "n2", "n4"]
    assert all(len(step.moves) <= 1 or step.waits_for for step in plan.steps)
    assert {move.to for step in plan.steps for move in step.moves} <= {"n1", "n3"}
    assert {step.seconds for step in plan.steps} == {10.0}, "the time of a drain's rounds"
    first = msgspec.to_builtins(plan)["steps"][0]
    assert first["nodes"] == plan.steps[0].nodes


@pytest.mark.parametrize(
    ("limits", "sizes"),
    [
        ({}, [4]),
        ({"most_nodes": 3}, [3, 1]),
        ({"most_nodes": 1}, [1, 1, 1, 1]),
        ({"surge": 2}, [2, 2]),
        ({"surge": 2, "most_nodes": 3}, [2, 2]),
    ],
)
def test_a_step_has_no_more_nodes_than_its_limit(limits, sizes):
    plan = pw.drain_plan(nodes(4), [f"n{i}" for i in range(4)], **limits)
    assert [len(step.nodes) for step in plan.steps] == sizes
    assert [len(step.added) for step in plan.steps] == [
        size if "surge" in limits else 0 for size in sizes
    ]


def test_a_node_that_is_named_twice_and_selected_is_drained_once():
    plan = pw.drain_plan([*nodes(4), workload(replicas=2)], ["n2", "n1", "n2"], selector="pool=a")
    assert sorted(name for step in plan.steps for name in step.nodes) == ["n0", "n1", "n2"]


def recorded(name, **counts):
    """Return pods of one ReplicaSet, so many on each node, as a server has them."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name}
    for node, count in counts.items():
        for index in range(count):
            pod = make_pod(f"{name}-{node}-{index}", cpu="1", node=node, labels={"app": name})
            own = {"uid": pod.name, "ownerReferences": [owner | {"controller": True}]}
            yield decode(with_metadata(encode(pod), own))


@pytest.mark.parametrize(
    ("pods", "allowed", "steps"),
    [
        pytest.param(
            {"a": {"n0": 2, "n2": 1}, "b": {"n1": 1}}, {"a": 2, "b": 1}, [["n1", "n2"], ["n0"]],
            id="those with the fewest evictions come first, whatever their budgets",
        ),
        pytest.param(
            {"a": {"n0": 3}, "b": {"n1": 4}}, {"a": 1, "b": 3}, [["n1"], ["n0"]],
            id="the one for which the fewest disruptions lack",
        ),
        pytest.param(
            {"a": {"n0": 3}, "b": {"n1": 3}}, {"a": 1, "b": 1}, [["n0"], ["n1"]],
            id="the first of equal ones",
        ),
    ],
)  # fmt: skip
def test_nodes_are_drained_in_the_order_of_what_they_wait_for(pods, allowed, steps):
    objects = [
        *nodes(3), make_node("large", cpu="32"),
        *(pod for name, counts in pods.items() for pod in recorded(name, **counts)),
        *(budget(name, {"app": name}, maxUnavailable=most) for name, most in allowed.items()),
    ]  # fmt: skip
    plan = pw.drain_plan(objects, sorted({name for counts in pods.values() for name in counts}))
    assert [sorted(step.nodes) for step in plan.steps] == steps


def test_only_budgets_of_the_pods_of_nodes_keep_these_apart():
    """Not one of other pods in the namespace, and not one of the same labels in another."""
    foreign = decode(
        budget("web", {"app": "web"}, minAvailable=1).raw
        | {"metadata": {"name": "web", "namespace": "other"}}
    )
    objects = [
        *nodes(3),
        *(make_pod(f"web-{i}", cpu="1", node=f"n{i}", labels={"app": "web"}) for i in range(2)),
        make_pod("db", cpu="1", node="n2", labels={"app": "db"}),
        make_pod("web", namespace="other", cpu="1", node="n2", labels={"app": "web"}),
        budget("db", {"app": "db"}, minAvailable=1),
        foreign,
    ]
    (step,) = pw.drain_plan(objects, ["n0", "n1"]).steps
    assert (sorted(step.nodes), step.waits_for) == (["n0", "n1"], ())


@pytest.mark.parametrize(
    ("least", "is_helped"),
    [
        ({"minAvailable": 1}, True),
        ({"minAvailable": "50%"}, True),
        ({"minAvailable": "100%"}, False),
        ({"maxUnavailable": 0}, False),
    ],
)
def test_the_budget_that_never_allows_an_eviction_is_named(least, is_helped):
    objects = [*nodes(1), workload(replicas=1), budget("web", {"app": "web"}, **least)]
    (blocked,) = pw.drain_plan([*objects], ["n0"]).blocked
    assert (blocked.node, blocked.budgets) == ("n0", ("default/web",))
    assert blocked.remedy.startswith("budget default/web never allows an eviction")
    assert ("add a replica" in blocked.remedy) == is_helped
    assert "needs 1 healthy pods and has 1 currently" in blocked.message


def test_pods_that_find_no_node_have_remedies():
    plan = pw.drain_plan([*nodes(2, "2"), workload(cpu="1", replicas=4)], ["n0"])
    assert not plan.is_complete
    assert len(plan.steps[0].unfit) == 2
    # Not to use the drained node again.
    assert plan.steps[0].unfit[0].remedies == ("add a node like n1",)


def test_a_zone_that_is_drained_counts_until_its_nodes_are_deleted():
    zones = [make_node(f"n{i}", cpu="4", labels={"zone": "ab"[i // 2]}) for i in range(4)]
    spread = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    template = workload().raw["spec"]["template"]
    template["spec"]["topologySpreadConstraints"] = [spread]
    daemon = workload("DaemonSet", "agent")
    objects = [*zones, daemon, workload(replicas=4, template=template)]
    plan = pw.drain_plan(objects, ["n0", "n1"])
    unfit = [each for step in plan.steps for each in step.unfit]
    assert [each.remedies for each in unfit] == [("delete the drained nodes",)] * 2


def test_pods_keep_an_owner_that_has_a_uid_and_no_time_of_creation():
    owner, pod = workload(kind="ReplicaSet"), make_pod("web-1", cpu="1", node="n0")
    owner = with_fields(owner, "metadata", uid="u1")
    reference = OwnerReference(
        api_version="apps/v1", kind="ReplicaSet", name=owner.name, uid="u1", controller=True
    )
    labels = owner.spec.selector.match_labels
    pod = with_fields(pod, "metadata", uid="u2", labels=labels, owner_references=(reference,))
    (step,) = pw.drain_plan([*nodes(2), owner, pod], ["n0"]).steps
    assert [(move.pod, move.node) for move in step.moves] == [("default/web-1", "n0")]


def test_a_dump_without_replica_sets_has_the_pods_of_its_deployments_once():
    server = {"uid": "d", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-x", "controller": True}
    labels = {"app": "web", "pod-template-hash": "x"}
    deployment = workload(replicas=2)
    objects = [*nodes(3), decode(with_metadata(deployment.raw, server))]
    for index in range(2):
        pod = make_pod(f"web-x-{index}", cpu="1", node=f"n{index}", labels=labels)
        own = server | {"uid": f"p{index}", "ownerReferences": [owner | {"uid": "r"}]}
        objects.append(decode(with_metadata(encode(pod), own)))
    (step,) = pw.drain_plan(objects, ["n0"]).steps
    assert [move.pod for move in step.moves] == ["default/web-x-0"]
    assert step.moves[0].replacement.startswith("default/web-x-")
    run = pw.simulate(objects, until="1h", progress=False)
    assert sorted(run.node_of) == ["default/web-x-0", "default/web-x-1"]


def with_metadata(document, more):
    return {**document, "metadata": {**document["metadata"], **more}}


def test_pods_that_nobody_creates_again_are_gone():
    volume = {"volumes": [{"name": "tmp", "emptyDir": {}}]}
    pod = make_pod("alone", cpu="1")
    document = {**pod.raw, "spec": {**pod.raw["spec"], **volume}}
    objects = [*nodes(1), decode({"apiVersion": "v1", "kind": "Pod", **document})]
    (step,) = pw.drain_plan(objects, ["n0"]).steps
    assert (step.gone, step.local_data) == (("default/alone",), ("default/alone",))
    assert (step.moves[0].replacement, step.moves[0].to) == ("", "")


def pod_of(kind, version, **annotations):
    reference = {"apiVersion": version, "kind": kind, "name": "w", "uid": "w", "controller": True}
    metadata = {
        "name": "p", "namespace": "default", "uid": "p", "resourceVersion": "1",
        "ownerReferences": [reference], "annotations": annotations, "labels": {"app": "w"},
    }  # fmt: skip
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    document = make_pod("p", cpu="1", node="n0").raw
    return decode(document | {"metadata": metadata, "status": ready})


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        pytest.param("Job", "batch/v1", id="a Job runs until it is evicted"),
        pytest.param("RayCluster", "ray.io/v1", id="a custom controller has a stand-in"),
    ],
)
def test_pods_that_a_cluster_is_given_without_owner_move(kind, version):
    plan = pw.drain_plan([*nodes(2), pod_of(kind, version)], ["n0"])
    assert plan.is_complete
    assert [(each.pod, each.to) for each in plan.steps[0].moves] == [("default/p", "n1")]


@pytest.mark.parametrize(
    ("key", "value", "is_protected"),
    [
        ("karpenter.sh/do-not-disrupt", "true", True),
        ("karpenter.sh/do-not-disrupt", "false", False),
        ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false", True),
        ("cluster-autoscaler.kubernetes.io/safe-to-evict", "true", False),
    ],
)
def test_pods_that_autoscalers_would_not_evict_are_named(key, value, is_protected):
    plan = pw.drain_plan([*nodes(2), pod_of("ReplicaSet", "apps/v1", **{key: value})], ["n0"])
    assert plan.steps[0].protected == ("default/p",) * is_protected


def test_pods_that_their_controllers_do_not_replace_are_reported():
    """A Job that may not fail once more ends with the eviction of its pod."""
    template = workload("Job", "batch").raw["spec"]["template"]
    template["metadata"]["annotations"] = {RUN_DELAY: "9h"}
    job = workload("Job", "batch", template=template, backoffLimit=0)
    plan = pw.drain_plan([*nodes(2), job], ["n0", "n1"], most_nodes=1)
    assert not plan.is_complete
    (unfit,) = (each for step in plan.steps for each in step.unfit)
    assert unfit.pod.startswith("default/batch-")
    assert unfit.message == "Job batch creates no pod in its place"


def test_a_pod_that_its_controller_cannot_replace_is_reported_with_its_event():
    recorded = workload("ReplicaSet", replicas=1).raw
    recorded["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    recorded["spec"]["template"]["spec"]["containers"][0]["name"] = "C"
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u"}
    pod = make_pod("web-1", cpu="1", node="n0", labels={"app": "web"}).raw
    pod["metadata"]["ownerReferences"] = [owner | {"controller": True}]
    plan = pw.drain_plan([*nodes(2), decode(recorded), decode(pod)], "n0")
    (unfit,) = plan.steps[0].unfit
    assert unfit.pod == "default/web-1"
    assert unfit.message.startswith(
        'ReplicaSet web creates no pod in its place: Pod "web-" is invalid:'
    )


def test_a_pod_that_was_pending_before_is_no_consequence_of_a_drain():
    plan = pw.drain_plan([*nodes(3), make_pod("huge", cpu="9"), workload(replicas=2)], ["n0", "n1"])
    assert plan.is_complete
    assert [step.unfit for step in plan.steps] == [()] * len(plan.steps)


def test_a_surge_upgrade_adds_nodes_first():
    objects = [*nodes(2, "2"), workload(cpu="1", replicas=4)]
    assert not pw.drain_plan(objects, ["n0", "n1"]).is_complete
    plan = pw.drain_plan(objects, ["n0", "n1"], surge=1)
    assert plan.is_complete
    assert sorted(step.added for step in plan.steps) == [("n0-new",), ("n1-new",)]


@pytest.mark.parametrize(
    "annotations",
    [
        pytest.param({}, id="of a driver"),
        pytest.param({CARDS: "cards"}, id="of DeviceCards that an import leaves out"),
    ],
)
def test_a_new_node_of_a_surge_has_the_devices_of_the_old_one(annotations):
    pool = {"name": "n0", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.io", "nodeName": "n0", "pool": pool, "devices": [{"name": "x"}]}
    device_class = {"extendedResourceName": "d.io/x"}
    slice_metadata = {"name": "o", "annotations": annotations}
    objects = [
        decode({"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": "o"}} | more)
        for kind, more in (
            ("DeviceClass", {"spec": device_class}),
            ("ResourceSlice", {"spec": spec, "metadata": slice_metadata}),
        )
    ]
    pod = workload(replicas=1)
    document = encode(pod)
    container = document["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"d.io/x": "1"}, "limits": {"d.io/x": "1"}}
    plan = pw.drain_plan([*nodes(1), *objects, decode(document)], ["n0"], surge=1)
    assert plan.is_complete
    (move,) = plan.steps[0].moves
    assert move.to == "n0-new"


def test_a_new_node_of_a_surge_has_the_csi_drivers_of_the_old_one():
    document = encode(workload(replicas=1))
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
    document["spec"]["template"]["spec"]["volumes"] = volumes
    storage = [
        csi_driver("csi.x", preventPodSchedulingIfMissing=True), csi_node("n0", csi_x=1),
        csi_volume("c"), claim("c", bound_to="c"),
    ]  # fmt: skip
    gates = pw.parse_gates("VolumeLimitScaling=true")
    given = [*nodes(1), *storage, decode(document)]
    plan = pw.drain_plan(given, ["n0"], surge=1, gates=gates)
    assert plan.is_complete
    assert [move.to for move in plan.steps[0].moves] == ["n0-new"]


def test_described_devices_are_on_a_new_node_of_a_surge_once():
    cards = {"driver": "d.io", "count": 1}
    objects = [
        decode({"apiVersion": version, "kind": kind, "metadata": {"name": "o"}, "spec": spec})
        for version, kind, spec in (
            ("resource.k8s.io/v1", "DeviceClass", {"extendedResourceName": "d.io/x"}),
            ("podwright.dev/v1", "DeviceCards", cards),
        )
    ]
    document = encode(workload(replicas=1))
    container = document["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"d.io/x": "1"}, "limits": {"d.io/x": "1"}}
    plan = pw.drain_plan([*nodes(1), *objects, decode(document)], ["n0"], surge=1)
    assert plan.is_complete
    assert [move.to for move in plan.steps[0].moves] == ["n0-new"]


def test_an_upgraded_node_is_gone_before_the_next_step():
    """What was on it, and only its kubelet could end, is in the way of no pod any more."""
    static = make_pod("static", cpu="5", node="n0", labels={"app": "static"}).raw
    static["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    alone = workload("Deployment", "alone", "7", replicas=1).raw
    apart = {
        "topologyKey": "topology.kubernetes.io/zone",
        "labelSelector": {"matchLabels": {"app": "static"}},
    }
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
    alone["spec"]["template"]["spec"]["affinity"] = {"podAntiAffinity": terms}
    zones = [make_node("n0", cpu="8", zone="a"), make_node("n1", cpu="4", zone="b")]
    objects = [*zones, decode(static), decode(alone), workload(replicas=1)]
    _, second = pw.drain_plan(objects, ["n0", "n1"], surge=1).steps
    # The other pod, which waited for zone a, has the room of n0-new.
    assert [(move.node, move.to) for move in second.moves] == [("n1", "n1-new")]


def test_a_step_waits_for_the_budgets_that_have_no_room():
    objects = [
        *nodes(2),
        workload(replicas=4),
        workload("Deployment", "db", replicas=1),
        *(budget(name, {"app": name}, maxUnavailable=1) for name in ("db", "web")),
    ]
    (step,) = pw.drain_plan(objects, ["n0"]).steps
    assert step.waits_for == ("default/web",)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ({"nodes": ["n44"]}, 'nodes[0]: no node "n44"; did you mean "n4"?'),
        ({"selector": "pool=z"}, 'selector: "pool=z" selects no node'),
        ({"selector": "pool=="}, "selector: "),
        ({"selector": "a=,b("}, "selector: "),
        ({}, "nodes: name at least one node"),
        ({"nodes": ["n0"], "surge": -1}, "surge: -1 is negative"),
    ],
)
def test_a_wrong_question_names_its_field(question, text):
    with pytest.raises(InputError) as error:
        pw.drain_plan(nodes(5), **question)
    assert str(error.value).startswith(text)


def test_a_node_is_given_by_its_name():
    with pytest.raises(ArgumentError) as error:
        pw.drain_plan(nodes(2), ["n0", nodes(2)[1]])
    assert str(error.value) == "nodes[1]: must be the name of a node, not a Node"


def test_a_budget_of_a_real_cluster_may_select_no_pod():
    idle = budget("old", {"app": "gone"}, minAvailable=1)
    recorded = {**idle.raw["metadata"], "uid": "u", "resourceVersion": "7"}
    plan = pw.drain_plan([*nodes(1), decode(idle.raw | {"metadata": recorded})], ["n0"])
    assert (plan.is_complete, plan.idle_budgets) == (True, ("default/old",))
    assert "Budgets that select no pod: default/old" in drain_report(plan).html()


def test_a_budget_that_selects_no_pod_is_an_error():
    with pytest.raises(InputError) as error:
        pw.drain_plan([*nodes(1), budget("old", {"app": "gone"}, minAvailable=1)], ["n0"])
    assert str(error.value) == (
        "PodDisruptionBudget default/old: spec.selector: selects no pod of the cluster"
    )


def drawn(seed: int) -> tuple[list[Object], list[str]]:
    """Return a cluster with workloads and budgets, and nodes to drain."""
    random = Random(seed)
    names = [f"n{i}" for i in range(random.randint(3, 8))]
    objects: list[Object] = [
        make_node(name, cpu=random.choice(["4", "8"]), zone=random.choice("abc")) for name in names
    ]
    for name in ("web", "db", "batch")[: random.randint(1, 3)]:
        replicas, cpu = random.randint(1, 6), random.choice(["500m", "1", "2"])
        kind = random.choice(["Deployment", "StatefulSet"])
        extra = {"serviceName": name} if kind == "StatefulSet" else {}
        objects.append(workload(kind, name, cpu, replicas=replicas, **extra))
        kept: dict[str, Any] = random.choice(
            [{"minAvailable": "50%"}, {"maxUnavailable": 1}, {"minAvailable": 1}]
        )
        if random.random() < 0.8:
            objects.append(budget(name, {"app": name}, **kept))
    return objects, random.sample(names, random.randint(1, len(names) - 1))


def executed(objects: list[Object], names: list[str], plan: pw.DrainPlan, seed: int) -> None:
    """Execute a plan in another world, and check each step."""
    world = pw.World(seed=seed)
    for obj in objects:
        world.add(obj)
    settle_world(world)
    for name in names:
        world.do(pw.Cordon(name))
    for step in plan.steps:
        before = world.report().evictions.rejected
        for name in step.nodes:
            world.do(pw.Drain(name))
        assert settle_world(world), f"seed {seed}: {step.nodes} are blocked"
        rejected = world.report().evictions.rejected - before
        assert bool(rejected) == bool(step.waits_for), f"seed {seed}: {step}"
    for blocked in plan.blocked:
        world.do(pw.Drain(blocked.node))
    assert settle_world(world) == (not plan.blocked), f"seed {seed}"


def check(seeds: range) -> None:
    found = {"steps": 0, "blocked": 0, "waits": 0}
    for seed in seeds:
        objects, names = drawn(seed)
        plan = pw.drain_plan(objects, names, seed=seed)
        executed(objects, names, plan, seed)
        found["steps"] += len(plan.steps)
        found["blocked"] += len(plan.blocked)
        found["waits"] += sum(bool(step.waits_for) for step in plan.steps)
    assert all(count >= len(seeds) // 40 for count in found.values()), found


def test_executed_plans_are_never_blocked():
    check(range(4))


@pytest.mark.slow
def test_two_hundred_executed_plans_are_never_blocked():
    check(range(4, 204))


def test_a_node_may_be_named_alone_and_many_are_counted():
    assert pw.drain_plan(nodes(2), "n1").steps[0].nodes == ("n1",)
    plan = pw.drain_plan(nodes(6), [f"n{i}" for i in range(5)])
    assert drain_report(plan).tables[0].rows[0][1] == "n0, n1, n2 and 2 more"


def test_nodes_with_pods_of_a_budget_for_one_are_drained_one_after_the_other():
    objects = [
        *(make_node(f"n{i}", cpu="2") for i in range(2)),
        make_node("n2", cpu="8", taints=["kept=yes:PreferNoSchedule"]),
        workload(cpu="2", replicas=2),
        budget("web", {"app": "web"}, maxUnavailable=1),
    ]
    plan = pw.drain_plan(objects, ["n0", "n1"])
    assert [(step.nodes, step.waits_for) for step in plan.steps] == [(("n0",), ()), (("n1",), ())]


@pytest.mark.parametrize("is_drained", [False, True])
def test_a_world_in_which_nothing_changes_is_not_waited_for(is_drained):
    """It is run no longer: six intervals if a pod waits, sixty if a drain does."""
    world = pw.World()
    web, large = make_pod("web", node="n0", labels={"a": "b"}), make_pod("large", cpu="9")
    for obj in (*nodes(1), large, web, budget("web", {"a": "b"}, minAvailable=1)):
        world.do(pw.Apply(obj))
    settle_world(world)
    if is_drained:
        world.do(pw.Drain("n0"))
    rounds = []
    assert settle_world(world, lambda done, of: rounds.append((done, of))) == (not is_drained)
    assert rounds == [(number, 0) for number in range(61 if is_drained else 7)]

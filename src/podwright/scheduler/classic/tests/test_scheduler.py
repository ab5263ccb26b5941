"""Whole decisions, single priorities, volumes, and equal tables on threads."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import TIE_STREAM, draw, with_fields
from podwright.apimachinery.schema import decode
from podwright.cli.worker_threads import ThreadedPieces
from podwright.scheduler.classic import (
    ClassicCluster,
    ClassicScheduler,
    Extender,
    ExtenderAnswer,
    ExtenderError,
    ExtenderSettings,
    algorithm_from_policy,
    algorithm_of_provider,
    in_order,
    preempt,
    prioritize,
    read_policy,
    select_host,
)
from podwright.scheduler.classic.extender import ManagedResource, request_body
from podwright.scheduler.classic.priorities import PriorityMetadata
from podwright.scheduler.classic.priorities.capacity_ratio import (
    balanced_score,
    balanced_score_of_1_7,
)
from podwright.scheduler.classic.scheduler import seeded_draw
from podwright.testing import make_node, make_pod

ZONE = "failure-domain.beta.kubernetes.io/zone"


def cluster_of(*objects):
    cluster = ClassicCluster()
    for obj in objects:
        cluster.put(obj)
    return cluster


def scheduler_of(*objects, **settings):
    return ClassicScheduler(algorithm_of_provider(), cluster_of(*objects), **settings)


def test_no_nodes_is_an_error():
    assert scheduler_of().decide(make_pod("a")).error == "no nodes available to schedule pods"


def test_a_single_node_is_taken_without_scores():
    decision = scheduler_of(make_node("n1")).decide(make_pod("a"))
    assert (decision.node, decision.table) == ("n1", None)


def test_the_fit_error_sorts_its_parts_as_strings():
    nodes = [make_node(f"full{i}", cpu="1") for i in range(10)]
    nodes += [make_node(f"cordoned{i}", unschedulable=True) for i in range(2)]
    decision = scheduler_of(*nodes).decide(make_pod("a", cpu="2"))
    assert decision.message == (
        "0/12 nodes are available: 10 Insufficient cpu, 2 node(s) were unschedulable."
    )


def test_memory_only_is_rejected_for_cpu_that_is_overcommitted():
    objects = make_node("n1", cpu="1"), make_pod("hog", cpu="2", node="n1")
    decision = scheduler_of(*objects).decide(make_pod("a", memory="1Mi"))
    assert [failure.reason for failure in decision.failed["n1"]] == ["Insufficient cpu"]
    assert scheduler_of(*objects).decide(make_pod("asks-for-nothing")).node == "n1"


def test_resources_left_to_an_extender_are_not_compared():
    settings = ExtenderSettings()
    algorithm = algorithm_of_provider()
    pod = make_pod("a", resources={"example.com/gpu": 1})
    cluster = cluster_of(make_node("n1"))
    assert not ClassicScheduler(algorithm, cluster).decide(pod).node
    managed = {"managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}]}
    algorithm = algorithm_from_policy(read_policy({"extenders": [managed]}))
    assert ClassicScheduler(algorithm, cluster).decide(pod).node == "n1"
    assert settings.is_interested(pod)


@pytest.mark.parametrize("ignorable", [True, False])
def test_an_extender_that_cannot_filter_ends_the_cycle_unless_it_is_ignorable(ignorable):
    extender = Extender(
        ExtenderSettings(filter_verb="filter", ignorable=ignorable),
        filter=lambda *_: ExtenderAnswer(error="sick"),
    )
    decision = scheduler_of(make_node("n1"), extenders=[extender]).decide(make_pod("a"))
    assert (decision.node, decision.error) == (("n1", "") if ignorable else ("", "sick"))


@pytest.mark.parametrize("ignorable", [True, False])
def test_an_extender_may_only_name_nodes_that_exist(ignorable):
    """Upstream: pkg/scheduler/core/extender.go, HTTPExtender.Filter."""

    def decided(*names):
        extender = Extender(
            ExtenderSettings(url_prefix="http://x", filter_verb="filter", ignorable=ignorable),
            filter=lambda *_: ExtenderAnswer(names),
        )
        nodes = make_node("full", cpu="1"), make_node("n1"), make_node("n2")
        pods = make_pod("of-no-node", node="unknown")
        return scheduler_of(*nodes, pods, extenders=[extender]).decide(make_pod("a", cpu="2"))

    assert decided("n2", "n1").feasible == ["n2", "n1"]
    assert decided("full").node == "full", "one that was not sent"
    if ignorable:
        assert decided("unknown").feasible == ["n1", "n2"]
    else:
        assert decided("n1", "unknown").error == (
            'extender "http://x" claims a filtered node "unknown" which is not found in '
            "nodeNameToInfo map"
        )


def test_an_extender_rejects_nodes_with_reasons_and_adds_to_scores():
    def scores(_pod, _names):
        return {"n2": 3, "unknown": 9}

    extender = Extender(
        ExtenderSettings(filter_verb="filter", prioritize_verb="prioritize", weight=5),
        filter=lambda *_: ExtenderAnswer(("n2", "n3"), {"n1": "no licence"}),
        prioritize=scores,
    )
    nodes = [make_node(f"n{i}") for i in (1, 2, 3)]
    decision = scheduler_of(*nodes, extenders=[extender]).decide(make_pod("a"))
    assert decision.failed["n1"][0].reason == "no licence"
    assert decision.table.totals[0] - decision.table.totals[1] == 15
    assert decision.node == "n2"


def test_extenders_are_called_for_pods_and_nodes_that_concern_them():
    calls: list[tuple[object, ...]] = []

    def extender(name, passing, **settings):
        def keep(pod, names):
            calls.append((name, pod.name, list(names)))
            return ExtenderAnswer(tuple(passing))

        def score(_pod, names):
            calls.append((f"scores of {name}", list(names)))
            return dict.fromkeys(names, 1)

        given = {"filter_verb": "f", "prioritize_verb": "p", "weight": 1, **settings}
        return Extender(ExtenderSettings(**given), filter=keep, prioritize=score)

    gpu = {"managed_resources": (ManagedResource(name="example.com/gpu"),)}
    extenders = [
        extender("of gpus", [], **gpu), extender("first", ["n1", "n2"]), extender("second", ["n2"]),
        extender("third", []), extender("fourth", ["n1"]),
    ]  # fmt: skip
    nodes = [make_node(f"n{i}") for i in (1, 2, 3)]
    assert not scheduler_of(*nodes, extenders=extenders).decide(make_pod("a")).node
    assert calls == [
        ("first", "a", ["n1", "n2", "n3"]), ("second", "a", ["n1", "n2"]), ("third", "a", ["n2"]),
    ]  # fmt: skip
    calls.clear()
    decision = scheduler_of(*nodes, extenders=extenders[:2]).decide(make_pod("a"))
    assert calls[1:] == [("scores of first", ["n1", "n2"])]
    plain = scheduler_of(*nodes[:2]).decide(make_pod("a"))
    assert decision.table.totals == [total + 1 for total in plain.table.totals]


def test_without_priorities_and_extenders_every_node_scores_one():
    algorithm = algorithm_from_policy(read_policy({"priorities": []}))
    cluster = cluster_of(make_node("n1"), make_node("n2"))
    decision = ClassicScheduler(algorithm, cluster).decide(make_pod("a"))
    assert decision.table is not None
    assert (decision.table.rows, decision.table.totals) == ([], [1, 1])


def test_without_priorities_extenders_alone_score():
    extender = Extender(
        ExtenderSettings(prioritize_verb="p", weight=2), prioritize=lambda *_: {"n2": 3}
    )
    algorithm = algorithm_from_policy(read_policy({"priorities": []}))
    cluster = cluster_of(make_node("n1"), make_node("n2"))
    decision = ClassicScheduler(algorithm, cluster, extenders=[extender]).decide(make_pod("a"))
    assert decision.table is not None
    assert (decision.node, decision.table.totals) == ("n2", [0, 6])


def test_priorities_are_in_the_order_of_their_names():
    listed = [{"name": name, "weight": 1} for name in ("TaintTolerationPriority", "EqualPriority")]
    algorithm = algorithm_from_policy(read_policy({"priorities": listed}))
    cluster = cluster_of(make_node("a"), make_node("b"))
    table = ClassicScheduler(algorithm, cluster).score(make_pod("p"), cluster.nodes())
    assert table.names == ["EqualPriority", "TaintTolerationPriority"]


def test_the_draws_of_the_first_cycle_are_the_default():
    nodes = [make_node(f"n{i}") for i in range(90)]
    expected = scheduler_of(*nodes).decide(make_pod("a"), seeded_draw(0, 0))
    assert scheduler_of(*nodes).decide(make_pod("a")).node == expected.node


def test_an_extender_that_cannot_score_adds_nothing():
    def fail(_pod, _names):
        raise ExtenderError("sick")

    extender = Extender(ExtenderSettings(prioritize_verb="p", weight=5), prioritize=fail)
    assert extender.scores(make_pod("a"), ["n1"]) == {}


@pytest.mark.parametrize(
    ("caches", "nodes", "names"), [(True, None, ["n1"]), (False, ["n1"], None)]
)
def test_the_body_of_a_request_has_nodes_or_names(caches, nodes, names):
    cluster = cluster_of(make_node("n1"))
    settings = ExtenderSettings(node_cache_capable=caches)
    body = request_body(settings, make_pod("a"), cluster.nodes())
    assert body["NodeNames"] == names
    sent = body["Nodes"] and [item["metadata"]["name"] for item in body["Nodes"]["items"]]
    assert sent == nodes
    assert body["Pod"]["metadata"]["name"] == "a"


def test_a_nominated_pod_counts_on_its_node_only():
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "zone"}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    scheduler = scheduler_of(*[make_node(f"n{i}", labels={"zone": "z"}) for i in (1, 2)])
    nominated = make_pod("nominated", priority=5, spec={"affinity": anti})
    scheduler.cluster.nominator.add(with_fields(nominated, "metadata", uid="u"), "n1")
    decision = scheduler.decide(make_pod("a", labels={"app": "x"}))
    assert (decision.node, [*decision.failed]) == ("n2", ["n1"])


def test_sampling_continues_at_its_last_position():
    scheduler = scheduler_of(*[make_node(f"n{i}") for i in range(200)])
    seen = [scheduler.decide(make_pod("a")).feasible for _ in range(2)]
    assert [len(names) for names in seen] == [100, 100]
    assert not set(seen[0]) & set(seen[1])


def test_nodes_without_room_do_not_count_as_found_and_the_search_ends_with_enough():
    nodes = [make_node(f"n{i}", cpu="1" if i % 2 else "4") for i in range(200)]
    decision = scheduler_of(*nodes).decide(make_pod("a", cpu="2"))
    assert (len(decision.feasible), len(decision.failed)) == (100, 99)


def test_each_of_the_best_is_chosen_about_equally_often():
    counts = [0, 0, 0]
    for cycle in range(3_000):
        counts[select_host([7, 7, 7], seeded_draw(1, cycle))] += 1
    assert min(counts) > 900


# ------------------------------------------------------------------------------- scores


@pytest.mark.parametrize(
    ("cpu", "memory", "of_1_16", "of_1_7"),
    [
        pytest.param(0.9, 0.0, 0, 1, id="0.9 and 0: the rounding differs"),
        pytest.param(0.5, 0.5, 10, 10, id="alike"),
        pytest.param(0.75, 0.5, 7, 7, id="a quarter apart"),
    ],
)
def test_balanced_rounds_as_its_version_did(cpu, memory, of_1_16, of_1_7):
    difference = abs(cpu - memory)
    assert balanced_score(difference) == of_1_16
    assert balanced_score_of_1_7(difference) == of_1_7


def test_the_provider_can_round_as_1_7_did():
    cluster = cluster_of(make_node("n1", cpu="1", memory="1000Gi"), make_node("n2"))
    pod = make_pod("a", cpu="900m", memory="0")
    rows = {}
    for as_1_7 in (False, True):
        algorithm = algorithm_of_provider(balanced_as_1_7=as_1_7)
        table = prioritize(algorithm, PriorityMetadata(pod, cluster), cluster.nodes())
        rows[as_1_7] = table.rows[table.names.index("BalancedResourceAllocation")][0]
    assert rows == {False: 0, True: 1}


# ------------------------------------------------------------------------------ volumes


def claim(name="data", *, volume="", storage_class=""):
    return decode(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name,
                "namespace": "default",
                "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
            },
            "spec": {
                "volumeName": volume,
                "storageClassName": storage_class,
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
    )


def volume(name, *, labels=None, nodes=(), storage_class="", size="1Gi", source=None):
    spec = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        **(source or {}),
    }
    if nodes:
        expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}
        terms = [{"matchExpressions": [expression]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    metadata = {"name": name, "labels": labels or {}}
    document = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata}
    return decode(document | {"spec": spec, "status": {"phase": "Available"}})


def storage_class(name, *, waits, provisioner="kubernetes.io/no-provisioner"):
    return decode(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
        }
    )


def user(name="a", claim_name="data", **fields):
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim_name}}]
    return make_pod(name, spec={"volumes": volumes}, **fields)


def reasons(decision):
    return {name: [f.reason for f in failures] for name, failures in decision.failed.items()}


def test_a_claim_that_is_missing_is_an_error():
    decision = scheduler_of(make_node("n1")).decide(user())
    assert decision.error == 'persistentvolumeclaim "data" not found'


def test_a_claim_that_is_being_deleted_is_an_error():
    deleted = with_fields(claim(volume="pv"), "metadata", deletion_timestamp="2026-01-01T00:00:00Z")
    decision = scheduler_of(make_node("n1"), deleted, volume("pv")).decide(user())
    assert decision.error == 'persistentvolumeclaim "data" is being deleted'


def test_a_claim_that_should_have_been_bound_is_an_error():
    decision = scheduler_of(make_node("n1"), claim()).decide(user())
    assert decision.error == "pod has unbound immediate PersistentVolumeClaims"


def test_an_error_of_several_nodes_has_their_number():
    """Upstream: apimachinery's util/errors, CreateAggregateFromMessageCountMap."""
    nodes = [make_node(f"n{i}", cpu="2", labels={ZONE: "z"} if i < 2 else {}) for i in range(3)]
    assert scheduler_of(*nodes, claim()).decide(user()).error == (
        "pod has unbound immediate PersistentVolumeClaims (repeated 3 times)"
    )
    full = make_node("full", cpu="1")
    of_zones = {"predicates": [{"name": "PodFitsResources"}, {"name": "NoVolumeZoneConflict"}]}
    zones = ClassicScheduler(
        algorithm_from_policy(read_policy(of_zones)), cluster_of(full, *nodes, claim())
    )
    # A node that fits does not outweigh the errors of others.
    decision = zones.decide(user(cpu="2"))
    assert decision.error == 'PersistentVolumeClaim was not found: "data" (repeated 2 times)'
    assert (decision.node, decision.feasible, decision.failed) == ("", [], {})
    zones.cluster.put(with_fields(nodes[1], "metadata", labels={}))
    assert zones.decide(user()).error == 'PersistentVolumeClaim was not found: "data"'


def test_preemption_leaves_out_nodes_that_cannot_be_evaluated():
    """Upstream: pkg/scheduler/core/generic_scheduler.go, selectVictimsOnNode."""
    of_zones = {"predicates": [{"name": "PodFitsResources"}, {"name": "NoVolumeZoneConflict"}]}
    objects = [claim()]
    for name, labels in (("n1", {ZONE: "z"}), ("n2", {})):
        objects.append(make_node(name, cpu="2", labels=labels))
        objects.append(make_pod(f"on-{name}", cpu="2", node=name))
    scheduler = ClassicScheduler(algorithm_from_policy(read_policy(of_zones)), cluster_of(*objects))
    pod = user(cpu="1", priority=5)
    found = preempt(scheduler, pod, scheduler.decide(pod).failed)
    assert (found.potential, [*found.candidates]) == (["n1", "n2"], ["n2"])


def test_a_bound_volume_keeps_to_its_nodes_and_zones():
    decision = scheduler_of(
        make_node("n1", labels={ZONE: "z1"}),
        make_node("n2", labels={ZONE: "z2"}),
        make_node("n3", labels={ZONE: "z1"}),
        claim(volume="pv"),
        volume("pv", labels={ZONE: "z1__z3"}, nodes=["n1", "n2"]),
    ).decide(user())
    assert decision.node == "n1"
    assert reasons(decision) == {
        "n2": ["node(s) had no available volume zone"],
        "n3": ["node(s) had volume node affinity conflict"],
    }


def test_a_waiting_claim_needs_a_free_volume_in_reach_or_a_provisioner():
    objects = [
        make_node("n1"),
        make_node("n2"),
        claim(storage_class="local"),
        volume("small", storage_class="local", nodes=["n1"], size="1Mi"),
        volume("good", storage_class="local", nodes=["n2"]),
    ]
    decision = scheduler_of(*objects, storage_class("local", waits=True)).decide(user())
    assert decision.node == "n2"
    assert reasons(decision) == {"n1": ["node(s) didn't find available persistent volumes to bind"]}
    provisioned = storage_class("local", waits=True, provisioner="example.com/disk")
    assert len(scheduler_of(*objects, provisioned).decide(user()).feasible) == 2


def test_a_node_attaches_only_so_many_disks():
    def disk(number):
        return {"gcePersistentDisk": {"pdName": f"d{number}", "readOnly": True}, "name": "v"}

    limit = {"attachable-volumes-gce-pd": 2}
    full = [make_pod(f"p{i}", spec={"volumes": [disk(i)]}, node="n1") for i in range(2)]
    scheduler = scheduler_of(make_node("n1", resources=limit), *full)
    assert scheduler.decide(make_pod("same", spec={"volumes": [disk(0)]})).node == "n1"
    decision = scheduler.decide(make_pod("third", spec={"volumes": [disk(3)]}))
    assert reasons(decision) == {"n1": ["node(s) exceed max volume count"]}


def test_a_csi_driver_takes_only_so_many_volumes():
    def csi(name):
        source = {"csi": {"driver": "d.example.com", "volumeHandle": name}}
        return volume(name, source=source)

    csi_node = decode(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": "n1"},
            "spec": {"drivers": [{"name": "d.example.com", "allocatable": {"count": 1}}]},
        }
    )
    scheduler = scheduler_of(
        make_node("n1"), csi_node,
        claim("c1", volume="v1"), csi("v1"), claim("c2", volume="v2"), csi("v2"),
        user("first", "c1", node="n1"),
    )  # fmt: skip
    assert scheduler.decide(user("again", "c1")).node == "n1"
    assert reasons(scheduler.decide(user("second", "c2"))) == {
        "n1": ["node(s) exceed max volume count"]
    }


# ------------------------------------------------------------------------------ threads


def test_threads_give_the_same_decisions_as_a_loop():
    def build(**settings):
        nodes = [
            make_node(f"n{i}", cpu=str(1 + i % 5), labels={ZONE: f"z{i % 3}"}) for i in range(60)
        ]
        pods = [
            make_pod(f"p{i}", cpu="500m", labels={"app": "x"}, node=f"n{i % 60}", priority=i % 3)
            for i in range(90)
        ]
        return scheduler_of(*nodes, *pods, **settings)

    pod = make_pod("new", cpu="1", labels={"app": "x"}, priority=9)
    loop = build()
    with ThreadedPieces(8) as threads:
        pool = build(parallelize_until=threads, workers=8)
        for _ in range(5):
            one, other = loop.decide(pod), pool.decide(pod)
            assert one.feasible == other.feasible
            assert one.failed == other.failed
            assert one.table.rows == other.table.rows
            assert one.table.mapped == other.table.mapped
            assert one.node == other.node


def test_an_error_of_a_piece_on_a_thread_is_raised_in_the_caller():
    def fail(index):
        if index == 3:
            raise ValueError("piece 3")

    with ThreadedPieces(2) as threads, pytest.raises(ValueError, match="piece 3"):
        threads(2, 5, fail)


def test_sixteen_workers_evaluate_and_score_nodes():
    workers = set()

    def recorded(count, pieces, do_piece):
        workers.add(count)
        in_order(count, pieces, do_piece)

    scheduler = scheduler_of(make_node("n1"), make_node("n2"), parallelize_until=recorded)
    scheduler.decide(make_pod("a"))
    assert workers == {16}


def with_service_affinity(*labels: str) -> tuple[ClassicScheduler, ClassicCluster]:
    """Return a scheduler of four nodes in racks and rows, and its cluster, which has a service."""
    argument = {"serviceAffinity": {"labels": [*labels]}}
    policy = {"predicates": [{"name": "CheckServiceAffinity", "argument": argument}]}
    algorithm = algorithm_from_policy(read_policy(policy))
    service = decode(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "s", "namespace": "default"},
            "spec": {"selector": {"app": "x"}},
        }
    )
    places = [{"rack": f"r{i % 2}", "row": str(i // 2)} for i in range(4)]
    nodes = [make_node(f"n{i}", labels=labels) for i, labels in enumerate(places)]
    cluster = cluster_of(service, *nodes)
    return ClassicScheduler(algorithm, cluster), cluster


def test_a_pod_has_precedence_over_others_of_its_service_for_each_label():
    scheduler, cluster = with_service_affinity("rack", "row")
    cluster.put(make_pod("first", labels={"app": "x"}, node="n1"))
    chosen = make_pod("b", labels={"app": "x"}, node_selector={"rack": "r0"})
    assert scheduler.decide(chosen).feasible == ["n0"]


def test_service_affinity_follows_a_pod_with_the_same_labels():
    scheduler, cluster = with_service_affinity("rack")
    assert len(scheduler.decide(make_pod("a", labels={"app": "x"})).feasible) == 4
    cluster.put(make_pod("other", labels={"app": "x"}, node="n0", namespace="other"))
    cluster.put(make_pod("unlike", labels={"app": "z"}, node="n0"))
    cluster.put(make_pod("first", labels={"app": "x"}, node="n1"))
    assert scheduler.decide(make_pod("a", labels={"app": "x"})).feasible == ["n1", "n3"]
    chosen = make_pod("b", labels={"app": "x"}, node_selector={"rack": "r0"})
    assert scheduler.decide(chosen).feasible == ["n0", "n2"]
    assert len(scheduler.decide(make_pod("c", labels={"app": "y"})).feasible) == 4


def test_the_draws_of_a_cycle_are_numbered_from_one():
    """Recorded runs depend on these values."""
    next_draw = seeded_draw(5, 3)
    expected = [draw(5, TIE_STREAM, (3 << 20) + number) % 1000 for number in (1, 2, 3)]
    assert [next_draw(1000) for _ in range(3)] == expected

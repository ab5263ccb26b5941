"""Records of clusters small enough to derive the possible decisions by hand."""

import json
import re
from typing import Any

import pytest

from podwright.apimachinery.objects import InputError, Pod
from podwright.apimachinery.objects.texts.times import timestamp_ns
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly.scheduler import Scheduler
from podwright.scheduler.config import read_configuration
from podwright.scheduler.framework.profile import TieRule
from podwright.simulation.files.record import read_record
from podwright.simulation.files.scheduler_log import read_scheduler_log
from podwright.simulation.shadow.comparison import agreement
from podwright.simulation.shadow.record_shadow import Shadow

START_NS = timestamp_ns("2026-03-02T10:00:00Z") or 0
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
PREEMPTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
MIB = 1 << 20


def time_of(ms):
    return f"2026-03-02T10:{ms // 60_000:02d}:{ms // 1000 % 60:02d}.{ms % 1000:03d}Z"


def node(name, cpu="4", images=None, *, memory="16Gi"):
    listed = [{"names": [image], "sizeBytes": size} for image, size in (images or {}).items()]
    allocatable = {"cpu": cpu, "memory": memory, "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "status": {"allocatable": allocatable, "images": listed},
    }


def pod(name, cpu="1", on="", *, priority=0, started="", image="app:1", **spec):
    requests = {"requests": {"cpu": cpu, "memory": "1Gi"}}
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "a", "uid": f"uid-{name}"},
        "spec": {
            "containers": [{"name": "c", "image": image, "resources": requests}],
            "schedulerName": "default-scheduler",
            "priority": priority,
            **spec,
        },
        "status": {"phase": "Pending"},
    }
    if on:
        document["spec"]["nodeName"] = on
        document["status"] = {"phase": "Running", "startTime": started or "2026-03-02T09:00:00Z"}
    return document


def with_status(document, **status):
    return document | {"status": document["status"] | status}


def terminating(document):
    metadata = document["metadata"] | {"deletionTimestamp": "2026-03-02T10:01:00Z"}
    return with_status(document, conditions=[PREEMPTED]) | {"metadata": metadata}


class Cluster:
    """Records a real cluster and the log of its scheduler."""

    def __init__(self, *objects):
        self.changes = []
        self.log_lines = []
        self.version = 0
        for obj in objects:
            self.add(0, obj)

    def _change(self, ms, event, obj):
        self.version += 1
        obj = obj | {"metadata": obj["metadata"] | {"resourceVersion": str(self.version)}}
        self.changes.append({"time": time_of(ms), "event": event, "resource": obj})

    def add(self, ms, obj):
        self._change(ms, "Add", obj)

    def update(self, ms, obj):
        self._change(ms, "Update", obj)

    def delete(self, ms, obj):
        self._change(ms, "Delete", obj)

    def log_line(self, ms, what, name="", **fields):
        named = {"pod": f"a/{name}"} if name else {}
        self.log_lines.append({"time": time_of(ms), "what": what} | named | fields)

    def add_pending(self, ms, document, *, late_ms=0):
        """Add a pod to the queue; the recorder observes it `late_ms` later."""
        name = document["metadata"]["name"]
        self.log_line(ms, "queue", name, event="UnschedulablePodAdd", queue="Active")
        self.add(ms + late_ms, document)

    def bind(self, ms, document, on, *, evaluated=0, took_ms=5):
        """Log the binding of a pod; the record shows it `took_ms` later."""
        name = document["metadata"]["name"]
        self.log_line(ms, "attempt", name)
        self.log_line(ms + 1, "bound", name, node=on, evaluatedNodes=evaluated, feasibleNodes=1)
        self.update(ms + took_ms, document | {"spec": document["spec"] | {"nodeName": on}})

    def record(self):
        lines = sorted(self.changes, key=lambda line: line["time"])
        return read_record(as_lines(lines), source="record.jsonl")

    def log(self):
        lines = sorted(self.log_lines, key=lambda line: line["time"])
        return read_scheduler_log(as_lines(lines), source="scheduler.jsonl")

    def findings(self, *, has_log=True, **options):
        shadow = Shadow(self.record(), self.log() if has_log else None, **options)
        return [one for one in shadow.findings() if one is not None]


def as_lines(values):
    return "".join(f"{json.dumps(value)}\n" for value in values).encode()


with_and_without_log = pytest.mark.parametrize(
    "has_log", [True, False], ids=["with the log", "record alone"]
)


# ---------------------------------------------------------------- bindings


@with_and_without_log
def test_the_best_node_agrees(has_log):
    cluster = Cluster(node("free"), node("busy"), pod("old", "3", "busy"))
    cluster.add_pending(1000, pod("web"))
    cluster.bind(1001, pod("web"), "free")
    (found,) = cluster.findings(has_log=has_log)
    assert (found.what, found.pod, found.node, found.outcome) == (
        "binding", "a/web", "free", "agreed",
    )  # fmt: skip


@with_and_without_log
def test_any_of_several_equal_nodes_agrees(has_log):
    for name in ("one", "two", "three"):
        cluster = Cluster(node("one"), node("two"), node("three"))
        cluster.add_pending(1000, pod("web"))
        cluster.bind(1001, pod("web"), name)
        assert [one.outcome for one in cluster.findings(has_log=has_log)] == ["agreed"]


@with_and_without_log
def test_a_worse_node_is_unexplained_and_the_scores_are_shown(has_log):
    cluster = Cluster(node("free"), node("busy"), pod("old", "2", "busy"))
    cluster.add_pending(1000, pod("web"))
    cluster.bind(1001, pod("web"), "busy")
    (found,) = cluster.findings(has_log=has_log)
    assert (found.outcome, found.reasons, found.best, found.rejection) == (
        "unexplained", (), "free", "",
    )  # fmt: skip
    assert "NodeResourcesFit" in [score.plugin for score in found.scores]
    assert sum(score.best - score.chosen for score in found.scores) > 0
    assert found.explanation.startswith("no explanation: in ")
    assert found.explanation.endswith("neither sampling nor older image counts lead to it")


@with_and_without_log
def test_an_infeasible_node_is_unexplained_with_the_rejection(has_log):
    cluster = Cluster(node("free"), node("full"), pod("old", "4", "full"))
    cluster.add_pending(1000, pod("web"))
    cluster.bind(1001, pod("web"), "full")
    (found,) = cluster.findings(has_log=has_log)
    assert (found.outcome, found.best, found.rejection) == (
        "unexplained", "free", "Insufficient cpu",
    )  # fmt: skip


def test_a_pod_that_was_created_with_a_node_is_not_a_binding():
    cluster = Cluster(node("n1"), node("n2"))
    cluster.add(500, pod("static", "1", "n1"))
    assert cluster.findings(has_log=False) == []


@with_and_without_log
def test_pods_of_other_schedulers_are_not_compared_but_use_resources(has_log):
    cluster = Cluster(node("n1"), node("n2"))
    other = pod("other", "3", schedulerName="mine")
    cluster.add(900, other)
    cluster.update(950, other | {"spec": other["spec"] | {"nodeName": "n1"}})
    cluster.add_pending(1000, pod("web"))
    cluster.bind(1001, pod("web"), "n2")
    assert [(one.pod, one.outcome) for one in cluster.findings(has_log=has_log)] == [
        ("a/web", "agreed")
    ]


# ---------------------------------------------------------------- delays


def late_by(ms, *, ended_ms, has_arrivals=True):
    """The scheduler has observed the end of `old`; the recorder observes it later."""
    cluster = Cluster(node("small", "2"), node("large", "8"), pod("old", "1500m", "small"))
    cluster.add(0, pod("other", "4", "large"))
    if has_arrivals:
        cluster.add_pending(1000, pod("first", "7"), late_ms=ms)
        cluster.add_pending(2000, pod("web", "500m"))
    else:
        cluster.add(2000, pod("web", "500m"))
    cluster.update(ended_ms, with_status(pod("old", "1500m", "small"), phase="Succeeded"))
    cluster.bind(2001, pod("web", "500m"), "small", took_ms=200)
    return cluster


def test_a_change_recorded_late_explains_a_binding():
    (found,) = late_by(100, ended_ms=2050).findings()
    assert (found.outcome, found.reasons) == ("explained", ("delay",))
    assert found.explanation == "the real scheduler had already seen line 7 (Update Pod a/old)"
    assert found.best == "large"


def test_three_of_the_late_changes_are_named():
    old = [pod(f"old-{i}", "300m", "small") for i in range(5)]
    cluster = Cluster(node("small", "2"), node("large", "8"), *old)
    cluster.add(0, pod("other", "4", "large"))
    cluster.add_pending(1000, pod("first", "7"), late_ms=100)
    cluster.add_pending(2000, pod("web", "500m"))
    for each in old:
        cluster.update(2050, with_status(each, phase="Succeeded"))
    cluster.bind(2001, pod("web", "500m"), "small", took_ms=200)
    (found,) = cluster.findings()
    assert (found.outcome, found.reasons) == ("explained", ("delay",))
    shown = r"(line \d+ \(Update Pod a/old-\d\), ){2}line \d+ \(Update Pod a/old-\d\) and \d more"
    assert re.fullmatch(f"the real scheduler had already seen {shown}", found.explanation)


def test_a_change_recorded_later_than_any_delay_explains_nothing():
    (found,) = late_by(20, ended_ms=2050).findings()
    assert found.outcome == "unexplained"


def test_without_arrivals_in_the_log_the_default_delay_is_used():
    (found,) = late_by(0, ended_ms=2050, has_arrivals=False).findings()
    assert (found.outcome, found.reasons) == ("explained", ("delay",))


def ended_early(*logged, attempt_ms=2001, next_ms=2004):
    """`old` ends on the small node; all that was measured says that nobody knew it before 2050."""
    cluster = Cluster(node("small", "2"), node("large", "8"), pod("old", "1500m", "small"))
    cluster.add(0, pod("other", "4", "large"))
    cluster.add_pending(1000, pod("first", "7"))
    cluster.log_line(1500, "observed", "other", event="AssignedPodAdd")
    web, later = pod("web", "500m"), pod("later", "500m")
    cluster.add_pending(1990, web)
    cluster.add_pending(1990, later)
    cluster.update(2050, with_status(pod("old", "1500m", "small"), phase="Succeeded"))
    cluster.delete(2060, with_status(pod("old", "1500m", "small"), phase="Succeeded"))
    for ms in logged:
        cluster.log_line(ms, "observed", "old", event="AssignedPodDelete")
    cluster.bind(attempt_ms, web, "small", took_ms=200)
    cluster.bind(next_ms, later, "large", took_ms=200)
    return {one.pod: one for one in cluster.findings()}["a/web"]


def test_the_log_says_exactly_what_was_observed_before_an_attempt():
    assert ended_early(2000).outcome == "agreed"


def test_what_was_observed_in_an_attempt_may_be_part_of_its_state():
    # The first line of the attempt is written before the state is copied.
    found = ended_early(2002)
    assert (found.outcome, found.reasons) == ("explained", ("delay",))
    assert found.explanation == "the real scheduler had already seen line 8 (Update Pod a/old)"


@pytest.mark.parametrize("ms", [2003, 2005], ids=["after its end", "after the next attempt"])
def test_what_was_observed_after_an_attempt_is_not_part_of_its_state(ms):
    assert ended_early(ms).outcome == "unexplained"


def test_the_last_change_before_an_attempt_may_not_have_been_applied():
    # Its line is written before it is applied; without `old`, `small` is the best.
    cluster = Cluster(node("small", "2"), node("large", "8"), pod("old", "1500m", "small"))
    cluster.add(0, pod("other", "4", "large"))
    cluster.add_pending(1000, pod("web", "500m"))
    cluster.log_line(2000, "observed", "old", event="AssignedPodDelete")
    cluster.delete(2000, pod("old", "1500m", "small"))
    cluster.bind(2002, pod("web", "500m"), "large", took_ms=200)
    (found,) = cluster.findings()
    assert (found.outcome, found.reasons) == ("explained", ("delay",))
    assert found.explanation == "the real scheduler had not yet seen line 6 (Delete Pod a/old)"


def test_assumed_pods_count_before_the_api_shows_them():
    cluster = Cluster(node("one"), node("two"))
    cluster.add_pending(1000, pod("first", "2"))
    cluster.add_pending(1001, pod("second", "2"))
    cluster.bind(1002, pod("first", "2"), "one", took_ms=90)
    cluster.bind(1010, pod("second", "2"), "two", took_ms=5)
    assert [one.outcome for one in cluster.findings()] == ["agreed", "agreed"]


def in_flight(took_ms):
    cluster = Cluster(node("one"), node("two", "3900m"))
    cluster.add_pending(1000, pod("first", "2"))
    cluster.add_pending(1001, pod("second", "2"))
    cluster.bind(1002, pod("first", "2"), "one", took_ms=took_ms)
    cluster.bind(1010, pod("second", "2"), "two", took_ms=5)
    return cluster


def test_without_a_log_a_later_binding_may_have_been_decided_earlier():
    second, first = in_flight(90).findings(has_log=False)
    assert (first.pod, first.outcome) == ("a/first", "agreed")
    assert (second.outcome, second.reasons) == ("explained", ("delay",))
    assert second.explanation == "the real scheduler had already placed a/first on one"


def test_without_a_log_a_much_later_binding_was_not_decided_earlier():
    second = in_flight(900).findings(has_log=False)[0]
    assert (second.pod, second.outcome) == ("a/second", "unexplained")
    second = in_flight(900).findings(has_log=False, delay_ns=1_000_000_000)[0]
    assert second.outcome == "explained"


def test_a_clock_difference_does_not_matter():
    cluster = Cluster(node("one"), node("two"))
    for number in range(3):
        ms = 1000 * (number + 1)
        cluster.add_pending(ms, pod(f"web-{number}"), late_ms=400_000)
        cluster.bind(ms + 10, pod(f"web-{number}"), ("one", "two", "one")[number], took_ms=400_005)
    assert [one.outcome for one in cluster.findings()] == ["agreed"] * 3


def test_the_results_of_an_attempt_are_not_part_of_its_observed_state():
    # The claim is bound to a volume of `far` because the pod was placed there.
    storage_class = {
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"},
        "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer",
    }  # fmt: skip

    def volume(name, on, claim=None):
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}
        spec = {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local", "local": {"path": "/d"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        }  # fmt: skip
        if claim:
            spec["claimRef"] = {"namespace": "a", "name": claim, "uid": "uid-data"}
        return {"apiVersion": "v1", "kind": "PersistentVolume",
                "metadata": {"name": name}, "spec": spec,
                "status": {"phase": "Available"}}  # fmt: skip

    claim = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "a", "uid": "uid-data"},
        "spec": {"storageClassName": "local", "accessModes": ["ReadWriteOnce"],
                 "resources": {"requests": {"storage": "1Gi"}}},
    }  # fmt: skip
    busy = pod("old", "3", "far")
    cluster = Cluster(
        node("near"), node("far"), busy, storage_class,
        volume("v-near", "near"), volume("v-far", "far"), claim,
    )  # fmt: skip
    uses = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    db = pod("db", volumes=uses)
    cluster.add_pending(1000, db, late_ms=50)
    cluster.update(1060, volume("v-far", "far", claim="data"))
    cluster.bind(1055, db, "far", took_ms=30)
    for has_log in (True, False):
        (found,) = cluster.findings(has_log=has_log)
        assert (found.outcome, found.best) == ("unexplained", "near"), found


@with_and_without_log
def test_the_node_that_an_attempt_selects_for_a_claim_is_not_part_of_its_observed_state(has_log):
    storage_class = {
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
        "provisioner": "example.com/disks", "volumeBindingMode": "WaitForFirstConsumer",
    }  # fmt: skip
    metadata = {"name": "data", "namespace": "a", "uid": "uid-data"}
    claim = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata,
        "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
                 "resources": {"requests": {"storage": "1Gi"}}},
    }  # fmt: skip
    selected = {"annotations": {"volume.kubernetes.io/selected-node": "far"}}
    cluster = Cluster(node("near"), node("far"), pod("old", "3", "far"), storage_class, claim)
    db = pod("db", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
    cluster.add_pending(1000, db, late_ms=50)
    cluster.update(1060, claim | {"metadata": metadata | selected})
    cluster.bind(1055, db, "far", took_ms=30)
    (found,) = cluster.findings(has_log=has_log)
    assert (found.outcome, found.best) == ("unexplained", "near"), found


# ---------------------------------------------------------------- sampling


def many_nodes(evaluated, *, chosen="n060"):
    """The last of 120 nodes is the best; the search ends before it or reaches it."""
    nodes = [node(f"n{i:03}", "4") for i in range(120)]
    nodes[119] = node("n119", "64", memory="256Gi")
    nodes[60] = node("n060", "32", memory="64Gi")
    cluster = Cluster(*nodes)
    cluster.add_pending(1000, pod("web"))
    cluster.bind(1001, pod("web"), chosen, evaluated=evaluated)
    return cluster


@pytest.mark.parametrize(
    ("evaluated", "chosen", "outcome"),
    [
        pytest.param(100, "n060", "explained", id="the best of the evaluated nodes"),
        pytest.param(120, "n060", "unexplained", id="all nodes were evaluated"),
        pytest.param(100, "n061", "unexplained", id="there is always a better one in the sample"),
        pytest.param(100, "n119", "agreed", id="the best of all"),
    ],
)
def test_sampling_explains_a_node_that_is_not_the_best(evaluated, chosen, outcome):
    (found,) = many_nodes(evaluated, chosen=chosen).findings()
    assert found.outcome == outcome
    assert found.reasons == (("sampling",) if outcome == "explained" else ())


@pytest.mark.parametrize(("first", "outcome"), [(110, "explained"), (120, "unexplained")])
def test_the_first_search_starts_where_the_one_before_ended(first, outcome, monkeypatch):
    monkeypatch.setattr("podwright.simulation.shadow.record_shadow.MOST_SEARCHES", 1)
    # From n110 on, a hundred nodes end before n095, the best; from n000 on they include it.
    nodes = [node(f"n{i:03}", "4") for i in range(120)]
    nodes[10] = node("n010", "32", memory="64Gi")
    nodes[95] = node("n095", "64", memory="256Gi")
    cluster = Cluster(*nodes)
    for ms, name, on, evaluated in ((1000, "first", "n000", first), (2000, "web", "n010", 100)):
        cluster.add_pending(ms, pod(name))
        cluster.bind(ms + 1, pod(name), on, evaluated=evaluated)
    found = {one.pod: one for one in cluster.findings()}["a/web"]
    assert found.outcome == outcome


def test_the_first_search_of_all_starts_at_the_first_node(monkeypatch):
    monkeypatch.setattr("podwright.simulation.shadow.record_shadow.MOST_SEARCHES", 1)
    nodes = [node(f"n{i:03}", "4") for i in range(120)]
    nodes[10] = node("n010", "32", memory="64Gi")
    nodes[100] = node("n100", "64", memory="256Gi")
    cluster = Cluster(*nodes)
    cluster.add_pending(1000, pod("web"))
    cluster.bind(1001, pod("web"), "n010", evaluated=100)
    (found,) = cluster.findings()
    assert (found.outcome, found.reasons) == ("explained", ("sampling",))
    assert found.explanation == "it stopped looking after enough feasible nodes"


def test_a_failed_search_moves_the_start_by_what_it_evaluated(monkeypatch):
    monkeypatch.setattr("podwright.simulation.shadow.record_shadow.MOST_SEARCHES", 1)
    # The pod that fails may run on n000 only, so one node is evaluated: the next search starts at
    # n001, ends with n100, and finds the best of all there.
    nodes = [node(f"n{i:03}", "4") for i in range(120)]
    nodes[10] = node("n010", "32", memory="64Gi")
    nodes[100] = node("n100", "64", memory="256Gi")
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n000"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    cluster = Cluster(*nodes)
    cluster.add_pending(900, pod("fails", "9", affinity={"nodeAffinity": required}))
    cluster.log_line(901, "attempt", "fails")
    cluster.log_line(902, "unschedulable", "fails", err="no")
    cluster.add_pending(1000, pod("web"))
    cluster.bind(1001, pod("web"), "n010", evaluated=100)
    (found,) = cluster.findings()
    assert found.outcome == "unexplained"


def test_without_a_log_any_number_of_nodes_may_have_been_evaluated():
    (found,) = many_nodes(120).findings(has_log=False)
    assert found.reasons == ("sampling",)


def test_sampling_explains_nothing_if_all_nodes_are_scored():
    everything = read_configuration(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "percentageOfNodesToScore": 100,
        },
        source="config.yaml",
    )
    (found,) = many_nodes(100).findings(configuration=everything)
    assert found.outcome == "unexplained"


@with_and_without_log
def test_all_decisions_of_a_sampling_scheduler_are_explained(has_log):
    # Podwright, with the adaptive percentage and the v1.36 tie rule, acts as the real scheduler.
    sizes = [(2000 + 37 * i % 4001, 4000 + 91 * i % 5003) for i in range(130)]
    nodes = [
        node(f"n{i:03}", f"{cpu}m", memory=f"{memory}Mi") for i, (cpu, memory) in enumerate(sizes)
    ]
    adaptive = read_configuration(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "percentageOfNodesToScore": 0,
        },
        source="config.yaml",
    )
    real = Scheduler(adaptive, tie_rule=TieRule.HEAP)
    real.add(*map(decode, nodes))
    cluster = Cluster(*nodes)
    for i in range(80):
        document = pod(f"p{i}", ("250m", "500m", "1")[i % 3])
        decoded = decode(document)
        assert isinstance(decoded, Pod)
        decision = real.schedule(decoded)
        assert decision.evaluated_count == 100
        cluster.add_pending(1000 + 20 * i, document)
        cluster.bind(1001 + 20 * i, document, decision.node, evaluated=decision.evaluated_count)
    counted = agreement(cluster.findings(has_log=has_log))
    assert (counted.total, counted.unexplained) == (80, 0)
    assert counted.explained_by == {"sampling": counted.explained}
    assert counted.explained > 5


# ---------------------------------------------------------------- images


def test_the_image_counts_of_the_last_copy_explain_a_binding():
    # `one` is copied when the image is on one node of four, the others when it is on more.
    image = {"app:1": 3000 * MIB}
    cluster = Cluster(node("one", "4", image), node("two", "4"), node("three"), node("four"))
    cluster.add(100, pod("weight", "100m", "two"))
    cluster.add_pending(1000, pod("first", "100m", image="none"))
    cluster.bind(1001, pod("first", "100m", image="none"), "one")
    cluster.update(2000, node("two", "4", image))
    cluster.update(2000, node("three", "4", image))
    cluster.add_pending(3000, pod("web"))
    cluster.bind(3001, pod("web"), "three")
    outcomes = {one.pod: (one.outcome, one.reasons) for one in cluster.findings()}
    assert outcomes["a/web"] == ("agreed", ())
    cluster = Cluster(node("one", "5", image), node("two"), node("three"), node("four"))
    cluster.add_pending(1000, pod("first", "100m", image="none"))
    cluster.bind(1001, pod("first", "100m", image="none"), "one")
    cluster.update(1500, pod("first", "100m", "one", image="none"))
    cluster.add_pending(1600, pod("between", "100m", image="none"))
    cluster.bind(1601, pod("between", "100m", image="none"), "two")
    cluster.update(2000, node("two", "4", image))
    cluster.update(2000, node("three", "4", image))
    cluster.add_pending(3000, pod("web"))
    cluster.bind(3001, pod("web"), "three")
    found = {one.pod: one for one in cluster.findings()}["a/web"]
    assert (found.outcome, found.reasons, found.best) == ("explained", ("image counts",), "one")


# ---------------------------------------------------------------- preemption


def preemption(
    *,
    victims=("low-1",),
    on="n1",
    pods=(),
    name="urgent",
):
    """Two full nodes and a high-priority pod that preempts."""
    there = pods or (
        pod("low-1", "4", "n1", priority=1),
        pod("low-2", "4", "n2", priority=2),
    )
    by_name = {one["metadata"]["name"]: one for one in there}
    cluster = Cluster(node("n1"), node("n2"), *there)
    urgent = pod(name, "2", priority=100)
    cluster.add_pending(1000, urgent)
    cluster.log_line(1001, "attempt", name)
    cluster.log_line(1002, "preempt", name, node=on)
    cluster.log_line(
        1003, "unschedulable", name, err="0/2 nodes are available: 2 Insufficient cpu."
    )
    cluster.log_line(
        1004,
        "condition",
        name,
        conditionType="PodScheduled",
        conditionStatus="False",
        nominatedNodeName=on,
        nominatingMode=1,
    )
    nominated = with_status(urgent, nominatedNodeName=on, conditions=[UNSCHEDULABLE])
    cluster.update(1010, nominated)
    for victim in victims:
        cluster.log_line(1005, "victim", preemptor=f"a/{name}", victim=f"a/{victim}", node=on)
        cluster.update(1012, terminating(by_name[victim]))
        cluster.delete(1500, terminating(by_name[victim]))
    cluster.bind(1510, nominated, on)
    return cluster


def outcomes(cluster, has_log):
    return [(one.what, one.outcome) for one in cluster.findings(has_log=has_log)]


@with_and_without_log
def test_a_preemption_with_the_least_important_victim_agrees(has_log):
    assert outcomes(preemption(), has_log) == [("preemption", "agreed"), ("binding", "agreed")]


@pytest.mark.parametrize(
    ("apart_ms", "found"),
    [(40, ["preemption", "binding"]), (41, ["binding"])],
)
def test_a_victim_leaves_within_four_delays_of_the_nomination(apart_ms, found):
    low = pod("low-1", "4", "n1", priority=1)
    cluster = Cluster(node("n1"), node("n2"), low, pod("low-2", "4", "n2", priority=2))
    urgent = pod("urgent", "2", priority=100)
    nominated = with_status(urgent, nominatedNodeName="n1", conditions=[UNSCHEDULABLE])
    cluster.add(1000, urgent)
    cluster.update(1010, nominated)
    cluster.update(1010 + apart_ms, terminating(low))
    cluster.delete(1500, terminating(low))
    cluster.update(1510, nominated | {"spec": nominated["spec"] | {"nodeName": "n1"}})
    findings = cluster.findings(has_log=False, delay_ns=10_000_000)
    assert [one.what for one in findings] == found


@with_and_without_log
def test_a_preemption_on_a_node_with_more_important_victims_is_unexplained(has_log):
    cluster = preemption(victims=("low-2",), on="n2")
    found = cluster.findings(has_log=has_log)[0]
    assert (found.what, found.outcome, found.best) == ("preemption", "unexplained", "n1")
    assert (found.victims, found.our_victims) == (("a/low-2",), ("a/low-2",))


HALVES = tuple(pod(f"low-{i}", "2", "n1" if i < 3 else "n2", priority=5) for i in range(1, 5))


@with_and_without_log
@pytest.mark.parametrize("victim", ["low-1", "low-2"])
def test_any_of_equally_important_pods_may_be_the_victim(has_log, victim):
    cluster = preemption(pods=HALVES, victims=(victim,))
    assert outcomes(cluster, has_log)[0] == ("preemption", "agreed")


@with_and_without_log
@pytest.mark.parametrize("cpus", [("2", "1", "1"), ("1", "1", "2")])
def test_equally_important_pods_of_a_better_node_may_be_victims_in_any_order(has_log, cpus):
    # On n1 either the large pod or both small ones; the second makes n2 the best node.
    started = "2026-03-02T09:30:00Z"
    equals = [pod(f"n1-{i}", cpu, "n1", started=started) for i, cpu in enumerate(cpus)]
    earlier = pod("n2-1", "4", "n2", started="2026-03-02T08:00:00Z")
    cluster = preemption(pods=(*equals, earlier), victims=("n2-1",), on="n2")
    assert outcomes(cluster, has_log)[0] == ("preemption", "agreed")


@with_and_without_log
def test_a_better_node_that_has_one_order_of_victims_only_is_unexplained(has_log):
    started = "2026-03-02T09:30:00Z"
    equals = [pod(f"n1-{i}", "2", "n1", started=started) for i in range(2)]
    earlier = pod("n2-1", "4", "n2", started="2026-03-02T08:00:00Z")
    cluster = preemption(pods=(*equals, earlier), victims=("n2-1",), on="n2")
    assert outcomes(cluster, has_log)[0] == ("preemption", "unexplained")


@with_and_without_log
def test_more_victims_than_needed_are_unexplained(has_log):
    cluster = preemption(pods=HALVES, victims=("low-1", "low-2"))
    found = cluster.findings(has_log=has_log)[0]
    assert (found.outcome, found.victims) == ("unexplained", ("a/low-1", "a/low-2"))
    assert len(found.our_victims) == 1


@with_and_without_log
def test_the_pod_that_started_later_is_the_victim(has_log):
    pods = (
        pod("early", "2", "n1", started="2026-03-02T08:00:00Z"),
        pod("late", "2", "n1", started="2026-03-02T09:30:00Z"),
        pod("other", "4", "n2", priority=50),
    )
    assert outcomes(preemption(pods=pods, victims=("late",)), has_log)[0][1] == "agreed"
    assert outcomes(preemption(pods=pods, victims=("early",)), has_log)[0][1] == "unexplained"


@pytest.mark.parametrize(
    ("seen_ms", "outcome"),
    [
        pytest.param(1016, "explained", id="a later change was observed after the attempt"),
        pytest.param(1012, "unexplained", id="a later change was observed before it"),
    ],
)
def test_a_pod_whose_nomination_was_not_observed_yet_is_placed_by_a_search(seen_ms, outcome):
    # The victims leave before the nomination is written, and so does the pod on the better node.
    low, high = pod("low", "4", "n1", priority=1), pod("high", "7", "n2", priority=2)
    cluster = Cluster(node("n1"), node("n2", "7"), low, high)
    urgent = pod("urgent", "2", priority=100)
    cluster.add_pending(1000, urgent)
    cluster.log_line(1001, "attempt", "urgent")
    cluster.log_line(1002, "preempt", "urgent", node="n1")
    cluster.log_line(1003, "unschedulable", "urgent", err="no node")
    cluster.log_line(
        1004, "condition", "urgent", conditionType="PodScheduled", conditionStatus="False",
        nominatedNodeName="n1", nominatingMode=1,
    )  # fmt: skip
    cluster.log_line(1005, "victim", preemptor="a/urgent", victim="a/low", node="n1")
    cluster.update(1006, terminating(low))
    cluster.delete(1007, terminating(low))
    cluster.delete(1007, high)
    nominated = with_status(urgent, nominatedNodeName="n1", conditions=[UNSCHEDULABLE])
    cluster.update(1008, nominated)
    cluster.add(1009, pod("static", "100m", "n1"))
    for name in ("low", "high"):
        cluster.log_line(1012, "observed", name, event="AssignedPodDelete")
    cluster.log_line(seen_ms, "observed", "static", event="AssignedPodAdd")
    cluster.log_line(1014, "attempt", "urgent")
    cluster.log_line(1015, "bound", "urgent", node="n2")
    cluster.update(1020, nominated | {"spec": urgent["spec"] | {"nodeName": "n2"}})
    assert outcomes(cluster, has_log=True)[1] == ("binding", outcome)


def test_messages_of_failed_attempts_are_compared():
    shadow = Shadow(preemption().record(), preemption().log())
    assert shadow.attempt_count == 2
    list(shadow.findings())
    assert (shadow.failed_count, shadow.same_message_count) == (1, 1)


@pytest.mark.parametrize("cpu", ["99", "1"], ids=["another reason", "a pod that fits"])
def test_another_message_of_a_failed_attempt_is_counted(cpu):
    cluster = Cluster(node("n1"))
    cluster.add_pending(1000, pod("p", cpu))
    cluster.log_line(1001, "attempt", "p")
    cluster.log_line(1002, "unschedulable", "p", err="0/1 nodes are available: 1 other.")
    shadow = Shadow(cluster.record(), cluster.log())
    list(shadow.findings())
    assert (shadow.failed_count, shadow.same_message_count) == (1, 0)


# ---------------------------------------------------------------- errors


def test_a_binding_to_an_unknown_node_is_rejected():
    cluster = Cluster(node("n1"))
    for name in ("p", "q"):
        cluster.add_pending(1000, pod(name))
        cluster.bind(1001, pod(name), f"ghost-{name}")
    with pytest.raises(InputError) as caught:
        cluster.findings()
    assert str(caught.value).splitlines() == [
        f'record.jsonl: line {line}: resource.spec.nodeName: no line adds the node "ghost-{name}"'
        for line, name in ((4, "p"), (5, "q"))
    ]


def test_only_nodes_are_known_as_nodes():
    cluster = Cluster(node("n1"), pod("ghost"))
    cluster.bind(1001, pod("ghost"), "ghost")
    with pytest.raises(InputError, match='no line adds the node "ghost"'):
        cluster.findings()


def test_the_log_of_another_cluster_is_rejected():
    cluster, other = Cluster(node("n1")), Cluster(node("n1"))
    cluster.add_pending(1000, pod("p"))
    cluster.bind(1001, pod("p"), "n1")
    other.add_pending(1000, pod("q"))
    other.bind(1001, pod("q"), "n1")
    with pytest.raises(InputError) as caught:
        Shadow(cluster.record(), other.log())
    message = "none of the bindings in record.jsonl is in this log"
    assert str(caught.value) == f"scheduler.jsonl: {message}"


def test_a_binding_missing_from_the_log_is_unexplained():
    cluster = Cluster(node("n1"))
    cluster.add_pending(1000, pod("p"))
    cluster.bind(1001, pod("p"), "n1")
    cluster.add(2000, pod("q"))
    cluster.update(2001, pod("q") | {"spec": pod("q")["spec"] | {"nodeName": "n1"}})
    counted = agreement(cluster.findings())
    assert (counted.total, counted.agreed, counted.unexplained) == (2, 1, 1)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        pytest.param(
            {"extenders": [{"urlPrefix": "http://x", "filterVerb": "f"}]},
            "extenders: a record does not contain the answers of extenders",
            id="extenders",
        ),
        pytest.param({"rules": "classic"}, "v1.36 rules only", id="classic rules"),
    ],
)
def test_configurations_that_need_unrecorded_answers_are_rejected(setting, message):
    cluster = Cluster(node("n1"))
    cluster.add_pending(1000, pod("p"))
    cluster.bind(1001, pod("p"), "n1")
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    with pytest.raises(InputError, match=message):
        cluster.findings(configuration=read_configuration(head | setting, source="config.yaml"))

"""A world schedules, lives and ends; what happens at one time has one order."""

from __future__ import annotations

import inspect

import msgspec
import pytest

import podwright as pw
from podwright.apimachinery.objects import (
    FIRST_NS,
    LAST_NS,
    InputError,
    InvalidObject,
    KubernetesObject,
    Pod,
    timestamp_text_nano,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import Rejection
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.world import START_NS, World
from podwright.simulation.world.inputs.operations import (
    Apply,
    Cordon,
    Delete,
    FailNode,
    Put,
    RestoreNode,
    Update,
)
from podwright.testing import make_node, make_pod

SECOND = 1_000_000_000
MINUTE = 60 * SECOND


def running_for(name: str, seconds: int, cpu: str = "1") -> Pod:
    """Make a pod that exits after some seconds."""
    document = dict(make_pod(name, cpu=cpu).raw)
    annotations = {"pod-complete.stage.kwok.x-k8s.io/delay": f"{seconds}s"}
    document["metadata"] = document["metadata"] | {"annotations": annotations}
    document["spec"] = document["spec"] | {"restartPolicy": "Never"}
    pod = decode(document)
    assert isinstance(pod, Pod)
    return pod


def phases(world: World) -> dict[str, str]:
    return {pod.name: pod.status.phase for pod in world.pods}


def test_a_pod_is_placed_and_runs_and_one_that_fits_nowhere_waits():
    world = World(seed=7)
    world.add(make_node("small", cpu="2"), make_node("large", cpu="8"))
    world.add(make_pod("web", cpu="4"), make_pod("batch", cpu="16"))
    world.run()
    assert world.node_of == {"default/web": "large"}
    assert phases(world) == {"web": "Running", "batch": "Pending"}


def test_a_pod_that_ends_makes_room_for_the_next_one():
    world = World()
    world.add(make_node("n1", cpu="1"), running_for("first", 60))
    world.add(running_for("second", 60), at=timestamp_text_nano(world.now_ns + SECOND))
    world.run()
    assert phases(world) == {"first": "Succeeded", "second": "Succeeded"}
    # The second one is tried again when the first one has ended, after its backoff at most.
    assert 120 * SECOND <= world.now_ns - world.start_ns <= 122 * SECOND


def test_a_run_ends_where_it_is_told_to_and_goes_on_from_there():
    world = World()
    world.add(make_node("n1", cpu="1"), running_for("first", 60))
    world.run_until_ns(world.start_ns + 30 * SECOND)
    assert world.now_ns == world.start_ns + 30 * SECOND
    assert phases(world) == {"first": "Running"}
    world.run()
    assert phases(world) == {"first": "Succeeded"}
    assert world.now_ns == world.start_ns + MINUTE


def test_a_pod_that_fits_nowhere_is_tried_again_after_five_minutes_while_something_goes_on():
    world = World()
    world.add(make_node("n1", cpu="1"), make_pod("large", cpu="2"))
    world.add(running_for("long", 601), at=timestamp_text_nano(world.now_ns))
    world.run()
    # At once, when five minutes were over, and again five minutes later.
    assert len(world.log.cycles_of("default/large")) == 3
    assert phases(world)["large"] == "Pending"


def test_a_cordoned_node_takes_no_pods_until_it_is_uncordoned():
    world = World()
    world.add(make_node("n1"))
    world.do(Cordon("n1"))
    world.add(make_pod("web"))
    world.run()
    assert world.node_of == {}
    world.do(Cordon("n1", is_cordoned=False), at=timestamp_text_nano(world.now_ns + MINUTE))
    world.run()
    assert world.node_of == {"default/web": "n1"}


def test_a_node_that_falls_silent_is_not_ready_until_it_is_back():
    world = World(seed=7)
    world.add(make_node("n1"), make_node("n2"))
    world.run_until_ns(world.start_ns + MINUTE)
    world.do(FailNode("n1"))
    world.run_until_ns(world.now_ns + 5 * MINUTE)
    ready = {node.name: node.status.conditions[0].status for node in world.nodes}
    assert ready == {"n1": "Unknown", "n2": "True"}
    world.do(RestoreNode("n1"))
    world.run_until_ns(world.now_ns + MINUTE)
    ready = {node.name: node.status.conditions[0].status for node in world.nodes}
    assert ready == {"n1": "True", "n2": "True"}


@pytest.mark.parametrize("was_there", [True, False])
def test_a_node_that_fell_silent_while_it_was_not_there_is_ready_when_it_comes(was_there):
    world = World(seed=7)
    if was_there:
        world.add(make_node("n1"))
        world.do(Delete(("", "Node"), "n1"))
    world.do(FailNode("n1"))
    world.run_until_ns(world.now_ns + MINUTE)
    world.add(make_node("n1"))
    world.run_until_ns(world.now_ns + 5 * MINUTE)
    assert [node.status.conditions[0].status for node in world.nodes] == ["True"]


def test_what_is_deleted_or_was_never_there_is_gone():
    world = World()
    world.add(make_node("n1"), make_pod("web"))
    world.run()
    world.do(Delete(("", "Pod"), "default/web"))
    world.do(Delete(("", "Pod"), "default/unknown"))
    world.run()
    assert world.pods == []


def test_an_object_of_a_name_that_is_there_is_replaced():
    world = World()
    world.add(make_node("n1", cpu="1"), make_pod("web", cpu="2"))
    world.run()
    assert world.node_of == {}
    world.do(Apply(make_node("n1", cpu="4")))
    world.run()
    # What the node has is its status, which applying an object leaves as it is.
    assert world.node_of == {}
    world.do(Put(make_node("n1", cpu="4")))
    world.run()
    assert world.node_of == {"default/web": "n1"}


def test_a_pod_without_its_priority_class_is_not_let_in():
    world = World()
    document = dict(make_pod("web").raw)
    document["spec"] = document["spec"] | {"priorityClassName": "high"}
    with pytest.raises(Rejection, match="no PriorityClass with name high was found"):
        world.add(decode(document))
    assert world.pods == []


def test_nothing_new_comes_to_a_namespace_that_is_being_deleted():
    world = World()
    pod = make_pod("web", namespace="shop")
    world.add(make_node("n1"), pod)
    world.run_until_ns(MINUTE + world.start_ns)
    world.do(FailNode("n1"))
    world.do(Delete(("", "Namespace"), "shop"))
    world.run_until_ns(world.now_ns + SECOND)
    with pytest.raises(Rejection) as refused:
        world.add(make_pod("more", namespace="shop"))
    assert str(refused.value) == (
        'pods "more" is forbidden: unable to create new content in namespace shop because it is'
        " being terminated"
    )
    with pytest.raises(Rejection, match=r'^configmaps "d" is forbidden'):
        world.add(decode({"apiVersion": "v1", "kind": "ConfigMap"} | NAMED))
    world.add(make_pod("web", namespace="shop", labels={"new": "yes"}))
    world.add(make_pod("elsewhere"))
    world.do(RestoreNode("n1"))
    world.run()
    assert list(world.node_of) == ["default/elsewhere"]
    world.add(make_pod("more", namespace="shop"))
    world.run()
    assert list(world.node_of) == ["default/elsewhere", "shop/more"]


NAMED = {"metadata": {"name": "d", "namespace": "shop"}}


def test_a_workload_that_can_make_no_pods_is_not_let_in():
    world = World()
    spec = {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "other"}},
            "spec": {"containers": [{"name": "main", "image": "app"}]},
        },
    }
    document = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    with pytest.raises(InvalidObject, match=r"Deployment default/web: spec.template.metadata"):
        world.add(make_node("n1"), decode(document | {"spec": spec}))
    assert world.nodes == []


def test_the_bootstrap_objects_exist():
    world = World()
    assert set(world.store.kinds()) == {("", "Namespace"), ("scheduling.k8s.io", "PriorityClass")}


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_world_twice_gives_the_same_log(seed):
    def logged() -> list[bytes]:
        world = World(seed=seed)
        for number in range(5):
            world.add(make_node(f"n{number}", cpu="4"))
        for number in range(30):
            pod = running_for(f"p{number}", 10 + number, cpu="1")
            world.add(pod, at=timestamp_text_nano(world.now_ns + number * SECOND))
        world.run()
        return [entry.actions for entry in world.log.entries()]

    assert logged() == logged()


def test_inputs_are_asked_for_one_at_a_time_and_happen_before_what_follows_from_them():
    asked: list[str] = []

    def inputs():
        for second, obj in ((0, make_pod("web")), (0, make_node("n1")), (9, make_pod("late"))):
            asked.append(obj.name)
            yield World().start_ns + second * SECOND, Apply(obj)

    world = World()
    world.add_inputs(inputs())
    assert asked == ["web"]
    world.run_until_ns(world.start_ns + SECOND)
    assert asked == ["web", "n1", "late"]
    # Both were there when the pod was decided for: it was tried once.
    assert len(world.log.cycles_of("default/web")) == 1
    world.run()
    assert world.node_of == {"default/web": "n1", "default/late": "n1"}


def test_an_update_from_elsewhere_does_not_replace_a_decision_of_ours():
    world = World()
    world.add(make_node("n1"), make_pod("web", labels={"a": "1"}))
    world.do(Update(make_pod("web", labels={"a": "2"})))
    world.do(Update(make_pod("unknown")))
    assert [pod.metadata.labels for pod in world.pods] == [{"a": "2"}]
    world.run()
    world.do(Update(make_pod("web", labels={"a": "3"})))
    assert [pod.metadata.labels for pod in world.pods] == [{"a": "2"}]
    assert world.node_of == {"default/web": "n1"}


def test_a_pod_that_is_given_up_goes_unless_it_has_a_node():
    world = World()
    world.add(make_node("n1", cpu="2"), make_pod("web", cpu="2"), make_pod("batch", cpu="2"))
    world.run()
    for name in ("web", "batch"):
        world.do(Delete(("", "Pod"), f"default/{name}", only_pending=True))
    assert [pod.name for pod in world.pods] == ["web"]


def test_what_somebody_has_recorded_keeps_its_uid():
    world = World()
    node = dict(make_node("n1").raw)
    node["metadata"] = node["metadata"] | {"uid": "theirs"}
    world.do(Put(decode(node)))
    assert [node.uid for node in world.nodes] == ["theirs"]


@pytest.mark.parametrize("start_ns", [LAST_NS, FIRST_NS - 1, 2**63, 10**30])
def test_a_world_does_not_begin_at_a_time_that_cannot_be_written_down(start_ns, tmp_path):
    with pytest.raises(InputError, match=r"^start: Invalid value: .* 1678 to 2261 can be"):
        World(SchedulerOptions(start_ns=start_ns), log=str(tmp_path / "log"))
    assert not (tmp_path / "log").exists()


def test_a_world_may_begin_at_the_first_and_at_the_last_moment():
    for start_ns in (FIRST_NS, LAST_NS - 1):
        world = World(start=timestamp_text_nano(start_ns))
        world.add(make_node("n1"))
        world.add(make_pod("web"))
        world.run_until_ns(start_ns)
        assert world.node_of == {"default/web": "n1"}


def misspelled() -> KubernetesObject:
    pod = make_pod("web")
    return decode(pod.raw | {"spec": pod.raw["spec"] | {"tolerationz": []}})


UNKNOWN = r'Pod default/web: spec\.tolerationz: unknown field; did you mean "tolerations"\?'


def test_an_unknown_field_of_a_new_object_is_an_error():
    world = World()
    with pytest.raises(InputError, match=UNKNOWN):
        world.add(make_node("n"), misspelled())
    assert not world.nodes


def test_an_unknown_field_is_a_warning_or_ignored_as_the_argument_says():
    world = World()
    with pytest.warns(UserWarning, match=UNKNOWN):
        world.add(misspelled(), validate="warn")
    world.add(msgspec.structs.replace(misspelled()), validate="ignore")
    with pytest.raises(InputError, match=r'^validate: Unsupported value: "bogus"'):
        world.add(make_node("n"), validate="bogus")  # type: ignore[arg-type]


def test_an_object_of_a_server_may_have_newer_fields():
    world = World()
    stored = misspelled().raw
    world.add(
        decode(stored | {"metadata": stored["metadata"] | {"uid": "1", "resourceVersion": "1"}})
    )
    assert [pod.name for pod in world.pods] == ["web"]


def test_an_operation_applies_to_all_nodes_that_match_when_it_is_due():
    world = pw.World()
    for name, zone in (("n1", "a"), ("n2", "b"), ("n3", "a")):
        world.add(make_node(name, zone=zone))
    world.do(pw.OnNodes("cordon", "topology.kubernetes.io/zone=a"), at="1s")
    world.run_until("2s")
    assert [node.name for node in world.nodes if node.spec.unschedulable] == ["n1", "n3"]
    world.do(pw.OnNodes("cordon", "topology.kubernetes.io/zone=c"), at="3s")
    at = "^the operation at 2026-01-01T00:00:0{}Z: {}$"
    none = 'selector "topology.kubernetes.io/zone=c" matches none of 3 nodes'
    with pytest.raises(pw.ArgumentError, match=at.format(3, none)):
        world.run_until("4s")
    world.do(pw.Create(make_node("n1")), at="5s")
    with pytest.raises(pw.ArgumentError, match=at.format(5, 'nodes "n1" already exists')):
        world.run_until("6s")


def test_a_pod_that_no_node_fits_is_due_with_the_flush_of_unschedulable_pods():
    world = World()
    world.add(make_node("n", cpu=1), make_pod("p", cpu=4))
    world.run_until_ns(world.start_ns)
    for seconds in (0, 299, 300, 329):
        world.run_until_ns(world.start_ns + seconds * SECOND)
        assert world.next_due_ns == world.start_ns + 330 * SECOND


def test_time_passes_up_to_a_time_that_is_ahead_and_before_what_is_due():
    world = World()
    world.add(make_node("n"), running_for("a", 60))
    world.run_until_ns(world.start_ns + SECOND)
    begin_ns = world.now_ns
    assert begin_ns == world.start_ns + SECOND
    world.run_until_ns(begin_ns - 1)
    world.pass_idle_time(begin_ns - 1)
    assert world.now_ns == begin_ns
    due_ns = world.next_due_ns
    assert due_ns is not None
    world.pass_idle_time(due_ns)
    assert world.now_ns == begin_ns, "what is due comes first"
    world.pass_idle_time(due_ns - 1)
    assert world.now_ns == due_ns - 1
    world.run()
    assert phases(world) == {"a": "Succeeded"}


def test_the_keywords_of_a_world_have_the_defaults_that_its_signature_shows():
    shown = inspect.signature(World).parameters
    defaults = {name: shown[name].default for name in ("start", "seed", "assumed_pod_expiry")}
    assert defaults == {"start": "2026-01-01T00:00:00Z", "seed": 0, "assumed_pod_expiry": "0s"}
    explicit = World(**defaults)
    assert (explicit.start_ns, explicit.now_ns) == (World().start_ns, START_NS)

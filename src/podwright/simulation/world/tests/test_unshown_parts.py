"""What few runs do: waits between lines, records that end, calls that are rejected, late worlds,
shown values, traces and distributions that are not valid."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from podwright.apimachinery.objects import InputError, encode, with_fields
from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets import EXIT_CODE, RUN_DELAY
from podwright.cluster.store import ObjectStore
from podwright.scheduler.config import read_configuration
from podwright.scheduler.framework import CallError
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    DeletePod,
    PatchExtendedClaim,
    PatchPodGroupStatus,
    PatchPodMetadata,
    PatchPodStatus,
    UpdateVolume,
    WriteResourceClaim,
)
from podwright.simulation.world import World, world_steps
from podwright.simulation.world.inputs.conditions import Condition, Step
from podwright.simulation.world.inputs.event_lines import EventLines, first_recorded_ns
from podwright.simulation.world.inputs.operations import Apply, Cordon, Drain, Stop
from podwright.simulation.world.observers import checked_observers
from podwright.simulation.world.runs.disruptions import LostPod
from podwright.simulation.world.runs.run import Run
from podwright.simulation.world.runs.simulation import _idle_groups
from podwright.simulation.world.scheduler_requests import execute
from podwright.simulation.world.tests.test_event_lines import POD, START_NS, read, recorded
from podwright.simulation.world.timing.distributions import Distribution, problems_of
from podwright.simulation.world.traces.trace_lines import (
    TraceLine,
    read_trace_lines,
    with_run_delay,
)
from podwright.simulation.world.traces.trace_model import (
    LifetimeModel,
    SizeModel,
    _fit_arrival,
    _pod,
)
from podwright.simulation.world.traces.trace_output import write_lines
from podwright.testing import make_node, make_pod

SECOND = 1_000_000_000

# ------------------------------------------------------------------------- lines that wait


def test_a_line_waits_for_its_step_its_pause_or_its_condition():
    lines = read(
        {"at": "2s", "drain": "n1"},
        {"after": "3s", "cordon": "n1"},
        {"step": 1, "uncordon": "n1"},
        {"step": 1, "done": True},
        {"step": 2, "after": "1s", "cordon": "n1"},
    )
    assert lines.errors == []
    assert lines.waits
    assert lines.end_ns == START_NS + 6 * SECOND
    settled = Condition(settled=True)
    steps = list(lines.steps())
    uncordon = Cordon("n1", is_cordoned=False, place="e.jsonl: line 3")

    def step(number: int, **fields: Any) -> Step:
        return Step(place=f"e.jsonl: line {number}", **fields)

    assert steps == [
        step(1, at_ns=START_NS + 2 * SECOND, operation=Drain("n1", "e.jsonl: line 1")),
        step(2, after_ns=3 * SECOND, operation=Cordon("n1", place="e.jsonl: line 2")),
        step(3, wait=settled, operation=uncordon),
        step(4, operation=Stop()),
        step(5, after_ns=SECOND, wait=settled, operation=Cordon("n1", place="e.jsonl: line 5")),
    ]
    assert not read({"at": "1s", "drain": "n1"}).waits


def test_steps_do_not_decrease():
    found = read({"step": 2, "drain": "n1"}, {"step": 1, "cordon": "n1"})
    assert [str(each) for each in found.errors] == [
        "e.jsonl: line 2: step: Invalid value: 1: steps must not decrease"
    ]


def test_times_do_not_decrease_nor_precede_the_start():
    found = read({"at": "2s", "drain": "n1"}, {"at": "1500ms", "drain": "n1"})
    assert [str(each) for each in found.errors] == [
        'e.jsonl: line 2: at: Invalid value: "1500ms": 500ms before the previous line; times must'
        " not decrease"
    ]
    (error,) = read({"at": "1970-01-01T00:16:39Z", "drain": "n1"}).errors
    assert str(error).endswith("1s before the start; times must not decrease")


def test_lines_of_a_list_have_its_paths():
    lines = [(1, b'{"drain": "n2"}', True), (2, b'{"drain": "n1"}', True), (3, b"[]", True)]
    found = EventLines(lambda: lines, "s.yaml", START_NS, [make_node("n1")], list_path="spec.ops")
    assert [(each.source, each.path) for each in found.errors] == [
        ("s.yaml", "spec.ops[0].drain"), ("s.yaml", "spec.ops[2]")
    ]  # fmt: skip
    good = EventLines(
        lambda: lines[1:2], "s.yaml", START_NS, [make_node("n1")], list_path="spec.ops"
    )
    (step,) = good.steps()
    place = "s.yaml: spec.ops[1]"
    assert step == Step(place=place, operation=Drain("n1", place))


def test_references_to_unknown_objects_are_not_checked():
    lines = [(1, b'{"at": "1s", "drain": "any"}', True)]
    assert EventLines(lambda: lines, "e", START_NS, None).errors == []
    (error,) = EventLines(lambda: lines, "e", START_NS, []).errors
    assert error.message == 'Node "any" does not exist at that time'


def test_the_status_of_an_object_that_is_there_is_merged():
    status = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
              "status": {"capacity": {"cpu": "1"}}}  # fmt: skip
    lines = read({"at": "1s", "apply": status, "subresource": "status"})
    ((_, operation),) = list(lines)
    assert operation.subresource == "status"  # type: ignore[union-attr]
    other = status | {"metadata": {"name": "n2"}}
    (error,) = read({"at": "1s", "apply": other, "subresource": "status"}).errors
    assert error.message == 'Node "n2" does not exist at that time'


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([], None),
        ([b"", b" \t", b'{"time": "1970-01-01T00:00:02Z"}'], 2 * SECOND),
        ([b'{"time": 2}', b'{"time": "1970-01-01T00:00:02Z"}'], None),
        ([b"{broken"], None),
        ([b"\xff"], None),
        ([b'{"at": "1s"}'], None),
    ],
)
def test_the_first_time_of_a_record(lines, found):
    assert first_recorded_ns(lambda: [(n, line, True) for n, line in enumerate(lines)]) == found


@pytest.mark.parametrize(
    ("phases", "annotations"),
    [
        # Started at 10:00:05 by its status, and finished at 10:00:25 by its container.
        ([("Running", {"startTime": "2026-03-02T10:00:05Z"}, 20),
          ("Succeeded", {"containerStatuses": [
              {"state": {"terminated": {"finishedAt": "2026-03-02T10:00:25Z"}}},
              {"state": {"terminated": {"finishedAt": "2026-03-02T10:00:15Z"}}},
              {"state": {"running": {}}}, {"name": "never created"}]}, 40)],
         {RUN_DELAY: "20s", EXIT_CODE: "0"}),
        # Without these, the times of the lines.
        ([("Running", {"startTime": None}, 20), ("Failed", {}, 40)],
         {RUN_DELAY: "0s", EXIT_CODE: "1"}),
    ],
)  # fmt: skip
def test_a_recorded_pod_ends_as_it_did(phases, annotations):
    changes = [recorded("Add", POD)]
    for phase, status, second in phases:
        pod = POD | {"status": {"phase": phase, **status}}
        changes.append(recorded("Update", pod, second))
    lines = read(*changes)
    assert lines.errors == []
    pods: list[Any] = [operation.obj for _, operation in lines if hasattr(operation, "obj")]
    assert pods[0].metadata.annotations == annotations
    assert pods[0].spec.restart_policy == "Never"


# -------------------------------------------------------------------- calls of the scheduler


def api_of(*objects: Any) -> Any:
    world = World()
    world.add(*objects)
    return world.components.api


CLAIM = decode({
    "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
    "metadata": {"name": "c", "namespace": "default", "uid": "u",
                 "finalizers": ["resource.kubernetes.io/delete-protection", "other.io/x"]},
    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "k"}}]}},
    "status": {"reservedFor": [{"resource": "pods", "name": n, "uid": n} for n in "pq"]},
})  # fmt: skip


def claimed() -> tuple[Any, Any]:
    """Return the API of a world with the claim, and the claim as it is stored."""
    store = ObjectStore()
    store.put(CLAIM)
    world = World(store=store)
    return world.components.api, store.get(("resource.k8s.io", "ResourceClaim"), "default/c")


def stored_claim(api: Any) -> Any:
    return api.store.get(("resource.k8s.io", "ResourceClaim"), "default/c")


def test_claims_are_read_released_and_deleted():
    api, claim = claimed()
    assert execute(api, WriteResourceClaim(1, "get", claim), 0) == CallDone(1, obj=claim)
    done = execute(api, WriteResourceClaim(2, "release", claim, "p"), 0)
    assert done.error is None
    assert [each.uid for each in done.obj.status.reserved_for] == ["q"]  # type: ignore[union-attr]
    execute(api, WriteResourceClaim(3, "delete", claim), 0)
    assert stored_claim(api).metadata.finalizers == ("other.io/x",)
    assert stored_claim(api).metadata.deletion_timestamp is not None
    gone = msgspec.structs.replace(claim, metadata=msgspec.structs.replace(claim.metadata, uid="v"))
    for operation in ("release", "delete"):
        found = execute(api, WriteResourceClaim(4, operation, gone, "p"), 0)
        assert (found.call, found.error.reason) == (4, "NotFound")  # type: ignore[union-attr]
    absent = msgspec.structs.replace(
        claim, metadata=msgspec.structs.replace(claim.metadata, name="d")
    )
    found = execute(api, WriteResourceClaim(5, "get", absent), 0)
    assert found.error is not None
    assert found.error.reason == "NotFound"


def test_writes_of_what_is_gone_are_not_found():
    api = api_of(make_pod("p"))
    volume: Any = decode(
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}}
    )
    condition: Any = SimpleNamespace(type="t")
    for call in (
        Bind(1, "default/x", "u", "n"), PatchPodStatus(1, "default/x", "u", nominated_node="n"),
        PatchPodStatus(1, "default/p", "another", nominated_node="n"),
        PatchPodGroupStatus(1, "default/g", condition),
        PatchExtendedClaim(1, "default/x", "u", "c", ()),
        PatchPodMetadata(1, "default/x", "u", {}, {}), UpdateVolume(1, volume),
        DeletePod(1, "default/x", "u"),
    ):  # fmt: skip
        found = execute(api, call, 0)
        assert (found.call, found.obj) == (1, None)
        assert isinstance(found.error, CallError), call
        assert found.error.reason == "NotFound", call


def test_an_invalid_write_of_the_scheduler_itself_ends_the_run():
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/x"}}  # fmt: skip
    document = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}}
    volume: Any = decode(document | {"spec": spec})
    api = api_of(volume)
    changed = with_fields(volume, "spec", access_modes=("Sometimes",))
    with pytest.raises(InputError, match=r"accessModes\[0\]: Unsupported value"):
        execute(api, UpdateVolume(1, changed), 0)


def test_an_extended_claim_is_added_to_the_status():
    api = api_of(make_pod("p"))
    uid = api.store.get(("", "Pod"), "default/p").metadata.uid
    call = PatchExtendedClaim(1, "default/p", uid, "c", (("main", "x/gpu", "r"),))
    assert execute(api, call, 0) == CallDone(1)
    status = encode(api.store.get(("", "Pod"), "default/p"))["status"]
    assert status["phase"] == "Pending"
    assert status["extendedResourceClaimStatus"]["resourceClaimName"] == "c"


def test_a_patch_of_metadata_that_is_not_valid_is_an_answer_and_no_end():
    api = api_of(make_pod("p"))
    uid = api.store.get(("", "Pod"), "default/p").metadata.uid
    found = execute(api, PatchPodMetadata(1, "default/p", uid, {"a b": "x"}, {}), 0)
    assert found.error is not None
    assert found.error.reason == "Invalid"


# ------------------------------------------------------------------------ a world in slices


def test_what_is_due_next_and_what_passes_without_anything():
    world = World()
    start_ns = world.now_ns
    assert world.next_due_ns == start_ns, "the objects of each cluster"
    world.run_until_ns(start_ns)
    assert [world.next_due_ns] == [None]
    world.pass_idle_time(start_ns + 5)
    assert world.now_ns == start_ns + 5
    world.pass_idle_time(start_ns + 3)
    assert world.now_ns == start_ns + 5
    world.add(make_node("n", cpu="1"))
    world.add(make_pod("p", cpu="1"))
    assert world.next_due_ns == world.now_ns
    world.pass_idle_time(start_ns + 9)
    assert world.now_ns == start_ns + 5, "something is due"
    assert world.catch_up(start_ns + 20, lambda: False)
    assert world.now_ns == start_ns + 20
    assert world.node_of == {"default/p": "n"}
    assert world.catch_up(start_ns, lambda: False)
    assert world.now_ns == start_ns + 20


def test_a_slice_that_is_over_leaves_the_rest_and_a_world_that_is_late_goes_on_in_turns():
    world = World()
    world.add(make_node("n", cpu="99"))
    for number in range(40):
        world.add(make_pod(f"p{number}", cpu="1"))
    now_ns = world.now_ns
    late, is_done = [], False
    while not is_done:
        asked = count()
        is_done = world.catch_up(now_ns, lambda asked=asked: next(asked) >= 2)  # type: ignore[misc]
        late.append(world.backlog.is_late)
        assert len(late) < 2_000, "each slice does something"
    assert late[:16] == [False] * 15 + [True]
    assert not world.backlog.is_late
    assert len(world.node_of) == 40
    assert world.backlog.steps > 0


def test_a_pod_that_is_activated_is_tried_again():
    world = World()
    world.add(make_node("n", cpu="1"), make_pod("large", cpu="2"))
    while world.step(until="1s"):
        pass
    before = world.machine.attempts_of(world.pods[0])
    world.activate("default/large")
    while world.step(until="2s"):
        pass
    assert world.machine.attempts_of(world.pods[0]) == before + 1


def test_an_operation_at_a_later_time_is_not_done_before():
    world = World()
    world.add(make_node("n"))
    seen = [world.now_ns for _ in world.steps(until="10s")]
    world.do(Cordon("n"))
    assert world.nodes[0].spec.unschedulable
    assert seen == sorted(seen)


def test_the_operations_of_users_are_observed_when_they_are_executed():
    class Seen:
        def __init__(self) -> None:
            self.operations: list[Any] = []

        def operated(self, operation: Any, now_ns: int) -> None:
            self.operations.append((operation, now_ns))

    seen = Seen()
    world = World(observers=[seen])
    start_ns = world.now_ns
    world.add(make_node("n"))
    world.do(Cordon("n"), at="3s")
    world.run_until("5s")
    world.do(Drain("n"))
    # What is added is applied, as are the namespaces that every cluster has.
    found = [
        (operation, (now_ns - start_ns) / 10**9)
        for operation, now_ns in seen.operations
        if not isinstance(operation, Apply)
    ]
    assert found == [(Cordon("n"), 3), (Drain("n"), 5)]


def test_the_review_of_a_world_so_far_is_a_copy():
    world = World()
    assert world.review_so_far() is not world.review_so_far()


def test_a_world_and_its_parts_show_themselves():
    world = World()
    world.add(make_node("n"), make_pod("p"), make_pod("q"))
    assert repr(world) == "<World at 2026-01-01T00:00:00Z: 1 nodes, 2 pods>"
    shown = world._repr_html_()
    found = ("World at 2026-01-01T00:00:00Z", ">Nodes</th>", ">Pods</th>", ">1</td>", ">2</td>")
    for text in found:
        assert text in shown
    run: Any = world.run()
    assert repr(run.tables).startswith("<Tables: ")
    assert list(run.tables) == list(dict.fromkeys(run.tables))
    assert len(run.tables) == len(list(run.tables))
    with pytest.raises(KeyError, match="none"):
        run.tables["none"]
    assert run.end_ns == world.now_ns
    assert isinstance(run, Run)
    assert repr(run) == "<Run: 2 pods on nodes, 0 pending>"
    html = run._repr_html_()
    assert "<strong>Run</strong>" in html
    assert "Pods on nodes</th>" in html
    assert "Pending pods</th>" in html
    lost = LostPod(pod="d/p", node="n", cause="preempted", owner="", time="t")
    report = msgspec.structs.replace(
        world.report(), lost_pods=(lost, lost), never_tried=("d/q",), rollouts=()
    )
    assert repr(report) == "<Report: 2 lost pods, 1 pods never tried>"
    evictions = msgspec.structs.replace(report.evictions, evicted=3, rejected=4)
    report = msgspec.structs.replace(world.report(), evictions=evictions)
    assert repr(report) == "<Report: 3 evictions, 4 rejected evictions>"
    report = world.report()
    assert repr(report) == "<Report: nothing to report>"
    shown = report._repr_html_()
    assert shown.index("<strong>Report</strong>") < shown.index("rejected evictions")
    counts = report._counts()
    assert list(counts) == [
        "drains", "evictions", "rejected evictions", "workloads", "rollouts",
        "owners of rejected objects", "lost pods", "pods never tried",
    ]  # fmt: skip
    assert set(counts.values()) == {0}


def test_pods_of_groups_need_their_plugin():
    group = decode({
        "apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default"}, "spec": {"minMember": 2},
    })  # fmt: skip
    world = World()
    assert list(_idle_groups(world)) == []
    world.add(group)
    assert list(_idle_groups(world)) == [
        "PodGroups of scheduling.x-k8s.io have no effect: no profile of the configuration enables"
        " the plugin Coscheduling, so their pods are scheduled one by one"
    ]
    plugins = {
        "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]},
        "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
    }
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": plugins}],
    }
    world = World(read_configuration(document, source="config"))
    world.add(group)
    assert list(_idle_groups(world)) == []


@pytest.mark.parametrize(
    ("observer", "message"),
    [
        (int, "observers[1]: must be an instance, not the class int"),
        (SimpleNamespace(), "observers[1]: must be an object with at least one of changed(),"
                            " creation_rejected(), decided(), event_recorded(), node_event(),"
                            " operated(), removal_handled(), not a SimpleNamespace"),
        (SimpleNamespace(changed=print, decide=print),
         "observers[1]: decide() is never called; did you mean decided()?"),
        (SimpleNamespace(changed=print, eventRecorded=print),
         "observers[1]: eventRecorded() is never called; did you mean event_recorded()?"),
    ],
)  # fmt: skip
def test_what_is_no_observer(observer, message):
    from podwright.apimachinery.objects import ArgumentError

    # A name that has a part of another is one of its own.
    good = SimpleNamespace(changed=print, recorded=print, changing=3, _decide=print)
    assert checked_observers([good]) == (good,)
    with pytest.raises(ArgumentError) as wrong:
        checked_observers([good, observer])
    assert str(wrong.value) == message


# ----------------------------------------------------------------------------- distributions


@pytest.mark.parametrize(
    ("fields", "problems"),
    [
        ({}, ["d.value: Required value: of distribution constant"]),
        ({"distribution": "uniform", "min": "1"},
         ["d.max: Required value: of distribution uniform"]),
        ({"distribution": "choice", "values": ("a", "b"), "weights": (1.0,)},
         ["d.weights: Invalid value: [1.0]: must be as many as values"]),
        ({"distribution": "choice", "values": ("a",), "weights": (0.0,)},
         ["d.weights: Invalid value: [0.0]: must be positive"]),
        ({"distribution": "quantiles", "values": ("a", "b"), "percents": (0.0,)},
         ["d.percents: Invalid value: [0.0]: must be as many as values"]),
        ({"distribution": "quantiles", "values": ("a", "b"), "percents": (1.0, 100.0)},
         ["d.percents: Invalid value: [1.0,100.0]: must be from 0 to 100"]),
        ({"distribution": "quantiles", "values": ("a", "b", "c"), "percents": (0.0, 100.0, 100.0)},
         ["d.percents: Invalid value: [0.0,100.0,100.0]: must increase"]),
        ({"distribution": "quantiles", "values": ("a", "b"), "percents": (0.0, 100.0)}, []),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_distribution(fields, problems):
    assert [str(each) for each in Distribution(**fields).problems("d")] == problems


@pytest.mark.parametrize(
    ("fields", "problems"),
    [
        ({"value": "3"}, []),
        ({"value": "x"}, ["d.value: bad x"]),
        ({"min": "-1"}, ['d.min: Invalid value: "-1": must not be negative']),
        ({"min": "3", "max": "2"}, ['d.max: Invalid value: "2": must be at least min, 3']),
        ({"min": "2", "max": "2"}, []),
        ({"values": ("1", "x")}, ["d.values[1]: bad x"]),
        ({"distribution": "quantiles", "values": ("1", "1", "3")}, []),
        ({"distribution": "choice", "values": ("3", "1")}, []),
    ],
)
def test_what_is_wrong_with_the_amounts_of_a_distribution(fields, problems):
    def parse(text: str) -> int:
        if text == "x":
            raise ValueError("bad x")
        return int(text)

    assert [str(each) for each in problems_of(Distribution(**fields), "d", parse)] == problems


def test_quantiles_do_not_decrease():
    entry = Distribution(distribution="quantiles", values=("3", "1"), percents=(0.0, 100.0))
    (error,) = problems_of(entry, "d", int)
    assert error.path.startswith("d.values")


# ------------------------------------------------------------------------------------- traces

TRACE_POD = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}  # fmt: skip


def trace(tmp_path: Path, *lines: Any) -> list[TraceLine]:
    path = tmp_path / "t.jsonl"
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("\n".join(texts) + "\n")
    return list(read_trace_lines(str(path)))


def test_the_times_of_a_trace_are_since_its_first_absolute_one(tmp_path):
    first, second = (
        {"at": f"2026-01-01T00:00:0{second}Z", "apply": TRACE_POD} for second in (1, 3)
    )
    assert [line.at_ns for line in trace(tmp_path, first, "", second)] == [0, 2 * SECOND]
    relative = trace(tmp_path, {"at": "5s", "apply": TRACE_POD}, {"at": "7s", "delete": "pod/p"})
    assert [line.at_ns for line in relative] == [5 * SECOND, 7 * SECOND]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"broken', "line 1: "),
        ({"apply": TRACE_POD},
         "line 1: at: Invalid value: null: must be an event line, with a time such as 1h30m or"
         " 2026-01-01T00:00:00Z"),
        ({"at": "soon", "apply": TRACE_POD}, "line 1: at: "),
        ({"at": "1s", "odd": 1}, 'line 1: odd: Unsupported value: "odd"'),
        ({"at": "1s", "apply": []}, "line 1: apply: Invalid value: []: must be an object"),
        ({"at": "1s", "apply": TRACE_POD | {"metadata": {"generateName": "p-"}}},
         "line 1: apply.metadata.name: Required value: pods of traces have names"),
        ({"at": "1s", "apply": TRACE_POD | {"spec": {"containers": 3}}}, "line 1: apply.spec"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_line_of_a_trace(tmp_path, line, message):
    with pytest.raises(InputError) as wrong:
        trace(tmp_path, line)
    assert str(wrong.value).removeprefix(f"{tmp_path}/t.jsonl: ").startswith(message)


def test_lines_of_a_trace_do_not_go_back(tmp_path):
    with pytest.raises(InputError) as wrong:
        trace(tmp_path, {"at": "2s", "apply": TRACE_POD}, {"at": "1s", "delete": "pod/p"})
    assert str(wrong.value) == (
        f'{tmp_path}/t.jsonl: line 2: at: Invalid value: "1s": before the previous line; times must'
        " not decrease"
    )


def test_a_run_time_is_an_annotation_beside_others():
    document = {"metadata": {"name": "p", "annotations": {"a": "b"}}, "spec": {}}
    assert with_run_delay(document, 90 * SECOND) == {
        "metadata": {"name": "p", "annotations": {"a": "b", RUN_DELAY: "1m30s"}}, "spec": {}
    }  # fmt: skip
    assert with_run_delay({}, 0) == {"metadata": {"annotations": {RUN_DELAY: "0s"}}}


def test_what_a_format_cannot_hold_is_said(tmp_path):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    lines = [
        TraceLine(0, {"apply": node}), TraceLine(SECOND, {"apply": node}),
        TraceLine(SECOND + 1, {"apply": TRACE_POD}), TraceLine(2 * SECOND, {"delete": "pod/p"}),
    ]  # fmt: skip
    said: list[str] = []
    assert write_lines(lines, str(tmp_path / "t.json"), warn=said.append) == 1
    end = "left out: .json has no place for it; .jsonl has"
    assert said == [
        f"action delete of 1 {end}", f"part of a second of 1 {end}", f"time of Node of 1 {end}"
    ]  # fmt: skip
    items = json.loads((tmp_path / "t.json").read_text())["items"]
    assert [each["kind"] for each in items] == ["Node", "Node", "Pod"]
    said.clear()
    assert write_lines(lines, str(tmp_path / "t.csv"), warn=said.append) == 1
    end = "left out: .csv has no place for it; .jsonl has"
    assert f"Node of 2 {end}" in said
    assert f"delete of 1 {end}" in said
    with pytest.raises(InputError, match="Unsupported value"):
        write_lines(lines, str(tmp_path / "t.txt"))


@pytest.mark.parametrize(
    ("model", "share", "seconds", "below"),
    [
        (LifetimeModel(distribution="exponential", mean=10.0), 0.5, 6.931472, 0.5),
        (LifetimeModel(distribution="lognormal", median=8.0, sigma=2.0), 0.5, 8.0, 0.5),
        (LifetimeModel(distribution="weibull", scale=4.0, shape=2.0), 0.5, 3.330218, 0.5),
        (LifetimeModel(distribution="fixed", value=3.0), 0.5, 3.0, 1.0),
        (LifetimeModel(distribution="empirical", quantiles=(1.0, 2.0, 4.0)), 0.75, 3.0, 2 / 3),
    ],
)
def test_run_times_of_a_model(model, share, seconds, below):
    assert model.at(share) == pytest.approx(seconds, rel=1e-6)
    assert model.share_below(np.array([seconds])).tolist() == [pytest.approx(below)]
    assert set(model.parameters()) <= set(model.__struct_fields__)


def test_a_pod_of_a_model_has_its_requests_and_limits_of_devices():
    size = SizeModel(requests={"cpu": "1", "x/gpu": "2"}, annotations={"a": "b"})
    assert _pod("p", size) == {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "annotations": {"a": "b"}},
        "spec": {"restartPolicy": "Never", "containers": [{
            "name": "main", "image": "main",
            "resources": {"requests": {"cpu": "1", "x/gpu": "2"}, "limits": {"x/gpu": "2"}}}]},
    }  # fmt: skip
    plain = _pod("p", SizeModel(requests={"cpu": "1"}))
    assert plain["metadata"] == {"name": "p", "namespace": "default"}
    assert plain["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "1"}}


def test_arrivals_of_a_trace_are_rates_by_the_hour():
    short = _fit_arrival(np.array([0.0, 1800.0, 3600.0]))
    assert (short.distribution, short.per_hour) == ("poisson", (2.0,))
    # Two and a half hours: the last one is covered by half.
    times = [0.0, 10.0, 20.0, 3600.0, 7200.0, 9000.0]
    long = _fit_arrival(np.array(times))
    assert (long.distribution, long.per_hour) == ("hourly", (3.0, 1.0, 2.0))


@pytest.mark.parametrize(
    ("seconds", "pods", "most"),
    [
        pytest.param([1] * 5, 0, 0, id="as many as there may be"),
        pytest.param([1] * 6, 0, 5, id="one more"),
        pytest.param([1, 1, 1, 2, 2, 2], 0, 0, id="time advances in between"),
        pytest.param([1] * 6, 2, 0, id="as many as there may be for each pod"),
        pytest.param([1] * 7, 2, 6, id="one more than for each pod"),
    ],
)
def test_so_many_events_of_one_time_end_a_run(monkeypatch, seconds, pods, most):
    monkeypatch.setattr(world_steps, "AT_ONCE_MAX", 5)
    monkeypatch.setattr(world_steps, "AT_ONCE_PER_POD", 3)
    world = World(controllers=(), stages=())
    world.add(*(make_pod(f"p{number}") for number in range(pods)))
    for number, second in enumerate(seconds):
        metadata = {"name": f"c{number}", "namespace": "default"}
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        world.add(decode(config), at=f"{second}s")
    if most:
        with pytest.raises(world_steps.WorldError, match=f"{most} events occurred at "):
            world.run()
    else:
        world.run()
        assert world.store.count(("", "ConfigMap")) >= len(seconds)

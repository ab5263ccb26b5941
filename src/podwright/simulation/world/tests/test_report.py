"""The report of a run: drains, evictions, availability, rollouts, lost pods, notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

import podwright as pw
from podwright.apimachinery.objects import KubernetesObject, timestamp_text_nano
from podwright.apimachinery.schema import decode
from podwright.simulation.recording import RunTables
from podwright.simulation.world import Report
from podwright.simulation.world.inputs.input_review import InputReview
from podwright.simulation.world.inputs.operations import Drain
from podwright.simulation.world.runs import simulation
from podwright.simulation.world.runs.report import STARTS_AT_ONCE, _notes
from podwright.simulation.world.timing.model import Timing
from podwright.testing import make_node, make_pod

SECOND = 1_000_000_000
START = "2026-01-01T00:"

SLOW_PODS = [
    # Pods are ready after 20 s.
    """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-ready}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.phase, operator: NotIn, values: [Running, Succeeded, Failed]}
  delay: {durationMilliseconds: 20000}
  next:
    statusTemplate: |
      {{ $now := Now }}
      phase: Running
      startTime: {{ $now | Quote }}
      conditions:
      - {type: Ready, status: "True", lastTransitionTime: {{ $now | Quote }}}
      - {type: ContainersReady, status: "True", lastTransitionTime: {{ $now | Quote }}}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-delete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
  next: {delete: true}
"""
]


class StoppedError(Exception):
    """Stops a run."""


def deployment(name: str = "web", replicas: int = 3, image: str = "i") -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "containers": [
                        {"name": "c", "image": image, "resources": {"requests": {"cpu": "1"}}}
                    ]
                },
            },
        },
    }


def budget(name: str, min_available: int) -> KubernetesObject:
    return decode(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name},
            "spec": {
                "minAvailable": min_available,
                "selector": {"matchLabels": {"app": name}},
            },
        }
    )


def job(name: str, **annotations: str) -> KubernetesObject:
    return decode(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {
                "template": {
                    "metadata": {"annotations": annotations},
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{"name": "c", "image": "i"}],
                    },
                }
            },
        }
    )


def report_of(objects: list[Any], events: Sequence[Any] = (), **options: Any) -> Report:
    report = pw.simulate(objects, events=events, **options).summary.report
    assert report is not None
    return report


def nodes(count: int, cpu: str = "4") -> list[Any]:
    return [make_node(f"n{number}", cpu=cpu) for number in range(1, count + 1)]


@pytest.fixture
def slow_pods(tmp_path):
    file = tmp_path / "stages.yaml"
    file.write_text(SLOW_PODS[0])
    return file


# -------------------------------------------------------------------------------- drains


def test_a_drain_that_a_budget_blocks_names_the_budget_and_the_time():
    objects = [make_node("n1", cpu="8"), decode(deployment()), budget("web", 2)]
    (drain,) = report_of(objects, [{"at": "10m", "drain": "n1"}], until="1h").drains
    assert (drain.node, drain.status, drain.evicted) == ("n1", "blocked", 1)
    assert drain.since == f"{START}10:00.000000000Z"
    assert drain.blocked_by == ("default/web",)
    assert drain.blocked_since == f"{START}10:00.000000000Z"
    assert drain.ended is None
    assert len(drain.blocked_pods) == 2
    (first, _) = drain.blocked_pods
    assert "budget web does not allow evicting pods currently" in first.message


def test_a_blocked_drain_is_done_when_the_budget_allows_it():
    objects = [make_node("n1", cpu="8"), decode(deployment()), budget("web", 3)]
    events = [
        {"at": "10m", "drain": "n1"},
        {"at": "20m", "apply": make_node("n2", cpu="8").raw},
        {"at": "20m", "delete": "poddisruptionbudget/web"},
    ]
    report = report_of(objects, events, until="1h")
    (drain,) = report.drains
    assert (drain.status, drain.evicted, drain.blocked_by) == ("done", 3, ())
    assert drain.ended is not None
    assert f"{START}20:00" <= drain.ended <= f"{START}20:05"
    assert report.evictions.evicted == 3
    assert report.evictions.rejected >= 3


def test_each_drain_of_a_node_is_reported():
    events = [
        {"at": "1m", "drain": "n1"},
        {"at": "2m", "uncordon": "n1"},
        {"at": "3m", "drain": "n1"},
        {"at": "4m", "delete": "node/n1"},
    ]
    report = report_of([*nodes(1), make_pod("p", cpu="1")], events, until="1h")
    assert [(each.status, each.evicted) for each in report.drains] == [("done", 1), ("done", 0)]


def test_a_drain_of_a_node_that_is_deleted_is_not_done():
    objects = [make_node("n1", cpu="8"), decode(deployment()), budget("web", 3)]
    events = [{"at": "10m", "drain": "n1"}, {"at": "20m", "delete": "node/n1"}]
    report = report_of(objects, events, until="1h")
    assert [each.status for each in report.drains] == ["node deleted"]
    assert report.evictions.node_deleted == 3


# ---------------------------------------------------------------------------- workloads


def test_availability_counts_the_time_below_the_target_and_the_lowest_share(slow_pods):
    objects = [slow_pods, *nodes(3), decode(deployment())]
    events = [{"at": "10m", "delete": "node/n1"}, {"at": "30m", "drain": "n2"}]
    (found,) = report_of(objects, events, until="1h").availability
    assert found.workload == "deployment/default/web"
    assert (found.available, found.target, found.reached_ns) == (3, 3, 20 * SECOND)
    # Pods of a deleted node are deleted after 40 s, and pods take 20 s to start.
    assert found.lowest < 3
    assert found.below_target_ns > 20 * SECOND


def test_a_workload_that_never_reaches_its_target_is_below_it_from_the_start():
    report = report_of([*nodes(1, cpu="2"), decode(deployment())], until="1h")
    (found,) = report.availability
    assert (found.lowest, found.target, found.reached_ns) == (2, 3, None)
    assert found.below_target_ns == 3600 * SECOND
    (rollout,) = report.rollouts
    assert (rollout.status, rollout.duration_ns) == ("in progress", 3600 * SECOND)


def test_scaling_up_is_below_the_target_until_the_pods_are_available(slow_pods):
    objects = [slow_pods, *nodes(3), decode(deployment())]
    events = [{"at": "10m", "scale": "deployment/web", "replicas": 6}]
    (found,) = report_of(objects, events, until="1h").availability
    assert (found.lowest, found.lowest_target) == (3, 6)
    assert found.lowest_at == f"{START}10:00.000000000Z"
    assert found.below_target_ns == 20 * SECOND


def test_rollouts_have_their_durations(slow_pods):
    objects = [slow_pods, *nodes(3), decode(deployment())]
    events = [
        {"at": "10m", "apply": deployment(image="new")},
        {"at": "20m", "apply": deployment(image="newer")},
        {"at": "20m10s", "apply": deployment(image="newest")},
    ]
    report = report_of(objects, events, until="1h")
    found = [(each.reason, each.status, each.started[14:19]) for each in report.rollouts]
    assert found == [
        ("created", "complete", "00:00"),
        ("updated", "complete", "10:00"),
        ("updated", "superseded", "20:00"),
        ("updated", "complete", "20:10"),
    ]
    # One pod at a time: 25 % of 3 replicas is a surge of one pod.
    assert report.rollouts[1].duration_ns == 3 * 20 * SECOND
    assert report.rollouts[2].duration_ns == 10 * SECOND


# ----------------------------------------------------------------------------- lost pods


def test_pods_without_a_controller_are_lost_when_they_are_removed():
    objects = [
        *nodes(3, cpu="2"),
        make_pod("drained", cpu="2", node="n1"),
        make_pod("removed", cpu="2", node="n2"),
        make_pod("preempted", cpu="2", node="n3"),
    ]
    urgent = make_pod("urgent", cpu="2").raw
    urgent = urgent | {"spec": urgent["spec"] | {"priorityClassName": "system-node-critical"}}
    events = [
        {"at": "1m", "drain": "n1"},
        {"at": "2m", "delete": "node/n2"},
        {"at": "5m", "apply": urgent},
    ]
    lost = report_of(objects, events, until="1h").lost_pods
    assert [(each.pod, each.node, each.cause, each.owner) for each in lost] == [
        ("default/drained", "n1", "evicted", ""),
        ("default/removed", "n2", "node deleted", ""),
        ("default/preempted", "n3", "preempted", ""),
    ]


def test_pods_of_a_failed_node_are_lost_by_its_taint():
    objects = [*nodes(3), make_pod("p", cpu="1", node="n1")]
    report = report_of(objects, [{"at": "1m", "fail": "n1"}], until="1h")
    assert [(each.pod, each.cause) for each in report.lost_pods] == [
        ("default/p", "evicted by taint")
    ]
    assert report.evictions.by_taint == 1


def test_the_missing_owner_of_a_pod_of_a_dump_is_named():
    pod = make_pod("web-1", cpu="1", node="n1").raw
    owner = {
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "gone",
        "controller": True,
    }  # fmt: skip
    pod["metadata"] |= {"uid": "u1", "ownerReferences": [owner]}
    report = report_of([*nodes(1), decode(pod)], [{"at": "1m", "drain": "n1"}], until="1h")
    assert report.missing_owners == {"default/web-1": "ReplicaSet default/web"}
    (lost,) = report.lost_pods
    assert (lost.pod, lost.cause, lost.owner) == (
        "default/web-1", "evicted", "ReplicaSet default/web",
    )  # fmt: skip


def test_pods_of_workloads_and_deleted_workloads_are_not_lost():
    events = [{"at": "1m", "drain": "n1"}, {"at": "10m", "delete": "deployment/web"}]
    report = report_of([*nodes(3), decode(deployment())], events, until="1h")
    assert report.lost_pods == ()
    assert report.evictions.evicted > 0
    assert report.availability[0].is_deleted


# --------------------------------------------------------------------- inputs and the rest


def test_pods_that_were_never_tried_are_named():
    pods = [make_pod("p", cpu="1"), make_pod("gated", cpu="1")]
    gated = pods[1].raw | {"spec": pods[1].raw["spec"] | {"schedulingGates": [{"name": "g"}]}}
    run = pw.simulate([decode(gated), *nodes(1)], until="1h")
    assert run.summary.report is not None
    assert run.summary.report.never_tried == ()
    tables = RunTables(SECOND)
    tables.changed(None, pods[0], 0)
    tables.changed(None, decode(gated), 0)
    assert tables.never_tried() == ("default/p",)


def test_kinds_without_effect_are_counted():
    def of(kind: str, version: str, name: str, **fields: Any) -> KubernetesObject:
        metadata = {"name": name}
        return decode({"apiVersion": version, "kind": kind, "metadata": metadata, **fields})

    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaled = {"maxReplicas": 2, "scaleTargetRef": target}

    objects = [
        of("HorizontalPodAutoscaler", "autoscaling/v2", "a", spec=scaled),
        of("HorizontalPodAutoscaler", "autoscaling/v2", "b", spec=scaled),
        of("Widget", "example.com/v1", "w"),
        of("ConfigMap", "v1", "c"),
    ]
    found = report_of([*nodes(1), *objects]).ignored_kinds
    assert [(each.kind, each.count, each.effect) for each in found] == [
        ("HorizontalPodAutoscaler", 2, "scales to its bounds only: no usage is declared"),
        ("Widget", 1, "is not a known kind"),
    ]


@pytest.mark.parametrize(
    ("made", "duration", "ended_s", "has_note"),
    [
        pytest.param(job("j"), None, 0, True, id="none: at once, with a note"),
        pytest.param(job("j"), "10m", 600, False, id="a default"),
        pytest.param(
            job("j", **{"pod-complete.stage.kwok.x-k8s.io/delay": "90s"}), "10m", 90, False,
            id="an annotation has precedence",
        ),
    ],
)  # fmt: skip
def test_jobs_run_for_a_duration(made, duration, ended_s, has_note):
    run = pw.simulate([*nodes(1), made], job_duration=duration)
    assert run.summary.counts.succeeded == 1
    # The Job controller syncs two seconds later.
    assert run.summary.simulated_ns == (ended_s + 2) * SECOND
    report = run.summary.report
    assert report is not None
    assert any("job/default/j: no duration" in note for note in report.notes) == has_note


def test_a_job_of_an_event_line_runs_for_the_duration():
    events = [{"at": "1m", "apply": job("j").raw}]
    run = pw.simulate(nodes(1), events=events, job_duration="10m")
    assert run.summary.simulated_ns == (60 + 600 + 2) * SECOND
    with pytest.raises(pw.InputError, match="job_duration: Invalid value"):
        pw.simulate(nodes(1), job_duration="soon")


def test_a_duration_of_jobs_leaves_a_line_with_a_status_what_it_is():
    suspended = job("j").raw | {"spec": {**job("j").raw["spec"], "suspend": True}}
    status = {"conditions": [{"type": "Checked", "status": "True"}]}
    line = {"at": "1m", "apply": suspended | {"status": status}, "subresource": "status"}
    waits = {"at": "2m", "waitUntil": {"object": "job/j", "condition": "Checked"}}
    run = pw.simulate(
        [*nodes(1), decode(suspended)], events=[line, waits], until="5m", job_duration="10m"
    )
    assert run.unmet == ()


def test_a_load_that_cannot_be_placed_has_an_estimate():
    objects = [*nodes(2), decode(deployment(replicas=50)), make_pod("big", cpu="3"), job("j")]
    estimate = report_of(objects, until="1m").estimate
    assert estimate is not None
    assert msgspec.structs.asdict(estimate) == {
        "pods": 51,
        "fitting": 8,
        "resource": "cpu",
        "requested": 53_000,
        "allocatable": 8_000,
    }
    assert report_of([*nodes(2), decode(deployment(replicas=8))]).estimate is None


# --------------------------------------------------------------------- the same, however run


EVENTS = [
    {"at": "2m", "scale": "deployment/web", "replicas": 6},
    {"at": "4m", "fail": "n1"},
    {"at": "10m", "drain": "n2"},
    {"at": "12m", "apply": deployment(replicas=6, image="new")},
    {"at": "15m", "drain": "n3"},
    {"at": "20m", "delete": "node/n2"},
    {"at": "25m", "restore": "n1"},
]


def story() -> list[Any]:
    return [
        *nodes(4), decode(deployment()), budget("web", 6), make_pod("alone", cpu="1", node="n2"),
        job("train"),
    ]  # fmt: skip


def test_the_report_is_the_same_with_and_without_a_folder_and_checkpoints(tmp_path):
    expected = pw.simulate(story(), events=EVENTS, until="1h").summary
    assert expected.report is not None
    assert {each.status for each in expected.report.drains} == {"blocked", "done"}
    assert expected.report.lost_pods
    for number in (1, 20, 10_000):
        found = pw.simulate(
            story(), events=EVENTS, until="1h", output=tmp_path / f"run{number}",
            checkpoint_events=number,
        ).summary  # fmt: skip
        assert found == expected


@pytest.mark.parametrize("stop_after", [1, 4, 9])
def test_the_report_is_the_same_after_an_interruption(tmp_path, monkeypatch, stop_after):
    options: dict[str, Any] = {"events": EVENTS, "until": "1h", "checkpoint_events": 10}
    expected = pw.simulate(story(), output=tmp_path / "whole", **options).summary
    write = simulation.Simulation._write_checkpoint
    count = 0

    def stop(self: Any) -> None:
        nonlocal count
        write(self)
        count += 1
        if count == stop_after:
            raise StoppedError

    monkeypatch.setattr(simulation.Simulation, "_write_checkpoint", stop)
    with pytest.raises(StoppedError):
        pw.simulate(story(), output=tmp_path / "run", **options)
    monkeypatch.undo()
    found = pw.simulate(story(), output=tmp_path / "run", resume=True, **options).summary
    assert found == expected
    assert (tmp_path / "run/summary.json").read_bytes() == (
        tmp_path / "whole/summary.json"
    ).read_bytes()


# --------------------------------------------------------------------------------- worlds


def test_a_world_reports_as_a_simulation_does():
    """The same objects and operations at the same times give the same report."""
    objects = [*nodes(2), decode(deployment()), budget("web", 3), job("train")]
    objects += [make_pod("alone", cpu="1", node="n1")]
    events = [{"at": "10m", "drain": "n1"}, {"at": "20m", "drain": "n2"}]
    expected = report_of(objects, events, until="1h")
    world = pw.World()
    world.add(*objects)
    for number, minutes in ((1, 10), (2, 20)):
        world.do(Drain(f"n{number}"), at=timestamp_text_nano(world.now_ns + minutes * 60 * SECOND))
    report = world.run(timestamp_text_nano(world.now_ns + 3600 * SECOND)).summary.report
    assert report is not None
    assert report == expected
    assert [each.status for each in report.drains] == ["blocked", "blocked"]
    assert len(report.lost_pods) == len(report.notes[:1]) == 1


@pytest.mark.parametrize(
    ("review", "timing", "has_workloads", "notes"),
    [
        ({}, None, False, []),
        ({}, None, True, ["at once"]),
        ({"starts_at_once": False}, None, True, []),
        ({}, {}, True, ["timing", "at once"]),
        ({}, {"kubelet": {"start": {"value": "1s"}}}, True, ["timing"]),
        ({"jobs_without_duration": ("job/default/j",)}, {}, True, ["job", "timing", "at once"]),
    ],
)
def test_the_notes_of_a_report(review, timing, has_workloads, notes):
    made = None if timing is None else msgspec.convert(timing, Timing)
    found = InputReview(**review)
    texts = {"job": found.job_note, "timing": str(made), "at once": STARTS_AT_ONCE}
    assert _notes(found, made, has_workloads=has_workloads) == tuple(texts[note] for note in notes)


def test_a_world_reports_what_its_objects_do_not_do():
    hooks = "ValidatingWebhookConfiguration"
    version = "admissionregistration.k8s.io/v1"
    ignored = {"apiVersion": version, "kind": hooks, "metadata": {"name": "l"}}
    world = pw.World()
    world.add(*nodes(1, cpu="2"), *(make_pod(f"p{n}", cpu="1") for n in range(3)), decode(ignored))
    report = world.run().summary.report
    assert report is not None
    assert [each.kind for each in report.ignored_kinds] == [hooks]
    assert report.estimate is not None
    assert (report.estimate.pods, report.estimate.fitting) == (3, 2)
    world.add(job("train"))
    later = world.run().summary.report
    assert later is not None
    assert later.notes[0].startswith("job/default/train: no duration")
    assert report.notes == (), "the first report is of the world as it was"


def test_the_summary_of_a_world_counts_pods_that_were_never_tried():
    world = pw.World()
    world.add(*nodes(1), make_pod("p", cpu="1"))
    world.run_until_ns(world.now_ns)
    tried = world.run().summary.report
    assert tried is not None
    assert tried.never_tried == ()

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import podwright as pw
from podwright.apimachinery.objects import SECOND_NS, InputError, Pod
from podwright.apimachinery.schema import decode
from podwright.simulation.files import SchedulerLog, load_scheduler_log
from podwright.simulation.world import CannotCopy, Timing, fit_timing
from podwright.simulation.world.timing.model import ClientTiming, ClientTimings, read_timing
from podwright.testing import make_node, make_pod

MS = SECOND_NS // 1000
HEAD = "apiVersion: podwright.dev/v1alpha1\nkind: Timing\n"


def timing_of(text: str) -> Timing:
    return read_timing(HEAD + text, source="timing.yaml")


def bound_ms(text: str, *objects: Any, pods: int = 0, until: str | None = None) -> list[float]:
    """Return when pods are bound, in milliseconds since the start, in order."""
    world = pw.World(seed=3, timing=timing_of(text), observers=[seen := Bindings()])
    world.add(make_node("a", cpu="64"), make_node("b", cpu="64"), *objects)
    world.add(*(make_pod(f"p{index}", cpu="100m") for index in range(pods)))
    world.run(until)
    return [(at_ns - world.start_ns) / MS for at_ns in seen.times_ns]


class Bindings:
    def __init__(self) -> None:
        self.times_ns: list[int] = []
        self.ready_ns: list[int] = []

    def changed(self, old: Any, new: Any, now_ns: int) -> None:
        if isinstance(new, Pod) and new.spec.node_name and not (old and old.spec.node_name):
            self.times_ns.append(now_ns)
        if isinstance(new, Pod) and new.status.phase == "Running" != old.status.phase:
            self.ready_ns.append(now_ns)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", [0, 0, 0, 0], id="nothing takes time"),
        pytest.param("cycle: {constant: 10ms}", [10, 20, 30, 40], id="cycles follow each other"),
        pytest.param("cycle: {perNodeEvaluated: 1ms}", [2, 4, 6, 8], id="two nodes are evaluated"),
        pytest.param("cycle: {perNodeScored: 5ms}", [10, 20, 30, 40], id="two nodes are scored"),
        pytest.param(
            "cycle: {constant: 1ms, perPlugin: {NodeAffinity: 2ms, NotThere: 9ms}}",
            [3, 6, 9, 12],
            id="a plugin of the profile",
        ),
        pytest.param(
            'cycle: {constant: 10ms, factor: {value: "1.5"}}', [15, 30, 45, 60], id="a factor"
        ),
        pytest.param(
            "clients: {scheduler: {duration: {value: 30ms}}}",
            [30, 30, 30, 30],
            id="all in parallel",
        ),
        pytest.param(
            "cycle: {constant: 10ms}\nclients: {scheduler: {duration: {value: 30ms}, parallel: 2}}",
            [40, 50, 70, 80],
            id="two bindings in parallel",
        ),
        pytest.param(
            "clients: {scheduler: {qps: 10, burst: 2}}", [0, 0, 100, 200], id="a token bucket"
        ),
        pytest.param(
            "watchDelay: {value: 7ms}", [7, 7, 7, 7], id="the scheduler receives pods late"
        ),
    ],
)
def test_pods_are_bound_when_the_model_says(text: str, expected: list[float]) -> None:
    assert bound_ms(text, pods=4) == expected


def test_conditions_of_pods_that_do_not_fit_use_the_tokens_of_the_scheduler() -> None:
    large = [make_pod(f"large{index}", cpu="900", priority=9) for index in range(4)]
    text = "clients: {scheduler: {qps: 1, burst: 4}}"
    assert bound_ms(text, pods=1) == [0]
    assert bound_ms(text, *large, pods=1) == [1000]


def test_controllers_create_pods_at_the_rate_of_their_client() -> None:
    deployment = decode(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "replicas": 4,
                "selector": {"matchLabels": {"a": "b"}},
                "template": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            },
        }
    )
    free = bound_ms("watchDelay: {value: 1ms}", deployment)
    # The ReplicaSet, the pods and the statuses are written by controllers.
    limited = bound_ms("clients: {controllers: {qps: 2, burst: 3}}", deployment)
    assert len(free) == len(limited) == 4
    assert max(free) < 10
    assert limited[-1] >= 500
    assert all(at_ms % 500 == 0 for at_ms in limited)


def test_kubelets_start_pods_late() -> None:
    observer = Bindings()
    start = "kubelet: {start: {distribution: uniform, min: 1s, max: 3s}}"
    world = pw.World(timing=timing_of(start), observers=[observer])
    world.add(make_node("n", cpu="4"), *(make_pod(f"p{index}", cpu="1") for index in range(3)))
    run = world.run()
    waited = {at_ns - world.start_ns for at_ns in observer.ready_ns}
    assert len(waited) == 3
    assert all(SECOND_NS <= wait_ns <= 3 * SECOND_NS for wait_ns in waited)
    assert run.summary.report is not None
    assert run.summary.report.notes == ("timing model timing.yaml: start of pods 2s (p99 2.98s)",)


RANDOM = """
cycle: {constant: 3ms, factor: {distribution: lognormal, median: "1"}}
clients: {scheduler: {qps: 100, burst: 5, duration: {distribution: exponential, mean: 20ms}}}
watchDelay: {distribution: choice, values: [1ms, 9ms]}
"""


def test_a_fork_continues_with_the_same_draws_when_nothing_is_under_way() -> None:
    world = pw.World(seed=5, timing=timing_of(RANDOM))
    world.add(make_node("n", cpu="32"))
    world.add(*(make_pod(f"early{index}", cpu="100m") for index in range(9)))
    world.add(*(make_pod(f"late{index}", cpu="100m") for index in range(9)), at="1m")
    world.run_until("5ms")
    with pytest.raises(CannotCopy, match="step it on first"):
        world.fork()
    world.run_until("30s")
    fork = world.fork()
    one, other = world.run(), fork.run()
    assert list(one.log.entries()) == list(other.log.entries())
    assert world.now_ns == fork.now_ns > world.start_ns + 60 * SECOND_NS


def test_a_run_with_pods_that_never_fit_ends() -> None:
    assert bound_ms(RANDOM, make_pod("huge", cpu="900"), pods=3) != []


def test_all_mistakes_are_shown_at_once_with_their_paths() -> None:
    text = """
cycle: {constant: 3, perPlugin: {A: soon}, factor: {value: "-1"}, perNode: 1ms}
clients: {scheduler: {qps: -1, burst: 0, duration: {distribution: exponential}}}
watchDelay: {distribution: quantiles, values: [2ms, 1ms], percents: [0, 50]}
kubelet: {start: {distribution: uniform, min: 3s, max: 1s}}
"""
    with pytest.raises(InputError) as raised:
        read_timing("kind: Timing" + text, source="t.yaml")
    assert sorted(error.path for error in raised.value.errors) == [
        "apiVersion",
        "clients.scheduler.burst",
        "clients.scheduler.duration.mean",
        "clients.scheduler.qps",
        "cycle.constant",
        "cycle.factor.value",
        "cycle.perNode",
        "cycle.perPlugin[A]",
        "kubelet.start.max",
        "watchDelay.percents",
        "watchDelay.values",
    ]
    assert all(error.source == "t.yaml" for error in raised.value.errors)


def test_mistakes_of_a_model_in_memory_are_shown_too() -> None:
    model = Timing(clients=ClientTimings(scheduler=ClientTiming(qps=-1.0)))
    with pytest.raises(InputError) as raised:
        pw.simulate([make_node("n")], timing=model)
    assert [str(error) for error in raised.value.errors] == [
        "timing: clients.scheduler.qps: Invalid value: -1.0: must not be negative"
    ]


def test_a_model_is_fitted_to_cycles_and_writes_of_a_log(tmp_path: Path) -> None:
    def line(what: str, pod: int, at_ms: int, **fields: object) -> bytes:
        time = f"2026-01-01T00:00:0{at_ms // 1000}.{at_ms % 1000:03d}Z"
        return msgspec.json.encode({"time": time, "what": what, "pod": f"d/p{pod}", **fields})

    # All pods wait from the start; cycles of 10 ms, and 5 ms more until a pod is bound.
    lines = [
        line("queue", pod, 0, event="UnschedulablePodAdd", queue="Active") for pod in range(50)
    ]
    lines += [line("attempt", pod, 10 * pod) for pod in range(50)]
    nodes = {"node": "n", "evaluatedNodes": 1, "feasibleNodes": 1}
    lines += [line("bound", pod, 10 * pod + 15, **nodes) for pod in range(50)]
    path = tmp_path / "log"
    path.write_bytes(b"\n".join(lines) + b"\n")
    log = load_scheduler_log(path)
    fitted = fit_timing(log, base=timing_of("watchDelay: {value: 1ms}"))
    assert fitted.watch_delay == timing_of("watchDelay: {value: 1ms}").watch_delay
    world = pw.World(timing=fitted, observers=[seen := Bindings()])
    world.add(make_node("n", cpu="4"), make_pod("p", cpu="1"))
    world.run()
    assert [(at_ns - world.start_ns) / MS for at_ns in seen.times_ns] == pytest.approx([16])
    assert read_timing(msgspec.json.encode(fitted.document()), source="kept") == fitted


def test_a_log_with_too_few_attempts_is_an_error() -> None:
    with pytest.raises(InputError, match="0 attempts that follow another one immediately"):
        fit_timing(SchedulerLog("log"))

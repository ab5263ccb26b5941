"""The lives of many pods and some nodes by several sets of stages, in a text beside the tests.

Each line has an object, the stages that are played on it with their times, and a digest of each of
its states. `PODWRIGHT_UPDATE_STORIES=1` writes the text again, set by set; review the difference.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.recorded_texts import RecordedText

from podwright.apimachinery.objects import Object
from podwright.cluster.kubelets import Lifecycle, read_stages
from podwright.cluster.kubelets.pod_statuses import EXIT_CODE, RUN_DELAY, STOP_DELAY
from podwright.cluster.kubelets.stages.built_in_stages import default_stages, fast_stages
from podwright.cluster.kubelets.tests.lifecycle_driver import LifecycleDriver, a_node, a_pod, at
from podwright.cluster.kubelets.tests.test_general_stages import (
    FAILED,
    GENERAL,
    HEARTBEAT,
    OWNER,
    PENDING,
)

SETS: dict[str, Any] = {
    "default": default_stages(),
    "default in a trace": default_stages(trace_start_ns=1_767_225_600 * 10**9 - 30 * 10**9),
    "fast": fast_stages(),
    "general": read_stages(GENERAL, source="g.yaml"),
    "general with failures": read_stages("---".join((GENERAL, FAILED, HEARTBEAT)), source="f.yaml"),
}
ANNOTATIONS: tuple[dict[str, str], ...] = (
    {}, {RUN_DELAY: "10s"}, {RUN_DELAY: "30s", EXIT_CODE: "3"}, {STOP_DELAY: "7s"},
)  # fmt: skip
SPECS: tuple[dict[str, Any], ...] = (
    {"restartPolicy": "Never"}, {"restartPolicy": "OnFailure"}, {},
    {"initContainers": [{"name": "first", "image": "init:1"}], "restartPolicy": "Never"},
    {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b"}],
     "readinessGates": [{"conditionType": "x/y"}], "hostNetwork": True},
    {"nodeName": None},
)  # fmt: skip
RUNNING = {
    "phase": "Running", "podIP": "10.0.0.9", "startTime": at(-20),
    "containerStatuses": [
        {"name": "main", "restartCount": 2, "state": {"running": {"startedAt": at(-9)}}}
    ],
}  # fmt: skip


class Witness(LifecycleDriver):
    """Keeps a digest of each state."""

    def __init__(self, life: Lifecycle) -> None:
        super().__init__(life)
        self.states: dict[str, list[str]] = defaultdict(list)

    def put(self, obj: Object) -> None:
        text = msgspec.json.encode(obj.raw, order="sorted")
        self.states[obj.key].append(hashlib.sha256(text).hexdigest()[:4])
        super().put(obj)


def objects() -> Iterator[Object]:
    yield a_node()
    heard = [{"type": "Ready", "status": "Unknown"}]
    yield a_node("n2", status={"conditions": heard, "phase": "Running"}, spec={"podCIDR": "1/24"})
    for number, (spec, given) in enumerate(product(SPECS, ANNOTATIONS)):
        yield a_pod(f"p{number}", spec=spec, annotations=given, status=PENDING)
    for number, given in enumerate(ANNOTATIONS):
        yield a_pod(f"job{number}", annotations=given, ownerReferences=[OWNER])
        yield a_pod(f"runs{number}", annotations=given, status=RUNNING)
        going = {"deletionTimestamp": at(30 - 25 * number), "deletionGracePeriodSeconds": 30}
        yield a_pod(f"goes{number}", annotations=given, status=RUNNING, **going)
    yield a_pod("held", deletionTimestamp=at(1), finalizers=["x/y"], status=RUNNING)
    yield a_pod("done", status={"phase": "Succeeded"})
    name = "pod-container-running-failed.stage.kwok.x-k8s.io"
    for code in ("", "7"):
        more = {f"{name}/container-name": "main", f"{name}/exit-code": code} if code else {}
        yield a_pod(f"fails{code}", labels={name: "true"}, annotations=more, status=RUNNING)


def lines_of(stages: Any) -> Iterator[str]:
    driver = Witness(Lifecycle(stages, seed=3))
    for obj in objects():
        driver.put(obj)
    driver.run(200)
    stories = defaultdict(list)
    for when, stage, key in driver.story:
        stories[key].append(f"{when:g} {stage}")
    for key, states in driver.states.items():
        played = stories[key]
        more = f" and {len(played) - 12} more" if len(played) > 12 else ""
        left = "" if key in driver.objects else " (gone)"
        yield f"{key}{left}: {', '.join(played[:12])}{more} | {' '.join(states)}"
    yield f"{len(driver.notes)} events {sorted(set(driver.notes))}"


TEXT = RecordedText(Path(__file__).with_name("recorded_lives.txt"), SETS)


@pytest.mark.parametrize("name", SETS)
def test_lives_are_the_recorded_ones(name: str) -> None:
    found = [*lines_of(SETS[name])]
    TEXT.check(name, found)

"""How a rollout sizes the replica sets of a deployment, in tables.

Upstream: pkg/controller/deployment/sync.go, rolling.go, util/deployment_util.go
"""

from __future__ import annotations

import re

import pytest

from podwright.cluster.controllers.apps.rollout import (
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    DeploymentSpec,
    Rollout,
    RolloutSet,
    deployment_spec,
    revision_number,
    scaled_value,
)


def a_set(text: str, age: int) -> RolloutSet:
    """Return the set of `a=2/1@5:6`: replicas, available ones, and both annotations."""
    name, replicas, available, *notes = re.split("[=/@:]", text)
    annotations = dict(zip((DESIRED_REPLICAS, MAX_REPLICAS), notes, strict=False))
    return RolloutSet(
        name=name, created=f"2026-01-01T00:00:0{age}Z", replicas=int(replicas),
        annotations=annotations, available=int(available),
    )  # fmt: skip


def a_rollout(spec: str, sets: str, reported: int = 0) -> Rollout:
    """Return a rollout with replicas, a surge and unavailable ones; its new set is `z`."""
    replicas, surge, unavailable = map(int, spec.split())
    limits = {"maxSurge": surge, "maxUnavailable": unavailable}
    found = [a_set(each, age) for age, each in enumerate(sets.split())]
    new = next((each for each in found if each.name == "z"), None)
    read = deployment_spec({"replicas": replicas, "strategy": {"rollingUpdate": limits}})
    return Rollout(read, new, [each for each in found if each is not new], reported=reported)


def sizes(rollout: Rollout) -> str:
    return " ".join(f"{each.name}={each.replicas}" for each in rollout.sets)


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.splitlines()]


# The deployment, its sets from old to new, `status.replicas`; is this a scaling event; the sizes.
SCALINGS = """\
5 1 0   |                                          | 0   | False|
5 1 0   | a=3/3                                    | 0   | False| a=5
5 1 0   | a=0/0 b=3/3                              | 0   | False| a=0 b=5
5 1 0   | a=1/1 z=0/0                              | 0   | False| a=5 z=0
5 1 0   | a=0/0 z=0/0                              | 0   | False| a=0 z=5
5 1 0   | a=0/0 b=0/0                              | 0   | False| a=0 b=5
5 1 0   | a=3/3@4:5 z=2/2@4:5                      | 0   | True | a=4 z=2
10 3 0  | a=5/5@5:6 z=1/1@5:6                      | 0   | True | a=11 z=2
3 1 0   | a=5/5@9:10 z=4/4@9:10                    | 0   | True | a=2 z=2
0 1 0   | a=5/5@9:10 z=4/4@9:10                    | 0   | True | a=0 z=0
5 1 0   | a=2/2@5:6 z=5/5@5:6                      | 0   | False| a=0 z=5
5 1 0   | a=2/2@5:6 z=5/4@5:6                      | 0   | False| a=2 z=4
5 1 0   | a=2/2@5:6 z=5/5@4:6                      | 0   | True | a=2 z=4
5 1 0   | a=2/2@5:6 z=4/4@5:6                      | 0   | False| a=2 z=4
20 5 0  | a=5/5 b=5/5 z=5/5                        | 15  | False| a=8 b=8 z=9
20 5 0  | a=5/5 b=5/5 z=5/5                        | 0   | False| a=5 b=5 z=15
5 0 1   | a=2/2@4:4 z=2/2@4:4                      | 0   | True | a=2 z=3
3 0 1   | a=2/2@4:4 z=2/2@4:4                      | 0   | True | a=1 z=2
8 0 1   | a=4/4@4:5 b=4/4@4:5                      | 0   | True | a=4 b=4
12 0 1  | a=3/3@9:9 b=3/3@9:9 z=3/3@9:9            | 0   | True | a=4 b=4 z=4
11 0 1  | a=3/3@9:9 b=3/3@9:9 z=3/3@9:9            | 0   | True | a=3 b=4 z=4
4 0 1   | a=3/3@9:9 b=3/3@9:9 z=3/3@9:9            | 0   | True | a=1 b=1 z=2
10 0 1  | a=4/4@9:9 z=5/5@9:9                      | 0   | True | a=4 z=6
9 0 1   | a=5/5@x:y z=1/1@4:6                      | 6   | True | a=8 z=1
7 0 1   | a=3/3@x:y z=2/2@7:6                      | 0   | False| a=5 z=2
7 0 1   | a=3/3@x:6 z=2/2@:6                        | 0   | False| a=5 z=2
7 0 1   | a=0/0@9:6 z=2/2@7:6                      | 0   | False| a=0 z=7
10 0 1  | a=1/1@9:9 b=3/3@9:9 c=3/3@9:9 z=1/1@9:9  | 0   | True | a=1 b=3 c=5 z=1
"""


def test_a_new_size_is_distributed_in_proportion() -> None:
    for spec, sets, reported, is_event, expected in rows(SCALINGS):
        rollout = a_rollout(spec, sets, int(reported))
        found = str(rollout.is_scaling_event)
        rollout.scale()
        assert [found, sizes(rollout)] == [is_event, expected], (spec, sets)


@pytest.mark.parametrize(
    ("written", "expected"),
    [("3", False), ("03", False), ("4", True), ("2147483647", True), ("2147483648", False)]
    + [(text, False) for text in ("", "-4", "+4", "4.0", "\u00b2", "\u0664")],
)  # fmt: skip
def test_sizes_in_annotations_are_numbers_as_go_reads_them(written: str, expected: bool) -> None:
    a = RolloutSet(
        name="a", created="", replicas=3, annotations={DESIRED_REPLICAS: written}, available=3
    )
    spec = deployment_spec({"replicas": 3, "strategy": {}})
    assert Rollout(spec, None, [a], reported=3).is_scaling_event is expected


# The deployment, its sets, and their sizes after one step.
STEPS = """\
4 1 0 | a=4/4 z=0/0              | a=4 z=1
4 1 0 | a=4/4 z=1/0              | a=4 z=1
4 1 0 | a=4/4 z=1/1              | a=3 z=1
4 1 0 | a=3/3 z=1/1              | a=3 z=2
4 0 1 | a=4/4 z=0/0              | a=3 z=0
4 0 1 | a=3/3 z=0/0              | a=3 z=1
4 0 2 | a=4/3 z=0/0              | a=2 z=0
4 0 2 | a=4/1 z=0/0              | a=2 z=0
4 2 0 | a=4/4 z=0/0              | a=4 z=2
4 2 2 | a=3/3 z=3/1              | a=1 z=3
4 2 2 | a=3/1 b=2/2 z=1/1        | a=0 b=1 z=1
4 1 1 | a=2/3 b=2/1 z=1/1        | a=2 b=2 z=1
4 1 1 | a=0/1 b=4/4 z=1/1        | a=0 b=2 z=1
4 1 1 | b=2/1 a=2/3 z=1/1        | b=1 a=2 z=1
4 1 2 | a=2/4 z=3/0              | a=2 z=3
4 0 1 | a=1/1 z=6/6              | a=1 z=4
4 0 1 | z=4/0                    | z=4
4 0 1 | a=0/0 z=4/4              | a=0 z=4
4 0 1 | a=2/2 z=4/4              | a=0 z=4
4 0 1 | a=5/5 z=0/0              | a=3 z=0
4 0 1 | a=6/6 z=0/0              | a=3 z=0
4 1 0 | a=1/1 b=1/1 c=1/1 z=2/2  | a=0 b=1 c=1 z=2
4 4 0 | a=2/1 b=2/0 z=4/4        | a=0 b=0 z=4
4 4 0 | a=2/2 b=2/2 z=4/2        | a=0 b=2 z=4
6 0 2 | a=2/2 b=2/2 c=2/2 z=0/0  | a=0 b=2 c=2 z=0
"""


def test_a_step_of_a_rolling_update() -> None:
    for spec, sets, expected in rows(STEPS):
        rollout = a_rollout(spec, sets)
        rollout.roll()
        assert sizes(rollout) == expected, (spec, sets)


def test_a_resized_set_gets_a_note_and_both_annotations() -> None:
    rollout = a_rollout("5 2 0", "a=3/3@4:5 z=5/5@5:7")
    old, new = rollout.sets
    assert [rollout.resize(new, 5), rollout.resize(old, 4), rollout.resize(old, 0)] == [
        False, True, True,
    ]  # fmt: skip
    assert rollout.event_notes == [
        "Scaled up replica set a from 3 to 4",
        "Scaled down replica set a from 4 to 0",
    ]
    assert old.annotations == {DESIRED_REPLICAS: "5", MAX_REPLICAS: "7"}
    assert (rollout.total, rollout.spec.min_available) == (5, 5)


def test_old_sets_are_emptied_once() -> None:
    rollout = a_rollout("5 2 0", "a=3/3 b=0/0 z=5/5")
    assert [rollout.scale_down_old(), rollout.scale_down_old()] == [True, False]
    assert sizes(rollout) == "a=0 b=0 z=5"


def test_a_recreated_deployment_is_not_scaled_in_proportion() -> None:
    spec = deployment_spec({"replicas": 6, "strategy": {"type": "Recreate"}})
    sets = [a_set(each, age) for age, each in enumerate(("a=2/2@4:4", "z=2/2@4:4"))]
    rollout = Rollout(spec, sets[1], sets[:1])
    rollout.scale()
    assert sizes(rollout) == "a=2 z=2"
    assert rollout.new_size() == 6


def test_the_spec_of_a_deployment_with_its_defaults() -> None:
    plain = DeploymentSpec(
        replicas=1, min_ready_seconds=0, is_recreate=False, max_surge=1, max_unavailable=0,
        revision_history_limit=10, progress_deadline_seconds=600, is_paused=False, template={},
    )  # fmt: skip
    assert deployment_spec({}) == plain
    nulls = dict.fromkeys(("replicas", "strategy", "template", "paused", "minReadySeconds"))
    assert deployment_spec(nulls) == plain
    assert deployment_spec({"strategy": {"rollingUpdate": None}}) == plain
    written = {
        "replicas": 0, "minReadySeconds": 3, "revisionHistoryLimit": 0, "paused": True,
        "progressDeadlineSeconds": 2**31 - 1, "template": {"a": "b"},
        "strategy": {"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 9}},
    }  # fmt: skip
    assert deployment_spec(written) == DeploymentSpec(
        replicas=0, min_ready_seconds=3, is_recreate=False, max_surge=2, max_unavailable=0,
        revision_history_limit=0, progress_deadline_seconds=None, is_paused=True,
        template={"a": "b"},
    )  # fmt: skip
    long = deployment_spec({"progressDeadlineSeconds": 2**31 - 2})
    assert long.progress_deadline_seconds == 2**31 - 2
    recreated = {"replicas": 9, "strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 3}}}
    found = deployment_spec(recreated)
    assert (found.is_recreate, found.max_surge, found.max_unavailable) == (True, 0, 0)


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        (None, 0, 0), (0, 0, 0), (3, 3, 3), ("25%", 3, 2), ("100%", 10, 10), ("0%", 0, 0),
        ("25", 0, 0), ("%", 0, 0), ("x%", 0, 0), ("-5%", 0, 0), ("\u00b2%", 0, 0),
        ("\u0665%", 0, 0), ("", 0, 0), ("9" * 5_000 + "%", 0, 0),
    ],
)  # fmt: skip
def test_a_number_or_a_percentage_of_ten(value, up, down) -> None:
    found = [scaled_value(value, 10, round_up=each) for each in (True, False)]
    assert found == [up, down]


def test_a_revision_is_a_number_or_0() -> None:
    texts = ("12", "0", "", None, "x", "-1", "\u00b2", "\u0665", "1.5")
    assert [revision_number(each) for each in texts] == [12, 0, 0, 0, 0, 0, 0, 0, 0]

"""Which stage is scheduled for when: texts of values, weights, bounds of delays, and draws."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import DRAW_BITS, ObjectPut
from podwright.apimachinery.patching import PatchError
from podwright.cluster.kubelets import Lifecycle, ScheduleStage, read_stages
from podwright.cluster.kubelets.addresses import Addresses
from podwright.cluster.kubelets.stages.stage import (
    Bound,
    Delay,
    FixedSchedules,
    PatchStep,
    Requirement,
    Stage,
    StageContext,
    Weight,
    basis_of,
    choose,
    delay_between,
    milliseconds,
    read_delay,
    text_of,
)
from podwright.cluster.kubelets.stages.stage_matching import StageMatcher
from podwright.cluster.kubelets.stages.stage_play import apply_patch_step
from podwright.cluster.kubelets.templates.jq import query
from podwright.cluster.kubelets.tests.lifecycle_driver import (
    NOW,
    SECOND,
    a_node,
    a_pod,
    at,
    stage_of as stage_of_request,
)

LAST = (1 << DRAW_BITS) - 1
FROM = query(".from")


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), ("", ""), (True, "true"), (False, "false"), (1, "1"), (1.5, "1.5"), (None, None),
     ([], None), ({}, None)],
)  # fmt: skip
def test_scalars_are_compared_as_texts(value, text):
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("value", "weight"),
    [("7", 7), ("-7", -7), ("0o10", 8), (2.9, 2), (True, 5), (None, 5), ("x", None), ({}, 5)],
)
def test_weights_of_documents(value, weight):
    found = Weight(5, FROM).of({"from": value})
    assert (found, type(found)) == (weight, type(weight))
    assert Weight(5, query(".all[]")).of({"all": [2, 3]}) == 2
    assert (Weight().default, Weight(3).of({"from": 9})) == (0, 3)


@pytest.mark.parametrize(
    ("value", "delay_ns"),
    [
        ("90s", 90 * SECOND), ("-1s", -SECOND), (at(5), 5 * SECOND), (at(-5), -5 * SECOND),
        ("soon", None), (5, None), (None, None), ("", None), ("0", 0),
    ],
)  # fmt: skip
def test_delays_of_documents(value, delay_ns):
    assert read_delay(value, NOW) == delay_ns


def other_read(_value: Any, now_ns: int) -> int | None:
    return now_ns


def test_bounds_of_delays():
    bound = Bound(7, FROM)
    assert [bound.source(document) for document in ({"from": "1s"}, {}, {"from": None})] == [
        "1s", None, None,
    ]  # fmt: skip
    assert Bound(7).source({"from": "1s"}) is None
    assert [bound.at(each, NOW) for each in ("1s", None, "soon", "", 5)] == [
        SECOND, 7, 7, None, 7,
    ]  # fmt: skip
    assert [bound.is_constant(each) for each in ("1s", None, at(0), 5)] == [
        True, True, False, False,
    ]  # fmt: skip
    assert Bound(7).is_constant(at(0))
    assert not Bound(7, FROM, other_read).is_constant("1s")


@pytest.mark.parametrize(
    ("duration", "jitter", "bounds"),
    [
        (None, None, (0, 0)), (None, 5, (0, 0)), (5, None, (5, 5)), (5, 9, (5, 9)), (5, 5, (5, 5)),
        (5, 3, (3, 3)), (-5, None, (0, 0)), (-5, 4, (0, 4)), (-5, -9, (0, 0)), (0, 4, (0, 4)),
    ],
)  # fmt: skip
def test_a_delay_is_between_its_duration_and_its_jitter(duration, jitter, bounds):
    delay = Delay(Bound(duration), Bound(jitter))
    assert delay.bounds((None, None), NOW) == bounds
    assert (delay.sources({}), delay.can_be_constant, delay.is_constant((None, None))) == (
        (None, None), True, True,
    )  # fmt: skip


def test_delays_and_stages_are_drawn_by_parts():
    assert [delay_between(10, 20, number) for number in (0, LAST // 2 + 1, LAST)] == [10, 15, 19]
    assert [milliseconds(each) for each in (None, 0, 3)] == [None, 0, 3_000_000]
    half = LAST // 2 + 1
    for weights, chosen in (
        ([1, 1], (0, 1, 1)), ([0, 1], (1, 1, 1)), ([3, None, 1], (0, 0, 2)), ([0, 0], (0, 1, 1)),
        ([None, 0], (1, 1, 1)), ([None, None], (0, 1, 1)), ([-1, 2], (1, 1, 1)),
    ):  # fmt: skip
        assert tuple(choose(weights, number) for number in (0, half, LAST)) == chosen, weights


def stage(**fields: Any) -> Stage:
    return Stage(name="s", kind="Pod", **fields)


def test_schedules_are_shared_unless_they_depend_on_the_time_or_on_a_weight():
    plain = FixedSchedules(stage(delay=Delay(Bound(5)), weight=Weight(2)), 3)
    basis = basis_of([3], [2], [(None, None)])
    assert plain.always == (basis, 5, 3, "s")
    assert basis == "[[3],[2],[[null,null]]]"
    given = FixedSchedules(stage(delay=Delay(Bound(5, FROM))), 0)
    assert given.always is None
    first = given.for_document({"from": "1s"})
    assert first == (basis_of([0], [0], [("1s", None)]), SECOND, 0, "s")
    assert given.for_document({"from": "1s"}) is first
    assert [given.for_document({"from": each}) for each in (at(0), [1], 5)] == [None] * 3
    assert given.for_document({}) == (basis_of([0], [0], [(None, None)]), 5, 0, "s")
    for other in (
        stage(delay=Delay(Bound(5), Bound(9))), stage(weight=Weight(1, FROM)),
        stage(delay=Delay(Bound(5, FROM, other_read))),
    ):  # fmt: skip
        assert FixedSchedules(other, 0).for_document({"from": "1s"}) is None


def test_more_delays_than_are_kept_have_their_own_schedules():
    given = FixedSchedules(stage(delay=Delay(Bound(5, FROM))), 0)
    for _ in range(2):
        for number in range(1100):
            found = given.for_document({"from": f"{number}s"})
            assert found is not None
            assert found[1] == number * SECOND


def test_more_kinds_of_owners_than_are_kept_match_as_their_documents_do():
    path = query(".metadata.ownerReferences.[].kind")
    stages = [
        stage(requirements=(Requirement(path, "In", ("Kind3", "Kind299")),)),
        stage(requirements=(Requirement(path, "NotIn", ("Kind3",)),)),
        stage(requirements=None),
        stage(),
    ]
    matcher = StageMatcher(stages)
    for _ in range(2):
        for number in range(300):
            owner = {"apiVersion": "v1", "kind": f"Kind{number}", "name": "o", "uid": "u"}
            pod = a_pod(ownerReferences=[owner], status={"phase": "Running"})
            expected = {3: (0, 3), 299: (0, 1, 3)}.get(number, (1, 3))
            assert matcher.match_pod(pod) == matcher.match(pod.raw) == expected


OPERATIONS = [
    {"op": "copy", "from": "/a", "path": "/b"}, {"op": "add", "path": "/c/0", "value": "/a"},
]  # fmt: skip
ROOTED = {"a": 1, "c": []}


@pytest.mark.parametrize(
    ("root", "kind", "patch", "after"),
    [
        pytest.param("status", "merge", None, {"status": ROOTED}, id="no patch"),
        pytest.param("", "merge", None, {"status": ROOTED}, id="no patch of the whole object"),
        pytest.param("status", "merge", {"a": 2}, {"status": {"a": 2, "c": []}}, id="merge"),
        pytest.param("", "merge", {"a": 2}, {"status": ROOTED, "a": 2}, id="merge: no root"),
        pytest.param("status", "json", OPERATIONS, {"status": {"a": 1, "b": 1, "c": ["/a"]}},
                     id="json: both paths, and not the value"),
        pytest.param("", "json", [{"op": "copy", "from": "/status/a", "path": "/b"}],
                     {"status": ROOTED, "b": 1}, id="json: no root"),
        pytest.param("status", "json", [], {"status": ROOTED}, id="json: no operations"),
        pytest.param("spec", "merge", {"a": 2}, {"status": ROOTED, "spec": {"a": 2}},
                     id="a root that is not there"),
    ],
)  # fmt: skip
def test_a_patch_step_changes_its_root(root, kind, patch, after):
    head = {"apiVersion": "v1", "kind": "Pod"}
    document = {**head, "status": {**ROOTED}}
    step = PatchStep(lambda *_: patch, root=root, type=kind)
    context = StageContext(NOW, Addresses())
    assert apply_patch_step(document, document, step, context) == {**head, **after}
    assert document == {**head, "status": ROOTED}


@pytest.mark.parametrize("operation", ["add", 7, None, ["add"]])
def test_an_operation_of_a_patch_step_that_is_no_object_is_refused(operation):
    document = {"apiVersion": "v1", "kind": "Pod", "status": {}}
    step = PatchStep(lambda *_: [operation], root="status", type="json")
    with pytest.raises(PatchError):
        apply_patch_step(document, document, step, StageContext(NOW, Addresses()))


def test_the_only_step_of_a_stage_may_be_fast():
    def fast(pod: Any, _context: Any) -> Any:
        return pod

    patch = PatchStep(lambda *_: {}, fast_path=fast)
    assert stage(steps=(patch,)).fast_path is fast
    assert stage(steps=(patch, patch)).fast_path is None
    assert stage().fast_path is None
    assert stage(steps=(PatchStep(lambda *_: {}),)).fast_path is None
    assert not stage(requirements=None).applies_to({})
    assert stage().applies_to({})


STAGES = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: NAME}
spec:
  resourceRef: {kind: Pod}
  selector: {}
  weight: 1
  delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 101000}
  next: {statusTemplate: "message: NAME"}
"""


def test_stages_and_delays_are_drawn_for_each_object_again():
    text = "---".join(STAGES.replace("NAME", name) for name in ("a", "b"))

    def scheduled(seed: int, *names: str) -> list[tuple[str, int]]:
        life = Lifecycle(read_stages(text, source="s"), seed=seed)
        life.handle(ObjectPut(a_node()), NOW)
        found = []
        for name in names:
            (action,) = life.handle(ObjectPut(a_pod(name)), NOW)
            assert isinstance(action, ScheduleStage)
            found.append((action.stage, action.due_ns - NOW))
        return found

    names = [f"p{number}" for number in range(60)]
    first = scheduled(1, *names)
    assert first == scheduled(1, *names)
    assert first[::-1] == scheduled(1, *reversed(names)), "whatever was drawn before"
    assert first != scheduled(2, *names)
    assert {stage for stage, _ in first} == {"a", "b"}
    assert all(SECOND <= delay < 101 * SECOND for _, delay in first)
    assert max(delay for _, delay in first) > 80 * SECOND > 20 * SECOND > min(d for _, d in first)
    # The same on every machine.
    assert first[:4] == [
        ("a", 56_605_545_034),
        ("a", 79_366_851_108),
        ("a", 75_206_126_574),
        ("b", 56_975_712_742),
    ]


def test_a_stage_is_drawn_again_after_it_was_played():
    life = Lifecycle(read_stages(STAGES.replace("NAME", "a"), source="s"), seed=1)
    life.handle(ObjectPut(a_node()), NOW)
    (action,) = life.handle(ObjectPut(a_pod()), NOW)
    assert isinstance(action, ScheduleStage)
    delays = [action.due_ns - NOW]
    for _ in range(3):
        actions: list[Any] = life.handle(action.event, action.due_ns)
        updates = [each for each in actions if not isinstance(each, ScheduleStage)]
        again = [each for each in actions if isinstance(each, ScheduleStage)]
        assert [stage_of_request(each) for each in updates] in ([], ["a"])
        if updates:
            again = [
                each
                for each in life.handle(ObjectPut(updates[0].obj), action.due_ns)
                if isinstance(each, ScheduleStage)
            ]
        if not again:
            break
        delays.append(again[0].due_ns - action.due_ns)
        action = again[0]
    assert len(set(delays)) == len(delays) > 1

"""Plugins that raise, or return invalid answers: the pod gets the error and is retried."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, TypeVar, cast

import numpy as np
import pytest

from podwright.apimachinery.objects import Duration, Pod
from podwright.apimachinery.objects.errors import InputError
from podwright.scheduler.framework import (
    Cycle,
    EventHint,
    FailedCycle,
    NodeColumns,
    NodeView,
    Pending,
    Plugin,
    PostFilterResult,
    PreFilterResult,
    Reads,
    Scores,
    Status,
    Verdicts,
)
from podwright.scheduler.framework.events import ActionType
from podwright.scheduler.machine import FlushBackoff, FlushUnschedulable
from podwright.scheduler.machine.tests.driving import SECOND_NS, Driver, pending
from podwright.testing import make_node

T = TypeVar("T")


class Broken(Plugin):
    """Goes wrong once, at the point that a test names."""

    name = "Broken"
    point = ""
    answer: Any = None

    def _go_wrong(self, point: str, otherwise: T) -> T:
        if type(self).point != point:
            return otherwise
        type(self).point = ""
        if isinstance(self.answer, Exception):
            raise self.answer
        wrong: T = self.answer
        return wrong

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return self._go_wrong("filter", Status.OK)

    def pod_key(self, pod: Pod) -> Hashable:
        return self._go_wrong("pod_key", (pod.key, pod.metadata.uid))

    def key_is_of_template(self, pod: Pod) -> bool:
        return False

    def sign_pod(self, pod: Pod) -> Mapping[str, object]:
        return self._go_wrong("sign_pod", {})

    def pre_filter(self, cycle: Cycle) -> Status:
        return self._go_wrong("pre_filter", Status.OK)

    def pre_score(self, cycle: Cycle) -> Status:
        return self._go_wrong("pre_score", Status.OK)

    def normalize_score(self, cycle: Cycle, out: Scores) -> None:
        return self._go_wrong("normalize_score", None)

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return self._go_wrong("score", 0)

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        return self._go_wrong("reserve", Status.OK)

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        raise RuntimeError("unreserve must not fail, but does")

    def permit(self, cycle: Cycle, node_name: str) -> Status | tuple[Status, Duration]:
        return self._go_wrong("permit", Status.OK)

    def pre_bind_pre_flight(self, cycle: Cycle, node_name: str) -> Status:
        return self._go_wrong("pre_bind_pre_flight", Status.OK)

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status:
        return self._go_wrong("pre_bind", Status.OK)

    def bind(self, cycle: Cycle, node_name: str) -> Status:
        return self._go_wrong("bind", Status.SKIPPED)

    def post_bind(self, cycle: Cycle, node_name: str) -> None:
        raise RuntimeError("ignored")


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


POD = "(pod default/a)"
WHERE = "(pod default/a, node n1)"
SCORE = 'running Score plugins: plugin "Broken" failed with: '
NORMALIZE = 'running Normalize on Score plugins: plugin "Broken" failed with: '
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {
                "multiPoint": {"enabled": [{"name": "Broken"}]},
                "bind": {
                    "disabled": [{"name": "*"}],
                    "enabled": [{"name": "Broken"}, {"name": "DefaultBinder"}],
                },
            },
        }
    ],
}


@pytest.mark.parametrize(
    ("point", "answer", "expected"),
    [
        pytest.param(
            "filter",
            ValueError("oops"),
            f'running "Broken" filter plugin: ValueError: oops {WHERE}',
            id="an exception in a filter names the plugin, the point, the pod and the node",
        ),
        pytest.param(
            "reserve",
            ValueError("oops"),
            f'running Reserve plugin "Broken": ValueError: oops {WHERE}',
            id="an exception at Reserve",
        ),
        pytest.param(
            "reserve",
            "fine",
            f"running Reserve plugin \"Broken\": returned 'fine', not a Status {WHERE}",
            id="an invalid answer at Reserve",
        ),
        pytest.param(
            "permit",
            Status.OK,
            None,
            id="a status without a time-out is as good as one with",
        ),
        pytest.param(
            "permit",
            (Status.OK, "soon"),
            'running Permit plugin "Broken": the timeout of Success: Invalid value: "soon":'
            f" must be a duration such as 1h30m {WHERE}",
            id="a time-out that is no duration",
        ),
        pytest.param(
            "pre_bind_pre_flight",
            KeyError("disk"),
            f"running PreBindPreFlight \"Broken\": KeyError: 'disk' {WHERE}",
            id="an exception before PreBind",
        ),
        *(
            pytest.param(
                "pre_bind_pre_flight",
                status,
                f'PreBindPreFlight Broken returned "{status.code.label}", which is unsupported.'
                " It is supposed to return Success, Skip, or Error status",
                id=f"{status.code.label} before PreBind",
            )
            for status in (Status.wait("held"), Status.unschedulable("no"), Status.pending("no"))
        ),
        pytest.param(
            "pre_bind_pre_flight",
            Status.error("no"),
            'running PreBindPreFlight "Broken": no',
            id="an error before PreBind",
        ),
        pytest.param(
            "pre_bind",
            None,
            f'running PreBind plugin "Broken": returned None, not a Status {WHERE}',
            id="PreBind without an answer",
        ),
        *(
            pytest.param(point, Status.skip(), f"{text}: returned Skip", id=f"Skip at {point}")
            for point, text in {
                "filter": 'running "Broken" filter plugin',
                "reserve": 'running Reserve plugin "Broken"',
                "permit": 'running Permit plugin "Broken"',
                "pre_bind": 'running PreBind plugin "Broken"',
            }.items()
        ),
        pytest.param(
            "pre_filter",
            Status.error(),
            'running PreFilter plugin "Broken": returned Error',
            id="an error without a reason",
        ),
        pytest.param(
            "pre_filter",
            None,
            'running PreFilter plugin "Broken": TypeError: returned None, not a Status or'
            f" PreFilterResult {POD}",
            id="PreFilter without an answer",
        ),
        pytest.param(
            "pre_filter",
            PreFilterResult(["n1"]),  # type: ignore[arg-type]
            'running PreFilter plugin "Broken": TypeError: restricted the nodes to something of'
            f" type list, not a frozenset of names {POD}",
            id="PreFilter that restricts the nodes to a list",
        ),
        pytest.param(
            "pre_score",
            object(),
            'running PreScore plugin "Broken": TypeError: returned something of type object, not a'
            f" Status {POD}",
            id="what has no name but its address is named by its type",
        ),
        pytest.param(
            "score",
            10**30,
            f"{SCORE}TypeError: returned 1{'0' * 30}, not an integer of 64 bits {WHERE}",
            id="a score that no column holds",
        ),
        pytest.param("score", np.int32(7), None, id="a NumPy integer as a score"),
        pytest.param("permit", (Status.OK, np.int64(0)), None, id="NumPy's 0 as no time-out"),
        pytest.param(
            "score",
            1.5,
            f"{SCORE}TypeError: returned 1.5, not an integer of 64 bits {WHERE}",
            id="a score that is a fraction",
        ),
        pytest.param(
            "score",
            1_000,
            'applying score defaultWeights on Score plugins: plugin "Broken" returns an invalid'
            " score 1000, it should in the range of [0, 100] after normalizing",
            id="a score out of range",
        ),
        pytest.param(
            "normalize_score",
            ZeroDivisionError("no nodes"),
            f"{NORMALIZE}ZeroDivisionError: no nodes {POD}",
            id="an exception in normalising",
        ),
        pytest.param(
            "normalize_score",
            np.zeros(1),
            f"{NORMALIZE}TypeError: returned an array of float64; write"
            f" the normalized scores to out.values[out.rows], and return nothing {POD}",
            id="normalized scores that are returned",
        ),
        pytest.param(
            "pod_key",
            [],
            f"running PodKey plugin \"Broken\": TypeError: unhashable type: 'list' {POD}",
            id="a key that cannot be kept",
        ),
        pytest.param(
            "pod_key",
            MuteError(),
            f'running PodKey plugin "Broken": MuteError {POD}',
            id="an exception whose text raises",
        ),
        pytest.param(
            "permit",
            (Status.wait("held"), "-1s"),
            'running Permit plugin "Broken": the timeout of Wait: Invalid value: "-1s": must be a'
            f" duration such as 1h30m, 0 or more {WHERE}",
            id="a time-out in the past",
        ),
        pytest.param(
            "pre_bind",
            Pending(delay_ns="soon"),  # type: ignore[arg-type]
            'running PreBind plugin "Broken": returned something of type Pending, not a Status'
            f" {WHERE}",
            id="waiting for no time",
        ),
        pytest.param(
            "pre_bind",
            Pending(delay_ns=2**63),
            'running PreBind plugin "Broken": returned something of type Pending, not a Status'
            f" {WHERE}",
            id="waiting longer than 64 bits can hold",
        ),
        pytest.param(
            "pre_bind",
            Pending(calls=("please",)),  # type: ignore[arg-type]
            'running PreBind plugin "Broken": returned something of type Pending, not a Status'
            f" {WHERE}",
            id="waiting for calls of an unknown type",
        ),
        pytest.param(
            "pre_bind", Pending(), 'plugin "Broken" waits for nothing', id="waiting for nothing"
        ),
        pytest.param(
            "bind",
            42,
            f'running Bind plugin "Broken": returned 42, not a Status {WHERE}',
            id="an invalid answer at Bind",
        ),
        pytest.param("sign_pod", ValueError("no pen"), None, id="a pod that cannot be signed"),
        pytest.param("sign_pod", 42, None, id="a signature that is none"),
        pytest.param(
            "bind",
            OSError("no route"),
            f'running Bind plugin "Broken": OSError: no route {WHERE}',
            id="an exception at Bind",
        ),
    ],
)
def test_the_pod_hears_what_went_wrong_and_is_bound_later(
    point: str, answer: object, expected: str | None
) -> None:
    Broken.point, Broken.answer = point, answer
    driver = Driver(Broken, config=CONFIG)
    # The second node exists because a single node is not scored.
    driver.put(make_node("n1"), make_node("n2", cpu="2"), pending("a", cpu="1"))
    driver.cycle()
    if expected is not None:
        assert driver.notes == [f"FailedScheduling: {expected}"]
        assert driver.condition("default/a") == ("SchedulerError", expected)
        assert driver.place_of("default/a") == "error_backoff"
        assert not driver.machine.cluster.pods
        driver.now_ns += 3 * SECOND_NS
        driver.deliver(FlushBackoff())
        driver.cycle()
    assert driver.node_of("default/a") == "n1"
    assert driver.notes[-1] == "Scheduled: Successfully assigned default/a to n1"


class Keyed(Broken):
    """Says what its results depend on, and goes wrong there."""

    def preparation_reads(self, key: Hashable) -> Reads:
        return self._go_wrong("preparation_reads", super().preparation_reads(key))

    def key_in_cluster(self, cycle: Cycle) -> Hashable | None:
        return self._go_wrong("key_in_cluster", None)


@pytest.mark.parametrize(
    ("point", "answer", "message"),
    [
        ("preparation_reads", "PODS", "ValueError: 'PODS' is not a valid Reads"),
        ("preparation_reads", KeyError("k"), "KeyError: 'k'"),
        ("key_in_cluster", OSError("no disk"), "OSError: no disk"),
        ("key_in_cluster", [], "TypeError: unhashable type: 'list'"),
    ],
)
def test_a_key_or_what_it_reads_that_goes_wrong_is_the_error_of_one_attempt(
    point: str, answer: object, message: str
) -> None:
    Keyed.point, Keyed.answer = point, answer
    driver = Driver(Keyed, config=CONFIG)
    driver.put(make_node("n1"), make_node("n2", cpu="2"), pending("a", cpu="1"))
    driver.cycle()
    expected = f'running PodKey plugin "Broken": {message} {POD}'
    assert driver.notes == [f"FailedScheduling: {expected}"]
    driver.now_ns += 3 * SECOND_NS
    driver.deliver(FlushBackoff())
    driver.cycle()
    assert driver.node_of("default/a") == "n1"


class Columns(Plugin):
    """Writes into the verdicts by a function of the test."""

    name = "Columns"
    write: Any = None

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        return type(self).write(out)  # type: ignore[no-any-return]


NO = Status.unschedulable("no")
NO_REASON = "TypeError: a slot can be rejected with a Status that rejects only"


def test_codes_that_are_replaced_by_others_of_the_same_type_count() -> None:
    def write(out: Any) -> None:
        code = out.code_of(NO)
        out.codes = np.full(len(out.codes), code, dtype=np.int64)

    Columns.write = staticmethod(write)
    driver = Driver(Columns)
    driver.put(make_node("n1"), pending("a", cpu="1"))
    driver.cycle()
    assert driver.notes[0].startswith("FailedScheduling: 0/1 nodes are available: 1 no.")


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        pytest.param(
            lambda out: out.codes.fill(99),
            "ValueError: wrote the code 99, which stands for no status",
            id="a code that stands for nothing",
        ),
        pytest.param(
            lambda out: out.codes.fill(-1),
            "ValueError: wrote the code -1, which stands for no status",
            id="a negative code",
        ),
        pytest.param(
            lambda out: out.reject(out.codes == 0, "no room"), NO_REASON, id="a bare reason"
        ),
        pytest.param(lambda out: out.reject(out.codes == 0, Status.OK), NO_REASON, id="a success"),
        pytest.param(
            lambda out: out.codes == 0,
            "TypeError: returned an array of bool; write the verdicts to `out`, for example"
            " out.reject(mask, status), and return nothing",
            id="an array that is returned",
        ),
        pytest.param(
            lambda out: out.reject(out.codes, NO),
            "TypeError: reject takes a mask of bool with 1 entries, one per slot, not an array of"
            " int64 with shape (1,)",
            id="a mask of integers",
        ),
        pytest.param(
            lambda out: out.reject(np.array([True, False]), NO),
            "TypeError: reject takes a mask of bool with 1 entries, one per slot, not an array of"
            " bool with shape (2,)",
            id="a mask of another length",
        ),
        pytest.param(
            lambda out: out.reject([True], NO),
            "TypeError: reject takes a mask of bool with 1 entries, one per slot, not something of"
            " type list",
            id="a list as a mask",
        ),
        pytest.param(
            lambda out: setattr(out, "codes", np.zeros(1)),
            "TypeError: `out.codes` must stay an array of int64; write to out.codes",
            id="codes that were replaced",
        ),
    ],
)
def test_invalid_verdicts_are_reported(write: Any, expected: str) -> None:
    Columns.write = staticmethod(write)
    driver = Driver(Columns)
    driver.put(make_node("n1"), pending("a", cpu="1"))
    driver.cycle()
    assert driver.notes == [f'FailedScheduling: running "Columns" filter plugin: {expected} {POD}']
    assert driver.place_of("default/a") == "error_backoff"
    Columns.write = staticmethod(lambda _: None)
    driver.now_ns += 3 * SECOND_NS
    driver.deliver(FlushBackoff())
    driver.cycle()
    assert driver.node_of("default/a") == "n1"


class Gatekeeper(Plugin):
    """Raises at PreEnqueue until a test switches it off."""

    name = "Gatekeeper"
    is_broken = True

    def pre_enqueue(self, pod: Any) -> Status:
        if type(self).is_broken:
            raise RuntimeError("who are you")
        return Status.OK


def test_a_pod_that_cannot_be_let_in_is_held_back_and_hears_why() -> None:
    Gatekeeper.is_broken = True
    driver = Driver(Gatekeeper)
    driver.put(pending("a"))
    assert driver.place_of("default/a") == "gated"
    assert driver.notes == [
        'FailedScheduling: running PreEnqueue plugin "Gatekeeper": RuntimeError: who are you'
        " (pod default/a)"
    ]
    # It registered no events, so every event may help.
    Gatekeeper.is_broken = False
    driver.put(make_node("n1"))
    driver.cycle()
    assert driver.node_of("default/a") == "n1"


class Sorter(Plugin):
    """Sorts pods by a label, as a number if it can; some pods it cannot sort at all."""

    name = "Sorter"

    def queue_sort_key(self, pod: Pod, timestamp_ns: int) -> object:
        place = pod.metadata.labels["place"]
        odd = {
            "nan": float("nan"),
            "nan inside": (float("nan"), timestamp_ns),
            "list": [],
            "text": "first",
            "complex": 1j,
        }
        if place in odd:
            return odd[place]
        return int(place), timestamp_ns


SORTED = {
    **CONFIG,
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {
                "queueSort": {"enabled": [{"name": "Sorter"}], "disabled": [{"name": "*"}]},
            },
        }
    ],
}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({}, "KeyError: 'place'", id="an exception"),
        pytest.param({"place": "nan"}, "returned nan, which cannot be sorted", id="not a number"),
        pytest.param(
            {"place": "nan inside"},
            "returned something of type tuple, which cannot be sorted",
            id="what has no order inside a tuple",
        ),
        pytest.param(
            {"place": "list"},
            "returned something of type list, which cannot be sorted",
            id="no key of a dictionary",
        ),
        pytest.param(
            {"place": "text"},
            "returned 'first', which cannot be sorted",
            id="nothing that compares with the others",
        ),
    ],
)
def test_a_pod_that_cannot_be_sorted_is_held_back_and_hears_why(
    labels: dict[str, str], expected: str
) -> None:
    driver = Driver(Sorter, config=SORTED)
    driver.put(pending("b", cpu="1", labels={"place": "2"}))
    driver.put(pending("a", cpu="1", labels=labels))
    driver.put(pending("c", cpu="1", labels={"place": "1"}))
    assert driver.place_of("default/a") == "gated"
    assert driver.notes == [
        f'FailedScheduling: running QueueSort plugin "Sorter": {expected} (pod default/a)'
    ]
    driver.put(make_node("n1"))
    driver.cycle()
    assert driver.node_of("default/c") == "n1"
    driver.cycle()
    assert driver.node_of("default/b") == "n1"
    driver.put(pending("a", cpu="1", labels={"place": "3"}))
    driver.cycle()
    assert driver.node_of("default/a") == "n1"


@pytest.mark.parametrize("place", ["nan", "list", "complex"])
def test_a_first_pod_that_cannot_be_sorted_does_not_hold_back_the_others(place: str) -> None:
    driver = Driver(Sorter, config=SORTED)
    driver.put(pending("a", cpu="1", labels={"place": place}))
    driver.put(pending("b", cpu="1", labels={"place": "2"}), make_node("n1"))
    assert driver.place_of("default/a") == "gated"
    driver.cycle()
    assert driver.node_of("default/b") == "n1"


class Moody(Sorter):
    """Sorts a pod when it comes, and not when it comes again."""

    name = "Sorter"
    is_broken = False

    def queue_sort_key(self, pod: Pod, timestamp_ns: int) -> object:
        if type(self).is_broken:
            raise RuntimeError("not now")
        return super().queue_sort_key(pod, timestamp_ns)


def test_a_plugin_that_stops_sorting_loses_no_pod() -> None:
    Moody.is_broken = False
    driver = Driver(Moody, config=SORTED)
    driver.put(pending("a", cpu="1", labels={"place": "1"}))
    driver.cycle()
    assert driver.place_of("default/a") == "error_backoff"
    Moody.is_broken = True
    driver.put(make_node("n1"), pending("b", cpu="1", labels={"place": "2"}))
    driver.now_ns += 20 * SECOND_NS
    driver.deliver(FlushBackoff())
    driver.deliver(FlushUnschedulable())
    Moody.is_broken = False
    driver.put(make_node("n2"))
    driver.now_ns += 20 * SECOND_NS
    driver.deliver(FlushBackoff())
    for _ in range(2):
        driver.cycle()
    assert driver.node_of("default/a")
    assert driver.node_of("default/b")


class Grouper(Plugin):
    """Fails to return the group of a pod with a certain label."""

    name = "Grouper"

    def group_of(self, pod: Pod) -> Hashable | None:
        if pod.metadata.labels.get("group") == "broken":
            raise LookupError("who knows")
        return pod.metadata.labels.get("group")

    def permit(self, cycle: Cycle, node_name: str) -> Status | tuple[Status, Duration]:
        return Status.OK


def test_a_pod_whose_group_cannot_be_told_is_held_back_and_hears_why() -> None:
    driver = Driver(Grouper)
    driver.put(pending("a", cpu="1", labels={"group": "broken"}))
    assert driver.place_of("default/a") == "gated"
    assert driver.notes == [
        'FailedScheduling: running GroupOf plugin "Grouper": LookupError: who knows (pod default/a)'
    ]
    driver.put(pending("a", cpu="1", labels={"group": "fine"}))
    driver.put(make_node("n1"))
    driver.cycle()
    assert driver.node_of("default/a") == "n1"


class Rescuer(Plugin):
    """Returns the answer of the test at PostFilter."""

    name = "Rescuer"
    answer: Any = None

    def post_filter(self, cycle: Cycle, failed: FailedCycle) -> PostFilterResult:
        if isinstance(self.answer, Exception):
            raise self.answer
        answer: PostFilterResult = self.answer
        return answer


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(KeyError("rope"), "KeyError: 'rope'", id="an exception"),
        pytest.param(None, "TypeError: returned None, not a PostFilterResult", id="nothing"),
        pytest.param(
            Status.OK,
            "TypeError: returned something of type Status, not a PostFilterResult",
            id="a bare status",
        ),
        *(
            pytest.param(
                PostFilterResult(**cast("Any", {"status": Status.OK, name: value})),
                f"TypeError: `{name}` of the PostFilterResult is {value!r}",
                id=f"a wrong {name}",
            )
            for name, value in {"status": "OK", "nominated_node": 7, "calls": None}.items()
        ),
    ],
)
def test_a_rescue_that_goes_wrong_is_told_and_the_pod_waits_for_room(
    answer: object, expected: str
) -> None:
    Rescuer.answer = answer
    driver = Driver(Rescuer)
    driver.put(make_node("n1", cpu="1"), pending("a", cpu="2"))
    driver.cycle()
    (note,) = driver.notes
    assert note == (
        "FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu."
        f' running PostFilter plugin "Rescuer": {expected} {POD}'
    )
    assert driver.place_of("default/a") == "unschedulable"
    driver.put(make_node("n2", cpu="2"))
    driver.now_ns += 2 * SECOND_NS
    driver.deliver(FlushBackoff())
    driver.cycle()
    assert driver.node_of("default/a") == "n2"


class Picky(Plugin):
    """Rejects pods, and registers the events of the test."""

    name = "Picky"
    hint: Any = None
    registered: Any = ()

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.unschedulable("not this one") if node.name == "n1" else Status.OK

    def events_to_register(self) -> tuple[EventHint, ...]:
        if isinstance(self.registered, Exception):
            raise self.registered
        registered: tuple[EventHint, ...] = self.registered
        return registered


def oops(*_: object) -> Any:
    raise RuntimeError("oops")


@pytest.mark.parametrize(
    "hint", [pytest.param(oops, id="raises"), pytest.param(lambda *_: "maybe", id="is no hint")]
)
def test_a_hint_that_goes_wrong_counts_as_a_chance(hint: Any) -> None:
    Picky.registered = (EventHint("Node", ActionType.ADD, hint),)
    driver = Driver(Picky)
    driver.put(make_node("n1"), pending("a", cpu="1"))
    driver.cycle()
    assert driver.place_of("default/a") == "unschedulable"
    driver.put(make_node("n2"))
    assert driver.place_of("default/a") == "backoff"
    driver.now_ns += 2 * SECOND_NS
    driver.deliver(FlushBackoff())
    driver.cycle()
    assert driver.node_of("default/a") == "n2"


@pytest.mark.parametrize(
    ("registered", "expected"),
    [
        pytest.param(42, "returned 42; expected a tuple of EventHint", id="no events"),
        pytest.param(
            ("Node/Add",),
            "returned something of type tuple; expected a tuple of EventHint",
            id="names of events",
        ),
        *(
            pytest.param(
                (EventHint(resource, ActionType.ADD),),
                f"registers an unknown resource, {resource!r}; did you mean {near}?",
                id=f"the resource {resource}",
            )
            for resource, near in {
                "Nodes": '"Node"',
                "storage.k8s.io/CSINodes": '"storage.k8s.io/CSINode"',
            }.items()
        ),
        pytest.param(RuntimeError("oops"), "RuntimeError: oops", id="an exception"),
    ],
)
def test_no_machine_begins_with_a_plugin_that_cannot_register(
    registered: object, expected: str
) -> None:
    Picky.registered = registered
    with pytest.raises(InputError) as caught:
        Driver(Picky)
    assert str(caught.value) == f"plugin Picky: events_to_register: {expected}"


def test_what_goes_wrong_is_said_in_the_same_words_each_time() -> None:
    """An address in a message would make two runs differ."""
    logs = []
    for _ in range(2):
        Broken.point, Broken.answer = "reserve", object()
        driver = Driver(Broken, config=CONFIG)
        driver.put(make_node("n1"), pending("a", cpu="1"))
        driver.cycle()
        logs.append(driver.actions)
    assert logs[0] == logs[1]

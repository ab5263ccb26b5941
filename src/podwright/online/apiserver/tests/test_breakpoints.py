"""Breakpoints of a served cluster, and the conditions that they have."""

from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from podwright.online.apiserver import ClusterClock, ClusterOptions, new_cluster
from podwright.online.apiserver.breakpoints import BREAKPOINTS_MAX, Breakpoints, read_condition
from podwright.online.apiserver.generated_nodes import generated_nodes
from podwright.online.apiserver.tests.conftest import SERVER, START_NS, pod
from podwright.scheduler.framework import Decision, ObservedMethod, Plugin, Status
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.recording.log.replay import verify
from podwright.testing import make_pod

V1 = "/podwright/v1"
PODS = "/api/v1/namespaces/default/pods"
SECOND_NS = 1_000_000_000


class Picky(Plugin):
    """Raises for pods named b, rejects pods named c, and scores by the number of the node."""

    name = "Picky"

    def filter(self, cycle, node):
        if cycle.pod.metadata.name == "b":
            raise KeyError("missing")
        if cycle.pod.metadata.name == "c":
            return Status.unschedulable("not c")
        return Status()

    def score(self, cycle, node):
        return 80 if cycle.pod.metadata.name == "d" else 10


class PickyOnColumns(Plugin):
    """The same on columns."""

    name = "PickyOnColumns"

    def filter_columns(self, cycle, nodes, out):
        if cycle.pod.metadata.name == "c":
            out.reject(out.codes == 0, Status.unschedulable("not c"))

    def score_columns(self, cycle, nodes, out):
        out.values[out.rows] = 80 if cycle.pod.metadata.name == "d" else 10


@pytest.fixture
def served(serve):
    cluster = new_cluster(
        SchedulerOptions(plugins=(Picky, PickyOnColumns)),
        now_ns=START_NS,
        options=ClusterOptions(),
        server_options=SERVER,
    )
    cluster.world.add(*generated_nodes(2))
    return serve(cluster, ClusterClock(start_ns=START_NS))


def add(served, condition):
    status, found = served.send("POST", f"{V1}/breakpoints", {"condition": condition})
    assert status == 200, found
    return found["number"]


def create(served, *names):
    for name in names:
        assert served.send("POST", PODS, pod(name))[0] == 201


def stop(served):
    """Wait until the cluster has stopped; return where."""
    found = served.eventually(f"{V1}/breakpoints", lambda found: found["stoppedAt"])
    return found["stoppedAt"]


def clock(served, action="", body=None):
    method, path = ("POST", f"/{action}") if action else ("GET", "")
    status, found = served.send(method, f"{V1}/clock{path}", body)
    assert status == 200, found
    return found


def node_of(served, name):
    return served.send("GET", f"{PODS}/{name}")[1]["spec"].get("nodeName")


def test_a_cluster_stops_after_the_cycle_of_a_pod(served):
    number = add(served, "pod=default/a")
    create(served, "x")
    served.eventually(f"{PODS}/x", lambda found: found["spec"].get("nodeName"))
    create(served, "a")
    hit = stop(served)
    assert (hit["breakpoint"], hit["pod"], hit["attempt"]) == (number, "default/a", 1)
    # The clock is paused, the pod is not bound yet, and requests are answered.
    state = clock(served)
    assert (state["isPaused"], state["stoppedAt"]) == (True, number)
    assert clock(served)["time"] == state["time"]
    create(served, "y")
    assert (node_of(served, "a"), node_of(served, "y")) == (None, None)
    _, explained = served.send("GET", f"{V1}/pods/default/a/explanation?attempt=1")
    assert explained["node"] in {"node-0", "node-1"}
    state = clock(served, "resume")
    assert (state["isPaused"], state["stoppedAt"]) == (False, None)
    served.eventually(f"{PODS}/y", lambda found: found["spec"].get("nodeName"))
    assert node_of(served, "a") == explained["node"]
    assert verify(served.cluster.schedulers[0].logs[-1], plugins=(Picky, PickyOnColumns)).is_same


@pytest.mark.parametrize(
    ("condition", "names", "expected"),
    [
        pytest.param("on=error", "acb", ("default/b", "Picky", "Filter"), id="any error"),
        pytest.param(
            "plugin=Picky,on=reject", "abc"[::2], ("default/c", "Picky", "Filter"), id="a rejection"
        ),
        pytest.param(
            "plugin=PickyOnColumns,on=reject",
            "ac",
            ("default/c", "PickyOnColumns", "Filter"),
            id="a rejection on columns",
        ),
        pytest.param(
            "plugin=Picky,score-above=50", "ad", ("default/d", "Picky", "Score"), id="a score"
        ),
        pytest.param(
            "plugin=PickyOnColumns,score-above=50",
            "ad",
            ("default/d", "PickyOnColumns", "Score"),
            id="a score on columns",
        ),
        pytest.param(
            "plugin=Picky,point=Score,pod=e", "ade", ("default/e", "Picky", "Score"), id="all parts"
        ),
        pytest.param(
            "point=Bind", "a", ("default/a", "DefaultBinder", "Bind"), id="an in-tree plugin"
        ),
    ],
)
def test_a_cluster_stops_after_a_call_of_a_plugin(served, condition, names, expected):
    add(served, condition)
    create(served, *names)
    hit = stop(served)
    assert (hit["pod"], hit["plugin"], hit["point"]) == expected


def test_a_label_selects_pods(served):
    add(served, "label=app=web")
    create(served, "a")
    assert served.send("POST", PODS, labelled("w", app="web"))[0] == 201
    assert stop(served)["pod"] == "default/w"


def labelled(name, **labels):
    found = pod(name)
    found["metadata"]["labels"] = labels
    return found


def test_each_matching_cycle_stops_the_cluster(served):
    add(served, "on=error")
    clock(served, "pause")
    create(served, "b")
    assert stop(served)["attempt"] == 1
    # A step goes on, and ends at the next stop: the pod is retried after its backoff.
    state = clock(served, "step", {"duration": "1h"})
    hit = stop(served)
    assert hit["attempt"] == 2
    assert (state["stoppedAt"], state["isPaused"]) == (1, True)
    _, found = served.send("GET", f"{V1}/breakpoints")
    assert found["breakpoints"] == [{"number": 1, "condition": "on=error", "hitCount": 2}]


def test_a_removed_breakpoint_stops_nothing(served):
    number = add(served, "pod=default/a")
    status, found = served.send("DELETE", f"{V1}/breakpoints/{number}")
    assert (status, found) == (200, {"breakpoints": [], "stoppedAt": None})
    create(served, "a")
    served.eventually(f"{PODS}/a", lambda found: found["spec"].get("nodeName"))
    for missing in (number, "one", "1" * 30, "1" * 5_000):
        status, found = served.send("DELETE", f"{V1}/breakpoints/{missing}")
        assert (status, found["detail"]) == (404, f"there is no breakpoint {missing}")


def test_the_number_of_a_breakpoint_is_written_with_ascii_digits(served):
    number = add(served, "pod=default/a")
    arabic = quote(str(number).translate({ord("0") + n: 0x660 + n for n in range(10)}))
    assert served.send("DELETE", f"{V1}/breakpoints/{arabic}")[0] == 404
    assert len(served.send("GET", f"{V1}/breakpoints")[1]["breakpoints"]) == 1


def test_another_scheduler_stops_at_the_breakpoints_too(served):
    add(served, "plugin=Picky,on=error")
    served.cluster.change_scheduler(SchedulerOptions(plugins=(Picky,)))
    create(served, "b")
    assert stop(served)["pod"] == "default/b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", '"" is not a key'),
        ("pods=a", 'did you mean "pod"?'),
        ("pod", '"pod" has no value; write pod=VALUE'),
        ("pod=", "has no value"),
        ("pod=a/b/c", "write NAMESPACE/NAME"),
        ("pod=a,pod=b", '"pod" is given more than once'),
        ("label=app", "write label=KEY=VALUE"),
        ("plugin=Pick", 'did you mean "Picky"?'),
        ("point=filter", 'did you mean "Filter"?'),
        ("on=errors", 'did you mean "error"?'),
        ("plugin=Picky,score-above=high", "is not an integer"),
        ("on=error,", '"" is not a key'),
    ],
)
def test_a_wrong_condition_is_an_error_that_says_what_to_write(served, text, message):
    status, found = served.send("POST", f"{V1}/breakpoints", {"condition": text})
    assert (status, found["field"]) == (422, "condition")
    assert message in found["detail"]


def test_the_number_of_breakpoints_is_limited():
    breakpoints = Breakpoints()
    for _ in range(BREAKPOINTS_MAX):
        breakpoints.add(read_condition("pod=a"))
    with pytest.raises(ValueError, match="remove one of them first"):
        breakpoints.add(read_condition("pod=a"))


def test_without_a_scheduler_there_is_no_breakpoint(serve):
    cluster = new_cluster(
        SchedulerOptions(),
        now_ns=START_NS,
        options=ClusterOptions(has_scheduler=False),
        server_options=SERVER,
    )
    status, found = serve(cluster).send("POST", f"{V1}/breakpoints", {"condition": "pod=a"})
    assert (status, found["status"]) == (409, 409)


NOBODY: Any = None


def called(point="Filter", plugin="Picky"):
    return ObservedMethod(print, NOBODY, plugin=plugin, point=point, profile="default-scheduler")


REJECTED, FAILED = Status.unschedulable("no"), Status.error("broken")


@pytest.mark.parametrize(
    ("text", "method", "status", "answer", "matches"),
    [
        ("plugin=Picky", called(), Status(), None, True),
        ("plugin=Picky", called(plugin="Other"), Status(), None, False),
        ("point=Score", called("Score"), Status(), 1, True),
        ("point=Score", called(), Status(), None, False),
        ("plugin=Picky,point=Score", called(), Status(), None, False),
        ("plugin=Picky,on=call", called(), REJECTED, None, True),
        ("on=reject", called(), REJECTED, None, True),
        ("on=reject", called(), FAILED, None, False),
        ("on=reject", called(), Status(), None, False),
        ("on=error", called(), FAILED, None, True),
        ("on=error", called(), REJECTED, None, False),
        ("score-above=50", called("Score"), Status(), 51, True),
        ("score-above=50", called("Score"), Status(), 50, False),
        ("score-above=50", called("ScoreExtensionNormalize"), Status(), 51, True),
        ("score-above=50", called("Filter"), Status(), 51, False),
        ("score-above=50", called("Score"), Status(), "51", False),
        ("score-above=-1", called("Score"), Status(), 0, True),
        ("on=call,pod=other/web", called(), Status(), None, False),
        ("on=call,pod=web", called(), Status(), None, True),
        ("on=call,label=app=web,label=tier=front", called(), Status(), None, True),
        ("on=call,label=app=web,label=tier=back", called(), Status(), None, False),
        ("on=call,label=none=", called(), Status(), None, False),
    ],
)
def test_a_condition_about_calls_matches_by_all_of_its_parts(text, method, status, answer, matches):
    pod_of_call = make_pod("web", labels={"app": "web", "tier": "front"})
    condition = read_condition(text)
    assert condition.is_about_calls
    assert condition.matches_call(method, (pod_of_call,), status, answer) is matches


@pytest.mark.parametrize(
    ("codes", "rows", "matches"),
    [([0, 0], [0, 1], False), ([0, 2], [0, 1], True), ([2, 0], [1], False), ([1], [], False)],
)
def test_a_filter_on_columns_rejects_if_it_does_one_of_its_rows(codes, rows, matches):
    verdicts = SimpleNamespace(codes=np.array(codes), rows=np.array(rows, dtype=int))
    arguments = (make_pod("web"), None, verdicts)
    condition = read_condition("on=reject")
    assert condition.matches_call(called(), arguments, Status(), None) is matches


def test_the_first_matching_breakpoint_has_the_hit_and_others_wait_until_it_is_released():
    breakpoints = Breakpoints()
    breakpoints.attempt_of = lambda _: 3
    numbers = [
        breakpoints.add(read_condition(text)).number
        for text in ("pod=other", "pod=web", "label=app=web")
    ]
    assert numbers == [1, 2, 3]
    assert not breakpoints.has_call_conditions
    decisions = [
        Decision(pod=make_pod(name, labels={"app": name}), node="n") for name in ("first", "web")
    ]
    is_over = breakpoints.until_hit(lambda: False)
    assert not is_over()
    breakpoints.decided(decisions, START_NS)
    assert is_over()
    hit = breakpoints.hit
    assert hit is not None
    assert (hit.breakpoint, hit.pod, hit.attempt, hit.plugin, hit.message) == (
        2, "default/web", 3, "", "",
    )  # fmt: skip
    breakpoints.decided(decisions, START_NS)
    assert [each.hit_count for each in breakpoints.list()] == [0, 1, 0]
    breakpoints.release()
    assert not is_over()
    assert breakpoints.until_hit(lambda: True)()


def test_a_hit_of_a_call_says_which_call_it_was():
    breakpoints = Breakpoints()
    breakpoints.add(read_condition("pod=web"))
    added = breakpoints.add(read_condition("on=reject"))
    was_about_calls = breakpoints.has_call_conditions
    breakpoints.called(called("Reserve"), (make_pod("web"), "n1"), REJECTED, None)
    hit = breakpoints.hit
    assert hit is not None
    assert (hit.breakpoint, hit.pod, hit.plugin, hit.point, hit.node, hit.message) == (
        added.number, "default/web", "Picky", "Reserve", "n1", "no",
    )  # fmt: skip
    assert breakpoints.remove(added.number)
    assert (was_about_calls, breakpoints.has_call_conditions) == (True, False)
    assert breakpoints.hit is hit, "a cluster that has stopped stays so"
    assert not breakpoints.remove(added.number)
    assert breakpoints.add(read_condition("pod=web")).number == 3


@pytest.mark.parametrize(
    ("text", "pod_key", "outcome"),
    [
        ("pod=web", "default/web", ""),
        ("pod=team/web", "team/web", ""),
        ("label=app=a=b", "", ""),
        ("plugin=Any", "", "call"),
        ("point=Score", "", "call"),
        ("score-above=1", "", "call"),
        ("point=Score,on=error", "", "error"),
    ],
)
def test_a_condition_is_read(text, pod_key, outcome):
    found = read_condition(text)
    assert (found.text, found.pod, found.outcome) == (text, pod_key, outcome)
    assert found.labels == ((("app", "a=b"),) if text.startswith("label") else ())


@pytest.mark.parametrize("text", ["pod=/web", "pod=team/", "pod=a/b/c"])
def test_the_name_of_a_pod_has_at_most_one_namespace_and_none_that_is_empty(text):
    with pytest.raises(ValueError, match="write NAMESPACE/NAME"):
        read_condition(text)

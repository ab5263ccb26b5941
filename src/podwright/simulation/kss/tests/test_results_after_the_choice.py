"""Results of plugins from Reserve on, and of extenders, as kube-scheduler-simulator has them."""

import json
from typing import ClassVar

import pytest

import podwright as pw
from podwright.apimachinery.objects import with_fields
from podwright.scheduler.config import ExtenderReply
from podwright.scheduler.framework.binding import CallError, Pending
from podwright.scheduler.framework.cycle import add_custom_result
from podwright.scheduler.machine import PodAllowed
from podwright.simulation.kss.annotations import kss_annotations, kss_history
from podwright.simulation.kss.results import PREFIX
from podwright.simulation.kss.tests.expectations import annotations, only, profile, results
from podwright.simulation.recording.tests.recording import SECOND_NS, Recorded
from podwright.testing import make_node, make_pod

# -------------------------------------------------------------------- Reserve, Permit and binding


class Placing(pw.Plugin):
    """Returns the configured statuses at every point from Reserve on."""

    name = "Placing"
    says: ClassVar[dict[str, object]] = {}

    def _say(self, point, otherwise):
        answer = self.says.get(point, otherwise)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def reserve(self, cycle, node_name):
        return self._say("reserve", pw.Status.OK)

    def permit(self, cycle, node_name):
        return self._say("permit", (pw.Status.OK, 0))

    def pre_bind(self, cycle, node_name):
        return self._say("pre_bind", pw.Status.OK)

    def bind(self, cycle, node_name):
        return self._say("bind", pw.Status.skip())


class Second(Placing):
    """The same plugin, called second."""

    name = "Second"
    says: ClassVar[dict[str, object]] = {}


ON_THE_WAY = only(
    preFilter=["VolumeBinding"],
    filter=["NodeName"],
    reserve=["Placing", "VolumeBinding", "Second"],
    permit=["Placing", "Second"],
    preBind=["Placing", "VolumeBinding", "Second"],
    bind=["Placing", "DefaultBinder", "Second"],
)
ALL_RESERVE = {"Placing": "success", "VolumeBinding": "success", "Second": "success"}
ALL_PERMIT = {"Placing": "success", "Second": "success"}
AT_ONCE = {"Placing": "0s", "Second": "0s"}
BOUND = {"Placing": "", "DefaultBinder": "success"}


def on_the_way(monkeypatch, first=None, second=None):
    monkeypatch.setattr(Placing, "says", first or {})
    monkeypatch.setattr(Second, "says", second or {})
    recorded = Recorded(Placing, Second, profiles=[profile(ON_THE_WAY)])
    recorded.put(make_node("n1"))
    return recorded


def way_of(found):
    return tuple(found[f"{point}-result"] for point in ("reserve", "permit", "prebind", "bind"))


@pytest.mark.parametrize(
    ("first", "second", "way", "timeouts"),
    [
        pytest.param(
            {}, {}, (ALL_RESERVE, ALL_PERMIT, ALL_RESERVE, BOUND), AT_ONCE, id="all agree"
        ),
        pytest.param(
            {"reserve": pw.Status.unschedulable("taken")},
            {},
            ({"Placing": "taken"}, {}, {}, {}),
            {},
            id="the first rejects at Reserve",
        ),
        pytest.param(
            {},
            {"reserve": pw.Status.error("broken", "twice")},
            (ALL_RESERVE | {"Second": "broken, twice"}, {}, {}, {}),
            {},
            id="the last fails at Reserve",
        ),
        pytest.param(
            {},
            {"reserve": ValueError("oh")},
            (ALL_RESERVE | {"Second": "ValueError: oh (pod default/web, node n1)"}, {}, {}, {}),
            {},
            id="one raises",
        ),
        pytest.param(
            {"permit": (pw.Status.unschedulable("not yet"), "90s")},
            {},
            (ALL_RESERVE, {"Placing": "not yet"}, {}, {}),
            {"Placing": "1m30s"},
            id="refused at Permit",
        ),
        pytest.param(
            {},
            {"pre_bind": pw.Status.error("no disk")},
            (ALL_RESERVE, ALL_PERMIT, ALL_RESERVE | {"Second": "no disk"}, {}),
            AT_ONCE,
            id="PreBind fails",
        ),
        pytest.param(
            {"bind": pw.Status.error("cannot")},
            {},
            (ALL_RESERVE, ALL_PERMIT, ALL_RESERVE, {"Placing": "cannot"}),
            AT_ONCE,
            id="Bind fails",
        ),
        pytest.param(
            {"bind": pw.Status.OK},
            {},
            (ALL_RESERVE, ALL_PERMIT, ALL_RESERVE, {"Placing": "success"}),
            AT_ONCE,
            id="another one binds",
        ),
    ],
)
def test_results_of_plugins_after_the_choice(monkeypatch, first, second, way, timeouts):
    recorded = on_the_way(monkeypatch, first, second)
    recorded.attempt(make_pod("web"))
    found = results(recorded, "default/web")
    assert way_of(found) == way
    assert found["permit-result-timeout"] == timeouts
    assert found["selected-node"] == "n1"


def test_a_pod_that_waits_at_permit(monkeypatch):
    wait = (pw.Status.wait("for others"), "1.5s")
    recorded = on_the_way(monkeypatch, {"permit": wait})
    recorded.attempt(make_pod("web"))
    found = results(recorded, "default/web")
    assert found["permit-result"] == {"Placing": "wait", "Second": "success"}
    assert found["permit-result-timeout"] == {"Placing": "1.5s", "Second": "0s"}
    assert found["prebind-result"] == found["bind-result"] == {}
    recorded.tell(PodAllowed("default/web", "Placing"))
    found = results(recorded, "default/web")
    assert found["permit-result"] == {"Placing": "wait", "Second": "success"}
    assert (found["prebind-result"], found["bind-result"]) == (ALL_RESERVE, BOUND)


def test_unfinished_points_have_no_results(monkeypatch):
    recorded = on_the_way(monkeypatch, {}, {"pre_bind": Pending(delay_ns=SECOND_NS)})
    recorded.attempt(make_pod("web"))
    found = results(recorded, "default/web")
    assert found["prebind-result"] == {"Placing": "success", "VolumeBinding": "success"}
    assert found["bind-result"] == {}


def test_a_bind_that_the_api_server_rejects_or_has_not_answered():
    recorded = Recorded()
    recorded.errors["Bind"] = CallError("the node was removed")
    recorded.attempt(make_node("n1"), make_pod("web"))
    found = results(recorded, "default/web")
    assert found["bind-result"] == {"DefaultBinder": "the node was removed"}
    assert found["selected-node"] == "n1"
    recorded.holds = {"Bind"}
    recorded.attempt(make_pod("slow"))
    assert results(recorded, "default/slow")["bind-result"] == {}


def test_overlapping_bindings_are_distinguished(monkeypatch):
    recorded = on_the_way(monkeypatch)
    recorded.holds = {"Bind"}
    recorded.attempt(make_pod("one"))
    recorded.attempt(make_pod("two"))
    recorded.holds = set()
    first, second = recorded.held
    recorded.errors["Bind"] = CallError("full")
    recorded.answer(second)
    recorded.answer(first)
    assert results(recorded, "default/one")["bind-result"] == BOUND
    assert results(recorded, "default/two")["bind-result"] == {
        "Placing": "",
        "DefaultBinder": "full",
    }


def test_a_stateful_plugin_is_replayed_with_its_state_of_that_time():
    class Counting(pw.Plugin):
        """Rejects every second pod that it filters, so an additional call changes later results."""

        name = "Counting"

        def __init__(self):
            self.count = 0

        def pre_filter(self, cycle):
            self.count += 1
            return pw.Status.OK

        def permit(self, cycle, node_name):
            status = pw.Status.OK if self.count % 2 else pw.Status.unschedulable("even")
            return status, f"{self.count}ns"

    recorded = Recorded(Counting)
    recorded.put(make_node("n1"))
    recorded.attempt(make_pod("one"))
    recorded.attempt(make_pod("two"))
    recorded.attempt(make_pod("three"))
    assert results(recorded, "default/two")["permit-result"] == {"Counting": "even"}
    assert results(recorded, "default/three")["permit-result"] == {"Counting": "success"}
    assert results(recorded, "default/three")["permit-result-timeout"] == {"Counting": "3ns"}


class Talkative(pw.Plugin):
    """Adds a custom result at every point."""

    name = "Talkative"

    def pre_filter(self, cycle):
        add_custom_result(cycle, "example.com/early", cycle.pod.name)
        add_custom_result(cycle, f"{PREFIX}selected-node", "mine")
        return pw.Status.OK

    def filter(self, cycle, node):
        return pw.Status.OK

    def reserve(self, cycle, node_name):
        add_custom_result(cycle, "example.com/late", f"on {node_name}")
        return pw.Status.OK

    def pre_bind(self, cycle, node_name):
        add_custom_result(cycle, "example.com/early", "no longer")
        return pw.Status.OK


def test_custom_results_of_plugins_are_separate_annotations():
    recorded = Recorded(Talkative)
    recorded.put(make_node("n1"))
    for name in ("one", "two"):
        recorded.attempt(make_pod(name))
        found = kss_annotations(recorded.run.log, f"default/{name}", plugins=[Talkative])
        assert found["example.com/late"] == "on n1"
        assert found["example.com/early"] == "no longer"
        assert found[f"{PREFIX}selected-node"] == "n1"
        (element,) = json.loads(found[f"{PREFIX}result-history"])
        assert element["example.com/late"] == "on n1"
    explanation = kss_history(recorded.run.log, "default/two", plugins=[Talkative])[-1].explanation
    assert explanation.custom_results["example.com/early"] == "two"


# -------------------------------------------------------------------- extenders

URL = "http://127.0.0.1:9/gpu"
EXTENDER = {
    "urlPrefix": URL,
    "filterVerb": "f",
    "prioritizeVerb": "p",
    "preemptVerb": "v",
    "weight": 2,
    "nodeCacheCapable": True,
}


def replying(**answers):
    def call(request):
        answer = answers[request.verb]
        if isinstance(answer, int):
            return ExtenderReply(status=answer)
        return ExtenderReply(status=200, body=json.dumps(answer).encode())

    return call


def with_extender(settings=(), /, **answers):
    recorded = Recorded(extenders=[EXTENDER | dict(settings)])
    recorded.call_extender = replying(**answers)
    return recorded


def extender_annotations(recorded, pod):
    found = annotations(recorded, pod)
    return [found.get(f"extender-{v}-result") for v in ("filter", "prioritize", "preempt", "bind")]


def test_answers_of_extenders_have_the_fields_of_the_go_structs():
    recorded = with_extender(
        filter={"nodenames": ["n3", "n1"], "FailedNodes": {"n2": "no <licence>"}},
        prioritize=[{"Host": "n1", "Score": 3}, {"host": "n3"}],
    )
    recorded.put(*(make_node(f"n{i}") for i in range(1, 4)))
    recorded.attempt(make_pod("web"))
    assert extender_annotations(recorded, "default/web") == [
        f'{{"{URL}":{{"Nodes":null,"NodeNames":["n3","n1"],'
        r'"FailedNodes":{"n2":"no \u003clicence\u003e"},'
        '"FailedAndUnresolvableNodes":null,"Error":""}}',
        f'{{"{URL}":[{{"Host":"n1","Score":60}},{{"Host":"n3","Score":0}}]}}',
        "{}",
        "{}",
    ]
    found = results(recorded, "default/web")
    # The node that the extender rejected passes the filters.
    assert found["filter-result"]["n2"] == found["filter-result"]["n1"]
    assert found["selected-node"] == "n1"
    assert found["score-result"].keys() == {"n1", "n3"}


def test_an_extender_that_binds():
    recorded = with_extender(
        {"bindVerb": "b"}, filter={"NodeNames": ["n1"]}, bind={"Error": "not today"}
    )
    recorded.attempt(make_node("n1"), make_pod("web"))
    assert (
        extender_annotations(recorded, "default/web")[3] == f'{{"{URL}":{{"Error":"not today"}}}}'
    )
    found = results(recorded, "default/web")
    assert found["bind-result"] == {}
    assert found["prebind-result"] == {"DynamicResources": "success", "VolumeBinding": "success"}


def test_an_extender_that_processes_preemption():
    recorded = with_extender(
        filter={"NodeNames": []},
        preempt={"NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "u"}], "NumPDBViolations": 1}}},
    )
    low = with_fields(make_pod("low", cpu="4", node="n1"), "metadata", uid="u")
    recorded.put(make_node("n1", cpu="4"), low)
    recorded.attempt(make_pod("high", cpu="4", priority=9))
    assert extender_annotations(recorded, "default/high")[2] == (
        f'{{"{URL}":{{"NodeNameToMetaVictims":'
        '{"n1":{"Pods":[{"UID":"u"}],"NumPDBViolations":1}}}}'
    )
    assert annotations(recorded, "default/high")["postfilter-result"] == (
        '{"n1":{"DefaultPreemption":"preemption victim"}}'
    )


def test_an_extender_without_a_valid_answer_has_no_result():
    recorded = with_extender({"ignorable": True}, filter=500, prioritize=500)
    recorded.attempt(make_node("n1"), make_node("n2"), make_pod("web"))
    assert extender_annotations(recorded, "default/web") == [None] * 4

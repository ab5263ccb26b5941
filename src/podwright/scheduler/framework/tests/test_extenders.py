"""Requests to extenders, and the effect of their replies."""

import json
from typing import Any

import msgspec
import pytest

import podwright as pw
from podwright.scheduler.assembly.build import build_profiles
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import ExtenderReply, effective
from podwright.scheduler.framework.extenders.extender_calls import (
    MissingExtenderCaller,
    extenders_of,
    interested_in,
    run_steps,
)
from podwright.scheduler.framework.extenders.extender_verbs import wrap_int64
from podwright.scheduler.framework.profile import Profile, TieRule
from podwright.scheduler.framework.run import PluginRunner
from podwright.scheduler.machine import SchedulerOptions
from podwright.testing import make_node, make_pod


def configured(*extenders: dict[str, Any], plugins: dict[str, Any] | None = None):
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [{"urlPrefix": f"http://e{i}/x/"} | e for i, e in enumerate(extenders)],
    }
    if plugins is not None:
        document["profiles"] = [{"plugins": plugins}]
    registry = Registry()
    configuration = pw.read_configuration(document, source="config")
    return effective(configuration, implements=registry.points_of), registry


def runner_with(*extenders: dict[str, Any], nodes: int = 3, seed: int = 0) -> PluginRunner:
    configuration, registry = configured(*extenders)
    profile = build_profiles(configuration, registry)["default-scheduler"]
    cluster = Cluster()
    for i in range(nodes):
        cluster.put(make_node(f"n{i}"))
    return PluginRunner(profile, cluster, seed=seed, extenders=extenders_of(configuration))


class Answering:
    """Replies with the given values per extender and verb, and records the calls."""

    def __init__(self, *answers):
        self.answers = answers
        self.calls = []

    def __call__(self, call):
        self.calls.append(call)
        answer = self.answers[call.extender]
        if isinstance(answer, ExtenderReply):
            return answer
        return ExtenderReply(status=200, body=json.dumps(answer[call.verb]).encode())


def decide(answering, *extenders, pod=None, **given):
    runner = runner_with(*extenders, **given)
    steps = runner.steps(pod or make_pod("web", cpu="1"), cycle_number=1)
    return run_steps(steps, answering)


NAMES = {"filterVerb": "filter", "nodeCacheCapable": True}
OBJECTS = {"filterVerb": "filter"}


# -------------------------------------------------------------------- victims


@pytest.mark.parametrize("is_ignorable", [False, True])
def test_a_victim_that_is_not_on_the_node_is_named_as_upstream_names_it(is_ignorable):
    preempt = {"preemptVerb": "preempt", "nodeCacheCapable": True, "ignorable": is_ignorable}
    runner = runner_with(preempt, nodes=1)
    runner.cluster.put(make_pod("big", cpu="4", node="n0"))
    victims = {"n0": {"Pods": [{"UID": "u-unknown"}]}}
    answers = Answering({"preempt": {"NodeNameToMetaVictims": victims}})
    pod = make_pod("web", cpu="1", priority=10)
    found = runner.explain(pod, cycle_number=1, call_extender=answers)
    result = found.decision.post_filter
    assert result is not None
    if is_ignorable:
        assert result.nominated_node == "n0"
    else:
        assert result.message == (
            "preemption: extender: http://e0/x/ claims to preempt pod (UID: &{u-unknown}) "
            "on node: n0, but the pod is not found on that node"
        )


# -------------------------------------------------------------------- how many nodes


BINDER = {"bindVerb": "bind"}
SCORER = {"prioritizeVerb": "score", "nodeCacheCapable": True, "weight": 1}


def runner_without_scores(*extenders: dict[str, Any], tie_rule: TieRule) -> PluginRunner:
    configuration, registry = configured(
        *extenders, plugins={"score": {"disabled": [{"name": "*"}]}}
    )
    profile = build_profiles(configuration, registry, SchedulerOptions(tie_rule=tie_rule))[
        "default-scheduler"
    ]
    cluster = Cluster()
    for i, zone in enumerate("aabb"):
        labels = {"topology.kubernetes.io/zone": zone}
        cluster.put(make_node(f"n{i}", cpu="2", labels=labels))
    return PluginRunner(profile, cluster, extenders=extenders_of(configuration))


@pytest.mark.parametrize("tie_rule", list(TieRule))
@pytest.mark.parametrize(
    ("extenders", "found"),
    [
        pytest.param((), 1, id="no extender"),
        pytest.param((BINDER,), 1, id="one that binds"),
        pytest.param(({"preemptVerb": "preempt"},), 1, id="one with a preempt verb"),
        pytest.param((SCORER,), 4, id="one that scores"),
        pytest.param((NAMES,), 4, id="one that filters"),
        pytest.param(
            (SCORER | {"managedResources": [{"name": "x.io/a"}]},), 4, id="not interested in it"
        ),
    ],
)
def test_one_feasible_node_is_enough_where_nodes_are_not_scored(extenders, found, tie_rule):
    names = [f"n{i}" for i in range(4)]
    answers = Answering(
        *[{"score": [], "prioritize": [], "filter": {"NodeNames": names}} for _ in extenders]
    )
    runner = runner_without_scores(*extenders, tie_rule=tie_rule)
    pod = make_pod("web", cpu="1")
    decision = run_steps(runner.steps(pod, cycle_number=1), answers)
    assert decision.feasible_count == found
    if found == 1:
        assert decision.node == "n0"
        assert decision.evaluated_count == 1
        # The next search begins behind it, in the order of zones in turn.
        following = [
            run_steps(runner.steps(pod, cycle_number=2 + i), answers).node for i in range(4)
        ]
        assert following == ["n2", "n1", "n3", "n0"]


def test_nodes_behind_the_first_feasible_one_are_explained_as_not_examined():
    runner = runner_without_scores(tie_rule=TieRule.DRAWN)
    runner.cluster.put(make_pod("full", cpu="2", node="n0"))
    found = runner.explain(make_pod("web", cpu="1"), cycle_number=1)
    assert found.feasible == found.winners == ("n2",)
    assert list(found.rejected) == ["n0"]
    assert found.not_examined == ("n1", "n3")
    assert found.decision.node == "n2"


# -------------------------------------------------------------------- interest


@pytest.mark.parametrize(
    ("pod", "is_interested"),
    [
        pytest.param(make_pod("a", cpu="1"), False, id="requests none of it"),
        pytest.param(make_pod("a", resources={"x.io/b": 1}), False, id="requests another one"),
        pytest.param(make_pod("a", resources={"x.io/a": 1}), True, id="requests it"),
        pytest.param(
            make_pod(
                "a",
                spec={
                    "containers": [
                        {"name": "c", "resources": {"limits": {"cpu": "1"}}},
                        {"name": "d", "resources": {"limits": {"x.io/a": "1"}}},
                    ]
                },
            ),
            True,
            id="one of its containers is limited in it",
        ),
        pytest.param(
            make_pod(
                "a", spec={"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]}
            ),
            False,
            id="limited in another one",
        ),
        pytest.param(
            make_pod(
                "a",
                spec={
                    "containers": [{"name": "c"}],
                    "initContainers": [{"name": "i", "resources": {"limits": {"x.io/a": "1"}}}],
                },
            ),
            True,
            id="an init container is limited in it",
        ),
    ],
)
def test_managed_resources_select_the_pods_of_an_extender(pod, is_interested):
    configuration, _ = configured(NAMES | {"managedResources": [{"name": "x.io/a"}]})
    assert bool(interested_in(pod, extenders_of(configuration))) is is_interested


def test_a_pod_without_interested_extenders_takes_the_plain_path():
    runner = runner_with(NAMES | {"managedResources": [{"name": "x.io/a"}]})
    steps = runner.steps(make_pod("web"), cycle_number=1)
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value.node


def test_a_missing_call_extender_is_an_error_that_names_the_extender():
    runner = runner_with(NAMES)
    with pytest.raises(
        MissingExtenderCaller, match=r"extenders\[0\]: the filter call to http://e0/x/filter"
    ):
        run_steps(runner.steps(make_pod("web"), cycle_number=1), None)


# -------------------------------------------------------------------- requests


def test_requests_have_the_keys_of_upstreams_types():
    answering = Answering({"filter": {"NodeNames": ["n0"]}})
    decide(answering, NAMES)
    (call,) = answering.calls
    assert (call.verb, call.url, call.timeout_ns) == ("filter", "http://e0/x/filter", 5 * 10**9)
    body = json.loads(call.body)
    assert sorted(body) == ["NodeNames", "Nodes", "Pod"]
    assert body["Nodes"] is None
    assert body["Pod"]["spec"]["containers"]


def test_each_extender_receives_the_result_of_the_previous_one():
    answering = Answering(
        {"filter": {"NodeNames": ["n2", "n1"]}}, {"filter": {"NodeNames": ["n1"]}}
    )
    assert decide(answering, NAMES, NAMES).node == "n1"
    assert json.loads(answering.calls[1].body)["NodeNames"] == ["n2", "n1"]


def test_no_extender_is_called_after_no_node_is_left():
    answering = Answering({"filter": {"NodeNames": []}}, {})
    assert not decide(answering, NAMES, NAMES).node
    assert len(answering.calls) == 1


def test_no_extender_is_called_for_a_pod_that_a_pre_filter_rejects():
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    answering = Answering({"filter": {"NodeNames": ["n0"]}})
    decision = decide(answering, NAMES, pod=make_pod("web", spec={"volumes": [volume]}))
    assert not decision.node
    assert 'persistentvolumeclaim "data" not found' in decision.message
    assert answering.calls == []


def with_pre_filter(answer, *extenders):
    """Return a runner whose one PreFilter plugin gives `answer`, and what PostFilter receives."""
    received = []

    def pre_filter(_self, _cycle):
        if isinstance(answer, Exception):
            raise answer
        return answer

    def post_filter(_self, _cycle, failed):
        received.append([extender.settings.preempt_verb for extender in failed.extenders])
        return pw.PostFilterResult(status=pw.Status.unschedulable("no victims"))

    methods = {"name": "Only", "pre_filter": pre_filter, "post_filter": post_filter}
    plugin = type("Only", (pw.Plugin,), methods)()
    profile = Profile(scheduler_name="s", pre_filter=(plugin,), post_filter=(plugin,))
    cluster = Cluster()
    cluster.put(make_node("n0"))
    configuration, _ = configured(*extenders)
    return PluginRunner(profile, cluster, extenders=extenders_of(configuration)), received


def test_extenders_are_called_for_preemption_although_a_pre_filter_rejects():
    answering = Answering({})
    preempts = NAMES | {"preemptVerb": "preempt"}
    runner, received = with_pre_filter(pw.Status.unschedulable("full"), preempts)
    decision = run_steps(runner.steps(make_pod("web"), cycle_number=1), answering)
    runner.post_filter(decision, cycle_number=1, now_ns=0)
    assert received == [["preempt"]]
    assert answering.calls == []


def test_a_plugin_that_fails_in_a_cycle_with_extenders_is_an_error_of_the_cycle():
    answering = Answering({})
    runner, _ = with_pre_filter(ValueError("broken"), NAMES)
    decision = run_steps(runner.steps(make_pod("web"), cycle_number=1), answering)
    assert decision.error is not None
    assert 'running PreFilter plugin "Only": ' in decision.error.message
    assert answering.calls == []


class BreaksAtOne(pw.Plugin):
    """Writes an error for one node into the columns."""

    name = "BreaksAtOne"

    def filter_columns(self, cycle, nodes, out):
        out.reject_slot(nodes.slot_of["n1"], pw.Status.error("no disk"))


def test_a_filter_that_fails_for_a_node_ends_the_cycle_before_extenders_are_called():
    plugin, answering = BreaksAtOne(), Answering({"filter": {"NodeNames": ["n0"]}})
    cluster = Cluster()
    for name in ("n0", "n1"):
        cluster.put(make_node(name))
    configuration, _ = configured(NAMES)
    runner = PluginRunner(
        Profile(scheduler_name="s", filter=(plugin,), score=((BreaksAtOne(), 1),)),
        cluster,
        extenders=extenders_of(configuration),
    )
    decision = run_steps(runner.steps(make_pod("web"), cycle_number=1), answering)
    assert decision.error is not None
    assert decision.error.message == 'running "BreaksAtOne" filter plugin: no disk'
    assert answering.calls == []


def test_a_single_node_is_not_scored():
    answering = Answering({"filter": {"NodeNames": ["n0"]}})
    decision = decide(answering, NAMES | {"prioritizeVerb": "score", "weight": 1})
    assert (decision.node, decision.total) == ("n0", None)
    assert [call.verb for call in answering.calls] == ["filter"]
    found = runner_with(NAMES).explain(make_pod("web"), cycle_number=1, call_extender=answering)
    assert (found.winners, found.tied, found.totals) == (("n0",), ("n0",), {})


# -------------------------------------------------------------------- replies


@pytest.mark.parametrize(
    ("settings", "answer", "feasible"),
    [
        pytest.param(NAMES, {"NodeNames": ["n1", "n0"]}, ("n1", "n0"), id="names, in its order"),
        pytest.param(NAMES, {"nodenames": ["n1"]}, ("n1",), id="keys in any case"),
        pytest.param(NAMES, {"NodeNames": []}, (), id="no name"),
        pytest.param(NAMES, {}, (), id="neither form"),
        pytest.param(NAMES, None, (), id="null"),
        pytest.param(
            NAMES, {"Nodes": {"items": [{"metadata": {"name": "n1"}}]}}, ("n1",),
            id="objects instead of names",
        ),
        pytest.param(
            NAMES, {"Nodes": {"items": []}, "NodeNames": ["n1"]}, ("n1",), id="both: the names"
        ),
        pytest.param(OBJECTS, {"NodeNames": ["n1"]}, (), id="names instead of objects"),
        pytest.param(
            OBJECTS, {"Nodes": {"items": [{"metadata": {"name": "new"}}]}}, ("new",),
            id="a node that does not exist",
        ),
        pytest.param(OBJECTS, {"Nodes": {}}, (), id="a list without items"),
        pytest.param(OBJECTS, {"Nodes": {"items": [None]}}, ("",), id="a node without a name"),
    ],
)  # fmt: skip
def test_the_nodes_that_an_extender_filter_keeps(settings, answer, feasible):
    runner = runner_with(settings)
    found = runner.explain(
        make_pod("web"), cycle_number=1, call_extender=Answering({"filter": answer})
    )
    assert found.error is None
    assert found.feasible == feasible


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param({"Error": "no quota", "NodeNames": ["n1"]}, "no quota", id="its own"),
        pytest.param(
            {"NodeNames": ["n1", "gone"]},
            'extender "http://e0/x/" claims a filtered node "gone" '
            "which is not found in the input node list",
            id="a name that was not sent",
        ),
        pytest.param({"NodeNames": [None]}, 'claims a filtered node "" which', id="a null"),
    ],
)
def test_an_extender_that_cannot_filter_ends_the_cycle(answer, error):
    decision = decide(Answering({"filter": answer}), NAMES)
    assert not decision.node
    assert error in decision.error.message


def test_the_explanation_of_an_extender_that_cannot_filter_has_no_node():
    found = runner_with(NAMES).explain(
        make_pod("web"), cycle_number=1, call_extender=Answering({"filter": {"Error": "no quota"}})
    )
    assert found.error is not None
    assert found.error.message == "no quota"
    assert (found.feasible, found.totals, found.winners) == ((), {}, ())


def test_a_node_may_fail_without_a_message_of_the_extender():
    nodes = dict.fromkeys(["n0", "n1", "n2"])
    decision = decide(Answering({"filter": {"NodeNames": [], "FailedNodes": nodes}}), NAMES)
    assert decision.error is None
    assert decision.message.startswith("0/3 nodes are available: 3 .")


def test_nodes_are_passed_on_as_an_earlier_extender_wrote_them():
    # Upstream: pkg/scheduler/extender.go, HTTPExtender.Filter; a cache-capable one picks of them.
    written = [{"metadata": {"name": name}, "x": name} for name in ("n1", "n2")]
    answering = Answering(
        {"filter": {"Nodes": {"items": written}}},
        {"filter": {"NodeNames": ["n2"]}},
        {"filter": {"Nodes": {"items": written[1:]}}},
    )
    assert decide(answering, OBJECTS, NAMES, OBJECTS).node == "n2"
    assert json.loads(answering.calls[1].body)["NodeNames"] == ["n1", "n2"]
    (passed,) = json.loads(answering.calls[2].body)["Nodes"]["items"]
    assert passed["x"] == "n2"


@pytest.mark.parametrize(
    "answer",
    [
        [],
        7,
        "text",
        {"NodeNames": "n0"},
        {"NodeNames": [7]},
        {"FailedNodes": {"n0": 7}},
        {"Error": ["x"]},
        {"Nodes": {"items": [{"metadata": {"name": 7}}]}},
        {"Nodes": {"items": [7]}},
    ],
)
def test_a_reply_of_another_shape_is_an_error(answer):
    decision = decide(Answering({"filter": answer}), NAMES)
    assert 'extender "http://e0/x/" gives a malformed answer to filter' in decision.message
    assert decision.error is not None


def test_both_maps_of_failed_nodes_are_reported_and_the_unresolvable_one_wins():
    answer = {
        "NodeNames": [],
        "FailedNodes": {"n0": "busy", "n1": "busy"},
        "FailedAndUnresolvableNodes": {"n1": "broken"},
    }
    found = runner_with(NAMES).explain(
        make_pod("web"),
        cycle_number=1,
        call_extender=Answering({"filter": answer}),
    )
    assert {name: status.code.label for name, status in found.rejected.items()} == {
        "n0": "Unschedulable",
        "n1": "UnschedulableAndUnresolvable",
    }
    assert found.decision.message.startswith("0/3 nodes are available: 1 broken, 1 busy.")


@pytest.mark.parametrize(
    ("kept", "is_scored"),
    [
        pytest.param(["n0", "n1"], True, id="of two nodes that extenders leave"),
        pytest.param(["n0"], False, id="not of one, which needs no score"),
    ],
)
def test_scores_of_plugins_are_explained(kept, is_scored):
    found = runner_with(NAMES).explain(
        make_pod("web", cpu="1"),
        cycle_number=1,
        call_extender=Answering({"filter": {"NodeNames": kept}}),
    )
    by_plugin = {score.plugin: score for score in found.scores}
    assert ("NodeResourcesFit" in by_plugin) is is_scored
    if is_scored:
        assert list(by_plugin["NodeResourcesFit"].raw) == kept


def test_preemption_may_help_where_an_extender_says_so():
    runner = runner_with(NAMES, nodes=4)
    answer = {
        "NodeNames": [],
        "FailedNodes": {"n3": "busy", "n0": "busy", "gone": "busy"},
        "FailedAndUnresolvableNodes": {"n1": "broken"},
    }
    steps = runner.steps(make_pod("web"), cycle_number=1)
    assert not run_steps(steps, Answering({"filter": answer})).node
    failed = runner._failed
    assert failed is not None
    names = runner.cluster.nodes.names
    helped = [names[slot] for slot in failed.slots_where_preemption_may_help().tolist()]
    assert helped == ["n0", "n3"]
    assert failed.status_of("n0").message == "busy"
    assert failed.status_of("n1").code == pw.Status.unresolvable("").code


def test_scores_of_replaced_nodes_count_the_pods_of_the_cluster():
    zone = "topology.kubernetes.io/zone"
    near = {
        "weight": 1,
        "podAffinityTerm": {
            "topologyKey": zone,
            "labelSelector": {"matchLabels": {"app": "first"}},
        },
    }
    affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [near]}}
    runner = runner_with(OBJECTS, nodes=0)
    for name in ("n0", "n1"):
        runner.cluster.put(make_node(name, zone=f"z{name}"))
    runner.cluster.place(make_pod("first", labels={"app": "first"}), 1)
    replaced = [
        {"metadata": {"name": name, "labels": {zone: place, "changed": ""}}}
        for name, place in (("n0", "zn1"), ("n1", "zn0"))
    ]
    found = runner.explain(
        make_pod("web", spec={"affinity": affinity}),
        cycle_number=1,
        call_extender=Answering({"filter": {"Nodes": {"items": replaced}}}),
    )
    (near_score,) = [score for score in found.scores if score.plugin == "InterPodAffinity"]
    assert near_score.normalized == {"n0": 100, "n1": 0}
    assert found.decision.node == "n0"


def test_ties_go_to_nodes_that_an_extender_scored():
    scorer = {"prioritizeVerb": "score", "weight": 1, "nodeCacheCapable": True}
    answering = Answering({"prioritize": [{"Host": "n1", "Score": 0}]})
    for seed in range(5):
        decision = decide(answering, scorer, seed=seed)
        assert (decision.node, decision.tie_count) == ("n1", 1)


@pytest.mark.parametrize("tie_rule", list(TieRule))
@pytest.mark.parametrize("scored", [("n1",), ("n0", "n3"), ("n1", "n2", "n3")])
def test_among_equals_one_that_an_extender_scored_is_drawn_by_each_rule(tie_rule, scored):
    # Upstream: pkg/scheduler/schedule_one.go, prioritizeNodes, Randomizer
    runner = runner_with(SCORER, nodes=4)
    profile = msgspec.structs.replace(runner.profile, tie_rule=tie_rule)
    chosen = set()
    for cycle_number in range(40):
        runner = PluginRunner(profile, runner.cluster, extenders=runner.extenders)
        answering = Answering({"prioritize": [{"Host": name, "Score": 0} for name in scored]})
        decision = run_steps(runner.steps(make_pod("web"), cycle_number=cycle_number), answering)
        assert decision.tie_count == len(scored)
        chosen.add(decision.node)
    assert chosen == ({scored[0]} if tie_rule is TieRule.FIRST else set(scored))


@pytest.mark.parametrize(
    ("number", "wrapped"),
    [
        (0, 0), (-1, -1), (2**62, 2**62), (-(2**62), -(2**62)), (2**63 - 1, 2**63 - 1),
        (2**63, -(2**63)), (-(2**63), -(2**63)), (-(2**63) - 1, 2**63 - 1), (5 * 2**64 + 7, 7),
    ],
)  # fmt: skip
def test_sums_overflow_as_int64_does(number, wrapped):
    assert wrap_int64(number) == wrapped


def test_scores_wrap_around_as_int64_does():
    scorer = {"prioritizeVerb": "score", "weight": 1, "nodeCacheCapable": True}
    answer = [{"Host": "n1", "Score": 2**62}, {"Host": "n2", "Score": 1}]
    found = runner_with(scorer).explain(
        make_pod("web"),
        cycle_number=1,
        call_extender=Answering({"prioritize": answer}),
    )
    assert found.extenders[0].scores == {"n1": -(2**63), "n2": 10}
    assert found.decision.node == "n2"


@pytest.mark.parametrize(
    ("settings", "answers", "node", "tie_count"),
    [
        pytest.param(
            (SCORER, SCORER),
            ([("n1", 3), ("n2", 5)], [("n1", 3)]),
            "n1",
            1,
            id="those of two extenders are added",
        ),
        pytest.param(
            (SCORER | {"weight": 3}, SCORER),
            ([("n1", 2)], [("n2", 5)]),
            "n1",
            1,
            id="times the weight",
        ),
        pytest.param(
            (SCORER,), ([("n1", 3), ("n1", 3), ("n2", 5)],), "n1", 1, id="a node named twice"
        ),
        pytest.param(
            (SCORER,), ([("n1", None), ("n2", 1)],), "n2", 1, id="a score that is null is 0"
        ),
        pytest.param(
            (SCORER, SCORER),
            (None, [("n2", 1)]),
            "n2",
            1,
            id="one that fails leaves those of the next",
        ),
        pytest.param(
            (SCORER, SCORER),
            ([("n1", 2**62), ("n2", -1)], [("n1", 2**62)]),
            "n1",
            1,
            id="a sum wraps around, too",
        ),
        pytest.param(
            (SCORER, {"filterVerb": "filter", "nodeCacheCapable": True}),
            ([("n1", 0)], []),
            None,
            3,
            id="an extender that only filters scores every node with 0",
        ),
    ],
)
def test_scores_of_extenders(settings, answers, node, tie_count):
    def answer(call):
        if call.verb == "filter":
            names = json.loads(call.body)["NodeNames"]
            return ExtenderReply(status=200, body=json.dumps({"NodeNames": names}).encode())
        scores = answers[call.extender]
        if scores is None:
            return ExtenderReply(status=500)
        entries = [{"Host": host, "Score": score} for host, score in scores]
        return ExtenderReply(status=200, body=json.dumps(entries).encode())

    decision = decide(answer, *settings)
    assert decision.tie_count == tie_count
    assert node in (None, decision.node)


@pytest.mark.parametrize("best", range(5))
@pytest.mark.parametrize("tie_rule", list(TieRule))
def test_the_node_that_an_extender_scores_best_is_chosen_by_each_rule(tie_rule, best):
    scores = [{"Host": f"n{i}", "Score": (i + 5 - best) % 5} for i in range(5)]
    runner = runner_with(SCORER, nodes=5)
    profile = msgspec.structs.replace(runner.profile, tie_rule=tie_rule)
    runner = PluginRunner(profile, runner.cluster, extenders=runner.extenders)
    steps = runner.steps(make_pod("web"), cycle_number=best)
    decision = run_steps(steps, Answering({"prioritize": scores}))
    assert (decision.node, decision.tie_count) == (f"n{(best + 4) % 5}", 1)


@pytest.mark.parametrize(
    "reply",
    [
        ExtenderReply(error="timed out"),
        ExtenderReply(status=500),
        ExtenderReply(status=200, body=b'[{"Host": "n0", "Score": 1.5}]'),
        ExtenderReply(status=200, body=b"{}"),
    ],
)
def test_a_failed_score_is_no_score(reply):
    scorer = {"prioritizeVerb": "score", "weight": 1, "nodeCacheCapable": True}
    decision = decide(Answering(reply), scorer)
    assert (decision.tie_count, decision.error) == (3, None)


def test_the_nominated_node_is_evaluated_alone():
    pod = pw.testing.make_pod("web")
    nominated = with_nomination(pod, "n2")
    answering = Answering({"filter": {"NodeNames": ["n2"]}})
    assert decide(answering, NAMES, pod=nominated).node == "n2"
    assert json.loads(answering.calls[0].body)["NodeNames"] == ["n2"]


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(ExtenderReply(status=200, body=b'{"NodeNames": []}'), id="rejected"),
        pytest.param(ExtenderReply(status=500), id="a failed call counts as a rejection"),
        pytest.param(ExtenderReply(status=200, body=b'{"Error": "no"}'), id="so does an error"),
    ],
)
def test_all_nodes_are_evaluated_if_the_nominated_one_is_rejected(first):
    """Upstream: schedule_one.go, findNodesThatFitPod."""
    nominated = with_nomination(make_pod("web"), "n2")
    replies = iter([first, ExtenderReply(status=200, body=b'{"NodeNames": ["n0"]}')])
    calls = []

    def answer(call):
        calls.append(json.loads(call.body)["NodeNames"])
        return next(replies)

    decision = decide(answer, NAMES, pod=nominated)
    assert (decision.node, decision.error) == ("n0", None)
    assert calls == [["n2"], ["n0", "n1", "n2"]]


@pytest.mark.parametrize(
    ("failed", "position"),
    [
        pytest.param({}, 0, id="without a reason"),
        pytest.param({"n2": "no"}, 1, id="with one, which counts as a node that was evaluated"),
    ],
)
def test_the_next_search_starts_behind_the_evaluated_nodes(failed, position):
    # Upstream: pkg/scheduler/schedule_one.go, findNodesThatFitPod, processedNodes
    replies = iter([{"NodeNames": [], "FailedNodes": failed}, {"NodeNames": ["n0"]}])

    def answer(_call):
        return ExtenderReply(status=200, body=json.dumps(next(replies)).encode())

    runner = runner_with(NAMES)
    nominated = with_nomination(make_pod("web"), "n2")
    assert run_steps(runner.steps(nominated, cycle_number=1), answer).node == "n0"
    assert runner.search_position() == position


def test_the_nominated_node_has_its_status_although_a_pre_filter_leaves_it_out():
    """And no other has one, whoever is nominated there.

    Upstream: pkg/scheduler/schedule_one.go, evaluateNominatedNode
    """
    field = {"key": "metadata.name", "operator": "In", "values": ["absent"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    runner = runner_with(NAMES)
    for number in range(3):
        runner.cluster.nominate(make_pod(f"other-{number}", cpu="100", priority=1), f"n{number}")
    incoming = with_nomination(make_pod("web", cpu="1", spec={"affinity": affinity}), "n1")
    decision = run_steps(runner.steps(incoming, cycle_number=1), Answering())
    assert decision.message.startswith(
        "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector,"
        " 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )
    assert (decision.evaluated_count, runner.search_position()) == (1, 1)


def with_nomination(pod, node):
    from podwright.apimachinery.objects import with_nominated_node_name

    return with_nominated_node_name(pod, node)


@pytest.mark.parametrize("settings", [NAMES, OBJECTS])
def test_an_extender_that_keeps_all_nodes_changes_no_decision(settings):
    def keep(call):
        body = json.loads(call.body)
        answer = {"Nodes": body["Nodes"], "NodeNames": body["NodeNames"]}
        return ExtenderReply(status=200, body=json.dumps(answer).encode())

    for seed in range(5):
        plain = runner_with(nodes=7, seed=seed).decide(make_pod("web"), cycle_number=3)
        runner = runner_with(settings | {"managedResources": []}, nodes=7, seed=seed)
        with_extenders = run_steps(runner.steps(make_pod("web"), cycle_number=3), keep)
        assert (with_extenders.total, with_extenders.feasible_count) == (plain.total, 7)
        assert with_extenders.tie_count == plain.tie_count
        assert with_extenders.slot == runner.cluster.nodes.slot_of[with_extenders.node]


def test_a_node_counts_once_if_it_fails_with_its_nominated_pod_and_at_an_extender_none_is_left():
    runner = runner_with(NAMES, nodes=3)
    runner.cluster.nominate(make_pod("first", cpu="4", priority=5), "n0")
    runner.cluster.put(make_pod("there", cpu="4", node="n1"))
    answer = {"NodeNames": [], "FailedNodes": {"n2": "not this one"}}
    steps = runner.steps(make_pod("web", cpu="2", priority=5), cycle_number=1)
    decision = run_steps(steps, Answering({"filter": answer}))
    assert decision.message == ("0/3 nodes are available: 1 not this one, 2 Insufficient cpu.")


@pytest.mark.parametrize(
    ("nodes", "priority", "node", "message"),
    [
        pytest.param(2, 5, "n1", "", id="another node has room"),
        pytest.param(2, 4, "n1", "", id="a less important one does not count"),
        pytest.param(1, 5, "", "0/1 nodes are available: 1 Insufficient cpu.", id="no other node"),
        pytest.param(0, 5, "", "no nodes available to schedule pods", id="no node at all"),
    ],
)
def test_nominated_pods_count_before_extenders_are_called(nodes, priority, node, message):
    runner = runner_with(NAMES, nodes=nodes)
    first = make_pod("first", cpu="4", priority=priority)
    runner.cluster.nominate(first, "n0")
    if priority < 5:
        runner.cluster.put(make_pod("there", cpu="4", node="n0"))
    answering = Answering({"filter": {"NodeNames": ["n1"]}})
    steps = runner.steps(make_pod("web", cpu="2", priority=5), cycle_number=1)
    decision = run_steps(steps, answering)
    assert (decision.node, decision.message) == (node, message)
    assert [json.loads(call.body)["NodeNames"] for call in answering.calls] == (
        [["n1"]] if node else []
    )

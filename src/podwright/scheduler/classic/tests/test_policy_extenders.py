"""The calls to the extenders of a policy, and what their replies say."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from podwright.apimachinery.objects import encode, with_fields
from podwright.scheduler.classic import (
    ClassicCluster,
    Extender,
    ExtenderAnswer,
    ExtenderError,
    ExtenderSettings,
    Victims,
    read_policy,
)
from podwright.scheduler.classic.extender import PolicyExtenders, ReplyNeeded, called_extender
from podwright.scheduler.config import ExtenderCall, ExtenderReply
from podwright.testing import make_node, make_pod

T = TypeVar("T")
GPU = "example.com/gpu"
POD = make_pod("p")


def settings(**fields: Any) -> ExtenderSettings:
    (found,) = read_policy(
        {"extenders": [{"urlPrefix": "http://x/", "weight": 3} | fields]}
    ).extenders
    return found


VERBS = {"filterVerb": "f", "prioritizeVerb": "s", "preemptVerb": "v", "bindVerb": "b"}


def victim(name: str, node: str) -> Any:
    return with_fields(make_pod(name, node=node), "metadata", uid=f"uid-{name}")


NODES = [make_node(name) for name in ("n1", "n2")]
PODS = [victim("v1", "n1"), victim("v2", "n1"), victim("v3", "n2")]
VICTIMS = {"n1": Victims((PODS[0], PODS[1]), 1), "n2": Victims((PODS[2],), 0)}


def of_policy(*each: ExtenderSettings) -> PolicyExtenders:
    cluster = ClassicCluster()
    for obj in (*NODES, *PODS):
        cluster.put(obj)
    return PolicyExtenders([(index + 4, one) for index, one in enumerate(each)], cluster)


def answered(
    extenders: PolicyExtenders, run: Callable[[], T], *replies: Any
) -> tuple[T | str, list[ExtenderCall]]:
    """Run with each reply that is needed, and return the result or its error, and the calls."""
    known: list[ExtenderReply] = []
    calls: list[ExtenderCall] = []
    left = [
        each if isinstance(each, ExtenderReply)
        else ExtenderReply(status=200, body=json.dumps(each).encode())
        for each in replies
    ]  # fmt: skip
    while True:
        extenders.begin(known)
        try:
            result: T | str = run()
        except ReplyNeeded as needed:
            calls.append(needed.call)
            known.append(left.pop(0))
            continue
        except ExtenderError as error:
            result = str(error)
        assert not left
        return result, calls


# ------------------------------------------------------------------------------------ filter


def items(*names: Any) -> dict[str, Any]:
    return {"items": [{"metadata": {"name": name}} for name in names]}


@pytest.mark.parametrize(
    ("knows_nodes", "reply", "result"),
    [
        (False, {"Nodes": items("n2")}, ExtenderAnswer(("n2",))),
        (False, {"nodes": items("n2")}, ExtenderAnswer(("n2",))),
        (False, {"Nodes": items("n2"), "NodeNames": ["n1"]}, ExtenderAnswer(("n2",))),
        (False, {"Nodes": None}, ExtenderAnswer()),
        (False, {"Nodes": {"items": [{}]}}, ExtenderAnswer(("",))),
        (False, {}, ExtenderAnswer()),
        (False, None, ExtenderAnswer()),
        (True, {"NodeNames": ["n1"]}, ExtenderAnswer(("n1",))),
        (True, {"NodeNames": []}, ExtenderAnswer()),
        (True, {"NodeNames": None, "Nodes": items("n1", "n2")}, ExtenderAnswer(("n1", "n2"))),
        (
            True, {"NodeNames": ["n1"], "FailedNodes": {"n2": "no"}},
            ExtenderAnswer(("n1",), {"n2": "no"}),
        ),
        (True, {"Error": "sick"}, "sick"),
        (True, [], "ExtenderFilterResult: must be an object, not an array"),
        (True, {"NodeNames": 1}, "ExtenderFilterResult.NodeNames: must be an array, not a number"),
        (True, ExtenderReply(error="timeout"), "timeout"),
        (
            True, ExtenderReply(status=503, body=b"{}"),
            "Failed f with extender at URL http://x/f, code 503",
        ),
        (True, ExtenderReply(status=200, body=b"{"), None),
    ],
)  # fmt: skip
def test_the_reply_of_a_filter(knows_nodes: bool, reply: Any, result: Any) -> None:
    extenders = of_policy(settings(**VERBS, nodeCacheCapable=knows_nodes))
    (extender,) = extenders.extenders
    found, (call,) = answered(extenders, lambda: extender.filter(POD, ["n1", "n2"]), reply)
    if result is None:
        assert isinstance(found, str)  # the words are those of the decoder
    else:
        assert found == result
    assert (call.verb, call.url, call.extender) == ("filter", "http://x/f", 4)
    body = json.loads(call.body)
    assert body["Pod"] == encode(POD)
    expected = ["n1", "n2"]
    if knows_nodes:
        assert (body["NodeNames"], body["Nodes"]) == (expected, None)
    else:
        shown = [each["metadata"]["name"] for each in body["Nodes"].pop("items")]
        assert (body["NodeNames"], body["Nodes"], shown) == (None, {"metadata": {}}, expected)


def test_the_answers_of_a_cycle_are_kept_for_its_explanation() -> None:
    extenders = of_policy(settings(**VERBS), settings(filterVerb="g"))
    first, second = extenders.extenders

    def run() -> Any:
        kept = first.filter(POD, ["n1", "n2"]).node_names
        scores = first.scores(POD, kept)
        try:
            return kept, scores, second.filter(POD, kept)
        except ExtenderError as error:
            return kept, scores, str(error)

    replies = (
        {"Nodes": items("n1"), "FailedNodes": {"n2": "no"}}, [{"Host": "n1", "Score": 2}],
        {"Error": "sick"},
    )  # fmt: skip
    found, calls = answered(extenders, run, *replies)
    assert found == (("n1",), {"n1": 6}, "sick")
    assert [each.url for each in calls] == ["http://x/f", "http://x/s", "http://x/g"]
    one, other = extenders.answers()
    assert (one.candidates, one.kept, one.scores, one.errors) == (
        ("n1", "n2"), ("n1",), {"n1": 6}, [],
    )  # fmt: skip
    assert {name: status.reasons for name, status in one.rejected.items()} == {"n2": ("no",)}
    assert (other.candidates, other.errors) == (("n1",), ["sick"])
    extenders.begin([])
    assert extenders.answers() == ()
    failing = ExtenderReply(error="away")
    answered(extenders, lambda: first.filter(POD, ["n1"]), failing)
    (left,) = extenders.answers()
    assert left.errors == ["away"]


# ------------------------------------------------------------------------------------ scores


@pytest.mark.parametrize(
    ("reply", "scores"),
    [
        ([{"Host": "n1", "Score": 2}, {"host": "n2", "score": 1}], {"n1": 6, "n2": 3}),
        ([{"Host": "n1", "Score": 2}, {"Host": "n1", "Score": 1}], {"n1": 9}),
        ([{"Host": "n1"}, {"Score": 2}], {"n1": 0, "": 6}),
        ([], {}),
        (None, {}),
        ({}, {}),
        ([1], {}),
        ({"Host": "n1", "Score": 2}, {}),
        ("n1", {}),
        (7, {}),
        (ExtenderReply(status=500), {}),
    ],
)
def test_the_scores_of_an_extender_have_its_weight(reply: Any, scores: dict[str, int]) -> None:
    extenders = of_policy(settings(**VERBS))
    (extender,) = extenders.extenders
    found, (call,) = answered(extenders, lambda: extender.scores(POD, ["n1"]), reply)
    assert found == scores
    assert (call.verb, call.url) == ("prioritize", "http://x/s")


def test_verbs_that_are_not_configured_are_not_called() -> None:
    extenders = of_policy(settings(weight=0))
    (extender,) = extenders.extenders
    assert answered(extenders, lambda: extender.filter(POD, ["a"])) == (ExtenderAnswer(("a",)), [])
    assert answered(extenders, lambda: extender.scores(POD, ["a"])) == ({}, [])
    assert not extender.supports_preemption
    for each in (
        Extender(settings(**VERBS)),
        Extender(settings(), filter=lambda *_: ExtenderAnswer(), prioritize=lambda *_: {"a": 1},
                 preempt=lambda _, victims: victims),
    ):  # fmt: skip
        assert each.filter(POD, ["a"]) == ExtenderAnswer(("a",))
        assert each.scores(POD, ["a"]) == {}
        assert not each.supports_preemption
    of_verb = Extender(settings(**VERBS), preempt=lambda _, victims: victims)
    assert of_verb.supports_preemption
    assert of_verb.preempt(POD, VICTIMS) is VICTIMS


# -------------------------------------------------------------------------------- preemption


def accepted(**nodes: Any) -> dict[str, Any]:
    entries = {
        name: {"Pods": [{"UID": f"uid-{each}"} for each in pods.split()], "NumPDBViolations": count}
        for name, (pods, count) in nodes.items()
    }
    return {"NodeNameToMetaVictims": entries}


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        (accepted(n2=("v3", 0)), {"n2": Victims((PODS[2],), 0)}),
        # Upstream forgets how many budgets are violated.
        (accepted(n1=("v2", 5)), {"n1": Victims((PODS[1],), 0)}),
        (accepted(n1=("v2 v1", 0)), {"n1": Victims((PODS[1], PODS[0]), 0)}),
        (accepted(), {}),
        ({}, {}),
        ({"NodeNameToMetaVictims": {"n1": {}}}, {"n1": Victims((), 0)}),
        (accepted(n3=("", 0)), "the extender accepts victims on an unknown node: n3"),
        (
            accepted(n2=("v1", 0)),
            "the extender claims to preempt a pod that is not on node n2: uid-v1",
        ),
        (
            {"NodeNameToMetaVictims": {"n1": {"Pods": [{}]}}},
            "the extender claims to preempt a pod that is not on node n1: ",
        ),
        (ExtenderReply(error="away"), "away"),
    ],
)
def test_the_victims_that_an_extender_accepts(reply: Any, result: Any) -> None:
    extenders = of_policy(settings(**VERBS))
    (extender,) = extenders.extenders
    assert extender.supports_preemption
    found, (call,) = answered(extenders, lambda: extender.preempt(POD, VICTIMS), reply)
    assert found == result
    assert (call.verb, call.url) == ("preempt", "http://x/v")


@pytest.mark.parametrize("knows_pods", [True, False])
def test_victims_are_sent_whole_or_by_their_uid(knows_pods: bool) -> None:
    extenders = of_policy(settings(**VERBS, nodeCacheCapable=knows_pods))
    (extender,) = extenders.extenders
    _, (call,) = answered(extenders, lambda: extender.preempt(POD, VICTIMS), {})
    entries = {
        name: {
            "Pods": [{"UID": each.metadata.uid} if knows_pods else encode(each)
                     for each in victims.pods],
            "NumPDBViolations": 0 if knows_pods else victims.violations_count,
        }
        for name, victims in VICTIMS.items()
    }  # fmt: skip
    assert json.loads(call.body) == {
        "Pod": encode(POD),
        "NodeNameToVictims": None if knows_pods else entries,
        "NodeNameToMetaVictims": entries if knows_pods else None,
    }


# ----------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("managed", "resources", "is_interested"),
    [
        ([], {}, True),
        ([GPU], {}, False),
        ([GPU], {"requests": {GPU: "1"}}, True),
        ([GPU], {"limits": {GPU: "1"}}, True),
        ([GPU], {"requests": {"cpu": "1"}}, False),
        (["example.com/x", GPU], {"requests": {GPU: "1"}}, True),
    ],
)
def test_the_pods_that_concern_an_extender(
    managed: list[str], resources: dict[str, Any], is_interested: bool
) -> None:
    own = settings(managedResources=[{"name": name} for name in managed])
    container = {"name": "c", "image": "i"}
    asking = container | {"resources": resources}
    for spec in (
        {"containers": [container, asking]},
        {"containers": [container], "initContainers": [asking]},
    ):
        assert own.is_interested(make_pod("p", spec=spec)) is is_interested


def test_the_settings_of_a_policy_are_those_of_a_configuration() -> None:
    managed = [{"name": GPU, "ignoredByScheduler": True}, {"name": "example.com/x"}]
    own = settings(
        **VERBS, enableHttps=True, httpTimeout=7, nodeCacheCapable=True, ignorable=True,
        managedResources=managed,
    )  # fmt: skip
    called = called_extender(3, own)
    found = called.settings
    assert called.index == 3
    assert called.managed == frozenset({GPU, "example.com/x"})
    assert (found.url_prefix, found.filter_verb, found.preempt_verb) == ("http://x/", "f", "v")
    assert (found.prioritize_verb, found.bind_verb, found.weight) == ("s", "b", 3)
    assert (found.enable_https, found.http_timeout_ns, found.ignorable) == (True, 7, True)
    assert (found.node_cache_capable, found.tls_config) == (True, None)
    assert [(each.name, each.ignored_by_scheduler) for each in found.managed_resources] == [
        (GPU, True), ("example.com/x", False),
    ]  # fmt: skip
    # Five seconds, unless the policy says otherwise.
    assert called_extender(0, settings()).settings.http_timeout_ns == 5_000_000_000

"""Extenders behind a proxy: the answers that it passes on and keeps."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from podwright.scheduler.config import Extender, ExtenderReply
from podwright.simulation.kss import (
    ExtenderFailed,
    ExtenderProxy,
    UnknownExtender,
)
from podwright.simulation.kss.results import ExtenderAnswer, extender_results

ARGUMENTS = {"Pod": {"metadata": {"name": "web", "namespace": "default"}}, "NodeNames": ["a"]}
KEY = "kube-scheduler-simulator.sigs.k8s.io/extender-prioritize-result"


def test_scores_are_returned_as_they_are_added_and_kept_for_the_pod():
    proxy = ExtenderProxy([Extender(url_prefix="http://x", prioritize_verb="score", weight=3)])
    call = proxy.call(0, "prioritize", json.dumps(ARGUMENTS).encode())
    assert (call.url, call.timeout_ns) == ("http://x/score", 5_000_000_000)
    reply = ExtenderReply(status=200, body=b'[{"Host":"a","Score":2}]')
    assert json.loads(proxy.answered(call, reply)) == [{"Host": "a", "Score": 60}]
    kept = json.loads(proxy.annotations("default/web")[KEY])
    assert kept == {"http://x": [{"Host": "a", "Score": 60}]}
    assert not proxy.annotations("default/other")


@pytest.mark.parametrize(
    "reply",
    [
        ExtenderReply(error="no route to host"),
        ExtenderReply(status=503),
        ExtenderReply(status=200, body=b"no json"),
    ],
)
def test_an_extender_that_does_not_answer(reply):
    proxy = ExtenderProxy([Extender(url_prefix="http://x", prioritize_verb="score", weight=3)])
    call = proxy.call(0, "prioritize", json.dumps(ARGUMENTS).encode())
    with pytest.raises(ExtenderFailed):
        proxy.answered(call, reply)
    assert not proxy.annotations("default/web")


def test_extenders_and_verbs_that_the_configuration_does_not_have():
    proxy = ExtenderProxy([Extender(url_prefix="http://x", prioritize_verb="score", weight=3)])
    for index in (1, -1):
        message = rf"^there is no extenders\[{index}\]: the configuration has 1$"
        with pytest.raises(UnknownExtender, match=message):
            proxy.call(index, "prioritize", b"{}")
    with pytest.raises(UnknownExtender, match=r"extenders\[0\] has no filterVerb"):
        proxy.call(0, "filter", b"{}")


@pytest.mark.parametrize(
    ("arguments", "pod"),
    [
        (ARGUMENTS, "default/web"),
        ({"PodName": "web", "PodNamespace": "shop", "PodUID": "u", "Node": "n"}, "shop/web"),
    ],
)
def test_answers_are_kept_by_the_pod_of_the_arguments(arguments, pod):
    proxy = ExtenderProxy([Extender(url_prefix="http://x", prioritize_verb="score", weight=1)])
    call = proxy.call(0, "prioritize", json.dumps(arguments).encode())
    proxy.answered(call, ExtenderReply(status=200, body=b"[]"))
    assert list(proxy._answers) == [pod]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(ARGUMENTS, id="about a pod"),
        pytest.param({"Pod": None}, id="without a pod"),
        pytest.param({"Pod": {"metadata": None}}, id="about a pod without metadata"),
    ],
)
def test_other_answers_are_returned_as_they_are(arguments):
    proxy = ExtenderProxy([Extender(url_prefix="http://x", filter_verb="f", http_timeout_ns=7)])
    call = proxy.call(0, "filter", json.dumps(arguments).encode())
    assert call.timeout_ns == 7
    body = b'{"NodeNames":["a"], "unknown":1}'
    assert proxy.answered(call, ExtenderReply(status=200, body=body)) == body


@pytest.mark.parametrize(
    ("reply", "arguments", "message"),
    [
        (ExtenderReply(error="no route"), ARGUMENTS, "^no route$"),
        (ExtenderReply(status=200, error="cut off", body=b"[]"), ARGUMENTS, "^cut off$"),
        (ExtenderReply(status=503), ARGUMENTS, "^http://x/score: status 503$"),
        (ExtenderReply(status=200, body=b"[]"), [], "^http://x/score: the arguments are not"),
    ],
)
def test_a_failure_of_an_extender_says_what_failed(reply, arguments, message):
    proxy = ExtenderProxy([Extender(url_prefix="http://x", prioritize_verb="score", weight=1)])
    call = proxy.call(0, "prioritize", json.dumps(arguments).encode())
    with pytest.raises(ExtenderFailed, match=message):
        proxy.answered(call, reply)


def test_the_answers_about_the_oldest_pods_are_discarded(monkeypatch):
    monkeypatch.setattr("podwright.simulation.kss.extender_proxy.PODS_MAX", 2)
    proxy = ExtenderProxy([Extender(url_prefix="http://x", prioritize_verb="score", weight=1)])
    for name in "abca":
        arguments = {"Pod": {"metadata": {"name": name, "namespace": "default"}}}
        call = proxy.call(0, "prioritize", json.dumps(arguments).encode())
        proxy.answered(call, ExtenderReply(status=200, body=b"[]"))
    assert list(proxy._answers) == ["default/c", "default/a"]
    assert len(proxy._answers["default/a"]) == 1


PREFIX = "kube-scheduler-simulator.sigs.k8s.io/extender-"


def answer(verb: Any, value: Any, *, weight: int = 1, **reply: Any) -> ExtenderAnswer:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    fields: dict[str, Any] = {"status": 200, "body": body} | reply
    given = ExtenderReply(**fields)
    return ExtenderAnswer(name="http://x", weight=weight, verb=verb, reply=given)


@pytest.mark.parametrize(
    ("verb", "value", "expected"),
    [
        pytest.param(
            "filter",
            {},
            '{"Nodes":null,"NodeNames":null,"FailedNodes":null,'
            '"FailedAndUnresolvableNodes":null,"Error":""}',
            id="an empty filter result",
        ),
        pytest.param(
            "filter",
            {"FailedNodes": {"b": "x", "a": None}, "NodeNames": ["c", None], "Error": "e"},
            '{"Nodes":null,"NodeNames":["c",""],"FailedNodes":{"a":"","b":"x"},'
            '"FailedAndUnresolvableNodes":null,"Error":"e"}',
            id="names of nodes",
        ),
        pytest.param(
            "filter",
            {"FailedAndUnresolvableNodes": {"b": "x", "a": None}},
            '{"Nodes":null,"NodeNames":null,"FailedNodes":null,'
            '"FailedAndUnresolvableNodes":{"a":"","b":"x"},"Error":""}',
            id="nodes where preemption does not help",
        ),
        pytest.param(
            "filter",
            {"Nodes": {"items": [], "kind": "", "apiVersion": "v1"}},
            '{"Nodes":{"apiVersion":"v1","metadata":{},"items":[]},"NodeNames":null,'
            '"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":""}',
            id="nodes",
        ),
        pytest.param(
            "filter",
            {
                "Nodes": {
                    "items": [{"metadata": {"name": "n1"}}],
                    "metadata": {"resourceVersion": "7"},
                    "apiVersion": "v1",
                    "kind": "NodeList",
                }
            },
            '{"Nodes":{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"7"},'
            '"items":[{"metadata":{"name":"n1"}}]},"NodeNames":null,'
            '"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":""}',
            id="a list of nodes with its type and version",
        ),
        pytest.param(
            "prioritize",
            [{"Host": "b", "Score": 1}, {}],
            '[{"Host":"b","Score":10},{"Host":"","Score":0}]',
            id="scores",
        ),
        pytest.param(
            "prioritize",
            [{"Host": "a", "Score": 2**62 + 2**60}],
            f'[{{"Host":"a","Score":{2**61}}}]',
            id="a score beyond 64 bits",
        ),
        pytest.param("prioritize", None, "null", id="no scores"),
        pytest.param(
            "preempt",
            {
                "NodeNameToMetaVictims": {
                    "b": {"Pods": [{"UID": "u"}, {}, None], "NumPDBViolations": 2},
                    "a": {},
                    "c": None,
                }
            },
            '{"NodeNameToMetaVictims":{"a":{"Pods":null,"NumPDBViolations":0},'
            '"b":{"Pods":[{"UID":"u"},{"UID":""},null],"NumPDBViolations":2},"c":null}}',
            id="victims",
        ),
        pytest.param("preempt", {}, '{"NodeNameToMetaVictims":null}', id="no victims"),
        pytest.param("bind", {}, '{"Error":""}', id="a binding"),
        pytest.param("bind", {"Error": "e"}, '{"Error":"e"}', id="a failed binding"),
    ],
)
def test_answers_are_written_as_their_go_structs(verb, value, expected):
    found = extender_results([answer(verb, value)])
    keys = [f"{PREFIX}{each}-result" for each in ("filter", "prioritize", "preempt", "bind")]
    assert list(found) == keys
    mine = f"{PREFIX}{verb}-result"
    assert found.pop(mine) == f'{{"http://x":{expected}}}'
    assert set(found.values()) == {"{}"}


def test_answers_that_the_original_cannot_read_are_left_out():
    good = answer("bind", {"Error": "e"})
    bad = [
        answer("filter", b"no json"),
        answer("filter", {}, status=500),
        answer("filter", {}, error="cut off"),
        answer("prioritize", {}),
    ]
    assert extender_results(bad) == {}
    assert extender_results([*bad, good]) == extender_results([good])


def test_results_are_in_the_order_of_the_names_of_extenders():
    answers = [
        replace(answer("filter", {}), name=name) for name in ("http://b", "http://a", "http://c")
    ]
    found = json.loads(extender_results(answers)[f"{PREFIX}filter-result"])
    assert list(found) == ["http://a", "http://b", "http://c"]

"""Calls to extenders: their addresses and bodies, how replies are read, and what is recorded.

Upstream: pkg/scheduler/extender.go
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Pod, decode_pod
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import Extender, ExtenderReply, ExtenderVerb
from podwright.scheduler.framework.extenders.extender_calls import (
    Answers,
    CalledExtender,
    ExtenderError,
    MalformedJSON,
    pod_argument,
    read_first_value,
    run_steps,
    typed_field,
)
from podwright.scheduler.framework.extenders.extender_verbs import (
    Binding,
    Survivors,
    bind_steps,
    filter_steps,
    is_bound_by,
    prioritize_steps,
)
from podwright.scheduler.framework.status import Status
from podwright.testing import make_node, make_pod

VERBS: dict[str, Any] = {
    "filter_verb": "sieve",
    "prioritize_verb": "v2/rank",
    "preempt_verb": "evict",
    "bind_verb": "assign",
}


def extender(index: int = 0, prefix: str = "http://e/x", **settings: Any) -> CalledExtender:
    made = Extender(url_prefix=prefix, **(VERBS | {"node_cache_capable": True} | settings))
    return CalledExtender(settings=made, index=index, managed=frozenset())


@pytest.mark.parametrize(
    ("verb", "path"),
    [("filter", "sieve"), ("prioritize", "v2/rank"), ("preempt", "evict"), ("bind", "assign")],
)
@pytest.mark.parametrize("prefix", ["http://e/x", "http://e/x/", "http://e/x//"])
def test_a_call_goes_to_the_path_of_its_verb(verb: ExtenderVerb, path: str, prefix: str) -> None:
    call = extender(3, prefix).call(verb, {"b": 1, "a": 2})
    assert (call.extender, call.verb, call.url) == (3, verb, f"http://e/x/{path}")
    assert call.body == b'{"a":2,"b":1}'
    assert call.timeout_ns == extender().settings.http_timeout_ns


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        pytest.param(ExtenderReply(error="timed out"), "timed out", id="no reply"),
        pytest.param(
            ExtenderReply(status=404, body=b"{}"),
            "failed sieve with extender at URL http://e/x/sieve, code 404",
            id="another status than 200",
        ),
        pytest.param(
            ExtenderReply(status=201, body=b"{}"),
            "failed sieve with extender at URL http://e/x/sieve, code 201",
            id="even if it says that all went well",
        ),
        pytest.param(
            ExtenderReply(status=200, body=b""),
            'extender "http://e/x" gives a malformed answer to filter: EOF',
            id="an empty body",
        ),
    ],
)
def test_a_call_that_failed(reply: ExtenderReply, error: str) -> None:
    one = extender()
    with pytest.raises(ExtenderError) as caught:
        one.answer(one.call("filter", {}), reply)
    assert str(caught.value) == error


@pytest.mark.parametrize(
    ("body", "value"),
    [
        pytest.param(b' \t\r\n{"a": 1} rest', {"a": 1}, id="between spaces and a rest"),
        pytest.param(b"null", None, id="null"),
        pytest.param(b"[1]\n", [1], id="a list"),
        pytest.param(b'"\xff"', "�", id="bytes that are not UTF-8"),
    ],
)
def test_the_first_value_of_a_reply_is_read(body: bytes, value: object) -> None:
    assert read_first_value(body) == value


MANAGED = {"metadata": {"name": "a", "labels": {"app": "web"}, "managedFields": [{"manager": "m"}]}}


def test_a_pod_is_sent_without_its_managed_fields() -> None:
    pod = decode_pod({"apiVersion": "v1", "kind": "Pod", "spec": {"priority": 3}} | MANAGED)
    sent = pod_argument(pod)
    assert sent["metadata"]["name"] == "a"
    assert sent["metadata"]["labels"] == {"app": "web"}
    assert "managedFields" not in sent["metadata"]
    assert sent["spec"] == {"priority": 3}
    plain = decode_pod({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}, "spec": {}})
    assert pod_argument(plain)["metadata"] == {"name": "b", "namespace": "default"}


def replies(*bodies: Any) -> Callable[[object], ExtenderReply]:
    """Return a caller that gives one reply after the other; an integer is a status."""
    left = iter(bodies)

    def call(_call: object) -> ExtenderReply:
        body = next(left)
        if isinstance(body, int):
            return ExtenderReply(status=body)
        return ExtenderReply(status=200, body=json.dumps(body).encode())

    return call


def nodes_of(*names: str) -> Any:
    cluster = Cluster()
    for name in names:
        cluster.put(make_node(name))
    return cluster.nodes


def test_results_are_in_the_order_of_the_configuration_however_they_were_called() -> None:
    # Ignorable extenders are called last.
    called = (extender(2), extender(0, ignorable=True), extender(1, ignorable=True))
    answers, found = Answers(), Survivors(("a", "b", "c"))
    statuses: dict[str, Status] = {}
    nodes = nodes_of(*found.names)
    steps = filter_steps(called, make_pod("p"), found, nodes, statuses, answers)
    call = replies({"NodeNames": ["b", "a"], "FailedNodes": {"c": "no"}}, 500, {"NodeNames": ["a"]})
    assert run_steps(steps, call) == Survivors(("a",))
    assert [one.index for one in answers.all()] == [0, 1, 2]
    ignored, last, first = answers.all()
    assert (first.candidates, first.kept) == (("a", "b", "c"), ("b", "a"))
    assert (ignored.candidates, ignored.kept) == (("b", "a"), ("b", "a"))
    assert ignored.errors == ["failed sieve with extender at URL http://e/x/sieve, code 500"]
    assert (last.candidates, last.kept) == (("b", "a"), ("a",))
    assert {name: status.message for name, status in first.rejected.items()} == {"c": "no"}
    assert statuses == first.rejected
    assert [one.url for one in answers.all()] == ["http://e/x"] * 3


@pytest.mark.parametrize(
    ("names", "errors"),
    [
        pytest.param(
            ["a"],
            ["NodeNames in the reply have no effect without nodeCacheCapable: true"],
            id="names",
        ),
        pytest.param(None, [], id="neither form"),
    ],
)
def test_names_from_an_extender_that_must_return_nodes_are_remarked(names, errors) -> None:
    answers, found = Answers(), Survivors(("a", "b"))
    called = (extender(0, node_cache_capable=False),)
    steps = filter_steps(called, make_pod("p"), found, nodes_of("a", "b"), {}, answers)
    assert run_steps(steps, replies({"NodeNames": names})) == Survivors(())
    assert [one.errors for one in answers.all()] == [errors]


def test_scores_and_errors_of_each_extender_are_kept() -> None:
    none_at_all = extender(3)
    called = (extender(0, weight=2), extender(1), extender(2, prioritize_verb=""), none_at_all)
    answers = Answers()
    steps = prioritize_steps(
        called, make_pod("p"), Survivors(("a", "b")), nodes_of("a", "b"), answers
    )
    call = replies([{"Host": "a", "Score": 3}, {"Host": "gone", "Score": 1}], {"no": "list"}, None)
    assert run_steps(steps, call) == {"a": 60, "gone": 20, "b": 0}
    found = answers.all()
    assert [one.scores for one in found] == [{"a": 60, "gone": 20}, {}, {"a": 0, "b": 0}, {}]
    assert [one.errors for one in found] == [
        [],
        [
            'extender "http://e/x" gives a malformed answer to prioritize:'
            " must be a list of Host and Score"
        ],
        [],
        [],
    ]


def managing(resource: str, **settings: Any) -> CalledExtender:
    return msgspec.structs.replace(extender(**settings), managed=frozenset({resource}))


@pytest.mark.parametrize(
    ("called", "answers", "binding"),
    [
        pytest.param((), (), Binding(by_extender=False), id="no extender"),
        pytest.param(
            (extender(bind_verb=""),), (), Binding(by_extender=False), id="one that does not bind"
        ),
        pytest.param(
            (managing("x.io/a"), extender()),
            ({},),
            Binding(by_extender=True),
            id="the first that is interested",
        ),
        pytest.param(
            (extender(), extender(1)),
            ({"Error": "no"},),
            Binding(by_extender=True, error="no"),
            id="no other one after an error",
        ),
        pytest.param(
            (extender(ignorable=True), extender(1)),
            ({"Error": "no"}, {}),
            Binding(by_extender=True, ignored=("no",)),
            id="the next after one that may be ignored",
        ),
        pytest.param(
            (extender(ignorable=True),),
            (500,),
            Binding(
                by_extender=False,
                ignored=("failed assign with extender at URL http://e/x/assign, code 500",),
            ),
            id="none after it",
        ),
        pytest.param(
            (extender(),),
            ({"Error": 7},),
            Binding(
                by_extender=True,
                error='extender "http://e/x" gives a malformed answer to bind:'
                " ExtenderBindingResult.Error: must be a string, not a number",
            ),
            id="a reply of another shape",
        ),
    ],
)
def test_which_extender_binds(
    called: tuple[CalledExtender, ...], answers: tuple[Any, ...], binding: Binding
) -> None:
    pod: Pod = make_pod("p", cpu="1")
    bodies: list[bytes] = []
    answer = replies(*answers)

    def call(made: Any) -> ExtenderReply:
        bodies.append(made.body)
        return answer(made)

    assert run_steps(bind_steps(called, pod, "n1"), call) == binding
    assert len(bodies) == len(answers)
    for body in bodies:
        assert json.loads(body) == {
            "PodName": "p", "PodNamespace": "default", "PodUID": pod.metadata.uid, "Node": "n1",
        }  # fmt: skip
    assert is_bound_by(called, pod) is bool(answers)


# -------------------------------------------------------------------- JSON as Go reads it


@pytest.mark.parametrize("body", [b"", b" ", b"{", b"<html>", b"NaN", b"[" * 100_000])
def test_a_body_that_is_not_json_is_an_error(body: bytes) -> None:
    with pytest.raises(MalformedJSON):
        read_first_value(body)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        pytest.param({"Score": 1}, 1, id="the name of the field"),
        pytest.param({"SCORE": 1}, 1, id="in another case"),
        pytest.param({"Score": 1, "score": 2}, 2, id="the last one counts"),
        pytest.param({"SCORE": 2, "Score": 1}, 1, id="whichever it is"),
        pytest.param({"Scores": 1}, None, id="another name"),
        pytest.param({"Score": None}, None, id="null"),
        pytest.param({}, None, id="absent"),
        pytest.param(None, None, id="no object"),
    ],
)
def test_fields_are_matched_as_go_matches_them(answer: Any, value: int | None) -> None:
    """Upstream: Go's encoding/json/decode.go, object, which folds the case of names."""
    assert typed_field(answer, "HostPriority", "Score", int) == value


@pytest.mark.parametrize("answer", [{"Score": True}, {"Score": 1.0}, {"Score": 2**63}, [], 7])
def test_fields_of_another_type_are_errors(answer: Any) -> None:
    with pytest.raises(MalformedJSON, match="HostPriority"):
        typed_field(answer, "HostPriority", "Score", int)

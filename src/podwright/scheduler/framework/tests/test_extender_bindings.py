"""Bindings by extenders."""

import json

import pytest

from podwright.scheduler.config import ExtenderReply
from podwright.scheduler.framework.extenders.extender_calls import extenders_of, run_steps
from podwright.scheduler.framework.extenders.extender_verbs import bind_steps, is_bound_by
from podwright.scheduler.framework.tests.test_extenders import NAMES, Answering, configured
from podwright.testing import make_pod


@pytest.mark.parametrize(
    ("settings", "reply", "by_extender", "error"),
    [
        ({}, ExtenderReply(status=200, body=b"{}"), True, ""),
        ({}, ExtenderReply(status=200, body=b'{"Error": "no"}'), True, "no"),
        ({}, ExtenderReply(error="timed out"), True, "timed out"),
        ({"ignorable": True}, ExtenderReply(error="timed out"), False, ""),
        ({"ignorable": True}, ExtenderReply(status=200, body=b"{}"), True, ""),
    ],
)
def test_an_extender_binds(settings, reply, by_extender, error):
    configuration, _ = configured({"bindVerb": "bind"} | settings)
    extenders = extenders_of(configuration)
    pod = make_pod("web")
    answering = Answering(reply)
    assert is_bound_by(extenders, pod)
    binding = run_steps(bind_steps(extenders, pod, "n1"), answering)
    assert (binding.by_extender, binding.error) == (by_extender, error)
    body = json.loads(answering.calls[0].body)
    assert body == {
        "PodName": "web",
        "PodNamespace": "default",
        "PodUID": pod.uid,
        "Node": "n1",
    }


@pytest.mark.parametrize(
    ("settings", "binds"),
    [
        pytest.param(({"bindVerb": "bind"},), True, id="an extender with the verb"),
        pytest.param((NAMES,), False, id="one without"),
        pytest.param((NAMES, {"bindVerb": "bind"}), True, id="one of several"),
        pytest.param(
            ({"bindVerb": "bind", "managedResources": [{"name": "x.io/a"}]},),
            False,
            id="one that is not interested",
        ),
    ],
)
def test_an_extender_with_a_bind_verb_binds_the_pods_of_its_interest(settings, binds):
    configuration, _ = configured(*settings)
    extenders = extenders_of(configuration)
    assert is_bound_by(extenders, make_pod("web")) is binds
    answering = Answering(*[ExtenderReply(status=200, body=b"{}")] * len(extenders))
    binding = run_steps(bind_steps(extenders, make_pod("web"), "n1"), answering)
    assert (binding.by_extender, binding.error, binding.ignored) == (binds, "", ())
    assert [call.verb for call in answering.calls] == ["bind"] * binds

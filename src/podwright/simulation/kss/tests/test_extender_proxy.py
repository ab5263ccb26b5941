"""Extenders behind a proxy: the answers that it passes on and keeps."""

from __future__ import annotations

import json

import pytest

from podwright.scheduler.config import Extender, ExtenderReply
from podwright.simulation.kss import (
    ExtenderFailed,
    ExtenderProxy,
    UnknownExtender,
)

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
    with pytest.raises(UnknownExtender, match=r"no extenders\[1\]"):
        proxy.call(1, "prioritize", b"{}")
    with pytest.raises(UnknownExtender, match=r"extenders\[0\] has no filterVerb"):
        proxy.call(0, "filter", b"{}")

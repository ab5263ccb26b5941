"""The latency of the Kubernetes API."""

import time

import pytest

from podwright.online.apiserver.tests.conftest import cluster_of, pod, request
from podwright.online.apiserver.wire.latency import ApiLatency, LatencyRule, read_latency_rule

LATENCY = "/podwright/v1/latency"
PODS = "/api/v1/namespaces/default/pods"
WIDGETS = "/apis/example.com/v1/widgets"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("50ms", LatencyRule("*", "*", 50_000_000)),
        ("list=1s", LatencyRule("list", "*", 1_000_000_000)),
        ("create:pods/binding=2ms", LatencyRule("create", "pods/binding", 2_000_000)),
        ("*:widgets.example.com=0", LatencyRule("*", "widgets.example.com", 0)),
        ("*:*=1m", LatencyRule("*", "*", 60_000_000_000)),
        ("*=1ms", LatencyRule("*", "*", 1_000_000)),
    ],
)
def test_a_rule_is_read(text, rule):
    assert read_latency_rule(text) == rule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("soon", 'invalid duration "soon"'),
        ("-5ms", "must not be negative"),
        ("2m", "at most one minute"),
        ("=5ms", "is not DURATION, VERB=DURATION or VERB:RESOURCE=DURATION"),
        ("get:=5ms", "is not DURATION, VERB=DURATION or VERB:RESOURCE=DURATION"),
        ("gett=5ms", 'did you mean "get"?'),
        ("get:pod=5ms", 'did you mean "pods"?'),
        ("get:pods/bind=5ms", 'has no subresource "bind"'),
        ("get:configmaps/status=5ms", "it has none"),
        ("get:nodes/x=5ms", '"nodes" has no subresource "x": it has proxy, status'),
        ("1m1ns", "at most one minute"),
    ],
)
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        read_latency_rule(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("method", "path", "seconds"),
    [
        ("GET", PODS, 0.01),
        ("GET", f"{PODS}/web", 0.05),
        ("POST", PODS, 0.02),
        ("POST", f"{PODS}/web/binding", 0.03),
        ("GET", WIDGETS, 0.04),
        ("PUT", f"{WIDGETS}/web/status", 0.06),
        ("PATCH", f"{WIDGETS}/web/status", 0.06),
        ("PATCH", "/apis/other.io/v1/widgets/web", 0.05),
        ("DELETE", PODS, 0.07),
        ("DELETE", f"{PODS}/web", 0.05),
        ("GET", f"{PODS}/web/binding", 0.05),
        ("GET", "/healthz", 0),
    ],
)
def test_the_last_matching_rule_applies(method, path, seconds):
    texts = ("50ms", "list=10ms", "create:pods=20ms", "create:pods/binding=30ms",
             "*:widgets.example.com=40ms", "*:widgets.example.com/status=60ms",
             "deletecollection=70ms")  # fmt: skip
    latency = ApiLatency(map(read_latency_rule, texts))
    assert latency.delay_seconds(request(method, path)) == seconds


def test_requests_are_delayed_and_the_rules_can_be_replaced(serve):
    latency = ApiLatency([read_latency_rule("create:pods=300ms")])
    served = serve(cluster_of(), latency=latency)
    assert served.send("GET", LATENCY) == (200, {"rules": ["create:pods=300ms"]})
    began = time.monotonic()
    assert served.send("POST", PODS, pod("web"))[0] == 201
    assert time.monotonic() - began >= 0.3
    sent = {"rules": ["list=2s", "create:pods/binding=2s", "*:nodes=2s", "1ms"]}
    assert served.send("PUT", LATENCY, sent) == (200, sent)
    assert latency.delay_seconds(request("GET", PODS)) == 0.001
    status, found = served.send("PUT", LATENCY, {"rules": ["1ms", "lst=1ms"]})
    assert (status, found["field"]) == (422, "rules[1]")
    assert served.send("GET", LATENCY)[1] == sent

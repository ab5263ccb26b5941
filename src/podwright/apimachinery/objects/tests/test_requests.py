import gzip
import json
from pathlib import Path

import pytest

from podwright.apimachinery.objects import (
    assigned_requests,
    decode_pod,
    has_actual_resources,
    non_zero_requests,
    pending_requests,
    score_requests_balanced,
    score_requests_fit,
)
from podwright.apimachinery.objects.pods.requests import request_key

VECTORS = Path(__file__).parents[5] / "tests" / "golden" / "vectors" / "pod_requests.jsonl.gz"


def container(name, restart_policy=None, **requests):
    policy = {"restartPolicy": restart_policy} if restart_policy else {}
    return {"name": name, "resources": {"requests": requests}} | policy


@pytest.mark.parametrize(
    ("spec", "requests"),
    [
        pytest.param({"containers": []}, {}, id="no containers, no requests"),
        pytest.param(
            {"containers": [container("a", cpu="0", memory="9007199254740993")]},
            {"memory": 2**53 + 1},
            id="a large amount is exact, and zero is none",
        ),
        pytest.param(
            {"containers": [container("a", memory="9007199254740992"), container("b", memory="1")]},
            {"memory": 2**53 + 1},
            id="so is a large sum",
        ),
        pytest.param(
            {"containers": [container("a", memory="8Ei"), container("b", memory="8Ei")]},
            {"memory": -2},
            id="a sum beyond 64 bits wraps around",
        ),
        pytest.param(
            {"containers": [container("a", cpu="1n"), container("b", cpu="1n")]},
            {"cpu": 1},
            id="sums are rounded once",
        ),
        pytest.param(
            {
                "containers": [container("a", cpu="1")],
                "initContainers": [container("i", cpu="3"), container("j", cpu="2")],
            },
            {"cpu": 3000},
            id="init containers run one after the other",
        ),
        pytest.param(
            {
                "containers": [container("a", cpu="1")],
                "initContainers": [
                    container("i", cpu="3"),
                    container("s", "Always", cpu="1"),
                    container("j", cpu="3"),
                ],
            },
            {"cpu": 4000},
            id="a sidecar counts beside the init containers after it",
        ),
        pytest.param(
            {
                "containers": [container("a", cpu="1", memory="1Gi")],
                "resources": {"requests": {"cpu": "4"}},
                "overhead": {"cpu": "250m"},
            },
            {"cpu": 4250, "memory": 2**30},
            id="pod-level requests replace their resources, and overhead is added",
        ),
        pytest.param(
            {
                "containers": [container("a", **{"example.com/gpu": "1"})],
                "resources": {
                    "requests": {"cpu": "2", "hugepages-2Mi": "4Mi", "example.com/gpu": "9"}
                },
            },
            {"cpu": 2000, "hugepages-2Mi": 4 * 2**20, "example.com/gpu": 1},
            id="a pod requests cpu, memory and huge pages, and nothing else",
        ),
        pytest.param(
            {"containers": [container("a", **{"example.com/gpu": "0"})]},
            {},
            id="zeros are omitted",
        ),
    ],
)
def test_pending_requests(spec, requests):
    assert pending_requests(decode_pod({"spec": spec})) == requests


@pytest.mark.parametrize(
    ("status", "cpu"),
    [
        pytest.param({"allocatedResources": {"cpu": "4"}}, 2000, id="only allocated: no resize"),
        pytest.param({"resources": {"requests": {"cpu": "3"}}}, 3000, id="more than requested"),
        pytest.param(
            {"resources": {}, "allocatedResources": {"cpu": "4"}}, 4000, id="more is allocated"
        ),
    ],
)
def test_pod_level_resources_of_a_resized_pod(status, cpu):
    """Upstream: component-helpers/resource/helpers.go, PodRequests."""
    spec = {"containers": [container("a")], "resources": {"requests": {"cpu": "2"}}}
    assert assigned_requests(decode_pod({"spec": spec, "status": status})) == {"cpu": cpu}


def test_a_status_has_no_pod_level_resources_that_the_spec_does_not_request():
    """Upstream: component-helpers/resource/helpers.go, PodRequests."""
    spec = {"containers": [container("a", cpu="1")], "resources": {"requests": {"memory": "1"}}}
    status = {"resources": {"requests": {"cpu": "8", "memory": "2"}}}
    requests = assigned_requests(decode_pod({"spec": spec, "status": status}))
    assert requests == {"cpu": 1000, "memory": 2}


@pytest.mark.golden
def test_requests_equal_upstreams():
    n_pods = 0
    for line in gzip.decompress(VECTORS.read_bytes()).splitlines():
        case = json.loads(line)
        pod = decode_pod(case["pod"])
        n_pods += 1
        fit, balanced = score_requests_fit(pod), score_requests_balanced(pod)
        assert {
            "assigned": assigned_requests(pod),
            "filter": pending_requests(pod),
            "non_zero": non_zero_requests(pod),
            "score_fit": {name: fit[name] for name in ("cpu", "memory")},
            "score_balanced": {name: balanced[name] for name in ("cpu", "memory")},
        } == case["expect"], case["id"]
    assert n_pods == 400


RESIZED = {"requests": {"cpu": "3"}}


@pytest.mark.parametrize(
    ("status", "milli_cpu"),
    [
        pytest.param({"allocatedResources": {"cpu": "8"}}, 2000, id="not without actual resources"),
        pytest.param(
            {"allocatedResources": {"cpu": "8"}, "resources": RESIZED}, 8000, id="the greatest"
        ),
        pytest.param({"resources": {"requests": {"memory": "1Gi"}}}, 2000, id="the spec's"),
        pytest.param(
            {
                "resources": {"requests": {"memory": "1Gi"}},
                "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
            },
            0,
            id="nothing that is infeasible and not reported",
        ),
    ],
)
def test_pod_level_requests_during_a_resize(status, milli_cpu):
    spec = {"containers": [container("c", cpu="1")], "resources": {"requests": {"cpu": "2"}}}
    pod = decode_pod({"metadata": {"name": "a"}, "spec": spec, "status": status})
    assert assigned_requests(pod).get("cpu", 0) == milli_cpu
    assert "memory" not in assigned_requests(pod)


def test_huge_requests_overflow_as_quantities_do():
    containers = [container("a", memory="12E"), container("b", memory="1")]
    pod = decode_pod({"metadata": {"name": "a"}, "spec": {"containers": containers}})
    assert pending_requests(pod) == {"memory": 12 * 10**18 + 1 - 2**64}
    alone = decode_pod({"metadata": {"name": "a"}, "spec": {"containers": containers[:1]}})
    assert pending_requests(alone) == {}


def test_a_huge_request_that_is_compared_with_a_decimal_becomes_one():
    spec = {
        "containers": [container("a", memory="1.5Gi")],
        "initContainers": [container("i", memory="12E")],
    }
    pod = decode_pod({"metadata": {"name": "a"}, "spec": spec})
    assert pending_requests(pod) == {"memory": 12 * 10**18 - 2**64}


def running(cpu="1", **status):
    statuses = [{"name": "a", "resources": {"requests": {"cpu": cpu}}}]
    return decode_pod(
        {
            "metadata": {"name": "p"},
            "spec": {"containers": [container("a", cpu="1")]},
            "status": {"phase": "Running", "containerStatuses": statuses} | status,
        }
    )


def test_running_pods_of_a_template_have_one_request_key():
    started = (running(startTime=f"2026-01-01T00:00:0{second}Z") for second in range(2))
    assert len({request_key(pod) for pod in started}) == 1


def test_what_a_resize_changes_is_in_the_request_key():
    infeasible = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
    half = running("500m"), running("500m", conditions=infeasible)
    pods = running(), running("2"), *half, running(resources={})
    assert len({request_key(pod) for pod in pods}) == len(pods)
    # An infeasible resize does not matter to a pod that occupies what its spec requests.
    assert request_key(running(conditions=infeasible)) == request_key(running())


@pytest.mark.parametrize(
    ("status", "is_other"),
    [
        pytest.param({"resources": {"requests": {"cpu": "1"}}}, False, id="as specified"),
        pytest.param({"allocatedResources": {"cpu": "2"}}, False, id="without actual ones"),
        pytest.param(
            {"resources": {"requests": {"cpu": "1"}}, "allocatedResources": {"cpu": "1"}},
            False,
            id="both as specified",
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": "1"}}, "allocatedResources": {"cpu": "2"}},
            True,
            id="others are allocated",
        ),
        pytest.param({"resources": {"requests": {"cpu": "2"}}}, True, id="others are actual"),
        pytest.param({"resources": {}}, True, id="fewer are actual"),
        pytest.param(
            {"name": "b", "resources": {"requests": {"cpu": "1"}}}, True, id="no such container"
        ),
    ],
)
@pytest.mark.parametrize("kind", ["containerStatuses", "initContainerStatuses"])
def test_a_status_with_the_resources_of_the_spec_changes_nothing(status, is_other, kind):
    one = [container("a", cpu="1")]
    spec = {"containers": one, "initContainers": one}
    document = {"metadata": {"name": "p"}, "spec": spec, "status": {kind: [{"name": "a"} | status]}}
    assert has_actual_resources(decode_pod(document)) is is_other


def test_amounts_beyond_53_bits_count_beside_the_defaults_of_missing_ones():
    containers = [container("a", memory=str(2**54)), container("b", cpu="1")]
    found = non_zero_requests(
        decode_pod({"metadata": {"name": "x"}, "spec": {"containers": containers}})
    )
    assert found == {"cpu": 100 + 1000, "memory": 2**54 + 200 * 1024 * 1024}


@pytest.mark.parametrize(
    ("cpu", "memory", "requests"),
    [
        pytest.param("1n", "1n", {"cpu": 1, "memory": 1}, id="the least amount is one"),
        pytest.param("1500u", "1500m", {"cpu": 2, "memory": 2}, id="half a unit more"),
        pytest.param("2m", "2", {"cpu": 2, "memory": 2}, id="whole units"),
        pytest.param("0", "0", {}, id="nothing"),
        pytest.param("-1n", "-1n", {"cpu": -1, "memory": -1}, id="a negative amount"),
        pytest.param("-1500u", "-1500m", {"cpu": -2, "memory": -2}, id="away from zero"),
        pytest.param("-1", "-1", {"cpu": -1000, "memory": -1}, id="a negative unit"),
    ],
)
def test_amounts_are_rounded_away_from_zero(cpu, memory, requests):
    spec = {"containers": [container("a", cpu=cpu, memory=memory)]}
    assert pending_requests(decode_pod({"metadata": {"name": "p"}, "spec": spec})) == requests

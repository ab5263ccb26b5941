"""LimitRanger completes containers, and rejects pods and claims out of bounds."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.api.endpoints.tests.conftest import pod

PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


def limit(server: Any, *items: dict[str, Any]) -> None:
    body = {"metadata": {"name": "limits"}, "spec": {"limits": list(items)}}
    status, made = server.reply("POST", "/api/v1/namespaces/default/limitranges", body)
    assert status == 201, made


def container(name: str = "c", **resources: Any) -> dict[str, Any]:
    return {"name": name, "image": "app:1", "resources": resources}


def test_containers_get_defaults_and_the_pod_says_so(server):
    limit(
        server,
        {
            "type": "Container",
            "default": {"cpu": "500m", "memory": "1Gi"},
            "defaultRequest": {"cpu": "100m"},
        },
    )
    given = pod(
        "web", containers=[container(limits={"cpu": "300m"})], initContainers=[container("i")]
    )
    _, made = server.reply("POST", PODS, given)
    assert made["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "300m", "memory": "1Gi"},
        "requests": {"cpu": "300m", "memory": "1Gi"},
    }
    assert made["spec"]["initContainers"][0]["resources"]["requests"]["cpu"] == "100m"
    assert made["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: memory request for container c; memory limit for container c;"
        " cpu, memory request for init container i; cpu, memory limit for init container i"
    )


def test_requests_that_containers_get_are_defaults_of_their_pod_without_an_owner(server):
    limit(server, {"type": "Container", "defaultRequest": {"cpu": "100m", "memory": "64Mi"}})
    given = pod("web", containers=[container(), container("d")], resources={"limits": {"cpu": "1"}})
    _, made = server.reply("POST", PODS, given)
    assert made["spec"]["resources"] == {
        "limits": {"cpu": "1"},
        "requests": {"cpu": "1", "memory": "128Mi"},
    }
    (owned,) = made["metadata"]["managedFields"]
    assert owned["fieldsV1"]["f:spec"]["f:resources"]["f:requests"] == {".": {}, "f:cpu": {}}
    assert server.reply("GET", f"{PODS}/web")[1]["spec"] == made["spec"]


@pytest.mark.parametrize(
    ("item", "resources", "message"),
    [
        pytest.param(
            {"type": "Pod", "min": {"cpu": "1"}},
            {},
            "minimum cpu usage per Pod is 1.  No request is specified",
            id="a minimum without a request",
        ),
        pytest.param(
            {"type": "Container", "max": {"example.com/x": "2"}},
            {"limits": {"example.com/x": "3"}},
            "maximum example.com/x usage per Container is 2, but limit is 3",
            id="a limit above the maximum",
        ),
        pytest.param(
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "2500m"}},
            {"limits": {"cpu": "3"}, "requests": {"cpu": "1"}},
            "cpu max limit to request ratio per Container is 2500m, but provided ratio is 3.000000",
            id="a ratio with a fraction",
        ),
        pytest.param(
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "1"}},
            "cpu max limit to request ratio per Container is 2, but no limit is specified or limit"
            " is 0",
            id="a ratio without a limit",
        ),
        pytest.param(
            {"type": "Pod", "max": {"memory": "1Gi"}, "min": {"cpu": "1"}},
            {"requests": {"cpu": "400m"}, "limits": {"cpu": "2", "memory": "2Gi"}},
            "[minimum cpu usage per Pod is 1, but request is 400m, maximum memory usage per Pod is"
            " 1Gi, but limit is 2Gi]",
            id="two bounds of the whole pod",
        ),
    ],
)
def test_a_pod_out_of_bounds_is_forbidden(server, item, resources, message):
    limit(server, item)
    status, error = server.reply("POST", PODS, pod("web", containers=[container(**resources)]))
    assert (status, error["message"]) == (403, f'pods "web" is forbidden: {message}')
    assert error["details"] == {"name": "web", "kind": "pods"}


def test_init_containers_count_as_the_largest_step(server):
    limit(server, {"type": "Pod", "max": {"cpu": "1"}})
    steps = [container(name, limits={"cpu": "1"}) for name in ("a", "b")]
    spec = {"containers": [container(limits={"cpu": "800m"})], "initContainers": steps}
    assert server.reply("POST", PODS, pod("fits", **spec))[0] == 201
    steps[0]["restartPolicy"] = "Always"
    status, error = server.reply("POST", PODS, pod("not", **spec))
    assert (status, error["message"].endswith("is 1, but limit is 2")) == (403, True)


@pytest.mark.parametrize(
    ("storage", "message"),
    [
        pytest.param(
            "1Gi", "minimum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Gi"
        ),
        pytest.param(
            "5Gi", "maximum storage usage per PersistentVolumeClaim is 4Gi, but request is 5Gi"
        ),
    ],
    ids=["below the minimum", "above the maximum"],
)
def test_a_claim_out_of_bounds_is_forbidden(server, storage, message):
    bounds = {"min": {"storage": "2Gi"}, "max": {"storage": "4Gi"}}
    limit(server, {"type": "PersistentVolumeClaim", **bounds})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    status, error = server.reply("POST", CLAIMS, {"metadata": {"name": "c"}, "spec": spec})
    assert (status, error["message"]) == (
        403,
        f'persistentvolumeclaims "c" is forbidden: {message}',
    )


@pytest.mark.parametrize(
    ("item", "spec", "message"),
    [
        pytest.param(
            {"min": {"memory": "100Mi"}},
            {"containers": [
                container("a", requests={"memory": "100Mi"}),
                container("b", limits={"memory": "50Mi"}),
            ]},
            "minimum memory usage per Pod is 100Mi, but limit is 50Mi",
            id="limits below the minimum",
        ),
        pytest.param(
            {"max": {"memory": "100Mi"}},
            {"containers": [
                container("a", requests={"memory": "80Mi"}),
                container("b", limits={"memory": "50Mi"}),
            ]},
            "maximum memory usage per Pod is 100Mi, but request is 130Mi",
            id="requests above the maximum",
        ),
        pytest.param(
            {"max": {"cpu": "1"}},
            {
                "containers": [container(limits={"cpu": "800m"})],
                "initContainers": [
                    container("s", limits={"cpu": "400m"}) | {"restartPolicy": "Always"}
                ],
            },
            "maximum cpu usage per Pod is 1, but limit is 1200m",
            id="a sidecar",
        ),
        pytest.param(
            {"max": {"cpu": "1"}},
            {
                "containers": [container(limits={"cpu": "800m"})],
                "resources": {"limits": {"cpu": "3"}},
            },
            "maximum cpu usage per Pod is 1, but limit is 3",
            id="resources of the pod as a whole",
        ),
    ],
)  # fmt: skip
def test_the_sums_of_a_pod_are_bounded(server, item, spec, message):
    limit(server, {"type": "Pod", **item})
    status, error = server.reply("POST", PODS, pod("web", **spec))
    assert (status, message in error["message"]) == (403, True), error["message"]


def test_a_claim_that_terminates_is_not_limited(server):
    body = {
        "metadata": {"name": "c", "finalizers": ["example.com/hold"]},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    assert server.reply("POST", CLAIMS, body)[0] == 201
    limit(server, {"type": "PersistentVolumeClaim", "min": {"storage": "2Gi"}})
    patch = {"metadata": {"labels": {"a": "b"}}}
    assert server.patch(f"{CLAIMS}/c", patch)[0] == 403
    server.reply("DELETE", f"{CLAIMS}/c")
    assert server.patch(f"{CLAIMS}/c", patch)[0] == 200


def test_a_changed_pod_is_not_limited_but_a_resized_one_is(server):
    given = pod("web", containers=[container(limits={"cpu": "1"})])
    server.reply("POST", PODS, given)
    limit(server, {"type": "Container", "max": {"cpu": "500m"}})
    assert server.patch(f"{PODS}/web", {"metadata": {"labels": {"a": "b"}}})[0] == 200
    body = {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}]}}
    kind = "strategic-merge-patch+json"
    assert server.patch(f"{PODS}/web/resize", body, kind)[0] == 403


def test_a_limit_range_without_a_name_is_named_by_a_uid(server):
    path = "/api/v1/namespaces/default/limitranges"
    status, made = server.reply("POST", path, {"spec": {"limits": []}})
    assert (status, made["metadata"]["name"]) == (201, made["metadata"]["uid"])
    assert made["spec"] == {"limits": None}


def test_a_rejected_object_without_a_name_is_unknown(server):
    given = pod("web", priorityClassName="nosuch") | {"metadata": {}}
    _, error = server.reply("POST", PODS, given)
    assert error["message"].startswith('pods "Unknown" is forbidden: no PriorityClass')
    assert error["details"]["name"] == "Unknown"


def test_init_containers_have_defaults_and_bounds_of_their_own(server):
    limit(
        server,
        {
            "type": "Container",
            "default": {"cpu": "500m"},
            "defaultRequest": {"cpu": "100m"},
            "max": {"cpu": "1"},
            "min": {"cpu": "50m"},
            "maxLimitRequestRatio": {"cpu": "5"},
        },
    )
    spec = {"containers": [container()], "initContainers": [container("i")]}
    _, made = server.reply("POST", PODS, pod("a", **spec))
    expected = {"limits": {"cpu": "500m"}, "requests": {"cpu": "100m"}}
    assert made["spec"]["containers"][0]["resources"] == expected
    assert made["spec"]["initContainers"][0]["resources"] == expected
    for limits, requests, part in (
        ("2", "1", "maximum cpu usage per Container is 1, but limit is 2"),
        ("50m", "10m", "minimum cpu usage per Container is 50m, but request is 10m"),
        ("1", "100m", "cpu max limit to request ratio per Container is 5, but provided ratio is"),
    ):
        resources = {"limits": {"cpu": limits}, "requests": {"cpu": requests}}
        spec["initContainers"] = [container("i", **resources)]
        status, error = server.reply("POST", PODS, pod("b", **spec))
        assert status == 403
        assert part in error["message"]


def test_the_bounds_themselves_are_within_bounds(server):
    bounds = {"max": {"cpu": "1"}, "min": {"cpu": "500m"}, "maxLimitRequestRatio": {"cpu": "2"}}
    limit(server, {"type": "Container", **bounds}, {"type": "Pod", **bounds})
    resources = {"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}}
    assert server.reply("POST", PODS, pod("a", containers=[container("c", **resources)]))[0] == 201


@pytest.mark.parametrize(
    ("least", "requested", "status"),
    [
        ("2", "1500m", 403),
        ("2", "2", 201),
        # Amounts whose thousandths are no int64 are compared as whole numbers, rounded up.
        ("10000000000000000", "9999999999999999500m", 201),
        ("10000000000000000", "9999999999999999", 403),
    ],
)
def test_the_least_amount_is_compared_in_thousandths_if_these_fit(server, least, requested, status):
    limit(server, {"type": "Container", "min": {"cpu": least}})
    given = pod("web", containers=[container(requests={"cpu": requested})])
    found, made = server.reply("POST", PODS, given)
    assert found == status, made

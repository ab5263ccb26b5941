"""Advice for pods whose claims of devices cannot be allocated."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Object, Pod, ResourceClaim, decode_pod, encode
from podwright.apimachinery.schema import decode
from podwright.scheduler.advice import Advice, NearNode, Remedy, device_refusals
from podwright.scheduler.advice.device_refusals import DeviceRefusals
from podwright.scheduler.advice.trial_cluster import edited
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import parse_gates
from podwright.scheduler.machine import DEFAULT_OPTIONS, SchedulerOptions
from podwright.simulation.recording.explanations.document import explanation_document
from podwright.simulation.recording.explanations.present import present_view
from podwright.testing import make_node

_DRIVER = "gpu.example.com"
_NEW = f'device.attributes["{_DRIVER}"].model == "new"'

Document = dict[str, Any]


def _object(kind: str, name: str, spec: Document, **more: Any) -> Object:
    metadata = {"name": name, "uid": name}
    if kind == "ResourceClaim":
        metadata["namespace"] = "default"
    head = {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata}
    return decode(head | {"spec": spec} | more)


def _devices(*models: str, **fields: Any) -> Object:
    devices = [
        {"name": f"d{index}", "attributes": {"model": {"string": model}}} | fields
        for index, model in enumerate(models)
    ]
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": _DRIVER, "nodeName": "n", "pool": pool, "devices": devices}
    return _object("ResourceSlice", "n", spec)


def _request(name: str = "gpu", **fields: Any) -> Document:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1} | fields
    return {"name": name, "exactly": exactly}


def _selecting(expression: str, name: str = "gpu", **fields: Any) -> Document:
    return _request(name, selectors=[{"cel": {"expression": expression}}], **fields)


def _claim(*requests: Document, **devices: Any) -> Object:
    return _object("ResourceClaim", "c", {"devices": {"requests": list(requests)} | devices})


def _explained(
    *objects: Object,
    entry: Document | None = None,
    gpu: Document | None = None,
    options: SchedulerOptions = DEFAULT_OPTIONS,
) -> tuple[list[Remedy], tuple[NearNode, ...], Document]:
    """Return the remedies, the nearest nodes and the document for a pod with claim c."""
    scheduler = Scheduler(options)
    status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}]}
    pod = decode_pod(
        {
            "metadata": {"name": "pod", "namespace": "default", "uid": "pod"},
            "spec": {
                "containers": [{"name": "main"}],
                "resourceClaims": [{"name": "gpu"} | (entry or {"resourceClaimName": "c"})],
            },
            "status": status,
        }
    )
    scheduler.add(make_node("n", cpu="4"), _object("DeviceClass", "gpu", gpu or {}), *objects, pod)
    explanation = scheduler.explain(pod.key)
    near = tuple(scheduler.nearest_nodes(explanation))
    document = explanation_document(present_view(scheduler, explanation))
    return scheduler.remedies(explanation), near, document


_RULES = SchedulerOptions(gates=parse_gates("DRADeviceTaintRules=true"))


def _rule(**selector: str) -> Object:
    spec = {"deviceSelector": selector, "taint": {"key": "bad", "effect": "NoSchedule"}}
    head = {"apiVersion": "resource.k8s.io/v1beta2", "kind": "DeviceTaintRule"}
    return decode(head | {"metadata": {"name": "broken-cards"}, "spec": spec})


def test_the_rule_that_taints_devices_is_named_and_can_be_deleted() -> None:
    objects = [_devices("new", "old"), _claim(_request()), _rule(pool="n")]
    remedies, _, document = _explained(*objects, options=_RULES)
    assert [remedy.text for remedy in remedies] == [
        f"tolerate bad:NoSchedule in request gpu {_ANEW}",
        "delete DeviceTaintRule broken-cards, which taints devices",
        "add a node like n",
    ]
    (node,) = document["nearest"]
    assert [each["reason"] for each in node["devices"]] == [
        "with untolerated taint bad:NoSchedule of DeviceTaintRule broken-cards"
    ] * 2


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        pytest.param(_rule(pool="n"), DEFAULT_OPTIONS, id="without the feature gate"),
        pytest.param(_rule(pool="other"), _RULES, id="of another pool"),
    ],
)
def test_a_rule_without_effect_does_not_appear(rule: Object, options: SchedulerOptions) -> None:
    found = _explained(
        _devices("old"), _claim(_selecting(_NEW), _selecting(_NEW, "more")), rule, options=options
    )
    assert "broken-cards" not in repr(found)


_MATCH = [{"matchAttribute": f"{_DRIVER}/model"}]
_TAINTS = [{"key": "bad", "value": "yes", "effect": "NoSchedule"}]
_ANEW = "(ResourceClaim default/c, created again)"


@pytest.mark.parametrize(
    ("objects", "remedies", "lacks"),
    [
        pytest.param(
            [_devices("old", "old"), _claim(_selecting(_NEW))],
            [f"drop the selector {_NEW} of request gpu {_ANEW}"],
            f"request gpu: none of 2 devices can be used: 2 not selected by {_NEW} of the request",
            id="a selector",
        ),
        pytest.param(
            [_devices("new", taints=_TAINTS), _claim(_request())],
            [f"tolerate bad=yes:NoSchedule in request gpu {_ANEW}"],
            "request gpu: none of 1 device can be used:"
            " 1 with untolerated taint bad=yes:NoSchedule",
            id="a taint of a device",
        ),
        pytest.param(
            [_devices("new", "old"), _claim(_request(count=2), constraints=_MATCH)],
            [
                f"drop the constraint matchAttribute {_DRIVER}/model {_ANEW}",
                f"request 1 instead of 2 devices in request gpu {_ANEW}",
            ],
            "request gpu: needs 2, 1 of 2 devices can be used:"
            f" 1 excluded by matchAttribute {_DRIVER}/model",
            id="a constraint",
        ),
        pytest.param(
            [_devices("new", "old"), _claim(_selecting(_NEW, count=2))],
            [
                f"drop the selector {_NEW} of request gpu {_ANEW}",
                f"request 1 instead of 2 devices in request gpu {_ANEW}",
            ],
            "request gpu: needs 2, 1 of 2 devices can be used:"
            f" 1 not selected by {_NEW} of the request",
            id="a count",
        ),
        pytest.param(
            [_devices("old", taints=_TAINTS), _claim(_selecting(_NEW))],
            [
                f"drop the selector {_NEW} of request gpu {_ANEW} and tolerate bad=yes:NoSchedule"
                f" in request gpu {_ANEW}"
            ],
            f"request gpu: none of 1 device can be used: 1 not selected by {_NEW} of the request",
            id="two changes of one request",
        ),
        pytest.param(
            [_devices(), _claim(_request())],
            [],
            "request gpu: the node has no devices",
            id="no devices",
        ),
    ],
)
def test_the_request_or_constraint_to_change_is_named(
    objects: list[Object], remedies: list[str], lacks: str
) -> None:
    found, near, _ = _explained(*objects)
    assert [remedy.text for remedy in found if "node" not in remedy.text] == remedies
    assert near[0].lacks == (f"claim default/c, {lacks}",)


def test_a_remedy_contains_the_changed_claim() -> None:
    found, _, _ = _explained(_devices("old"), _claim(_selecting(_NEW)))
    (claim,) = found[0].put
    assert isinstance(claim, ResourceClaim)
    assert claim.raw["spec"]["devices"]["requests"] == [_request()]


def test_the_template_of_a_claim_is_named() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": "pod", "controller": True}
    claim = _claim(_selecting(_NEW))
    generated = decode(
        claim.raw | {"metadata": claim.raw["metadata"] | {"ownerReferences": [owner]}}
    )
    entry = {"resourceClaimTemplateName": "any"}
    found, _, _ = _explained(_devices("old"), generated, entry=entry)
    assert found[0].text == (
        f"drop the selector {_NEW} of request gpu (ResourceClaimTemplate default/any)"
    )


def test_a_selector_of_the_class_is_named_and_dropped_from_the_class() -> None:
    selector = {"selectors": [{"cel": {"expression": _NEW}}]}
    found, near, _ = _explained(_devices("old"), _claim(_request()), gpu=selector)
    assert found[0].text == f"drop the selector {_NEW} from DeviceClass gpu"
    assert near[0].lacks == (
        "claim default/c, request gpu: none of 1 device can be used:"
        f" 1 not selected by {_NEW} of DeviceClass gpu",
    )


def test_the_claim_that_uses_a_device_is_in_the_document() -> None:
    results = [{"request": "gpu", "driver": _DRIVER, "pool": "n", "device": "d0"}]
    allocated = _object(
        "ResourceClaim",
        "other",
        {"devices": {"requests": [_request()]}},
        status={"allocation": {"devices": {"results": results}}},
    )
    _, near, document = _explained(_devices("new"), allocated, _claim(_request()))
    assert near[0].lacks == (
        "claim default/c, request gpu: none of 1 device can be used: 1 in use",
    )
    assert list(document["nearest"][0]["devices"]) == [
        {
            "claim": "default/c",
            "request": "gpu",
            "driver": _DRIVER,
            "pool": "n",
            "device": "d0",
            "reason": "in use by claim default/other",
        }
    ]


def test_an_incomplete_pool_is_named() -> None:
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 2}
    spec = {"driver": _DRIVER, "nodeName": "n", "pool": pool, "devices": [{"name": "d0"}]}
    _, near, _ = _explained(_object("ResourceSlice", "n", spec), _claim(_request()))
    assert near[0].lacks == (
        "claim default/c, request gpu: the node has no devices",
        f"resource pool {_DRIVER}/n is incomplete",
    )


def test_alternatives_are_refused_and_changed_one_by_one() -> None:
    alternatives = [
        {"name": "best", "deviceClassName": "gpu", "count": 1, "allocationMode": "ExactCount"}
        | {"selectors": [{"cel": {"expression": _NEW}}]},
        {"name": "two", "deviceClassName": "gpu", "count": 2, "allocationMode": "ExactCount"},
    ]
    claim = _claim({"name": "gpu", "firstAvailable": alternatives})
    found, near, _ = _explained(_devices("old"), claim)
    assert [remedy.text for remedy in found if "node" not in remedy.text] == [
        f"drop the selector {_NEW} of request gpu/best {_ANEW}",
        f"request 1 instead of 2 devices in request gpu/two {_ANEW}",
    ]
    assert near[0].lacks == (
        "claim default/c, request gpu/best: none of 1 device can be used:"
        f" 1 not selected by {_NEW} of the request",
        "claim default/c, request gpu/two: needs 2, 1 of 1 device can be used",
    )


def _holder(*users: str) -> list[Object]:
    """Return pods on the node that hold the only device."""
    result = {"request": "gpu", "driver": _DRIVER, "pool": "n", "device": "d0"}
    status = {
        "allocation": {"devices": {"results": [result]}},
        "reservedFor": [{"resource": "pods", "name": user, "uid": user} for user in users],
    }
    held = _object("ResourceClaim", "held", {"devices": {"requests": [_request()]}}, status=status)
    pods = [
        decode_pod(
            {
                "metadata": {"name": user, "namespace": "default", "uid": user},
                "spec": {
                    "nodeName": "n",
                    "containers": [{"name": "main"}],
                    "resourceClaims": [{"name": "gpu", "resourceClaimName": "held"}],
                },
            }
        )
        for user in users
    ]
    return [held, *pods]


@pytest.mark.parametrize("users", [["a"], ["a", "b"]])
def test_pods_that_hold_a_device_can_be_deleted(users: list[str]) -> None:
    spec = encode(_devices("new"))["spec"] | {"nodeName": None, "allNodes": True}
    shared = _object("ResourceSlice", "n", spec)
    found, _, _ = _explained(shared, _claim(_request()), *_holder(*users))
    (remedy,) = found
    assert remedy.text == " and ".join(f"delete pod default/{user}" for user in users)


def test_a_trial_gives_the_devices_of_its_pods_back() -> None:
    scheduler = Scheduler()
    held, holder = _holder("a")
    gpu_class = _object("DeviceClass", "gpu", {})
    scheduler.add(make_node("n", cpu="4"), gpu_class, _devices("new"), held, holder)
    cluster = scheduler.cluster
    placed = cluster.pods["default/a"].pod
    before = dict(cluster.devices.allocated.dedicated)
    assert len(before) == 1
    with edited(cluster, delete=(placed,)):
        assert not cluster.devices.allocated.dedicated
    assert cluster.devices.allocated.dedicated == before
    assert not cluster.devices.assumptions()


def _backed(*objects: Object, amount: str = "1", selectors: Document | None = None) -> Document:
    """Return the explanation of a pod that requests an extended resource of class gpu."""
    spec = {"extendedResourceName": "example.com/gpu"} | (selectors or {})
    resources = {"requests": {"example.com/gpu": amount}, "limits": {"example.com/gpu": amount}}
    pod = decode_pod(
        {
            "metadata": {"name": "pod", "namespace": "default", "uid": "pod"},
            "spec": {"containers": [{"name": "main", "resources": resources}]},
        }
    )
    scheduler = Scheduler(_RULES)
    scheduler.add(make_node("n", cpu="4"), _object("DeviceClass", "gpu", spec), *objects, pod)
    explanation = scheduler.explain(pod.key)
    document = explanation_document(present_view(scheduler, explanation))
    texts = [remedy.text for remedy in scheduler.remedies(explanation)]
    (node,) = document["nearest"]
    return {"remedies": texts, "lacks": node["lacks"], "devices": node["devices"]}


_RESOURCE = "resource example.com/gpu of container main (DeviceClass gpu)"


def test_a_selector_of_the_class_of_an_extended_resource_is_named() -> None:
    found = _backed(_devices("old"), selectors={"selectors": [{"cel": {"expression": _NEW}}]})
    assert found["remedies"] == [
        f"drop the selector {_NEW} from DeviceClass gpu",
        "remove the example.com/gpu request of 1, for which no device can be used",
        "add a node like n but with 1 example.com/gpu",
    ]
    refusal = f"not selected by {_NEW} of DeviceClass gpu"
    assert list(found["lacks"]) == [f"{_RESOURCE}: none of 1 device can be used: 1 {refusal}"]
    (device,) = found["devices"]
    assert (device["claim"], device["device"]) == ("default/<extended-resources>", "d0")
    assert device["reason"] == refusal


def test_a_resource_that_the_devices_of_no_node_back_is_not_removed_from_the_pod() -> None:
    found = _backed()
    assert found["remedies"] == ["add a node like n but with 1 example.com/gpu"]
    assert list(found["lacks"]) == [f"{_RESOURCE}: the node has no devices"]
    assert list(found["devices"]) == []


def test_the_rule_that_taints_a_device_of_an_extended_resource_is_named() -> None:
    found = _backed(_devices("new", "old"), _rule(device="d1"), amount="2")
    assert found["remedies"] == [
        "delete DeviceTaintRule broken-cards, which taints devices",
        "reduce the example.com/gpu request from 2 to 1",
        "add a node like n but with 2 example.com/gpu",
    ]
    assert list(found["lacks"]) == [
        f"{_RESOURCE}: needs 2, 1 of 2 devices can be used: 1 with untolerated taint"
        " bad:NoSchedule of DeviceTaintRule broken-cards"
    ]


def _pod_with_claim() -> Pod:
    claim = {"name": "gpu", "resourceClaimName": "c"}
    spec = {"containers": [{"name": "main"}], "resourceClaims": [claim]}
    metadata = {"name": "pod", "namespace": "default", "uid": "pod"}
    return decode_pod({"metadata": metadata, "spec": spec})


def _advice(*objects: Object) -> Advice:
    scheduler = Scheduler()
    pod = _pod_with_claim()
    scheduler.add(make_node("n", cpu="4"), _object("DeviceClass", "gpu", {}), *objects, pod)
    return scheduler.advice(scheduler.explain(pod.key))


_ANEW = "(ResourceClaim default/c, created again)"


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        pytest.param(
            'device.attributes["gpu.exmaple.com"].model == "new"',
            '"gpu.example.com" for "gpu.exmaple.com"',
            id="an error because of a domain",
        ),
        pytest.param(
            f'device.attributes["{_DRIVER}"].modle == "new"',
            "model for modle",
            id="of an attribute",
        ),
        pytest.param(
            'device.driver == "gpu.exmaple.com"',
            '"gpu.example.com" for "gpu.exmaple.com"',
            id="no error, but another driver",
        ),
        pytest.param(
            f"'modle' in device.attributes['{_DRIVER}']", "'model' for 'modle'", id="no attribute"
        ),
        pytest.param(
            f'device.attributes["{_DRIVER}"].model == "NEW"', '"new" for "NEW"', id="other case"
        ),
        pytest.param(
            f'device.attributes["{_DRIVER}x"].modle == "new"',
            f'"{_DRIVER}" for "{_DRIVER}x" and model for modle',
            id="two names",
        ),
    ],
)
def test_a_wrong_name_in_a_selector_is_corrected(expression: str, words: str) -> None:
    found = _advice(_devices("new"), _claim(_selecting(expression)))
    assert [each.text for each in found.remedies] == [
        f"write {words} in the selector {expression} of request gpu {_ANEW}",
        f"drop the selector {expression} of request gpu {_ANEW}",
    ]


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(f'device.attributes["{_DRIVER}"].model == "net"', id="another value"),
        pytest.param(
            f'device.capacity["{_DRIVER}"].memory.isGreaterThan(quantity("new"))', id="a quantity"
        ),
    ],
)
def test_what_may_be_meant_is_not_corrected(expression: str) -> None:
    found = _advice(_devices("new"), _claim(_selecting(expression)))
    assert [each.text for each in found.remedies] == [
        f"drop the selector {expression} of request gpu {_ANEW}"
    ]


def test_a_wrong_name_in_the_selector_of_a_class_is_corrected() -> None:
    expression = 'device.driver == "gpu.exmaple.com"'
    selector = {"cel": {"expression": expression}}
    broken = _object("DeviceClass", "broken", {"selectors": [selector]})
    found = _advice(_devices("new"), broken, _claim(_request(deviceClassName="broken")))
    assert [each.text for each in found.remedies] == [
        f'write "{_DRIVER}" for "gpu.exmaple.com" in the selector {expression} of DeviceClass'
        " broken",
        f"drop the selector {expression} from DeviceClass broken",
    ]


def test_the_other_selectors_stay_as_they_are() -> None:
    wrong = f'device.attributes["{_DRIVER}"].modle == "new"'
    right, other = wrong.replace("modle", "model"), f'device.driver == "{_DRIVER}"'
    selectors = [{"cel": {"expression": text}} for text in (other, wrong)]
    broken = _object("DeviceClass", "broken", {"selectors": selectors})
    found = _advice(_devices("new"), broken, _claim(_request(deviceClassName="broken")))
    written, dropped = ([encode(obj)["spec"] for obj in each.put] for each in found.remedies)
    assert written == [{"selectors": [{"cel": {"expression": text}} for text in (other, right)]}]
    assert dropped == [{"selectors": [{"cel": {"expression": other}}]}]


def test_a_selector_of_a_class_that_fails_can_be_dropped() -> None:
    expression = f'device.attributes["{_DRIVER}"].age == 1'
    selector = {"cel": {"expression": expression}}
    broken = _object("DeviceClass", "broken", {"selectors": [selector]})
    found = _advice(_devices("new"), broken, _claim(_request(deviceClassName="broken")))
    assert [each.text for each in found.remedies] == [
        f"drop the selector {expression} from DeviceClass broken"
    ]


def _used(device: str, **fields: Any) -> list[Object]:
    """Return a pod and the claim with which it uses a device."""
    result = {"request": "gpu", "driver": _DRIVER, "pool": "n", "device": device} | fields
    status = {
        "allocation": {"devices": {"results": [result]}},
        "reservedFor": [{"resource": "pods", "name": "user", "uid": "user"}],
    }
    claim = _object("ResourceClaim", "used", {"devices": {"requests": [_request()]}}, status=status)
    spec = {
        "nodeName": "n",
        "containers": [{"name": "main"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "used"}],
    }
    metadata = {"name": "user", "namespace": "default", "uid": "user"}
    return [claim, decode_pod({"metadata": metadata, "spec": spec})]


_OTHERS = "delete pod default/user", "add a node like n"


@pytest.mark.parametrize(
    ("request_of", "lacks", "remedies"),
    [
        pytest.param(
            _request(allocationMode="All", count=0),
            "needs all that are selected, 2 of 3 devices can be used: 1 in use",
            [f"request 2 instead of all devices in request gpu {_ANEW}", *_OTHERS],
            id="one is in use",
        ),
        pytest.param(
            _selecting(_NEW, allocationMode="All", count=0),
            "needs all that are selected, 1 of 3 devices can be used: 1 not selected by"
            f" {_NEW} of the request, 1 in use",
            [f"request 1 instead of all devices in request gpu {_ANEW}", *_OTHERS],
            id="one of those selected",
        ),
        pytest.param(
            _selecting("false", allocationMode="All", count=0),
            "needs all that are selected, none of 3 devices can be used: 3 not selected by false"
            " of the request",
            [
                f"drop the selector false of request gpu {_ANEW} and request 2 instead of all"
                f" devices in request gpu {_ANEW}",
                *(f"drop the selector false of request gpu {_ANEW} and {each}" for each in _OTHERS),
            ],
            id="none is selected",
        ),
    ],
)
def test_a_request_for_all_devices(request_of: Document, lacks: str, remedies: list[str]) -> None:
    objects = [_devices("new", "old", "new"), *_used("d2"), _claim(request_of)]
    found, near, _ = _explained(*objects)
    assert [each.text for each in found] == remedies
    assert near[0].lacks == (f"claim default/c, request gpu: {lacks}",)


def test_the_nearest_name_of_a_class_is_tried() -> None:
    half = _object("DeviceClass", "half", {})
    found = _advice(_devices("new"), half, _claim(_request(deviceClassName="gqu")))
    assert [each.text for each in found.remedies] == [
        "use deviceClassName gpu instead of gqu in request gpu (ResourceClaim default/c,"
        " created again)"
    ]
    (claim,) = (obj for obj in found.remedies[0].put if isinstance(obj, ResourceClaim))
    exactly = claim.spec.devices.requests[0].exactly
    assert exactly is not None
    assert exactly.device_class_name == "gpu"
    assert found.limits == ("DeviceClass gqu does not exist; the cluster has gpu, half",)


@pytest.mark.parametrize(
    ("count", "listed"),
    [
        pytest.param(10, "c0, c1, c2, c3, c4, c5, c6, c7, c8, c9", id="ten"),
        pytest.param(12, "c0, c1, c10, c11, c2, c3, c4, c5, c6, c7 and 2 more", id="more"),
    ],
)
def test_of_many_classes_ten_are_listed(count: int, listed: str) -> None:
    scheduler = Scheduler()
    classes = [_object("DeviceClass", f"c{number}", {}) for number in range(count)]
    pod = _pod_with_claim()
    scheduler.add(make_node("n"), *classes, _claim(_request(deviceClassName="zzz")), pod)
    limits = scheduler.advice(scheduler.explain(pod.key)).limits
    assert limits[1] == f"DeviceClass zzz does not exist; the cluster has {listed}"


def test_every_class_that_does_not_exist_is_replaced_by_one_remedy() -> None:
    alternatives = [
        {"name": name, "deviceClassName": kind, "allocationMode": "ExactCount", "count": 1}
        for name, kind in (("large", "half0"), ("small", "gpu"))
    ]
    several = {"name": "any", "firstAvailable": alternatives}
    half = _object("DeviceClass", "half", {})
    claim = _claim(several, _request(deviceClassName="gqu"))
    found = _advice(_devices("new", "new"), half, claim)
    assert [each.edits for each in found.remedies] == [
        (
            "use deviceClassName half instead of half0 in request any/large (ResourceClaim"
            " default/c, created again)",
            "use deviceClassName gpu instead of gqu in request gpu (ResourceClaim default/c,"
            " created again)",
        )
    ]
    assert len(found.limits) == 2


def test_what_the_class_alone_does_not_help_is_changed_with_it() -> None:
    found = _advice(_devices("old"), _claim(_selecting(_NEW, deviceClassName="gqu")))
    assert [each.edits[1] for each in found.remedies] == [
        f"drop the selector {_NEW} of request gpu (ResourceClaim default/c, created again)"
    ]


@pytest.mark.parametrize(
    ("name", "models", "limit"),
    [
        pytest.param("zzz", ("new",), "so no change was tried; without its claims", id="none near"),
        pytest.param(
            "gqu",
            (),
            "and this does not suffice: use deviceClassName gpu instead of gqu",
            id="no devices",
        ),
    ],
)
def test_a_class_without_remedy_is_a_limit(name: str, models: tuple[str, ...], limit: str) -> None:
    objects = [_devices(*models)] if models else []
    found = _advice(*objects, _claim(_request(deviceClassName=name)))
    assert found.remedies == ()
    assert limit in found.limits[0]
    assert found.limits[1] == f"DeviceClass {name} does not exist; the cluster has gpu"


def _slice(name: str, slices: int = 1, **fields: Any) -> Object:
    pool = {"name": "n", "generation": 1, "resourceSliceCount": slices}
    return _object("ResourceSlice", name, {"driver": _DRIVER, "pool": pool} | fields)


_DISTINCT = {"distinctAttribute": f"{_DRIVER}/model"}
_TAKES = {"counterSet": "s", "counters": {"memory": {"value": "3Gi"}}}
_COUNTED = [
    _slice(
        "counted", 2, nodeName="n",
        devices=[{"name": f"d{index}", "consumesCounters": [_TAKES]} for index in range(2)],
    ),
    _slice(
        "counters", 2, nodeName="n",
        sharedCounters=[{"name": "s", "counters": {"memory": {"value": "4Gi"}}}],
    ),
]  # fmt: skip
_SHARED = _devices("a", capacity={"memory": {"value": "4Gi"}}, allowMultipleAllocations=True)
_TWO = [{"name": "d0", "nodeName": "m"}, {"name": "d1", "nodeName": "n"}]


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        pytest.param(
            [_devices("a"), _claim(_request("one"), _request("two"))],
            "two: none of 1 device can be used: 1 chosen for another request",
            id="another request of the claim has the device",
        ),
        pytest.param(
            [*_used("d0", adminAccess=True), _devices("a"), _claim(_request("one"), _request())],
            "gpu: none of 1 device can be used: 1 chosen for another request",
            id="the access of an administrator leaves a device to others",
        ),
        pytest.param(
            [_devices("a", "a"), _claim(_request("one", count=2), constraints=[_DISTINCT])],
            "one: needs 2, 1 of 2 devices can be used:"
            f" 1 excluded by distinctAttribute {_DRIVER}/model",
            id="the devices are too much alike",
        ),
        pytest.param(
            [_slice("n", perDeviceNodeSelection=True, devices=_TWO), _claim(_request(count=2))],
            "gpu: needs 2, 1 of 2 devices can be used: 1 for other nodes",
            id="a device of another node",
        ),
        pytest.param(
            [_SHARED, _claim(_request(capacity={"requests": {"memory": "8Gi"}}))],
            "gpu: none of 1 device can be used: 1 without enough capacity left",
            id="too little capacity",
        ),
        pytest.param(
            [*_COUNTED, _claim(_request(count=2))],
            "gpu: needs 2, 1 of 2 devices can be used: 1 without enough counters left",
            id="too small counters",
        ),
    ],
)
def test_each_reason_of_a_refused_device_has_its_words(objects: list[Object], text: str) -> None:
    gates = parse_gates("DRAConsumableCapacity=true,DRAPartitionableDevices=true")
    _, near, _ = _explained(*objects, options=SchedulerOptions(gates=gates))
    assert near[0].lacks == (f"claim default/c, request {text}",)
    (device,) = near[0].devices
    assert device.reason == text.rpartition(": 1 ")[2]


def _allocated(node_fields: Document, **status: Any) -> Object:
    """Return claim c with device d0 of the nodes with some fields."""
    result = {
        "request": "gpu",
        "driver": _DRIVER,
        "pool": "n",
        "device": "d0",
        "bindingConditions": ["attached"],
        "bindingFailureConditions": ["failed"],
    }
    allocation = {
        "devices": {"results": [result]},
        "nodeSelector": {"nodeSelectorTerms": [node_fields]},
    }
    spec = {"devices": {"requests": [_request()]}}
    return _object("ResourceClaim", "c", spec, status={"allocation": allocation} | status)


_FAILED = {
    "driver": _DRIVER,
    "pool": "n",
    "device": "d0",
    "conditions": [
        {
            "type": "failed",
            "status": "True",
            "reason": "NoCable",
            "message": "no cable",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ],
}


def _in(key: str, value: str) -> Document:
    return {"key": key, "operator": "In", "values": [value]}


@pytest.mark.parametrize(
    ("claim", "lacks"),
    [
        pytest.param(
            _allocated({"matchFields": [_in("metadata.name", "m")]}),
            "claim default/c has devices of node m",
            id="of another node",
        ),
        pytest.param(
            _allocated({"matchFields": [_in("metadata.name", "m"), _in("metadata.name", "l")]}),
            "claim default/c has devices for other nodes",
            id="of a node by two conditions",
        ),
        pytest.param(
            _allocated({"matchExpressions": [_in("rack", "a")]}),
            "claim default/c has devices for other nodes",
            id="of nodes with a label",
        ),
        pytest.param(
            _allocated({"matchFields": [_in("metadata.name", "n")]}, devices=[_FAILED]),
            'claim default/c: device binding failed: claim=c, reason=NoCable, message="no cable"',
            id="a failure",
        ),
    ],
)
def test_a_claim_that_the_node_cannot_use_is_named(claim: Object, lacks: str) -> None:
    _, near, _ = _explained(_devices("new"), claim)
    assert near[0].lacks == (lacks,)


def _refusals(pod: Pod, *objects: Object, gates: str = "") -> DeviceRefusals:
    scheduler = Scheduler()
    scheduler.add(make_node("n"), *objects, pod)
    return DeviceRefusals(pod, scheduler.cluster, parse_gates(gates))


def test_only_resources_that_a_class_backs_are_devices() -> None:
    amounts = {"example.com/gpu": "1", "example.com/other": "1"}
    containers = [{"name": "main", "resources": {"requests": amounts, "limits": amounts}}]
    metadata = {"name": "pod", "namespace": "default", "uid": "pod"}
    pod = decode_pod({"metadata": metadata, "spec": {"containers": containers}})
    backing = _object("DeviceClass", "gpu", {"extendedResourceName": "example.com/gpu"})
    of = "DRAExtendedResource"
    assert _refusals(pod, backing, gates=f"{of}=true").backing_classes() == ["gpu"]
    assert _refusals(pod, backing, gates=f"{of}=false").backing_classes() == []


def test_a_device_of_an_allocation_that_is_not_written_yet_is_in_use() -> None:
    gpu = _object("DeviceClass", "gpu", {})
    refusals = _refusals(_pod_with_claim(), gpu, _devices("a"), _claim(_request()))
    (used, _) = _used("d0")
    assert isinstance(used, ResourceClaim)
    assert used.status.allocation is not None
    refusals._cluster.devices.set_pending("other", used.status.allocation)
    (refusal,) = refusals.refusals_in_words(refusals.of_node("n"))
    assert refusal.reason == "in use"


def test_a_pod_whose_claim_does_not_exist_has_no_claims_to_advise_on() -> None:
    assert _refusals(_pod_with_claim()).claims == []
    claim = _claim(_request())
    assert _refusals(_pod_with_claim(), claim).claims == [claim]


@pytest.mark.parametrize(
    ("most_steps", "problems"),
    [
        pytest.param(200, (), id="a search that ends"),
        pytest.param(100, ("node n: timed out trying to allocate devices",), id="a longer one"),
    ],
)
def test_a_long_search_for_refusals_ends_early_and_says_so(
    most_steps: int, problems: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Seven devices of one model are one more than there are, which takes 128 steps to find out.
    monkeypatch.setattr(device_refusals, "_MOST_STEPS", most_steps)
    claim = _claim(_request(count=7), constraints=[{"matchAttribute": f"{_DRIVER}/model"}])
    gpu = _object("DeviceClass", "gpu", {})
    refusals = _refusals(_pod_with_claim(), gpu, _devices(*"aaaaaabbbbbb"), claim)
    found = refusals.of_node("n")
    assert found.problems == problems
    assert refusals.summary(found)[0].startswith("claim default/c, request gpu: needs 7, ")

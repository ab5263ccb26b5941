"""Device taint eviction: which pods are deleted, and when."""

from __future__ import annotations

from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import KubernetesObject, Pod, ResourceClaim
from podwright.apimachinery.schema import decode
from podwright.cluster.api import DeleteObject, RecordEvent, UpdateObject
from podwright.cluster.controllers import DeviceTaintEvictionController, Lister, SyncAt
from podwright.cluster.controllers.devices.taint_eviction import (
    EvictionCount,
    eviction_condition,
)
from podwright.cluster.controllers.interface import ControllerAction
from podwright.scheduler.config import parse_gates

_SECOND_NS = 1_000_000_000
_ADDED = "2026-01-01T00:00:00Z"
_ADDED_NS = 1_767_225_600 * _SECOND_NS
_DRIVER = "gpu.example.com"


def _taint(effect: str = "NoExecute", **fields: str) -> dict[str, str]:
    return {"key": "broken", "effect": effect, "timeAdded": _ADDED} | fields


def _slice(*taints: dict[str, str], name: str = "s", generation: int = 1) -> KubernetesObject:
    pool = {"name": "n", "generation": generation, "resourceSliceCount": 1}
    spec: dict[str, Any] = {"driver": _DRIVER, "nodeName": "n", "pool": pool}
    spec["devices"] = [{"name": "d0", "taints": list(taints)}, {"name": "d1"}]
    return decode(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": name, "uid": name},
            "spec": spec,
        }
    )


def _claim(*tolerations: dict[str, Any], device: str = "d0", user: str = "pod") -> KubernetesObject:
    result: dict[str, Any] = {"request": "r", "driver": _DRIVER, "pool": "n", "device": device}
    result["tolerations"] = list(tolerations)
    return decode(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "default", "uid": "c"},
            "spec": {},
            "status": {
                "allocation": {"devices": {"results": [result]}},
                "reservedFor": [{"resource": "pods", "name": "pod", "uid": user}],
            },
        }
    )


def _pod(node: str = "n") -> KubernetesObject:
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "pod", "namespace": "default", "uid": "pod"},
            "spec": {
                "nodeName": node,
                "containers": [{"name": "main"}],
                "resourceClaims": [{"name": "r", "resourceClaimName": "c"}],
            },
        }
    )


class _Driver:
    """A controller, and the objects that it sees."""

    def __init__(self, *objects: KubernetesObject, reads_rules: bool = False) -> None:
        self.lister = Lister()
        self.controller = DeviceTaintEvictionController(self.lister, reads_rules=reads_rules)
        self.now_ns = _ADDED_NS
        for each in objects:
            self.put(each)

    def put(self, obj: KubernetesObject) -> list[ControllerAction]:
        return self._observed(self.lister.put(obj), obj)

    def delete(self, obj: KubernetesObject) -> list[ControllerAction]:
        return self._observed(self.lister.delete(obj), None)

    def _observed(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> list[ControllerAction]:
        keys = list(self.controller.observe(old, new))
        return [each for key in keys for each in self.controller.sync(key, self.now_ns)]


def _deleted(actions: list[ControllerAction]) -> list[str]:
    return [each.key for each in actions if isinstance(each, DeleteObject)]


def test_a_pod_with_a_tainted_device_is_deleted() -> None:
    driver = _Driver(_slice(), _claim(), _pod())
    event, update, deletion = driver.put(_slice(_taint()))
    assert isinstance(event, RecordEvent)
    assert (event.reason, event.note) == ("DeviceTaintManagerEviction", "Marking for deletion")
    assert isinstance(update, UpdateObject)
    assert isinstance(update.obj, Pod)
    (condition,) = update.obj.raw["status"]["conditions"]
    assert condition["type"] == "DisruptionTarget"
    assert condition["reason"] == "DeletionByDeviceTaintManager"
    assert condition["message"] == "Device Taint manager: deleting due to NoExecute taint"
    assert isinstance(deletion, DeleteObject)
    assert (deletion.key, deletion.uid) == ("default/pod", "pod")


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([_slice(_taint("NoSchedule")), _claim(), _pod()], id="another effect"),
        pytest.param([_slice(_taint()), _claim(device="d1"), _pod()], id="another device"),
        pytest.param([_slice(_taint()), _claim(user="other"), _pod()], id="another user"),
        pytest.param([_slice(_taint()), _claim(), _pod(node="")], id="not yet bound"),
        pytest.param(
            [
                _slice(_taint()),
                _claim({"key": "broken", "operator": "Exists", "effect": "NoExecute"}),
                _pod(),
            ],
            id="tolerated",
        ),
        pytest.param(
            [_slice(_taint()), _slice(name="newer", generation=2), _claim(), _pod()],
            id="a taint of an older generation",
        ),
    ],
)
def test_other_pods_stay(objects: list[KubernetesObject]) -> None:
    driver = _Driver(*objects[:-1])
    assert driver.put(objects[-1]) == []
    assert driver.controller.sync("default/pod", driver.now_ns) == []


def test_a_pod_is_deleted_when_it_is_bound_to_a_tainted_device() -> None:
    driver = _Driver(_slice(_taint()), _claim(), _pod(node=""))
    assert _deleted(driver.put(_pod())) == ["default/pod"]


def test_a_toleration_for_a_time_delays_the_deletion() -> None:
    tolerated = {"key": "broken", "operator": "Exists", "effect": "NoExecute"}
    short, long = tolerated | {"tolerationSeconds": 30}, tolerated | {"tolerationSeconds": 90}
    driver = _Driver(_slice(), _claim(long, short), _pod())
    driver.now_ns += 10 * _SECOND_NS
    (wait,) = driver.put(_slice(_taint()))
    assert isinstance(wait, SyncAt)
    assert wait.due_ns == _ADDED_NS + 30 * _SECOND_NS
    restored = DeviceTaintEvictionController(driver.lister)
    restored.restore(driver.controller.state())
    assert restored.state() == {
        "scheduled": {"default/pod": ("pod", wait.due_ns)},
        "evicted": {},
    }
    driver.now_ns = wait.due_ns
    assert _deleted(driver.controller.sync("default/pod", driver.now_ns)) == ["default/pod"]
    assert driver.controller.state() == {"scheduled": {}, "evicted": {}}


@pytest.mark.parametrize(
    ("tolerations", "delay_seconds"),
    [
        pytest.param([{"tolerationSeconds": 1}], 1, id="a second"),
        pytest.param([{"tolerationSeconds": 0}], 0, id="no time"),
        pytest.param([{"tolerationSeconds": -5}], 0, id="a negative time is none"),
        pytest.param([{"effect": "NoSchedule", "tolerationSeconds": 9}], 0, id="another effect"),
        pytest.param([{"effect": None, "tolerationSeconds": 9}], 0, id="no effect"),
        pytest.param([{"key": "other", "tolerationSeconds": 9}], 0, id="another taint"),
        pytest.param(
            [{"key": "other"}, {"tolerationSeconds": 9}], 9, id="one of several tolerates it"
        ),
        pytest.param([{"tolerationSeconds": 9}, {}], None, id="another one for ever"),
    ],
)
def test_a_toleration_delays_the_deletion_by_its_time(
    tolerations: list[dict[str, Any]], delay_seconds: int | None
) -> None:
    """Upstream: pkg/controller/devicetainteviction/device_taint_eviction.go, claimEvictionTime"""
    whole = {"operator": "Exists", "effect": "NoExecute"}
    driver = _Driver(_slice(), _claim(*(whole | each for each in tolerations)), _pod())
    driver.now_ns -= 5 * _SECOND_NS
    found = driver.put(_slice(_taint()))
    due_ns = [each.due_ns for each in found if isinstance(each, SyncAt)]
    expected = [] if delay_seconds is None else [_ADDED_NS + delay_seconds * _SECOND_NS]
    assert (due_ns, len(found)) == (expected, len(expected))


def test_the_deletion_is_canceled_with_the_taint() -> None:
    tolerated = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
    driver = _Driver(_slice(_taint()), _claim(tolerated))
    (wait,) = driver.put(_pod())
    assert isinstance(wait, SyncAt)
    (event,) = driver.put(_slice())
    assert isinstance(event, RecordEvent)
    assert (event.reason, event.note) == ("DeviceTaintManagerEviction", "Cancelling deletion")
    assert driver.controller.sync("default/pod", wait.due_ns) == []


def test_taints_go_with_their_slice() -> None:
    tolerated = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
    driver = _Driver(_slice(_taint()), _claim(tolerated), _pod())
    assert [type(each) for each in driver.delete(_slice(_taint()))] == [RecordEvent]


def test_a_taint_without_time_counts_from_when_it_is_seen() -> None:
    tolerated = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
    untimed = {"key": "broken", "effect": "NoExecute"}
    driver = _Driver(_slice(), _claim(tolerated), _pod())
    (wait,) = driver.put(_slice(untimed))
    assert isinstance(wait, SyncAt)
    assert wait.due_ns == driver.now_ns + 30 * _SECOND_NS
    driver.now_ns += 10 * _SECOND_NS
    (again,) = driver.controller.sync("default/pod", driver.now_ns)
    assert again == wait


def _rule(effect: str = "NoExecute", **selector: str) -> KubernetesObject:
    return _rule_of({"deviceSelector": selector, "taint": _taint(effect)})


def _rule_of(spec: dict[str, Any]) -> KubernetesObject:
    return decode(
        {
            "apiVersion": "resource.k8s.io/v1beta2",
            "kind": "DeviceTaintRule",
            "metadata": {"name": "broken-card", "uid": "rule", "generation": 1},
            "spec": spec,
        }
    )


def _conditions(actions: list[ControllerAction]) -> list[tuple[str, str, str]]:
    return [
        (each["status"], each["reason"], each["message"])
        for action in actions
        if isinstance(action, UpdateObject) and action.obj.kind == "DeviceTaintRule"
        for each in action.obj.raw["status"]["conditions"]
    ]


def test_a_rule_deletes_the_pods_that_use_its_devices() -> None:
    driver = _Driver(_slice(), _claim(), _pod(), reads_rules=True)
    status, *actions = driver.put(_rule(device="d0"))
    pending = "1 pod needs to be evicted in 1 namespace."
    assert _conditions([status]) == [("True", "PodsPendingEviction", pending)]
    assert _deleted(actions) == ["default/pod"]
    assert isinstance(status, UpdateObject)
    driver.put(status.obj)
    driver.delete(_pod())
    (wait,) = driver.controller.sync("rule:broken-card", driver.now_ns)
    assert isinstance(wait, SyncAt)
    assert wait.due_ns == driver.now_ns + 10 * _SECOND_NS
    driver.now_ns = wait.due_ns
    assert _conditions(driver.controller.sync("rule:broken-card", driver.now_ns)) == [
        ("False", "Completed", "1 pod evicted since starting the controller.")
    ]


@pytest.mark.parametrize(
    ("rule", "reads_rules"),
    [
        pytest.param(_rule(), False, id="without the gate"),
        pytest.param(_rule(device="d1"), True, id="another device"),
        pytest.param(_rule(pool="other"), True, id="another pool"),
        pytest.param(_rule(driver="other.example.com"), True, id="another driver"),
        pytest.param(_rule("NoSchedule"), True, id="another effect"),
        pytest.param(_rule_of({"taint": _taint()}), True, id="no selector"),
    ],
)
def test_other_rules_delete_no_pod(rule: KubernetesObject, reads_rules: bool) -> None:
    driver = _Driver(_slice(), _claim(), _pod(), reads_rules=reads_rules)
    assert _deleted(driver.put(rule)) == []
    assert _deleted(driver.controller.sync("default/pod", driver.now_ns)) == []


def test_a_rule_without_effect_says_what_it_would_delete() -> None:
    driver = _Driver(_slice(), _claim(), _pod(), reads_rules=True)
    ((status, reason, message),) = _conditions(driver.put(_rule("None", driver=_DRIVER)))
    assert (status, reason) == ("False", "NoEffect")
    assert message.startswith(
        "2 published devices selected. 1 allocated device selected. 1 pod would be evicted in"
        " 1 namespace if the effect was NoExecute."
    )


def test_the_deletion_is_canceled_with_the_rule() -> None:
    tolerated = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
    driver = _Driver(_slice(), _claim(tolerated), _pod(), reads_rules=True)
    actions = driver.put(_rule(device="d0"))
    due = [each.due_ns for each in actions if isinstance(each, SyncAt)]
    assert due == [_ADDED_NS + 30 * _SECOND_NS, _ADDED_NS + 10 * _SECOND_NS]
    (event,) = driver.delete(_rule(device="d0"))
    assert isinstance(event, RecordEvent)
    assert event.note == "Cancelling deletion"


def test_a_world_moves_a_pod_from_a_device_of_a_rule() -> None:
    world = pw.World(seed=0, gates=parse_gates("DRADeviceTaintRules=true"))
    world.add(pw.testing.make_node("n", cpu="4"), _slice(), *_users_of_devices())
    world.run_until("10s")
    assert _devices_of(world) == ["d0"]
    world.add(_rule(device="d0"))
    world.run_until("2m")
    assert _devices_of(world) == ["d1"]


def _users_of_devices() -> list[KubernetesObject]:
    request = {"name": "r", "exactly": {"deviceClassName": "any"}}
    document = {"apiVersion": "resource.k8s.io/v1"}
    return [
        decode(document | {"kind": "DeviceClass", "metadata": {"name": "any"}, "spec": {}}),
        decode(
            document
            | {
                "kind": "ResourceClaimTemplate",
                "metadata": {"name": "t", "namespace": "default"},
                "spec": {"spec": {"devices": {"requests": [request]}}},
            }
        ),
        decode(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "app", "namespace": "default"},
                "spec": {
                    "replicas": 1,
                    "selector": {"matchLabels": {"app": "a"}},
                    "template": {
                        "metadata": {"labels": {"app": "a"}},
                        "spec": {
                            "containers": [{"name": "main", "image": "app"}],
                            "resourceClaims": [{"name": "r", "resourceClaimTemplateName": "t"}],
                        },
                    },
                },
            }
        ),
    ]


def test_a_world_moves_a_pod_from_a_broken_device() -> None:
    world = pw.World(seed=0)
    world.add(pw.testing.make_node("n", cpu="4"), _slice(), *_users_of_devices())
    world.run_until("10s")
    (first,) = world.pods
    assert _devices_of(world) == ["d0"]
    # A taint in a file has no time.
    world.add(_slice({"key": "broken", "effect": "NoExecute"}))
    world.run_until("2m")
    (second,) = world.pods
    assert (first.name != second.name, second.spec.node_name) == (True, "n")
    assert _devices_of(world) == ["d1"]


def _devices_of(world: pw.World) -> list[str]:
    return [
        result.device
        for claim in world.store.list(ResourceClaim).objects
        if isinstance(claim, ResourceClaim) and claim.status.allocation is not None
        for result in claim.status.allocation.devices.results
    ]


@pytest.mark.parametrize(
    ("effect", "count", "status", "reason", "message"),
    [
        ("NoExecute", {}, "False", "NotStarted", ""),
        ("NoExecute", {"published": 2, "allocated": 1}, "False", "NotStarted", ""),
        ("NoExecute", {"evicted": 1}, "False", "Completed",
         "1 pod evicted since starting the controller."),
        ("NoExecute", {"pods": 1, "namespaces": 1}, "True", "PodsPendingEviction",
         "1 pod needs to be evicted in 1 namespace."),
        ("NoExecute", {"pods": 3, "namespaces": 2, "evicted": 4}, "True", "PodsPendingEviction",
         "3 pods need to be evicted in 2 different namespaces. 4 pods evicted since starting the"
         " controller."),
        ("None", {}, "False", "NoEffect",
         "0 published devices selected. 0 allocated devices selected. 0 pods would be evicted in 0"
         " different namespaces if the effect was NoExecute. This information will not be updated"
         " again. Recreate the DeviceTaintRule to trigger an update."),
        ("NoSchedule", {}, "False", "OtherEffect",
         "Eviction only happens for the NoExecute effect."),
    ],
)  # fmt: skip
def test_the_condition_of_a_rule_says_what_it_evicts(effect, count, status, reason, message):
    rule: Any = decode(
        {
            "apiVersion": "resource.k8s.io/v1alpha3", "kind": "DeviceTaintRule",
            "metadata": {"name": "r", "generation": 3},
            "spec": {"taint": {"key": "broken", "effect": effect}},
        }
    )  # fmt: skip
    found = eviction_condition(rule, EvictionCount(**count), _ADDED_NS)
    assert found == {
        "type": "EvictionInProgress", "status": status, "reason": reason, "message": message,
        "observedGeneration": 3, "lastTransitionTime": _ADDED,
    }  # fmt: skip
    known: Any = decode(rule.raw | {"status": {"conditions": [found]}})
    assert eviction_condition(known, EvictionCount(**count), _ADDED_NS + 1) is None

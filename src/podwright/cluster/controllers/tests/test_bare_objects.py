"""Objects with nothing but a name: what each controller requests for them, and that none stops.

Mirrors, snapshots and other writers may leave out what the API server fills in: sections that are
absent, null and empty are the same.
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.cel import MatchedKind
from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.api import QuotaEvaluators
from podwright.cluster.api.tests.writable import WritableStore
from podwright.cluster.controllers.core.resource_quota import ResourceQuotaController
from podwright.cluster.controllers.interface import ALL_KINDS, PodChange
from podwright.cluster.controllers.registry import ControllerMaker, served_controllers
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.store import GroupKind

SECTIONS: dict[str, dict[str, Any]] = {
    "absent": {},
    "null": {"spec": None, "status": None},
    "empty": {"spec": {}, "status": {}},
}

EXPECTED: dict[str, list[str]] = {
    "node-registration-controller": ["Normal Node a RegisteredNode"],
    "ttl-controller": ["update Node a main"],
    "deployment-controller": ["Warning Deployment shop/a SelectingAll"],
    "replicaset-controller": ["update ReplicaSet shop/a status"],
    "replication-controller": ["update ReplicationController shop/a status"],
    "cronjob-controller": ["Warning CronJob shop/a UnparseableSchedule"],
    "job-controller": ["update Job shop/a whole"],
    "device-cards": ["Warning DeviceCards a InvalidDeviceCards"],
    "persistentvolume-controller": [
        "update PersistentVolume a status",
        "Normal PersistentVolumeClaim shop/a FailedBinding",
        "update PersistentVolumeClaim shop/a status",
    ],
    "volume-protection-controller": [
        "update PersistentVolume a main",
        "update PersistentVolumeClaim shop/a main",
    ],
    "disruption-controller": [
        "Normal PodDisruptionBudget shop/a NoPods",
        "update PodDisruptionBudget shop/a status",
    ],
    "node-lifecycle-controller": ["sync * at 5"],
    "namespace-controller": ["update Namespace a whole"],
}
"""By controller; those that are not named request nothing."""

AT_THE_END = {"node-registration-controller": ["Normal Node a RemovingNode"]}


class NoKinds:
    """A source of kinds that knows none."""

    def kinds_of(self, group: str, version: str, resource: str) -> list[MatchedKind]:
        return []

    def kind(self, group: str, version: str, kind: str) -> MatchedKind:
        raise AssertionError(kind)


MAKERS = (
    *served_controllers(
        "PEM",
        lambda *_: "token",
        NoKinds(),
        lambda *_: False,
        lambda *_: b"certificate",
    ),
    lambda lister: ResourceQuotaController(lister, QuotaEvaluators(WritableStore(seed=1))),
)
# A reference to what is scaled is required, and the API server lets none pass without.
KINDS: list[GroupKind] = sorted(
    {kind for make in MAKERS for kind in SingleSync(make).controller.kinds}
    - {ALL_KINDS, ("autoscaling", "HorizontalPodAutoscaler")}
)


def bare(kind: GroupKind, sections: str) -> Any:
    metadata = {"name": "a", "uid": f"{kind[1]}-uid"}
    if built_in().is_namespaced(*kind):
        metadata["namespace"] = "shop"
    version = f"{kind[0]}/v1" if kind[0] else "v1"
    document = {"apiVersion": version, "kind": kind[1], "metadata": metadata}
    return decode(document | SECTIONS[sections])


def in_short(request: str) -> str:
    return request.partition(":")[0].partition(" by ")[0]


@pytest.mark.parametrize("sections", SECTIONS)
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: SingleSync(make).controller.name)
def test_what_is_requested_for_objects_with_nothing_but_a_name(
    make: ControllerMaker, sections: str
) -> None:
    bench = SingleSync(make)
    controller = bench.controller
    objects = [
        bare(kind, sections)
        for kind in KINDS
        if kind in controller.kinds or ALL_KINDS in controller.kinds
    ]
    keys = dict.fromkeys(key for each in objects for key in bench.put(each))
    requests = [in_short(each) for key in keys for each in bench.sync(key)]
    assert requests == EXPECTED.get(controller.name, [])
    # A second version that is the same, and the end of all of them, are no trouble either.
    keys |= dict.fromkeys(key for each in objects for key in bench.put(each))
    gone = dict.fromkeys(key for each in reversed(objects) for key in bench.remove(each))
    left = [in_short(each) for key in keys | gone for each in bench.sync(key, 9)]
    assert [each for each in left if "sync" not in each] == AT_THE_END.get(controller.name, [])


def test_each_change_of_a_pod_is_a_bit_of_its_own_in_the_low_sixteen():
    values = [int(each) for each in PodChange.__members__.values()]
    assert values == [1 << place for place in range(len(values))]
    assert len(values) <= 16, "subscriptions add bits of their own above"

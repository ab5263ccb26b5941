"""How full the volumes and pools of a pod's claims get, by class and node."""

import pytest

from podwright.scheduler.columns.tests.storage_objects import capacity, claim, csi_driver, volume
from podwright.scheduler.columns.tests.test_volume_decisions import (
    DYNAMIC,
    HOST,
    REPORTS,
    ZONE,
    cluster_of,
    decided,
)
from podwright.scheduler.columns.volumes.volume_decisions import utilization


def shares(found, cluster):
    """Return per class the utilization of the nodes where it counts, None elsewhere."""
    answers = utilization(found, cluster.storage, cluster.nodes, cluster.live_slots())
    return [
        [p if counts else None for p, counts in zip(*(x.tolist() for x in both), strict=True)]
        for both in answers
    ]


POOL = capacity("k", "local", {ZONE: "a"}, capacity="50Gi")


@pytest.mark.parametrize(
    ("objects", "claims", "expected"),
    [
        pytest.param([], [], [], id="without claims"),
        pytest.param(
            [volume("v", "50Gi", on=["n0"]), volume("w", "20Gi", on=["n1"])],
            [claim("c")],
            [[10, 25, None], [None] * 3],
            id="the share of the volume",
        ),
        pytest.param(
            [volume("v", "50Gi", on=["n0"]), volume("w", "20Gi", on=["n0"])],
            [claim("c"), claim("d")],
            [[14, None, None], [None] * 3],
            id="volumes of a class are added up, rounded down",
        ),
        pytest.param(
            [volume("v", "50Gi"), volume("w", "20Gi", of_class="other")],
            [claim("c"), claim("d", of_class="other")],
            [[10] * 3, [25] * 3],
            id="classes count for themselves",
        ),
        pytest.param(
            [volume("v", capacity={})],
            [claim("c", resources={})],
            [[100] * 3],
            id="a volume without a size is full",
        ),
        pytest.param(
            [volume("v", "5Gi")],
            [claim("c", resources={})],
            [[0] * 3],
            id="a claim without a size takes nothing of a volume",
        ),
        pytest.param(
            [volume("v", "1")], [claim("c", resources={})], [[0] * 3], id="nor of one byte"
        ),
        pytest.param(
            [volume("v", capacity={}), volume("w", "1")],
            [claim("c", resources={}), claim("d", resources={})],
            [[0] * 3],
            id="nor of one byte beside a volume without a size",
        ),
        pytest.param(
            [volume("v", "5Gi")], [claim("c")], [[100] * 3], id="a volume of exactly the size"
        ),
        pytest.param([volume("v", "1")], [claim("c", "1")], [[100] * 3], id="also of one byte"),
        pytest.param(
            [REPORTS, POOL], [claim("c")], [[None] * 3, [10, 10, None]], id="the share of the pool"
        ),
        pytest.param(
            [REPORTS, POOL],
            [claim("c"), claim("d", "20Gi")],
            [[None] * 3, [50, 50, None]],
            id="claims of a class share the pool",
        ),
        pytest.param(
            [REPORTS, POOL],
            [claim("c", "26Gi"), claim("d", "25Gi")],
            [[None] * 3, [100, 100, None]],
            id="more than the pool has",
        ),
        pytest.param(
            [REPORTS, POOL, capacity("l", "local", {HOST: "n0"}, capacity="25Gi")],
            [claim("c", "30Gi")],
            [[None] * 3, [60, 60, None]],
            id="a pool that is too small is passed over",
        ),
        pytest.param(
            [REPORTS, capacity("a", "local", {HOST: "n0"}, capacity="25Gi"), POOL],
            [claim("c", "30Gi")],
            [[None] * 3, [60, 60, None]],
            id="also if it is the first one",
        ),
        pytest.param(
            [REPORTS, POOL, capacity("l", "local", {HOST: "n0"}, capacity="100Gi")],
            [claim("c")],
            [[None] * 3, [10, 10, None]],
            id="the first of two pools",
        ),
        pytest.param(
            [REPORTS, capacity("k", "local", {ZONE: "a"}, maximumVolumeSize="50Gi")],
            [claim("c", "50Gi")],
            [[None] * 3, [100, 100, None]],
            id="a pool of unknown capacity is full",
        ),
        pytest.param(
            [REPORTS, capacity("k", "local", {ZONE: "a"}, maximumVolumeSize="50Gi")],
            [claim("c", "0")],
            [[None] * 3, [100, 100, None]],
            id="also for a claim of no bytes",
        ),
        pytest.param(
            [POOL], [claim("c")], [[None] * 3, [None] * 3], id="a driver that does not report"
        ),
        pytest.param(
            [csi_driver("csi.x", storage_capacity=False), POOL],
            [claim("c")],
            [[None] * 3, [None] * 3],
            id="a driver that reports none",
        ),
        pytest.param(
            [REPORTS, POOL],
            [claim("c", resources={})],
            [[None] * 3, [None] * 3],
            id="a claim without a size",
        ),
        pytest.param(
            [REPORTS, POOL, volume("v", "10Gi", on=["n0"])],
            [claim("c"), claim("d")],
            [[50, None, None], [None, 20, None]],
            id="where a volume matches, new ones do not count",
        ),
    ],
)
def test_the_utilization_of_classes(objects, claims, expected):
    cluster = cluster_of(DYNAMIC, *objects)
    assert shares(decided(cluster, waiting=claims), cluster) == expected

import pytest

from podwright.scheduler.columns.tests.storage_objects import claim, storage_class, using, volume
from podwright.scheduler.framework import Code, Status
from podwright.scheduler.plugins.tests.one_node_at_a_time import cycle_of, node, pod, reasons
from podwright.scheduler.plugins.volume_zone import VolumeZone

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("volume_labels", "node_labels", "passes"),
    [
        pytest.param({ZONE: "a"}, {ZONE: "a"}, True, id="the same zone"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, False, id="another zone"),
        pytest.param({ZONE: "a__b"}, {ZONE: "b"}, True, id="one of several zones"),
        pytest.param({ZONE: "a"}, {}, True, id="a node without labels is anywhere"),
        pytest.param({ZONE: "a"}, {REGION: "r"}, False, id="a node with a region only is not"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "a"}, True, id="an old volume, a new node"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "b"}, False, id="an old volume elsewhere"),
        pytest.param(
            {BETA_ZONE: "a"},
            {BETA_ZONE: "b", ZONE: "a"},
            False,
            id="the deprecated label takes precedence",
        ),
        pytest.param({ZONE: "a"}, {BETA_ZONE: "a"}, False, id="a new volume, an old node"),
        pytest.param(
            {ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, False, id="all labels must fit"
        ),
    ],
)
def test_zones_of_bound_volumes(volume_labels, node_labels, passes):
    objects = [claim("c", bound_to="v"), volume("v", labels=volume_labels)]
    cycle = cycle_of(pod(volumes=using("c")), node("n", labels=node_labels), *objects)
    plugin = VolumeZone()
    assert plugin.pre_filter(cycle) == Status.OK
    expected = {} if passes else {"n": ("node(s) had no available volume zone",)}
    assert reasons(plugin, cycle) == expected


@pytest.mark.parametrize(
    ("objects", "code", "reason"),
    [
        pytest.param(
            [claim("c", bound_to="v"), volume("v")],
            Code.SKIP,
            "",
            id="a volume without zone labels",
        ),
        pytest.param(
            [claim("c", bound_to="v"), volume("v", labels={ZONE: "a__"})],
            Code.SKIP,
            "",
            id="a list with an empty zone is passed over",
        ),
        pytest.param([claim("c"), storage_class("local")], Code.SKIP, "", id="a claim that waits"),
        pytest.param([], None, 'persistentvolumeclaim "c" not found', id="no claim"),
        pytest.param(
            [claim("c", bound_to="v")], None, 'persistentvolume "v" not found', id="no volume"
        ),
        pytest.param(
            [claim("c")], None, 'storageclass.storage.k8s.io "local" not found', id="no class"
        ),
        pytest.param(
            [claim("c", of_class="")],
            None,
            "PersistentVolumeClaim had no pv name and storageClass name",
            id="neither volume nor class",
        ),
        pytest.param(
            [claim("c"), storage_class("local", volumeBindingMode=None)],
            None,
            'VolumeBindingMode not set for StorageClass "local"',
            id="a class without a mode",
        ),
        pytest.param(
            [claim("c"), storage_class("local", volumeBindingMode="Immediate")],
            None,
            "PersistentVolume had no name",
            id="not bound at once",
        ),
    ],
)
def test_pre_filter(objects, code, reason):
    cycle = cycle_of(pod(volumes=using("c")), node("n"), *objects)
    status = VolumeZone().pre_filter(cycle)
    assert isinstance(status, Status)
    assert status.code == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE if code is None else code)
    assert status.message == reason


def test_a_claim_must_have_a_name():
    status = VolumeZone().pre_filter(cycle_of(pod(volumes=using("")), node("n")))
    assert status == Status.unresolvable("PersistentVolumeClaim had no name")


def test_a_bound_claim_after_one_that_waits_still_counts():
    objects = [claim("waits"), storage_class("local"), claim("c", bound_to="v")]
    cycle = cycle_of(
        pod(volumes=using("waits", "c")),
        node("n", labels={ZONE: "b"}),
        *objects,
        volume("v", labels={ZONE: "a"}),
    )
    plugin = VolumeZone()
    assert plugin.pre_filter(cycle) == Status.OK
    assert reasons(plugin, cycle) == {"n": ("node(s) had no available volume zone",)}

import pytest

from podwright.apimachinery.objects import Volume, decode_pod
from podwright.scheduler.columns.tests.storage_objects import expression, volume
from podwright.scheduler.columns.volumes.csi_migration import (
    CSIVolume,
    TranslationError,
    inline_csi_volume,
    migrated_affinity,
    migration_of,
    persistent_csi_volume,
    provisioned_driver,
)

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, BETA_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"
GCE_ZONE = "topology.gke.io/zone"
GCE = {"gcePersistentDisk": {"pdName": "d"}}


def inline(**source):
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    spec = {"containers": [], "volumes": [{"name": "v"} | source]}
    return decode_pod(document | {"spec": spec}).spec.volumes[0]


@pytest.mark.parametrize(
    ("source", "counted"),
    [
        pytest.param(
            GCE,
            CSIVolume("pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
            id="gce",
        ),
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "aws:///vol-1"}},
            CSIVolume("ebs.csi.aws.com", "vol-1"),
            id="ebs with the prefix of old",
        ),
        pytest.param(
            {"azureDisk": {"diskName": "n", "diskURI": "/u"}},
            CSIVolume("disk.csi.azure.com", "/u"),
            id="azure disk",
        ),
        pytest.param(
            {"cinder": {"volumeID": "i"}}, CSIVolume("cinder.csi.openstack.org", "i"), id="cinder"
        ),
        pytest.param(
            {"cinder": {"volumeID": "aws:///vol-1"}},
            CSIVolume("cinder.csi.openstack.org", "aws:///vol-1"),
            id="a prefix of another driver",
        ),
        pytest.param({"azureFile": {"shareName": "s"}}, None, id="azure file is not counted"),
        pytest.param({"emptyDir": {}}, None, id="no cloud disk"),
    ],
)
def test_inline_volumes(source, counted):
    assert inline_csi_volume(inline(**source)) == counted


def test_a_name_that_cannot_be_translated_is_an_error():
    wrong = inline(awsElasticBlockStore={"volumeID": "aws://z/disk-1"})
    with pytest.raises(TranslationError, match=r"converting volume\(v\) from inline to csi"):
        inline_csi_volume(wrong)


def test_regions_that_differ_are_named_in_order():
    zones = "__".join(f"{region}-1-a" for region in ("us", "eu", "asia", "me", "africa"))
    disk = volume("v", labels={ZONE: zones}, **GCE)
    migration = migration_of(disk)
    assert migration is not None
    regions = "map[africa-1:{} asia-1:{} eu-1:{} me-1:{} us-1:{}]"
    with pytest.raises(TranslationError) as raised:
        migrated_affinity(disk, migration)
    assert str(raised.value) == (
        f"failed to get region from zones: multiple or no regions gotten from zones, got: {regions}"
    )


@pytest.mark.parametrize(
    ("labels", "handle"),
    [
        pytest.param({}, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d", id="without a zone"),
        pytest.param({ZONE: "us-a-1"}, "projects/UNSPECIFIED/zones/us-a-1/disks/d", id="zonal"),
        pytest.param({ZONE: "a__b"}, None, id="zones without a region"),
        pytest.param({ZONE: "us-a-1__b"}, None, id="one zone without a region"),
        pytest.param({ZONE: "a__a"}, None, id="zones of the same name without a region"),
        pytest.param({ZONE: "us-a-1-x__us-a-2-x"}, None, id="zones of more parts"),
        pytest.param(
            {BETA_ZONE: "us-a-1", ZONE: "eu-b-2"},
            "projects/UNSPECIFIED/zones/us-a-1/disks/d",
            id="the old label first",
        ),
        pytest.param(
            {ZONE: "us-a-1__us-a-2"}, "projects/UNSPECIFIED/regions/us-a/disks/d", id="regional"
        ),
        pytest.param({ZONE: "us-a-1__eu-b-2"}, None, id="two regions make no handle"),
    ],
)
def test_persistent_volumes_carry_their_zone(labels, handle):
    counted = persistent_csi_volume(volume("v", labels=labels, **GCE))
    assert (None if counted is None else counted.handle) == handle


def test_volumes_that_no_driver_counts():
    assert persistent_csi_volume(volume("v", hostPath={"path": "/"})) is None
    assert persistent_csi_volume(volume("v", azureFile={"shareName": "s"})) is None
    assert persistent_csi_volume(volume("v", vsphereVolume={"volumePath": "p"})) is None
    assert persistent_csi_volume(volume("v", csi={"driver": "x", "volumeHandle": ""})) is None
    assert migration_of(Volume(name="v")) is None


def test_provisioners():
    assert provisioned_driver("kubernetes.io/aws-ebs") == "ebs.csi.aws.com"
    assert provisioned_driver("csi.x") == "csi.x"
    assert provisioned_driver("kubernetes.io/azure-file") == ""


def in_zones(key, *zones):
    terms = [{"matchExpressions": [expression(key, "In", *zones)]}]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}


@pytest.mark.parametrize(
    ("labels", "spec", "key", "zones"),
    [
        pytest.param({}, in_zones(ZONE, "a"), GCE_ZONE, ("a",), id="the affinity is renamed"),
        pytest.param({}, in_zones(BETA_ZONE, "a"), GCE_ZONE, ("a",), id="the old label too"),
        pytest.param(
            {ZONE: "us-a-2__us-a-1"},
            {},
            GCE_ZONE,
            ("us-a-1", "us-a-2"),
            id="labels make an affinity",
        ),
        pytest.param(
            {ZONE: "b"}, in_zones(ZONE, "a"), GCE_ZONE, ("a",), id="the affinity takes precedence"
        ),
        pytest.param({}, in_zones("rack", "a"), "rack", ("a",), id="other labels are unchanged"),
    ],
)
def test_zones_move_to_the_drivers_label(labels, spec, key, zones):
    disk = volume("v", labels=labels, **GCE, **spec)
    migration = migration_of(disk)
    assert migration is not None
    affinity = migrated_affinity(disk, migration)
    assert affinity is not None
    (term,) = affinity.node_selector_terms
    assert [(e.key, e.values) for e in term.match_expressions] == [(key, zones)]


def test_a_plugin_without_zones_of_its_driver_keeps_the_affinity():
    disk = volume("v", portworxVolume={"volumeID": "i"}, **in_zones(ZONE, "a"))
    migration = migration_of(disk)
    assert migration is not None
    assert migration.driver == "pxd.portworx.com"
    assert disk.spec.node_affinity is not None
    assert migrated_affinity(disk, migration) == disk.spec.node_affinity.required


@pytest.mark.parametrize(
    ("labels", "terms", "expected"),
    [
        pytest.param({ZONE: "a"}, [], [[(GCE_ZONE, ("a",))]], id="the only requirement"),
        pytest.param(
            {ZONE: "a"},
            [("rack", "r")],
            [[("rack", ("r",)), (GCE_ZONE, ("a",))]],
            id="behind those of a term",
        ),
        pytest.param(
            {ZONE: "a"},
            [("rack", "r"), ("rack", "s")],
            [[("rack", ("r",)), (GCE_ZONE, ("a",))], [("rack", ("s",)), (GCE_ZONE, ("a",))]],
            id="in every term",
        ),
        pytest.param(
            {ZONE: "a", BETA_ZONE: "b"},
            [("rack", "r")],
            [[("rack", ("r",)), (GCE_ZONE, ("a",))]],
            id="the label of today takes precedence",
        ),
        pytest.param(
            {BETA_ZONE: "b"},
            [("rack", "r")],
            [[("rack", ("r",)), (GCE_ZONE, ("b",))]],
            id="the old label alone",
        ),
    ],
)
def test_the_zone_of_a_label_is_required_besides_the_affinity(labels, terms, expected):
    written = [{"matchExpressions": [expression(key, "In", value)]} for key, value in terms]
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": written}}} if terms else {}
    disk = volume("v", labels=labels, **GCE, **affinity)
    migration = migration_of(disk)
    assert migration is not None
    found = migrated_affinity(disk, migration)
    assert found is not None
    assert [
        [(e.key, e.values) for e in term.match_expressions] for term in found.node_selector_terms
    ] == expected


@pytest.mark.parametrize(
    ("zones", "expected"),
    [
        pytest.param("b__a", ("a", "b"), id="sorted"),
        pytest.param(" b __a__", ("a", "b"), id="without spaces and empty ones"),
        pytest.param("b__b", ("b",), id="each once"),
        pytest.param("__", None, id="none"),
    ],
)
def test_zones_of_a_label_become_one_requirement(zones, expected):
    store = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
    disk = volume("v", labels={ZONE: zones}, **store)
    migration = migration_of(disk)
    assert migration is not None
    found = migrated_affinity(disk, migration)
    if expected is None:
        assert found is None
        return
    assert found is not None
    (term,) = found.node_selector_terms
    assert [(e.key, e.values) for e in term.match_expressions] == [
        (migration.topology_key, expected)
    ]


def test_a_volume_without_zones_is_accessible_from_all_nodes():
    disk = volume("v", **GCE)
    migration = migration_of(disk)
    assert migration is not None
    assert migrated_affinity(disk, migration) is None


@pytest.mark.parametrize(
    ("zone", "region", "key"),
    [
        pytest.param(ZONE, REGION, REGION, id="the label of today"),
        pytest.param(BETA_ZONE, BETA_REGION, REGION, id="the old label is renamed"),
        pytest.param(ZONE, BETA_REGION, BETA_REGION, id="not beside a zone of today"),
    ],
)
def test_regions_have_the_label_of_today(zone, region, key):
    # Upstream: staging/src/k8s.io/csi-translation-lib/plugins/in_tree_volume.go,
    # translateTopologyFromInTreeToCSI
    both = [expression(zone, "In", "a"), expression(region, "In", "r")]
    required = {"required": {"nodeSelectorTerms": [{"matchExpressions": both}]}}
    disk = volume("v", nodeAffinity=required, **GCE)
    migration = migration_of(disk)
    assert migration is not None
    affinity = migrated_affinity(disk, migration)
    assert affinity is not None
    (term,) = affinity.node_selector_terms
    assert [(e.key, e.values) for e in term.match_expressions] == [
        (GCE_ZONE, ("a",)),
        (key, ("r",)),
    ]

from itertools import pairwise

import pytest

from podwright.apimachinery.objects import OwnerReference, with_fields
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.tests.storage_objects import (
    attachment,
    capacity,
    claim,
    csi_driver,
    csi_node,
    storage_class,
    using,
    volume,
)


def pod(name, *volumes, node=""):
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"containers": [], "volumes": list(volumes), "nodeName": node},
        }
    )


def node(name):
    return decode({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})


@pytest.mark.parametrize(
    "obj",
    [
        claim("c"),
        volume("v"),
        storage_class("s"),
        csi_node("n", csi_x=1),
        csi_driver("csi.x"),
        capacity("k", "s", {"zone": "a"}, capacity="1Gi"),
        attachment("a", "csi.x", "n", "v"),
    ],
    ids=lambda obj: obj.kind,
)
def test_the_version_grows_with_changes_that_scheduling_reads(obj):
    storage = Cluster().storage
    storage.put(obj)
    assert storage.version == 1
    storage.put(with_fields(obj, "metadata", resource_version="7"))
    assert storage.version == 1, "a new version with the same content"
    storage.delete(obj)
    assert storage.version == 2
    storage.delete(obj)
    assert storage.version == 2


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"a": "b"}},
        {"annotations": {"a": "b"}},
        {"uid": "another"},
        {"deletion_timestamp": "2026-01-01T00:00:00Z"},
        {"owner_references": (OwnerReference(kind="Pod", name="p", uid="p"),)},
    ],
    ids=lambda metadata: next(iter(metadata)),
)
def test_the_version_grows_with_the_metadata_that_scheduling_reads(metadata):
    storage = Cluster().storage
    storage.put(claim("c"))
    storage.put(with_fields(claim("c"), "metadata", **metadata))
    assert storage.version == 2


@pytest.mark.parametrize("limit", [3, None])
def test_a_node_like_another_one_has_its_drivers(limit):
    storage = Cluster().storage
    storage.put(csi_node("n", csi_x=limit, migrated="kubernetes.io/aws-ebs"))
    found = storage.csi_nodes.copy_for("n", "m")
    assert found is not None
    (driver,) = found.spec.drivers
    assert (driver.name, driver.node_id) == ("csi.x", "m")
    assert (driver.allocatable and driver.allocatable.count) == limit
    assert found.metadata.name == "m"
    assert storage.csi_nodes.copy_for("other", "m") is None


def test_other_kinds_are_left_alone():
    storage = Cluster().storage
    storage.put(node("n"))
    assert storage.version == 0


@pytest.mark.parametrize(
    ("version", "stays"),
    [
        pytest.param("1", True, id="the version it was made from is no news"),
        pytest.param("2", False, id="a newer one is"),
        pytest.param("", False, id="so is one that has no version"),
    ],
)
def test_an_assumed_object_is_replaced_by_a_newer_version(version, stays):
    storage = Cluster().storage
    storage.put(claim("c"))
    assumed = with_fields(claim("c"), "metadata", annotations={"x": "y"})
    storage.assume_claim(assumed)
    assert storage.claim("default/c") is assumed
    assert storage.claims["default/c"] == claim("c")
    before = storage.version
    storage.put(claim("c", version=version))
    assert (storage.claim("default/c") is assumed) == stays
    assert (storage.version == before) == stays


@pytest.mark.parametrize(("version", "stays"), [("1", True), ("2", False)])
def test_an_assumed_volume_is_replaced_by_a_newer_version(version, stays):
    def at(version, **fields):
        return with_fields(volume("v", **fields), "metadata", resource_version=version)

    storage = Cluster().storage
    storage.put(at("1"))
    taken = at("1", claim="c")
    storage.assume_volume(taken)
    storage.put(at(version))
    assert storage.class_volumes("local").reserved_for(claim("c")) == ([taken] if stays else [])
    assert storage.volume("v") == (taken if stays else at("2"))


def test_an_assumed_volume_moves_on_the_shelf_and_back():
    storage = Cluster().storage
    storage.put(volume("v"))
    taken = volume("v", claim="c")
    storage.assume_volume(taken)
    assert storage.class_volumes("local").reserved_for(claim("c")) == [taken]
    storage.restore_volume("v")
    storage.restore_volume("v")
    assert storage.class_volumes("local").reserved_for(claim("c")) == []
    assert storage.volume("v") == volume("v")


def test_the_version_grows_when_objects_are_assumed_and_once_when_they_are_restored():
    storage = Cluster().storage
    storage.put(claim("c"))
    storage.put(volume("v"))
    versions = [storage.version]
    for change in (
        lambda: storage.assume_claim(claim("c", bound_to="v")),
        lambda: storage.assume_volume(volume("v", claim="c")),
        lambda: storage.restore_claim("default/c"),
        lambda: storage.restore_volume("v"),
        lambda: storage.restore_claim("default/c"),
        lambda: storage.restore_volume("v"),
    ):
        change()
        versions.append(storage.version)
    first = versions[0]
    assert [version - first for version in versions] == [0, 1, 2, 3, 4, 4, 4]


def test_another_index_gets_what_belongs_to_no_node_and_what_is_assumed_of_it():
    storage, other = Cluster().storage, Cluster().storage
    put = [
        storage_class("s", "csi.x"),
        csi_driver("csi.x"),
        capacity("k", "s", {"zone": "a"}, capacity="1Gi"),
        *(claim(name, of_class="s") for name in "cd"),
        *(volume(name, of_class="s") for name in "vw"),
    ]
    for obj in put:
        storage.put(obj)
    storage.assume_claim(claim("c", of_class="s", bound_to="v"))
    storage.assume_volume(volume("v", of_class="s", claim="c"))
    storage.put(csi_node("n", csi_x=1))
    other.put_all_of(storage)
    assert (other.classes, other.csi_drivers) == (storage.classes, storage.csi_drivers)
    assert (other.claims, other.volumes) == (storage.claims, storage.volumes)
    assert list(other.pools("s")) == list(storage.pools("s")) != []
    assert other.assumptions() == storage.assumptions()
    assert other.class_volumes("s").volumes == storage.class_volumes("s").volumes
    other.delete(put[2])
    assert len(list(storage.pools("s"))) == 1
    before = other.version
    other.put_all_of(storage)
    assert other.version > before, "the pool is there again"
    assert other.csi_nodes.limits("csi.x") is None


def test_a_deleted_volume_is_removed_from_its_class_assumed_or_not():
    storage = Cluster().storage
    storage.put(volume("v"))
    storage.assume_volume(volume("v", claim="c"))
    storage.delete(volume("v"))
    assert storage.volume("v") is None
    assert storage.class_volumes("local").volumes == {}


def test_the_class_annotation_takes_precedence_over_the_field():
    storage = Cluster().storage
    annotated = {"annotations": {"volume.beta.kubernetes.io/storage-class": "fast"}}
    storage.put(storage_class("fast", "csi.fast"))
    storage.put(storage_class("local", "csi.slow"))
    by_annotation = storage.csi_volume(claim("c", meta=annotated))
    by_field = storage.csi_volume(claim("c"))
    assert by_annotation is not None
    assert by_field is not None
    assert (by_annotation.driver, by_field.driver) == ("csi.fast", "csi.slow")


@pytest.mark.parametrize(
    ("source", "is_counted"),
    [
        pytest.param({"emptyDir": {}}, False, id="empty directory"),
        pytest.param({"projected": {"sources": []}}, False, id="projected"),
        pytest.param({"csi": {"driver": "d"}}, False, id="inline CSI volume"),
        pytest.param({"persistentVolumeClaim": {"claimName": "c"}}, True, id="claim"),
        pytest.param({"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}, True, id="ephemeral"),
        pytest.param({"iscsi": {"iqn": "q"}}, True, id="iSCSI"),
        pytest.param({"rbd": {"image": "i"}}, True, id="RBD"),
        pytest.param({"gcePersistentDisk": {"pdName": "d"}}, True, id="a disk that CSI serves"),
    ],
)
def test_only_volumes_that_scheduling_reads_are_counted(source, is_counted):
    token = {"name": "t", "projected": {"sources": []}}
    keys = Cluster().keys_of(pod("p", token, {"name": "v"} | source))
    assert keys.has_volumes is is_counted


def test_removed_pods_leave_no_counts():
    cluster = Cluster()
    for name in ("n0", "n1"):
        cluster.put(node(name))
    inline = {"name": "g", "gcePersistentDisk": {"pdName": "d"}}
    pods = [pod(f"p{i}", *using("c", "d"), inline, node=f"n{i % 2}") for i in range(4)]
    csi = {"driver": "csi.x", "volumeHandle": "h"}
    for obj in (claim("c", bound_to="v"), volume("v", csi=csi, claim="c"), *pods):
        cluster.put(obj)
    use = cluster.storage.use
    assert use.attached("csi.x").tolist() == [1, 1]
    assert use.claim_users == {"default/c": 4, "default/d": 4}
    for obj in pods:
        cluster.delete(obj)
    assert use.attached("csi.x").tolist() == [0, 0]
    assert use.attached("pd.csi.storage.gke.io").tolist() == [0, 0]
    assert not use.claim_users
    assert not use.errors()


def test_a_dry_run_restores_the_counts():
    cluster = Cluster()
    cluster.put(node("n"))
    csi = {"driver": "csi.x", "volumeHandle": "h"}
    for obj in (claim("c", bound_to="v"), volume("v", csi=csi, claim="c")):
        cluster.put(obj)
    user = pod("p", *using("c"), node="n")
    cluster.put(user)
    use = cluster.storage.use
    with cluster.dry_run(0) as dry_run:
        dry_run.remove(cluster.pods[user.key])
        assert use.attached("csi.x").tolist() == [0]
    assert use.attached("csi.x").tolist() == [1]


@pytest.mark.parametrize(
    ("mode", "changes"), [("ReadWriteOncePod", True), ("ReadWriteOnce", False)]
)
def test_the_first_and_the_last_user_matter_where_a_claim_has_one_user(mode, changes):
    cluster = Cluster()
    cluster.put(node("n"))
    cluster.put(claim("c", accessModes=[mode]))
    versions = [cluster.storage.version]
    for change, name in [
        (cluster.put, "a"),
        (cluster.put, "b"),
        (cluster.delete, "a"),
        (cluster.delete, "b"),
    ]:
        change(pod(name, {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}, node="n"))
        versions.append(cluster.storage.version)
    found = [late - early for early, late in pairwise(versions)]
    assert found == ([1, 0, 0, 1] if changes else [0] * 4)


def test_nodes_and_volumes_without_attachments_are_forgotten():
    storage = Cluster().storage
    attachments = [attachment(name, "csi.x", "n", volume) for name, volume in ("av", "bv", "cw")]
    for one in attachments:
        storage.put(one)
    assert list(storage._attachments["n"]) == ["a", "b", "c"]
    left = []
    for one in [*attachments, attachment("unknown", "csi.x", "m", "u")]:
        storage.delete(one)
        left.append((len(storage._attachments), set(storage._nodes_of_volume)))
    assert left == [(1, {"v", "w"}), (1, {"w"}), (0, set()), (0, set())]


def test_capacities_of_another_index_are_news():
    storage, other = Cluster().storage, Cluster().storage
    other.put(capacity("p", "made", {}, capacity="1Gi"))
    storage.put_all_of(other)
    assert storage.version == 1
    assert [pool.limit_bytes for pool in storage.pools("made")] == [1 << 30]


@pytest.mark.parametrize(
    ("assumed_at", "version", "stays"),
    [
        pytest.param("7", "10", False, id="versions are numbers"),
        pytest.param("10", "7", True, id="an older one"),
        pytest.param("", "7", False, id="it was made from none"),
        pytest.param("7", "x", False, id="one that is no number"),
        pytest.param("x", "7", False, id="it was made from one that is no number"),
    ],
)
def test_versions_are_compared_where_they_are_numbers(assumed_at, version, stays):
    storage = Cluster().storage
    storage.put(claim("c", version=assumed_at))
    assumed = with_fields(claim("c", version=assumed_at), "metadata", annotations={"x": "y"})
    storage.assume_claim(assumed)
    storage.put(claim("c", version=version))
    assert (storage.claim("default/c") is assumed) is stays


def test_claims_are_linked_with_the_volumes_that_they_name_now():
    storage = Cluster().storage
    for bound_to, linked in (("v", {"v"}), ("w", {"w"}), ("", set()), ("v", {"v"})):
        storage.put(claim("c", bound_to=bound_to, version=bound_to))
        assert set(storage._claims_of_volume) == linked
    storage.delete(claim("c"))
    assert not storage._claims_of_volume

import pytest

from podwright.apimachinery.objects import InputError
from podwright.online.client import ABSENT
from podwright.online.sync.operations import Delete, write_of
from podwright.online.sync.source import Scope
from podwright.online.sync.source_kinds import (
    SourceKind,
    imported_kinds,
    mirrored_kinds,
    recorded_kinds,
    scheduler_kinds,
    source_kinds,
)


def test_kinds_have_the_order_of_kube_scheduler_simulator():
    required = [kind.resource for kind in source_kinds() if kind.is_required]
    assert required == [
        "namespaces", "priorityclasses", "storageclasses", "persistentvolumeclaims", "nodes",
        "persistentvolumes", "pods",
    ]  # fmt: skip
    assert source_kinds()[-1].resource == "pods"
    more = [kind.resource for kind in source_kinds(has_workloads=True)]
    workloads = ["services", "replicationcontrollers", "replicasets", "statefulsets"]
    assert more == [*(kind.resource for kind in source_kinds()[:-1]), *workloads, "pods"]


def test_kinds_are_named_as_in_kubectl():
    kinds = source_kinds(["po", "no", "resourceslices"])
    assert [kind.resource for kind in kinds] == ["nodes", "resourceslices", "pods"]
    assert all(kind.is_required for kind in kinds)


def test_an_import_reads_attachments_and_groups_too_before_the_pods():
    added = [kind for kind in imported_kinds() if kind not in source_kinds()]
    assert [(kind.api_version, kind.resource) for kind in added] == [
        ("storage.k8s.io/v1", "volumeattachments"),
        ("scheduling.k8s.io/v1alpha2", "podgroups"),
        ("scheduling.x-k8s.io/v1alpha1", "podgroups"),
    ]
    assert not any(kind.is_required for kind in added)
    assert imported_kinds()[-1].resource == "pods"


def test_a_record_has_workloads_and_groups_before_the_pods():
    groups = [kind for kind in imported_kinds() if kind.is_group]
    *others, pods = source_kinds(has_workloads=True)
    assert [*recorded_kinds()] == [*others, *groups, pods]
    assert [kind.resource for kind in recorded_kinds(["po", "podgroups"])] == ["podgroups", "pods"]
    with pytest.raises(InputError, match="deployments"):
        recorded_kinds(["deployments"])


def test_a_scheduler_follows_the_groups_of_its_plugins():
    plain = [kind.resource for kind in scheduler_kinds(["NodeName"])]
    assert plain[-2:] == ["volumeattachments", "pods"]
    assert "podgroups" not in plain
    *_, group, pods = scheduler_kinds(["GangScheduling"])
    assert (group.api_version, group.resource) == ("scheduling.k8s.io/v1alpha2", "podgroups")
    assert group.is_required
    assert pods.resource == "pods"


def test_a_scheduler_follows_each_custom_resource_once_before_the_pods():
    metrics = SourceKind(
        "example.com/v1", "NodeMetric", "nodemetrics", is_namespaced=False, is_required=False
    )
    *_, group = scheduler_kinds(["GangScheduling"])[:-1]
    newer = SourceKind(
        "scheduling.k8s.io/v1", "PodGroup", "podgroups", is_namespaced=True, is_required=False
    )
    kinds = scheduler_kinds(["GangScheduling"], [newer, group, metrics])
    assert [kind.resource for kind in kinds[-3:]] == ["podgroups", "nodemetrics", "pods"]
    assert kinds.count(group) == 1


def test_groups_are_named_with_the_group_of_their_plugin():
    for name in ("podgroups", "podgroups.scheduling.x-k8s.io"):
        (kind,) = imported_kinds([name])
        assert kind.api_version.startswith("scheduling." + ("x-" if "x-" in name else "k8s"))


def test_unknown_kinds_are_all_reported():
    with pytest.raises(InputError) as error:
        source_kinds(["podz", "secrets"])
    assert 'did you mean "pods"' in str(error.value)
    assert '"secrets" is none of the kinds that can be read: namespaces, ' in str(error.value)
    served = [
        SourceKind("example.com/v1", f"T{number}", f"t{number}s", False, is_required=False)
        for number in range(20)
    ]
    with pytest.raises(InputError) as error:
        mirrored_kinds(["xyz"], served)
    assert str(error.value).endswith(
        '"xyz" is none of the kinds that can be read: kubectl api-resources lists those of the'
        " cluster"
    )


def test_paths():
    kinds = {kind.resource: kind for kind in source_kinds()}
    assert kinds["pods"].path("a", "b") == "/api/v1/namespaces/a/pods/b"
    assert kinds["nodes"].path("a") == "/api/v1/nodes"
    assert kinds["priorityclasses"].path() == "/apis/scheduling.k8s.io/v1/priorityclasses"


def test_collections_are_those_of_the_namespaces_with_the_selector():
    kinds = {kind.resource: kind for kind in source_kinds()}
    pods, nodes = kinds["pods"], kinds["nodes"]
    everything = Scope(kinds=(pods, nodes))
    assert everything.collections(pods) == [("/api/v1/pods", {})]
    some = Scope(kinds=(pods, nodes), namespaces=("a", "b"), selector="k=v")
    selected = {"labelSelector": "k=v"}
    assert some.collections(pods) == [
        ("/api/v1/namespaces/a/pods", selected),
        ("/api/v1/namespaces/b/pods", selected),
    ]
    assert some.collections(nodes) == [("/api/v1/nodes", selected)]


def test_a_pod_that_the_source_has_deleted_is_gone_here_at_once():
    kinds = {kind.resource: kind for kind in source_kinds()}
    write = write_of(Delete(kinds["pods"], "a/b"))
    assert (write.method, write.path) == ("DELETE", "/api/v1/namespaces/a/pods/b")
    assert bytes(write.body) == b'{"gracePeriodSeconds":0}'
    assert bytes(write_of(Delete(kinds["nodes"], "n")).body) == ABSENT

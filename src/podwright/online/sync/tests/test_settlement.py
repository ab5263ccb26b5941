"""What a destination has to itself of an object, and what is brought to the state of the source."""

import json
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.properties.effort import effort

from podwright.apimachinery.objects import SOURCE_UID
from podwright.online.client import BoundPods, SyncPolicies
from podwright.online.client.cluster import ChangedObject, Meta
from podwright.online.sync.mirror import Mirror
from podwright.online.sync.object_copy import created_copy
from podwright.online.sync.operations import Settle, settling_writes
from podwright.online.sync.placements import SeenPods
from podwright.online.sync.settlement import settled
from podwright.online.sync.source import SourceChange
from podwright.online.sync.source_kinds import source_kinds
from podwright.online.sync.tests.copied_cluster import CopiedCluster
from podwright.online.sync.tests.source_changes import KINDS, change

WORKLOADS = {kind.resource: kind for kind in source_kinds(has_workloads=True)}


def copy(resource, *, metadata=None, **fields):
    """Return the copy of an object of the source."""
    mirror, copied = Mirror(SyncPolicies()), CopiedCluster()
    copied.follow(mirror, change("Add", "x", kind=resource, metadata=metadata, **fields))
    ((place, obj),) = copied.objects.items()
    assert place[0] == resource
    return obj


def here(obj, *, metadata=None, **fields):
    """Return what a destination has made of a copy."""
    server = {"uid": "own", "resourceVersion": "7", "managedFields": [{}]}
    return {**obj, **fields, "metadata": {**obj["metadata"], **server, **(metadata or {})}}


@pytest.mark.parametrize(
    ("resource", "source", "metadata", "own"),
    [
        pytest.param("nodes", {"status": {"capacity": {"cpu": "4"}}}, {}, {
            "spec": {"podCIDR": "10.0.0.0/24"},
            "status": {"capacity": {"cpu": "4"}, "volumesAttached": [{"name": "v"}]},
        }, id="the addresses and the volumes of its own pods"),
        pytest.param("persistentvolumeclaims", {"spec": {}}, {
            "finalizers": ["kubernetes.io/pvc-protection"],
            "annotations": {SOURCE_UID: "u1", "pv.kubernetes.io/bind-completed": "yes"},
        }, {"status": {"phase": "Bound"}}, id="finalizers, status, annotations of controllers"),
        pytest.param("pods", {"spec": {"containers": []}}, {"labels": {
            "topology.kubernetes.io/zone": "a"}}, {"spec": {
                "containers": [], "serviceAccountName": "default", "nodeName": "n1"},
            "status": {"phase": "Running"}}, id="the node of a pod, its account and status"),
        pytest.param("namespaces", {}, {}, {"spec": {"finalizers": ["kubernetes"]}},
                     id="the finalizers of a namespace"),
        pytest.param("csinodes", {"spec": {"drivers": [{"name": "d", "topologyKeys": None}]}}, {},
                     {"spec": {"drivers": [{"name": "d"}]}}, id="null is as absent"),
        pytest.param("runtimeclasses", {"handler": "h"}, {}, {}, id="nothing"),
    ],
)  # fmt: skip
def test_what_a_destination_has_to_itself_is_no_difference(resource, source, metadata, own):
    obj = copy(resource, **source)
    present = here(obj, metadata=metadata, **own)
    settlement = settled(KINDS[resource], obj, present, SyncPolicies())
    assert settlement.differences == []


@pytest.mark.parametrize(
    ("resource", "before", "after"),
    [
        ("csinodes", {"spec": {"drivers": []}}, {"spec": {"drivers": [{"name": "d"}]}}),
        ("poddisruptionbudgets", {"spec": {"minAvailable": 1}}, {"spec": {"minAvailable": 2}}),
        ("runtimeclasses", {"handler": "h"}, {"handler": "h", "overhead": {"podFixed": {}}}),
        ("csidrivers", {"spec": {}}, {"spec": {"storageCapacity": True}}),
        ("csistoragecapacities", {"capacity": "1Gi"}, {"capacity": "2Gi"}),
        ("nodes", {"spec": {"taints": [{"key": "k"}]}}, {"spec": {}}),
        ("namespaces", {"metadata": {"labels": {"a": "b"}}}, {"metadata": {"labels": {}}}),
    ],
)
@pytest.mark.parametrize("is_interrupted", [False, True])
def test_changed_objects_are_replaced_at_their_version(resource, before, after, is_interrupted):
    mirror, copied = Mirror(SyncPolicies()), CopiedCluster()
    copied.follow(mirror, change("Add", "x", kind=resource, **before))
    now = change("Update", "x", kind=resource, initial=is_interrupted, **after)
    if is_interrupted:
        copied.start(Mirror(SyncPolicies()), [(KINDS[resource], [now])])
    else:
        copied.follow(mirror, now)
    # The destination refuses a PUT without its version, and one of an old version.
    assert copied.writes == ["create", "PUT"]


def test_objects_that_every_cluster_has_are_brought_to_the_state_of_the_source():
    own = {"metadata": {"name": "default"}, "spec": {"finalizers": ["kubernetes"]}}
    copied = CopiedCluster([("namespaces", "default", own)])
    labels = {"labels": {"team": "x"}}
    listed = [change("Add", "default", kind="namespaces", metadata=labels)]
    copied.start(Mirror(SyncPolicies()), [(KINDS["namespaces"], listed)])
    assert copied.objects["namespaces", "default"]["metadata"]["labels"] == {"team": "x"}
    assert copied.objects["namespaces", "default"]["spec"] == own["spec"]
    assert copied.writes == ["PUT"]


def test_a_class_of_the_destination_is_no_default_of_claims_that_have_none_at_the_source():
    is_default = {"storageclass.kubernetes.io/is-default-class": "true"}
    notes = {**is_default, "team": "a"}
    own = {"metadata": {"name": "standard", "annotations": notes}, "provisioner": "p"}
    plain = {"metadata": {"name": "plain", "annotations": {"team": "true"}}, "provisioner": "p"}
    copied = CopiedCluster(
        [("storageclasses", "standard", own), ("storageclasses", "plain", plain)]
    )
    copied.start(Mirror(SyncPolicies()), [(KINDS["storageclasses"], [])])
    found = copied.objects["storageclasses", "standard"]
    assert found["metadata"]["annotations"] == dict.fromkeys(is_default, "false") | {"team": "a"}
    assert copied.writes == ["PUT"], "the other class is no default"
    assert found["provisioner"] == "p"
    # One of the same name at the source is the copy of that, default or not.
    listed = [change("Add", "standard", kind="storageclasses", provisioner="p")]
    copied.start(Mirror(SyncPolicies()), [(KINDS["storageclasses"], listed)])
    annotations = copied.objects["storageclasses", "standard"]["metadata"]["annotations"]
    assert annotations == {SOURCE_UID: "u1"}


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_pod_that_is_seen_before_its_owner_is_spread_as_at_the_source(is_interrupted):
    controller = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "w"}
    metadata = {"labels": {"app": "a"}, "ownerReferences": [{**controller, "controller": True}]}
    pod = change("Add", "p", metadata=metadata, initial=is_interrupted, spec={"containers": []})
    body: dict[str, Any] = {"metadata": {"name": "web", "namespace": "default"}}
    body["spec"] = {"selector": {"matchLabels": {"app": "a"}}, "template": {}}
    meta = Meta(name="web", namespace="default", uid="w")
    added = ChangedObject("Add", meta, json.dumps(body).encode())
    owner = SourceChange(WORKLOADS["replicasets"], added, 0)
    mirror, copied = Mirror(SyncPolicies()), CopiedCluster()
    copied.follow(mirror, pod)
    if is_interrupted:
        mirror = Mirror(SyncPolicies(), seen=SeenPods("2030-01-01T00:00:05Z", ["u1"]))
        assert mirror.take(owner) == ()
        copied.start(mirror, [(KINDS["pods"], [pod])])
    else:
        copied.follow(mirror, owner, owner)
    annotations = copied.pod()["metadata"]["annotations"]
    assert annotations["podwright.dev/spread-selector"] == "app=a"
    assert copied.writes == ["create", "PATCH"]
    # A pod that has a node here stays as it is.
    copied.pod()["spec"]["nodeName"] = "n1"
    mirror.placed("default/p")
    gone = deletion_of(owner)
    assert mirror.take(gone) == ()


def deletion_of(each):
    return SourceChange(each.kind, ChangedObject("Delete", each.change.meta), 0)


def test_bindings_of_the_source_are_mirrored_after_an_interruption():
    policies = SyncPolicies(bound=BoundPods.source)
    mirror, copied = Mirror(policies), CopiedCluster()
    copied.follow(mirror, change("Add", "p", spec={"containers": []}))
    bound = change("Add", "p", spec={"containers": []}, node="n1", initial=True)
    seen = SeenPods("2030-01-01T00:00:05Z", ["u1"])
    copied.start(Mirror(policies, seen=seen), [(KINDS["pods"], [bound])])
    assert copied.pod()["spec"]["nodeName"] == "n1"


def test_differences_that_a_policy_explains_have_its_name():
    mirror, copied = Mirror(SyncPolicies()), CopiedCluster()
    spec = {"containers": [{"name": "c", "image": "i"}]}
    copied.follow(mirror, change("Add", "p", spec=spec))
    copied.pod()["spec"]["nodeName"] = "here"
    at_source = change(
        "Add", "p", spec=spec, node="n1", initial=True, metadata={"labels": {"a": "b"}},
        status={"phase": "Succeeded"},
    )  # fmt: skip
    seen = SeenPods("2030-01-01T00:00:05Z", ["u1"])
    found = copied.compared(Mirror(SyncPolicies(), seen=seen), [(KINDS["pods"], [at_source])])
    assert [(each.path, bool(each.policy)) for _, each in found] == [
        ("metadata.labels.a", True), ("spec.nodeName", True), ("status.phase", True),
    ]  # fmt: skip
    assert "--follow-labels" in found[0][1].policy


def test_a_difference_has_the_value_of_the_source_and_the_own_one():
    source = {"containers": [{"name": "c", "image": "new"}]}
    obj = copy("pods", spec=source, metadata={"labels": {"a": "source"}})
    own = {"containers": [{"name": "c", "image": "old"}], "nodeName": "n1"}
    present = here(obj, spec=own, metadata={"labels": {"a": "own"}})
    settlement = settled(KINDS["pods"], obj, present, SyncPolicies(), node="n1")
    assert [(each.path, each.source, each.here) for each in settlement.kept] == [
        ("spec.containers[0].image", "new", "old"),
        ("metadata.labels.a", "source", "own"),
    ]


@pytest.mark.parametrize(
    ("keeps", "account", "own", "kept"),
    [
        pytest.param(False, "web", "default", [], id="accounts are not copied"),
        pytest.param(True, "web", "web", [], id="the same account"),
        pytest.param(True, "web", "default", ["spec.serviceAccountName"], id="another account"),
    ],
)
def test_the_account_of_a_pod_is_compared_if_accounts_are_copied(keeps, account, own, kept):
    policies = SyncPolicies(keeps_accounts=keeps)
    source = change("Add", "x", spec={"containers": [], "serviceAccountName": account}, node="n1")
    obj = created_copy(KINDS["pods"], json.loads(source.change.body), keeps_accounts=keeps)
    spec = {"containers": [], "serviceAccountName": own, "nodeName": "n1"}
    settlement = settled(KINDS["pods"], obj, here(obj, spec=spec), policies, node="n1")
    assert [each.path for each in settlement.kept] == kept
    assert settlement.differences == []


def test_resources_are_resized_by_a_strategic_patch():
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}
    obj = copy("pods", spec={"containers": [container]}, metadata={"labels": {"a": "b"}})
    smaller = {**container, "resources": {"requests": {"cpu": "1"}}}
    present = here(obj, spec={"containers": [smaller], "nodeName": "n1"}, metadata={"labels": {}})
    policies = SyncPolicies(follows_resources=True, follows_labels=True)
    settlement = settled(KINDS["pods"], obj, present, policies, node="n1")
    settle = Settle(KINDS["pods"], "default/x", obj, node="n1")
    requests = settling_writes(settle, settlement, present)
    assert [(each.path.rpartition("/")[2], each.content_type) for each in requests] == [
        ("x", "application/merge-patch+json"),
        ("resize", "application/strategic-merge-patch+json"),
    ]


# ------------------------------------------------------------------------------------ histories

VALUES = st.sampled_from(["a", "b", None])
NAMES = st.sampled_from(["x", "y"])
KEPT = ("nodes", "csinodes", "runtimeclasses", "pods")


def document(resource: str, name: str, uid: str, value: str | None, node: str) -> dict[str, Any]:
    """Return an object of the source whose fields depend on a value."""
    labels = {} if value is None else {"l": value}
    metadata = {"name": name, "uid": uid, "labels": labels, "resourceVersion": uid + str(value)}
    if resource == "pods":
        gates = {"schedulingGates": [{"name": "g"}]} if value == "a" and not node else {}
        requests = {"cpu": "2" if value == "b" else "1"}
        container = {"name": "c", "image": "i", "resources": {"requests": requests}}
        metadata |= {"namespace": "default", "creationTimestamp": "2030-01-01T00:00:05Z"}
        spec = {"containers": [container], **gates, **({"nodeName": node} if node else {})}
        return {"metadata": metadata, "spec": spec}
    fields: dict[str, dict[str, Any]] = {
        "nodes": {"spec": {"taints": [{"key": value}]} if value else {}, "status": {"v": value}},
        "csinodes": {"spec": {"drivers": [{"name": value}] if value else []}},
        "runtimeclasses": {"handler": value or "none"},
    }
    return {"metadata": metadata, **fields[resource]}


def without_node(pod: dict[str, Any]) -> dict[str, Any]:
    return {**pod, "spec": {k: v for k, v in pod["spec"].items() if k != "nodeName"}}


def allocation(device):
    """Return the status of a claim that has a device."""
    result = {"request": "r", "driver": "d", "pool": "p", "device": device}
    return {"allocation": {"devices": {"results": [result]}}}


def found(value: Any, field: str) -> Any:
    """Return the value of a field, however deep."""
    if isinstance(value, dict) and field in value:
        return value[field]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((one for each in parts if (one := found(each, field)) is not None), None)


@pytest.mark.parametrize(
    ("resource", "source", "own", "kept"),
    [
        pytest.param(
            "persistentvolumeclaims",
            {"spec": {"volumeName": "a"}},
            {"spec": {"volumeName": "b"}},
            ["spec.volumeName"],
            id="a claim that is bound to another volume",
        ),
        pytest.param(
            "persistentvolumeclaims",
            {"spec": {"volumeName": "a"}},
            {"spec": {"volumeName": "a"}},
            [],
            id="a claim that is bound to the same one",
        ),
        pytest.param(
            "persistentvolumes",
            {"spec": {"claimRef": {"namespace": "a", "name": "c"}}},
            {"spec": {"claimRef": {"namespace": "b", "name": "c"}}},
            ["spec.claimRef.namespace"],
            id="a volume that is bound to a claim of another namespace",
        ),
        pytest.param(
            "persistentvolumes",
            {"spec": {"claimRef": {"namespace": "a", "name": "c"}}},
            {"spec": {"claimRef": {"namespace": "a", "name": "d"}}},
            ["spec.claimRef.name"],
            id="a volume that is bound to another claim",
        ),
        pytest.param(
            "persistentvolumes",
            {"spec": {"claimRef": {"namespace": "a", "name": "c"}}},
            {"spec": {"claimRef": {"namespace": "a", "name": "c"}}},
            [],
            id="a volume that is bound to the same claim",
        ),
        pytest.param(
            "resourceclaims",
            {"spec": {}, "status": allocation("d0")},
            {"spec": {}, "status": allocation("d1")},
            ["status.allocation.devices.results[0].device"],
            id="a claim that has other devices",
        ),
        pytest.param(
            "resourceclaims",
            {"spec": {}, "status": allocation("d0")},
            {"spec": {}},
            [],
            id="a claim that has none yet",
        ),
    ],
)
def test_what_a_destination_has_bound_or_allocated_stays_so(resource, source, own, kept):
    metadata = {"name": "x", "annotations": {SOURCE_UID: "u1"}}
    obj = {"metadata": metadata, **source}
    present = {"metadata": {**metadata, "uid": "own"}, **own}
    settlement = settled(KINDS[resource], obj, present, SyncPolicies())
    assert [each.path for each in settlement.kept] == kept
    assert all(each.policy for each in settlement.kept)
    for each in settlement.kept:
        field = each.path.rpartition(".")[2]
        assert (each.source, each.here) == (found(source, field), found(own, field))
    part = "status" if resource == "resourceclaims" else "spec"
    assert settlement.obj[part] == (own if kept else source)[part]
    # The devices of a claim are freed before it is gone.
    protects = resource == "resourceclaims" and not kept
    finalizers = ["resource.kubernetes.io/delete-protection"] if protects else None
    assert settlement.obj["metadata"].get("finalizers") == finalizers
    # Others have finalizers of their own.
    present["metadata"]["finalizers"] = ["example.com/f"]
    settlement = settled(KINDS[resource], obj, present, SyncPolicies())
    assert settlement.obj["metadata"]["finalizers"] == ["example.com/f", *(finalizers or ())]


def test_devices_that_the_destination_alone_has_allocated_stay_so():
    metadata = {"name": "x", "annotations": {SOURCE_UID: "u1"}}
    own = allocation("d0")
    for present in ({"metadata": metadata, "status": own}, {"metadata": metadata}):
        settlement = settled(
            KINDS["resourceclaims"], {"metadata": metadata, "spec": {}},
            {"spec": {}, **present}, SyncPolicies(),
        )  # fmt: skip
        assert settlement.obj.get("status") == present.get("status")
        assert (settlement.differences, settlement.kept) == ([], ())


class Histories(RuleBasedStateMachine):
    """Random changes of a source, which a mirror follows with interruptions.

    An interruption is a restart of the sync, or of its watches: then the changes of a while arrive
    as one. After each the copy equals the source but for the policies.
    """

    @initialize()
    def start(self):
        self.source: dict[tuple[str, str], dict[str, Any]] = {}
        self.known: dict[tuple[str, str], dict[str, Any]] = {}
        self.copied = CopiedCluster()
        self.mirror = Mirror(SyncPolicies())
        self.seen: list[str] = []
        self.count = 0
        self.is_followed = True

    @rule(resource=st.sampled_from(KEPT), name=NAMES, value=VALUES)
    def put(self, resource, name, value):
        obj = self.source.get((resource, name))
        uid = obj["metadata"]["uid"] if obj else f"u{self.count}"
        self.count += 1
        node = (obj or {}).get("spec", {}).get("nodeName", "")
        self.source[resource, name] = document(resource, name, uid, value, node)
        self.deliver()

    @rule(name=NAMES)
    def bind(self, name):
        if (obj := self.source.get(("pods", name))) is not None:
            value = obj["metadata"]["labels"].get("l")
            new = document("pods", name, obj["metadata"]["uid"], value, "n1")
            new["metadata"]["resourceVersion"] += " bound"
            self.source["pods", name] = new
            self.deliver()

    @rule(name=NAMES)
    def place_here(self, name):
        pod = self.copied.objects.get(("pods", f"default/{name}"))
        if pod is not None and not pod["spec"].get("schedulingGates"):
            pod["spec"]["nodeName"] = "here"
            self.mirror.placed(f"default/{name}")

    @rule(resource=st.sampled_from(KEPT), name=NAMES)
    def delete(self, resource, name):
        self.source.pop((resource, name), None)
        self.deliver()

    @rule()
    def cut(self):
        self.is_followed = False

    @rule()
    def relist(self):
        self.is_followed = True
        self.deliver()

    @rule()
    def restart(self):
        self.is_followed = True
        until = "2030-01-01T00:00:05Z" if self.seen else ""
        self.mirror = Mirror(SyncPolicies(), seen=SeenPods(until, self.seen))
        self.known = dict(self.source)
        listed = [
            (KINDS[kind], [self.change("Add", r, o) for (r, _), o in self.source.items()
                           if r == kind])
            for kind in KEPT
        ]  # fmt: skip
        self.copied.start(self.mirror, listed)
        self.seen = list(self.mirror.seen.recent)

    def deliver(self):
        if not self.is_followed:
            return
        gone = [
            (place, obj) for place, obj in self.known.items()
            if self.source.get(place, {}).get("metadata", {}).get("uid") != obj["metadata"]["uid"]
        ]  # fmt: skip
        for (resource, _), obj in gone:
            self.copied.follow(self.mirror, self.change("Delete", resource, obj))
        for place, obj in self.source.items():
            if self.known.get(place) != obj:
                self.copied.follow(self.mirror, self.change("Update", place[0], obj))
        self.known = dict(self.source)
        self.seen = list(self.mirror.seen.recent)

    def change(self, event, resource, obj):
        metadata = obj["metadata"]
        meta = Meta(metadata["name"], metadata.get("namespace", ""), metadata["uid"])
        body = json.dumps(obj).encode()
        return SourceChange(KINDS[resource], ChangedObject(event, meta, body, event == "Add"), 0)

    @invariant()
    def the_copy_equals_the_source(self):
        if not self.is_followed:
            return
        copies = {(r, key.rpartition("/")[2]): o for (r, key), o in self.copied.objects.items()}
        assert copies.keys() == self.source.keys()
        for place, source in self.source.items():
            ours, theirs = copies[place], source
            assert ours["metadata"]["annotations"][SOURCE_UID] == theirs["metadata"]["uid"]
            if place[0] == "pods":
                are_placed = theirs["spec"].get("nodeName") and ours["spec"].get("nodeName")
                if are_placed:
                    continue  # the policies --follow-labels and --follow-resources
                ours, theirs = without_node(ours), without_node(theirs)
            assert ours["metadata"].get("labels", {}) == theirs["metadata"]["labels"]
            left_out = ("metadata", "apiVersion", "kind")
            assert {k: v for k, v in ours.items() if k not in left_out} == {
                k: v for k, v in theirs.items() if k not in left_out
            }


TestHistories = Histories.TestCase
TestHistories.settings = effort(60, stateful_step_count=25)


def kept_of(settlement):
    return [(each.path, each.source, each.here, each.policy) for each in settlement.kept]


def placed(*, labels=None, cpu="1", annotations=None, **spec):
    metadata = {"name": "p", "labels": labels or {}, "annotations": annotations or {}}
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]
    return {"metadata": metadata, "spec": {"containers": containers, **spec}}


@pytest.mark.parametrize(
    ("source", "own", "node", "policies", "kept", "paths"),
    [
        pytest.param({"cpu": "2"}, {"nodeName": "n1"}, "n1", {}, [
            ("spec.containers[0].resources.requests.cpu", "2", "1",
             "changes of pods that both sides have placed are not mirrored without"
             " --follow-resources")], [], id="resources"),
        pytest.param({"cpu": "2"}, {"nodeName": "n1"}, "n1", {"follows_resources": True}, [],
                     ["spec.containers[0].resources.requests.cpu"], id="followed resources"),
        pytest.param({"labels": {"a": "2"}}, {"nodeName": "n1", "labels": {"a": "1"}}, "n1", {}, [
            ("metadata.labels.a", "2", "1", "changes of pods that both sides have placed are not"
             " mirrored without --follow-labels")], [], id="labels"),
        pytest.param({"labels": {"a": "2"}}, {"nodeName": "n1", "labels": {"a": "1"}}, "n1",
                     {"follows_labels": True}, [], ["metadata.labels.a"], id="followed labels"),
        pytest.param({"annotations": {"a": "2"}}, {"nodeName": "n1"}, "n1", {}, [
            ("metadata.annotations.a", "2", None,
             "changes of pods that both sides have placed are not mirrored")], [],
            id="annotations"),
        pytest.param({"priority": 7}, {"nodeName": "n1", "priority": 3}, "n1", {}, [
            ("spec.priority", 7, 3,
             "changes of pods that both sides have placed are not mirrored")], [], id="the spec"),
        pytest.param({}, {"nodeName": "n2"}, "n1", {}, [
            ("spec.nodeName", "n1", "n2", "pods are placed by the destination (--bound)")], [],
            id="another node"),
        pytest.param({}, {"nodeName": "n2"}, "", {}, [
            ("spec.nodeName", None, "n2", "pods are placed by the destination (--bound)")], [],
            id="no node at the source"),
        pytest.param({}, {}, "n1", {}, [
            ("spec.nodeName", "n1", None, "pods are placed by the destination (--bound)")], [],
            id="no node here"),
        pytest.param({}, {}, "n1", {"bound": BoundPods.source}, [], [],
                     id="no node here yet, and the source schedules"),
        pytest.param({}, {"nodeName": "n2"}, "n1", {"bound": BoundPods.source}, [
            ("spec.nodeName", "n1", "n2", "pods are placed by the destination (--bound)")], [],
            id="the source schedules, and this is another node"),
        pytest.param({"cpu": "2", "labels": {"a": "1"}}, {}, "", {}, [],
                     ["spec.containers[0].resources.requests.cpu", "metadata.labels.a"],
                     id="a pod that waits follows everything"),
    ],
)  # fmt: skip
def test_what_stays_different_of_a_pod_has_both_values_and_its_policy(
    source, own, node, policies, kept, paths
):
    aim, present = placed(**source), here(placed(**own))
    settlement = settled(KINDS["pods"], aim, present, SyncPolicies(**policies), node=node)
    assert kept_of(settlement) == kept
    assert sorted(each.path for each in settlement.differences) == sorted(paths)


@pytest.mark.parametrize("field", ["topologySpreadConstraints", "affinity"])
def test_what_keys_of_labels_stand_for_is_no_difference(field):
    """The destination adds it to a new pod, as the API server of the source did."""
    added = {"key": "rev", "operator": "In", "values": ["7"]}

    def spread(*requirements):
        term = {"topologyKey": "zone", "matchLabelKeys": ["rev"], "labelSelector": {
            "matchExpressions": [*requirements]}}  # fmt: skip
        terms = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        value = [term] if field == "topologySpreadConstraints" else {"podAffinity": terms}
        return placed(labels={"rev": "7"}, **{field: value})

    present, other = here(spread(added)), {**added, "key": "app"}
    aim = created_copy(KINDS["pods"], spread(added))
    assert aim["spec"][field] == spread()["spec"][field]
    settlement = settled(KINDS["pods"], aim, present, SyncPolicies())
    assert (settlement.differences, kept_of(settlement)) == ([], [])
    assert settlement.obj["spec"][field] == present["spec"][field]
    assert settled(KINDS["pods"], spread(other), present, SyncPolicies()).differences


@pytest.mark.parametrize(
    ("phase", "own", "mirrors", "kept", "paths"),
    [
        ("Succeeded", "Running", False, [("status.phase", "Succeeded", "Running")], []),
        ("Failed", "Running", True, [], ["status.phase"]),
        ("Running", "Pending", True, [], []),
        ("Failed", "Failed", False, [], []),
    ],
)
def test_a_pod_ends_here_only_on_request(phase, own, mirrors, kept, paths):
    aim = {**placed(nodeName="n1"), "status": {"phase": phase, "podIP": "10.0.0.1"}}
    present = {**here(placed(nodeName="n1")), "status": {"phase": own, "podIP": "10.0.0.2"}}
    policies = SyncPolicies(mirrors_pod_status=mirrors)
    settlement = settled(KINDS["pods"], aim, present, policies, node="n1")
    assert [each[:3] for each in kept_of(settlement)] == kept
    assert [each.path for each in settlement.differences] == paths
    assert settlement.obj["status"]["podIP"] == "10.0.0.2", "the rest is that of this cluster"


def test_a_frozen_node_keeps_its_status_and_says_so():
    aim: Any = {"metadata": {"name": "n"}, "spec": {}, "status": {"capacity": {"cpu": "8"}}}
    present: Any = {"metadata": {"name": "n"}, "spec": {}, "status": {"capacity": {"cpu": "4"}}}
    frozen = settled(KINDS["nodes"], aim, present, SyncPolicies(freezes_node_status=True))
    policy = "nodes keep the status of their creation (--freeze-node-status)"
    assert kept_of(frozen) == [("status.capacity.cpu", "8", "4", policy)]
    assert (frozen.differences, frozen.obj["status"]) == ([], present["status"])
    followed = settled(KINDS["nodes"], aim, present, SyncPolicies())
    # What is allocatable is the capacity, where nothing else is given.
    assert [each.path for each in followed.differences] == [
        "status.capacity.cpu", "status.allocatable.cpu"
    ]  # fmt: skip
    writes = settling_writes(Settle(KINDS["nodes"], "n", aim, SyncPolicies()), followed, present)
    assert [(each.method, each.path) for each in writes] == [("PUT", "/api/v1/nodes/n/status")]
    aim["spec"]["unschedulable"] = True
    present["metadata"]["resourceVersion"] = "7"
    writes = settling_writes(
        Settle(KINDS["nodes"], "n", aim, SyncPolicies()),
        settled(KINDS["nodes"], aim, present, SyncPolicies()),
        present,
    )
    bodies = [json.loads(bytes(each.body)) for each in writes]
    assert [each.path for each in writes] == ["/api/v1/nodes/n", "/api/v1/nodes/n/status"]
    # The first request changes the version, so the second one must not name the one before.
    assert [each["metadata"].get("resourceVersion") for each in bodies] == ["7", None]
    assert [each["metadata"]["name"] for each in bodies] == ["n", "n"]


@pytest.mark.parametrize(
    ("ports", "paths"),
    [
        pytest.param({"kubeletEndpoint": {"Port": 0}}, [], id="nothing is set"),
        pytest.param(
            {"kubeletEndpoint": {"Port": 10250}, "other": {"Port": 0}},
            ["status.daemonEndpoints"],
            id="a part is set",
        ),
    ],
)
def test_structs_of_a_status_in_which_nothing_is_set_are_no_difference(ports, paths):
    aim: Any = {"metadata": {"name": "n"}, "spec": {}, "status": {"daemonEndpoints": ports}}
    present: Any = {"metadata": {"name": "n"}, "spec": {}, "status": {"phase": "Running"}}
    aim["status"]["phase"] = "Running"
    followed = settled(KINDS["nodes"], aim, present, SyncPolicies())
    assert [each.path for each in followed.differences] == paths


@pytest.mark.parametrize(
    ("field", "volumes"),
    [("volumesAttached", [{"name": "v"}]), ("volumesInUse", ["v"])],
)
def test_attached_volumes_are_those_of_this_cluster(field, volumes):
    aim = {"metadata": {"name": "n"}, "status": {field: ["at the source"], "phase": "x"}}
    for own in ({field: volumes}, {}):
        present = {"metadata": {"name": "n"}, "status": own}
        found = settled(KINDS["nodes"], aim, present, SyncPolicies()).obj
        assert found["status"] == {"phase": "x", **own}
    networks = {"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.1.0/24"]}
    source = {"metadata": {"name": "n"}, "spec": {"podCIDR": "10.9.0.0/24", "providerID": "p"}}
    present = {"metadata": {"name": "n"}, "spec": networks}
    found = settled(KINDS["nodes"], source, present, SyncPolicies()).obj
    assert found["spec"] == {"providerID": "p", **networks}


def test_a_request_that_a_limit_implies_is_no_resize():
    aim, present = placed(labels={"a": "2"}), here(placed(labels={"a": "1"}))
    limits = {"cpu": "1", "memory": "1Gi"}
    aim["spec"]["containers"][0]["resources"] = {"limits": limits}
    present["spec"]["containers"][0]["resources"] = {"limits": limits, "requests": limits}
    operation = Settle(KINDS["pods"], "default/p", aim, SyncPolicies())
    settlement = operation.settled(present)
    writes = settling_writes(operation, settlement, present)
    assert [(each.method, each.path) for each in writes] == [
        ("PATCH", "/api/v1/namespaces/default/pods/p")
    ]
    body = json.loads(bytes(writes[0].body))
    assert body["metadata"]["labels"] == {"a": "2"}
    assert "spec" not in body


@pytest.mark.parametrize(
    ("source", "own", "is_bound_otherwise"),
    [
        ({"volumeName": "v1"}, {"volumeName": "v2"}, True),
        ({"volumeName": "v1"}, {"volumeName": "v1"}, False),
        ({"volumeName": "v1"}, {}, False),
        ({}, {"volumeName": "v1"}, True),
        ({"claimRef": {"namespace": "a", "name": "c"}},
         {"claimRef": {"namespace": "a", "name": "d"}}, True),
        ({"claimRef": {"namespace": "a", "name": "c"}},
         {"claimRef": {"namespace": "b", "name": "c"}}, True),
        ({"claimRef": {"namespace": "a", "name": "c", "uid": "1"}},
         {"claimRef": {"namespace": "a", "name": "c", "uid": "2"}}, False),
        ({}, {"claimRef": {"namespace": "a", "name": "c"}}, True),
        ({"claimRef": {"namespace": "a", "name": "c"}}, {}, False),
    ],
)  # fmt: skip
def test_which_volumes_and_claims_are_bound_otherwise(source, own, is_bound_otherwise):
    aim = {"metadata": {"name": "x"}, "spec": {"storage": "2Gi", **source}}
    present = {"metadata": {"name": "x"}, "spec": {"storage": "1Gi", **own}}
    kind = KINDS["persistentvolumes" if "claimRef" in str((source, own)) else
                 "persistentvolumeclaims"]  # fmt: skip
    found = settled(kind, aim, present, SyncPolicies())
    assert bool(found.kept) is is_bound_otherwise
    if is_bound_otherwise:
        assert found.obj["spec"] == present["spec"]
        assert ("spec.storage", "2Gi", "1Gi") in [each[:3] for each in kept_of(found)]
        assert {each.policy for each in found.kept} == {
            "claims and volumes that the destination has bound stay so"
        }
    else:
        assert found.obj["spec"] == aim["spec"]


@pytest.mark.parametrize(
    ("annotation", "is_own"),
    [
        ("kube-scheduler-simulator.sigs.k8s.io/result", True),
        ("node.alpha.kubernetes.io/ttl", True),
        ("pv.kubernetes.io/bind-completed", True),
        ("resource.kubernetes.io/x", True),
        ("volume.beta.kubernetes.io/storage-provisioner", True),
        ("volume.kubernetes.io/selected-node", True),
        ("example.com/pv.kubernetes.io/", False),
        ("team", False),
    ],
)
def test_annotations_of_components_are_those_of_the_destination(annotation, is_own):
    aim = {"metadata": {"name": "c", "annotations": {annotation: "source"}}, "handler": "h"}
    for own in ({annotation: "here"}, {}):
        present = {"metadata": {"name": "c", "annotations": own}, "handler": "h"}
        found = settled(KINDS["runtimeclasses"], aim, present, SyncPolicies())
        expected = own if is_own else {annotation: "source"}
        assert found.obj["metadata"]["annotations"] == expected
        assert bool(found.differences) is not is_own

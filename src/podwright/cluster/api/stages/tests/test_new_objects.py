"""What the server makes of a new object before and after admission, as whole objects."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.cluster.api.gated_fields import disabled_fields
from podwright.cluster.api.identity import generated_name, uid_at
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.stages.preparation import (
    check_sent_version,
    keep_distinct_owners,
    name_of,
    prepare_new,
    set_metadata,
)
from podwright.cluster.api.stages.tests.writes import NOW, parts, resource, sent_write
from podwright.cluster.api.users import User
from podwright.cluster.store import ObjectStore
from podwright.testing import make_node

SERVERS_OWN = {
    "creationTimestamp": "2020-01-01T00:00:00Z",
    "resourceVersion": "5",
    "selfLink": "/x",
    "uid": "of-the-client",
}
DELETED = {"deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 3}
UID = uid_at(7, 2)


@pytest.mark.parametrize(
    ("kind", "sent", "options", "made"),
    [
        pytest.param(
            "v1 ConfigMap",
            {"name": "a", **SERVERS_OWN, **DELETED},
            {},
            {"name": "a", "uid": UID, "creationTimestamp": NOW},
            id="a create loses what the server sets and what marks a deletion",
        ),
        pytest.param(
            "v1 ConfigMap",
            {"name": "a", **SERVERS_OWN, **DELETED},
            {"is_post": False},
            {"name": "a", **DELETED, "uid": UID, "creationTimestamp": NOW},
            id="an update that creates keeps the marks of a deletion",
        ),
        pytest.param(
            "v1 ConfigMap",
            {"name": "a", "generation": 0},
            {},
            {"name": "a", "uid": UID, "creationTimestamp": NOW},
            id="a generation of 0 is none",
        ),
        pytest.param(
            "v1 ConfigMap",
            {"name": "a", "generation": 4},
            {},
            {"name": "a", "generation": 4, "uid": UID, "creationTimestamp": NOW},
            id="a kind that counts no generations keeps the sent one",
        ),
        pytest.param(
            "apps/v1 Deployment",
            {"name": "a", "generation": 4},
            {},
            {"name": "a", "generation": 1, "uid": UID, "creationTimestamp": NOW},
            id="a kind that counts generations starts at 1",
        ),
        pytest.param(
            "apps/v1 Deployment",
            {"name": "a", "generation": 4, **SERVERS_OWN},
            {"is_restored": True},
            {
                "name": "a",
                "generation": 4,
                "uid": UID,
                "creationTimestamp": "2020-01-01T00:00:00Z",
            },
            id="a restored object keeps its generation and its time",
        ),
        pytest.param(
            "apps/v1 Deployment",
            {"name": "a"},
            {"is_restored": True},
            {"name": "a", "generation": 1, "uid": UID, "creationTimestamp": NOW},
            id="a restored object without them is a new one",
        ),
        pytest.param(
            "v1 ConfigMap", None, {}, {"uid": UID, "creationTimestamp": NOW}, id="no metadata"
        ),
    ],
)
def test_the_metadata_that_the_server_sets(
    kind: str, sent: dict[str, Any] | None, options: dict[str, Any], made: dict[str, Any]
) -> None:
    document = {"data": {"a": "1"}} | ({} if sent is None else {"metadata": sent})
    write = sent_write(kind, document, **options)
    set_metadata(parts(), write)
    assert write.new == {"data": {"a": "1"}, "metadata": made}
    assert write.warnings == []


def test_the_uid_of_a_new_object_depends_on_the_seed_and_on_the_next_version() -> None:
    store = ObjectStore(seed=3)
    store.put(make_node("n"))
    write = sent_write("v1 ConfigMap", {"metadata": {"name": "a"}})
    set_metadata(parts(store), write)
    assert write.new["metadata"]["uid"] == uid_at(3, 3)


def test_a_definition_that_is_terminating_takes_no_new_objects() -> None:
    ending = msgspec.structs.replace(resource("apps/v1 Deployment"), is_terminating=True)
    with pytest.raises(Rejection) as error:
        set_metadata(parts(), sent_write(ending, {"metadata": {"name": "a"}}))
    assert error.value.status["code"] == 403
    assert error.value.status["message"] == (
        'deployments.apps "a" is forbidden: create not allowed while custom resource definition'
        " is terminating"
    )


def owner(uid: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid} | more


WARNING = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in"
    " 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate"
    " UID(s) observed: "
)


@pytest.mark.parametrize(
    ("owners", "kept", "repeated"),
    [
        (None, None, ""),
        ([], [], ""),
        ([owner("1")], [owner("1")], ""),
        ([owner("1"), owner("2")], [owner("1"), owner("2")], ""),
        ([owner("1"), owner("1")], [owner("1")], "1"),
        # Another field makes another reference.
        ([owner("1"), owner("1", controller=True)], [owner("1"), owner("1", controller=True)], ""),
        (
            [owner("2"), owner("1"), owner("1"), owner("2"), owner("1"), owner("3")],
            [owner("2"), owner("1"), owner("3")],
            "1, 2",
        ),
        ([{"name": "o"}, {"name": "o"}, owner("4")], [{"name": "o"}, owner("4")], ""),
    ],
)
def test_owner_references_are_kept_once(
    owners: list[dict[str, Any]] | None, kept: list[dict[str, Any]] | None, repeated: str
) -> None:
    metadata = {"name": "a"} if owners is None else {"name": "a", "ownerReferences": owners}
    write = sent_write("v1 ConfigMap", {"metadata": metadata, "data": {}})
    keep_distinct_owners(parts(), write)
    left = {"name": "a"} if kept is None else {"name": "a", "ownerReferences": kept}
    assert write.new == {"metadata": left, "data": {}}
    assert write.warnings == ([WARNING + repeated] if kept != owners else [])


@pytest.mark.parametrize(
    ("version", "options", "is_rejected"),
    [
        ("", {}, False),
        (None, {}, False),
        ("0", {}, False),
        ("x", {}, False),
        ("-1", {}, False),
        ("\u0663", {}, False),
        ("9" * 5_000, {}, False),
        ("1", {}, True),
        ("1", {"is_dry_run": True}, False),
        ("1", {"is_post": False}, False),
    ],
)
def test_a_version_in_the_body_of_a_create(
    version: str | None, options: dict[str, Any], *, is_rejected: bool
) -> None:
    write = sent_write("v1 ConfigMap", {"metadata": {"resourceVersion": version}}, **options)
    if not is_rejected:
        check_sent_version(parts(), write)
        return
    with pytest.raises(Rejection) as error:
        check_sent_version(parts(), write)
    assert error.value.status["code"] == 500
    assert error.value.status["message"] == (
        "resourceVersion should not be set on objects to be created"
    )


def test_a_body_without_metadata_has_no_version() -> None:
    check_sent_version(parts(), sent_write("v1 ConfigMap", {"metadata": None}))


def test_the_name_of_a_document() -> None:
    assert name_of({"metadata": {"name": "a"}}) == "a"
    assert [name_of(each) for each in ({}, {"metadata": None}, {"metadata": {"name": None}})] == [
        "", "", "",
    ]  # fmt: skip


def test_a_name_is_generated_from_the_seed_and_the_next_version() -> None:
    store = ObjectStore(seed=3)
    metadata = {"generateName": "a-", "namespace": "default"}
    write = sent_write("v1 ConfigMap", {"metadata": metadata})
    prepare_new(parts(store), write)
    name = generated_name("a-", namespace="default", taken=(), seed=3, version=2)
    assert write.new == {"metadata": {"name": name, "generateName": "a-", "namespace": "default"}}
    assert list(write.new["metadata"]) == ["name", "generateName", "namespace"]
    assert write.attributes.name == name


def test_a_generated_name_is_not_one_of_the_stored_objects() -> None:
    store = ObjectStore(seed=3)
    store.put(make_node("x"))
    first = generated_name("n-", namespace="", taken=(), seed=3, version=4)
    store.put(make_node(first))
    write = sent_write("v1 Node", {"metadata": {"generateName": "n-"}}, namespace="")
    prepare_new(parts(store), write)
    assert write.attributes.name == generated_name(
        "n-", namespace="", taken={first}, seed=3, version=4
    )
    assert write.attributes.name != first


@pytest.mark.parametrize(
    ("metadata", "made"),
    [
        ({"uid": "u"}, {"name": "u", "uid": "u"}),
        ({"uid": "u", "name": ""}, {"name": "u", "uid": "u"}),
        ({}, {"name": ""}),
        ({"uid": "u", "name": "a"}, {"uid": "u", "name": "a"}),
    ],
)
def test_a_limit_range_without_a_name_is_named_by_its_uid(
    metadata: dict[str, Any], made: dict[str, Any]
) -> None:
    write = sent_write("v1 LimitRange", {"metadata": metadata})
    prepare_new(parts(), write)
    assert write.new == {"metadata": made}
    assert next(iter(write.new["metadata"])) == next(iter(made))


def test_the_name_on_the_path_of_a_new_object_stays() -> None:
    write = sent_write("v1 ConfigMap", {"metadata": {"name": "b"}})
    write.attributes.name = "a"
    prepare_new(parts(), write)
    assert write.attributes.name == "a"


def test_a_kind_prepares_its_new_objects() -> None:
    sent = {"metadata": {"name": "d"}, "spec": {"replicas": 1}, "status": {"replicas": 1}}
    write = sent_write("apps/v1 Deployment", sent)
    prepare_new(parts(), write)
    assert write.new == {"metadata": {"name": "d"}, "spec": {"replicas": 1}}
    restored = sent_write("apps/v1 Deployment", sent, is_restored=True)
    prepare_new(parts(), restored)
    assert restored.new == sent
    bare = sent_write("apps/v1 Deployment", {"metadata": {"name": "d"}}, is_restored=True)
    prepare_new(parts(), bare)
    assert bare.new == {"metadata": {"name": "d"}}


def test_a_new_pod_requires_what_keys_of_labels_name_once() -> None:
    """A restored one, which a server has stored, has it already."""

    def pod(*expressions: dict[str, Any], **labels: str) -> dict[str, Any]:
        term = {"matchLabelKeys": ["rev"], "labelSelector": {"matchExpressions": [*expressions]}}
        spec = {"topologySpreadConstraints": [term]}
        return {"metadata": {"name": "p", "labels": labels}, "spec": spec}

    added = {"key": "rev", "operator": "In", "values": ["7"]}
    for sent, is_restored, count in (
        (pod(rev="7"), False, 1),
        (pod(added, rev="7"), False, 2),
        (pod(added, rev="7"), True, 1),
        (pod(added), True, 1),
        (pod(), False, 0),
    ):
        write = sent_write("v1 Pod", sent, is_restored=is_restored)
        prepare_new(parts(), write)
        (term,) = write.new["spec"]["topologySpreadConstraints"]
        assert term["labelSelector"]["matchExpressions"] == [added] * count


def test_a_new_pod_has_its_profile_of_apparmor_in_both_places_with_a_warning() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/c"
    sent = {
        "metadata": {"name": "p", "annotations": {key: "runtime/default"}},
        "spec": {"containers": [{"name": "c"}]},
    }
    write = sent_write("v1 Pod", sent, warnings=["of before"])
    prepare_new(parts(), write)
    (container,) = write.new["spec"]["containers"]
    assert container["securityContext"] == {"appArmorProfile": {"type": "RuntimeDefault"}}
    assert write.warnings[0] == "of before"
    assert [key in each for each in write.warnings[1:]] == [True]
    # Templates of pods are not converted.
    other = sent_write("v1 PodTemplate", {"metadata": sent["metadata"], "template": sent})
    prepare_new(parts(), other)
    assert other.warnings == []
    assert other.new["template"] == sent


def test_fields_of_gates_that_are_off_are_dropped_from_new_objects() -> None:
    gated = disabled_fields(frozenset({"DRAExtendedResource"}))
    sent = {"metadata": {"name": "c"}, "spec": {"extendedResourceName": "a.b/c", "config": []}}
    write = sent_write("resource.k8s.io/v1 DeviceClass", sent, namespace="")
    prepare_new(parts(disabled_fields=gated), write)
    assert write.new["spec"] == {"config": []}
    other = sent_write("resource.k8s.io/v1 DeviceClass", sent, namespace="")
    prepare_new(parts(), other)
    assert other.new["spec"] == sent["spec"]


def test_a_certificate_request_has_the_user_of_its_request() -> None:
    sent = {
        "metadata": {"name": "r"},
        "spec": {"request": "x", "username": "eve", "uid": "0", "groups": ["g"], "extra": {}},
        "status": {"certificate": "y"},
    }
    user = User("ada", groups=("a", "b"), uid="7", extra={"scopes": ("s", "t")})
    kind = "certificates.k8s.io/v1 CertificateSigningRequest"
    write = sent_write(kind, sent, user=user, namespace="")
    prepare_new(parts(), write)
    assert write.new == {
        "metadata": {"name": "r"},
        "spec": {
            "request": "x",
            "username": "ada",
            "uid": "7",
            "groups": ["a", "b"],
            "extra": {"scopes": ["s", "t"]},
        },
        "status": {},
    }
    anonymous = sent_write(kind, sent, user=User(""), namespace="")
    prepare_new(parts(), anonymous)
    assert anonymous.new["spec"] == {"request": "x"}


@pytest.mark.parametrize(
    ("name", "spec", "options", "message"),
    [
        ("a", {}, {}, ""),
        ("", {}, {}, "Required value"),
        ("a/b", {}, {}, "Invalid value: \"a/b\": may not contain '/'"),
        ("", {"type": "ExternalName"}, {}, ""),
        ("", {"clusterIP": "10.0.0.9"}, {}, ""),
        ("", {"ipFamilies": ["IPv6"]}, {}, ""),
        ("", {}, {"is_dry_run": True}, ""),
    ],
)
def test_a_new_service_can_own_its_address(
    name: str, spec: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    sent = {"metadata": {"name": name}, "spec": spec}
    write = sent_write("v1 Service", sent, **options)
    if not message:
        prepare_new(parts(), write)
        return
    with pytest.raises(Rejection) as error:
        prepare_new(parts(), write)
    text = (
        'Invalid value: [""]: failed to allocate IP: IPAddress.networking.k8s.io "10.0.0.17" is'
        f" invalid: spec.parentRef.name: {message}"
    )
    assert error.value.status["message"] == f'Service "{name}" is invalid: spec.clusterIPs: {text}'
    causes = error.value.status["details"]["causes"]
    assert [(each["field"], each["message"]) for each in causes] == [("spec.clusterIPs", text)]

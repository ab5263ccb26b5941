"""The files that one container sees, as its scripts and probes read and write them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from podwright.cluster.kubelets.kubelet.containers.container_files import (
    ContainerFiles,
    ContainerTree,
)
from podwright.cluster.kubelets.kubelet.pod_records import ContainerRecord, PodRecord
from podwright.cluster.kubelets.kubelet.references import contents_of
from podwright.cluster.kubelets.kubelet.shell import FileAccessError, NotSimulatedError
from podwright.cluster.kubelets.kubelet.tests.kubelet_driver import Objects

OF_NODE: dict[str, str | None] = {
    "/srv/a": "of a",
    "/srv/d/x": "of x",
    "/srvx/b": "of b",
    "/srv/raw": None,
}
VOLUMES: list[dict[str, Any]] = [
    {"name": "empty", "emptyDir": {}},
    {"name": "own", "ephemeral": {}},
    {"name": "claim", "persistentVolumeClaim": {"claimName": "c"}},
    {"name": "host", "hostPath": {"path": "/srv", "type": "Directory"}},
    {"name": "new", "hostPath": {"path": "/srv/", "type": "DirectoryOrCreate"}},
    {"name": "bare", "hostPath": {}},
    {"name": "config", "configMap": {"name": "cfg"}},
    {"name": "labels", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "a"}}]}},
]


def tree(
    *mounts: tuple[str, str] | dict[str, Any],
    is_known: bool = True,
    expand: Any = None,
    **parts: Any,
) -> ContainerTree:
    """Return the files of a container with these mounts, `(volume, path)` each."""
    reader = Objects()
    reader.add("ConfigMap", "cfg", data={"k": "v", "j": "w"})
    record = PodRecord(uid="u", node="n", start_ns=0, files={}, containers={}, allocated={})
    spec = {"volumes": VOLUMES, "containers": []}
    pod = {"metadata": {"name": "p", "namespace": "default"}, "spec": spec}
    facts = {"hostname": "web", "hosts": "web"}
    of_pod = ContainerFiles(record, dict(OF_NODE), pod, reader if is_known else None, facts)
    entries = [
        each if isinstance(each, dict) else {"name": each[0], "mountPath": each[1]}
        for each in mounts
    ]
    container = {"name": "main", "volumeMounts": entries, **parts}
    return of_pod.of(ContainerRecord("main", "app"), container, expand)


@pytest.mark.parametrize(
    ("mount", "path", "kind"),
    [
        pytest.param(("empty", "/v"), "/v", "directory", id="the root of a volume"),
        pytest.param(("empty", "/v/"), "/v", "directory", id="a path with a slash at its end"),
        pytest.param(("empty", "/v"), "/v/none", None, id="an empty volume has nothing"),
        pytest.param(("own", "/v"), "/v/none", None, id="nor has an ephemeral one"),
        pytest.param(("empty", "/a/b/c"), "/a/b", "directory", id="what a mount lies in"),
        pytest.param(("empty", "/a/b/c"), "/a", "directory", id="and above"),
        pytest.param(("empty", "/a//b/./c/"), "/a/b", "directory", id="however it is written"),
        pytest.param(("empty", "/a//b/"), "/a/b/none", None, id="and below it"),
        pytest.param(("bare", "/v"), "/v/srv/a", "file", id="a directory without a path"),
        pytest.param(("empty", "/var/tmp/b.c"), "/var/tmp/b", None, id="not half of its name"),
        pytest.param(("host", "/v"), "/v/a", "file", id="a file of the node"),
        pytest.param(("host", "/v"), "/v/d", "directory", id="a directory of the node"),
        pytest.param(("new", "/v"), "/v/d/x", "file", id="below it"),
        pytest.param(("new", "/v"), "/v/none", None, id="a directory that is made is complete"),
        pytest.param(("new", "/"), "/a", "file", id="a volume at the root"),
        pytest.param(("config", "/v"), "/v/k", "file", id="a key of a ConfigMap"),
        pytest.param(("config", "/v"), "/v/none", None, id="no key of it"),
        pytest.param(("labels", "/v"), "/v/l", "file", id="a field of the pod"),
        pytest.param(("empty", "/v"), "/tmp", "directory", id="temporary files"),
        pytest.param(("empty", "/v"), "/var/tmp/x", None, id="of which there are none"),
        pytest.param(("empty", "/v"), "/etc", "directory", id="a directory that all images have"),
        pytest.param(("empty", "/v"), "/", "directory", id="the root"),
        pytest.param(("empty", "/v"), "/etc/hosts", "file", id="a file of the kubelet"),
        pytest.param(("empty", "/etc"), "/etc/hosts", None, id="which a mount hides"),
        pytest.param(("empty", "/v"), "/dev/termination-log", "file", id="the message's file"),
    ],
)
def test_what_there_is_at_a_path(mount, path, kind):
    assert tree(mount).kind(path) == kind


@pytest.mark.parametrize(
    ("mount", "path"),
    [
        pytest.param(("empty", "/v"), "/app", id="a file of the image"),
        pytest.param(("empty", "/v"), "/tmpx", id="beside an empty directory"),
        pytest.param(("empty", "/v"), "/vx", id="beside a mount"),
        pytest.param(("host", "/v"), "/v/none", id="of a node's directory"),
        pytest.param(("host", "/v"), "/v/b", id="beside it"),
        pytest.param(("claim", "/v"), "/v/none", id="of a claim"),
        pytest.param(("none", "/v"), "/v/none", id="of a volume that is not there"),
    ],
)
def test_what_is_not_known_is_an_error_that_names_the_path(mount, path):
    with pytest.raises(NotSimulatedError) as error:
        tree(mount).kind(path)
    assert str(error.value) == f'the file "{path}", which is not in what the pod defines'
    with pytest.raises(NotSimulatedError) as error:
        tree(mount).names(path)
    assert str(error.value) == f'the files in "{path}", which are not in what the pod defines'


def test_without_objects_only_fields_of_the_pod_are_known():
    assert tree(("labels", "/v"), is_known=False).kind("/v/none") is None
    with pytest.raises(NotSimulatedError):
        tree(("config", "/v"), is_known=False).kind("/v/k")


def test_contents_of_files():
    files = tree(("host", "/v"), ("config", "/c"))
    assert files.read("/v/a") == "of a"
    assert files.read("/c/k") == "v"
    assert files.read("/etc/hostname") == "web\n"
    assert files.read("/etc/hosts").endswith("\tweb\n")
    assert files.read("/dev/termination-log") == files.message("/dev/termination-log") == ""
    assert files.message("/v/a") == "of a"
    assert files.message("/v/raw") == ""
    for path in ("/v/raw", "/etc/resolv.conf"):
        with pytest.raises(NotSimulatedError) as error:
            files.read(path)
        assert str(error.value) == f'the content of "{path}"'


def test_names_in_directories():
    files = tree(("new", "/v"), ("empty", "/v/m/deep"), ("empty", "/v/e"), ("config", "/c"))
    assert files.names("/v") == ["a", "d", "e", "m", "raw"]
    assert files.names("/v/d") == ["x"]
    assert files.names("/v/e") == files.names("/tmp") == []
    assert files.names("/c") == ["j", "k"]


def test_the_longest_mount_holds_a_path():
    files = tree(("empty", "/v"), ("own", "/v/in"))
    files.write("/v/in/x", "1")
    assert tree(("empty", "/v"), ("own", "/v/in")).kind("/v/in/x") is None
    assert files.kind("/v/in/x") == "file"
    assert files._files.record.files == {"\0own/x": "1"}


def test_a_path_in_a_volume():
    mount = {"name": "empty", "mountPath": "/v", "subPath": "/a/b/"}
    files = tree(mount, ("empty", "/all"))
    files.write("/v/x", "1")
    assert files.read("/all/a/b/x") == "1"
    assert files.names("/all/a") == ["b"]
    # References in it are replaced for the programs of a container, not for its message.
    mount = {"name": "empty", "mountPath": "/v", "subPathExpr": "$(N)"}
    assert tree(mount, expand={"$(N)": "of"}.get)._place("/v/x").key == "\0empty/of/x"
    assert tree(mount)._place("/v/x").key == "\0empty/x"


def test_what_a_container_makes_and_removes():
    files = tree(("empty", "/v"))
    for directory in ("/v/d", "/opt", "/var/tmp/t"):
        files.make_directory(directory)
        assert files.kind(directory) == "directory"
        assert files.names(directory) == []
        files.write(f"{directory}/x", "1")
        assert files.names(directory) == ["x"]
        files.remove(f"{directory}/x")
        # It stays without its last file, and what is in it is known.
        assert files.kind(directory) == "directory"
        assert files.kind(f"{directory}/x") is None
        files.remove(directory)
    assert files.kind("/v/d") is files.kind("/var/tmp/t") is None
    files.make_directory("/opt")
    files.make_directory("/opt/a")
    assert files.kind("/opt/a/b/c") is None
    # What a container makes in a directory of its image leaves the rest of it unknown.
    files.write("/etc/x", "1")
    assert files.read("/etc/x") == "1"
    with pytest.raises(NotSimulatedError):
        files.names("/etc")
    for path in ("/etc/y", "/etc/y/z"):
        with pytest.raises(NotSimulatedError):
            files.kind(path)


def test_what_cannot_be_removed():
    files = tree(("empty", "/v"))
    with pytest.raises(FileAccessError):
        files.remove("/v")
    with pytest.raises(NotSimulatedError) as error:
        files.remove("/etc/hosts")
    assert str(error.value) == 'the removal of "/etc/hosts"'


def test_read_only_places_refuse_writes():
    mount = {"name": "empty", "mountPath": "/v", "readOnly": True}
    for files, path in (
        (tree(mount), "/v/x"),
        (tree(("config", "/v")), "/v/x"),
        (tree(securityContext={"readOnlyRootFilesystem": True}), "/var/tmp/x"),
    ):
        for change in (files.make_directory, files.remove):
            with pytest.raises(FileAccessError):
                change(path)
        with pytest.raises(FileAccessError):
            files.write(path, "")
    writable = tree(("empty", "/v"), securityContext={"readOnlyRootFilesystem": True})
    writable.write("/v/x", "1")
    assert writable.read("/v/x") == "1"


@pytest.mark.parametrize(
    ("path", "is_simulated"),
    [
        pytest.param("/v/x", True, id="in a volume"),
        pytest.param("/var/tmp/x", True, id="a temporary file"),
        pytest.param("/log", True, id="the message"),
        pytest.param("/etc/x", False, id="where the image's permissions decide"),
    ],
)
def test_where_users_other_than_root_write(path, is_simulated):
    user: Any = {"securityContext": {"runAsUser": 7}, "terminationMessagePath": "/log"}
    files = tree(("claim", "/v"), **user)
    if is_simulated:
        files.write(path, "1")
        assert files.read(path) == "1"
        return
    with pytest.raises(NotSimulatedError) as error:
        files.write(path, "1")
    assert str(error.value) == f'writing "{path}" as a user other than root'
    tree(securityContext={"runAsUser": 0}).write(path, "1")


def test_only_what_is_in_no_volume_goes_with_a_container():
    files = tree(("empty", "/v"))
    files.write("/v/x", "1")
    files.write("/var/tmp/x", "2")
    files._files.record.files["main2\0/x"] = "3"
    files._files.remove_own(ContainerRecord("main", "app"))
    assert files._files.record.files == {"\0empty/x": "1", "main2\0/x": "3"}


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


TOKEN: Any = {"serviceAccountToken": {}}
BUNDLE = {"clusterTrustBundle": {"name": "b", "path": "ca.crt"}}
NO_PATH = {"clusterTrustBundle": {"name": "b"}}
FIELD = {"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}
UNKNOWN = {"path": "o", "fieldRef": {}}
LIMIT = {"path": "c", "resourceFieldRef": {"containerName": "a", "resource": "limits.cpu"}}


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"emptyDir": {}}, None),
        ({"projected": {"sources": [TOKEN, BUNDLE, NO_PATH]}}, {"token": None, "ca.crt": None}),
        ({"projected": {}}, {}),
        ({"configMap": {"name": "cfg"}}, {"k": "v", "b": "b\n", "raw": None, "bad": None}),
        ({"secret": {"secretName": "sec"}}, {"t": "s3cret"}),
        ({"projected": {"sources": [{"secret": {"name": "sec"}}]}}, {"t": "s3cret"}),
        ({"configMap": {"name": "none"}}, {}),
        ({"configMap": {"name": "cfg", "items": []}}, {}),
        (
            {"configMap": {"name": "cfg", "items": [{"key": "k", "path": "p"}, {"key": "x"}]}},
            {"p": "v"},
        ),
        ({"downwardAPI": {"items": [FIELD, UNKNOWN, LIMIT]}}, {"n": "p", "o": None, "c": "2"}),
        ({"downwardAPI": {}}, {}),
    ],
)
def test_contents_that_the_api_defines(volume, expected):
    reader = Objects()
    binary = {"b": _encoded(b"b\n"), "raw": _encoded(b"\xff"), "bad": "a"}
    reader.add("ConfigMap", "cfg", data={"k": "v"}, binaryData=binary)
    reader.add("Secret", "sec", data={"t": _encoded(b"s3cret")})
    containers = [{"name": "a", "resources": {"limits": {"cpu": "1500m"}}}]
    spec = {"containers": containers}
    pod = {"metadata": {"name": "p", "namespace": "default"}, "spec": spec}
    assert contents_of({"name": "v", **volume}, pod, reader, {}) == expected

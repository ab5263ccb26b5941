"""The files of the containers of a pod, as scripts and probes read and write them.

A file in a volume belongs to the pod, or to the node if it is a hostPath volume. Any other file
belongs to one run of its container. There is no image: which files it has is not known, except for
a few directories, the files that a kubelet provides, and `/tmp`, which is taken for empty.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import Final, Literal

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.kubelets.kubelet.pod_records import ContainerRecord, PodRecord
from podwright.cluster.kubelets.kubelet.references import Contents, ObjectReader, contents_of
from podwright.cluster.kubelets.kubelet.shell import FileAccessError, NotSimulatedError

MESSAGE_PATH: Final = "/dev/termination-log"

_DIRECTORIES: Final = frozenset(
    {"/", "/bin", "/dev", "/etc", "/proc", "/sys", "/tmp", "/usr", "/var", "/var/tmp"}
)
_EMPTY: Final = frozenset({"/tmp", "/var/tmp"})
_KUBELET_FILES: Final = frozenset({"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"})


class _Place(msgspec.Struct, frozen=True):
    """Where a path is.

    Attributes
    ----------
    files : dict
        The files there, by key.
    root : str
        The key of the root: of the volume, or of the file system of the container.
    path : str
        Below the root; empty for the root itself.
    is_complete : bool
        Whether there is nothing else than these files.
    is_read_only : bool
    """

    files: Contents
    root: str
    path: str
    is_complete: bool
    is_read_only: bool

    @property
    def key(self) -> str:
        """The key of the path."""
        return posixpath.join(self.root, self.path) if self.path else self.root.rstrip("/")

    def kind(self) -> Literal["file", "directory"] | None:
        """Return what is at the path, as far as files are known."""
        key = self.key
        if key in self.files:
            return "file"
        below = f"{key}/"
        is_directory = any(each.startswith(below) for each in self.files)
        return "directory" if is_directory else None

    def names(self) -> set[str]:
        """Return the names at the path."""
        below = f"{self.key}/"
        found = {each[len(below) :].split("/")[0] for each in self.files if each.startswith(below)}
        return found - {""}


class ContainerFiles:
    """The files of the containers of one pod.

    Parameters
    ----------
    record : PodRecord
    of_node : dict
        The files in the hostPath volumes of the node, by path.
    pod : Document
    reader : ObjectReader, optional
        Reads the ConfigMaps and Secrets.
    facts : mapping
        The fields of the pod that its kubelet knows.
    """

    def __init__(
        self,
        record: PodRecord,
        of_node: Contents,
        pod: Document,
        reader: ObjectReader | None,
        facts: Mapping[str, str],
    ) -> None:
        self.record = record
        self.of_node = of_node
        self.pod = pod
        self.reader = reader
        self.facts = facts

    def of(
        self,
        known: ContainerRecord,
        container: Document,
        expand: Callable[[str], str] | None = None,
    ) -> ContainerTree:
        """Return the files of one container; `expand` replaces references in `subPathExpr`."""
        return ContainerTree(self, known.name, container, expand)

    @property
    def hosts(self) -> str:
        """The file /etc/hosts.

        Upstream: pkg/kubelet/kubelet_pods.go, managedHostsFileContent
        """
        lines = [
            "# Kubernetes-managed hosts file.",
            "127.0.0.1\tlocalhost",
            "::1\tlocalhost ip6-localhost ip6-loopback",
            "fe00::0\tip6-localnet",
            "fe00::0\tip6-mcastprefix",
            "fe00::1\tip6-allnodes",
            "fe00::2\tip6-allrouters",
            f"{self.facts.get('status.podIP', '')}\t{self.facts['hosts']}",
        ]
        aliases = (self.pod.get("spec") or {}).get("hostAliases")
        if aliases:
            lines += ["", "# Entries added by HostAliases."]
            lines += ["\t".join((each["ip"], *each.get("hostnames", ()))) for each in aliases]
        return "".join(f"{line}\n" for line in lines)

    def remove_own(self, known: ContainerRecord) -> None:
        """Remove the files of a container that are in no volume."""
        own = f"{known.name}\0"
        for key in [key for key in self.record.files if key.startswith(own)]:
            del self.record.files[key]


class ContainerTree:
    """The files of one container, by absolute path; see `FileTree`."""

    def __init__(
        self,
        files: ContainerFiles,
        name: str,
        container: Document,
        expand: Callable[[str], str] | None,
    ) -> None:
        self._files = files
        self._name = name
        self._expand = expand
        self._mounts = sorted(
            container.get("volumeMounts") or (),
            key=lambda mount: len(mount["mountPath"]),
            reverse=True,
        )
        spec = files.pod.get("spec") or {}
        self._volumes = {volume["name"]: volume for volume in spec.get("volumes") or ()}
        of_pod, own = spec.get("securityContext") or {}, container.get("securityContext") or {}
        self._is_root = not own.get("runAsUser", of_pod.get("runAsUser"))
        self._is_read_only = bool(own.get("readOnlyRootFilesystem"))
        message_path = container.get("terminationMessagePath") or MESSAGE_PATH
        self._provided = _KUBELET_FILES | {message_path}

    # ------------------------------------------------------------------------------ FileTree

    def kind(self, path: str) -> Literal["file", "directory"] | None:
        """Return what a path is; None if there is nothing."""
        place = self._place(path)
        found = place.kind()
        if found is not None:
            return found
        if any(
            f"{posixpath.normpath(mount['mountPath'])}/".startswith(f"{path.rstrip('/')}/")
            for mount in self._mounts
        ):
            return "directory"
        if self._is_own(place):
            if path in self._provided:
                return "file"
            if path in _DIRECTORIES:
                return "directory"
        if not place.is_complete:
            raise NotSimulatedError(f'the file "{path}", which is not in what the pod defines')
        return None

    def read(self, path: str) -> str:
        """Return the content of a file that exists."""
        place = self._place(path)
        if place.key in place.files:
            content = place.files[place.key]
        elif path == "/etc/hostname":
            content = f"{self._files.facts['hostname']}\n"
        elif path == "/etc/hosts":
            content = self._files.hosts
        elif path in _KUBELET_FILES:
            content = None
        else:
            content = ""
        if content is None:
            raise NotSimulatedError(f'the content of "{path}"')
        return content

    def names(self, path: str) -> list[str]:
        """Return the sorted names in a directory that exists."""
        place = self._place(path)
        if not place.is_complete:
            raise NotSimulatedError(f'the files in "{path}", which are not in what the pod defines')
        found = place.names()
        prefix = f"{path.rstrip('/')}/"
        for mount in self._mounts:
            if posixpath.normpath(mount["mountPath"]).startswith(prefix):
                found.add(posixpath.normpath(mount["mountPath"])[len(prefix) :].split("/")[0])
        return sorted(found)

    def write(self, path: str, content: str) -> None:
        """Write a file in a directory that exists."""
        place = self._writable(path)
        place.files[place.key] = content

    def make_directory(self, path: str) -> None:
        """Make a directory in one that exists."""
        place = self._writable(path)
        place.files[f"{place.key}/"] = ""

    def remove(self, path: str) -> None:
        """Remove a file, or an empty directory, that exists."""
        place = self._writable(path)
        if not place.path:
            raise FileAccessError(path)
        if (
            place.files.pop(place.key, None) is None
            and place.files.pop(f"{place.key}/", None) is None
        ):
            raise NotSimulatedError(f'the removal of "{path}"')

    # -------------------------------------------------------------------------------- places

    def message(self, path: str) -> str:
        """Return what was written to a file, such as the termination message."""
        place = self._place(path)
        return place.files.get(place.key) or ""

    def _writable(self, path: str) -> _Place:
        place = self._place(path)
        if place.is_read_only:
            raise FileAccessError(path)
        is_known = place.is_complete or path in self._provided
        if self._is_own(place) and not self._is_root and not is_known:
            raise NotSimulatedError(f'writing "{path}" as a user other than root')
        # A directory that has a file does not need an entry, and one without files needs it again.
        parent = posixpath.dirname(place.key)
        if "/" in place.path:
            place.files.setdefault(f"{parent}/", "")
        return place

    def _is_own(self, place: _Place) -> bool:
        return place.root.startswith(f"{self._name}\0")

    def _place(self, path: str) -> _Place:
        for mount in self._mounts:
            at = posixpath.normpath(mount["mountPath"])
            if path == at or path.startswith(f"{at.rstrip('/')}/"):
                return self._mounted(mount, path[len(at) :].lstrip("/"))
        files = self._files.record.files
        root = f"{self._name}\0/"
        is_empty = any(path == each or path.startswith(f"{each}/") for each in _EMPTY)
        parent = path
        while not is_empty and parent != "/":
            parent = posixpath.dirname(parent)
            # What is below a directory that the container made is known.
            is_empty = f"{root}{parent[1:]}/" in files and parent not in _DIRECTORIES
        is_empty = is_empty or (f"{root}{path[1:]}/" in files and path not in _DIRECTORIES)
        return _Place(files, root, path[1:], is_empty, self._is_read_only)

    def _mounted(self, mount: Document, inner: str) -> _Place:
        volume = self._volumes.get(mount["name"]) or {}
        sub_path = mount.get("subPath") or ""
        if mount.get("subPathExpr"):
            sub_path = self._expand(mount["subPathExpr"]) if self._expand else ""
        inner = "/".join(part for part in (sub_path.strip("/"), inner) if part)
        is_read_only = bool(mount.get("readOnly"))
        contents = contents_of(volume, self._files.pod, self._files.reader, self._files.facts)
        if contents is not None:
            is_known = self._files.reader is not None or "downwardAPI" in volume
            listed: Contents = {f"/{name}": content for name, content in contents.items()}
            return _Place(listed, "/", inner, is_known, is_read_only=True)
        if "hostPath" in volume:
            source = volume["hostPath"]
            root = f"{(source.get('path') or '').rstrip('/')}/"
            is_new = source.get("type") == "DirectoryOrCreate"
            return _Place(self._files.of_node, root, inner, is_new, is_read_only)
        is_new = "emptyDir" in volume or "ephemeral" in volume
        files = self._files.record.files
        return _Place(files, f"\0{mount['name']}/", inner, is_new, is_read_only)

"""The files that the containers of a pod write, as far as scripts and probes read them.

A file in a volume belongs to the pod, or to the node if it is a hostPath volume. Any other file
belongs to one run of its container.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from podwright.objects import Document
from podwright.stages.kubelet.pod_records import ContainerRecord, PodRecord, RunRecord


class ContainerFiles:
    """The files of the containers of one pod.

    Parameters
    ----------
    record : PodRecord
    of_node : dict
        The files in the hostPath volumes of the node, by path.
    volumes : sequence of Document
        Of the pod.
    """

    def __init__(
        self, record: PodRecord, of_node: dict[str, str], volumes: Sequence[Document]
    ) -> None:
        self._record = record
        self._of_node = of_node
        self._volumes = volumes

    def reader(self, known: ContainerRecord, container: Document) -> Callable[[str], bool]:
        """Return a function that tells whether a file of a container exists."""

        def has_file(path: str) -> bool:
            files, key = self._place(known, container, path)
            return key in files

        return has_file

    def apply(self, known: ContainerRecord, run: RunRecord, until_ns: int) -> None:
        """Apply the changes that a container has made until a time."""
        if not run.changes:
            return
        done = 0
        for change in run.changes:
            if run.started_ns + change.offset_ns > until_ns:
                break
            done += 1
            files, key = self._place(known, run.spec, change.path)
            if change.content is None:
                files.pop(key, None)
            else:
                files[key] = change.content
        run.changes = run.changes[done:]

    def remove_own(self, known: ContainerRecord) -> None:
        """Remove the files of a container that are in no volume."""
        own = f"{known.name}\0"
        for key in [key for key in self._record.files if key.startswith(own)]:
            del self._record.files[key]

    def _place(
        self, known: ContainerRecord, container: Document, path: str
    ) -> tuple[dict[str, str], str]:
        """Return the files that a path belongs to, and its key among them."""
        mounts = [
            mount
            for mount in container.get("volumeMounts") or ()
            if path == mount["mountPath"] or path.startswith(mount["mountPath"].rstrip("/") + "/")
        ]
        if not mounts:
            return self._record.files, f"{known.name}\0{path}"
        mount = max(mounts, key=lambda each: len(each["mountPath"]))
        rest = path[len(mount["mountPath"].rstrip("/")) :]
        inner = f"{(mount.get('subPath') or '').rstrip('/')}{rest}"
        for volume in self._volumes:
            if volume["name"] == mount["name"] and "hostPath" in volume:
                root = volume["hostPath"].get("path") or ""
                return self._of_node, f"{root.rstrip('/')}/{inner.lstrip('/')}"
        return self._record.files, f"\0{mount['name']}/{inner.lstrip('/')}"

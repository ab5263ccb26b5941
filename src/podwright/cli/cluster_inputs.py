"""Files of the command line, and clusters among them: `cluster:` or `cluster:CONTEXT`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import BinaryIO

from podwright.cli.cluster_options import CLUSTER_PREFIX, address_of_source
from podwright.files import read_paths


def read_named(
    files: Sequence[str],
    *,
    stdin: BinaryIO | None,
    report: Callable[[str], None],
    has_workloads: bool = False,
) -> list[tuple[str, bytes]]:
    """Read files as `read_paths` does, and clusters that are named among them.

    `cluster:` is the cluster of the current context of the kubeconfig, `cluster:CONTEXT` that of
    another one, and `cluster:URL` one that needs no credentials. It is read as `podwright import`
    reads it.

    Parameters
    ----------
    has_workloads : bool
        Whether Services and the owners of pods are read too.

    Returns
    -------
    list of (str, bytes)
        Name and content.

    Raises
    ------
    InputError
    ConnectionSettingsError, UnreachableCluster, RejectedRequest
    """
    clusters = list(dict.fromkeys(name for name in files if name.startswith(CLUSTER_PREFIX)))
    plain = [name for name in files if not name.startswith(CLUSTER_PREFIX)]
    contents = read_paths(plain, stdin=stdin, report=report)
    return contents + [(name, _read_cluster(name, has_workloads)) for name in clusters]


def _read_cluster(name: str, has_workloads: bool) -> bytes:
    address = address_of_source(name)
    from podwright.cli.import_run import imported_cluster, list_of
    from podwright.sync import ImportOptions

    return list_of(imported_cluster(address, ImportOptions(has_workloads=has_workloads)))

"""Files of the command line, and clusters among them: `cluster:` or `cluster:CONTEXT`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import BinaryIO, NamedTuple

from podwright.cli.clusters.options import (
    CLUSTER_PREFIX,
    SelectionOptions,
    address_of_source,
)
from podwright.simulation.files import read_paths


class ImportedSource(NamedTuple):
    """A cluster whose objects are read.

    Attributes
    ----------
    name : str
        As `address_of_source` reads it.
    selection : SelectionOptions
        Which objects.
    """

    name: str
    selection: SelectionOptions = SelectionOptions()


def read_named(
    files: Sequence[str],
    *,
    stdin: BinaryIO | None,
    report: Callable[[str], None],
    has_workloads: bool = False,
    imported: ImportedSource | None = None,
) -> list[tuple[str, bytes]]:
    """Read files as `read_paths` does, and clusters that are named among them.

    `cluster:` is the cluster of the current context of the kubeconfig, `cluster:CONTEXT` that of
    another one, and `cluster:URL` one that needs no credentials. It is read as `podwright import`
    reads it.

    Parameters
    ----------
    has_workloads : bool
        Whether Services and the owners of pods are read too.
    imported : ImportedSource, optional
        A further cluster.

    Returns
    -------
    list of (str, bytes)
        Name and content.

    Raises
    ------
    InputError
    ConnectionSettingsError, UnreachableCluster, RejectedRequest
    """
    names = dict.fromkeys(name for name in files if name.startswith(CLUSTER_PREFIX))
    clusters = [ImportedSource(name) for name in names]
    clusters += [] if imported is None else [imported]
    plain = [name for name in files if not name.startswith(CLUSTER_PREFIX)]
    contents = read_paths(plain, stdin=stdin, report=report)
    return contents + [(each.name, _read_cluster(each, has_workloads)) for each in clusters]


def _read_cluster(source: ImportedSource, has_workloads: bool) -> bytes:
    address = address_of_source(source.name)
    from podwright.cli.clusters.import_run import imported_cluster, list_of
    from podwright.online.sync import ImportOptions

    options = ImportOptions(
        kinds=source.selection.kind_names(),
        namespaces=source.selection.namespaces,
        selector=source.selection.selector,
        has_workloads=has_workloads,
    )
    return list_of(imported_cluster(address, options))

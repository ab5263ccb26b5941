"""CSI migration: in-tree volumes as volumes of the CSI drivers that replace the in-tree plugins.

A cloud disk in a pod or a PersistentVolume counts as a volume of its CSI driver, with the
volume handle of the translation. On a node whose CSINode lists the plugin as migrated, the
zones of a volume are compared with the driver's own topology label.

Upstream: staging/src/k8s.io/csi-translation-lib (translate.go and plugins/),
pkg/scheduler/framework/plugins/nodevolumelimits/utils.go
"""

from __future__ import annotations

import re
from typing import NamedTuple

from msgspec.structs import replace

from podwright.apimachinery.objects import (
    BETA_REGION,
    BETA_ZONE,
    REGION,
    ZONE,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
    Volume,
)

MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
"""The annotation of a CSINode that lists the in-tree plugins its drivers took over."""

MULTI_ZONE_DELIMITER = "__"

_EBS_VOLUME = re.compile(r"vol-[^/]*")


class CSIVolume(NamedTuple):
    """A volume as a CSI driver counts it."""

    driver: str
    handle: str


class Migration(NamedTuple):
    """An in-tree plugin and the CSI driver that replaces it.

    Attributes
    ----------
    plugin, driver : str
        The in-tree plugin (as a provisioner is called) and the CSI driver.
    field : str
        The volume source, as pods and PersistentVolumes name it.
    name_field : str
        Which field of the source names the volume; empty if the driver's volumes are not
        counted.
    topology_key : str
        The driver's label for zones; empty if it has none.
    """

    plugin: str
    driver: str
    field: str
    name_field: str = ""
    topology_key: str = ""


MIGRATIONS = (
    Migration(
        "kubernetes.io/gce-pd",
        "pd.csi.storage.gke.io",
        "gce_persistent_disk",
        "pd_name",
        "topology.gke.io/zone",
    ),
    Migration(
        "kubernetes.io/aws-ebs",
        "ebs.csi.aws.com",
        "aws_elastic_block_store",
        "volume_id",
        "topology.ebs.csi.aws.com/zone",
    ),
    Migration(
        "kubernetes.io/azure-disk",
        "disk.csi.azure.com",
        "azure_disk",
        "disk_uri",
        "topology.disk.csi.azure.com/zone",
    ),
    Migration(
        "kubernetes.io/cinder",
        "cinder.csi.openstack.org",
        "cinder",
        "volume_id",
        "topology.cinder.csi.openstack.org/zone",
    ),
    Migration("kubernetes.io/portworx-volume", "pxd.portworx.com", "portworx_volume", "volume_id"),
    # Upstream translates these two but never counts them: isCSIMigrationOn does not list
    # them.
    Migration("kubernetes.io/azure-file", "file.csi.azure.com", "azure_file"),
    Migration("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", "vsphere_volume"),
)

_BY_PLUGIN = {migration.plugin: migration for migration in MIGRATIONS}


class TranslationError(ValueError):
    """An in-tree volume that no CSI driver could name; the text is upstream's."""


def migration_of(source: Volume | PersistentVolume) -> Migration | None:
    """Return the migration that an inline volume or a PersistentVolume falls under."""
    fields = source if isinstance(source, Volume) else source.spec
    for migration in MIGRATIONS:
        if getattr(fields, migration.field) is not None:
            return migration
    return None


def provisioned_driver(provisioner: str) -> str:
    """Return the driver whose volumes a StorageClass's provisioner makes; empty: not counted."""
    migration = _BY_PLUGIN.get(provisioner)
    if migration is None:
        return provisioner
    return migration.driver if migration.name_field else ""


def inline_csi_volume(volume: Volume) -> CSIVolume | None:
    """Return the CSI volume of a pod's inline volume; None if it has none.

    Raises
    ------
    TranslationError
        The volume's name cannot be translated.
    """
    migration = migration_of(volume)
    if migration is None or not migration.name_field:
        return None
    name: str = getattr(getattr(volume, migration.field), migration.name_field)
    try:
        return CSIVolume(migration.driver, _handle(migration, name, {}))
    except TranslationError as error:
        raise TranslationError(
            f"converting volume({volume.name}) from inline to csi: {error}"
        ) from error


def persistent_csi_volume(volume: PersistentVolume) -> CSIVolume | None:
    """Return the CSI volume of a PersistentVolume; None if it has none."""
    if volume.spec.csi is not None:
        source = volume.spec.csi
        found = CSIVolume(source.driver, source.volume_handle)
    else:
        migration = migration_of(volume)
        if migration is None or not migration.name_field:
            return None
        name: str = getattr(getattr(volume.spec, migration.field), migration.name_field)
        try:
            handle = _handle(migration, name, volume.metadata.labels)
        except TranslationError:
            return None
        found = CSIVolume(migration.driver, handle)
    return found if found.driver and found.handle else None


def migrated_affinity(volume: PersistentVolume, migration: Migration) -> NodeSelector | None:
    """Return the node affinity of an in-tree volume in the driver's labels; None: any node.

    Raises
    ------
    TranslationError
        The volume cannot be translated.
    """
    name: str = getattr(getattr(volume.spec, migration.field), migration.name_field)
    # Called for its error only; the handle is not needed here.
    _handle(migration, name, volume.metadata.labels)
    affinity = volume.spec.node_affinity
    required = None if affinity is None else affinity.required
    if not migration.topology_key:
        return required
    terms = () if required is None else required.node_selector_terms
    labels = volume.metadata.labels
    zone, region = _topology_labels(terms, labels)
    if any(e.values for term in terms for e in term.match_expressions if e.key == zone):
        terms = _renamed(terms, zone, migration.topology_key)
    else:
        zones = {z.strip() for z in labels.get(zone, "").split(MULTI_ZONE_DELIMITER)} - {""}
        if zones:
            added = NodeSelectorRequirement(migration.topology_key, "In", tuple(sorted(zones)))
            terms = tuple(
                replace(term, match_expressions=(*term.match_expressions, added))
                for term in terms or (NodeSelectorTerm(),)
            )
    if region == BETA_REGION:
        terms = _renamed(terms, BETA_REGION, REGION)
    return None if required is None and not terms else NodeSelector(terms)


def _topology_labels(
    terms: tuple[NodeSelectorTerm, ...], labels: dict[str, str]
) -> tuple[str, str]:
    """Return the zone and region labels that a volume uses: its affinity first, then labels."""
    keys = {e.key for term in terms for e in term.match_expressions}
    for present in (keys, labels):
        if ZONE in present:
            return ZONE, REGION
        if BETA_ZONE in present:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _renamed(
    terms: tuple[NodeSelectorTerm, ...], old: str, new: str
) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        replace(
            term,
            match_expressions=tuple(
                replace(e, key=new) if e.key == old else e for e in term.match_expressions
            ),
        )
        for term in terms
    )


def _handle(migration: Migration, name: str, labels: dict[str, str]) -> str:
    """Return the driver's name for a volume."""
    if migration.field == "gce_persistent_disk":
        return _gce_handle(name, labels)
    if migration.field == "aws_elastic_block_store":
        return _ebs_handle(name)
    return name


def _gce_handle(name: str, labels: dict[str, str]) -> str:
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(MULTI_ZONE_DELIMITER)
    if len(zones) == 1:
        return f"projects/UNSPECIFIED/zones/{zones[0] or 'UNSPECIFIED'}/disks/{name}"
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise TranslationError(
                "failed to get region from zones: zone in unexpected format, "
                f"expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        raise TranslationError(
            "failed to get region from zones: multiple or no regions gotten from zones, "
            f"got: map[{' '.join(f'{region}:{{}}' for region in sorted(regions))}]"
        )
    return f"projects/UNSPECIFIED/regions/{regions.pop()}/disks/{name}"


def _ebs_handle(name: str) -> str:
    if not name.startswith("aws://"):
        return name
    handle = name.removeprefix("aws://").partition("/")[2].strip("/")
    if not _EBS_VOLUME.fullmatch(handle):
        raise TranslationError(
            "failed to translate Kubernetes ID to EBS Volume ID "
            f"Invalid format for AWS volume ({name})"
        )
    return handle

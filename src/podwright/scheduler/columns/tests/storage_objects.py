"""Short ways to write down storage objects."""

from podwright.apimachinery.schema import decode


def volume(name, size="10Gi", *, of_class="local", on=None, labels=None, claim=None, **spec):
    """Return an available volume; `on`: the host names from which it can be reached."""
    spec = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": of_class,
    } | spec
    if on is not None:
        term = {"matchExpressions": [expression("kubernetes.io/hostname", "In", *on)]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    if claim is not None:
        spec["claimRef"] = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": claim}
    return decode(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "labels": labels or {}, "resourceVersion": "1"},
            "spec": spec,
            "status": {"phase": "Available"},
        }
    )


def claim(name, size="5Gi", *, of_class="local", bound_to="", version="1", meta=None, **spec):
    """Return a claim of the namespace default."""
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if bound_to else {}
    metadata = {"name": name, "namespace": "default", "uid": name, "resourceVersion": version}
    return decode(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata | {"annotations": annotations} | (meta or {}),
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": size}},
                "storageClassName": of_class,
                "volumeName": bound_to,
            }
            | spec,
            "status": {"phase": "Bound" if bound_to else "Pending"},
        }
    )


def storage_class(name, provisioner="kubernetes.io/no-provisioner", **fields):
    """Return a class whose claims wait for their pods."""
    return decode(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer",
        }
        | fields
    )


def csi_node(name, *, migrated="", **limits):
    """Return a CSINode with a limit per driver (`csi_x` for csi.x)."""
    drivers = [
        {"name": d.replace("_", "."), "nodeID": name, "allocatable": {"count": n}}
        for d, n in limits.items()
    ]
    annotation = {"storage.alpha.kubernetes.io/migrated-plugins": migrated} if migrated else {}
    return decode(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": name, "annotations": annotation},
            "spec": {"drivers": drivers},
        }
    )


def csi_driver(name, *, storage_capacity=True, **spec):
    """Return a driver that reports its capacity."""
    return decode(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": name},
            "spec": {"storageCapacity": storage_capacity} | spec,
        }
    )


def capacity(name, of_class, labels, **amounts):
    """Return how much room a class has on nodes with these labels."""
    return decode(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIStorageCapacity",
            "metadata": {"name": name, "namespace": "kube-system"},
            "storageClassName": of_class,
            "nodeTopology": {"matchLabels": labels},
        }
        | amounts
    )


def attachment(name, attacher, node, volume):
    """Return a VolumeAttachment."""
    return decode(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttachment",
            "metadata": {"name": name},
            "spec": {
                "attacher": attacher,
                "nodeName": node,
                "source": {"persistentVolumeName": volume},
            },
        }
    )


def expression(key, operator, *values):
    """Return one expression of a node selector."""
    return {"key": key, "operator": operator, "values": list(values)}


def using(*claims):
    """Return the volumes of a pod that uses claims."""
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]

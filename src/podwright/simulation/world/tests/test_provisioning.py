"""Claims of classes with provisioners of any name, in a world whose API validates."""

import pytest

import podwright as pw
from podwright.apimachinery.schema import decode


@pytest.mark.parametrize("provisioner", ["csi.example.com", "rancher.io/local-path"])
def test_a_pod_runs_with_the_volume_of_any_provisioner(provisioner):
    world = pw.World(seed=1)
    world.add(pw.testing.make_node("one", cpu="2"))
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    world.add(
        *map(
            decode,
            (
                {
                    "apiVersion": "storage.k8s.io/v1",
                    "kind": "StorageClass",
                    "metadata": {"name": "standard"},
                    "provisioner": provisioner,
                    "volumeBindingMode": "WaitForFirstConsumer",
                },
                {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "metadata": {"name": "data", "namespace": "default"},
                    "spec": claim | {"storageClassName": "standard"},
                },
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": "web", "namespace": "default"},
                    "spec": {"containers": [{"name": "c", "image": "x"}], "volumes": [volume]},
                },
            ),
        )
    )
    assert world.run(until="1m").node_of["default/web"] == "one"

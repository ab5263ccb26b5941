"""`podwright sync` of devices: pods that keep their node keep them, others get new claims."""

from __future__ import annotations

import pytest
from tests.e2e.command_line import NODES
from tests.e2e.test_sync import PODS, new_pod, node_of, send, server_of, syncing
from tests.e2e_real.cluster_processes import embedded
from tests.waiting import until

DEVICES = """
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {extendedResourceName: example.com/gpu}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: large}
spec:
  driver: gpu.example.com
  nodeName: large
  pool: {name: large, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec:
  spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
"""
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
NOW = {"gracePeriodSeconds": 0}


def user(name: str):
    """Return a pod with a device of a template."""
    made = new_pod(name)
    made["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
    made["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    return made


def claims(server: str):
    return send(server, "GET", CLAIMS)[1]["items"]


def devices_of(server: str):
    """Return the pods and the devices of the allocated claims."""
    return [
        ([each["name"] for each in status.get("reservedFor", ())],
         [each["device"] for each in status["allocation"]["devices"]["results"]])
        for status in (each.get("status", {}) for each in claims(server))
        if "allocation" in status
    ]  # fmt: skip


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The address of a cluster whose only device is that of the pod `first`."""
    folder = tmp_path_factory.mktemp("source")
    manifests = folder / "cluster.yaml"
    manifests.write_text(NODES + DEVICES)
    with embedded(folder / "source", str(manifests)) as kubeconfig:
        server = server_of(kubeconfig)
        assert send(server, "POST", PODS, user("first"))[0] == 201
        until(lambda: node_of(server, "first") == "large")
        assert send(server, "POST", PODS, user("second"))[0] == 201
        yield server


def test_a_device_of_a_template_stays_with_its_pod_until_that_ends(source, tmp_path):
    with (
        embedded(tmp_path / "target") as kubeconfig,
        syncing(tmp_path, "--server", source, "--to", str(kubeconfig)) as (_, err),
    ):
        target = server_of(kubeconfig)
        until(lambda: devices_of(target) == [(["first"], ["gpu-0"])])
        assert node_of(target, "first") == "large"
        until(lambda: "cannot allocate all claims" in str(send(target, "GET", f"{PODS}/second")))
        # The simulated cluster deletes the pod, and frees its device for the other one.
        send(target, "DELETE", f"{PODS}/first", NOW)
        until(lambda: node_of(target, "second") == "large")
        until(lambda: devices_of(target) == [(["second"], ["gpu-0"])])
        # The claim goes with the pod at the source.
        (copied,) = (
            each for each in claims(target) if not each.get("status", {}).get("allocation")
        )
        send(source, "DELETE", f"{PODS}/first", NOW)
        until(lambda: copied["metadata"]["name"] not in str(claims(target)))
        assert "errors:" not in err.read_text()


def request(name: str):
    """Return a pod with a device of an extended resource."""
    made = new_pod(name)
    amounts = {"cpu": "1", "example.com/gpu": "1"}
    made["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    return made


def test_a_device_of_an_extended_resource_stays_with_its_pod_until_that_ends(tmp_path):
    manifests = tmp_path / "cluster.yaml"
    manifests.write_text(NODES + DEVICES)
    with embedded(tmp_path / "source", str(manifests)) as kubeconfig:
        source = server_of(kubeconfig)
        # The pending one has the smaller name: it is listed first.
        assert send(source, "POST", PODS, request("z"))[0] == 201
        until(lambda: node_of(source, "z") == "large")
        assert send(source, "POST", PODS, request("a"))[0] == 201
        with embedded(tmp_path / "target") as ours:
            target = server_of(ours)
            for _ in range(2):  # another sync finds the claim of the first one
                with syncing(tmp_path, "--server", source, "--to", str(ours)) as (_, err):
                    until(lambda: "created" in err.read_text())
                    until(lambda: devices_of(target) == [(["z"], ["gpu-0"])])
                    until(lambda: "unschedulable" in str(send(target, "GET", f"{PODS}/a")).lower())
                assert "errors:" not in err.read_text()
            (claim,) = claims(target)
            status = send(target, "GET", f"{PODS}/z")[1]["status"]
            extended = status["extendedResourceClaimStatus"]
            assert extended["resourceClaimName"] == claim["metadata"]["name"]
            assert (node_of(target, "z"), node_of(target, "a")) == ("large", "")
            # The claim goes with its pod, and the device to the other one.
            send(target, "DELETE", f"{PODS}/z", NOW)
            until(lambda: devices_of(target) == [(["a"], ["gpu-0"])])
        # The same after an import.
        with embedded(tmp_path / "imported", "--import", source) as ours:
            target = server_of(ours)
            until(lambda: devices_of(target) == [(["z"], ["gpu-0"])])
            until(lambda: "unschedulable" in str(send(target, "GET", f"{PODS}/a")).lower())
            send(target, "DELETE", f"{PODS}/z", NOW)
            until(lambda: devices_of(target) == [(["a"], ["gpu-0"])])


@pytest.mark.parametrize("make", [user, request])
def test_devices_are_those_of_the_source_if_it_schedules(make, tmp_path):
    manifests = tmp_path / "cluster.yaml"
    manifests.write_text(NODES + DEVICES)
    with (
        embedded(tmp_path / "source", str(manifests)) as first,
        embedded(tmp_path / "target", "--no-scheduler") as second,
    ):
        source, target = server_of(first), server_of(second)
        options = ("--server", source, "--to", target, "--bound", "source")
        with syncing(tmp_path, *options) as (_, err):
            until(lambda: "created" in err.read_text())
            assert send(source, "POST", PODS, make("web"))[0] == 201
            until(lambda: node_of(target, "web") == "large")
            until(lambda: devices_of(target) == [(["web"], ["gpu-0"])])
            # Its device is free again when it has ended.
            send(source, "DELETE", f"{PODS}/web", NOW)
            until(lambda: devices_of(target) == [])
        assert "errors:" not in err.read_text()

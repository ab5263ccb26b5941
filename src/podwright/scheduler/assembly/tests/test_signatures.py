"""Which pods count as alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from podwright.apimachinery.objects import Pod, decode_as
from podwright.scheduler.assembly.build import build_profiles
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.config import (
    DEFAULT_GATES,
    KubeSchedulerConfiguration,
    effective,
    read_configuration,
)
from podwright.scheduler.framework import Plugin, Status
from podwright.scheduler.framework.keys import Signer
from podwright.testing import make_pod

NO_DEFAULT_SPREADING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: PodTopologySpread
    args: {defaultingType: List}
"""


def signer(text: str = NO_DEFAULT_SPREADING, plugins: tuple[type[Plugin], ...] = ()) -> Signer:
    registry = Registry(plugins)
    configuration = (
        read_configuration(text, source="a test") if text else KubeSchedulerConfiguration()
    )
    profiles = build_profiles(
        effective(registry.enable_own(configuration), DEFAULT_GATES, implements=registry.points_of),
        registry,
    )
    return Signer(profiles["default-scheduler"])


def pod(name: str = "web", labels: Mapping[str, str] | None = None, **spec: Any) -> Pod:
    """Return a pod with one container of 1 CPU, and whatever else its spec says."""
    container = {"name": "c", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": dict(labels or {})},
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [container | spec.pop("container", {})],
            **spec,
        },
    }
    return decode_as(document, Pod, source="a test")


def preferring(*weights_and_disks: tuple[int, str]) -> dict[str, Any]:
    terms = [
        {
            "weight": weight,
            "preference": {
                "matchExpressions": [{"key": "disk", "operator": "In", "values": [disk]}]
            },
        }
        for weight, disk in weights_and_disks
    ]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(pod("a"), pod("b"), id="the name does not matter"),
        pytest.param(
            pod(affinity=preferring((1, "ssd"), (9, "nvme"))),
            pod(affinity=preferring((9, "nvme"), (1, "ssd"))),
            id="the order of preferred terms does not matter",
        ),
        pytest.param(
            pod(volumes=[{"name": "v", "configMap": {"name": "a"}}]),
            pod(volumes=[{"name": "w", "secret": {"secretName": "b"}}]),
            id="config maps and secrets do not affect scheduling",
        ),
        pytest.param(
            pod(container={"image": "app"}),
            pod(container={"image": "app:latest"}),
            id="an image without a tag is the latest",
        ),
        pytest.param(
            pod(container={"ports": [{"hostPort": 80, "protocol": "TCP"}]}),
            pod(container={"ports": [{"hostPort": 80, "protocol": "UDP"}]}),
            id="upstream leaves out the protocol of host ports",
        ),
    ],
)
def test_these_pods_are_alike(one, other):
    sign = signer().sign
    assert sign(one) == sign(other) != None  # noqa: E711 - both have a signature


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(pod(container={"resources": {"requests": {"cpu": "2"}}}), id="requests"),
        pytest.param(pod(container={"image": "app:2"}), id="image"),
        pytest.param(pod(container={"ports": [{"hostPort": 80}]}), id="host port"),
        pytest.param(pod(labels={"app": "a"}), id="labels, which terms of placed pods look at"),
        pytest.param(pod(nodeSelector={"disk": "ssd"}), id="node selector"),
        pytest.param(pod(affinity=preferring((1, "ssd"))), id="node affinity"),
        pytest.param(pod(tolerations=[{"key": "k", "operator": "Exists"}]), id="tolerations"),
        pytest.param(pod(nodeName="n1"), id="node name"),
        pytest.param(pod(hostNetwork=True, hostUsers=False), id="declared features"),
        pytest.param(
            pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]), id="claim"
        ),
    ],
)
def test_these_pods_are_not(other):
    sign = signer().sign
    assert sign(other) not in {None, sign(pod())}


@pytest.mark.parametrize(
    "unlike",
    [
        pytest.param(
            pod(
                topologySpreadConstraints=[
                    {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
                ]
            ),
            id="spread constraints",
        ),
        pytest.param(
            pod(
                affinity={
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "zone", "labelSelector": {}}
                        ]
                    }
                }
            ),
            id="pod anti-affinity",
        ),
        pytest.param(pod(resourceClaims=[{"name": "gpu"}]), id="resource claims"),
    ],
)
def test_a_pod_that_depends_on_other_pods_is_like_no_other(unlike):
    assert signer().sign(unlike) is None


def test_no_pod_is_alike_where_constraints_are_the_default():
    assert signer("").sign(pod()) is None


class Silent(Plugin):
    """Takes part in filtering and does not say by what."""

    name = "Silent"

    def filter(self, cycle, node):
        """Pass every node."""
        return Status.OK


class Strange(Silent):
    """Signs with what is not data."""

    name = "Strange"

    def sign_pod(self, pod):
        """Return an object that JSON cannot hold."""
        return {"Strange": object()}


class Broken(Silent):
    """Fails when it should sign."""

    name = "Broken"

    def sign_pod(self, pod):
        """Raise."""
        raise KeyError(pod.key)


class Signing(Silent):
    """Says that it looks at the team."""

    name = "Signing"

    def sign_pod(self, pod):
        """Return the team."""
        return {"team": pod.metadata.annotations.get("team")}


@pytest.mark.parametrize("plugin", [Silent, Strange, Broken])
def test_a_plugin_that_cannot_say_leaves_pods_without_a_signature(plugin):
    own = signer(plugins=(plugin,))
    assert own.sign(make_pod("web")) is None
    assert own.unable == (("Silent",) if plugin is Silent else ())


def test_a_plugin_of_ones_own_can_sign():
    own = signer(plugins=(Signing,))
    assert own.unable == ()
    assert own.sign(pod()) is not None

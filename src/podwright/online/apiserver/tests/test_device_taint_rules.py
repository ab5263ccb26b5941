"""The resource of DeviceTaintRules, served if the feature gate of the scheduler is on."""

from __future__ import annotations

import podwright as pw
from podwright.cluster.api.strategies.preparation import KIND_PREPARATIONS
from podwright.cluster.api.versions.resources import GATED_RESOURCES, Resources


def test_single_resources_of_a_version_are_served() -> None:
    resources = Resources(("resource.k8s.io/v1", *GATED_RESOURCES["DRADeviceTaintRules"]))
    for version in ("v1beta2", "v1alpha3"):
        assert resources.find("resource.k8s.io", version, "devicetaintrules") is not None
        assert resources.find("resource.k8s.io", version, "resourceclaims") is None
    assert resources.group_versions == [
        "resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1alpha3",
    ]  # fmt: skip


def test_the_gate_has_an_effect() -> None:
    assert "DRADeviceTaintRules" in pw.parse_gates("DRADeviceTaintRules=true")
    assert "DRADeviceTaintRules" not in pw.parse_gates("")


def test_the_time_of_a_taint_is_set_and_follows_its_effect() -> None:
    preparation = KIND_PREPARATIONS["resource.k8s.io", "DeviceTaintRule"]
    assert preparation.create is not None
    assert preparation.update is not None
    new = preparation.create({"spec": {"taint": {"effect": "None"}}, "status": {}}, 0)
    assert new == {"spec": {"taint": {"effect": "None", "timeAdded": "1970-01-01T00:00:00Z"}}}
    same = preparation.update(new, new, 5_000_000_000)
    assert same == new
    evicting = {"spec": {"taint": new["spec"]["taint"] | {"effect": "NoExecute"}}}
    changed = preparation.update(evicting, new, 5_000_000_000)
    assert changed["spec"]["taint"]["timeAdded"] == "1970-01-01T00:00:05Z"

"""The resource of DeviceTaintRules, served if the feature gate of the scheduler is on."""

from __future__ import annotations

import podwright as pw
from podwright.api.endpoints.resources import DEVICE_TAINT_RULES, Resources


def test_single_resources_of_a_version_are_served() -> None:
    resources = Resources(("resource.k8s.io/v1", DEVICE_TAINT_RULES))
    version = ("resource.k8s.io", "v1beta2")
    assert resources.find(*version, "devicetaintrules") is not None
    assert resources.find(*version, "resourceclaims") is None
    assert resources.group_versions == ["resource.k8s.io/v1", "resource.k8s.io/v1beta2"]


def test_the_gate_has_an_effect() -> None:
    assert "DRADeviceTaintRules" in pw.parse_gates("DRADeviceTaintRules=true")
    assert "DRADeviceTaintRules" not in pw.parse_gates("")

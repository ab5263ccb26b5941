"""Differences have the names, the order and the zero values of Go's internal structs."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from podwright.apimachinery.schema import built_in
from podwright.apimachinery.schema.validation.field_errors import (
    _ZERO,
    _fields,
    _structs,
    difference,
)

Document = dict[str, Any]

# What kube-apiserver 1.36 answers to updates of a pod with one container.
CHANGED_COMMAND = """\
@@ -5,7 +5,9 @@
   {
    "Name": "c",
    "Image": "i:2",
-   "Command": null,
+   "Command": [
+    "x"
+   ],
    "Args": null,
    "WorkingDir": "",
    "Ports": null,
"""
CHANGED_NODE = """\
@@ -42,7 +42,7 @@
  "NodeSelector": null,
  "ServiceAccountName": "",
  "AutomountServiceAccountToken": null,
- "NodeName": "",
+ "NodeName": "n1",
  "SecurityContext": {
   "HostNetwork": false,
   "HostPID": false,
"""


def pod_spec() -> Document:
    found = built_in().find("v1", "Pod")
    assert found is not None
    pod = {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c", "image": "i:2"}]}}
    spec: Document = found.with_defaults(pod)["spec"]
    return spec


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(
            lambda spec: spec["containers"][0].update(command=["x"]), CHANGED_COMMAND, id="a list"
        ),
        pytest.param(lambda spec: spec.update(nodeName="n1"), CHANGED_NODE, id="a field"),
    ],
)
def test_a_changed_field_has_its_name_in_go(change, expected):
    spec = pod_spec()
    changed = copy.deepcopy(spec)
    change(changed)
    assert difference(spec, changed, "PodSpec") == expected


def test_fields_that_are_absent_or_have_their_zero_value_are_no_difference():
    spec = pod_spec()
    same = copy.deepcopy(spec) | {"hostNetwork": False, "serviceAccountName": "", "overhead": None}
    same["containers"][0] |= {"stdin": False, "ports": None}
    assert difference(spec, same, "PodSpec") == ""


def test_fields_of_pods_are_where_the_internal_object_has_them():
    found = difference(pod_spec(), pod_spec() | {"hostPID": True, "hostNetwork": True}, "PodSpec")
    assert [line for line in found.splitlines() if line[0] in "+-"] == [
        '-  "HostNetwork": false,',
        '-  "HostPID": false,',
        '+  "HostNetwork": true,',
        '+  "HostPID": true,',
    ]


def test_embedded_structs_and_characters_of_html():
    def volume(**labels: str) -> Document:
        template = {"metadata": {"labels": labels}}
        return {"name": "v", "ephemeral": {"volumeClaimTemplate": template}}

    found = difference([volume()], [volume(a="<&>")], "[Volume]")
    assert '+     "a": "\\u003c\\u0026\\u003e"' in found.splitlines()


def test_the_fields_of_every_struct_have_known_types():
    for name in _structs():
        for field in _fields(name):
            inner = field.type.strip("*[]{}")
            assert inner in _structs() or inner in _ZERO, (name, field)

"""The errors of the mounts and the devices of containers: a row is a part, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.tests.pod_errors import of_devices, of_mounts


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (([{}], {}),
         ["volumeMounts[0].name: Required value",
          'volumeMounts[0].name: Not found: ""',
          "volumeMounts[0].mountPath: Required value"]),
        (([{"name": "x", "mountPath": "/a"}], {}), ['volumeMounts[0].name: Not found: "x"']),
        (([{"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/a"}], {}),
         ['volumeMounts[1].mountPath: Invalid value: "/a": must be unique']),
        (([{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}], {}), []),
        (([{"name": "p", "mountPath": "/a"}], {"volumeDevices": [{"name": "p",
         "devicePath": "/a"}]}),
         ['volumeMounts[0].name: Invalid value: "p": must not already exist in volumeDevices',
          'volumeMounts[0].mountPath: Invalid value: "/a": must not already exist as a path'
          " in volumeDevices",
          'volumeDevices[0].name: Invalid value: "p": must not already exist in volumeMounts',
          'volumeDevices[0].devicePath: Invalid value: "/a": must not already exist as a path'
          " in volumeMounts"]),
        (([{"name": "v", "mountPath": "/a", "subPath": "/b"}], {}),
         ['volumeMounts.subPath: Invalid value: "/b": must be a relative path']),
        (([{"name": "v", "mountPath": "/a", "subPath": "b/.."}], {}),
         ["volumeMounts.subPath: Invalid value: \"b/..\": must not contain '..'"]),
        (([{"name": "v", "mountPath": "/a", "subPathExpr": "../b"}], {}),
         ["volumeMounts.subPathExpr: Invalid value: \"../b\": must not contain '..'"]),
        (([{"name": "v", "mountPath": "/a", "subPathExpr": "b", "subPath": "c"}], {}),
         ['volumeMounts[0].subPathExpr: Invalid value: "b": subPathExpr and subPath are'
          " mutually exclusive"]),
        (([{"name": "v", "mountPath": "/a", "mountPropagation": "x"}], {}),
         ['volumeMounts.mountPropagation: Unsupported value: "x": supported values:'
          ' "Bidirectional", "HostToContainer", "None"']),
        (([{"name": "v", "mountPath": "/a", "mountPropagation": "HostToContainer"}], {}), []),
        (([{"name": "v", "mountPath": "/a", "mountPropagation": "Bidirectional"}], {}),
         ["volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is"
          " available only to privileged containers"]),
        (([{"name": "v", "mountPath": "/a", "mountPropagation": "Bidirectional"}],
         {"securityContext": {"privileged": True}}),
         []),
        (([{"name": "v", "mountPath": "/a", "recursiveReadOnly": "Enabled"}], {}),
         ["volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is"
          " true"]),
        (([{"name": "v", "mountPath": "/a", "recursiveReadOnly": "IfPossible",
         "readOnly": True, "mountPropagation": "HostToContainer"}], {}),
         ["volumeMounts.recursiveReadOnly: Forbidden: may only be specified when"
          " mountPropagation is None or not specified"]),
        (([{"name": "v", "mountPath": "/a", "recursiveReadOnly": "Enabled", "readOnly": True,
         "mountPropagation": "None"}], {}),
         []),
        (([{"name": "v", "mountPath": "/a", "recursiveReadOnly": "Disabled"}], {}), []),
        (([{"name": "v", "mountPath": "/a", "recursiveReadOnly": "x"}], {}),
         ['volumeMounts.recursiveReadOnly: Unsupported value: "x": supported values:'
          ' "Disabled", "Enabled", "IfPossible"']),
        (([{"name": "v"}, {"name": "v"}], {}),
         ["volumeMounts[0].mountPath: Required value",
          "volumeMounts[1].mountPath: Required value",
          'volumeMounts[1].mountPath: Invalid value: "": must be unique']),
    ],
)  # fmt: skip
def test_mounts(row: Any, expected: list[str]) -> None:
    assert of_mounts(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([{}],
         ["[0].name: Required value",
          '[0].name: Not found: ""',
          "[0].devicePath: Required value"]),
        ([{"name": "p", "devicePath": "/a"}, {"name": "q", "devicePath": "/b"}], []),
        ([{"name": "p", "devicePath": "/a"}, {"name": "p", "devicePath": "/b"}],
         ['[1].name: Invalid value: "p": must be unique']),
        ([{"name": "p", "devicePath": "/a"}, {"name": "q", "devicePath": "/a"}],
         ['[1].devicePath: Invalid value: "/a": must be unique']),
        ([{"name": "v", "devicePath": "/a"}],
         ['[0].name: Invalid value: "v": can only use volume source type of'
          " PersistentVolumeClaim or Ephemeral for block mode"]),
        ([{"name": "x", "devicePath": "/a"}], ['[0].name: Not found: "x"']),
        ([{"name": "p", "devicePath": "a/../b"}],
         ["[0].devicePath: Invalid value: \"a/../b\": can not contain backsteps ('..')"]),
        ([{"devicePath": "/a"}, {"devicePath": "/b"}],
         ["[0].name: Required value",
          '[0].name: Not found: ""',
          "[1].name: Required value",
          '[1].name: Not found: ""']),
        ([{"name": "e", "devicePath": "/a"}, {"name": "p", "devicePath": "/b/../a"},
         {"name": "q", "devicePath": "/b/../a"}],
         ["[1].devicePath: Invalid value: \"/b/../a\": can not contain backsteps ('..')",
          "[2].devicePath: Invalid value: \"/b/../a\": can not contain backsteps ('..')"]),
    ],
)  # fmt: skip
def test_devices(row: Any, expected: list[str]) -> None:
    assert of_devices(row) == expected

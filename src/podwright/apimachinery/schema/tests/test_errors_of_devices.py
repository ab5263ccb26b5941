"""The errors of claims of devices and of their statuses: a row is a part, and its lines.

Upstream: pkg/apis/resource/validation/validation.go
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import Kind, built_in
from podwright.apimachinery.schema.tests.pod_errors import shown

UUID = "a0000000-0000-0000-0000-000000000000"
RESULT = {"request": "r", "driver": "a.io", "pool": "p", "device": "d"}
CONSUMER = {"resource": "pods", "name": "a", "uid": "u"}


def kind(name: str) -> Kind:
    found = built_in().find("resource.k8s.io/v1", name)
    assert found is not None
    return found


def exactly(**fields: Any) -> dict[str, Any]:
    return {"name": "r", "exactly": {"deviceClassName": "c"} | fields}


def lines(problems: list[Any], prefix: str = "") -> list[str]:
    return [f"{path}: {shown(message)}".removeprefix(prefix) for path, message, _ in problems]


def of_devices(**devices: Any) -> list[str]:
    claim = {"metadata": {"name": "x"}, "spec": {"devices": {"requests": [exactly()]} | devices}}
    found = kind("ResourceClaim")
    return lines(found.validation_problems(found.with_defaults(claim)), "spec.devices.")


def of_request(**fields: Any) -> list[str]:
    found = of_devices(requests=[exactly(**fields)])
    return [line.removeprefix("requests[0].exactly.") for line in found]


def of_status(
    status: dict[str, Any], before: dict[str, Any], metadata: dict[str, Any] | None = None
) -> list[str]:
    found = kind("ResourceClaim")
    spec = {"devices": {"requests": [exactly()]}}
    claim = {"metadata": {"name": "x"} | (metadata or {}), "spec": spec}
    new, old = (found.with_defaults(claim | {"status": each}) for each in (status, before))
    return lines(found.status_problems(new, old), "status.")


def allocated(*results: dict[str, Any], **others: Any) -> dict[str, Any]:
    devices = {"results": [RESULT | each for each in results or ({},)]}
    return {"allocation": {"devices": devices} | others}


def of_device(**fields: Any) -> list[str]:
    found = of_status(
        allocated() | {"devices": [{n: RESULT[n] for n in ("driver", "pool", "device")} | fields]},
        {},
    )
    return [line.removeprefix("devices[0].") for line in found]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"requests": None, "constraints": None, "config": None}, []),
        ({"requests": [exactly(), {"exactly": {}}, {"name": "r"}, {}]},
         ['requests[1].name: Invalid value: "": LABEL',
          "requests[1].exactly.deviceClassName: Required value",
          "requests[2]: Required value: exactly one of `exactly` or `firstAvailable` is"
          " required",
          'requests[3].name: Invalid value: "": LABEL',
          "requests[3]: Required value: exactly one of `exactly` or `firstAvailable` is"
          " required",
          'requests[2]: Duplicate value: "r"',
          'requests[3]: Duplicate value: ""']),
        ({"requests": [exactly() | {"name": f"r{i}"} for i in range(32)]}, []),
        ({"requests": [{"name": "r", "firstAvailable": [{"name": f"r{i}", "deviceClassName":
         "c"} for i in range(8)]}]},
         []),
        ({"requests": [{"name": "r", "firstAvailable": [{"name": f"r{i}", "deviceClassName":
         "c"} for i in range(9)]}]},
         ["requests[0].firstAvailable: Too many: 9: must have at most 8 items"]),
        ({"requests": [{"name": "r", "firstAvailable": [{"deviceClassName": "C"}, {"name":
         "a", "deviceClassName": "c", "allocationMode": "All", "count": 1, "tolerations":
         [{"operator": "x"}]}, {"name": "a", "deviceClassName": "c"}]}], "constraints":
         [{"requests": ["r/a", "r/b", "r/", "/a", "s/a", "r", "r/a/b"], "matchAttribute":
         "a.io/b"}]},
         ['requests[0].firstAvailable[0].name: Invalid value: "": LABEL',
          'requests[0].firstAvailable[0].deviceClassName: Invalid value: "C": SUBDOMAIN',
          "requests[0].firstAvailable[1].count: Invalid value: 1: must not be specified when"
          " allocationMode is 'All'",
          'requests[0].firstAvailable[1].tolerations[0].operator: Unsupported value: "x":'
          ' supported values: "Equal", "Exists"',
          'requests[0].firstAvailable[2]: Duplicate value: "a"',
          'constraints[0].requests[1]: Invalid value: "r/b": must be the name of a request in'
          " the claim or the name of a request and a subrequest separated by '/'",
          'constraints[0].requests[2]: Invalid value: "": LABEL',
          'constraints[0].requests[3]: Invalid value: "": LABEL',
          'constraints[0].requests[3]: Invalid value: "/a": must be the name of a request in'
          " the claim or the name of a request and a subrequest separated by '/'",
          'constraints[0].requests[4]: Invalid value: "s/a": must be the name of a request in'
          " the claim or the name of a request and a subrequest separated by '/'",
          'constraints[0].requests[6]: Invalid value: "r/a/b": must be the name of a request'
          " in the claim or the name of a request and a subrequest separated by '/'"]),
        ({"constraints": [{"matchAttribute": "a.io/b"}] * 32, "config": [{"opaque": {"driver":
         "a.io", "parameters": {}}}] * 32},
         []),
        ({"constraints": [{"matchAttribute": "a.io/b"}] * 33, "config": [{"opaque": {"driver":
         "a.io", "parameters": {}}}] * 33},
         ["constraints: Too many: 33: must have at most 32 items",
          "config: Too many: 33: must have at most 32 items"]),
        ({"constraints": [{}, {"matchAttribute": "", "distinctAttribute": "a"},
         {"distinctAttribute": "a.io/b"}, {"matchAttribute": "A_/b"}, {"matchAttribute":
         "a.io/" + "b" * 32}, {"matchAttribute": "a.io/" + "b" * 33}, {"matchAttribute": "/"},
         {"matchAttribute": "a/b/c"}, {"matchAttribute": "a.io/1"}]},
         ['constraints[0]: Required value: exactly one of "matchAttribute" or'
          ' "distinctAttribute" is required, but multiple fields are set',
          'constraints[1].matchAttribute: Invalid value: "": a valid C identifier must start'
          " with alphabetic character or '_', followed by a string of alphanumeric characters"
          " or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is"
          " '[A-Za-z_][A-Za-z0-9_]*')",
          'constraints[1].matchAttribute: Invalid value: "": a fully qualified name must be a'
          " domain and a name separated by a slash",
          'constraints[3].matchAttribute: Invalid value: "A_": SUBDOMAIN',
          "constraints[5].matchAttribute: Too long: may not be more than 32 bytes",
          'constraints[6].matchAttribute: Invalid value: "": the domain must not be empty',
          'constraints[6].matchAttribute: Invalid value: "": the name must not be empty',
          'constraints[8].matchAttribute: Invalid value: "1": a valid C identifier must start'
          " with alphabetic character or '_', followed by a string of alphanumeric characters"
          " or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is"
          " '[A-Za-z_][A-Za-z0-9_]*')"]),
        ({"constraints": [{"requests": ["r", "x", "r"], "matchAttribute": "a.io/b"}]},
         ['constraints[0].requests[1]: Invalid value: "x": must be the name of a request in'
          " the claim or the name of a request and a subrequest separated by '/'",
          'constraints[0].requests[2]: Duplicate value: "r"']),
        ({"config": [{"opaque": {"driver": "", "parameters": None}}, {"opaque": {"driver":
         "a.io", "parameters": {"a": "b" * 10232}}}, {"opaque": {"driver": "a.io",
         "parameters": {"a": "b" * 10233}}}, {"opaque": {"driver": "a.io", "parameters":
         [1]}}, {"opaque": None}]},
         ["config[0].opaque.driver: Required value",
          "config[0].opaque.parameters: Required value",
          "config[2].opaque.parameters: Too long: may not be more than 10240 bytes",
          'config[3].opaque.parameters: Invalid value: "<value omitted>": must be a valid'
          " JSON object",
          "config[4].opaque: Required value"]),
        ({"config": [{"opaque": {"driver": "a.io", "parameters": {"a": "é" * 5116}}},
         {"opaque": {"driver": "a.io", "parameters": {"a": "é" * 5117}}}]},
         ["config[1].opaque.parameters: Too long: may not be more than 10240 bytes"]),
    ],
)  # fmt: skip
def test_claims(row: Any, expected: list[str]) -> None:
    assert of_devices(**row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"deviceClassName": "", "selectors": None, "tolerations": None},
         ["deviceClassName: Required value"]),
        ({"allocationMode": "All", "count": 0}, []),
        ({"allocationMode": "All", "count": -1},
         ["count: Invalid value: -1: must not be specified when allocationMode is 'All'"]),
        ({"allocationMode": "ExactCount", "count": 1}, []),
        ({"tolerations": [{"key": "a", "operator": "Equal", "value": "-"}, {"operator":
         "Exists", "value": "a"}, {"operator": "Equal", "value": "a", "effect": "x"},
         {"operator": "Exists", "effect": "None"}]},
         ['tolerations[0].value: Invalid value: "-": a valid label must be an empty string or'
          " consist of alphanumeric characters, '-', '_' or '.', and must start and end with"
          " an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex"
          " used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
          'tolerations[1].value: Invalid value: "a": must be empty for operator `Exists`',
          'tolerations[2].effect: Unsupported value: "x": supported values: "NoExecute",'
          ' "NoSchedule", "None"']),
        ({"selectors": [{"cel": {"expression": "true"}}] * 32}, []),
        ({"selectors": [{"cel": {"expression": "true"}}] * 33},
         ["selectors: Too many: 33: must have at most 32 items"]),
        ({"selectors": [{"cel": {"expression": "'" + "é" * 5119 + "' == ''"}}]},
         ["selectors[0].cel.expression: Too long: may not be more than 10240 bytes"]),
    ],
)  # fmt: skip
def test_requests(row: Any, expected: list[str]) -> None:
    assert of_request(**row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (({}, {}), []),
        (({"reservedFor": [CONSUMER | {"uid": f"u{i}"} for i in range(256)]} | allocated(),
         {}),
         []),
        (({"reservedFor": [CONSUMER | {"uid": f"u{i}"} for i in range(257)]} | allocated(),
         {}),
         ["reservedFor: Too many: 257: must have at most 256 items"]),
        (({"reservedFor": [{}, CONSUMER, CONSUMER]} | allocated(), {}),
         ["reservedFor[0].resource: Required value",
          "reservedFor[0].name: Required value",
          "reservedFor[0].uid: Required value",
          'reservedFor[2]: Duplicate value: "u"']),
        (({"reservedFor": [CONSUMER]}, {}),
         ["reservedFor: Forbidden: may not be specified when `allocated` is not set"]),
        (({"reservedFor": [CONSUMER]} | allocated(), {}, {"deletionTimestamp":
         "2026-01-01T00:00:00Z"}),
         ["reservedFor: Forbidden: new entries may not be added while `deallocationRequested`"
          " or `deletionTimestamp` are set"]),
        (({"reservedFor": [CONSUMER]} | allocated(), {"reservedFor": [CONSUMER, CONSUMER |
         {"uid": "v"}]} | allocated(), {"deletionTimestamp": "2026-01-01T00:00:00Z"}),
         []),
        (({"reservedFor": [CONSUMER]} | allocated(), {"reservedFor": [CONSUMER | {"uid":
         "v"}]} | allocated(), {"deletionTimestamp": "2026-01-01T00:00:00Z"}),
         ["reservedFor: Forbidden: new entries may not be added while `deallocationRequested`"
          " or `deletionTimestamp` are set"]),
        (({"reservedFor": [CONSUMER]} | allocated(), {"reservedFor": [CONSUMER | {"uid":
         "v"}]} | allocated(), {}),
         []),
        ((allocated(), allocated()), []),
        (({}, allocated()), []),
        ((allocated({"request": "x"}), allocated({"request": "x"})), []),
        ((allocated(*[{"device": f"d{i}"} for i in range(32)]), {}), []),
        ((allocated(*[{"device": f"d{i}"} for i in range(33)]), {}),
         ["allocation.devices.results: Too many: 33: must have at most 32 items"]),
        ((allocated({"request": "", "driver": "", "pool": "", "device": "", "shareID": ""}),
         {}),
         ['allocation.devices.results[0].request: Invalid value: "": LABEL',
          'allocation.devices.results[0].request: Invalid value: "": must be the name of a'
          " request in the claim or the name of a request and a subrequest separated by '/'",
          "allocation.devices.results[0].driver: Required value",
          "allocation.devices.results[0].pool: Required value",
          'allocation.devices.results[0].device: Invalid value: "": LABEL',
          'allocation.devices.results[0].shareID: Invalid value: "": error validating uid:'
          " invalid UUID length: 0"]),
        ((allocated({"pool": "a" * 253 + "/" + "A"}), {}),
         ["allocation.devices.results[0].pool: Too long: may not be more than 253 bytes",
          'allocation.devices.results[0].pool: Invalid value: "A": SUBDOMAIN']),
        ((allocated({"pool": "a/" * 126 + "a"}, {"pool": "a/" * 126 + "ab"}), {}),
         ["allocation.devices.results[1].pool: Too long: may not be more than 253 bytes"]),
        ((allocated({"bindingConditions": ["a", "b", "c", "d"], "bindingFailureConditions":
         ["e", "f", "g", "h"]}), {}),
         []),
        ((allocated({"bindingConditions": ["a", "b", "c", "d", "i"],
         "bindingFailureConditions": ["e", "f", "g", "h", "a"]}), {}),
         ["allocation.devices.results[0].bindingConditions: Too many: 5: must have at most 4"
          " items",
          "allocation.devices.results[0].bindingFailureConditions: Too many: 5: must have at"
          " most 4 items",
          'allocation.devices.results[0].bindingFailureConditions[4]: Invalid value: "a":'
          " bindingFailureConditions must not overlap with bindingConditions"]),
        ((allocated({"bindingConditions": ["a"]}, {"bindingConditions": ["-", "a", "a"],
         "bindingFailureConditions": ["-", "b", "b"]}, {"bindingFailureConditions": ["b"]}),
         {}),
         ["allocation.devices.results[0].bindingFailureConditions: Invalid value: null:"
          " bindingFailureConditions are required to use bindingConditions",
          'allocation.devices.results[1].bindingConditions[0]: Invalid value: "-": NAME PART',
          'allocation.devices.results[1].bindingFailureConditions[0]: Invalid value: "-":'
          " NAME PART",
          'allocation.devices.results[1].bindingConditions[2]: Duplicate value: "a"',
          'allocation.devices.results[1].bindingFailureConditions[0]: Invalid value: "-":'
          " bindingFailureConditions must not overlap with bindingConditions",
          'allocation.devices.results[1].bindingFailureConditions[2]: Duplicate value: "b"',
          "allocation.devices.results[2].bindingConditions: Invalid value: null:"
          " bindingConditions are required to use bindingFailureConditions"]),
        ((allocated(nodeSelector={}), {}),
         ["allocation.nodeSelector.nodeSelectorTerms: Required value: must have at least one"
          " node selector term"]),
        (({"allocation": {"devices": {"config": [{"source": "FromClaim", "opaque": {"driver":
         "a.io", "parameters": {}}}] * 64}}}, {}),
         []),
        (({"allocation": {"devices": {"config": [{"source": "FromClaim", "opaque": {"driver":
         "a.io", "parameters": {}}}] * 65}}}, {}),
         ["allocation.devices.config: Too many: 65: must have at most 64 items"]),
        (({"allocation": {"devices": {"config": [{"source": "x", "requests": ["y"], "opaque":
         {}}, {}]}}}, {}),
         ['allocation.devices.config[0].source: Unsupported value: "x": supported values:'
          ' "FromClaim", "FromClass"',
          'allocation.devices.config[0].requests[0]: Invalid value: "y": must be the name of'
          " a request in the claim or the name of a request and a subrequest separated by '/'",
          "allocation.devices.config[0].opaque.driver: Required value",
          "allocation.devices.config[0].opaque.parameters: Required value",
          "allocation.devices.config[1].source: Required value",
          "allocation.devices.config[1].opaque: Required value"]),
        ((allocated() | {"devices": [{"driver": "a.io", "pool": "p", "device": "d"},
         {"driver": "a.io", "pool": "p", "device": "d"}, {"driver": "a.io", "pool": "p",
         "device": "e"}, {}]}, {}),
         ['devices[2]: Invalid value: {"Driver":"a.io","Pool":"p","Device":"e","ShareID":""}:'
          " must be an allocated device in the claim",
          "devices[3].driver: Required value",
          "devices[3].pool: Required value",
          'devices[3].device: Invalid value: "": LABEL',
          'devices[3]: Invalid value: {"Driver":"","Pool":"","Device":"","ShareID":""}: must'
          " be an allocated device in the claim",
          "devices[1]: Duplicate value:"
          ' {"Driver":"a.io","Pool":"p","Device":"d","ShareID":""}']),
        ((allocated({"shareID": UUID}) | {"devices": [{"driver": "a.io", "pool": "p",
         "device": "d", "shareID": UUID}]}, {}),
         []),
        (({"devices": [{"driver": "a.io", "pool": "p", "device": "d"}]}, {}),
         ['devices[0]: Invalid value: {"Driver":"a.io","Pool":"p","Device":"d","ShareID":""}:'
          " must be an allocated device in the claim"]),
        ((allocated({"shareID": "urn:uuid:" + UUID}, {"shareID": "URN:UUID:" + UUID},
         {"shareID": "{" + UUID + "}"}, {"shareID": UUID.upper()}, {"shareID": "a" * 32}), {}),
         ["allocation.devices.results[0].shareID: Invalid value:"
          ' "urn:uuid:a0000000-0000-0000-0000-000000000000": uid must be in RFC 4122'
          " normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase"
          " hexadecimal characters",
          "allocation.devices.results[1].shareID: Invalid value:"
          ' "URN:UUID:a0000000-0000-0000-0000-000000000000": uid must be in RFC 4122'
          " normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase"
          " hexadecimal characters",
          "allocation.devices.results[2].shareID: Invalid value:"
          ' "{a0000000-0000-0000-0000-000000000000}": uid must be in RFC 4122 normalized'
          " form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal"
          " characters",
          "allocation.devices.results[3].shareID: Invalid value:"
          ' "A0000000-0000-0000-0000-000000000000": uid must be in RFC 4122 normalized form,'
          " `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters",
          'allocation.devices.results[4].shareID: Invalid value: "a*32": uid must be in RFC'
          " 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase"
          " hexadecimal characters"]),
        ((allocated({"shareID": "urn:uuid:" + "z" * 36}, {"shareID": "urn:uuic:" + UUID},
         {"shareID": "{" + "z" * 36 + "}"}, {"shareID": "(" + UUID + "}"}, {"shareID": "{" +
         UUID + ")"}, {"shareID": "z" * 36}, {"shareID": "a" * 46}, {"shareID": "a" * 31 +
         "z"}), {}),
         ['allocation.devices.results[0].shareID: Invalid value: "urn:uuid:z*36": error'
          " validating uid: invalid UUID format",
          "allocation.devices.results[1].shareID: Invalid value:"
          ' "urn:uuic:a0000000-0000-0000-0000-000000000000": error validating uid: invalid'
          ' urn prefix: "urn:uuic:"',
          'allocation.devices.results[2].shareID: Invalid value: "{z*36}": error validating'
          " uid: invalid UUID format",
          "allocation.devices.results[3].shareID: Invalid value:"
          ' "(a0000000-0000-0000-0000-000000000000}": error validating uid: invalid bracketed'
          " UUID format",
          "allocation.devices.results[4].shareID: Invalid value:"
          ' "{a0000000-0000-0000-0000-000000000000)": error validating uid: invalid bracketed'
          " UUID format",
          'allocation.devices.results[5].shareID: Invalid value: "z*36": error validating'
          " uid: invalid UUID format",
          'allocation.devices.results[6].shareID: Invalid value: "a*46": error validating'
          " uid: invalid UUID length: 46",
          'allocation.devices.results[7].shareID: Invalid value: "a*31z": error validating'
          " uid: invalid UUID format"]),
        ((allocated({"shareID": "é" * 18}), {}),
         ['allocation.devices.results[0].shareID: Invalid value: "éééééééééééééééééé": error'
          " validating uid: invalid UUID format"]),
    ],
)  # fmt: skip
def test_statuses(row: Any, expected: list[str]) -> None:
    assert of_status(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"data": {}, "conditions": None, "networkData": {}}, []),
        ({"data": {"a": "b" * 10233}}, ["data: Too long: may not be more than 10240 bytes"]),
        ({"data": [1]}, ['data: Invalid value: "<value omitted>": must be a valid JSON object']),
        ({"networkData": {"interfaceName": "a" * 256, "hardwareAddress": "b" * 128, "ips":
         [f"10.0.0.{i}/8" for i in range(16)]}},
         []),
        ({"networkData": {"interfaceName": "a" * 257, "hardwareAddress": "b" * 129, "ips":
         [f"10.0.0.{i}/8" for i in range(17)]}},
         ["networkData.interfaceName: Too long: may not be more than 256 bytes",
          "networkData.hardwareAddress: Too long: may not be more than 128 bytes",
          "networkData.ips: Too many: 17: must have at most 16 items"]),
        ({"networkData": {"interfaceName": "é" * 129, "hardwareAddress": "é" * 65, "ips":
         ["10.0.0.1/8", "10.0.0.1", "10.0.0.1/8"]}},
         ["networkData.interfaceName: Too long: may not be more than 256 bytes",
          "networkData.hardwareAddress: Too long: may not be more than 128 bytes",
          'networkData.ips[1]: Invalid value: "10.0.0.1": must be a valid address in CIDR'
          " form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)",
          'networkData.ips[2]: Duplicate value: "10.0.0.1/8"']),
        ({"shareID": "x"},
         ['shareID: Invalid value: "x": error validating uid: invalid UUID length: 1',
          "devices[0]: Invalid value:"
          ' {"Driver":"a.io","Pool":"p","Device":"d","ShareID":"x"}: must be an allocated'
          " device in the claim"]),
    ],
)  # fmt: skip
def test_devices(row: Any, expected: list[str]) -> None:
    assert of_device(**row) == expected


TERM = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}


def of_slice(
    listed: list[dict[str, Any]], old: dict[str, Any] | None = None, **spec: Any
) -> list[str]:
    found = kind("ResourceSlice")
    pool = {"name": "p", "resourceSliceCount": 1}
    usual: dict[str, Any] = {"driver": "a.io", "pool": pool, "nodeName": "n"}
    usual |= {"devices": listed} if listed else {}
    documents: list[dict[str, Any]] = [
        {"metadata": {"name": "x"}, "spec": usual | each} for each in (spec, old or {})
    ]
    new, former = documents
    if old is None:
        return lines(found.validation_problems(new), "spec.")
    return lines(found.update_problems(new, former), "spec.")


def of_part(**fields: Any) -> list[str]:
    found = of_slice([{"name": "d"} | fields])
    return [line.removeprefix("devices[0].") for line in found]


def of_placed(**fields: Any) -> list[str]:
    placed: dict[str, Any] = {"nodeName": None, "perDeviceNodeSelection": True}
    found = of_slice([{"name": "d"} | fields], **placed)
    return [line.removeprefix("devices[0].") for line in found]


def of_capacity(value: str, policy: dict[str, Any]) -> list[str]:
    capacity = {"m": {"value": value, "requestPolicy": policy}}
    found = of_part(allowMultipleAllocations=True, capacity=capacity)
    return [line.removeprefix("capacity[m].requestPolicy") for line in found]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (([], None, {}), []),
        (([], None, {"driver": "", "pool": {"name": "", "resourceSliceCount": 0, "generation":
         -1}}),
         ["driver: Required value",
          "pool.name: Required value",
          "pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
          "pool.generation: Invalid value: -1: must be greater than or equal to zero"]),
        (([], None, {"pool": None, "nodeName": ""}),
         ["pool.name: Required value",
          "pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
          'nodeName: Invalid value: "": must be either unset or set to a non-empty string',
          "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`,"
          " `perDeviceNodeSelection` is required"]),
        (([], None, {"nodeName": "N", "nodeSelector": {"nodeSelectorTerms": [TERM, TERM]},
         "allNodes": True, "perDeviceNodeSelection": True}),
         ['nodeName: Invalid value: "N": SUBDOMAIN',
          "nodeSelector.nodeSelectorTerms: Invalid value:"
          ' [{"MatchExpressions":null,"MatchFields":[{"Key":"metadata.name","Operator":'
          '"In","Values":["n"]}]},{"MatchExpressions":null,"MatchFields":[{"Key":"metad'
          'ata.name","Operator":"In","Values":["n"]}]}]:'
          " must have exactly one node selector term",
          'spec: Invalid value: "{`nodeName`, `nodeSelector`, `allNodes`,'
          ' `perDeviceNodeSelection`}": exactly one of `nodeName`, `nodeSelector`,'
          " `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set"]),
        (([], None, {"nodeName": None, "allNodes": False, "perDeviceNodeSelection": False}),
         ["allNodes: Invalid value: false: must be either unset or set to true",
          "perDeviceNodeSelection: Invalid value: false: must be either unset or set to true",
          "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`,"
          " `perDeviceNodeSelection` is required"]),
        (([], None, {"nodeName": None, "nodeSelector": {}}),
         ["nodeSelector.nodeSelectorTerms: Required value: must have at least one node"
          " selector term",
          "nodeSelector.nodeSelectorTerms: Invalid value: null: must have exactly one node"
          " selector term"]),
        (([], None, {"nodeName": None, "nodeSelector": {"nodeSelectorTerms": [TERM]}}), []),
        (([{"name": "d"}], None, {"sharedCounters": [{"name": "c", "counters": {"a": {"value":
         "1"}}}]}),
         ['spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed']),
        (([{"name": f"d{i}"} for i in range(128)], None, {}), []),
        (([{"name": f"d{i}"} for i in range(129)], None, {}),
         ["devices: Too many: 129: must have at most 128 items"]),
        (([{"name": f"d{i}", "attributes": {"a": {"ints": [1]}}} for i in range(65)], None,
         {}),
         ["devices: Too many: 65: must have at most 64 items"]),
        (([{"name": f"d{i}", "attributes": {"a": {"bools": []}}} for i in range(65)], None,
         {}),
         ["devices: Too many: 65: must have at most 64 items"]),
        (([{"name": "e", "consumesCounters": [{"counterSet": "c", "counters": {"a": {"value":
         "1"}}}]}, *[{"name": f"d{i}"} for i in range(64)]], None, {}),
         ["devices: Too many: 65: must have at most 64 items"]),
        (([{"name": f"d{i}"} for i in range(64)] + [{"name": "e", "taints": [{"key": "a",
         "effect": "None"}]}], None, {}),
         ["devices: Too many: 65: must have at most 64 items"]),
        (([{}, {"name": "D"}, {"name": "d"}, {"name": "d"}], None, {}),
         ['devices[0].name: Invalid value: "": LABEL',
          'devices[1].name: Invalid value: "D": LABEL',
          'devices[3]: Duplicate value: "d"']),
        (([], None, {"sharedCounters": [{"name": f"c{i}", "counters": {"a": {"value": "1"}}}
         for i in range(8)]}),
         []),
        (([], None, {"sharedCounters": [{"name": f"c{i}", "counters": {"a": {"value": "1"}}}
         for i in range(9)]}),
         ["sharedCounters: Too many: 9: must have at most 8 items"]),
        (([], None, {"sharedCounters": [{}, {"name": "C", "counters": {"B": {"value": "1"},
         "A": {"value": "1"}}}, {"name": "c", "counters": {f"a{i}": {"value": "1"} for i in
         range(32)}}, {"name": "c", "counters": {f"a{i}": {"value": "1"} for i in
         range(33)}}]}),
         ["sharedCounters[0].name: Required value",
          "sharedCounters[0].counters: Required value",
          'sharedCounters[1].name: Invalid value: "C": LABEL',
          'sharedCounters[1].counters: Invalid value: "A": LABEL',
          'sharedCounters[1].counters: Invalid value: "B": LABEL',
          "sharedCounters[3].counters: Too many: 33: must have at most 32 items",
          'sharedCounters[3]: Duplicate value: "c"']),
        (([], {}, {}), []),
        (([], {}, {"driver": "b.io", "pool": {"name": "q", "resourceSliceCount": 2},
         "nodeName": "m"}),
         ['pool.name: Invalid value: "q": field is immutable',
          'driver: Invalid value: "b.io": field is immutable',
          'nodeName: Invalid value: "m": field is immutable']),
        (([], {"nodeName": None, "allNodes": True}, {"nodeName": None, "allNodes": True}), []),
        (([], {"devices": [{"name": "d", "taints": [{"key": "-"}]}]}, {"devices": [{"name":
         "d", "taints": [{"key": "-"}]}, {"name": "e", "taints": [{"key": "-"}]}]}),
         ['devices[1].taints[0].key: Invalid value: "-": NAME PART',
          "devices[1].taints[0].effect: Required value"]),
        (([], {"devices": [{"name": "d", "taints": [{"key": "-"}]}]}, {"devices": [{"name":
         "d", "taints": [{"key": "-", "effect": "None"}]}]}),
         ['devices[0].taints[0].key: Invalid value: "-": NAME PART']),
    ],
)  # fmt: skip
def test_slices(row: Any, expected: list[str]) -> None:
    assert of_slice(*row[:2], **row[2]) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"attributes": {f"a{i}": {"int": 1} for i in range(16)}, "capacity": {f"b{i}":
         {"value": "1"} for i in range(16)}},
         []),
        ({"attributes": {f"a{i}": {"int": 1} for i in range(17)}, "capacity": {f"b{i}":
         {"value": "1"} for i in range(16)}},
         ["devices[0]: Invalid value: 33: the total number of attributes and capacities must"
          " not exceed 32"]),
        ({"attributes": {"a": {"ints": [1] * 24}, "b": {"bools": [True] * 23}, "c": {"string":
         "x"}}},
         []),
        ({"attributes": {"a": {"ints": [1] * 24}, "b": {"bools": [True] * 23}, "c": {"string":
         "x"}, "d": {"version": "1.0.0"}}},
         ["devices[0]: Invalid value: 49: the total number of attribute values must not"
          " exceed 48"]),
        ({"attributes": {"b": {"bools": [], "ints": [], "strings": [], "versions": []}, "a":
         {}}},
         ['attributes[a]: Invalid value: "": exactly one value must be specified',
          "attributes[b].bools: Invalid value: []: must not be empty if specified",
          "attributes[b].ints: Invalid value: []: must not be empty if specified",
          "attributes[b].strings: Invalid value: []: must not be empty if specified",
          "attributes[b].versions: Invalid value: []: must not be empty if specified",
          "attributes[b]: Invalid value:"
          ' {"IntValue":null,"BoolValue":null,"StringValue":null,"VersionValue":null,"I'
          'ntValues":[],"BoolValues":[],"StringValues":[],"VersionValues":[]}:'
          " exactly one value must be specified"]),
        ({"attributes": {"a": {"string": "x" * 64}, "b": {"string": "é" * 33}, "c":
         {"strings": ["x", "y" * 65]}, "d": {"versions": ["1.0.0", "1"]}, "e": {"version":
         "1.0.0-" + "a" * 59}, "f": {"bool": False, "int": 0}, "g": {"bool": False}}},
         ["attributes[b].string: Too long: may not be more than 64 bytes",
          "attributes[c].strings[1]: Too long: may not be more than 64 bytes",
          'attributes[d].versions[1]: Invalid value: "1": must be a string compatible with'
          " semver.org spec 2.0.0",
          "attributes[e].version: Too long: may not be more than 64 bytes",
          "attributes[f]: Invalid value:"
          ' {"IntValue":0,"BoolValue":false,"StringValue":null,"VersionValue":null,"Int'
          'Values":null,"BoolValues":null,"StringValues":null,"VersionValues":null}:'
          " exactly one value must be specified"]),
        ({"attributes": {"a": {"versions": ["0.0.0", "1.2.3-0.a.-", "1.0.0+01.a", "01.0.0",
         "1.0.0-01", "1.0.0-", "1.0.0+", "1.0.0-a..b", "1.0", "1.0.0-0a", "a1.0.0",
         "\uff11.0.0"]}}},
         ['attributes[a].versions[3]: Invalid value: "01.0.0": must be a string compatible'
          " with semver.org spec 2.0.0",
          'attributes[a].versions[4]: Invalid value: "1.0.0-01": must be a string compatible'
          " with semver.org spec 2.0.0",
          'attributes[a].versions[5]: Invalid value: "1.0.0-": must be a string compatible'
          " with semver.org spec 2.0.0",
          'attributes[a].versions[6]: Invalid value: "1.0.0+": must be a string compatible'
          " with semver.org spec 2.0.0",
          'attributes[a].versions[7]: Invalid value: "1.0.0-a..b": must be a string'
          " compatible with semver.org spec 2.0.0",
          'attributes[a].versions[8]: Invalid value: "1.0": must be a string compatible with'
          " semver.org spec 2.0.0",
          'attributes[a].versions[10]: Invalid value: "a1.0.0": must be a string compatible'
          " with semver.org spec 2.0.0",
          'attributes[a].versions[11]: Invalid value: "\uff11.0.0": must be a string compatible'
          " with semver.org spec 2.0.0"]),
        ({"capacity": {"/b": {"value": "1"}, "a/": {"value": "1"}, "1": {"value": "1"}}},
         ['capacity: Invalid value: "": the domain must not be empty',
          'capacity: Invalid value: "1": a valid C identifier must start with alphabetic'
          " character or '_', followed by a string of alphanumeric characters or '_' (e.g."
          " 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is"
          " '[A-Za-z_][A-Za-z0-9_]*')",
          'capacity: Invalid value: "": the name must not be empty']),
        ({"capacity": {"m": {"value": "1", "requestPolicy": {}}}},
         ["capacity[m].requestPolicy: Forbidden: allowMultipleAllocations must be true"]),
        ({"taints": [{"key": f"a{i}", "effect": "None"} for i in range(16)]}, []),
        ({"taints": [{"key": f"a{i}", "effect": "None"} for i in range(17)]},
         ["taints: Too many: 17: must have at most 16 items"]),
        ({"taints": [{}, {"key": "a", "value": "-", "effect": "x"}]},
         ['taints[0].key: Invalid value: "": name part must be non-empty',
          'taints[0].key: Invalid value: "": NAME PART',
          "taints[0].effect: Required value",
          'taints[1].value: Invalid value: "-": a valid label must be an empty string or'
          " consist of alphanumeric characters, '-', '_' or '.', and must start and end with"
          " an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex"
          " used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
          'taints[1].effect: Unsupported value: "x": supported values: "NoExecute",'
          ' "NoSchedule", "None"']),
        ({"consumesCounters": [{"counterSet": "c", "counters": {"a": {"value": "1"}}},
         {"counterSet": "c", "counters": {"a": {"value": "1"}}}]},
         ['consumesCounters[1]: Duplicate value: "c"']),
        ({"consumesCounters": [{"counterSet": f"c{i}", "counters": {"a": {"value": "1"}}} for
         i in range(3)]},
         ["consumesCounters: Too many: 3: must have at most 2 items"]),
        ({"consumesCounters": [{}, {"counterSet": "C", "counters": {"A": {"value": "1"}}}]},
         ["consumesCounters[0].counterSet: Required value",
          "consumesCounters[0].counters: Required value",
          'consumesCounters[1].counterSet: Invalid value: "C": LABEL',
          'consumesCounters[1].counters: Invalid value: "A": LABEL']),
        ({"nodeName": "a"},
         ["devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can"
          " only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec"]),
        ({"nodeSelector": {}},
         ["devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can"
          " only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec"]),
        ({"allNodes": False},
         ["devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can"
          " only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec"]),
        ({"capacity": {"m": {"value": "1"}}, "nodeAllocatableResourceMappings": {"cpu": {},
         "a/b": {"capacityKey": "m"}, "memory": {"capacityKey": "x", "allocationMultiplier":
         "0"}, "a": { "capacityKey": ""}, "b": {"allocationMultiplier": "1", "capacityKey":
         "m"}, "c": {"allocationMultiplier": "-1"}}},
         ['nodeAllocatableResourceMappings[a].capacityKey: Invalid value: "": capacityKey'
          " must not be an empty string",
          'nodeAllocatableResourceMappings[a/b]: Invalid value: "a/b": must be a node'
          " allocatable resource name",
          'nodeAllocatableResourceMappings[c].allocationMultiplier: Invalid value: "-1": must'
          " be positive",
          'nodeAllocatableResourceMappings[cpu]: Invalid value: "": at least one of'
          " allocationMultiplier or capacityKey must be set",
          'nodeAllocatableResourceMappings[memory].allocationMultiplier: Invalid value: "0":'
          " must be positive",
          'nodeAllocatableResourceMappings[memory].capacityKey: Not found: "x"']),
        ({"nodeAllocatableResourceMappings": {"cpu": {"capacityKey": "m"}}},
         ['nodeAllocatableResourceMappings[cpu].capacityKey: Not found: "m"']),
        ({"attributes": {"a" * 40 + "b" * 56: {}, "c" * 40 + "d" * 30 + "e" * 27: {}}},
         ["attributes: Too long: may not be more than 32 bytes",
          "attributes[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbb"
          "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb]:"
          ' Invalid value: "": exactly one value must be specified',
          "attributes: Too long: may not be more than 32 bytes",
          "attributes[ccccccccccccccccccccccccccccccccccccccccddddddd...ddddddddddddddd"
          "ddddeeeeeeeeeeeeeeeeeeeeeeeeeee]:"
          ' Invalid value: "": exactly one value must be specified']),
    ],
)  # fmt: skip
def test_devices_of_slices(row: Any, expected: list[str]) -> None:
    assert of_part(**row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({},
         ["devices[0]: Required value: exactly one of `nodeName`, `nodeSelector`, or"
          " `allNodes` is required when `perDeviceNodeSelection` is set to true in the"
          " ResourceSlice spec"]),
        ({"nodeName": "n"}, []),
        ({"nodeName": ""},
         ['nodeName: Invalid value: "": must not be empty',
          "devices[0]: Required value: exactly one of `nodeName`, `nodeSelector`, or"
          " `allNodes` is required when `perDeviceNodeSelection` is set to true in the"
          " ResourceSlice spec"]),
        ({"nodeName": "N", "nodeSelector": {}, "allNodes": True},
         ['nodeName: Invalid value: "N": SUBDOMAIN',
          "nodeSelector.nodeSelectorTerms: Required value: must have at least one node"
          " selector term",
          'devices[0]: Invalid value: "{`nodeName`, `nodeSelector`, `allNodes`}": exactly one'
          " of `nodeName`, `nodeSelector`, or `allNodes` is required when"
          " `perDeviceNodeSelection` is set to true in the ResourceSlice spec"]),
        ({"allNodes": False, "nodeName": "n"},
         ["allNodes: Invalid value: false: must be either unset or set to true"]),
    ],
)  # fmt: skip
def test_places_of_devices(row: Any, expected: list[str]) -> None:
    assert of_placed(**row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("1", {}), []),
        (("1", {"default": "2"}), []),
        (("10", {"default": "1", "validValues": ["1"], "validRange": {}}),
         [': Forbidden: exactly one policy can be specified, cannot specify "validValues" and'
          ' "validRange" at the same time']),
        (("10", {"validValues": ["1"]}),
         [".default: Required value: required when validValues is defined"]),
        (("10", {"validRange": {}}),
         [".default: Required value: required when validRange is defined"]),
        (("10", {"default": "1", "validValues": [], "validRange": {"min": "1"}}), []),
        (("10", {"default": "2", "validValues": ["1", "2", "10"]}), []),
        (("10", {"default": "3", "validValues": ["2", "1", "11", "2"]}),
         ['.validValues[1]: Invalid value: "1": values must be sorted in ascending order',
          '.validValues[3]: Invalid value: "2": values must be sorted in ascending order',
          '.validValues[2]: Invalid value: "11": option is larger than capacity value: 10',
          '.validValues[3]: Duplicate value: "2"',
          '.validValues: Invalid value: "3": default value is not valid according to the'
          " requestPolicy"]),
        (("10", {"default": "1", "validValues": [str(i) for i in range(1, 11)]}), []),
        (("11", {"default": "1", "validValues": [str(i) for i in range(1, 12)]}),
         [".validValues: Too many: 11: must have at most 10 items",
          '.validValues: Invalid value: "1": default value is not valid according to the'
          " requestPolicy"]),
        (("10", {"default": "1", "validRange": {"max": "1", "step": "1"}}),
         [".validRange.min: Required value: required when validRange is defined"]),
        (("10", {"default": "4", "validRange": {"min": "2", "max": "10", "step": "2"}}), []),
        (("10", {"default": "5", "validRange": {"min": "2", "max": "9", "step": "2"}}),
         ['.validRange.step: Invalid value: "5": value is not a multiple of a given step (2)'
          " from (2)",
          '.validRange.step: Invalid value: "9": value is not a multiple of a given step (2)'
          " from (2)"]),
        (("10", {"default": "2", "validRange": {"min": "2", "step": "8"}}), []),
        (("10", {"default": "2", "validRange": {"min": "2", "step": "9"}}),
         ['.validRange.step: Invalid value: "9": one step 11 is larger than capacity value:'
          " 10"]),
        (("10", {"default": "1", "validRange": {"min": "11", "max": "12"}}),
         ['.validRange.min: Invalid value: "11": min is larger than capacity value: 10',
          '.validRange.min: Invalid value: "1": default is less than min: 11',
          '.validRange.max: Invalid value: "12": max is larger than capacity value: 10']),
        (("10", {"default": "9", "validRange": {"min": "9", "max": "8"}}),
         ['.validRange.max: Invalid value: "9": min is larger than max: 8',
          '.validRange.max: Invalid value: "9": default is more than max: 8']),
        (("10", {"default": "10", "validRange": {"min": "10", "max": "10"}}), []),
        (("10", {"default": "1", "validValues": ["1", "1"]}),
         ['.validValues[1]: Duplicate value: "1"']),
        (("10", {"default": "1000m", "validValues": ["1", "1500m"]}), []),
        (("10", {"default": "1500m", "validRange": {"min": "1", "step": "1500m"}}),
         ['.validRange.step: Invalid value: "1500m": value is not a multiple of a given step'
          " (1500m) from (1)"]),
        (("10", {"default": "2", "validRange": {"min": "1", "step": "1", "max": None}}), []),
    ],
)  # fmt: skip
def test_policies_of_capacities(row: Any, expected: list[str]) -> None:
    assert of_capacity(*row) == expected

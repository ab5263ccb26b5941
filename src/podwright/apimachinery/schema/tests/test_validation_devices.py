"""Validation of resource claims, device classes and slices: upstream's paths and texts."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import Kind, built_in

Document = dict[str, Any]

VERSION = "resource.k8s.io/v1"
REQUEST = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
RESULT = {"request": "r", "driver": "gpu.io", "pool": "n1", "device": "d0"}
NO_REQUEST = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated"
    " by '/'"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must"
    " start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for"
    " validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of"
    " alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for"
    " validation is '[A-Za-z_][A-Za-z0-9_]*')"
)


def kind(name: str, version: str = VERSION) -> Kind:
    found = built_in().find(version, name)
    assert found is not None
    return found


def problems(name: str, spec: Document, version: str = VERSION) -> list[str]:
    of = kind(name, version)
    document = of.with_canonical_quantities(of.with_defaults({"metadata": {}, "spec": spec}))
    assert of.decoding_problems(document) == []
    assert of.with_defaults(document) is document
    return [f"{path}: {message}" for path, message, _ in of.validation_problems(document)]


def of_claim(**devices: Any) -> list[str]:
    return problems("ResourceClaim", {"devices": {"requests": [REQUEST], **devices}})


def of_request(**fields: Any) -> list[str]:
    path = "spec.devices.requests[0]."
    exactly = {"deviceClassName": "gpu", **fields}
    found = of_claim(requests=[{"name": "r", "exactly": exactly}])
    return [each.removeprefix(path) for each in found]


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        pytest.param([REQUEST], [], id="a request"),
        pytest.param([{"name": "r"}], ["spec.devices.requests[0]: Required value: exactly one of"
            " `exactly` or `firstAvailable` is required"], id="of no kind"),
        pytest.param([{**REQUEST, "firstAvailable": [{"name": "a", "deviceClassName": "b"}]}],
            ["spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or"
             " `firstAvailable` is required, but multiple fields are set"], id="of two kinds"),
        pytest.param([{**REQUEST, "name": "R"}],
            [f'spec.devices.requests[0].name: Invalid value: "R": {LABEL}'], id="a wrong name"),
        pytest.param([REQUEST, REQUEST], ['spec.devices.requests[1]: Duplicate value: "r"'],
            id="twice"),
        pytest.param([{"name": f"r{i}", "exactly": {}} for i in range(33)],
            ["spec.devices.requests: Too many: 33: must have at most 32 items"], id="too many"),
        pytest.param([{"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": ""}] * 2}],
            ["spec.devices.requests[0].firstAvailable[0].deviceClassName: Required value",
             "spec.devices.requests[0].firstAvailable[1].deviceClassName: Required value",
             'spec.devices.requests[0].firstAvailable[1]: Duplicate value: "a"'],
            id="alternatives"),
    ],
)  # fmt: skip
def test_requests_have_upstreams_errors(requests: list[Document], expected: list[str]) -> None:
    assert of_claim(requests=requests) == expected
    of_v1beta2 = problems("ResourceClaim", {"devices": {"requests": requests}},
                          "resource.k8s.io/v1beta2")  # fmt: skip
    assert of_v1beta2 == expected
    spec = {"spec": {"devices": {"requests": requests}}}
    in_template = [f"spec.{each}" for each in expected]
    assert problems("ResourceClaimTemplate", spec) == in_template


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, [], id="one device by default"),
        pytest.param({"count": -1}, ["exactly.count: Invalid value: -1: must be greater than zero"],
            id="a negative count"),
        pytest.param({"allocationMode": "All", "count": 2}, ["exactly.count: Invalid value: 2: must"
            " not be specified when allocationMode is 'All'"], id="a count of all"),
        pytest.param({"allocationMode": "Some"}, ['exactly.allocationMode: Unsupported value:'
            ' "Some": supported values: "All", "ExactCount"'], id="an unknown mode"),
        pytest.param({"selectors": [{}]}, ["exactly.selectors[0].cel: Required value"],
            id="an empty selector"),
        pytest.param({"selectors": [{"cel": {"expression": "x" * 10_241}}]},
            ["exactly.selectors[0].cel.expression: Too long: may not be more than 10240 bytes"],
            id="a long expression"),
        pytest.param({"tolerations": [{"value": "a"}, {"operator": "Exists"}]}, [],
            id="tolerations"),
        pytest.param({"tolerations": [{"key": "-", "operator": "Exists", "value": "a"},
                                      {"operator": "Is", "effect": "Bad"}]}, [
            "exactly.tolerations[0].key: Invalid value: \"-\": name part must consist of"
            " alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
            " character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
            " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            'exactly.tolerations[0].value: Invalid value: "a": must be empty for operator `Exists`',
            'exactly.tolerations[1].operator: Unsupported value: "Is": supported values: "Equal",'
            ' "Exists"',
            'exactly.tolerations[1].effect: Unsupported value: "Bad": supported values:'
            ' "NoExecute", "NoSchedule", "None"'], id="wrong tolerations"),
    ],
)  # fmt: skip
def test_a_request_has_upstreams_errors(fields: Document, expected: list[str]) -> None:
    assert of_request(**fields) == expected


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        pytest.param({"constraints": [{"requests": ["r"], "matchAttribute": "a.io/model"}]}, [],
            id="a constraint"),
        pytest.param({"constraints": [{"requests": ["r", "r/x", "a/b/c", "r"]}]}, [
            f'spec.devices.constraints[0].requests[1]: Invalid value: "r/x": {NO_REQUEST}',
            f'spec.devices.constraints[0].requests[2]: Invalid value: "a/b/c": {NO_REQUEST}',
            'spec.devices.constraints[0].requests[3]: Duplicate value: "r"',
            'spec.devices.constraints[0]: Required value: exactly one of "matchAttribute" or'
            ' "distinctAttribute" is required, but multiple fields are set',
        ], id="wrong references"),
        pytest.param({"constraints": [{"matchAttribute": "model"}]}, [
            'spec.devices.constraints[0].matchAttribute: Invalid value: "model": a fully qualified'
            " name must be a domain and a name separated by a slash"], id="without a domain"),
        pytest.param({"constraints": [{"distinctAttribute": "/1"}]}, [
            'spec.devices.constraints[0].distinctAttribute: Invalid value: "": the domain must not'
            " be empty",
            f'spec.devices.constraints[0].distinctAttribute: Invalid value: "1": {IDENTIFIER}',
        ], id="an empty domain"),
        pytest.param({"constraints": [{"matchAttribute": "a.io/"}]}, [
            'spec.devices.constraints[0].matchAttribute: Invalid value: "": the name must not be'
            " empty"], id="an empty name"),
        pytest.param({"config": [{"opaque": {"driver": "a.io", "parameters": {"a": 1}}}]}, [],
            id="a configuration"),
        pytest.param({"config": [{"opaque": {"driver": "a.io", "parameters": "text"}}]}, [
            'spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>":'
            " must be a valid JSON object"], id="parameters that are not an object"),
        pytest.param({"config": [{}, {"requests": ["x"], "opaque": {"driver": ""}}]}, [
            "spec.devices.config[0].opaque: Required value",
            f'spec.devices.config[1].requests[0]: Invalid value: "x": {NO_REQUEST}',
            "spec.devices.config[1].opaque.driver: Required value",
            "spec.devices.config[1].opaque.parameters: Required value"], id="wrong configurations"),
        pytest.param({"config": [{"opaque": {"driver": "a", "parameters": {"a": "b" * 10_240}}}]}, [
            "spec.devices.config[0].opaque.parameters: Too long: may not be more than 10240 bytes",
        ], id="long parameters"),
    ],
)  # fmt: skip
def test_constraints_and_configurations(devices: Document, expected: list[str]) -> None:
    assert of_claim(**devices) == expected


def test_the_error_of_an_expression_is_at_its_selector() -> None:
    wrong = {"allocationMode": "A_", "selectors": [{"cel": {"expression": "1"}}, {}]}
    assert [each.partition(": ")[0] for each in of_request(**wrong)] == [
        "exactly.selectors[0].cel.expression",
        "exactly.selectors[1].cel",
        "exactly.allocationMode",
    ]


def test_an_expression_may_not_cost_too_much() -> None:
    loop = 'device.attributes["a"].all({}, {})'
    nested = loop.format("k", loop.format("l", loop.format("m", loop.format("n", "k.matches(l)"))))
    spec = {"selectors": [{"cel": {"expression": nested}}]}
    assert problems("DeviceClass", spec) == [
        "spec.selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit"
    ]


@pytest.mark.parametrize(
    ("uid", "problem"),
    [
        pytest.param("", "error validating uid: invalid UUID length: 0", id="empty"),
        pytest.param("a" * 32, "uid must be in RFC 4122", id="without hyphens"),
        pytest.param("z" * 32, "error validating uid: invalid UUID format", id="no digits"),
        pytest.param("[" + "a" * 36 + "]", "error validating uid: invalid bracketed UUID format",
                     id="other brackets"),
        pytest.param("urn:uuix:" + "a" * 36, "error validating uid: invalid urn prefix: ",
                     id="another prefix"),
        pytest.param("A0000000-0000-0000-0000-000000000000", "uid must be in RFC 4122", id="upper"),
        pytest.param("a0000000-0000-0000-0000-000000000000", "", id="normal"),
    ],
)  # fmt: skip
def test_the_id_of_a_share_is_a_uuid(uid: str, problem: str) -> None:
    found = status_problems({"allocation": allocation(shareID=uid)})
    start = f'status.allocation.devices.results[0].shareID: Invalid value: "{uid}": {problem}'
    assert [each[: len(start)] for each in found] == ([start] if problem else [])


def test_the_status_of_a_device_has_upstreams_errors() -> None:
    device = {name: RESULT[name] for name in ("driver", "pool", "device")}
    network = {"interfaceName": "a" * 257, "ips": ["1.2.3.4", "FE80::1/64", "::1/8", "::1/8"]}
    of_network = {**device, "networkData": network, "conditions": [{"type": "A", "status": "X"}]}
    at = "status.devices[0]"
    assert status_problems({"allocation": allocation(), "devices": [of_network, device]}) == [
        f'{at}.conditions[0].status: Unsupported value: "X": supported values: "False", "True",'
        ' "Unknown"',
        f"{at}.conditions[0].lastTransitionTime: Required value",
        f"{at}.conditions[0].reason: Required value",
        f"{at}.networkData.interfaceName: Too long: may not be more than 256 bytes",
        f'{at}.networkData.ips[0]: Invalid value: "1.2.3.4": must be a valid address in CIDR form,'
        " (e.g. 10.9.8.7/24 or 2001:db8::1/64)",
        f'{at}.networkData.ips[1]: Invalid value: "FE80::1/64": must be in canonical form'
        ' ("fe80::1/64")',
        f'{at}.networkData.ips[3]: Duplicate value: "::1/8"',
        'status.devices[1]: Duplicate value: {"Driver":"gpu.io","Pool":"n1","Device":"d0",'
        '"ShareID":""}',
    ]


def test_a_template_names_no_claim() -> None:
    metadata = {"name": "n", "uid": "u", "labels": {"a": "b"}, "finalizers": ["x.y/z"]}
    spec = {"metadata": metadata, "spec": {"devices": {"requests": [REQUEST]}}}
    assert problems("ResourceClaimTemplate", spec) == [
        "spec.metadata.name: Forbidden: cannot be set",
        "spec.metadata.uID: Forbidden: cannot be set",
        "spec.metadata.finalizers: Forbidden: cannot be set",
    ]


@pytest.mark.parametrize("name", ["ResourceClaim", "ResourceClaimTemplate"])
def test_a_claim_keeps_its_spec(name: str) -> None:
    of = kind(name)
    spec: Document = {"devices": {"requests": [{"name": "q", "exactly": {"deviceClassName": "a"}}]}}
    nested = spec if name == "ResourceClaim" else {"spec": spec}
    new = of.with_defaults({"metadata": {}, "spec": nested})
    (problem,) = of.update_problems(new, {"metadata": {}, "spec": {}})
    printed = (
        '{"Devices":{"Requests":[{"Name":"q","Exactly":{"DeviceClassName":"a","Selectors":null,'
        '"AllocationMode":"ExactCount","Count":1,"AdminAccess":null,"Tolerations":null,'
        '"Capacity":null},"FirstAvailable":null}],"Constraints":null,"Config":null}}'
    )
    assert problem[0] == "spec"
    assert problem[1].startswith("Invalid value: {")
    assert printed in problem[1]
    assert problem[1].endswith(": field is immutable")
    assert of.update_problems(new, new) == []


def status_problems(status: Document, before: Document | None = None, **metadata: Any) -> list[str]:
    spec = {"devices": {"requests": [REQUEST]}}
    new = {"metadata": metadata, "spec": spec, "status": status}
    old = {"metadata": metadata, "spec": spec, "status": before or {}}
    found = kind("ResourceClaim").status_problems(new, old)
    return [f"{path}: {message}" for path, message, _ in found]


def allocation(**result: Any) -> Document:
    return {"devices": {"results": [RESULT | result]}}


CONSUMER = {"resource": "pods", "name": "p", "uid": "u"}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({"allocation": allocation(), "reservedFor": [CONSUMER]}, [], id="in use"),
        pytest.param({"reservedFor": [CONSUMER]},
            ["status.reservedFor: Forbidden: may not be specified when `allocated` is not set"],
            id="reserved without devices"),
        pytest.param({"allocation": allocation(), "reservedFor": [CONSUMER, {"uid": "u"}]}, [
            "status.reservedFor[1].resource: Required value",
            "status.reservedFor[1].name: Required value",
            'status.reservedFor[1]: Duplicate value: "u"'], id="incomplete consumers"),
        pytest.param({"allocation": allocation(request="zz")},
            [f'status.allocation.devices.results[0].request: Invalid value: "zz": {NO_REQUEST}'],
            id="another request"),
        pytest.param({"allocation": allocation(driver="", pool="", shareID="X")}, [
            "status.allocation.devices.results[0].driver: Required value",
            "status.allocation.devices.results[0].pool: Required value",
            'status.allocation.devices.results[0].shareID: Invalid value: "X": error validating'
            " uid: invalid UUID length: 1"], id="an incomplete device"),
        pytest.param({"allocation": allocation(pool="a//b", bindingConditions=["c"])}, [
            "status.allocation.devices.results[0].pool: Invalid value: \"\": a lowercase RFC 1123"
            " subdomain must consist of lower case alphanumeric characters, '-' or '.', and must"
            " start and end with an alphanumeric character (e.g. 'example.com', regex used for"
            r" validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            "status.allocation.devices.results[0].bindingFailureConditions: Invalid value: null:"
            " bindingFailureConditions are required to use bindingConditions"], id="conditions"),
        pytest.param({"allocation": {"devices": {"config": [{"opaque": {
            "driver": "a", "parameters": {}}}]}, "nodeSelector": {}}}, [
            "status.allocation.devices.config[0].source: Required value",
            "status.allocation.nodeSelector.nodeSelectorTerms: Required value: must have at least"
            " one node selector term"], id="a configuration without a source"),
        pytest.param({"allocation": allocation(), "devices": [RESULT | {"device": "d1"}]}, [
            'status.devices[0]: Invalid value: {"Driver":"gpu.io","Pool":"n1","Device":"d1",'
            '"ShareID":""}: must be an allocated device in the claim'], id="another device"),
    ],
)  # fmt: skip
def test_a_status_has_upstreams_errors(status: Document, expected: list[str]) -> None:
    assert status_problems(status) == expected


def test_an_allocation_does_not_change() -> None:
    before = {"allocation": allocation()}
    assert status_problems(before, before) == []
    assert status_problems({}, before) == []
    (problem,) = status_problems({"allocation": allocation(device="d9")}, before)
    assert problem == (
        'status.allocation: Invalid value: {"Devices":{"Results":[{"Request":"r","Driver":"gpu.io",'
        '"Pool":"n1","Device":"d9","AdminAccess":null,"Tolerations":null,"BindingConditions":null,'
        '"BindingFailureConditions":null,"ShareID":null,"ConsumedCapacity":null}],"Config":null},'
        '"NodeSelector":null,"AllocationTimestamp":null}: field is immutable'
    )


def test_a_claim_that_is_deleted_gets_no_consumers() -> None:
    before = {"allocation": allocation()}
    status = before | {"reservedFor": [CONSUMER]}
    assert status_problems(status, before, deletionTimestamp="2026-01-01T00:00:00Z") == [
        "status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested`"
        " or `deletionTimestamp` are set"
    ]
    assert status_problems(status, status, deletionTimestamp="2026-01-01T00:00:00Z") == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"extendedResourceName": "example.com/gpu"}, [], id="an extended resource"),
        pytest.param({"extendedResourceName": "cpu"}, ['spec.extendedResourceName: Invalid value:'
            ' "cpu": must be a valid extended resource name'], id="a native resource"),
        pytest.param({"selectors": [{}], "config": [{}]}, ["spec.selectors[0].cel: Required value",
            "spec.config[0].opaque: Required value"], id="empty parts"),
    ],
)  # fmt: skip
def test_a_device_class_has_upstreams_errors(spec: Document, expected: list[str]) -> None:
    assert problems("DeviceClass", spec) == expected
    changed = {"metadata": {}, "spec": spec}
    found = kind("DeviceClass").update_problems(changed, {"metadata": {}, "spec": {}})
    assert [f"{path}: {message}" for path, message, _ in found] == expected


def test_a_taint_rule_has_upstreams_errors() -> None:
    version = "resource.k8s.io/v1beta2"
    taint = {"key": "a", "effect": "NoSchedule"}
    selector = {"driver": "gpu.io", "pool": "n1", "device": "d0"}
    spec = {"deviceSelector": selector, "taint": taint}
    assert problems("DeviceTaintRule", spec, version) == []
    selector = {"driver": "", "pool": "", "device": "D"}
    found = problems("DeviceTaintRule", {"deviceSelector": selector, "taint": {}}, version)
    assert [each.partition(":")[0] for each in found] == [
        "spec.deviceSelector.driver", "spec.deviceSelector.pool", "spec.deviceSelector.device",
        "spec.taint.key", "spec.taint.key", "spec.taint.effect",
    ]  # fmt: skip
    wrong = {"key": "a", "value": "-", "effect": "Bad"}
    found = problems("DeviceTaintRule", {"taint": wrong}, version)
    assert [each.partition(":")[0] for each in found] == ["spec.taint.value", "spec.taint.effect"]


# ------------------------------------------------------------------------------- slices

POOL = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
ONE_TERM = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
SLICE = {"driver": "gpu.io", "nodeName": "n1", "pool": POOL}


def of_slice(**fields: Any) -> list[str]:
    return problems("ResourceSlice", {**SLICE, **fields})


def of_device(**fields: Any) -> list[str]:
    path = "spec.devices[0]."
    found = of_slice(devices=[{"name": "d0", **fields}])
    return [each.removeprefix(path) for each in found]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, [], id="of a node"),
        pytest.param({"nodeName": None}, ["spec: Required value: exactly one of `nodeName`,"
            " `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"], id="of no node"),
        pytest.param({"allNodes": True, "perDeviceNodeSelection": True}, [
            'spec: Invalid value: "{`nodeName`, `allNodes`, `perDeviceNodeSelection`}": exactly one'
            " of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but"
            " multiple fields are set"], id="of a node and all"),
        pytest.param({"nodeName": "", "allNodes": False}, [
            'spec.nodeName: Invalid value: "": must be either unset or set to a non-empty string',
            "spec.allNodes: Invalid value: false: must be either unset or set to true",
            "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`,"
            " `perDeviceNodeSelection` is required"], id="empty values"),
        pytest.param({"nodeName": None, "nodeSelector": {"nodeSelectorTerms": []}}, [
            "spec.nodeSelector.nodeSelectorTerms: Required value: must have at least one node"
            " selector term",
            "spec.nodeSelector.nodeSelectorTerms: Invalid value: null: must have exactly one node"
            " selector term"], id="a selector without terms"),
        pytest.param({"driver": "", "pool": {"name": "", "generation": -1}}, [
            "spec.driver: Required value", "spec.pool.name: Required value",
            "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
            "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
        ], id="an incomplete pool"),
        pytest.param({"devices": [], "sharedCounters": []}, [
            'spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed',
        ], id="devices and counters"),
        pytest.param({"sharedCounters": [{"name": "", "counters": {}}, {
            "name": "a", "counters": {"M": {"value": "1"}}}]}, [
            "spec.sharedCounters[0].name: Required value",
            "spec.sharedCounters[0].counters: Required value",
            f'spec.sharedCounters[1].counters: Invalid value: "M": {LABEL}'], id="counters"),
        pytest.param({"devices": [{"name": "a"}, {"name": "a"}]},
            ['spec.devices[1]: Duplicate value: "a"'], id="a device twice"),
        pytest.param({"devices": [{"name": f"d{i}"} for i in range(129)]},
            ["spec.devices: Too many: 129: must have at most 128 items"], id="too many devices"),
        pytest.param({"devices": [{"name": f"d{i}", "taints": [{"key": "a", "effect": "None"}]}
                                  for i in range(65)]},
            ["spec.devices: Too many: 65: must have at most 64 items"], id="too many with taints"),
        pytest.param({"devices": [{"name": f"d{i}"} for i in range(64)] + [
            {"name": "t", "taints": [{"key": "a", "effect": "None"}]}]},
            ["spec.devices: Too many: 65: must have at most 64 items"], id="one of them has one"),
        pytest.param({"devices": [{"name": f"d{i}"} for i in range(128)]}, [], id="as many"),
        pytest.param({"nodeName": None, "nodeSelector": {"nodeSelectorTerms": [ONE_TERM]}}, [],
            id="a selector with a term"),
        pytest.param({"nodeName": None, "nodeSelector": {"nodeSelectorTerms": [ONE_TERM] * 2}}, [
            "spec.nodeSelector.nodeSelectorTerms: Invalid value: ["
            + ",".join(['{"MatchExpressions":[{"Key":"a","Operator":"Exists","Values":null}],'
                        '"MatchFields":null}'] * 2) + "]:"
            " must have exactly one node selector term"], id="a selector with two terms"),
    ],
)  # fmt: skip
def test_a_slice_has_upstreams_errors(fields: Document, expected: list[str]) -> None:
    assert of_slice(**fields) == expected


def policy(**fields: Any) -> Document:
    capacity = {"memory": {"value": "40Gi", "requestPolicy": fields}}
    return {"allowMultipleAllocations": True, "capacity": capacity}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"attributes": {"a": {"string": "x"}, "b.io/c": {"version": "1.2.3-rc.1"}}},
            [], id="attributes"),
        pytest.param({"attributes": {"1": {"int": 1}}},
            [f'attributes: Invalid value: "1": {IDENTIFIER}'], id="a wrong name"),
        pytest.param({"attributes": {"a": {}, "b": {"int": 1, "bool": True}}}, [
            'attributes[a]: Invalid value: "": exactly one value must be specified',
            'attributes[b]: Invalid value: {"IntValue":1,"BoolValue":true,"StringValue":null,'
            '"VersionValue":null,"IntValues":null,"BoolValues":null,"StringValues":null,'
            '"VersionValues":null}: exactly one value must be specified'], id="not one value"),
        pytest.param({"attributes": {"a": {"version": "1.0"}, "b": {"string": "x" * 65},
                                     "c": {"versions": ["1"]}, "d": {"bools": []}}}, [
            'attributes[a].version: Invalid value: "1.0": must be a string compatible with'
            " semver.org spec 2.0.0",
            "attributes[b].string: Too long: may not be more than 64 bytes",
            'attributes[c].versions[0]: Invalid value: "1": must be a string compatible with'
            " semver.org spec 2.0.0",
            "attributes[d].bools: Invalid value: []: must not be empty if specified",
        ], id="wrong values"),
        pytest.param({"attributes": {f"a{i}": {"int": 1} for i in range(33)}}, [
            "spec.devices[0]: Invalid value: 33: the total number of attributes and capacities must"
            " not exceed 32"], id="too many attributes"),
        pytest.param({"taints": [{"key": "a", "effect": ""}]},
            ["taints[0].effect: Required value"], id="a taint without effect"),
        pytest.param({"consumesCounters": [{"counterSet": "", "counters": {}}]}, [
            "consumesCounters[0].counterSet: Required value",
            "consumesCounters[0].counters: Required value"], id="empty consumption"),
        pytest.param({"nodeName": "n1"}, ["spec.devices[0]: Invalid value: null: `nodeName`,"
            " `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to"
            " true in the ResourceSlice spec"], id="a node of its own"),
        pytest.param({"bindingConditions": ["a", "a"], "bindingFailureConditions": ["a"]}, [
            'bindingConditions[1]: Duplicate value: "a"',
            'bindingFailureConditions[0]: Invalid value: "a": bindingFailureConditions must not'
            " overlap with bindingConditions"], id="conditions that overlap"),
        pytest.param({"bindingFailureConditions": ["a"]}, ["bindingConditions: Invalid value: null:"
            " bindingConditions are required to use bindingFailureConditions"],
            id="conditions of failure only"),
        pytest.param({"capacity": {"memory": {"value": "1", "requestPolicy": {}}}}, [
            "capacity[memory].requestPolicy: Forbidden: allowMultipleAllocations must be true",
        ], id="a policy of a device for one claim"),
        pytest.param(policy(default="1Gi", validValues=["1Gi", "2Gi"]), [], id="values"),
        pytest.param(policy(default="3Gi", validValues=["2Gi", "1Gi", "50Gi"]), [
            'capacity[memory].requestPolicy.validValues[1]: Invalid value: "1Gi": values must be'
            " sorted in ascending order",
            'capacity[memory].requestPolicy.validValues[2]: Invalid value: "50Gi": option is larger'
            " than capacity value: 40Gi",
            'capacity[memory].requestPolicy.validValues: Invalid value: "3Gi": default value is not'
            " valid according to the requestPolicy"], id="wrong values of a policy"),
        pytest.param(policy(validValues=["1Gi"]), ["capacity[memory].requestPolicy.default:"
            " Required value: required when validValues is defined"], id="no default"),
        pytest.param(policy(default="1Gi", validValues=["1Gi"], validRange={"min": "1Gi"}), [
            "capacity[memory].requestPolicy: Forbidden: exactly one policy can be specified, cannot"
            ' specify "validValues" and "validRange" at the same time'], id="two policies"),
        pytest.param(policy(default="2Gi", validRange={"min": "1Gi", "max": "4Gi", "step": "1Gi"}),
            [], id="a range"),
        pytest.param(policy(default="1Gi", validRange={}), ["capacity[memory].requestPolicy"
            ".validRange.min: Required value: required when validRange is defined"],
            id="a range without a minimum"),
        pytest.param(policy(default="1Gi", validRange={"min": "50Gi", "max": "45Gi"}), [
            'capacity[memory].requestPolicy.validRange.min: Invalid value: "50Gi": min is larger'
            " than capacity value: 40Gi",
            'capacity[memory].requestPolicy.validRange.min: Invalid value: "1Gi": default is'
            " less than min: 50Gi",
            'capacity[memory].requestPolicy.validRange.max: Invalid value: "50Gi": min is larger'
            " than max: 45Gi",
            'capacity[memory].requestPolicy.validRange.max: Invalid value: "45Gi": max is larger'
            " than capacity value: 40Gi"], id="a range beyond the capacity"),
        pytest.param(policy(default="3Gi", validRange={"min": "1Gi", "max": "2Gi", "step": "0"}), [
            'capacity[memory].requestPolicy.validRange.max: Invalid value: "3Gi": default is'
            " more than max: 2Gi",
            'capacity[memory].requestPolicy.validRange.step: Invalid value: "0": must be greater'
            " than zero"], id="a step of zero"),
        pytest.param(policy(default="2Gi", validRange={"min": "1Gi", "step": "40Gi"}), [
            'capacity[memory].requestPolicy.validRange.step: Invalid value: "40Gi": one step 41Gi'
            " is larger than capacity value: 40Gi",
            'capacity[memory].requestPolicy.validRange.step: Invalid value: "2Gi": value is not a'
            " multiple of a given step (40Gi) from (1Gi)"], id="a large step"),
    ],
)  # fmt: skip
def test_a_device_has_upstreams_errors(fields: Document, expected: list[str]) -> None:
    assert of_device(**fields) == expected


def test_a_step_beyond_64_bits_is_an_error_only() -> None:
    limits = {"min": "0", "step": str(2**64)}
    (problem,) = of_device(**policy(default="0", validRange=limits))
    assert "is larger than capacity value: 40Gi" in problem


def test_devices_with_nodes_of_their_own() -> None:
    spec = {"nodeName": None, "perDeviceNodeSelection": True}
    where = (
        "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when"
        " `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
    )
    devices: list[Document] = [
        {"name": "a", "nodeName": "n1"}, {"name": "b"}, {"name": "c", "nodeName": ""},
        {"name": "d", "nodeName": "n1", "allNodes": True},
    ]  # fmt: skip
    assert of_slice(**spec, devices=devices) == [
        f"spec.devices[1]: Required value: {where}",
        'spec.devices[2].nodeName: Invalid value: "": must not be empty',
        f"spec.devices[2]: Required value: {where}",
        f'spec.devices[3]: Invalid value: "{{`nodeName`, `allNodes`}}": {where}',
    ]


def test_a_slice_keeps_its_node_and_what_was_valid_stays() -> None:
    of = kind("ResourceSlice")
    taint = {"key": "a", "effect": "Old"}
    old = {"metadata": {}, "spec": {**SLICE, "devices": [{"name": "a", "taints": [taint]}]}}
    assert of.update_problems(old, old) == []
    new = {"metadata": {}, "spec": {**SLICE, "nodeName": "n2", "pool": POOL | {"name": "n2"}}}
    assert [f"{path}: {message}" for path, message, _ in of.update_problems(new, old)] == [
        'spec.pool.name: Invalid value: "n2": field is immutable',
        'spec.nodeName: Invalid value: "n2": field is immutable',
    ]

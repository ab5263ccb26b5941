"""What is read and what is refused: quantities in every place, wrong types, YAML, times, texts."""

from __future__ import annotations

import codecs
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podwright.apimachinery.objects import (
    InputError,
    InvalidObject,
    Pod,
    Specs,
    decode,
    decode_as,
    decode_json,
    decode_node,
    decode_pod,
    encode,
    format_duration,
    go_json_error,
    go_quoted,
)
from podwright.apimachinery.objects.errors import nearest
from podwright.apimachinery.objects.node import zone_key
from podwright.apimachinery.objects.pods.requests import limit_nanos, request_key, request_nanos
from podwright.apimachinery.objects.texts.go_text import aggregated, write_go_json
from podwright.apimachinery.objects.texts.short_texts import decoding_message, utf8
from podwright.apimachinery.objects.texts.times import check_time_ns, read_duration, read_time

WRONG = "x y"
BAD = (
    'Invalid value: "x y": quantities are numbers with an optional suffix, such as 500m, 2, 1.5Gi'
    " or 1e3"
)


def at(path: str, value: Any) -> Any:
    """Return the document that has a value at a path of names and numbers."""
    name, _, rest = path.partition(".")
    inner = at(rest, value) if rest else value
    if name.isdigit():
        return [{}] * int(name) + [inner]
    return {name: inner}


def merged(first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        both = first | second
        return both | {key: merged(first[key], second[key]) for key in first.keys() & second.keys()}
    return second


TEMPLATE = "spec.template.spec.containers.0.resources"
QUANTITIES: dict[str, tuple[str, ...]] = {
    "v1 Pod": (
        "spec.containers.0.resources.requests", "spec.containers.1.resources.limits",
        "spec.initContainers.0.resources.requests", "spec.initContainers.0.resources.limits",
        "spec.ephemeralContainers.0.resources.requests", "spec.resources.requests",
        "spec.resources.limits", "spec.overhead",
        "spec.volumes.0.ephemeral.volumeClaimTemplate.spec.resources.requests",
        "status.containerStatuses.0.allocatedResources",
        "status.containerStatuses.0.resources.requests",
        "status.containerStatuses.0.resources.limits",
        "status.initContainerStatuses.0.resources.requests",
        "status.initContainerStatuses.0.allocatedResources",
        "status.allocatedResources", "status.resources.requests", "status.resources.limits",
    ),
    "v1 Node": ("status.allocatable", "status.capacity"),
    "v1 PersistentVolume": ("spec.capacity",),
    "v1 PersistentVolumeClaim": (
        "spec.resources.requests", "spec.resources.limits", "status.capacity",
    ),
    "apps/v1 ReplicaSet": (f"{TEMPLATE}.requests", f"{TEMPLATE}.limits"),
    "apps/v1 StatefulSet": (f"{TEMPLATE}.requests",),
    "v1 ReplicationController": (f"{TEMPLATE}.requests",),
    "resource.k8s.io/v1 ResourceClaim": (
        "spec.devices.requests.0.exactly.capacity.requests",
        "spec.devices.requests.0.firstAvailable.0.capacity.requests",
        "status.allocation.devices.results.0.consumedCapacity",
    ),
}  # fmt: skip
AMOUNTS: dict[str, tuple[str, ...]] = {
    "storage.k8s.io/v1 CSIStorageCapacity": ("capacity", "maximumVolumeSize"),
    "resource.k8s.io/v1 ResourceSlice": (
        "spec.sharedCounters.0.counters.c.value", "spec.devices.0.capacity.c.value",
        "spec.devices.0.consumesCounters.0.counters.c.value",
        *(f"spec.devices.0.capacity.c.requestPolicy.{each}" for each in (
            "default", "validRange.min", "validRange.max", "validRange.step", "validValues.1")),
    ),
}  # fmt: skip
PLACES = [
    *((kind, f"{path}.cpu") for kind, paths in QUANTITIES.items() for path in paths),
    *((kind, path) for kind, paths in AMOUNTS.items() for path in paths),
]


def needed(path: str) -> Any:
    """Return what an object needs beside the value at a path."""
    if "requestPolicy" in path:
        return at("spec.devices.0.capacity.c", {"value": "1"})
    return {}


def as_go(path: str) -> str:
    """Return a path as errors write it."""
    path = re.sub(r"\.(\d+)", r"[\1]", path)
    path = re.sub(r"\.cpu$", "[cpu]", path)
    return re.sub(r"\.(counters|capacity)\.c\b", r".\1[c]", path)


@pytest.mark.parametrize(("kind", "path"), PLACES)
def test_a_wrong_quantity_is_found_wherever_it_is(kind, path) -> None:
    api_version, _, name = kind.partition(" ")
    head = {"apiVersion": api_version, "kind": name, "metadata": {"name": "x"}}

    def document(value: Any) -> Any:
        numbered = re.sub(r"validValues\.1", "validValues", path)
        found = at(numbered, ["1", value] if numbered != path else value)
        return merged(head, deep(needed(path), found))

    assert decode(document("1")).name == "x"
    with pytest.raises(InvalidObject) as caught:
        decode(document(WRONG), source="s")
    assert str(caught.value) == f"s: {as_go(path)}: {BAD}"


def deep(first: Any, second: Any) -> Any:
    """Merge two documents, and their lists element by element."""
    if isinstance(first, dict) and isinstance(second, dict):
        keys = first.keys() | second.keys()
        return {key: deep(first.get(key), second.get(key)) for key in keys}
    if isinstance(first, list) and isinstance(second, list):
        length = max(len(first), len(second))
        padded = [each + [None] * (length - len(each)) for each in (first, second)]
        return [deep(*pair) for pair in zip(*padded, strict=True)]
    return first if second is None else second


POD = {"metadata": {"name": "p"}}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("spec", 5, "spec: Invalid value: 5: must be an object"),
        ("spec.containers", {}, "spec.containers: Invalid value: {}: must be a list"),
        ("spec.containers.0.name", 5,
         "spec.containers[0].name: Invalid value: 5: must be a string; put it in quotes"),
        ("spec.containers.0.name", [], "spec.containers[0].name: Invalid value: []: must be a"
         " string"),
        ("spec.containers.0.name", True, "spec.containers[0].name: Invalid value: true: must be a"
         " string; put it in quotes"),
        ("spec.nodeSelector", [], "spec.nodeSelector: Invalid value: []: must be a map"),
        ("spec.nodeSelector", {5: "a"}, "spec.nodeSelector: Invalid value: 5: keys are strings; put"
         " it in quotes"),
        ("spec.nodeSelector.a", 1, "spec.nodeSelector[a]: Invalid value: 1: must be a string;"
         " put it in quotes"),
        ("spec.hostNetwork", "yes",
         'spec.hostNetwork: Invalid value: "yes": must be true or false'),
        ("spec.priority", True, "spec.priority: Invalid value: true: must be an integer"),
        ("spec.priority", 2**31, "spec.priority: Invalid value: 2147483648: must be a number from"
         " -2147483648 to 2147483647"),
        ("spec.restartPolicy", "always", 'spec.restartPolicy: Unsupported value: "always":'
         ' supported values: "Always", "Never", "OnFailure"; did you mean "Always"?'),
        ("spec.overhead.cpu", [], "spec.overhead[cpu]: Invalid value: []: must be a quantity,"
         " such as 500m or 2Gi"),
        ("spec.topologySpreadConstraints.0", {"maxSkew": 1, "topologyKeys": "z",
                                              "whenUnsatisfiable": "DoNotSchedule"},
         "spec.topologySpreadConstraints[0].topologyKey: Required value: \"topologyKeys\" is not a"
         " field; was it meant?"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_named_with_what_is_expected(path, value, message) -> None:
    with pytest.raises(InvalidObject) as caught:
        decode_pod(POD | at(path, value))
    assert str(caught.value) == message


@pytest.mark.parametrize("number", [-(2**31), 2**31 - 1])
def test_the_limits_of_a_number_are_numbers(number) -> None:
    assert decode_pod(POD | at("spec.priority", number)).spec.priority == number
    # Problems of other fields do not add one of this field.
    with pytest.raises(InvalidObject) as caught:
        decode_pod(POD | at("spec", {"priority": number, "containers": 1}))
    assert str(caught.value) == "spec.containers: Invalid value: 1: must be a list"


@pytest.mark.parametrize("document", [{}, {"apiVersion": "v1"}, {"kind": "Pod"}])
def test_what_an_object_is_need_not_be_said_twice(document) -> None:
    found = encode(decode_as(document | {"metadata": {"name": "p"}}, Pod))
    assert (found["apiVersion"], found["kind"]) == ("v1", "Pod")


def test_nulls_are_absent_and_names_and_kinds_are_needed() -> None:
    found = decode_pod(POD | {"spec": {"containers": [{"name": "c", "image": None}], "tolerations":
                                       None}, "status": None})  # fmt: skip
    assert (found.spec.containers[0].image, found.spec.tolerations) == ("", ())
    rows: list[tuple[Any, str]] = [
        ({}, "apiVersion: Required value\nkind: Required value"),
        ({"apiVersion": "v1", "kind": ""}, "kind: Required value"),
        ({"apiVersion": "", "kind": "Pod"}, "apiVersion: Required value"),
        ({"apiVersion": 1, "kind": "Pod"}, "apiVersion: Required value"),
        ({"apiVersion": "v1", "kind": 7}, "kind: Required value"),
    ]
    for document, message in rows:
        with pytest.raises(InvalidObject) as caught:
            decode(document)
        assert str(caught.value) == message
    with pytest.raises(InvalidObject) as caught:
        decode_as({"kind": "Node"}, Pod)
    assert str(caught.value) == 'kind: Unsupported value: "Node": supported values: "Pod"'
    assert decode_pod(json.dumps(POD)).namespace == "default"
    assert decode_node(json.dumps(POD).encode()).namespace == ""
    assert decode({"apiVersion": "x/v1", "kind": "Own", "metadata": {"name": "n"}}).namespace == ""
    for text, message in (
        ("{", "s: not JSON: Input data was truncated"),
        (b"\xff", "s: not JSON: JSON is malformed: invalid character (byte 0)"),
        ("[" * 100_000, "s: nested too deeply"),
    ):
        with pytest.raises(InvalidObject) as caught:
            decode_json(text, source="s")
        assert str(caught.value) == message


def test_a_shared_spec_is_used_if_the_rest_is_valid() -> None:
    specs = Specs({"labels": "affinity", "annotations": ""})
    spec = specs.of({"containers": [{"name": "c"}]})
    assert spec is not None
    assert spec.read == ("annotations",)
    with_affinity = specs.of({"affinity": {}})
    assert with_affinity is not None
    assert set(with_affinity.read) == {"labels", "annotations"}
    first = decode_pod(POD | {"spec": spec})
    for bad in ({"status": {"phase": 5}}, {"metadata": {"name": 5}}):
        with pytest.raises(InvalidObject):
            decode_pod(POD | {"spec": spec} | bad)
    second = decode_pod(POD | {"spec": spec, "status": {"phase": "Failed"}})
    assert (second.spec is first.spec, second.status.phase) == (True, "Failed")
    longest = "x" * (64 * 1024 - len('{"a":""}'))
    assert specs.of({"a": longest}) is not None
    assert specs.of({"a": f"{longest}x"}) is None


def test_requests_and_limits_of_pods() -> None:
    def pod(**spec: Any) -> Pod:
        return decode_pod(POD | {"spec": spec})

    def container(name: str, **resources: Any) -> dict[str, Any]:
        return {"name": name, "resources": resources}

    milli = 10**6
    both = pod(
        containers=[container("a", limits={"cpu": "1", "memory": "1"}, requests={"cpu": "100m"}),
                    container("b", limits={"cpu": "500m"})],
        initContainers=[container("i", limits={"cpu": "2"})], overhead={"cpu": "1m", "disk": "5"},
    )  # fmt: skip
    assert limit_nanos(both) == {"cpu": 2001 * milli, "memory": 10**9}
    assert request_nanos(both) == {"cpu": 101 * milli, "disk": 5 * 10**9}
    whole = pod(
        containers=[container("a", limits={"cpu": "1", "x": "1"})],
        resources={"limits": {"cpu": "3", "x": "9"}, "requests": {"memory": "7"}},
        overhead={"cpu": "1m"},
    )
    assert limit_nanos(whole) == {"cpu": 3001 * milli, "x": 10**9}
    assert request_nanos(whole) == {"memory": 7 * 10**9, "cpu": milli}
    assert limit_nanos(pod(containers=[container("a")], overhead={"cpu": "1"})) == {}
    several = [
        pod(containers=[container("a", requests={"cpu": "1"})]),
        pod(containers=[container("a", requests={"cpu": "2"})]),
        pod(containers=[container("a", requests={"cpu": "1"}), container("b")]),
        pod(containers=[container("a", requests={"cpu": "1"})], overhead={"cpu": "1"}),
        pod(containers=[container("a", requests={"cpu": "1"})], overhead={"cpu": "2"}),
        pod(containers=[container("a", requests={"cpu": "1"})], resources={}),
        *(
            pod(containers=[container("a", requests={"cpu": "1"})],
                resources={"requests": {"cpu": cpu}})
            for cpu in "12"
        ),
        pod(containers=[container("a", requests={"cpu": "1"})], initContainers=[container("i")]),
        pod(containers=[container("a", requests={"cpu": "1"})],
            initContainers=[container("i") | {"restartPolicy": "Always"}]),
        pod(containers=[container("a", requests={"cpu": "1"})],
            initContainers=[container("i", requests={"cpu": "1"})]),
    ]  # fmt: skip
    keys = [request_key(each) for each in several]
    # Pod-level resources without requests are none.
    assert len(set(keys)) == len(keys)
    again = pod(containers=[container("other", requests={"cpu": "1"})])
    assert request_key(again) == keys[0]
    plain = pod(containers=[{"name": "a"}])
    assert (plain.spec.node_affinity, plain.spec.pod_affinity.required) == (
        type(plain.spec.node_affinity)(), (),
    )  # fmt: skip
    assert plain.spec.pod_anti_affinity.required == ()
    term = {"topologyKey": "zone"}
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}
        },
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term, term]},
    }
    spec = pod(containers=[], affinity=affinity).spec
    assert spec.node_affinity.required is not None
    assert (len(spec.pod_affinity.required), len(spec.pod_anti_affinity.required)) == (1, 2)


@pytest.mark.parametrize(
    ("labels", "key"),
    [
        ({}, ""),
        ({"topology.kubernetes.io/zone": "z"}, ":\0:z"),
        ({"topology.kubernetes.io/region": "r"}, "r:\0:"),
        ({"topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z"}, "r:\0:z"),
        ({"topology.kubernetes.io/zone": "z", "failure-domain.beta.kubernetes.io/zone": "b"},
         ":\0:b"),
        ({"failure-domain.beta.kubernetes.io/region": "c", "topology.kubernetes.io/region": "r"},
         "c:\0:"),
        ({"zone": "z"}, ""),
    ],
)  # fmt: skip
def test_the_zone_of_a_node(labels, key) -> None:
    assert zone_key(labels) == key


# ---------------------------------------------------------------------------------- texts


def test_texts_are_read_in_three_encodings() -> None:
    text = "naïve"
    assert utf8(text.encode()) == text.encode()
    assert utf8(codecs.BOM_UTF8 + text.encode()) == text.encode()
    assert utf8(codecs.BOM_UTF16_LE + text.encode("utf-16-le")) == text.encode()
    assert utf8(codecs.BOM_UTF16_BE + text.encode("utf-16-be")) == text.encode()
    assert utf8(b"") == b""
    with pytest.raises(UnicodeDecodeError) as caught:
        utf8(codecs.BOM_UTF16_LE + b"a")
    assert decoding_message(caught.value) == "not UTF-16 text: truncated data at byte 2"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain ä", '"plain ä"'), ('a"b', r'"a\"b"'), ("a\\b", r'"a\\b"'), ("\a\b\f\n\r\t\v",
         r'"\a\b\f\n\r\t\v"'), ("\0", r'"\x00"'), ("\x7f", r'"\x7f"'), ("\x80", r'"\u0080"'),
        ("\uffff", r'"\uffff"'), ("\U0010ffff", r'"\U0010ffff"'), ("é\n", r'"é\n"'),
        ("\U000e0001", r'"\U000e0001"'),
    ],
)  # fmt: skip
def test_texts_are_quoted_as_in_go(text, quoted) -> None:
    assert go_quoted(text) == quoted


def test_json_and_lists_of_errors_are_those_of_go() -> None:
    value = {"b": ["<", ">", "&", "\u2028", "\ud800"], "a": {"d": 1, "c": None}, "é": True}
    assert write_go_json(value) == (
        r'{"a":{"c":null,"d":1},"b":["\u003c","\u003e","\u0026","\u2028","\ufffd"],"é":true}'
    )
    assert write_go_json({"b": 1, "a": 2}, sort_keys=False) == '{"b":1,"a":2}'
    assert [aggregated(each) for each in ((), ("a",), ("a", "b"), ("a", "b", "a"), ("a", "a"))] == [
        "", "a", "[a, b]", "[a, b]", "a",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"a"', "unexpected end of JSON input"),
        (b'{"a', "unexpected end of JSON input"),
        (b'{"a":1', "unexpected end of JSON input"),
        (b"nul", "unexpected end of JSON input"),
        (b"nulx", "invalid character 'x' in literal null (expecting 'l')"),
        (b"tru1", "invalid character '1' in literal true (expecting 'e')"),
        (b"fAlse", "invalid character 'A' in literal false (expecting 'a')"),
        (b"x", "invalid character 'x' looking for beginning of value"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b"{a:1}", "invalid character 'a' looking for beginning of object key string"),
        (b"[1e999]", "json: cannot unmarshal number 1e999 into Go value of type float64"),
        (b"{}", "other"),
    ],
)
def test_errors_of_json_are_those_of_go(body, message) -> None:
    assert go_json_error(body, ValueError("other")) == message


def test_the_nearest_choice_is_found_whatever_its_case() -> None:
    choices = ["Always", "OnFailure", "Never", ""]
    rows = {"always": "Always", "ALWAYS": "Always", "onfail": "OnFailure", "nevr": "Never",
            "xyz": None, "": None}  # fmt: skip
    assert {value: nearest(value, choices) for value in rows} == rows


# ---------------------------------------------------------------------------------- times


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (0, "0s"), (1, "1ns"), (-1, "-1ns"), (999, "999ns"), (1_000, "1µs"), (1_500, "1.5µs"),
        (1_000_000, "1ms"), (999_999_999, "999.999999ms"), (10**9, "1s"), (15 * 10**8, "1.5s"),
        (60 * 10**9, "1m0s"), (3_600 * 10**9, "1h0m0s"), (-3_661 * 10**9, "-1h1m1s"),
        (3_600 * 10**9 + 1, "1h0m0.000000001s"),
    ],
)  # fmt: skip
def test_durations_are_written_as_in_go(duration_ns, text) -> None:
    assert format_duration(duration_ns) == text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("soon", 'Invalid value: "soon": must be a duration such as 1h30m'),
        ("5", 'Invalid value: "5": it has no unit: must be a duration such as 1h30m'),
        ("0s", 'Invalid value: "0s": must be a duration such as 1h30m, greater than 0'),
        ("-1s", 'Invalid value: "-1s": must be a duration such as 1h30m, greater than 0'),
        (
            timedelta(0),
            'Invalid value: "0:00:00": must be a duration such as 1h30m, greater than 0',
        ),
        ("106752d", 'Invalid value: "106752d": must be a duration such as 1h30m'),
        (
            timedelta(days=106_752),
            'Invalid value: "106752 days, 0:00:00": must be a duration of at most 292 years',
        ),
    ],
)
def test_what_is_no_duration_says_why(value, message) -> None:
    with pytest.raises(InputError) as caught:
        read_duration(value, "every")
    assert str(caught.value) == f"every: {message}"
    assert read_duration("1d1s", "every") == 86_401 * 10**9
    assert read_duration(timedelta(seconds=2), "every") == 2 * 10**9
    assert read_duration("0s", "every", least_ns=0) == 0
    with pytest.raises(InputError, match=r"0 or more$"):
        read_duration("-1s", "every", least_ns=0)


def test_times_of_impossible_years_and_of_wrong_types() -> None:
    first, last = datetime(1678, 1, 1, tzinfo=UTC), datetime(2261, 12, 31, tzinfo=UTC)
    for each in (first, last):
        found = read_time(each, "at", start_ns=None)
        assert found == int(each.timestamp()) * 10**9
        check_time_ns(found, "at", each)
    for each in (first - timedelta(days=1), last + timedelta(days=1)):
        with pytest.raises(InputError) as caught:
            read_time(each, "at", start_ns=None)
        assert str(caught.value) == (
            f'at: Invalid value: "{each}": the years from 1678 to 2261 can be simulated'
        )
    with pytest.raises(InputError) as caught:
        read_time("1h", "at", start_ns=None)
    assert str(caught.value) == (
        'at: Invalid value: "1h": must be a time such as 2026-01-01T12:00:00Z'
    )
    start_ns = read_time("2026-01-01T00:00:00Z", "at", start_ns=None)
    assert read_time("1h", "at", start_ns=start_ns) == start_ns + 3_600 * 10**9
    for value, place in ((start_ns, "the start"), (start_ns - 1, "the current time")):
        with pytest.raises(InputError, match=f"must not be before {place}, "):
            read_time("2025-01-01T00:00:00Z", "at", start_ns=value, first_ns=start_ns)

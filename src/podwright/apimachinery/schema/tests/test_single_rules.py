"""Single rules that no other table reaches: a row is a call, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.apparmor_annotations import (
    apparmor_profile,
    with_apparmor_profiles,
)
from podwright.apimachinery.schema.der import request_key
from podwright.apimachinery.schema.structural import with_go_numbers
from podwright.apimachinery.schema.structural.formats import has_format
from podwright.apimachinery.schema.tests.kind_errors import (
    SELECTOR,
    TEMPLATE,
    of_metadata,
    of_new,
)
from podwright.apimachinery.schema.tests.pod_errors import of_spec as of_pod_spec
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.metadata import (
    selector_matches,
    validate_template_metadata,
)

Document = dict[str, Any]
KEY = "container.apparmor.security.beta.kubernetes.io/"


def of_affinity(weight: int, **term: Any) -> list[str]:
    preferred = [{"weight": weight, "podAffinityTerm": {"topologyKey": "a"} | term}]
    rule = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    return of_pod_spec({"affinity": {"podAntiAffinity": rule}})


def of_quota(*terms: Document, **hard: str) -> list[str]:
    selector = {"matchExpressions": list(terms)}
    return of_new(
        "ResourceQuota", {"spec": {"hard": hard or {"pods": "1"}, "scopeSelector": selector}}
    )


def of_range(**limit: Any) -> list[str]:
    return of_new("LimitRange", {"spec": {"limits": [{"type": "PersistentVolumeClaim"} | limit]}})


def of_set(new: Document, **metadata: Any) -> list[str]:
    template = TEMPLATE | {"metadata": {"labels": {"a": "b"}} | metadata}
    template = template | {"spec": TEMPLATE["spec"] | {"restartPolicy": "Always"}}
    return of_workload("StatefulSet", {"selector": SELECTOR, "template": template} | new)


def of_workload(kind: str, spec: Document) -> list[str]:
    return of_new(kind, {"spec": spec})


def of_rolling(**rolling: Any) -> list[str]:
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    spec = {"selector": SELECTOR, "template": TEMPLATE, "strategy": strategy}
    return of_workload("Deployment", spec)


def of_cron(**job: Any) -> list[str]:
    template = TEMPLATE | {"spec": TEMPLATE["spec"] | {"restartPolicy": "Never"}}
    made = {"spec": {"template": template} | job}
    return of_new("CronJob", {"spec": {"schedule": "* * * * *", "jobTemplate": made}})


def matches(labels: Document, *terms: tuple[str, str, list[str]], **equal: str) -> list[str]:
    expressions = [{"key": key, "operator": how, "values": values} for key, how, values in terms]
    found = selector_matches({"matchLabels": equal, "matchExpressions": expressions}, labels)
    return [str(found)]


def profile_of(annotation: str) -> list[str]:
    return [repr(apparmor_profile(annotation))]


def of_profiles(notes: Document, **spec: Any) -> list[str]:
    given = {"containers": [{"name": "c"}]} | spec
    pod, warnings = with_apparmor_profiles({"metadata": {"annotations": notes}, "spec": given})
    return [str(pod["spec"]), *warnings]


def valid(name: str, *texts: str) -> list[str]:
    return [text for text in texts if has_format(text, name)]


def queues(**queuing: int) -> list[str]:
    response = {"type": "Queue", "queuing": queuing}
    limited = {"limitResponse": response, "nominalConcurrencyShares": 1}
    return of_new("PriorityLevelConfiguration", {"spec": {"type": "Limited", "limited": limited}})


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_affinity(0),
         ["affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringE"
           "xecution[0].weight: Invalid value: 0: must be in the range 1-100"]),
        (lambda: of_affinity(1), []),
        (lambda: of_affinity(100), []),
        (lambda: of_affinity(101, topologyKey=""),
         ["affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringE"
           "xecution[0].weight: Invalid value: 101: must be in the range 1-100",
          "affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringE"
           "xecution[0].podAffinityTerm.topologyKey: Required value: can not be empty",
          "affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringE"
           'xecution[0].podAffinityTerm.topologyKey: Invalid value: "": name part must be'
           " non-empty",
          "affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringE"
           'xecution[0].podAffinityTerm.topologyKey: Invalid value: "": NAME PART']),
        (lambda: of_metadata({"generateName": "aBc-", "namespace": "d"}),
         ['metadata.generateName: Invalid value: "aBc-": SUBDOMAIN']),
        (lambda: of_metadata({"generateName": "abC-", "namespace": "d"}), []),
        (lambda: of_metadata({"generateName": "-", "namespace": "d"}),
         ['metadata.generateName: Invalid value: "-": SUBDOMAIN']),
        (lambda: of_quota({"scopeName": "PriorityClass", "operator": "In"}),
         ["spec.scopeSelector.matchExpressions.values: Required value: must be at least one"
           " value when `operator` is 'In' or 'NotIn' for scope selector"]),
        (lambda: of_quota({"scopeName": "PriorityClass", "operator": "Exists"}), []),
        (lambda: of_quota({"scopeName": "PriorityClass", "operator": "Exists", "values":
          ["a"]}),
         ['spec.scopeSelector.matchExpressions.values: Invalid value: ["a"]: must be no value'
           " when `operator` is 'Exist' or 'DoesNotExist' for scope selector"]),
        (lambda: of_quota({"scopeName": "x", "operator": "y", "values": ["a"]}),
         ['spec.scopeSelector.matchExpressions.scopeName: Invalid value: "x": unsupported scope',
          'spec.scopeSelector.matchExpressions.operator: Invalid value: "y": not a valid'
           " selector operator"]),
        (lambda: of_quota({"scopeName": "BestEffort", "operator": "In", "values": ["a"]}),
         ['spec.scopeSelector.matchExpressions.operator: Invalid value: "In": must be'
           " 'Exists' when scope is any of ResourceQuotaScopeTerminating,"
           " ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort,"
           " ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"]),
        (lambda: of_quota({"scopeName": "BestEffort", "operator": "Exists"},
          **{"requests.cpu": "1"}),
         ["spec.scopeSelector.matchExpressions: Invalid value:"
           ' {"MatchExpressions":[{"ScopeName":"BestEffort","Operator":"Exis'
           'ts","Values":null}]}: unsupported scope applied to resource']),
        (of_range,
         ["spec.limits[0].limits: Required value: either minimum or maximum storage value is"
           " required, but neither was provided"]),
        (lambda: of_range(min={"storage": "1"}), []),
        (lambda: of_range(max={"storage": "1"}), []),
        (lambda: of_range(min={"cpu": "1"}, max={"cpu": "1"}),
         ["spec.limits[0].limits: Required value: either minimum or maximum storage value is"
           " required, but neither was provided"]),
        (lambda: of_set({}, annotations={"-": "", "B.c/d": ""}, labels={"a": "b", "-": ""}),
         ['spec.template.labels: Invalid value: "-": NAME PART',
          'spec.template.annotations: Invalid value: "-": NAME PART',
          'spec.template.labels: Invalid value: "-": NAME PART',
          'spec.template.annotations: Invalid value: "-": NAME PART']),
        (lambda: of_set({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate":
          {"maxUnavailable": "x"}}}), []),
        (lambda: of_set({"updateStrategy": {"type": "OnDelete", "rollingUpdate":
          {"partition": 1}}}),
         ["spec.updateStrategy.rollingUpdate: Invalid value:"
           ' {"Partition":1,"MaxUnavailable":null}: only allowed for updateStrategy'
           " 'RollingUpdate'"]),
        (lambda: of_rolling(maxUnavailable=0, maxSurge=0),
         ["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when"
           " `maxSurge` is 0"]),
        (lambda: of_rolling(maxUnavailable="0%", maxSurge="0%"),
         ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when'
           " `maxSurge` is 0"]),
        (lambda: of_rolling(maxUnavailable=0, maxSurge="1%"), []),
        (lambda: of_rolling(maxUnavailable="1%", maxSurge=0), []),
        (lambda: of_rolling(maxUnavailable="101%", maxSurge="101%"),
         ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be'
           " greater than 100%"]),
        (lambda: of_workload("DaemonSet", {"template": TEMPLATE}),
         ['spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match'
           " template `labels`"]),
        (lambda: of_cron(manualSelector=True),
         ["spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values:"
           ' "nil", "false"']),
        (lambda: of_cron(manualSelector=False), []),
        (lambda: of_cron(selector={"matchLabels": {"a": "b"}}),
         ['spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"a":"b"}}:'
           " `selector` will be auto-generated"]),
        (lambda: matches({"a": "b"}, a="b"),
         ["True"]),
        (lambda: matches({"a": "b"}, a="c"),
         ["False"]),
        (lambda: matches({"a": "b"}, ("a", "In", ["c"]), a="b"),
         ["False"]),
        (lambda: matches({"a": "b"}, ("a", "In", ["c", "b"])),
         ["True"]),
        (lambda: matches({"a": "b"}, ("a", "NotIn", ["b"])),
         ["False"]),
        (lambda: matches({"a": "b"}, ("c", "NotIn", ["b"])),
         ["True"]),
        (lambda: matches({"a": "b"}, ("a", "Exists", []), ("c", "DoesNotExist", [])),
         ["True"]),
        (lambda: matches({"a": "b"}, ("a", "DoesNotExist", [])),
         ["False"]),
        (lambda: matches({}, ("a", "Exists", [])),
         ["False"]),
        (lambda: profile_of("unconfined"),
         ["{'type': 'Unconfined'}"]),
        (lambda: profile_of("runtime/default"),
         ["{'type': 'RuntimeDefault'}"]),
        (lambda: profile_of("localhost/a"),
         ["{'type': 'Localhost', 'localhostProfile': 'a'}"]),
        (lambda: profile_of("localhost/"),
         ["None"]),
        (lambda: profile_of("localhost/ a"),
         ["None"]),
        (lambda: profile_of("local/a"),
         ["None"]),
        (lambda:
          ["kept" if apparmor_profile("localhost/" + "a" * n) else "none" for n in (4095,
          4096)],
         ["kept",
          "none"]),
        (lambda: of_profiles({KEY + "c": "unconfined"}),
         ["{'containers': [{'name': 'c', 'securityContext': {'appArmorProfile': {'type':"
           " 'Unconfined'}}}]}",
          "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated"
           ' since v1.30; use the "appArmorProfile" field instead']),
        (lambda: of_profiles({KEY + "c": "unconfined", KEY + "i": "x"},
          initContainers=[{"name": "i"}]),
         ["{'containers': [{'name': 'c', 'securityContext': {'appArmorProfile': {'type':"
           " 'Unconfined'}}}], 'initContainers': [{'name': 'i'}]}",
          "metadata.annotations[container.apparmor.security.beta.kubernetes.io/i]: deprecated"
           ' since v1.30; use the "appArmorProfile" field instead',
          "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated"
           ' since v1.30; use the "appArmorProfile" field instead']),
        (lambda: of_profiles({"c": "unconfined"}),
         ["{'containers': [{'name': 'c'}]}"]),
        (lambda: of_profiles({KEY + "c": "unconfined"}, securityContext={"appArmorProfile":
          {"type": "Unconfined"}}),
         ["{'containers': [{'name': 'c'}], 'securityContext': {'appArmorProfile': {'type':"
           " 'Unconfined'}}}"]),
        (lambda: of_profiles({KEY + "c": "unconfined"}, os={"name": "windows"}),
         ["{'containers': [{'name': 'c'}], 'os': {'name': 'windows'}}"]),
        (lambda: of_profiles({KEY + "d": "unconfined"}),
         ["{'containers': [{'name': 'c'}]}"]),
        (lambda: valid("date-time", "2024-01-02T23:59:59Z", "2024-01-02T24:00:00Z",
          "2024-01-02T00:60:00Z", "2024-01-02T00:00:60Z", "2024-01-02"),
         ["2024-01-02T23:59:59Z"]),
        (lambda: valid("duration", "1 ns", "2 weeks", "3 hr", "1 x", "1w", "5 days ago"),
         ["1 ns",
          "2 weeks",
          "3 hr",
          "1w",
          "5 days ago"]),
        (lambda: valid("isbn10", "0321751043", "0-321-75104-3", "080442957X", "0804429570",
          "032175104"),
         ["0321751043",
          "0-321-75104-3",
          "080442957X"]),
        (lambda: valid("isbn13", "978-0321751041", "9780321751042", "978032175104"),
         ["978-0321751041"]),
        (lambda: valid("mac", "01:23:45:67:89:ab", "01-23-45-67-89-ab", "0123.4567.89ab",
          "01:23:45:67:89:ab:cd:ef", "01:23:45:67:89:ag", "01:23:45:67:89"),
         ["01:23:45:67:89:ab",
          "01-23-45-67-89-ab",
          "0123.4567.89ab",
          "01:23:45:67:89:ab:cd:ef"]),
        (lambda: valid("cidr", "10.0.0.0/32", "10.0.0.0/33", "::/128", "::/129",
          "10.0.0.0", "10.0.0.0/", "10.0.0.0/-1"),
         ["10.0.0.0/32",
          "::/128"]),
        (lambda: queues(queues=64, handSize=8, queueLengthLimit=50), []),
        (lambda: queues(queues=4, handSize=4, queueLengthLimit=50), []),
        (lambda: queues(queues=4, handSize=5, queueLengthLimit=50),
         ["spec.limited.limitResponse.queuing.handSize: Invalid value: 5: should not be"
           " greater than queues (4)"]),
        (lambda: queues(queues=4, handSize=0, queueLengthLimit=0),
         ["spec.limited.limitResponse.queuing.handSize: Invalid value: 8: should not be"
           " greater than queues (4)"]),
        (lambda: queues(queues=10_000_000, handSize=2, queueLengthLimit=50), []),
        (lambda: queues(queues=10_000_001, handSize=2, queueLengthLimit=50),
         ["spec.limited.limitResponse.queuing.queues: Invalid value: 10000001: must not be"
           " greater than 10000000"]),
        (lambda: queues(queues=1 << 20, handSize=4, queueLengthLimit=50),
         ["spec.limited.limitResponse.queuing.handSize: Invalid value: 4: required entropy"
           " bits of deckSize 1048576 and handSize 4 should not be greater than 60"]),
    ],
)  # fmt: skip
def test_single_rules(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("metadata", "fields"),
    [
        ({"labels": {"a": "b"}, "annotations": {"c": "d"}}, []),
        ({"generation": 0, "name": "", "uid": None}, []),
        ({"generation": 1}, ["generation"]),
        ({"name": "a", "uid": "u", "finalizers": []}, ["name", "uID", "finalizers"]),
        ({"creationTimestamp": "x", "deletionGracePeriodSeconds": 0},
         ["creationTimestamp", "deletionGracePeriodSeconds"]),
    ],
)  # fmt: skip
def test_the_metadata_of_a_template_has_labels_and_annotations_only(
    metadata: Document, fields: list[str]
) -> None:
    errors = FieldErrors()
    validate_template_metadata(errors, "m", metadata)
    expected = [(f"m.{field}", "Forbidden: cannot be set", None) for field in fields]
    assert errors.problems == expected
    validate_template_metadata(errors, "m", metadata | {"annotations": {"": ""}})
    assert errors.problems[len(expected)][:2] == (
        "m.annotations",
        'Invalid value: "": name part must be non-empty',
    )


def der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return bytes([tag, len(content)]) + content


INT, NAME, KEY_INFO, BITS = der(2, b"\0"), der(0x30), der(0x30, b"key"), der(3, b"\0\1")


@pytest.mark.parametrize(
    ("request_data", "key"),
    [
        (der(0x30, der(0x30, INT, NAME, KEY_INFO), NAME, BITS), b"key"),
        (der(0x30, der(0x30, INT, NAME, KEY_INFO, INT), NAME, BITS), b"key"),
        (der(0x30, der(0x30, NAME, NAME, KEY_INFO), NAME, BITS), None),
        (der(0x30, der(0x30, INT, INT, KEY_INFO), NAME, BITS), None),
        (der(0x30, der(0x30, INT, NAME, der(2, b"key")), NAME, BITS), None),
        (der(0x30, der(0x30, INT, NAME), NAME, BITS), None),
        (der(0x30, der(0x31, INT, NAME, KEY_INFO), NAME, BITS), None),
        (der(0x30, der(0x30, INT, NAME, KEY_INFO), INT, BITS), None),
        (der(0x30, der(0x30, INT, NAME, KEY_INFO), NAME, INT), None),
        (der(0x30, der(0x30, INT, NAME, KEY_INFO), NAME), None),
        (der(0x31, der(0x30, INT, NAME, KEY_INFO), NAME, BITS), None),
    ],
)
def test_a_certificate_request_has_its_parts(request_data: bytes, key: bytes | None) -> None:
    try:
        found: bytes | None = request_key(request_data)
    except ValueError:
        found = None
    assert found == key


def test_numbers_that_are_whole_are_written_without_a_fraction() -> None:
    given = {"a": [3.0, 0.5], "b": {"c": -2.0}, "d": [1, "2.0", True], "e": 1e30}
    made = with_go_numbers(given)
    assert made == {"a": [3, 0.5], "b": {"c": -2}, "d": [1, "2.0", True], "e": 1e30}
    assert [type(each) for each in (*made["a"], made["b"]["c"], made["e"])] == [
        int, float, int, float,
    ]  # fmt: skip
    assert made["d"] is given["d"], "what does not change is the same"
    limits = with_go_numbers([2.0**63, -(2.0**63), 2.0**62])
    assert [type(each) for each in limits] == [float, int, int]

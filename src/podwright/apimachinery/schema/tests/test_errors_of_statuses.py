"""The errors of changed statuses, rule by rule: a row is an object, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import built_in
from podwright.apimachinery.schema.tests.pod_errors import shown

Document = dict[str, Any]
START, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
VERSIONS = {
    "Job": "batch/v1", "PodDisruptionBudget": "policy/v1", "Ingress": "networking.k8s.io/v1",
    "ValidatingAdmissionPolicy": "admissionregistration.k8s.io/v1",
}  # fmt: skip


def of(kind: str, status: Document, was: Document | None = None, **spec: Any) -> list[str]:
    """Return the errors of an object whose status changed."""
    found = built_in().find(VERSIONS.get(kind, "v1"), kind)
    assert found is not None
    metadata = {"name": "x", "uid": "u", "resourceVersion": "1"} | spec.pop("metadata", {})
    old = {"metadata": metadata, "spec": spec, "status": was or {}}
    problems = found.status_problems(old | {"status": status}, old)
    return [
        f"{path}: {shown(text)}".partition("a condition reason must")[0].removeprefix("status.")
        for path, text, _ in problems
    ]


def of_pod(status: Document, was: Document | None = None, **spec: Any) -> list[str]:
    return of("Pod", status, was, **spec)


def of_job(status: Document, was: Document | None = None, **spec: Any) -> list[str]:
    return of("Job", status, was, **spec)


def of_condition(*conditions: Document) -> list[str]:
    usual = {"type": "A", "status": "True", "reason": "R", "lastTransitionTime": START}
    status = {"conditions": [usual | each for each in conditions]}
    return of("PodDisruptionBudget", status)


def true(*types: str, **others: str) -> list[Document]:
    return [{"type": each, "status": "True"} for each in types] + [
        {"type": name, "status": status} for name, status in others.items()
    ]


def ended(code: int, name: str = "c") -> list[Document]:
    return [{"name": name, "state": {"terminated": {"exitCode": code}}}]


def runs(name: str = "c") -> list[Document]:
    return [{"name": name, "state": {"running": {}}}]


def devices(name: str, *resources: Document, of: str = "c") -> Document:
    allocated = [{"name": name, "resources": list(resources)}]
    return {"containerStatuses": [{"name": of, "allocatedResourcesStatus": allocated}]}


def extended(*mappings: Document, name: str | None = "n") -> Document:
    claim = {"requestMappings": list(mappings), "resourceClaimName": name}
    return {"extendedResourceClaimStatus": claim}


def ips(*addresses: str) -> list[Document]:
    return [{"ip": each} for each in addresses]


COMPLETE: Document = {"startTime": START, "completionTime": LATER,
                      "conditions": true("SuccessCriteriaMet", "Complete")}  # fmt: skip
FAILED: Document = {"startTime": START, "conditions": true("FailureTarget", "Failed")}
GPU = {"name": "c", "resources": {"requests": {"a.b/gpu": "1"}}}
MAPPED = {"containerName": "c", "resourceName": "a.b/gpu", "requestName": "r"}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_condition({"type": ""}),
         ['conditions[0].type: Invalid value: "": name part must be non-empty',
          'conditions[0].type: Invalid value: "": NAME PART']),
        (lambda: of_condition({"type": "A/b/c"}),
         ['conditions[0].type: Invalid value: "A/b/c": a valid label key must consist of'
           " alphanumeric characters, '-', '_' or '.', and must start and end with an"
           " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used"
           " for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional"
           " DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]),
        (lambda: of_condition({}, {}),
         ['conditions[1].type: Duplicate value: "A"']),
        (lambda: of_condition({}, {"type": "B"}), []),
        (lambda: of_condition({"status": ""}),
         ['conditions[0].status: Unsupported value: "": supported values: "False", "True",'
           ' "Unknown"']),
        (lambda: of_condition({"status": "true"}),
         ['conditions[0].status: Unsupported value: "true": supported values: "False",'
           ' "True", "Unknown"']),
        (lambda: of_condition({"status": "Unknown", "observedGeneration": 0}), []),
        (lambda: of_condition({"status": "False", "observedGeneration": -1}),
         ["conditions[0].observedGeneration: Invalid value: -1: must be greater than or equal"
           " to zero"]),
        (lambda: of_condition({"lastTransitionTime": None}),
         ["conditions[0].lastTransitionTime: Required value"]),
        (lambda: of_condition({"reason": ""}),
         ["conditions[0].reason: Required value"]),
        (lambda: of_condition({"reason": "1"}),
         ['conditions[0].reason: Invalid value: "1": ']),
        (lambda: of_condition({"reason": "a,"}),
         ['conditions[0].reason: Invalid value: "a,": ']),
        (lambda: of_condition({"reason": "a_"}), []),
        (lambda: of_condition({"reason": "a,b:c_d1"}), []),
        (lambda: of_condition({"reason": "a" * 1024}), []),
        (lambda: of_condition({"reason": "a" * 1025}),
         ["conditions[0].reason: Too long: may not be more than 1024 bytes"]),
        (lambda: of_condition({"message": "é" * 16384}), []),
        (lambda: of_condition({"message": "é" * 16384 + "a"}),
         ["conditions[0].message: Too long: may not be more than 32768 bytes"]),
        (lambda: of("PodDisruptionBudget", {"disruptionsAllowed": -1, "currentHealthy": -1,
          "desiredHealthy": -1, "expectedPods": -1}),
         ["disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0",
          "currentHealthy: Invalid value: -1: must be greater than or equal to 0",
          "desiredHealthy: Invalid value: -1: must be greater than or equal to 0",
          "expectedPods: Invalid value: -1: must be greater than or equal to 0"]),
        (lambda: of("ValidatingAdmissionPolicy", {"conditions": [{"type": "A", "status": "True",
          "reason": "R"}], "typeChecking": {"expressionWarnings": [{}, {"warning": "w",
          "fieldRef": "f"}]}}),
         ["typeChecking.expressionWarnings[0].warning: Required value",
          "typeChecking.expressionWarnings[0].fieldRef: Required value",
          "conditions[0].lastTransitionTime: Required value"]),
        (lambda: of_condition({"reason": "é" * 513}),
         ['conditions[0].reason: Invalid value: "éé*512é": ',
          "conditions[0].reason: Too long: may not be more than 1024 bytes"]),
    ],
)  # fmt: skip
def test_conditions(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_job({"active": -1, "succeeded": -1, "failed": -1, "ready": -1,
          "terminating": -1}),
         ["active: Invalid value: -1: must be greater than or equal to 0",
          "succeeded: Invalid value: -1: must be greater than or equal to 0",
          "failed: Invalid value: -1: must be greater than or equal to 0",
          "ready: Invalid value: -1: must be greater than or equal to 0",
          "terminating: Invalid value: -1: must be greater than or equal to 0",
          "failed: Invalid value: -1: cannot decrease the failed counter",
          "succeeded: Invalid value: -1: cannot decrease the succeeded counter"]),
        (lambda: of_job(COMPLETE | {"active": 1}, COMPLETE | {"active": 1}), []),
        (lambda: of_job(COMPLETE | {"active": 1}, COMPLETE),
         ["active: Invalid value: 1: active>0 is invalid for finished job"]),
        (lambda: of_job(COMPLETE | {"active": 1}, COMPLETE | {"conditions":
          true("SuccessCriteriaMet")}),
         ["active: Invalid value: 1: active>0 is invalid for finished job"]),
        (lambda: of_job(FAILED | {"active": 1, "terminating": 1}, {"startTime": START,
          "active": 1, "terminating": 1}),
         ["active: Invalid value: 1: active>0 is invalid for finished job",
          "terminating: Invalid value: 1: terminating>0 is invalid for finished job"]),
        (lambda: of_job(COMPLETE | {"terminating": 1}, COMPLETE),
         ["terminating: Invalid value: 1: terminating>0 is invalid for finished job"]),
        (lambda: of_job(COMPLETE | {"terminating": 1}, COMPLETE | {"terminating": 1}), []),
        (lambda: of_job({"conditions": FAILED["conditions"]}, {}),
         ["startTime: Required value: startTime is required for finished job"]),
        (lambda: of_job({"conditions": FAILED["conditions"]}, {"conditions":
          FAILED["conditions"]}), []),
        (lambda: of_job({"conditions": FAILED["conditions"]}, FAILED, suspend=True),
         ["startTime: Required value: startTime is required for finished job"]),
        (lambda: of_job({}, {"startTime": START}),
         ["startTime: Invalid value: null: field is immutable for unsuspended job once set"]),
        (lambda: of_job({"startTime": LATER}, {"startTime": START}),
         [f'startTime: Invalid value: "{LATER}": field is immutable for unsuspended job once set']),
        # A job that is resumed has a new start.
        (lambda: of_job({"startTime": LATER, "conditions": [{"type": "Suspended", "status":
          "False"}]}, {"startTime": START, "conditions": [{"type": "Suspended", "status":
          "True"}]}), []),
        (lambda: of_job({"startTime": LATER}, {"startTime": START, "conditions": [{"type":
          "Suspended", "status": "True"}]}),
         [f'startTime: Invalid value: "{LATER}": field is immutable for unsuspended job once set']),
        # A job that is suspended and has nothing to do ends without a start.
        (lambda: of_job({"conditions": FAILED["conditions"]}, {}, suspend=True, completions=0), []),
        # An elastic job may have fewer successes.
        (lambda: of_job({"succeeded": 1}, {"succeeded": 2}, completionMode="Indexed",
          completions=2, parallelism=2), []),
        (lambda: of_job({"succeeded": 1}, {"succeeded": 2}, completionMode="Indexed",
          completions=2, parallelism=1),
         ["succeeded: Invalid value: 1: cannot decrease the succeeded counter"]),
        (lambda: of_job({"startTime": LATER}, {"startTime": START}, suspend=True), []),
        (lambda: of_job({"startTime": LATER}, {}), []),
        (lambda: of_job(COMPLETE | {"uncountedTerminatedPods": {"failed": ["a"]}},
          COMPLETE),
         ['uncountedTerminatedPods: Invalid value: {"Succeeded":null,"Failed":["a"]}: must be'
           " empty for finished job"]),
        (lambda: of_job(COMPLETE | {"uncountedTerminatedPods": {"succeeded": ["a"]}},
          COMPLETE),
         ['uncountedTerminatedPods: Invalid value: {"Succeeded":["a"],"Failed":null}: must be'
           " empty for finished job"]),
        (lambda: of_job(COMPLETE | {"uncountedTerminatedPods": {}}, COMPLETE), []),
        (lambda: of_job(COMPLETE | {"uncountedTerminatedPods": {"failed": ["a"]}},
          COMPLETE | {"uncountedTerminatedPods": {"failed": ["a"]}}), []),
        (lambda: of_job({"uncountedTerminatedPods": {"failed": ["a", "", "b"], "succeeded":
          ["b", "", "b"]}}),
         ['uncountedTerminatedPods.succeeded[1]: Invalid value: "": must not be empty',
          'uncountedTerminatedPods.succeeded[2]: Duplicate value: "b"',
          'uncountedTerminatedPods.failed[1]: Invalid value: "": must not be empty',
          'uncountedTerminatedPods.failed[2]: Duplicate value: "b"']),
        (lambda: of_job({"active": 1, "ready": 2}),
         ["ready: Invalid value: 2: cannot set more ready pods than active"]),
        (lambda: of_job({"active": 2, "ready": 2}), []),
        (lambda: of_job({"ready": 1}),
         ["ready: Invalid value: 1: cannot set more ready pods than active"]),
        (lambda: of_job({"ready": 1}, {"ready": 1}), []),
        (lambda: of_job({"ready": 1}, {"ready": 1, "active": 1}),
         ["ready: Invalid value: 1: cannot set more ready pods than active"]),
        (lambda: of_job({"failed": 1, "succeeded": 2}, {"failed": 2, "succeeded": 3}),
         ["failed: Invalid value: 1: cannot decrease the failed counter",
          "succeeded: Invalid value: 2: cannot decrease the succeeded counter"]),
        (lambda: of_job({"failed": 2, "succeeded": 3}, {"failed": 2, "succeeded": 3}), []),
        (lambda: of_job({}, {"failed": 2}),
         ["failed: Invalid value: 0: cannot decrease the failed counter"]),
        (lambda: of_job(COMPLETE | {"completionTime": START}, COMPLETE),
         ['completionTime: Invalid value: "2026-01-01T00:00:00Z": field is'
           " immutable"]),
        (lambda: of_job(COMPLETE | {"completionTime": "2025-12-31T23:59:59Z"}, COMPLETE),
         ['completionTime: Invalid value: "2025-12-31T23:59:59Z": must be equal'
           " to or after `startTime`",
          'completionTime: Invalid value: "2025-12-31T23:59:59Z": field is'
           " immutable"]),
        (lambda: of_job({"startTime": START, "conditions": COMPLETE["conditions"]},
          COMPLETE),
         ["completionTime: Required value: completionTime is required for Complete jobs"]),
        (lambda: of_job({"startTime": START, "completionTime": LATER}, {}),
         ['completionTime: Invalid value: "2026-01-01T00:01:00Z": cannot set completionTime'
           " when there is no Complete=True condition"]),
        (lambda: of_job(COMPLETE | {"conditions": true("SuccessCriteriaMet",
          Complete="False")}, COMPLETE),
         ['completionTime: Invalid value: "2026-01-01T00:01:00Z": cannot set completionTime'
           " when there is no Complete=True condition",
          "conditions: Invalid value: cannot disable the terminal Complete=True condition"]),
        (lambda: of_job(FAILED | {"conditions": []}, FAILED),
         ["conditions: Invalid value: cannot disable the terminal Failed=True condition",
          "conditions: Invalid value: cannot disable the terminal FailureTarget=True condition"]),
        (lambda: of_job({"conditions": true("Suspended")}, {"conditions":
          true("SuccessCriteriaMet")}),
         ["conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition"]),
        (lambda: of_job(COMPLETE, COMPLETE | {"conditions": true("Complete")}),
         ["conditions: Invalid value: cannot set SuccessCriteriaMet=True for Job already has"
           " Complete=true conditions"]),
        (lambda: of_job({"startTime": START, "conditions": true("Failed")}, {"startTime":
          START, "conditions": true("Failed")}), []),
        (lambda: of_job({"startTime": START, "conditions": true("FailureTarget")}), []),
        (lambda: of_job({"startTime": START, "conditions": true("SuccessCriteriaMet",
          "FailureTarget")}),
         ["conditions: Invalid value: cannot set SuccessCriteriaMet=True and"
           " FailureTarget=true conditions"]),
        (lambda: of_job({"startTime": START, "conditions": true("SuccessCriteriaMet",
          "FailureTarget", "Failed")}),
         ["conditions: Invalid value: cannot set SuccessCriteriaMet=True and Failed=true"
           " conditions",
          "conditions: Invalid value: cannot set SuccessCriteriaMet=True and"
           " FailureTarget=true conditions"]),
        (lambda: of_job(COMPLETE, successPolicy={}), []),
        (lambda: of_job({"completedIndexes": "0"}),
         ['completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when'
           " non-indexed completion mode"]),
        (lambda: of_job({"completedIndexes": "0"}, {"completedIndexes": "0"}), []),
        (lambda: of_job({"completedIndexes": ""}), []),
        (lambda: of_job({"completedIndexes": "0,2-3"}, completionMode="Indexed",
          completions=4), []),
        (lambda: of_job({"completedIndexes": "0,2-4"}, completionMode="Indexed",
          completions=4),
         ['completedIndexes: Invalid value: "0,2-4": error parsing completedIndexes: too'
           ' large index: "4"']),
        (lambda: of_job({"completedIndexes": "2,1"}, completionMode="Indexed",
          completions=4),
         ['completedIndexes: Invalid value: "2,1": error parsing completedIndexes:'
           " non-increasing order, previous: 2, current: 1"]),
        (lambda: of_job({"completedIndexes": "x"}, {"completedIndexes": "x"},
          completionMode="Indexed", completions=4), []),
        (lambda: of_job({"failedIndexes": "1"}, completionMode="Indexed", completions=4),
         ['failedIndexes: Invalid value: "1": cannot set non-null failedIndexes when'
           " backoffLimitPerIndex is null"]),
        (lambda: of_job({"failedIndexes": "9"}, completionMode="Indexed", completions=4),
         ['failedIndexes: Invalid value: "9": cannot set non-null failedIndexes when'
           " backoffLimitPerIndex is null"]),
        (lambda: of_job({"failedIndexes": "9"}, completionMode="Indexed", backoffLimitPerIndex=1),
         []),
        (lambda: of_job({"failedIndexes": "9"}, {"failedIndexes": "9"}, completions=4,
          completionMode="Indexed", backoffLimitPerIndex=1), []),
        (lambda: of_job({"completedIndexes": "1"}, {"completedIndexes": "1", "failedIndexes": "9"},
          completionMode="Indexed", completions=4, backoffLimitPerIndex=1), []),
        (lambda: of_job({"failedIndexes": ""}, completionMode="Indexed", completions=4),
         ['failedIndexes: Invalid value: "": cannot set non-null failedIndexes when'
           " backoffLimitPerIndex is null"]),
        (lambda: of_job({"failedIndexes": "4"}, completionMode="Indexed", completions=4,
          backoffLimitPerIndex=1),
         ['failedIndexes: Invalid value: "4": error parsing failedIndexes: too large index: "4"']),
        (lambda: of_job({"failedIndexes": "3"}, completionMode="Indexed", completions=4,
          backoffLimitPerIndex=0), []),
        (lambda: of_job({"failedIndexes": "1-3", "completedIndexes": "0,2"},
          completionMode="Indexed", completions=4, backoffLimitPerIndex=1),
         ['failedIndexes: Invalid value: "1-3": failedIndexes and completedIndexes overlap at'
           " index: 2"]),
        (lambda: of_job({"failedIndexes": "1", "completedIndexes": "1"}, {"failedIndexes":
          "1", "completedIndexes": "1"}, completionMode="Indexed", completions=4,
          backoffLimitPerIndex=1), []),
        # What does not change is not checked.
        (lambda: of_job({"conditions": true("Complete", "Failed", "FailureTarget")},
          {"conditions": true("Complete", "Failed", "FailureTarget")}), []),
        (lambda: of_job({"startTime": START, "conditions": true("Complete", "Failed")},
          {"startTime": START, "conditions": true("Complete")}),
         ["conditions: Invalid value: cannot set Complete=True and Failed=true conditions",
          "conditions: Invalid value: cannot set Failed=True condition without the"
           " FailureTarget=true condition"]),
        (lambda: of_job({"startTime": START, "conditions": true("Complete", "Failed")},
          {"startTime": START, "conditions": true("Failed")}),
         ["conditions: Invalid value: cannot set Complete=True and Failed=true conditions",
          "completionTime: Required value: completionTime is required for Complete jobs",
          "conditions: Invalid value: cannot set Complete=True condition without the"
           " SuccessCriteriaMet=true condition"]),
        (lambda: of_job({"conditions": true("Complete", "FailureTarget")}, {"conditions":
          true("Complete")}),
         ["conditions: Invalid value: cannot set Complete=True and FailureTarget=true conditions"]),
        (lambda: of_job({"startTime": START, "conditions": true("Complete", "FailureTarget")},
          {"startTime": START, "conditions": true("FailureTarget")}),
         ["conditions: Invalid value: cannot set Complete=True and FailureTarget=true conditions",
          "completionTime: Required value: completionTime is required for Complete jobs",
          "conditions: Invalid value: cannot set Complete=True condition without the"
           " SuccessCriteriaMet=true condition"]),
        # A job that has ended otherwise was finished before, too.
        (lambda: of_job({"active": 1, "conditions": true("Failed", "FailureTarget")}, {"active":
          1, "conditions": true("Complete")}),
         ["conditions: Invalid value: cannot disable the terminal Complete=True condition"]),
        (lambda: of_job({"startTime": START, "completionTime": LATER}, {"startTime": START,
          "completionTime": LATER}), []),
        (lambda: of_job({"startTime": START}, {"startTime": START, "completionTime": LATER}),
         []),
        (lambda: of_job({"startTime": START, "conditions": COMPLETE["conditions"]},
          {"startTime": START, "conditions": COMPLETE["conditions"]}), []),
        (lambda: of_job(COMPLETE | {"startTime": "2026-01-01T00:02:00Z"}, COMPLETE,
          suspend=True),
         ['completionTime: Invalid value: "2026-01-01T00:01:00Z": must be equal to or after'
           " `startTime`"]),
        (lambda: of_job(COMPLETE | {"completionTime": START, "startTime": LATER}, COMPLETE |
          {"completionTime": START, "startTime": LATER}), []),
        (lambda: of_job({"completionTime": LATER, "conditions": COMPLETE["conditions"]}, {}),
         ["startTime: Required value: startTime is required for finished job"]),
        (lambda: of_job(COMPLETE | {"startTime": "1970-01-01T00:00:00Z", "completionTime":
          "1970-01-01T00:00:00Z"}), []),
        # The target of the failure may be taken away, and is missed when the indexes change.
        (lambda: of_job({"startTime": START, "conditions": true("Failed")}, FAILED),
         ["conditions: Invalid value: cannot disable the terminal FailureTarget=True condition"]),
        (lambda: of_job({"startTime": START, "failedIndexes": "1", "conditions":
          true("Failed")}, {"startTime": START, "conditions": true("Failed")}, completions=4,
          completionMode="Indexed", backoffLimitPerIndex=1),
         ["conditions: Invalid value: cannot set Failed=True condition without the"
           " FailureTarget=true condition"]),
        (lambda: of_job({"startTime": START, "conditions": true("Failed")}, {"startTime":
          START}),
         ["conditions: Invalid value: cannot set Failed=True condition without the"
           " FailureTarget=true condition"]),
        (lambda: of_job(COMPLETE | {"conditions": true("Complete")}, COMPLETE),
         ["conditions: Invalid value: cannot set Complete=True condition without the"
           " SuccessCriteriaMet=true condition",
          "conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition"]),
        (lambda: of_job({"ready": 0}), []),
        (lambda: of_job({"conditions": FAILED["conditions"]}, {}, completions=0),
         ["startTime: Required value: startTime is required for finished job"]),
        (lambda: of_job(COMPLETE | {"uncountedTerminatedPods": {"failed": ["a"]}}, {"startTime":
          START, "uncountedTerminatedPods": {"failed": ["a"]}}),
         ['uncountedTerminatedPods: Invalid value: {"Succeeded":null,"Failed":["a"]}: must'
           " be empty for finished job"]),
        (lambda: of_job({"terminating": 1}), []),
        (lambda: of_job({}, {"completedIndexes": "0"}, completionMode="Indexed", completions=4),
         []),
        (lambda: of_job({}, {"failedIndexes": "0"}, completionMode="Indexed", completions=4,
          backoffLimitPerIndex=1), []),
        (lambda: of_job({}, {"failedIndexes": "0"}, completionMode="Indexed", completions=4),
         []),
        (lambda: of_job({"failedIndexes": "0"}, {"failedIndexes": "0"},
          completionMode="Indexed", completions=4), []),
        (lambda: of_job({"completedIndexes": "1", "failedIndexes": "1"}, {"failedIndexes": "1"},
          completionMode="Indexed", completions=4, backoffLimitPerIndex=1),
         ['failedIndexes: Invalid value: "1": failedIndexes and completedIndexes overlap at'
           " index: 1"]),
        (lambda: of_job({"completedIndexes": "1", "failedIndexes": "1"}, {"completedIndexes":
          "1"}, completionMode="Indexed", completions=4, backoffLimitPerIndex=1),
         ['failedIndexes: Invalid value: "1": failedIndexes and completedIndexes overlap at'
           " index: 1"]),
        (lambda: of_job({"completedIndexes": "-1", "failedIndexes": "-1"},
          completionMode="Indexed", backoffLimitPerIndex=1), []),
        (lambda: of_job({"startTime": START}, {"startTime": START}, successPolicy={}), []),
        (lambda: of_job(COMPLETE | {"conditions": true("Complete")}, COMPLETE | {"conditions":
          true("Complete")}, successPolicy={}),
         ["conditions: Invalid value: cannot set Complete=True for Job with SuccessPolicy"
           " unless SuccessCriteriaMet=True"]),
        (lambda: of_job({}, {"failed": 1}),
         ["failed: Invalid value: 0: cannot decrease the failed counter"]),
        (lambda: of_job({"startTime": LATER, "conditions": [{"type": "Suspended", "status":
          "False"}]}, {"startTime": START}),
         ['startTime: Invalid value: "2026-01-01T00:01:00Z": field is immutable for'
           " unsuspended job once set"]),
    ],
)  # fmt: skip
def test_jobs(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_pod({"conditions": [{"type": "Ready"}, {"type": "-"}, {"type": ""},
          {"type": "a.b/c"}]}),
         ['conditions[1].Type: Invalid value: "-": NAME PART',
          'conditions[2].Type: Invalid value: "": name part must be non-empty',
          'conditions[2].Type: Invalid value: "": NAME PART']),
        (lambda: of_pod({"conditions": [{"type": name} for name in ("ContainersReady",
          "DisruptionTarget", "Initialized", "PodScheduled")]}), []),
        (lambda: of_pod({"nominatedNodeName": "n"}, {}), []),
        (lambda: of_pod({"nominatedNodeName": "N"}, {}),
         ['nominatedNodeName: Invalid value: "N": SUBDOMAIN']),
        (lambda: of_pod({"nominatedNodeName": "N"}, {"nominatedNodeName": "N"}), []),
        (lambda: of_pod({"nominatedNodeName": "n"}, {}, nodeName="m"),
         ["nominatedNodeName: Forbidden: may not be set on pods that are already bound to a"
           " node"]),
        (lambda: of_pod({"nominatedNodeName": "n"}, {"nominatedNodeName": "n"},
          nodeName="m"), []),
        (lambda: of_pod({}, {"nominatedNodeName": "n"}, nodeName="m"), []),
        (lambda: of_pod({"observedGeneration": -1}),
         ["observedGeneration: Invalid value: -1: must be a non-negative integer"]),
        (lambda: of_pod({"observedGeneration": 0}), []),
        (lambda: of_pod({"qosClass": "Burstable"}, {"qosClass": "Guaranteed"}),
         ['qosClass: Invalid value: "Burstable": field is immutable']),
        (lambda: of_pod({}, {"qosClass": "Guaranteed"}),
         ['qosClass: Invalid value: "": field is immutable']),
        (lambda: of_pod({"qosClass": "Burstable"}, {}), []),
        (lambda: of_pod({"containerStatuses": runs()}, {"containerStatuses": ended(0)},
          restartPolicy="Never"),
         ["containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated"
           " state"]),
        (lambda: of_pod({"containerStatuses": runs()}, {"containerStatuses": ended(1)},
          restartPolicy="Never"),
         ["containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated"
           " state"]),
        (lambda: of_pod({"containerStatuses": runs()}, {"containerStatuses": ended(0)},
          restartPolicy="OnFailure"),
         ["containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated"
           " state"]),
        (lambda: of_pod({"containerStatuses": runs()}, {"containerStatuses": ended(1)},
          restartPolicy="OnFailure"), []),
        (lambda: of_pod({"containerStatuses": runs()}, {"containerStatuses": ended(0)},
          restartPolicy="Always"), []),
        (lambda: of_pod({"containerStatuses": ended(1)}, {"containerStatuses": ended(0)},
          restartPolicy="Never"), []),
        (lambda: of_pod({"containerStatuses": runs("d")}, {"containerStatuses": ended(0)},
          restartPolicy="Never"), []),
        (lambda: of_pod({"containerStatuses": runs("d") + runs()}, {"containerStatuses":
          ended(0)}, restartPolicy="Never"),
         ["containerStatuses[1].state: Forbidden: may not be transitioned to non-terminated"
           " state"]),
        (lambda: of_pod({"initContainerStatuses": runs()}, {"initContainerStatuses":
          ended(0)}, restartPolicy="Never"),
         ["initContainerStatuses[0].state: Forbidden: may not be transitioned to"
           " non-terminated state"]),
        (lambda: of_pod({"containerStatuses": [{"name": "c"}]}, {"containerStatuses":
          ended(0)}, restartPolicy="Never"),
         ["containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated"
           " state"]),
        (lambda: of_pod({"resourceClaimStatuses": [{"name": "a"}, {"name": "b"}, {"name":
          "b"}]}, resourceClaims=[{"name": "b"}]),
         ['resourceClaimStatuses[0].name: Invalid value: "a": must match the name of an entry'
           " in `spec.resourceClaims`",
          'resourceClaimStatuses[2].name: Duplicate value: "b"']),
        (lambda: of_pod({"resourceClaimStatuses": [{"name": "b", "resourceClaimName":
          "B"}]}, resourceClaims=[{"name": "b"}]),
         ['resourceClaimStatuses[0].resourceClaimName: Invalid value: "B": SUBDOMAIN']),
        (lambda: of_pod({"conditions": [{"type": "Ready", "observedGeneration": -1}],
          "resourceClaimStatuses": [{"name": "b", "resourceClaimName": ""}]},
          resourceClaims=[{"name": "b"}]),
         ["conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer",
          'resourceClaimStatuses[0].resourceClaimName: Invalid value: "": SUBDOMAIN']),
        (lambda: of_pod({"podIPs": ips("10.0.0.1", "::1")}), []),
        (lambda: of_pod({"podIPs": ips("10.0.0.1", "10.0.0.2")}),
         ['podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: may specify no more'
           " than one IP for each IP family"]),
        (lambda: of_pod({"podIPs": ips("10.0.0.1", "x")}),
         ['podIPs[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or'
           " 2001:db8::ffff)",
          "podIPs: Internal error: failed to check for dual stack with error:invalid IP[1]: x",
          'podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"x"}]: may specify no more than'
           " one IP for each IP family"]),
        (lambda: of_pod({"podIPs": ips("x")}),
         ['podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or'
           " 2001:db8::ffff)"]),
        (lambda: of_pod({"podIPs": ips("x")}, {"podIPs": ips("x")}), []),
        (lambda: of_pod({"podIPs": ips("x", "y")}, {"podIPs": ips("x", "y")}),
         ["podIPs: Internal error: failed to check for dual stack with error:invalid IP[0]: x",
          'podIPs: Invalid value: [{"IP":"x"},{"IP":"y"}]: may specify no more than one IP'
           " for each IP family"]),
        (lambda: of_pod({"podIPs": ips("010.0.0.1", "::1")}, {"podIPs": ips("010.0.0.1",
          "::1")}), []),
        (lambda: of_pod({"hostIP": "10.0.0.1", "hostIPs": ips("10.0.0.1", "::1")}), []),
        (lambda: of_pod({"hostIP": "10.0.0.2", "hostIPs": ips("10.0.0.1")}),
         ['hostIPs[0].ip: Invalid value: "10.0.0.1": must be equal to `hostIP`']),
        (lambda: of_pod({"hostIPs": ips("10.0.0.1")}),
         ['hostIPs[0].ip: Invalid value: "10.0.0.1": must be equal to `hostIP`']),
        (lambda: of_pod({"hostIP": "10.0.0.1"}), []),
        (lambda: of_pod({"hostIP": "10.0.0.1", "hostIPs": ips("10.0.0.1", "10.0.0.1")}),
         ['hostIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.1"}]: may specify no more'
           " than one IP for each IP family"]),
        (lambda: of_pod({"qosClass": "Burstable"}, {"qosClass": "Burstable"}), []),
        (lambda: of_pod({}, {"qosClass": "Burstable"}),
         ['qosClass: Invalid value: "": field is immutable']),
        (lambda: of_pod({"hostIP": "10.0.0.2", "hostIPs": ips("10.0.0.1", "::1")}),
         ['hostIPs[0].ip: Invalid value: "10.0.0.1": must be equal to `hostIP`']),
        (lambda: of_pod({"podIPs": ips("10.0.0.1", "x:y")}, {"podIPs": ips("x:y")}),
         ["podIPs: Internal error: failed to check for dual stack with error:invalid IP[1]: x:y",
          'podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"x:y"}]: may specify no more'
           " than one IP for each IP family"]),
        (lambda: of_pod({"observedGeneration": 0, "conditions": [{"type": "Ready",
          "observedGeneration": 0}]}), []),
    ],
)  # fmt: skip
def test_pods(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_pod({"containerStatuses": [{"name": "c", "user": {"linux": {"uid": -1,
          "gid": 2**31, "supplementalGroups": [0, -1]}}}]}),
         ["containerStatuses[0].user.linux.uid: Invalid value: -1: must be between 0 and"
           " 2147483647, inclusive",
          "containerStatuses[0].user.linux.gid: Invalid value: 2147483648: must be between 0"
           " and 2147483647, inclusive",
          "containerStatuses[0].user.linux.supplementalGroups[1]: Invalid value: -1: must be"
           " between 0 and 2147483647, inclusive"]),
        (lambda: of_pod({"initContainerStatuses": [{"name": "c", "user": {"linux": {"uid":
          2**31 - 1, "gid": -1}}}]}),
         ["initContainerStatuses[0].user.linux.gid: Invalid value: -1: must be between 0 and"
           " 2147483647, inclusive"]),
        (lambda: of_pod({"ephemeralContainerStatuses": [{"name": "c"}, {"name": "d",
          "user": {"linux": {"uid": -1}}}]}),
         ["ephemeralContainerStatuses[1].user.linux.uid: Invalid value: -1: must be between 0"
           " and 2147483647, inclusive"]),
        (lambda: of_pod({"containerStatuses": [{"name": "c", "user": {"linux": {"uid":
          -1}}}]}, os={"name": "windows"}),
         ["containerStatuses[0].user.linux: Forbidden: cannot be set for a windows pod"]),
        (lambda: of_pod({"containerStatuses": [{"name": "c", "user": {}}]}, os={"name":
          "windows"}), []),
        (lambda: of_pod({"containerStatuses": [{"name": "c", "user": {"linux": {}}}]},
          os={"name": "linux"}), []),
        (lambda: of_pod({"ephemeralContainerStatuses": [{"name": "c",
          "allocatedResourcesStatus": [{"name": "a"}]}]}),
         ["ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be"
           " specified in container status"]),
        (lambda: of_pod(devices("a.b/gpu"), containers=[GPU]), []),
        (lambda: of_pod(devices("a.b/other"), containers=[GPU]),
         ['containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "a.b/other":'
           " must match one of the container's resource requests"]),
        (lambda: of_pod(devices("a.b/other", of="d"), containers=[GPU]), []),
        (lambda: of_pod({"containerStatuses": [{"name": "c",
          "allocatedResourcesStatus": [{"resources": [{}]}]}]}, containers=[GPU]),
         ['containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "": must match'
           " one of the container's resource requests",
          "containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: Unsupported"
           ' value: "": supported values: "Healthy", "Unhealthy", "Unknown"']),
        (lambda: of_pod({"initContainerStatuses":
          devices("a.b/other")["containerStatuses"]}, initContainers=[GPU]),
         ["initContainerStatuses[0].allocatedResourcesStatus[0].name: Invalid value:"
           " \"a.b/other\": must match one of the container's resource requests"]),
        (lambda: of_pod({"initContainerStatuses":
          devices("a.b/other")["containerStatuses"]}, containers=[GPU]), []),
        (lambda: of_pod(devices("claim:a"), containers=[{"name": "c", "resources":
          {"claims": [{"name": "a"}]}}]), []),
        (lambda: of_pod(devices("claim:a"), containers=[{"name": "c", "resources":
          {"claims": [{"name": "a", "request": "r"}]}}]),
         ['containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "claim:a":'
           " must match one of the container's resource claims in a format"
           " 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"]),
        (lambda: of_pod(devices("claim:a/r"), containers=[{"name": "c", "resources":
          {"claims": [{"name": "a", "request": "r"}]}}]), []),
        (lambda: of_pod(devices("a.b/gpu", {"resourceID": "a", "health": "Healthy"},
          {"resourceID": "a", "health": "x"}, {"resourceID": "b"}), containers=[GPU]),
         ["containerStatuses[0].allocatedResourcesStatus[0].resources[1].health: Unsupported"
           ' value: "x": supported values: "Healthy", "Unhealthy", "Unknown"',
          "containerStatuses[0].allocatedResourcesStatus[0].resources[1].resourceID:"
           ' Duplicate value: "a"',
          "containerStatuses[0].allocatedResourcesStatus[0].resources[2].health: Unsupported"
           ' value: "": supported values: "Healthy", "Unhealthy", "Unknown"']),
        (lambda: of_pod(devices("a.b/gpu", {"resourceID": "a", "health": "Unknown",
          "message": ""}, {"health": "Unhealthy", "message": "é" * 512}, {"resourceID":
          "c", "health": "Healthy", "message": "é" * 512 + "a"}), containers=[GPU]),
         ["containerStatuses[0].allocatedResourcesStatus[0].resources[0].message: Required"
           " value: must be non-empty if specified",
          "containerStatuses[0].allocatedResourcesStatus[0].resources[2].message: Too long:"
           " may not be more than 1024 bytes"]),
        (lambda: of_pod(extended(MAPPED), containers=[GPU]), []),
        (lambda: of_pod(extended(MAPPED), initContainers=[GPU]), []),
        (lambda: of_pod(extended(MAPPED), initContainers=[GPU], containers=[{"name": "c"}]),
         ["extendedResourceClaimStatus.requestMappings[0].resourceName: Invalid value:"
           ' "a.b/gpu": must match the extended resource name of an entry in'
           " spec.initContainers.resources.requests or spec.containers.resources.requests"]),
        (lambda: of_pod(extended(), containers=[GPU]),
         ["extendedResourceClaimStatus.requestMappings: Required value: at least one request"
           " mapping is required"]),
        (lambda: of_pod(extended(MAPPED, MAPPED, name="N"), containers=[GPU]),
         ['extendedResourceClaimStatus.requestMappings[1].containerName: Duplicate value: "c"',
          "extendedResourceClaimStatus.requestMappings[1].resourceName: Duplicate value:"
           ' "a.b/gpu"',
          'extendedResourceClaimStatus.requestMappings[1].requestName: Duplicate value: "r"',
          'extendedResourceClaimStatus.resourceClaimName: Invalid value: "N": SUBDOMAIN']),
        (lambda: of_pod(extended(MAPPED, MAPPED | {"requestName": "s"}, name=None),
          containers=[GPU]),
         ["extendedResourceClaimStatus.resourceClaimName: Required value"]),
        (lambda: of_pod(extended(MAPPED | {"containerName": "d", "requestName": "R"}),
          containers=[GPU]),
         ['extendedResourceClaimStatus.requestMappings[0].containerName: Invalid value: "d":'
           " must match the name of an entry in spec.initContainers.name or"
           " spec.containers.name",
          'extendedResourceClaimStatus.requestName: Invalid value: "R": LABEL']),
        (lambda: of_pod(extended(MAPPED | {"resourceName": "a.b/other"}), containers=[GPU]),
         ["extendedResourceClaimStatus.requestMappings[0].resourceName: Invalid value:"
           ' "a.b/other": must match the extended resource name of an entry in'
           " spec.initContainers.resources.requests or spec.containers.resources.requests"]),
        # Of two containers with one name, the first counts.
        (lambda: of_pod(devices("a.b/gpu"), containers=[GPU, {"name": "c"}]), []),
        (lambda: of_pod(devices("a.b/gpu"), containers=[{"name": "c"}, GPU]),
         ['containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "a.b/gpu":'
           " must match one of the container's resource requests"]),
    ],
)  # fmt: skip
def test_containers_of_pods(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of("Service", {"loadBalancer": {"ingress": [{"ip": "10.0.0.1", "ipMode":
          "VIP"}]}}, type="ClusterIP"),
         ["loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"]),
        (lambda: of("Service", {"loadBalancer": {"ingress": []}}, type="ClusterIP"), []),
        (lambda: of("Service", {"loadBalancer": {"ingress": [{"ip": "10.0.0.1", "ipMode":
          "VIP"}, {"hostname": "a.b"}]}}, type="LoadBalancer"), []),
        (lambda: of("Service", {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"},
          {"hostname": "a.b", "ipMode": "Proxy"}]}}, type="LoadBalancer"),
         ["loadBalancer.ingress[0].ipMode: Required value: must be specified when `ip` is set",
          "loadBalancer.ingress[1].ipMode: Forbidden: may not be specified when `ip` is not set"]),
        (lambda: of("Service", {"loadBalancer": {"ingress": [{"ip": "x", "ipMode":
          "vip"}]}}, type="LoadBalancer"),
         ['loadBalancer.ingress[0].ip: Invalid value: "x": must be a valid IP address, (e.g.'
           " 10.9.8.7 or 2001:db8::ffff)",
          'loadBalancer.ingress[0].ipMode: Unsupported value: "vip": supported values:'
           ' "Proxy", "VIP"']),
        (lambda: of("Service", {"loadBalancer": {"ingress": [{"ip": "x", "ipMode":
          "Proxy"}]}}, {"loadBalancer": {"ingress": [{"ip": "x"}]}}, type="LoadBalancer"), []),
        (lambda: of("Service", {"loadBalancer": {"ingress": [{"hostname": "A"},
          {"hostname": "10.0.0.1"}]}}, type="LoadBalancer"),
         ['loadBalancer.ingress[0].hostname: Invalid value: "A": SUBDOMAIN',
          'loadBalancer.ingress[1].hostname: Invalid value: "10.0.0.1": must be a DNS name,'
           " not an IP address"]),
        (lambda: of("Ingress", {"loadBalancer": {"ingress": [{"ip": "x"}, {"ip":
          "10.0.0.1"}, {"hostname": "::1"}]}}),
         ['loadBalancer.ingress[0].ip: Invalid value: "x": must be a valid IP address, (e.g.'
           " 10.9.8.7 or 2001:db8::ffff)",
          'loadBalancer.ingress[2].hostname: Invalid value: "::1": SUBDOMAIN',
          'loadBalancer.ingress[2].hostname: Invalid value: "::1": must be a DNS name, not an'
           " IP address"]),
        (lambda: of("Ingress", {"loadBalancer": {"ingress": [{"ip": "x"}]}},
          {"loadBalancer": {"ingress": [{"ip": "x"}]}}), []),
        (lambda: of("Ingress", {"loadBalancer": {}}, {}), []),
        (lambda: of("Ingress", {}, {"loadBalancer": {"ingress": [{"ip": "x"}]}}), []),
        (lambda: of("Namespace", {"phase": "Active"}), []),
        (lambda: of("Namespace", {"phase": "Terminating"}),
         ["Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp`"
           " is empty"]),
        (lambda: of("Namespace", {}),
         ["Phase: Invalid value: \"\": may only be 'Active' if `deletionTimestamp` is empty"]),
        (lambda: of("Namespace", {"phase": "Active"}, metadata={"deletionTimestamp":
          START}),
         ["Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp`"
           " is not empty"]),
        (lambda: of("Namespace", {"phase": "Terminating"}, metadata={"deletionTimestamp":
          START}), []),
    ],
)  # fmt: skip
def test_addresses_and_phases(call: Any, expected: list[str]) -> None:
    assert call() == expected

"""Validation of changed statuses: what a controller or a kubelet may write."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import built_in

Document = dict[str, Any]

START, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def true(*types: str) -> list[Document]:
    return [{"type": each, "status": "True"} for each in types]


def problems(api_version: str, kind: str, old: Document, new: Document) -> list[str]:
    """Return the errors of an object whose status changed; what both have stands in `old`."""
    found = built_in().find(api_version, kind)
    assert found is not None
    stored = {"metadata": {"name": "x", "uid": "u", "resourceVersion": "1"}} | old
    changed = stored | {"status": new}
    return [f"{path}: {message}" for path, message, _ in found.status_problems(changed, stored)]


FINISHED = {"startTime": START, "completionTime": LATER}
COMPLETE = FINISHED | {"conditions": true("SuccessCriteriaMet", "Complete")}
FAILED = {"startTime": START, "conditions": true("FailureTarget", "Failed")}
INDEXED = {"completionMode": "Indexed", "completions": 5, "backoffLimitPerIndex": 1}


@pytest.mark.parametrize(
    ("spec", "before", "after", "expected"),
    [
        pytest.param({}, {}, {"startTime": START, "active": 2, "ready": 2}, [], id="it runs"),
        pytest.param({}, {"startTime": START}, COMPLETE, [], id="it completes"),
        pytest.param({}, {"startTime": START}, FAILED, [], id="it fails"),
        pytest.param(
            {},
            {"startTime": START},
            COMPLETE
            | {"conditions": true("SuccessCriteriaMet", "Complete", "FailureTarget", "Failed")},
            [
                "status.conditions: cannot set Complete=True and Failed=true conditions",
                "status.conditions: cannot set Complete=True and FailureTarget=true conditions",
                "status.conditions: cannot set SuccessCriteriaMet=True and Failed=true conditions",
                "status.conditions: cannot set SuccessCriteriaMet=True and"
                " FailureTarget=true conditions",
            ],
            id="it completes and fails",
        ),
        pytest.param(
            {},
            {"startTime": START},
            FINISHED,
            [
                "status.completionTime: cannot set completionTime when there is no"
                " Complete=True condition"
            ],
            id="a time without the condition",
        ),
        pytest.param(
            {},
            {"startTime": START},
            {"startTime": START, "conditions": COMPLETE["conditions"]},
            ["status.completionTime: completionTime is required for Complete jobs"],
            id="a condition without the time",
        ),
        pytest.param(
            {},
            {"startTime": LATER},
            COMPLETE | {"startTime": LATER, "completionTime": START},
            ["status.completionTime: must be equal to or after `startTime`"],
            id="it ends before it starts",
        ),
        pytest.param(
            {}, {"startTime": LATER}, COMPLETE | {"startTime": LATER}, [], id="it ends as it starts"
        ),
        pytest.param(
            {},
            {"startTime": START},
            FAILED | {"conditions": true("Failed")},
            [
                "status.conditions: cannot set Failed=True condition without the FailureTarget=true"
                " condition"
            ],
            id="it fails at once",
        ),
        pytest.param(
            {},
            {"startTime": START},
            COMPLETE | {"conditions": true("Complete")},
            [
                "status.conditions: cannot set Complete=True condition without the"
                " SuccessCriteriaMet=true condition"
            ],
            id="it completes at once",
        ),
        pytest.param(
            {"successPolicy": {}},
            {"startTime": START, **COMPLETE, "conditions": true("Complete")},
            {**COMPLETE, "conditions": true("Complete")},
            [
                "status.conditions: cannot set Complete=True for Job with SuccessPolicy unless"
                " SuccessCriteriaMet=True"
            ],
            id="a success policy",
        ),
        pytest.param(
            {},
            {"startTime": START, "active": 1},
            COMPLETE
            | {
                "active": 1,
                "terminating": 1,
                "ready": 1,
                "uncountedTerminatedPods": {"failed": ["a"]},
            },
            [
                "status.active: active>0 is invalid for finished job",
                "status.uncountedTerminatedPods: must be empty for finished job",
                "status.terminating: terminating>0 is invalid for finished job",
            ],
            id="pods of a finished job",
        ),
        pytest.param(
            {},
            {},
            {"conditions": true("FailureTarget", "Failed")},
            ["status.startTime: startTime is required for finished job"],
            id="it never started",
        ),
        pytest.param(
            {},
            {},
            {"startTime": START, "active": 1, "ready": 2},
            ["status.ready: cannot set more ready pods than active"],
            id="more ready than active",
        ),
        pytest.param(
            {},
            {},
            {"uncountedTerminatedPods": {"succeeded": ["a", ""], "failed": ["b", "a"]}},
            [
                "status.uncountedTerminatedPods.succeeded[1]: must not be empty",
                "status.uncountedTerminatedPods.failed[1]: Duplicate",
            ],
            id="a pod that is counted twice",
        ),
        pytest.param(
            INDEXED, {}, {"completedIndexes": "0-2,4", "failedIndexes": "3"}, [], id="indexes"
        ),
        pytest.param(
            INDEXED,
            {},
            {"completedIndexes": "0,x", "failedIndexes": "7"},
            [
                "status.completedIndexes: error parsing completedIndexes: ",
                "status.failedIndexes: error parsing failedIndexes: ",
            ],
            id="no indexes",
        ),
        pytest.param(
            INDEXED,
            {},
            {"completedIndexes": "0-2", "failedIndexes": "2"},
            ["status.failedIndexes: failedIndexes and completedIndexes overlap at index: 2"],
            id="an index in both",
        ),
        pytest.param(
            {"completions": 5},
            {},
            {"completedIndexes": "1"},
            [
                "status.completedIndexes: cannot set non-empty completedIndexes when non-indexed"
                " completion mode"
            ],
            id="indexes of a job without them",
        ),
        pytest.param(
            INDEXED | {"backoffLimitPerIndex": None},
            {},
            {"failedIndexes": ""},
            [
                "status.failedIndexes: cannot set non-null failedIndexes when"
                " backoffLimitPerIndex is null"
            ],
            id="failed indexes without a limit for each",
        ),
        pytest.param(
            {},
            COMPLETE,
            FINISHED,
            [
                "status.completionTime: cannot set completionTime when there is no"
                " Complete=True condition",
                "status.conditions: cannot disable the terminal Complete=True condition",
                "status.conditions: cannot disable the SuccessCriteriaMet=True condition",
            ],
            id="a finished job goes on",
        ),
        pytest.param(
            {},
            FAILED,
            {"startTime": START},
            [
                "status.conditions: cannot disable the terminal Failed=True condition",
                "status.conditions: cannot disable the terminal FailureTarget=True condition",
            ],
            id="a failed job goes on",
        ),
        pytest.param(
            {},
            {"failed": 2, "succeeded": 2},
            {"failed": 1, "succeeded": 1},
            [
                "status.failed: cannot decrease the failed counter",
                "status.succeeded: cannot decrease the succeeded counter",
            ],
            id="counters go down",
        ),
        pytest.param(
            {},
            COMPLETE,
            COMPLETE | {"completionTime": "2026-01-01T00:02:00Z"},
            ["status.completionTime: field is immutable"],
            id="another end",
        ),
        pytest.param(
            {},
            {"startTime": START},
            {"startTime": LATER},
            ["status.startTime: field is immutable for unsuspended job once set"],
            id="another start",
        ),
        pytest.param({"suspend": True}, {"startTime": START}, {}, [], id="a suspended job"),
        pytest.param(
            {},
            COMPLETE | {"conditions": true("Complete")},
            COMPLETE,
            [
                "status.conditions: cannot set SuccessCriteriaMet=True for Job already has"
                " Complete=true conditions"
            ],
            id="criteria after the end",
        ),
    ],
)
def test_a_job_ends_once_and_consistently(
    spec: Document, before: Document, after: Document, expected: list[str]
) -> None:
    check("batch/v1", "Job", {"spec": spec, "status": before}, after, expected)


def check(api_version: str, kind: str, old: Document, new: Document, expected: list[str]) -> None:
    """Compare each error with its path and a part of its text."""
    found = problems(api_version, kind, old, new)
    assert len(found) == len(expected), found
    for line, each in zip(found, expected, strict=True):
        path, _, text = each.partition(": ")
        assert line.startswith(f"{path}: "), (line, each)
        assert text in line


def ended(code: int) -> list[Document]:
    return [{"name": "c", "state": {"terminated": {"exitCode": code}}}]


RUNNING = [{"name": "c", "state": {"running": {}}}]
AGAIN = "status.containerStatuses[0].state: may not be transitioned to non-terminated state"
ONE_EACH = "may specify no more than one IP for each IP family"


@pytest.mark.parametrize(
    ("spec", "before", "after", "expected"),
    [
        pytest.param(
            {"restartPolicy": "Never"},
            {"containerStatuses": ended(1)},
            {"containerStatuses": RUNNING},
            [AGAIN],
            id="it is never restarted",
        ),
        pytest.param(
            {"restartPolicy": "OnFailure"},
            {"containerStatuses": ended(1)},
            {"containerStatuses": RUNNING},
            [],
            id="it is restarted on failure",
        ),
        pytest.param(
            {"restartPolicy": "OnFailure"},
            {"containerStatuses": ended(0)},
            {"containerStatuses": RUNNING},
            [AGAIN],
            id="it has succeeded",
        ),
        pytest.param(
            {"restartPolicy": "Always"},
            {"containerStatuses": ended(0)},
            {"containerStatuses": RUNNING},
            [],
            id="it is always restarted",
        ),
        pytest.param(
            {"restartPolicy": "Never"},
            {"containerStatuses": ended(0)},
            {"containerStatuses": ended(0)},
            [],
            id="it stays terminated",
        ),
        pytest.param(
            {"restartPolicy": "Never"},
            {"initContainerStatuses": ended(0)},
            {"initContainerStatuses": RUNNING},
            [AGAIN.replace("container", "initContainer")],
            id="of an init container",
        ),
        pytest.param(
            {},
            {},
            {
                "conditions": [
                    {"type": "Ready", "status": "True"},
                    {"type": "a b", "status": "True"},
                ]
            },
            ["status.conditions[1].Type: name part must consist of"],
            id="a condition",
        ),
        pytest.param({}, {}, {"nominatedNodeName": "n1"}, [], id="a nomination"),
        pytest.param(
            {},
            {},
            {"nominatedNodeName": "N_1"},
            ["status.nominatedNodeName: a lowercase RFC 1123 subdomain"],
            id="a nomination of no node",
        ),
        pytest.param(
            {"nodeName": "n2"},
            {},
            {"nominatedNodeName": "n1"},
            ["status.nominatedNodeName: may not be set on pods that are already bound"],
            id="a nomination of a bound pod",
        ),
        pytest.param(
            {"nodeName": "n2"},
            {"nominatedNodeName": "n1"},
            {"nominatedNodeName": "n1"},
            [],
            id="a nomination that stays",
        ),
        pytest.param(
            {},
            {},
            {"observedGeneration": -1},
            ["status.observedGeneration: must be a non-negative integer"],
            id="a generation",
        ),
        pytest.param(
            {},
            {"qosClass": "Burstable"},
            {"qosClass": "Guaranteed"},
            ["status.qosClass: field is immutable"],
            id="another class",
        ),
        pytest.param({}, {}, {"qosClass": "Guaranteed"}, [], id="the first class"),
        pytest.param(
            {}, {}, {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}, [], id="two families"
        ),
        pytest.param(
            {},
            {},
            {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
            [f"status.podIPs: {ONE_EACH}"],
            id="one family twice",
        ),
        pytest.param(
            {},
            {},
            {"podIPs": [{"ip": "10.0.0.x"}]},
            ["status.podIPs[0]: must be a valid IP"],
            id="no address",
        ),
        pytest.param(
            {},
            {"podIPs": [{"ip": "10.0.0.x"}]},
            {"podIPs": [{"ip": "10.0.0.x"}]},
            [],
            id="an address that stays",
        ),
        pytest.param(
            {},
            {},
            {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "x"}]},
            [
                "status.podIPs[1]: must be a valid IP",
                "status.podIPs: failed to check for dual stack with error:invalid IP[1]: x",
                f"status.podIPs: {ONE_EACH}",
            ],
            id="a second one that is none",
        ),
        pytest.param(
            {},
            {},
            {"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.2"}]},
            ["status.hostIPs[0].ip: must be equal to `hostIP`"],
            id="another host",
        ),
        pytest.param(
            {}, {}, {"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.1"}]}, [], id="its host"
        ),
        pytest.param(
            {"resourceClaims": [{"name": "a"}]},
            {},
            {
                "resourceClaimStatuses": [
                    {"name": "a", "resourceClaimName": "x-a"},
                    {"name": "a"},
                    {"name": "b"},
                ]
            },
            [
                "status.resourceClaimStatuses[1].name: Duplicate",
                "status.resourceClaimStatuses[2].name: must match the name of an entry",
            ],
            id="claims",
        ),
        pytest.param(
            {"resourceClaims": [{"name": "a"}]},
            {},
            {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "X"}]},
            ["status.resourceClaimStatuses[0].resourceClaimName: a lowercase RFC 1123"],
            id="a claim's name",
        ),
    ],
)
def test_a_pods_status_follows_its_spec_and_its_past(
    spec: Document, before: Document, after: Document, expected: list[str]
) -> None:
    check("v1", "Pod", {"spec": spec, "status": before}, after, expected)


@pytest.mark.parametrize(
    ("metadata", "phase", "expected"),
    [
        ({}, "Active", []),
        ({}, "Terminating", ["status.Phase: may only be 'Active' if"]),
        ({"deletionTimestamp": START}, "Terminating", []),
        ({"deletionTimestamp": START}, "Active", ["status.Phase: may only be 'Terminating' if"]),
    ],
)
def test_a_namespace_terminates_when_it_is_deleted(
    metadata: Document, phase: str, expected: list[str]
) -> None:
    old = {"metadata": {"name": "x", "uid": "u", "resourceVersion": "1"} | metadata}
    check("v1", "Namespace", old, {"phase": phase}, expected)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_a_collision_is_not_taken_back(kind: str) -> None:
    old = {"status": {"collisionCount": 3}}
    for new, shown in (({"collisionCount": 2}, 2), ({}, 0)):
        text = f"status.collisionCount: Invalid value: {shown}: cannot be decremented"
        assert problems("apps/v1", kind, old, new) == [text]
    assert problems("apps/v1", kind, old, {"collisionCount": 3}) == []
    assert problems("apps/v1", kind, {}, {"collisionCount": 1}) == []


@pytest.mark.parametrize(
    ("kind", "counts", "wrong"),
    [
        (
            "Deployment",
            {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2},
            [],
        ),
        ("Deployment", {"replicas": 1, "updatedReplicas": 2}, ["updatedReplicas"]),
        ("Deployment", {"replicas": 1, "readyReplicas": 2}, ["readyReplicas"]),
        (
            "Deployment",
            {"replicas": 2, "readyReplicas": 1, "availableReplicas": 2},
            ["availableReplicas"],
        ),
        ("ReplicaSet", {"replicas": 1, "fullyLabeledReplicas": 2}, ["fullyLabeledReplicas"]),
        (
            "ReplicaSet",
            {"replicas": 2, "readyReplicas": 1, "availableReplicas": 2},
            ["availableReplicas"],
        ),
        ("StatefulSet", {"replicas": 1, "currentReplicas": 2}, ["currentReplicas"]),
        ("StatefulSet", {"replicas": 2, "updatedReplicas": 3}, ["updatedReplicas"]),
    ],
)
def test_a_part_of_the_replicas_is_not_more_than_all(
    kind: str, counts: Document, wrong: list[str]
) -> None:
    found = problems("apps/v1", kind, {}, counts)
    assert [line.partition(":")[0] for line in found] == [f"status.{name}" for name in wrong]


@pytest.mark.parametrize(
    ("ingress", "expected"),
    [
        ({"ip": "10.0.0.1"}, []),
        ({"ip": "10.0.0.x"}, ["status.loadBalancer.ingress[0].ip: must be a valid IP"]),
        ({"ip": "was.here"}, []),
        ({"hostname": "a.example"}, []),
        ({"hostname": "A"}, ["status.loadBalancer.ingress[0].hostname: a lowercase RFC 1123"]),
        ({"hostname": "10.0.0.1"}, ["status.loadBalancer.ingress[0].hostname: must be a DNS name"]),
    ],
)
def test_a_load_balancer_has_addresses_and_names(ingress: Document, expected: list[str]) -> None:
    old = {"status": {"loadBalancer": {"ingress": [{"ip": "was.here"}]}}}
    new = {"loadBalancer": {"ingress": [ingress]}}
    check("networking.k8s.io/v1", "Ingress", old, new, expected)


def test_the_conditions_of_a_taint_rule_are_checked_and_limited() -> None:
    def found(*conditions: Document) -> list[str]:
        status = {"conditions": list(conditions)}
        return problems("resource.k8s.io/v1beta2", "DeviceTaintRule", {}, status)

    def condition(index: int) -> Document:
        known = {"status": "True", "reason": "R", "message": "", "lastTransitionTime": START}
        return {"type": f"t{index}"} | known

    assert found(*map(condition, range(8))) == []
    assert found(*map(condition, range(9))) == [
        "status.conditions: Too many: 9: must have at most 8 items"
    ]
    assert found(condition(1) | {"status": "Yes"}) == [
        'status.conditions[0].status: Unsupported value: "Yes": supported values: "False",'
        ' "True", "Unknown"'
    ]

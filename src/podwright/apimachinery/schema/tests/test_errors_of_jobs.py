"""The errors of new and changed jobs and cron jobs: a row is a job, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.tests.kind_errors import BASES, of_new, of_spec, of_update

TEMPLATE: dict[str, Any] = BASES["Job"]["template"]
SELECTOR = {"matchLabels": {"a": "b"}}
INDEXED = {"completionMode": "Indexed", "completions": 3}


def with_pod(labels: dict[str, str] | None = None, **pod: Any) -> dict[str, Any]:
    metadata = TEMPLATE["metadata"] if labels is None else {"labels": labels}
    return {"template": {"metadata": metadata, "spec": TEMPLATE["spec"] | pod}}


def policy(**rule: Any) -> dict[str, Any]:
    return {"podFailurePolicy": {"rules": [{"action": "Ignore"} | rule]}}


def success(*rules: dict[str, Any]) -> dict[str, Any]:
    return INDEXED | {"successPolicy": {"rules": list(rules)}}


def container(name: str, cpu: str, **others: Any) -> dict[str, Any]:
    return {"name": name, "image": "a", "resources": {"requests": {"cpu": cpu}}} | others


def changed(
    spec: dict[str, Any], before: dict[str, Any], status: dict[str, Any] | None = None
) -> list[str]:
    """Return the errors of a change of a suspended job, without the values that they show."""
    suspended = BASES["Job"] | {"suspend": True, "selector": SELECTOR, "manualSelector": True}
    old = {"spec": suspended | before, "status": status or {}}
    found = of_update("Job", {"spec": suspended | spec}, old)
    return [f"{line.partition(': ')[0]}: {line.rpartition(': ')[2]}" for line in found]


def cron(schedule: str, job: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    template = {"jobTemplate": {"spec": BASES["Job"] | (job or {})}}
    return {"spec": {"schedule": schedule} | template | spec}


SUSPENDED = {"conditions": [{"type": "Complete"}, {"type": "Suspended", "status": "True"}]}
NODES: dict[str, Any] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
    "nodeSelectorTerms": [{"matchFields": []}]}}}  # fmt: skip
PODS = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]}}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"podFailurePolicy": {"rules": None}}, []),
        (policy(onExitCodes={"values": [1]}),
         ["spec.podFailurePolicy.rules[0].onExitCodes.operator: Required value: valid values:"
          ' ["In" "NotIn"]']),
        (policy(onExitCodes={"operator": "x", "values": None}),
         ['spec.podFailurePolicy.rules[0].onExitCodes.operator: Unsupported value: "x":'
          ' supported values: "In", "NotIn"',
          "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: null: at least"
          " one value is required"]),
        (policy(onExitCodes={"operator": "NotIn", "values": list(range(255))}), []),
        (policy(onExitCodes={"operator": "NotIn", "values": list(range(256))}),
         ["spec.podFailurePolicy.rules[0].onExitCodes.values: Too many: 256: must have at"
          " most 255 items"]),
        (policy(onExitCodes={"operator": "In", "values": [1, 2, 2], "containerName": "c"}),
         ["spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 2"]),
        (policy(onExitCodes={"operator": "In", "values": [1], "containerName": "i"}) |
         with_pod( initContainers=[{"name": "i", "image": "a"}]),
         []),
        ({"podFailurePolicy": {"rules": [{"action": "Count", "onPodConditions": [{"type":
         "a"}]}] * 20}},
         []),
        ({"podFailurePolicy": {"rules": [{"action": "Count", "onPodConditions": [{"type":
         "a"}]}] * 21}},
         ["spec.podFailurePolicy.rules: Too many: 21: must have at most 20 items"]),
        (policy(onPodConditions=[{"type": "a", "status": ""}] * 20), []),
        (policy(onPodConditions=[{"type": "a"}] * 21),
         ["spec.podFailurePolicy.rules[0].onPodConditions: Too many: 21: must have at most 20"
          " items"]),
        (policy(onExitCodes={"operator": "In", "values": [1]}, action="FailIndex") | INDEXED |
         { "backoffLimitPerIndex": 0},
         []),
        (policy(onExitCodes={"operator": "In", "values": [1]}) |
         with_pod(restartPolicy="OnFailure"),
         ['spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is'
          " supported when podFailurePolicy is specified"]),
        (with_pod(restartPolicy="OnFailure"), []),
        (with_pod(restartPolicy="Always"),
         ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure",'
          ' "Never"']),
        (with_pod(restartPolicy="x"),
         ['spec.template.spec.restartPolicy: Unsupported value: "x": supported values:'
          ' "Always", "OnFailure", "Never"',
          'spec.template.spec.restartPolicy: Unsupported value: "x": supported values:'
          ' "OnFailure", "Never"']),
        (success(*[{"succeededCount": 1}] * 20), []),
        (success(*[{"succeededCount": 1}] * 21),
         ["spec.successPolicy.rules: Too many: 21: must have at most 20 items"]),
        (success({"succeededIndexes": "0-2", "succeededCount": 3}, {"succeededIndexes": ""},
         {"succeededIndexes": "1-2", "succeededCount": 3}, {"succeededCount": 0}),
         ["spec.successPolicy.rules[2].succeededCount: Invalid value: 3: must be less than or"
          " equal to 2 (the number of indexes in the specified succeededIndexes field)"]),
        (success({"succeededIndexes": "1-1"}, {"succeededIndexes": "0-1,1"},
         {"succeededIndexes": "0-1-2"}, {"succeededIndexes": "0-3"}, {"succeededIndexes":
         "3-4"}, {"succeededIndexes": "2-1"}, {"succeededIndexes": "0,0"}),
         ['spec.successPolicy.rules[0].succeededIndexes: Invalid value: "1-1": error parsing'
          " succeededIndexes: non-increasing order, previous: 1, current: 1",
          'spec.successPolicy.rules[1].succeededIndexes: Invalid value: "0-1,1": error'
          " parsing succeededIndexes: non-increasing order, previous: 1, current: 1",
          'spec.successPolicy.rules[2].succeededIndexes: Invalid value: "0-1-2": error'
          ' parsing succeededIndexes: the fragment "0-1-2" violates the requirement that an'
          " index interval can have at most two parts separated by '-'",
          'spec.successPolicy.rules[3].succeededIndexes: Invalid value: "0-3": error parsing'
          ' succeededIndexes: too large index: "3"',
          'spec.successPolicy.rules[4].succeededIndexes: Invalid value: "3-4": error parsing'
          ' succeededIndexes: too large index: "3"',
          'spec.successPolicy.rules[5].succeededIndexes: Invalid value: "2-1": error parsing'
          " succeededIndexes: non-increasing order, previous: 2, current: 1",
          'spec.successPolicy.rules[6].succeededIndexes: Invalid value: "0,0": error parsing'
          " succeededIndexes: non-increasing order, previous: 0, current: 0"]),
        ({"completionMode": "Indexed", "completions": 3000, "successPolicy": {"rules":
         [{"succeededIndexes": "x" * 65536}, {"succeededIndexes": "x" * 65537}]}},
         ['spec.successPolicy.rules[0].succeededIndexes: Invalid value: "xx*65536": error'
          ' parsing succeededIndexes: cannot convert string to integer for index: "xx*65536"',
          "spec.successPolicy.rules[1].succeededIndexes: Too long: may not be more than 65536"
          " bytes",
          'spec.successPolicy.rules[1].succeededIndexes: Invalid value: "xx*65536x": error'
          ' parsing succeededIndexes: cannot convert string to integer for index: "xx*65536x"']),
        ({"completionMode": "Indexed", "completions": 3, "successPolicy": {"rules":
         [{"succeededIndexes": "9" * 5_000}]}},
         ['spec.successPolicy.rules[0].succeededIndexes: Invalid value: "99*5000": error'
          ' parsing succeededIndexes: cannot convert string to integer for index: "99*5000"']),
        ({"completionMode": "Indexed", "completions": 3, "successPolicy": {"rules":
         [{"succeededIndexes": "\u00e9" * 40_000}]}},
         ["spec.successPolicy.rules[0].succeededIndexes: Too long: may not be more than 65536"
          " bytes",
          'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "\u00e9\u00e9*40000": error'
          ' parsing succeededIndexes: cannot convert string to integer for index:'
          ' "\u00e9\u00e9*40000"']),
        ({"managedBy": "a/" + "b" * 61}, []),
        ({"maxFailedIndexes": 1, "backoffLimitPerIndex": 1, "completionMode": "Indexed"}, []),
        (INDEXED | {"backoffLimitPerIndex": 0, "maxFailedIndexes": 0, "parallelism": 0}, []),
        ({"completionMode": "Indexed", "completions": 100000, "backoffLimitPerIndex": 1,
         "maxFailedIndexes": 100000},
         []),
        ({"completionMode": "Indexed", "completions": 100000, "backoffLimitPerIndex": 1}, []),
        ({"completionMode": "Indexed", "completions": 100001}, []),
    ],
)  # fmt: skip
def test_specs(row: Any, expected: list[str]) -> None:
    assert of_spec("Job", row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({},
         ["spec.template.spec.containers: Required value",
          'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure",'
          ' "Never"']),
        ({"metadata": {"name": "a" * 61}, "spec": BASES["Job"] | {"completionMode": "Indexed",
         "completions": 10}},
         []),
        ({"metadata": {"name": "a" * 62}, "spec": BASES["Job"] | {"completionMode": "Indexed",
         "completions": 10}},
         ['metadata.name: Invalid value: "aa*62": will not able to create pod with invalid'
          " DNS label: aa*62-9"]),
        ({"metadata": {"name": "a" * 61}, "spec": BASES["Job"] | {"completionMode": "Indexed",
         "completions": 11}},
         ['metadata.name: Invalid value: "a*61": will not able to create pod with invalid DNS'
          " label: a*61-10"]),
        ({"metadata": {"name": "a" * 63}, "spec": BASES["Job"] | {"completionMode": "Indexed",
         "completions": 0}},
         []),
        ({"metadata": {"uid": "u"}, "spec": BASES["Job"] | with_pod({"d": "e", "a": "b"})},
         ["spec.selector: Required value",
          'spec.template.metadata.labels: Invalid value: {"a":"b","d":"e"}: `selector` does'
          " not match template `labels`"]),
        ({"metadata": {"uid": "u"}, "spec": {"template": {"spec": TEMPLATE["spec"]}}},
         ["spec.selector: Required value",
          "spec.template.metadata.labels: Invalid value: null: `selector` does not match"
          " template `labels`"]),
        ({"metadata": {"uid": "u"}, "spec": BASES["Job"] | {"selector": SELECTOR} |
         with_pod({"d": "e", "a": "b", "job-name": "y"})},
         ["spec.template.metadata.labels[controller-uid]: Required value: must be 'u'",
          "spec.template.metadata.labels[job-name]: Invalid value:"
          " {\"a\":\"b\",\"d\":\"e\",\"job-name\":\"y\"}: must be 'x'",
          "spec.template.metadata.labels[batch.kubernetes.io/controller-uid]: Required value:"
          " must be 'u'",
          "spec.template.metadata.labels[batch.kubernetes.io/job-name]: Required value: must"
          " be 'x'",
          'spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: `selector` not'
          " auto-generated"]),
        ({"metadata": {"uid": "u"}, "spec": BASES["Job"] | {"selector": SELECTOR,
         "manualSelector": True}},
         []),
        ({"spec": BASES["Job"] | {"selector": SELECTOR}}, []),
        ({"metadata": {"name": "a" * 63}, "spec": BASES["Job"] | {"completions": 10}}, []),
        ({"metadata": {"uid": "u"}, "spec": {"selector": SELECTOR, "template": {"spec":
         TEMPLATE["spec"]}}},
         ["spec.template.metadata.labels[controller-uid]: Required value: must be 'u'",
          "spec.template.metadata.labels[job-name]: Required value: must be 'x'",
          "spec.template.metadata.labels[batch.kubernetes.io/controller-uid]: Required value:"
          " must be 'u'",
          "spec.template.metadata.labels[batch.kubernetes.io/job-name]: Required value: must"
          " be 'x'",
          'spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: `selector` not'
          " auto-generated",
          "spec.template.metadata.labels: Invalid value: null: `selector` does not match"
          " template `labels`"]),
        ({"metadata": {"uid": "u"}, "spec": {"selector": {"matchLabels": {"-": "a"}},
         "template": {"spec": TEMPLATE["spec"]}}},
         ["spec.template.metadata.labels[controller-uid]: Required value: must be 'u'",
          "spec.template.metadata.labels[job-name]: Required value: must be 'x'",
          "spec.template.metadata.labels[batch.kubernetes.io/controller-uid]: Required value:"
          " must be 'u'",
          "spec.template.metadata.labels[batch.kubernetes.io/job-name]: Required value: must"
          " be 'x'",
          'spec.selector.matchLabels: Invalid value: "-": NAME PART']),
    ],
)  # fmt: skip
def test_new_jobs(row: Any, expected: list[str]) -> None:
    assert of_new("Job", row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (({}, {}), []),
        (({"selector": {"matchLabels": {"a": "c"}}}, {}),
         ["spec.template.metadata.labels: `selector` does not match template `labels`",
          "spec.template.metadata.labels: `selector` does not match template `labels`",
          "spec.selector: field is immutable"]),
        (({"selector": None}, {}),
         ["spec.selector: Required value",
          "spec.template.metadata.labels: `selector` does not match template `labels`",
          "spec.selector: Required value",
          "spec.template.metadata.labels: `selector` does not match template `labels`",
          "spec.selector: field is immutable"]),
        (({"parallelism": -1}, {}),
         ["spec.parallelism: must be greater than or equal to 0",
          "spec.parallelism: must be greater than or equal to 0",
          "spec.completions: field is immutable"]),
        ((with_pod(nodeSelector={"a": "b"}), {}), []),
        ((with_pod(nodeSelector={"a": "b"}), {"suspend": False}),
         ["spec.template: field is immutable"]),
        ((with_pod(nodeSelector={"a": "b"}), {}, {"startTime": "2026-01-01T00:00:00Z"}),
         ["spec.template: field is immutable"]),
        ((with_pod(nodeSelector={"a": "b"}), {}, SUSPENDED | {"startTime":
         "2026-01-01T00:00:00Z"}),
         []),
        ((with_pod(nodeSelector={"a": "b"}), {}, SUSPENDED | {"active": 1, "startTime":
         "2026-01-01T00:00:00Z"}),
         ["spec.template: field is immutable"]),
        ((with_pod(nodeSelector={"a": "b"}), {}, {"startTime": "2026-01-01T00:00:00Z",
         "conditions": [{"type": "Suspended", "status": "False"}]}),
         ["spec.template: field is immutable"]),
        ((with_pod(tolerations=[{"operator": "Exists"}], schedulingGates=[{"name": "a"}]), {}),
         []),
        ((with_pod({"a": "b", "c": "d"}), {}), []),
        (({"template": TEMPLATE | {"metadata": TEMPLATE["metadata"] | {"annotations": {"c":
         "d"}}}}, {}),
         []),
        (({}, with_pod({"a": "b", "c": "d"})), []),
        (({"template": TEMPLATE | {"metadata": TEMPLATE["metadata"] | {"name": "c"}}}, {}), []),
        (({}, {"template": TEMPLATE | {"metadata": TEMPLATE["metadata"] | {"name": "c"}}}), []),
        (({"template": TEMPLATE | {"metadata": TEMPLATE["metadata"] | {"name": "c"}}}, {},
         {"active": 1}),
         ["spec.template: field is immutable"]),
        ((with_pod(priorityClassName="p"), {}), ["spec.template.spec: field is immutable"]),
        ((with_pod(affinity=NODES), {}), []),
        ((with_pod(affinity=NODES), with_pod(affinity=PODS)),
         ["spec.template.spec: field is immutable"]),
        ((with_pod(affinity=NODES | PODS), with_pod(affinity=PODS)), []),
        ((with_pod(affinity=PODS), with_pod(affinity=NODES | PODS)), []),
        ((with_pod(affinity=PODS), {}), ["spec.template.spec: field is immutable"]),
        (({}, with_pod(affinity=NODES)), []),
        (({}, with_pod(affinity=PODS)), ["spec.template.spec: field is immutable"]),
        ((with_pod(containers=[container("c", "2")]), with_pod(containers=[container("c",
         "1")])),
         []),
        ((with_pod(containers=[container("c", "2")]), with_pod(containers=[container("c",
         "1")]), {"startTime": "2026-01-01T00:00:00Z"}),
         ["spec.template: field is immutable"]),
        ((with_pod(containers=[container("c", "2")]), with_pod(containers=[container("c",
         "1")]), SUSPENDED),
         []),
        ((with_pod(containers=[container("d", "2")]), with_pod(containers=[container("c",
         "1")]), SUSPENDED),
         ["spec.template.spec: field is immutable"]),
        ((with_pod(containers=[container("c", "2", image="b")]),
         with_pod(containers=[container("c", "1")]), SUSPENDED),
         ["spec.template.spec: field is immutable"]),
        ((with_pod(containers=[container("c", "2"), container("d", "1")]),
         with_pod(containers=[container("c", "1")]), SUSPENDED),
         ["spec.template.spec: field is immutable"]),
        ((with_pod(initContainers=[container("i", "2")]),
         with_pod(initContainers=[container("i", "1")]), SUSPENDED),
         []),
        ((with_pod(initContainers=[container("i", "2")]), {}, SUSPENDED),
         ["spec.template.spec: field is immutable"]),
        ((with_pod({"a": "b", "c": "d"}, nodeSelector={"a": "b"}), {}, SUSPENDED), []),
        (({"completions": 2}, {}), ["spec.completions: field is immutable"]),
        (({"completionMode": "Indexed", "completions": 2, "parallelism": 2}, INDEXED), []),
        (({"completionMode": "Indexed", "completions": 2, "parallelism": 1}, INDEXED),
         ["spec.completions: can only be modified in tandem with spec.parallelism"]),
        (({"completionMode": "Indexed", "completions": 3, "parallelism": 1}, INDEXED), []),
    ],
)  # fmt: skip
def test_changed_jobs(row: Any, expected: list[str]) -> None:
    assert changed(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({},
         ["spec.schedule: Required value",
          "spec.jobTemplate.spec.template.spec.containers: Required value",
          "spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values:"
          ' "OnFailure", "Never"']),
        ({"metadata": {"name": "a" * 52}} | cron("* * * * *"), []),
        ({"metadata": {"name": "a" * 53}} | cron("* * * * *"),
         ['metadata.name: Invalid value: "a*53": must be no more than 52 characters']),
        (cron("* * * *"),
         ['spec.schedule: Invalid value: "* * * *": expected exactly 5 fields, found 4: [* *'
          " * *]"]),
        (cron("TZ=UTC   1 * * * * "),
         ['spec.schedule: Invalid value: "TZ=UTC   1 * * * * ": cannot use TZ or CRON_TZ in'
          " schedule, use timeZone field instead"]),
        (cron("CRON_TZ=x * * * * *"),
         ['spec.schedule: Invalid value: "CRON_TZ=x * * * * *": provided bad location x:'
          " unknown time zone x",
          'spec.schedule: Invalid value: "CRON_TZ=x * * * * *": cannot use TZ or CRON_TZ in'
          " schedule, use timeZone field instead"]),
        (cron("@every 1h", timeZone=""),
         ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string']),
        (cron("@hourly", timeZone="Europe/Berlin"), []),
        (cron("@hourly", timeZone="Local"),
         ['spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as'
          " defined in https://www.iana.org/time-zones"]),
        (cron("@hourly", timeZone="local"),
         ['spec.timeZone: Invalid value: "local": timeZone must be an explicit time zone as'
          " defined in https://www.iana.org/time-zones",
          'spec.timeZone: Invalid value: "local": unknown time zone local']),
        (cron("@hourly", timeZone="a/../b"),
         ['spec.timeZone: Invalid value: "a/../b": unknown time zone a/../b']),
        (cron("@hourly", timeZone="a//b"),
         ['spec.timeZone: Invalid value: "a//b": unknown time zone a//b']),
        (cron("@hourly", timeZone="-a"),
         ['spec.timeZone: Invalid value: "-a": unknown time zone -a']),
        (cron("@hourly", timeZone="./a"),
         ['spec.timeZone: Invalid value: "./a": unknown time zone ./a']),
        (cron("@hourly", timeZone="Abcdefghijklmno"),
         ['spec.timeZone: Invalid value: "Abcdefghijklmno": unknown time zone Abcdefghijklmno']),
        (cron("@hourly", timeZone="Abcdefghijklmn"),
         ['spec.timeZone: Invalid value: "Abcdefghijklmn": unknown time zone Abcdefghijklmn']),
        (cron("@hourly", timeZone="Etc/GMT+1"), []),
        (cron("@hourly", concurrencyPolicy="x", startingDeadlineSeconds=-1,
         successfulJobsHistoryLimit=-1, failedJobsHistoryLimit=-1),
         ["spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to"
          " 0",
          'spec.concurrencyPolicy: Unsupported value: "x": supported values: "Allow",'
          ' "Forbid", "Replace"',
          "spec.successfulJobsHistoryLimit: Invalid value: -1: must be greater than or equal"
          " to 0",
          "spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0"]),
        (cron("@hourly", concurrencyPolicy="", startingDeadlineSeconds=0,
         successfulJobsHistoryLimit=0, failedJobsHistoryLimit=0),
         []),
        (cron("@hourly", {"selector": SELECTOR, "manualSelector": True, "parallelism": -1}),
         ["spec.jobTemplate.spec.parallelism: Invalid value: -1: must be greater than or"
          " equal to 0",
          'spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"a":"b"}}:'
          " `selector` will be auto-generated",
          "spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values:"
          ' "nil", "false"']),
        (cron("@hourly", {"manualSelector": False}), []),
    ],
)  # fmt: skip
def test_cron_jobs(row: Any, expected: list[str]) -> None:
    assert of_new("CronJob", row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (({}, {}),
         ["spec.schedule: Required value",
          "spec.jobTemplate.spec.template.spec.containers: Required value",
          "spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values:"
          ' "OnFailure", "Never"']),
        ((cron("1 * * * *"), cron("2 * * * *")), []),
        (({"metadata": {"name": "a" * 53}} | cron("@hourly"), {"metadata": {"name": "a" * 53}}
         | cron("@hourly")),
         []),
        ((cron("TZ=UTC 1 * * * *"), cron("2 * * * *")),
         ['spec.schedule: Invalid value: "TZ=UTC 1 * * * *": cannot use TZ or CRON_TZ in'
          " schedule, use timeZone field instead"]),
        ((cron("TZ=UTC 1 * * * *"), cron("TZ=UTC 2 * * * *")), []),
        ((cron("TZ=UTC 1 * * * *", timeZone="UTC"), cron("TZ=UTC 2 * * * *", timeZone="UTC")),
         ['spec.schedule: Invalid value: "TZ=UTC 1 * * * *": cannot use both timeZone field'
          " and TZ or CRON_TZ in schedule"]),
        ((cron("@hourly", timeZone="x"), cron("@hourly", timeZone="x")), []),
        ((cron("@hourly", timeZone="x"), cron("@hourly")),
         ['spec.timeZone: Invalid value: "x": unknown time zone x']),
        ((cron("@hourly"), cron("@hourly", timeZone="x")), []),
    ],
)  # fmt: skip
def test_changed_cron_jobs(row: Any, expected: list[str]) -> None:
    assert of_update("CronJob", *row) == expected

"""What the formats of the cases allow, and no recorded case has."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

from podwright.testing.parity import FamilyReport, check_cases
from podwright.testing.parity.tests.test_wrong_values import FILES

Case = dict[str, Any]


def recorded(family: str) -> Iterator[Case]:
    with gzip.open(FILES[family], "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def report_of(case: Case) -> FamilyReport:
    reports: dict[str, FamilyReport] = {}
    check_cases([case], reports)
    return reports[case["family"]]


def differences(case: Case) -> list[str]:
    return [wrong.field for wrong in report_of(case).mismatches]


def failing_priority() -> Case:
    """Return a case of classic_prioritize in which a priority fails."""
    name = "NodeAffinityPriority"
    case = next(
        case
        for case in recorded("classic_priorities")
        if "error" in case["expect"]["priorities"][name]
    )
    policy = {"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": name, "weight": 1}]}
    fields = {"family": "classic_prioritize", "policy": policy, "draws": []}
    return case | fields | {"expect": {"error": "of any text"}}


def test_an_error_of_prioritizing_agrees_with_any_text() -> None:
    case = failing_priority()
    assert differences(case) == []
    assert differences(case | {"expect": {"order": []}}) == ["error"]


def test_required_affinity_of_placed_pods_weighs_1_unless_a_case_sets_it() -> None:
    name = "hard_pod_affinity_symmetric_weight"
    unset = [case for case in recorded("classic_priorities") if name not in case]
    assert any(differences(case | {name: 0}) and not differences(case) for case in unset)


@pytest.mark.parametrize("form", ["Nodes", "NodeNames"])
def test_the_nodes_of_a_request_to_an_extender_have_no_order(form: str) -> None:
    def lists(case: Case) -> list[list[Any]]:
        bodies = [request["body"] for request in case["expect"]["requests"]]
        given = [body.get(form) or [] for body in bodies]
        return [each["items"] if isinstance(each, dict) else each for each in given]

    case = next(case for case in recorded("extenders") if any(each[1:] for each in lists(case)))
    for each in lists(case):
        each.reverse()
    assert differences(case) == []


@pytest.mark.parametrize("failure", ["delay_ms", "drop"])
def test_a_reply_of_an_extender_that_does_not_arrive_is_an_error(failure: str) -> None:
    def failing(case: Case) -> list[dict[str, Any]]:
        replies = [reply for each in case["extenders_behaviour"] for reply in each.values()]
        return [reply for reply in replies if failure in reply]

    cases = [case for case in recorded("extenders") if failing(case) and "error" in case["expect"]]
    found = []
    for case in sorted(cases, key=lambda case: len(json.dumps(case)))[:8]:
        assert differences(case) == []
        for reply in failing(case):
            del reply[failure]
        found += differences(case)
    assert "error" in found


def test_a_gate_that_the_recorder_did_not_pass_is_left_out() -> None:
    given = (each for each in recorded("config") if each["gates"] == "NoSuchGate=true")
    (case,) = (each for each in given if each["accepted"])
    report = report_of(case)
    assert (report.cases, report.left_out.total(), report.mismatches) == (0, 1, [])
    refused = case | {"accepted": False, "error": "unrecognized feature gate: NoSuchGate"}
    report = report_of(refused)
    assert (report.cases, report.left_out.total(), report.mismatches) == (1, 0, [])


@pytest.mark.parametrize(
    ("value", "fields"),
    [("A=x", []), ("B=y", []), ("A=x, B=y", ["error"]), ("C=z", ["error"])],
)
def test_one_of_several_malformed_values_of_gates_is_what_was_recorded(
    value: str, fields: list[str]
) -> None:
    error = f'strconv.ParseBool: parsing "{value[-1]}": invalid syntax'
    case = {"id": "x", "family": "config", "file": "", "gates": "A=x,B=y", "accepted": False}
    assert differences(case | {"error": f"invalid value of {value}, err: {error}"}) == fields


@pytest.mark.parametrize(
    "family", ["classic_node_tree", "classic_queue", "cycle", "dra_sequence", "queue"]
)
def test_an_unknown_operation_ends_the_case(family: str) -> None:
    case = next(recorded(family))
    steps = "tree_steps" if family == "classic_node_tree" else "steps"
    case[steps][-1]["op"] = "unknown"
    assert "the check failed" in differences(case)


@pytest.mark.parametrize(
    ("file", "actual"),
    [
        pytest.param(
            "", "must be a KubeSchedulerConfiguration, not an empty document", id="no path"
        ),
        pytest.param(
            "kind: KubeSchedulerConfiguration",
            'apiVersion: Required value: must be "kubescheduler.config.k8s.io/v1"',
            id="a path",
        ),
        pytest.param(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
            "parallelism: 0\npercentageOfNodesToScore: 101",
            "[parallelism: Invalid value: 0: should be an integer value greater than zero,"
            " percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]]",
            id="of validation",
        ),
    ],
)
def test_an_error_that_differs_is_shown_as_kube_scheduler_would_write_it(
    file: str, actual: str
) -> None:
    case = {"id": "x", "family": "config", "file": file, "gates": "", "accepted": False}
    (wrong,) = report_of(case | {"error": "another one"}).mismatches
    assert (wrong.field, wrong.expected, wrong.actual) == ("error", "another one", actual)


def test_the_calls_of_an_event_have_no_order() -> None:
    case = next(each for each in recorded("classic_events") if each["expect"]["calls"][1:])
    case["expect"]["calls"].reverse()
    assert differences(case) == []


def test_a_pod_without_requests_is_scored_with_none() -> None:
    forms = ("score_fit", "score_balanced")
    case = min(
        (each for each in recorded("pod_requests") if 0 in each["expect"][forms[1]].values()),
        key=lambda each: len(json.dumps(each)),
    )
    assert differences(case) == []


def test_the_requests_that_the_scheduler_counts_are_compared() -> None:
    requests = {"cpu": "0", "memory": "1Ki", "storage": "1Gi", "example.com/gpu": "2"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}}
    counted = {"memory": 1024, "example.com/gpu": 2}
    case = {
        "id": "x", "family": "pod_requests", "pod": pod | {"spec": {"containers": [container]}},
        "expect": {"assigned": counted, "filter": counted},
    }  # fmt: skip
    assert not {"assigned", "filter"} & set(differences(case))

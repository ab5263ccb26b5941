"""Specs are divided without loss, and results are read and kept."""

from __future__ import annotations

import json
import re

import pytest
from tests.e2e_real.conformance.results import ResultsFile, source_digest
from tests.e2e_real.conformance.specs import (
    EXCLUDED,
    PASSED,
    batches,
    count_by_area,
    focus,
    is_conformance,
    is_serial,
    read_names,
    write_names,
)
from tests.e2e_real.conformance.suite import Result, results
from tests.test_docs import read

CLAIM = "[sig-api-machinery] ResourceQuota should capture the life of a claim"


def test_the_required_names_are_those_of_the_reference_run():
    names = read_names()
    assert sum(map(is_conformance, names)) == 225
    assert len(names) == 225 + 131 == len(set(names))
    assert names == sorted(names)
    assert sum(map(is_serial, names)) == 27


def test_what_does_not_pass_is_excluded_with_a_reason():
    assert len(EXCLUDED) <= 3
    required, passed = set(read_names()), read_names(PASSED)
    assert passed == sorted(set(passed))
    assert required >= {*passed, *EXCLUDED}
    assert {name for name in required if is_conformance(name)} <= set(passed)
    page = read("docs/explanation/conformance.md")
    for name in EXCLUDED:
        assert f"| {name} | " in page


def test_the_focus_matches_these_names_only():
    names = read_names()
    for name in names:
        text = f"Kubernetes e2e suite {name}"
        assert [each for each in names if re.search(focus([each]), text)] == [name]
    assert re.search(focus([CLAIM]), CLAIM)
    assert not re.search(focus([CLAIM]), f"{CLAIM} with a storage class")


@pytest.mark.parametrize("size", [1, 8])
def test_each_name_is_in_one_batch(size):
    names = read_names()
    found = batches(names, {names[7]: 400.0, names[9]: 90.0}, size=size)
    assert sorted(name for batch in found for name in batch) == names
    assert max(map(len, found)) == size
    assert found[0] == (names[7],), "the longest is first, and alone"
    slow = [each for each in names if "[Slow]" in each and each != names[7]]
    assert {batch[0] for batch in found[1 : 1 + len(slow)]} == set(slow)
    assert found[1 + len(slow)] == (names[9],)


def test_areas_are_counted():
    assert count_by_area(["[sig-node] b", "[sig-apps] a", "[sig-node] c"]) == {
        "sig-apps": 1,
        "sig-node": 2,
    }


def spec(text, state, message="", *, kind="It", containers=("[sig-node] Pods",)):
    location = {"FileName": "/go/test/e2e/pods.go", "LineNumber": 7}
    return {
        "ContainerHierarchyTexts": containers,
        "LeafNodeType": kind,
        "LeafNodeText": text,
        "State": state,
        "RunTime": 1_500_000_000,
        "Failure": {"Message": message, "Location": location} if message else {},
    }


def test_a_report_is_read():
    report = [
        {
            "SuiteDescription": "Kubernetes e2e suite",
            "SpecReports": [
                spec("", "passed", kind="SynchronizedBeforeSuite", containers=None),
                spec("runs", "passed"),
                spec("ends", "timedout", " A spec timeout occurred\n"),
                spec("mounts", "skipped", "no volumes"),
                spec("is not in focus", "skipped"),
            ],
        }
    ]
    found = results(json.dumps(report).encode(), "digest")
    assert list(found.values()) == [
        Result("[sig-node] Pods runs", "passed", 1.5, "", "digest"),
        Result(
            "[sig-node] Pods ends", "failed", 1.5, "A spec timeout occurred (pods.go:7)", "digest"
        ),
        Result("[sig-node] Pods mounts", "skipped", 1.5, "no volumes (pods.go:7)", "digest"),
    ]


def test_results_are_kept_and_the_last_one_counts(tmp_path):
    path = tmp_path / "kept" / "results.jsonl"
    first = ResultsFile(path)
    first.add([Result("a", "failed", 3.0, "why", "old"), Result("b", "passed", 2.0, "", "old")])
    first.add([Result("a", "passed", 1.0, "", "new")])
    again = ResultsFile(path)
    names = ["a", "b", "c"]
    assert again.passed(names) == ["a", "b"]
    assert again.missing(names, source="new") == ["b", "c"]
    assert again.seconds == {"a": 1.0, "b": 2.0}


def test_the_digest_is_that_of_the_code_without_its_tests(tmp_path):
    (tmp_path / "tests").mkdir()
    module, test = tmp_path / "a.py", tmp_path / "tests" / "test_a.py"
    module.write_text("a = 1\n")
    test.write_text("")
    before = source_digest(tmp_path)
    test.write_text("assert True\n")
    assert source_digest(tmp_path) == before
    module.write_text("a = 2\n")
    assert source_digest(tmp_path) != before


def test_names_are_written_sorted(tmp_path):
    path = tmp_path / "names.txt"
    write_names(path, ["b", "a"])
    assert path.read_text() == "a\nb\n"
    assert read_names(path) == ["a", "b"]

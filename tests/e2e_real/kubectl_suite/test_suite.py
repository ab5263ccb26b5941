"""What counts as a difference of two runs, and what a run may not hide."""

from __future__ import annotations

import tomllib
from typing import cast

import pytest
from tests.e2e_real.kubectl_suite import __main__ as program
from tests.e2e_real.kubectl_suite.suite import Outcome, Suite, differences

SAME = Outcome(passed_count=3, failed=frozenset())


class Answers:
    """A cluster on which each function has a known outcome."""

    def __init__(self, **outcomes: Outcome) -> None:
        self._outcomes = outcomes

    def run(self, name: str) -> Outcome:
        return self._outcomes.get(name, SAME)


def failing(*places: str) -> Outcome:
    return Outcome(passed_count=1, failed=frozenset(places))


def test_a_command_that_fails_on_both_is_not_a_difference():
    ours, theirs = failing("a.sh:1", "a.sh:2"), failing("a.sh:2", "a.sh:3")
    found = [("a.sh:1", "here"), ("a.sh:3", "upstream")]
    assert list(differences(ours, theirs, ())) == found
    assert list(differences(ours, theirs, {"a.sh:1": "why"})) == found[1:]


@pytest.mark.parametrize(
    ("ours", "theirs", "known", "printed"),
    [
        (SAME, SAME, {}, ""),
        (failing("a:1"), SAME, {}, "run_a: a:1 fails here only"),
        (SAME, failing("a:1"), {}, "run_a: a:1 fails upstream only"),
        (failing("a:1"), SAME, {"run_a": {"a:1": "why"}}, ""),
        (SAME, SAME, {"run_a": {"a:1": "why"}}, "run_a: a:1 is equal now"),
        (failing("a:1"), failing("a:1"), {"run_a": {"a:1": "why"}}, "run_a: a:1 is equal now"),
        (
            SAME,
            Outcome(passed_count=4, failed=frozenset()),
            {},
            "run_a: another number of assertions passed, without a failure",
        ),
        (SAME, SAME, {"run_b": {"b:1": "why"}}, "run_b is not a function"),
        (Outcome(passed_count=0, failed=frozenset()), SAME, {}, "no assertion passed"),
    ],
)
def test_each_difference_has_a_reason_and_each_reason_a_difference(
    ours: Outcome,
    theirs: Outcome,
    known: dict[str, dict[str, str]],
    printed: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    here, real = cast(Suite, Answers(run_a=ours)), cast(Suite, Answers(run_a=theirs))
    status = program.compare(here, real, ["run_a"], known, is_whole=True)
    assert status == (1 if printed else 0)
    assert capsys.readouterr().out.splitlines()[-1].endswith(printed or "on podwright up")


def test_an_unknown_function_is_only_missed_by_a_whole_run() -> None:
    suite = cast(Suite, Answers())
    known = {"run_b": {"b:1": "why"}}
    assert program.compare(suite, suite, ["run_a"], known, is_whole=False) == 0


def test_reasons_are_sentences() -> None:
    known = tomllib.loads(program.KNOWN.read_text(encoding="utf-8"))
    reasons = [reason for rows in known.values() for reason in rows.values()]
    assert all(len(each) > 20 and each[0].isupper() for each in reasons)

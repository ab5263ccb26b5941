"""Which kinds the types of a policy are checked for, and what is written about them.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/typechecking.go
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.apimachinery.cel.uses.admission_policies import MatchedKind
from podwright.cluster.controllers.policies.type_checking import PolicyTypeController
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import document

COUNTED = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"count": {"type": "integer"}}}},
}


class Source:
    """Serves kinds of any group and version; the requests are recorded."""

    def __init__(self, schema: Any = COUNTED, kinds: int = 1) -> None:
        self.requests: list[tuple[str, ...]] = []
        self.schema = schema
        self.count = kinds

    def kinds_of(self, group: str, version: str, resource: str) -> list[MatchedKind]:
        self.requests.append((group, version, resource))
        return [
            MatchedKind(group, version, f"{resource.title()}{number}", self.schema)
            for number in range(self.count)
        ]

    def kind(self, group: str, version: str, kind: str) -> MatchedKind:
        self.requests.append((group, version, f"={kind}"))
        return MatchedKind(group, version, kind, None)


def a_rule(resources: Any = ("pods",), groups: Any = ("apps",), versions: Any = ("v1",)) -> Any:
    return {"apiGroups": groups, "apiVersions": versions, "resources": resources}


def a_policy(*rules: Any, generation: int | None = 2, status: Any = None, **spec: Any) -> Any:
    constraints = {"resourceRules": list(rules)} if rules else {}
    validations = [{"expression": "object.spec.count == 'x'"}]
    return document(
        "ValidatingAdmissionPolicy", "p", api="admissionregistration.k8s.io/v1",
        metadata={} if generation is None else {"generation": generation},
        spec={"matchConstraints": constraints, "validations": validations, **spec},
        status=status or {},
    )  # fmt: skip


def checked(source: Source, policy: Any) -> list[str]:
    bench = SingleSync(lambda lister: PolicyTypeController(lister, source))
    assert bench.put(policy) == ["p"]
    return bench.sync("p")


@pytest.mark.parametrize(
    ("rules", "requests"),
    [
        pytest.param([a_rule()], [("apps", "v1", "pods")], id="one"),
        pytest.param(
            [a_rule(["b", "a"], ["y", "x"], ["v2", "v1"])],
            [(group, version, name) for group in "xy" for version in ("v1", "v2") for name in "ab"],
            id="all combinations in order",
        ),
        pytest.param([a_rule(["pods", "pods/status", "*", "*/scale"])], [("apps", "v1", "pods")],
                     id="no wildcards and no subresources"),
        pytest.param([a_rule(groups=["*"])], [], id="all groups"),
        pytest.param([a_rule(versions=["v1", "*"])], [], id="all versions"),
        pytest.param([a_rule(groups=["*"]), a_rule(["x"])], [("apps", "v1", "x")],
                     id="the next rule"),
        pytest.param([{}], [], id="an empty rule"),
        pytest.param([], [], id="no rule"),
    ],
)  # fmt: skip
def test_the_kinds_of_rules_are_looked_up(rules, requests) -> None:
    source = Source()
    checked(source, a_policy(*rules))
    assert source.requests == requests


def test_the_warnings_of_a_generation_are_written_once() -> None:
    (write,) = checked(Source(), a_policy(a_rule(["b", "a"])))
    head = "update ValidatingAdmissionPolicy p status: status.observedGeneration=2"
    assert write.startswith(head)
    (found,) = json.loads(write.partition("expressionWarnings=")[2])
    assert found["fieldRef"] == "spec.validations[0].expression"
    places = [line for line in found["warning"].splitlines() if line.startswith("apps/v1, Kind=")]
    assert [each.partition(":")[0] for each in places] == [
        "apps/v1, Kind=A0", "apps/v1, Kind=B0",
    ]  # fmt: skip
    assert "found no matching overload for '_==_' applied to '(int, string)'" in found["warning"]
    sound = a_policy(a_rule(), validations=[{"expression": "object.spec.count == 3"}])
    nothing = "update ValidatingAdmissionPolicy p status: status.observedGeneration=2"
    assert checked(Source(), sound) == [nothing]
    for generation, observed, is_checked in (
        (2, {}, True), (2, {"observedGeneration": 1}, True), (2, {"observedGeneration": 2}, False),
        (2, {"observedGeneration": 3}, False), (None, {}, False), (1, {}, True),
    ):  # fmt: skip
        policy = a_policy(a_rule(), generation=generation, status=observed)
        assert bool(checked(Source(), policy)) is is_checked, (generation, observed)


def test_at_most_ten_kinds_of_a_rule_are_checked() -> None:
    source = Source(kinds=6)
    (write,) = checked(source, a_policy(a_rule(["a", "b", "c"]), a_rule(["d"])))
    (found,) = json.loads(write.partition("expressionWarnings=")[2])
    kinds = [line.partition(":")[0].rpartition("=")[2] for line in found["warning"].splitlines()
             if "Kind=" in line]  # fmt: skip
    assert kinds == [*(f"A{n}" for n in range(6)), *(f"B{n}" for n in range(4))]
    assert source.requests == [("apps", "v1", "a"), ("apps", "v1", "b")]
    # One kind that several rules name is checked once.
    (write,) = checked(Source(), a_policy(a_rule(), a_rule()))
    assert json.loads(write.partition("expressionWarnings=")[2])[0]["warning"].count("Kind=") == 1


def test_the_kind_of_the_parameters_is_looked_up() -> None:
    for version, group_version in (("apps/v1", ("apps", "v1")), ("v1", ("", "v1"))):
        source = Source()
        checked(source, a_policy(paramKind={"apiVersion": version, "kind": "Limit"}))
        assert source.requests == [(*group_version, "=Limit")]
    for given, request in (
        ({"apiVersion": "apps/v1"}, ("apps", "v1", "=")),
        ({"apiVersion": None, "kind": None}, ("", "", "=")),
        ({}, ("", "", "=")),
        ({"kind": "Limit"}, ("", "", "=Limit")),
    ):
        source = Source()
        checked(source, a_policy(paramKind=given))
        assert source.requests == [request]
    bench = SingleSync(lambda lister: PolicyTypeController(lister, Source()), a_policy())
    assert bench.remove(a_policy()) == []
    assert bench.sync("p") == []

"""What a comparison reports, and how values are shown."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import pytest

from podwright.online.client import SyncPolicies
from podwright.online.client.cluster import ReadConnection, RejectedRequest
from podwright.online.sync import check
from podwright.online.sync.check import Checked, check_target, value_text
from podwright.online.sync.operations import (
    AllocateClaim,
    AllocateExtended,
    BindPod,
    Create,
    Delete,
    Settle,
)
from podwright.online.sync.settlement import Difference, ObjectDifference, Settlement
from podwright.online.sync.source import Scope
from podwright.online.sync.source_kinds import source_kinds
from podwright.online.sync.target import Target
from podwright.online.sync.tests.served_cluster import ServedCluster, node, pod
from podwright.online.sync.tests.source_changes import KINDS

WORKLOADS = {kind.resource: kind for kind in source_kinds(has_workloads=True)}


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "<none>"), ("a", "a"), ("", ""), (7, "7"), ({"a": [1]}, '{"a":[1]}'), (False, "false")],
)
def test_values_are_shown_as_json_and_texts_as_they_are(value, text):
    assert value_text(value) == text


def test_differences_without_a_policy_are_unexplained():
    kind = KINDS["pods"]
    found = [ObjectDifference(kind, "a", Difference("", 1, 2, policy)) for policy in ("", "x", "")]
    assert Checked(1, [], found, []).unexplained == 2


class Compared:
    """A target that returns one comparison."""

    def __init__(self, found: Any) -> None:
        self.found = found

    async def compare(self, _: Settle) -> Any:
        return self.found


POD, CLAIM = KINDS["pods"], KINDS["resourceclaims"]
ONE, OTHER = Difference("spec.a", 1, 2), Difference("spec.b", 1, 2, "x")
FOREIGN = "another object of this name, which sync has not created"
DEVICES = Difference("status", "devices are allocated", None)


@pytest.mark.parametrize(
    ("operation", "is_there", "expected"),
    [
        pytest.param(Delete(POD, "a/p"), True, [Difference("", None, "is there")], id="extra"),
        pytest.param(Create(POD, "a/p", {}), False, [Difference("", "is there", None)],
                     id="absent"),
        pytest.param(Create(POD, "a/p", {}), True, [Difference("", "is there", FOREIGN)],
                     id="another object"),
        pytest.param(BindPod(POD, "a/p", "n1"), True, [Difference("spec.nodeName", "n1", None)],
                     id="not bound"),
        pytest.param(Settle(POD, "a/p", {}), True, [ONE, OTHER], id="fields"),
        pytest.param(AllocateClaim(CLAIM, "a/c", {}, "p", "n", "e"), True, [DEVICES],
                     id="devices of a claim"),
        pytest.param(AllocateExtended(CLAIM, "a/c", {}, "p", "n", {}), True, [DEVICES],
                     id="devices of a pod"),
    ],
)  # fmt: skip
def test_each_operation_that_is_missing_is_a_difference(operation, is_there, expected):
    target: Any = Compared(({}, Settlement({}, [ONE], [OTHER])))
    found = asyncio.run(check._of_operation(target, operation, is_there=is_there))
    assert list(found) == expected


def test_what_is_created_before_has_no_fields_to_compare():
    target: Any = Compared(None)
    settle = Settle(POD, "a/p", {})
    assert list(asyncio.run(check._of_operation(target, settle, is_there=False))) == []


def test_a_comparison_names_what_is_missing_and_changes_nothing():
    source, here = ServedCluster(1), ServedCluster(2)
    source.create(node("n1"), node("n2"), pod("a"))
    here.create(node("n2"), node("own"))
    source.fail("runtimeclasses", 403, times=9)
    kinds = [WORKLOADS[name] for name in ("nodes", "runtimeclasses", "services", "pods")]

    async def run() -> Checked:
        async with (
            source.serve() as address, ReadConnection(address) as connection,
            here.serve() as there, Target(there, "here") as target,
        ):  # fmt: skip
            return await check_target(connection, target, Scope(kinds=kinds), SyncPolicies())

    found = asyncio.run(run())
    counts = [(each.kind, each.source, each.here) for each in found.kinds]
    assert counts == [("nodes", 2, 2), ("pods", 1, 0)]
    assert found.compared == 3
    assert [(each.kind.name, each.key, each.difference.here) for each in found.found] == [
        ("nodes", "n1", None), ("nodes", "n2", FOREIGN), ("pods", "default/a", None)
    ]  # fmt: skip
    assert found.unexplained == 3
    assert len(found.warnings) == 1
    assert not [each for each in here.requests if not each.startswith("GET")]


@pytest.mark.parametrize("status", [404, 403])
def test_a_kind_that_the_destination_does_not_serve_has_no_objects_there(status):
    here = ServedCluster(2)
    here.create(node("n1"))
    here.fail("/nodes", status)

    async def run() -> tuple[dict[str, bytes], dict[str, bytes]]:
        async with here.serve() as there, Target(there, "here") as target:
            first = await target.objects(KINDS["nodes"])
            return first, await target.objects(KINDS["nodes"])

    if status == HTTPStatus.NOT_FOUND:
        assert [[*each] for each in asyncio.run(run())] == [[], ["n1"]]
    else:
        with pytest.raises(RejectedRequest):
            asyncio.run(run())

"""What the controller of stateful sets requests in one sync, by upstream's rules, in tables.

Upstream: pkg/controller/statefulset/stateful_set_control.go
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.controllers.apps.controller_revisions import (
    RevisionNaming,
    Revisions,
    data_of,
    go_json,
    number_of,
    revision_hash,
    template_patch,
    with_nulls,
)
from podwright.cluster.controllers.apps.stateful_pods import stateful_claim, stateful_spec
from podwright.cluster.controllers.apps.stateful_set import StatefulSetController
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import at, document

LABELS = {"app": "db"}
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": LABELS},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
OWNER = {
    "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "su", "controller": True,
}  # fmt: skip


def a_set(status: Any = None, *, gone: bool = False, **spec: Any) -> Any:
    metadata: dict[str, Any] = {"uid": "su", "generation": 3}
    metadata |= {"deletionTimestamp": at(0), "finalizers": ["x"]} if gone else {}
    spec = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE, "replicas": 3} | spec
    return document(
        "StatefulSet", "db", api="apps/v1", namespace="shop", metadata=metadata, spec=spec,
        status=status or {},
    )  # fmt: skip


def revision(name: str, number: int, image: str = "", **metadata: Any) -> Any:
    """Return a revision; without an image it is that of the template."""
    template = TEMPLATE
    if image:
        containers = [{"name": "c", "image": image}]
        template = TEMPLATE | {"spec": {"containers": containers}}
    data = {"spec": {"template": {**template, "$patch": "replace"}}}
    metadata = {"uid": f"{name}-uid", "ownerReferences": [OWNER]} | metadata
    return document(
        "ControllerRevision", name, api="apps/v1", namespace="shop", metadata=metadata,
        data=data, revision=number,
    )  # fmt: skip


REVISIONS = [revision("db-old", 1, "old"), revision("db-new", 2)]


def pods(text: str) -> list[Any]:
    """Return the pods of a text such as `0 1/old 2/Pending/gone`: by ordinal, ready and new.

    Its marks are `old`, `unready`, `late` (ready since the start), `gone` and a phase.
    """
    return [_pod(each) for each in text.split()]


def _pod(text: str) -> Any:
    ordinal, *marks = text.split("/")
    phase = next((each for each in marks if each[0].isupper()), "Running")
    name = f"db-{ordinal}"
    labels = LABELS | {
        "controller-revision-hash": "db-old" if "old" in marks else "db-new",
        "statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": ordinal,
    }  # fmt: skip
    metadata: dict[str, Any] = {
        "uid": f"{name}-uid", "labels": labels, "ownerReferences": [OWNER],
    }  # fmt: skip
    metadata |= {"deletionTimestamp": at(0), "finalizers": ["x"]} if "gone" in marks else {}
    status: dict[str, Any] = {"phase": phase}
    if phase == "Running" and "unready" not in marks:
        since = at(0 if "late" in marks else -10)
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": since}]
    return document(
        "Pod", name, namespace="shop", metadata=metadata, spec=TEMPLATE["spec"], status=status
    )  # fmt: skip


COUNTS = (
    "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas",
)  # fmt: skip
BY = "by statefulset-controller:"


def brief(request: str) -> str:
    """Return a request in a few words: `+0` and `-0` for a pod, the counts of the status."""
    if request.startswith("create "):
        made = json.loads(request.partition("; ")[0].removeprefix("create "))
        return f"+{made['metadata']['name'].removeprefix('db-')}"
    if found := re.fullmatch(
        r"delete Pod shop/db-(\d+); Normal StatefulSet shop/db SuccessfulDelete"
        rf" {BY} Delete Pod db-\1 in StatefulSet db successful",
        request,
    ):
        return f"-{found[1]}"
    if request.startswith("update StatefulSet shop/db status: "):
        fields = dict(re.findall(r"status\.(\w+)=\"?([-\w]+)", request))
        counts = "/".join(fields.get(name, "0") for name in COUNTS)
        assert fields["observedGeneration"] == "3"
        return f"{counts} {fields.get('currentRevision', '')}"
    return request.replace("sync shop/db at", "sync at")


def synced(stateful_set: Any, *objects: Any, seconds: float = 0) -> list[str]:
    bench = SingleSync(StatefulSetController, stateful_set, *REVISIONS, *objects)
    return [brief(each) for each in bench.sync("shop/db", seconds)]


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.splitlines()]


# Pods, the requests of an ordered set of three, and of a parallel one; of the status see below.
STEPS = """\
                          | +0 | +0 +1 +2
0                         | +1 | +1 +2
0 1                       | +2 | +2
0 1 2                     |    |
0/unready                 |    | +1 +2
0/Pending                 |    | +1 +2
0/Failed                  | -0 | -0 +1 +2
0/Failed/gone             |    | +1 +2
0/Succeeded               | -0 | -0 +1 +2
0/gone                    |    | +1 +2
0 1/gone 2                |    |
0 1/unready 2             |    |
0 2                       | +1 | +1
1 2                       | +0 | +0
0 1 2 3                   | -3 | -3
0 1 2 3 4 5               | -5 | -5 -4 -3
0 1 2 3/gone 4            | -4 | -4
0 1 2 3 4/unready         | -4 | -4 -3
0 1 2 3/unready 4/unready |    | -4 -3
0 1/unready 2 3           |    | -3
0 1 2 3/Failed            | -3 | -3
0/old 1/old 2/old         | -2 | -2
0/old 1/old 2             | -1 | -1
0/old 1/old 2/unready     |    |
0/old 1/old/unready 2     |    | -1
0/old/unready 1/old 2     |    | -1
0 1/old/gone 2            |    |
0/old 1 2/old/Failed      | -2 | -2
0/old 1/old 2/old 3/old   | -3 | -3 -2
"""


def test_the_pods_of_a_set_are_created_deleted_and_replaced() -> None:
    for with_pods, ordered, parallel in rows(STEPS):
        for policy, expected in (("OrderedReady", ordered), ("Parallel", parallel)):
            given = a_set({"currentRevision": "db-new"}, podManagementPolicy=policy)
            found = synced(given, *pods(with_pods))
            found = [each for each in found if each.startswith(("+", "-"))]
            assert " ".join(found) == expected, (policy, with_pods)


# `status.currentRevision`, pods, and the requests; the last one is the status: all pods, ready,
# current, updated and available ones, and the current revision if it becomes another one.
STATUSES = """\
db-old |                      | +0 0/0/0/0/0
db-old | 0 1 2                | 3/3/3/3/3 db-new
db-old | 0/old 1/old 2        | -1 3/3/1/1/3
db-old | 0/old 1 2            | -0 3/3/0/2/3
db-old | 0 1/unready 2        | 3/2/0/3/2
db-old | 0 1 2 3              | -3 4/4/0/4/4
db-old | 0/gone 1 2           | 3/3/0/2/3
db-old | 0/Pending 1/Failed 2 | 3/1/0/3/1
db-new |                      | +0 0/0/0/0/0
db-new | 0 1 2                | 3/3/3/3/3
db-new | 0/old 1/old 2        | -1 3/3/0/1/3
db-new | 0/old 1 2            | -0 3/3/1/2/3
db-new | 0/old 1/old 2/old    | -2
db-new | 0 1/unready 2        | 3/2/3/3/2
db-new | 0 1 2 3              | -3 4/4/4/4/4
db-new | 0/gone 1 2           | 3/3/2/2/3
db-new | 0/Pending 1/Failed 2 | 3/1/3/3/1
       |                      | +0 0/0/0/0/0 db-new
       | 0 1 2                | 3/3/3/3/3 db-new
       | 0/old 1/old 2        | -1 3/3/0/1/3 db-new
       | 0/old 1 2            | -0 3/3/1/2/3 db-new
       | 0 1/unready 2        | 3/2/3/3/2 db-new
       | 0 1 2 3              | -3 4/4/4/4/4 db-new
       | 0/gone 1 2           | 3/3/2/2/3 db-new
       | 0/Pending 1/Failed 2 | 3/1/3/3/1 db-new
"""


def test_the_status_counts_the_pods_of_both_revisions() -> None:
    for current, with_pods, expected in rows(STATUSES):
        found = synced(a_set({"currentRevision": current}), *pods(with_pods))
        assert " ".join(found).strip() == expected, (current, with_pods)


def test_the_status_keeps_the_number_of_collisions() -> None:
    given = a_set({"currentRevision": "db-new", "collisionCount": 2})
    (found,) = SingleSync(StatefulSetController, given, *REVISIONS, *pods("0 1 2")).sync("shop/db")
    assert found.startswith("update StatefulSet shop/db status: ")
    assert "collisionCount" not in found


# The strategy, pods, and the requests as above.
UPDATES = """\
OnDelete           | 0/old 1/old 2/old         | 3/3/3/0/3
OnDelete           | 0/old 1/old 2             | 3/3/2/1/3
OnDelete           | 0/old 1 2                 | 3/3/1/2/3
OnDelete           | 0/old 1/old 2/old/unready | 3/2/3/0/2
OnDelete           | 0/old 1/old/gone 2/old    | 3/3/2/0/3
partition 1        | 0/old 1/old 2/old         | -2 3/3/2/0/3
partition 1        | 0/old 1/old 2             | -1 3/3/1/1/3
partition 1        | 0/old 1 2                 | 3/3/1/2/3
partition 1        | 0/old 1/old 2/old/unready | 3/2/3/0/2
partition 1        | 0/old 1/old/gone 2/old    | 3/3/2/0/3
partition 2        | 0/old 1/old 2/old         | -2 3/3/2/0/3
partition 2        | 0/old 1/old 2             | 3/3/2/1/3
partition 2        | 0/old 1 2                 | 3/3/1/2/3
partition 2        | 0/old 1/old 2/old/unready | 3/2/3/0/2
partition 2        | 0/old 1/old/gone 2/old    | 3/3/2/0/3
partition 3        | 0/old 1/old 2/old         | 3/3/3/0/3
partition 3        | 0/old 1/old 2             | 3/3/2/1/3
partition 3        | 0/old 1 2                 | 3/3/1/2/3
partition 3        | 0/old 1/old 2/old/unready | 3/2/3/0/2
partition 3        | 0/old 1/old/gone 2/old    | 3/3/2/0/3
maxUnavailable 2   | 0/old 1/old 2/old         | -2 -1 3/3/1/0/3
maxUnavailable 2   | 0/old 1/old 2             | -1 -0 3/3/0/1/3
maxUnavailable 2   | 0/old 1 2                 | -0 3/3/0/2/3
maxUnavailable 2   | 0/old 1/old 2/old/unready | 3/2/3/0/2
maxUnavailable 2   | 0/old 1/old/gone 2/old    | 3/3/2/0/3
maxUnavailable 50% | 0/old 1/old 2/old         | -2 3/3/2/0/3
maxUnavailable 50% | 0/old 1/old 2             | -1 3/3/1/1/3
maxUnavailable 50% | 0/old 1 2                 | -0 3/3/0/2/3
maxUnavailable 50% | 0/old 1/old 2/old/unready | 3/2/3/0/2
maxUnavailable 50% | 0/old 1/old/gone 2/old    | 3/3/2/0/3
"""


def test_an_update_deletes_the_pods_that_its_strategy_allows() -> None:
    for written, with_pods, expected in rows(UPDATES):
        name, _, value = written.partition(" ")
        share = int(value) if value.isdecimal() else value
        strategy = {"rollingUpdate": {name: share}} if value else {"type": name}
        given = a_set({"currentRevision": "db-old"}, updateStrategy=strategy)
        found = synced(given, *pods(with_pods))
        assert " ".join(found).strip() == expected, (written, with_pods)


@pytest.mark.parametrize(
    ("spec", "with_pods", "expected"),
    [
        pytest.param({"minReadySeconds": 5}, "0/late", "1/1/1/1/0 db-new; sync at 5",
                     id="not long enough"),
        pytest.param({"minReadySeconds": 10}, "0", "+1; 1/1/1/1/1 db-new", id="long enough"),
        pytest.param({"minReadySeconds": 11}, "0", "1/1/1/1/0 db-new; sync at 1", id="almost"),
        pytest.param({"minReadySeconds": 20}, "0 1/late", "2/2/2/2/0 db-new; sync at 10",
                     id="the earlier of two"),
        pytest.param({"gone": True}, "0 1 2 3", "4/4/4/4/4 db-new", id="being deleted"),
        pytest.param({"gone": True}, "", "0/0/0/0/0 db-new", id="being deleted, without pods"),
        pytest.param({"ordinals": {"start": 2}}, "0 1 2 3", "+4; 4/4/4/4/4 db-new",
                     id="a later start"),
        pytest.param({"replicas": 0}, "0 1 2 3", "-3; 4/4/4/4/4 db-new", id="none"),
    ],
)  # fmt: skip
def test_times_starts_and_ends_of_sets(spec, with_pods, expected) -> None:
    assert "; ".join(synced(a_set(**spec), *pods(with_pods))) == expected


def test_pods_below_the_partition_are_made_of_the_current_revision() -> None:
    strategy = {"rollingUpdate": {"partition": 1}}
    for policy, hashes in (("OrderedReady", ["db-old"]), ("Parallel", ["db-old", "db-new"])):
        given = a_set(
            {"currentRevision": "db-old"}, updateStrategy=strategy, podManagementPolicy=policy,
            replicas=2,
        )  # fmt: skip
        bench = SingleSync(StatefulSetController, given, *REVISIONS)
        found = [each for each in bench.sync("shop/db") if each.startswith("create ")]
        made = [json.loads(each.partition("; ")[0].removeprefix("create ")) for each in found]
        labels = [each["metadata"]["labels"]["controller-revision-hash"] for each in made]
        assert labels == hashes, policy
        images = [each["spec"]["containers"][0]["image"] for each in made]
        assert images == ["old", "i"][: len(hashes)], policy


def test_conditions_of_a_status_are_kept() -> None:
    conditions = [{"type": "x", "status": "True"}]
    status = {"currentRevision": "db-new", "conditions": conditions}
    bench = SingleSync(StatefulSetController, a_set(status), *REVISIONS, *pods("0 1 2"))
    (update,) = bench.sync("shop/db")
    assert "conditions" not in update


# ------------------------------------------------------------------------------ revisions

NAMING = RevisionNaming(
    lambda data, count: f"{data['spec']['template']['spec']['x']}{count or ''}", "hash"
)


def template(x: str) -> dict[str, Any]:
    metadata = {"labels": {"app": "db"}}
    return {"spec": {"template": {"metadata": metadata, "spec": {"x": x}, "$patch": "replace"}}}


def known(name: str, number: int | None, x: str, *, is_owned: bool = True, second: int = 0) -> Any:
    metadata = {
        "uid": f"{name}-uid", "ownerReferences": [OWNER] if is_owned else [],
        "creationTimestamp": at(second),
    }  # fmt: skip
    return document(
        "ControllerRevision", name, api="apps/v1", namespace="shop", metadata=metadata,
        data=template(x), revision=number,
    )  # fmt: skip


def revisions_of(*present: Any, x: str = "a", **options: Any) -> Revisions:
    lister = Lister()
    for each in present:
        lister.put(each)
    given = {"collision_count": None, "source": "writer"} | options
    owner = decode(
        a_set().raw | {"metadata": a_set().raw["metadata"] | {"annotations": {"n": "m"}}}
    )
    return Revisions(lister, owner, template(x), NAMING, **given)


@pytest.mark.parametrize(
    ("data", "labels"),
    [
        ({}, {}),
        ({"spec": None}, {}),
        ({"spec": {"template": None}}, {}),
        ({"spec": {"template": {"metadata": None}}}, {}),
        ({"spec": {"template": {"metadata": {"labels": None}}}}, {}),
        ({"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}, {"a": "b"}),
    ],
)
def test_a_revision_has_the_labels_of_its_template(data: Any, labels: dict[str, str]) -> None:
    """Upstream: pkg/controller/history/controller_history.go, NewControllerRevision"""
    naming = RevisionNaming(lambda *_: "h", "hash")
    made = Revisions(Lister(), a_set(), data, naming, None, "writer").update_revision
    assert made.metadata.labels == labels | {"hash": "h"}


def outcome(found: Revisions) -> tuple[str, int, int | None, list[str]]:
    """Return the name and number of the revision, the collisions, and the kinds of requests."""
    made = found.update_revision
    kinds = [type(each).__name__ for each in found.actions]
    return made.name, number_of(made), found.collision_count, kinds


@pytest.mark.parametrize(
    ("present", "options", "expected"),
    [
        pytest.param([], {}, ("db-a", 1, None, ["CreateObject"]), id="the first"),
        pytest.param([known("db-b", 4, "b")], {}, ("db-a", 5, None, ["CreateObject"]), id="next"),
        pytest.param([known("db-b", None, "b")], {}, ("db-a", 1, None, ["CreateObject"]),
                     id="after one without a number"),
        pytest.param([known("db-x", 4, "a")], {}, ("db-x", 4, None, []), id="the present one"),
        pytest.param([known("db-x", 3, "a"), known("db-b", 4, "b")], {},
                     ("db-x", 5, None, ["UpdateObject"]), id="a rollback"),
        pytest.param([known("db-x", 3, "a"), known("db-y", 4, "a")], {}, ("db-y", 4, None, []),
                     id="the last of equals"),
        pytest.param([known("db-y", 3, "a", second=1), known("db-x", 3, "a", second=2)], {},
                     ("db-x", 3, None, []), id="the youngest of equal numbers"),
        pytest.param([known("db-x", 3, "a"), known("db-y", 3, "a")], {}, ("db-y", 3, None, []),
                     id="the last name of equal ages"),
        pytest.param([known("db-a", 9, "a", is_owned=False)], {}, ("db-a", 9, None, []),
                     id="an orphan with the data"),
        pytest.param([known("db-a", 9, "b", is_owned=False)], {},
                     ("db-a1", 1, 1, ["CreateObject"]), id="a collision"),
        pytest.param([known("db-a2", 9, "b", is_owned=False)], {"collision_count": 2},
                     ("db-a3", 1, 3, ["CreateObject"]), id="one more collision"),
        pytest.param([], {"initial": ("h", 7)}, ("db-h", 7, None, ["CreateObject"]),
                     id="of imported pods"),
        pytest.param([known("db-b", 4, "b")], {"initial": ("h", 7)},
                     ("db-a", 5, None, ["CreateObject"]), id="not if there is one"),
        pytest.param([known("db-h", 4, "b", is_owned=False)], {"initial": ("h", 7)},
                     ("db-a1", 7, 1, ["CreateObject"]), id="whose name is taken"),
    ],
)  # fmt: skip
def test_the_revision_of_a_template(present, options, expected) -> None:
    assert outcome(revisions_of(*present, **options)) == expected


# Kubernetes before 1.34 wrote `creationTimestamp: null` into the template.


@pytest.mark.parametrize(
    ("present", "reads_nulls", "name"),
    [
        pytest.param([("db-x", 4, "a")], True, "db-x", id="the newest one"),
        pytest.param([("db-x", 4, "a")], False, "db-a", id="of another kind"),
        pytest.param([("db-x", 4, "b")], True, "db-a", id="another template"),
        pytest.param([("db-x", 4, "a"), ("db-y", 5, "b")], True, "db-a", id="an older one"),
    ],
)
def test_the_newest_revision_may_differ_in_nulls(present, reads_nulls, name) -> None:
    lister = Lister()
    for each in present:
        made = known(*each)
        lister.put(decode(made.raw | {"data": with_nulls(data_of(made))}))
    naming = RevisionNaming(NAMING.hash_of, NAMING.label, reads_nulls=reads_nulls)
    found = Revisions(lister, a_set(), template("a"), naming, None, "writer")
    assert found.update_revision.name == name


def test_data_with_nulls_has_the_hash_of_older_clusters() -> None:
    data = template_patch({"metadata": {"labels": {"a": "b"}}, "spec": {}})
    text = b'{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,'
    text += b'"labels":{"a":"b"}},"spec":{}}}}'
    assert go_json(with_nulls(data)) == text
    assert with_nulls({}) == {"spec": {"template": {"metadata": {"creationTimestamp": None}}}}


@pytest.mark.parametrize(
    ("image", "collisions", "changes"),
    [
        pytest.param("i", 0, [], id="of the template"),
        pytest.param("i", 2, [], id="after collisions"),
        pytest.param("old", 0, ["delete Pod shop/db-0"], id="of another template"),
    ],
)
def test_imported_pods_of_an_older_cluster_stay(image, collisions, changes) -> None:
    """Without their revision, as in a dump."""
    spec = stateful_spec(a_set().raw["spec"])
    former = {**spec.template, "spec": {"containers": [{"name": "c", "image": image}]}}
    name = f"db-{revision_hash(with_nulls(template_patch(former)), collisions)}"
    labels = {"controller-revision-hash": name}
    (pod,) = pods("0")
    metadata = pod.raw["metadata"] | {"labels": pod.raw["metadata"]["labels"] | labels}
    status = {"currentRevision": name, "updateRevision": name, "collisionCount": collisions}
    bench = SingleSync(
        StatefulSetController, a_set(status, replicas=1), decode(pod.raw | {"metadata": metadata})
    )
    requests = bench.sync("shop/db", 0)
    assert [each.partition(";")[0] for each in requests if "Pod" in each] == changes


def test_a_created_revision_has_the_labels_of_its_template() -> None:
    made = revisions_of().update_revision
    assert made.raw == {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": "db-a", "namespace": "shop", "labels": {"app": "db", "hash": "a"},
            "annotations": {"n": "m"},
            "ownerReferences": [OWNER | {"blockOwnerDeletion": True}],
        },
        "data": template("a"),
        "revision": 1,
    }  # fmt: skip


def test_the_oldest_unused_revisions_go() -> None:
    found = revisions_of(*[known(f"db-{number}", number, str(number)) for number in range(5)])
    assert found.named("db-3").name == "db-3"
    assert found.named("none") is found.update_revision
    rows = {(2, ""): "0 1 2", (0, "1 3"): "0 2 4", (4, "0"): "", (3, "0"): "1", (9, ""): ""}
    for (limit, live), gone in rows.items():
        names = {f"db-{each}" for each in live.split()}
        deletions: Any = list(found.truncate_history(names, limit))
        assert [each.key for each in deletions] == [f"shop/db-{each}" for each in gone.split()]
    assert data_of(found.all[2]) == template("2")


def test_the_template_of_a_claim_may_have_no_metadata() -> None:
    spec = stateful_spec({"selector": {"matchLabels": {"app": "x"}}})
    claim = stateful_claim({"spec": {"accessModes": ["ReadWriteOnce"]}}, a_set(), spec, 2)
    assert claim.name.endswith("-2")
    assert claim.metadata.labels == {"app": "x"}


def test_a_claim_template_that_no_server_accepts_is_reported() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": 5}}
    bench = SingleSync(StatefulSetController, a_set(volumeClaimTemplates=[claim]))
    (event,) = [each for each in bench.sync("shop/db") if each.startswith("Warning")]
    head = f"Warning StatefulSet shop/db FailedCreate {BY} Create Pod in StatefulSet db failed"
    assert event.startswith(f"{head} error: StatefulSet shop/db: spec.accessModes: ")

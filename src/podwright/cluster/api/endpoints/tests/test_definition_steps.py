"""The steps of a definition one by one: its names, its conditions, its versions, its end."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.structural import CustomKind
from podwright.cluster.api.endpoints.custom_resources.cleanup import (
    FINALIZER,
    awaits_cleanup,
    cleaned,
    in_progress,
    marked_for_deletion,
)
from podwright.cluster.api.endpoints.custom_resources.conditions import (
    condition_of,
    is_true,
    with_condition,
)
from podwright.cluster.api.endpoints.custom_resources.names import (
    established,
    with_approval,
    with_names,
    without_violations,
)
from podwright.cluster.api.endpoints.custom_resources.served_versions import (
    served_resources,
    storage_kind,
)
from podwright.cluster.api.endpoints.decoding.body_kinds import (
    cannot_be_custom,
    check_custom_kind,
    check_custom_version,
)
from podwright.cluster.api.endpoints.tests.test_custom_resources import definition, version
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.versions.resources import Resource

NOW_NS, NOW = 1_767_225_600 * 1_000_000_000, "2026-01-01T00:00:00Z"
EARLIER = "2025-01-01T00:00:00Z"
NAMES = {
    "plural": "trains",
    "singular": "train",
    "shortNames": ["tr"],
    "kind": "Train",
    "listKind": "TrainList",
    "categories": ["all"],
}


def condition(type_: str, status: str, reason: str, message: str, time: str = NOW) -> Document:
    return {
        "type": type_, "status": status, "lastTransitionTime": time, "reason": reason,
        "message": message,
    }  # fmt: skip


ACCEPTED = condition("NamesAccepted", "True", "NoConflicts", "no conflicts found")
INSTALLING = condition("Established", "False", "Installing", "the initial names have been accepted")
ESTABLISHED = condition(
    "Established", "True", "InitialNamesAccepted", "the initial names have been accepted"
)
NOT_ACCEPTED = condition("Established", "False", "NotAccepted", "not all names are accepted")


def conflict(reason: str, *names: str) -> Document:
    texts = [f'"{name}" is already in use' for name in names]
    message = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return condition("NamesAccepted", "False", reason, message)


def of(names: Document | None = None, **status: Any) -> Document:
    """Return a definition with requested names and a status."""
    spec = {"group": "example.com", "scope": "Namespaced", "names": names or NAMES}
    return {"metadata": {"name": "x"}, "spec": spec} | ({"status": status} if status else {})


def other(**names: Any) -> Document:
    return {"status": {"acceptedNames": names}}


@pytest.mark.parametrize(
    ("others", "names", "conditions"),
    [
        pytest.param([], NAMES, [ACCEPTED, INSTALLING], id="all are free"),
        pytest.param([{}, {"status": {}}], NAMES, [ACCEPTED, INSTALLING], id="others have none"),
        pytest.param(
            [other(plural="trains")],
            {"plural": "", **{key: NAMES[key] for key in NAMES if key != "plural"}},
            [conflict("PluralConflict", "trains"), NOT_ACCEPTED],
            id="plural",
        ),
        pytest.param(
            [other(shortNames=["train"])],
            {key: NAMES[key] for key in NAMES if key != "singular"},
            [conflict("SingularConflict", "train"), NOT_ACCEPTED],
            id="the singular is a short name of another one",
        ),
        pytest.param(
            [other(singular="tr")],
            {key: NAMES[key] for key in NAMES if key != "shortNames"},
            [conflict("ShortNamesConflict", "tr"), NOT_ACCEPTED],
            id="a short name is the singular of another one",
        ),
        pytest.param(
            [other(listKind="Train")],
            {"plural": "trains", "singular": "train", "shortNames": ["tr"], "kind": "",
             "listKind": "TrainList", "categories": ["all"]},
            [conflict("KindConflict", "Train"), NOT_ACCEPTED],
            id="the kind is that of another list",
        ),
        pytest.param(
            [other(kind="TrainList"), other(plural="trains")],
            {"plural": "", "singular": "train", "shortNames": ["tr"], "kind": "Train",
             "categories": ["all"]},
            [conflict("ListKindConflict", "TrainList"), NOT_ACCEPTED],
            id="the last conflict is reported",
        ),
        pytest.param(
            [other(kind="trains", plural="Train")], NAMES, [ACCEPTED, INSTALLING],
            id="resources and kinds do not conflict",
        ),
    ],
)  # fmt: skip
def test_the_names_of_a_new_definition(
    others: list[Document], names: Document, conditions: list[Document]
) -> None:
    made = with_names(of(), others, NOW_NS)
    assert made == of() | {"status": {"acceptedNames": names, "conditions": conditions}}
    assert list(made["status"]["acceptedNames"]) == [key for key in NAMES if key in names]
    assert of() == of(None)


def test_several_short_names_conflict_but_not_those_that_it_has() -> None:
    names = NAMES | {"shortNames": ["a", "b", "c"]}
    taken = [other(shortNames=["a", "b", "c"])]
    made = with_names(of(names), taken, NOW_NS)
    assert made["status"]["conditions"][0] == conflict("ShortNamesConflict", "a", "b", "c")
    accepted = NAMES | {"shortNames": ["a"]}
    made = with_names(of(names, acceptedNames=accepted), taken, NOW_NS)
    assert made["status"]["conditions"][0] == conflict("ShortNamesConflict", "b", "c")
    assert made["status"]["acceptedNames"] == accepted


def test_names_that_are_no_longer_requested() -> None:
    fewer = {"plural": "trains", "kind": "Train"}
    made = with_names(of(fewer, acceptedNames=NAMES), [], NOW_NS)
    assert made["status"]["acceptedNames"] == fewer
    # Names that are its own stay, even if another definition claims to have them.
    taken = [other(**fewer, singular="x", listKind="y")]
    made = with_names(of(fewer, acceptedNames=NAMES), taken, NOW_NS)
    assert made["status"]["acceptedNames"] == fewer
    assert made["status"]["conditions"] == [ACCEPTED, INSTALLING]


def test_a_definition_without_news_stays_as_it_is() -> None:
    settled = of(acceptedNames=NAMES)
    assert with_names(settled, [other(plural="trains")], NOW_NS) is settled
    empty = of(NAMES | {"shortNames": [], "singular": ""}, acceptedNames={
        key: NAMES[key] for key in ("plural", "kind", "listKind", "categories")
    })  # fmt: skip
    assert with_names(empty, [], NOW_NS) is empty
    waiting = with_names(of(), [other(plural="trains")], NOW_NS)
    assert with_names(waiting, [other(plural="trains")], NOW_NS + 10**9) is waiting
    # The end of the conflict is news.
    free = with_names(waiting, [], NOW_NS)
    assert free["status"]["acceptedNames"] == NAMES
    assert free["status"]["conditions"] == [ACCEPTED, INSTALLING]


def test_a_conflict_of_an_established_definition_does_not_end_it() -> None:
    wider = NAMES | {"shortNames": ["tr", "x"]}
    before = of(wider, acceptedNames=NAMES, conditions=[ACCEPTED, ESTABLISHED])
    made = with_names(before, [other(shortNames=["x"])], NOW_NS)
    assert made["status"] == {
        "acceptedNames": NAMES,
        "conditions": [conflict("ShortNamesConflict", "x"), ESTABLISHED],
    }
    # One that waits keeps its reason.
    waits = of(wider, acceptedNames=NAMES, conditions=[INSTALLING])
    made = with_names(waits, [other(shortNames=["x"])], NOW_NS)
    assert made["status"]["conditions"] == [INSTALLING, conflict("ShortNamesConflict", "x")]


def test_a_definition_is_established_once_its_names_are_accepted() -> None:
    accepted = of(acceptedNames=NAMES, conditions=[ACCEPTED, INSTALLING])
    made = established(accepted, NOW_NS)
    assert made["status"] == {"acceptedNames": NAMES, "conditions": [ACCEPTED, ESTABLISHED]}
    assert established(made, NOW_NS + 10**9) is made
    for waiting in (of(), of(conditions=[conflict("KindConflict", "Train")])):
        assert established(waiting, NOW_NS) is waiting


def test_the_condition_about_an_approval() -> None:
    plain = of()
    assert with_approval(plain, NOW_NS) is plain
    type_, key = "KubernetesAPIApprovalPolicyConformant", "api-approved.kubernetes.io"
    approved = of() | {
        "metadata": {"annotations": {key: "https://github.com/kubernetes/kubernetes/pull/1"}},
        "spec": {"group": "x.k8s.io"},
    }
    made = with_approval(approved, NOW_NS)
    (found,) = made["status"]["conditions"]
    assert (found["type"], found["status"], found["lastTransitionTime"]) == (type_, "True", NOW)
    assert with_approval(made, NOW_NS + 10**9) is made
    missing = of() | {"metadata": {}, "spec": {"group": "x.k8s.io"}}
    (found,) = with_approval(missing, NOW_NS)["status"]["conditions"]
    assert (found["type"], found["status"], found["reason"]) == (
        type_, "False", "MissingAnnotation",
    )  # fmt: skip


def test_the_condition_of_schemas_goes() -> None:
    plain = of(acceptedNames=NAMES, conditions=[ACCEPTED])
    assert without_violations(plain, NOW_NS) is plain
    bad = condition("NonStructuralSchema", "True", "Violations", "x")
    found = without_violations(of(acceptedNames=NAMES, conditions=[bad, ACCEPTED]), NOW_NS)
    assert found == plain


@pytest.mark.parametrize(
    ("before", "status", "after"),
    [
        pytest.param([], "True", [("A", "True", NOW)], id="a new one is last"),
        pytest.param(
            [("A", "True", EARLIER), ("B", "True", EARLIER)], "True",
            [("A", "True", EARLIER), ("B", "True", EARLIER)], id="the same status has its time",
        ),
        pytest.param(
            [("A", "True", EARLIER), ("B", "True", EARLIER)], "False",
            [("A", "False", NOW), ("B", "True", EARLIER)], id="another status has a new time",
        ),
        pytest.param([("A", "True", None)], "True", [("A", "True", NOW)], id="without a time"),
        pytest.param(
            [("B", "True", EARLIER)], "False", [("B", "True", EARLIER), ("A", "False", NOW)],
            id="another condition",
        ),
    ],
)  # fmt: skip
def test_a_condition_and_its_time(before: list[Any], status: str, after: list[Any]) -> None:
    def listed(each: Any) -> Document:
        type_, value, time = each
        found = {"type": type_, "status": value, "reason": "R", "message": "m"}
        return found if time is None else found | {"lastTransitionTime": time}

    document = of(conditions=[listed(each) for each in before], x=1)
    made = with_condition(document, "A", status, "R", "m", NOW_NS)
    assert made == of(conditions=[listed(each) for each in after], x=1)
    assert condition_of(made, "A") == next(
        each for each in made["status"]["conditions"] if each["type"] == "A"
    )
    assert is_true(made, "A") is (status == "True")
    assert condition_of(made, "C") is None
    assert is_true(made, "C") is False
    assert condition_of({"status": None}, "A") is None
    assert condition_of({"status": {"conditions": None}}, "A") is None


PENDING = condition(
    "Terminating", "True", "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)  # fmt: skip


@pytest.mark.parametrize(
    ("finalizers", "made"),
    [
        (None, [FINALIZER]),
        ([], [FINALIZER]),
        (["a"], ["a", FINALIZER]),
        ([FINALIZER, "a"], [FINALIZER, "a"]),
    ],
)
def test_a_definition_is_marked_once(finalizers: list[str] | None, made: list[str]) -> None:
    metadata = {"name": "x"} if finalizers is None else {"name": "x", "finalizers": finalizers}
    found = marked_for_deletion({"metadata": metadata}, NOW_NS)
    assert found == {
        "metadata": {"name": "x", "finalizers": made, "deletionTimestamp": NOW},
        "status": {"conditions": [PENDING]},
    }
    assert finalizers in (None, [], ["a"], [FINALIZER, "a"])
    assert marked_for_deletion(found, NOW_NS) is None


def test_when_the_objects_of_a_definition_are_to_be_deleted() -> None:
    for metadata, is_awaited in (
        ({}, False),
        ({"finalizers": [FINALIZER]}, False),
        ({"deletionTimestamp": NOW}, False),
        ({"deletionTimestamp": NOW, "finalizers": None}, False),
        ({"deletionTimestamp": NOW, "finalizers": ["a"]}, False),
        ({"deletionTimestamp": NOW, "finalizers": ["a", FINALIZER]}, True),
    ):
        assert awaits_cleanup({"metadata": metadata}) is is_awaited, metadata


@pytest.mark.parametrize(
    ("finalizers", "left"), [([FINALIZER], None), (["a", FINALIZER], ["a"]), (None, None)]
)
@pytest.mark.parametrize(
    ("was_established", "reason", "message"),
    [
        (True, "InstanceDeletionCompleted", "removed all instances"),
        (False, "NeverEstablished", "resource was never established"),
    ],
)
def test_the_end_of_a_definition(
    finalizers: list[str] | None,
    left: list[str] | None,
    reason: str,
    message: str,
    *,
    was_established: bool,
) -> None:
    metadata = {"name": "x"} if finalizers is None else {"name": "x", "finalizers": finalizers}
    begun = in_progress({"metadata": metadata, "status": {"conditions": [PENDING]}}, NOW_NS)
    progress = "CustomResource deletion is in progress"
    assert begun["status"]["conditions"] == [
        condition("Terminating", "True", "InstanceDeletionInProgress", progress)
    ]
    made = cleaned(begun, NOW_NS, was_established=was_established)
    assert made["metadata"] == ({"name": "x"} if left is None else metadata | {"finalizers": left})
    assert made["status"]["conditions"] == [condition("Terminating", "False", reason, message)]


# ---------------------------------------------------------------------------- versions


def defined(*versions: Document, **status: Any) -> Document:
    spec = definition(*versions)["spec"]
    names = NAMES | status.pop("names", {})
    conditions = status.pop("conditions", [ACCEPTED, ESTABLISHED])
    spec |= status
    return {
        "metadata": {"name": "trains.example.com"},
        "spec": spec,
        "status": {"acceptedNames": names, "conditions": conditions},
    }


def served(*versions: Document, **status: Any) -> list[Resource]:
    return served_resources(defined(*versions, **status))


def test_a_definition_is_served_in_each_served_version() -> None:
    found = served(version("v1"), version("v2", served=False), version("v3"))
    assert [(each.version, each.storage, each.storage_kind.row.version) for each in found] == [
        ("v1", ("example.com", "Train"), "v1"),
        ("v3", ("example.com", "Train"), "v1"),
    ]
    for each in found:
        assert each.is_custom
        assert not each.is_terminating
        assert each.warnings == ()
        assert isinstance(each.kind, CustomKind)
        row = each.kind.row
        assert (row.group, row.resource, row.singular, row.kind, row.namespaced) == (
            "example.com", "trains", "train", "Train", True,
        )  # fmt: skip
        assert each.custom_type is not None


@pytest.mark.parametrize(
    ("names", "conditions", "count"),
    [
        ({}, [ACCEPTED], 1),
        ({}, [ESTABLISHED], 1),
        ({}, [], 0),
        ({}, [NOT_ACCEPTED, conflict("KindConflict", "Train")], 0),
        ({"plural": ""}, [ACCEPTED], 0),
        ({"singular": ""}, [ACCEPTED], 0),
        ({"kind": ""}, [ACCEPTED], 0),
        ({"listKind": ""}, [ACCEPTED], 0),
        ({"shortNames": []}, [ACCEPTED], 1),
    ],
)
def test_a_definition_is_served_with_all_names_only(
    names: Document, conditions: list[Document], count: int
) -> None:
    assert len(served(version("v1"), names=names, conditions=conditions)) == count


def test_the_kind_in_the_store_is_the_accepted_one() -> None:
    assert storage_kind(defined()) == ("example.com", "Train")
    assert storage_kind({"spec": {"group": "g"}}) == ("g", "")
    assert storage_kind({"spec": {"group": "g"}, "status": {"acceptedNames": None}}) == ("g", "")


def test_a_terminating_definition() -> None:
    (found,) = served(version("v1"), conditions=[ACCEPTED, PENDING])
    assert found.is_terminating


def test_objects_in_other_versions() -> None:
    other_schema = {"type": "object", "properties": {"color": {"type": "string", "default": "red"}}}
    one, two = served(version("v1"), version("v2", schema=other_schema))
    document = {"apiVersion": "example.com/v1", "kind": "Train", "spec": {}, "color": "blue"}
    assert one.stored(document) is document
    in_first = one.served(document)
    assert in_first["apiVersion"] == "example.com/v1"
    assert "color" not in in_first
    assert in_first["spec"] == {"cars": 4}
    assert one.served(document) is in_first
    in_second = two.served(document)
    assert in_second["apiVersion"] == "example.com/v2"
    back = two.stored({"apiVersion": "example.com/v2", "kind": "Train", "spec": {}})
    assert back == {"apiVersion": "example.com/v1", "kind": "Train", "spec": {"cars": 4}}
    # The schema of a version that was removed, and so its defaults, are gone.
    gone = one.served({"apiVersion": "example.com/v0", "kind": "Train", "spec": {}})
    assert gone == {"apiVersion": "example.com/v1", "kind": "Train", "spec": {}}


WEBHOOK = {"url": "https://a.example.com/x"}


@pytest.mark.parametrize(
    ("webhook", "url"),
    [
        ({"clientConfig": WEBHOOK}, "https://a.example.com/x"),
        ({"clientConfig": {}}, ""),
        (None, ""),
        (
            {"clientConfig": {"service": {"name": "s", "namespace": "n"}}},
            "https://s.n.svc:443/",
        ),
        (
            {"clientConfig": {"service": {
                "name": "s", "namespace": "n", "port": 8443, "path": "/a/b",
            }}},
            "https://s.n.svc:8443/a/b",
        ),
    ],
)  # fmt: skip
def test_a_webhook_is_not_called(webhook: Document | None, url: str) -> None:
    conversion = {"strategy": "Webhook", "webhook": webhook}
    one, two = served(version("v1"), version("v2"), conversion=conversion)
    first = {"apiVersion": "example.com/v1", "kind": "Train"}
    second = {"apiVersion": "example.com/v2", "kind": "Train"}
    # The stored version is read and written without it.
    assert one.stored(first) == one.served(first) == first
    for call, shown in ((lambda: two.served(first), first), (lambda: two.stored(second), second)):
        with pytest.raises(Rejection) as error:
            call()
        assert error.value.status["code"] == 500
        assert error.value.status["message"] == (
            f"conversion webhook for {shown['apiVersion']}, Kind=Train failed: Post"
            f' "{url}?timeout=30s": this server calls no webhooks'
        )


@pytest.mark.parametrize(
    ("versions", "warnings"),
    [
        ([version("v1", deprecated=True)], ["example.com/v1 Train is deprecated"]),
        ([version("v1", deprecated=True, deprecationWarning="no")], ["no"]),
        ([version("v1", deprecated=True, deprecationWarning="")], [""]),
        ([version("v1", deprecated=False, deprecationWarning="no")], []),
        (
            [version("v2"), version("v1", deprecated=True), version("v3")],
            ["example.com/v1 Train is deprecated; use example.com/v3 Train"],
        ),
        (
            [version("v1beta1"), version("v1", deprecated=True)],
            ["example.com/v1 Train is deprecated"],
        ),
        (
            [version("v2", served=False), version("v1", deprecated=True)],
            ["example.com/v1 Train is deprecated"],
        ),
        (
            [version("v2", deprecated=True), version("v1", deprecated=True)],
            ["example.com/v2 Train is deprecated", "example.com/v1 Train is deprecated"],
        ),
    ],
)  # fmt: skip
def test_warnings_of_deprecated_versions(versions: list[Document], warnings: list[str]) -> None:
    assert [text for each in served(*versions) for text in each.warnings] == warnings


# ------------------------------------------------------------------------------ bodies


def kind() -> CustomKind:
    found = served(version("v1"))[0].kind
    assert isinstance(found, CustomKind)
    return found


@pytest.mark.parametrize(
    "document",
    [
        {"apiVersion": "example.com/v1", "kind": "Train"},
        {"apiVersion": "example.com/v9", "kind": "Train"},
        {"apiVersion": "example.com/v1", "kind": "Boat"},
        {"kind": "Train"},
    ],
)
def test_any_kind_of_a_body_is_decoded(document: Document) -> None:
    assert check_custom_kind(document, kind(), b"{}") is document


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            {"apiVersion": "example.com/v1"},
            "the object provided is unrecognized (must be of type Train): Object 'Kind' is"
            ' missing in \'{"a": 1}\' ({"a": 1})',
        ),
        (
            {"apiVersion": None, "kind": "Train"},
            'Train in version "" cannot be handled as a Train: .apiVersion accessor error: <nil>'
            " is of the type <nil>, expected string",
        ),
    ],
)
def test_bodies_that_are_not_custom_resources(document: Document, message: str) -> None:
    with pytest.raises(Rejection) as error:
        check_custom_kind(document, kind(), b'{"a": 1}')
    assert (error.value.status["code"], error.value.status["message"]) == (400, message)


def test_the_version_of_a_body() -> None:
    check_custom_version({"apiVersion": "example.com/v1"}, kind())
    for sent, shown in (({"apiVersion": "example.com/v2"}, "example.com/v2"), ({}, "")):
        with pytest.raises(Rejection) as error:
            check_custom_version(sent, kind())
        assert error.value.status["message"] == (
            f"the API version in the data ({shown}) does not match the expected API version"
            " (example.com/v1)"
        )


def test_a_body_that_cannot_be_decoded() -> None:
    found = cannot_be_custom(
        kind(), {"apiVersion": "example.com/v7", "kind": "Boat"}, ValueError("why")
    )
    assert isinstance(found, Rejection)
    assert found.status["message"] == ('Boat in version "v7" cannot be handled as a Train: why')

"""The options of lists, watches, writes and deletions, and what is wrong with them."""

from __future__ import annotations

import pytest

from podwright.cluster.api.endpoints.tests.conftest import config_map

MAPS = "/api/v1/namespaces/default/configmaps"


def problem(server, method, query, body=None, path=MAPS, headers=None):
    status, found = server.reply(method, f"{path}?{query}", body, headers=headers)
    return status, found.get("message", "") if isinstance(found, dict) else found


FORBIDDEN = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("resourceVersionMatch=Exact", f"{FORBIDDEN} unless resourceVersion is provided"),
        ("resourceVersionMatch=Exact&resourceVersion=1&continue=a",
         f"{FORBIDDEN} when continue is provided"),
        ("resourceVersionMatch=Exactly&resourceVersion=1",
         'resourceVersionMatch: Unsupported value: "Exactly": supported values: "Exact",'
         ' "NotOlderThan", ""'),
        ("resourceVersionMatch=Exact&resourceVersion=0",
         'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for'
         ' resourceVersion "0"'),
        ("sendInitialEvents=true",
         "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"),
        ("watch=true&sendInitialEvents=true",
         "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch"
         " to NotOlderThan"),
        ("watch=true&resourceVersionMatch=NotOlderThan",
         f"{FORBIDDEN} for watch unless sendInitialEvents is provided"),
        ("watch=true&resourceVersionMatch=Exact&sendInitialEvents=true",
         'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"'),
        ("watch=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&continue=a",
         f"{FORBIDDEN} when continue is provided"),
    ],
)  # fmt: skip
def test_options_of_lists_and_watches_that_do_not_go_together(server, query, expected):
    status, message = problem(server, "GET", query)
    assert status == 422
    assert message.startswith("ListOptions.meta.k8s.io ")
    assert expected in message


@pytest.mark.parametrize(
    ("query", "status", "expected"),
    [
        ("continue=a&resourceVersion=0", 400, "invalid continue token"),
        ("continue=!", 400, "illegal base64 data at input byte 0"),
        ("continue=ab!c", 400, "illegal base64 data at input byte 2"),
        ("continue=abcde", 400, "illegal base64 data at input byte 4"),
        ("resourceVersion=x", 400, "invalid resource version"),
        ("resourceVersion=999999", 504, "Too large resource version: 999999"),
        ("resourceVersion=999999&resourceVersionMatch=Exact&limit=1", 504, "Too large"),
    ],
)  # fmt: skip
def test_a_list_that_cannot_be_answered(server, query, status, expected):
    found, message = problem(server, "GET", query)
    assert (found, expected in message) == (status, True), message


def test_a_list_is_of_the_version_that_is_asked_for(server):
    versions = []
    for name in "abc":
        _, made = server.reply("POST", MAPS, config_map(name))
        versions.append(made["metadata"]["resourceVersion"])

    def names(query):
        status, found = server.reply("GET", f"{MAPS}?{query}")
        assert status == 200, found
        return "".join(each["metadata"]["name"] for each in found["items"]), found["metadata"]

    assert names(f"resourceVersion={versions[0]}")[0] == "abc", "not older than"
    assert names(f"resourceVersion={versions[0]}&resourceVersionMatch=NotOlderThan")[0] == "abc"
    assert names(f"resourceVersion={versions[0]}&resourceVersionMatch=Exact")[0] == "a"
    shown, metadata = names(f"resourceVersion={versions[1]}&resourceVersionMatch=Exact&limit=1")
    assert (shown, metadata["remainingItemCount"]) == ("a", 1)
    token = metadata["continue"]
    assert names(f"continue={token}")[0] == "b"
    status, message = problem(server, "GET", f"continue={token}&resourceVersion=5")
    expected = "specifying resource version is not allowed when using continue"
    assert (status, message) == (400, expected)
    assert names(f"continue={token}&resourceVersion=0")[0] == "b"
    assert names(f"resourceVersion={versions[1]}&limit=1")[0] == "a"
    # Version 0 is answered from a cache, which has no pages; one name is one object.
    assert names("resourceVersion=0&limit=1")[0] == "abc"
    shown, metadata = names("limit=1&fieldSelector=metadata.name%3Db")
    assert (shown, "continue" in metadata) == ("b", False)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("dryRun=Some", 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        ("dryRun=All&dryRun=x", 'dryRun: Unsupported value: ["All","x"]: supported values: "All"'),
        ("fieldValidation=strict",
         'fieldValidation: Unsupported value: "strict": supported values: "", "Ignore", "Strict",'
         ' "Warn"'),
        (f"fieldManager={'x' * 129}", "fieldManager: Too long: may not be more than 128 bytes"),
        ("fieldManager=a%07", 'fieldManager: Invalid value: "a\\a": invalid character U+0007 (at'
                              " position 1)"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("method", "kind"), [("POST", "CreateOptions"), ("PUT", "UpdateOptions")])
def test_options_of_writes_are_checked(server, method, kind, query, expected):
    path = MAPS if method == "POST" else f"{MAPS}/a"
    status, message = problem(server, method, query, config_map("a"), path)
    assert status == 422
    assert message.startswith(f"{kind}.meta.k8s.io ")
    assert expected in message


def test_the_longest_manager_is_accepted_and_a_dry_run_writes_nothing(server):
    manager = "x" * 128
    query = f"fieldManager={manager}&dryRun=All&fieldValidation=Strict"
    assert server.reply("POST", f"{MAPS}?{query}", config_map("a"))[0] == 201
    assert server.reply("GET", f"{MAPS}/a")[0] == 404


@pytest.mark.parametrize(
    ("kind", "query", "expected"),
    [
        ("apply-patch+yaml", "", "fieldManager: Required value: is required for apply patch"),
        ("merge-patch+json", "force=true",
         "force: Forbidden: may not be specified for non-apply patch"),
        ("merge-patch+json", "force=false",
         "force: Forbidden: may not be specified for non-apply patch"),
    ],
)  # fmt: skip
def test_options_of_patches_are_checked(server, kind, query, expected):
    server.reply("POST", MAPS, config_map("a"))
    headers = {"content-type": f"application/{kind}"}
    status, message = problem(server, "PATCH", query, config_map("a"), f"{MAPS}/a", headers)
    assert status == 422
    assert message.startswith("PatchOptions.meta.k8s.io ")
    assert expected in message


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        ({"propagationPolicy": "Later"}, 422,
         'propagationPolicy: Unsupported value: "Later": supported values: "Foreground",'
         ' "Background", "Orphan", "nil"'),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, 422,
         'propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation'
         " cannot be both set"),
        ({"dryRun": ["Some"]}, 422, 'dryRun: Unsupported value: ["Some"]'),
        ({"gracePeriodSeconds": "5"}, 400,
         "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of"
         " type int64"),
        ({"gracePeriodSeconds": True}, 400, "cannot unmarshal bool into Go struct field"),
        ({"kind": "Pod", "apiVersion": "v1"}, 400,
         'no kind "Pod" is registered for version "v1" in scheme'
         ' "pkg/apis/meta/internalversion/scheme/register.go:27"'),
        ({"orphanDependents": 1}, 400, "DeleteOptions.orphanDependents of type bool"),
        ({"dryRun": "All"}, 400, "DeleteOptions.dryRun of type []string"),
        ({"dryRun": [1]}, 400, "DeleteOptions.dryRun of type []string"),
        ({"propagationPolicy": 1}, 400,
         "DeleteOptions.propagationPolicy of type v1.DeletionPropagation"),
        ({"preconditions": []}, 400, "DeleteOptions.preconditions of type v1.Preconditions"),
        ({"preconditions": {"uid": 1}}, 400, "DeleteOptions.preconditions.uid of type string"),
        ({"preconditions": {"resourceVersion": 1}}, 400,
         "DeleteOptions.preconditions.resourceVersion of type string"),
        ({"preconditions": {"uid": "other"}}, 409, "the UID in the precondition (other) does not"),
        ({"preconditions": {"resourceVersion": "1"}}, 409,
         "the ResourceVersion in the precondition (1) does not match"),
    ],
)  # fmt: skip
def test_a_deletion_with_wrong_options_deletes_nothing(server, body, status, expected):
    server.reply("POST", MAPS, config_map("a"))
    found, message = problem(server, "DELETE", "", body, f"{MAPS}/a")
    assert (found, expected in message) == (status, True), message
    assert server.reply("GET", f"{MAPS}/a")[0] == 200


def test_the_options_of_a_deletion_may_be_in_the_query(server):
    _, made = server.reply("POST", MAPS, config_map("a"))
    metadata = made["metadata"]
    path = f"{MAPS}/a"
    assert server.reply("DELETE", f"{path}?dryRun=All")[0] == 200
    assert server.reply("DELETE", f"{path}?uid=other")[0] == 409
    assert server.reply("DELETE", f"{path}?resourceVersion=1")[0] == 409
    assert server.reply("DELETE", f"{path}?propagationPolicy=Later")[0] == 422
    both = "orphanDependents=true&propagationPolicy=Orphan"
    assert server.reply("DELETE", f"{path}?{both}")[0] == 422
    assert server.reply("GET", path)[0] == 200
    query = f"uid={metadata['uid']}&resourceVersion={metadata['resourceVersion']}"
    assert server.reply("DELETE", f"{path}?{query}&gracePeriodSeconds=0")[0] == 200
    assert server.reply("GET", path)[0] == 404


def test_a_selector_has_256_kibibytes_at_most(server):
    longest = "metadata.name=".ljust(256 * 1024, "x")
    assert server.reply("GET", f"{MAPS}?fieldSelector={longest}")[0] == 200
    for name in ("fieldSelector", "labelSelector"):
        status, message = problem(server, "GET", f"{name}={longest}x")
        text = "selector is too long: may not be more than 262144 bytes"
        assert (status, message) == (400, text)

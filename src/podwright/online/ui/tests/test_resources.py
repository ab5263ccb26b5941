"""The dialogs that create, change and delete objects."""

import asyncio
from types import SimpleNamespace

import pytest
import yaml
from nicegui import ui

from podwright.online.ui.resources import COPIES_MAX, add_resources
from podwright.online.ui.tests.shown import shown

PODS = "/api/v1/namespaces/default/pods"
STRICT = "?fieldValidation=Strict"
KINDS = {
    "GET /api/v1": (
        200,
        {
            "resources": [
                {"kind": "Pod", "name": "pods/status", "namespaced": True},
                {"kind": "Pod", "name": "pods", "namespaced": True},
                {"kind": "Node", "name": "nodes", "namespaced": False},
            ]
        },
    )
}
CREATED = KINDS | {
    f"POST {PODS}{STRICT}&dryRun=All": (201, {}),
    f"POST {PODS}{STRICT}": (201, {}),
}
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
CREATE = {"apiVersion": "v1", "kind": "Pod", "namespace": "", "isNamespaced": True}


def on_page(replies, act):
    """Run the steps of a test on the page of resources; return the page."""

    async def run():
        async with shown(replies) as page:
            add_resources(page.requests)
            await act(page)
            return page

    return asyncio.run(run())


def editing(text, *clicks, copies=1, replies=CREATED):
    """Return the page after a text was entered for a new Pod, and buttons were clicked."""

    async def act(page):
        await page.trigger("pw-create", CREATE)
        page.editor.value = text
        page.all(ui.number)[-1].value = copies
        for click in clicks:
            await page.click(click)

    return on_page(replies, act)


@pytest.mark.parametrize(("entered", "shown_as"), [(2.6, 3), (12.4, 12), (0, 1), (10**9, 10_000)])
def test_copies_are_a_whole_number_within_limits(entered, shown_as):
    async def act(page):
        await page.trigger("pw-create", CREATE)
        field = page.all(ui.number)[-1]
        assert field.value == 1
        field.value = entered
        field.sanitize()
        assert field.value == shown_as

    on_page(CREATED, act)


def problems(page):
    return [text for text in page.texts() if text != "Create Pod"]


def names_of(written):
    return [body["metadata"]["name"] for _, _, body in written]


@pytest.mark.parametrize(
    ("namespace", "is_namespaced", "expected"),
    [
        pytest.param("team", True, "team", id="the namespace that is shown"),
        pytest.param("", True, "default", id="all namespaces are shown"),
        pytest.param("team", False, None, id="a kind without namespaces"),
    ],
)
def test_a_new_object_begins_with_an_example(namespace, is_namespaced, expected):
    async def act(page):
        chosen = {"namespace": namespace, "isNamespaced": is_namespaced}
        await page.trigger("pw-create", {"apiVersion": "v1", "kind": "Pod", **chosen})
        started = yaml.safe_load(page.editor.value)
        assert (started["apiVersion"], started["kind"]) == ("v1", "Pod")
        assert started["metadata"].get("namespace") == expected
        assert page.texts("pw-dialog-title") == ["Create Pod"]

    on_page({}, act)


def test_an_object_is_created_and_the_dialog_closed():
    page = editing(POD, "Create")
    assert page.server.written == [("POST", f"{PODS}{STRICT}", yaml.safe_load(POD))]
    assert page.messages == ["Created 1 object."]
    assert page.reports_change()
    assert not page.all(ui.dialog)[-1].value


def test_a_check_changes_nothing_and_leaves_the_dialog_open():
    page = editing(POD, "Check", copies=3)
    assert [target for _, target, _ in page.server.written] == [f"{PODS}{STRICT}&dryRun=All"]
    assert page.messages == ["The server accepts it. Nothing has been changed."]
    assert not page.scripts
    assert page.all(ui.dialog)[-1].value


def test_a_canceled_object_is_not_created():
    page = editing(POD, "Cancel")
    assert not page.server.received
    assert not page.all(ui.dialog)[-1].value


def test_copies_have_numbers_and_are_counted_with_all_documents():
    page = editing(f"{POD}---\n{POD.replace('web', 'job')}", "Create", copies=2)
    assert names_of(page.server.written) == ["web-1", "web-2", "job-1", "job-2"]
    assert {target for _, target, _ in page.server.written} == {f"{PODS}{STRICT}"}
    assert page.messages == ["Created 4 objects."]


@pytest.mark.parametrize(
    ("copies", "is_created"),
    [
        pytest.param(None, True, id="an empty field is one copy"),
        pytest.param(COPIES_MAX + 1, False, id="more than the most"),
        pytest.param(-1, False, id="less than one"),
    ],
)
def test_the_number_of_copies_has_limits(copies, is_created):
    page = editing(POD, "Create", copies=copies)
    assert bool(page.server.written) is is_created
    assert problems(page) == ([] if is_created else [f"Copies are 1 to {COPIES_MAX:,}."])


def test_errors_of_the_server_are_at_the_lines_of_their_documents():
    cause = {"field": "spec.containers", "message": "Required value"}
    details = {"details": {"causes": [cause]}}
    refused = CREATED | {f"POST {PODS}{STRICT}": (422, {"kind": "Status", **details})}
    page = editing(f"---\n{POD}spec:\n  containers: []\n", "Create", replies=refused)
    assert problems(page) == ["spec.containers: Required value"]
    assert page.button("line 6")
    assert [one["line"] for one in page.editor.decorations] == [6]
    assert not page.messages
    assert page.all(ui.dialog)[-1].value
    assert page.reports_change(), "of several documents some may have been created"


def test_copies_that_fail_are_counted_with_the_first_reason():
    class Once(dict[str, object]):
        """Creates one object and no second."""

        def get(self, key, default=None):
            found = super().get(key, default)
            if key.startswith("POST"):
                self[key] = (403, {"message": "the quota is exhausted"})
            return found

    page = editing(POD, "Create", copies=3, replies={})
    assert problems(page) == ['The server has no apiVersion "v1".']

    async def act(page):
        page.server.replies = Once(CREATED)
        await page.trigger("pw-create", CREATE)
        page.editor.value = POD
        page.all(ui.number)[-1].value = 3
        await page.click("Create")

    page = on_page({}, act)
    assert problems(page) == ["2 of 3 were not created: the quota is exhausted"]
    assert names_of(page.server.written) == ["web-1", "web-2", "web-3"]


def test_a_text_that_is_not_yaml_reaches_no_server():
    page = editing("kind: [", "Create")
    assert not page.server.received
    assert len(problems(page)) == 1


def test_an_error_is_gone_once_the_text_is_right():
    async def act(page):
        await page.trigger("pw-create", CREATE)
        page.editor.value = POD.replace("v1", "v7")
        await page.click("Check")
        assert problems(page) == ['The server has no apiVersion "v7".']
        assert page.editor.decorations
        page.editor.value = POD
        await page.click("Check")
        assert (problems(page), page.editor.decorations) == ([], [])

    on_page(CREATED, act)


# --------------------------------------------------------------------------- changes

WEB = f"{PODS}/web"
LABELED = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "labels": {"a": "b"}, "managedFields": [{}]},
}
EDIT = {"path": WEB, "kind": "Pod", "name": "web"}


def edited(change, *clicks, seen=LABELED, now=LABELED, reply=(200, {})):
    """Return the page after an object was opened, changed, and saved."""
    target = f"PATCH {WEB}{STRICT}"

    async def act(page):
        await page.trigger("pw-edit", EDIT)
        assert page.texts("pw-dialog-title") == ["Pod web"]
        page.server.replies[f"GET {WEB}"] = (200, now)
        page.editor.value = change(page.editor.value)
        for click in clicks:
            await page.click(click)

    replies = {f"GET {WEB}": (200, seen), target: reply, f"{target}&dryRun=All": reply}
    return on_page(replies, act)


def to_c(text):
    return text.replace("a: b", "a: c")


def test_only_the_fields_that_differ_are_changed():
    page = edited(to_c, "Save")
    assert page.server.written == [
        ("PATCH", f"{WEB}{STRICT}", {"metadata": {"labels": {"a": "c"}}})
    ]
    assert page.server.requests[-1].headers["content-type"] == "application/merge-patch+json"
    assert page.messages == ["The object has been changed."]
    assert page.reports_change()


def test_a_change_is_checked_without_being_made():
    page = edited(to_c, "Check")
    assert [target for _, target, _ in page.server.written] == [f"{WEB}{STRICT}&dryRun=All"]


def test_managed_fields_are_not_shown():
    edited(lambda text: text if "managedFields" not in text else pytest.fail(text))


def test_a_change_of_the_same_field_by_another_is_overwritten_only_when_saved_again():
    other = LABELED | {"metadata": {"name": "web", "labels": {"a": "other"}}}
    page = edited(to_c, "Save", now=other)
    assert not page.server.written
    conflict = "metadata.labels.a is now 'other': save again to overwrite it."
    assert conflict in page.texts()
    page = edited(to_c, "Save", "Save", now=other)
    assert [body for _, _, body in page.server.written] == [{"metadata": {"labels": {"a": "c"}}}]


def test_a_change_of_another_field_by_another_stays():
    other = LABELED | {"metadata": {"name": "web", "labels": {"a": "b", "x": "y"}}}
    page = edited(to_c, "Save", now=other)
    assert [body for _, _, body in page.server.written] == [{"metadata": {"labels": {"a": "c"}}}]


def test_an_object_is_changed_alone():
    page = edited(lambda text: f"{text}---\n{POD}", "Save")
    assert not page.server.written
    assert "Enter exactly one object." in page.texts()
    assert page.button("line 8")


def test_a_refused_change_is_shown_in_the_dialog():
    page = edited(to_c, "Save", reply=(409, {"message": "the object has been modified"}))
    assert "the object has been modified" in page.texts()


def test_an_object_that_was_deleted_meanwhile_is_not_saved():
    async def act(page):
        await page.trigger("pw-edit", EDIT)
        page.server.replies = {}
        await page.click("Save")

    page = on_page({f"GET {WEB}": (200, LABELED)}, act)
    assert f"{WEB} is not found." in page.texts()
    assert not page.server.written


def test_an_object_that_is_gone_opens_no_dialog():
    async def act(page):
        await page.trigger("pw-edit", EDIT)

    page = on_page({}, act)
    assert page.messages == [f"{WEB} is not found."]
    assert not page.all(ui.dialog)


@pytest.mark.parametrize("path", ["/metrics", None, "/api/../metrics"])
def test_paths_off_the_api_are_not_requested(path):
    async def act(page):
        await page.trigger("pw-edit", EDIT | {"path": path})
        assert "not a path of an object" in str(page.failures.pop())
        assert not page.server.received

    on_page({}, act)


# --------------------------------------------------------------------------- deletion


def deleted(keys, *clicks, replies=None):
    """Return the page after the deletion of pods was requested."""
    objects = [{"key": key, "path": f"{PODS}/{key}"} for key in keys]
    found: dict[str, object] = {f"DELETE {each['path']}": (200, {}) for each in objects}

    async def act(page):
        await page.trigger("pw-delete", {"objects": objects, "kind": "Pod"})
        page.seen = page.texts()
        for click in clicks:
            await page.click(click)

    return on_page(found | (replies or {}), act)


def test_objects_are_deleted_once_it_is_confirmed():
    page = deleted(["web", "job"], "Delete")
    assert page.seen == ["Delete 2 Pods?", "web", "job"]
    assert page.server.written == [
        ("DELETE", f"{PODS}/web", {}),
        ("DELETE", f"{PODS}/job", {}),
    ]
    assert page.messages == ["Deleted 2 Pods."]
    assert page.reports_change()


def test_a_deletion_that_is_not_confirmed_deletes_nothing():
    page = deleted(["web"], "Cancel")
    assert page.seen == ["Delete 1 Pod?", "web"]
    assert not page.server.received
    assert not page.messages


def test_a_deletion_lists_ten_objects_and_counts_the_others():
    page = deleted([f"p{index}" for index in range(10)])
    assert page.seen[1:] == [f"p{index}" for index in range(10)]
    page = deleted([f"p{index}" for index in range(1_012)])
    assert page.seen[0] == "Delete 1,012 Pods?"
    assert page.seen[10:] == ["p9", "and 1,002 more"]


def test_objects_that_are_not_deleted_are_counted_with_the_first_reason():
    refused = {f"DELETE {PODS}/job": (403, {"message": "job is protected"})}
    page = deleted(["web", "job", "old"], "Delete", replies=refused)
    assert page.messages == ["1 of 3 were not deleted: job is protected"]
    assert page.reports_change()


# --------------------------------------------------------------------------- the whole cluster


@pytest.mark.parametrize("clicked", ["Reset", "Cancel"])
def test_a_cluster_is_reset_once_it_is_confirmed(clicked):
    async def act(page):
        await page.trigger("pw-reset")
        assert page.texts("pw-dialog-title") == ["Reset the cluster?"]
        await page.click(clicked)

    page = on_page({"POST /podwright/v1/reset": (200, {})}, act)
    is_reset = clicked == "Reset"
    assert page.server.written == [("POST", "/podwright/v1/reset", {})] * is_reset
    assert page.messages == ["The cluster has been reset."] * is_reset
    assert page.reports_change() is is_reset


def test_a_refused_reset_is_reported():
    async def act(page):
        await page.trigger("pw-reset")
        await page.click("Reset")

    page = on_page({"POST /podwright/v1/reset": (403, {"detail": "only for admins"})}, act)
    assert page.messages == ["only for admins"]
    assert not page.scripts


def imported(content, reply):
    async def act(page):
        await page.trigger("pw-import")
        upload = page.all(ui.upload)[-1]

        async def read():
            return content

        (handler,) = upload._upload_handlers
        with upload:
            await handler(SimpleNamespace(file=SimpleNamespace(read=read)))
        await page.settle()

    return on_page({"POST /podwright/v1/snapshot": reply}, act)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        pytest.param({"applied": 7}, "has been imported. 7 objects were applied.", id="counted"),
        pytest.param([], "The snapshot has been imported.", id="not counted"),
    ],
)
def test_a_snapshot_is_imported(reply, message):
    page = imported(b"pods: []\n", (200, reply))
    assert page.server.written == [("POST", "/podwright/v1/snapshot", {"pods": []})]
    assert [text.removeprefix("The snapshot ") for text in page.messages] == [
        message.removeprefix("The snapshot ")
    ]
    assert page.reports_change()
    assert not page.all(ui.dialog)[-1].value


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"\xff", "utf-8", id="not a text"),
        pytest.param(b"# nothing\n", "There is no object.", id="no document"),
        pytest.param(b"a: 1\n---\nb: 1\n", "A snapshot is one document.", id="two documents"),
        pytest.param(b"pods: []\n", "pods are wrong", id="refused by the server"),
    ],
)
def test_a_snapshot_that_cannot_be_imported_leaves_the_dialog_open(content, message):
    page = imported(content, (400, {"detail": "pods are wrong"}))
    assert len(page.messages) == 1
    assert message in page.messages[0]
    assert not page.scripts
    assert page.all(ui.dialog)[-1].value


def test_many_requests_are_sent_a_few_at_a_time():
    open_now, most = 0, 0

    async def act(page):
        nonlocal open_now, most
        send = page.requests.send

        async def counted(*arguments):
            nonlocal open_now, most
            open_now += 1
            most = max(most, open_now)
            await asyncio.sleep(0)
            open_now -= 1
            return await send(*arguments)

        page.requests.send = counted
        objects = [{"key": f"p{index}", "path": f"{PODS}/p{index}"} for index in range(40)]
        await page.trigger("pw-delete", {"objects": objects, "kind": "Pod"})
        await page.click("Delete")

    on_page({}, act)
    assert most == 16

"""The frame of the forms, confirmations, messages, and the editor for YAML."""

import asyncio

import pytest
from nicegui import ui

from podwright.online.ui import dialogs
from podwright.online.ui.manifests import LineError
from podwright.online.ui.tests.shown import shown


def on_page(act):
    async def run():
        async with shown() as page:
            await act(page)
            return page

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("size", "is_small"),
    [({"is_small": True}, True), ({"is_small": False}, False), ({}, False)],
    ids=["small", "large", "by default"],
)
def test_a_form_is_open_with_its_content_and_is_deleted_when_it_closes(size, is_small):
    async def act(page):
        with dialogs.form("Create Pod", **size) as (dialog, actions):
            ui.label("content")
        with actions:
            dialogs.add_button("Save", dialog.close)
        assert dialog.value
        assert dialog.props["aria-label"] == "Create Pod"
        assert dialog.props["persistent"]
        assert page.texts() == ["Create Pod", "content"]
        assert ("pw-small" in page.all(ui.card)[0].classes) is is_small
        await page.click("Save")
        assert not dialog.value
        await page.trigger("hide", element=dialog)
        assert not page.all(ui.dialog)
        assert not page.texts()

    on_page(act)


@pytest.mark.parametrize(
    ("clicked", "is_confirmed"),
    [
        pytest.param("Delete", True, id="the verb"),
        pytest.param("Cancel", False, id="cancel"),
        pytest.param(None, False, id="Esc"),
    ],
)
def test_only_the_verb_confirms(clicked, is_confirmed):
    async def act(page):
        async def ask():
            with page.client:
                return await dialogs.confirm("Delete it?", ["one", "two"], "Delete")

        asked = asyncio.ensure_future(ask())
        await page.settle()
        assert page.texts() == ["Delete it?", "one", "two"]
        (dialog,) = page.all(ui.dialog)
        assert dialog.props["aria-label"] == "Delete it?"
        assert page.button("Cancel").props["autofocus"], "Enter confirms nothing by mistake"
        if clicked:
            await page.click(clicked)
        else:
            dialog.close()
        assert await asked is is_confirmed
        assert not page.all(ui.dialog)

    on_page(act)


@pytest.mark.parametrize("is_primary", [True, False])
def test_one_button_of_a_form_is_the_primary_one(is_primary):
    async def act(_):
        button = dialogs.add_button("Save", lambda: None, is_primary=is_primary)
        assert ("pw-primary" in button.classes) is is_primary
        assert ("pw-secondary" in button.classes) is not is_primary

    on_page(act)


def test_an_error_stays_until_it_is_closed_and_what_was_done_does_not():
    async def act(page):
        dialogs.notify_done("Created.")
        dialogs.notify_error("Refused.")
        await page.settle()
        done, error = page.notes
        assert (done["message"], error["message"]) == ("Created.", "Refused.")
        assert done["timeout"] == 4_000
        assert "closeBtn" not in {key for key, value in done.items() if value}
        assert (error["timeout"], error["closeBtn"]) == (0, "Close")
        assert (done["classes"], error["classes"]) == ("pw-done", "pw-failed")
        assert {each["position"] for each in page.notes} == {"bottom-right"}
        assert error["multiLine"], "errors of the server are long"

    on_page(act)


# --------------------------------------------------------------------------- the editor

TEXT = "a: 1\nb: 2\nc: 3"


def showing(*errors, before=()):
    """Return the page after errors of a text were shown."""

    async def act(page):
        page.calls = []
        editor = dialogs.YamlEditor(TEXT)
        editor.code.reveal_line = page.calls.append
        if before:
            editor.show(before)
            page.calls.clear()
        editor.show(errors)
        for each in page.all(ui.button):
            await page.trigger("click", element=each)

    return on_page(act)


def test_errors_mark_their_lines_and_are_listed():
    page = showing(LineError(3, "third"), LineError(1, "first"))
    assert page.editor.decorations == [
        {"kind": "line", "line": 1, "class": "pw-error-line"},
        {"kind": "line", "line": 3, "class": "pw-error-line"},
    ]
    assert page.editor.line_tooltips == {1: "first", 3: "third"}
    assert page.texts() == ["third", "first"]
    assert [each.text for each in page.all(ui.button)] == ["line 3", "line 1"]
    assert page.calls[0] == 1, "the first line with an error is visible"
    assert page.calls[1:] == [3, 1], "a click shows the line"


def test_an_error_without_a_line_is_only_listed():
    page = showing(LineError(0, "no object"))
    assert (page.editor.decorations, page.texts()) == ([], ["no object"])
    assert not page.all(ui.button)
    assert not page.calls


def test_an_error_behind_the_text_shows_its_last_line():
    page = showing(LineError(4, "ends early"))
    assert (page.editor.decorations, page.editor.line_tooltips) == ([], {})
    assert page.calls[0] == 3
    assert showing(LineError(3, "last")).calls[0] == 3


def test_no_errors_clear_those_before():
    page = showing(before=[LineError(2, "wrong")])
    assert (page.editor.decorations, page.editor.line_tooltips) == ([], {})
    assert not page.texts()
    assert not page.calls, "the text does not move"


@pytest.mark.parametrize("completes", [True, False])
@pytest.mark.parametrize("is_dark", [True, False])
def test_an_editor_begins_with_the_theme_of_the_page(completes, is_dark):
    async def act(page):
        page.answer = is_dark
        editor = dialogs.YamlEditor(TEXT, completes=completes)
        assert editor.text == TEXT
        (timer,) = page.all(ui.timer)
        assert timer.interval == 0.05, "the browser has not made the editor before"
        await timer.callback()
        (script,) = page.scripts
        assert f"getElement({editor.code.id})" in script
        assert f"if ({str(completes).lower()}) addCompletion" in script
        assert editor.code.theme == ("vscodeDark" if is_dark else "vscodeLight")

    on_page(act)

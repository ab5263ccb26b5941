"""The page of the configuration."""

import asyncio
import json

import pytest
import yaml
from nicegui import ui

from podwright.online.ui.configuration import add_configuration
from podwright.online.ui.tests.shown import shown

ROOT = "/podwright/v1"
WRITTEN = {"kind": "KubeSchedulerConfiguration", "parallelism": 4}
EFFECTIVE = WRITTEN | {"percentageOfNodesToScore": 0}
PLUGINS = [
    {
        "name": "Off",
        "origin": "in-tree",
        "summary": "Is off.",
        "points": ["filter"],
        "profiles": [],
    },
    {
        "name": "Spread",
        "origin": "own",
        "summary": "Spreads `pods`.",
        "points": ["filter", "score"],
        "profiles": [
            {"schedulerName": "b", "weight": 10, "points": ["score"], "args": {"mode": "most"}},
            {"schedulerName": "a", "weight": 2, "points": ["filter", "score"], "args": {}},
            {"schedulerName": "c", "weight": None, "points": ["filter"], "args": {}},
        ],
    },
]
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def replies(query="", schedulers=(("default-scheduler",),), *, is_allowed=True, warnings=()):
    found = {"written": WRITTEN, "effective": EFFECTIVE, "warnings": list(warnings)}
    listed = [{"schedulerNames": list(names)} for names in schedulers]
    return {
        f"GET {ROOT}/configuration{query}": (200, found),
        f"GET {ROOT}/schedulers": (200, {"schedulers": listed}),
        f"GET {ROOT}/plugins{query}": (200, {"plugins": PLUGINS}),
        f"POST {REVIEWS}": (201, {"status": {"allowed": is_allowed}}),
    }


def on_page(act, served=None, scheduler=""):
    """Run the steps of a test on the page; return it."""

    async def run():
        async with shown(replies() if served is None else served) as page:
            await add_configuration(page.requests, scheduler)
            await act(page)
            return page

    return asyncio.run(run())


async def nothing(page):
    """Only look."""


def changed(page):
    """What was sent but for the question what the user may do."""
    return [one for one in page.server.written if one[1] != REVIEWS]


def buttons(page):
    return [each.text for each in page.all(ui.button)]


@pytest.mark.parametrize("is_allowed", [True, False])
def test_who_may_not_change_the_configuration_has_no_button_for_it(is_allowed):
    page = on_page(nothing, replies(is_allowed=is_allowed))
    expected = ["As written", "With defaults", "Check", "Compare", *["Apply"] * is_allowed]
    assert buttons(page) == expected
    asked = {"verb": "put", "path": f"{ROOT}/configuration"}
    ((_, _, review),) = page.server.written
    assert review["spec"] == {"nonResourceAttributes": asked}


def test_the_configuration_is_shown_as_written_or_with_defaults():
    async def act(page):
        assert yaml.safe_load(page.editor.value) == WRITTEN
        await page.click("With defaults")
        assert yaml.safe_load(page.editor.value) == EFFECTIVE
        await page.click("As written")
        assert yaml.safe_load(page.editor.value) == WRITTEN

    on_page(act)


@pytest.mark.parametrize("shown_again", ["As written", "With defaults"])
def test_problems_of_a_text_that_is_no_longer_shown_are_gone(shown_again):
    async def act(page):
        page.editor.value = "a: b: c"
        await page.click("Check")
        assert page.editor.decorations
        await page.click(shown_again)
        assert not page.editor.decorations

    on_page(act)


def test_settings_without_an_effect_are_listed():
    page = on_page(nothing, replies(warnings=["Off is enabled twice."]))
    assert "No effect: Off is enabled twice." in page.texts()
    assert not page.editor.decorations


def test_a_server_that_refuses_is_reported():
    served = replies() | {f"GET {ROOT}/plugins": (403, {"detail": "not for you"})}
    page = on_page(nothing, served)
    assert page.texts() == ["not for you", "Reload the page to try again."]
    assert not page.all(ui.codemirror)


def test_the_configuration_of_another_scheduler_is_that_of_the_address():
    names = (("default-scheduler",), ("a b", "c"))
    served = replies("?schedulerName=a%20b", names)
    served[f"PUT {ROOT}/configuration?schedulerName=a%20b"] = served[
        f"GET {ROOT}/configuration?schedulerName=a%20b"
    ]

    async def act(page):
        await page.click("Apply")

    page = on_page(act, served, "a b")
    (choice,) = page.all(ui.select)
    assert (choice.value, choice.options) == ("a b", ["default-scheduler", "a b", "c"])
    assert [target for _, target, _ in changed(page)] == [
        f"{ROOT}/configuration?schedulerName=a%20b"
    ]


def test_one_scheduler_needs_no_choice_and_the_first_is_chosen():
    assert not on_page(nothing).all(ui.select)
    page = on_page(nothing, replies(schedulers=(("a",), ("b",))))
    assert page.all(ui.select)[0].value == "a"


def test_another_scheduler_is_another_address(monkeypatch):
    visited: list[str] = []
    monkeypatch.setattr(ui.navigate, "to", visited.append)

    async def act(page):
        page.all(ui.select)[0].value = "b"

    on_page(act, replies(schedulers=(("a",), ("b",))))
    assert visited == ["/configuration?schedulerName=b"]


# --------------------------------------------------------------------------- check, compare, apply

CHECK = f"POST {ROOT}/configuration/check"
VALID = (200, {"errors": [], "warnings": ["x has no effect"]})


def after(button, text=None, *, reschedule=True, **more):
    async def act(page):
        if text is not None:
            page.editor.value = text
        page.all(ui.checkbox)[0].value = reschedule
        await page.click(button)

    return on_page(act, replies() | more)


def test_a_valid_text_is_checked_and_changes_nothing():
    page = after("Check", "parallelism: 2\n", **{CHECK: VALID})
    assert changed(page) == [("POST", f"{ROOT}/configuration/check", {"parallelism": 2})]
    assert page.messages == ["The configuration is valid. Nothing has been changed."]
    assert "No effect: x has no effect" in page.texts()


@pytest.mark.parametrize("button", ["Check", "Compare"])
def test_errors_of_a_configuration_are_at_their_lines(button):
    errors = [
        {"field": "profiles[0].plugins", "detail": "Required value"},
        {"field": None, "detail": "two leaders"},
    ]
    text = "parallelism: 1\nprofiles:\n- plugins: {}\n"
    page = after(button, text, **{CHECK: (200, {"errors": errors, "warnings": []})})
    assert "profiles[0].plugins: Required value" in page.texts()
    assert "two leaders" in page.texts()
    assert [each["line"] for each in page.editor.decorations] == [3]
    assert not page.messages
    assert not [script for script in page.scripts if "compare" in script]


@pytest.mark.parametrize("button", ["Check", "Apply"])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("a: b: c", None, id="not YAML"),
        pytest.param("a: 1\n---\nb: 1\n", "There can be one configuration.", id="two documents"),
    ],
)
def test_a_text_that_is_no_configuration_is_not_sent(button, text, problem):
    page = after(button, text)
    assert not changed(page)
    assert page.editor.decorations
    if problem:
        assert problem in page.texts()
        assert [each["line"] for each in page.editor.decorations] == [3]


@pytest.mark.parametrize("reschedule", [True, False])
def test_a_comparison_has_the_text_and_which_pods_are_scheduled(reschedule):
    page = after("Compare", "parallelism: 2\n", reschedule=reschedule, **{CHECK: VALID})
    (script,) = [each for each in page.scripts if "compare" in each]
    begin, body = "document.querySelector('pw-comparison').compare(", script
    assert body.startswith(begin)
    assert json.loads(body.removeprefix(begin).removesuffix(")")) == {
        "configuration": {"parallelism": 2},
        "reschedule": reschedule,
        "schedulerName": "",
    }


@pytest.mark.parametrize(
    ("button", "request_line"),
    [("Check", CHECK), ("Compare", CHECK), ("Apply", f"PUT {ROOT}/configuration")],
)
def test_a_refused_text_is_shown_in_the_editor(button, request_line):
    refused = (422, {"errors": [{"field": "parallelism", "detail": "must be positive"}]})
    page = after(button, "parallelism: 0\n", **{request_line: refused})
    assert not [script for script in page.scripts if "compare" in script]
    assert "parallelism: must be positive" in page.texts()
    assert [each["line"] for each in page.editor.decorations] == [1]
    assert not page.messages


def test_a_configuration_is_applied_and_its_plugins_shown():
    applied = {"written": {"parallelism": 2}, "effective": {"parallelism": 3}, "warnings": ["w"]}

    async def act(page):
        before = page.server.replies
        before[f"PUT {ROOT}/configuration"] = (200, applied)
        before[f"GET {ROOT}/plugins"] = (200, {"plugins": PLUGINS[:1]})
        page.editor.value = "parallelism: 2\n"
        await page.click("Apply")
        assert page.texts("pw-name") == ["Off"]
        assert page.texts("pw-title") == ["Configuration", "Plugins"]
        assert "No effect: w" in page.texts()
        await page.click("With defaults")
        assert yaml.safe_load(page.editor.value) == {"parallelism": 3}

    page = on_page(act)
    assert changed(page) == [("PUT", f"{ROOT}/configuration", {"parallelism": 2})]
    assert page.messages == ["The scheduler runs with this configuration."]


def test_plugins_that_cannot_be_read_after_a_change_are_an_error():
    async def act(page):
        page.server.replies[f"PUT {ROOT}/configuration"] = page.server.replies[
            f"GET {ROOT}/configuration"
        ]
        page.server.replies.pop(f"GET {ROOT}/plugins")
        await page.click("Apply")

    page = on_page(act)
    done = "The scheduler runs with this configuration."
    assert page.messages == [f"{ROOT}/plugins is not found.", done]
    assert page.texts("pw-name") == ["Spread", "Off"]


def test_plugins_are_listed_with_weights_points_and_arguments():
    page = on_page(nothing)
    assert page.texts("pw-name") == ["Spread", "Off"], "the enabled ones are first"
    assert page.texts("pw-summary") == ["Spreads pods.", "Is off."]
    assert "weight 2, weight 10, own plugin" in page.texts("pw-muted")
    assert "not enabled" in page.texts("pw-muted")
    assert "Extension points: filter, score" in page.texts()
    assert "In the profile a: filter, score" in page.texts()
    assert page.texts("pw-code") == ["mode: most\n"]

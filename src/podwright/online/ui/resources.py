"""The page of resources: dialogs to create, change and delete objects, and the whole cluster.

The Tables are the element `pw-resources`, which opens the dialogs by events.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from nicegui import ui

from podwright.online.ui.dialogs import (
    YamlEditor,
    add_button,
    confirm,
    form,
    notify_done,
    notify_error,
    signal_change,
)
from podwright.online.ui.manifests import (
    Document,
    InvalidText,
    LineError,
    change_between,
    conflicting_fields,
    copies_of,
    errors_in,
    read_document,
    read_documents,
    text_of,
    without_managed_fields,
)
from podwright.online.ui.pass_through import is_passed
from podwright.online.ui.server_requests import Cause, RejectedRequest, ServerRequests
from podwright.online.ui.templates import template_of

COPIES_MAX: Final = 10_000
_AT_ONCE: Final = 16
"""How many requests are sent at the same time."""
_LISTED_MAX: Final = 10
_SNAPSHOT: Final = "/podwright/v1/snapshot"
_RESET: Final = "/podwright/v1/reset"


def add_resources(requests: ServerRequests) -> None:
    """Add the dialogs of the page of resources.

    Parameters
    ----------
    requests : ServerRequests
    """
    page = _Resources(requests)
    ui.on("pw-create", page.create)
    ui.on("pw-edit", page.edit)
    ui.on("pw-delete", page.delete)
    ui.on("pw-import", page.import_snapshot)
    ui.on("pw-reset", page.reset)


class _Resources:
    def __init__(self, requests: ServerRequests) -> None:
        self._requests = requests

    async def create(self, event: Any) -> None:
        """Open the editor with a template."""
        chosen = event.args
        kind = str(chosen["kind"])
        namespace = str(chosen["namespace"] or "default") if chosen["isNamespaced"] else ""
        with form(f"Create {kind}") as (dialog, actions):
            editor = YamlEditor(template_of(str(chosen["apiVersion"]), kind, namespace))
        with actions:
            copies = ui.number("Copies", value=1, min=1, max=COPIES_MAX, precision=0)
            copies.props("dense outlined").classes("pw-number")
            copies.tooltip("Copies are named name-1, name-2.")

            async def write(*, is_dry_run: bool) -> str:
                number = int(copies.value or 1)
                if not 1 <= number <= COPIES_MAX:
                    raise InvalidText(LineError(0, f"Copies are 1 to {COPIES_MAX:,}."))
                return await self._write_all(editor.text, number, is_dry_run=is_dry_run)

            _add_actions(dialog, editor, write, "Create")

    async def edit(self, event: Any) -> None:
        """Open the editor with an object."""
        path = _checked(event.args["path"])
        try:
            found = await self._requests.send("GET", path)
        except RejectedRequest as error:
            notify_error(str(error))
            return
        with form(f"{event.args['kind']} {event.args['name']}") as (dialog, actions):
            editor = YamlEditor(text_of(found))

        seen = found

        async def write(*, is_dry_run: bool) -> str:
            nonlocal seen
            document = read_document(editor.text, "Enter exactly one object.")
            # A change of the fields that differ, so that others' changes of other fields stay.
            change = change_between(without_managed_fields(found), document.value)
            before, seen = seen, await self._current(document, path)
            theirs = change_between(*map(without_managed_fields, (before, seen)))
            conflicts = tuple(
                Cause(f"{field} is now {value!r}: save again to overwrite it.", field)
                for field, value in conflicting_fields(change, theirs)
            )
            if conflicts:
                raise _Rejected(document, conflicts)
            await self._write(document, "PATCH", path, change, is_dry_run=is_dry_run)
            return "The object has been changed."

        with actions:
            _add_actions(dialog, editor, write, "Save")

    async def delete(self, event: Any) -> None:
        """Delete objects after a confirmation."""
        objects = event.args["objects"]
        names = [str(each["key"]) for each in objects]
        shown = names[:_LISTED_MAX]
        if len(names) > len(shown):
            shown.append(f"and {len(names) - len(shown):,} more")
        if not await confirm(
            f"Delete {_counted(len(names), event.args['kind'])}?", shown, "Delete"
        ):
            return
        paths = [_checked(each["path"]) for each in objects]
        results = await _all_of(self._requests.send("DELETE", path) for path in paths)
        failed = [error for error in results if error is not None]
        if failed:
            notify_error(f"{len(failed)} of {len(paths)} were not deleted: {failed[0]}")
        else:
            notify_done(f"Deleted {_counted(len(paths), event.args['kind'])}.")
        signal_change()

    async def import_snapshot(self) -> None:
        """Apply the objects of a file."""
        with form("Import a snapshot", is_small=True) as (dialog, actions):
            ui.label("A file of podwright convert, or of kube-scheduler-simulator's export.")

            async def apply(uploaded: Any) -> None:
                try:
                    text = (await uploaded.file.read()).decode("utf-8")
                    document = read_document(text, "A snapshot is one document.")
                    found = await self._requests.send("POST", _SNAPSHOT, document.value)
                except (UnicodeDecodeError, InvalidText, RejectedRequest) as error:
                    notify_error(str(error))
                    return
                dialog.close()
                applied = found.get("applied") if isinstance(found, dict) else None
                count = f" {applied} objects were applied." if isinstance(applied, int) else ""
                notify_done(f"The snapshot has been imported.{count}")
                signal_change()

            label = "Choose a file, or drop it here"
            ui.upload(label=label, on_upload=apply, auto_upload=True, max_files=1).classes(
                "pw-upload"
            )
        with actions:
            ui.space()
            add_button("Cancel", dialog.close)

    async def reset(self) -> None:
        """Restore the objects and the configuration of the start."""
        lines = ["All objects and the configuration become those of the start of the server."]
        if not await confirm("Reset the cluster?", lines, "Reset"):
            return
        try:
            await self._requests.send("POST", _RESET)
        except RejectedRequest as error:
            notify_error(str(error))
            return
        notify_done("The cluster has been reset.")
        signal_change()

    async def _write_all(self, text: str, number: int, *, is_dry_run: bool) -> str:
        """Create the objects of a text; return what was done."""
        documents = read_documents(text)
        for document in documents:
            path = await self._collection(document)
            # The first one shows the errors; the others differ only in their names.
            first, *others = copies_of(document.value, number)
            await self._write(document, "POST", path, first, is_dry_run=is_dry_run)
            if is_dry_run:
                continue
            results = await _all_of(
                self._requests.write("POST", path, one, is_dry_run=False) for one in others
            )
            failed = [error for error in results if error is not None]
            if failed:
                message = f"{len(failed)} of {number} were not created: {failed[0]}"
                raise InvalidText(LineError(0, message))
        return f"Created {_counted(number * len(documents), 'object')}."

    async def _collection(self, document: Document) -> str:
        try:
            return await self._requests.collection_of(document.value)
        except RejectedRequest as error:
            raise _Rejected(document, error.causes) from error

    async def _current(self, document: Document, path: str) -> Any:
        """Return the object as it is now."""
        try:
            return await self._requests.send("GET", path)
        except RejectedRequest as error:
            raise _Rejected(document, error.causes) from error

    async def _write(
        self, document: Document, method: str, path: str, value: Any, *, is_dry_run: bool
    ) -> None:
        try:
            await self._requests.write(method, path, value, is_dry_run=is_dry_run)
        except RejectedRequest as error:
            raise _Rejected(document, error.causes) from error


class _Rejected(Exception):  # noqa: N818 - named for what it is
    """The server rejected a document of the editor."""

    def __init__(self, document: Document, causes: tuple[Cause, ...]) -> None:
        super().__init__("; ".join(cause.message for cause in causes))
        self.errors = errors_in(document, causes)


def _add_actions(
    dialog: Any, editor: YamlEditor, write: Callable[..., Awaitable[str]], verb: str
) -> None:
    """Add the buttons of an editor, which show its errors."""

    async def run(*, is_dry_run: bool) -> None:
        try:
            done = await write(is_dry_run=is_dry_run)
        except InvalidText as error:
            editor.show([error.error])
        except _Rejected as error:
            editor.show(error.errors)
        else:
            editor.show([])
            if is_dry_run:
                notify_done("The server accepts it. Nothing has been changed.")
                return
            dialog.close()
            notify_done(done)
        if not is_dry_run:
            signal_change()

    async def check() -> None:
        await run(is_dry_run=True)

    async def save() -> None:
        await run(is_dry_run=False)

    ui.space()
    add_button("Cancel", dialog.close)
    add_button("Check", check).tooltip("Dry run: the server validates it and changes nothing")
    add_button(verb, save, is_primary=True)


async def _all_of(requests: Iterable[Awaitable[Any]]) -> list[str | None]:
    """Send requests, a few at the same time; return the error of each, or None."""
    free = asyncio.Semaphore(_AT_ONCE)

    async def one(request: Awaitable[Any]) -> str | None:
        async with free:
            try:
                await request
            except RejectedRequest as error:
                return str(error)
            return None

    return await asyncio.gather(*map(one, requests))


def _checked(path: Any) -> str:
    if not isinstance(path, str) or not is_passed(path):
        raise ValueError(f"not a path of an object: {path!r}")
    return path


def _counted(number: int, kind: Any) -> str:
    return f"{number:,} {kind}{'' if number == 1 else 's'}"

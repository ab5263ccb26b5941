"""The text of an editor: documents, the lines of errors, copies, and templates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from podwright.apimachinery.objects import YamlError, read_yaml, write_yaml, yaml_line_of
from podwright.online.ui.server_requests import Cause


class Document(msgspec.Struct, frozen=True):
    """A document of a text.

    Attributes
    ----------
    value : object
        Plain data.
    text : str
        The text from the document on.
    line : int
        The line of its start, from 1.
    """

    value: Any
    text: str
    line: int


class LineError(msgspec.Struct, frozen=True):
    """An error in a text.

    Attributes
    ----------
    line : int
        From 1; 0 if the error is about no line.
    message : str
    """

    line: int
    message: str


class InvalidText(Exception):  # noqa: N818 - named for what it is
    """The text is not YAML, or has no document.

    Attributes
    ----------
    error : LineError
    """

    def __init__(self, error: LineError) -> None:
        super().__init__(error.message)
        self.error = error


def read_documents(text: str) -> list[Document]:
    """Return the documents of a text; empty ones are left out.

    Raises
    ------
    InvalidText
        It is not YAML, or has no document.
    """
    lines = text.splitlines(keepends=True)
    try:
        found = [
            Document(one.value, "".join(lines[one.line - 1 :]), one.line)
            for one in read_yaml(text, reads_one_letter=True)
            if one.value is not None
        ]
    except YamlError as error:
        raise InvalidText(LineError(error.line, str(error))) from error
    if not found:
        raise InvalidText(LineError(0, "There is no object."))
    return found


def read_document(text: str, expected: str) -> Document:
    """Return the only document of a text.

    Parameters
    ----------
    text : str
    expected : str
        What an error says at the second document.

    Raises
    ------
    InvalidText
        The text is not YAML, or has no document, or several.
    """
    first, *others = read_documents(text)
    if others:
        raise InvalidText(LineError(others[0].line, expected))
    return first


def errors_in(document: Document, causes: Iterable[Cause]) -> list[LineError]:
    """Return where in the text the reasons of a rejection are.

    Parameters
    ----------
    document : Document
        The one that was rejected.
    causes : iterable of Cause
    """
    return [
        LineError(
            document.line - 1 + yaml_line_of(document.text, cause.field) if cause.field else 0,
            cause.message,
        )
        for cause in causes
    ]


def copies_of(value: Any, number: int) -> Iterator[Any]:
    """Yield copies of an object, with their numbers behind the name; one copy keeps the name.

    Parameters
    ----------
    value : object
        An object with `metadata`.
    number : int
        At least 1.
    """
    metadata = value.get("metadata") if isinstance(value, Mapping) else None
    if number == 1 or not isinstance(metadata, Mapping) or not metadata.get("name"):
        for _ in range(number):
            yield value
        return
    for index in range(1, number + 1):
        yield value | {"metadata": {**metadata, "name": f"{metadata['name']}-{index}"}}


def change_between(old: Any, new: Any) -> Any:
    """Return the JSON merge patch that makes one object the other (RFC 7396)."""
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return new
    change = {key: None for key in old if key not in new or new[key] is None}
    for key, value in new.items():
        if value is not None and (key not in old or old[key] != value):
            change[key] = change_between(old[key], value) if key in old else value
    return change


def conflicting_fields(
    mine: Any, theirs: Any, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, Any]]:
    """Yield the fields that two merge patches of one object set to different values.

    Parameters
    ----------
    mine, theirs : object
    path : tuple of str
        Where in the object they are.

    Yields
    ------
    str, object
        The path of a field, and the value of `theirs`.
    """
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        for key in mine:
            if key in theirs:
                yield from conflicting_fields(mine[key], theirs[key], (*path, key))
    elif mine != theirs:
        yield ".".join(path), theirs


def text_of(value: Any) -> str:
    """Return an object as YAML; managed fields are left out, as `kubectl edit` does."""
    return write_yaml(without_managed_fields(value), width=1_000)


def without_managed_fields(value: Any) -> Any:
    """Return an object without its managed fields."""
    if not isinstance(value, Mapping) or not isinstance(value.get("metadata"), Mapping):
        return value
    metadata = {key: one for key, one in value["metadata"].items() if key != "managedFields"}
    return {**value, "metadata": metadata}

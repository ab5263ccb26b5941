"""A fast YAML reader with kubectl's semantics.

This module builds plain values from libyaml's events instead of using PyYAML's constructors: a
dump of 5 MB takes 0.6 s instead of 4 s, and line numbers are available. Scalars have kubectl's
meaning (sigs.k8s.io/yaml, which is YAML 1.1 without dates and without base 60): `yes` is a
boolean, `1e3` is text, `2026-01-01` is text, `0777` is octal. A duplicate key is an error. One
deviation is more lenient: a bare `y` or `n` is text, so a node may be named n without quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from math import isinf
from typing import Any

import msgspec
import yaml

from podwright.apimachinery.objects.texts.short_texts import SHORT_MAX

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_CONSTANTS: dict[str, Any] = (
    dict.fromkeys(("", "~", "null", "Null", "NULL"))
    | dict.fromkeys(
        ("yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"),
        True,  # a value, not a flag
    )
    | dict.fromkeys(
        ("no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"),
        False,
    )
)
_LETTERS = {"y": True, "Y": True, "n": False, "N": False}
_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)", re.ASCII)
_NOT_IN_JSON: dict[str, str] = (
    dict.fromkeys((".nan", ".NaN", ".NAN"), "NaN")
    | dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), "+Inf")
    | dict.fromkeys(("-.inf", "-.Inf", "-.INF"), "-Inf")
)
_FRACTIONLESS_MAX = 1e21
"""Where Go's JSON starts to write numbers with an exponent."""
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_TAG = "tag:yaml.org,2002:"
_MERGE = "<<"
_NO_KEY: Any = object()
_LIBYAML_DEPTH = "exceeded maximum nesting depth"
"""What libyaml says from 0.2.6 on, whose limit is lower: 1,000."""
_ITEM_DEPTH = 2
"""The number of collections around an item of the list `items` of a document."""
_DEPTH_MAX = 10_000
_FEW_ALIASED, _FEW_DECODED = 100, 1_000
"""The share of aliases is examined above these numbers of decoded nodes."""
_LOW, _HIGH = 400_000, 4_000_000
_LOW_SHARE, _SHARE_RANGE = 0.99, 0.89
"""Up to the first number of nodes all but a hundredth may come from aliases, from the second on a
tenth. Upstream: go.yaml.in/yaml/v2 decode.go, allowedAliasRatio"""
_ALIASED_TEXT_MAX = 16 * 1024 * 1024
"""The most characters that the aliases of one document may stand for.

Upstream has no such limit: a long text and few aliases exhaust its memory."""
_DIGITS_MAX = 1_000


class YamlError(ValueError):
    """The text is not YAML, or not YAML that Kubernetes accepts.

    Attributes
    ----------
    line : int
        From 1.
    go_message : str
        The text of upstream's parser: `line 5: found character that cannot start any token`.
    """

    def __init__(self, message: str, line: int, go_message: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.go_message = go_message or message


class _KeyError(YamlError):
    """A key that is a list or a mapping, which YAML allows."""


class YamlDocument(msgspec.Struct, frozen=True):
    """One document of a stream.

    Attributes
    ----------
    value : Any
        Plain data.
    line : int
        The line of its start, from 1.
    item_lines : tuple of int
        The lines of the entries of its list `items`.
    duplicates : tuple of (int, str)
        The line and the text of every key that its mapping has already. The last value applies.
    has_aliases : bool
        Whether parts of it are one object: its text may be exponentially longer than the stream.
    """

    value: Any
    line: int
    item_lines: tuple[int, ...] = ()
    duplicates: tuple[tuple[int, str], ...] = ()
    has_aliases: bool = False


def read_yaml(
    text: str,
    *,
    allow_duplicates: bool = False,
    reads_one_letter: bool = False,
    watch: Callable[[float], None] | None = None,
) -> Iterator[YamlDocument]:
    """Yield the documents of a YAML stream; empty ones have the value None.

    Parameters
    ----------
    text : str
        The stream.
    allow_duplicates : bool
        Whether `YamlDocument.duplicates` reports duplicate keys; otherwise they are errors.
    reads_one_letter : bool
        Whether a bare `y` or `n` is a boolean, as for the API server.
    watch : callable, optional
        Receives the share of the text that is read, about once for each object.

    Raises
    ------
    YamlError
        When the iteration reaches invalid YAML.
    """
    loader = _LOADER(text)
    try:
        progress = None if watch is None else _Progress(watch, len(text))
        letters = _LETTERS if reads_one_letter else {}
        for document in _documents(loader, letters, progress):
            if not allow_duplicates:
                _check_duplicates(document)
            yield document
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error) from None
    except _KeyError as error:
        raise _first_error(loader, error) from None
    except yaml.reader.ReaderError as error:
        character = error.character
        code = character if isinstance(character, int) else ord(character)
        line = text.partition(chr(code))[0].count("\n") + 1
        raise YamlError(f"not YAML: the character U+{code:04X} is not allowed", line) from None
    except yaml.YAMLError as error:
        raise YamlError(f"not YAML: {error}", 1) from None
    finally:
        loader.dispose()


def _check_duplicates(document: YamlDocument) -> None:
    if document.duplicates:
        line, key = document.duplicates[0]
        raise YamlError(f'duplicate key "{key}"', line)


def _syntax_error(error: yaml.MarkedYAMLError) -> YamlError:
    """Return the error of a parser, with the line that upstream's names: none for the first one.

    Upstream: go.yaml.in/yaml/v2 decode.go, fail
    """
    mark = error.problem_mark or error.context_mark
    if error.problem == _LIBYAML_DEPTH:
        return YamlError("nested too deeply", mark.line + 1 if mark else 1)
    problem = ", ".join(part for part in (error.context, error.problem) if part)
    marks = (error.problem_mark, error.context_mark)
    line = next((each.line for each in marks if each is not None and each.line), 0)
    if line and isinstance(error, yaml.scanner.ScannerError):
        line += 1
    where = f"line {line}: " if line else ""
    return YamlError(
        f"not YAML: {problem}", mark.line + 1 if mark else 1, f"{where}{error.problem}"
    )


def _first_error(loader: Any, error: YamlError) -> YamlError:
    """Return the syntax error of the rest of a text, which upstream finds before any other."""
    try:
        while loader.check_event():
            loader.get_event()
    except yaml.MarkedYAMLError as found:
        return _syntax_error(found)
    except yaml.YAMLError:
        pass
    return error


class _Progress:
    """Reports the share of a text that is read."""

    def __init__(self, watch: Callable[[float], None], length: int) -> None:
        self._watch = watch
        self._length = max(length, 1)

    def reached(self, event: Any) -> None:
        self._watch(min(event.start_mark.index / self._length, 1.0))


class _Merges:
    """The values of the keys `<<` of one mapping, with the lines of the values."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: list[tuple[Any, int]] = []

    def complete(self, mapping: dict[Any, Any]) -> None:
        """Add the merged keys that a mapping does not have itself; the first value applies."""
        for value, line in self.values:
            several = value if isinstance(value, list) else [value]
            if not all(isinstance(entry, dict) for entry in several):
                raise YamlError("<< takes a mapping or a list of them", line)
            for merged in several:
                for key, each in merged.items():
                    mapping.setdefault(key, each)


def _documents(  # noqa: C901, PLR0912, PLR0915 - one loop over millions of events
    loader: Any, letters: dict[str, bool], progress: _Progress | None
) -> Iterator[YamlDocument]:
    """Yield the documents of a loader.

    A dump has millions of events, so that their order is followed with local variables: the
    innermost open collection, its key that waits for a value, its merged mappings, and a stack of
    those around it.
    """
    scalar, mapping_start, sequence_start, mapping_end, sequence_end = (
        yaml.ScalarEvent, yaml.MappingStartEvent, yaml.SequenceStartEvent, yaml.MappingEndEvent,
        yaml.SequenceEndEvent,
    )  # fmt: skip
    plain = _plain
    collection: Any = None
    key: Any = _NO_KEY
    merges: _Merges | None = None
    stack: list[tuple[Any, _Merges | None]] = []
    document = _Document()
    for event in iter(loader.get_event, None):
        kind = type(event)
        if kind is mapping_end or kind is sequence_end:
            if merges is not None:
                merges.complete(collection)
            if document.open_anchors:
                document.closed(collection)
            collection, merges = stack.pop()
            key = _NO_KEY
            continue
        document.decoded_count += 1
        if kind is scalar:
            value = event.value
            size = len(value)
            document.text_size += size
            try:
                if event.tag is not None:
                    value = _tagged(event)
                elif event.implicit[0]:
                    if value in letters:
                        value = letters[value]
                    else:  # Clients choose the texts, so results of long ones are not kept.
                        value = plain(value) if size <= SHORT_MAX else _resolved(value)
            except OverflowError as error:
                raise YamlError(
                    f"JSON has no number {event.value}",
                    event.start_mark.line + 1,
                    f"json: unsupported value: {error}",
                ) from None
        elif kind is mapping_start or kind is sequence_start:
            value = {} if kind is mapping_start else []
            document.opened(kind, key, len(stack), event, progress)
        elif kind is yaml.AliasEvent:
            value = document.aliased(event)
        elif kind is yaml.DocumentStartEvent:
            document = _Document()
            continue
        elif kind is yaml.DocumentEndEvent:
            yield document.finished()
            continue
        else:
            continue  # the start or the end of the stream
        if kind is not yaml.AliasEvent and event.anchor is not None:
            document.anchored(event.anchor, value)
        if type(collection) is dict:
            if key is _NO_KEY:
                if type(value) is not str:
                    value = _key_text(value, event)
                if value in collection:
                    document.duplicates.append((event.start_mark.line + 1, value))
                key = value
                continue
            if key == _MERGE:
                merges = merges or _Merges()
                merges.values.append((value, event.start_mark.line + 1))
            else:
                collection[key] = value
            key = _NO_KEY
        elif collection is None:
            document.root, document.line = value, event.start_mark.line + 1
        else:
            collection.append(value)
        if kind is mapping_start or kind is sequence_start:
            stack.append((collection, merges))
            collection, merges = value, None


class _Document:
    """One document while its events are read."""

    def __init__(self) -> None:
        self.root: Any = None
        self.line = 1
        self.has_aliases = False
        self.has_items = False
        """Whether the last collection right below the document is the list `items`."""
        self.item_lines: list[int] = []
        self.duplicates: list[tuple[int, str]] = []
        self.decoded_count = 0
        """How many nodes upstream has decoded so far: those of an alias for each alias again."""
        self.text_size = 0
        """How many characters they have."""
        self.open_anchors: dict[int, tuple[int, int]] = {}
        """Both numbers before each open collection that has an anchor, by its id()."""
        self._anchors: dict[str, Any] = {}
        self._sizes: dict[int, tuple[int, int]] = {}
        """Both numbers of each collection that had an anchor; its anchor keeps it alive."""
        self._depths: dict[int, int] = {}
        self._kept: list[Any] = []
        self._aliased_count = 0
        self._aliased_size = 0

    def opened(
        self, kind: type, key: Any, depth: int, event: Any, progress: _Progress | None
    ) -> None:
        """Note the start of a collection inside as many others."""
        if depth > _ITEM_DEPTH:
            if depth > _DEPTH_MAX:
                raise YamlError("nested too deeply", event.start_mark.line + 1)
            return
        if depth == 1:
            self.has_items = key == "items" and kind is yaml.SequenceStartEvent
        elif depth:
            if progress is not None:
                progress.reached(event)
            if self.has_items:
                self.item_lines.append(event.start_mark.line + 1)

    def anchored(self, anchor: str, value: Any) -> None:
        """Note the anchor of a scalar, or of a collection that starts."""
        self._anchors[anchor] = value
        if isinstance(value, dict | list):
            self._kept.append(value)  # so that no other one gets its id
            self.open_anchors[id(value)] = self.decoded_count - 1, self.text_size

    def closed(self, collection: Any) -> None:
        """Note the size of a collection that ends, if it has an anchor."""
        begin = self.open_anchors.pop(id(collection), None)
        if begin is not None:
            size = self.decoded_count - begin[0], self.text_size - begin[1]
            self._sizes[id(collection)] = size

    def aliased(self, event: Any) -> Any:
        """Return the value of an alias."""
        line = event.start_mark.line + 1
        if event.anchor not in self._anchors:
            raise YamlError(f'unknown alias "{event.anchor}"', line)
        self.has_aliases = True
        value = self._anchors[event.anchor]
        count, size = 1, len(value) if isinstance(value, str) else 0
        if isinstance(value, dict | list):
            if id(value) in self.open_anchors:
                raise YamlError(f'anchor "{event.anchor}" contains itself', line)
            try:
                self._depth(value)
            except RecursionError:
                raise YamlError("nested too deeply", line) from None
            count, size = self._sizes[id(value)]
        self.decoded_count += count
        self.text_size += size
        self._aliased_count += count
        self._aliased_size += size
        # The share grows with each node of an alias, so its end decides. Upstream finds syntax
        # errors of the rest first; reading it would be most of the work.
        if self._is_excessive:
            text = "document contains excessive aliasing"
            raise YamlError(f"the {text}", line, text)
        return value

    def _depth(self, value: Any) -> int:
        """Return how many collections are in each other, for what recurses into them later."""
        if not isinstance(value, dict | list):
            return 0
        known = self._depths.get(id(value))
        if known is None:
            inner = value.values() if isinstance(value, dict) else value
            known = self._depths[id(value)] = 1 + max(map(self._depth, inner), default=0)
        return known

    @property
    def _is_excessive(self) -> bool:
        """Whether too much comes from aliases; upstream: decoder.unmarshal."""
        decoded, aliased = self.decoded_count, self._aliased_count
        if self._aliased_size > _ALIASED_TEXT_MAX:
            return True
        if aliased <= _FEW_ALIASED or decoded <= _FEW_DECODED:
            return False
        beyond = min(max(decoded - _LOW, 0) / (_HIGH - _LOW), 1.0)
        return aliased / decoded > _LOW_SHARE - _SHARE_RANGE * beyond

    def finished(self) -> YamlDocument:
        """Return the document."""
        return YamlDocument(
            self.root,
            self.line,
            tuple(self.item_lines),
            tuple(self.duplicates),
            has_aliases=self.has_aliases,
        )


def _key_text(key: Any, event: Any) -> str:
    """Return a key as text: JSON has string keys only, and kubectl writes others canonically."""
    if isinstance(key, dict | list):
        raise _KeyError("a key must be a string", event.start_mark.line + 1)
    return "null" if key is None else str(key).lower()


def _tagged(event: Any) -> Any:
    """Return the value of a scalar with a tag."""
    value = event.value
    tag = event.tag
    if tag == "!":
        return _resolved(value) if event.implicit[0] else value
    if tag in {f"{_TAG}str", f"{_TAG}binary", f"{_TAG}merge"}:
        return value
    resolved = _resolved(value)
    kinds = {"int": int, "float": float, "bool": bool, "null": type(None)}
    expected_type = kinds.get(tag.removeprefix(_TAG))
    if expected_type is float and type(resolved) is int:
        return float(resolved)
    if expected_type is None or type(resolved) is not expected_type:
        raise YamlError(f'"{value}" cannot be read as {tag}', event.start_mark.line + 1)
    return resolved


def _resolved(text: str) -> Any:
    """Return the value of an unquoted scalar.

    Raises
    ------
    OverflowError
        It is infinite or not a number, as the error says in Go's words.

    Notes
    -----
    Upstream: go.yaml.in/yaml/v2 resolve.go, resolve
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text in _NOT_IN_JSON:
        raise OverflowError(_NOT_IN_JSON[text])
    # The empty text is a constant, so there is a first character.
    if text[0] not in "-+.0123456789":
        return text
    # A number that starts with its point has no underscores.
    number = text if text[0] == "." else text.replace("_", "")
    if _INTEGER.fullmatch(number):
        digits = number.lstrip("+-")
        if len(digits) > _DIGITS_MAX:
            return text  # more than a float can have, which is text for upstream
        # With base 0 `int` rejects the octal form of YAML 1.1, which has no o.
        is_octal = len(digits) > 1 and digits[0] == "0" and digits[1] in "01234567"
        magnitude = int(digits, 8) if is_octal else int(digits, 0)
        integer = -magnitude if number[0] == "-" else magnitude
        if -(2**63) <= integer < 2**64:
            return integer
        # Beyond 64 bits only decimal numbers that a float can have are numbers.
        return integer if digits.isdecimal() and not isinf(float(number)) else text
    if _FLOAT.fullmatch(number) and not isinf(value := float(number)):
        # Upstream makes JSON of it, and Go writes a whole number without fraction.
        return int(value) if value.is_integer() and abs(value) < _FRACTIONLESS_MAX else value
    return text


_plain = lru_cache(maxsize=65_536)(_resolved)


def is_plain_text(text: str) -> bool:
    """Whether an unquoted scalar is text, and not a number, a boolean or null."""
    try:
        return _resolved(text) is text
    except OverflowError:
        return False


# ----------------------------------------------------------------------- lines of fields

_STEPS = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


def yaml_line_of(text: str, path: str) -> int:
    """Return the line of a field, from 1, or of the nearest field above it that is present.

    Parameters
    ----------
    text : str
        Starts with the document, or with the item of a list that holds it; what follows is not
        read. JSON is YAML.
    path : str
        The field as in errors: `spec.containers[0].image`, `metadata.labels[app]`.

    Returns
    -------
    int
        0 if the text is not YAML.
    """
    steps = [index or name for index, name in _STEPS.findall(path)]
    events = yaml.parse(text, Loader=_LOADER)
    try:
        for event in events:
            if isinstance(event, yaml.SequenceStartEvent) and steps and not steps[0].isdigit():
                steps.insert(0, "0")  # the text starts with an item of a list
            if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                return _line_below(events, event, steps)
    except yaml.YAMLError:
        return 0
    return 0


def _line_below(events: Iterator[Any], start: Any, steps: list[str]) -> int:
    """Follow the steps in a collection whose start has been read."""
    line: int = start.start_mark.line + 1
    is_sequence = isinstance(start, yaml.SequenceStartEvent)
    index = 0
    while steps:
        event = next(events)
        if isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            return line
        key = str(index) if is_sequence else getattr(event, "value", None)
        index += 1
        value = event if is_sequence else next(events)
        if key != steps[0]:
            _skip(events, value)
            continue
        line = event.start_mark.line + 1
        steps = steps[1:]
        if not isinstance(value, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            return line
        is_sequence, index = isinstance(value, yaml.SequenceStartEvent), 0
    return line


def _skip(events: Iterator[Any], start: Any) -> None:
    """Read the rest of a value whose first event has been read."""
    depth = 0
    event = start
    while True:
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            depth += 1
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            depth -= 1
        if depth == 0:
            return
        event = next(events)

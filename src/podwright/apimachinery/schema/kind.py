"""One kind of one version, compiled on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from typing import Any, Final, TypeAlias, cast

import msgspec

from podwright.apimachinery.objects import Document, Spec, Specs, format_quantity
from podwright.apimachinery.schema.decoding import Problem, decodable, decoding_problems
from podwright.apimachinery.schema.go_form import GoForms
from podwright.apimachinery.schema.printing.cells import Cell, CellFunction, cell_function
from podwright.apimachinery.schema.strict_structs import (
    UNKNOWN_FIELD,
    StrictStructs,
    Struct,
    converted,
)
from podwright.apimachinery.schema.table import KindRow
from podwright.apimachinery.schema.types import SCALARS, Field, StructType, TypeRef
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.metadata import (
    is_simple_and_valid,
    qualifies_finalizers,
    validate_metadata_update,
    validate_object_meta,
    validate_unchanged_metadata,
)

Validate: TypeAlias = Callable[[FieldErrors, Document], None]
"""Adds the errors of an object of the right types, whose defaults are set."""

ValidateUpdate: TypeAlias = Callable[[FieldErrors, Document, Document], None]
"""Adds the errors of a changed object; the last argument is the stored one."""

WarningsOf: TypeAlias = Callable[[Document, Document | None], list[str]]
"""Returns the warnings about a valid object; the last argument is the stored one, or None."""

SetDefaults: TypeAlias = Callable[[Document], Document]
"""Returns the object with upstream's defaults. The argument must not be changed: what changes is
copied, and the result shares the rest."""

_ENTRY: Final = "meta.v1.ManagedFieldsEntry"
_SIMPLE_DOCUMENT: Final = frozenset({"apiVersion", "kind", "metadata", "spec"})


class Kind:
    """A kind of one API version.

    Parameters
    ----------
    row : KindRow
        Its facts in the table.
    type_of : callable
        Returns a struct type of the table by its name.
    structs : tuple of StrictStructs
        The structs of the fast path: those of canonical values, then those of all.
    forms : GoForms
        The form in which upstream writes the structs.
    """

    def __init__(
        self,
        row: KindRow,
        type_of: Callable[[str], StructType],
        structs: tuple[StrictStructs, StrictStructs],
        forms: GoForms,
    ) -> None:
        self.row = row
        self._type_of = type_of
        self._structs = structs
        self._forms = forms
        self._form = forms.of(row.type)
        self._specs: Final = Specs(row.metadata_read)
        self._last: tuple[Document | None, msgspec.Struct | None] = None, None

    @property
    def api_version(self) -> str:
        """`apiVersion` of its objects."""
        return f"{self.row.group}/{self.row.version}" if self.row.group else self.row.version

    @property
    def group_kind(self) -> tuple[str, str]:
        """The group and the kind."""
        return self.row.group, self.row.kind

    @property
    def has_status(self) -> bool:
        """Whether `status` is a subresource."""
        return "status" in self.row.subresources

    @property
    def is_stored(self) -> bool:
        """Whether its objects have names and are kept; a review is only answered."""
        return "get" in self.row.verbs

    @property
    def struct(self) -> StructType:
        """The type of the whole object."""
        return self._type_of(self.row.type)

    def fields(self) -> Iterator[Field]:
        """Yield the fields of all structs in an object, each struct once."""
        pending, seen = [self.row.type], {self.row.type}
        while pending:
            for field in self._type_of(pending.pop()).fields.values():
                yield field
                inner = field.type.innermost
                if inner not in SCALARS and inner not in seen:
                    seen.add(inner)
                    pending.append(inner)

    def field(self, path: str) -> Field | None:
        """Return the field at a path such as `spec.containers.name`; None if there is none.

        Lists and maps are passed through: the path has field names only.
        """
        struct: StructType | None = self.struct
        found: Field | None = None
        for name in path.split("."):
            found = None if struct is None else struct.fields.get(name)
            if found is None:
                return None
            inner = found.type
            while inner.element is not None:
                inner = inner.element
            struct = self._type_of(inner.name) if inner.is_struct else None
        return found

    # ------------------------------------------------------------------------ decoding

    @cached_property
    def _canonical(self) -> Struct | None:
        return self._structs[0].prepared(self.row.type)

    @cached_property
    def _strict(self) -> Struct | None:
        return self._structs[1].prepared(self.row.type)

    @cached_property
    def _entry(self) -> Struct | None:
        return self._structs[1].prepared(_ENTRY)

    def _read(self, document: Document) -> msgspec.Struct | None:
        """Return a document as a struct of canonical values; None if it is not sure to be one."""
        last, found = self._last
        if document is not last:
            entries, bare = _entries_of(document), document
            if entries:
                bare = document | {"metadata": document["metadata"] | {"managedFields": []}}
            found = converted(bare, self._canonical)
            if entries and found is not None and not self._are_entries(entries):
                found = None
            # What is checked is brought into Go's form next.
            self._last = document, found
        return found

    def _are_entries(self, entries: Any) -> bool:
        return isinstance(entries, list) and all(converted(each, self._entry) for each in entries)

    def decoding_problems(self, document: Document) -> list[Problem]:
        """Return every unknown field and every value of a wrong type, in document order."""
        if self._read(document) is not None or converted(document, self._strict) is not None:
            return []
        return list(decoding_problems(document, self.struct, self._type_of))

    def with_zero_items(self, document: Document) -> Document:
        """Return the document with zero values in the places of null items, as Go decodes them."""
        if b"null" not in msgspec.json.encode(document):
            return document
        return cast(Document, with_zero_items(document, self.struct, self._type_of))

    def with_declared_names(self, document: Document) -> Document:
        """Return the document with its fields in the case of their declarations.

        Go's decoder of files accepts any case; the API server does not.
        """
        return cast(Document, _with_declared_names(document, self.struct, self._type_of))

    def with_canonical_quantities(self, document: Document) -> Document:
        """Return the document with its quantities in upstream's canonical form."""
        return cast(Document, with_canonical_quantities(document, self.struct, self._type_of))

    def go_form(self, document: Document, like: Document | None = None) -> Document:
        """Return the document as upstream's structs write it; the types must be right.

        Parameters
        ----------
        document : dict
        like : dict, optional
            An earlier document in this form; what both have is not converted again.
        """
        facts = self.facts_of(document)
        if facts is None:
            return self._in_go_form(document, like)
        known = facts.get("go_form")
        if known is None:
            made = self.with_shared_spec(self._in_go_form(document, like))
            # A spec does not keep itself.
            is_formed = made.get("spec") is document["spec"]
            facts["go_form"] = is_formed or made.get("spec") or {}
            return made
        spec = document["spec"] if known is True else known
        return self._form.convert(document | {"spec": spec}, {**(like or {}), "spec": spec})

    def _in_go_form(self, document: Document, like: Document | None) -> Document:
        found = None if like else self._read(document)
        if found is None:
            return self._form.convert(document, like)
        made: Document = msgspec.to_builtins(found, order="deterministic")
        if entries := _entries_of(document):
            written = self._forms.of(_ENTRY).convert
            made["metadata"]["managedFields"] = [written(entry) for entry in entries]
        return made

    def as_stored(self, document: Document) -> Document:
        """Return a document in Go's form as upstream's storage gives it back."""
        return self._forms.empty_lists.as_stored(document, self.row.type)

    # ---------------------------------------------------------- defaults and validation

    @cached_property
    def _set_defaults(self) -> SetDefaults | None:
        return cast(SetDefaults | None, _function("defaults", self.row.defaults))

    @cached_property
    def _validate(self) -> Validate | None:
        return cast(Validate | None, _function("validation", self.row.validation))

    @cached_property
    def _update_steps(self) -> tuple[ValidateUpdate, ...]:
        return self._steps(self.row.validation_of_update)

    @cached_property
    def _status_steps(self) -> tuple[ValidateUpdate, ...]:
        return self._steps(self.row.validation_of_status)

    def _steps(self, steps: tuple[str, ...]) -> tuple[ValidateUpdate, ...]:
        validate = self._validate or _is_valid
        named: dict[str, ValidateUpdate] = {
            "metadata": self._validate_metadata_update,
            "new_metadata": self._validate_unchanged_metadata,
            "new": lambda errors, new, _old: validate(errors, new),
            "immutable": self._validate_immutable,
        }
        return tuple(
            named.get(step) or cast(ValidateUpdate, _function("validation", step)) for step in steps
        )

    @cached_property
    def _warnings(self) -> dict[str, WarningsOf | None]:
        row = self.row
        return {
            "": cast(WarningsOf | None, _function("warnings", row.warnings)),
            "status": cast(WarningsOf | None, _function("warnings", row.warnings_of_status)),
        }

    def with_defaults(self, document: Document) -> Document:
        """Return the document with upstream's defaults; the types must be right."""
        return document if self._set_defaults is None else self._set_defaults(document)

    def metadata_problems(self, document: Document) -> list[Problem]:
        """Return what upstream's validation reports for the metadata of a new object."""
        if not self.is_stored:
            return []
        metadata = document.get("metadata") or {}
        return validate_object_meta(
            metadata,
            name_rule=self.row.name_rule,
            is_namespaced=self.row.namespaced,
            qualifies_finalizers=qualifies_finalizers(self.row.group),
        )

    def new_problems(self, document: Document) -> list[Problem]:
        """Return what upstream's validation reports for a new object with its defaults.

        Controllers create one object many times, and it gets its name later: metadata that was
        found to be right is known with the shared spec beside it.
        """
        facts, metadata = self.facts_of(document), document.get("metadata")
        if facts is not None and metadata and facts.get("right_metadata") is metadata:
            return []
        problems = self.metadata_problems(document) + self.validation_problems(document)
        if facts is not None and not problems:
            facts["right_metadata"] = metadata
        return problems

    def validation_problems(self, document: Document) -> list[Problem]:
        """Return what upstream's validation reports for a new object with its defaults.

        Metadata is validated by `metadata_problems`.
        """
        facts = self.facts_of(document)
        known: list[Problem] | None = None if facts is None else facts.get("problems")
        if known is not None:
            return [*known]
        errors = FieldErrors()
        if self._validate is not None:
            self._validate(errors, document)
        if facts is not None:
            facts["problems"] = [*errors.problems]
        return errors.problems

    def checked(self, document: Document) -> tuple[Document, list[Problem]]:
        """Return a new object as the API server would store it, and what is wrong with it.

        Returns
        -------
        document : dict
            With canonical quantities and defaults, unless a value has a wrong type. Objects with
            equal specs share the spec.
        problems : list of Problem
            Decoding problems, then what validation reports about the values of the right types,
            metadata first.
        """
        shared = self.with_shared_spec(document)
        facts = self.facts_of(shared)
        known = None if facts is None else facts.get("checked")
        spec = shared.get("spec") if known is None or known[0] is None else known[0]
        if known is not None and self._has_simple_rest(document):
            return document | {"spec": spec}, [*known[1]]
        written, document = document, self.with_zero_items(document)
        problems = self.decoding_problems(document if known is None else document | {"spec": None})
        if problems and not all(text.startswith(UNKNOWN_FIELD) for _, text, _ in problems):
            return written, problems + self._problems_of_the_rest(document, problems)
        problems += self.metadata_problems(document)
        if known is not None:
            return document | {"spec": spec}, problems + known[1]
        made = self.with_defaults(self.with_canonical_quantities(document))
        if facts is None or any(path.startswith("spec") for path, _, _ in problems):
            return made, problems + self.validation_problems(made)
        made = self.with_shared_spec(made)
        found = self.validation_problems(made)
        # A spec does not keep itself.
        facts["checked"] = None if made["spec"] is spec else made["spec"], found
        return made, problems + found

    def _has_simple_rest(self, document: Document) -> bool:
        """Whether an object has nothing beside its spec but simple metadata without errors."""
        if not _SIMPLE_DOCUMENT.issuperset(document) or not self.row.namespaced:
            return False
        metadata = document.get("metadata")
        return self.is_stored and is_simple_and_valid(metadata, self.row.name_rule)

    def decodable(self, document: Document) -> Document:
        """Return the document without its values of wrong types."""
        return self._rest(document, [])

    def _rest(self, document: Document, removed: list[str]) -> Document:
        return decodable(document, self.struct, self._type_of, removed)

    def _problems_of_the_rest(self, document: Document, wrong: list[Problem]) -> list[Problem]:
        """Return what validation reports about a document that has values of wrong types.

        What is reported about a removed value, about a part of it or about what contains it may be
        a consequence of the removal. What is reported about a value that was replaced is a second
        error of the same field.
        """
        removed: list[str] = []
        rest = self._rest(document, removed)
        found = self.metadata_problems(rest)
        found += self.validation_problems(self.with_defaults(self.with_canonical_quantities(rest)))
        reported = [path for path, _, _ in wrong]
        return [
            problem
            for problem in found
            if not any(_contains(path, problem[0]) for path in reported)
            and not any(_contains(problem[0], path) for path in removed)
        ]

    def with_shared_spec(self, document: Document, *, only_repeated: bool = False) -> Document:
        """Return the document with the one spec of that content.

        A document is returned as it is if the effects of its kind depend on more than the spec.

        Parameters
        ----------
        document : dict
        only_repeated : bool
            As of `Specs.of`.
        """
        spec = document.get("spec")
        if not self.row.is_spec_only or type(spec) is not dict:
            return document
        shared = self._specs.of(spec, only_repeated=only_repeated)
        return document if shared is None else document | {"spec": shared}

    def shared_spec(self, spec: Document) -> Document:
        """Return the one spec of some content; the given one if that is large."""
        if type(spec) is Spec and spec.table is self._specs:
            return spec
        return self._specs.of(spec) or spec

    def facts_of(self, document: Document) -> dict[Any, Any] | None:
        """Return what is known about the spec of an object; None if it is not shared.

        Other objects with that spec have the same facts if they have the same metadata, as far as
        defaults and validation depend on it.
        """
        spec = document.get("spec")
        if type(spec) is not Spec or spec.table is not self._specs:
            return None
        metadata = document.get("metadata") or {}
        if not isinstance(metadata, dict):
            return None  # decoding reports it
        read = [value for field in spec.read if (value := metadata.get(field)) is not None]
        if not read:
            return spec.facts
        found: dict[Any, Any] = spec.facts.setdefault(msgspec.json.encode(read), {})
        return found

    def metadata_update_problems(self, new: Document, old: Document) -> list[Problem]:
        """Return the errors of an update that changes nothing but metadata."""
        errors = FieldErrors()
        self._validate_metadata_update(errors, new, old)
        return errors.problems

    def _validate_metadata_update(self, errors: FieldErrors, new: Document, old: Document) -> None:
        validate_metadata_update(
            errors,
            new.get("metadata") or {},
            old.get("metadata") or {},
            qualifies_finalizers=qualifies_finalizers(self.row.group),
        )

    def update_problems(self, new: Document, old: Document) -> list[Problem]:
        """Return what upstream's validation reports for a changed object, metadata included."""
        errors = FieldErrors()
        for step in self._update_steps:
            step(errors, new, old)
        return errors.problems

    def _validate_unchanged_metadata(
        self, errors: FieldErrors, new: Document, _old: Document
    ) -> None:
        validate_unchanged_metadata(
            errors,
            new.get("metadata") or {},
            self.row.name_rule,
            qualifies_finalizers=qualifies_finalizers(self.row.group),
        )

    def _validate_immutable(self, errors: FieldErrors, new: Document, old: Document) -> None:
        for row in self.row.immutable:
            path, _, go_type = row.partition(" ")
            errors.immutable(path, _value_at(new, path), _value_at(old, path), go_type)

    def status_problems(self, new: Document, old: Document) -> list[Problem]:
        """Return what upstream's validation reports for a changed status, metadata included."""
        errors = FieldErrors()
        for step in self._status_steps:
            step(errors, new, old)
        return errors.problems

    # -------------------------------------------------------------------------- tables

    def write_warnings(
        self, new: Document, old: Document | None, *, subresource: str = ""
    ) -> list[str]:
        """Return what upstream warns about when it stores a valid object.

        Parameters
        ----------
        new : dict
            With defaults.
        old : dict or None
            The stored object; None for a new one.
        subresource : str
            What is written; "" for the object itself.
        """
        warnings = self._warnings.get(subresource)
        return [] if warnings is None else warnings(new, old)

    @cached_property
    def _cells(self) -> tuple[CellFunction, ...]:
        return tuple(cell_function(column.cell, column.type) for column in self.row.columns)

    def cells(self, document: Document, now_ns: int) -> list[Cell]:
        """Return the cells of an object in kubectl's table, those of wide columns included.

        Parameters
        ----------
        document : dict
            Any field may be absent.
        now_ns : int
            The time for ages, in nanoseconds since 1970.
        """
        return [cell(document, now_ns) for cell in self._cells]


def _entries_of(document: Document) -> Any:
    """Return the managed fields, whose sets are free values; they are the last of the metadata."""
    metadata = document.get("metadata")
    return metadata.get("managedFields") if isinstance(metadata, dict) else None


def _is_valid(errors: FieldErrors, document: Document) -> None:
    """Report nothing."""


def _contains(outer: str, inner: str) -> bool:
    """Whether a path is another one or starts with it."""
    return inner.startswith(outer) and inner[len(outer) :][:1] in {"", ".", "["}


def _value_at(document: Document, path: str) -> Any:
    value: Any = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _function(package: str, name: str) -> Callable[..., Any] | None:
    if not name:
        return None
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(
        import_module(f"podwright.apimachinery.schema.{package}.{module}"), function
    )
    return found


# Null items of lists and maps, which Go decodes as zero values.

_ZERO: Final[dict[str, Any]] = {
    "string": "", "int32": 0, "int64": 0, "bool": False, "quantity": "0",
}  # fmt: skip


def with_zero_items(value: Any, struct: StructType, type_of: TypeOf) -> Any:
    """Return an object with empty structs and zeros in the places of null items.

    A value of a wrong type is returned as it is.
    """
    if not isinstance(value, dict):
        return value
    return {
        name: current
        if current is None or (field := struct.fields.get(name)) is None
        else _filled(current, field.type, type_of)
        for name, current in value.items()
    }


def _filled(value: Any, ref: TypeRef, type_of: TypeOf) -> Any:
    if ref.element is None:
        return with_zero_items(value, type_of(ref.name), type_of) if ref.is_struct else value
    element = ref.element
    if ref.container == "list" and isinstance(value, list | tuple):
        return [_item(entry, element, type_of) for entry in value]
    if ref.container == "map" and isinstance(value, dict):
        return {key: _item(entry, element, type_of) for key, entry in value.items()}
    return value


def _item(entry: Any, element: TypeRef, type_of: TypeOf) -> Any:
    if entry is not None:
        return _filled(entry, element, type_of)
    return {} if element.is_struct else _ZERO.get(element.name)


def _with_declared_names(value: Any, struct: StructType, type_of: TypeOf) -> Any:
    if not isinstance(value, dict):
        return value
    by_folded = {name.casefold(): name for name in struct.fields}
    found: Document = {}
    for written, current in value.items():
        name = written if written in struct.fields else by_folded.get(written.casefold())
        if name is None:
            found[written] = current
            continue
        found[name] = _with_names_in(current, struct.fields[name].type, type_of)
    return found


def _with_names_in(value: Any, ref: TypeRef, type_of: TypeOf) -> Any:
    if ref.element is None:
        return _with_declared_names(value, type_of(ref.name), type_of) if ref.is_struct else value
    if isinstance(value, list):
        return [_with_names_in(each, ref.element, type_of) for each in value]
    if isinstance(value, dict):
        return {key: _with_names_in(each, ref.element, type_of) for key, each in value.items()}
    return value


TypeOf: TypeAlias = Callable[[str], StructType]


def with_canonical_quantities(value: Any, struct: StructType, type_of: TypeOf) -> Any:
    """Return an object with canonical quantities; it is the same one if nothing changes."""
    changes: dict[str, Any] = {}
    for name, ref in _fields_with_quantities(struct, type_of):
        current = value.get(name)
        if current is not None:
            new = _canonical(current, ref, type_of)
            if new is not current:
                changes[name] = new
    return value | changes if changes else value


def _canonical(value: Any, ref: TypeRef, type_of: TypeOf) -> Any:
    if ref.element is None:
        if ref.name == "quantity":
            text = format_quantity(value)
            return value if text == value else text
        return with_canonical_quantities(value, type_of(ref.name), type_of)
    inner = ref.element
    if ref.container == "map":
        entries = {
            key: entry if entry is None else _canonical(entry, inner, type_of)
            for key, entry in value.items()
        }
        return value if all(entries[key] is value[key] for key in value) else entries
    items = [entry if entry is None else _canonical(entry, inner, type_of) for entry in value]
    return value if all(new is old for new, old in zip(items, value, strict=True)) else items


def _fields_with_quantities(struct: StructType, type_of: TypeOf) -> list[tuple[str, TypeRef]]:
    if struct.quantity_fields is None:
        struct.quantity_fields = []  # a struct that contains itself ends the search here
        struct.quantity_fields = [
            (field.name, field.type)
            for field in struct.fields.values()
            if _has_quantities(field.type, type_of)
        ]
    return struct.quantity_fields


def _has_quantities(ref: TypeRef, type_of: TypeOf) -> bool:
    if ref.element is not None:
        return _has_quantities(ref.element, type_of)
    if ref.is_struct:
        return bool(_fields_with_quantities(type_of(ref.name), type_of))
    return ref.name == "quantity"

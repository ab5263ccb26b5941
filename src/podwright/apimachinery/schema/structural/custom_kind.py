"""One version of a custom resource: what an API server does with its objects.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/{strategy,status_strategy,validator}.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import msgspec

from podwright.apimachinery import cel
from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.decoding import Problem
from podwright.apimachinery.schema.printing.cells import Cell
from podwright.apimachinery.schema.strict_structs import UNKNOWN_FIELD
from podwright.apimachinery.schema.structural import defaulting, shape
from podwright.apimachinery.schema.structural.field_paths import (
    ScalePaths,
    columns_of,
    validate_scale,
)
from podwright.apimachinery.schema.structural.shape import Schema, pruned
from podwright.apimachinery.schema.structural.values import (
    Correlation,
    rule_problems,
    validate_value,
)
from podwright.apimachinery.schema.table import KindRow
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, printed, reason_of
from podwright.apimachinery.schema.validation.metadata import (
    validate_metadata_update,
    validate_object_meta,
)

VERBS: Final = (
    "delete", "deletecollection", "get", "list", "patch", "create", "update", "watch",
)  # fmt: skip
"""The verbs of every custom resource, in the order of discovery."""

_BLOCKING: Final = frozenset(
    {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany",
     "FieldValueTypeInvalid"}
)  # fmt: skip
_UNCHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing"
    " errors to complete validation"
)
_ORDER: Final = ("apiVersion", "kind", "metadata")


class CustomVersion(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a version of a CustomResourceDefinition.

    Attributes
    ----------
    group, version : str
    names : dict
        The accepted names: `plural`, `singular`, `kind`, `listKind`, `shortNames`, `categories`.
    namespaced : bool
    schema : dict or None
        `openAPIV3Schema`.
    subresources : dict
        As in the definition.
    columns : list of dict
        `additionalPrinterColumns`.
    selectable : tuple of str
        The paths of the fields for field selectors.
    preserves_unknown : bool
        `spec.preserveUnknownFields` of old definitions.
    """

    group: str
    version: str
    names: Document
    namespaced: bool
    schema: Document | None = None
    subresources: Document = {}
    columns: list[Document] = []
    selectable: tuple[str, ...] = ()
    preserves_unknown: bool = False

    @classmethod
    def of(cls, spec: Document, version: Document, names: Document) -> CustomVersion:
        """Return the facts of a version.

        Parameters
        ----------
        spec : dict
            That of the definition.
        version : dict
            One of its `versions`.
        names : dict
            The accepted names.
        """
        return cls(
            group=spec["group"],
            version=version["name"],
            names=names,
            namespaced=spec.get("scope") == "Namespaced",
            schema=(version.get("schema") or {}).get("openAPIV3Schema"),
            subresources=version.get("subresources") or {},
            columns=version.get("additionalPrinterColumns") or [],
            selectable=tuple(
                each["jsonPath"].removeprefix(".") for each in version.get("selectableFields") or ()
            ),
            preserves_unknown=bool(spec.get("preserveUnknownFields")),
        )


class CustomKind:
    """The kind of the objects of a custom resource in one version.

    Parameters
    ----------
    version : CustomVersion
    """

    def __init__(self, version: CustomVersion) -> None:
        self.version = version
        self.schema: Document = version.schema or {}
        columns, self._cells = columns_of(version.columns)
        # Of the last validation: a write asks for the warnings after its errors, with none between.
        self._ratcheted: tuple[Document, list[cel.RuleError]] = ({}, [])
        subresources = {}
        if version.subresources.get("status") is not None:
            subresources["status"] = ""
        if version.subresources.get("scale") is not None:
            subresources["scale"] = "autoscaling/v1/Scale"
        names = version.names
        self.row = KindRow(
            group=version.group,
            version=version.version,
            kind=names.get("kind", ""),
            type="",
            resource=names.get("plural", ""),
            singular=names.get("singular", ""),
            namespaced=version.namespaced,
            verbs=VERBS,
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            subresources=subresources,
            has_generation=True,
            columns=columns,
            selectable=dict.fromkeys(version.selectable, ""),
        )

    @property
    def api_version(self) -> str:
        """`apiVersion` of its objects."""
        return f"{self.row.group}/{self.row.version}"

    @property
    def list_kind(self) -> str:
        """The kind of a list."""
        return str(self.version.names.get("listKind") or f"{self.row.kind}List")

    @property
    def has_status(self) -> bool:
        """Whether `status` is a subresource."""
        return "status" in self.row.subresources

    @cached_property
    def scale_paths(self) -> ScalePaths | None:
        """The paths of the subresource `scale`; None without it."""
        scale = self.version.subresources.get("scale")
        if scale is None:
            return None
        return ScalePaths(
            str(scale.get("specReplicasPath") or ""),
            str(scale.get("statusReplicasPath") or ""),
            str(scale.get("labelSelectorPath") or ""),
        )

    @cached_property
    def _rules(self) -> cel.SchemaRules | None:
        return cel.compile_rules(self.schema)

    @cached_property
    def _has_defaults(self) -> bool:
        return defaulting.has_defaults(self.schema)

    @cached_property
    def _has_embedded(self) -> bool:
        return shape.has_embedded(self.schema)

    # ------------------------------------------------------------------------ decoding

    def is_own(self, document: Document) -> bool:
        """Whether an object has the kind and the version."""
        return document.get("kind") == self.row.kind and (
            document.get("apiVersion") == self.api_version
        )

    def decoding_problems(self, document: Document) -> list[Problem]:
        """Return every unknown field, and every metadata field of a wrong type."""
        problems = shape.metadata_problems(document)
        if document.get("kind") != self.row.kind:
            return problems
        if not self.is_own(document):
            # Another version of the group has no schema here, so that nothing of it is known.
            if str(document.get("apiVersion") or "").rpartition("/")[0] == self.row.group:
                _, unknown = pruned(document, {}, is_root=True)
                problems += [(path, UNKNOWN_FIELD, None) for path in unknown]
            return problems
        if not self.version.preserves_unknown:
            _, unknown = pruned(document, self.schema, is_root=True)
            problems += [(path, UNKNOWN_FIELD, None) for path in unknown]
        if self._has_embedded:
            problems += sorted(
                shape.embedded_problems(document, self.schema), key=lambda each: each[0]
            )
        return problems

    def go_form(self, document: Document, like: Document | None = None) -> Document:
        """Return an object without unknown fields and nulls, and with the metadata of Go."""
        del like
        if not self.is_own(document):
            return shape.with_go_metadata(document)
        made = document
        if not self.version.preserves_unknown:
            made, _ = pruned(made, self.schema, is_root=True)
            made = defaulting.without_nulls(made, self.schema)
        if self._has_embedded:
            made = shape.with_embedded_metadata(made, self.schema)
        made = shape.with_go_metadata(made)
        rest = sorted(made.keys() - set(_ORDER))
        return {name: made[name] for name in (*_ORDER, *rest) if name in made}

    def with_defaults(self, document: Document) -> Document:
        """Return an object with the defaults of the schema."""
        if not self._has_defaults or not self.is_own(document):
            return document
        made: Document = defaulting.with_defaults(document, self.schema)
        return made

    def as_read(self, document: Document) -> Document:
        """Return a stored object of this version as it is read: by the schema of today.

        What does not change is returned as it is.
        """
        made = self.with_defaults(self.as_converted(document))
        return made if made is document else self.go_form(made)

    def as_converted(self, document: Document) -> Document:
        """Return an object from another version without what this one does not have."""
        made = document
        if not self.version.preserves_unknown:
            made, _ = pruned(made, self.schema, is_root=True)
            made = defaulting.without_nulls(made, self.schema)
        return made

    # ---------------------------------------------------------------------- validation

    def null_problems(self, document: Document, old: Document | None) -> list[Problem]:
        """Return what is wrong with an applied object that has nulls which are not allowed.

        Decoding drops such nulls, and upstream does not decode what server-side apply has made.

        Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/
        customresource_handler.go, unstructuredSchemaCoercer
        """
        if self.version.preserves_unknown or not self.is_own(document):
            return []
        made = self.with_defaults(document)
        if defaulting.without_nulls(made, self.schema) is made:
            return []
        return self.update_problems(made, old) if old else self.validation_problems(made)

    def validation_problems(self, document: Document) -> list[Problem]:
        """Return what is wrong with a new object, except its metadata."""
        errors = FieldErrors()
        validate_value(errors, document, self.schema)
        if self.scale_paths is not None:
            validate_scale(errors, document, self.scale_paths)
        if self._has_embedded:
            shape.validate_embedded(errors, document, _without_root(self.schema))
        validate_list_types(errors, document, self.schema)
        found = self.metadata_problems(document) + errors.problems
        return errors.problems + self._rule_problems(found, document, None)

    def update_problems(self, new: Document, old: Document) -> list[Problem]:
        """Return what is wrong with a changed object, metadata included."""
        errors = FieldErrors()
        _validate_changed_metadata(errors, new, old)
        validate_value(errors, new, self.schema, old=Correlation(new, old, self.schema))
        if self.scale_paths is not None:
            validate_scale(errors, new, self.scale_paths)
        if self._has_embedded:
            shape.validate_embedded(errors, new, _without_root(self.schema))
        self._validate_changed_lists(errors, new, old)
        return errors.problems + self._rule_problems(errors.problems, new, old)

    def status_problems(self, new: Document, old: Document) -> list[Problem]:
        """Return what is wrong with an object whose status changed, metadata included."""
        errors = FieldErrors()
        _validate_changed_metadata(errors, new, old)
        schema = (self.schema.get("properties") or {}).get("status")
        if "status" in new and isinstance(schema, Mapping):
            correlation = Correlation(new, old, self.schema).field("status")
            validate_value(errors, new["status"], schema, path="status", old=correlation)
        if self.scale_paths is not None:
            validate_scale(errors, new, self.scale_paths, only_status=True)
        self._validate_changed_lists(errors, new, old)
        return errors.problems + self._rule_problems(errors.problems, new, old)

    def problems_of_other_kind(
        self, wrong: list[Problem], document: Document, old: Document | None
    ) -> list[Problem]:
        """Return what is wrong with an object of another kind, whose values are not checked.

        Parameters
        ----------
        wrong : list of Problem
            What is wrong with the kind and the version.
        """
        errors = FieldErrors()
        errors.problems += wrong
        if self._has_embedded:
            shape.validate_embedded(errors, document, _without_root(self.schema))
        if old is None:
            validate_list_types(errors, document, self.schema)
        else:
            self._validate_changed_lists(errors, document, old)
        return errors.problems + self._rule_problems(errors.problems, document, old)

    def _validate_changed_lists(self, errors: FieldErrors, new: Document, old: Document) -> None:
        """Check the lists of a changed object, if those of the stored one were right."""
        before = FieldErrors()
        validate_list_types(before, old, self.schema)
        if not before:
            validate_list_types(errors, new, self.schema)

    def _rule_problems(
        self, found: list[Problem], new: Document, old: Document | None
    ) -> list[Problem]:
        if self._rules is None:
            return []
        if any(reason_of(message) in _BLOCKING for _, message, _ in found):
            return [("<nil>", f"Invalid value: null: {_UNCHECKED}", None)]
        problems, warnings = self._rules.validate(new, old)
        self._ratcheted = (new, warnings)
        return rule_problems(problems)

    def rule_warnings(self, new: Document) -> list[str]:
        """Return the errors about unchanged parts of an object that was validated just now."""
        validated, warnings = self._ratcheted
        if validated is not new:
            return []
        return [f"{path}: {message}" for path, message, _ in rule_problems(warnings)]

    def metadata_problems(self, document: Document) -> list[Problem]:
        """Return what is wrong with the metadata of a new object."""
        return validate_object_meta(
            document.get("metadata") or {},
            name_rule=self.row.name_rule,
            is_namespaced=self.row.namespaced,
            qualifies_finalizers=False,
        )

    def metadata_update_problems(self, new: Document, old: Document) -> list[Problem]:
        """Return what is wrong with an object whose metadata changed."""
        errors = FieldErrors()
        _validate_changed_metadata(errors, new, old)
        return errors.problems

    # -------------------------------------------------------------------------- tables

    def cells(self, document: Document, now_ns: int) -> list[Cell]:
        """Return the cells of an object in its table."""
        return [cell(document, now_ns) for cell in self._cells]


def _validate_changed_metadata(errors: FieldErrors, new: Document, old: Document) -> None:
    validate_metadata_update(
        errors,
        new.get("metadata") or {},
        old.get("metadata") or {},
        qualifies_finalizers=False,
    )


def _without_root(schema: Document) -> Document:
    """Return a schema for the objects embedded in an object, without the object itself."""
    return {name: part for name, part in schema.items() if name != "x-kubernetes-embedded-resource"}


# Numbers of custom resources, as they are after upstream has written and read them.

_INT64: Final = 2**63


def with_go_numbers(value: Any) -> Any:
    """Return a value in which numbers without a fraction are integers: Go writes `3.0` as `3`.

    What does not change is returned as it is.

    Examples
    --------
    >>> with_go_numbers({"a": [3.0, 0.5, 1e30]})
    {'a': [3, 0.5, 1e+30]}
    """
    if isinstance(value, float):
        return int(value) if value.is_integer() and -_INT64 <= value < _INT64 else value
    if isinstance(value, dict):
        made = {name: with_go_numbers(each) for name, each in value.items()}
        return made if any(made[name] is not value[name] for name in made) else value
    if isinstance(value, list):
        items = [with_go_numbers(each) for each in value]
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return value


# Duplicates in lists of type set, and of keys in lists of type map.


def validate_list_types(errors: FieldErrors, value: Any, schema: Schema, path: str = "") -> None:
    """Check all lists in a value."""
    if isinstance(value, list):
        match schema.get("x-kubernetes-list-type"):
            case "set":
                for index in _repeated(value):
                    errors.duplicate(f"{path}[{index}]", value[index])
            case "map":
                _validate_keys(errors, value, schema, path)
            case _:
                pass
        items = schema.get("items")
        if isinstance(items, Mapping):
            for index, each in enumerate(value):
                validate_list_types(errors, each, items, f"{path}[{index}]")
    elif isinstance(value, dict):
        values = schema.get("additionalProperties")
        properties: Mapping[str, Any] = schema.get("properties") or {}
        for name, part in value.items():
            if isinstance(values, Mapping):
                validate_list_types(errors, part, values, f"{path}[{name}]")
            if name in properties:
                inner = f"{path}.{name}" if path else name
                validate_list_types(errors, part, properties[name], inner)


def _validate_keys(errors: FieldErrors, value: Sequence[Any], schema: Schema, path: str) -> None:
    for index, each in enumerate(value):
        if each is not None and not isinstance(each, dict):
            text = "must be an object for an array of list-type map"
            errors.invalid(f"{path}[{index}]", each, text)
            return
    names = schema.get("x-kubernetes-list-map-keys") or ()
    keys = [{name: each[name] for name in names if name in (each or {})} for each in value]
    for index in _repeated(keys):
        errors.duplicate(f"{path}[{index}]", keys[index])


def _repeated(values: Sequence[Any]) -> list[int]:
    """Return where a value occurs for the second time; further ones are not reported."""
    counts: dict[Hashable, int] = {}
    found = []
    for index, value in enumerate(values):
        key: Hashable = (type(value).__name__, value)
        if isinstance(value, dict | list):
            key = printed(_sorted(value))
        counts[key] = counts.get(key, 0) + 1
        if counts[key] == 2:
            found.append(index)
    return found


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value

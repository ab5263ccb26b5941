"""From documents to objects, as strictly as the API server reads them.

A document of a manifest is new to the API server, which is what `kubectl apply --validate=strict`
assumes: fields must be known, types right, the version served, and the object valid after its
defaults have been set. An object that comes from a server has passed all that; it may be newer or
older than Kubernetes 1.36. It is read leniently: unknown fields are ignored with one warning for
each kind, and an older version is converted.

An object is from a server if it has `metadata.uid` and `metadata.resourceVersion` or
`metadata.creationTimestamp`, or stands in a record or a snapshot.

Notes
-----
Upstream: plugin/pkg/admission/priority/admission.go and plugin/pkg/admission/runtimeclass/
admission.go, which forbid such pods.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any, Final, Literal, TypeAlias, get_args

import msgspec

from podwright.apimachinery.documents import first_names
from podwright.apimachinery.objects import (
    Document,
    FieldError,
    InputError,
    Object,
    Unknown,
    api_group,
    nearest,
    required,
    unsupported,
)
from podwright.apimachinery.schema import (
    UNKNOWN_FIELD,
    Kind,
    Problem,
    Schema,
    built_in,
    decode,
)
from podwright.cluster.api import conversion_of
from podwright.cluster.store import GroupKind
from podwright.simulation import files
from podwright.simulation.files.document_cache import DocumentCache
from podwright.simulation.files.documents import (
    Place,
    Watch,
    is_configuration,
    read_documents,
)
from podwright.simulation.files.json_documents import is_from_server, is_record_line
from podwright.simulation.files.kwok_recording import is_change

FieldValidation: TypeAlias = Literal["strict", "warn", "ignore"]
"""What is done about problems in manifests: errors, warnings, or nothing (`kubectl --validate`).

A value that cannot be decoded is always an error."""


def require_validation(validate: FieldValidation) -> None:
    """Reject a value that is not one of `FieldValidation`.

    Raises
    ------
    InputError
    """
    if validate not in get_args(FieldValidation):
        raise InputError.of("validate", unsupported(validate, get_args(FieldValidation)))


_FIELDS_SHOWN: Final = 5
_EXAMINED_MAX: Final = 1_000
"""How many stored objects of a kind are searched for unknown fields: objects of one server have
the same ones, and a large dump is read faster."""
_DEFINITION: Final = "CustomResourceDefinition"
_DISCOVERY: Final = frozenset(
    {("v1", "APIGroup"), ("v1", "APIGroupList"), ("v1", "APIResourceList"), ("v1", "APIVersions")}
)
_QUOTED: Final = re.compile(r'"([^"]*)"')
_INDEX: Final = re.compile(r"\[[0-9]+\]")


class Sourced(msgspec.Struct, frozen=True, gc=False):
    """An object with its source, and the `apiVersion` in which it is written there."""

    source: str
    object: Object
    api_version: str = ""


class SourcedDocument(msgspec.Struct, frozen=True, gc=False):
    """A document with its source."""

    source: str
    document: Document


class ObjectReader:
    """Reads documents of one input, and collects what is wrong with them.

    Parameters
    ----------
    validate : str
        What is done about problems in manifests.
    has_defaults : bool
        Whether the objects of manifests get upstream's defaults, or stay as they are written.
    schema : Schema, optional
        The kinds; by default those of Kubernetes.

    Attributes
    ----------
    errors : list of FieldError
        Why documents were rejected.
    """

    def __init__(
        self,
        validate: FieldValidation = "strict",
        *,
        has_defaults: bool = True,
        schema: Schema | None = None,
    ) -> None:
        self.errors: list[FieldError] = []
        self._has_defaults = has_defaults
        self._validate = validate
        self._schema = schema or built_in()
        self._warnings: list[str] = []
        self._examined: dict[Kind, int] = {}
        self._newer: dict[str, tuple[str, dict[str, None]]] = {}
        self._unread: set[tuple[str, str]] = set()

    def warnings(self) -> tuple[str, ...]:
        """Return the warnings so far, each a sentence with its source."""
        newer = tuple(
            f"{source}: {kind}: unknown {_listed(list(fields))} ignored (newer than Kubernetes 1.36"
            " or misspelled)"
            for kind, (source, fields) in self._newer.items()
        )
        return (*self._warnings, *newer)

    def read(
        self, document: Document, place: Place, *, is_stored: bool = False, path: str = ""
    ) -> Object | None:
        """Return the object of a document; None if it has errors that leave nothing of it.

        An object of a manifest that has errors is returned without the values of wrong types, so
        that references to it and in it can be checked, too.

        Parameters
        ----------
        document : dict
            The object as JSON; it must not be changed afterwards.
        place : Place
            Its location, for errors.
        is_stored : bool
            Whether the document stands in a record or a snapshot.
        path : str
            The path of the object in its place: `resource` in a line of a record.
        """
        found = _Reading(document, place, path)
        before = len(self.errors)
        api_version, kind = document.get("apiVersion"), document.get("kind")
        if not (isinstance(api_version, str) and isinstance(kind, str) and api_version and kind):
            return self._decoded(document, found)
        known = self._schema.find(api_version, kind)
        if is_stored or is_from_server(document):
            if known is None:
                document, known = self._converted(document, found)
            wrong = set() if known is None else self._examine(document, known, found)
            if known is not None and not wrong:
                document, known = _in_stored_version(document, known)
                if missing := _missing(document, known):
                    name = (document.get("metadata") or {}).get("name", "")
                    self._warnings.append(
                        f"{found.place}: {known.row.kind} {name} is not read, since it lacks"
                        f" {missing}, which an API server requires"
                    )
                    return None
                # Not of pods: they are most objects, and a walk costs as much as reading one.
                if known.row.kind != "Pod":
                    document = known.with_zero_items(document)
            obj = self._decoded(document, found, reported=wrong)
            if known is not None and wrong:
                obj = _partial(known, document)
            return self._named(obj, found, before, may_be_generated=False)
        if known is None:
            if message := self._schema.no_match(api_version, kind):
                self.errors.append(found.error("kind", message))
                return None
            return self._named(self._decoded(document, found), found, before)
        return self._named(self._of_manifest(document, known, found), found, before)

    def check_patch(self, of: GroupKind, patch: Document, place: Place, *, path: str) -> None:
        """Report what is wrong with the fields of a merge patch of an object of a built-in kind."""
        known = self._schema.of(*of)
        if known is not None:
            found = _Reading(patch, place, path)
            self._note(found, known.decoding_problems(_without_directives(patch)), known)

    # ------------------------------------------------------------------------ manifests

    def note_duplicates(self, duplicates: list[FieldError]) -> None:
        """Report keys that a mapping of a manifest has twice, and clear the list."""
        if self._validate == "strict":
            self.errors += duplicates
        elif self._validate == "warn":
            self._warnings += map(str, duplicates)
        duplicates.clear()

    def _of_manifest(self, document: Document, kind: Kind, found: _Reading) -> Object | None:
        if kind.row.kind == _DEFINITION:
            # The server gives a new definition its status. Generated ones have an empty one, which
            # the rules of stored definitions reject.
            document = {name: value for name, value in document.items() if name != "status"}
        unknown = [] if conversion_of(kind) is None else kind.decoding_problems(document)
        if all(map(_is_unknown_field, unknown)):
            self._note(found, unknown, kind)
            document, kind = _in_stored_version(document, kind)
        made, problems = kind.checked(document)
        document = made if self._has_defaults else document
        if not problems:
            return self._decoded(document, found)
        errors = self._note(found, problems, kind)
        # Decoding may find further errors; a field is reported once.
        reported = {error.path for error in errors} if self._validate == "strict" else ()
        self._decoded(document, found, reported)
        return _partial(kind, document)

    def _note(self, found: _Reading, problems: list[Problem], kind: Kind) -> list[FieldError]:
        errors = [
            found.error(_written_path(kind, path), _with_suggestion(message, value), value)
            for path, message, value in problems
        ]
        if self._validate == "warn":
            self._warnings += map(str, errors)
        elif self._validate == "strict":
            self.errors += errors
        return errors

    def _named(
        self, obj: Object | None, found: _Reading, before: int, *, may_be_generated: bool = True
    ) -> Object | None:
        """Return an object; without a name it has an error, unless it has others."""
        if obj is None or obj.name or (may_be_generated and obj.metadata.generate_name):
            return obj
        if len(self.errors) == before:
            detail = "name or generateName" if may_be_generated else ""
            self.errors.append(found.error("metadata.name", required(detail)))
        return obj

    # ------------------------------------------------------------------- server objects

    def _converted(self, document: Document, found: _Reading) -> tuple[Document, Kind | None]:
        """Return an object of an older version in the version that replaces it.

        One whose version has another form is an object of an unknown kind.
        """
        api_version, name = document["apiVersion"], document["kind"]
        if not self._schema.is_built_in(api_group(api_version)):
            return document, None
        successor = self._schema.successor(api_version, name)
        kind = self._schema.find(successor, name) if successor else None
        if kind is None:
            return document, None
        converted = document | {"apiVersion": successor}
        problems = kind.decoding_problems(converted)
        if not problems:
            return converted, kind
        if (api_version, name) not in self._unread:
            self._unread.add((api_version, name))
            fields = [_INDEX.sub("[]", path) for path, _, _ in problems]
            self._warnings.append(
                f"{found.place}: {name} of {api_version} is not read, since {successor} does not"
                f" have its {_listed(fields)} in that form"
            )
        return document, None

    def _examine(self, document: Document, kind: Kind, found: _Reading) -> set[str]:
        """Note the newer fields of an object of a server; return the paths of wrong values."""
        self._examined[kind] = count = self._examined.get(kind, 0) + 1
        wrong: set[str] = set()
        if count > _EXAMINED_MAX:
            return wrong
        for problem in kind.decoding_problems(document):
            if _is_unknown_field(problem):
                name = f"{kind.api_version} {kind.row.kind}"
                _, fields = self._newer.setdefault(name, (str(found.place), {}))
                fields.setdefault(_INDEX.sub("[]", problem[0]))
            else:
                self.errors.append(found.error(*problem))
                wrong.add(self.errors[-1].path)
        return wrong

    # -------------------------------------------------------------------------- decoding

    def _decoded(
        self,
        document: Document,
        found: _Reading,
        reported: Container[str] = (),
    ) -> Object | None:
        try:
            return decode(document)
        except InputError as error:
            several = [found.error(one.path, one.message, one.value) for one in error.errors]
            self.errors += [one for one in several if one.path not in reported]
            return None


class _Reading(msgspec.Struct, frozen=True):
    """One document while it is read."""

    document: Document
    place: Place
    path: str

    def error(self, path: str, message: str, value: Any = None) -> FieldError:
        whole = ".".join(part for part in (self.path, path) if part)
        return FieldError(source=self.place.of(whole), path=whole, message=message, value=value)


def _without_directives(patch: Any) -> Any:
    """Return a patch without what deletes, replaces or orders fields."""
    if isinstance(patch, dict):
        kept = ((name, _without_directives(value)) for name, value in patch.items())
        return {name: value for name, value in kept if value is not None and name[:1] != "$"}
    return [_without_directives(each) for each in patch] if isinstance(patch, list) else patch


def _partial(kind: Kind, document: Document) -> Object | None:
    """Return an object without its values of wrong types; None if that includes its name."""
    readable = kind.decodable(document)
    if "metadata" not in readable:
        return None
    try:
        return decode(readable)
    except InputError:
        pass
    names = ("apiVersion", "kind", "metadata")
    try:
        bare = decode({name: readable[name] for name in names})
    except InputError:
        return None
    row = kind.row
    return Unknown(
        api_version=kind.api_version, kind=row.kind, metadata=bare.metadata, raw=readable
    )


def _missing(document: Document, kind: Kind) -> str:
    """Return a field of an edited definition without which its kind is unknown; "" if none."""
    if kind.row.kind != _DEFINITION:
        return ""
    spec = document.get("spec") or {}
    names, versions = spec.get("names") or {}, spec.get("versions") or []
    present = {
        "spec.group": spec.get("group"),
        "spec.names.plural": names.get("plural"),
        "spec.names.kind": names.get("kind"),
        "spec.versions": versions,
        "spec.versions[].name": all(each and each.get("name") for each in versions),
        "spec.versions[].storage": any(each and each.get("storage") for each in versions),
    }
    return next((path for path, value in present.items() if not value), "")


def _in_stored_version(document: Document, kind: Kind) -> tuple[Document, Kind]:
    """Return an object of right types in the version in which its kind is stored."""
    conversion = conversion_of(kind)
    if conversion is None:
        return document, kind
    converted = conversion.to_storage(kind.with_zero_items(document))
    head = {name: converted[name] for name in ("apiVersion", "kind")}
    # Go's form has a status, which a manifest does not.
    rest = {name: part for name, part in converted.items() if name in document}
    return head | rest, conversion.storage_kind


def _written_path(kind: Kind, path: str) -> str:
    """Return the path of a field where the document has it.

    Upstream's validation reports the taints of nodes as `metadata.taints` (ValidateNode in
    pkg/apis/core/validation/validation.go).
    """
    if kind.row.kind == "Node" and path.startswith("metadata.taints"):
        return f"spec{path.removeprefix('metadata')}"
    return path


def _is_unknown_field(problem: Problem) -> bool:
    return problem[1].startswith(UNKNOWN_FIELD)


def _with_suggestion(message: str, value: Any) -> str:
    """Return a text of upstream about an enumeration with the nearest of the valid values."""
    listed = message.partition(": supported values: ")[2]
    if "did you mean" in message or not isinstance(value, str):
        return message
    near = nearest(value, _QUOTED.findall(listed))
    return f'{message}; did you mean "{near}"?' if near else message


def _listed(fields: list[str]) -> str:
    return f"field{'s' if len(fields) > 1 else ''} {first_names(fields, _FIELDS_SHOWN)}"


# ------------------------------------------------------------------------------ manifests


class Manifest(msgspec.Struct, frozen=True):
    """The content of one file, in order.

    Attributes
    ----------
    errors : tuple of FieldError
        Those of all documents. Objects without values of wrong types are there nevertheless, so
        that references can be checked, too.
    is_complete : bool
        Whether every document of the file is among the objects and configurations.
    """

    objects: tuple[Sourced, ...] = ()
    configurations: tuple[SourcedDocument, ...] = ()
    warnings: tuple[str, ...] = ()
    errors: tuple[FieldError, ...] = ()
    is_complete: bool = True


def read_manifest(
    data: bytes,
    *,
    source: str,
    validate: FieldValidation = "strict",
    has_defaults: bool = True,
    namespace: str = "",
    watch: Watch | None = None,
    cache: DocumentCache | None = None,
) -> Manifest:
    """Read the objects and configurations of a file.

    Parameters
    ----------
    data : bytes
        The content, compressed or not.
    source : str
        The file's name, for errors.
    validate : str
        What is done about problems in manifests.
    has_defaults : bool
        Whether the objects of manifests get upstream's defaults.
    namespace : str
        The namespace of objects of namespaced kinds that name none; `default` if empty.
    watch, cache : optional
        As for `load_bytes`.
    """
    reader = ObjectReader(validate, has_defaults=has_defaults)
    objects: list[Sourced] = []
    configurations: list[SourcedDocument] = []
    notes: list[str] = []
    unreadable: list[FieldError] = []
    duplicates: list[FieldError] = []
    is_complete = True
    found = read_documents(data, source, unreadable, duplicates, watch=watch, cache=cache)
    for place, document, is_stored in found:
        reader.note_duplicates(duplicates)
        reader.errors += unreadable
        is_complete = is_complete and not unreadable
        unreadable.clear()
        if is_configuration(document):
            readable = document
            if is_stored:
                readable, differences = files.readable_configuration(document)
                notes += [f"{place}: {difference}" for difference in differences]
            configurations.append(SourcedDocument(str(place), readable))
            continue
        if recorded := _recorded(document):
            hint = "`podwright convert` writes the cluster at its end"
            message = f"{recorded}; {hint}"
            reader.errors.append(FieldError(source=str(place), message=message))
            is_complete = False
            break
        if reason := _other_purpose(document):
            notes.append(f"{place}: {reason}; it is not read")
            continue
        obj = reader.read(_in_namespace(document, namespace), place, is_stored=is_stored)
        if obj is None:
            is_complete = False
        else:
            objects.append(Sourced(str(place), obj, str(document.get("apiVersion", ""))))
    reader.note_duplicates(duplicates)
    reader.errors += unreadable
    return Manifest(
        tuple(objects),
        tuple(configurations),
        (*notes, *reader.warnings()),
        tuple(reader.errors),
        is_complete and not unreadable,
    )


def _recorded(document: Document) -> str:
    """Return what a file of changes is, of which this is one; "" for other documents."""
    if is_change(document):
        return "a recording of kwokctl, with changes of its objects"
    if is_record_line(document):
        return "a record of changes, which `podwright simulate --events` plays"
    return ""


def _other_purpose(document: Document) -> str:
    """Return why a document is not an object of a cluster; "" for one that is, or may be."""
    api_version, kind = document.get("apiVersion"), document.get("kind")
    if not (isinstance(api_version, str) and isinstance(kind, str) and api_version and kind):
        return ""
    if (api_version, kind) in _DISCOVERY:
        return f"{kind} says what an API server has"
    if document.get("metadata") or built_in().is_built_in(api_group(api_version)):
        return ""
    return f"{kind} of {api_version} without metadata configures another tool"


def _in_namespace(document: Document, namespace: str) -> Document:
    metadata = document.get("metadata")
    if not namespace or not isinstance(metadata, dict) or metadata.get("namespace"):
        return document
    group = api_group(str(document.get("apiVersion")))
    if not built_in().is_namespaced(group, str(document.get("kind"))):
        return document
    return document | {"metadata": metadata | {"namespace": namespace}}

"""Which representation a client gets: Accept headers, transformations, content types of bodies.

A transformation is the part `;as=Table;v=v1;g=meta.k8s.io` of a media type. Protobuf is accepted
in bodies. Of replies, only lists of metadata are protobuf: every client that prefers it accepts
JSON too, and elsewhere takes both for the same.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go;
github.com/emicklei/go-restful route.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import GO_BOOLEANS, cache_short
from podwright.cluster.api.endpoints.request import HttpRequest
from podwright.cluster.api.rejections import (
    Rejection,
    no_representation,
    not_acceptable,
)

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
MEDIA_TYPES: Final = (JSON, YAML, PROTOBUF)
_STREAMS: Final = (
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
)

Transformation: TypeAlias = Literal[
    "", "Table", "PartialObjectMetadata", "PartialObjectMetadataList"
]
_METADATA: Final = ("PartialObjectMetadata", "PartialObjectMetadataList")
Format: TypeAlias = Literal["json", "yaml", "protobuf"]

_READ_BY_PEOPLE: Final = ("curl", "Wget", "Mozilla/5.0")
"""How the User-Agents of clients begin that show a reply as it comes."""

_META_VERSIONS: Final = ("v1", "v1beta1")


class MediaType(msgspec.Struct, frozen=True):
    """The representation that a client gets.

    Attributes
    ----------
    format : str
    transformation : str
        "" for the object itself.
    version : str
        The version of meta.k8s.io for a transformation.
    is_pretty : bool
        Whether JSON is indented.
    """

    format: Format = "json"
    transformation: Transformation = ""
    version: str = "v1"
    is_pretty: bool = False

    @property
    def content_type(self) -> str:
        """The Content-Type of the reply."""
        return _CONTENT_TYPES[self.format]


_CONTENT_TYPES: Final[dict[Format, str]] = {"json": JSON, "yaml": YAML, "protobuf": PROTOBUF}

AGGREGATED_DISCOVERY: Final = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
"""The transformation to the aggregated documents of discovery."""

_AGGREGATED_PARAMETERS: Final = dict(part.split("=") for part in AGGREGATED_DISCOVERY.split(";"))


class _Clause(msgspec.Struct, frozen=True):
    type: str
    subtype: str
    quality: float
    parameters: dict[str, str]


@cache_short(maxsize=256)
def negotiate(
    accept: str,
    *,
    streams: bool = False,
    is_route: bool = True,
    has_transformations: bool = True,
    has_tables: bool = True,
    has_protobuf: bool = True,
) -> MediaType:
    """Return the representation for an Accept header.

    Parameters
    ----------
    accept : str
        The header; "" accepts everything.
    streams : bool
        Whether the path can be watched, which adds to the listed representations.
    is_route : bool
        Whether upstream serves the path with go-restful, which knows no `application/*`.
    has_transformations : bool
        Whether the path has Tables and the like.
    has_tables : bool
        Whether it has Tables.
    has_protobuf : bool
        Whether the objects themselves can be protobuf; metadata always can, Tables never.

    Raises
    ------
    Rejection
        No representation is acceptable.
    """
    if not accept:
        return MediaType()
    produced = (*MEDIA_TYPES, *_STREAMS) if streams else MEDIA_TYPES
    if is_route and not _is_produced(accept, produced):
        raise no_representation(produced)
    for clause in _clauses(accept):
        for offered in MEDIA_TYPES:
            found = _match(clause, offered)
            if (
                found is not None
                and (has_transformations or not found.transformation)
                and (found.transformation != "Table" or (has_tables and offered != PROTOBUF))
                and (has_protobuf or offered != PROTOBUF or found.transformation in _METADATA)
            ):
                return found
    raise only_accepts(MEDIA_TYPES)


def indented(media: MediaType, request: HttpRequest) -> MediaType:
    """Return the representation with indentation where a client asks for it, or a person reads it.

    Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go,
    isPrettyPrint
    """
    asked = request.parameter("pretty") if "pretty" in request.query else ""
    if asked:
        is_pretty = GO_BOOLEANS.get(asked, False)
    else:
        is_pretty = request.header("user-agent").startswith(_READ_BY_PEOPLE)
    return msgspec.structs.replace(media, is_pretty=True) if is_pretty else media


def accepts(accept: str, media_type: str) -> bool:
    """Whether an Accept header admits a media type; an absent header does."""
    main, _, sub = media_type.partition("/")
    return not accept or any(
        each.type in (main, "*") and each.subtype in (sub, "*") for each in _clauses(accept)
    )


def aggregated_discovery_type(accept: str) -> MediaType | None:
    """Return the representation of the aggregated documents of discovery.

    None if the client does not accept them, or prefers the others.

    Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/discovery/aggregated/wrapper.go
    """
    for clause in _clauses(accept):
        parameters = clause.parameters
        transformation = {name: parameters[name] for name in ("as", "g", "v") if name in parameters}
        if transformation and transformation != _AGGREGATED_PARAMETERS:
            continue
        rest = {name: text for name, text in parameters.items() if name not in transformation}
        for offered in MEDIA_TYPES:
            found = _match(msgspec.structs.replace(clause, parameters=rest), offered)
            if found is not None:
                return found if transformation else None
    return None


def check_stream(media: MediaType) -> None:
    """Reject a watch whose negotiated representation is not one of streams.

    Raises
    ------
    Rejection
        It is YAML.
    """
    if media.format == "yaml":
        raise only_accepts(_STREAMS)


def only_accepts(types: Iterable[str]) -> Rejection:
    """Return the error of a header that no offered type satisfies."""
    return not_acceptable(f"only the following media types are accepted: {', '.join(types)}")


def _is_produced(accept: str, produced: Iterable[str]) -> bool:
    for part in accept.split(","):
        name = part.partition(";")[0].strip(" ")
        if name == "*/*" or name in produced:
            return True
    return False


def _match(clause: _Clause, offered: str) -> MediaType | None:
    main, _, sub = offered.partition("/")
    is_any = clause.type == "*" and clause.subtype == "*"
    if not (is_any or (clause.type == main and clause.subtype in (sub, "*"))):
        return None
    parameters = clause.parameters
    transformation = ""
    version = "v1"
    if parameters.keys() & {"as", "g", "v"}:
        transformation, version = parameters.get("as", ""), parameters.get("v", "")
        if not _is_transformation(transformation, parameters.get("g", ""), version):
            return None
    if parameters.get("stream") not in (None, "", "watch"):
        return None
    form: Format = "yaml" if offered == YAML else "json"
    if offered == PROTOBUF and transformation == "PartialObjectMetadataList":
        form = "protobuf"
    return MediaType(
        form,
        transformation,  # type: ignore[arg-type]  # checked by `_is_transformation`
        version or "v1",
        parameters.get("pretty") == "1",
    )


def error_media(request: HttpRequest) -> MediaType:
    """Return the representation of an error.

    Errors have no transformations; a client gets JSON if it accepts no other representation.
    """
    try:
        media = negotiate(request.header("accept"), is_route=False, has_transformations=False)
    except Rejection:
        media = MediaType()
    return indented(media, request)


def _is_transformation(kind: str, group: str, version: str) -> bool:
    if group != "meta.k8s.io" or version not in _META_VERSIONS:
        return False
    return kind in ("Table", *_METADATA)


def _clauses(accept: str) -> list[_Clause]:
    """Return the clauses of a header, the preferred one first."""
    found: list[_Clause] = []
    for part in accept.split(","):
        fields = part.split(";")
        main, slash, sub = fields[0].strip().partition("/")
        if not slash and main != "*":
            continue
        parameters: dict[str, str] = {}
        quality = 1.0
        for field in fields[1:]:
            name, equals, value = field.strip().partition("=")
            if not equals:
                continue
            if name == "q":
                quality = _quality(value)
            else:
                parameters[name] = value
        found.append(_Clause(main, sub if slash else "*", quality, parameters))
    # A wildcard comes after the types that have the same quality.
    return sorted(found, key=lambda each: (-each.quality, each.type == "*", each.subtype == "*"))


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


def body_media_type(content_type: str) -> str:
    """Return the media type of a body, without its parameters; an absent one is JSON."""
    return content_type.partition(";")[0].strip().lower() if content_type else JSON

"""Bodies of requests: from bytes to documents, by the media type and within a limit of size.

A body is JSON, YAML or protobuf. `json_bodies`, `yaml_bodies` and `protobuf` decode it; then
`body_kinds` checks its kind, and `body_fields` its fields.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,rest}.go;
staging/src/k8s.io/apimachinery/pkg/runtime/serializer/json/json.go
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from podwright.cluster.api.endpoints.decoding.go_type_errors import go_kind
from podwright.cluster.api.endpoints.decoding.json_bodies import Decoded, JsonError, read_json
from podwright.cluster.api.endpoints.decoding.yaml_bodies import read_yaml_value
from podwright.cluster.api.endpoints.protobuf import (
    ProtobufError,
    ProtobufObjectError,
    decode_protobuf,
)
from podwright.cluster.api.endpoints.replies.negotiation import (
    MEDIA_TYPES,
    PROTOBUF,
    YAML,
    body_media_type,
)
from podwright.cluster.api.endpoints.request import HttpRequest
from podwright.cluster.api.rejections import (
    bad_request,
    too_large,
    unrecognized,
    unsupported_media_type,
)

BODY_MAX_BYTES: Final = 3 * 1024 * 1024
"""The largest body; upstream's limit for writes."""


def check_size(request: HttpRequest) -> None:
    """Reject a body that is too large.

    Raises
    ------
    Rejection
        The body is larger than `BODY_MAX_BYTES`.
    """
    if len(request.body) > BODY_MAX_BYTES:
        raise too_large(BODY_MAX_BYTES)


def check_encoding(request: HttpRequest, types: Sequence[str] = MEDIA_TYPES) -> None:
    """Reject a body of an unknown media type, or one that is too large.

    Raises
    ------
    ApiError
    """
    if body_media_type(request.header("content-type")) not in types:
        raise unsupported_media_type(types)
    check_size(request)


def read_object(request: HttpRequest, kind: str, *, api_version: str = "v1") -> Decoded:
    """Return the body of a request whose media type says how it is encoded.

    Parameters
    ----------
    request : HttpRequest
    kind : str
        The expected kind, for errors.
    api_version : str
        The expected `apiVersion`, for a body in protobuf that names none.

    Raises
    ------
    Rejection
        The media type is unknown, or the body is not of that type.
    """
    check_encoding(request, MEDIA_TYPES)
    media_type = body_media_type(request.header("content-type"))
    if media_type == PROTOBUF:
        try:
            return Decoded(decode_protobuf(request.body, api_version, kind), [])
        except ProtobufObjectError as error:
            version = error.api_version.rpartition("/")[2]
            raise bad_request(
                f'{error.kind} in version "{version}" cannot be handled as a {kind}: {error}'
            ) from None
        except ProtobufError as error:
            raise unrecognized(kind, str(error), request.body) from None
    return read_text(request.body, kind, is_yaml=media_type == YAML)


def read_text(body: bytes, kind: str, *, is_yaml: bool = False) -> Decoded:
    """Return a JSON or YAML body as a document with its duplicate fields.

    Raises
    ------
    Rejection
        The text is not an object.
    """
    if is_yaml:
        found = read_yaml_value(body, kind, is_applied=False)
    else:
        try:
            found = read_json(body)
        except JsonError as error:
            text = f"couldn't get version/kind; json parse error: {error}"
            raise unrecognized(kind, text, body) from None
    if found.document is None:
        # Go decodes null, and YAML without a value, into an object without fields.
        return Decoded({}, found.duplicates)
    if not isinstance(found.document, dict):
        go_type = (
            'Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\"";'
            ' Kind string "json:\\"kind,omitempty\\"" }'
        )
        text = (
            "couldn't get version/kind; json parse error: json: cannot unmarshal"
            f" {go_kind(found.document)} into {go_type}"
        )
        raise unrecognized(kind, text, body)
    return found

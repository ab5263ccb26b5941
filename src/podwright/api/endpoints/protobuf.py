"""Bodies in protobuf: the envelope of Kubernetes around a message.

Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go
"""

from __future__ import annotations

from typing import Final

from podwright.objects import Document

PREFIX: Final = b"k8s\0"


class ProtobufError(ValueError):
    """A body that is not the protobuf form of an object; the message is upstream's."""


def decode_protobuf(body: bytes) -> Document:
    """Return the object in a protobuf body as a document.

    Raises
    ------
    ProtobufError
        The body cannot be decoded.
    """
    if not body.startswith(PREFIX):
        raise ProtobufError(
            "provided data does not appear to be a protobuf message, expected prefix"
            f" [{' '.join(map(str, PREFIX))}]"
        )
    raise ProtobufError("messages in protobuf are not supported yet; send JSON or YAML")

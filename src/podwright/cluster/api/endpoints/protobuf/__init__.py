"""Bodies in protobuf: decoded with the field numbers of the schema table, into documents.

A body is the prefix `k8s`, a null byte, and a message `Unknown`: the `apiVersion` and kind of the
object, and the object as a message. Only lists of metadata are encoded (`encoding.py`): clients
that prefer protobuf accept JSON. `wire.py` reads tags and lengths, `messages.py` the structs of the
table.

Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go
"""

from podwright.cluster.api.endpoints.protobuf.envelope import (
    ProtobufError as ProtobufError,
    ProtobufObjectError as ProtobufObjectError,
    decode_protobuf as decode_protobuf,
)

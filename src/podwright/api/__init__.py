"""What a write means: the semantics of kube-apiserver, without a server.

`Api.handle(request, user, now_ns)` is the only door for changes of objects: from a user, by the
scheduler, by controllers and by stages. Admission and validation judge a request, the storage
works out what it makes of the object, and the store below, which knows versions and indexes only,
commits it. The room reads no clock and opens nothing.

Start with `api.py`, then `requests.py` (the vocabulary) and `resource_storage.py`.
"""

from podwright.api.admission import Admission, Forbidden, NamespaceTerminating
from podwright.api.api import Api
from podwright.api.eviction import EvictionRefused
from podwright.api.requests import (
    ApplyObject,
    BindPod,
    CreateObject,
    DeleteObject,
    EvictPod,
    PatchObject,
    Reply,
    ScaleObject,
    UpdateObject,
    WriteRequest,
)

__all__ = [
    "Admission",
    "Api",
    "ApplyObject",
    "BindPod",
    "CreateObject",
    "DeleteObject",
    "EvictPod",
    "EvictionRefused",
    "Forbidden",
    "NamespaceTerminating",
    "PatchObject",
    "Reply",
    "ScaleObject",
    "UpdateObject",
    "WriteRequest",
]

"""The object store: versioned objects of all kinds under one increasing resourceVersion.

The room provides indexes, history, watches, and durability in memory or SQLite, like etcd. It
does not know the scheduler and does not decide what a write means: defaults, validation and
admission are in `api`, which is the only writer.

Words used here:

- The *window* is the range of versions whose changes are kept for watches and consistent lists.
- The *journal* is the durable log of changes; without one the store is in memory only.
- The *horizon* is the version up to which changes are durable; no watch reads beyond it.
- A *mark* says when the versions after one were written.
- A *table* holds the current objects of one kind and their indexes.
- A *run* is a sorted list of keys.

Start with `objects_store.py` (the operations of a store), then `history.py` (changes and the
window), `versions.py` (the metadata that a write sets) and `sqlite_store.py` (durability).
"""

from podwright.cluster.store.encodings import Encodings, TextForm
from podwright.cluster.store.errors import (
    AlreadyExists,
    Conflict,
    Expired,
    FutureVersion,
    InvalidContinue,
    InvalidVersion,
    NotFound,
    ObjectError,
    StoreError,
    UnusableStore,
)
from podwright.cluster.store.history import Change, WatchEvent, change_of, version_number
from podwright.cluster.store.kinds import (
    EVENT,
    NAMESPACE,
    POD,
    GroupKind,
    KindLike,
    group_kind,
    kind_of,
)
from podwright.cluster.store.object_reader import ObjectReader
from podwright.cluster.store.objects_store import TIMES_KEPT_NS, ObjectStore
from podwright.cluster.store.pages import Page
from podwright.cluster.store.sqlite_store import open_store
from podwright.cluster.store.stored import LARGE_BYTES, Stored
from podwright.cluster.store.versions import METADATA_KEYS, at_version, with_document, with_metadata
from podwright.cluster.store.watch import Cursor
from podwright.cluster.store.write_times import MARK_PERIOD_NS

__all__ = [
    "EVENT",
    "LARGE_BYTES",
    "MARK_PERIOD_NS",
    "METADATA_KEYS",
    "NAMESPACE",
    "POD",
    "TIMES_KEPT_NS",
    "AlreadyExists",
    "Change",
    "Conflict",
    "Cursor",
    "Encodings",
    "Expired",
    "FutureVersion",
    "GroupKind",
    "InvalidContinue",
    "InvalidVersion",
    "KindLike",
    "NotFound",
    "ObjectError",
    "ObjectReader",
    "ObjectStore",
    "Page",
    "StoreError",
    "Stored",
    "TextForm",
    "UnusableStore",
    "WatchEvent",
    "at_version",
    "change_of",
    "group_kind",
    "kind_of",
    "open_store",
    "version_number",
    "with_document",
    "with_metadata",
]

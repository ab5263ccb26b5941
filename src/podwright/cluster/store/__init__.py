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

Start with `objects_store.py` (the operations of a store), then `history.py` (changes, the
window, and the metadata that a write sets) and `sqlite_store.py` (durability).
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.cluster.store.encodings import Encodings as Encodings, TextForm as TextForm
    from podwright.cluster.store.errors import (
        EVENT as EVENT,
        NAMESPACE as NAMESPACE,
        POD as POD,
        AlreadyExists as AlreadyExists,
        Expired as Expired,
        FutureVersion as FutureVersion,
        GroupKind as GroupKind,
        InvalidContinue as InvalidContinue,
        KindLike as KindLike,
        NotFound as NotFound,
        ObjectError as ObjectError,
        StoreError as StoreError,
        UnusableStore as UnusableStore,
        group_kind as group_kind,
        kind_of as kind_of,
    )
    from podwright.cluster.store.history import (
        METADATA_KEYS as METADATA_KEYS,
        Change as Change,
        FreshChange as FreshChange,
        RestingChange as RestingChange,
        WatchEvent as WatchEvent,
        at_version as at_version,
        change_of as change_of,
        with_document as with_document,
        with_metadata as with_metadata,
    )
    from podwright.cluster.store.objects_store import (
        TIMES_KEPT_NS as TIMES_KEPT_NS,
        ObjectStore as ObjectStore,
    )
    from podwright.cluster.store.pages import ObjectReader as ObjectReader, Page as Page
    from podwright.cluster.store.sorted_keys import Names as Names
    from podwright.cluster.store.sqlite_store import open_store as open_store
    from podwright.cluster.store.stored import (
        LARGE_BYTES as LARGE_BYTES,
        MARK_PERIOD_NS as MARK_PERIOD_NS,
        Stored as Stored,
    )
    from podwright.cluster.store.watch import Cursor as Cursor
else:
    __getattr__, __dir__ = names_on_first_use(__name__)

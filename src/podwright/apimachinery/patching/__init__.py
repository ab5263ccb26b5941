"""Patches of objects, server-side apply, and who manages which fields.

Pure functions over documents (dictionaries as in JSON), the types of `schema` and the time of the
request. The room knows no requests, storage, defaults or admission. Results share what did not
change with their arguments; no argument is ever changed.

- `json_patched`, `merge_patched` and `strategic_merged` return a document after a patch;
  `merge_difference` and `strategic_difference` the patch between two documents.
- `applied` returns an object after server-side apply.
- `with_managed_fields` returns an object of any other write with its entries.
- `configured` returns an object with what a configuration sets, without owners.
- `scale_entries` and `object_entries` convert entries between an object and its Scale.

What is wrong with a patch is a `PatchError` with the code, reason and message of the Status;
conflicts of an apply are `ApplyConflictError` with the causes.

Start with `apply.py`, then `typed_values.py` and `field_sets.py`.
"""

from podwright.apimachinery.patching.apply import applied, with_managed_fields
from podwright.apimachinery.patching.configurations import configured
from podwright.apimachinery.patching.errors import (
    ApplyConflictError,
    Conflict,
    FailedTestError,
    PatchError,
    unclassified,
)
from podwright.apimachinery.patching.field_sets import FieldSet
from podwright.apimachinery.patching.go_text import printed
from podwright.apimachinery.patching.json_patch import (
    MOST_OPERATIONS,
    json_patch_warnings,
    json_patched,
)
from podwright.apimachinery.patching.managed_fields import (
    EntriesError,
    read_entries,
    with_entries,
    with_unchanged_times,
    with_update_as_apply,
)
from podwright.apimachinery.patching.merge_patch import merge_difference, merge_patched
from podwright.apimachinery.patching.object_types import (
    Convert,
    ObjectType,
    custom_object_type,
    gvk_text,
    object_type,
)
from podwright.apimachinery.patching.scale_fields import (
    SCALE_API_VERSION,
    object_entries,
    scale_entries,
)
from podwright.apimachinery.patching.strategic_difference import strategic_difference
from podwright.apimachinery.patching.strategic_merge import applied_rest, strategic_merged

__all__ = [
    "MOST_OPERATIONS",
    "SCALE_API_VERSION",
    "ApplyConflictError",
    "Conflict",
    "Convert",
    "EntriesError",
    "FailedTestError",
    "FieldSet",
    "ObjectType",
    "PatchError",
    "applied",
    "applied_rest",
    "configured",
    "custom_object_type",
    "gvk_text",
    "json_patch_warnings",
    "json_patched",
    "merge_difference",
    "merge_patched",
    "object_entries",
    "object_type",
    "printed",
    "read_entries",
    "scale_entries",
    "strategic_difference",
    "strategic_merged",
    "unclassified",
    "with_entries",
    "with_managed_fields",
    "with_unchanged_times",
    "with_update_as_apply",
]

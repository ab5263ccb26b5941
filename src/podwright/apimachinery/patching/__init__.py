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

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.apimachinery.patching.apply import (
        applied as applied,
        configured as configured,
        with_managed_fields as with_managed_fields,
    )
    from podwright.apimachinery.patching.errors import (
        ApplyConflictError as ApplyConflictError,
        FailedTestError as FailedTestError,
        PatchError as PatchError,
        printed as printed,
        unclassified as unclassified,
    )
    from podwright.apimachinery.patching.json_patch import (
        MOST_OPERATIONS as MOST_OPERATIONS,
        json_patch_warnings as json_patch_warnings,
        json_patched as json_patched,
        merge_difference as merge_difference,
        merge_patched as merge_patched,
    )
    from podwright.apimachinery.patching.managed_fields import (
        object_entries as object_entries,
        scale_entries as scale_entries,
        with_entries as with_entries,
        with_unchanged_times as with_unchanged_times,
        with_update_as_apply as with_update_as_apply,
    )
    from podwright.apimachinery.patching.object_types import (
        ObjectType as ObjectType,
        custom_object_type as custom_object_type,
        gvk_text as gvk_text,
        object_type as object_type,
    )
    from podwright.apimachinery.patching.strategic_merge import (
        applied_rest as applied_rest,
        strategic_difference as strategic_difference,
        strategic_merged as strategic_merged,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)

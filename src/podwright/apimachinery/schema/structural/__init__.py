"""Custom resources by the structural schemas of their definitions.

A *structural schema* is `openAPIV3Schema` of a version of a CustomResourceDefinition: it has the
type of every field outside of `allOf`, `anyOf`, `oneOf` and `not`. An object of a custom resource
goes through the steps of `CustomKind`, in the order of the API server: `shape` removes and reports
unknown fields, `defaulting` sets defaults, `shape` keeps what Go's struct of the metadata would
keep, then `values` (types, ranges, patterns, formats), `custom_kind` (lists that are sets or maps)
and the rules of the room `cel` validate.

Schemas are documents as they are in the definition. No function changes its arguments; results
share with them what did not change.

Start with `custom_kind.py`.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.apimachinery.schema.structural.custom_kind import (
        CustomKind as CustomKind,
        CustomVersion as CustomVersion,
        with_go_numbers as with_go_numbers,
    )
    from podwright.apimachinery.schema.structural.field_paths import (
        AccessError as AccessError,
        JsonPath as JsonPath,
        JsonPathError as JsonPathError,
        ScalePaths as ScalePaths,
        compiled_path as compiled_path,
        integer_at as integer_at,
        text_at as text_at,
    )
    from podwright.apimachinery.schema.structural.formats import known_format as known_format
    from podwright.apimachinery.schema.structural.shape import (
        all_schemas as all_schemas,
        approval_of as approval_of,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)

"""The kinds of the Kubernetes API as data: fields, defaults, validation, merge rules, columns.

One table describes every kind of every version that an API server of Kubernetes 1.36 can serve.
`tools/schema_table.py` generates it from upstream's OpenAPI and protobuf descriptions and from
`tools/schema/completions.toml`, which has what these do not say. A kind is added by data only. The
room reads no files but its own table, knows no storage and no scheduling, and decides nothing
about single objects.

Words used here:

- A `Kind` is a kind of one API version. It is compiled when it is first used.
- A *struct type* is an object of the API with named fields, such as `core.v1.PodSpec`.
- A *problem* is the path of an error in a document, its message, and the invalid value.
- *Decoding problems* are unknown fields and values of a wrong type. Validation problems are what
  upstream's validation functions report for an object whose types are right and whose defaults
  are set.

The order for a new object is the API server's: `decoding_problems`, `with_canonical_quantities`,
`with_defaults`, `validate_object_meta`, `validation_problems`. A changed object has
`update_problems`.

Validation and defaults are functions. The table names them for each kind (`module:function`), and
`Kind` imports them on first use: `schema/validation/` and `schema/defaults/` describe their form.
The cells of kubectl's tables are fields or functions: `schema/printing/` has the forms.

Start with `table.py` (the format), then `kind.py`.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.apimachinery.schema import der as der
    from podwright.apimachinery.schema.apparmor_annotations import (
        with_apparmor_profiles as with_apparmor_profiles,
    )
    from podwright.apimachinery.schema.decoding import Problem as Problem
    from podwright.apimachinery.schema.defaults.pods import (
        set_pod_resource_defaults as set_pod_resource_defaults,
        template_with_defaults as template_with_defaults,
    )
    from podwright.apimachinery.schema.definition_kind import BOOLEAN_OR_SCHEMA as BOOLEAN_OR_SCHEMA
    from podwright.apimachinery.schema.go_form import go_ordered as go_ordered
    from podwright.apimachinery.schema.kind import Kind as Kind
    from podwright.apimachinery.schema.kind_index import (
        Schema as Schema,
        built_in as built_in,
        decode as decode,
    )
    from podwright.apimachinery.schema.printing.cells import human_duration as human_duration
    from podwright.apimachinery.schema.printing.configuration import (
        printed_selector as printed_selector,
    )
    from podwright.apimachinery.schema.strict_structs import UNKNOWN_FIELD as UNKNOWN_FIELD
    from podwright.apimachinery.schema.table import (
        Column as Column,
        KindRow as KindRow,
        Table as Table,
        built_in_table as built_in_table,
    )
    from podwright.apimachinery.schema.types import (
        SCALARS as SCALARS,
        TIME_VALUES as TIME_VALUES,
        Field as Field,
        StructType as StructType,
        TypeRef as TypeRef,
        description as description,
        parse_field as parse_field,
    )
    from podwright.apimachinery.schema.validation.field_errors import (
        internal_form as internal_form,
        printed as printed,
        reason_of as reason_of,
        repeats as repeats,
    )
    from podwright.apimachinery.schema.validation.flow_control import (
        flow_control_specs as flow_control_specs,
    )
    from podwright.apimachinery.schema.validation.metadata import (
        changed_metadata_problems as changed_metadata_problems,
        finalizer_problems as finalizer_problems,
        qualifies_finalizers as qualifies_finalizers,
        validate_object_meta as validate_object_meta,
    )
    from podwright.apimachinery.schema.validation.names import path_segment as path_segment
    from podwright.apimachinery.schema.validation.pods.pod_update import (
        ephemeral_container_problems as ephemeral_container_problems,
        resize_problems as resize_problems,
    )
    from podwright.apimachinery.schema.validation.trust import (
        approval_problems as approval_problems,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)

"""Documents of users as structs, with the errors of apimachinery: configurations, stages.

`document` decodes a document and collects what is wrong with it, each with its path; `field` has
the texts of errors. It does not know what a document is for: whoever reads one validates it.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.apimachinery.documents.declared import (
        Amount as Amount,
        Count as Count,
        DurationText as DurationText,
        Name as Name,
        NamespacedNameText as NamespacedNameText,
        NotNegative as NotNegative,
        NotNegativeNs as NotNegativeNs,
        OptionalDurationText as OptionalDurationText,
        PositiveCount as PositiveCount,
        SelectorText as SelectorText,
        TimeoutText as TimeoutText,
        checked as checked,
        needed as needed,
    )
    from podwright.apimachinery.documents.document import (
        Keys as Keys,
        as_document as as_document,
        decode as decode,
        given_fields as given_fields,
        has_more_documents as has_more_documents,
        parse_document as parse_document,
        read_document as read_document,
        struct_errors as struct_errors,
    )
    from podwright.apimachinery.documents.field import (
        DID_YOU_MEAN as DID_YOU_MEAN,
        did_you_mean as did_you_mean,
        duplicate as duplicate,
        first_names as first_names,
        forbidden as forbidden,
        invalid as invalid,
        join as join,
        not_supported as not_supported,
        problem as problem,
        raise_errors as raise_errors,
        required as required,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)

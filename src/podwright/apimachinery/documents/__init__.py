"""Documents of users as structs, with the errors of apimachinery: configurations, stages.

`document` decodes a document and collects what is wrong with it, each with its path; `field` has
the texts of errors. It does not know what a document is for: whoever reads one validates it.
"""

from podwright.apimachinery.documents.document import (
    Keys,
    decode,
    has_more_documents,
    parse_document,
)
from podwright.apimachinery.documents.field import (
    DID_YOU_MEAN,
    EmptyList,
    did_you_mean,
    duplicate,
    forbidden,
    invalid,
    join,
    not_supported,
    problem,
    raise_errors,
    required,
)

__all__ = [
    "DID_YOU_MEAN",
    "EmptyList",
    "Keys",
    "decode",
    "did_you_mean",
    "duplicate",
    "forbidden",
    "has_more_documents",
    "invalid",
    "join",
    "not_supported",
    "parse_document",
    "problem",
    "raise_errors",
    "required",
]

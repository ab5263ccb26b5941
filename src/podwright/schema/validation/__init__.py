"""Validation of new objects, a module for each API group or idea.

A kind names its function in `tools/schema/completions.toml`, for example
`validation = "pods:validate_pod"` for `validate_pod` in `pods.py` of this folder::

    def validate_pod(document: Document) -> Iterator[Problem]:
        yield "spec.containers", required(), None

The function receives the whole object as JSON. The types of all values are right and upstream's
defaults are set; a field may be absent or null. It yields the path, the message and the value of
every violation, with upstream's texts (`objects.invalid`, `required`, `unsupported`), in upstream's
order. It changes nothing. Metadata is part of the object: names, labels and annotations are
validated by the function too.

Upstream: pkg/apis/*/validation/validation.go
"""

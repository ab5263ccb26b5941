"""Validation of objects, a module for each API group or idea.

A kind names its functions in `tools/schema/completions.toml`, for example
`validation = "pods.pod:validate_pod"` for `validate_pod` in `pod.py` of this folder::

    def validate_pod(errors: FieldErrors, pod: Document) -> None:
        if not pod["spec"].get("containers"):
            errors.required("spec.containers")

The function receives the whole object as JSON. The types of all values are right and upstream's
defaults are set; a field may be absent or null. It adds the path, the message and the value of
every violation, with upstream's texts and in upstream's order, to a `FieldErrors`. It changes
nothing. Metadata is validated by `metadata.py`, apart from the metadata of embedded templates.

Rules of single fields are rows: `rules.py` describes them.

`validation_of_update = ["metadata", "new_metadata", "pods.pod_update:validate_pod_update"]` lists
the steps for a changed object, see `KindRow`; a function among them also receives the stored
object. `immutable` lists the fields that the step of this name compares.
`validation_of_status` lists those for a changed status.

Values whose feature gate is off by default in the API server are valid: the gates of a simulated
scheduler are no matter of the object.

Upstream: pkg/apis/*/validation/validation.go
"""

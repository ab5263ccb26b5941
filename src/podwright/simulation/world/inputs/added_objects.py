"""The check of objects before they are added to a world."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from podwright.apimachinery.objects import KubernetesObject, require_objects
from podwright.cluster.api import check_objects, unknown_fields
from podwright.simulation.files import FieldValidation, require_validation


def check_added(objects: Sequence[KubernetesObject], validate: FieldValidation) -> None:
    """Check objects as the API server does; `validate` says what is done about unknown fields.

    Raises
    ------
    ArgumentError
        If one of them is not an object.
    InputError
        If the value of `validate` is not supported.
    InvalidObject
        With the errors of all objects.
    """
    require_objects(objects)
    require_validation(validate)
    check_objects(objects, allows_unknown_fields=validate != "strict")
    if validate == "warn":
        for error in unknown_fields(objects):
            warnings.warn(str(error), stacklevel=3)

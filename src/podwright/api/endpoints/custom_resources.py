"""Custom resources: the resources that CustomResourceDefinitions define."""

from __future__ import annotations

from podwright.api.endpoints.resources import Resources
from podwright.store import Change


def definition_changed(resources: Resources, change: Change) -> None:
    """Serve, change or remove the resources of a CustomResourceDefinition.

    Parameters
    ----------
    resources : Resources
        The served resources.
    change : Change
        A change of any object.
    """
    del resources, change

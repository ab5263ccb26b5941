"""Admission: the hook for plugins, which complete or reject writes in order.

All plugins that mutate run first, then the object is validated, then all plugins that validate.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/{interfaces,chain,attributes}.go
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from podwright.api.endpoints.request import User
from podwright.api.endpoints.resources import Resource
from podwright.objects import Document

Operation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


class Attributes(msgspec.Struct, kw_only=True):
    """One write, as admission sees it.

    Attributes
    ----------
    operation : str
    resource : Resource
    subresource, namespace, name : str
    object : dict or None
        The new object in the version of the request; a plugin that mutates sets a changed copy.
        None for a deletion.
    old : dict or None
        The stored object; None for a creation.
    user : User
    options : dict
        CreateOptions, UpdateOptions, PatchOptions or DeleteOptions.
    is_dry_run : bool
    now_ns : int
    warnings : list of str
        The warnings that plugins add to the reply.
    """

    operation: Operation
    resource: Resource
    subresource: str
    namespace: str
    name: str
    object: Document | None
    old: Document | None
    user: User
    options: Document
    is_dry_run: bool
    now_ns: int
    warnings: list[str] = []

    @property
    def group_kind(self) -> tuple[str, str]:
        """The group and the kind of the object."""
        return self.resource.group, self.resource.name

    def is_for(self, group: str, resource: str, subresource: str = "") -> bool:
        """Whether the write is one of a resource."""
        own = self.resource
        return (own.group, own.plural, self.subresource) == (group, resource, subresource)


class AdmissionPlugin(Protocol):
    """Completes or rejects writes; a rejection is an `ApiError`."""

    name: str

    def admit(self, attributes: Attributes) -> None:
        """Complete the object by setting `attributes.object`, or raise."""

    def validate(self, attributes: Attributes) -> None:
        """Raise if the write is not allowed."""


class AdmissionChain:
    """Plugins in order.

    Parameters
    ----------
    plugins : sequence of AdmissionPlugin
    """

    def __init__(self, plugins: Sequence[AdmissionPlugin]) -> None:
        self.plugins = tuple(plugins)

    def admit(self, attributes: Attributes) -> None:
        """Run the mutating part of all plugins."""
        for plugin in self.plugins:
            plugin.admit(attributes)

    def validate(self, attributes: Attributes) -> None:
        """Run the validating part of all plugins."""
        for plugin in self.plugins:
            plugin.validate(attributes)

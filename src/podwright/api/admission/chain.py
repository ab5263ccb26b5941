"""Plugins, which complete or reject writes in order.

All plugins that mutate run first, then the object is validated, then all plugins that validate.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/{interfaces,chain}.go
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from podwright.api.admission.attributes import Attributes


class AdmissionPlugin(Protocol):
    """Completes or rejects writes."""

    name: str

    def admit(self, attributes: Attributes) -> None:
        """Complete the object by setting `attributes.object`, or raise `Rejected`."""

    def validate(self, attributes: Attributes) -> None:
        """Raise `Rejected` if the write is not allowed."""


class AdmissionChain:
    """Plugins in order.

    Parameters
    ----------
    plugins : sequence of AdmissionPlugin
    """

    def __init__(self, plugins: Sequence[AdmissionPlugin]) -> None:
        self.plugins = tuple(plugins)

    def admit(self, attributes: Attributes) -> None:
        """Run the mutating part of all plugins, twice if a policy changes the object."""
        for plugin in self.plugins:
            plugin.admit(attributes)
        state = attributes.reinvocation
        if state.is_required:
            state.is_second = True
            for plugin in self.plugins:
                plugin.admit(attributes)

    def validate(self, attributes: Attributes) -> None:
        """Run the validating part of all plugins."""
        for plugin in self.plugins:
            plugin.validate(attributes)

"""What the typed door needs to keep `metadata.managedFields`; a served cluster has it."""

from __future__ import annotations

from typing import Protocol

from podwright.apimachinery.objects import Document, KubernetesObject
from podwright.cluster.api.create_update import Scope


class FieldOwners(Protocol):
    """Computes who owns the fields of an object after a write by a component."""

    def created(self, obj: KubernetesObject, user: str, now_ns: int) -> list[Document] | None:
        """Return the entries of a new object; None for none.

        Parameters
        ----------
        obj : KubernetesObject
            The object of the request, before admission.
        user : str
            The user that makes the request.
        now_ns : int
            The time of the request.
        """

    def updated(
        self,
        old: KubernetesObject,
        new: KubernetesObject,
        scope: Scope,
        user: str,
        now_ns: int,
    ) -> list[Document] | None:
        """Return the entries of an object that is updated; None for none.

        Parameters
        ----------
        old, new : KubernetesObject
            The stored object, and what replaces it; both with the entries of the stored one.
        scope : str
            What is replaced.
        user : str
            The user that makes the request.
        now_ns : int
            The time of the request.
        """

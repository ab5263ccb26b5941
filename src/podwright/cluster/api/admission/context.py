"""What plugins know of the server in which they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.api.authorization.access import Authorizer
from podwright.cluster.api.versions.resources import Resource
from podwright.cluster.store import ObjectStore

UpdateStatus: TypeAlias = Callable[[Document, int], None]
"""Stores an object with a new status, at a time."""


class AdmissionContext(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The parts of a server that plugins use.

    Attributes
    ----------
    store : ObjectStore
        The stored objects; read only.
    update_status : callable
        Stores a quota with a new status.
    authorizer : Authorizer
        Decides what users may do.
    resources : iterable of Resource
        The served resources.
    assumes_accounts : bool
        Whether every namespace counts as having its default service account: a controller creates
        it, and nothing here waits for that.
    keeps_given : bool
        Whether objects can come from another server, so that they keep the priority and the
        overhead that they have.
    """

    store: ObjectStore
    update_status: UpdateStatus
    authorizer: Authorizer
    resources: Iterable[Resource]
    assumes_accounts: bool = False
    keeps_given: bool = False

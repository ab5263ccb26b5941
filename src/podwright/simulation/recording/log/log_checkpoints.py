"""Checkpoints of a decision log, which are full or incremental.

A checkpoint refers to all objects that the machine knows. Most of them were known at the previous
checkpoint, so an incremental one stores only the others. Reading a checkpoint also reads those
before it, back to a full one; their number is limited, and so is the number of stored objects: to
about twice the number of known ones.

If a plugin has state that cannot be stored, a checkpoint has the objects only. No machine is
restored from it; replay starts at an earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from podwright.apimachinery.objects import KubernetesObject
from podwright.scheduler.machine import MachineSnapshot
from podwright.simulation.recording.log.log_format import Objects

_BEFORE: Final = 15
"""The maximum number of incremental checkpoints between two full ones."""

_WRITTEN_PER_OBJECT: Final = 2
"""The maximum number of stored objects in a checkpoint and those it needs, per known object."""


class CheckpointIndex(msgspec.Struct, kw_only=True, array_like=True):
    """The first part of a checkpoint, for readers that skip it.

    Parameters
    ----------
    objects : Objects
        The objects that the checkpoint numbers.
    numbers : list of int
        The numbers of all objects that stay known; as differences.
    """

    objects: Objects
    numbers: list[int]


class Chain(msgspec.Struct, frozen=True, array_like=True):
    """A checkpoint and the earlier ones that it needs.

    Parameters
    ----------
    before : int
        The number of earlier checkpoints that it needs; 0 for a full one.
    written_count : int
        The number of their objects, including objects that are no longer referred to.
    object_count : int
        The number of assigned numbers; objects with later numbers are in none of them.
    """

    before: int
    written_count: int
    object_count: int


class CheckpointObjects(msgspec.Struct, kw_only=True, array_like=True):
    """The objects of a checkpoint: its second part; the third is a `MachineSnapshot` or `Missing`.

    Parameters
    ----------
    objects : Objects
        The objects that it refers to and that are in none of the checkpoints that it needs.
    """

    chain: Chain
    objects: Objects


class Missing(msgspec.Struct, frozen=True, array_like=True):
    """Why a checkpoint has objects only: its third part in that case.

    Parameters
    ----------
    plugins : tuple of str
        The names of the plugins with state that a new instance would not have.
    """

    plugins: tuple[str, ...]


class Start(msgspec.Struct, frozen=True):
    """A position at which reading starts.

    Parameters
    ----------
    index : int
        The number of the first event.
    snapshot : MachineSnapshot, optional
        The machine before that event; None for a new machine, or a checkpoint of objects only.
    objects : dict of int to object
        The numbered objects; grows while events are read.
    frame_index : int
        The frame to read next.
    known_count, object_count : int
        The number of objects in the snapshot, and of numbers assigned so far.
    chain : Chain, optional
        The checkpoints with these objects; None at the start of the log.
    given : mapping of int to object
        Objects that replace those read for their numbers.
    """

    index: int
    snapshot: MachineSnapshot | None
    objects: dict[int, KubernetesObject]
    frame_index: int
    known_count: int = 0
    object_count: int = 0
    chain: Chain | None = None
    given: Mapping[int, KubernetesObject] = {}


def next_link(
    chain: Chain | None, known: Mapping[int, KubernetesObject], object_count: int
) -> tuple[Chain, Mapping[int, KubernetesObject]]:
    """Return the chain of the next checkpoint, and the objects that it has to store.

    Parameters
    ----------
    chain : Chain, optional
        The previous checkpoint, if there is one.
    known : mapping of int to object
        The objects that the checkpoint refers to.
    object_count : int
        The number of assigned numbers.
    """
    if chain is not None and chain.before < _BEFORE:
        # Numbers only grow, so the chain has stored no object from this number on.
        new = {number: obj for number, obj in known.items() if number >= chain.object_count}
        written_count = chain.written_count + len(new)
        if written_count <= _WRITTEN_PER_OBJECT * len(known):
            return Chain(chain.before + 1, written_count, object_count), new
    return Chain(0, len(known), object_count), known

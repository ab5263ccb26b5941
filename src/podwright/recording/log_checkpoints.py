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

from podwright.machine import MachineSnapshot
from podwright.objects import KubernetesObject
from podwright.recording.log_format import Objects

_BEFORE: Final = 15
"""The maximum number of incremental checkpoints between two full ones."""

_WRITTEN_PER_OBJECT: Final = 2
"""The maximum number of stored objects in a checkpoint and those it needs, per known object."""


class CheckpointIndex(msgspec.Struct, kw_only=True, array_like=True):
    """What a checkpoint changes for who only passes by: its first part.

    Parameters
    ----------
    objects : Objects
        Those that the log did not know.
    numbers : list of int
        Of all objects that go on to be known: the first, then how much greater each is than the
        one before.
    """

    objects: Objects
    numbers: list[int]


class Chain(msgspec.Struct, frozen=True, array_like=True):
    """A checkpoint and those before it that it needs.

    Parameters
    ----------
    before : int
        How many it needs; 0 if it is whole.
    written_count : int
        How many objects they have together, also such as are mentioned no more.
    object_count : int
        How many numbers were given to objects so far. What has a greater one is in none of them.
    """

    before: int
    written_count: int
    object_count: int


class CheckpointObjects(msgspec.Struct, kw_only=True, array_like=True):
    """The objects of a checkpoint: its second part; the third is a `MachineSnapshot` or `Missing`.

    Parameters
    ----------
    objects : Objects
        All that it mentions and that are in none of those that it needs.
    """

    chain: Chain
    objects: Objects


class Missing(msgspec.Struct, frozen=True, array_like=True):
    """Why a checkpoint is of the objects alone: its third part then.

    Parameters
    ----------
    plugins : tuple of str
        The names of the plugins with state that a new instance would not have.
    """

    plugins: tuple[str, ...]


class Start(msgspec.Struct, frozen=True):
    """Where reading begins.

    Parameters
    ----------
    index : int
        The number of the first event.
    snapshot : MachineSnapshot, optional
        The machine before that event; None is a new one, or a checkpoint of the objects alone.
    objects : dict of int to object
        What numbers stand for; grows while events are read.
    frame_index : int
        The frame to go on with.
    known_count, object_count : int
        How many objects the snapshot mentions, and how many had a number by then.
    chain : Chain, optional
        The checkpoints that have them; None at the beginning of the log.
    given : mapping of int to object
        Objects to be used for their numbers wherever they are mentioned.
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
    """Return what the next checkpoint needs, and the objects that it has to have.

    Parameters
    ----------
    chain : Chain, optional
        The checkpoint before, if there is one.
    known : mapping of int to object
        All that it mentions.
    object_count : int
        How many numbers were given so far.
    """
    if chain is not None and chain.before < _BEFORE:
        new = {number: obj for number, obj in known.items() if number >= chain.object_count}
        written_count = chain.written_count + len(new)
        if written_count <= _WRITTEN_PER_OBJECT * len(known):
            return Chain(chain.before + 1, written_count, object_count), new
    return Chain(0, len(known), object_count), known

"""Faults: each takes a random generator and a world, and changes the world."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from podwright.simulation.world.world import World

Fault: TypeAlias = Callable[[Random, World], None]

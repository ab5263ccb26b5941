"""What may go wrong in a cluster: each takes a draw and a world, and does something to it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from podwright.simulation.world import World

Fault: TypeAlias = Callable[[Random, World], None]

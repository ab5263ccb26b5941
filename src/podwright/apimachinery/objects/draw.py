"""Draws: pure functions of (seed, stream, counter).

A draw is not consumed from a stream, so one cycle can be run again alone, and no release of
a library changes it. The mixing function is SplitMix64's finaliser (Steele, Lea, Flood:
"Fast splittable pseudorandom number generators", 2014).
"""

from __future__ import annotations

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15

DRAW_BITS = 31
"""A draw lies in [0, 2**31), so that `draw * count` fits an int64 for every count of nodes."""

TIE_STREAM = 1
"""Which of the best nodes is taken."""
OFFSET_STREAM = 2
"""The stream of the node at which preemption starts its dry runs."""
EXTENDER_STREAM = 3
"""Which of the nodes that extenders scored is taken, where a heap decides."""
STAGE_STREAM = 4
"""Which of the stages that apply to an object is next."""
DELAY_STREAM = 5
"""How long a stage waits, between its bounds."""
PODS_STREAM = 6
"""Which of the pods of an input a run of a sweep has."""


def draw(seed: int, stream: int, counter: int) -> int:
    """Return the draw number `counter` of `stream`: an int in [0, 2**31)."""
    # Each factor is odd, so it permutes the integers modulo 2**64 and loses no bit of its input.
    z = (seed * 0xD1342543DE82EF95 + stream * 0xAF251AF3B0F025B5 + counter * _GOLDEN) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return (z ^ (z >> 31)) >> (64 - DRAW_BITS)

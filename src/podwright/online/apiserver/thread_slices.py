"""Slices of time for a thread beside a busy event loop.

A thread that waits for the interpreter lock demands it only after a switch interval of 5 ms in
which the holder has not released it. A busy event loop releases the lock at each system call, and
takes it back before the other thread has woken up. So the other thread may wait without end: under
load, a checkpoint that takes 0.7 s was not written within 12 s. Here the event loop waits for the
thread, and so lets it take the lock.
"""

from __future__ import annotations

import asyncio
import threading


async def share_with_thread(
    is_done: threading.Event, *, slice_seconds: float, pause_seconds: float = 0.0
) -> None:
    """Block the event loop for slices of time until a thread is done.

    A thread that computes keeps the lock for up to a switch interval after the end of a slice.

    Parameters
    ----------
    is_done : threading.Event
        Set by the thread; it ends the slice as well.
    slice_seconds : float
        How long the event loop waits for the thread at once.
    pause_seconds : float
        How long the event loop goes on in between, at least: one iteration with 0.
    """
    while not is_done.wait(slice_seconds):  # noqa: ASYNC110 - an asyncio.Event would not block
        await asyncio.sleep(pause_seconds)

"""Which failures of requests pass, and how long a request is repeated meanwhile.

A server that starts refuses what it will allow: its RBAC has no roles yet (403), it cannot verify
tokens (401), it is overloaded (429), or etcd does not answer (5xx). None of them says anything
about the request.

Upstream: pkg/scheduler/util/utils.go, `PatchPodStatus`;
staging/src/k8s.io/client-go/rest/with_retry.go.
"""

from __future__ import annotations

import asyncio
import time
from http import HTTPStatus
from typing import TypeAlias

import msgspec

from podwright.apimachinery.objects import SECOND_NS
from podwright.online.client.cluster import Backoff, RejectedRequest, UnreachableCluster
from podwright.scheduler.framework import CallError

FailedRequest: TypeAlias = RejectedRequest | UnreachableCluster


class RetryTimes(msgspec.Struct, frozen=True, kw_only=True):
    """How long requests are repeated, and the waits between, in nanoseconds without jitter.

    Attributes
    ----------
    first_ns, longest_ns : int
        The waits between attempts double.
    call_ns : int
        How long a call is repeated that the server has not executed.
    event_first_ns, event_longest_ns : int
        The waits between attempts to write an Event.
    """

    first_ns: int = SECOND_NS // 5
    longest_ns: int = 5 * SECOND_NS
    call_ns: int = 20 * SECOND_NS
    event_first_ns: int = SECOND_NS
    event_longest_ns: int = 10 * SECOND_NS


class Attempts:
    """The attempts of one request.

    Parameters
    ----------
    seed : int
        Of the jitter.
    first_ns, longest_ns : int
        The waits between attempts.
    limit_ns : int
        Since the first attempt, after which no further one follows; 0: no limit.
    """

    def __init__(self, seed: int, *, first_ns: int, longest_ns: int, limit_ns: int = 0) -> None:
        self._backoff = Backoff(seed, first_ns=first_ns, longest_ns=longest_ns)
        self._end_ns = time.monotonic_ns() + limit_ns if limit_ns else 0

    async def wait(self, error: FailedRequest) -> bool:
        """Wait before the next attempt, as long as the server demands; False: there is none."""
        wait_ns = self._backoff.next_ns()
        if isinstance(error, RejectedRequest):
            wait_ns = max(wait_ns, int(error.retry_after_seconds * SECOND_NS))
        if self._end_ns and time.monotonic_ns() + wait_ns > self._end_ns:
            return False
        await asyncio.sleep(wait_ns / SECOND_NS)
        return True


def is_passing(error: FailedRequest) -> bool:
    """Whether the same request may succeed later.

    A refusal by admission, also with status 403, is final: only RBAC names a right.
    """
    if isinstance(error, UnreachableCluster):
        return True
    is_refused = error.status == HTTPStatus.UNAUTHORIZED or bool(error.missing_right)
    return is_refused or error.is_passing


def may_be_executed(error: FailedRequest) -> bool:
    """Whether the request may have been executed: its reply was lost, or the server has failed.

    A server that waits for etcd without effect does not know whether the write takes place.
    """
    if isinstance(error, UnreachableCluster):
        return True
    return error.status >= HTTPStatus.INTERNAL_SERVER_ERROR


def call_error(error: FailedRequest) -> CallError:
    """Return the result of a failed call: its text is for Events, without what to do."""
    if isinstance(error, UnreachableCluster):
        return CallError(error.cause)
    return CallError(error.cause, error.reason or str(error.status))

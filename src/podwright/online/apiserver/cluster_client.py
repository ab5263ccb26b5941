"""A client of the served cluster in the same process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import msgspec

from podwright.apimachinery.objects import PodwrightError
from podwright.cluster.api.endpoints import HttpReply, HttpRequest, User, Watch
from podwright.online.apiserver.turn_loop import TurnLoop


class RequestFailed(PodwrightError):  # noqa: N818 - named for what happened
    """The API server rejected a request."""

    def __init__(self, request: HttpRequest, reply: HttpReply) -> None:
        self.status = reply.status
        super().__init__(f"{request.method} {request.path}: {_message(reply)}")


class ClusterClient:
    """Executes requests with the rights of a user.

    Parameters
    ----------
    turns : TurnLoop
    headers : mapping of str to str
        The headers that say who the user is.
    certified : User, optional
        The user of a client certificate.

    Attributes
    ----------
    turns : TurnLoop
    """

    def __init__(
        self, turns: TurnLoop, headers: Mapping[str, str], *, certified: User | None = None
    ) -> None:
        self.turns = turns
        self._headers = headers
        self._certified = certified

    async def body_of(self, request: HttpRequest) -> bytes:
        """Execute a request and return the body of the reply.

        Raises
        ------
        RequestFailed
        """
        reply = await self._execute(request)
        assert isinstance(reply, HttpReply), f"{request.path} is a watch"
        if reply.status >= 400:
            raise RequestFailed(request, reply)
        return b"".join((reply.body, *(reply.rest or ())))

    async def lines_of(self, request: HttpRequest) -> AsyncIterator[bytes]:
        """Yield the lines of a watch until it ends.

        Raises
        ------
        RequestFailed
        """
        watch = await self._execute(request)
        if not isinstance(watch, Watch):
            raise RequestFailed(request, watch)
        turns = self.turns
        subscription = turns.subscribe(watch)
        try:
            while not turns.is_stopping:
                await subscription.wake.wait()
                subscription.wake.clear()
                now_ns = turns.clock.now_ns()
                for line in watch.poll(now_ns):
                    yield line
                if watch.is_closed(now_ns):
                    return
        finally:
            turns.unsubscribe(subscription)

    async def _execute(self, request: HttpRequest) -> HttpReply | Watch:
        headers = {**request.headers, **self._headers}
        return await self.turns.execute(
            msgspec.structs.replace(request, headers=headers, certified=self._certified)
        )


def _message(reply: HttpReply) -> str:
    try:
        return str(msgspec.json.decode(reply.body)["message"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return f"status {reply.status}"

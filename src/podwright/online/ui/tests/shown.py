"""A page of forms without a browser, in front of a server that has fixed replies."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx
from nicegui import Client, core, events, helpers, ui
from starlette.requests import Request

from podwright.online.client import ClusterAccess
from podwright.online.ui.server_requests import ServerRequests
from podwright.online.ui.upstream import Upstream

SERVER = "http://127.0.0.1:8180"


class Server:
    """Replies by method and target, each a status and a document; other targets are not found.

    Attributes
    ----------
    received : list of tuple
        The method, target and document of each request.
    """

    def __init__(self, replies=()):
        self.replies = dict(replies)
        self.received = []
        self.requests = []
        self.upstream = Upstream(ClusterAccess(server=SERVER), transport=httpx.MockTransport(self))

    def __call__(self, request):
        target = request.url.raw_path.decode()
        body = json.loads(request.content) if request.content else None
        self.requests.append(request)
        self.received.append((request.method, target, body))
        missing = (404, {"message": f"{target} is not found."})
        status, found = self.replies.get(f"{request.method} {target}", missing)
        headers = {"content-type": "application/json"}
        return httpx.Response(status, headers=headers, content=_parts(json.dumps(found)))

    @property
    def written(self):
        """The requests that may change something."""
        return [one for one in self.received if one[0] != "GET"]


async def _parts(text):
    yield text.encode()


class Shown:
    """What a user sees and does.

    Attributes
    ----------
    server : Server
    scripts : list of str
        What the browser has run.
    answer : object
        The result of what it runs.
    notes : list of dict
        The messages that were shown for some time.
    failures : list of Exception
        What went wrong in the handlers of events.
    """

    def __init__(self, server):
        self.server = server
        self.requests = ServerRequests(server.upstream)
        self.scripts = []
        self.answer = None
        self.notes = []
        opened = Request({"type": "http", "path": "/", "query_string": b"", "headers": []})
        self.client = Client(ui.page("/"), request=opened)
        self.client.outbox._emit = self._receive  # type: ignore[method-assign]
        self.failures: list[Exception] = []
        self.client.on_exception(self.failures.append)

    async def _receive(self, message):
        _, kind, data = message
        if kind == "notify":
            self.notes.append(data)
        elif kind == "run_javascript":
            self.scripts.append(data["code"])
            if "request_id" in data:
                answer = {"request_id": data["request_id"], "result": self.answer}
                self.client.handle_javascript_response(answer)

    def all(self, kind):
        """The elements of a kind, in their order."""
        return [one for _, one in sorted(self.client.elements.items()) if isinstance(one, kind)]

    def texts(self, marked=""):
        """The texts of labels, all or those of a class of styles."""
        return [one.text for one in self.all(ui.label) if not marked or marked in one.classes]

    @property
    def messages(self):
        """The texts of the messages."""
        return [one["message"] for one in self.notes]

    def button(self, text):
        """The newest button with a text."""
        return [one for one in self.all(ui.button) if one.text == text][-1]

    async def click(self, text):
        """Click a button."""
        await self.trigger("click", element=self.button(text))

    async def trigger(self, event, args=None, element=None):
        """Let an event happen, of the page itself without an element, and wait for its effects."""
        element = element or self.client.layout
        for listener in list(element._event_listeners.values()):
            if listener.type == helpers.event_type_to_camel_case(event):
                sent = events.GenericEventArguments(sender=element, client=self.client, args=args)
                events.handle_event(listener.handler, sent)
        await self.settle()

    async def settle(self):
        """Wait for what can happen now."""
        for _ in range(100):
            await asyncio.sleep(0)

    @property
    def editor(self):
        """The newest editor."""
        return self.all(ui.codemirror)[-1]

    def reports_change(self):
        """Whether the other elements of the page must read again, once."""
        return sum("pw-changed" in script for script in self.scripts) == 1


@asynccontextmanager
async def shown(replies=()):
    """Open an empty page; what is added in the block is its content."""
    core.loop = asyncio.get_running_loop()
    server = Server(replies)
    page = Shown(server)
    await page.client.handle_handshake("socket", "tab", None, "document", None)
    try:
        with page.client:
            yield page
    finally:
        # The elements stay, so that a test can look at them.
        page.client.outbox.stop()
        del Client.instances[page.client.id]
        await server.upstream.close()
        core.loop = None
    assert not page.failures
    # A browser that sanitizes removes the elements of this page.
    assert not [each.content for each in page.all(ui.html) if each.props["sanitize"]]

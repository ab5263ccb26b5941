"""Call every route of kube-scheduler-simulator's HTTP API, and check what comes back.

    podwright up --nodes 3 --kss-port 1212 --cors-origin http://localhost:3000
    python call_routes.py http://127.0.0.1:1212

It prints a line for each call, and ends with status 1 if one of them is not as expected. It runs
against podwright and against kube-scheduler-simulator itself. It resets the cluster: do not run it
against one that you need.
"""

import json
import sys
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

ORIGIN = "http://localhost:3000"
KEYS = [
    "pods",
    "nodes",
    "pvs",
    "pvcs",
    "storageClasses",
    "priorityClasses",
    "schedulerConfig",
    "namespaces",
]


class Routes:
    """Calls of one server, and how many of them were wrong."""

    def __init__(self, server):
        self.server = server
        self.wrong = 0

    def send(self, method, path, body=None, headers=()):
        """Return status, headers and body of a reply."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        request = Request(
            f"{self.server}/api/v1/{path}",
            data,
            {"Content-Type": "application/json", "Origin": ORIGIN, **dict(headers)},
            method=method,
        )
        try:
            with urlopen(request, timeout=60) as reply:
                return reply.status, reply.headers, reply.read()
        except HTTPError as error:
            return error.code, error.headers, error.read()

    def check(self, what, is_right, found):
        """Print whether a call was as expected."""
        self.wrong += not is_right
        print(f"{'ok   ' if is_right else 'WRONG'} {what}: {found}")

    def call(self, method, path, status, *, body=None, holds=lambda _: True, what=""):
        """Call a route, and check the status, the headers for pages, and the body."""
        found, headers, reply = self.send(method, path, body)
        allowed = headers.get("Access-Control-Allow-Origin")
        is_right = found == status and allowed == ORIGIN and holds(reply)
        self.check(f"{method} /{path}{what}", is_right, f"{found}, {len(reply)} bytes")
        return reply

    def preflight(self, method, path):
        """Check that a page of the allowed origin may call a route."""
        requested = {"Access-Control-Request-Method": method}
        found, headers, _ = self.send("OPTIONS", path, headers=requested)
        allowed = headers.get("Access-Control-Allow-Methods", "")
        is_right = found in (200, 204) and method in allowed
        self.check(f"OPTIONS /{path}", is_right, f"{found}, {allowed}")

    def stream(self, path):
        """Check the first event of the stream."""
        with urlopen(f"{self.server}/api/v1/{path}", timeout=60) as reply:
            event = json.loads(reply.readline())
        is_right = list(event) == ["Kind", "EventType", "Obj"] and "kind" not in event["Obj"]
        self.check(f"GET /{path[:40]}", is_right, f"{event['EventType']} {event['Kind']}")


def message(text):
    """Return the check of an error's body."""
    return lambda body: json.loads(body) == {"message": text}


def is_empty(body):
    """Whether a reply has no body."""
    return body == b""


def call_all(server):
    """Call every route; return the number of wrong replies."""
    routes = Routes(server)
    for method, path in (
        ("GET", "schedulerconfiguration"),
        ("POST", "schedulerconfiguration"),
        ("PUT", "reset"),
        ("GET", "export"),
        ("POST", "import"),
        ("GET", "listwatchresources"),
        ("POST", "extender/filter/0"),
    ):
        routes.preflight(method, path)
    configuration = json.loads(
        routes.call(
            "GET",
            "schedulerconfiguration",
            200,
            holds=lambda body: json.loads(body)["kind"] == "KubeSchedulerConfiguration",
        )
    )
    routes.call("POST", "schedulerconfiguration", 202, body=configuration, holds=is_empty)
    failed = message("Internal Server Error")
    routes.call("POST", "schedulerconfiguration", 500, body=b"{", holds=failed, what=" no JSON")
    exported = routes.call("GET", "export", 200, holds=lambda body: list(json.loads(body)) == KEYS)
    routes.call("POST", "import", 200, body=exported, holds=is_empty)
    bad = message("Bad Request")
    routes.call("POST", "import", 400, body=b"{", holds=bad, what=" no JSON")
    routes.stream("listwatchresources")
    version = json.loads(exported)["nodes"][0]["metadata"]["resourceVersion"]
    routes.stream(f"listwatchresources?nodesLastResourceVersion={version}")
    for verb in ("filter", "prioritize", "preempt", "bind"):
        routes.call("POST", f"extender/{verb}/none", 400, body={}, holds=bad)
    routes.call("PUT", "reset", 202, holds=is_empty)
    return routes.wrong


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} http://127.0.0.1:1212")
    try:
        sys.exit(min(call_all(sys.argv[1]), 1))
    except URLError as error:
        sys.exit(f"{sys.argv[1]} cannot be reached: {error.reason}")

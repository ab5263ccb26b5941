"""Requests of tests to the server behind a page."""

import json
import urllib.request


def request(served, method, path, body=None):
    """Send a request as the administrator; return the JSON of the reply."""
    content = "application/merge-patch+json" if method == "PATCH" else "application/json"
    headers = {"authorization": f"Bearer {served.token}", "content-type": content}
    data = None if body is None else json.dumps(body).encode()
    sent = urllib.request.Request(served.server + path, data, headers, method=method)
    with urllib.request.urlopen(sent, timeout=60) as response:
        return json.loads(response.read())

"""Send the requests of warnings.jsonl.gz to a kube-apiserver again, and record the warnings.

``python -m tests.golden.record_warnings https://127.0.0.1:PORT`` with a fresh server of
`make real-parts`. A new request is added to the file by hand, with any status and warnings.
"""

from __future__ import annotations

import gzip
import http.client
import json
import ssl
import sys
from urllib.parse import urlsplit

from tests.golden.test_warnings import WARNINGS, recorded


def main(address: str) -> None:
    """Record the answers of a server."""
    connection = http.client.HTTPSConnection(
        urlsplit(address).netloc, context=ssl._create_unverified_context(), timeout=60
    )
    lines = []
    for each in recorded():
        headers = {"Authorization": "Bearer admin-token", "Accept": "application/json"}
        if each["contentType"]:
            headers["Content-Type"] = each["contentType"]
        body = None if each["body"] is None else json.dumps(each["body"])
        connection.request(each["method"], each["path"], body, headers)
        response = connection.getresponse()
        text = response.read()
        message = json.loads(text)["message"] if response.status >= 400 else ""
        each |= {
            "status": response.status,
            "warnings": response.headers.get_all("warning") or [],
            "message": message,
        }
        lines.append(json.dumps(each, separators=(",", ":")).encode() + b"\n")
    with gzip.GzipFile(WARNINGS, "wb", mtime=0) as file:
        file.writelines(lines)


if __name__ == "__main__":
    main(sys.argv[1])

"""An HTTP extender for tests, with correct and incorrect replies, in a separate process.

The first part of the path selects the behavior, the last one the verb: `/plain/filter`,
`/slow/filter`, `/ghost/filter`, ... `GET /requests` returns the received requests. The server
prints its port when it is ready, and ends when its standard input is closed.
"""

from __future__ import annotations

import argparse
import json
import select
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests: ClassVar[list[dict[str, Any]]] = []
    connections: ClassVar[set[tuple[str, int]]] = set()

    def do_GET(self):
        received = {"requests": self.requests, "connections": len(self.connections)}
        self.answer(200, json.dumps(received).encode())

    def do_POST(self):
        self.connections.add(self.client_address)
        _, manner, verb = self.path.split("/")
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        is_json = self.headers["Content-Type"] == "application/json"
        body = json.loads(sent)
        self.requests.append({"manner": manner, "verb": verb, "body": body})
        if not is_json:
            self.answer(415, b"")
        elif manner == "slow":
            self.wait_until_they_give_up()
        elif manner == "dripping":
            self.drip()
        elif manner == "drop":
            self.close_connection = True
        elif manner == "half":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
            self.close_connection = True
        elif manner == "noise":
            self.wfile.write(b"this is not HTTP\r\n\r\n")
            self.close_connection = True
        elif manner.startswith("status"):
            self.answer(int(manner.removeprefix("status")), b"{}")
        elif manner == "malformed":
            self.answer(200, b"<html></html>")
        elif manner == "impatient":
            # Closes a connection that the client keeps open.
            self.answer(200, json.dumps(ANSWERS[verb]("plain", body)).encode())
            self.close_connection = True
        else:
            self.answer(200, json.dumps(ANSWERS[verb](manner, body)).encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def wait_until_they_give_up(self):
        self.connection.recv(1)
        self.close_connection = True

    def drip(self):
        """Send single bytes with pauses, and never the whole reply."""
        self.close_connection = True
        try:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while not select.select([self.connection], [], [], 0.01)[0]:
                self.wfile.write(b" ")
        except OSError:
            pass

    def log_message(self, *_):
        pass


def filtered(manner, body):
    nodes = body["Nodes"]
    names = body["NodeNames"] if nodes is None else [n["metadata"]["name"] for n in nodes["items"]]
    kept = {
        "plain": names[1:],
        "ghost": [*names, "ghost"],
        "phantom": ["phantom"],
        "twice": [names[0], names[0]],
        "all": names,
    }.get(manner, [])
    answer = {"FailedNodes": {name: "no licence" for name in names if name not in kept}}
    if manner == "broken":
        return {"Error": "the licence server is down"}
    if manner == "silent":
        return {}
    if nodes is None:
        return answer | {"NodeNames": kept}
    by_name = {node["metadata"]["name"]: node for node in nodes["items"]}
    items = [by_name.get(name, {"metadata": {"name": name}}) for name in kept]
    return answer | {"Nodes": {"items": items}}


def prioritized(_manner, body):
    names = body["NodeNames"] or [node["metadata"]["name"] for node in body["Nodes"]["items"]]
    return [{"Host": name, "Score": 10 * (name == max(names))} for name in names]


def preempted(_manner, body):
    victims = body["NodeNameToMetaVictims"]
    if victims is None:
        victims = {
            node: {"Pods": [{"UID": pod["metadata"]["uid"]} for pod in entry["Pods"]]}
            for node, entry in body["NodeNameToVictims"].items()
        }
    last = max(victims)
    return {"NodeNameToMetaVictims": {last: victims[last]}}


def bound(manner, _body):
    return {"Error": "no room in the rack" if manner == "broken" else ""}


ANSWERS = {"filter": filtered, "prioritize": prioritized, "preempt": preempted, "bind": bound}


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        # The client closed the connection, or rejects the certificate.
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cert")
    parser.add_argument("--key")
    parser.add_argument("--client-ca")
    options = parser.parse_args()
    server = Server(("127.0.0.1", 0), Handler)
    if options.cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.cert, options.key)
        if options.client_ca:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(options.client_ca)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()

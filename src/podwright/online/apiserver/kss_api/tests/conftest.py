"""A cluster with the API of kube-scheduler-simulator, on free ports of loopback."""

import asyncio
import contextlib
import http.client
import json
import threading

import pytest
import uvloop
from tests.waiting import SECONDS_MAX, until

from podwright.cluster.api.endpoints import ServerOptions, User, static_tokens
from podwright.online.apiserver import Application, ClusterClock, ClusterOptions, TurnLoop
from podwright.online.apiserver.cluster import new_cluster
from podwright.online.apiserver.cluster_client import ClusterClient
from podwright.online.apiserver.generated_nodes import generated_nodes
from podwright.online.apiserver.kss_api import simulator_application
from podwright.online.apiserver.scheduling.running_scheduler import RunningScheduler
from podwright.online.apiserver.wire.hosts import AllowedHosts
from podwright.online.apiserver.wire.serving import Site, bound_socket, serving
from podwright.online.client import ExtenderClient
from podwright.scheduler.config import read_configuration
from podwright.scheduler.machine import SchedulerOptions

ADMIN = User("admin", groups=("system:masters", "system:authenticated"))
ORIGIN = "http://localhost:3000"


class Simulator:
    """Requests to a cluster, and to the API of kube-scheduler-simulator."""

    def __init__(self, port, kubernetes_port):
        self.port, self.kubernetes_port = port, kubernetes_port

    def request(self, method, path, body=None, *, port=None, headers=()):
        """Return status, headers and body of a reply."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=SECONDS_MAX)
        with contextlib.closing(connection):
            data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            json_headers = {"Content-Type": "application/json", **dict(headers)}
            connection.request(method, path, data, json_headers)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()

    def kubernetes(self, method, path, body=None):
        """Send a request to the Kubernetes API, and return the decoded reply."""
        status, _, found = self.request(method, path, body, port=self.kubernetes_port)
        assert status < 300, found
        return json.loads(found)

    def eventually(self, path, condition):
        """Poll an object of the Kubernetes API until a condition holds."""
        found = None

        def holds():
            nonlocal found
            found = self.kubernetes("GET", path)
            return condition(found)

        until(holds, pause_seconds=0.005, describe=lambda: found)
        return found

    @contextlib.contextmanager
    def stream(self, query=""):
        """Yield a function that reads the next event of listwatchresources."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS_MAX)
        with contextlib.closing(connection):
            connection.request("GET", f"/api/v1/listwatchresources{query}")
            response = connection.getresponse()
            assert response.status == 200
            assert response.getheader("content-type") == "application/json"
            yield lambda: json.loads(response.readline())


@pytest.fixture
def simulator():
    """Return a function that serves a cluster until the test ends."""
    with contextlib.ExitStack() as stack:

        def start(
            configuration=None,
            *,
            nodes=2,
            has_scheduler=True,
            allowed_hosts=(),
            plugins=(),
            anonymous=ADMIN,
        ):
            written = None
            if configuration is not None:
                written = read_configuration(configuration, source="test")
            options = SchedulerOptions(configuration=written, plugins=tuple(plugins))
            clock = ClusterClock()
            cluster = new_cluster(
                options,
                now_ns=clock.now_ns(),
                options=ClusterOptions(has_scheduler=has_scheduler),
                server_options=ServerOptions(
                    tokens=(static_tokens({"secret": ADMIN}),), anonymous=anonymous
                ),
                call_extender=None if written is None else caller(written, "test"),
            )
            cluster.world.add(*generated_nodes(nodes))
            sockets = [bound_socket("127.0.0.1", 0), bound_socket("127.0.0.1", 0)]
            ports = [each.getsockname()[1] for each in sockets]
            ready, loops = threading.Event(), []

            async def main():
                turns = TurnLoop(cluster, clock)
                loops.append((asyncio.get_running_loop(), turns))
                scheduler = RunningScheduler(turns, caller, allowed_hosts=allowed_hosts)
                application = simulator_application(
                    ClusterClient(turns, {"authorization": "Bearer secret"}),
                    scheduler,
                    AllowedHosts(origins=(ORIGIN,)),
                )
                await serving(
                    Application(turns, AllowedHosts(), scheduler=scheduler),
                    turns,
                    sockets[0],
                    ready.set,
                    sites=[Site(application, sockets[1])],
                )

            thread = threading.Thread(target=uvloop.run, args=(main(),))
            thread.start()

            def stop():
                loop, turns = loops[0]
                with contextlib.suppress(RuntimeError):  # it has stopped by itself
                    loop.call_soon_threadsafe(turns.stop)
                thread.join(timeout=SECONDS_MAX)
                assert not thread.is_alive()

            stack.callback(stop)
            assert ready.wait(timeout=SECONDS_MAX)
            return Simulator(ports[1], ports[0])

        yield start


def caller(configuration, source):
    """Return the function that calls the extenders of a configuration."""
    if not configuration.extenders:
        return None
    return ExtenderClient(configuration, source=source).call


def pod(name, **spec):
    """Return a pod as a document."""
    spec.setdefault("containers", [{"name": "main", "image": "app"}])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}

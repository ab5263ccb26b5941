"""Runs clusters with their web page, as processes of the installed wheel, for tests."""

import re
import signal
import subprocess
import time
import urllib.request
from contextlib import contextmanager

import yaml
from tests.ui.installed import installed_command, installed_environment
from tests.waiting import until

SECONDS_MAX = 180
ADDRESS = re.compile(r"Kubernetes API at (https?://\S+:\d+)\n")
PAGE = re.compile(r"page is at (http://\S+:\d+)\n|page of \S+ at (http://\S+:\d+)\n")


class Served:
    """A running process of podwright that serves a page.

    Attributes
    ----------
    page : str
        The address of the page.
    server : str
        That of the cluster; empty for `podwright page`.
    """

    def __init__(self, folder, *arguments, command=()):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.log = folder / f"log-{time.monotonic_ns()}"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*(command or (installed_command(),)), *arguments],
                stdout=log,
                stderr=log,
                cwd=folder,
                env=installed_environment(),
            )
        found = until(self._served_page, SECONDS_MAX, pause_seconds=0.05, describe=self.text)
        self.page = found[1] or found[2]
        server = ADDRESS.search(self.text())
        self.server = server[1] if server else ""

    def _served_page(self):
        assert self.process.poll() is None, self.text()
        return PAGE.search(self.text())

    def text(self):
        return self.log.read_text()

    @property
    def token(self):
        config = yaml.safe_load((self.folder / "podwright.kubeconfig").read_text())
        return config["users"][0]["user"]["token"]

    def get(self, path):
        with urllib.request.urlopen(self.page + path, timeout=60) as response:
            return response.headers, response.read()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()


@contextmanager
def served(folder, *arguments):
    """Run a command of podwright that serves a page, for the time of a block."""
    running = Served(folder, *arguments)
    try:
        yield running
    finally:
        running.stop()


def up(folder, *options, port="0", page_port="0"):
    """Run `podwright up` with its page for the time of a block."""
    return served(folder, "up", "--port", port, "--ui-port", page_port, *options)

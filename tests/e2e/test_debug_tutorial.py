"""The steps of docs/tutorial/debug-a-plugin.md: a plugin bug that shows only under load.

The commands of the page run in their order and must print what the page shows. Those of kubectl are
sent as the requests that kubectl makes of them.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import yaml
from tests.e2e.command_line import ROOT, run
from tests.e2e.test_up import Up
from tests.test_docs import FENCE, SAVE_AS, commands_in, is_as_shown

PAGE = ROOT / "docs/tutorial/debug-a-plugin.md"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"
MENDED = "if free > 0 else 0"


def test_the_bug_is_found_saved_and_reproduced(tmp_path):
    tutorial = Tutorial(tmp_path)
    try:
        tutorial.follow(PAGE.read_text(encoding="utf-8"))
    finally:
        if tutorial.commands:
            tutorial.cluster.process.kill()
            tutorial.cluster.process.wait()
            tutorial.cluster.log.close()
    assert tutorial.commands == [
        "podwright up",
        "kubectl apply",
        "kubectl scale",
        "kubectl scale",
        "podwright debug",
        "podwright debug",
        "podwright debug",
        "pytest -q",
        "pytest -q",
        "podwright debug",
    ]


class Tutorial:
    """Does what the page says, in a folder."""

    cluster: Up

    def __init__(self, folder):
        self.folder = folder
        self.commands: list[str] = []
        self.pod = ""

    def follow(self, text):
        for block in FENCE.finditer(text):
            language, content = block["language"], block["text"]
            saved = SAVE_AS.search(text[: block.start()])
            if saved:
                (self.folder / saved["name"]).write_text(content)
            elif language == "console":
                for command, shown in commands_in(content):
                    self.do(command.removeprefix("$ "), shown)
            elif MENDED in content:
                self.fix(content)

    def do(self, command, shown):
        words = shlex.split(command.replace("probe-...", self.pod.rpartition("/")[2]))
        program = words[0]
        if words[1] == "up":
            self.cluster = Up(self.folder, *words[2:])
        elif program == "kubectl":
            words = words[3:]  # after --kubeconfig FILE
            self.request(words)
        else:
            printed = self.output_of(words)
            assert is_as_shown(shown, printed.splitlines()), printed
        self.commands.append(f"{program} {words[0] if program == 'kubectl' else words[1]}")

    def request(self, words):
        if words[0] == "apply":
            for document in yaml.safe_load_all((self.folder / words[2]).read_text()):
                assert self.cluster.send("POST", DEPLOYMENTS, document)[0] == 201
        else:
            assert words[:2] == ["scale", "deployment"]
            replicas = int(words[3].removeprefix("--replicas="))
            self.cluster.send(
                "PATCH",
                f"{DEPLOYMENTS}/{words[2]}/scale",
                {"spec": {"replicas": replicas}},
                {"content-type": "application/merge-patch+json"},
            )
        self.settle(words)

    def settle(self, words):
        """Wait until all pods run, or the cluster has stopped."""
        while True:
            found = self.cluster.send("GET", "/podwright/v1/breakpoints")[1]["stoppedAt"]
            pods = self.cluster.send("GET", PODS)[1]["items"]
            expected = 3 if words[0] == "apply" else 9
            if found:
                assert words[2] == "probe"
                self.pod = found["pod"]
                return
            is_done = len(pods) == expected and all(each["spec"].get("nodeName") for each in pods)
            if is_done and words[-1] != "--replicas=2":
                return

    def output_of(self, words):
        if words[0] == "pytest":
            done = subprocess.run(
                [sys.executable, "-m", *words, "-p", "no:cacheprovider", "--rootdir", "."],
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=False,
            )
            return re.sub(r"^[.F]+ +\[100%\]\n", "", done.stdout)
        place = self.folder / words[4] if words[2] == "save-case" else None
        if place is not None:
            words[4] = str(place)
        result = run(f"{shlex.join(words[1:])} --kubeconfig {self.folder / 'config'}")
        output = result.stdout + result.stderr
        return "" if place is not None else output

    def fix(self, line):
        case = self.folder / "test_full_node.py"
        before = "        return max(0, 100 - 100 * 1000 // free)\n"
        assert case.read_text().count(before) == 1
        case.write_text(case.read_text().replace(before, line))

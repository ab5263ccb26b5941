"""Plugin files that change while a cluster is served."""

import asyncio

import pytest
from tests.waiting import until

from podwright.apimachinery.objects import timestamp_text_nano
from podwright.online.apiserver import ClusterOptions, RunningScheduler, new_cluster
from podwright.online.apiserver.generated_nodes import generated_nodes
from podwright.online.apiserver.scheduling.running_scheduler import PluginReload
from podwright.online.apiserver.tests.conftest import SERVER, START_NS, pod
from podwright.scheduler.assembly import plugins_from
from podwright.scheduler.machine import SchedulerOptions

V1 = "/podwright/v1"
PODS = "/api/v1/namespaces/default/pods"
TEXT = """
import podwright as pw

class Never(pw.Plugin):
    name = "Never"

    def filter(self, cycle, node):
        return pw.Status.unschedulable("not yet")
"""
MENDED = TEXT.replace('pw.Status.unschedulable("not yet")', "pw.Status()")


class Reloaded:
    """A served cluster whose plugin file is watched."""

    def __init__(self, serve, file):
        self.file = file
        self.lines: list[str] = []
        self.awaited_count = 0
        self.write(TEXT)
        cluster = new_cluster(
            SchedulerOptions(plugins=tuple(self.load())),
            now_ns=START_NS,
            options=ClusterOptions(),
            server_options=SERVER,
        )
        cluster.world.add(*generated_nodes(2))
        reload = PluginReload([file], self.load, self.lines.append)
        self.served = serve(cluster)
        self.scheduler = RunningScheduler(self.served.turns)
        self.task = asyncio.run_coroutine_threadsafe(reload.run(self.scheduler), self.served.loop)

    def load(self):
        return plugins_from(self.file.read_text(), source=str(self.file))

    def write(self, text):
        """Replace the file at once, as editors do."""
        new = self.file.with_suffix(".new")
        new.write_text(text)
        new.replace(self.file)

    def wait_for_line(self):
        """Return the next line, which may have been reported before this call."""

        def is_reported():
            assert not self.task.done(), self.task.result()
            return len(self.lines) > self.awaited_count

        until(is_reported, pause_seconds=0.01)
        self.awaited_count += 1
        return self.lines[self.awaited_count - 1]


@pytest.fixture
def reloaded(serve, tmp_path):
    found = Reloaded(serve, tmp_path / "never.py")
    yield found
    found.task.cancel()


def node_of(served, name):
    return served.send("GET", f"{PODS}/{name}")[1]["spec"].get("nodeName")


def test_a_changed_file_is_the_plugin_of_later_decisions(reloaded):
    served = reloaded.served
    assert served.send("POST", PODS, pod("a"))[0] == 201
    served.eventually(f"{PODS}/a", lambda found: found["status"].get("conditions"))
    before = timestamp_text_nano(served.clock.now_ns())
    reloaded.write(MENDED)
    assert reloaded.wait_for_line() == f"reloaded {reloaded.file}: Never"
    served.eventually(f"{PODS}/a", lambda found: found["spec"].get("nodeName"))
    # Both decisions are explained, each with the code that made it.
    path = f"{V1}/pods/default/a/explanation"
    assert served.send("GET", path)[1]["node"] == node_of(served, "a")
    _, old = served.send("GET", f"{path}?at={before}")
    assert "not yet" in old["message"], old
    _, case = served.send("GET", f"{V1}/pods/default/a/case")
    assert case["text"].count("pw.Status()") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("def x(:\n", "never.py: line 1: ", id="not Python"),
        pytest.param("\n1 // 0\n", "never.py: line 2: ZeroDivisionError", id="it raises"),
        pytest.param("import sys\n", "no plugin in this file", id="no plugin"),
        pytest.param(
            MENDED.replace("    def f", "    def __init__(self, zone):\n        pass\n\n    def f"),
            "zone",
            id="it cannot be made",
        ),
    ],
)
def test_a_file_with_an_error_keeps_the_plugin_of_before(reloaded, text, message):
    served = reloaded.served
    log = served.cluster.schedulers[0].logs[-1]
    reloaded.write(text)
    line = reloaded.wait_for_line()
    assert message in line
    assert line.endswith("the plugins of before stay")
    assert served.cluster.schedulers[0].logs[-1] is log
    assert served.send("POST", PODS, pod("a"))[0] == 201
    found = served.eventually(f"{PODS}/a", lambda found: found["status"].get("conditions"))
    assert "not yet" in found["status"]["conditions"][0]["message"]
    reloaded.write(MENDED)
    assert reloaded.wait_for_line().startswith("reloaded ")


def test_a_reset_keeps_the_new_plugins(reloaded):
    reloaded.write(MENDED)
    reloaded.wait_for_line()
    served = reloaded.served
    asyncio.run_coroutine_threadsafe(reloaded.scheduler.reset(), served.loop).result(60)
    assert served.send("POST", PODS, pod("b"))[0] == 201
    served.eventually(f"{PODS}/b", lambda found: found["spec"].get("nodeName"))


def test_a_file_that_is_missing_for_a_while_is_no_error(reloaded):
    reloaded.file.unlink()
    reloaded.write(MENDED)
    assert reloaded.wait_for_line().startswith("reloaded ")
    assert len(reloaded.lines) == 1


@pytest.mark.parametrize(
    ("steps", "loaded"),
    [
        pytest.param(["", "", ""], [], id="nothing is changed"),
        pytest.param(["bb", "", "", "", ""], ["bb"], id="once for a change"),
        pytest.param(["bb", "", "ccc", "", ""], ["bb", "ccc"], id="each change"),
        pytest.param(["bb", "ccc", "", "", ""], ["ccc"], id="not while it is written"),
        pytest.param(["-", "", "bb", "", ""], ["bb"], id="not while it is missing"),
    ],
)
def test_a_file_is_loaded_when_its_content_is_new_and_whole(steps, loaded, monkeypatch, tmp_path):
    file = tmp_path / "p.py"
    file.write_text("a")
    found, left = [], iter(steps)

    async def pause(_seconds):
        """Do in each pause what a user does meanwhile."""
        step = next(left, None)
        if step is None:
            raise asyncio.CancelledError
        if step == "-":
            file.unlink()
        elif step:
            file.write_text(step)

    class Scheduler(RunningScheduler):
        def __init__(self):
            pass

        async def change_plugins(self, plugins):
            found.append(file.read_text())

    reload = PluginReload([file], list, lambda _line: None)
    monkeypatch.setattr(asyncio, "sleep", pause)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(reload.run(Scheduler()))
    assert found == loaded

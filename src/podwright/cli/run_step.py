"""What `podwright run step` does, once it is called: a prompt, and what its commands show."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import typer

from podwright.assembly import UnknownPod
from podwright.cli.console import announce_compilation, print_paragraph, print_table, write
from podwright.cli.event_text import action_told, event_told
from podwright.cli.explain_recorded import tell_past
from podwright.cli.explain_run import print_told
from podwright.cli.inputs import find_key, load_plugins
from podwright.cli.recorded_run import PastRun, looking_at
from podwright.cli.run_show import Shown, sizes_told
from podwright.machine import ObjectPut
from podwright.objects import Pod, PodwrightError
from podwright.recording import Stepper, find_cycle

_PROMPT = "step> "
_NODES_SHOWN = 5
_HELP = (
    ("n, space or nothing", "the next event; n 10: ten of them"),
    ("b, p", "the event before; b 10: ten back"),
    ("c, C", "the next cycle, the cycle before"),
    ("/ POD", "the next event about a pod; / alone: about the same one"),
    ("g NUMBER, g TIME", "that event, that moment: g 42, g 10m, g 2026-01-01T00:10:00Z"),
    ("e, e POD", "explain this cycle, or the last one of a pod before here"),
    ("s, S", "show the queue, or the cluster and the queue"),
    ("?, h", "this"),
    ("q, Ctrl-D", "quit"),
)


def run_step(folder: Path, *, at: str, plugins: Sequence[Path]) -> None:
    """Read commands and do them, until there are no more."""
    run = PastRun(folder, load_plugins(plugins))
    announce_compilation()
    with looking_at(run):
        prompt = Prompt(run)
        if at:
            prompt.go(at)
        else:
            prompt.show()
        for line in _lines():
            if not prompt.do(line):
                return


def _lines() -> Iterator[str]:
    """Give the lines that are typed, or those of a pipe, which are printed as if they were."""
    if not sys.stdin.isatty():
        for line in sys.stdin:
            write(f"{_PROMPT}{line.strip()}".rstrip())
            yield line
            sys.stdout.flush()
        return
    import readline  # noqa: F401 - lines can be edited and had again from now on

    while True:
        try:
            yield input(_PROMPT)
        except (EOFError, KeyboardInterrupt):
            write("")
            return


class Prompt:
    """Does what is typed.

    Parameters
    ----------
    run : PastRun
    """

    def __init__(self, run: PastRun) -> None:
        self._run = run
        self._stepper = Stepper(run.log, plugins=run.plugins)
        self._pod = ""

    def do(self, line: str) -> bool:
        """Do one command; False: it was to quit."""
        word, _, rest = line.strip().partition(" ")
        if word.startswith("/") and len(word) > 1:
            word, rest = "/", line.strip()[1:]
        if word in ("q", "quit", "exit"):
            return False
        try:
            self._do(word, rest.strip())
        except (PodwrightError, typer.BadParameter) as error:
            write(str(error))
        return True

    def _do(self, word: str, rest: str) -> None:
        match word:
            case "" | "n" | "next":
                self._move(self._stepper.forward, rest, "this is the end of the run")
            case "b" | "p" | "back":
                self._move(self._stepper.back, rest, "this is the beginning of the run")
            case "c" | "cycle":
                self._move(self._stepper.next_cycle, rest, "there is no further cycle")
            case "C":
                self._move(self._stepper.previous_cycle, rest, "there is no earlier cycle")
            case "/":
                self._find(rest)
            case "g" | "go":
                self.go(rest)
            case "e" | "explain":
                self._explain(rest)
            case "s" | "queue":
                self._shown().print_queue(None)
            case "S" | "show":
                self._shown().print(is_wide=False)
            case "?" | "h" | "help":
                print_table(("COMMAND", "DOES"), _HELP)
            case _:
                write(f'"{word}" is no command; ? says which there are')

    def _move(self, move: Callable[[], bool], count: str, at_end: str) -> None:
        if count and not count.isdecimal():
            write(f'"{count}" is not a number of times')
            return
        moves = int(count or "1")
        has_moved = False
        for _ in range(moves):
            if not move():
                write(at_end)
                break
            has_moved = True
        if has_moved:
            self.show()

    def _find(self, text: str) -> None:
        if text:
            self._pod = self._key(text)
        if not self._pod:
            write("about which pod? / POD")
        elif self._stepper.next_about(self._pod):
            self.show()
        else:
            write(f"nothing further is about pod {self._pod}")

    def _key(self, text: str) -> str:
        """Return the pod that is meant: one that was tried, one that is there, or as written."""
        machine_pods = (obj.key for obj in self._stepper.machine.objects() if isinstance(obj, Pod))
        known = dict.fromkeys((*self._stepper.cycles.pods, *machine_pods))
        try:
            return find_key(text, known, where="is here or was ever tried")
        except UnknownPod:
            # It may be one that comes later and is never tried.
            name = text if "/" in text else f"default/{text}"
            for entry in self._run.log.entries(self._stepper.position):
                if isinstance(entry.event, ObjectPut) and entry.event.obj.key == name:
                    return name
            raise

    def go(self, text: str) -> None:
        """Go to the event of a number, or to a time."""
        if text.isdecimal():
            number = int(text)
            if number > len(self._run.log):
                write(f"there are {len(self._run.log)} events")
            self._stepper.go_to(number)
        elif text:
            self._stepper.go_to_time(self._run.moment(text))
        else:
            write("where to? g NUMBER or g TIME")
            return
        self.show()

    def _explain(self, text: str) -> None:
        position, moment = self._stepper.position, self._stepper.moment
        here = () if moment is None else moment.entry.pods
        key = self._key(text) if text else "".join(here[:1])
        if not key:
            write("no cycle ended with this event: c goes to the next one, e POD explains a pod's")
            return
        attempt = self._stepper.attempt_of(key)
        if not attempt:
            write(f"pod {key} was not tried up to event {position}")
            return
        past = find_cycle(
            self._run.log, key, attempt, plugins=self._run.plugins, cycles=self._stepper.cycles
        )
        print_told(tell_past(self._run, past), shown=_NODES_SHOWN, output="table")

    def _shown(self) -> Shown:
        moment, position = self._stepper.moment, self._stepper.position
        now_ns = self._run.start_ns if moment is None else moment.entry.now_ns
        return Shown(self._run, self._stepper.machine, now_ns, position)

    def show(self) -> None:
        """Print the event, what it caused, and how the queue is then."""
        position, moment = self._stepper.position, self._stepper.moment
        count = len(self._run.log)
        if moment is None:
            write(f"before the first of {count} events; n goes forward, ? says what else there is")
            return
        write(f"event {position} of {count}, {self._run.told(moment.entry.now_ns)}")
        attempts = [f" (attempt {self._stepper.attempt_of(pod)})" for pod in moment.entry.pods[:1]]
        print_paragraph(event_told(moment) + "".join(attempts), indent=2, hanging=2)
        for action in moment.actions:
            print_paragraph(f"-> {action_told(action)}", indent=2, hanging=3)
        pods, nodes = moment.placed_count, moment.node_count
        print_paragraph(
            f"queue: {sizes_told(moment.sizes)}; {pods} pod{'s' * (pods != 1)} on"
            f" {nodes} node{'s' * (nodes != 1)}",
            indent=2,
        )

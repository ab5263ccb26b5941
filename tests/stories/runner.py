"""Stories: what happened above the rule, what the machine wanted below it.

A story is text. A line that begins with `#` is a sentence for readers; the first says what
the story shows. Then come blocks with an empty line between them: commands, a rule of four
dashes, and what the machine did. Each command has a time; in between, timers fire and calls
end at their own instants.

    plugin Gate permit default/a Wait 5s      the answers of scripted plugins, one per call;
                                              Gate and Check may take part anywhere
    api bind default/a error=conflict         the next such call fails, or takes delay=2s
    grace 30s                                 pods on nodes take so long to go
    gangs                                     gangs are scheduled (the feature gates are on)
    coscheduling podGroupBackoffSeconds=5     the plugin Coscheduling takes part, with such args
    spread none                               no default spread constraints: pods that are
                                              alike then take part in batching

    0s  node n1 cpu=2 zone=a                  as podwright.testing.make_node
    0s  pod default/a cpu=500m priority=10    as podwright.testing.make_pod
    0s  pod default/a group=g                 a member of the group, of either kind
    0s  group default/g min=2                 also: basic, or timeout=5 for Coscheduling
    0s  gates default/a                       the pod's gates are now these; none here
    0s  delete default/a                      at once; also: delete node n1
    0s  terminate default/a                   with its grace period
    0s  cycle                                 one scheduling cycle
    0s  flush_backoff                         also: flush_unschedulable
    0s  allow default/a Gate                  also: reject default/a Gate not today
    0s  wait                                  nothing

Below the rule, actions come in the order in which the machine wanted them; then the pods
whose place has changed, by name. `PODWRIGHT_UPDATE_STORIES=1` rewrites what is below.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from podwright.config.duration import format_duration, parse_duration
from podwright.machine import (
    Action,
    Bind,
    DeletePod,
    EmitEvent,
    PatchPodGroupStatus,
    PatchPodStatus,
    UpdateClaim,
    UpdateVolume,
)
from podwright.objects import encode
from podwright.parity.trace import Replay
from podwright.queueing import QueuedPod, QueueName
from podwright.testing import make_node, make_pod

RULE = "----"
GROUPINGS = ("gangs", "coscheduling")
DIRECTIVES = ("plugin", "api", "grace", "spread", *GROUPINGS)
START = "2026-01-01T00:00:00Z"
PLUGINS = {"Gate": "StubA", "Check": "StubB"}
POINTS = {"reserve": "reserve", "permit": "permit", "pre_bind": "preBind"}


class Story(Replay):
    """One story: a machine and a small API server that follow its commands."""

    def __init__(self, directives: list[list[str]]) -> None:
        self.lines: list[str] = []
        self._places: dict[str, str] = {}
        self._clock_ns = 0
        self._grouping = next((d[0] for d in directives if d[0] in GROUPINGS), "")
        super().__init__(_case_of(directives))

    def run(self, command: str) -> None:
        """Do one command at its time."""
        at, verb, *rest = command.split()
        at_ns = parse_duration(at)
        assert at_ns >= self._clock_ns, f"{command!r} goes back in time"
        self.begin_step((at_ns - self._clock_ns) / 1_000_000_000)
        self._clock_ns = at_ns
        self.do(self._step(verb, rest))
        self.machine.validate()

    def told(self) -> list[str]:
        """Return what happened since the last call, and who is somewhere else now."""
        places = self._all_places()
        for name in sorted(places.keys() | self._places.keys()):
            place = places.get(name, line("gone", name))
            if place != self._places.get(name) and place:
                self.lines.append(place)
        self._places = places
        lines, self.lines = self.lines, []
        return lines

    def _step(self, verb: str, rest: list[str]) -> dict[str, Any]:
        match verb:
            case "node":
                return {"op": "create", "object": _document(make_node(rest[0], **_fields(rest)))}
            case "pod" | "group":
                make = _pod if verb == "pod" else _group
                return {"op": "create", "object": make(rest, self._grouping)}
            case "gates":
                pod = self.machine.pod(rest[0])
                assert pod is not None, rest[0]
                spec = {
                    **pod.raw["spec"],
                    "schedulingGates": [{"name": gate} for gate in rest[1:]],
                }
                return {"op": "update", "object": {**pod.raw, "spec": spec}}
            case "delete" if rest[0] == "node":
                return {"op": "delete", "kind": "Node", "name": rest[1]}
            case "delete" | "terminate":
                return {"op": verb, "name": rest[0]}
            case "allow" | "reject":
                step = {"op": verb, "name": rest[0], "plugin": PLUGINS[rest[1]]}
                return {**step, "message": " ".join(rest[2:])}
            case "wait":
                return {"op": "tick"}
            case _:
                return {"op": verb}

    # ---------------------------------------------------------------- what happened

    def _carry_out(self, action: Action) -> None:
        index = len(self.lines)
        super()._carry_out(action)
        told = self._tell_of(action)
        if told:
            self.lines.insert(index, told)

    def _tell_of(self, action: Action) -> str:
        match action:
            case EmitEvent(pod, _, _, reason, _, note):
                return line("event", pod, f"{reason}: {_renamed(note)}")
            case Bind(_, pod, _, node):
                return line("bind", pod, node, self._outcome(pod))
            case DeletePod(_, pod):
                return line("delete", pod, self._outcome(pod))
            case PatchPodStatus(_, pod, _, condition, nominated):
                parts = []
                if condition is not None:
                    parts.append(f"{condition.type}={condition.status} {condition.reason}")
                if nominated is not None:
                    parts.append(f"nominatedNodeName={nominated or 'none'}")
                return line("patch", pod, ", ".join(parts), self._outcome(pod))
            case PatchPodGroupStatus(_, group, condition):
                what = f"{condition.type}={condition.status} {condition.reason}"
                return line("patch", group, what, self._outcome(group))
            case UpdateVolume(_, obj) | UpdateClaim(_, obj):
                return line("update", obj.key, self._outcome(obj.key))
            case _:
                return ""

    def _outcome(self, name: str) -> str:
        call = self.calls[name][-1]
        if call.get("started"):
            return "(under way)"
        return f"({call['error']})" if "error" in call else ""

    def _all_places(self) -> dict[str, str]:
        """Say of every pod where it is; "" where that goes without saying."""
        machine, queue = self.machine, self.machine.queue
        waiting, assumed = machine.waiting(), machine.assumed()
        places: dict[str, str] = {}
        for name in self.server.names("Pod"):
            queued = queue.get(name)
            if queued is not None:
                places[name] = self._queued(name, queued)
            elif name in waiting and name in assumed:
                plugins = ",".join(_renamed(plugin) for plugin in waiting[name])
                places[name] = line("wait", name, f"on={assumed[name]} for={plugins}")
            elif name in assumed:
                places[name] = line("assume", name, assumed[name])
            else:
                places[name] = ""
        return places

    def _queued(self, name: str, queued: QueuedPod) -> str:
        blamed = ",".join(_renamed(plugin) for plugin in sorted(queued.rejectors))
        end = format_duration(self.machine.queue.backoff_end_ns(queued) - self.start_ns)
        match queued.place:
            case QueueName.UNSCHEDULABLE:
                return line("park", name, f"rejected_by={blamed}")
            case QueueName.GATED:
                return line("hold", name, f"by={queued.gating_plugin}")
            case QueueName.BACKOFF:
                return line("backoff", name, f"until={end} rejected_by={blamed}")
            case QueueName.ERROR_BACKOFF:
                return line("backoff", name, f"until={end} after an error")
            case _:
                return line("ready", name) if queued.attempts else ""


def line(verb: str, name: str, *parts: str) -> str:
    """Write one line of output."""
    return f"{verb:<8}{name:<15}{' '.join(part for part in parts if part)}".rstrip()


def _renamed(text: str) -> str:
    for name, stub in PLUGINS.items():
        text = text.replace(stub, name)
    return text


def _case_of(directives: list[list[str]]) -> dict[str, Any]:
    """Make the case of a trace from the lines before the first block."""
    script: dict[str, Any] = {"api": [], "plugins": defaultdict(lambda: defaultdict(dict))}
    points: dict[str, dict[str, None]] = defaultdict(dict)
    gates: dict[str, bool] = {}
    settings: list[dict[str, Any]] = []
    for directive in directives:
        match directive:
            case ["plugin", name, point, pod, status, *rest]:
                stub = PLUGINS[name]
                points[POINTS[point]][stub] = None
                answers = script["plugins"][stub][point].setdefault(pod, [])
                answers.append(_answer(status, rest))
            case ["api", call, name, *rest]:
                rule: dict[str, Any] = {"call": call, "name": name, "times": 1}
                for field in rest:
                    key, _, value = field.partition("=")
                    rule[key] = _seconds(value) if key == "delay" else value
                script["api"].append(rule)
            case ["spread", "none"]:
                settings.append({"name": "PodTopologySpread", "args": {"defaultingType": "List"}})
            case ["grace", seconds]:
                script["grace_seconds"] = _seconds(seconds)
            case ["gangs"]:
                gates = {"GenericWorkload": True, "GangScheduling": True}
            case ["coscheduling", *rest]:
                args = [field.partition("=") for field in rest]
                said = {key: int(value) for key, _, value in args}
                settings.append({"name": "Coscheduling", "args": said})
            case _:
                raise AssertionError(f"unknown directive {directive}")
    plugins: dict[str, Any] = {
        point: {"enabled": [{"name": name} for name in names]} for point, names in points.items()
    }
    if any(entry["name"] == "Coscheduling" for entry in settings):
        plugins["multiPoint"] = {"enabled": [{"name": "Coscheduling"}]}
        plugins["queueSort"] = {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": plugins,
                "pluginConfig": settings,
            }
        ],
    }
    return {"start": START, "objects": [], "script": script, "config": config, "gates": gates}


def _answer(status: str, rest: list[str]) -> dict[str, Any]:
    """Read what a scripted plugin answers."""
    answer: dict[str, Any] = {"status": status}
    if status == "Wait":
        answer["timeout"] = _seconds(rest.pop(0))
    if rest and rest[0].startswith("delay="):
        answer["delay"] = _seconds(rest.pop(0).removeprefix("delay="))
    if rest:
        answer["message"] = " ".join(rest)
    return answer


def _seconds(text: str) -> float:
    return parse_duration(text) / 1_000_000_000


def _fields(rest: list[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for part in rest[1:]:
        key, _, value = part.partition("=")
        fields[key] = int(value) if key in ("priority", "pods") else value
    for key in ("gates", "taints", "tolerations"):
        if key in fields:
            fields[key] = fields[key].split(",")
    return fields


def _pod(rest: list[str], grouping: str) -> dict[str, Any]:
    namespace, _, name = rest[0].partition("/")
    fields = {"scheduler": "default-scheduler", **_fields(rest)}
    group = fields.pop("group", "")
    if group and grouping == "gangs":
        fields["spec"] = {"schedulingGroup": {"podGroupName": group}}
    elif group:
        fields["labels"] = {"scheduling.x-k8s.io/pod-group": group}
    return _document(make_pod(name, namespace=namespace, **fields))


def _group(rest: list[str], grouping: str) -> dict[str, Any]:
    namespace, _, name = rest[0].partition("/")
    fields = dict(part.partition("=")[::2] for part in rest[1:])
    spec: dict[str, Any]
    if grouping == "gangs":
        version = "scheduling.k8s.io/v1alpha2"
        least = fields.get("min")
        spec = {"schedulingPolicy": {"gang": {"minCount": int(least)}} if least else {"basic": {}}}
    else:
        version = "scheduling.x-k8s.io/v1alpha1"
        spec = {"minMember": int(fields["min"])}
        if "timeout" in fields:
            spec["scheduleTimeoutSeconds"] = int(fields["timeout"])
    meta = {"namespace": namespace, "name": name, "creationTimestamp": START}
    return {"apiVersion": version, "kind": "PodGroup", "metadata": meta, "spec": spec}


def _document(obj: Any) -> dict[str, Any]:
    return encode(obj)


def tell(text: str) -> str:
    """Run a story and return its text with what really happened."""
    written: list[str] = []
    head, *blocks = text.rstrip("\n").split("\n\n")
    if RULE in head.splitlines():
        blocks.insert(0, head)
    sentences = [part for part in head.splitlines() if part.startswith("#")]
    directives = [
        part.split()
        for part in head.splitlines()
        if part
        and not part.startswith("#")
        and not part[0].isdigit()
        and part.split()[0] in DIRECTIVES
    ]
    story = Story(directives)
    if RULE not in head.splitlines():
        written.append(head)
    else:
        assert not directives, "put an empty line after plugin, api, grace and spread"
    for block in blocks:
        above = block.split(f"\n{RULE}")[0].splitlines()
        for command in above:
            if command and not command.startswith("#"):
                story.run(command)
        written.append("\n".join([*above, RULE, *story.told()]))
    assert sentences, "a story begins with a sentence that says what it shows"
    return "\n\n".join(written) + "\n"


def stories() -> list[Path]:
    """Return the files of all stories."""
    return sorted(Path(__file__).parent.glob("*.story"))

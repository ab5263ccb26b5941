"""Pages of the reference that are generated from the code: plugins, gates, metrics, upstream.

The tests compare them with the code. ``PODWRIGHT_UPDATE_DOCS=1 make docs`` writes them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.upstream_references import upstream_page

from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints import (
    DEFAULT_GROUP_VERSIONS,
    GATED_RESOURCES,
    METRICS_VERSIONS,
)
from podwright.online.apiserver import (
    ApiLatency,
    ClusterClock,
    RunningScheduler,
    TurnLoop,
    new_cluster,
)
from podwright.online.apiserver.control import ControlledCluster, endpoints_of
from podwright.scheduler.assembly.registry import module_of
from podwright.scheduler.config import (
    ARGS_TYPES,
    DEFAULT_GATES,
    GATES,
    IN_TREE_POINTS,
    Gate,
    KubeSchedulerConfiguration,
    default_plugins,
    effective,
    to_document,
)
from podwright.scheduler.machine import SchedulerOptions
from podwright.scheduler.machine.metrics.metric_table import (
    METRICS,
    METRICS_PATH,
    RESOURCES_PATH,
    SYNC_PATH,
)
from podwright.simulation.scenarios import json_schema

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs/reference"
BEGIN, END = "<!-- generated from the code: begin -->", "<!-- generated from the code: end -->"

POINTS = (
    "preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score",
    "reserve", "permit", "preBind", "bind", "postBind", "placementGenerate", "placementScore",
)  # fmt: skip
SECTIONS = ("What it does", "Why it matters", "Configuration", "Example")


# ---------------------------------------------------------------- plugins


def plugins_page() -> str:
    return "\n".join(plugin_section(name) for name in BUILT)


BUILT = sorted(IN_TREE_POINTS)


def plugin_section(name: str) -> str:
    module = import_module(module_of(name))
    summary, sections, upstream = parts_of(cleandoc(module.__doc__ or ""))
    summary = summary.removeprefix(f"{name}: ")
    points = [point for point in POINTS if point in IN_TREE_POINTS[name]]
    weights = {plugin.name: plugin.weight for plugin in default_plugins(DEFAULT_GATES)}
    lines = [f"## {name}", "", summary[0].upper() + summary[1:], ""]
    lines += [f"Extension points: {', '.join(points)}."]
    if "score" in points:
        lines[-1] += f" Weight in the default profile: {weights[name] or 1}."
    lines.append("")
    for title in SECTIONS:
        lines += [f"**{title}.** {sections[title]}", ""]
    files = ", ".join(f"`{file}`" for file in re.split(r",\s+|\s+and\s+", upstream))
    lines += [f"Upstream: {files}", ""]
    return "\n".join(lines)


def parts_of(text: str) -> tuple[str, dict[str, str], str]:
    """Return the first line, the sections, and the upstream files of a plugin's docstring."""
    body, _, upstream = text.partition("\nUpstream:")
    summary, _, rest = body.partition("\n\n")
    titles = "|".join(SECTIONS)
    pieces = re.split(rf"^(?:\*\*({titles})\.\*\*|({titles})$)", rest, flags=re.MULTILINE)
    sections = {
        bold or plain: as_markdown(piece)
        for bold, plain, piece in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True)
    }
    return " ".join(summary.split()), sections, " ".join(upstream.split())


def as_markdown(text: str) -> str:
    """Join lines into paragraphs, and format code as Markdown."""
    joined = " ".join(text.split())
    return re.sub(r"``(.+?)``", r"`\1`", joined)


# ---------------------------------------------------------------- arguments


def arguments_page() -> str:
    document: Any = to_document(effective(KubeSchedulerConfiguration()).configuration)
    (profile,) = document["profiles"]
    defaults = {entry["name"]: entry["args"] for entry in profile["pluginConfig"]}
    lines: list[str] = []
    for name, cls in ARGS_TYPES.items():
        lines += [f"### {name}Args", "", f"{(cls.__doc__ or '').splitlines()[0]}", ""]
        lines += ["| field | default |", "|---|---|"]
        # The defaults of a plugin that no default profile enables are those of its arguments.
        written = defaults[name] if name in defaults else msgspec.to_builtins(cls())
        for field in msgspec.structs.fields(cls):
            default = written.get(field.encode_name)
            shown = "none" if default is None else f"`{json.dumps(default)}`"
            lines.append(f"| `{field.encode_name}` | {shown} |")
        lines.append("")
    return "\n".join(lines)


# ---------------------------------------------------------------- feature gates


def gates_page() -> str:
    lines = ["| gate | stage | default | needs | effect on |", "|---|---|---|---|---|"]
    for name, gate in GATES.items():
        if gate.effects:
            needs = ", ".join(f"`{other}`" for other in gate.requires)
            row = (f"`{name}`", gate.stage, _on_or_off(gate), needs, ", ".join(gate.effects))
            lines.append(f"| {' | '.join(row)} |")
    lines += ["", "### Without effect", ""]
    states = dict.fromkeys((gate.stage, gate.locked, gate.default) for gate in GATES.values())
    for stage, locked, default in sorted(states):
        names = [
            f"`{name}`" + (f" (needs {', '.join(gate.requires)})" if gate.requires else "")
            for name, gate in GATES.items()
            if (gate.stage, gate.locked, gate.default) == (stage, locked, default)
            and not gate.effects
        ]
        state = f"{stage}, {'on' if default else 'off'}{', locked' * locked}"
        lines.append(f"- {state}: {', '.join(names)}.")
    lines += ["", "### Kinds that gates enable", "", "| gate | kind | served as |", "|---|---|---|"]
    for name, resources in GATED_RESOURCES.items():
        for resource in resources:
            version, _, plural = resource.rpartition("/")
            kind = next(
                each.row.kind
                for each in built_in()
                if (each.api_version, each.row.resource) == (version, plural)
            )
            lines.append(f"| `{name}` | {kind} | `{version}`, `{plural}` |")
    lines += ["", *_unserved_versions()]
    return "\n".join([*lines, ""])


def _unserved_versions() -> list[str]:
    """Return what only `--runtime-config` of kube-apiserver enables, and no gate does."""
    gated = {name for resources in GATED_RESOURCES.values() for name in resources}
    found: dict[str, list[str]] = {}
    for kind in built_in():
        version, plural = kind.api_version, kind.row.resource
        is_served = version in (*DEFAULT_GROUP_VERSIONS, *METRICS_VERSIONS)
        if plural and not is_served and f"{version}/{plural}" not in gated:
            found.setdefault(version, []).append(f"`{plural}`")
    text = (
        "kube-apiserver serves these other versions of kinds if `--runtime-config` names them, with"
        " any gates; podwright serves the kinds in their stable version only:"
    )
    return [text, "", *(f"- `{name}`: {', '.join(each)}" for name, each in sorted(found.items()))]


def _on_or_off(gate: Gate) -> str:
    return "on" if gate.default else "off"


# ---------------------------------------------------------------- metrics


def metrics_page() -> str:
    lines: list[str] = []
    for path in (METRICS_PATH, RESOURCES_PATH, SYNC_PATH):
        lines += [f"### At `{path}`", "", "| metric | type | labels | buckets | stability |"]
        lines.append("|---|---|---|---|---|")
        metrics = [metric for metric in METRICS if metric.path == path]
        for metric in metrics:
            labels = ", ".join(metric.labels)
            row = (f"`{metric.name}`", metric.kind, labels, shown_bounds(metric.bounds))
            lines.append(f"| {' | '.join(row)} | {metric.stability or 'ours'} |")
        lines.append("")
        for metric in metrics:
            gate = f" With the gate `{metric.gate}`." if metric.gate else ""
            note = f" {metric.note}" if metric.note else ""
            lines.append(f"- `{metric.name}`: {metric.help}{gate}{note}")
        lines.append("")
    return "\n".join(lines)


def shown_bounds(bounds: tuple[float, ...]) -> str:
    if not bounds:
        return ""
    return f"exp({bounds[0]:.10g}, {bounds[1] / bounds[0]:.10g}, {len(bounds)})"


# ---------------------------------------------------------------- endpoints


def endpoints():
    turns = TurnLoop(new_cluster(SchedulerOptions(), now_ns=0), ClusterClock(start_ns=0))
    return endpoints_of(ControlledCluster(turns, ApiLatency(), RunningScheduler(turns)))


def endpoints_page() -> str:
    lines = ["| request | | parameters | body | reply |", "|---|---|---|---|---|"]
    for each in endpoints():
        query, body = map(fields_of, (each.query, each.body))
        replies = each.reply if isinstance(each.reply, tuple) else (each.reply,)
        names = [one.__name__ for one in replies if is_struct(one)] or [each.media_type]
        reply = " or ".join(f"`{name}`" for name in names)
        request = f"`{each.method} {each.url}`"
        lines.append(f"| {request} | {each.summary} | {query} | {body} | {reply} |")
    return "\n".join([*lines, ""])


def fields_of(cls):
    if is_struct(cls):
        return ", ".join(f"`{field.encode_name}`" for field in msgspec.structs.fields(cls))
    return "" if cls is None else "a document"


def is_struct(cls):
    return isinstance(cls, type) and issubclass(cls, msgspec.Struct)


# ---------------------------------------------------------------- comparing

GENERATED: Mapping[str, Any] = {
    "plugins.md": plugins_page,
    "configuration.md": arguments_page,
    "feature-gates.md": gates_page,
    "metrics.md": metrics_page,
    "http-api.md": endpoints_page,
    "upstream.md": upstream_page,
}


@pytest.mark.parametrize("page", GENERATED)
def test_the_page_agrees_with_the_code(page):
    text = (REFERENCE / page).read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    written, end, after = rest.partition(END)
    assert begin, f"{page} does not say where the generated part begins"
    assert end, f"{page} does not say where the generated part ends"
    made = f"\n\n{GENERATED[page]()}\n"
    if os.environ.get("PODWRIGHT_UPDATE_DOCS"):
        if written != made:
            (REFERENCE / page).write_text(before + begin + made + end + after, encoding="utf-8")
        return
    assert written == made, "PODWRIGHT_UPDATE_DOCS=1 make docs writes it anew"


def test_the_page_names_the_requests_that_change_nothing() -> None:
    text = (REFERENCE / "http-api.md").read_text()
    (listed,) = re.findall(r"requests that change nothing \(([^)]*)\)", text)
    found = [each.path for each in endpoints() if each.changes_nothing]
    assert re.findall(r"`(\S+)`", listed) == found


@pytest.mark.parametrize("name", BUILT)
def test_the_docstring_of_every_plugin_has_all_sections(name):
    module = import_module(module_of(name))
    summary, sections, upstream = parts_of(cleandoc(module.__doc__ or ""))
    assert summary
    assert tuple(sections) == SECTIONS
    assert all(sections.values())
    assert upstream.startswith(
        ("pkg/scheduler/framework/plugins/", "scheduler-plugins pkg/coscheduling/")
    )


def test_the_schema_of_scenarios_is_that_of_the_code() -> None:
    path = REFERENCE / "scenario.schema.json"
    text = json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("PODWRIGHT_UPDATE_DOCS"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, "run PODWRIGHT_UPDATE_DOCS=1 make docs"

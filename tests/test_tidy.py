"""The tidiness of the code, beyond the rules of linters."""

from __future__ import annotations

import ast
import gc
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from podwright.scheduler.assembly.registry import module_of
from podwright.scheduler.config import IN_TREE_POINTS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "podwright"
MOST_LINES = 800
MOST_IDEAS = 25

VAGUE_NAMES = {"util", "utils", "helper", "helpers", "common", "manager", "misc", "base"}


def sources() -> list[Path]:
    """Return the modules of the package, without tests."""
    return [path for path in sorted(SOURCE.rglob("*.py")) if "tests" not in path.parts]


def all_python() -> list[Path]:
    """Return every module there is, tests and tools included."""
    return [
        path
        for folder in ("src", "tests", "tools")
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]


@cache
def tree_of(path: Path) -> ast.Module:
    """Parse a module, cached."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a module, cached."""
    return tuple(ast.walk(tree_of(path)))


@pytest.fixture(scope="module", autouse=True)
def _syntax_trees() -> Iterator[None]:
    """Keep a million nodes without collections, which would visit all of them again and again."""
    gc.disable()
    yield
    tree_of.cache_clear()
    nodes_of.cache_clear()
    gc.enable()


def name_of(path: Path) -> str:
    """Return the dotted name of a module of the package."""
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


# -------------------------------------------------------------------- names and words


DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)
OWN_NAME = re.compile(r"`([a-z]\w*_\w+|\w+\.py)`")


def test_modules_and_names_in_docstrings_exist() -> None:
    text = {path: path.read_text(encoding="utf-8") for path in sources()}
    known = {path.name for path in all_python()} | {path.stem for path in text}
    known.update(*(re.findall(r"\w+", DOCSTRING.sub("", each)) for each in text.values()))
    unknown = {
        f"{shown(path)}: {name}"
        for path, each in text.items()
        for docstring in DOCSTRING.findall(each)
        for name in OWN_NAME.findall(docstring)
        if name not in known
    }
    assert not unknown


def undocumented(path: Path) -> Iterator[str]:
    """Yield the public names of a module that have no docstring."""
    module = tree_of(path)
    if not ast.get_docstring(module):
        yield shown(path)
    for top in module.body:
        if not isinstance(top, ast.FunctionDef | ast.ClassDef) or top.name.startswith("_"):
            continue
        members = top.body if isinstance(top, ast.ClassDef) else []
        for node in (top, *members):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
                continue
            if not ast.get_docstring(node) and not is_variant(node):
                yield f"{shown(path)}: {top.name if node is top else f'{top.name}.{node.name}'}"


def is_variant(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """Whether a definition is documented elsewhere: an overload, a setter, an override."""
    marks = {ast.unparse(mark).split(".")[-1] for mark in node.decorator_list}
    return bool(marks & {"overload", "override", "setter"})


def test_every_public_name_is_documented() -> None:
    wrong = [name for path in sources() for name in undocumented(path)]
    assert not wrong, wrong


PARTS = (
    "**What it does.**",
    "**Why it matters.**",
    "**Configuration.**",
    "**Example.**",
    "Upstream: ",
)


def test_every_in_tree_plugin_has_the_fixed_parts_and_its_upstream_file() -> None:
    wrong = []
    for path in sorted((SOURCE / "scheduler/plugins").glob("*.py")):
        if path.stem == "__init__" or not plugin_classes(path):
            continue
        text = ast.get_docstring(tree_of(path)) or ""
        if not text.startswith(tuple(f"{name}: " for name in plugin_classes(path))):
            wrong.append(f"{shown(path)}: the first line does not begin with the plugin's name")
        at = [text.find(part) for part in PARTS]
        wrong += [f"{shown(path)}: {p}" for p, i in zip(PARTS, at, strict=True) if i < 0]
        if at != sorted(at):
            wrong.append(f"{shown(path)}: the parts are out of order")
        if not re.match(r"Upstream: (scheduler-plugins )?pkg/", text[at[-1] :]):
            wrong.append(f"{shown(path)}: no upstream file")
    assert not wrong, wrong


def plugin_classes(path: Path) -> list[str]:
    return [
        node.name
        for node in tree_of(path).body
        if isinstance(node, ast.ClassDef) and any(ast.unparse(b) == "Plugin" for b in node.bases)
    ]


def test_no_module_is_longer_than_one_idea() -> None:
    long = {
        shown(path): lines
        for path in all_python()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MOST_LINES
    }
    assert not long, long


def test_no_module_has_a_generic_name() -> None:
    vague = [shown(path) for path in all_python() if VAGUE_NAMES & {path.stem, path.parent.name}]
    assert not vague, vague


# -------------------------------------------------------------------- what is used


def imported_by(path: Path) -> Iterator[str]:
    """Yield the modules that a module imports, including imports by name."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


IMPORTED_BY_NOBODY = {
    "podwright.__main__": "`python -m podwright`",
    "podwright._console": "the entry point of the installed command",
    "podwright._version": "hatchling reads it",
    "podwright.online.ui.__main__": "`podwright up` starts it as a process",
    "podwright.cli.clusters.kubectl_plugin": "the entry point of kubectl-podwright",
    "podwright.scheduler.queueing.blocking": "the queue by itself, for users",
}
"""Modules that are used although nothing imports them, and the reason."""


def loaded_lazily() -> set[str]:
    """Return the modules that tables of names load: commands, plugins, kinds, the public face."""
    tables = {
        "cli/__init__.py": "cli",
        "__init__.py": "",
    }
    found = set()
    for table, room in tables.items():
        for node in nodes_of(SOURCE / table):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                name = node.value.replace("-", "_")
                found.add(".".join(part for part in ("podwright", room, name) if part))
    found.update(map(module_of, IN_TREE_POINTS))
    kinds = json.loads((SOURCE / "apimachinery/schema/table.json").read_text(encoding="utf-8"))[
        "kinds"
    ]
    columns = (
        ("validation", "validation"),
        ("warnings", "warnings"),
        ("warnings_of_status", "warnings"),
        ("defaults", "defaults"),
    )
    for column, folder in columns:
        functions = {row[column] for row in kinds.values() if column in row}
        if column == "validation":
            steps = (
                step
                for row in kinds.values()
                for of in ("update", "status")
                for step in row.get(f"validation_of_{of}", ())
            )
            functions.update(step for step in steps if ":" in step)
        found.update(
            f"podwright.apimachinery.schema.{folder}.{name.partition(':')[0]}" for name in functions
        )
    cells = {column[4] for row in kinds.values() for column in row.get("columns", ())}
    found.update(
        f"podwright.apimachinery.schema.printing.{cell.partition(':')[0]}" for cell in cells
    )
    return found


def test_no_module_is_dead() -> None:
    alive = loaded_lazily() | set(IMPORTED_BY_NOBODY)
    for path in sources():
        alive.update(name for name in imported_by(path) if name != name_of(path))
    dead = [
        shown(path) for path in sources() if path.stem != "__init__" and name_of(path) not in alive
    ]
    assert not dead, f"imported by no module: {dead}"


def constants(path: Path) -> Iterator[str]:
    """Yield the names that a module assigns at its top, other than those that Python reads."""
    for node in tree_of(path).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and not target.id.startswith("__"):
                yield target.id


def names_read(path: Path) -> Iterator[str]:
    """Yield the names that a module loads, imports, or reads from another object."""
    for node in nodes_of(path):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name


def test_every_constant_is_read() -> None:
    read = {name for path in sources() for name in names_read(path)}
    table = (SOURCE / "apimachinery/schema/table.json").read_text(encoding="utf-8")
    # The rules, defaults and cells of kinds are named in the table as `module:name`.
    read.update(re.findall(r'"[\w.]+:(\w+)', table))
    unread = [f"{shown(path)}: {name}" for path in sources() for name in constants(path)
              if name not in read]  # fmt: skip
    assert not unread


def test_every_room_has_content() -> None:
    empty = [
        shown(room)
        for room in sorted(SOURCE.glob("*/*/__init__.py"))
        if room.parent.name != "tests"
        and not any(
            path.stem != "__init__" and "tests" not in path.parts
            for path in room.parent.rglob("*.py")
        )
    ]
    assert not empty, f"nothing but a docstring: {empty}"


def test_a_folder_has_few_enough_ideas() -> None:
    """Modules and subfolders that name ideas: what a reader can take in at once.

    The plugins have one module each, as the registry finds them by their names.
    """
    many = {}
    for folder in (SOURCE, *(each for each in SOURCE.rglob("*") if each.is_dir())):
        if folder.name in ("tests", "__pycache__") or "tests" in folder.relative_to(SOURCE).parts:
            continue
        ideas = [
            each.name
            for each in folder.iterdir()
            if (each.suffix in (".py", ".js") and not each.stem.startswith("__"))
            or (each.is_dir() and each.name not in ("tests", "__pycache__"))
        ]
        if len(ideas) > MOST_IDEAS and folder != SOURCE / "scheduler" / "plugins":
            many[shown(folder)] = len(ideas)
    assert not many, f"folders with more than {MOST_IDEAS} modules and subfolders"


USED_AS = {
    "axe-playwright-python": "axe_playwright_python",
    "cosmic-ray": "cosmic_ray",
    "google-re2": "re2",
    "httptools": "uvicorn",  # which parses HTTP with it
    "import-linter": "lint-imports",
    "ipython": "IPython",
    "prometheus-client": "prometheus_client",
    "pytest-cov": "--cov",
    "pytest-xdist": "-n auto",
    "python-jsonpath": "jsonpath",
    "kubernetes-asyncio": "kubernetes_asyncio",
    "pyyaml": "yaml",
    "towncrier": "[tool.towncrier]",
    "types-pyyaml": "yaml",
}
"""The import name or command of a dependency, if it differs from its name."""


STARTED_BY = {"schemathesis": "tests/test_generated_requests.py"}
"""The test that starts a dependency as a program."""


def test_every_dependency_is_used() -> None:
    """Each requirement, optional ones included, is imported, or called by the Makefile."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    # `recording.tables` imports a library if it is installed.
    imported = {
        name
        for path in (*all_python(), ROOT / "conftest.py")
        for names in re.findall(
            r'^\s*(?:from|import) (\w+)|\blibrary\("(\w+)', path.read_text("utf-8"), re.MULTILINE
        )
        for name in names
    }
    called = (ROOT / "Makefile").read_text(encoding="utf-8")
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    unused = []
    for requirement in (
        *project["dependencies"],
        *(one for each in extras.values() for one in each),
    ):
        name = re.split(r"[<>=;\[ ]", requirement)[0]
        used_as = USED_AS.get(name, name)
        is_set_up = used_as.startswith("[") and used_as in settings
        starter = STARTED_BY.get(name)
        is_started = starter is not None and f"{name}." in (ROOT / starter).read_text("utf-8")
        if not (used_as in imported or used_as in called or is_set_up or is_started):
            unused.append(requirement)
    assert not unused, unused


def test_the_development_install_has_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    installed = re.search(r"^EXTRAS \?= (\S+)$", makefile, re.MULTILINE)
    assert installed
    assert set(installed[1].split(",")) == set(project["optional-dependencies"])


REPLACED = re.compile(
    r"\b(homeless|TakenPlace|takers|taking_part|cycles_in_vain|is_news|NOT_READ|SELECTING|MIRRORED|"
    r"utilisation|held_back|holds_back|log_positions|keep_position|memories|if need be|for want of|"
    r"Become as|Wish to|in vain|typed door|has its effect|afresh)\b"
)
"""Names and phrases that have given way to those of Kubernetes' documentation."""


def test_words_that_were_replaced_stay_away() -> None:
    texts = [*sources(), *(ROOT / "docs").rglob("*.md"), *(SOURCE / "online/ui").rglob("*.js")]
    found = [
        f"{shown(path)}: {match.group()}"
        for path in (*texts, ROOT / "README.md", ROOT / "CONTRIBUTING.md")
        for match in REPLACED.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not found, found


# -------------------------------------------------------------------- no machine paths


def tracked_text() -> Iterator[tuple[Path, str]]:
    """Yield the text files of the repository, or of an unpacked archive of it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        names = (str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file())
        tracked = [name for name in names if not re.search(r"(^|/)\.", name)]
    else:
        tracked = [name for name in listed.stdout.split("\0") if name]
    for name in tracked:
        path = ROOT / name
        try:
            yield path, path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue


def test_no_path_of_a_machine_and_no_conflict_of_a_merge_is_in_the_repository() -> None:
    folders = "|".join(["home", "Users", "root", "work", "tmp", "private"])
    a_path = rf"(?<![\w.:/}}$-])/(?:{folders})/[\w.]+"
    unwanted = re.compile(rf"{a_path}|^(?:<{{7}}|>{{7}}) ", re.MULTILINE)
    found = [
        f"{shown(path)}: {match.group()}"
        for path, text in tracked_text()
        if (match := unwanted.search(text))
    ]
    assert not found, found


# -------------------------------------------------------------------- kernels


def test_kernels_pass_their_tests_without_numba_which_notice_whatever_is_wrong_with_them() -> None:
    result = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider"),
            *("-p", "tests.kernel_defects", "src/podwright/scheduler/kernels"),
        ],
        cwd=ROOT,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "HYPOTHESIS_PROFILE": "defects"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-3_000:]
    counts = re.search(r"(\d+) kernels, (\d+) defects noticed, 0 not noticed", result.stdout)
    assert counts is not None, result.stdout[-3_000:]
    assert int(counts[1]) >= 60, counts[0]
    assert int(counts[2]) >= 2 * int(counts[1]), counts[0]


BEYOND_THE_FACE = {
    "cluster.api.endpoints": "a face of its own: the HTTP semantics, which only servers load",
    "online.apiserver.access.certificates": "it needs the extra tls: imported for TLS only",
    "online.apiserver.access": "some of its modules need the extra tls",
    "online.apiserver.kss_api": "it needs Starlette, which takes a tenth of a second to import",
    "online.client.cluster": "it needs the extra live, so it is imported for real clusters only",
    "online.client.cluster.write_connection": "what reads a cluster cannot import it",
    "scheduler.kernels": (
        "their tests plant defects while the decorator runs, so nothing loads all of them"
    ),
    "scheduler.plugins": (
        "the registry in `assembly` names each plugin's module; no other room imports them"
    ),
    "apimachinery.schema.structural": (
        "custom resources need expressions, which the room's face does not load"
    ),
    "online.ui.process": "it needs the extra ui, so it is imported when a page is served",
    "scheduler.queueing.blocking": "only the public face imports it; the core has no lock",
}
"""Rooms and modules that other rooms import past a face, and the reason."""


def room_and_rest(module: str) -> tuple[str, str]:
    """Return the room of a module, such as `scheduler.machine`, and the module in it."""
    parts = module.split(".")
    is_floor = parts[0] == "cli" or (parts[0] == "testing" and parts[1:2] != ["parity"])
    size = 1 if is_floor else 2
    return ".".join(parts[:size]), ".".join(parts[size:])


def test_rooms_are_imported_through_their_faces() -> None:
    """A name of another room comes from the room, not from a module inside it.

    A name that is also the name of a module of that room is the exception: the face has the
    module under it.
    """
    past = []
    for path in sources():
        inside = path.relative_to(SOURCE).parts
        own, _ = room_and_rest(".".join(inside))
        if len(inside) == 1:
            continue  # the public names are loaded from their modules, on first use
        for node in nodes_of(path):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(
                "podwright."
            ):
                continue
            module = str(node.module).removeprefix("podwright.")
            room, rest = room_and_rest(module)
            if not rest or room == own or {room, module} & BEYOND_THE_FACE.keys():
                continue
            past += [
                f"{shown(path)}: from podwright.{module} import {alias.name}"
                for alias in node.names
                if not (SOURCE / room.replace(".", "/") / f"{alias.name}.py").exists()
            ]
    assert not past, past


KINDS_BY_HAND = {
    "cluster/api/gated_fields.py": "which fields have feature gates",
    "simulation/autoscaling/drainability.py": "whose pods cluster-autoscaler takes for replicated",
    "online/ui/templates.py": "the texts with which users begin objects of these kinds",
    "cluster/controllers/core/resource_quota.py": "whose objects can change what they use",
    "cluster/controllers/expansion.py": (
        "what changes new pods in a cluster, and no pods of an expansion"
    ),
    "cluster/api/admission/identities/node_restriction.py": "functions",
    "cluster/api/admission/pod_security/plugin.py": "where the templates of workloads are",
    "cluster/api/admission/quota/evaluators.py": "old names in quotas",
    "cluster/api/admission/quota/resource_quota.py": "what quotas count in their own way, or not",
    "cluster/api/endpoints/access/authentication_reviews.py": "what a token can be bound to",
    "cluster/api/authorization/node_authorizer.py": "functions",
    "cluster/api/versions/conversions.py": "functions",
    "cluster/api/versions/device_versions.py": "where the fields stand that differ in a version",
    "cluster/api/endpoints/decoding/sent_objects.py": "free parts of which the text counts",
    "cluster/api/admission/chain.py": "names of plugins",
    "cluster/api/preconditions.py": "keys in etcd that differ from the name",
    "cluster/api/strategies/preparation.py": "functions",
    "cluster/api/endpoints/kinds/subresources.py": "functions",
    "cli/recorded/run_step.py": "the texts of some kinds",
    "cli/recorded/run_show.py": "the sections of a page",
    "scheduler/columns/affinity/selectors.py": "owners that upstream reads",
    "simulation/files/unrendered.py": "the kinds of gates that change decisions",
    "simulation/files/record.py": "what a record leaves out",
    "simulation/kss/live_results.py": "names of query parameters",
    "scheduler/machine/event_handlers.py": "what the scheduler watches",
    "apimachinery/patching/object_types.py": "fields that upstream's strategies reset",
    "online/sync/mirror.py": "of which kinds a cluster has objects from its start",
    "online/sync/settlement.py": "functions",
    "online/sync/source_kinds.py": "what kube-scheduler-simulator imports, in its order",
    "online/sync/target.py": "on what objects others depend",
    "simulation/capacity/stand_ins.py": "functions",
    "simulation/world/traces/trace_changes.py": "what an anonymized trace keeps of these kinds",
    "simulation/world/inputs/event_lines.py": "what the controllers of a simulation create",
}
"""The modules that list kinds, and what they say about them that is no fact of the API."""


@cache
def kinds_and_resources() -> set[str | None]:
    """Return the names in the table of kinds."""
    table = json.loads((SOURCE / "apimachinery/schema/table.json").read_text(encoding="utf-8"))
    rows = table["kinds"].values()
    return {row["kind"] for row in rows} | {row.get("resource") for row in rows}


def kinds_listed(path: Path) -> Iterator[str]:
    """Yield the literals of a module that name three kinds or resources or more."""
    known = kinds_and_resources()
    for node in nodes_of(path):
        if not isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
            continue
        parts = [*node.keys, *node.values] if isinstance(node, ast.Dict) else node.elts
        items = [
            item
            for part in parts
            for item in (part.elts if isinstance(part, ast.Tuple | ast.List) else [part])
        ]
        named = {item.value for item in items if isinstance(item, ast.Constant)} & known
        if len(named) > 2:
            yield f"{shown(path)}:{node.lineno}: {', '.join(sorted(map(str, named)))}"


def test_lists_of_kinds_come_from_the_table() -> None:
    """A kind is added by data only: no other room lists kinds, unless it has a reason."""
    found = {}
    for path in sources():
        place = path.relative_to(SOURCE).as_posix()
        # A face lists names that it exports.
        if not place.startswith("apimachinery/schema/") and path.name != "__init__.py":
            found[place] = list(kinds_listed(path))
    new = [line for place, lines in found.items() for line in lines if place not in KINDS_BY_HAND]
    assert not new, new
    assert not [place for place in KINDS_BY_HAND if not found.get(place)], "a reason is not needed"

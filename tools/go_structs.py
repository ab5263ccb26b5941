"""Go's types of the fields of upstream's API structs, read from their sources.

Kept are the fields whose type OpenAPI does not tell (`v1.Protocol`, `types.UID`), those of embedded
structs, which Go's decoder names in its errors, and the lists, maps and pointers without
`omitempty`.
"""

import re
from collections.abc import Iterator
from pathlib import Path

Facts = dict[str, dict[str, str]]
"""Facts as the table has them, by type and field: `null go=[]v1.Volume in=VolumeSource`."""

_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^\t(?:(\w+)\s+)?(\*?[\w.\[\]*{} ]+?)\s+`json:"([^"]*)"', re.MULTILINE)
_MODULES = {
    "meta": "apimachinery@*/pkg/apis/meta",
    "apiextensions": "apiextensions-apiserver@*/pkg/apis/apiextensions",
    "apiregistration": "kube-aggregator@*/pkg/apis/apiregistration",
}
_SCALARS = {
    "double": "float64", "quantity": "resource.Quantity", "any": "interface {}",
    "time": "v1.Time", "micro-time": "v1.MicroTime", "bytes": "[]uint8",
    "int-or-string": "intstr.IntOrString",
}  # fmt: skip
_PREDECLARED = {"string", "int", "int32", "int64", "bool", "float64", "byte", "uint32"}


class Structs:
    """The structs of the modules in a folder, such as `$(go env GOMODCACHE)/k8s.io`."""

    def __init__(self, modules: Path) -> None:
        self._modules = modules
        self._folders: dict[str, dict[str, list[tuple[str, str, str]]]] = {}

    def facts(self, types: dict[str, dict[str, str]]) -> Facts:
        """Return the facts that do not follow from the types of the table."""
        facts: Facts = {}
        for name, fields in types.items():
            if name.count(".") != 2:
                continue
            for field, declared, embedded, omits_empty in self._fields(name):
                if field not in fields:
                    continue
                is_nil = fields[field][0] in "[{" or fields[field].startswith("bytes")
                is_null = (is_nil or declared.startswith("*")) and not omits_empty
                go_type = declared.lstrip("*")
                fact = ["null"] if is_null else []
                fact += [f"go={go_type}"] if go_type != go_type_of(fields[field]) else []
                fact += [f"in={'.'.join(embedded)}"] if embedded else []
                if fact:
                    facts.setdefault(name, {})[field] = " ".join(fact)
        return facts

    def _fields(
        self, name: str, embedded: tuple[str, ...] = ()
    ) -> Iterator[tuple[str, str, tuple[str, ...], bool]]:
        group, version, struct = name.split(".")
        for go_name, go_type, tag in self._of_folder(group, version).get(struct, ()):
            field, _, options = tag.partition(",")
            if go_name:
                pointer = "*" if go_type.startswith("*") else ""
                qualified = _qualified(go_type, version)
                yield field, pointer + qualified, embedded, "omit" in options
            elif not field:
                inner = go_type.lstrip("*").rpartition(".")[2]
                if inner != "TypeMeta":
                    yield from self._fields(f"{group}.{version}.{inner}", (*embedded, inner))

    def _of_folder(self, group: str, version: str) -> dict[str, list[tuple[str, str, str]]]:
        place = f"{_MODULES.get(group, f'api@*/{group}')}/{version}"
        if place not in self._folders:
            sources = sorted(self._modules.glob(f"{place}/*types*.go"))
            self._folders[place] = {
                found[1]: _FIELD.findall(found[2])
                for source in sources
                for found in _STRUCT.finditer(source.read_text(encoding="utf-8"))
            }
        return self._folders[place]


def go_type_of(field: str) -> str:
    """Return the Go type that follows from a field of the table."""

    def of(text: str) -> str:
        if text[0] == "[":
            return "[]" + of(text[1:-1])
        if text[0] == "{":
            return "map[string]" + of(text[1:-1])
        return ".".join(text.split(".")[1:]) or _SCALARS.get(text, text)

    return of(field.partition(" ")[0])


def _qualified(go_type: str, version: str) -> str:
    """Return a type as Go prints it: with the package that defines it, without the pointer."""
    go_type = go_type.strip().lstrip("*")
    if go_type == "[]byte":
        return "[]uint8"
    if go_type.startswith("[]"):
        return "[]" + _qualified(go_type[2:], version)
    if found := re.fullmatch(r"map\[([^\]]+)\](.*)", go_type):
        return f"map[{_qualified(found[1], version)}]{_qualified(found[2], version)}"
    if go_type in _PREDECLARED:
        return go_type
    package, _, name = go_type.rpartition(".")
    return f"{'v1' if package.endswith('v1') else package or version}.{name}"

"""Generate the table of the room `schema` from upstream's OpenAPI and protobuf descriptions.

``python tools/schema_table.py``            writes src/podwright/apimachinery/schema/table.json
``python tools/schema_table.py --trim DIR --go MODULES`` first renews tools/schema/upstream.json.gz

MODULES holds the modules of Kubernetes, as ``$(go env GOMODCACHE)/k8s.io`` does. DIR holds
``openapi/*.json.gz`` (the OpenAPI v3 documents and the aggregated discovery of a kube-apiserver)
and ``protobuf/fields.json.gz`` (message, number, field, type). Only the facts that the table needs
are kept: no paths and no descriptions. ``tools/schema/completions.toml`` has the
facts on which OpenAPI is silent; it is written by hand.

The format of the table is described in src/podwright/apimachinery/schema/table.py.
"""

import argparse
import gzip
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from go_structs import Structs

HERE = Path(__file__).parent / "schema"
UPSTREAM = HERE / "upstream.json.gz"
COMPLETIONS = HERE / "completions.toml"
TABLE = Path(__file__).parents[1] / "src/podwright/apimachinery/schema/table.json"

PACKAGES = {
    "io.k8s.api.": "",
    "io.k8s.apimachinery.pkg.apis.": "",
    "io.k8s.apiextensions-apiserver.pkg.apis.": "",
    "io.k8s.kube-aggregator.pkg.apis.": "",
}
SCALARS = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "micro-time",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
}
PLAIN = {
    ("integer", "int32"): "int32",
    ("integer", "int64"): "int64",
    ("number", "double"): "double",
    ("boolean", ""): "bool",
    ("string", ""): "string",
    ("string", "byte"): "bytes",
}
NOT_A_KIND = {"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "DeleteOptions",
              "Status", "WatchEvent"}  # fmt: skip
FLAGS = {"x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
         "x-kubernetes-patch-merge-key", "x-kubernetes-patch-strategy"}  # fmt: skip
KEPT = {"type", "format", "enum", "default", "required", "x-kubernetes-unions",
        "x-kubernetes-group-version-kind", *FLAGS}  # fmt: skip


# ------------------------------------------------------------------------------ inputs


def read_gzip(path: Path) -> Any:
    """Return the JSON of a compressed file."""
    return json.loads(gzip.decompress(path.read_bytes()))


def trimmed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of one OpenAPI schema."""
    kept: dict[str, Any] = {key: value for key, value in schema.items() if key in KEPT}
    if "properties" in schema:
        kept["properties"] = {key: trimmed(one) for key, one in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            kept[key] = trimmed(schema[key])
    (ref,) = [one["$ref"] for one in (schema, *schema.get("allOf", ())) if "$ref" in one] or [""]
    if ref:
        kept["ref"] = ref.rpartition("/")[2]
    return kept


def trim(source: Path, modules: Path) -> None:
    """Write the generator's input from upstream's documents and the sources of its structs."""
    schemas: dict[str, Any] = {}
    for path in sorted((source / "openapi").glob("api*_v*.json.gz")):
        for name, schema in read_gzip(path)["components"]["schemas"].items():
            schemas[name] = trimmed(schema)
    groups = []
    for name in ("discovery_aggregated_api", "discovery_aggregated_apis"):
        for group in read_gzip(source / f"openapi/{name}.json.gz")["items"]:
            versions = [
                {"version": version["version"], "resources": version["resources"]}
                for version in group["versions"]
            ]
            groups.append({"group": group["metadata"].get("name", ""), "versions": versions})
    messages = read_gzip(source / "protobuf/fields.json.gz")
    numbers = {
        name: numbers_of(message_of(name), messages, set(map(folded, schema["properties"])))
        for name, schema in schemas.items()
        if message_of(name) in messages and "properties" in schema
    }
    document = {"schemas": schemas, "groups": groups, "numbers": numbers}
    document["go"] = Structs(modules).facts(types_of(document, {}))
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    UPSTREAM.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{UPSTREAM.name}: {UPSTREAM.stat().st_size:,} bytes, {len(schemas)} schemas")


def numbers_of(message: str, messages: dict[str, Any], fields: set[str]) -> dict[str, str]:
    """Return the numbers of the fields of a message, by folded name.

    Go embeds structs, which JSON flattens and protobuf does not: field 5 of the message that is
    field 2 has the number 2.5. An embedded struct is a field that JSON does not have.
    """
    own: dict[str, str] = {}
    embedded: dict[str, str] = {}
    for number, (name, kind, *_) in sorted(messages[message].items(), key=lambda one: int(one[0])):
        own[folded(name)] = number
        if folded(name) not in fields and kind in messages:
            for inner, inner_number in numbers_of(kind, messages, fields).items():
                embedded.setdefault(inner, f"{number}.{inner_number}")
    return embedded | own


def folded(name: str) -> str:
    """Return a field's name as it is the same in JSON and protobuf: `$ref` and `ref`."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def message_of(schema: str) -> str:
    """Return the protobuf message of a schema."""
    return schema.replace("io.k8s.", "k8s.io.", 1).replace("-", "_")


# ------------------------------------------------------------------------------- types


def short(name: str) -> str:
    """Return the name of a type in the table."""
    for prefix, replacement in PACKAGES.items():
        if name.startswith(prefix):
            return replacement + name.removeprefix(prefix)
    return name.removeprefix("io.k8s.")


def type_of(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    """Return the type expression of a field."""
    name = schema.get("ref", "")
    if name:
        if name in SCALARS:
            return SCALARS[name]
        target = schemas[name]
        if "properties" not in target:
            return "object" if target.get("type") == "object" else "any"
        return short(name)
    match schema.get("type"):
        case "array":
            return f"[{type_of(schema['items'], schemas)}]"
        case "object":
            return f"{{{type_of(schema['additionalProperties'], schemas)}}}"
        case str() as plain:
            return PLAIN[plain, schema.get("format", "")]
        case _:
            return "any"


def field_text(
    schema: dict[str, Any], number: str | None, *, is_required: bool, schemas: dict[str, Any]
) -> str:
    """Return one field as the table has it: its type, then its facts."""
    parts = [type_of(schema, schemas)]
    if number is not None:
        parts.append(number)
    if is_required:
        parts.append("required")
    if "default" in schema:
        # Go writes a field without omitempty also if it has its zero value.
        default = schema["default"]
        is_zero = default in ({}, "", 0, False)
        parts.append("zero" if is_zero else f"default={json.dumps(default)}")
    list_type = schema.get("x-kubernetes-list-type")
    if list_type == "map":
        parts.append(f"keys={','.join(schema['x-kubernetes-list-map-keys'])}")
    elif list_type:
        parts.append(list_type)
    if schema.get("x-kubernetes-map-type") in ("atomic", "granular"):
        parts.append(schema["x-kubernetes-map-type"])
    strategy = schema.get("x-kubernetes-patch-strategy", "").split(",")
    if "merge" in strategy:
        key = schema.get("x-kubernetes-patch-merge-key")
        parts.append(f"merge={key}" if key else "merge")
    if "retainKeys" in strategy:
        parts.append("retain-keys")
    if "replace" in strategy:
        parts.append("replace")
    values = schema.get("enum") or schema.get("items", {}).get("enum")
    if values:
        parts.append(f"enum={'|'.join(values)}")
    return " ".join(parts)


def types_of(upstream: dict[str, Any], completions: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return the fields of all types, in the order of the schemas."""
    schemas, numbers = upstream["schemas"], upstream["numbers"]
    extra = completions.get("types", {})
    types: dict[str, dict[str, str]] = {}
    for name, schema in sorted(schemas.items()):
        if "properties" not in schema or is_list(name, schemas):
            continue
        of_name = numbers.get(name, {})
        required = set(schema.get("required", ()))
        fields = {
            field: field_text(
                one, of_name.get(folded(field)), is_required=field in required, schemas=schemas
            )
            for field, one in sorted(schema["properties"].items())
        }
        if schema.get("x-kubernetes-map-type") == "atomic":
            fields["$atomic"] = "true"
        for facts_of in (upstream.get("go", {}).get(short(name), {}), extra.pop(short(name), {})):
            for field, facts in facts_of.items():
                fields[field] = with_facts(fields[field], facts)
        types[short(name)] = fields
    if extra:
        raise SystemExit(f"completions of types that do not exist: {', '.join(extra)}")
    added: dict[str, dict[str, str]] = completions.get("added", {}).get("types", {})
    return types | added


def with_facts(field: str, facts: str) -> str:
    """Return a field with more facts; `enum` stays the last."""
    before, enum, values = field.partition(" enum=")
    return f"{before} {facts}{enum}{values}"


def is_list(name: str, schemas: dict[str, Any]) -> bool:
    """Tell whether a schema is the list of another one."""
    return name.endswith("List") and "items" in schemas[name].get("properties", {})


def without_unused(types: dict[str, dict[str, str]], roots: list[str]) -> dict[str, dict[str, str]]:
    """Return the types that the kinds reach."""
    reached: set[str] = set()
    pending = list(roots)
    while pending:
        name = pending.pop()
        if name in reached:
            continue
        reached.add(name)
        for text in types[name].values():
            target = re.sub(r"[\[\]{}]", "", text.partition(" ")[0])
            if target in types:
                pending.append(target)
    return {name: fields for name, fields in types.items() if name in reached}


# ------------------------------------------------------------------------------- kinds


def kinds_of(upstream: dict[str, Any], completions: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the rows of all kinds, by `apiVersion/Kind`."""
    schemas = upstream["schemas"]
    type_names = {
        (one["group"], one["version"], one["kind"]): name
        for name, schema in sorted(schemas.items(), reverse=True)
        for one in schema.get("x-kubernetes-group-version-kind", ())
        if not is_list(name, schemas)
    }
    kinds: dict[str, dict[str, Any]] = {}
    served: set[tuple[str, str]] = set()
    for group in upstream["groups"]:
        for version in group["versions"]:
            served.add((group["group"], version["version"]))
            for resource in version["resources"]:
                row = row_of(group["group"], version["version"], resource)
                of_kind = (row["group"], row["version"], row["kind"])
                row["type"] = short(type_names[of_kind])
                kinds[key_of(*of_kind)] = row
    for of_kind, name in sorted(type_names.items()):
        key = key_of(*of_kind)
        if of_kind[:2] in served and key not in kinds and of_kind[2] not in NOT_A_KIND:
            kinds[key] = {
                "group": of_kind[0], "version": of_kind[1], "kind": of_kind[2],
                "type": short(name),
            }  # fmt: skip
    # Those of other servers, which upstream's documents do not have.
    kinds |= {
        key: dict(zip(("group", "version", "kind"), key.split("/"), strict=True)) | row
        for key, row in completions["added"]["kinds"].items()
    }
    complete(kinds, completions)
    return dict(sorted(kinds.items()))


def key_of(group: str, version: str, kind: str) -> str:
    """Return the key of a kind: `v1/Pod`, `apps/v1/Deployment`."""
    return "/".join(part for part in (group, version, kind) if part)


def row_of(group: str, version: str, resource: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of discovery about one resource."""
    row: dict[str, Any] = {
        "group": group,
        "version": version,
        "kind": resource["responseKind"]["kind"],
        "resource": resource["resource"],
        "singular": resource["singularResource"],
        "namespaced": resource["scope"] == "Namespaced",
        "verbs": resource["verbs"],
    }
    if resource.get("shortNames"):
        row["short_names"] = resource["shortNames"]
    if resource.get("categories"):
        row["categories"] = resource["categories"]
    subresources = {}
    for sub in resource.get("subresources", ()):
        answer = sub["responseKind"]
        where = key_of(answer["group"], answer["version"], answer["kind"])
        own = where in (row["kind"], key_of(group, version, row["kind"]))
        subresources[sub["subresource"]] = "" if own else where
    if subresources:
        row["subresources"] = subresources
    return row


def complete(kinds: dict[str, dict[str, Any]], completions: dict[str, Any]) -> None:
    """Add the completions to the rows of all versions of a kind."""
    for name, facts in completions.get("kinds", {}).items():
        group, _, kind = name.rpartition("/")
        rows = [row for row in kinds.values() if (row["group"], row["kind"]) == (group, kind)]
        if not rows:
            raise SystemExit(f"completions of a kind that does not exist: {name}")
        for row in rows:
            row.update(facts)
    for name, facts in completions.get("versions", {}).items():
        kinds[name].update(facts)
    shared = completions["columns"]
    for row in kinds.values():
        if "columns" in row:
            row["columns"] = [
                shared[each] if isinstance(each, str) else each for each in row["columns"]
            ]


# ------------------------------------------------------------------------------- table


def table() -> str:
    """Return the table as text: JSON, one line for each kind and type."""
    upstream = read_gzip(UPSTREAM)
    completions = tomllib.loads(COMPLETIONS.read_text(encoding="utf-8"))
    kinds = kinds_of(upstream, completions)
    types = without_unused(
        types_of(upstream, completions),
        [*(row["type"] for row in kinds.values()), "meta.v1.DeleteOptions", "meta.v1.Status"],
    )
    sections = {"kinds": kinds, "types": types, "unserved": completions["unserved"]}
    parts = []
    for name, rows in sections.items():
        lines = ",\n".join(
            f"{json.dumps(key)}:{json.dumps(row, separators=(',', ':'), ensure_ascii=False)}"
            for key, row in rows.items()
        )
        parts.append(f'"{name}":{{\n{lines}\n}}')
    return "{" + ",\n".join(parts) + "}\n"


def main() -> int:
    """Write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trim", type=Path, help="the folder of upstream's documents")
    parser.add_argument("--go", type=Path, help="the folder of the modules of Kubernetes")
    options = parser.parse_args()
    if (options.trim is None) != (options.go is None):
        parser.error("--trim and --go belong together")
    if options.trim:
        trim(options.trim, options.go)
    TABLE.write_text(table(), encoding="utf-8")
    print(f"{TABLE.name}: {TABLE.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

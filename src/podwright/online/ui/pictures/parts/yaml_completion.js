// Completes the fields of objects in a YAML editor, from the server's OpenAPI documents.

import { HttpSource } from "../data/http_source.js";

const INDEX = "/openapi/v3";
const documents = new Map();

/**
 * Adds completion to a CodeMirror editor.
 *
 * @param {*} editor the EditorView
 * @param {*} CM NiceGUI's modules of CodeMirror
 * @param {import("../data/source.js").Source} source
 */
export function addCompletion(editor, CM, source = new HttpSource()) {
  const complete = (context) => completionsAt(context, source);
  const data = CM.EditorState.languageData.of(() => [{ autocomplete: complete }]);
  editor.dispatch({ effects: CM.StateEffect.appendConfig.of(data) });
}

async function completionsAt(context, source) {
  const lines = context.state.doc.toString().slice(0, context.pos).split("\n");
  const found = fieldAt(lines);
  if (!found || (!found.partial && !context.explicit)) return null;
  const schemas = await schemasOf(source, found.apiVersion);
  const schema = schemas && propertiesAt(schemas, found);
  if (!schema) return null;
  return {
    from: context.pos - found.partial.length,
    options: Object.entries(schema).map(([label, property]) => ({
      label,
      type: "property",
      detail: typeText(property),
      info: property.description,
      apply: `${label}: `,
    })),
    validFor: /^[\w-]*$/,
  };
}

/**
 * Returns where the end of a text is: the object's kind, the path of the fields around, and what of
 * the next field is written; null if no field can be there.
 *
 * @param {string[]} lines
 * @returns {{apiVersion: string, kind: string, path: string[], partial: string} | null}
 */
export function fieldAt(lines) {
  const begin = lines.findLastIndex((line) => /^---(\s|$)/.test(line)) + 1;
  const last = /^(\s*(?:- )*)([\w-]*)$/.exec(lines.at(-1));
  if (!last) return null;
  let column = last[1].length;
  const path = [];
  for (let at = lines.length - 2; at >= begin; at--) {
    const key = /^(\s*(?:- )*)("?)([\w./-]+)\2:(\s|$)/.exec(lines[at]);
    if (!key || key[1].length >= column) continue;
    column = key[1].length;
    path.unshift(key[3]);
  }
  const value = (name) => {
    const line = lines.slice(begin).find((each) => each.startsWith(`${name}:`));
    return line ? line.slice(name.length + 1).trim() : "";
  };
  return { apiVersion: value("apiVersion"), kind: value("kind"), path, partial: last[2] };
}

async function schemasOf(source, apiVersion) {
  if (!apiVersion) return null;
  const key = apiVersion.includes("/") ? `apis/${apiVersion}` : `api/${apiVersion}`;
  if (!documents.has(key)) documents.set(key, load(source, key));
  try {
    return await documents.get(key);
  } catch {
    documents.delete(key); // the next completion tries again
    return null;
  }
}

async function load(source, key) {
  const { paths } = await source.get(INDEX);
  const path = paths[key]?.serverRelativeURL;
  return path ? (await source.get(path)).components.schemas : null;
}

/**
 * Returns the properties of the schema at a path.
 *
 * @param {Object<string, any>} schemas by name
 * @param {{apiVersion: string, kind: string, path: string[]}} field
 */
export function propertiesAt(schemas, { apiVersion, kind, path }) {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const isKind = (each) => each.kind === kind && each.group === group && each.version === version;
  let schema = Object.values(schemas).find((each) => each["x-kubernetes-group-version-kind"]?.some(isKind));
  for (const name of path) {
    schema = resolved(schemas, schema);
    schema = schema?.properties?.[name] ?? schema?.additionalProperties;
  }
  return resolved(schemas, schema)?.properties ?? null;
}

/** Follows references, and enters the items of a list. */
function resolved(schemas, schema) {
  let found = schema;
  for (;;) {
    if (!found || typeof found !== "object") return null;
    const reference = found.$ref ?? found.allOf?.[0]?.$ref;
    if (reference) found = schemas[reference.slice(reference.lastIndexOf("/") + 1)];
    else if (found.type === "array") found = found.items;
    else return found;
  }
}

function typeText(property) {
  const reference = property.$ref ?? property.allOf?.[0]?.$ref;
  if (property.type === "array") return `[]${typeText(property.items ?? {})}`;
  return reference ? reference.slice(reference.lastIndexOf(".") + 1) : (property.type ?? "");
}

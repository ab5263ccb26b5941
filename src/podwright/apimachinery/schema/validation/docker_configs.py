"""Validation of the credentials of registries in Secrets.

Upstream: pkg/apis/core/validation/validation.go, ValidateSecret
"""

from __future__ import annotations

import base64
from typing import Final

import msgspec

from podwright.apimachinery.objects import Document, go_json_error
from podwright.apimachinery.schema.validation.field_errors import FieldErrors

_KEYS: Final = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
_REDACTED: Final = "<secret contents redacted>"
_JSON_TYPES: Final = {list: "array", str: "string", int: "number", float: "number", bool: "bool"}


def validate_docker_config(errors: FieldErrors, secret: Document) -> None:
    """Check that a Secret with the credentials of registries has a JSON object."""
    key = _KEYS.get(secret.get("type") or "")
    if key is None:
        return
    path, data, texts = f"data[{key}]", secret.get("data") or {}, secret.get("stringData") or {}
    if key in texts:
        content = (texts[key] or "").encode()
    elif key in data:
        content = base64.b64decode(data[key] or "")
    else:
        errors.required(path)
        return
    content = content.decode(errors="replace").encode()  # as Go's decoder does
    try:
        found = msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        errors.invalid(path, _REDACTED, go_json_error(content, error))
        return
    if found is not None and not isinstance(found, dict):
        name = _JSON_TYPES[type(found)]
        text = f"json: cannot unmarshal {name} into Go value of type map[string]interface {{}}"
        errors.invalid(path, _REDACTED, text)

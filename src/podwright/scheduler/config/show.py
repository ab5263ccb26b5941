"""A configuration as a document, in the form that kube-scheduler's --write-config-to prints.

Keys are sorted, and durations are printed as in Go. The result of `set_defaults` shows every
default.
"""

from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from struct import pack, unpack
from typing import Annotated, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import fields

from podwright.apimachinery.objects import format_duration
from podwright.scheduler.config.defaults import EffectiveConfiguration
from podwright.scheduler.config.schema import (
    API_VERSION,
    KIND,
    Extender,
    ExtenderManagedResource,
    ExtenderTLSConfig,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    PluginConfig,
)

# Upstream omits the zero values of these structs only. It prints an absent filterTimeout as null.
_SPARSE = (Extender, ExtenderManagedResource, ExtenderTLSConfig)
_ALWAYS = frozenset({"urlPrefix", "httpTimeout", "name"})


def to_document(configuration: KubeSchedulerConfiguration) -> dict[str, object]:
    """Return a configuration as a plain document that `read_configuration` accepts."""
    document = _plain_struct(configuration)
    if not configuration.delay_cache_until_active:
        del document["delayCacheUntilActive"]
    return _sorted(document | {"apiVersion": API_VERSION, "kind": KIND})


def effective_document(configuration: EffectiveConfiguration) -> dict[str, object]:
    """Return a configuration with its defaults, without the plugins that classic rules ignore."""
    shown = configuration.configuration
    if configuration.rules_name == "classic":
        profiles = tuple(
            KubeSchedulerProfile(scheduler_name=profile.scheduler_name)
            for profile in shown.profiles
        )
        shown = msgspec.structs.replace(shown, profiles=profiles)
    return to_document(shown)


def args_to_document(args: object) -> object:
    """Return the arguments of a plugin as a plain document."""
    return _plain(args)


def _plain_struct(struct: msgspec.Struct) -> dict[str, object]:
    document: dict[str, object] = {}
    durations = _duration_fields(type(struct))
    for field in fields(struct):
        value = getattr(struct, field.name)
        name = field.encode_name
        is_zero = value is None or value in ((), b"")
        if isinstance(struct, _SPARSE) and name not in _ALWAYS:
            is_zero = not value
        if value is None and name == "filterTimeout":
            document[name] = None
        elif is_zero:
            continue
        elif isinstance(value, float):
            document[name] = _as_float32(value)
        else:
            document[name] = format_duration(value) if field.name in durations else _plain(value)
    if isinstance(struct, PluginConfig) and isinstance(struct.args, msgspec.Struct):
        kind = type(struct.args).__name__
        args = _plain_struct(struct.args) | {"apiVersion": API_VERSION, "kind": kind}
        document["args"] = _sorted(args)
    return _sorted(document)


def _plain(value: object) -> object:
    if isinstance(value, msgspec.Struct):
        # Structs of other rooms define which defaults they omit.
        ours = type(value).__module__ == Extender.__module__
        return _plain_struct(value) if ours else _without_empty(msgspec.to_builtins(value))
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return _sorted({name: _plain(item) for name, item in value.items()})
    return b64encode(value).decode() if isinstance(value, bytes) else value


def _without_empty(value: object) -> object:
    """Omit empty lists as Go does, except nodeSelectorTerms, which Go always prints."""
    if isinstance(value, Mapping):
        plain = {name: _without_empty(item) for name, item in value.items()}
        plain = {n: item for n, item in plain.items() if item != [] or n == _NODE_SELECTOR_TERMS}
        required = plain.get(_REQUIRED_AFFINITY)
        if isinstance(required, dict):
            required.setdefault(_NODE_SELECTOR_TERMS, None)
        return _sorted(plain)
    return [_without_empty(item) for item in value] if isinstance(value, list | tuple) else value


_NODE_SELECTOR_TERMS = "nodeSelectorTerms"
_REQUIRED_AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"


def _as_float32(value: float) -> float:
    """Return a number with the digits that Go prints for 32 bits."""
    (rounded,) = unpack("f", pack("f", value))
    texts = (f"{rounded:.{digits}g}" for digits in range(1, 10))
    return next(float(text) for text in texts if unpack("f", pack("f", float(text))) == (rounded,))


@cache
def _duration_fields(cls: type[msgspec.Struct]) -> frozenset[str]:
    hints = get_type_hints(cls, include_extras=True)
    return frozenset(
        name
        for name, hint in hints.items()
        for part in (hint, *get_args(hint))
        if get_origin(part) is Annotated
        for meta in part.__metadata__
        if isinstance(meta, msgspec.Meta) and (meta.extra or {}).get("format") == "duration"
    )


def _sorted(document: dict[str, object]) -> dict[str, object]:
    return dict(sorted(document.items()))

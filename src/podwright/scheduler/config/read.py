"""A KubeSchedulerConfiguration from text or from a document.

Decoding is strict, as in kube-scheduler: an unknown key, a duplicate key or a value of the wrong
type is an error, and all of them are reported together. `validation` checks the values.

Upstream: pkg/scheduler/apis/config/v1/conversion.go, cmd/kube-scheduler/app/options/configfile.go
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import cache
from struct import pack, unpack
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import fields

from podwright.apimachinery.documents import (
    decode,
    join,
    parse_document,
    problem,
    raise_errors,
    required,
)
from podwright.apimachinery.objects import FieldError, InputError, format_duration
from podwright.scheduler.config.defaults import EffectiveConfiguration
from podwright.scheduler.config.schema import (
    API_VERSION,
    ARGS_TYPES,
    KIND,
    Extender,
    ExtenderManagedResource,
    ExtenderTLSConfig,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
    PluginConfig,
)
from podwright.scheduler.config.validation import validate

# A configuration as a document, in the form that kube-scheduler's --write-config-to prints.
#
# Keys are sorted, and durations are printed as in Go. The result of `set_defaults` shows every
# default.

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


_GROUP = API_VERSION.partition("/")[0]


class PartialConfiguration(InputError):  # noqa: N818 - named for what it carries
    """Decoding errors, with the rest of the configuration.

    Parameters
    ----------
    errors : iterable of FieldError
        At least one.
    configuration : KubeSchedulerConfiguration
        The configuration without the fields in error, so that it can be validated, too.
    """

    def __init__(
        self, errors: Iterable[FieldError], configuration: KubeSchedulerConfiguration
    ) -> None:
        super().__init__(errors)
        self.configuration = configuration


def read_configuration(
    document: str | bytes | Mapping[str, object], *, source: str
) -> KubeSchedulerConfiguration:
    """Read a configuration as written, before defaulting and validation.

    Parameters
    ----------
    document : str, bytes or mapping
        YAML or JSON text, or the decoded document.
    source : str
        The source of the configuration, for errors.

    Raises
    ------
    PartialConfiguration
        If keys or values do not fit the schema; every error with its path.
    InputError
        If the text cannot be parsed, or apiVersion or kind are not those of a configuration.
    """
    errors: list[FieldError] = []
    parsed: object = document
    if isinstance(document, str | bytes):
        try:
            parsed = parse_document(document)
        except ValueError as error:
            raise_errors([problem("", str(error))], source=source)
    fields = _fields_of(parsed, errors)
    raise_errors(errors, source=source)
    configuration = _decode(fields, errors)
    try:
        raise_errors(errors, source=source)
    except InputError as error:
        raise PartialConfiguration(error.errors, configuration) from None
    return configuration


def _fields_of(document: object, errors: list[FieldError]) -> dict[str, object]:
    """Return the document without apiVersion and kind, after checking them."""
    if not isinstance(document, dict):
        errors.append(problem("", f"must be a {KIND}, not {_name_of(document)}"))
        return {}
    api_version, kind = document.get("apiVersion"), document.get("kind")
    if _is_malformed(api_version):
        errors.append(problem("", f"unexpected GroupVersion string: {api_version}"))
        return {}
    if not kind:
        errors.append(required("kind", f'must be "{KIND}"'))
    if not api_version:
        errors.append(required("apiVersion", f'must be "{API_VERSION}"'))
    fields = _without_type(document)
    if (kind, api_version) == (KIND, _INTERNAL_VERSION) and not fields:
        errors.extend(_of_empty_internal_version())
    elif kind and api_version and (kind, api_version) != (KIND, API_VERSION):
        errors.append(
            problem(
                "",
                f'no kind "{kind}" is registered for version "{api_version}"; '
                f'podwright reads {KIND} of "{API_VERSION}"{_way_there(document)}',
            )
        )
    return fields


def _way_there(document: dict[str, Any]) -> str:
    """Return what to do with an older version, and with a ConfigMap of a configuration."""
    if document["kind"] == KIND and str(document["apiVersion"]).startswith(f"{_GROUP}/"):
        return ", as kube-scheduler does since 1.29: change apiVersion, and check the rest"
    if document["kind"] == "Policy":
        return ": a Policy is for the v1.16 rules, with --policy or rules.policy"
    data = document.get("data")
    if document["kind"] == "ConfigMap" and isinstance(data, dict):
        keys = [key for key, text in data.items() if KIND in str(text)]
        if keys:
            return f": give the text of data.{keys[0]} as a separate file"
    return ""


_INTERNAL_VERSION = f"{_GROUP}/__internal"


def _of_empty_internal_version() -> list[FieldError]:
    """Return the errors of an empty configuration of the internal version, without defaults."""
    return validate(
        KubeSchedulerConfiguration(
            parallelism=0,
            leader_election=LeaderElection(leader_elect=False),
            pod_initial_backoff_seconds=0,
            pod_max_backoff_seconds=0,
        )
    )


def _decode(fields: dict[str, object], errors: list[FieldError]) -> KubeSchedulerConfiguration:
    if isinstance(fields.get("rules"), str):
        fields["rules"] = {"name": fields["rules"]}
    configuration = decode(fields, KubeSchedulerConfiguration, "", errors)
    profiles = tuple(
        msgspec.structs.replace(
            profile,
            plugin_config=tuple(
                _with_args(entry, f"profiles[{i}].pluginConfig[{j}].args", errors)
                for j, entry in enumerate(profile.plugin_config)
            ),
        )
        for i, profile in enumerate(configuration.profiles)
    )
    return msgspec.structs.replace(configuration, profiles=profiles)


def _with_args(entry: PluginConfig, path: str, errors: list[FieldError]) -> PluginConfig:
    """Decode the arguments of an in-tree plugin; leave others as they are."""
    cls = ARGS_TYPES.get(entry.name)
    if cls is None:
        return entry
    args = {} if entry.args is None else entry.args
    if isinstance(args, dict):
        expected = f"{entry.name}Args"
        kind, api_version = args.get("kind") or expected, args.get("apiVersion") or API_VERSION
        if _is_malformed(api_version):
            message = f"unexpected GroupVersion string: {api_version}"
            errors.append(problem(join(path, "apiVersion"), message))
            return msgspec.structs.replace(entry, args=cls())
        group = str(api_version).rpartition("/")[0]
        if group == _GROUP and kind != expected:
            message = f"args for plugin {entry.name} were not of type {expected}.{_GROUP}"
            errors.append(problem(path, f"{message}, got {kind}.{group}"))
            return msgspec.structs.replace(entry, args=cls())
        if api_version not in (API_VERSION, _INTERNAL_VERSION):
            message = f'no kind "{kind}" is registered for version "{api_version}"'
            errors.append(problem(join(path, "apiVersion"), message))
        args = _without_type(args)
    return msgspec.structs.replace(entry, args=decode(args, cls, path, errors))


def _is_malformed(api_version: object) -> bool:
    """Whether an apiVersion is not that of a group and a version.

    Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/schema/group_version.go, ParseGroupVersion
    """
    return isinstance(api_version, str) and api_version.count("/") > 1


def _without_type(document: dict[str, object]) -> dict[str, object]:
    """Leave out apiVersion and kind, and keep the record of duplicate keys."""
    rest = type(document)((k, v) for k, v in document.items() if k not in {"apiVersion", "kind"})
    if hasattr(document, "repeated"):
        rest.repeated = document.repeated  # type: ignore[attr-defined]  # a dict subclass has it
    return rest


def _name_of(value: object) -> str:
    names = {str: "a string", list: "a list", type(None): "an empty document"}
    return names.get(type(value), "a scalar")

"""A KubeSchedulerConfiguration from text or from a document.

Decoding is strict, as kube-scheduler's: an unknown key, a repeated key or a value of the
wrong type is an error, and all of them are reported together. What the values mean is
checked later, in `validation`.

Upstream: pkg/scheduler/apis/config/v1/conversion.go, cmd/kube-scheduler/app/options/configfile.go
"""

from collections.abc import Mapping

import msgspec

from podwright.config.document import decode, parse_document
from podwright.config.field import join, problem, raise_errors, required
from podwright.config.schema import (
    API_VERSION,
    ARGS_TYPES,
    KIND,
    KubeSchedulerConfiguration,
    PluginConfig,
)
from podwright.objects import FieldError

_GROUP = API_VERSION.partition("/")[0]


def read_configuration(
    document: str | bytes | Mapping[str, object], *, source: str
) -> KubeSchedulerConfiguration:
    """Read a configuration as written, before defaulting and validation.

    Parameters
    ----------
    document : str, bytes or mapping
        YAML or JSON text, or what a reader made of it.
    source : str
        Where it comes from; errors begin with it.

    Raises
    ------
    InputError
        The text cannot be read, apiVersion or kind are others, or keys and values do not
        fit the schema; every problem with its path.
    """
    errors: list[FieldError] = []
    parsed: object = document
    if isinstance(document, str | bytes):
        try:
            parsed = parse_document(document)
        except ValueError as error:
            raise_errors([problem("", str(error))], source=source)
    configuration = _decode(parsed, errors)
    raise_errors(errors, source=source)
    assert configuration is not None, "no errors, yet nothing was decoded"
    return configuration


def _decode(document: object, errors: list[FieldError]) -> KubeSchedulerConfiguration | None:
    if not isinstance(document, dict):
        errors.append(problem("", f"must be a {KIND}, not {_name_of(document)}"))
        return None
    api_version, kind = document.get("apiVersion"), document.get("kind")
    if not kind:
        errors.append(required("kind", f'must be "{KIND}"'))
    if not api_version:
        errors.append(required("apiVersion", f'must be "{API_VERSION}"'))
    if kind and api_version and (kind, api_version) != (KIND, API_VERSION):
        errors.append(
            problem(
                "",
                f'no kind "{kind}" is registered for version "{api_version}"; '
                f'podwright reads {KIND} of "{API_VERSION}"',
            )
        )
    if errors:
        return None
    plain = _without_type(document)
    if isinstance(plain.get("rules"), str):
        plain["rules"] = {"name": plain["rules"]}
    configuration = decode(plain, KubeSchedulerConfiguration, "", errors)
    if configuration is None:
        return None
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
    """Give an in-tree plugin's arguments their type; others stay what they are."""
    cls = ARGS_TYPES.get(entry.name)
    if cls is None:
        return entry
    args = {} if entry.args is None else entry.args
    if isinstance(args, dict):
        wanted = f"{entry.name}Args"
        kind, api_version = args.get("kind") or wanted, args.get("apiVersion") or API_VERSION
        group = str(api_version).rpartition("/")[0]
        if (kind, group) != (wanted, _GROUP):
            errors.append(
                problem(
                    path,
                    f"args for plugin {entry.name} were not of type {wanted}.{_GROUP}, "
                    f"got {kind}.{group}",
                )
            )
            return entry
        if api_version != API_VERSION:
            errors.append(
                problem(
                    join(path, "apiVersion"),
                    f'no kind "{kind}" is registered for version "{api_version}"',
                )
            )
        args = _without_type(args)
    decoded = decode(args, cls, path, errors)
    return msgspec.structs.replace(entry, args=decoded)


def _without_type(document: dict[str, object]) -> dict[str, object]:
    """Leave out apiVersion and kind, and keep what is known about repeated keys."""
    rest = type(document)((k, v) for k, v in document.items() if k not in {"apiVersion", "kind"})
    if hasattr(document, "repeated"):
        rest.repeated = document.repeated  # type: ignore[attr-defined]  # a dict subclass has it
    return rest


def _name_of(value: object) -> str:
    names = {str: "a string", list: "a list", type(None): "an empty document"}
    return names.get(type(value), "a scalar")

"""The configuration of kube-scheduler-simulator: a file, overridden by environment variables.

What podwright does not need is named, so that it is not silently ignored: podwright runs no etcd,
and serves the API itself.

Upstream: kube-scheduler-simulator simulator/config/config.go, simulator/config/v1alpha1/types.go
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from podwright.apimachinery.documents import decode, problem, read_document
from podwright.apimachinery.objects import (
    GO_BOOLEANS,
    FieldError,
    InputError,
    LabelSelector,
    SelectorError,
    label_selector,
    parse_int64,
)

API_VERSION: Final = "kube-scheduler-simulator-config/v1alpha1"
KIND: Final = "SimulatorConfiguration"

_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    "etcdURL": "podwright keeps the objects itself (--db)",
    "kubeApiHost": "the API is served on the loopback address",
    "kubeApiPort": "the port of the API is that of kubeApiServerUrl, or --port",
    "externalSchedulerEnabled": "use --no-scheduler for another scheduler",
}


class SimulatorConfiguration(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The configuration; see `read_simulator_configuration`.

    Attributes
    ----------
    port : int
        Of the HTTP API of kube-scheduler-simulator.
    kube_api_server_url : str
        Of the Kubernetes API.
    cors_allowed_origin_list : tuple of str
        Origins of pages that may use the HTTP API.
    kube_scheduler_config_path : str
        The file with the KubeSchedulerConfiguration; "" for the default one.
    kube_config : str
        The kubeconfig of the cluster that is imported or followed.
    resource_import_label_selector : LabelSelector, optional
        Which objects are imported.
    external_import_enabled, resource_sync_enabled, replay_enabled : bool
        Whether objects are imported once, followed, or replayed from `record_file_path`.
    """

    port: int = 0
    etcd_url: str = msgspec.field(default="", name="etcdURL")
    cors_allowed_origin_list: tuple[str, ...] = ()
    kube_config: str = ""
    kube_api_server_url: str = ""
    kube_api_host: str = ""
    kube_api_port: int = 0
    kube_scheduler_config_path: str = ""
    external_import_enabled: bool = False
    resource_import_label_selector: LabelSelector | None = None
    resource_sync_enabled: bool = False
    replay_enabled: bool = False
    record_file_path: str = ""
    external_scheduler_enabled: bool = False

    @property
    def selector(self) -> str:
        """The selector of labels as a query has it; "" for all objects.

        Raises
        ------
        SelectorError
        """
        given = self.resource_import_label_selector
        return "" if given is None else str(label_selector(given))

    @property
    def without_effect(self) -> Mapping[str, str]:
        """What was set without having an effect, and the reason."""
        present = msgspec.to_builtins(self)
        default = msgspec.to_builtins(SimulatorConfiguration())
        return {
            key: reason for key, reason in _WITHOUT_EFFECT.items() if present[key] != default[key]
        }


def read_simulator_configuration(
    text: str | bytes, environment: Mapping[str, str], *, source: str
) -> SimulatorConfiguration:
    """Read a SimulatorConfiguration, and override it by environment variables.

    Parameters
    ----------
    text : str or bytes
        YAML or JSON.
    environment : mapping of str to str
        Environment variables; others than the simulator's are not read.
    source : str
        The source of the text, for errors.

    Raises
    ------
    InputError
        Unknown keys, wrong types, values that are missing, or that exclude each other.
    """
    errors: list[FieldError] = []
    document = read_document(text, source=source)
    if not isinstance(document, dict):
        raise InputError.of(source, f"must be a {KIND}")
    written = (document.get("kind"), document.get("apiVersion"))
    if written != (KIND, API_VERSION):
        message = f"must be a {KIND} of {API_VERSION}, not {written[0]} of {written[1]}"
        raise InputError.of(source, message, "kind")
    fields = {key: value for key, value in document.items() if key not in ("kind", "apiVersion")}
    found = decode(fields, SimulatorConfiguration, "", errors)
    found = _overridden(found, environment)
    errors += _validated(found)
    if errors:
        raise InputError([msgspec.structs.replace(each, source=source) for each in errors])
    return found


def _overridden(
    given: SimulatorConfiguration, environment: Mapping[str, str]
) -> SimulatorConfiguration:
    """Return the configuration with the values of the environment; wrong ones are not used."""
    values: dict[str, object] = {}
    port = parse_int64(environment.get("PORT", ""))
    if port is not None:
        values["port"] = port
    for name, field in (
        ("KUBE_SCHEDULER_SIMULATOR_ETCD_URL", "etcd_url"),
        ("KUBE_APISERVER_URL", "kube_api_server_url"),
        ("KUBE_SCHEDULER_CONFIG_PATH", "kube_scheduler_config_path"),
        ("RECORD_FILE_PATH", "record_file_path"),
    ):
        if environment.get(name):
            values[field] = environment[name]
    for name, field in (
        ("EXTERNAL_IMPORT_ENABLED", "external_import_enabled"),
        ("RESOURCE_SYNC_ENABLED", "resource_sync_enabled"),
        ("REPLAYER_ENABLED", "replay_enabled"),
    ):
        if environment.get(name):
            values[field] = GO_BOOLEANS.get(environment[name], False)
    origins = [each.strip() for each in environment.get("CORS_ALLOWED_ORIGIN_LIST", "").split(",")]
    if all(map(_is_url, origins)):
        values["cors_allowed_origin_list"] = tuple(origins)
    return msgspec.structs.replace(given, **values)


def _validated(given: SimulatorConfiguration) -> list[FieldError]:
    found: list[FieldError] = []
    required = {
        "port": given.port,
        "etcdURL": given.etcd_url,
        "kubeApiServerUrl": given.kube_api_server_url,
    }
    found += [problem(key, "Required value") for key, value in required.items() if not value]
    for index, origin in enumerate(given.cors_allowed_origin_list):
        if not _is_url(origin):
            path = f"corsAllowedOriginList[{index}]"
            found.append(problem(path, f"Invalid value: {origin!r}: must be a URL"))
    sources = {
        "externalImportEnabled": given.external_import_enabled,
        "resourceSyncEnabled": given.resource_sync_enabled,
        "replayEnabled": given.replay_enabled,
    }
    enabled = [name for name, is_on in sources.items() if is_on]
    if len(enabled) > 1:
        names = " and ".join(enabled)
        found.append(problem(enabled[0], f"{names} cannot be used simultaneously"))
    if given.resource_import_label_selector is not None:
        try:
            label_selector(given.resource_import_label_selector)
        except SelectorError as error:
            found.append(problem("resourceImportLabelSelector", str(error)))
    if (given.external_import_enabled or given.resource_sync_enabled) and not given.kube_config:
        found.append(problem("kubeConfig", f"Required value: with {enabled[0]}"))
    return found


def _is_url(text: str) -> bool:
    """Whether Go's url.ParseRequestURI accepts a text, for origins."""
    return text.startswith("/") or _SCHEME.match(text) is not None

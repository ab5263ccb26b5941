"""Whether the TLS settings of extenders can be loaded, as kube-scheduler loads them at its start.

Files are read by a function of the caller; certificates are not parsed beyond their PEM markers.

Upstream: pkg/scheduler/extender.go, makeTransport;
staging/src/k8s.io/client-go/transport/transport.go, TLSConfigFor
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from podwright.apimachinery.documents import problem
from podwright.apimachinery.objects import FieldError
from podwright.scheduler.config.schema import Extender, ExtenderTLSConfig

ReadFile: TypeAlias = Callable[[str], bytes]
"""Returns the content of a file; raises OSError."""

_PEM = b"-----BEGIN "


def tls_errors(extenders: tuple[Extender, ...], read_file: ReadFile) -> Iterator[FieldError]:
    """Yield at most one error per extender."""
    for index, extender in enumerate(extenders):
        if extender.tls_config is not None:
            message = _error_of(extender, extender.tls_config, read_file)
            if message:
                path = f"extenders[{index}].tlsConfig"
                yield problem(path, f"couldn't build extenders: {message}")


def _error_of(extender: Extender, tls: ExtenderTLSConfig, read_file: ReadFile) -> str:
    has_ca = bool(tls.ca_data or tls.ca_file)
    has_cert = bool(tls.cert_data or tls.cert_file) and bool(tls.key_data or tls.key_file)
    is_insecure = tls.insecure or (extender.enable_https and not has_ca)
    if has_ca and is_insecure:
        return "specifying a root certificates file with the insecure flag is not allowed"
    if not (has_ca or has_cert or is_insecure or tls.server_name):
        return ""
    try:
        ca, cert, key = (
            data or (read_file(file) if file else b"")
            for data, file in (
                (tls.ca_data, tls.ca_file),
                (tls.cert_data, tls.cert_file),
                (tls.key_data, tls.key_file),
            )
        )
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return f"open {error.filename}: {reason}"
    if ca and _PEM not in ca:
        return "unable to load root certificates: unable to parse bytes as PEM block"
    if has_cert and _PEM not in cert:
        return "tls: failed to find any PEM data in certificate input"
    if has_cert and _PEM not in key:
        return "tls: failed to find any PEM data in key input"
    return ""

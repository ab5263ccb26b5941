"""Validation of label keys, label values and DNS subdomains.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go
"""

from __future__ import annotations

import re

_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_QUALIFIED_NAME = re.compile(_NAME, re.ASCII)
_LABEL_VALUE = re.compile(f"({_NAME})?", re.ASCII)
_SUBDOMAIN_TEXT = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_SUBDOMAIN = re.compile(_SUBDOMAIN_TEXT, re.ASCII)
_SHORT_KEY = re.compile(f"({_SUBDOMAIN_TEXT}/)?{_NAME}", re.ASCII)


def label_value_errors(value: str) -> list[str]:
    """Return the errors of a label value; empty if it is valid."""
    if len(value) <= 63 and _LABEL_VALUE.fullmatch(value):
        return []
    errors = []
    if len(value.encode()) > 63:
        errors.append("must be no more than 63 bytes")
    if not _LABEL_VALUE.fullmatch(value):
        errors.append(
            "a valid label must be an empty string or consist of alphanumeric characters, "
            "'-', '_' or '.', and must start and end with an alphanumeric character "
            "(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
            f"'({_NAME})?')"
        )
    return errors


def label_key_errors(key: str) -> list[str]:
    """Return the errors of a label key (a qualified name); empty if it is valid."""
    # Nearly all keys: so short that prefix and name are short enough, too.
    if len(key) <= 63 and _SHORT_KEY.fullmatch(key):
        return []
    errors = []
    prefix, slash, name = key.rpartition("/")
    if slash:
        if "/" in prefix:
            return [
                "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and "
                "must start and end with an alphanumeric character (e.g. 'MyName',  or "
                f"'my.name',  or '123-abc', regex used for validation is '{_NAME}') with an "
                "optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ]
        if not prefix:
            errors.append("prefix part must be non-empty")
        else:
            errors += [f"prefix part {error}" for error in subdomain_errors(prefix)]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        errors.append("name part must be no more than 63 bytes")
    if not _QUALIFIED_NAME.fullmatch(name):
        errors.append(
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start "
            "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
            f"'123-abc', regex used for validation is '{_NAME}')"
        )
    return errors


def subdomain_errors(name: str) -> list[str]:
    """Return the errors of a DNS subdomain (RFC 1123); empty if it is valid."""
    errors = []
    if len(name.encode()) > 253:
        errors.append("must be no more than 253 bytes")
    if not _SUBDOMAIN.fullmatch(name):
        errors.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'-' or '.', and must start and end with an alphanumeric character (e.g. "
            f"'example.com', regex used for validation is '{_SUBDOMAIN_TEXT}')"
        )
    return errors

"""The annotations that define how long a pod runs and how it ends; see `annotation_stages`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

RUN_DELAY: Final = "pod-complete.stage.kwok.x-k8s.io/delay"
RUN_JITTER: Final = "pod-complete.stage.kwok.x-k8s.io/jitter-delay"
EXIT_CODE: Final = "pod-complete.stage.kwok.x-k8s.io/exit-code"
STOP_DELAY: Final = "pod-delete.stage.kwok.x-k8s.io/delay"
DELETION_TIME: Final = "alibabacloud.com/deletion-time"

_EXIT_CODE_MAX: Final = 255


def read_exit_code(annotations: Mapping[str, str]) -> int:
    """Return the exit code of a pod's containers.

    Raises
    ------
    ValueError
        The annotation is not a number below 256.
    """
    text = annotations.get(EXIT_CODE, "0")
    if not (text.isascii() and text.isdigit() and int(text) <= _EXIT_CODE_MAX):
        raise ValueError(f'{EXIT_CODE}: invalid exit code "{text}": must be a number below 256')
    return int(text)

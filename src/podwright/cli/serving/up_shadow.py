"""`podwright up --shadow`: compares the decisions of another scheduler with podwright's."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from podwright._private_files import make_private_folder, write_private
from podwright.cli.clusters.shadow_run import RECORD, print_agreement
from podwright.cli.console import print_message
from podwright.cli.inputs import Inputs
from podwright.online.apiserver import ShadowFeed, UnwritableRecord
from podwright.simulation.shadow import LiveShadow

AGREEMENT: Final = "agreement.json"
"""The file of a shadow's folder that has the result, as `podwright shadow -o json` prints it."""


def record_in(folder: Path) -> Path:
    """Return the path of the record in a folder, which is created.

    Raises
    ------
    UnwritableRecord
        If the folder cannot be created, or has a record.
    """
    try:
        make_private_folder(folder)
    except OSError as error:
        raise UnwritableRecord(f"{folder}: cannot be created: {error.strerror or error}") from error
    path = folder / RECORD
    if path.exists():
        raise UnwritableRecord(f"{folder}: has a record already; name another folder with --shadow")
    return path


def shadow_feed(inputs: Inputs) -> ShadowFeed:
    """Return the comparison with the scheduler of the command line's configuration.

    Raises
    ------
    InputError
        If the configuration depends on something that is not in the record.
    """
    shadow = LiveShadow(
        configuration=inputs.configuration,
        gates=inputs.gates,
        plugins=inputs.plugins,
        source=inputs.source,
    )
    return ShadowFeed(shadow)


def write_agreement(folder: Path, feed: ShadowFeed) -> None:
    """Print the agreement, and write it into the folder.

    Raises
    ------
    UnwritableRecord
        If the file cannot be written.
    """
    report = feed.finish()
    print_agreement(report)
    path = folder / AGREEMENT
    try:
        write_private(path, msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    except OSError as error:
        raise UnwritableRecord(f"{path}: cannot be written: {error.strerror or error}") from error
    print_message(f"{path} has the agreement; podwright shadow {folder} compares it again")

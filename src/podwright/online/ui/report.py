"""A report: one HTML file with the elements of the page and the data of a run.

It opens without a server and without a network: its policy forbids both.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

import msgspec

from podwright.online.ui.bundle import PICTURES, bundled

REPORT_MAX_BYTES: Final = 64 << 20
"""The size at which browsers still open a report within seconds."""

_POLICY: Final = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"


class ReportData(msgspec.Struct, frozen=True, kw_only=True):
    """The data of a report.

    Attributes
    ----------
    title : str
        The run.
    timeline : bytes
        Its timeline, in the bytes of docs/reference/timeline.md.
    labels : dict of str to dict
        The labels of nodes.
    replies : dict of str to dict
        The documents that the elements get, by path of the HTTP API.
    results : dict, optional
        The results of a run that has finished, as in its summary.json.
    """

    title: str
    timeline: bytes
    labels: Mapping[str, Mapping[str, str]]
    replies: Mapping[str, Any]
    results: Mapping[str, Any] | None = None


def report_html(data: ReportData) -> bytes:
    """Return the report as HTML."""
    # The same run makes the same bytes, so the header of gzip has no time.
    timeline = base64.b64encode(gzip.compress(data.timeline, mtime=0)).decode()
    document = {
        "title": data.title,
        "labels": data.labels,
        "replies": data.replies,
        "results": data.results,
        "timeline": timeline,
    }
    # "<" would end the script element that has the data.
    content = msgspec.json.encode(document).replace(b"<", b"\\u003c")
    style = (PICTURES / "base.css").read_text(encoding="utf-8")
    head = _lines(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{escape(data.title)} · podwright</title>",
            f"<style>{style}</style>",
            '<script type="application/json" id="pw-data">',
        ]
    )
    tail = _lines(
        [
            "</script>",
            "<pw-report></pw-report>",
            f'<script type="module">\n{bundled("elements/pw-report")}\n</script>',
            "</html>",
        ]
    )
    return head + content + tail


def _lines(lines: Sequence[str]) -> bytes:
    return "\n".join([*lines, ""]).encode()

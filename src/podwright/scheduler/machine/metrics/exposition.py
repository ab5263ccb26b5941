"""Metrics in the text exposition format of Prometheus, version 0.0.4.

Families are sorted by name, series by their labels, and labels by name as in upstream's library,
with `le` last.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podwright.scheduler.machine.metrics.metric_snapshot import Distribution, MetricsSnapshot, Value
from podwright.scheduler.machine.metrics.metric_table import METRIC_BY_NAME, Metric
from podwright.scheduler.queueing import SECOND_NS

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def render_text(snapshot: MetricsSnapshot) -> str:
    """Return the metrics of a snapshot as text; "" for an empty snapshot."""
    lines: list[str] = []
    for family in snapshot.families:
        metric = METRIC_BY_NAME[family.name]
        stability = f"[{metric.stability}] " if metric.stability else ""
        lines.append(f"# HELP {metric.name} {_escape_help(stability + metric.help)}")
        lines.append(f"# TYPE {metric.name} {metric.kind}")
        for series in family.series:
            if isinstance(series, Distribution):
                lines += _histogram_lines(metric, series)
            else:
                lines.append(_value_line(metric, series))
    return "".join([f"{line}\n" for line in lines])


def _value_line(metric: Metric, series: Value) -> str:
    return f"{metric.name}{_labels(metric, series.labels)} {_number(series.value)}"


def _histogram_lines(metric: Metric, series: Distribution) -> Iterator[str]:
    count = 0
    for bound, in_bucket in zip((*metric.bounds, None), series.counts, strict=True):
        count += in_bucket
        limit = "+Inf" if bound is None else _number(bound)
        yield f"{metric.name}_bucket{_labels(metric, series.labels, limit)} {count}"
    labels = _labels(metric, series.labels)
    total = series.total / SECOND_NS if metric.is_duration else series.total
    yield f"{metric.name}_sum{labels} {_number(total)}"
    yield f"{metric.name}_count{labels} {count}"


def _labels(metric: Metric, values: tuple[str, ...], limit: str = "") -> str:
    pairs = sorted(zip(metric.labels, values, strict=True))
    if limit:
        pairs.append(("le", limit))
    if not pairs:
        return ""
    return "{" + ",".join([f'{name}="{_escape_value(value)}"' for name, value in pairs]) + "}"


def _number(value: float) -> str:
    """Return a number as upstream prints it: integers without a decimal point."""
    return repr(value).removesuffix(".0")


def _escape_help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _escape_value(text: str) -> str:
    return _escape_help(text).replace('"', '\\"')

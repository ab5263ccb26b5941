"""Reads files of test cases: all mistakes at once, each with its path.

Upstream: test/integration/scheduler_perf/scheduler_perf.go
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Final

import msgspec

from podwright.apimachinery.documents import (
    decode,
    duplicate,
    invalid,
    join,
    needed,
    not_supported,
    problem,
    read_document,
)
from podwright.apimachinery.objects import FieldError, InputError, collecting
from podwright.scheduler.config import (
    GATES,
    KubeSchedulerConfiguration,
    read_configuration,
)
from podwright.scheduler.machine import METRIC_BY_NAME
from podwright.simulation.files import read_bytes
from podwright.simulation.scheduler_perf.operations import OPCODES, Operation, with_params
from podwright.simulation.scheduler_perf.templates import ObjectTemplate

Read = Callable[[str], bytes]

THROUGHPUT: Final = "SchedulingThroughput"
FEATURE_COUNT: Final = "numNodeDeclaredFeatures"
"""The parameter that upstream's test of NodeDeclaredFeatures reads, and no operation."""

EXTENSION_POINTS: Final = (
    "PreFilter", "Filter", "PreFilterExtensionAddPod", "PreFilterExtensionRemovePod", "PostFilter",
    "PreScore", "Score", "ScoreExtensionNormalize", "PreBind", "PreBindPreFlight", "Bind",
    "PostBind", "Reserve", "Unreserve", "Permit", "Sign",
)  # fmt: skip
PLUGINS: Final = (
    "PrioritySort", "DefaultBinder", "DefaultPreemption", "DynamicResources", "ImageLocality",
    "InterPodAffinity", "NodeAffinity", "NodeName", "NodePorts", "NodeResourcesBalancedAllocation",
    "NodeResourcesFit", "NodeUnschedulable", "NodeVolumeLimits", "PodTopologySpread",
    "SchedulingGates", "TaintToleration", "VolumeBinding", "VolumeRestrictions", "VolumeZone",
)  # fmt: skip

Labels = dict[str, str]
LabelFilter = dict[str, tuple[str, ...] | None]
"""The values of labels whose series are collected; None for all that occur."""


class _Entry(msgspec.Struct, frozen=True, rename="camel"):
    """A struct of the document."""


class LabelValues(_Entry, frozen=True, kw_only=True):
    """Values of a label whose series are collected."""

    label: str = ""
    values: tuple[str, ...] = ()


class MetricsCollectorConfig(_Entry, frozen=True, kw_only=True):
    """The histograms that are collected: by name none, one or several labels with values."""

    metrics: dict[str, LabelValues | tuple[LabelValues, ...] | None] = {}


class ThresholdMetricSelector(_Entry, frozen=True, kw_only=True):
    """The figure that a threshold is about.

    Attributes
    ----------
    name : str
    labels : dict of str to str
    data_bucket : str
    expect_lower : bool
        Whether the threshold is an upper bound.
    """

    name: str = ""
    labels: dict[str, str] = {}
    data_bucket: Annotated[str, needed()] = ""
    expect_lower: bool = False


class _WorkloadEntry(_Entry, frozen=True, kw_only=True):
    name: Annotated[str, needed()] = ""
    params: dict[str, Any] = {}
    labels: tuple[str, ...] = ()
    threshold: Any = None
    threshold_metric_selector: ThresholdMetricSelector | None = None
    feature_gates: dict[str, bool] = {}


class _CaseEntry(_Entry, frozen=True, kw_only=True):
    name: Annotated[str, needed()] = ""
    feature_gates: dict[str, bool] = {}
    metrics_collector_config: MetricsCollectorConfig | None = None
    workload_template: Annotated[tuple[Any, ...], needed()] = ()
    workloads: Annotated[tuple[_WorkloadEntry, ...], needed()] = ()
    scheduler_config_path: str = ""
    default_pod_template_path: str = ""
    labels: tuple[str, ...] = ()
    default_threshold_metric_selector: ThresholdMetricSelector | None = None


class PerfWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """A workload of a test case, with everything that it needs.

    Attributes
    ----------
    test_case, name : str
    labels : tuple of str
        Of the test case and the workload.
    gates : dict of str to bool
        Those that the file sets.
    declared_features : int
        How many features nodes declare.
    operations : tuple of Operation
        With the values of parameters.
    templates : dict of str to ObjectTemplate
        By path.
    default_pod_template : str
        Its path; "" for none.
    configuration : KubeSchedulerConfiguration, optional
    metrics : dict of str to LabelFilter
        The series that are collected, by histogram.
    topic : str
        Of its file.
    threshold : float
        0 for none.
    selector : ThresholdMetricSelector
    """

    test_case: str
    name: str
    labels: tuple[str, ...]
    gates: dict[str, bool]
    declared_features: int
    operations: tuple[Operation, ...]
    templates: dict[str, ObjectTemplate]
    default_pod_template: str
    configuration: KubeSchedulerConfiguration | None
    metrics: dict[str, LabelFilter]
    topic: str
    threshold: float
    selector: ThresholdMetricSelector

    def is_enabled(self, label_filter: str) -> bool:
        """Tell whether a filter selects the workload: labels it must have, or with - not have."""
        return all(
            (each.lstrip("+-") in self.labels) != each.startswith("-")
            for each in label_filter.split(",")
            if each
        )


def labels_match(labels: Labels, selector: Labels) -> bool:
    """Tell whether labels have all values of a selector."""
    return all(labels.get(name) == value for name, value in selector.items())


def load_test_cases(
    path: str, read: Read = read_bytes, *, topic: str = ""
) -> tuple[PerfWorkload, ...]:
    """Read a file of test cases, and the templates that it names, relative to its folder.

    Parameters
    ----------
    path : str
        A file like upstream's performance-config.yaml.
    read : callable
        Returns the content of a file.
    topic : str
        Selects among the thresholds of a workload.

    Raises
    ------
    InputError
        With all mistakes, each with its path.
    """
    written = read_document(read(path), source=path)
    reading = _Reading(posixpath.dirname(path), read, topic)
    found = tuple(reading.workloads(written))
    if reading.errors:
        raise InputError(
            error if error.source else msgspec.structs.replace(error, source=path)
            for error in reading.errors
        )
    return found


class _Reading:
    """The reading of one file."""

    def __init__(self, folder: str, read: Read, topic: str) -> None:
        self._folder = folder
        self._read = read
        self._topic = topic
        self._templates: dict[str, ObjectTemplate] = {}
        self.errors: list[FieldError] = []

    def workloads(self, written: object) -> Iterator[PerfWorkload]:
        if not isinstance(written, list) or not written:
            self.errors.append(problem("", "must be a list of test cases"))
            return
        names: set[str] = set()
        for index, entry in enumerate(written):
            path = f"[{index}]"
            case = decode(entry, _CaseEntry, path, self.errors)
            self._check_name(case.name, names, path)
            yield from self._case(case, path)

    def _check_name(self, name: str, names: set[str], path: str) -> None:
        if name in names:
            self.errors.append(duplicate(f"{path}.name", name))
        names.add(name or path)

    def _case(self, case: _CaseEntry, path: str) -> Iterator[PerfWorkload]:
        default, config = case.default_pod_template_path, case.scheduler_config_path
        if default:
            self._read_template(default, f"{path}.defaultPodTemplatePath")
        configuration = self._configuration(config) if config else None
        metrics = self._metrics(case.metrics_collector_config, path)
        names: set[str] = set()
        collects = not case.workloads
        for index, entry in enumerate(case.workloads):
            where = f"{path}.workloads[{index}]"
            self._check_name(entry.name, names, where)
            selector = entry.threshold_metric_selector or case.default_threshold_metric_selector
            selector = selector or ThresholdMetricSelector(name=THROUGHPUT, data_bucket="Average")
            self.errors += _selector_problems(selector, metrics, f"{where}.thresholdMetricSelector")
            operations = tuple(self._operations(case.workload_template, entry, path, where))
            collects = collects or not operations or any(each.collects for each in operations)
            yield PerfWorkload(
                test_case=case.name,
                name=entry.name,
                labels=(*case.labels, *entry.labels),
                gates=self._gates(case.feature_gates | entry.feature_gates, where),
                declared_features=self._feature_count(entry.params, where),
                operations=operations,
                templates=self._templates,
                default_pod_template=default,
                configuration=configuration,
                metrics=metrics,
                topic=self._topic,
                threshold=self._threshold(entry.threshold, f"{where}.threshold"),
                selector=selector,
            )
        if not collects:
            self.errors.append(problem(f"{path}.workloadTemplate", "no operation collects metrics"))

    def _operations(
        self, entries: Iterable[Any], workload: _WorkloadEntry, path: str, where: str
    ) -> Iterator[Operation]:
        """Yield the operations with the values of a workload's parameters."""
        used = {FEATURE_COUNT}
        for index, written in enumerate(entries):
            place = f"{path}.workloadTemplate[{index}]"
            opcode = str(written.get("opcode")) if isinstance(written, dict) else "None"
            if opcode not in OPCODES:
                self._add([not_supported(f"{place}.opcode", opcode, sorted(OPCODES))])
                continue
            errors: list[FieldError] = []
            document = with_params(written, workload.params, place, used, errors)
            operation = decode(document, OPCODES[opcode], place, errors)
            # Without parameters, the errors are those of all workloads.
            of = "" if document == written else f"workload {workload.name}: "
            self._add(msgspec.structs.replace(e, message=f"{of}{e.message}") for e in errors)
            for field, name in operation.paths():
                self._read_template(name, join(place, field))
            yield operation
        self._add(
            problem(f"{where}.params.{name}", "no operation has this parameter")
            for name in workload.params
            if name not in used
        )

    def _add(self, errors: Iterable[FieldError]) -> None:
        """Add errors, each of which several workloads may have, once."""
        self.errors += [error for error in errors if error not in self.errors]

    def _feature_count(self, params: dict[str, Any], where: str) -> int:
        written = params.get(FEATURE_COUNT, 0)
        if isinstance(written, int):
            return written
        self.errors.append(invalid(f"{where}.params.{FEATURE_COUNT}", written, "must be a number"))
        return 0

    def _gates(self, gates: dict[str, bool], where: str) -> dict[str, bool]:
        self.errors += [
            not_supported(f"{where}.featureGates", name, sorted(GATES))
            for name in gates
            if name not in GATES
        ]
        return gates

    def _threshold(self, written: Any, path: str) -> float:
        """Return the threshold of the topic, or of all others; 0 for none."""
        entries = written if isinstance(written, dict) else {"": written}
        found = {}
        for topic, value in entries.items():
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
                where = join(path, topic) if topic else path
                self.errors.append(invalid(where, value, "must be a number that is not negative"))
                continue
            found[topic] = float(value)
        return found.get(self._topic, found.get("", 0.0))

    def _read_template(self, name: str, path: str) -> None:
        where = posixpath.normpath(posixpath.join(self._folder, name))
        try:
            if name not in self._templates:
                self._templates[name] = ObjectTemplate(self._read(where), where)
        except InputError as error:
            self._add(problem(path, str(each)) for each in error.errors)
        except ValueError as error:
            self._add([problem(path, f"{where}: {error}")])

    def _configuration(self, name: str) -> KubeSchedulerConfiguration | None:
        where = posixpath.normpath(posixpath.join(self._folder, name))
        return collecting(
            self.errors, None, lambda: read_configuration(self._read(where), source=where)
        )

    def _metrics(self, config: MetricsCollectorConfig | None, path: str) -> dict[str, LabelFilter]:
        if config is None:
            return DEFAULT_METRICS
        found: dict[str, LabelFilter] = {}
        for name, written in config.metrics.items():
            where = f"{path}.metricsCollectorConfig.metrics.{name}"
            labels = (written,) if isinstance(written, LabelValues) else written or ()
            found[name] = {each.label: each.values for each in labels}
            known = METRIC_BY_NAME.get(name)
            if known is not None:
                self.errors += [
                    not_supported(where, each.label, known.labels)
                    for each in labels
                    if each.label not in known.labels
                ]
        return found


DEFAULT_METRICS: Final[dict[str, LabelFilter]] = {
    "scheduler_framework_extension_point_duration_seconds": {"extension_point": EXTENSION_POINTS},
    "scheduler_scheduling_attempt_duration_seconds": {
        "result": ("scheduled", "unschedulable", "error")
    },
    "scheduler_pod_scheduling_duration_seconds": {},
    "scheduler_plugin_execution_duration_seconds": {
        "plugin": PLUGINS,
        "extension_point": EXTENSION_POINTS,
    },
    "scheduler_queueing_hint_execution_duration_seconds": {"plugin": PLUGINS, "event": None},
    "scheduler_event_handling_duration_seconds": {"event": None},
}
"""What is collected if the file does not say it. Series without durations are left out."""


def _selector_problems(
    selector: ThresholdMetricSelector, metrics: dict[str, LabelFilter], path: str
) -> Iterator[FieldError]:
    if selector.name == THROUGHPUT:
        return
    if selector.name not in metrics:
        yield not_supported(f"{path}.name", selector.name, [THROUGHPUT, *metrics])
        return
    values = metrics[selector.name]
    if any(
        label not in values or not (values[label] is None or value in (values[label] or ()))
        for label, value in selector.labels.items()
    ):
        yield invalid(f"{path}.labels", selector.labels, "no series that is collected has them")

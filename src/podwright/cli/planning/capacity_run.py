"""`podwright capacity`: asks, and prints the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import typer

from podwright.apimachinery.documents import first_names
from podwright.apimachinery.objects import Object
from podwright.cli.console import print_message, write
from podwright.cli.options import reject_idle
from podwright.cli.planning.options import POOLS, CapacityOptions
from podwright.cli.planning.plan_inputs import (
    check_pools,
    planned_cluster,
    planned_pods,
    show_plan,
)
from podwright.cluster.controllers import expand
from podwright.cluster.store import kind_of
from podwright.simulation.capacity import (
    LOSSES,
    CapacityQuestion,
    LossOf,
    buy_nodes,
    capacity,
    capacity_report,
    capacity_review,
    pool_types,
    purchase_document,
    purchase_report,
    read_node_types,
    review_text,
)
from podwright.simulation.files import read_path


def run_capacity(options: CapacityOptions) -> bool:
    """Count how many more pods fit, and print it; return whether some do."""
    setup = options.setup
    if options.default_config is not None:
        if setup.config is not None:
            message = "cannot be combined with --config."
            raise typer.BadParameter(message, param_hint="'--default-config'")
        setup = replace(setup, config=options.default_config)
    pods, files = _pods_and_files(options)
    if options.buy:
        return _run_buy(replace(options, setup=setup), pods, files)
    question = CapacityQuestion(
        pods=planned_pods(pods, setup) if pods else (),
        ratio=_numbers(options.ratio),
        preemption=options.preemption,
        max_limit=options.max_limit,
        exclude_nodes=tuple(
            name for each in options.exclude_nodes for name in each.split(",") if name
        ),
        pool_label=options.pool_label,
        headroom=options.headroom,
        loss=tuple(map(_loss_of, options.loss)),
    )
    of = planned_cluster(files, options.cluster, setup)
    _warn_of_quotas(of.objects, question)
    with of.asking("scheduling", _OPTION_OF, pods):
        answer = capacity(
            of.objects,
            question,
            of.options,
            expands_workloads=False,
            call_extender=of.call_extender,
        )
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    review = capacity_review(answer, max_limit=options.max_limit, now=now)
    names = dict.fromkeys(name for each in answer.templates for name in each.nodes)
    if options.verbose:
        for line in review_text(review):
            write(line)
        answer = msgspec.structs.replace(answer, templates=(), stop=None)
    show_plan(capacity_report(answer, question), options, lambda: review, names)
    fits = not question.pods or answer.count > 0
    has_room = all(each.count for each in answer.headroom)
    return fits and has_room and not any(loss.pending for loss in answer.losses)


_OPTION_OF = {
    "ratio": "--ratio",
    "maxLimit": "--max-limit",
    "excludeNodes": "--exclude-nodes",
    "poolLabel": "--pool-label",
}


def _warn_of_quotas(objects: Sequence[Object], question: CapacityQuestion) -> None:
    """Warn of the quotas of the namespaces in which pods are counted."""
    namespaces = {pod.namespace for pod in question.pods}
    quotas = [
        quota.key
        for quota in objects
        if kind_of(quota) == ("", "ResourceQuota")
        and (question.headroom or quota.namespace in namespaces)
    ]
    if quotas:
        names = first_names(quotas)
        print_message(f"warning: quotas do not limit how many pods fit, only nodes do: {names}")


def _pods_and_files(options: CapacityOptions) -> tuple[str, tuple[str, ...]]:
    """Return the file of pods ("" for none), and the files of the cluster."""
    if options.podspec or options.headroom or options.loss or options.buy:
        return options.podspec, options.files
    if not options.files:
        raise typer.BadParameter(
            "give a file of pods, --podspec, --headroom, --loss or --buy.", param_hint="FILE"
        )
    return options.files[0], options.files[1:]


def _run_buy(options: CapacityOptions, pods: str, files: tuple[str, ...]) -> bool:
    """Find the cheapest nodes for pending pods, and print them; return whether all pods fit."""
    others = ("ratio", "max_limit", "preemption", "exclude_nodes", "headroom", "loss", "verbose")
    for name in others:
        if getattr(options, name):
            reject_idle(f"--{name.replace('_', '-')}", "with --buy", "it is another question")
    if options.pool_label and options.buy != POOLS:
        reject_idle("--pool-label", "with a file of types", "they are bought, not the pools")
    of = planned_cluster(files, options.cluster, options.setup)
    objects = of.objects
    if pods:
        load = list(planned_pods(pods, options.setup))
        objects += expand(load).with_objects(load)
    if options.buy == POOLS:
        check_pools(objects, options.pool_label, "--buy pools")
        types = pool_types(objects, options.pool_label)
    else:
        source, data = read_path(options.buy)
        types = read_node_types(data, source)
    with of.asking("scheduling", {}):
        found = buy_nodes(
            objects,
            types,
            of.options,
            pool_label=options.pool_label,
            expands_workloads=False,
            call_extender=of.call_extender,
        )
    show_plan(
        purchase_report(found, types),
        options,
        lambda: purchase_document(found, types),
        found.nodes,
    )
    return not found.unplaced


def _loss_of(text: str) -> LossOf:
    for each in LOSSES:
        if each == text:
            return each
    message = f'"{text}" is none of {", ".join(LOSSES)}.'
    raise typer.BadParameter(message, param_hint="'--loss'")


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",")) if text else ()
    except ValueError:
        message = f'"{text}" is not numbers, such as 3,1.'
        raise typer.BadParameter(message, param_hint="'--ratio'") from None

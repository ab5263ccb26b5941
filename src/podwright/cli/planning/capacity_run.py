"""`podwright capacity`: asks, and prints the answer."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeGuard

import typer

from podwright.apimachinery.objects import InputError
from podwright.cli.console import (
    print_data,
    print_message,
    print_paragraph,
    print_table,
    write,
)
from podwright.cli.options import reject_idle
from podwright.cli.planning.options import CapacityOptions
from podwright.cli.planning.plan_inputs import (
    planned_cluster,
    planned_pods,
    print_plan_table,
    write_report,
)
from podwright.cluster.controllers import expand
from podwright.simulation.capacity import (
    LOSSES,
    Capacity,
    CapacityQuestion,
    LossOf,
    NodePurchase,
    buy_nodes,
    capacity,
    capacity_html,
    capacity_review,
    capacity_tables,
    pool_types,
    purchase_document,
    read_node_types,
    review_text,
)
from podwright.simulation.files import read_paths

_SHOWN = 10


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
        loss=tuple(filter(_is_loss, options.loss)),
    )
    of = planned_cluster(files, options.cluster, setup)
    with of.asking("scheduling", _OPTION_OF, pods):
        answer = capacity(
            of.objects,
            question,
            of.options,
            expands_workloads=False,
            call_extender=of.call_extender,
        )
    if options.report is not None:
        write_report(options.report, capacity_html(answer))
    _print(answer, options)
    fits = answer.stop is None or answer.count > 0
    has_room = all(each.count for each in answer.headroom)
    return fits and has_room and not any(loss.pending for loss in answer.losses)


_OPTION_OF = {
    "ratio": "--ratio",
    "maxLimit": "--max-limit",
    "excludeNodes": "--exclude-nodes",
    "poolLabel": "--pool-label",
}


def _pods_and_files(options: CapacityOptions) -> tuple[str, tuple[str, ...]]:
    """Return the file of pods ("" for none), and the files of the cluster."""
    wrong = [each for each in options.loss if not _is_loss(each)]
    if wrong:
        message = f'"{wrong[0]}" is none of {", ".join(LOSSES)}.'
        raise typer.BadParameter(message, param_hint="'--loss'")
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
    for name in (*others, "report"):
        if getattr(options, name):
            reject_idle(f"--{name.replace('_', '-')}", "with --buy", "it has no meaning there")
    if options.pool_label and options.buy != "pools":
        reject_idle("--pool-label", "with a file of types", "they are bought, not the pools")
    of = planned_cluster(files, options.cluster, options.setup)
    objects = of.objects
    if pods:
        load = list(planned_pods(pods, options.setup))
        objects += expand(load).with_objects(load)
    if options.buy == "pools":
        types = pool_types(objects, options.pool_label)
        if not types:
            message = "no node has a label that names its pool; --pool-label names the label"
            raise InputError.of("--buy pools", message)
    else:
        ((source, data),) = read_paths([options.buy])
        types = read_node_types(data, source)
    with of.asking("scheduling", {}):
        found = buy_nodes(
            objects,
            types,
            of.options,
            expands_workloads=False,
            call_extender=of.call_extender,
        )
    if not print_data(options.output, lambda: purchase_document(found, types), found.nodes):
        _print_purchase(found, {each.name: each.price for each in types})
    return not found.unplaced


def _print_purchase(found: NodePurchase, prices: dict[str, float]) -> None:
    count = sum(found.nodes.values())
    print_paragraph(
        f"{count} node{'s' * (count != 1)} for {found.price:g}:"
        f" {found.scheduled} of {found.pending} pending pods have a node then."
    )
    why = "no cheaper mix fits" if found.is_cheapest else "cheaper mixes may fit"
    print_paragraph(
        f"The lower bound is {found.bound:g} ({found.gap:.1%} less); {why}"
        f" ({found.mixes} mix{'es' * (found.mixes != 1)} tried)."
    )
    if found.nodes:
        rows = [(n, str(c), f"{prices[n]:g}", f"{c * prices[n]:g}") for n, c in found.nodes.items()]
        print_table(("TYPE", "NODES", "PRICE", "TOTAL"), rows)
    for each in found.unplaced[:_SHOWN]:
        print_paragraph(f"{each.pod}: {each.message}", hanging=2)
    if len(found.unplaced) > _SHOWN:
        print_message(f"{len(found.unplaced) - _SHOWN} more are shown with -o json.")


def _is_loss(text: str) -> TypeGuard[LossOf]:
    return text in LOSSES


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",")) if text else ()
    except ValueError:
        message = f'"{text}" is not numbers, such as 3,1.'
        raise typer.BadParameter(message, param_hint="'--ratio'") from None


# ---------------------------------------------------------------- printing


def _print(answer: Capacity, options: CapacityOptions) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    review = capacity_review(answer, max_limit=options.max_limit, now=now)
    names = dict.fromkeys(name for each in answer.templates for name in each.nodes)
    is_verbose = options.verbose and options.output != "name"
    if not is_verbose and print_data(options.output, lambda: review, names):
        return
    tables, is_wide = capacity_tables(answer), options.output == "wide"
    for line in review_text(review) if is_verbose else ():
        write(line)
    if answer.templates and not is_verbose:
        _print_stop(answer)
        if is_wide:
            print_table(tables["nodes"].heads, tables["nodes"].rows)
        print_plan_table(tables["places"])
        print_plan_table(tables["stop"])
    print_plan_table(tables["headroom"])
    if options.headroom and not answer.headroom:
        print_paragraph("No workload of the cluster has pods on nodes.")
    losses, shown = tables["losses"], len(answer.losses) if is_wide else _SHOWN
    print_plan_table(losses._replace(rows=losses.rows[:shown]))
    if len(answer.losses) > shown:
        print_message(f"{len(answer.losses) - shown} more are shown with -o wide or -o json.")
    for each in answer.losses[:shown]:
        for one in each.pending[:1]:
            print_paragraph(f"{each.of} {each.name}: {one.pod}: {one.stop.message}", hanging=2)
    if options.loss and not answer.losses:
        print_paragraph(f"No node has a label that names its {' or '.join(options.loss)}.")


def _print_stop(answer: Capacity) -> None:
    stop = answer.stop
    assert stop is not None, "templates without a stop"
    what = " and ".join(f"{each.count} of {each.name}" for each in answer.templates)
    sets = f" ({answer.sets} sets)" if len(answer.templates) > 1 else ""
    nodes_text = f"{answer.node_count} node{'s' * (answer.node_count != 1)}"
    print_paragraph(f"{what} fit on {nodes_text}{sets}.")
    if answer.evicted:
        print_paragraph(f"{len(answer.evicted)} pods of lower priority are evicted.")
    pending = answer.pending_scheduled + answer.pending_unscheduled
    if pending:
        print_message(
            f"{answer.pending_scheduled} of {pending} pending pods of the cluster were scheduled"
            " before."
        )
    print_paragraph(f"{stop.type}: {stop.message}")
    if stop.nominated_node:
        names = ", ".join(stop.victims)
        print_paragraph(f"Preemption would evict {names} from {stop.nominated_node}: --preemption.")

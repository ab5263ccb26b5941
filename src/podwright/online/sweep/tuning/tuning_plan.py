"""The plan of a tuning: that of a sweep, with goals and a section `tune`.

The first configuration of the plan is the one that is tuned; the others are compared with the
result on held-out seeds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from podwright.apimachinery.documents import decode, forbidden, invalid, raise_errors, required
from podwright.apimachinery.objects import FieldError, PodwrightError
from podwright.online.sweep.figures_of_run import configuration_of, plugins_of
from podwright.online.sweep.goals import Constraint, Goal, read_constraint
from podwright.online.sweep.plan import (
    Files,
    PlanSource,
    SweepConfiguration,
    SweepPlan,
    document_of,
    effective_of,
    files_of,
    read_each,
    read_plan,
    seeds_of,
)
from podwright.online.sweep.tuning.search_space import (
    Parameter,
    check_parameters,
    read_parameters,
    with_values,
)
from podwright.scheduler.config import effective_document


class Search(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How trials are proposed.

    Parameters
    ----------
    trials : int
    batch : int
        Trials that run at the same time. The result depends on it, and not on the workers.
    sampler, pruner : str
        Those of Optuna; by default trials with one goal are pruned by the median.
    seed : int
        Of the sampler.
    """

    trials: int = 50
    batch: int = 1
    sampler: Literal["tpe", "nsga2", "random"] = "tpe"
    pruner: Literal["median", "halving", "none"] | None = None
    seed: int = 0


class TuningPlan(Search, frozen=True, kw_only=True):
    """A complete plan.

    Parameters
    ----------
    sweep : SweepPlan
        Its seeds are those of the trials, its goals those of the tuning.
    base : dict
        The configuration that is tuned, with all defaults.
    parameters : tuple of Parameter
    constraints : tuple of Constraint
        On the means of a trial.
    held_out : tuple of int
        The seeds of the evidence.
    dump : Files
        The cluster on which placements are compared; () is the first input.
    """

    sweep: SweepPlan
    base: dict[str, Any]
    parameters: tuple[Parameter, ...]
    constraints: tuple[Constraint, ...] = ()
    held_out: tuple[int, ...] = ()
    dump: Files = ()

    @property
    def goals(self) -> tuple[Goal, ...]:
        """What makes a trial the best one."""
        return self.sweep.goals

    @property
    def digest(self) -> str:
        """The hash of what trials depend on; a tuning can be continued with more of them."""
        runs = [run.id for run in self.sweep.runs()]
        texts = [*map(str, self.goals), *map(str, self.constraints)]
        search = [self.sampler, self.pruner, self.seed, self.batch, self.base]
        content = msgspec.json.encode([runs, texts, list(self.parameters), search])
        return hashlib.sha256(content).hexdigest()

    def candidate(self, name: str, values: dict[str, Any]) -> SweepConfiguration:
        """Return the configuration of a trial.

        Parameters
        ----------
        name : str
            The name of the configuration in the results.
        values : dict
            The value of each parameter, by its name in the plan, such as `weights.NodeAffinity`.
        """
        document = msgspec.json.encode(with_values(self.base, values))
        first = self.sweep.configurations[0]
        return msgspec.structs.replace(first, name=name, configuration=("tuned.json", document))


class _Section(Search, frozen=True, kw_only=True, rename="camel"):
    parameters: dict[str, Any] = {}
    held_out_seeds: str = ""
    constraints: tuple[str, ...] = ()
    dump: tuple[str, ...] = ()


def load_tuning_plan(given: PlanSource) -> TuningPlan:
    """Read a plan with a section `tune`, and the files that it names.

    Parameters
    ----------
    given : path or mapping
        As for `load_plan`.

    Raises
    ------
    InputError
        With all mistakes, each with its path.
    """
    document, source, folder = document_of(given)
    errors: list[FieldError] = []
    sweep = read_plan(document, folder, errors)
    own = document.get("tune") if isinstance(document, dict) else None
    section = _Section() if own is None else decode(own, _Section, "tune", errors)
    held_out: tuple[int, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    if own is None:
        errors.append(required("tune"))
    else:
        held_out = seeds_of(section.held_out_seeds, "tune.heldOutSeeds", errors)
        parameters = read_parameters(section.parameters, "tune.parameters", errors)
    errors += _mistakes(sweep, section, held_out)
    base: dict[str, Any] = {}
    if not errors:
        first = sweep.configurations[0]
        try:
            plugins = plugins_of(first)
            base = effective_document(effective_of(configuration_of(first), plugins))
        except PodwrightError as error:
            errors.append(invalid("configurations[0].config", first.name, str(error)))
        else:
            check_parameters(parameters, base, plugins, "tune.parameters", errors)
    constraints = read_each(read_constraint, section.constraints, "tune.constraints", errors)
    dump = files_of(section.dump, "tune.dump", folder, errors)
    raise_errors(errors, source=source)
    search = {name: getattr(section, name) for name in Search.__struct_fields__}
    search["pruner"] = section.pruner or ("median" if len(sweep.goals) == 1 else "none")
    return TuningPlan(
        **search,
        sweep=sweep,
        base=base,
        parameters=parameters,
        constraints=constraints,
        held_out=held_out,
        dump=dump,
    )


def _mistakes(sweep: SweepPlan, section: _Section, held_out: Sequence[int]) -> Iterator[FieldError]:
    if not sweep.goals:
        yield required("goals")
    if sweep.cases:
        yield forbidden("runs", "a trial has all inputs and seeds")
    for name in ("trials", "batch"):
        value = getattr(section, name)
        if value < 1:
            yield invalid(f"tune.{name}", value, "must be at least 1")
    if section.pruner not in (None, "none") and len(sweep.goals) > 1:
        yield invalid("tune.pruner", section.pruner, "trials with several goals are not pruned")
    if both := [seed for seed in held_out if seed in sweep.seeds]:
        detail = f"the trials have the seed {both[0]}, too; use others"
        yield invalid("tune.heldOutSeeds", section.held_out_seeds, detail)

"""What a tuning varies: fields of a KubeSchedulerConfiguration, each with a range or choices.

A parameter is named by its field:

| name | field |
|---|---|
| `percentageOfNodesToScore` | that of each profile |
| `weights.PLUGIN` | the weight of a score plugin; 0 disables its score |
| `args.PLUGIN` | all arguments of a plugin |
| `args.PLUGIN.FIELD` | one argument; `[cpu]` is an entry of a list by name, `[0]` by number |
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from podwright.apimachinery.documents import decode, invalid, join, problem, required
from podwright.apimachinery.objects import FieldError
from podwright.online.sweep.plan import effective_of
from podwright.scheduler.config import read_configuration
from podwright.scheduler.framework import Plugin

if TYPE_CHECKING:
    from optuna import Trial

_PERCENTAGE: Final = "percentageOfNodesToScore"
_TOKENS: Final = re.compile(r"\.?([^.\[\]]+)|\[([^\]]+)\]")


class Parameter(NamedTuple):
    """A field, and the values that it may have.

    Attributes
    ----------
    name : str
    low, high, step : int or float
        A range with both ends, and the distance of its values; a step of 0: any number between.
        If all three are whole, so are the values.
    is_log : bool
        Whether small values are tried as often as large ones.
    choices : tuple
        The values; () for a range.
    """

    name: str
    low: float = 0
    high: float = 0
    step: float = 0
    is_log: bool = False
    choices: tuple[Any, ...] = ()

    def suggest(self, trial: Trial) -> Any:
        """Return the value that `trial`, one of Optuna's, has."""
        if self.choices:
            # Optuna compares choices by their texts.
            texts = [json.dumps(each) for each in self.choices]
            return self.value_of(trial.suggest_categorical(self.name, texts))
        if self._is_whole:
            step = int(self.step) or 1
            low, high = int(self.low), int(self.high)
            return trial.suggest_int(self.name, low, high, step=step, log=self.is_log)
        return trial.suggest_float(
            self.name, self.low, self.high, step=self.step or None, log=self.is_log
        )

    def value_of(self, stored: Any) -> Any:
        """Return the value for `stored`, what a study of Optuna stores for it."""
        return json.loads(stored) if self.choices else stored

    @property
    def ends(self) -> tuple[Any, ...]:
        """The values by which the parameter is checked: both ends, or all choices."""
        if self.choices or self._is_whole:
            return self.choices or (self.low, self.high)
        # As fractions: a field that has to be whole is none of a range with others.
        return float(self.low), float(self.high)

    @property
    def _is_whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int) and self.step % 1 == 0


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    low: int | float | None = None
    high: int | float | None = None
    step: int | float | None = None
    is_log: bool = msgspec.field(name="log", default=False)
    choices: tuple[Any, ...] | None = None


def read_parameters(
    given: Mapping[str, Any], path: str, errors: list[FieldError]
) -> tuple[Parameter, ...]:
    """Return the parameters of a plan, and add their mistakes to a list."""
    if not given:
        errors.append(required(path))
    found = []
    for name, value in given.items():
        where = f"{path}[{name}]"
        wrong: list[FieldError] = []
        entry = decode(value, _Entry, where, wrong)
        errors += wrong or (wrong := list(_mistakes(entry, where)))
        if not wrong:
            fields = msgspec.structs.asdict(entry).items()
            found.append(Parameter(name, **{k: v for k, v in fields if v is not None}))
    return tuple(found)


def _mistakes(entry: _Entry, path: str) -> Iterator[FieldError]:
    if entry.choices is not None:
        if not entry.choices:
            yield invalid(join(path, "choices"), [], "must be a list of values")
        for name in ("low", "high", "step"):
            if getattr(entry, name) is not None:
                yield problem(join(path, name), "has no effect beside choices")
        if entry.is_log:
            yield problem(join(path, "log"), "has no effect beside choices")
        return
    if entry.low is None or entry.high is None:
        name = "low" if entry.low is None else "high"
        yield required(join(path, name), "a range has low and high; or choices")
        return
    if entry.low >= entry.high:
        yield invalid(join(path, "high"), entry.high, f"must be above low, {entry.low}")
    if entry.step is not None and entry.step <= 0:
        yield invalid(join(path, "step"), entry.step, "must be above 0")
    if entry.is_log and (entry.step is not None or entry.low <= 0):
        yield problem(join(path, "log"), "needs a low above 0, and no step")


def check_parameters(
    parameters: Sequence[Parameter],
    base: Mapping[str, Any],
    plugins: Sequence[type[Plugin]],
    path: str,
    errors: list[FieldError],
) -> None:
    """Add to a list what makes a configuration invalid, for the ends and choices of each parameter.

    Parameters
    ----------
    base : mapping
        The document of the configuration that is tuned.
    """
    for parameter in parameters:
        for value in parameter.ends:
            where = f"{path}[{parameter.name}]"
            try:
                document = with_values(base, {parameter.name: value})
                effective_of(read_configuration(document, source=""), plugins)
            except ValueError as error:
                errors.append(problem(where, str(error)))
                break


def with_values(base: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with the values of parameters, in each of its profiles.

    Raises
    ------
    ValueError
        If the configuration has no such field.
    """
    document: dict[str, Any] = deepcopy(dict(base))
    for profile in document["profiles"]:
        for name, value in values.items():
            kind, _, rest = name.partition(".")
            if name == _PERCENTAGE:
                profile[name] = value
            elif kind == "weights" and rest:
                _set_weight(profile, rest, value)
            elif kind == "args" and rest:
                plugin, *keys = _keys(rest)
                entry = _named(profile.setdefault("pluginConfig", []), plugin)
                _set(entry, ["args", *keys], value)
            else:
                raise ValueError(f"is neither {_PERCENTAGE}, weights.PLUGIN nor args.PLUGIN.FIELD")
    return document


def _set_weight(profile: dict[str, Any], plugin: str, weight: int) -> None:
    point = profile.setdefault("plugins", {}).setdefault("score", {})
    enabled = [each for each in point.get("enabled", ()) if each["name"] != plugin]
    disabled = [each for each in point.get("disabled", ()) if each["name"] != plugin]
    # A weight of 0 would be the default one.
    if weight:
        enabled.append({"name": plugin, "weight": weight})
    elif all(each["name"] != "*" for each in disabled):
        disabled.append({"name": plugin})
    point |= {"enabled": enabled, "disabled": disabled}


def _set(place: Any, keys: Sequence[str], value: Any) -> None:
    """Set what is below a place; what is absent is made: a list if an entry of it follows."""
    key, *following = keys
    if not isinstance(place, dict | list):
        raise ValueError(f"{key}: is not a field of {place!r}")  # noqa: TRY004 - of a document
    at: Any = _index(place, key) if isinstance(place, list) else key
    if not following:
        place[at] = deepcopy(value)
        return
    if isinstance(place, dict):
        place.setdefault(at, [] if following[0].startswith("[") else {})
    _set(place[at], following, value)


def _keys(path: str) -> list[str]:
    """Return the keys of a path; an entry of a list in brackets."""
    tokens = list(_TOKENS.finditer(path))
    if "".join(found[0] for found in tokens) != path:
        raise ValueError(f"{path!r} is not the path of a field")
    return [found[1] or f"[{found[2]}]" for found in tokens]


def _index(place: list[Any], key: str) -> int:
    """Return the index of an entry of a list: by number, or by name and added if it is absent."""
    name = key.removeprefix("[").removesuffix("]")
    if name.isdigit():
        if int(name) > len(place):
            raise ValueError(f"{key}: the list has {len(place)} entries")
        place.extend({} for _ in range(int(name) + 1 - len(place)))
        return int(name)
    return place.index(_named(place, name))


def _named(entries: list[Any], name: str) -> Any:
    """Return the entry with a name, added if it is absent."""
    found = next((each for each in entries if each.get("name") == name), None)
    if found is None:
        entries.append(found := {"name": name})
    return found

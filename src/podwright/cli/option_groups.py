"""Options that several commands share, or that belong together, as the fields of one class.

A parameter of a command whose type is an `OptionGroup` stands for the options of its fields: the
command line has them at its place, and the function gets them as one value.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any, ClassVar, get_type_hints


@dataclass(frozen=True, kw_only=True)
class OptionGroup:
    """A group of options; each field is annotated as a parameter of a Typer command is.

    Attributes
    ----------
    heading : str
        The heading of the options in long help pages; "" for none.
    """

    heading: ClassVar[str] = ""

    def values(self) -> dict[str, Any]:
        """Return the values of the options by the names of the parameters."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def with_group_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for Typer that has the options of groups as parameters."""
    signature = inspect.signature(function, eval_str=True)
    groups: dict[str, type[OptionGroup]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        group = parameter.annotation
        if isinstance(group, type) and issubclass(group, OptionGroup):
            groups[parameter.name] = group
            parameters += _parameters_of(group)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    if not groups:
        return function

    @wraps(function)
    def with_groups(**values: Any) -> Any:
        for name, group in groups.items():
            values[name] = group(**{each.name: values.pop(each.name) for each in fields(group)})
        return function(**values)

    # What Typer reads: the signature, and the annotations once more.
    with_groups.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_groups.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_groups


def _parameters_of(group: type[OptionGroup]) -> list[inspect.Parameter]:
    annotations = get_type_hints(group, include_extras=True)
    for each in fields(group):
        (option,) = annotations[each.name].__metadata__
        # What Typer calls a panel; an option may have one that the group does not decide.
        option.rich_help_panel = option.rich_help_panel or group.heading or None
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=annotations[each.name],
        )
        for each in fields(group)
    ]

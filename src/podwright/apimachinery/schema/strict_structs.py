"""The fast path of strict decoding: msgspec structs made from the table.

`msgspec.convert` to such a struct accepts a document only if it has no unknown fields and every
value has its type. It may refuse a valid document, such as one with a quantity in an unusual form;
`decoding` then examines the document field by field and has the last word. It never accepts an
invalid one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.schema.types import StructType, TypeRef

_QUANTITY: Final = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[numkMGTPE]|[KMGTPE]i)?$",
        max_length=100,  # longer ones may be too long
    ),
]
_SECOND: Final = (
    r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
)
_TIME: Final = Annotated[str, msgspec.Meta(pattern=_SECOND + r"(?:\.[0-9]{1,9})?Z$")]
_MICRO_TIME: Final = Annotated[str, msgspec.Meta(pattern=_SECOND + r"\.[0-9]{6}Z$")]
_BASE64: Final = Annotated[
    str, msgspec.Meta(pattern=r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$")
]
_INT32: Final = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_INT64: Final = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

# No infinity, and nothing that is not a number.
_FLOAT: Final = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]

_PYTHON_TYPE: Final[Mapping[str, Any]] = {
    "any": Any,
    "object": Any,
    "string": str,
    "bool": bool,
    "int32": _INT32,
    "int64": _INT64,
    "double": float,
    "bytes": _BASE64,
    "quantity": _QUANTITY | _INT64 | _FLOAT,
    "time": _TIME,
    "micro-time": _MICRO_TIME,
    "int-or-string": _INT32 | str,
}

Struct: TypeAlias = type[msgspec.Struct]


class StrictStructs:
    """Makes the structs of types, each once.

    Parameters
    ----------
    type_of : callable
        Returns a struct type of the table by its name.
    """

    def __init__(self, type_of: Callable[[str], StructType]) -> None:
        self._type_of = type_of
        self._made: dict[str, Struct | None] = {}

    def struct(self, name: str) -> Struct | None:
        """Return the struct of a type; None for a type that contains itself."""
        if name not in self._made:
            self._made[name] = None
            self._made[name] = self._make(self._type_of(name))
        return self._made[name]

    def _make(self, of: StructType) -> Struct | None:
        fields: list[tuple[str, Any, Any]] = []
        names: dict[str, str] = {}
        for index, field in enumerate(of.fields.values()):
            python_type = self._python_type(field.type)
            if python_type is None:
                return None
            attribute = f"f{index}"
            names[attribute] = field.name
            # A null field is absent, as for the API server.
            fields.append((attribute, python_type | None, None))
        return msgspec.defstruct(
            of.name.rpartition(".")[2],
            fields,
            rename=names.get,
            forbid_unknown_fields=True,
            gc=False,
        )

    def _python_type(self, ref: TypeRef) -> Any:
        if ref.element is not None:
            inner = self._python_type(ref.element)
            if inner is None:
                return None
            return dict[str, inner] if ref.container == "map" else list[inner]  # type: ignore[valid-type]  # made at run time
        return self.struct(ref.name) if ref.is_struct else _PYTHON_TYPE[ref.name]

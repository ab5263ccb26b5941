"""Amounts of resources as text."""

from __future__ import annotations

_BINARY = (("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))
_BYTES = ("memory", "ephemeral-storage", "hugepages-")


def format_amount(resource: str, amount: int) -> str:
    """Write an amount of a resource for people: at most one decimal place.

    Parameters
    ----------
    amount : int
        In the units of the columns: milli-CPU, bytes, units.

    Examples
    --------
    >>> from podwright.scheduler.advice import format_amount
    >>> format_amount("cpu", 1500), format_amount("cpu", 4000)
    ('1500m', '4')
    >>> format_amount("memory", 3 << 29), format_amount("nvidia.com/gpu", 2)
    ('1.5Gi', '2')
    """
    if resource == "cpu":
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if resource.startswith(_BYTES):
        for suffix, bits in _BINARY:
            if abs(amount) >= 1 << bits:
                return f"{amount / (1 << bits):.1f}".removesuffix(".0") + suffix
    return str(amount)


def quantity_text(resource: str, amount: int) -> str:
    """Write an amount as a quantity of a manifest, rounded down to Mi if it is that large.

    Examples
    --------
    >>> from podwright.scheduler.advice.amounts import quantity_text
    >>> quantity_text("cpu", 1500), quantity_text("memory", (3 << 29) + 5)
    ('1500m', '1536Mi')
    """
    if resource == "cpu":
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if resource.startswith(_BYTES) and amount >= 1 << 20:
        mebibytes = amount >> 20
        return f"{mebibytes >> 10}Gi" if mebibytes % 1024 == 0 else f"{mebibytes}Mi"
    return str(amount)

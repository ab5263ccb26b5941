"""Filter results as a column: one code per slot, and the status of each code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from podwright._arrays import I32Array, I64Array, Mask
from podwright.scheduler.framework.status import Code, Status


class Verdicts:
    """The result of one filter plugin for every slot.

    Attributes
    ----------
    rows : (k,) int32
        The slots to filter. A plugin may also write other slots; they are not read.
    codes : (n_slots,) int64
        0 where the node passes; anything else is a rejection that `status` can explain.
    decode : callable, optional
        From a code to its Status, for plugins that compute codes in a kernel. Plugins that
        use `reject` need none.
    may_fail : bool
        True once a status with code ERROR got a code: such a slot ends the cycle.
    """

    __slots__ = ("_code_of", "_statuses", "codes", "decode", "may_fail", "rows")

    def __init__(self, codes: I64Array, rows: I32Array) -> None:
        self.codes = codes
        self.rows = rows
        self.decode: Callable[[int], Status] | None = None
        self.may_fail = False
        self._statuses: list[Status] = []
        self._code_of: dict[Status, int] = {}

    def reject(self, mask: Mask, status: Status) -> None:
        """Reject the slots in `mask` that are not rejected yet.

        Parameters
        ----------
        mask : (n_slots,) bool
        status : Status
            The reason; the same object or an equal one gets the same code.

        Raises
        ------
        TypeError
            If `mask` is not an array of bool with one entry per slot.
        """
        if getattr(mask, "dtype", None) != np.bool_ or mask.shape != self.codes.shape:
            # Integers would select slots by number.
            raise TypeError(
                f"reject takes a mask of bool with {len(self.codes)} entries, one per slot,"
                f" not {_described(mask)}"
            )
        self.codes[mask & (self.codes == 0)] = self.code_of(status)

    def reject_slot(self, slot: int, status: Status) -> None:
        """Reject `slot` with the code and the reasons of `status`."""
        self.codes[slot] = self.code_of(status)

    def code_of(self, status: Status) -> int:
        """Return the code of `status`: a positive number."""
        answer: object = status
        if not isinstance(answer, Status) or answer.is_success or answer.is_skip:
            raise TypeError("a slot can be rejected with a Status that rejects only")
        try:
            code = self._code_of.get(status)
        except TypeError:  # a plugin gave its reasons as a list
            given: Any = status  # of a Status, compiled code accepts a tuple only
            status = Status(status.code, tuple(given.reasons), status.plugin)
            code = self._code_of.get(status)
        if code is None:
            self._statuses.append(status)
            code = self._code_of[status] = len(self._statuses)
            self.may_fail |= status.code == Code.ERROR
        return code

    def clear(self) -> None:
        """Let all slots pass.

        After a failure, all codes are free again: the texts of failures may differ each time.
        """
        self.codes[:] = 0
        if self.may_fail:
            self.may_fail = False
            self._statuses.clear()
            self._code_of.clear()

    def check(self) -> None:
        """Check that every code has a status.

        Raises
        ------
        ValueError
            If one does not.
        TypeError
            If `codes` was replaced by an array of another type.
        """
        if getattr(self.codes, "dtype", None) != np.int64:
            raise TypeError("`out.codes` must stay an array of int64; write to out.codes")
        codes = self.codes[self.rows]
        if self.decode is None and len(codes):
            least, greatest = int(codes.min()), int(codes.max())
            if least < 0 or greatest > len(self._statuses):
                wrong = least if least < 0 else greatest
                raise ValueError(f"wrote the code {wrong}, which stands for no status")

    def status_of(self, code: int) -> Status:
        """Return the Status of `code`."""
        if code == 0:
            return Status.OK
        if self.decode is not None:
            return self.decode(code)
        return self._statuses[code - 1]

    def lengthen(self, n_slots: int) -> None:
        """Make room for `n_slots`: more as nodes have arrived, or fewer after renumbering."""
        fitting: I64Array = np.zeros(n_slots, dtype=np.int64)
        kept = self.codes[:n_slots]
        fitting[: len(kept)] = kept
        self.codes = fitting


def _described(mask: object) -> str:
    if isinstance(mask, np.ndarray):
        return f"an array of {mask.dtype} with shape {mask.shape}"
    return f"something of type {type(mask).__name__}"

"""Cells as numbers, dates or levels: what a column holds, and its conversion.

A conversion never guesses: it is told the form that was recognised on training rows, and names
the first cell that does not have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from banklearn.limits import LARGEST
from banklearn.tables.booleans import are_boolean_words, boolean_cells, boolean_words, is_boolean
from banklearn.tables.errors import TableError, counted
from banklearn.tables.table import Table

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Kind = Literal["number", "date", "text"]

#: Words for a missing value in any column, and those that only numbers and dates use so.
MISSING = ("", "NA", "N/A", "n/a", "<NA>", "NaN", "nan", "NULL", "null", "#N/A", "?")
MISSING_NUMBER = (*MISSING, "None", "none", "-", "--", ".", "#VALUE!", "#DIV/0!", "missing")

_INFINITE = r"^[+-]?(inf|Inf|INF|infinity|Infinity)$"
#: How numbers are written.
NUMBER_FORMS = {
    "plain": r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$",
    "decimal comma": r"^[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?([eE][+-]?\d+)?$",
    "thousands comma": r"^[+-]?\d{1,3}(,\d{3})*(\.\d+)?$",
}
#: Numbers of which it is plain what separates their decimals: not three digits behind it.
_DECIMAL_COMMA = r"^[+-]?\d+,(\d{1,2}|\d{4,})$"
_DECIMAL_POINT = r"^[+-]?\d+\.(\d{1,2}|\d{4,})$"
#: How dates are written: a pattern for each form that Arrow's strptime reads.
DATE_FORMS = {
    "%Y-%m-%d": r"^\d{4}-\d{2}-\d{2}$",
    "%Y-%m-%d %H:%M": r"^\d{4}-\d{2}-\d{2} \d{2}:\d{2}$",
    "%Y-%m-%d %H:%M:%S": r"^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$",
    "%Y-%m-%dT%H:%M": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$",
    "%Y-%m-%dT%H:%M:%S": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$",
    "ISO 8601": r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?$",
    "%Y/%m/%d": r"^\d{4}/\d{1,2}/\d{1,2}$",
    "%d.%m.%Y": r"^\d{1,2}\.\d{1,2}\.\d{4}$",
    "%d.%m.%Y %H:%M": r"^\d{1,2}\.\d{1,2}\.\d{4} \d{1,2}:\d{2}$",
    "%d/%m/%Y": r"^\d{1,2}/\d{1,2}/\d{4}$",
    "%m/%d/%Y": r"^\d{1,2}/\d{1,2}/\d{4}$",
    "%d/%m/%Y %H:%M": r"^\d{1,2}/\d{1,2}/\d{4} \d{1,2}:\d{2}$",
    "%m/%d/%Y %H:%M": r"^\d{1,2}/\d{1,2}/\d{4} \d{1,2}:\d{2}$",
}
#: A column in which this share of the cells has a form is meant to have it throughout.
MEANT = 0.9


class Form(NamedTuple):
    """What a column holds, and how it is written ("native" in formats that have types)."""

    kind: Kind
    written: str


NATIVE_NUMBER = Form("number", "native")


def is_text(column: Any) -> bool:
    """Whether an Arrow array holds strings."""
    kind = column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def native_form(table: Table, name: str) -> Form | None:
    """The form of a column with an Arrow type of its own; None for strings."""
    kind = table.column(name).type
    if is_text(table.column(name)) or pa.types.is_null(kind):
        return None
    if is_boolean(table.column(name)):
        return Form("text", "text")
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    if any(test(kind) for test in numbers):
        return NATIVE_NUMBER
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return Form("date", "native")
    raise TableError(
        f"{table.source}, column {name!r} holds values of type {kind}; numbers, text and dates "
        "can be used. Turn it into one of these, or leave it out with --drop."
    )


def missing_cells(table: Table, name: str, kind: Kind) -> Mask:
    """Which cells are missing, given what the column holds."""
    column = table.column(name)
    if is_text(column):
        words = [*(MISSING if kind == "text" else MISSING_NUMBER), *table.missing]
        named = pc.is_in(column, value_set=pa.array(words, column.type))
        return np.asarray(pc.or_(named, pc.is_null(column)))
    absent = np.asarray(pc.is_null(column, nan_is_null=True))
    if (words := _as_numbers(table.missing)) and native_form(table, name) == NATIVE_NUMBER:
        absent |= np.isin(_cast(column), words)
    return absent


def _as_numbers(words: Sequence[str]) -> list[float]:
    """The words for a missing value that are numbers, as in columns that have a type."""
    numbers = []
    for word in words:
        with suppress(ValueError):
            numbers.append(float(word))
    return numbers


def _cast(column: Any) -> Array:
    """A column with a type of numbers as floats, NaN where there is none."""
    values = pc.fill_null(pc.cast(column, pa.float64(), safe=False), np.nan)
    return np.array(values, dtype=np.float64)


def recognise_form(table: Table, name: str) -> Form:
    """What a column holds: numbers, dates or text.

    A column that is meant to hold numbers or dates but has a few other cells is refused, with
    the first of them named: as text it would be something else altogether.
    """
    if native := native_form(table, name):
        return native
    column = table.column(name)
    absent = missing_cells(table, name, "number")
    present = column.filter(pa.array(~absent))
    if pa.types.is_null(column.type) or len(present) == 0:
        return Form("number", "plain")
    shares = {form: _share(present, pattern) for form, pattern in NUMBER_FORMS.items()}
    infinite = _share(present, _INFINITE)
    best = max(shares, key=lambda form: shares[form])
    if shares[best] + infinite >= MEANT:
        if shares["plain"] == shares[best]:
            best = "plain"
            two = shares["decimal comma"] == shares[best] and _share(present, r"\.") > 0.0
            # 1.250 can be read in two ways, 0.125 cannot: as the other columns are written.
            if two and _share(present, r"^[+-]?0\d*\.") == 0.0:
                best = "decimal comma" if _has_cells(table, _DECIMAL_COMMA) else "plain"
        elif shares["thousands comma"] == shares[best] and (
            table.separator == "," or _has_cells(table, _DECIMAL_POINT)
        ):
            best = "thousands comma"  # as in "1,250", quoted where commas separate
        to_numbers(table, name, best)
        return Form("number", best)
    dates = {form: _share(present, pattern) for form, pattern in DATE_FORMS.items()}
    if max(dates.values()) >= MEANT:
        return Form("date", _date_form(table, name, present, dates))
    return Form("text", "text")


def _has_cells(table: Table, pattern: str) -> bool:
    """Whether some column of text is mostly written in this way."""

    def mostly(name: str) -> bool:
        column = table.column(name)
        if not is_text(column):
            return False
        present = column.filter(pa.array(~missing_cells(table, name, "number")))
        return len(present) > 0 and _share(present, pattern) > 0.5

    if pattern not in table.looked_up:
        table.looked_up[pattern] = any(map(mostly, table.names))
    return table.looked_up[pattern]


def holds_booleans(table: Table, name: str) -> bool:
    """Whether every value of a column is true or false, by its type or in words."""
    column = table.column(name)
    return is_boolean(column) or (is_text(column) and are_boolean_words(to_levels(table, name)))


def to_numbers(table: Table, name: str, written: str, fitted: bool = False) -> Array:
    """A column as floats, NaN where a value is missing; what is no number is refused.

    fitted says that the form is known from a model rather than recognised in this table.
    """
    column = table.column(name)
    absent = missing_cells(table, name, "number")
    if not is_text(column):
        if pa.types.is_null(column.type):
            return np.full(len(column), np.nan)
        form = native_form(table, name)
        if not is_boolean(column) and (form is None or form.kind != "number"):
            raise _other_kind(table, name, "numbers")
        out = _cast(column)
        out[absent] = np.nan
    elif written == "boolean":
        good = np.asarray(boolean_cells(column))
        _refuse_cells(table, name, ~(good | absent), good, "true or false", fitted)
        text = pc.if_else(
            pa.array(good & ~absent), pc.utf8_lower(column), pa.scalar(None, column.type)
        )
        out = np.asarray(pc.fill_null(pc.cast(pc.cast(text, pa.bool_()), pa.float64()), np.nan))
    else:
        pattern = NUMBER_FORMS["plain" if written == "native" else written]
        good = np.asarray(pc.fill_null(pc.match_substring_regex(column, pattern), False))
        _refuse_cells(table, name, ~(good | absent), good, "a number", fitted)
        text = pc.if_else(pa.array(good & ~absent), column, pa.scalar(None, column.type))
        if written == "decimal comma":
            if fitted and table.separator == ",":
                _refuse_two_readings(table, name, column, good & ~absent)
            text = pc.replace_substring(pc.replace_substring(text, ".", ""), ",", ".")
        elif written == "thousands comma":
            text = pc.replace_substring(text, ",", "")
        text = pc.utf8_ltrim(text, "+")  # Arrow's parser takes no sign before a positive number
        out = np.asarray(pc.fill_null(pc.cast(text, pa.float64()), np.nan), dtype=np.float64)
    infinite = np.isinf(out)
    _refuse_cells(table, name, infinite, np.isfinite(out), "a finite number", fitted)
    return np.array(out)


def _refuse_two_readings(table: Table, name: str, column: Any, numbers: Mask) -> None:
    """Where commas separate the columns, 1.250 is hardly 1250, whatever the fit has seen."""
    dots = np.asarray(pc.fill_null(pc.match_substring_regex(column, r"^[^,]*\.[^,]*$"), False))
    rows = np.flatnonzero(dots & numbers)
    if len(rows):
        cell = column[int(rows[0])].as_py()
        raise TableError(
            f"{table.where(int(rows[0]), name)}: {cell!r} can be read in two ways. The model was "
            "fitted on numbers with a decimal comma, in which a point separates thousands; here "
            f"columns are separated by commas. Write {cell.replace('.', '')!r} or "
            f"{cell.replace('.', ',')!r}, or separate the columns by semicolons."
        )


def refuse_extreme(table: Table, name: str, values: Array) -> None:
    """Numbers to learn from must be so small that their differences are numbers."""
    extreme = np.abs(values) > LARGEST
    _refuse_cells(table, name, extreme, ~extreme, f"a number up to {LARGEST:g}")


def to_days(table: Table, name: str, written: str, fitted: bool = False) -> Array:
    """A column of dates as days since 1970-01-01 in UTC, NaN where a value is missing.

    fitted says that the form is known from a model rather than recognised in this table.
    """
    column = table.column(name)
    if not is_text(column):
        if pa.types.is_null(column.type):
            return np.full(len(column), np.nan)
        if (form := native_form(table, name)) is None or form.kind != "date":
            raise _other_kind(table, name, "dates")
        moments = pc.cast(column, pa.timestamp("us", getattr(column.type, "tz", None)), safe=False)
    else:
        absent = missing_cells(table, name, "date")
        if written == "native":
            written = "ISO 8601"
        moments = _moments(
            pc.if_else(pa.array(absent), pa.scalar(None, column.type), column), written
        )
        bad = np.asarray(pc.is_null(moments)) & ~absent
        _refuse_cells(table, name, bad, ~bad & ~absent, f"a date written {written}", fitted)
    stamps = np.asarray(pc.cast(moments, pa.int64()).fill_null(0), dtype=np.int64)
    gone = np.asarray(pc.is_null(moments))
    return np.where(gone, np.nan, stamps / 86_400e6)


def to_levels(table: Table, name: str) -> list[str | None]:
    """A column as words, None where a value is missing; numbers become their shortest text."""
    column = table.column(name)
    absent = missing_cells(table, name, "text")
    if pa.types.is_floating(column.type):
        words = [f"{value:.15g}" if value is not None else "" for value in column.to_pylist()]
    elif pa.types.is_null(column.type):
        words = [""] * len(column)
    elif is_boolean(column):
        words = boolean_words(column)
    else:
        words = pc.cast(column, pa.string()).to_pylist()
    return [None if gone else word for word, gone in zip(words, absent, strict=True)]


def _share(present: Any, pattern: str) -> float:
    return float(pc.mean(pc.cast(pc.match_substring_regex(present, pattern), pa.float64())).as_py())


def _moments(text: Any, written: str) -> Any:
    """Timestamps, null where the text has another form or names a day that does not exist."""
    if written != "ISO 8601":
        good = pc.match_substring_regex(text, DATE_FORMS[written])
        text = pc.if_else(good, text, pa.scalar(None, text.type))
        moments = pc.strptime(text, format=written, unit="us", error_is_null=True)
        # strptime takes 30 February for 2 March: the day must come back as it was written.
        numbers = pc.extract_regex(text, r"^(?P<first>\d+)\D(?P<second>\d+)\D(?P<third>\d+)")
        place = {"%Y": "third", "%d": "first", "%m": "second"}[written[:2]]
        day = pc.cast(pc.struct_field(numbers, place), pa.int64())
        return pc.if_else(pc.equal(pc.day(moments), day), moments, pa.scalar(None, moments.type))
    moments = []
    for word in text.to_pylist():
        try:
            value = None if word is None else np.datetime64(_utc(word), "us")
        except ValueError:
            value = None
        moments.append(None if value is None else value.astype("int64").item())
    return pa.array(moments, pa.int64()).cast(pa.timestamp("us"))


def _utc(word: str) -> str:
    """An ISO 8601 moment without its offset, moved to UTC."""
    from datetime import UTC, datetime

    moment = datetime.fromisoformat(word)
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat()


def _date_form(table: Table, name: str, present: Any, shares: dict[str, float]) -> str:
    """The form most cells have; day and month are told apart by days after the twelfth."""
    top = max(shares.values())
    candidates = [form for form, share in shares.items() if share == top]
    read = {
        form: int(pc.sum(pc.cast(pc.is_valid(_moments(present, form)), pa.int64())).as_py())
        for form in candidates
    }
    most = max(read.values())
    winners = [form for form in candidates if read[form] == most]
    if len(winners) > 1 and winners[0].startswith("%d/"):
        cell = present[0].as_py()
        raise TableError(
            f"{table.source}, column {name!r} holds dates such as {cell!r}, in which day and month "
            "cannot be told apart: no day is after the twelfth. Write them as YYYY-MM-DD."
        )
    to_days(table, name, winners[0])
    return winners[0]


def _refuse_cells(
    table: Table, name: str, bad: Mask, good: Mask, expected: str, fitted: bool = False
) -> None:
    """Name the first bad cell, if there is one.

    Where no cell is good, those are hardly words for a missing value.
    """
    rows = np.flatnonzero(bad)
    if len(rows) == 0:
        return
    cell = table.column(name)[int(rows[0])].as_py()
    others = counted(len(rows) - 1, "further cell")
    more = (
        f", nor {_be(len(rows) - 1)} {others} ({table.places(rows[1:])})" if len(rows) > 1 else ""
    )
    them = "it" if len(rows) == 1 else "them"
    fits = int(good.sum())
    if fits:
        advice = (
            f", while {counted(fits, 'cell')} of the column {_be(fits)}. Mend {them}, or say that "
            f"it means a missing value with --missing {cell!r}."
        )
    elif fitted:
        advice = (
            f". When the model was fitted, each value of the column was {expected}; here none is. "
            "Write the column as it was then, or fit again."
        )
    else:
        advice = f"; no cell of the column is. Mend {them}, or use the table without that column."
    raise TableError(f"{table.where(int(rows[0]), name)}: {cell!r} is not {expected}{more}{advice}")


def _be(number: int) -> str:
    return "is" if number == 1 else "are"


def _other_kind(table: Table, name: str, expected: str) -> TableError:
    return TableError(
        f"{table.source}, column {name!r} holds values of type {table.column(name).type}, but "
        f"{expected} are needed, as in the rows that the model was fitted on."
    )

"""Options that several commands share."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

import typer

from banklearn.limits import MOST, MOST_SEED
from banklearn.tables import ReadOptions


def share(value: float) -> float:
    """Bounds alone would let nan through."""
    if math.isnan(value):
        raise typer.BadParameter("nan is no share of the rows; give a number such as 0.2.")
    return value


Data = Annotated[
    Path, typer.Argument(help="The table: CSV or TSV (also compressed), Parquet or Feather.")
]
Model = Annotated[Path, typer.Argument(help="A model file that bank fit wrote.")]
Separator = Annotated[
    str | None,
    typer.Option(help="What separates columns, if it is not recognised; 'tab' for a tab."),
]
Encoding = Annotated[
    str | None, typer.Option(help="Encoding of a text file, if it is not recognised.")
]
Missing = Annotated[
    list[str] | None,
    typer.Option(help="A further word that means a missing value; may be given several times."),
]
SkipBadRows = Annotated[
    bool,
    typer.Option(help="Leave out, and list, rows that are not as wide as the header."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")]
Seed = Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of everything random.")]
TaskOption = Annotated[
    Literal["auto", "regression", "classification"],
    typer.Option(help="What the target is; auto: text and two values are classes."),
]
Drop = Annotated[
    list[str] | None, typer.Option(help="A column to leave out; may be given several times.")
]
Text = Annotated[
    list[str] | None,
    typer.Option(
        help="A column to treat as text whatever it looks like; may be given several times."
    ),
]
Encode = Annotated[
    Literal["auto", "one-hot", "target"],
    typer.Option(help="How text becomes numbers; auto: one-hot up to 12 levels."),
]


def read_options(
    separator: str | None, encoding: str | None, missing: list[str] | None, skip: bool
) -> ReadOptions:
    """The options of reading, from what was typed."""
    symbol = {"tab": "\t", r"\t": "\t", "space": " "}.get(separator or "", separator)
    if encoding is not None:
        try:
            "".encode(encoding)
        except LookupError:
            raise typer.BadParameter(
                f"{encoding!r} is not an encoding that Python knows; utf-8 and cp1252 are two.",
                param_hint="--encoding",
            ) from None
    return ReadOptions(symbol, encoding, tuple(missing or ()), skip)


def refuse_dropped_target(target: str, drop: list[str] | None) -> None:
    """The column to predict cannot be left out."""
    if target in (drop or []):
        raise typer.BadParameter(
            f"{target!r} is the target, which cannot be left out. It is no input in any case: "
            "say nothing of it with --drop, or name another column with --target.",
            param_hint="--drop",
        )


def number_of_draws(text: str) -> int | Literal["auto"]:
    """A whole number from one to a thousand million, or "auto"."""
    word = text.strip().lower()
    if word == "auto":
        return "auto"
    if not word.isdecimal() or len(word) > len(str(MOST)) or not 1 <= int(word) <= MOST:
        raise typer.BadParameter(
            f"{text[:40]!r} is neither a whole number from 1 to {MOST} nor auto.",
            param_hint="--draws",
        )
    return int(word)

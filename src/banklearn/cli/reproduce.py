"""``bank reproduce``: the paper's tables and figures by one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from banklearn.cli.exits import FILE, INTERRUPTED, USAGE
from banklearn.experiments import EXPERIMENTS, Options, experiment, parse_budget


def reproduce(
    name: Annotated[str, typer.Argument(help=f"{', '.join(EXPERIMENTS)}, or all.")],
    out: Annotated[Path, typer.Option(help="The folder for results, tables and figures.")],
    sets: Annotated[str, typer.Option(help="Data sets, for example noise,bike.")] = "",
    folds: Annotated[
        str,
        typer.Option(
            help="Folds, for example 0,1; default: all five. Of synthetic, which has no folds, "
            "seeds from 0 on. Timing always takes fold 0."
        ),
    ] = "",
    methods: Annotated[str, typer.Option(help="Methods, for example rks,mkl,bank.")] = "",
    budget: Annotated[
        str,
        typer.Option(help="full, protocol, tiny, or the seconds that a BaNK fit may take."),
    ] = "protocol",
    jobs: Annotated[int, typer.Option(min=1, help="Cells measured at the same time.")] = 1,
    cores_per_job: Annotated[int, typer.Option(min=1, help="Cores of each of them.")] = 2,
    within: Annotated[
        float | None,
        typer.Option(
            help="Seconds for each experiment; what is left goes on with the same command."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
) -> None:
    """Run an experiment of the paper and write its table and figures.

    What was measured stays in the output folder, so an interrupted run goes on where it stopped,
    and results of several runs with other sets or methods add up. BANKLEARN_DATA names the folder
    of the data sets; those that it lacks are downloaded if --sets names them.

    These only try the machinery; without --budget tiny they measure in earnest:

    $ bank reproduce synthetic --out results --folds 0 --budget tiny

    $ bank reproduce timing --out results --sets waves --methods regression --budget tiny

    $ bank reproduce regression --out results --sets noise --folds 0 --methods rks,bank
    --budget tiny

    $ bank reproduce classification --out results --sets pima --folds 0 --methods rks,bank
    --budget tiny

    $ bank reproduce rivals --out results --sets noise --folds 0 --methods trees --budget tiny
    """
    console = Console(stderr=True)
    try:
        options = Options(
            out=out,
            sets=tuple(words(sets)),
            folds=tuple(numbers(folds)),
            methods=tuple(words(methods)),
            budget=parse_budget(budget),
            jobs=jobs,
            cores_per_job=cores_per_job,
            quiet=quiet,
            within=within,
        )
        if name not in (*EXPERIMENTS, "all"):
            raise ValueError(
                f"There is no experiment {name!r}. The experiments are {', '.join(EXPERIMENTS)}; "
                "all does one after another."
            )
        if name == "all":
            refuse_parts(options)
        for each in EXPERIMENTS if name == "all" else (name,):
            experiment(each)(options)
            for path in sorted(out.glob(f"{each}*")):
                console.print(f"wrote {path}", highlight=False, soft_wrap=True)
    except (ValueError, OSError) as error:
        console.print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(FILE if isinstance(error, OSError) else USAGE) from error
    except KeyboardInterrupt:
        console.print(
            f"Interrupted: what was measured stays in {out}, and the same command goes on.",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        raise typer.Exit(INTERRUPTED) from None


def refuse_parts(options: Options) -> None:
    """What some of the experiments would refuse is refused before the first of them is done."""
    from banklearn.experiments.comparison import check_folds

    if options.sets or options.methods:
        raise ValueError(
            "all does every experiment with its own sets and methods. For --sets or --methods name "
            f"one of {', '.join(EXPERIMENTS)}."
        )
    check_folds(options.folds)


def words(text: str) -> list[str]:
    """The parts of a list with commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def numbers(text: str) -> list[int]:
    """Whole numbers in a list with commas."""
    try:
        return [int(part) for part in words(text)]
    except ValueError as error:
        raise ValueError(f"{text!r} is no list of folds; write for example 0,1.") from error


def main() -> None:
    """``python -m banklearn.cli.reproduce``, for a checkout that is not installed."""
    typer.run(reproduce)


if __name__ == "__main__":
    main()

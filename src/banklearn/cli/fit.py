"""``bank fit``: from a table to a model file, with honest scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from banklearn.cli import options as use
from banklearn.cli.durations import seconds
from banklearn.cli.exits import INTERRUPTED
from banklearn.cli.outputs import check_output
from banklearn.limits import MOST, MOST_CHAINS, MOST_FREQUENCIES, MOST_SECONDS

#: Seconds between checkpoints when there should be none in between.
NEVER = MOST_SECONDS


def fit(
    data: use.Data,
    target: Annotated[str, typer.Option(help="The column to predict.")],
    out: Annotated[Path, typer.Option(help="The model file to write.")],
    report: Annotated[
        Path | None, typer.Option(help="Also write a report, one HTML page that needs no network.")
    ] = None,
    task: use.TaskOption = "auto",
    max_time: Annotated[
        str, typer.Option(help="End the fit after this time: 90s, 5m, 1h30m, or none.")
    ] = "5m",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where an earlier fit to the same file ended.")
    ] = False,
    checkpoint_every: Annotated[
        str, typer.Option(help="Time between checkpoints, from which --resume goes on.")
    ] = "30s",
    holdout: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.9,
            callback=use.share,
            help="Share of the rows kept out of the fit, for scores.",
        ),
    ] = 0.2,
    frequencies: Annotated[
        int, typer.Option(min=1, max=MOST_FREQUENCIES, help="Frequencies of the model.")
    ] = 384,
    chains: Annotated[int, typer.Option(min=1, max=MOST_CHAINS, help="Independent chains.")] = 4,
    warmup: Annotated[
        int, typer.Option(min=0, max=MOST, help="Sweeps of warm-up in each chain.")
    ] = 200,
    draws: Annotated[
        str, typer.Option(help="Draws kept of each chain; auto: until the chains have settled.")
    ] = "50",
    drop: use.Drop = None,
    text: use.Text = None,
    encode: use.Encode = "auto",
    separator: use.Separator = None,
    encoding: use.Encoding = None,
    missing: use.Missing = None,
    skip_bad_rows: use.SkipBadRows = False,
    seed: use.Seed = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
    json: use.Json = False,
) -> None:
    """Fit a model to a table and write it to a file.

    A share of the rows is kept out of the fit and tells how good the model is. How each column
    was used is said, and stored in the file, so that bank predict does the same.

    $ bank fit flats.csv --target price --out flats.bank --report flats.html --frequencies 32
    --max-time 5s
    """
    limit = seconds(max_time, "--max-time")
    every = seconds(checkpoint_every, "--checkpoint-every") or NEVER
    n_draws = use.number_of_draws(draws)
    use.refuse_dropped_target(target, drop)
    check_output(out, "--out", data)
    check_output(report, "--report", data, out)
    from banklearn.cli import say
    from banklearn.cli.checkpoints import checkpoint_options, refuse_unsuited, settle
    from banklearn.cli.estimator import fit_caught, make
    from banklearn.cli.files import Record, save
    from banklearn.cli.prepare import digest, held_out, prepare
    from banklearn.cli.scoring import in_words, scores
    from banklearn.tables import PlanOptions, learn_plan

    refuse_unsuited(out, resume)
    reading = use.read_options(separator, encoding, missing, skip_bad_rows)
    found = prepare(data, target, task, reading)
    train, test = held_out(found.y, holdout, found.target.task, seed)
    chosen = PlanOptions(tuple(drop or ()), tuple(text or ()), encode)
    part = found.table.take(train)
    learned = learn_plan(part, found.target, found.y[train], chosen, seed, found.table)
    X_test: Any = None
    held_notes: list[str] = []
    if len(test):  # before the fit: what is refused here must not cost one
        X_test, held_notes = learned.plan.apply(found.table.take(test), unseen="ignore")
    say.notes([*found.notes, *learned.notes])
    say.warn(found.unusable)
    _show_plan(learned.plan, found.target, len(train), len(test))
    construct, during = checkpoint_options(out, resume, every)
    model = make(
        found.target.task,
        n_frequencies=frequencies,
        n_chains=chains,
        n_warmup=warmup,
        n_draws=n_draws,
        max_time=limit,
        random_state=seed,
        verbose=0 if quiet or json else 1,
        **construct,
    )
    warned = fit_caught(model, learned.X, found.y[train], **during)
    say.warn(warned)
    result: dict[str, float] | None = None
    if len(test):
        result = scores(model, X_test, found.y[test], found.y[train])
    record = Record(
        plan=learned.plan,
        source=data.name,
        digest=digest(data),
        holdout=holdout,
        seed=seed,
        rows=len(train),
        held_out=len(test),
        scores=result,
        notes=[*found.notes, *learned.notes],
        unusable=found.unusable,
        warnings=warned,
    )
    save(model, out, record)
    say.notes([*settle(out, warned), *held_notes])
    if result is not None:
        say.notes(in_words(result, len(test)), "bold green")
    written = [str(out)]
    if report is not None:
        from banklearn.cli.pages import write_report

        say.warn(
            write_report(model, record, learned.X, found.y[train], X_test, found.y[test], report)
        )
        written.append(str(report))
    say.notes([f"Wrote {path}." for path in written], "bold green")
    if json:
        say.as_json(
            {
                "command": "fit",
                "model": str(out),
                "report": report and str(report),
                **record.to_json(),
            }
        )
    if any(sentence.startswith("Interrupted") for sentence in warned):
        raise typer.Exit(INTERRUPTED)


def _show_plan(plan: Any, target: Any, train: int, test: int) -> None:
    from banklearn.cli import say

    words = target.task
    if target.classes:
        words += f" into {len(target.classes)} classes"
    title = f"{words} of {target.name!r} from {len(plan.inputs)} inputs"
    console = say.console()
    console.print(say.grid(title, ["column", "used as"], plan.describe(), left=2))
    kept = f"; {test} are kept out of the fit" if test else ""
    console.print(f"{train} training rows{kept}.")

"""``bank plan``: what a fit of a given size would cost, before it is begun."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer


def plan(
    rows: Annotated[int, typer.Option(min=1, help="Rows of the data.")],
    inputs: Annotated[int, typer.Option(min=1, help="Inputs: columns besides the target.")],
    frequencies: Annotated[int, typer.Option(min=1, help="Random frequencies M.")] = 384,
    workers: Annotated[
        int, typer.Option(min=0, help="Workers of a Dask cluster; 0 plans for this machine.")
    ] = 0,
    threads: Annotated[int, typer.Option(min=1, help="Threads per worker.")] = 1,
    classes: Annotated[
        int, typer.Option(min=0, help="Classes of the target; 0 means regression.")
    ] = 0,
    chains: Annotated[int, typer.Option(min=1, help="Independent chains.")] = 4,
    sweeps: Annotated[
        int | None,
        typer.Option(min=1, help="Sweeps on all rows, per chain; those of a default fit if left."),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.5, help="Seconds for the calibration.")] = 10.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, for scripts.")
    ] = False,
) -> None:
    """Predict flops, bytes, memory and seconds per sweep from a short calibration here.

    $ bank plan --rows 1000000 --inputs 20 --frequencies 128 --seconds 2

    $ bank plan --rows 20000000 --inputs 16 --frequencies 64 --workers 8 --seconds 1 --json
    """
    from banklearn.planning import Problem, calibrate, describe
    from banklearn.planning import plan as predict

    try:
        problem = Problem(rows, inputs, frequencies, classes, chains)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    rates = calibrate(frequencies, inputs, seconds)
    found = describe(problem, rates, predict(problem, rates, workers, threads), workers)
    found["sweeps"] = sweeps or sweeps_on_all(rows)
    found["seconds_in_all"] = found["sweeps"] * found["sweep"]["seconds"]
    typer.echo(json.dumps(found, indent=2) if as_json else text(found))


def sweeps_on_all(rows: int) -> int:
    """Sweeps on all rows of a chain of a default fit: warm-up begins on some, if there are many."""
    from inspect import signature

    from banklearn import BankRegressor
    from banklearn.sampler.run import growing_stages

    default = {name: of.default for name, of in signature(BankRegressor).parameters.items()}
    on_all = growing_stages(rows, default["n_warmup"])[-1][1]
    return int(on_all + default["n_draws"] * default["thin"])


def text(found: dict[str, Any]) -> str:
    """The same in lines to read."""
    sweep, rates, workers = found["sweep"], found["rates"], found["workers"]
    where = f"{workers} Dask workers" if workers else f"this machine ({rates['cores']} cores)"
    lines = [
        f"One sweep of {found['problem']['chains']} chains on {where}:",
        f"  arithmetic       {amount(sweep['flops'])}flop and {amount(sweep['trig'])} waves",
        f"  read from disk   {amount(sweep['bytes_read'])}B",
        f"  over the network {amount(sweep['bytes_sent'])}B",
        f"  memory here      {amount(sweep['memory_here'])}B",
    ]
    if workers:
        lines.append(f"  per worker       {amount(sweep['memory_per_worker'])}B")
    lines += [
        f"  seconds          {sweep['seconds']:.3g}, of which rows {sweep['seconds_rows']:.3g}, "
        f"network {sweep['seconds_network']:.3g}, accept step {sweep['seconds_rest']:.3g}",
        f"{found['sweeps']} sweeps on all rows: {span(found['seconds_in_all'])}. The choice of the "
        "start, warm-up on some of the rows and gradient moves come on top.",
        f"Measured here, per core: {amount(rates['flops'])}flop/s, "
        f"{amount(rates['trig'])} cosines and sines/s; reading {amount(rates['read_bytes'])}B/s.",
    ]
    if workers:
        lines.append(
            f"Assumed: workers with cores like these, {amount(rates['network_bytes'])}B/s between "
            f"them, {1e3 * rates['overhead']:g} ms per task for the scheduler."
        )
    return "\n".join(lines)


def amount(value: float) -> str:
    """Three digits with a prefix: 1.5 G."""
    for prefix in ("", "k", "M", "G", "T", "P"):
        if value < 1000:
            break
        if prefix != "P":
            value /= 1000
    return f"{value:.3g} {prefix}"


def span(seconds: float) -> str:
    """A duration in the unit that suits it."""
    for unit, length in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} seconds"

"""What a fit says when it has ended: how, and whether its chains can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sklearn.exceptions import ConvergenceWarning

from banklearn.posterior import settling as rule
from banklearn.posterior.draws import Draw
from banklearn.posterior.settling import Settling
from banklearn.sampler.rounding import LARGEST
from banklearn.sampler.run import Run
from banklearn.warned import warn_caller

if TYPE_CHECKING:
    from banklearn.estimators.base import BankBase


def stopped_by(
    runs: Sequence[Run[Draw]], interrupted: bool, auto: bool, settling: Settling | None
) -> str:
    """What ended the fit, in one word."""
    if interrupted:
        return "interrupt"
    cuts = {run.cut for run in runs}
    if "stop" in cuts:
        return "callback"
    if "time" in cuts:
        return "time"
    return "settled" if auto and settling is not None and settling.settled else "plan"


def warn_at_end(
    estimator: BankBase, runs: Sequence[Run[Draw]], interrupted: bool, settling: Settling | None
) -> None:
    """Warn of an end before the plan's, or else of chains that have not settled.

    A warm-up that an earlier call cut short stays so in all that goes on from it.
    """
    warmed = min(run.warmup for run in runs)
    kept = len(estimator.draws_)
    auto = estimator.n_draws == "auto"
    planned = estimator.n_chains * rule.most_draws(estimator.n_draws)
    late = any(run.cut == "time" for run in runs)
    stopped = interrupted or any(run.cut == "stop" for run in runs)
    if warmed < estimator.n_warmup and not (stopped or late):
        warn_caller(
            f"Only {warmed} of {estimator.n_warmup} warm-up sweeps were made: max_time ended the "
            "warm-up of this fit before, and a fit that goes on adds draws, but no warm-up. Begin "
            "anew, with more time, for all of it.",
            ConvergenceWarning,
        )
    if stopped:
        sampling = any(len(run.trace) > run.warmup for run in runs)
        how = "Interrupted" if interrupted else "Stopped by a callback"
        warn_caller(
            f"{how}: the fit keeps the {kept} of {planned} draws sampled so far."
            if sampling
            else f"{how} during warm-up: the fit keeps the last state of each chain, "
            "which need not be typical of the posterior.",
            UserWarning,
        )
    elif late:
        warn_caller(
            f"max_time = {estimator.max_time:g} s ended the fit early: {warmed} of "
            f"{estimator.n_warmup} warm-up sweeps and {kept} of {'at most ' if auto else ''}"
            f"{planned} draws were made. More time or fewer frequencies would complete it.",
            ConvergenceWarning,
        )
    elif settling is not None and (found := doubts(settling, auto)):
        warn_caller(
            f"The chains have not settled after {settling.draws} draws each: {'; '.join(found)}. "
            "A longer warm-up (n_warmup), more draws or more chains help; settling_ has the "
            "figures.",
            ConvergenceWarning,
        )


def warn_of_rounding(estimator: BankBase, runs: Sequence[Run[Draw]]) -> None:
    """Warn where chains did not go on in the arithmetic that was asked for."""
    exact = sum(run.arithmetic != estimator.arithmetic for run in runs)
    if exact:
        warn_caller(
            f"arithmetic={estimator.arithmetic!r} was given up in {exact} of {len(runs)} chains: "
            f"rounding changed the log evidence by more than {LARGEST:g}, as it does where noise "
            "is very small or features are nearly collinear. They went on in double precision; "
            "arithmetic='double' spares the attempt.",
            UserWarning,
        )


def doubts(settling: Settling, auto: bool) -> list[str]:
    """What a user should hear of; "auto" promises more than a number of draws does.

    A number of draws that is less than "auto" would make is taken as meant.
    """
    if auto:
        return [_in_words(settling, name) for name in settling.unsettled]
    found = []
    if settling.draws >= rule.LOOKS[0]:
        r_hat = settling.r_hat["predictions"]
        if r_hat is not None and r_hat > rule.WARN_R_HAT:
            found.append(
                f"predictions differ between chains, or halves of them (R-hat {r_hat:.2f})"
            )
        if settling.climb is not None and settling.climb > rule.WARN_CLIMB:
            found.append(
                f"the log likelihood climbs by {settling.climb:.1f} standard errors from the first "
                "half to the second"
            )
    return found


def _in_words(settling: Settling, name: str) -> str:
    """One quantity with its figures."""
    r_hat = settling.r_hat[name]
    facts = ["stuck at different values" if r_hat is None else f"R-hat {r_hat:.2f}"]
    sizes = [size for of in (settling.bulk, settling.tail) if (size := of[name]) is not None]
    if sizes:
        facts.append(f"{min(sizes):.0f} effective draws")
    if name == "log likelihood" and settling.climb is not None and settling.climb > rule.CLIMB:
        facts.append(f"climbs by {settling.climb:.1f} standard errors from half to half")
    return f"{name} ({', '.join(facts)})"

"""A kernel in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from banklearn.posterior.explain import (
        Estimate,
        InputExplanation,
        KernelExplanation,
        Oscillation,
    )

#: Inputs that are named one by one.
NAMED = 5
#: Below this upper end of its interval, an input hardly matters.
HARDLY = 0.02


def short(value: float) -> str:
    """Three significant digits."""
    whole = len(str(int(abs(value))))
    return f"{value:.0f}" if 3 < whole < 8 else f"{value:.3g}"


def between(estimate: Estimate) -> str:
    """A value with its interval."""
    value, low, high = map(short, estimate)
    return f"{value} ({low} to {high})"


def shares(estimate: Estimate) -> str:
    """A share with its interval."""
    value, low, high = (f"{100 * v:.0f}" for v in estimate)
    return f"{value} % ({low} to {high} %)"


def kernel_in_words(explanation: KernelExplanation) -> list[str]:
    """Relevance, periods and length scales; intervals have the explanation's coverage."""
    ranked = explanation.by_relevance()
    out = []
    if len(ranked) > 1:
        out += _relevance(ranked)
    for place, one in enumerate(ranked[:NAMED]):
        out += _periods(one)
        meaning = ": points much closer than that have nearly the same value" if not place else ""
        out.append(f"{_length_scale(one, explanation.local)}{meaning}.")
    if (made := explanation.explained) is not None:
        noise, low, high = (short(100.0 * (1.0 - v)) for v in (made.value, made.high, made.low))
        out.append(
            f"Noise makes {noise} % ({low} to {high} %) of the variance of the target, and the "
            "function the rest."
        )
    if explanation.coverage and out:
        out.append(
            f"Numbers in brackets are {100 * explanation.coverage:.0f} % credible intervals."
        )
    return out


def _relevance(ranked: list[InputExplanation]) -> list[str]:
    matter = [one for one in ranked if one.relevance and one.relevance.high >= HARDLY]
    hardly = [one.name for one in ranked if one not in matter]
    listed = ", ".join(f"{o.name} {shares(o.relevance)}" for o in matter[:NAMED] if o.relevance)
    out = []
    if listed:
        rest = len(matter) - NAMED
        more = f", and {rest} more" if rest > 0 else ""
        out.append(
            "Share of the function's variance that goes when one input is shuffled: "
            f"{listed}{more}."
        )
    if hardly:
        few = ", ".join(hardly[:NAMED])
        more = f" and {len(hardly) - NAMED} more" if len(hardly) > NAMED else ""
        out.append(f"These inputs hardly matter: {few}{more}.")
    return out


def _periods(one: InputExplanation) -> list[str]:
    out = []
    for wave in _named(one):
        period = between(wave.period)
        if wave.of == "function":
            out.append(
                f"Along {one.name} the function repeats with period {period}, which carries "
                f"{100 * wave.share:.0f} % of its variance there."
            )
        else:
            out.append(
                f"Along {one.name} the kernel oscillates with period {period}: points that far "
                f"apart go together again ({100 * wave.share:.0f} % of the spectral mass)."
            )
    return out


def _named(one: InputExplanation) -> list[Oscillation]:
    """The oscillations worth a sentence: a line of a function that may be nothing is chance."""
    hardly = one.relevance is not None and one.relevance.low < HARDLY
    return [wave for wave in one.oscillations if not (hardly and wave.of == "function")]


def _length_scale(one: InputExplanation, local: bool) -> str:
    assert one.length_scale is not None
    apart = " apart from these periods" if _named(one) else ""
    where = ", near its median" if local and one.length_scale_of == "kernel" else ""
    subject = f"the {one.length_scale_of or 'kernel'}{apart}"
    return f"Along {one.name} {subject} has length scale {between(one.length_scale)}{where}"

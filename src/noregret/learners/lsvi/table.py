"""The constants of Algorithm 1: a row each, a column for each preset; and what cannot go together.

Column ``theory`` is Theorem 1 as printed (Theorem 2 where ζ > 0). It is vacuous at any K one can run, and needs γ. ``tuned`` is
the same with numbers of a search. ``paper`` is section 5 of the paper. ``practical`` is what works, without γ and without
tuning; it reads column ``counts`` where all steps share one table of counts, and ``shared`` where they share one regression on
vectors.
``safe`` is for a user who has a safe policy: with probability 1 − p no episode violates.
"""

from __future__ import annotations

from noregret.learners.lsvi import bonus, dual, schedule, theorems
from noregret.learners.presets import FOUND, PROBABILITY, Constants, Flag, Number, Word, sharing

#: The word of an option that is as the paper has it.
PRINTED = "as printed in the paper"

#: Every constant of Algorithm 1. Column ``theory`` is the printed algorithm.
TABLE = Constants(
    Number(
        "lam",
        above=0.0,
        theory=(1, "Theorem 1"),
        tuned=(1.29e-06, FOUND),
        paper=("(beta/H)**2 or 1", "not reported; an untried pair is worth exactly H"),
        practical=("min(1e-6, (0.2*beta/H)**2) or 1e-6", "small: an untried direction is worth the cap, a tried one its mean"),
        counts=("min(1e-6, (0.1*beta/H)**2) or 1e-6", "small: an untried pair is worth the cap, a tried one its mean"),
        shared=(
            "1e-5 if one_hot else 0.01",
            "chosen: a smaller ridge believes what features say between states; one-hot ones are exact, and a ridge that pulls "
            "values to 0 at every step makes an end look better than a long life",
        ),
    ),
    Number(
        "beta",
        theory=("d*H*sqrt(log(4*log(max(A, 2))*d*(K*H)/p))", "Theorem 1, with its C₁ taken as 1"),
        tuned=("0.000299*(d*H*sqrt(log(4*log(max(A, 2))*d*(K*H)/p)))", FOUND),
        paper=(1, "not reported; chosen, with neighbours shown by noregret paper"),
        practical=("1.8/sqrt(H)", "times the spread of the next values"),
        counts=("(0.47 if retry_bonus > 0 else 1.35)/sqrt(H)", "times the deviation of the next values"),
        shared=(0.2, "chosen on MountainCar and CartPole with Fourier features"),
    ),
    Number(
        "alpha",
        above=0.0,
        infinite=True,
        theory=("inf if rounding > 0 else log(max(A, 2))*K/(2*(1 + m*(xi + H)))", "Alg. 1, l. 1; m constraints by its proof"),
        tuned=("2.07*(inf if rounding > 0 else log(max(A, 2))*K/(2*(1 + m*(xi + H))))", FOUND),
        paper=(
            "inf if rounding > 0 else K/(1 + 2*H/(gamma if known or xi_rule == 'fixed' else 1/sqrt(K)) + H)",
            "section 5",
        ),
        practical=(
            "inf if rounding > 0 else 4 if schedule == 'anytime' else 4*sqrt(K)",
            "the policy sharpens as the estimates do; times √k with schedule 'anytime'",
        ),
        counts=(
            "inf if rounding > 0 else 4*sqrt(log2(max(A, 2))) if schedule == 'anytime' else 4*sqrt(K)",
            "more actions, more to tell apart; times √k with schedule 'anytime'",
        ),
    ),
    Number(
        "eta",
        theory=("xi/sqrt(K*H**2)", "Alg. 1, l. 1"),
        tuned=("0.114*(xi/sqrt(K*H**2))", FOUND),
        paper=("xi/sqrt(K*H**2)", "section 5"),
        practical=("1 if schedule == 'anytime' else 1/sqrt(K)", "divided by √k with schedule 'anytime'"),
        counts=("4.5/sqrt(H)/(1 if schedule == 'anytime' else sqrt(K))", "a longer horizon has longer lacks"),
        shared=(
            "0.2 if dual_estimate == 'observed' or dual_estimate == 'corrected' else 1 if schedule == 'anytime' else 1/sqrt(K)",
            "chosen on MountainCar and CartPole; divided by √k with schedule 'anytime'",
        ),
    ),
    Number(
        "xi",
        theory=(
            "(4 if zeta > 0 else 2)*H/(gamma if known or xi_rule == 'fixed' else 1/sqrt(K))",
            "Theorem 1, and Theorem 2 where ζ > 0",
        ),
        tuned=("5.06*((4 if zeta > 0 else 2)*H/(gamma if known or xi_rule == 'fixed' else 1/sqrt(K)))", FOUND),
        paper=("2*H/(gamma if known or xi_rule == 'fixed' else 1/sqrt(K))", "section 5, which takes γ = 1"),
        practical=(
            "2*sqrt(K) if not known and (dual_estimate == 'observed' or dual_estimate == 'corrected') "
            "else 2*H/(gamma if known else 1/sqrt(K))",
            "a gap below 1/√K cannot be told from none; 2√K is what steps of 1/√k add up to",
        ),
    ),
    Word("xi_rule", ("fixed", "estimate"), every=("fixed", PRINTED)),
    Number(
        "zeta",
        every=(0, "no tightening (Theorem 1)"),
        paper=(0.1, "the ε of section 5, read as ζ"),
        practical=("min(0.1*H/sqrt(K), gamma/2 if known else inf)", "pays back what the start cost, and leaves half of γ"),
        counts=(
            "min(0.4/sqrt(K), room/10, gamma/2 if known else inf)",
            "the start costs less; at most a tenth of the room between 0, b and H, and half of γ",
        ),
        safe=(0, "pessimism is the tightening"),
    ),
    Word("cap", ("H", "H-h+1"), every=("H", PRINTED), practical=("H-h+1", "what H-h+1 steps can give")),
    Flag("lower_clip", every=(False, PRINTED), practical=(True, "values are at least 0")),
    Word(
        "bonus",
        bonus.WORDS,
        every=("constant", PRINTED),
        practical=("span", "what matters of the next state is how far its values spread"),
        counts=("variance", "a pair whose next values do not vary needs few visits"),
        shared=("constant", "one regression has seen much; what is unknown is worth looking at, not the cap"),
    ),
    Number("utility_bonus", every=(1, PRINTED), practical=(0.5, "optimism about utility is violation")),
    Number(
        "span_floor",
        every=(0, "not used with a constant bonus"),
        practical=("0.4 if bonus != 'constant' else 0", "at least this spread"),
        counts=("0.2 if bonus != 'constant' else 0", "at least this spread, over n"),
    ),
    Number(
        "late_bonus",
        most=1.0,
        every=(1, "the bonus is β‖φ‖"),
        practical=(
            "0.25 if bonus == 'span' and rounding == 0 else 1",
            "of the bonus by span, left where a pair was often tried: the spread is far above the deviation that counts there",
        ),
        safe=(1, "what is certified has the whole bonus"),
    ),
    Number(
        "noise_bonus",
        every=(0, PRINTED),
        practical=("0 if rounding > 0 else 0.4", "times the deviation of what a step pays; nothing where that does not vary"),
        counts=("min(0.35, 0.8/sqrt(H))", "times the deviation of what a step pays; all steps learn from each"),
        shared=(0, "not tried there; the constant bonus does not vanish where next values agree"),
    ),
    Number(
        "retry_bonus",
        every=(0, PRINTED),
        counts=(
            "0.6/sqrt(H) if bonus == 'variance' else 0",
            "times the deviation of the next values, until a pair that was given up is tried again",
        ),
    ),
    Word(
        "dual_estimate",
        dual.WORDS,
        every=("optimistic", PRINTED),
        practical=("plain", "the dual follows the estimate, not its optimism"),
        shared=("observed", "features are never exact, and what was played is"),
        safe=("pessimistic", "the dual follows what is sure"),
    ),
    Number(
        "dual_prior",
        every=(0, "not used"),
        practical=(
            "0.5 if dual_estimate == 'plain' or dual_estimate == 'corrected' else 0",
            "what was never tried gives this share of the cap",
        ),
    ),
    Number(
        "pessimism",
        every=(0, "not used"),
        safe=(0.6, "of the utilities' bonus, taken off; chosen"),
    ),
    Flag(
        "damping",
        every=(False, PRINTED),
        practical=("dual_estimate != 'observed'", "a dual that swings about is slowed down"),
    ),
    Flag(
        "anti_windup",
        every=(False, PRINTED),
        counts=(
            "dual_estimate != 'observed' and dual_estimate != 'corrected'",
            "a start without data does not wind the price up",
        ),
    ),
    Word(
        "price_step",
        dual.STEPS,
        every=("printed", PRINTED),
        practical=(
            "'balanced' if alpha < inf and zeta <= 1.001*max(0.1*H, 0.4)/sqrt(K) else 'printed'",
            "prices that know how V_g answers neither swing nor crawl; a soft-max too sharp swings with noise. "
            "A larger ζ than the preset's is meant, as by Theorem 2, and the balance would take it off",
        ),
        shared=("printed", "the balance is measured on tables"),
        safe=("printed", "what is certified follows the printed step"),
    ),
    Word(
        "schedule",
        schedule.WORDS,
        every=("fixed", PRINTED),
        practical=("anytime", "early steps are long, late ones short; K is not needed"),
    ),
    Number("rounding", every=(0, "no net: the soft-max, as printed")),
    sharing(
        "transitions",
        "all",
        paper=("nothing", "as printed: every step learns alone"),
        safe=("nothing", "what is certified counts each step apart"),
    ),
    PROBABILITY,
    like={"tuned": "theory", "counts": "practical", "shared": "practical", "safe": "practical"},
    presets=("theory", "paper", "practical", "safe", "tuned"),
    where={
        "span_floor": "bonus != 'constant'",
        "late_bonus": "bonus == 'span'",
        "retry_bonus": "bonus == 'variance'",
        "dual_prior": "dual_estimate == 'plain' or dual_estimate == 'corrected'",
        "pessimism": "dual_estimate == 'pessimistic'",
        "damping": "dual_estimate != 'observed'",
        "anti_windup": "dual_estimate != 'observed' and dual_estimate != 'corrected'",
        "p": "dual_estimate == 'pessimistic'",
    },
    functions={"theorem_2": theorems.theorem_2},
    must=(
        (
            "dual_estimate != 'pessimistic' or (bonus == 'span' and lower_clip and pessimism > 0)",
            "dual_estimate is 'pessimistic'; expected with it bonus 'span', lower_clip True and pessimism above 0",
        ),
        (
            "dual_estimate != 'pessimistic' or (share == 'nothing' and schedule != 'doubling' and rounding == 0)",
            "dual_estimate is 'pessimistic'; expected with it share 'nothing', neither schedule 'doubling' nor rounding",
        ),
        (
            "bonus != 'variance' or (one_hot and rounding == 0 and share != 'transitions')",
            "bonus is 'variance'; expected with it one-hot features, no rounding, and share 'nothing' or 'all'",
        ),
        (
            "bonus == 'constant' or beta == 0 or beta*span_floor >= H*sqrt(lam)*(1 - 1e-9)",
            "lam is {lam:.6g}; with bonus {bonus!r} expected at most (beta·span_floor/H)²: an untried pair must reach the cap",
        ),
        (
            "bonus == 'constant' or beta*utility_bonus == 0 or beta*utility_bonus*span_floor >= H*sqrt(lam)*(1 - 1e-9)",
            "lam is {lam:.6g}; with bonus {bonus!r} expected at most (utility_bonus·beta·span_floor/H)²",
        ),
        (
            "rounding == 0 or noise_bonus == 0",
            "noise_bonus is {noise_bonus:g}; with rounding expected 0: the net has no bonus for noise",
        ),
        (
            "rounding == 0 or late_bonus == 1",
            "late_bonus is {late_bonus:g}; with rounding expected 1: the net has the whole bonus",
        ),
        ("price_step == 'printed' or alpha < inf", "price_step is 'balanced'; expected with it an alpha below infinity"),
        ("rounding == 0 or alpha == inf", "alpha is {alpha:g}; with rounding the policy is greedy: leave alpha out"),
        (
            "rounding == 0 or (schedule != 'doubling' and xi_rule == 'fixed')",
            "rounding is {rounding:g}; expected with it neither schedule 'doubling' nor xi_rule 'estimate'",
        ),
        (
            "share != 'transitions' or (rounding == 0 and schedule != 'doubling')",
            "share is 'transitions'; expected 'nothing' or 'all' with rounding or schedule 'doubling'",
        ),
    ),
)

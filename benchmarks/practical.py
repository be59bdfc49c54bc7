"""How good the practical preset is: the tuning set, other problems, and each option left out.

Which problems were looked at while the rules were chosen is in docs/practical.md.

    python benchmarks/practical.py [--trials 10] [--out docs] [problem.npz ...]

Scores are hard regret + hard violation at K = 10⁴ (mean over trials and problems of a family, and the worst run). Problems
given as files are scored as one more family. Writes practical.csv and practical.png.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr

K = 10_000


def untried_worth_H(problem: nr.TabularCMDP) -> float:  # noqa: N802
    """λ with which an untried pair is worth H at the β of the constant bonus."""
    return float((0.3 / problem.horizon) ** 2)


#: The printed form, but for its truncation.
PRINTED: dict[str, Any] = {
    "preset": "paper", "alpha": 100.0, "eta": 0.05, "zeta": 0.0, "xi": "2*H*sqrt(K)", "cap": "H-h+1", "lower_clip": True,
}  # fmt: skip

#: Options by name; functions are of the problem. "steps alone" shares nothing, and the five after it
#: leave one option of practical out.
SETTINGS: dict[str, dict[str, Any]] = {
    "practical": {},
    "steps alone": {"share": "nothing"},
    "constant bonus": {"bonus": "constant", "utility_bonus": 1.0, "beta": 0.3, "lam": untried_worth_H},
    "optimistic dual": {"dual_estimate": "optimistic"},
    "no damping": {"damping": False},
    "fixed α, η": {"schedule": "fixed"},
    "no tightening": {"zeta": 0.0},
    "printed, β=0.1": PRINTED | {"beta": 0.1},
    "printed, β=1": PRINTED | {"beta": 1.0},
    "opse-lcmdp": {"learner": "opse-lcmdp", "safe_policy": "safest"},
}  # fmt: skip


def sparse(seed: int) -> nr.TabularCMDP | None:
    """S=5, A=3, H=4: sparse rewards and utilities, kernels near the corners of the simplex, b = 0.6 of what can be reached."""
    rng = np.random.default_rng(seed + 1000)
    P = rng.dirichlet(np.full(5, 0.1), size=(4, 5, 3))
    r, g = ((rng.random((4, 5, 3)) < 0.1).astype(float) for _ in range(2))
    problem = nr.TabularCMDP(P, r, g, 0.0, 0, name=f"sparse-{seed}")
    most = nr.oracle.reachable(problem)[0, 1]
    return problem.replace(b=0.6 * most) if most > 0.3 else None


def families(files: list[str]) -> dict[str, list[nr.TabularCMDP]]:
    """The sets by name; all constraints of a family are stated by its generator."""
    load = nr.problems.load

    def some_sparse(seeds: range) -> list[nr.TabularCMDP]:
        return [p for p in map(sparse, seeds) if p is not None][:4]

    sets = {
        "tuning: sparse": some_sparse(range(8)),
        "tuning: streaming": [load(f"streaming:seed={s}") for s in (11, 12)],
        "validation: sparse": some_sparse(range(100, 110)),
        "validation: random": [load(f"random:seed={s}") for s in range(100, 104)],
        "validation: streaming": [load(f"streaming:seed={s}") for s in range(100, 104)],
        "validation: linear": [load(f"linear:seed={s}") for s in (100, 101)],
        "validation: media control": [load("media-control")],
        "validation: inventory": [load("inventory")],
        "validation: queue (m=2)": [load("queue")],
        "tuning: grid world": [load("grid-world")],
        "tuning: frozen lake 4×4": [load("frozen-lake-4x4")],
        "held out: sparse": some_sparse(range(200, 215)),
        "held out: random": [load(f"random:seed={s}") for s in range(200, 204)],
        "held out: streaming": [load(f"streaming:seed={s}") for s in range(200, 204)],
        "held out: linear": [load(f"linear:seed={s}") for s in (200, 201)],
    }
    return ({"given files": [load(f) for f in files]} if files else {}) | sets


def score(problems: list[nr.TabularCMDP], trials: int, learner: str = "primal-dual-lsvi", **options: Any) -> dict[str, float]:
    """Mean hard regret, hard violation and soft violation, and the worst sum, over problems and trials."""

    def run(p: nr.TabularCMDP) -> nr.RunResult:
        given = {key: value(p) if callable(value) else value for key, value in options.items()}
        return nr.run(p, learner, episodes=K, trials=trials, record_every=K, progress=False, **given)

    runs = [run(p) for p in problems]
    regret, violation, soft = (
        np.concatenate([getattr(run, key)[:, -1] for run in runs]) for key in ("hard_regret", "hard_violation", "violation")
    )
    return {
        "hard regret": regret.mean(), "hard violation": violation.mean(), "sum": (regret + violation).mean(),
        "worst sum": (regret + violation).max(), "soft violation": soft.mean(),
    }  # fmt: skip


def main() -> None:
    """Score everything, print as it comes, write a table and a figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--out", default="docs")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    for family, problems in families(args.files).items():
        for setting, options in SETTINGS.items():
            if options.get("learner") == "opse-lcmdp" and problems[0].n_constraints > 1:
                continue  # it is stated for one
            rows.append({"family": family, "setting": setting, **score(problems, args.trials, **options)})
            print("  ".join(f"{v:.0f}" if isinstance(v, float) else str(v) for v in rows[-1].values()), flush=True)
        rows.append({"family": family, "setting": "uniform", **score(problems, 1, "uniform")})
    out = Path(args.out)
    with open(out / "practical.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({k: f"{v:.1f}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    draw(rows, out / "practical.png")


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """One line of dots a family: the score of every setting, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(row["family"] for row in rows))[::-1]
    settings = [name for name in (*SETTINGS, "uniform") if any(row["setting"] == name for row in rows)]
    figure, ax = plt.subplots(figsize=(9, 0.55 * len(names) + 2.4), layout="constrained")
    markers = "o*sDv^<>PXhd"
    for i, setting in enumerate(settings):
        picked = [row for row in rows if row["setting"] == setting]
        ax.scatter(
            [max(row["sum"], 1.0) for row in picked], [names.index(row["family"]) for row in picked], marker=markers[i],
            s=45 if i else 110, color=f"C{i}" if setting != "uniform" else "0.6", alpha=0.75 if i else 1.0,
            zorder=2 if i else 3, label=setting,
        )  # fmt: skip
    ax.set_yticks(range(len(names)), names)
    ax.set_xscale("log")
    ax.set_xlabel(f"hard regret + hard violation at K = {K:,} (mean; lower is better)")
    ax.grid(axis="x", which="both", alpha=0.25)
    figure.legend(loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()

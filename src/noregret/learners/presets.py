"""Where a learner's constants come from: the one table in its file, a row for each constant, a column for each preset.

An entry of a table is a value and the reason for it in words. The value is a number, a word, True or False, or a formula in
text (:mod:`noregret._system.formulas`) of the sizes of the problem and of other constants of the table:

    H, S, A, d, m   steps, states, actions, dimension of φ, constraints
    K               episodes
    gamma           the Slater gap γ; 1 where it is unknown, but preset "theory" then refuses a formula that names it
    known           whether γ is known
    usual           in a formula that a user gives: what the preset has in its place, as in eta="3*usual"

What a user gives stands in the place of an entry, as a value or as a formula, and every formula that names it follows. A
preset without an entry in a row takes that of the preset it is :attr:`Table.like`, and at last the entry ``every``.

    table = Table(
        Number("beta", theory=("d*H*sqrt(log(2*d*K*H/p))", "the paper's bonus"), practical=(0.3, "chosen")),
        Number("lam", theory=(1, "as printed"), practical=("(beta/H)**2", "an untried pair is worth exactly H"), above=0),
        Word("cap", ("H", "H-h+1"), theory=("H", "as printed"), practical=("H-h+1", "what H-h+1 steps can give")),
        PROBABILITY,
    )

No other place sets a constant: ``explain`` and the pages print this table, the search rewrites it, and docstrings quote no
number that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from noregret._system import formulas
from noregret.errors import InputError, unknown_name
from noregret.learners.rows import EVERY, ConstantRow, Count, Entry, Flag, Number, Word
from noregret.problems.checks import policy_table
from noregret.problems.validation import Array, Mask

__all__ = [
    "FOUND",
    "PROBABILITY",
    "ConstantRow",
    "Constants",
    "Count",
    "Entry",
    "Flag",
    "Number",
    "Resolved",
    "Word",
    "declared_share",
    "sharing",
    "told_safe_policy",
]

#: Why a constant is what a search found.
FOUND = "found by the search"


def sharing(*takes: str, **columns: Entry) -> Word:
    """The row ``share`` of a learner whose steps may learn together: as printed nothing, else what the problem declares.

    Args:
        takes: what its steps may share beside "nothing": "transitions", "all".
        columns: entries of further presets.
    """
    printed, declared = ("nothing", "as printed: every step learns alone"), ("auto", "what the problem declares")
    return Word("share", ("auto", "nothing", *takes), **{"theory": printed, "practical": declared} | columns)


def declared_share(words: tuple[str, ...], declared: str) -> tuple[str, str]:
    """What steps learn together where ``share`` is "auto", and why.

    Args:
        words: what the learner takes.
        declared: what the problem says does not change with the step.
    """
    if declared in words:
        return declared, f"the problem declares {declared!r}"
    if declared == "all" and "transitions" in words:
        return "transitions", f"the problem declares {declared!r}"
    return "nothing", f"the problem declares {declared!r}; this learner cannot share that"


def told_safe_policy(learner: str, policy: ArrayLike | None, available: Mask) -> Array:
    """The policy (H,S,A) that a learner must be told, checked against the actions that are available.

    Args:
        learner: its name, for errors.
        policy: what the user handed over.
        available: (H,S,A) the actions that are available.

    Raises:
        InputError: there is none, or it is no policy.
    """
    if policy is None or isinstance(policy, str):
        raise InputError(
            f"safe_policy is {policy!r}; {learner} needs a policy that meets the constraint with room: "
            f"an array (H,S,A) (or 'safest' in run, which takes the oracle's)"
        )
    return policy_table(policy, available, "safe_policy")


#: What every guarantee of a paper names p or δ.
PROBABILITY = Number("p", above=0.0, most=1.0 - 1e-9, every=(0.01, "the probability that the guarantee fails"))


class Resolved:
    """The constants of a learner as they are in force: ``c.beta`` or ``c["beta"]``.

    Attributes:
        values: the constants by name.
        why: the reason for each.
        formulas: the formula of each constant that comes from one, the user's or the table's.
    """

    def __init__(self, values: dict[str, Any], why: dict[str, str], formulas: Mapping[str, str] | None = None) -> None:
        self.values, self.why, self.formulas = values, why, dict(formulas or {})

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(f"no constant is called {name!r}; there are {', '.join(self.__dict__['values'])}") from None

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def __repr__(self) -> str:
        """The constants, one line."""
        return f"Resolved({', '.join(f'{name}={value!r}' for name, value in self.values.items())})"


#: A function that formulas may call: its first argument looks up the names that formulas know.
Function = Callable[..., float]


class Constants:
    """The constants of a learner.

    Args:
        rows: one for each constant.
        like: for presets that differ from another one in some rows only, the other one.
        presets: the presets that a user may name; by default the columns, ``theory`` and ``practical`` at least.
        functions: what formulas of this table may call beside :data:`noregret._system.formulas.FUNCTIONS`.
        where: formulas that say where a constant counts, by its name. Elsewhere it does nothing, and a user may not change it.
        must: what must hold of all constants together: formulas, and what an error says where one does not hold. The words may
            name constants in braces.

    Raises:
        ValueError: two rows have one name, or a preset has no entry in a row.
    """

    def __init__(
        self,
        *rows: ConstantRow,
        like: Mapping[str, str] | None = None,
        presets: tuple[str, ...] | None = None,
        functions: Mapping[str, Function] | None = None,
        where: Mapping[str, str] | None = None,
        must: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.rows = {row.name: row for row in rows}
        self.like = {"tuned": "theory"} if like is None else dict(like)
        self.functions, self.where, self.must = dict(functions or {}), dict(where or {}), must
        columns = dict.fromkeys(column for row in rows for column in row.columns if column != EVERY)
        self.presets = presets or tuple(dict.fromkeys(("theory", "practical", *columns)))
        if len(self.rows) != len(rows):
            raise ValueError("two rows of a table have the same name")
        for row in rows:
            for preset in {*self.presets, *columns}:
                try:
                    row.entry(preset, self.like)
                except KeyError as error:
                    raise ValueError(error.args[0]) from None

    def __iter__(self) -> Iterator[ConstantRow]:
        return iter(self.rows.values())

    def __contains__(self, name: object) -> bool:
        return name in self.rows

    def with_rows(
        self, *rows: ConstantRow, where: Mapping[str, str] | None = None, presets: tuple[str, ...] | None = None
    ) -> Constants:
        """The same table with more rows, or with other ones in the place of those that have their names.

        Args:
            rows: the new ones.
            where: where constants of new rows count.
            presets: the presets that a user may name; None for the same.
        """
        mine, counts = {row.name: row for row in (*self, *rows)}, self.where | dict(where or {})
        return Constants(
            *mine.values(),
            like=self.like,
            presets=presets or self.presets,
            functions=self.functions,
            where=counts,
            must=self.must,
        )

    def resolve(
        self,
        learner: str,
        preset: str,
        given: Mapping[str, object],
        sizes: Mapping[str, float],
        slater_gap: float | None,
        column: str | None = None,
    ) -> Resolved:
        """All constants of a preset, with what the user gave in the place of entries.

        Args:
            learner: its name, for errors.
            preset: its name, for errors and for the question whether γ must be known.
            given: what the user gave, by name; None counts as not given.
            sizes: the numbers that formulas may name.
            slater_gap: γ, or None where it is unknown.
            column: the column to read, where the preset has several; by default the preset.

        Raises:
            InputError: a name is unknown, a value is not what it must be, does nothing, or contradicts another.
        """
        for name in given:
            if name not in self.rows:
                raise unknown_name(f"parameter of {learner}", name, self.rows)
        mine = {name: value for name, value in given.items() if value is not None}
        resolving = _Resolving(self, column or preset, mine, {**sizes, "known": slater_gap is not None})
        resolving.slater_gap, resolving.must_know = slater_gap, preset == "theory"
        for name in self.rows:
            resolving.constant(name)
        resolving.check()
        texts = {name: text for name in self.rows if (text := resolving.formula(name)) is not None}
        return Resolved(
            {name: resolving.values[name] for name in self.rows}, {name: resolving.why[name] for name in self.rows}, texts
        )


class _Resolving:
    """The constants of a table while they are computed, each when a formula asks for it.

    Args:
        table: has the rows.
        column: which column is read.
        given: what the user gave.
        known: what formulas may name beside constants and functions.
    """

    def __init__(self, table: Constants, column: str, given: Mapping[str, object], known: Mapping[str, float]) -> None:
        self.table, self.column, self.given, self.known = table, column, given, known
        self.slater_gap: float | None = None
        self.must_know = False  # whether a formula may not take 1 for an unknown γ
        self.values: dict[str, Any] = {}
        self.why: dict[str, str] = {}
        self.needed: set[str] = set()  # constants that a formula of another one named
        self.open: list[str] = []  # constants that are being computed

    def lookup(self, name: str) -> Any:
        """What a name in a formula stands for."""
        if name in self.table.rows:
            self.needed.add(name)
            return self.constant(name)
        if name in self.table.functions:
            return partial(self.table.functions[name], self.lookup)
        if name == "usual" and self.open and self.open[-1] in self.given:
            return self.entry(self.open[-1])[0]
        if name == "gamma":
            if self.slater_gap is None and self.must_know:
                raise InputError("slater_gap is None; preset 'theory' needs the Slater gap γ: a number (or 'oracle' in run)")
            return 1.0 if self.slater_gap is None else float(self.slater_gap)
        value = self.known[name]
        return value if isinstance(value, bool) else float(value)

    def entry(self, name: str) -> tuple[object, str]:
        """What the table has for a constant, computed, and the reason."""
        row = self.table.rows[name]
        value, reason = row.entry(self.column, self.table.like)
        formula = row.formula(value)
        if formula is None:
            return row.checked(value), reason
        return row.checked(row.computed(formulas.compute(formula, self.lookup))), f"{formula}: {reason}"

    def formula(self, name: str) -> str | None:
        """The formula that a constant comes from, the user's or the table's; None for a plain value."""
        row = self.table.rows[name]
        return row.formula(self.given[name] if name in self.given else row.entry(self.column, self.table.like)[0])

    def own(self, row: ConstantRow) -> tuple[object, str]:
        """What the user gave for a constant, computed where it is a formula, and the reason."""
        value = self.given[row.name]
        formula = row.formula(value)
        if formula is None:
            return row.checked(value), "given"
        try:
            return row.checked(row.computed(formulas.compute(formula, self.lookup))), f"{formula}: given"
        except InputError as error:
            raise InputError(f"{row.name} is {formula[:60]!r}; expected {row.expected()}, or a formula: {error}") from None

    def constant(self, name: str) -> Any:
        """The value of a constant: what the user gave, or the table's entry."""
        if name in self.values:
            return self.values[name]
        if name in self.open:
            raise InputError(f"{name} is given by a formula that needs {name} itself: {' → '.join([*self.open, name])}")
        self.open.append(name)
        row = self.table.rows[name]
        if name in self.given:
            value, reason = self.own(row)
        else:
            value, reason = self.entry(name)
        self.values[name], self.why[name] = value, reason
        self.open.pop()
        return value

    def check(self) -> None:
        """Refuse constants that contradict each other, and given ones that do nothing."""
        for formula, words in self.table.must:
            if not formulas.compute(formula, self.lookup):
                raise InputError(words.format_map({**self.known, **self.values}))
        for name in sorted(self.given.keys() - self.needed):
            where = self.table.where.get(name, "True")
            if not formulas.compute(where, self.lookup) and self.values[name] != self.entry(name)[0]:
                raise InputError(f"{name} is {self.values[name]!r}; it does nothing here: expected none, or {where}")

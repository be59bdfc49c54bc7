"""Text that people type, as values."""

from __future__ import annotations


def value(text: str) -> object:
    """Text as true, false, none or a number where it reads as one.

    >>> value("0.3"), value("true"), value("H-h+1")
    (0.3, True, 'H-h+1')
    """
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if abs(number) < 2**63 else float(text)  # a longer whole number is of no use as one
    return text


def listed(text: str) -> list[str]:
    """The names of a list with commas, where ``key=value`` after a comma belongs to the name before it.

    >>> listed("random:seed=3,S=5,job-scheduling")
    ['random:seed=3,S=5', 'job-scheduling']
    """
    names: list[str] = []
    for part in (piece.strip() for piece in text.split(",")):
        goes_on = "=" in part and ":" not in part.partition("=")[0]
        if goes_on and names:
            names[-1] += f",{part}"
        elif part:
            names.append(part)
    return names

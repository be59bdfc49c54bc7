"""Formulas between dollars, as MathML.

MathJax and KaTeX would have to be carried along or fetched; all browsers of today draw MathML by themselves. latex2mathml turns
one into the other while the site is built, so that a page needs neither a script nor a font for its formulas.
"""

from __future__ import annotations

import html as entities
import re

from latex2mathml.converter import convert

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)


def to_mathml(html: str) -> str:
    """A page in which every formula that arithmatex marked has become MathML."""
    html = _INLINE.sub(lambda found: _one(found[1], "inline"), html)
    return _BLOCK.sub(lambda found: _one(found[1], "block"), html)


def _one(latex: str, display: str) -> str:
    return str(convert(entities.unescape(latex).strip(), display=display))

"""An English till receipt of a grocery that does not exist, as a flat, clean scan."""

from __future__ import annotations

import numpy as np

from tierocr.cloud.forge.sample_pages.canvas import Ink, Sheet
from tierocr.cloud.forge.sample_pages.effects import blur, grain
from tierocr.cloud.forge.sample_pages.fonts import load
from tierocr.cloud.forge.sample_pages.numerals import figures
from tierocr.cloud.forge.sample_pages.till import Roll

PAPER: Ink = (250, 249, 245)
INK: Ink = (44, 44, 52)
_SHELF = (
    ("Semi-skimmed milk 2L", 165),
    ("Sourdough loaf 800g", 340),
    ("Free-range eggs x12", 325),
    ("Earl Grey tea bags 80s", 289),
    ("Mature cheddar 350g", 415),
    ("Bananas loose 0.942kg", 104),
    ("Oat biscuits", 120),
    ("Washing-up liquid", 135),
    ("AA batteries 4-pack", 450),
    ("Marmalade, thick cut", 230),
)
_TAXED = ("Washing-up liquid", "AA batteries 4-pack")


def draw(rng: np.random.Generator) -> tuple[Sheet, ...]:
    """The receipt, one page."""
    roll = Roll(560, 30, 31, PAPER, INK)
    _head(roll, rng)
    total, taxed, count = _goods(roll, rng)
    _payment(roll, rng, total, taxed, count)
    sheet = roll.tear()
    return (Sheet(pixels=grain(blur(sheet.pixels, 0.5), rng, 2.0), lines=sheet.lines),)


def _head(roll: Roll, rng: np.random.Generator) -> None:
    text = load("mono", 20)
    roll.feed(6)
    roll.centre("THE PAPER LANTERN", load("mono-bold", 34))
    roll.centre("Grocery & Provisions", text)
    roll.centre("14 Nowhere Lane, Exampleton EX0 0ZZ", text)
    roll.centre("Tel 01632 960 114", text)
    roll.centre("VAT No. GB 000 0000 00", text)
    roll.feed(10)
    roll.pair("23/04/2031 17:46", f"Till 03 #{rng.integers(1000, 9999)}", text)
    roll.left("Served by: Marigold T.", text)
    roll.rule()


def _goods(roll: Roll, rng: np.random.Generator) -> tuple[int, int, int]:
    """The bought goods; returns the total, the taxed part of it and how many."""
    text = load("mono", 20)
    total = taxed = count = 0
    for index in sorted(rng.choice(len(_SHELF), 8, replace=False).tolist()):
        name, price = _SHELF[index]
        many = 1 if name.endswith("kg") else int(rng.choice([1, 1, 1, 2, 3]))
        if many == 1:
            roll.pair(name, figures(price), text)
        else:
            roll.left(name, text)
            roll.pair(f"{many} @ £{figures(price)}", figures(many * price), text, indent=24)
        total, count = total + many * price, count + many
        taxed += many * price if name in _TAXED else 0
    roll.pair("Lantern Card saving", "-1.50", text)
    return total - 150, taxed, count


def _payment(roll: Roll, rng: np.random.Generator, total: int, taxed: int, count: int) -> None:
    text, bold = load("mono", 20), load("mono-bold", 28)
    roll.rule()
    roll.feed(6)
    roll.pair("TOTAL", f"£{figures(total)}", bold)
    roll.pair("Items", str(count), text)
    roll.feed(8)
    roll.pair("Contactless debit", f"£{figures(total)}", text)
    roll.pair("Card", "**** **** **** 0042", text)
    roll.pair("Auth code", f"{rng.integers(100000, 999999)}", text)
    roll.pair("Change due", "£0.00", text)
    roll.rule()
    roll.cells(("VAT", "Rate", "Net", "Tax"), (250, 390, 530), text)
    tax = round(taxed / 6)
    roll.cells(("A", "20.0%", figures(taxed - tax), figures(tax)), (250, 390, 530), text)
    roll.cells(("Z", "0.0%", figures(total - taxed), "0.00"), (250, 390, 530), text)
    roll.rule()
    roll.centre("You earned 17 lantern points today.", text)
    roll.centre("Refunds within 28 days with receipt.", text)
    roll.centre("www.paper-lantern.example/help", text)
    roll.bars(rng, f"03 {rng.integers(1000, 9999)} 2304 31 {rng.integers(1000, 9999)}", text)
    roll.centre("Thank you - please call again!", text)

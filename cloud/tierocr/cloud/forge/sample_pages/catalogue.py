"""Which sample files there are."""

from __future__ import annotations

from tierocr.cloud.forge.sample_pages import (
    dense,
    form,
    invoice,
    receipt_en,
    receipt_photo,
    report,
    thermal,
)
from tierocr.cloud.forge.sample_pages.writer import SamplePage

# `seed` is a page's own: adding a page changes no other.
SAMPLES = (
    SamplePage(name="invoice_zh.png", draw=invoice.draw, seed=1),
    SamplePage(name="receipt_en.jpg", draw=receipt_en.draw, seed=2, quality=80, grey=True),
    SamplePage(name="form_mixed_scan.jpg", draw=form.draw, seed=3, quality=55, grey=True),
    SamplePage(name="dense_print_zh.png", draw=dense.draw, seed=4, grey=True),
    SamplePage(name="receipt_photo_rotated.jpg", draw=receipt_photo.draw, seed=5, quality=78),
    SamplePage(name="report_two_pages.pdf", draw=report.draw, seed=6, quality=50, grey=True),
    SamplePage(name="low_light_zh.jpg", draw=thermal.draw, seed=7, quality=70),
)

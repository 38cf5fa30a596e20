"""A seeded generator of invented sample pages with exact truth, for demos and tests.

The pages are drawn here and committed as package data of the edge, so that nobody needs fonts to
use them. All companies, people, numbers and addresses are made up.
"""

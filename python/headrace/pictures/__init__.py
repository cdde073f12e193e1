"""Programs and reports as pictures: SVG that stands by itself, in HTML for notebooks."""

from .chart import Series, line_chart
from .program import program_html, program_svg

__all__ = ["Series", "line_chart", "program_html", "program_svg"]

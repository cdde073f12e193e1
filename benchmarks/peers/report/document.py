"""Tables within a page that people write: what stands between `<!-- models -->` and `<!-- end of models -->` is a suite's summary."""

from __future__ import annotations


def replaced(page: str, suite: str, summary: str) -> str:
    """The page with the suite's tables anew. ValueError: the page has no place for them."""
    begin, end = f"<!-- {suite} -->\n", f"<!-- end of {suite} -->"
    before, found, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise ValueError(f"the page has no lines `{begin.strip()}` and `{end}` for the tables of {suite}")
    return f"{before}{begin}{summary}\n{end}{after}"

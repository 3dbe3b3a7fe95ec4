"""Every relative link of the documentation leads to a file that exists, and to a heading of it where it names one."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_resolve(page: Path) -> None:
    for inline, reference in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        path, _, anchor = (inline or reference).partition("#")
        if re.match(r"[a-z]+:", path):  # another site
            continue
        target = page.parent / path if path else page
        assert target.exists(), f"{page.name}: {inline or reference}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {inline or reference}"

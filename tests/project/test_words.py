"""Phrases that CONTRIBUTING lists as unclear do not come back."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXTS = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]


def test_unclear_phrases_do_not_come_back() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*`) \|", page[page.index("## Words") : page.index("Names: not")], re.M)
    phrases = [phrase for row in rows for phrase in re.findall(r"`([^`]+)`", row)]
    assert len(phrases) > 10
    unclear = re.compile("|".join(re.escape(phrase).replace(r"\ ", r"\s+") for phrase in phrases))
    found = {path: m[0] for path in TEXTS if (m := unclear.search(path.read_text(encoding="utf-8")))}
    assert not found

"""Write the page of each paper in docs/papers, from its rows.

python tools/papers             write the pages
python tools/papers --check     write nothing; exit with 1 if a row fails or a page would change
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from papers.page import FOLDER, page
from papers.rows import load


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python tools/papers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; say which pages would change")
    check = parser.parse_args().check
    changed = 0
    for rows in sorted(FOLDER.glob("*.toml")):
        paper = load(rows)
        path, text = rows.with_suffix(".md"), page(paper)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            changed += 1
            print(f"{path.name}: {'would change' if check else 'written'}")
            if not check:
                path.write_text(text, encoding="utf-8")
    return int(check and changed > 0)


if __name__ == "__main__":
    sys.exit(main())

"""Make the library's files from their originals, so that nobody edits a number by hand.

    python tools/library originals wheels    the originals without geometry, from wheels in a folder or as installed
                                             each licence file is looked at: MIT, BSD or Apache-2.0, or an error
    python tools/library                     the robots' tables from these, docs/library.md, the table of LICENSES.md

sources.toml names the wheels; CONTRIBUTING.md says how to bring them.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from library import licences, originals, page, tables


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["originals"]:
        wheels = Path(arguments[1] if len(arguments) > 1 else "wheels")
        for name, source in tables.ALL.items():
            licences.check(name, source, wheels)
            write(tables.original_path(name), originals.original(name, source, wheels))
        return
    for name in tables.SOURCES:
        path, text = tables.FOLDER / f"{name}.toml", tables.table(name)
        if not (path.exists() and tables.agree(path.read_text(encoding="utf-8"), text)):
            write(path, text)
    write(page.PATH, page.text())
    write(licences.PATH, licences.text())


def write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        print(path)


main(sys.argv[1:])

"""`linkwise explain`: the intermediates of the formulations."""

from __future__ import annotations

import shlex
from typing import Annotated

from ..declare import arg, flag, opt
from ..options import OUTPUT, Degrees, Json, Q, Qd, Qdd
from ..results import print_json
from ..robot import Source
from ..screen import echo, sentence, table

EXAMPLES = (
    ("linkwise explain planar3", "what there is: names, meanings, equations of the papers"),
    ("linkwise explain planar3 m_hat U D --q 0,0,0", "some of them at a state"),
    ("linkwise explain stanford nu C_nu --q 0,pi/2,0.1,0,0,0 --qd 1,0,0,0,0,0", "with rates: Kozlowski's velocities"),
    ("linkwise explain planar3 I --latex", "as LaTeX"),
)


def command(
    source: Source,
    names: Annotated[list[str] | None, arg("names", "Quantities by name, such as M_hat, U, I; all: all.")] = None,
    q: Q = None,
    qd: Qd = None,
    qdd: Qdd = None,
    degrees: Degrees = False,
    latex: Annotated[bool, flag("--latex", "As LaTeX display equations.", OUTPUT)] = False,
    digits: Annotated[int, opt("COUNT", "Of numbers; default: 5.", min=1, max=17)] = 5,
    json: Json = False,
) -> int:
    """Every intermediate of the formulations at one state, by link, with the equation of the paper it is from.

    Saha's B, p, M, N_l, N_d, U, D, ..., Angeles' K and T, Kozlowski's P, D, G; with --qd also C, nu and xi; with --qdd
    also tau. Without names it is a list of them. The state is the zero position unless --q says otherwise.
    """
    import numpy as np

    from ...explanation import explain
    from ...robot.configurations import neutral
    from ..states import state, warn_of_unread

    arm = source.load()
    at = neutral(arm) if q is None else state(arm, q, "q", "--q", degrees)
    rates, accelerations = (state(arm, text, word, f"--{word}", degrees) for text, word in ((qd, "qd"), (qdd, "qdd")))
    warn_of_unread(arm, {"--q": ("q", q), "--qd": ("qd", qd), "--qdd": ("qdd", qdd)})
    if rates is None and (accelerations is not None or not names):
        rates = np.zeros(arm.n)
    found = explain(arm, at, rates, np.zeros(arm.n) if accelerations is None and not names else accelerations)
    needs = explain(arm, at, np.zeros(arm.n), np.zeros(arm.n)) if names else found
    for name in names or ():
        if name in needs and name not in found:
            raise ValueError(
                f"{name} depends on {'accelerations' if name == 'tau' else 'rates'} (expected --qd, --qdd)"
            )
    chosen = tuple(found) if names == ["all"] else tuple(names or ())
    if json:
        found._chosen(chosen)
        print_json({"robot": arm.name, "q": at, "quantities": {name: found[name] for name in chosen or found}})
    elif not chosen:
        rows = [
            [x.name, x.symbol, f"{x.source} {x.equation}", x.meaning.split(";")[0]] for x in found.quantities.values()
        ]
        line = f"linkwise explain {shlex.quote(source.robot)} NAME ..."
        sentence(f"{arm.name}: {len(rows)} quantities at a state; their values: {line}")
        echo()
        table(["name", "symbol", "paper, equation", "what it is"], rows)
    else:
        echo(found.latex(*chosen, digits=digits) if latex else found.text(*chosen, digits=digits))
    return 0

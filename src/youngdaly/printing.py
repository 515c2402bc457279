"""From formulas to JavaScript: all that the workshop page calculates with, printed when the site is built.

The page's own code in `web/workshop/` holds no formula and no published number; both come from here.
"""

import json

import sympy as sp
from sympy.codegen.rewriting import expm1_opt, optimize

from youngdaly import formulas
from youngdaly.data import UNITS, bytes_per_parameter, fact, table
from youngdaly.evaluation import EXPONENTIAL, NEWTON_STEPS, SERIES, SERIES_BELOW, split, stable, value
from youngdaly.figures import NAMES, RUNGS, STACK
from youngdaly.text import DECIMAL, TIMES

PRINTED = (
    "STATE", "WRITE_TIME", "BANDWIDTH", "FAILURE_INTERVAL", "DEVICE_INTERVAL", "COST",
    "YOUNG", "LOSS", "WRITING", "REDONE", "RESTARTS",
    "EXACT_BEST", "EXACT_LOSS", "EXACT_WRITING", "EXACT_REDONE", "EXACT_RESTARTS",
    "ASYNC_BEST", "ASYNC_LOSS", "ASYNC_WRITING", "ASYNC_REDONE",
)  # fmt: skip
_IN_JAVASCRIPT = {"expm1": "Math.expm1", "exact_root": "exactRoot", "exp_beyond_first": "expBeyondFirst"}

# The JavaScript of the two functions that `evaluation` has for arguments with small or large values.
_FUNCTIONS = """\
  const polynomial = (coefficients, z) => coefficients.reduceRight((sum, c) => c + sum * z, 0);

  function expBeyondFirst(y) {{
    return y < 1 ? y * y * polynomial({exponential}, y) : Math.expm1(y) - y;
  }}

  function exactRoot(d) {{
    const u = Math.sqrt(2 * d);
    if (u < {below}) return polynomial({series}, u);
    let x = 1;
    for (let step = 0; step < {steps}; step += 1) x = {newton};
    return x;
  }}
"""


def javascript(expression):
    """A formula as the text of a JavaScript function of one object, whose keys are the names of the symbols.

    Raises a `ValueError` for an expression that has no counterpart in JavaScript.
    """
    names = sorted(map(str, expression.free_symbols))
    return f"({{ {', '.join(names)} }}) => {_code(stable(expression))}"


def _code(expression):
    try:
        return sp.jscode(expression, user_functions=_IN_JAVASCRIPT)
    except NotImplementedError as error:
        raise ValueError(f"{expression} cannot be printed: {str(error).splitlines()[0]}") from None


def _numbers(coefficients):
    """A JavaScript list of the same floats, each as 1/n where there is such an n: that is shorter."""
    parts = [(c, round(1 / c) if c else 0) for c in coefficients]
    return f"[{', '.join(f'1/{n}' if n and 1 / n == c else repr(float(c)) for c, n in parts)}]"


def _newton_step():
    """x − g/g′ for g = x − 1 + e^(−x−d), whose root is the exact best interval over the failure interval."""
    x, d = sp.symbols("x d", positive=True)
    root = x - 1 + sp.exp(-x - d)
    slope = sp.diff(root, x)
    return x - optimize(root, [expm1_opt]) / optimize(slope, [expm1_opt])


def presets():
    """The scenarios of `data/presets.csv`: a dict from key to (label, numbers by symbol in SI units).

    A cell of the table names a fact, a product of facts such as `a*b`, or in column b a layout of the state.
    """

    def number(symbol, cell):
        if symbol == "b":
            return bytes_per_parameter(cell)
        return float(sp.prod(map(fact, cell.split("*"))))

    rows = table("presets").set_index("key")
    symbols = [column for column in rows if column in formulas.QUANTITIES]
    return {
        key: (row["label"], {symbol: number(symbol, row[symbol]) for symbol in symbols if isinstance(row[symbol], str)})
        for key, row in rows.iterrows()
    }


def first_order_answer(numbers):
    """The best interval and the ledger there, to first order, for the numbers of one preset.

    Returns (seconds, dict as from `evaluation.split`). Raises a `ValueError` where first order means nothing.
    """
    given = dict(numbers)
    if "P" in given:
        given["delta"] = value(formulas.WRITE_TIME, S=value(formulas.STATE, P=given["P"], b=given["b"]), B=given["B"])
    if "N" in given:
        given["M"] = value(formulas.FAILURE_INTERVAL, N=given["N"], m=given["m"])
    delta, M, r = given["delta"], given["M"], given["r"]
    if "s" not in given:
        tau = value(formulas.YOUNG, delta=delta, M=M)
        return tau, split(tau, delta, M, r)
    stream = {"s": given["s"], "D": delta, "M": M}
    tau = value(formulas.ASYNC_BEST, **stream)
    return tau, {
        "useful": 1 - value(formulas.ASYNC_LOSS, tau=tau, r=r, **stream),
        "writing": value(formulas.ASYNC_WRITING, tau=tau, s=given["s"], D=delta),
        "redone": value(formulas.ASYNC_REDONE, tau=tau, D=delta, M=M),
        "restarts": value(formulas.RESTARTS, r=r, M=M),
    }


def _given():
    """What the page knows without calculating: words, units, presets, and where its fields start."""
    plain = table("restart_parts").query("restart == 'plain'")
    opened = {
        "P": fact("llama3_parameters"), "b": bytes_per_parameter("with_gradients"), "B": fact("llama3_bandwidth"),
        "N": fact("llama3_devices"), "m": fact("device_interval_folk"), "s": fact("bytecheckpoint_stall"),
        **dict(zip(plain["part"].str.replace(" ", ""), plain["value"] * plain["unit"].map(UNITS))),
    }  # fmt: skip
    return {
        "names": NAMES,
        "stack": STACK,
        "rungs": RUNGS,
        "times": TIMES,
        "sizes": DECIMAL,
        "tolerated": fact("tolerated"),
        "target": 1 - fact("target_loss"),
        "opened": opened,
        "presets": {key: numbers for key, (_, numbers) in presets().items()},
    }


def page_script():
    """The script `workshop.book`, as text: formulas as functions, and what the page is given."""
    functions = _FUNCTIONS.format(
        exponential=_numbers(EXPONENTIAL),
        series=_numbers(SERIES),
        below=SERIES_BELOW,
        steps=NEWTON_STEPS,
        newton=_code(_newton_step()),
    )
    printed = "".join(f"    {name}: {javascript(getattr(formulas, name))},\n" for name in PRINTED)
    given = "".join(f"    {name}: {json.dumps(entry, ensure_ascii=False)},\n" for name, entry in _given().items())
    return (
        '// Printed from src/youngdaly/formulas.py and data/ when the site was built.\n"use strict";\n'
        f"globalThis.workshop ??= {{}};\n\nworkshop.book = (() => {{\n{functions}\n"
        f"  const formulas = {{\n{printed}  }};\n\n  return {{\n    formulas,\n{given}  }};\n}})();\n"
    )


if __name__ == "__main__":
    print(page_script())

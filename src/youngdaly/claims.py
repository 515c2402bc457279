"""Statements that publications print (`data/claims.csv`), each recomputed from the facts."""

import pandas as pd

from youngdaly import formulas
from youngdaly.data import UNITS, bytes_per_parameter, fact, table
from youngdaly.evaluation import value


def recomputed():
    """Every claim recomputed: a dict from the key of `data/claims.csv` to a number in that row's unit."""
    causes = table("llama3_interruptions")
    counts = causes.set_index("component")["count"]
    by_category = causes.groupby("category")["count"].sum()
    total = counts.sum()

    state = value(formulas.STATE, P=fact("llama3_parameters"), b=bytes_per_parameter("with_gradients"))
    delta = value(formulas.WRITE_TIME, S=state, B=fact("llama3_bandwidth"))
    M, r = fact("llama3_failure_interval"), fact("llama3_restart")
    slow_delta = delta / fact("slow_storage_share")
    loss = value(formulas.LEAST_LOSS, delta=delta, M=M, r=r)
    measured_interval = fact("llama3_window") / fact("llama3_unexpected")
    on_disk = bytes_per_parameter("on_disk")

    in_base_units = {
        "state": state,
        "write_time": delta,
        "failure_interval": measured_interval,
        "best_interval": value(formulas.YOUNG, delta=delta, M=M),
        "lost": loss,
        "effective": 1 - loss,
        "restarts_of_loss": value(formulas.RESTARTS_OF_LEAST, delta=delta, M=M, r=r),
        "short_restart": 1 - value(formulas.LEAST_LOSS, delta=delta, M=M, r=fact("llama3_restart_short")),
        "slow_storage": 1 - value(formulas.LEAST_LOSS, delta=slow_delta, M=M, r=r),
        "calm_cluster": value(formulas.LEAST_LOSS, delta=delta, M=fact("calm_failure_interval"), r=r),
        "reported_effective": 1 - loss,
        "every_three_hours": measured_interval,
        "unexpected": fact("llama3_interruptions") - fact("llama3_planned"),
        "hbm3": counts["GPU HBM3 Memory"] / total,
        "gpu_faults": counts["Faulty GPU"] / total,
        "gpu_faults_roughly": counts["Faulty GPU"] / total,
        "percent_column": total / fact("llama3_unexpected"),
        "gpu_related": by_category["GPU"] / total,
        "hardware": by_category[["GPU", "Host", "Unplanned Maintenance"]].sum() / total,
        "daily_maintenance": fact("llama3_planned") / fact("llama3_window"),
        "once_a_year": value(formulas.FAILURE_INTERVAL, m=fact("device_interval_folk"), N=fact("llama3_devices")),
        "tens_of_minutes": value(formulas.YOUNG, delta=fact("slow_write"), M=M),
        "bloom_checkpoint": value(formulas.STATE, P=fact("bloom_parameters"), b=on_disk),
        "mlperf_checkpoint": value(formulas.STATE, P=fact("llama3_parameters_exact"), b=on_disk),
        "dlrover_frequency": fact("dlrover_steps_before") / fact("dlrover_steps_after"),
    }
    units = table("claims").set_index("key")["unit"]
    return {key: float(number / UNITS[units[key]]) for key, number in in_base_units.items()}


def compared(*sources):
    """The claims (of the sources named, in that order, or all) beside their recomputation, as a DataFrame.

    Columns: key, quantity, printed, recomputed (text), agrees ("yes" where the recomputed number lies in the
    range that the printed text allows, else "no"), source, locator, reason.
    """
    rows = table("claims")
    numbers = rows["key"].map(recomputed())
    rows["agrees"] = ((rows["low"] <= numbers) & (numbers <= rows["high"])).map({True: "yes", False: "no"})
    rows["recomputed"] = [
        f"{number:.4g} {'a day' if unit == '1/d' else unit}".removesuffix(" 1")
        for number, unit in zip(numbers, rows["unit"])
    ]
    for source in sources:
        if source not in set(rows["source"]):
            raise ValueError(f"source = {source!r}: choose from {', '.join(sorted(set(rows['source'])))}")
    if sources:
        rows = pd.concat([rows[rows["source"] == source] for source in sources])
    return rows.fillna({"reason": ""})[
        ["key", "quantity", "printed", "recomputed", "agrees", "source", "locator", "reason"]
    ]

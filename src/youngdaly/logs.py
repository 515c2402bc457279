"""Failure logs: a CSV file, or Slurm accounting, read so that every row is used or left out for a stated reason.

`read` returns a `Log`. Its gaps are measured on a clock that stands still while the job is down.
"""

import bz2
import csv
import gzip
import io
import lzma
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from youngdaly.data import UNITS

# What a column is taken for, by its name in the header; `columns=` overrides.
ROLES = {
    "time": ("time", "start", "started", "timestamp", "date", "datetime"),
    "end": ("end", "ended", "fixed", "resumed", "restarted"),
    "cause": ("cause", "class", "category", "reason"),
    "planned": ("planned",),
    **{f"downtime_{unit}": (f"downtime_{unit}", f"down_{unit}") for unit in ("s", "min", "h")},
    **{f"lost_{unit}": (f"lost_{unit}", f"lost_work_{unit}") for unit in ("s", "min", "h")},
}
SLURM = {"job": ("jobid",), "state": ("state",), "start": ("start",), "end": ("end",)}

PLANNED = {"yes": True, "true": True, "1": True, "planned": True, "y": True}
PLANNED |= {"no": False, "false": False, "0": False, "unplanned": False, "n": False, "": False}

# Slurm's job states (slurm.schedmd.com/job_state_codes.html). A failure: the job stopped without having
# ended and without its owner's wish. A planned stop: it ended, reached its time limit, or was cancelled.
FAILURE_STATES = ("BOOT_FAIL", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REQUEUED", "SPECIAL_EXIT")
PLANNED_STATES = ("CANCELLED", "COMPLETED", "DEADLINE", "REVOKED", "TIMEOUT")
UNENDED_STATES = ("COMPLETING", "CONFIGURING", "PENDING", "RESIZING", "RUNNING", "STOPPED", "SUSPENDED")

MOST_WHILE_DOWN = 0.1  # above this share of the failures, downtimes cannot be those of the one job
_ZONED = r"[T ].*(?:[Zz]|[+-]\d\d(?::?\d\d)?)$"
_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


@dataclass(frozen=True)
class Log:
    """A failure log that was read. All durations are seconds.

    rows : every data row of the file, in order of time: line, time, end, cause, left_out ("" if the row
        is a failure that counts, otherwise why it does not).
    start, end : the window of observation.
    gaps : running time before each failure that counts, since the one before it or the window's start.
    unfinished : running time from the last failure to the window's end, a gap whose end was not seen.
    ends_with_failure : whether the window was closed by its last failure, not by a date.
    restarts : for the failures that state it, the time until the job ran again.
    lost : for the failures that state it, the work lost.
    notes : what the reader took for granted, in sentences.
    """

    name: str
    rows: pd.DataFrame
    start: pd.Timestamp
    end: pd.Timestamp
    gaps: np.ndarray
    unfinished: float
    ends_with_failure: bool
    restarts: np.ndarray
    lost: np.ndarray
    notes: tuple

    @property
    def running(self):
        """The time during which the job ran and could fail."""
        return float(self.gaps.sum() + self.unfinished)

    @property
    def failures(self):
        """The rows that count, as a DataFrame."""
        return self.rows[self.rows["left_out"] == ""]

    def accounting(self):
        """Rows by what became of them: a Series from "used as failures" and each reason to a count."""
        reasons = self.rows["left_out"].where(self.rows["left_out"] != "", "used as failures")
        counts = reasons.value_counts()
        used = counts.get("used as failures", 0)
        return pd.concat([pd.Series({"used as failures": used}), counts.drop("used as failures", errors="ignore")])


def read(
    path,
    *,
    columns="",
    delimiter="",
    zone="",
    window_start="",
    window_end="",
    keep_only="",
    leave_out_causes="",
    failure_states=",".join(FAILURE_STATES),
    same_stop_s=0.0,
    bad_rows="refuse",
):
    """Read a failure log.

    Parameters
    ----------
    path : a CSV file whose first line names the columns, or the output of `sacct --parsable2` with JobID,
        State, Start and End; UTF-8, also compressed (.gz, .bz2, .xz). Times are ISO 8601.
    columns : what the columns are, where their names (`ROLES`) do not say: "time=failed,cause=why". An empty
        name ignores a column: "end=".
    delimiter : by default a comma, or "|" in Slurm accounting.
    zone : zone of times that state none: "+08:00", "Europe/Paris". By default such times are one local clock
        that is never put forward or back. Times with a zone are converted to UTC.
    window_start, window_end : the time of observation. By default from the first row to the last.
    keep_only : the rows to look at: "system=20", or "JobName=train".
    leave_out_causes : causes not to count as failures, separated by commas.
    failure_states : the Slurm states that are failures; the other final states are planned stops.
    same_stop_s : a failure at most this much running time after the one before it is the same stop.
        By default only simultaneous rows are.
    bad_rows : "refuse" a file with an unreadable row, or "leave_out" such rows and count them.

    Returns
    -------
    Log. A row at the very start of the window opens it and is no failure: the gap before it was not seen.

    Raises
    ------
    ValueError that names file, line and remedy.
    """
    path = Path(path)
    name = path.name
    if bad_rows not in ("refuse", "leave_out"):
        raise ValueError(f"bad_rows = {bad_rows!r}: give refuse or leave_out")
    if not same_stop_s >= 0:
        raise ValueError(f"same_stop_s = {same_stop_s!r}: give seconds, 0 or more")
    table, lines = _table(name, _text(path), delimiter)
    roles, notes = _roles(name, table.columns, _pairs("columns", columns))
    rows = (_slurm_rows if "job" in roles else _csv_rows)(name, table, lines, roles, zone, failure_states, notes)
    rows = rows.assign(line=lines, left_out="")
    _leave_out(rows, (table == "").all(axis=1), "blank line")
    _leave_out(rows, rows["skip"] != "", rows["skip"])
    for column, wanted in _pairs("keep_only", keep_only).items():
        if column not in table.columns:
            raise ValueError(f"keep_only = {keep_only!r}: no column {column!r}; there are: {', '.join(table.columns)}")
        if not (table[column] == wanted).any():
            raise ValueError(f"keep_only = {keep_only!r}: no row of {name} has {column} = {wanted!r}")
        _leave_out(rows, table[column] != wanted, f"not {column} = {wanted}")
    bad = (rows["problem"] != "") & (rows["left_out"] == "")
    if bad.any() and bad_rows == "refuse":
        first = rows[bad].iloc[0]
        more = f" ({bad.sum() - 1} more such rows follow)" if bad.sum() > 1 else ""
        raise ValueError(
            f"{name}, line {first['line']}: {first['problem']}{more}; correct the file, or leave such rows out "
            "and counted with bad_rows=leave_out"
        )
    _leave_out(rows, bad, "unreadable")
    return _counted(name, rows, table, window_start, window_end, leave_out_causes, same_stop_s, notes)


def _text(path):
    """The file's text, or an error that says what the file is instead."""
    if not path.is_file():
        raise ValueError(f"{path}: no such file; give the path of a failure log")
    try:
        with _OPENERS.get(path.suffix, open)(path, "rb") as file:
            raw = file.read()
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise ValueError(f"{path.name}: cannot be read ({error}); give a CSV file") from None
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ValueError(f"{path.name} is UTF-16 text: save it as UTF-8")
    if b"\0" in raw:
        raise ValueError(f"{path.name} is no text file: give a CSV file, or the output of sacct --parsable2")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path.name}, line {line}: not UTF-8 text; save the file as UTF-8") from None
    if not text.strip():
        raise ValueError(f"{path.name} is empty: give a log with a header line and one line for each stop")
    return text


def _table(name, text, delimiter):
    """The cells as a DataFrame of str, and the line of the file each row begins on."""
    first = text.lstrip().splitlines()[0]
    if not delimiter:
        delimiter = "|" if "|" in first and "jobid" in first.lower() else ","
    elif len(delimiter) > 1:
        raise ValueError(f"delimiter = {delimiter!r}: give one character")
    header = [column.strip() for column in next(csv.reader([first], delimiter=delimiter))]
    if len(header) == 1:
        other = next((mark for mark in ";\t|," if mark in first), None)
        if other:
            shown = {"\t": "a tab"}.get(other, repr(other))
            raise ValueError(
                f"{name}, line 1: no {delimiter!r} separates the columns of {first!r}, but {shown} might; "
                "if so, say which with delimiter="
            )
    twice = sorted({column for column in header if column and header.count(column) > 1})
    if twice:
        raise ValueError(f"{name}, line 1: two columns are named {twice[0]!r}; rename one")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(
                io.StringIO(text.lstrip(), newline=""), sep=delimiter, dtype=object, na_filter=False,
                index_col=False, skip_blank_lines=False,
            )  # fmt: skip
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        for line, row in _by_line(text, delimiter):
            if len(row) > len(header):
                raise ValueError(
                    f"{name}, line {line}: {len(row)} columns where the header names {len(header)}; "
                    "put quotes around text that contains the delimiter"
                ) from None
        raise ValueError(f"{name} cannot be split into columns ({error}); look for an unclosed quote") from None
    table.columns = header
    if not len(table):
        raise ValueError(f"{name} has a header but no rows: give one line for each stop")
    if '"' not in text:
        return table, np.arange(2, len(table) + 2) + text[: len(text) - len(text.lstrip())].count("\n")
    starts = [line for line, _ in _by_line(text, delimiter)][1 : len(table) + 1]
    return table, np.array(starts)


def _by_line(text, delimiter):
    """Each record with the line it begins on; a quoted cell may run over several lines."""
    skipped = text[: len(text) - len(text.lstrip())].count("\n")
    reader = csv.reader(io.StringIO(text.lstrip(), newline=""), delimiter=delimiter)
    begin = 1
    for row in reader:
        yield begin + skipped, row
        begin = reader.line_num + 1


def _pairs(option, text):
    """"a=b,c=d" as a dict."""
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    if not all(sign and key.strip() for key, sign, _ in pairs):
        raise ValueError(f"{option} = {text!r}: write name=value pairs, separated by commas")
    return {key.strip(): value.strip() for key, _, value in pairs}


def _roles(name, header, chosen):
    """Which column plays which role, and the notes that say so."""
    lower = {column.lower(): column for column in header}
    slurm = "jobid" in lower and "state" in lower and "time" not in chosen
    known = SLURM if slurm else ROLES
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        raise ValueError(f"columns: {unknown[0]!r} is none of {', '.join(known)}")
    roles = {}
    for role, names in known.items():
        found = [lower[n] for n in names if n in lower and lower[n] not in chosen.values()]
        if role in chosen:
            if chosen[role] and chosen[role] not in header:
                raise ValueError(f"columns: {name} has no column {chosen[role]!r}; it has: {', '.join(header)}")
            found = [chosen[role]] if chosen[role] else []
        if len(found) > 1:
            raise ValueError(
                f"{name}, line 1: {' and '.join(found)} may each be the {role} column; "
                f"say which with columns={role}={found[0]}"
            )
        if found:
            roles[role] = found[0]
    required = SLURM if slurm else ("time",)
    for role in required:
        if role not in roles:
            remedy = "ask sacct for JobID,State,Start,End" if slurm else "name it with columns=time=NAME"
            raise ValueError(
                f"{name}, line 1: no {role} column among {', '.join(header)}; the first line must name the "
                f"columns; {remedy}"
            )
    for kind in ("downtime", "lost"):
        several = [roles[role] for role in roles if role.startswith(kind)]
        if len(several) > 1:
            raise ValueError(f"{name}, line 1: {' and '.join(several)} both give {kind}; ignore one with columns=")
    if "end" in roles and any(role.startswith("downtime") for role in roles):
        down = next(role for role in roles if role.startswith("downtime"))
        raise ValueError(
            f"{name}, line 1: {roles['end']} and {roles[down]} both say how long the job was down; "
            f"ignore one with columns={down}= or columns=end="
        )
    ignored = [column for column in header if column and column not in roles.values()]
    notes = ["Columns used: " + ", ".join(f"{column} as {role}" for role, column in roles.items()) + "."]
    if ignored:
        notes.append("Columns not used: " + ", ".join(ignored) + ".")
    if slurm:
        notes.append("Slurm accounting: a stop is the end of a job, the job is down until its next start.")
    return roles, notes


def _csv_rows(name, table, lines, roles, zone, failure_states, notes):
    """The rows of a CSV log: time, end, cause, planned, lost, skip, problem."""
    rows = pd.DataFrame({"skip": "", "problem": ""}, index=table.index, dtype=object)
    rows["time"] = _times(name, table[roles["time"]], rows, lines, zone, notes, required=True)
    rows["end"] = pd.NaT
    if "end" in roles:
        rows["end"] = _times(name, table[roles["end"]], rows, lines, zone, notes)
        if (rows["time"].dt.tz is None) != (rows["end"].dt.tz is None):
            raise ValueError(
                f"{name}: of {roles['time']} and {roles['end']} one states its zone and one does not; "
                "give the zone of the other with zone="
            )
    for role in roles:
        kind, _, unit = role.partition("_")
        if kind in ("downtime", "lost"):
            seconds = _numbers(table[roles[role]], rows) * UNITS[unit]
            if kind == "lost":
                rows["lost"] = seconds
            else:
                rows["end"] = rows["time"] + pd.to_timedelta(seconds, unit="s")
    _problem(rows, rows["end"] < rows["time"], "it ends before it begins")
    rows["cause"] = table[roles["cause"]].str.strip() if "cause" in roles else ""
    rows["planned"] = False
    if "planned" in roles:
        flags = table[roles["planned"]].str.strip().str.lower()
        _problem(rows, ~flags.isin(list(PLANNED)), flags.map("planned = {!r} is neither yes nor no".format))
        rows["planned"] = flags.map(PLANNED).eq(True)
        if (flags == "").any():
            notes.append(f"{(flags == '').sum()} rows leave {roles['planned']} blank: read as not planned.")
    return rows


def _slurm_rows(name, table, lines, roles, zone, failure_states, notes):
    """The rows of Slurm accounting, as those of a CSV log; a job step is no stop of its own."""
    wanted = {state.strip().upper() for state in failure_states.split(",") if state.strip()}
    state = table[roles["state"]].str.strip().str.split().str[0].fillna("").str.upper().str.rstrip("+")
    known = wanted.union(FAILURE_STATES, PLANNED_STATES, UNENDED_STATES)
    rows = pd.DataFrame({"skip": "", "problem": ""}, index=table.index, dtype=object)
    unknown = {"Unknown": "", "None": "", "N/A": ""}
    start, end = (table[roles[role]].str.strip().replace(unknown) for role in ("start", "end"))
    rows["start"] = _times(name, start, rows, lines, zone, notes)
    rows["time"] = _times(name, end, rows, lines, zone, notes)
    rows["end"] = pd.NaT
    _problem(rows, rows["time"] < rows["start"], "it ends before it begins")
    _problem(rows, ~state.isin(known), state.map("{!r} is no job state of Slurm".format))
    rows.loc[table[roles["job"]].str.contains(".", regex=False), "skip"] = "job step, whose job is counted"
    rows.loc[(rows["skip"] == "") & (start == ""), "skip"] = "job that never ran"
    rows.loc[(rows["skip"] == "") & (state.isin(UNENDED_STATES) | (end == "")), "skip"] = "job that has not ended"
    rows["cause"], rows["planned"] = state, ~state.isin(wanted)
    notes.append("States that count as failures: " + ", ".join(sorted(wanted)) + ".")
    return rows


def _times(name, cells, rows, lines, zone, notes, required=False):
    """A column of times; unreadable ones become NaT and a problem of their row."""
    cells = cells.str.strip()
    usable = cells.where(cells.str.len() >= 8)  # shorter: a bare year, or "now"
    try:
        times = pd.to_datetime(usable, format="ISO8601", errors="coerce")
    except ValueError:  # with and without a zone, or several zones
        zoned = cells.str.contains(_ZONED)
        bare = ~zoned & pd.to_datetime(usable.where(~zoned), format="ISO8601", errors="coerce").notna()
        if bare.any() and not zone:
            raise ValueError(
                f"{name}, line {lines[zoned.to_numpy()][0]} states its zone ({cells[zoned].iloc[0]!r}) but line "
                f"{lines[bare.to_numpy()][0]} does not ({cells[bare].iloc[0]!r}); "
                "give the zone of the others with zone=, for example zone=+08:00"
            ) from None
        times = pd.to_datetime(usable.where(zoned), format="ISO8601", errors="coerce", utc=True)
        if bare.any():
            times = times.fillna(_in_zone(pd.to_datetime(usable.where(bare), format="ISO8601"), zone))
    readable = times.notna()
    if times.dt.tz is not None:
        times = times.dt.tz_convert("UTC")
    elif zone:
        times = _in_zone(times, zone)
    if readable.any():
        dates = (cells.str.len() <= 10) & readable
        if dates.any():
            notes.append(f"{dates.sum()} rows give a date without a time in {cells.name}: read as midnight.")
        sort = "UTC" if times.dt.tz is not None else "one local clock, as no zone is stated"
        notes.append(f"Times in {cells.name} are {sort}.")
    wrong = ~readable & ((cells != "") | required)
    _problem(
        rows,
        wrong,
        cells.where(wrong, "").map(
            (str(cells.name) + " = {!r} is no date; write 2022-05-07 or 2022-05-07T20:14").format
        ),
    )
    _problem(rows, readable & times.isna(), f"{cells.name} does not exist, or exists twice, in zone {zone}")
    return times


def _in_zone(times, zone):
    try:
        return times.dt.tz_localize(zone, ambiguous="NaT", nonexistent="NaT").dt.tz_convert("UTC")
    except (KeyError, ValueError, OSError):
        raise ValueError(f"zone = {zone!r}: give an offset such as +08:00, or a name such as Europe/Paris") from None


def _numbers(cells, rows):
    """A column of numbers, 0 or more; blank cells are NaN."""
    cells = cells.str.strip()
    numbers = pd.to_numeric(cells, errors="coerce")
    wrong = (cells != "") & ~((numbers >= 0) & np.isfinite(numbers))
    _problem(rows, wrong, cells.map((str(cells.name) + " = {!r} is no number, 0 or more").format))
    return numbers.where(~wrong)


def _problem(rows, where, text):
    """Note the first problem of each row."""
    where = where & (rows["problem"] == "")
    if where.any():
        rows.loc[where, "problem"] = text if isinstance(text, str) else text[where]


def _leave_out(rows, where, why):
    """Note why rows do not count; the first reason stays."""
    where = where & (rows["left_out"] == "")
    if where.any():
        rows.loc[where, "left_out"] = why if isinstance(why, str) else why[where]

"""What the file of a failure log says: its cells, what its columns are, and its rows as stops of a job.

Two kinds of file are understood: a CSV file with a time column, and Slurm accounting as `sacct --parsable2`
prints it. `youngdaly.logs` decides which rows count. Errors name the line and the remedy.
"""

import bz2
import csv
import gzip
import io
import lzma
import warnings

import numpy as np
import pandas as pd

from youngdaly.data import UNITS

# What a column is taken for by its name (in any case), where `columns` does not say.
CSV_ROLES = {
    "time": ("time", "start", "started", "timestamp", "date", "datetime"),
    "end": ("end", "ended", "fixed", "resumed", "restarted"),
    "cause": ("cause", "class", "category", "reason"),
    "planned": ("planned",),
    **{f"{kind}_{unit}": (f"{kind}_{unit}",) for kind in ("downtime", "lost") for unit in ("s", "min", "h")},
}
SLURM_ROLES = {"job": ("jobid",), "state": ("state",), "start": ("start",), "time": ("end",)}

FLAGS = {"yes": True, "true": True, "1": True, "planned": True}
FLAGS |= {"no": False, "false": False, "0": False, "unplanned": False, "": False}

# Slurm's job states, as its page "Job State Codes" describes them. A failure: the job stopped before its end
# and against its owner's wish. A planned stop: it ended, reached its time limit or was cancelled.
FAILURE_STATES = ("BOOT_FAIL", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REQUEUED", "SPECIAL_EXIT")
PLANNED_STATES = ("CANCELLED", "COMPLETED", "DEADLINE", "REVOKED", "TIMEOUT")
UNENDED_STATES = ("COMPLETING", "CONFIGURING", "PENDING", "RESIZING", "RUNNING", "STOPPED", "SUSPENDED")
TAB = ("tab", r"\t")  # a tab, for those who cannot type one
YEARS = 1900, 2199  # of a log; further out, times overflow
NO_TIME = ("Unknown", "None", "N/A")  # how Slurm prints a time that does not exist

DATES = f"write 2022-05-07 or 2022-05-07T20:14, from {YEARS[0]} to {YEARS[1]}"
_OPEN = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_ZONED = r"[T ].*(?:[Zz]|[+-]\d\d(?::?\d\d)?)$"


def cells(path, delimiter=""):
    """The cells of a file as a DataFrame of str, indexed by the line of the file that each row begins on.

    delimiter : by default "|" for Slurm accounting and a comma for all else; a tab may be spelt out (`TAB`).
    """
    text = _text(path)
    first = text.splitlines()[0]
    delimiter = delimiter or ("|" if "|" in first and "jobid" in first.lower() else ",")
    delimiter = "\t" if delimiter.lower() in TAB else delimiter
    if len(delimiter) != 1:
        raise ValueError(f"delimiter = {delimiter!r}: give one character, or tab")
    header = [column.strip() for column in next(csv.reader([first], delimiter=delimiter), [])]
    other = next((mark for mark in ";\t|," if mark in first), None)
    if len(header) < 2 and other:
        raise ValueError(
            f"line 1: no {delimiter!r} in {first!r}, so all of it is one column; if {other!r} separates the "
            f"columns, say so with delimiter={other!r}"
        )
    twice = [column for column in header if column and header.count(column) > 1]
    if twice:
        raise ValueError(f"line 1: two columns are named {twice[0]!r}; rename one")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(
                io.StringIO(text, newline=""), sep=delimiter, dtype=object, na_filter=False, index_col=False,
                skip_blank_lines=False,
            )  # fmt: skip
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        for line, record in _records(text, delimiter):
            if len(record) > len(header):
                raise ValueError(
                    f"line {line}: {len(record)} cells where line 1 names {len(header)} columns; put quotes "
                    f"around a cell that contains {delimiter!r}"
                ) from None
        raise ValueError(f"it cannot be split into columns ({error}); look for a quote that is not closed") from None
    if table.empty:
        raise ValueError("line 1 names the columns, but no row follows; give one line for each stop")
    lines = (line for line, _ in _records(text, delimiter)) if '"' in text else range(1, len(table) + 2)
    table.columns, table.index = header, list(lines)[1 : len(table) + 1]
    return table


def _text(path):
    """The text of a file, or an error that says what the file is instead."""
    if not path.is_file():
        raise ValueError("no such file; give the path of a failure log")
    try:
        with _OPEN.get(path.suffix, open)(path, "rb") as file:
            raw = file.read()
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise ValueError(f"it cannot be read ({error}); give a CSV file") from None
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ValueError("it is UTF-16 text; save it as UTF-8")
    if b"\0" in raw:
        raise ValueError("it is no text; give a CSV file, or what sacct --parsable2 prints")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line}: not UTF-8 text; save the file as UTF-8") from None
    if not text.strip():
        raise ValueError("it is empty; give a first line that names the columns, and one line for each stop")
    return text


def _records(text, delimiter):
    """Each record with the line it begins on: a cell in quotes may run over several lines."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    begins = 1
    for record in reader:
        yield begins, record
        begins = reader.line_num + 1


def pairs(option, text):
    """The dict that an option like "a=b,c=d" spells."""
    split = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    if not all(sign and key.strip() for key, sign, _ in split):
        raise ValueError(f"{option} = {text!r}: write name=value, several of them separated by commas")
    return {key.strip(): value.strip() for key, _, value in split}


def stops(table, columns="", zone="", failure_states=",".join(FAILURE_STATES)):
    """The rows of `cells` as stops of a job, and notes that say how they were read.

    Returns a DataFrame with the same index and the columns time, end (the job ran again), start (the job
    began; Slurm only), cause, planned, lost_s, skip (why the row is no stop at all) and problem (why it
    cannot be read); and a list of sentences. Parameters as in `youngdaly.logs.read`.
    """
    roles, slurm = _roles(list(table.columns), pairs("columns", columns))
    ignored = [column for column in table.columns if column and column not in roles.values()]
    notes = ["Columns used: " + ", ".join(f"{column} ({role})" for role, column in roles.items()) + "."]
    if ignored:
        notes.append("Columns not used: " + ", ".join(ignored) + ".")
    named = {role: table[column].str.strip() for role, column in roles.items()}
    rows = pd.DataFrame("", index=table.index, columns=["cause", "skip", "problem"], dtype=object)
    rows = rows.assign(start=pd.NaT, time=pd.NaT, end=pd.NaT, planned=False, lost_s=np.nan)
    blank = (table == "").all(axis=1)
    rows.loc[blank, "skip"] = "blank line"
    if slurm:
        _fill_from_slurm(rows, named, zone, failure_states, notes)
    else:
        _fill_from_csv(rows, named, zone, notes)
    _problem(rows, rows["end"] < rows["time"], "it ends before it begins")
    return rows, notes


def _roles(header, chosen):
    """A dict from each role to its column, and whether the file is Slurm accounting."""
    lower = {column.lower(): column for column in header}
    slurm = {"jobid", "state"} <= set(lower)
    accounting = any(column.startswith("jobid") for column in lower)
    if accounting and not slurm and {"start", "end"} & set(lower) and "time" not in chosen:
        raise ValueError(
            f"line 1: {', '.join(header)} look like Slurm accounting without JobID or State, so that failures cannot "
            "be told from other ends of a job; let sacct print State too (JobID,State,Start,End), or, if it is not "
            "Slurm's, say which column is the time with columns=time=NAME"
        )
    known = SLURM_ROLES if slurm else CSV_ROLES
    for role, column in chosen.items():
        if role not in known:
            raise ValueError(f"columns: {role!r} is no role; the roles are {', '.join(known)}")
        if column and column not in header:
            raise ValueError(f"columns: there is no column {column!r}; there are {', '.join(header)}")
    roles = {}
    for role, names in known.items():
        found = [lower[name] for name in names if name in lower and lower[name] not in chosen.values()]
        found = [chosen[role]] if role in chosen else found
        if len(found) > 1:
            raise ValueError(
                f"line 1: both {found[0]} and {found[1]} may be the {role}; say which with columns={role}={found[0]}"
            )
        roles |= {role: column for column in found if column}
    for role in known if slurm else ["time"]:
        if role not in roles:
            remedy = "let sacct print JobID,State,Start,End" if accounting else "say which is with columns=time=NAME"
            raise ValueError(f"line 1: none of the columns {', '.join(header)} is the {role}; {remedy}")
    for kinds in (("end", "downtime"), ("lost",)):
        several = [role for role in roles if role.startswith(kinds)]
        if len(several) > 1:
            raise ValueError(
                f"line 1: {roles[several[0]]} and {roles[several[1]]} say the same thing twice; "
                f"ignore one of them with columns={several[1]}="
            )
    return roles, slurm


def _fill_from_csv(rows, named, zone, notes):
    rows["time"] = _times(named["time"], rows, zone, notes)
    _problem(rows, named["time"] == "", "it has no time")
    if "end" in named:
        rows["end"] = _times(named["end"], rows, zone, notes)
    if rows["end"].isna().all():
        rows["end"] = _no_times(rows["time"])
    if (rows["time"].dt.tz is None) != (rows["end"].dt.tz is None):
        raise ValueError(
            f"of {named['time'].name} and {named['end'].name} only one states its zone; give the other's with zone="
        )
    for role, column in named.items():
        kind, _, unit = role.partition("_")
        if kind in ("downtime", "lost"):
            numbers = pd.to_numeric(column, errors="coerce") * UNITS[unit]
            _problem(rows, (column != "") & ~(numbers.ge(0) & np.isfinite(numbers)), "is no number, 0 or more", column)
            _problem(rows, numbers > UNITS["yr"] * 100, "is more than a century", column)
            numbers = numbers.where(numbers <= UNITS["yr"] * 100)
            if kind == "lost":
                rows["lost_s"] = numbers
            else:
                rows["end"] = rows["time"] + pd.to_timedelta(numbers, unit="s")
    if "cause" in named:
        rows["cause"] = named["cause"]
    if "planned" in named:
        flags = named["planned"].str.lower()
        _problem(rows, ~flags.isin(list(FLAGS)), "is neither yes nor no", named["planned"])
        rows["planned"] = flags.map(FLAGS).eq(True)
        blank = (flags == "") & (rows["skip"] == "")
        if blank.any():
            notes.append(f"Rows that leave {named['planned'].name} blank, which is read as no: {blank.sum()}.")


def _fill_from_slurm(rows, named, zone, failure_states, notes):
    wanted = {state.strip().upper() for state in failure_states.split(",") if state.strip()}
    state = named["state"].str.split(n=1).str[0].fillna("").str.upper()  # "CANCELLED by 1000"
    known = {*FAILURE_STATES, *PLANNED_STATES, *UNENDED_STATES}
    strange = sorted(wanted - known - set(state))
    if strange:
        raise ValueError(f"failure_states: no job ended as {strange[0]!r}, and it is no job state of Slurm")
    known |= wanted
    _problem(rows, ~state.isin(known), "is no job state of Slurm", named["state"])
    start, end = (named[role].mask(named[role].isin(NO_TIME), "") for role in ("start", "time"))
    rows["start"], rows["time"] = (_times(column, rows, zone, notes) for column in (start, end))
    rows["end"] = _no_times(rows["time"])
    _problem(rows, rows["time"] < rows["start"], "it ends before it begins")
    for where, why in (
        (named["job"].str.contains(".", regex=False), "job step, whose job is counted"),
        (start == "", "job that never ran"),
        (state.isin(UNENDED_STATES) | (end == ""), "job that has not ended"),
    ):
        rows.loc[where & (rows["skip"] == ""), "skip"] = why
    rows["cause"], rows["planned"] = state, ~state.isin(wanted)
    notes.append(f"Slurm accounting: a job that ended as {', '.join(sorted(wanted))} has failed.")


def _times(column, rows, zone, notes):
    """A column of cells as times, in UTC if a zone is known; a cell that is no time becomes NaT and a problem."""
    try:
        times = iso(column)
    except ValueError:  # several zones, or some cells without one
        zoned = column.str.contains(_ZONED)
        times, bare = iso(column.where(zoned), utc=True), iso(column.where(~zoned))
        if bare.notna().any():
            with_zone, without = zoned.idxmax(), bare.first_valid_index()
            if not zone:
                raise ValueError(
                    f"line {without}: {column[without]!r} states no zone, while line {with_zone} does "
                    f"({column[with_zone]!r}); give the zone of such rows with zone=, for example zone=+08:00"
                ) from None
            times = times.fillna(_in_zone(bare, zone))
    unreadable = times.isna() & (column != "")
    _problem(rows, unreadable, f"is no date; {DATES}", column)
    if times.dt.tz is not None:
        times = times.dt.tz_convert("UTC")
    elif zone:
        times = _in_zone(times, zone)
        _problem(rows, times.isna() & (column != ""), f"does not exist, or exists twice, in zone {zone}", column)
    if times.notna().any():
        clock = "one local clock, as no zone is stated" if times.dt.tz is None else "converted to UTC"
        notes.append(f"Times in {column.name}: {clock}.")
        dates = times.notna() & (column.str.len() <= 10)
        if dates.any():
            notes.append(f"Rows with a date alone in {column.name}, which is read as midnight: {dates.sum()}.")
    return times


def iso(cells, **options):
    """ISO 8601 dates and times as timestamps; NaT for a cell that is none, or is not in `YEARS`."""
    usable = cells.where(cells.str.len() >= 8)  # pandas would also read a bare year, and "now"
    times = pd.to_datetime(usable, format="ISO8601", errors="coerce", **options)
    return times.where(times.dt.year.between(*YEARS))


def _no_times(times):
    """As many times that do not exist, with or without a zone like the others."""
    return pd.Series(pd.NaT, index=times.index, dtype=times.dtype)


def _in_zone(times, zone):
    try:
        return times.dt.tz_localize(zone, ambiguous="NaT", nonexistent="NaT").dt.tz_convert("UTC")
    except (KeyError, ValueError, OSError):
        raise ValueError(f"zone = {zone!r}: give an offset such as +08:00, or a name such as Europe/Paris") from None


def _problem(rows, where, what, column=None):
    """Note the first problem of the rows `where`; with a column, its name and the cell come before `what`."""
    where = where & (rows["problem"] == "")
    if where.any():
        rows.loc[where, "problem"] = (
            what if column is None else [f"{column.name} = {cell!r} {what}" for cell in column[where]]
        )

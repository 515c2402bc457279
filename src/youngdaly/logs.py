"""Failure logs: which rows of a log are failures of the job, and how long it ran between them.

`read` returns a `Log`. Every row of the file is used, or left out for a stated reason. Gaps are measured on
a clock that stands still while the job is down.
"""

from dataclasses import dataclass
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd

from youngdaly.log_files import DATES, FAILURE_STATES, cells, iso, pairs, stops
from youngdaly.text import duration

USED = "used as a failure"
_MOMENT = 1e-6  # seconds: the times in a log are not told apart below this
MOST_WHILE_DOWN = 0.1  # a job that is down cannot fail: above this share, the downtimes are of something else


@dataclass(frozen=True)
class Log:
    """A failure log that was read. All durations are in seconds.

    name : the file's name.
    rows : every row of the file in order of time, indexed by its line, with the columns time, end, cause,
        planned, lost_s and fate (`USED`, or why the row is left out).
    start, end : the window of observation.
    gaps : running time before each failure, since the one before it or since the window opened.
    unfinished : running time from the last failure to the window's end: a gap whose end was not seen.
    ends_with_failure : whether the last failure closed the window, and not a date.
    clock_stops : whether any row says when the job ran again, so that the gaps leave out the time it was down.
    restarts : for the failures that state it, the time until the job ran again.
    lost : for the failures that state it, the work lost.
    notes : how the file was read, in sentences.
    """

    name: str
    rows: pd.DataFrame
    start: pd.Timestamp
    end: pd.Timestamp
    gaps: np.ndarray
    unfinished: float
    ends_with_failure: bool
    clock_stops: bool
    restarts: np.ndarray
    lost: np.ndarray
    notes: tuple

    @property
    def running(self):
        """How long the job ran within the window: the time in which it could fail."""
        return float(self.gaps.sum() + self.unfinished)

    @property
    def failures(self):
        """The rows that count."""
        return self.rows[self.rows["fate"] == USED]

    def wall_gaps(self, restart):
        """Time on the wall clock before each failure, as `youngdaly.replay` takes it, for a given restart time."""
        return self.gaps + restart if self.clock_stops else self.gaps

    def accounting(self):
        """What became of the rows: a DataFrame with the columns fate, rows and lines (the first of them)."""
        lines = {USED: []} | {fate: sorted(group.index) for fate, group in self.rows.groupby("fate")}
        return pd.DataFrame(
            {
                "fate": lines.keys(),
                "rows": map(len, lines.values()),
                "lines": [", ".join(map(str, which[:40])) + " …" * (len(which) > 40) for which in lines.values()],
            }
        )


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
    path : a CSV file whose first line names the columns, or what `sacct --parsable2` prints, with JobID,
        State, Start and End. UTF-8, may be compressed (.gz, .bz2, .xz). Times are ISO 8601.
    columns : what the columns are, where their names do not say (`log_files.CSV_ROLES`):
        "time=failed_at,cause=why". "end=" ignores the column that would be the end.
    delimiter : by default a comma, and "|" for Slurm accounting; "tab" for a tab.
    zone : the zone of times that state none: "+08:00", "Europe/Paris". By default they are one local clock
        that is never put forward or back. Times that state a zone are converted to UTC.
    window_start, window_end : the window of observation. By default from the first row to the last.
    keep_only : look at these rows alone: "system=20", "JobName=train".
    leave_out_causes : causes that are not to count, separated by commas.
    failure_states : the Slurm states that are failures; every other end of a job is a planned stop.
    same_stop_s : a failure after at most this much running time is the same stop as the one before it.
        By default only rows of the same time are.
    bad_rows : "refuse" a file with a row that cannot be read, or "leave_out" such rows and count them.

    Returns
    -------
    Log. A failure at the very start of the window opens it and does not count: the gap before it was not seen.

    Raises
    ------
    ValueError that names the file, the line where there is one, and the remedy.
    """
    path = Path(path)
    try:
        texts = {
            "columns": columns, "delimiter": delimiter, "zone": zone, "window_start": window_start,
            "window_end": window_end, "keep_only": keep_only, "leave_out_causes": leave_out_causes,
            "failure_states": failure_states,
        }  # fmt: skip
        for option, text in texts.items():
            if not isinstance(text, str):
                raise ValueError(f"{option} = {text!r}: give a text")
        if bad_rows not in ("refuse", "leave_out"):
            raise ValueError(f"bad_rows = {bad_rows!r}: give refuse or leave_out")
        if not 0 <= same_stop_s < np.inf:
            raise ValueError(f"same_stop_s = {same_stop_s!r}: give a number of seconds, 0 or more")
        table = cells(path, delimiter)
        rows, notes = stops(table, columns, zone, failure_states)
        rows["fate"] = rows["skip"]
        _keep_only(rows, table, keep_only)
        _leave_out_bad(rows, bad_rows)
        start, end = _window(rows, window_start, window_end, zone, notes)
        begins, ends = _down(rows, start, end, notes)
        _leave_out(rows, rows["time"] < start, "before the window")
        _leave_out(rows, rows["time"] > end, "after the window")
        _leave_out(rows, table.duplicated(), "the same, cell by cell, as another row")
        _leave_out(rows, rows["planned"], "planned stop")
        _leave_out_causes(rows, leave_out_causes)
        return _log(path.name, rows, start, end, window_end == "", same_stop_s, begins, ends, notes)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


READING = [name for name, option in signature(read).parameters.items() if option.kind is option.KEYWORD_ONLY]


def _leave_out(rows, where, why):
    """Give the rows `where` a fate, unless they have one."""
    rows.loc[where & (rows["fate"] == ""), "fate"] = why


def _keep_only(rows, table, keep_only):
    for column, wanted in pairs("keep_only", keep_only).items():
        if column not in table:
            raise ValueError(f"keep_only = {keep_only!r}: there is no column {column!r} in {', '.join(table.columns)}")
        if wanted not in set(table[column]):
            raise ValueError(f"keep_only = {keep_only!r}: no row has {column} = {wanted!r}")
        _leave_out(rows, table[column] != wanted, f"not {column}={wanted}")


def _leave_out_bad(rows, bad_rows):
    bad = (rows["fate"] == "") & (rows["problem"] != "")
    if bad_rows == "refuse" and bad.any():
        line = bad.idxmax()
        more = f" (and {bad.sum() - 1} more that cannot be read)" if bad.sum() > 1 else ""
        raise ValueError(
            f"line {line}: {rows.loc[line, 'problem']}{more}; correct the file, or have such rows left out and "
            "counted with bad_rows=leave_out"
        )
    _leave_out(rows, bad, "cannot be read")


def _leave_out_causes(rows, causes):
    candidates = rows[rows["fate"] == ""]
    for cause in (text.strip() for text in causes.split(",") if text.strip()):
        if cause not in set(rows["cause"]):
            known = ", ".join(sorted(set(rows["cause"]))[:20])
            raise ValueError(f"leave_out_causes = {causes!r}: no row has the cause {cause!r}; there are {known}")
        _leave_out(rows, candidates["cause"].eq(cause).reindex(rows.index, fill_value=False), f"cause {cause}")


def _window(rows, window_start, window_end, zone, notes):
    """The window's two ends: as given, or from the first row (or the first job's start) to the last."""
    times = rows.loc[rows["fate"] == "", ["start", "time"]]
    if times["time"].isna().all():
        raise ValueError(f"none of its {len(rows)} rows is a stop with a time; give a log with at least one")
    aware = rows["time"].dt.tz is not None
    ends = []
    for name, text, default in (
        ("window_start", window_start, times.min().min()),
        ("window_end", window_end, times["time"].max()),
    ):
        at = iso(pd.Series([text]))[0] if text else default
        if pd.isna(at):
            raise ValueError(f"{name} = {text!r}: {DATES}")
        if text and aware and at.tz is None and zone:
            at = at.tz_localize(zone)
        if (at.tz is not None) != aware:
            zoned = "with a zone, as the log's times have one" if aware else "without a zone, as the log's times"
            raise ValueError(f"{name} = {text!r}: write it {zoned}")
        ends.append(at.tz_convert("UTC") if aware else at)
    start, end = ends
    if not start < end:
        raise ValueError(
            f"the window is empty, from {start} to {end}; give a window_start and a window_end around the log"
        )
    within = times["time"].between(start, end)
    if not within.any():
        raise ValueError(
            f"no row lies in the window from {start} to {end}: the rows run from {times['time'].min()} to "
            f"{times['time'].max()}"
        )
    how = {(False, False): "as given", (True, True): "from the first row to the last, as none was given"}
    how = how.get((window_start == "", window_end == ""), "one end given, the other the log's own")
    length = duration((end - start).total_seconds())
    notes.append(f"Window: {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} ({length}), {how}.")
    if not times["time"].dropna().is_monotonic_increasing:
        notes.append("The rows were not in order of time; they were sorted.")
    return start, end


def _merged(begins, ends):
    """Intervals joined where they touch or overlap: sorted begins and ends."""
    order = np.argsort(begins, kind="stable")
    begins, ends = begins[order], np.maximum.accumulate(ends[order])
    apart = begins[1:] > ends[:-1]
    return begins[np.r_[True, apart]], ends[np.r_[apart, True]]


def _down(rows, start, end, notes):
    """When the job was down, as sorted, disjoint begins and ends in seconds since the window's start."""
    told = rows[rows["fate"].isin(["", "job that has not ended"])]
    if told["start"].notna().any():  # Slurm says when jobs ran; the job is down in between
        runs = told[told["start"].notna()]
        begins = _seconds(runs["start"], start)
        ends = np.maximum(begins, _seconds(runs["time"].fillna(end), start))
        from_, to = _merged(begins, ends)
        if (ends - begins).sum() > 1.01 * (to - from_).sum():
            notes.append(
                "Jobs overlap in time, so the failures of several jobs are counted together; "
                "for one job's failures, pick it with keep_only, for example keep_only=JobName=NAME."
            )
        return np.r_[-np.inf, to], np.r_[from_, np.inf]
    down = told[told["end"].notna()]
    if down.empty:
        notes.append(
            "No row says when the job ran again: the time between failures includes the restarts, "
            "and the restart time has to be given."
        )
        return np.array([]), np.array([])
    if len(down) < len(told):
        notes.append(
            "Rows that do not say when the job ran again, so that their downtime counts as running time: "
            f"{len(told) - len(down)}."
        )
    return _merged(_seconds(down["time"], start), _seconds(down["end"], start))


def _seconds(times, start):
    return (times - start).dt.total_seconds().to_numpy()


def _log(name, rows, start, end, window_is_rows, same_stop_s, begins, ends, notes):
    """The `Log` of rows whose fate is known but for the failures (fate ""), given when the job was down."""
    rows = rows.sort_values(["time", "end", "cause"], kind="stable")
    window = (end - start).total_seconds()
    clipped = np.clip(begins, 0, window), np.clip(ends, 0, window)

    at = _seconds(rows["time"], start)
    block = np.searchsorted(begins, at, "right") - 1  # the last time the job went down, by then; -1 if never
    padded_begins, padded_ends = np.r_[begins, -np.inf], np.r_[ends, -np.inf]
    _leave_out(rows, at <= 0, "opens the window")
    inside = (padded_begins[block] < at) & (at < padded_ends[block])
    candidates = (rows["fate"] == "").to_numpy()
    early = sorted(rows.index[inside & candidates])
    if len(early) > max(2, MOST_WHILE_DOWN * candidates.sum()):
        raise ValueError(
            f"lines {', '.join(map(str, early[:5]))}{' …' * (len(early) > 5)}: {len(early)} of {candidates.sum()} "
            "failures happen while the job is still down from an earlier row, so the downtimes are not those of one "
            "job; ignore them with columns=end= (or columns=downtime_min=), and give the restart time"
        )
    _leave_out(rows, inside, "while the job was down")

    def ran(seconds):
        """Running time from the window's start."""
        last = np.searchsorted(clipped[0], seconds, "right")
        down = np.r_[0, np.cumsum(clipped[1] - clipped[0])][last]
        return seconds - down + np.maximum(0, np.r_[-np.inf, clipped[1]][last] - seconds)

    _leave_out(rows, ran(at) < _MOMENT, "opens the window")  # after a stop that lasted from its start
    failed = np.flatnonzero(rows["fate"] == "")
    clock = ran(at[failed])
    again = np.diff(clock, prepend=-np.inf) <= max(same_stop_s, _MOMENT)
    close = f"within {duration(same_stop_s)} of" if same_stop_s else "at the same time as"
    rows.loc[rows.index[failed[again]], "fate"] = f"{close} another failure"
    rows.loc[rows["fate"] == "", "fate"] = USED
    failed, clock = failed[~again], clock[~again]

    total = float(ran(np.array([window]))[0])
    gaps = np.diff(clock, prepend=0.0)
    restarts = (padded_ends[block] - at)[failed][padded_begins[block[failed]] == at[failed]]
    lost = rows["lost_s"].to_numpy()[failed]
    return Log(
        name=name,
        rows=rows.drop(columns=["skip", "start"]),
        start=start,
        end=end,
        gaps=gaps,
        unfinished=total - float(gaps.sum()),
        ends_with_failure=bool(window_is_rows and len(failed) and at[failed[-1]] == window),
        clock_stops=len(begins) > 0,
        restarts=restarts[np.isfinite(restarts)],
        lost=lost[~np.isnan(lost)],
        notes=tuple(notes),
    )

"""The reader of failure logs: what it reads is what was written, every row has a fate, and bad input says so."""

import gzip
import re
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from youngdaly.logs import USED, read

LOG = """\
time,end,cause,planned,lost_h
2022-05-06T04:00,,start,yes,
2022-05-07T00:00,2022-05-07T02:00,gpu,no,1.5
2022-05-08T00:00,2022-05-08T06:00,upgrade,yes,
2022-05-08T03:00,,gpu,no,
2022-05-09T00:00,,disk,no,
2022-05-09T00:00,,gpu,no,
2022-05-09T00:00,,gpu,no,
2022-05-10T00:00,,end,yes,
"""
FATES = {  # by line of the file
    2: "planned stop", 3: USED, 4: "planned stop", 5: "while the job was down", 6: USED,
    7: "at the same time as another failure", 8: "the same, cell by cell, as another row", 9: "planned stop",
}  # fmt: skip
HOUR = 3600.0


@pytest.fixture
def written(tmp_path):
    """A function that writes a log and returns its path."""

    def write(content, name="my.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def same(one, other):
    """Whether two logs say the same, apart from names, lines and the clock."""
    return (
        np.allclose(one.gaps, other.gaps)
        and np.isclose(one.unfinished, other.unfinished)
        and np.allclose(one.restarts, other.restarts)
        and sorted(one.lost) == sorted(other.lost)
        and dict(one.accounting()[["fate", "rows"]].to_numpy()) == dict(other.accounting()[["fate", "rows"]].to_numpy())
    )


# --- A log by hand --------------------------------------------------------------------------------------------------
def test_every_row_has_its_fate(written):
    log = read(written(LOG))
    assert log.rows["fate"].sort_index().to_dict() == FATES
    fates = log.accounting()
    assert fates["rows"].sum() == LOG.count("\n") - 1
    assert fates.set_index("fate").loc["planned stop", "lines"] == "2, 4, 9"


def test_the_clock_stands_still_while_the_job_is_down(written):
    log = read(written(LOG))
    assert list(log.gaps / HOUR) == [20, 40]  # not 20 and 48: two hours of restart, six of upgrade
    assert log.unfinished == 24 * HOUR and log.running == 84 * HOUR
    assert list(log.restarts / HOUR) == [2] and list(log.lost / HOUR) == [1.5]
    assert log.clock_stops and list(log.wall_gaps(HOUR) / HOUR) == [21, 41]


def test_without_an_end_the_clock_runs_on(written):
    log = read(written(LOG), columns="end=")
    assert list(log.gaps / HOUR) == [20, 27, 21] and not log.clock_stops
    assert list(log.wall_gaps(HOUR)) == list(log.gaps)
    assert any("restart time has to be given" in note for note in log.notes)


def test_downtime_says_the_same_as_an_end(written):
    rows = [line.split(",") for line in LOG.splitlines()[1:]]
    minutes = {"2022-05-07T00:00": "120", "2022-05-08T00:00": "360"}
    other = "time,downtime_min,cause,planned,lost_h\n" + "".join(
        ",".join([row[0], minutes.get(row[0], ""), *row[2:]]) + "\n" for row in rows
    )
    assert same(read(written(LOG)), read(written(other, "other.csv")))


def test_a_failure_at_the_start_opens_the_window_and_one_at_the_end_closes_it(written):
    log = read(written("time\n2022-05-01\n2022-05-02\n2022-05-04\n"))
    assert log.rows["fate"].loc[2] == "opens the window"
    assert list(log.gaps / 24 / HOUR) == [1, 2]
    assert log.unfinished == 0 and log.ends_with_failure
    days = written("time\n2022-05-01\n2022-05-02\n2022-05-04\n")
    dated = read(days, window_start="2022-04-30", window_end="2022-05-04")
    assert list(dated.gaps / 24 / HOUR) == [1, 1, 2] and not dated.ends_with_failure


def test_a_failure_as_the_job_comes_up_at_the_start_opens_the_window_too(written):
    log = read(written("time,end,planned\n2022-05-01,2022-05-02,yes\n2022-05-02,,no\n2022-05-04,,no\n"))
    assert log.rows["fate"].loc[3] == "opens the window" and list(log.gaps / 24 / HOUR) == [2]


def test_rows_outside_the_window_are_left_out_and_counted(written):
    log = read(written(LOG), window_start="2022-05-07T12:00", window_end="2022-05-09T12:00")
    counts = log.accounting().set_index("fate")["rows"]
    assert counts["before the window"] == 2 and counts["after the window"] == 1
    assert list(log.gaps / HOUR) == [30] and log.unfinished == 12 * HOUR


def test_failures_close_together_are_one_stop_where_asked(written):
    text = "time,planned\n2022-05-01,yes\n2022-05-02T00:00,no\n2022-05-02T00:20,no\n2022-05-03,no\n"
    log = read(written(text), same_stop_s=1800)
    assert list(log.gaps / HOUR) == [24, 24]
    assert log.rows["fate"].loc[4] == "within 30 min of another failure"


def test_rows_and_causes_can_be_chosen(written):
    text = "time,cause,job\n2022-05-01,gpu,a\n2022-05-02,gpu,b\n2022-05-03,disk,a\n2022-05-04,gpu,a\n"
    log = read(written(text), keep_only="job=a", leave_out_causes="disk")
    assert log.rows["fate"].sort_index().tolist() == ["opens the window", "not job=a", "cause disk", USED]


def test_repair_times_of_single_machines_are_not_taken_for_the_jobs(written):
    rows = "".join(f"2022-05-{day:02d},2022-05-{day + 9:02d}\n" for day in range(1, 20))
    with pytest.raises(ValueError, match="lines 3, 4, 5, 6, 7 …: .*not those of one job.*columns=end="):
        read(written("time,end\n" + rows))


# --- Slurm ----------------------------------------------------------------------------------------------------------
SLURM = """\
JobID|JobName|State|Start|End
100|train|NODE_FAIL|2022-05-01T00:00:00|2022-05-01T10:00:00
100.batch|batch|CANCELLED|2022-05-01T00:00:00|2022-05-01T10:00:00
101|train|TIMEOUT|2022-05-01T11:00:00|2022-05-02T11:00:00
102|train|CANCELLED by 1000|Unknown|2022-05-02T11:30:00
103|train|PREEMPTED|2022-05-02T12:00:00|2022-05-02T20:00:00
104|other|FAILED|2022-05-02T12:00:00|2022-05-02T13:00:00
105|train|OUT_OF_MEMORY|2022-05-02T22:00:00|2022-05-03T00:00:00
106|train|RUNNING|2022-05-03T01:00:00|Unknown
"""


def test_slurm_accounting(written):
    log = read(written(SLURM, "sacct.txt"), keep_only="JobName=train", window_end="2022-05-03T12:00")
    assert log.rows["fate"].sort_index().tolist() == [
        USED, "job step, whose job is counted", "planned stop", "job that never ran", USED, "not JobName=train", USED,
        "job that has not ended",
    ]  # fmt: skip
    assert list(log.gaps / HOUR) == [10, 24 + 8, 2]  # running time only, across the end of an allocation
    assert log.unfinished == 11 * HOUR  # of the job that still runs
    assert list(log.restarts / HOUR) == [1, 2, 1]
    assert log.failures["cause"].tolist() == ["NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY"]


def test_the_states_that_are_failures_can_be_chosen(written):
    log = read(written(SLURM), keep_only="JobName=train", failure_states="NODE_FAIL, OUT_OF_MEMORY")
    assert log.failures["cause"].tolist() == ["NODE_FAIL", "OUT_OF_MEMORY"]


def test_jobs_that_overlap_are_pointed_out(written):
    assert any("overlap" in note for note in read(written(SLURM)).notes)
    assert not any("overlap" in note for note in read(written(SLURM), keep_only="JobName=train").notes)


# --- The same log, written otherwise --------------------------------------------------------------------------------
@pytest.mark.parametrize("content", [
    b"\xef\xbb\xbf" + LOG.encode(),
    LOG.replace("\n", "\r\n"),
    LOG.rstrip("\n"),
    LOG.replace("T", " "),
    LOG.replace("time,end", "Time, End"),
    LOG.replace(",yes,", ",True,").replace(",no,", ",0,"),
    LOG.replace("gpu", '"g\np, u"'),
], ids=["byte-order mark", "Windows line ends", "no last line end", "space", "capitals", "flags", "quotes"])  # fmt: skip
def test_the_same_log_in_other_dress(written, content):
    assert same(read(written(LOG)), read(written(content, "other.csv")))


def test_other_delimiters_and_compression(written):
    assert same(read(written(LOG)), read(written(LOG.replace(",", ";"), "other.csv"), delimiter=";"))
    assert same(read(written(LOG)), read(written(gzip.compress(LOG.encode()), "other.csv.gz")))


@pytest.mark.parametrize("delimiter", ["\t", r"\t", "tab", "TAB"])
def test_a_tab_may_be_spelt_out(written, delimiter):
    assert same(read(written(LOG)), read(written(LOG.replace(",", "\t"), "my.tsv"), delimiter=delimiter))


def test_a_log_with_job_numbers_need_not_be_slurms(written):
    text = "jobid,start,end\n1,2022-05-01,\n1,2022-05-02,2022-05-03\n2,2022-05-05,\n"
    assert list(read(written(text), columns="time=start").gaps / HOUR) == [24, 48]


def test_zones_that_are_stated_are_respected(written):
    plain = read(written("time,planned\n2022-05-01T00:00Z,yes\n2022-05-02T00:00Z,no\n2022-05-03T00:00Z,no\n"))
    mixed = "time,planned\n2022-05-01T08:00+08:00,yes\n2022-05-01T19:00-05:00,no\n2022-05-03T00:00,no\n"
    assert same(plain, read(written(mixed), zone="UTC"))
    summer = "time,planned\n2022-03-26T12:00,yes\n2022-03-27T12:00,no\n"
    assert read(written(summer)).gaps[0] == 24 * HOUR
    assert read(written(summer), zone="Europe/Paris").gaps[0] == 23 * HOUR


def test_blank_lines_are_counted(written):
    log = read(written(LOG.replace("2022-05-09", "\n2022-05-09", 1) + "\n"))
    assert log.accounting().set_index("fate").loc["blank line", "rows"] == 2


# --- Properties -----------------------------------------------------------------------------------------------------
entries = st.lists(
    st.tuples(
        st.integers(1, 10**8),  # seconds after the window opens
        st.integers(0, 10**5) | st.none(),  # seconds down
        st.sampled_from(["gpu", "net", "it's, \"odd\""]),
        st.sampled_from([True, False, False]),
    ),
    min_size=1,
    max_size=30,
)


def frame(events, start="2022-01-01"):
    at, down, cause, planned = zip(*events)
    time = pd.Timestamp(start) + pd.to_timedelta(at, unit="s")
    columns = {"time": time.strftime("%Y-%m-%dT%H:%M:%S"), "downtime_s": pd.array(down, dtype="Int64")}
    return pd.DataFrame(columns | {"cause": cause, "planned": planned})


def tried(path, table, start="2022-01-01"):
    """The log, or the error's words without the file's name and the lines."""
    table.to_csv(path, index=False)
    try:
        return read(path, window_start=start)
    except ValueError as error:
        return re.sub(r"^.*?: (lines? [^:]*: )?", "", str(error))


@given(entries)
def test_a_generated_log_comes_back(tmp_path_factory, events):
    log = tried(tmp_path_factory.getbasetemp() / "generated.csv", frame(events))
    if isinstance(log, str):
        assert "not those of one job" in log
        return
    assert log.accounting()["rows"].sum() == len(events) == len(log.rows)
    written = {at for at, _, _, planned in events if not planned}
    times = (log.failures["time"] - log.start).dt.total_seconds()
    assert set(times) <= written and times.is_monotonic_increasing
    # An oracle of its own: mark every second at which something changes, and walk.
    window = max(at for at, *_ in events)
    down = [(at, at + length) for at, length, *_ in events if length is not None]
    marks = sorted({0, window, *(min(x, window) for pair in down for x in pair), *times})
    up = [(a, b) for a, b in zip(marks, marks[1:]) if not any(lo <= a < hi for lo, hi in down)]
    for failure, clock in zip(times, np.cumsum(log.gaps)):
        assert sum(b - a for a, b in up if b <= failure) == pytest.approx(clock)
    assert sum(b - a for a, b in up) == pytest.approx(log.running)
    for at in written - set(times):  # each moment of a failure that is not used lies within a time down
        assert any(lo < at <= hi for lo, hi in down)


@given(entries, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(tmp_path_factory, events, random):
    path = tmp_path_factory.getbasetemp() / "ordered.csv"
    shuffled = random.sample(events, len(events))
    one, other = tried(path, frame(events)), tried(path, frame(shuffled))
    assert one == other if isinstance(one, str) else same(one, other)


@given(entries, st.integers(-(10**9), 10**9))
def test_shifting_all_times_changes_nothing(tmp_path_factory, events, shift):
    path = tmp_path_factory.getbasetemp() / "shifted.csv"
    start = str(pd.Timestamp("2022-01-01") + pd.Timedelta(shift, unit="s"))
    one, other = tried(path, frame(events)), tried(path, frame(events, start), start)
    assert one == other if isinstance(one, str) else same(one, other)


# --- Bad input ------------------------------------------------------------------------------------------------------
BAD = {
    "impossible date": ("time\n2022-05-01\n2022-02-30\n", {}, r"line 3: time = '2022-02-30' is no date; write 2022-"),
    "impossible hour": ("time\n2022-05-01T25:00\n", {}, "line 2: time = '2022-05-01T25:00' is no date"),
    "no date": ("time\n2022-05-01\nnow\n", {}, "line 3: time = 'now' is no date"),
    "several": ("time\nx\n2022-05-01\ny\n", {}, r"line 2.*\(and 1 more that cannot be read\).*bad_rows=leave_out"),
    "too late": ("time\n2022-05-01\n9999-12-31\n", {}, "line 3: time = '9999-12-31' is no date; .*from 1900 to 2199"),
    "too early": ("time\n0001-01-01\n2022-05-01\n", {}, "line 2: time = '0001-01-01' is no date"),
    "too late in a zone": ("time\n2022-05-01\n9999-12-31\n", {"zone": "-08:00"}, "line 3: time = '9999-12-31'"),
    "too early in a zone": ("time\n2022-05-01T00:00Z\n0001-01-01T00:00+08:00\n", {}, "line 3: time = '0001-01-01T00"),
    "end too late": ("time,end\n2022-05-01,9999-12-31\n", {}, "line 2: end = '9999-12-31' is no date"),
    "down for ever": ("time,downtime_h\n2022-05-01,1e300\n", {}, "line 2: downtime_h = '1e300' is more than a century"),
    "window too late": (LOG, {"window_end": "9999-12-31"}, "window_end = '9999-12-31': write"),
    "no time": ("time,cause\n2022-05-01,a\n,b\n", {}, "line 3: it has no time"),
    "mixed zones": ("time\n2022-05-01T00:00Z\n2022-05-02T00:00\n", {}, "line 3: .* states no zone, while line 2"),
    "mixed columns": ("time,end\n2022-05-01T00:00Z,2022-05-02T00:00\n", {}, "only one states its zone.*zone="),
    "unknown zone": ("time\n2022-05-01\n2022-05-02\n", {"zone": "Paris"}, "zone = 'Paris': give an offset"),
    "hour that does not exist": (
        "time\n2022-03-27T02:30\n2022-05-02\n", {"zone": "Europe/Paris"}, "line 2: .* does not exist, or exists twice",
    ),
    "ends before it begins": ("time,end\n2022-05-02,2022-05-01\n", {}, "line 2: it ends before it begins"),
    "flag": ("time,planned\n2022-05-02,maybe\n", {}, "line 2: planned = 'maybe' is neither yes nor no"),
    "number": ("time,lost_h\n2022-05-02,-1\n", {}, "line 2: lost_h = '-1' is no number, 0 or more"),
    "empty": ("", {}, "it is empty; give a first line that names the columns"),
    "blank": ("\n \n", {}, "it is empty"),
    "header only": ("time,cause\n", {}, "no row follows"),
    "wrong delimiter": ("time;cause\n2022-05-01;a\n", {}, "line 1: .*delimiter=';'"),
    "missing column": ("when,cause\n2022-05-01,a\n", {}, "line 1: none .* is the time; .*columns=time=NAME"),
    "no header": ("2022-05-01,a\n2022-05-02,a\n", {}, "line 1: none of the columns"),
    "two time columns": ("time,date\n2022-05-01,2022-05-01\n", {}, "line 1: both time and date may be the time"),
    "named twice": ("time,time\n2022-05-01,2022-05-01\n", {}, "line 1: two columns are named 'time'"),
    "end and downtime": ("time,end,downtime_h\n2022-05-01,,1\n", {}, "line 1: end and downtime_h say the same"),
    "too many cells": ("time,cause\n2022-05-01,a\n2022-05-02,a,b\n", {}, "line 3: 3 cells where line 1 names 2"),
    "too many everywhere": ("time,cause\n2022-05-01,a,b\n2022-05-02,a,b\n", {}, "line 2: 3 cells where line 1"),
    "open quote": ('time,cause\n2022-05-01,"a\n2022-05-02,a\n', {}, "a quote that is not closed"),
    "picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", {}, "it is no text; give a CSV file"),
    "Latin letters": ("time,cause\n2022-05-01,f\xeate\n".encode("latin-1"), {}, "line 2: not UTF-8 text; save"),
    "UTF-16": ("time\n2022-05-01\n".encode("utf-16"), {}, "it is UTF-16 text; save it as UTF-8"),
    "one moment": ("time\n2022-05-01\n", {}, "the window is empty.*give a window_start and a window_end"),
    "window elsewhere": (
        LOG, {"window_start": "2023-01-01", "window_end": "2023-02-01"}, "no row lies in .* run from 2022-05-06",
    ),
    "window backwards": (LOG, {"window_start": "2022-05-09", "window_end": "2022-05-08"}, "the window is empty"),
    "window no date": (LOG, {"window_start": "May"}, "window_start = 'May': write"),
    "window with a zone": (LOG, {"window_start": "2022-05-06T00:00Z"}, "window_start = .*without a zone"),
    "window without a zone": ("time\n2022-05-01T00:00Z\n", {"window_end": "2022-05-06"}, "window_end = .*with a zone"),
    "option": (LOG, {"bad_rows": "ignore"}, "bad_rows = 'ignore': give refuse or leave_out"),
    "number for a text": (LOG, {"window_start": 2022}, "window_start = 2022: give a text"),
    "negative": (LOG, {"same_stop_s": -1.0}, "same_stop_s = -1.0: give a number of seconds"),
    "no such role": (LOG, {"columns": "when=time"}, "columns: 'when' is no role; the roles are time"),
    "no such column": (LOG, {"columns": "time=when"}, "columns: there is no column 'when'"),
    "no such pair": (LOG, {"columns": "time"}, "columns = 'time': write name=value"),
    "no such row": (LOG, {"keep_only": "cause=cpu"}, "no row has cause = 'cpu'"),
    "no such key": (LOG, {"keep_only": "node=1"}, "there is no column 'node'"),
    "no such cause": (LOG, {"leave_out_causes": "cpu"}, "no row has the cause 'cpu'; there are"),
    "long delimiter": (LOG, {"delimiter": "||"}, "delimiter = '||': give one character"),
    "Slurm state": (SLURM.replace("TIMEOUT", "TIRED"), {}, "line 4: State = 'TIRED' is no job state of Slurm"),
    "Slurm states": (SLURM, {"failure_states": "NODEFAIL"}, "failure_states: no job ended as 'NODEFAIL'"),
    "Slurm columns": ("JobID|State|End\n1|FAILED|2022-05-01\n", {}, "line 1: .* the start; let sacct print JobID"),
    "Slurm without State": ("JobID|Start|End\n1|2022-05-01|2022-05-02\n", {}, "line 1: .*let sacct print State too"),
    "Slurm with commas": ("JobID,JobName,Start\n1,a,2022-05-01\n", {}, "line 1: .*let sacct print State too"),
    "Slurm with raw numbers": (
        "JobIDRaw|State|Start|End\n1|FAILED|2022-05-01|2022-05-02\n", {}, "line 1: .*without JobID or State",
    ),
    "Slurm without times": ("JobID|JobName\n1|a\n", {}, "line 1: .* is the time; let sacct print JobID,State"),
    "nothing ran": (
        "JobID|State|Start|End\n1|PENDING|Unknown|Unknown\n", {}, "none of its 1 rows is a stop with a time",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("content", "options", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_an_error_that_names_file_line_and_remedy(written, content, options, message):
    path = written(content)
    with pytest.raises(ValueError, match=message) as error:
        read(path, **options)
    assert str(error.value).startswith(f"{path}: ")


def test_a_file_that_is_not_there_or_not_whole(tmp_path, written):
    with pytest.raises(ValueError, match="no such file; give the path"):
        read(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match="no such file"):
        read(tmp_path)
    with pytest.raises(ValueError, match="it cannot be read"):
        read(written(gzip.compress(LOG.encode())[:40], "half.csv.gz"))
    with pytest.raises(ValueError, match="it cannot be read"):
        read(written(LOG, "text.csv.xz"))


def test_bad_rows_can_be_left_out_and_are_counted(written):
    text = LOG.replace("2022-05-09T00:00,,disk", "2022-02-30T00:00,,disk").replace("upgrade,yes", "upgrade,perhaps")
    log = read(written(text), bad_rows="leave_out")
    assert log.rows["fate"].loc[[4, 6]].tolist() == ["cannot be read"] * 2
    assert log.accounting()["rows"].sum() == len(FATES)


def test_a_log_without_failures_is_read(written):
    log = read(written("time,planned\n2022-05-01,yes\n2022-05-02,yes\n"))
    assert len(log.gaps) == 0 and log.unfinished == log.running == 24 * HOUR and not log.ends_with_failure


def test_a_million_rows(written):
    rng = np.random.default_rng(0)
    seconds = np.cumsum(rng.exponential(100, 10**6)).astype(int)
    times = np.datetime_as_string(np.datetime64("2022-01-01") + seconds.astype("timedelta64[s]"))
    path = written("time,cause,planned\n" + "\n".join(time + ",gpu,no" for time in times), "million.csv")
    begin = time.process_time()  # not the wall clock: other tests run beside this one
    log = read(path)
    assert time.process_time() - begin < 5
    assert len(log.rows) == 10**6 and log.running == seconds[-1] - seconds[0]

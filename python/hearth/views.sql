-- A Hearth trace as tables. Times and durations are nanoseconds; thread 0 is the idle thread.
-- `seq` is an event's position in the trace. It orders events of the same time.

-- Metadata of the trace (trace.json).
CREATE OR REPLACE VIEW trace AS
SELECT machine, events, duration, reasons, sets, names, idle_states, khz_range, assumed_khz, lost,
    nullif(energy_uj, 0) / 1e6 AS energy_j, complete, coalesce(sync, false) AS sync, source
FROM read_json('{trace}/trace.json', maximum_object_size = 268435456, columns = {
    machine: 'VARCHAR', events: 'BIGINT', duration: 'BIGINT', reasons: 'VARCHAR[]', sets: 'VARCHAR[]',
    names: 'VARCHAR[]', idle_states: 'VARCHAR[]', khz_range: 'BIGINT[]', assumed_khz: 'BIGINT', lost: 'BIGINT[]',
    energy_uj: 'BIGINT', complete: 'BOOLEAN', sync: 'BOOLEAN',
    source: 'JSON'});

-- Mean power of the whole machine from `start` to `stop`, where it is known.
CREATE OR REPLACE VIEW power AS
SELECT start, stop, (uj - before) * 1e3 / (stop - start) AS watts FROM (
    SELECT sample[1] AS stop, lag(sample[1], 1, 0) OVER w AS start, sample[2] AS uj, lag(sample[2], 1, 0) OVER w AS before
    FROM (SELECT unnest(energy_by_time) AS sample FROM read_json('{trace}/trace.json', maximum_object_size = 268435456,
        columns = {energy_by_time: 'BIGINT[][]'}))
    WINDOW w AS (ORDER BY sample[1])
) WHERE stop > start;

CREATE OR REPLACE VIEW cores AS SELECT * FROM read_parquet('{trace}/cores.parquet');

-- A process and the one that forked it. Traces of older versions have none: their folder has no such file.
CREATE OR REPLACE VIEW processes AS
SELECT process, pid, name, parent FROM (
    SELECT NULL::UINTEGER AS process, NULL::UINTEGER AS pid WHERE false
    UNION ALL BY NAME
    SELECT * FROM read_parquet('{trace}/[pt]*.parquet', filename = true, union_by_name = true)
) WHERE filename LIKE '%/processes.parquet';

CREATE OR REPLACE VIEW threads AS
SELECT thread, t.name, t.parent, traced, tid, pid, process FROM (
    SELECT NULL::UINTEGER AS tid, NULL::UINTEGER AS process WHERE false
    UNION ALL BY NAME
    SELECT * FROM read_parquet('{trace}/threads.parquet')
) t LEFT JOIN processes USING (process);

CREATE OR REPLACE VIEW kinds AS SELECT * FROM read_parquet('{trace}/kinds.parquet');

-- Columns as in the files: kinds are numbers.
CREATE OR REPLACE VIEW raw AS
SELECT CAST(regexp_extract(filename, '([0-9]+)[.]parquet$', 1) AS BIGINT) * 1048576 + file_row_number AS seq,
    time, core, kind, thread, other, target, detail, value
FROM read_parquet('{trace}/events/*.parquet', filename = true, file_row_number = true);

CREATE OR REPLACE VIEW events AS
SELECT seq, time, core, kinds.name AS kind, thread, other, target, detail, value
FROM raw JOIN kinds USING (kind);

-- The core goes from `prev` to `next`; `stop` says why `prev` stopped.
CREATE OR REPLACE VIEW switches AS
SELECT seq, time, core, thread AS prev, ['preempted', 'yielded', 'blocked', 'exited'][detail + 1] AS stop,
    other AS next
FROM raw WHERE kind = 1;

-- `waker` is NULL for a wake-up by an interrupt. `core` is the waker's. `sync`: the waker said that it is about to sleep
-- (NULL: not recorded).
CREATE OR REPLACE VIEW wakeups AS
SELECT seq, time, core, thread, CASE WHEN other > 0 OR detail = 1 THEN other END AS waker, target,
    CASE WHEN (SELECT sync FROM trace) THEN value = 1 END AS sync
FROM raw WHERE kind = 2;

CREATE OR REPLACE VIEW forks AS
SELECT seq, time, core, thread AS parent, other AS child, target FROM raw WHERE kind = 3;

CREATE OR REPLACE VIEW execs AS
SELECT seq, time, core, thread, (SELECT names FROM trace)[other + 1] AS program FROM raw WHERE kind = 4;

CREATE OR REPLACE VIEW exits AS SELECT seq, time, core, thread FROM raw WHERE kind = 5;
CREATE OR REPLACE VIEW waits AS SELECT seq, time, core, thread FROM raw WHERE kind = 6;

-- A ready thread moved to another queue.
CREATE OR REPLACE VIEW migrations AS
SELECT seq, time, core, thread, detail AS from_core, target AS to_core FROM raw WHERE kind = 7;

-- A policy placed `thread` on `target`, where it saw the frequency `seen_khz` (NULL: unknown).
CREATE OR REPLACE VIEW placements AS
SELECT seq, time, core, thread, target,
    coalesce((SELECT reasons FROM trace)[detail + 1], 'reason ' || detail) AS reason, nullif(value, 0) AS seen_khz
FROM raw WHERE kind = 8;

CREATE OR REPLACE VIEW frequencies AS
SELECT seq, time, core, nullif(value, 0) AS khz FROM raw WHERE kind = 9;
CREATE OR REPLACE VIEW ticks AS SELECT seq, time, core, nullif(value, 0) AS khz FROM raw WHERE kind = 10;
CREATE OR REPLACE VIEW idles AS
SELECT seq, time, core, detail AS state, (SELECT idle_states FROM trace)[detail + 1] AS name FROM raw WHERE kind = 11;
CREATE OR REPLACE VIEW spins AS SELECT seq, time, core, detail = 1 AS spinning FROM raw WHERE kind = 12;
CREATE OR REPLACE VIEW queues AS SELECT seq, time, core, value AS length FROM raw WHERE kind = 13;
CREATE OR REPLACE VIEW sets AS
SELECT seq, time, core, coalesce((SELECT sets FROM trace)[detail + 1], 'set ' || detail) AS name, value = 1 AS member
FROM raw WHERE kind = 14;

-- End of the trace.
CREATE OR REPLACE VIEW ends AS
SELECT greatest((SELECT duration FROM trace), coalesce(max(time), 0)) AS time FROM raw;

-- Intervals during which a thread ran on a core without a switch.
CREATE OR REPLACE VIEW slices AS
SELECT core, thread, start, stop, stop - start AS duration, ended FROM (
    SELECT core, next AS thread, time AS start,
        coalesce(lead(time) OVER w, (SELECT time FROM ends)) AS stop, lead(switches.stop) OVER w AS ended
    FROM switches WINDOW w AS (PARTITION BY core ORDER BY seq)
) WHERE thread > 0;

-- Slices, split at changes of the frequency (NULL: unknown). It comes from ticks on cores without frequency events.
CREATE OR REPLACE VIEW running AS
WITH exact AS (SELECT core, min(seq) AS seq FROM raw WHERE kind = 9 GROUP BY core),
changes AS (
    SELECT seq, time, core, other AS thread, NULL AS khz FROM raw WHERE kind = 1
    UNION ALL SELECT seq, time, core, NULL, value FROM raw WHERE kind = 9
    UNION ALL SELECT raw.seq, time, core, NULL, value FROM raw LEFT JOIN exact USING (core)
    WHERE kind = 10 AND value > 0 AND (exact.seq IS NULL OR raw.seq < exact.seq)
)
SELECT core, thread, start, stop, stop - start AS duration, khz FROM (
    SELECT core, time AS start, coalesce(lead(time) OVER w, (SELECT time FROM ends)) AS stop,
        last_value(thread IGNORE NULLS) OVER (w ROWS UNBOUNDED PRECEDING) AS thread,
        nullif(last_value(khz IGNORE NULLS) OVER (w ROWS UNBOUNDED PRECEDING), 0) AS khz
    FROM changes WINDOW w AS (PARTITION BY core ORDER BY seq)
) WHERE thread > 0 AND stop > start;

-- Intervals of each thread's state, with its core: 'ready', 'running' or 'away' (blocked or ended).
CREATE OR REPLACE VIEW states AS
WITH changes AS (
    SELECT seq, 0 AS part, time, thread, CASE WHEN stop IN ('preempted', 'yielded') THEN 'ready' ELSE 'away' END AS state,
        core FROM (SELECT seq, time, core, prev AS thread, stop FROM switches WHERE prev > 0)
    UNION ALL SELECT seq, 1, time, next, 'running', core FROM switches WHERE next > 0
    UNION ALL SELECT seq, 0, time, thread, 'ready', target FROM wakeups WHERE thread > 0
    UNION ALL SELECT seq, 0, time, child, 'ready', target FROM forks WHERE child > 0
    UNION ALL SELECT seq, 0, time, thread, 'ready', to_core FROM migrations WHERE thread > 0
)
SELECT *, stop - start AS duration FROM (
    SELECT thread, state, CASE WHEN state != 'away' THEN core END AS core, time AS start,
        coalesce(lead(time) OVER w, (SELECT time FROM ends)) AS stop, seq AS start_seq, lead(seq) OVER w AS stop_seq
    FROM changes WINDOW w AS (PARTITION BY thread ORDER BY seq, part)
);

-- Intervals from each wake-up or fork to the thread's next run.
CREATE OR REPLACE VIEW latencies AS
WITH steps AS (
    SELECT seq, time, thread, 'wakeup' AS what, waker, core, target FROM wakeups
    UNION ALL SELECT seq, time, child, 'fork', parent, core, target FROM forks
    UNION ALL SELECT seq, time, next, 'run', NULL, core, core FROM switches WHERE next > 0
),
pairs AS (
    SELECT thread, what, time AS ran, core AS on_core, lag(what) OVER w AS cause, lag(time) OVER w AS woken,
        lag(waker) OVER w AS waker, lag(core) OVER w AS waker_core, lag(target) OVER w AS target
    FROM steps WINDOW w AS (PARTITION BY thread ORDER BY seq)
)
SELECT thread, cause, waker, waker_core, target, on_core, woken, ran, ran - woken AS latency
FROM pairs WHERE what = 'run' AND cause != 'run';

-- Changes of a thread's core between two runs, with the nearest domain that both cores share.
CREATE OR REPLACE VIEW moves AS
SELECT thread, time, from_core, to_core, CASE
        WHEN a.physical = b.physical THEN 'smt' WHEN a.llc = b.llc THEN 'llc' WHEN a.numa = b.numa THEN 'numa'
        ELSE 'machine' END AS distance
FROM (
    SELECT thread, start AS time, core AS to_core, lag(core) OVER (PARTITION BY thread ORDER BY start_seq) AS from_core
    FROM states WHERE state = 'running'
) JOIN cores a ON a.core = from_core JOIN cores b ON b.core = to_core
WHERE from_core != to_core;

-- The tables and their columns, with units and meanings. The row of a table itself has no column.
CREATE OR REPLACE VIEW columns AS
WITH tables(name, meaning) AS (VALUES
    ('trace', 'one row about the whole trace'),
    ('power', 'mean power of the machine, where it is known'),
    ('cores', 'the cores (hardware threads), and the hardware that they share'),
    ('threads', 'the threads; the idle thread, 0, is not among them'),
    ('processes', 'the processes, as far as they are known, and their ancestors'),
    ('kinds', 'the kinds of events, by the numbers in raw'),
    ('raw', 'all events as they are in the files'),
    ('events', 'all events'),
    ('switches', 'a core goes from one thread to another'),
    ('wakeups', 'a blocked thread becomes ready'),
    ('forks', 'a thread is created'),
    ('execs', 'a thread executes a program'),
    ('exits', 'a thread ends'),
    ('waits', 'a thread starts to wait for a child'),
    ('migrations', 'a ready thread is moved to the queue of another core'),
    ('placements', 'a policy places a thread on a core'),
    ('frequencies', 'a core changes its frequency'),
    ('ticks', 'scheduler ticks'),
    ('idles', 'a core enters an idle state'),
    ('spins', 'an idle core starts or stops to spin'),
    ('queues', 'the length of a run queue changes'),
    ('sets', 'a core joins or leaves a core set of the policy'),
    ('ends', 'one row: the end of the trace'),
    ('slices', 'pieces of time in which a thread runs on a core'),
    ('running', 'slices, cut where the frequency changes'),
    ('states', 'the states of each thread over time'),
    ('latencies', 'from a wake-up or fork to the first run'),
    ('moves', 'a thread runs on another core than the last time'),
    ('columns', 'this list')
),
meanings(tables, name, unit, meaning) AS (VALUES
    ('*', 'seq', NULL, 'position of the event in the trace'),
    ('*', 'time', 'ns', 'time since the start of the trace'),
    ('*', 'core', NULL, 'the core on which it happened'),
    ('*', 'thread', NULL, 'number of the thread in the trace (threads.thread); 0: the idle thread'),
    ('*', 'start', 'ns', 'begin of the interval'),
    ('*', 'stop', 'ns', 'end of the interval'),
    ('*', 'duration', 'ns', 'length'),
    ('*', 'target', NULL, 'the core that is chosen for the thread'),
    ('*', 'khz', 'kHz', 'frequency of the core; NULL: unknown'),
    ('*', 'name', NULL, 'its name'),
    ('trace', 'machine', NULL, 'name of the machine, or the model of its processor'),
    ('trace', 'events', NULL, 'number of events'),
    ('trace', 'duration', 'ns', 'length of the run, to the last exit of the workload'),
    ('trace', 'reasons', NULL, 'reasons of placements, by number'),
    ('trace', 'sets', NULL, 'core sets of the policy, by number'),
    ('trace', 'names', NULL, 'executed programs, by number'),
    ('trace', 'idle_states', NULL, 'idle states, by number'),
    ('trace', 'khz_range', 'kHz', 'lowest and highest frequency of the machine; 0: unknown'),
    ('trace', 'assumed_khz', 'kHz', 'frequency by which time is converted into cycles without frequency events'),
    ('trace', 'lost', NULL, 'events that the recorder lost, by core'),
    ('trace', 'energy_j', 'J', 'energy of the whole machine; NULL: unknown'),
    ('trace', 'complete', NULL, 'false if the recorder was interrupted'),
    ('trace', 'sync', NULL, 'whether wake-ups say if they are synchronous'),
    ('trace', 'source', NULL, 'how it was recorded or simulated'),
    ('power', 'watts', 'W', 'mean power'),
    ('cores', 'core', NULL, 'number of the core in the trace'),
    ('cores', 'physical', NULL, 'physical core: hyperthreads share one'),
    ('cores', 'llc', NULL, 'last-level cache'),
    ('cores', 'numa', NULL, 'NUMA node'),
    ('cores', 'socket', NULL, 'socket'),
    ('threads', 'thread', NULL, 'number of the thread in the trace, which is not used twice'),
    ('threads', 'name', NULL, 'its last name; empty: unknown'),
    ('threads', 'parent', NULL, 'the thread that forked it; 0: it existed before the trace'),
    ('threads', 'traced', NULL, 'whether it belongs to the recorded command or the workload'),
    ('threads', 'tid', NULL, 'the kernel''s number of the thread; NULL: unknown'),
    ('threads', 'pid', NULL, 'the kernel''s number of its process; NULL: unknown'),
    ('threads', 'process', NULL, 'its process (processes.process); NULL: unknown'),
    ('processes', 'process', NULL, 'number of the process in the trace, which is not used twice'),
    ('processes', 'pid', NULL, 'the kernel''s number of the process'),
    ('processes', 'name', NULL, 'last name of its first thread; empty: unknown'),
    ('processes', 'parent', NULL, 'the process that forked it; NULL: unknown, or the kernel'),
    ('kinds', 'kind', NULL, 'number of the kind'),
    ('raw', 'kind', NULL, 'number of the kind'),
    ('events', 'kind', NULL, 'name of the kind'),
    ('raw', 'other', NULL, 'another thread, or a name'),
    ('events', 'other', NULL, 'another thread, or a name'),
    ('raw', 'detail', NULL, 'depends on the kind'),
    ('events', 'detail', NULL, 'depends on the kind'),
    ('raw', 'value', NULL, 'depends on the kind'),
    ('events', 'value', NULL, 'depends on the kind'),
    ('switches', 'prev', NULL, 'the thread that ran'),
    ('switches', 'stop', NULL, 'why it stopped: preempted, yielded, blocked or exited'),
    ('switches', 'next', NULL, 'the thread that runs now'),
    ('wakeups', 'core', NULL, 'the core of the waker'),
    ('wakeups', 'waker', NULL, 'the thread that wakes it; NULL: an interrupt'),
    ('wakeups', 'sync', NULL, 'whether the waker said that it is about to sleep; NULL: not recorded'),
    ('forks', 'core', NULL, 'the core of the parent'),
    ('forks', 'parent', NULL, 'the thread that forks'),
    ('forks', 'child', NULL, 'the new thread'),
    ('execs', 'program', NULL, 'name of the program'),
    ('migrations', 'from_core', NULL, 'the core that it leaves'),
    ('migrations', 'to_core', NULL, 'the core that it comes to'),
    ('placements', 'reason', NULL, 'why the policy chose the core'),
    ('placements', 'seen_khz', 'kHz', 'frequency of the target as visible to the policy; NULL: unknown'),
    ('ticks', 'khz', 'kHz', 'frequency that the kernel saw; NULL: unknown'),
    ('idles', 'state', NULL, 'number of the idle state'),
    ('spins', 'spinning', NULL, 'whether it spins from now on'),
    ('queues', 'length', NULL, 'runnable threads on the core, the running one included'),
    ('sets', 'member', NULL, 'whether it is in the set from now on'),
    ('slices', 'ended', NULL, 'why the thread stopped; NULL: the trace ends'),
    ('states', 'state', NULL, 'ready, running or away (blocked or ended)'),
    ('states', 'core', NULL, 'the core on which it runs or is queued'),
    ('states', 'start_seq', NULL, 'position of the event that begins the state'),
    ('states', 'stop_seq', NULL, 'position of the event that ends it'),
    ('latencies', 'cause', NULL, 'wakeup or fork'),
    ('latencies', 'waker', NULL, 'the thread that woke or forked it; NULL: an interrupt'),
    ('latencies', 'waker_core', NULL, 'the core of the waker'),
    ('latencies', 'on_core', NULL, 'the core on which it then ran'),
    ('latencies', 'woken', 'ns', 'when it was woken or forked'),
    ('latencies', 'ran', 'ns', 'when it ran'),
    ('latencies', 'latency', 'ns', 'from woken to ran'),
    ('moves', 'from_core', NULL, 'the core on which it ran before'),
    ('moves', 'to_core', NULL, 'the core on which it runs now'),
    ('moves', 'distance', NULL, 'smallest domain with both cores: smt, llc, numa or machine'),
    ('columns', 'table', NULL, 'name of the table'),
    ('columns', 'column', NULL, 'name of the column; NULL: the table itself'),
    ('columns', 'type', NULL, 'type of DuckDB'),
    ('columns', 'unit', NULL, 'unit of the values; NULL: none'),
    ('columns', 'meaning', NULL, 'what it is')
)
SELECT "table", "column", type, unit, meaning FROM (
    SELECT nth, 0 AS place, name AS "table", NULL AS "column", NULL AS type, NULL AS unit, meaning
    FROM (SELECT *, row_number() OVER () AS nth FROM tables)
    UNION ALL
    SELECT nth, column_index, table_name, column_name, data_type,
        CASE WHEN own.name IS NULL THEN shared.unit ELSE own.unit END, coalesce(own.meaning, shared.meaning)
    FROM duckdb_columns() c
        JOIN (SELECT name, row_number() OVER () AS nth FROM tables) t ON t.name = c.table_name
        LEFT JOIN meanings own ON own.tables = c.table_name AND own.name = c.column_name
        LEFT JOIN meanings shared ON shared.tables = '*' AND shared.name = c.column_name
    WHERE NOT c.internal
) ORDER BY nth, place;

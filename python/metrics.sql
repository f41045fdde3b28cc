-- The metrics of `hearth report`, computed from the tables of `hearth query`. Above each query are the fields of the report
-- that its columns equal; {} is a map, [KEY:VALUE] a list. python/tests/test_query.py compares them.

-- = context_switches
-- Context switches: from or to a traced thread.
SELECT count(*) FROM switches
WHERE prev != next AND (prev IN (SELECT thread FROM threads WHERE traced) OR next IN (SELECT thread FROM threads WHERE traced));

-- = wakeups
-- Wake-ups of traced threads.
SELECT count(*) FROM wakeups JOIN threads USING (thread) WHERE traced;

-- = wakeup_latency_us.count wakeup_latency_us.mean wakeup_latency_us.p50 wakeup_latency_us.p90 wakeup_latency_us.p99 wakeup_latency_us.p99_9 wakeup_latency_us.max
-- Wake-up latency in microseconds.
SELECT count(*), avg(latency) / 1e3 AS mean, quantile_disc(latency, 0.5) / 1e3 AS p50, quantile_disc(latency, 0.9) / 1e3 AS p90,
    quantile_disc(latency, 0.99) / 1e3 AS p99, quantile_disc(latency, 0.999) / 1e3 AS p99_9, max(latency) / 1e3 AS max
FROM latencies JOIN threads USING (thread) WHERE traced;

-- = energy_j
-- Energy in joules.
SELECT sum(watts * (stop - start)) / 1e9 FROM power;

-- = busy_core_s
-- CPU time of the traced threads.
SELECT sum(duration) / 1e9 FROM slices JOIN threads USING (thread) WHERE traced;

-- = cores_used sockets_used
-- Cores and sockets on which a traced thread ran.
SELECT count(DISTINCT core), count(DISTINCT socket)
FROM slices JOIN threads USING (thread) JOIN cores USING (core) WHERE traced;

-- = busy_ghz_mean
-- Mean frequency while traced threads ran.
SELECT sum(khz * duration) / sum(duration) / 1e6
FROM running JOIN threads USING (thread) WHERE traced AND khz IS NOT NULL;

-- = frequency_residency[ghz:ms]
-- Time at each frequency, to the nearest 100 MHz.
SELECT round(khz / 1e5) / 10 AS ghz, sum(duration) / 1e6 AS ms
FROM running JOIN threads USING (thread) WHERE traced AND khz IS NOT NULL GROUP BY ghz ORDER BY ghz;

-- = migrations_by_distance{}
-- Migrations, by the nearest hardware that both cores share.
SELECT distance, count(*) FROM moves JOIN threads USING (thread) WHERE traced GROUP BY distance;

-- = placements{}
-- Placements by reason.
SELECT reason, count(*) FROM placements GROUP BY reason;

-- = overload_core_ms
-- Overload: cores with more than one runnable thread, while another core is idle.
WITH changes AS (
    SELECT core, start_seq AS seq, start AS time, 1 AS change FROM states WHERE state != 'away'
    UNION ALL SELECT core, stop_seq, stop, -1 FROM states WHERE state != 'away' AND stop_seq IS NOT NULL
),
queues AS (
    SELECT seq, time, core, runnable, lag(runnable, 1, 0) OVER (PARTITION BY core ORDER BY seq) AS before FROM (
        SELECT seq, time, core, sum(sum(change)) OVER (PARTITION BY core ORDER BY seq) AS runnable
        FROM changes GROUP BY seq, time, core)
),
machine AS (
    SELECT time, lead(time, 1, (SELECT time FROM ends)) OVER w - time AS lasts,
        sum(CAST(runnable > 1 AS INT) - CAST(before > 1 AS INT)) OVER w AS overloaded,
        (SELECT count(*) FROM cores) + sum(CAST(runnable = 0 AS INT) - CAST(before = 0 AS INT)) OVER w AS idle
    FROM queues WINDOW w AS (ORDER BY seq, core ROWS UNBOUNDED PRECEDING)
)
SELECT coalesce(sum(overloaded * lasts) FILTER (idle > 0), 0) / 1e6 FROM machine;

-- = underload_per_s
-- Underload: in each 4 ms, cores used minus the most traced threads that were runnable at one time.
WITH alive AS (SELECT states.* FROM states JOIN threads USING (thread) WHERE traced AND state != 'away'),
used AS (
    SELECT slot, count(DISTINCT core) AS cores
    FROM (SELECT core, unnest(range(start // 4000000, stop // 4000000 + 1)) AS slot FROM alive WHERE state = 'running')
    GROUP BY slot
),
changes AS (
    SELECT seq, time, sum(change) AS change FROM (
        SELECT start_seq AS seq, start AS time, 1 AS change FROM alive
        UNION ALL SELECT stop_seq, stop, -1 FROM alive WHERE stop_seq IS NOT NULL)
    GROUP BY seq, time
),
counts AS (
    SELECT time, lead(time, 1, (SELECT time FROM ends)) OVER w AS until, sum(change) OVER w AS runnable
    FROM changes WINDOW w AS (ORDER BY seq)
),
most AS (
    SELECT slot, max(runnable) AS threads
    FROM (SELECT runnable, unnest(range(time // 4000000, until // 4000000 + 1)) AS slot FROM counts) GROUP BY slot
)
SELECT sum(greatest(cores - threads, 0)) / (SELECT time / 1e9 FROM ends) FROM used JOIN most USING (slot);

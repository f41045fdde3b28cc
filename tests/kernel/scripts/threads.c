/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads for machine.sh, nohz.sh, shares.sh and soak.sh: spins, and disturbs others.
 *
 *   threads spin SECONDS [AFTER]     spins; then prints `share PERCENT gap MILLISECONDS turns NUMBER`:
 *                                    its part of the time, the longest time in which it did not run,
 *                                    and how often it was preempted. May use all cores AFTER that many
 *                                    milliseconds
 *   threads flip SECONDS             the same, but has nice value 10 in the first half of each tick, and 0
 *                                    in the second
 *   threads hog SECONDS AFTER        the same, but sleeps that many milliseconds first
 *   threads renice SECONDS PID...    changes the nice values of the threads every 5 ms
 *   threads affinity SECONDS PID...  changes the affinities of the threads every 5 ms
 *   threads class SECONDS PID...     changes the scheduling class of one of the threads every 5 ms
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void use_all_cores(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
}

/* Nice value 10 in the first half of each tick of the kernel, 0 in the second. */
static void flip(int64_t now)
{
	static int64_t coarse, tick;
	static int nice;
	int wanted;

	/* The coarse clock changes in ticks only. */
	if (coarse != read_clock(CLOCK_MONOTONIC_COARSE)) {
		coarse = read_clock(CLOCK_MONOTONIC_COARSE);
		tick = now;
	}
	wanted = now - tick < 2000000 ? 10 : 0;
	if (wanted != nice)
		setpriority(PRIO_PROCESS, 0, wanted);
	nice = wanted;
}

static void spin(int64_t until, int64_t unpin, int flips)
{
	int64_t begun = read_clock(CLOCK_MONOTONIC), now = begun, before, gap = 0;
	struct rusage usage;

	do {
		before = now;
		now = read_clock(CLOCK_MONOTONIC);
		if (now - before > gap)
			gap = now - before;
		if (unpin && now - begun > unpin) {
			use_all_cores();
			unpin = 0;
		}
		if (flips)
			flip(now);
	} while (now < until);
	getrusage(RUSAGE_SELF, &usage);
	printf("share %d gap %d turns %ld\n",
	       (int)(read_clock(CLOCK_PROCESS_CPUTIME_ID) * 100 / (now - begun)),
	       (int)(gap / 1000000), usage.ru_nivcsw);
}

/* Half of the changes leave a thread without the core on which it runs. */
static void set_affinity(pid_t pid, unsigned int round)
{
	int core, cores = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	CPU_ZERO(&set);
	for (core = 0; core < cores; core++)
		if ((unsigned int)core % 2 == round % 2)
			CPU_SET(core, &set);
	sched_setaffinity(pid, sizeof(set), &set);
}

/* Every fourth change is to a real-time class. */
static void set_class(pid_t pid, unsigned int round)
{
	static const int classes[] = { SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_RR };
	int class = classes[round % 4];
	struct sched_param param = { .sched_priority = class == SCHED_RR };

	sched_setscheduler(pid, class, &param);
}

int main(int argc, char **argv)
{
	int64_t until, after;
	unsigned int round;
	int i;

	if (argc < 3)
		return 2;
	until = read_clock(CLOCK_MONOTONIC) + atoi(argv[2]) * 1000000000LL;
	after = argc > 3 ? atoi(argv[3]) * 1000000LL : 0;
	if (!strcmp(argv[1], "spin")) {
		spin(until, after, 0);
		return 0;
	}
	if (!strcmp(argv[1], "flip")) {
		spin(until, 0, 1);
		return 0;
	}
	if (!strcmp(argv[1], "hog")) {
		usleep(after / 1000);
		spin(until + after, 0, 0);
		return 0;
	}
	for (round = 0; read_clock(CLOCK_MONOTONIC) < until; round++) {
		if (!strcmp(argv[1], "class") && argc > 3)
			set_class(atoi(argv[3 + round % (argc - 3)]), round / (argc - 3));
		for (i = 3; i < argc && strcmp(argv[1], "class"); i++) {
			if (!strcmp(argv[1], "renice"))
				setpriority(PRIO_PROCESS, atoi(argv[i]), round % 2);
			else
				set_affinity(atoi(argv[i]), round);
		}
		usleep(5000);
	}
	return 0;
}

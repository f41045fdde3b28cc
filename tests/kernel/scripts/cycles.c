/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Loads for cost.sh, and what a policy's BPF programs take for them.
 *
 *   cycles PID LOAD   prints `LOAD N`: nanoseconds of all BPF programs of process PID for one cycle of the load, the least of
 *                     three rounds. In a guest that counts instructions, a nanosecond is an instruction. The kernel counts
 *                     them if kernel.bpf_stats_enabled is 1
 *
 *   idle   a thread sleeps for 50 us: it blocks, and is woken on an idle core
 *   busy   a thread wakes another through a pipe and sleeps until it answers, while a thread of each core spins: a wake-up
 *   fork   a process forks, its child exits, and it waits for it
 *   tick   a thread computes from one tick to the next, on a core of its own
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 3, CYCLES = 200, CORES = 2, SEEN = 256 };

/* Of a kernel with 250 Hz, and of the policies' event. */
enum { TICK_NS = 4000000 };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static FILE *opened(const char *path)
{
	FILE *file = fopen(path, "r");

	if (!file)
		die(path);
	return file;
}

/* What the programs of a process have taken so far. Several descriptors may stand for one program. */
static unsigned long long taken(const char *pid)
{
	unsigned long long sum = 0, time, id;
	unsigned long long seen[SEEN];
	char path[512], line[256];
	struct dirent *entry;
	int known = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", pid);
	folder = opendir(path);
	if (!folder)
		die(path);
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", pid, entry->d_name);
		FILE *file = opened(path);
		int is_new = 0;

		while (fgets(line, sizeof(line), file)) {
			if (sscanf(line, "prog_id: %llu", &id) == 1) {
				is_new = 1;
				for (int i = 0; i < known; i++)
					is_new &= seen[i] != id;
			} else if (is_new && sscanf(line, "run_time_ns: %llu", &time) == 1) {
				sum += time;
				if (known == SEEN)
					die("more programs than expected");
				seen[known++] = id;
			}
		}
		fclose(file);
	}
	closedir(folder);
	return sum;
}

static void nap(long ns)
{
	struct timespec time = { .tv_nsec = ns };

	nanosleep(&time, NULL);
}

static void spin(void)
{
	for (;;)
		__builtin_ia32_pause();
}

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void compute(long ns)
{
	long long end = now() + ns;

	while (now() < end)
		;
}

/* Answers each byte, in a process of its own. */
static pid_t answers(int to[2], int from[2])
{
	char byte = 0;
	pid_t child;

	if (pipe(to) || pipe(from))
		die("pipe");
	child = fork();
	if (child)
		return child;
	while (read(to[0], &byte, 1) == 1)
		if (write(from[1], &byte, 1) != 1)
			break;
	_exit(0);
}

static void cycle(const char *load, int to, int from)
{
	char byte = 0;
	pid_t child;

	if (!strcmp(load, "idle")) {
		nap(50000);
	} else if (!strcmp(load, "tick")) {
		compute(TICK_NS);
	} else if (!strcmp(load, "busy")) {
		if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1)
			die("pipe");
	} else {
		child = fork();
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

/* What a cycle takes, in one round. */
static double measure(const char *pid, const char *load, int to, int from)
{
	unsigned long long before = taken(pid);

	for (int n = 0; n < CYCLES; n++)
		cycle(load, to, from);
	/* A turn of the pipes is two wake-ups. */
	return (double)(taken(pid) - before) / (!strcmp(load, "busy") ? 2 * CYCLES : CYCLES);
}

int main(int count, char **arguments)
{
	int to[2], from[2], spinning = 0;
	pid_t others[CORES + 1];
	double least = 0;

	if (count != 3 || (strcmp(arguments[2], "idle") && strcmp(arguments[2], "busy") &&
			   strcmp(arguments[2], "fork") && strcmp(arguments[2], "tick"))) {
		fprintf(stderr, "usage: cycles PID idle|busy|fork|tick\n");
		return 2;
	}
	const char *pid = arguments[1], *load = arguments[2];

	if (!strcmp(load, "busy"))
		spinning = CORES;
	for (int n = 0; n < spinning; n++) {
		others[n] = fork();
		if (!others[n])
			spin();
	}
	others[spinning++] = answers(to, from);
	for (int round = 0; round < ROUNDS; round++) {
		double took = measure(pid, load, to[1], from[0]);

		if (!round || took < least)
			least = took;
	}
	printf("%s %.0f\n", load, least);
	while (spinning)
		kill(others[--spinning], SIGKILL);
	return 0;
}

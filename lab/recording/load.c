/*
 * The loads that are hardest to record. `load pipe COUNT` passes a byte back and forth between two
 * processes on one core, COUNT times. `load fork COUNT` forks and waits, COUNT times. Prints wall
 * time and CPU time in seconds.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static double used(int who)
{
	struct rusage usage;
	getrusage(who, &usage);
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void check(int failed, const char *what)
{
	if (failed) {
		perror(what);
		exit(1);
	}
}

static void ping_pong(long count)
{
	int to[2], from[2];
	char byte = 0;
	cpu_set_t first;
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	check(sched_setaffinity(0, sizeof first, &first), "cannot run on core 0 only");
	check(pipe(to) || pipe(from), "cannot make pipes");
	pid_t child = fork();
	check(child < 0, "cannot fork");
	for (long i = 0; i < count; i++) {
		if (child)
			check(write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1, "pipe");
		else
			check(read(to[0], &byte, 1) != 1 || write(from[1], &byte, 1) != 1, "pipe");
	}
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

static void forks(long count)
{
	for (long i = 0; i < count; i++) {
		pid_t child = fork();
		check(child < 0, "cannot fork");
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	long count = argc == 3 ? atol(argv[2]) : 0;
	if (count <= 0 || (strcmp(argv[1], "pipe") && strcmp(argv[1], "fork"))) {
		fprintf(stderr, "usage: load pipe|fork COUNT\n");
		return 2;
	}
	double begin = now();
	(argv[1][0] == 'p' ? ping_pong : forks)(count);
	printf("%f %f\n", now() - begin, used(RUSAGE_SELF) + used(RUSAGE_CHILDREN));
	return 0;
}

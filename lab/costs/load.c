/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The loads of lab/costs/run:
 *   load fork N   forks N times a process that executes this program again, which exits; waits for each
 *   load wake N   two threads wake each other N times through futexes; all other CPUs are idle
 *   load busy N   the same, while a thread for each CPU spins
 *   load nothing  exits
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned words[2];
static int rounds;

static void wait_for(unsigned *word)
{
	while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

static void wake(unsigned *word)
{
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* With PAUSE, on which the emulator goes on with another CPU. */
static void *spin(void *argument)
{
	(void)argument;
	for (;;)
		__builtin_ia32_pause();
}

static void *answer(void *argument)
{
	(void)argument;
	for (int round = 0; round < rounds; round++) {
		wait_for(&words[0]);
		wake(&words[1]);
	}
	return NULL;
}

static int wakes(int count, int spinning)
{
	pthread_t thread;

	rounds = count;
	while (spinning--)
		if (pthread_create(&thread, NULL, spin, NULL))
			return 1;
	if (pthread_create(&thread, NULL, answer, NULL))
		return 1;
	for (int round = 0; round < rounds; round++) {
		wake(&words[0]);
		wait_for(&words[1]);
	}
	return 0;
}

static int forks(int count, char *self)
{
	for (int i = 0; i < count; i++) {
		pid_t child;

		/* The shortest system call: what an interval between two events costs at least. */
		syscall(SYS_getppid);
		child = fork();
		if (child < 0)
			return 1;
		if (!child) {
			execl(self, self, "nothing", (char *)NULL);
			_exit(1);
		}
		if (waitpid(child, NULL, 0) != child)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "fork"))
		return forks(atoi(argv[2]), argv[0]);
	if (argc == 3 && !strcmp(argv[1], "wake"))
		return wakes(atoi(argv[2]), 0);
	if (argc == 3 && !strcmp(argv[1], "busy"))
		return wakes(atoi(argv[2]), (int)sysconf(_SC_NPROCESSORS_ONLN));
	if (argc == 2 && !strcmp(argv[1], "nothing"))
		return 0;
	fprintf(stderr, "usage: load fork N | wake N | busy N | nothing\n");
	return 2;
}

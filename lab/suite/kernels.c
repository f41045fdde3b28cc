/*
 * Teams of threads in the manner of the NAS parallel benchmarks, with OpenMP: `kernels ep|cg|mg|lu`.
 *
 *   ep  random numbers, no communication
 *   cg  conjugate gradient of a banded matrix: short loops, reductions
 *   mg  multigrid: loops over grids of half the size each, then back
 *   lu  a wave front: each thread waits for its neighbour's planes
 *
 * Run with OMP_WAIT_POLICY=passive: a recording does not tell spinning from work.
 */
#include <math.h>
#include <omp.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double ep(void)
{
	double inside = 0;
#pragma omp parallel for reduction(+ : inside) schedule(static)
	for (int block = 0; block < 2048; block++) {
		uint64_t x = 88172645463325252u + (uint64_t)block;
		for (int i = 0; i < 40000; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			double a = (double)(uint32_t)x / 4294967296.0,
			       b = (double)(x >> 32) / 4294967296.0;
			inside += a * a + b * b < 1;
		}
	}
	return inside;
}

#define N 30000
static double x[N], r[N], p[N], q[N];

static double dot(const double *a, const double *b)
{
	double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static)
	for (int i = 0; i < N; i++)
		sum += a[i] * b[i];
	return sum;
}

static double cg(void)
{
	for (int i = 0; i < N; i++)
		r[i] = p[i] = 1;
	double rho = dot(r, r);
	for (int step = 0; step < 150; step++) {
#pragma omp parallel for schedule(static)
		for (int i = 0; i < N; i++)
			q[i] = 4 * p[i] - (i ? p[i - 1] : 0) - (i + 1 < N ? p[i + 1] : 0) -
			       (i >= 100 ? p[i - 100] : 0);
		double alpha = rho / dot(p, q);
#pragma omp parallel for schedule(static)
		for (int i = 0; i < N; i++) {
			x[i] += alpha * p[i];
			r[i] -= alpha * q[i];
		}
		double next = dot(r, r), beta = next / rho;
		rho = next;
#pragma omp parallel for schedule(static)
		for (int i = 0; i < N; i++)
			p[i] = r[i] + beta * p[i];
	}
	return rho;
}

#define SIZE 65536
static double grid[17][SIZE];

static void smooth(double *a, int size)
{
#pragma omp parallel for schedule(static)
	for (int i = 1; i < size - 1; i++)
		a[i] = 0.5 * a[i] + 0.25 * (a[i - 1] + a[i + 1]);
}

static double mg(void)
{
	for (int i = 0; i < SIZE; i++)
		grid[0][i] = i % 17;
	for (int cycle = 0; cycle < 12; cycle++) {
		int level = 0, size = SIZE;
		for (; size > 64; size /= 2, level++) {
			smooth(grid[level], size);
#pragma omp parallel for schedule(static)
			for (int i = 0; i < size / 2; i++)
				grid[level + 1][i] = grid[level][2 * i];
		}
		for (; level > 0; level--) {
			size *= 2;
#pragma omp parallel for schedule(static)
			for (int i = 0; i < size / 2; i++)
				grid[level - 1][2 * i] += 0.1 * grid[level][i];
			smooth(grid[level - 1], size);
		}
	}
	return grid[0][SIZE / 2];
}

static double lu(void)
{
	enum { SWEEPS = 6, PLANES = 40, WORK = 4000 };
	static sem_t ready[1024];
	double total = 0;
	for (int i = 0; i < 1024; i++)
		sem_init(&ready[i], 0, 0);
#pragma omp parallel reduction(+ : total)
	{
		int me = omp_get_thread_num(), last = omp_get_num_threads() - 1;
		for (int sweep = 0; sweep < SWEEPS; sweep++) {
			for (int plane = 0; plane < PLANES; plane++) {
				if (me > 0)
					sem_wait(&ready[me]);
				for (int i = 0; i < WORK; i++)
					total += sqrt(i + plane);
				if (me < last)
					sem_post(&ready[me + 1]);
			}
#pragma omp barrier
		}
	}
	return total;
}

int main(int argc, char **argv)
{
	const char *name = argc == 2 ? argv[1] : "";
	double result;
	if (!strcmp(name, "ep"))
		result = ep();
	else if (!strcmp(name, "cg"))
		result = cg();
	else if (!strcmp(name, "mg"))
		result = mg();
	else if (!strcmp(name, "lu"))
		result = lu();
	else {
		fprintf(stderr, "usage: kernels ep|cg|mg|lu\n");
		return 2;
	}
	printf("%s: %g\n", name, result);
	return 0;
}

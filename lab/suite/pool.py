"""A pool of processes that get small tasks: N workers, 8 tasks for each."""

import multiprocessing
import sys


def task(number):
    return sum(i * i % 7 for i in range(4000 + number % 5 * 1000))


if __name__ == "__main__":
    workers = int(sys.argv[1])
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        print(sum(pool.imap_unordered(task, range(8 * workers))))

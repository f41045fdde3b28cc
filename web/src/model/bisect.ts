/** The first whole number from `low` for which `test` holds, if it holds for all after it; `high` if for none below. */
export function first(low: number, high: number, test: (n: number) => boolean): number {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

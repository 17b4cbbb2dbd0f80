/** Texts such as `1,3-5`, which name the indexes of a Job. */

type Range = readonly [first: number, last: number];

/** The number of indexes in the text. A text is the mistake. */
export function indexCount(text: string, completions: number): number | string {
  let last = -1;
  let total = 0;
  for (const part of partsOf(text)) {
    const range = rangeOf(part, completions);
    if (typeof range === 'string') return range;
    if (last >= range[0]) return `non-increasing order, previous: ${last}, current: ${range[0]}`;
    total += range[1] - range[0] + 1;
    last = range[1];
  }
  return total;
}

/** The first index that both texts name, both in increasing order. Parts with mistakes name nothing. */
export function sharedIndex(a: string, b: string, completions: number): number | undefined {
  const ranges = (text: string) =>
    partsOf(text).flatMap((part) => {
      const range = rangeOf(part, completions);
      return typeof range === 'string' ? [] : [range];
    });
  const [left, right] = [ranges(a), ranges(b)];
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    const [first, last] = left[i]!;
    const [otherFirst, otherLast] = right[j]!;
    if (first <= otherLast && otherFirst <= last) return Math.max(first, otherFirst);
    if (first <= otherFirst) i += 1;
    else j += 1;
  }
  return undefined;
}

function partsOf(text: string): readonly string[] {
  return text === '' ? [] : text.split(',');
}

function rangeOf(part: string, completions: number): Range | string {
  const ends = part.split('-');
  if (ends.length > 2) {
    return `the fragment "${part}" violates the requirement that an index interval can have at most two parts separated by '-'`;
  }
  for (const end of ends) {
    if (!/^\+?\d+$/.test(end)) return `cannot convert string to integer for index: "${end}"`;
    if (Number(end) >= completions) return `too large index: "${end}"`;
  }
  const [first = 0, last = first] = ends.map(Number);
  if (ends.length === 2 && first >= last) return `non-increasing order, previous: ${first}, current: ${last}`;
  return [first, last];
}

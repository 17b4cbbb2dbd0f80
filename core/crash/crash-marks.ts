/**
 * Finds the piece of work that ends the process.
 *
 * 1. Before work on a key begins, the node writes a mark. The node removes the mark shortly after the work has ended. So if a start finds a mark, the
 *    process ended during this work.
 * 2. At a start, the keys of all marks become suspects. The node works on one suspect at a time.
 * 3. If a start finds the mark of work on a suspect, this work ran alone when the process ended. So this work is the cause. The node quarantines the key,
 *    and does not begin its work again.
 * 4. If there are more than `aloneMax` keys, they are first doubtful. The node works on a few dozen doubtful keys at once. After the next crash, only the
 *    doubtful keys that were in work become suspects.
 *
 * A process that was killed from outside leaves marks too. So one crash quarantines nothing. And every quarantine ends: when the content of the key
 * changes, when another build of the program starts, or after some time with one more attempt. The first quarantine is short, because two kills in a row do
 * happen. Each further crash doubles the time.
 */

export interface Mark {
  /** Hash of the content that the work was about. Work on another content of the same key counts as other work. */
  readonly hash: string;
  /** `sifting` is work on a doubtful key, `working` is all other work. Keys in the other states are not being worked on. */
  readonly state: 'working' | 'sifting' | 'doubtful' | 'suspect' | 'quarantined';
  /** Number of starts that have found a `working` mark of the key. A higher number makes the quarantine longer. */
  readonly crashes: number;
  /** Only in state `quarantined`: wall time at which the quarantine began. */
  readonly sinceMs?: number;
  /** Only in state `quarantined`: the build of the process that ended. */
  readonly build?: string;
  /** Only in state `quarantined`: the message of the error that ended the process the last time. */
  readonly words?: string;
}

export interface ProcessStart {
  readonly build: string;
  readonly wallMs: number;
  /** The message of the error that ended the previous process. Undefined if the process left no message, for example because it was killed. */
  readonly words?: string | undefined;
}

/**
 * Number of crashes that quarantine a key. The first crash may have been a kill from outside, which can happen at any moment. During the second crash, this
 * piece of work ran alone.
 */
const crashesMax = 2;
/** The first quarantine. If the entry was not the cause, the entry returns after this time without the help of a person. */
export const quarantineMinMs = 60_000;
/** The longest quarantine. One crash an hour does little harm. */
export const quarantineMaxMs = 3_600_000;

/**
 * Maximal number of keys that become suspects directly. Work on ten keys, one at a time, takes three seconds. An agent does not work on more keys at once.
 */
export const aloneMax = 10;

/** The marks after a start, computed from the marks that the start has found. */
export function afterStart(marks: ReadonlyMap<string, Mark>, start: ProcessStart): Map<string, Mark> {
  const after = new Map(Array.from(marks, ([key, mark]) => [key, atStart(mark, start)]));
  const doubtful = [...after].filter(([, { state }]) => state === 'doubtful');
  if (doubtful.length <= aloneMax) for (const [key, mark] of doubtful) after.set(key, { ...mark, state: 'suspect' });
  return after;
}

function atStart(mark: Mark, { build, wallMs, words }: ProcessStart): Mark {
  const { hash } = mark;
  switch (mark.state) {
    case 'suspect':
    case 'doubtful':
      return mark;
    case 'sifting':
      return { ...mark, state: 'suspect' };
    case 'quarantined':
      if (mark.build !== build) return again({ ...mark, crashes: crashesMax - 1 });
      return isRetryDue(mark, wallMs) ? again(mark) : mark;
    case 'working': {
      const crashes = mark.crashes + 1;
      if (crashes < crashesMax) return { hash, state: 'doubtful', crashes };
      return { hash, state: 'quarantined', crashes, sinceMs: wallMs, build, ...(words === undefined ? {} : { words }) };
    }
  }
}

/** The mark with which the key may have one more attempt. One crash during the attempt quarantines the key again. */
export function again({ hash, crashes }: Mark): Mark {
  return { hash, state: 'suspect', crashes };
}

/** The length of a quarantine. */
export function retryAfterMs({ crashes }: Mark): number {
  return Math.min(quarantineMaxMs, quarantineMinMs * 2 ** Math.min(10, Math.max(0, crashes - crashesMax)));
}

/** True after the end of the quarantine, and also if the wall clock was set back to a time before the quarantine. */
export function isRetryDue(mark: Mark, wallMs: number): boolean {
  const { sinceMs = 0 } = mark;
  return wallMs >= sinceMs + retryAfterMs(mark) || wallMs < sinceMs;
}

/** The reason of a quarantine, for the author of the entry. */
export function crashReason(mark: Mark): string {
  const { crashes, words } = mark;
  const minutes = retryAfterMs(mark) / 60_000;
  const ending = words === undefined ? 'without an error message' : `with the error: ${words}`;
  return `the process ended ${crashes} times while it worked on this entry, the last time ${ending}; the node tries again when the entry changes, when another version of the program starts, or after ${minutes} min`;
}

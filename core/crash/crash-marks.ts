/**
 * Finds the piece of work that ends the process.
 *
 * 1. Before work on a key begins, the node writes a mark. The mark goes some moments after the work has ended. So a mark that a start finds shows that the
 *    process ended during this work.
 * 2. A start makes the keys of all marks that it finds suspects. The node works on one suspect at a time.
 * 3. If a start finds the mark of a suspect, this work was alone when the process ended: it is the cause. The key is quarantined, and its work does not
 *    begin any more.
 * 4. If there are more than `aloneMax` keys, they are doubtful first. The node works on some dozens of them at once. The next crash leaves only those
 *    as suspects that were in work then.
 *
 * A process that was killed from outside leaves marks too. So one crash quarantines nothing, and every quarantine ends: with another content of the key,
 * with another build of the program, or with one more attempt after some time. The first quarantine is short, because two kills in a row do happen. Each
 * further crash doubles the time.
 */

export interface Mark {
  /** Hash of the content that the work was about. Work on another content of the same key is other work. */
  readonly hash: string;
  /** `sifting` is work on a doubtful key, `working` is all other work. The other states are of keys that nobody works on now. */
  readonly state: 'working' | 'sifting' | 'doubtful' | 'suspect' | 'quarantined';
  /** Number of starts that have found a `working` mark of the key. A quarantine is longer the higher this number is. */
  readonly crashes: number;
  /** Of a quarantine: wall time of its begin. */
  readonly sinceMs?: number;
  /** Of a quarantine: the build whose process ended. */
  readonly build?: string;
  /** Of a quarantine: the message of the error that ended the process last. */
  readonly words?: string;
}

export interface ProcessStart {
  readonly build: string;
  readonly wallMs: number;
  /** The message of the error that ended the former process. Undefined if the process left none, for example because it was killed. */
  readonly words?: string | undefined;
}

/** The first crash may have been a kill from outside, which can happen at any moment. During the second crash, this piece of work ran alone. */
const crashesMax = 2;
/** If the entry was not the cause, its quarantine ends this early, without a person. */
export const quarantineMinMs = 60_000;
/** One crash an hour does little harm. */
export const quarantineMaxMs = 3_600_000;

/** This many keys one at a time take three seconds. An agent works on no more keys at once. */
export const aloneMax = 10;

/** Judges the marks that a start finds. */
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

/** Allows one more attempt. One crash during the attempt quarantines the key again. */
export function again({ hash, crashes }: Mark): Mark {
  return { hash, state: 'suspect', crashes };
}

/** How long a quarantine lasts. */
export function retryAfterMs({ crashes }: Mark): number {
  return Math.min(quarantineMaxMs, quarantineMinMs * 2 ** Math.min(10, Math.max(0, crashes - crashesMax)));
}

/** True at the end of the quarantine, and also if the wall clock was set back to before its begin. */
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

/**
 * Which piece of work it is that ends the process. Before work begins it leaves a mark, which goes some moments after the work has ended; so the marks
 * that a start finds are of work during which the process ended. All of it is suspect and is done again one piece at a time; a piece whose mark is found a
 * second time was alone, and is the one: it is quarantined, and is not begun any more. Where there are too many for that they are doubtful at first and done
 * again beside each other, some dozens at a time; a further crash leaves those of them as suspects.
 *
 * A process that was killed from outside leaves marks too. That is why one crash quarantines nothing, and why a quarantine ends: with another content of the
 * key, with another build of the program, or after a while, by one more attempt. The first while is short, since two kills in a row do happen; each
 * further crash doubles it.
 */

export interface Mark {
  /** Of what the work was about: work on something else under the same key is other work. */
  readonly hash: string;
  /** `sifting` is work on what was doubtful, `working` all other. */
  readonly state: 'working' | 'sifting' | 'doubtful' | 'suspect' | 'quarantined';
  /** Starts that have found the mark of work that was not sifting; a quarantine is the longer the more there were. */
  readonly crashes: number;
  /** Of a quarantine: since when, by which build, and what the process said last. */
  readonly sinceMs?: number;
  readonly build?: string;
  readonly words?: string;
}

export interface ProcessStart {
  readonly build: string;
  readonly wallMs: number;
  /** What the process said as it ended; undefined: it had no time, as when it was killed. */
  readonly words?: string | undefined;
}

/** The first may have been a kill from outside, which happens at any moment; the second is of this piece of work alone. */
const crashesMax = 2;
/** One that was no fault of the entry is made good without a person, soon … */
export const quarantineMinMs = 60_000;
/** … and a crash an hour hurts little. */
export const quarantineMaxMs = 3_600_000;

/** As many one at a time take three seconds, and what an agent has in hand at once is no more. */
export const aloneMax = 10;

/** What the marks mean to a process that starts. */
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

/** One more attempt: a crash of it is enough. */
export function again({ hash, crashes }: Mark): Mark {
  return { hash, state: 'suspect', crashes };
}

/** How long a quarantine lasts. */
export function retryAfterMs({ crashes }: Mark): number {
  return Math.min(quarantineMaxMs, quarantineMinMs * 2 ** Math.min(10, Math.max(0, crashes - crashesMax)));
}

/** A clock that was set back makes it due. */
export function isRetryDue(mark: Mark, wallMs: number): boolean {
  const { sinceMs = 0 } = mark;
  return wallMs >= sinceMs + retryAfterMs(mark) || wallMs < sinceMs;
}

/** For whoever wrote the entry. */
export function crashReason(mark: Mark): string {
  const { crashes, words } = mark;
  const minutes = retryAfterMs(mark) / 60_000;
  const said = words === undefined ? 'without an error message' : `with the error: ${words}`;
  return `the process that worked on it ended ${crashes} times, the last time ${said}; it is left alone until it is changed, for another version of the program, or for ${minutes} minutes`;
}

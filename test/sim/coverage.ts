/**
 * Which branches of the protocol's deciding files the runs reached, by V8's block coverage. A branch is a range that V8 counts apart: a function, an
 * arm, what follows a return.
 */
import { Session } from 'node:inspector/promises';

/** A file's ranges with their counts. */
export type Covered = readonly {
  readonly file: string;
  readonly ranges: readonly { readonly start: number; readonly end: number; readonly count: number }[];
}[];

const counted = /\/core\/(session\/(session|handshake|backoff)|feed\/(producer|consumer|reconcile))\.ts$/;

export class Coverage {
  readonly #session: Session;

  private constructor(session: Session) {
    this.#session = session;
  }

  static async start(): Promise<Coverage> {
    const session = new Session();
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    return new Coverage(session);
  }

  async take(): Promise<Covered> {
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    return result
      .filter(({ url }) => counted.test(url))
      .map(({ url, functions }) => ({
        file: url.slice(url.indexOf('/core/') + 1),
        ranges: functions.flatMap(({ ranges }) =>
          ranges.map(({ startOffset: start, endOffset: end, count }) => ({ start, end, count })),
        ),
      }));
  }
}

/** The share of all ranges that some worker reached, and those that none did. */
export function describeCoverage(covered: readonly Covered[]): string {
  const counts = new Map<string, number>();
  for (const { file, ranges } of covered.flat()) {
    for (const { start, end, count } of ranges) {
      const key = `${file}:${start}-${end}`;
      counts.set(key, (counts.get(key) ?? 0) + count);
    }
  }
  const missed = [...counts].filter(([, count]) => count === 0).map(([key]) => key);
  const reached = counts.size - missed.length;
  const share = ((100 * reached) / Math.max(1, counts.size)).toFixed(1);
  return [`branches reached: ${share} % (${reached} of ${counts.size})`, ...missed.map((key) => `  not: ${key}`)].join(
    '\n',
  );
}

/** Counts how often the runs reached each place of the protocol's deciding files, with V8's block coverage. */
import { Session } from 'node:inspector/promises';
import { isMachine } from './machines.ts';

/** A block of a file, and how often it was entered. Blocks are nested. */
export interface Block {
  readonly start: number;
  readonly end: number;
  readonly count: number;
}

/** The counts of one process, for each file. */
export type Counted = readonly { readonly file: string; readonly blocks: readonly Block[] }[];

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

  async take(): Promise<Counted> {
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    return result.flatMap(({ url, functions }) => {
      const file = /\/((?:core|relay)\/.*)$/.exec(url)?.[1] ?? '';
      if (!isMachine(file)) return [];
      const ranges = functions.flatMap(({ ranges }) => ranges);
      const blocks = ranges.map(({ startOffset: start, endOffset: end, count }) => ({ start, end, count }));
      return [{ file, blocks }];
    });
  }
}

/** The count of the smallest block around a place. V8 leaves out blocks that are entered as often as the block around them. */
export function countAt(blocks: readonly Block[], at: number): number {
  let smallest: Block | undefined;
  for (const block of blocks) {
    if (block.start > at || block.end <= at) continue;
    if (!smallest || block.end - block.start <= smallest.end - smallest.start) smallest = block;
  }
  return smallest?.count ?? 0;
}

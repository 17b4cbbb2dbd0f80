/** Streams in random trees, with lines that break, silent nodes, slow readers and users who cancel. One seed decides a run. */
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { censusEveryMs } from '../../../../core/stream/census.ts';
import { bulkWindowBytes, streamWindowBytes } from '../../../../core/stream/stream.ts';
import { StreamLog, StreamTree } from '../../../support/stream-tree.ts';

const paths = ['a', 'a:b', 'a:b:c', 'a:d', 'e', 'e:f', 'e:f:g', 'e:f:h'];
const runs = 60;
const steps = 120;
const seeds = Array.from({ length: runs }, (_, i) => 1_000 + i);

/** Written pieces are cut out of this buffer: no two pieces are equal. */
const pool = Buffer.from(new SeededRandom(1).bytes(1_000_000));

interface Joined {
  readonly asked: StreamLog;
  /** The bytes written at each end. */
  readonly sent: { asked: Buffer[]; taken: Buffer[] };
  readonly bulk: boolean;
  taken: StreamLog | undefined;
}

class Run {
  readonly random: SeededRandom;
  readonly tree = new StreamTree(paths, { fromBelow: true });
  readonly streams: Joined[] = [];
  readonly cutOff = new Set<string>();
  readonly #ended = new Set<StreamLog>();
  readonly #consumed = new Map<StreamLog, number>();

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    for (const path of ['', ...paths]) {
      this.tree.register(path, 'test', (offer) => {
        const taken = new StreamLog((handler) => offer.accept(handler));
        taken.stalled = true;
        this.streams[Number(Buffer.from(offer.request.header).toString())]!.taken = taken;
      });
      // An endpoint that takes no stream: these streams time out, or are withdrawn.
      this.tree.register(path, 'never', () => {});
    }
  }

  pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.random.fraction() * from.length)];
  }

  async step(): Promise<void> {
    const chance = this.random.fraction();
    const stream = this.pick(this.streams);
    if (chance < 0.12) this.#open();
    else if (chance < 0.14) await this.#breakOrMend();
    else if (chance < 0.15) this.#silence();
    else if (stream) this.#use(stream, this.random.fraction());
    await this.tree.run(Math.floor(this.random.fraction() * 6));
  }

  /** All lines work, all nodes answer, and everybody reads and ends. */
  async settle(): Promise<void> {
    this.tree.isSilent = () => false;
    for (const path of [...this.cutOff].sort()) await this.tree.dial(path);
    for (let round = 0; round < 200; round++) {
      for (const { asked, taken } of this.streams) {
        for (const log of [asked, ...(taken ? [taken] : [])]) {
          this.#read(log, 1);
          this.#end(log);
        }
      }
      await this.tree.run(10);
    }
    await this.tree.run(4 * censusEveryMs, 100);
  }

  #open(): void {
    const bulk = this.random.fraction() < 0.3;
    const header = Buffer.from(String(this.streams.length));
    const path = this.pick(['', ...paths, 'nowhere'])!;
    const kind = this.random.fraction() < 0.9 ? 'test' : 'never';
    // Only the census finds lost streams with a long deadline.
    const deadlineMs = kind === 'test' && this.random.fraction() < 0.3 ? 3_600_000 : 1_000;
    const asked = this.tree.open(this.pick(['', ...paths])!, { path, kind, header, bulk, deadlineMs });
    asked.stalled = true;
    this.streams.push({ asked, taken: undefined, bulk, sent: { asked: [], taken: [] } });
  }

  async #breakOrMend(): Promise<void> {
    const path = this.pick(paths)!;
    if (this.cutOff.delete(path)) return this.tree.dial(path);
    this.cutOff.add(path);
    this.tree.cut(path);
    await this.tree.run(2);
  }

  #silence(): void {
    const silent = this.pick(paths);
    this.tree.isSilent = (path) => path === silent && this.random.fraction() < 0.5;
  }

  #use(stream: Joined, chance: number): void {
    const side = this.random.fraction() < 0.5 ? 'asked' : 'taken';
    const log = stream[side];
    if (!log) return;
    if (chance < 0.4 && !this.#ended.has(log)) {
      const from = Math.floor(this.random.fraction() * pool.length * 0.5);
      const bytes = pool.subarray(from, from + 1 + Math.floor(this.random.fraction() ** 3 * pool.length * 0.5));
      stream.sent[side].push(bytes);
      log.stream.write(bytes);
    } else if (chance < 0.9) {
      this.#read(log, this.random.fraction());
    } else if (chance < 0.97) {
      this.#end(log);
    } else {
      log.stream.reset({ code: 'Cancelled', message: 'changed its mind', at: '' });
    }
    const unread = log.receivedBytes - (this.#consumed.get(log) ?? 0);
    expect(unread).toBeLessThanOrEqual(stream.bulk ? bulkWindowBytes : streamWindowBytes);
  }

  #read(log: StreamLog, share: number): void {
    const before = this.#consumed.get(log) ?? 0;
    const bytes = Math.ceil((log.receivedBytes - before) * share);
    this.#consumed.set(log, before + bytes);
    log.stream.consumed(bytes);
  }

  #end(log: StreamLog): void {
    if (this.#ended.has(log)) return;
    this.#ended.add(log);
    log.stream.end();
  }
}

describe('after any faults in a tree', () => {
  it.each(seeds)('every end is closed, and every stream that ended in order is whole (seed %i)', async (seed) => {
    const run = new Run(seed);
    await run.tree.attach();
    for (let i = 0; i < steps; i++) await run.step();
    await run.settle();
    expect(run.tree.openEnds()).toBe(0);
    for (const { asked, taken, sent } of run.streams) {
      expect(asked.closed).toBe(true);
      expect(taken?.closed ?? true).toBe(true);
      const arrived = { asked: Buffer.concat(asked.chunks), taken: Buffer.concat(taken?.chunks ?? []) };
      const wanted = { asked: Buffer.concat(sent.taken), taken: Buffer.concat(sent.asked) };
      for (const side of ['asked', 'taken'] as const) {
        expect(wanted[side].subarray(0, arrived[side].length).equals(arrived[side])).toBe(true);
      }
      for (const { reset } of [asked, ...(taken ? [taken] : [])]) {
        expect(['Protocol', 'FlowControl', 'Internal', 'BadRequest', 'TooMany', 'Forbidden']).not.toContain(
          reset?.code,
        );
      }
      if (asked.reset || taken?.reset) continue;
      expect([arrived.asked.length, arrived.taken.length]).toEqual([wanted.asked.length, wanted.taken.length]);
    }
  });

  it('some streams were whole, some were refused, and some broke', async () => {
    const seen = new Map<string, number>();
    for (const seed of seeds.slice(0, 20)) {
      const run = new Run(seed);
      await run.tree.attach();
      for (let i = 0; i < steps; i++) await run.step();
      await run.settle();
      for (const { asked } of run.streams) {
        const outcome = asked.reset?.code ?? `whole ${asked.receivedBytes > 0}`;
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      }
    }
    expect([...seen.keys()]).toEqual(
      expect.arrayContaining([
        'whole true',
        'NotFound',
        'Disconnected',
        'DeadlineExceeded',
        'Unavailable',
        'Cancelled',
      ]),
    );
  });
});

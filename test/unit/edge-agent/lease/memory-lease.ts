/** A Lease in memory, whose answers the test may delay. */
import { BanyanError } from '../../../../core/runtime/errors.ts';
import type { LeasePort, LeaseRecord, LeaseWrite } from '../../../../edge-agent/lease/lease.ts';

export class MemoryLease implements LeasePort {
  record: LeaseRecord | undefined;
  /** What was written, in order. */
  readonly writes: LeaseWrite[] = [];
  /** The server cannot be reached. */
  isAway = false;
  /** Answers wait for this promise. */
  gate: Promise<void> = Promise.resolve();
  #version = 0;

  /** As if somebody else had written the Lease. */
  put(over: Partial<LeaseRecord>): void {
    const blank = { holder: '', durationMs: 10_000, transitions: 0, handover: {} };
    this.record = { ...blank, ...this.record, ...over, version: String(++this.#version) };
  }

  async read(): Promise<LeaseRecord | undefined> {
    const { record } = this;
    await this.#answer();
    return record;
  }

  async write(write: LeaseWrite): Promise<LeaseRecord | 'refused'> {
    if (this.isAway || this.record?.version !== write.over?.version) {
      await this.#answer();
      return 'refused';
    }
    this.writes.push(write);
    const { holder, durationMs, transitions, handover } = write;
    // As with annotations: values that are not written again stay.
    this.put({ holder, durationMs, transitions, handover: { ...this.record?.handover, ...handover } });
    const record = this.record!;
    await this.#answer();
    return record;
  }

  async #answer(): Promise<void> {
    await this.gate;
    if (this.isAway) throw new BanyanError('Unavailable', 'the API server is away');
  }
}

/** Everything that can happen without the passage of time. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 5; round++) await new Promise((resolve) => setImmediate(resolve));
}

/** What taking stock has found: what comes on record, and what is left alone until a person says that it may go (applied-inventory.ts decides). */
import type { DeletionLimits, HeldRows } from '../../core/feed/deletions.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { type Applied, type AppliedInventory, appliedInventoryOf, heldRemovals } from './applied-inventory.ts';
import type { OwnerRecords } from './owner-records.ts';

export interface OrphanAdoptionPorts {
  readonly clock: Clock;
  readonly records: OwnerRecords;
  isWanted(key: string): boolean;
  /** These are on record now. */
  recorded(keys: readonly string[]): void;
  /** `held` is something else. */
  heldChanged(): void;
}

/** A full disk does not become free at once. */
const againMs = 5_000;

export class OrphanAdoption {
  readonly #ports: OrphanAdoptionPorts;
  /** Unwanted ones that came on record without a person's word. */
  #gone = 0;
  #kept: { readonly held: HeldRows; readonly records: AppliedInventory['kept'] } | undefined;
  /** Until a release is tried again that the disk had no room for. */
  #again: Timer | undefined;

  constructor(ports: OrphanAdoptionPorts) {
    this.#ports = ports;
  }

  /** What nobody wants, and is too much to go without a person's word. */
  get held(): HeldRows | undefined {
    return this.#kept?.held;
  }

  take(found: readonly Applied[], limits: DeletionLimits): AppliedInventory {
    const { records, isWanted } = this.#ports;
    const stock = appliedInventoryOf(found, records, isWanted, limits, this.#gone);
    this.#record(stock.records, (key) => {
      if (!isWanted(key)) this.#gone++;
    });
    this.#keep(stock.kept);
    return stock;
  }

  /** What is left alone may go, if that is still what the token was given for. On a full disk later: a person says it once. */
  release(token: string): void {
    if (this.#kept?.held.token !== token) return;
    try {
      this.#record(this.#kept.records);
    } catch (error) {
      if (!(error instanceof BanyanError) || error.code !== 'StoreFull') throw error;
      this.#again?.stop();
      this.#again = this.#ports.clock.after(againMs, () => this.release(token));
      return;
    }
    this.#keep(new Map());
  }

  stop(): void {
    this.#again?.stop();
  }

  /** Also of some of them alone, where the rest finds no room: those would not be found anew by the next look. */
  #record(found: AppliedInventory['records'], noted: (key: string) => void = () => {}): void {
    const { records, recorded } = this.#ports;
    const done: string[] = [];
    try {
      for (const [key, record] of found) {
        records.set(key, record);
        done.push(key);
        noted(key);
      }
    } finally {
      recorded(done);
    }
  }

  #keep(records: AppliedInventory['kept']): void {
    const held = heldRemovals(records, this.#ports.clock.wallMs());
    const before = this.#kept?.held;
    this.#kept = held && { held: held.token === before?.token ? before : held, records };
    this.#ports.heldChanged();
  }
}

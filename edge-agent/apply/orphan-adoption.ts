/**
 * Keeps the result of a scan. Writes the records of the found objects, and holds the objects that stay until a person approves their removal
 * (applied-inventory.ts decides which).
 */
import type { DeletionLimits, HeldRows } from '../../core/feed/deletions.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { type Applied, type AppliedInventory, appliedInventoryOf, heldRemovals } from './applied-inventory.ts';
import type { OwnerRecords } from './owner-records.ts';

export interface OrphanAdoptionPorts {
  readonly clock: Clock;
  readonly records: OwnerRecords;
  isWanted(key: string): boolean;
  /** Called when these objects have got a record. */
  recorded(keys: readonly string[]): void;
  /** Called when the value of `held` has changed. */
  heldChanged(): void;
}

/** Wait before the next try to write an approved record. A full disk stays full for a while. */
const againMs = 5_000;

export class OrphanAdoption {
  readonly #ports: OrphanAdoptionPorts;
  /** The number of unwanted objects that got a record without an approval. */
  #gone = 0;
  #kept: { readonly held: HeldRows; readonly records: AppliedInventory['kept'] } | undefined;
  /** Timer that repeats an approval for which the disk had no room. */
  #again: Timer | undefined;

  constructor(ports: OrphanAdoptionPorts) {
    this.#ports = ports;
  }

  /** Objects that nobody wants, and that are too many to remove without an approval. */
  get held(): HeldRows | undefined {
    return this.#kept?.held;
  }

  adopt(found: readonly Applied[], limits: DeletionLimits): AppliedInventory {
    const { records, isWanted } = this.#ports;
    const inventory = appliedInventoryOf(found, records, isWanted, limits, this.#gone);
    this.#record(inventory.records, (key) => {
      if (!isWanted(key)) this.#gone++;
    });
    this.#keep(inventory.kept);
    return inventory;
  }

  /**
   * Allows the removal of the held objects, if they are still the objects that the token names. If the disk is full, this method tries again later, because a
   * person approves only once.
   */
  approve(token: string): void {
    if (this.#kept?.held.token !== token) return;
    try {
      this.#record(this.#kept.records);
    } catch (error) {
      if (!(error instanceof BanyanError) || error.code !== 'StoreFull') throw error;
      this.#again?.stop();
      this.#again = this.#ports.clock.after(againMs, () => this.approve(token));
      return;
    }
    this.#keep(new Map());
  }

  stop(): void {
    this.#again?.stop();
  }

  /**
   * Writes the records. If the disk becomes full in between, the agent still learns which records were written: the next scan would not find their objects
   * again.
   */
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

/** What taking stock has found: what comes on record, and what is left alone until a person says that it may go (stock.ts decides). */
import type { DeletionLimits, Held } from '../../core/feed/deletions.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { OwnerRecords } from './owner-records.ts';
import { type Applied, heldOf, type Stock, stockOf } from './stock.ts';

export interface FoundStockPorts {
  readonly clock: Clock;
  readonly records: OwnerRecords;
  isWanted(key: string): boolean;
  /** These are on record now. */
  recorded(keys: readonly string[]): void;
  /** `held` is something else. */
  heldChanged(): void;
}

export class FoundStock {
  readonly #ports: FoundStockPorts;
  /** Unwanted ones that came on record without a person's word. */
  #gone = 0;
  #kept: { readonly held: Held; readonly records: Stock['kept'] } | undefined;

  constructor(ports: FoundStockPorts) {
    this.#ports = ports;
  }

  /** What nobody wants, and is too much to go without a person's word. */
  get held(): Held | undefined {
    return this.#kept?.held;
  }

  take(found: readonly Applied[], limits: DeletionLimits): Stock {
    const { records, isWanted } = this.#ports;
    const stock = stockOf(found, records, isWanted, limits, this.#gone);
    this.#gone += [...stock.records.keys()].filter((key) => !isWanted(key)).length;
    this.#record(stock.records);
    this.#keep(stock.kept);
    return stock;
  }

  /** What is left alone may go, if that is still what the token was given for. */
  release(token: string): void {
    if (this.#kept?.held.token !== token) return;
    this.#record(this.#kept.records);
    this.#keep(new Map());
  }

  #record(found: Stock['records']): void {
    const { records, recorded } = this.#ports;
    for (const [key, record] of found) records.set(key, record);
    recorded([...found.keys()]);
  }

  #keep(records: Stock['kept']): void {
    const held = heldOf(records, this.#ports.clock.wallMs());
    const before = this.#kept?.held;
    this.#kept = held && { held: held.token === before?.token ? before : held, records };
    this.#ports.heldChanged();
  }
}

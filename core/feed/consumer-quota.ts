/** The quota of one consumer at work: what its table has, and which rows do not fit (row-quota.ts). */
import type { Reader, Transaction } from '../store/store.ts';
import { ConsumerState } from './consumer-state.ts';
import type { Content, FeedRow, Table } from './feed.ts';
import { countQuarantined } from './quarantine.ts';
import {
  beyondQuota,
  contentBytes,
  mayFitNow,
  quarantinedMax,
  type RowQuota,
  readUsage,
  type Shortage,
} from './row-quota.ts';
import { shortageTopic } from './topics.ts';

export class ConsumerQuota {
  readonly #table: number;
  readonly #name: string;
  readonly #quota: () => RowQuota;

  constructor(table: number, name: string, quota: () => RowQuota) {
    this.#table = table;
    this.#name = name;
    this.#quota = quota;
  }

  /** Counts all rows once, if a version that does not count has changed the table. */
  begin(t: Transaction, rows: Table): void {
    const state = new ConsumerState(t, this.#table);
    if ((readUsage(t, this.#table)?.entries ?? 0) === state.entries) return;
    let bytes = 0;
    for (const { content } of rows.rows(t)) if (content) bytes += contentBytes(rows.content(t, content));
    state.setUsage({ bytes, quarantined: countQuarantined(t, this.#table) });
    state.write();
  }

  quarantined(reader: Reader): number {
    return readUsage(reader, this.#table)?.quarantined ?? 0;
  }

  shortage(reader: Reader): Shortage | undefined {
    return readUsage(reader, this.#table)?.shortage;
  }

  endShortage(t: Transaction): boolean {
    const state = new ConsumerState(t, this.#table);
    const { shortage, bytes } = state.usage;
    if (!shortage || !mayFitNow(shortage, { entries: state.entries, bytes }, this.#quota())) return false;
    state.setUsage({ shortage: undefined });
    state.write();
    t.announce(shortageTopic, this.#name);
    return true;
  }

  /** Returns whether the row does not fit, and notes the refusal. `before`: the content that the new content would replace. */
  refuses(
    t: Transaction,
    state: ConsumerState,
    row: FeedRow | undefined,
    before: Content | undefined,
    content: Content,
    isFlawed: boolean,
  ): boolean {
    const quota = this.#quota();
    const used = { entries: state.entries, bytes: state.usage.bytes };
    const more = { entries: before ? 0 : 1, bytes: contentBytes(content) - (before ? contentBytes(before) : 0) };
    const isOneFlawTooMany = isFlawed && !row?.poisoned && state.usage.quarantined >= quarantinedMax;
    const reason =
      beyondQuota(used, more, quota) ??
      (isOneFlawTooMany ? `${quarantinedMax} entries that are not valid are stored already` : undefined);
    if (reason === undefined) return false;
    const former = state.usage.shortage;
    state.setUsage({ shortage: { refused: (former?.refused ?? 0) + 1, key: content.key, reason, used, quota } });
    t.announce(shortageTopic, this.#name);
    return true;
  }

  /** Counts what the change of a row changes. */
  measure(
    state: ConsumerState,
    row: FeedRow | undefined,
    before: Content | undefined,
    after: Content | undefined,
    isFlawed: boolean,
  ): void {
    const { bytes, quarantined } = state.usage;
    state.setUsage({
      bytes: bytes + (after ? contentBytes(after) : 0) - (before ? contentBytes(before) : 0),
      quarantined: quarantined + (isFlawed ? 1 : 0) - (row?.poisoned ? 1 : 0),
    });
  }
}

/** Hosts of a simulated tree whose commits a test writes by hand, to show a check violations that the product never makes. */
import { LocalTable, writeRow } from '../../../core/feed/table.ts';
import { hash128 } from '../../../core/object/hash.ts';
import { SeededRandom } from '../../../core/runtime/random.ts';
import type { Transaction } from '../../../core/store/store.ts';
import { prefix } from '../../sim/check/rows.ts';
import { SimStore } from '../../sim/disk.ts';
import type { Host } from '../../sim/host.ts';
import type { PlannedNode } from '../../sim/plan/tree.ts';
import { SimProcess } from '../../sim/sim-process.ts';
import { type Check, World } from '../../sim/world.ts';

/** A row to be written, by the key of its entry. */
export interface Written {
  readonly key: string;
  readonly attributes?: object;
  readonly body?: object;
  /** The origin revision; absent: newer than all before. */
  readonly originRevision?: number;
}

export class WrittenWorld {
  readonly world: World;
  readonly #stores = new Map<Host, SimStore>();
  #revision = 1;

  constructor(nodes: readonly PlannedNode[], ...checks: ((world: World) => Check)[]) {
    this.world = new World(1, nodes);
    this.world.checks.push(...checks.map((check) => check(this.world)));
  }

  host(path: string): Host {
    return this.world.hosts.get(path)!;
  }

  get messages(): string[] {
    return this.world.violations.map(({ message }) => message);
  }

  /** One commit. */
  write(path: string, act: (t: Transaction) => void): void {
    this.#store(this.host(path)).write(act);
  }

  put(path: string, table: string, ...rows: readonly Written[]): void {
    this.write(path, (t) => {
      for (const { key, attributes = {}, body, originRevision = this.#revision++ } of rows) {
        const content = { key, attributes: bytes(attributes), body: body ? bytes(body) : new Uint8Array(0) };
        LocalTable.open(t, table).put(t, content, originRevision);
      }
    });
  }

  remove(path: string, table: string, key: string): void {
    this.write(path, (t) => void LocalTable.open(t, table).remove(t, hash128(key)));
  }

  /** Leaves a tombstone, as a producer does. */
  bury(path: string, table: string, key: string, originRevision: number): void {
    this.write(path, (t) => {
      const { id } = LocalTable.open(t, table);
      writeRow(t, id, { keyHash: hash128(key), revision: originRevision, originRevision });
    });
  }

  /** A row outside of tables. */
  note(path: string, space: Parameters<typeof prefix>[0], key: string, value: object, head = Buffer.alloc(0)): void {
    const row = Buffer.concat([head, bytes(value)]);
    this.write(path, (t) => t.put(Buffer.concat([prefix(space), Buffer.from(key)]), row));
  }

  #store(host: Host): SimStore {
    const known = this.#stores.get(host);
    if (known) return known;
    const store = new SimStore({
      disk: host.disk,
      simProcess: new SimProcess(() => {}),
      clock: this.world.clock,
      random: new SeededRandom(1),
      committed: (changes, before) => this.world.committed(host, changes, before),
    });
    this.#stores.set(host, store);
    return store;
  }
}

function bytes(value: object): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

/** A world without running nodes: the test writes rows and frames by hand for a check. */
import { hash128 } from '../../../../core/object/hash.ts';
import type { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { Feed, type Frame } from '../../../../core/wire/generated/mesh.ts';
import { contentHashOf, prefix } from '../../../sim/check/rows.ts';
import type { Change } from '../../../sim/disk.ts';
import { Host } from '../../../sim/host.ts';
import type { PlannedNode } from '../../../sim/plan/tree.ts';
import { Connection } from '../../../sim/sim-network.ts';
import { type Check, World } from '../../../sim/world.ts';

const nodes: readonly PlannedNode[] = [
  { path: '', role: 'center', labels: {}, spaces: ['retail'] },
  { path: 'r', role: 'relay', labels: {}, spaces: [], replicas: 2 },
  { path: 'r:a', role: 'agent', labels: {}, spaces: [] },
];

export class HandMade {
  readonly world = new World(1, nodes);
  readonly #check: Check;
  #connections = 0;

  constructor(check: (world: World) => Check) {
    this.#check = check(this.world);
    this.world.checks.push(this.#check);
  }

  /** `''`, `r`, `r~1`, `r:a` */
  host(id: string): Host {
    return this.world.hosts.get(id)!;
  }

  /** With a session of this number; 0: none yet. */
  connection(child: string, parent: string, session = 0): Connection {
    const connection = new Connection(
      this.world.network,
      this.world,
      ++this.#connections,
      this.host(child),
      this.host(parent),
    );
    if (session > 0) connection.sessionSequence = session;
    return connection;
  }

  /** A commit of the rows that `write` puts into the host's store. */
  commit(id: string, write: (rows: WrittenRows) => void): void {
    const host = this.host(id);
    const before = host.disk.newest;
    const after = before.copy();
    const rows = new WrittenRows(after);
    write(rows);
    host.disk.committed(after);
    this.world.committed(host, rows.changes, before);
  }

  /** A connection of a copy of the child. */
  connectionOfClone(child: string, parent: string): Connection {
    const { planned, replica } = this.host(child);
    const clone = new Host(this.world, planned, { isClone: true, replica });
    return new Connection(this.world.network, this.world, ++this.#connections, clone, this.host(parent));
  }

  sent(connection: Connection, from: 'child' | 'parent', frame: Frame): void {
    this.#check.sent?.(connection, from, frame);
  }

  delivered(connection: Connection, to: 'child' | 'parent', frame: Frame, act: () => void = () => {}): void {
    this.#check.receiving?.(connection, to, frame);
    this.world.delivery = { connection, to, frame };
    act();
    this.world.delivery = undefined;
    this.#check.received?.(connection, to, frame);
  }

  get violations(): string[] {
    return this.world.violations.map(({ message }) => message);
  }
}

/** Encoded as docs/protocol.md and core/store/keyspace.ts describe. */
export class WrittenRows {
  readonly changes: Change[] = [];
  readonly #store: MemoryStore;

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  put(key: Buffer, value: Buffer): void {
    this.#store.write((t) => t.put(key, value));
    this.changes.push({ key, value });
  }

  json(space: Parameters<typeof prefix>[0], name: string, value: unknown): void {
    this.put(Buffer.concat([prefix(space), Buffer.from(name)]), Buffer.from(JSON.stringify(value)));
  }

  /** A table of this number. */
  table(name: string, id: number): void {
    this.put(Buffer.concat([prefix('tableName'), Buffer.from(name)]), u32(id));
  }

  /** A producer's table with its state. */
  mailbox(name: string, id: number, epoch: Buffer): void {
    this.table(name, id);
    const state = { epoch: epoch.toString('hex'), incarnations: [] };
    this.put(Buffer.concat([prefix('producerState'), u32(id)]), Buffer.from(JSON.stringify(state)));
  }

  /** The position of a consumer: in a reconciliation, or at the head of its feed. */
  consumer(id: number, at: 'reconciling' | 'head'): void {
    const [epoch, incarnation] = ['e'.repeat(32), at === 'head' ? 'i'.repeat(32) : ''];
    const cursor = at === 'head' ? 5 : 0;
    const state = Buffer.alloc(35);
    state.writeUIntBE(cursor, 22, 6);
    state.writeUIntBE(cursor, 28, 6);
    state.writeUInt8(epoch.length, 34);
    this.put(
      Buffer.concat([prefix('consumerState'), u32(id)]),
      Buffer.concat([state, Buffer.from(epoch + incarnation)]),
    );
  }

  row(id: number, key: string, attributes: unknown, body = ''): void {
    const content = {
      key,
      attributes: Buffer.from(JSON.stringify(attributes)),
      body: Buffer.from(body),
    };
    const hash = contentHashOf(content);
    const record = Buffer.concat([
      Buffer.from([key.length >> 8, key.length & 0xff]),
      Buffer.from(key),
      u32(content.attributes.length),
      content.attributes,
      content.body,
    ]);
    this.put(Buffer.concat([prefix('content'), Buffer.from(hash, 'hex')]), record);
    const row = Buffer.concat([Buffer.alloc(12), Buffer.from(hash, 'hex')]);
    this.put(Buffer.concat([prefix('tableRow'), u32(id), Buffer.from(hash128(key))]), row);
  }

  /** Removes the record of a quarantined row, as a node does when the row is right now. */
  released(id: number, key: string): void {
    this.changes.push({ key: Buffer.concat([prefix('quarantined'), u32(id), Buffer.from(hash128(key))]) });
  }

  /** The cursor that a producer knows to be stored. */
  acknowledged(id: number, cursor: number): void {
    const value = Buffer.alloc(12);
    value.writeUIntBE(cursor, 0, 6);
    this.put(Buffer.concat([prefix('producerState'), u32(id), Buffer.from('progress')]), value);
  }
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

const noBytes = Buffer.alloc(0);

export function ack(cursor: number): Frame {
  return { frame: { $case: 'ack', value: { feed: Feed.FEED_DOWN, cursor, epoch: noBytes } } };
}

export function beat(watermarks: Readonly<Record<string, number>>): Frame {
  const marks = Object.entries(watermarks).map(([source, revision]) => ({ source, revision }));
  const none = { sequence: 1, head: 0, purgeRevision: 0, rootAgeMs: 0, ready: true };
  return { frame: { $case: 'beat', value: { ...none, digest: undefined, watermarks: marks } } };
}

export function request(): Frame {
  const empty = { wanted: [], seed: Buffer.alloc(0), prefixes: [] };
  return { frame: { $case: 'reconcileRequest', value: { feed: Feed.FEED_DOWN, round: 1, ...empty } } };
}

/**
 * The changes of copies at this node's agents, for one watch. The watch keeps the keys of changed copies, and reads the present state when the client takes the
 * event. So a slow client gets fewer events, and costs at most one key for each copy.
 */
import { childPath, replicaNodePath } from '../../core/identity/node-path.ts';
import { formatKey } from '../../core/object/key.ts';
import type { Copy } from './agent-copies.ts';
import { shownObject } from './copy.ts';
import type { LogEntry } from './copy-log.ts';
import type { Fleet, FleetChild } from './fleet.ts';
import type { EventType, Item } from './fleet-lines.ts';
import type { WatchQuestion } from './fleet-question.ts';
import { itemOf } from './item-form.ts';
import type { AnswerPorts } from './list.ts';
import { expired, type Position } from './positions.ts';
import { type CopySelection, copySelection } from './selection.ts';

interface Pending {
  readonly child: string;
  readonly id: string;
  /** The copy as the client has it. Absent: the client does not have it. */
  readonly before?: Copy;
  /** The revision of the first change. Absent: the client has not received this copy yet. */
  readonly revision?: number;
}

export interface LocalEvent {
  readonly event: EventType;
  readonly item: Item;
}

export class LocalChanges {
  readonly #fleet: Fleet;
  readonly #question: WatchQuestion;
  readonly #ports: AnswerPorts;
  readonly #selection: CopySelection;
  /** The id of an object of the asked kind begins with this text. */
  readonly #prefix: string;
  /** Keyed by child and id, in the order of the first change. */
  readonly #pending = new Map<string, Pending>();
  /** The agents that this watch has seen, each with the time at which its index was made. */
  readonly #seen = new Map<string, number>();
  #concerned = new Set<string>();
  /** The number of pending copies that the client has not received yet. */
  #unsent = 0;
  #isStarted = false;
  /** The place of the client at the start, and while there are unsent copies. */
  #floor: number | undefined;
  #read: ReadonlyMap<string, number> = new Map();

  constructor(fleet: Fleet, question: WatchQuestion, ports: AnswerPorts) {
    this.#fleet = fleet;
    this.#question = question;
    this.#ports = ports;
    this.#selection = copySelection(question);
    this.#prefix = `${question.kind.group}/${question.kind.resource}/`;
    this.#agents();
  }

  /**
   * Adds everything that a client at this position has not received. The caller must call `changed` for changes that happen meanwhile. Throws Expired if the log
   * does not have all changes since then.
   */
  async start({ local, read }: Position): Promise<void> {
    this.#floor = local;
    this.#read = read;
    const missed = local === undefined ? [] : this.#fleet.log.after(local);
    if (missed === 'expired') throw expired('more has changed since this resourceVersion than this node keeps');
    for (const entry of missed) this.changed(entry);
    const hasRead = (child: string, openedAt: number) =>
      local !== undefined && (openedAt <= local || read.get(child) === openedAt);
    await this.#openAgents(hasRead);
    this.#isStarted = true;
  }

  /** Call it when agents may have been added: the watch then sends their copies. */
  childrenChanged(): Promise<void> {
    return this.#openAgents(() => false);
  }

  changed({ child, id, before, revision }: LogEntry): void {
    if (!id.startsWith(this.#prefix) || !this.#concerned.has(child)) return;
    const name = `${child} ${id}`;
    if (!this.#pending.has(name)) this.#pending.set(name, { child, id, revision, ...(before ? { before } : {}) });
  }

  get isEmpty(): boolean {
    return this.#pending.size === 0;
  }

  /** True if the client has received all copies that existed at the start. */
  get isComplete(): boolean {
    return this.#isStarted && this.#unsent === 0;
  }

  /** The place up to which the client has received everything, after it has taken the events of `next`. */
  get position(): Pick<Position, 'local' | 'read'> {
    const local = this.#place();
    const read = new Map([...this.#read].filter(([, openedAt]) => local !== undefined && openedAt > local));
    return { ...(local === undefined ? {} : { local }), read };
  }

  #place(): number | undefined {
    if (!this.isComplete) return this.#floor;
    const [first] = this.#pending.values();
    return first?.revision === undefined ? this.#fleet.log.revision : first.revision - 1;
  }

  /** The event of the next pending copy. Undefined: the client has all of it already, or does not select it. */
  next(): LocalEvent | undefined {
    const [first] = this.#pending;
    if (!first) return undefined;
    const [name, { child, id, before, revision }] = first;
    const after = this.#fleet.known(child)?.get(id);
    const wasSelected = before !== undefined && this.#selection.matches(before.facet);
    if (wasSelected && after && after.facet.metadata.uid !== before.facet.metadata.uid) {
      // Another object of the same name: the client gets the end of the first one, and next the beginning of the second one.
      this.#pending.set(name, { child, id, ...(revision === undefined ? {} : { revision }) });
      return { event: 'DELETED', item: this.#deletedItem(child, before) };
    }
    this.#pending.delete(name);
    if (revision === undefined) this.#unsent -= 1;
    const item = after && this.#selection.matches(after.facet) ? this.#itemOf(child, after) : undefined;
    if (item) return { event: wasSelected ? 'MODIFIED' : 'ADDED', item };
    return wasSelected ? { event: 'DELETED', item: this.#deletedItem(child, before) } : undefined;
  }

  #itemOf(child: string, { key }: Copy): Item | undefined {
    const [rows] = this.#fleet.read(child, [key]);
    if (!rows) return undefined;
    const path = childPath(this.#ports.path, child);
    return this.#made(child, shownObject(rows, path, this.#fleet.staleSinceMs(child)), rows.revision);
  }

  /** The node does not keep the last state of a deleted copy. The facet has everything by which a client recognises the copy. */
  #deletedItem(child: string, { facet }: Copy): Item {
    return this.#made(child, facet, 0);
  }

  #made(child: string, object: Parameters<typeof itemOf>[0], revision: number): Item {
    const { kind, form, source } = this.#question;
    const { name = '', namespace = '' } = object.metadata;
    const place = { path: replicaNodePath(this.#ports.path, child), namespace, name };
    const options = { kind, form, known: this.#ports.kindOf(source, kind), nowMs: this.#ports.wallMs() };
    return itemOf(object, place, revision, options);
  }

  async #openAgents(hasRead: (child: string, openedAt: number) => boolean): Promise<void> {
    for (const { name } of this.#agents()) {
      const known = this.#fleet.known(name)?.openedAt;
      if (known !== undefined && this.#seen.get(name) === known) continue;
      // A client that continues here must get the copies of the new agent: its index is newer than this place.
      if (this.isComplete) this.#floor = this.#place();
      const index = await this.#fleet.open(name, this.#ports.turn);
      if (index?.openedAt === undefined || this.#seen.get(name) === index.openedAt) continue;
      this.#seen.set(name, index.openedAt);
      if (hasRead(name, index.openedAt)) continue;
      for (const { key } of index.ofKind(this.#question.kind)) this.#addUnsent(name, formatKey(key));
    }
  }

  #addUnsent(child: string, id: string): void {
    const name = `${child} ${id}`;
    if (this.#pending.get(name)?.revision === undefined && this.#pending.has(name)) return;
    this.#pending.delete(name);
    this.#pending.set(name, { child, id });
    this.#unsent += 1;
  }

  #agents(): FleetChild[] {
    const { at, paths } = this.#question;
    const agents = this.#fleet.childrenTowards(at, paths).filter(({ role }) => role === 'agent');
    // The copies of an agent that has just left are still to be reported as deleted.
    this.#concerned = new Set([...this.#concerned, ...agents.map(({ name }) => name)]);
    return agents;
  }
}

/**
 * The copies of one source at and below this node, as far as this node keeps anything of them: an index of each agent that a list or watch has read, the log of
 * their changes, and the positions that were given out. A fleet exists while somebody asks for it, and some minutes longer.
 */
import { childPath, comparePaths, isAtOrBelow, replicaNodePath } from '../../core/identity/node-path.ts';
import { formatKey, type GroupResource, type ObjectKey } from '../../core/object/key.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Store } from '../../core/store/store.ts';
import type { Child } from '../children/children.ts';
import type { Mailbox, Mailboxes } from '../mailbox/mailboxes.ts';
import { ReportedKinds } from '../views/view-kinds.ts';
import { AgentCopies, type CopyChange } from './agent-copies.ts';
import { type CopyRows, readCopy } from './copy.ts';
import { CopyLog, type LogEntry } from './copy-log.ts';
import type { Away } from './fleet-lines.ts';
import { Positions } from './positions.ts';

/** As long as an API server keeps its history: a client may continue a list or a watch that was interrupted for this long. */
const idleMs = 5 * 60_000;

/** Copies that an index reads in one turn: about 3 ms. */
const copiesPerTurn = 25;

export interface FleetPorts {
  readonly store: Store;
  readonly clock: Clock;
  /** The path of this node. */
  readonly path: string;
  readonly mailboxes: Pick<Mailboxes, 'get' | 'all'>;
  readonly children: ReadonlyMap<string, Child>;
  /** Whether this replica, and no other one, shows the copies of the child. True without replicas. */
  counts(child: string): boolean;
  connection(child: string): { readonly connected: boolean; readonly silentMs: number };
  /** JSON paths that field selectors of the kind may use, such as `.spec.nodeName`. */
  selectable(of: GroupResource): readonly string[];
}

/** A child of this node, in the order of lists. */
export interface FleetChild {
  readonly name: string;
  readonly role: 'agent' | 'relay';
  /** The path in lists. It has the number of a replica. */
  readonly path: string;
}

export interface FleetListener {
  changed(entry: LogEntry): void;
  /** Children may have been added, or a child relay may be connected again. */
  childrenChanged(): void;
  /** No position from before is valid any more. */
  expired(error: BanyanError): void;
}

export class Fleet {
  readonly source: string;
  readonly kinds = new ReportedKinds();
  readonly positions: Positions;
  readonly log = new CopyLog();
  readonly #ports: FleetPorts;
  readonly #agents = new Map<string, AgentCopies>();
  readonly #listeners = new Set<FleetListener>();
  #children: readonly FleetChild[] | undefined;
  /** All children that had a mailbox when `#children` was made. Empty: `#children` has to be made again. */
  #names: ReadonlySet<string> = new Set();
  #askedAtMs = 0;

  constructor(source: string, ports: FleetPorts) {
    this.source = source;
    this.positions = new Positions(ports.clock);
    this.#ports = ports;
    this.asked();
  }

  asked(): void {
    this.#askedAtMs = this.#ports.clock.monotonicMs();
  }

  isIdle(): boolean {
    return this.#listeners.size === 0 && this.#ports.clock.monotonicMs() - this.#askedAtMs > idleMs;
  }

  /** Returns the function that ends the subscription. */
  subscribe(listener: FleetListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.asked();
      this.#listeners.delete(listener);
    };
  }

  // ------------------------------------------------------------------------------------------------------ children

  /** The children whose copies a list may have, in the order of lists. Another replica shows the agents that this one does not count. */
  children(): readonly FleetChild[] {
    if (this.#children) return this.#children;
    const { path, mailboxes, counts } = this.#ports;
    const all = Array.from(mailboxes.all(), ({ child, role }): FleetChild => {
      return { name: child, role, path: replicaNodePath(path, child) };
    });
    this.#names = new Set(all.map(({ name }) => name));
    this.#children = all
      .filter(({ name, role }) => role === 'relay' || counts(name))
      .sort((a, b) => comparePaths(a.path, b.path));
    return this.#children;
  }

  /** The children that may have copies below `at` and at one of the paths. Absent: there is no such limit. */
  childrenTowards(at: string | undefined, paths: readonly string[] | undefined): readonly FleetChild[] {
    const limits = [...(at === undefined ? [] : [[at]]), ...(paths === undefined ? [] : [paths])];
    const { path: own } = this.#ports;
    return this.children().filter(({ name }) => {
      const path = childPath(own, name);
      return limits.every((limit) => limit.some((one) => isAtOrBelow(one, path) || isAtOrBelow(path, one)));
    });
  }

  /** Throws NotFound if no node below this one has the path, as far as this node can tell. */
  checkPath(path: string): void {
    const { path: own } = this.#ports;
    const mayExist = (child: FleetChild) => child.role === 'relay' || isAtOrBelow(childPath(own, child.name), path);
    if (isAtOrBelow(own, path) || this.childrenTowards(path, undefined).some(mayExist)) return;
    const where = own === '' ? 'in this tree' : `below ${own}`;
    throw new BanyanError(
      'NotFound',
      `at: there is no node ${JSON.stringify(path)} ${where}: \`banyan tree\` lists the nodes`,
    );
  }

  /** The wall time since which the agent is not connected. Undefined: it is connected. */
  staleSinceMs(child: string): number | undefined {
    const { clock, connection } = this.#ports;
    const { connected, silentMs } = connection(child);
    return connected ? undefined : clock.wallMs() - silentMs;
  }

  silentMs(child: string): number | undefined {
    const { connected, silentMs } = this.#ports.connection(child);
    return connected ? undefined : silentMs;
  }

  /** A child relay that gives no answer. */
  awayOf({ name, path }: FleetChild, why: string): Away {
    const { connected, silentMs } = this.#ports.connection(name);
    const child = this.#ports.children.get(name);
    const destinations = (child?.counted ?? child?.labels)?.leaves;
    return {
      path,
      why: connected ? why : 'it is not connected',
      ...(connected ? {} : { silentMs }),
      ...(destinations === undefined ? {} : { destinations }),
    };
  }

  // ------------------------------------------------------------------------------------------------ copies at agents

  /**
   * The index of an agent; made if there is none, some copies in each turn. Undefined: the agent has left meanwhile. `turn` lets the other work of the process
   * go on.
   */
  async open(child: string, turn: () => Promise<void>): Promise<AgentCopies | undefined> {
    const { mailboxes } = this.#ports;
    while (true) {
      const mailbox = mailboxes.get(child);
      if (!mailbox) return undefined;
      const known = this.#agents.get(child);
      if (known?.mailbox !== mailbox) this.#begin(child, mailbox);
      else if (known.openedAt !== undefined) return known;
      else if (this.#ports.store.read((reader) => known.readSome(reader, copiesPerTurn)))
        known.openedAt = this.log.skip();
      await turn();
    }
  }

  #begin(child: string, mailbox: Mailbox): void {
    const { source, kinds } = this;
    const { store, path, selectable } = this.#ports;
    const ports = { source, path: childPath(path, child), mailbox, kinds, selectable };
    this.#agents.set(
      child,
      store.read((reader) => new AgentCopies(reader, ports)),
    );
  }

  /** The index of the agent, if it was begun before. */
  known(child: string): AgentCopies | undefined {
    return this.#agents.get(child);
  }

  /** The rows of some copies at an agent, in the order of the keys; undefined for a copy that is gone. */
  read(child: string, keys: readonly ObjectKey[]): (CopyRows | undefined)[] {
    const { store, path, mailboxes } = this.#ports;
    const mailbox: Mailbox | undefined = mailboxes.get(child);
    if (!mailbox) return keys.map(() => undefined);
    const of = { source: this.source, path: childPath(path, child) };
    return store.read((reader) => keys.map((key) => readCopy(reader, mailbox, of, key)));
  }

  // ------------------------------------------------------------------------------------------------------- changes

  /** Call it after a commit that wrote rows of the agent's mailbox. */
  mailboxChanged(child: string): void {
    const copies = this.#agents.get(child);
    if (!copies || this.#ports.mailboxes.get(child) !== copies.mailbox) return;
    this.refresh(
      child,
      this.#ports.store.read((reader) => copies.changedInMailbox(reader)),
    );
  }

  /** Call it after a commit that wrote rows about these copies. */
  refresh(child: string, keys: readonly ObjectKey[]): void {
    const copies = this.#agents.get(child);
    if (!copies || keys.length === 0) return;
    const changes: [id: string, change: CopyChange][] = [];
    this.#ports.store.read((reader) => {
      for (const key of keys) {
        const change = copies.refresh(reader, key);
        if (change) changes.push([formatKey(key), change]);
      }
    });
    for (const [id, { before }] of changes) this.#add(child, id, before);
  }

  /** Call it when the session with the child began or ended. The copies of an agent get, or lose, their mark. */
  connectionChanged(child: string): void {
    this.childrenRead([child]);
    const copies = this.#agents.get(child);
    for (const id of copies?.ids() ?? []) this.#add(child, id, copies?.get(id));
    if (this.#ports.mailboxes.get(child)?.role === 'relay') this.#notify();
  }

  /** Call it when these children were added or read again. */
  childrenRead(children: Iterable<string>): void {
    for (const child of children) if (!this.#names.has(child)) return this.childrenChanged();
  }

  childrenChanged(): void {
    this.#forgetChildren();
    this.#notify();
  }

  #forgetChildren(): void {
    this.#children = undefined;
    this.#names = new Set();
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener.childrenChanged();
  }

  childRemoved(child: string): void {
    const copies = this.#agents.get(child);
    const wasRelay = this.#children?.some(({ name, role }) => name === child && role === 'relay') ?? true;
    this.#forgetChildren();
    this.#agents.delete(child);
    for (const id of copies?.ids() ?? []) this.#add(child, id, copies?.get(id));
    // This node does not know which copies a client has from a relay that is gone, so it can't report them as deleted.
    if (!copies && wasRelay) this.expire(`${childPath(this.#ports.path, child)} has left this tree`);
  }

  /** Call it when this replica has begun or ceased to count the child. */
  countedChanged(child: string): void {
    if (this.#ports.counts(child) || !this.#agents.delete(child)) return this.childrenChanged();
    // Another replica reports the copies now. A deletion from here could arrive after the addition from there, and would hide the copies.
    this.expire(`another replica shows the copies at ${childPath(this.#ports.path, child)} now`);
  }

  /** Ends all watches, and makes all positions invalid. */
  expire(why: string): void {
    this.#forgetChildren();
    this.positions.clear();
    const error = new BanyanError('Expired', `${why}: list again`);
    for (const listener of [...this.#listeners]) listener.expired(error);
  }

  #add(child: string, id: string, before: LogEntry['before']): void {
    const entry = this.log.add({ child, id, ...(before ? { before } : {}) });
    for (const listener of [...this.#listeners]) listener.changed(entry);
  }
}

/** The path that this node gives to a place which the relay names `path`. A replica does not know its own number. */
export function fromRelay(own: string, relay: FleetChild, path: string): string {
  return `${relay.path}${path.slice(childPath(own, relay.name).length)}`;
}

/** The inverse of `fromRelay`. */
export function toRelay(own: string, relay: FleetChild, path: string): string {
  return `${childPath(own, relay.name)}${path.slice(relay.path.length)}`;
}

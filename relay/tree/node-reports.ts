/** Keeps the Node and Mailbox objects of the system space at what they say, at most once an interval. */
import type { Space } from '../../core/apiserver/space.ts';
import { timestamp } from '../../core/object/conditions.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { SessionStatus } from '../../core/session/parent-sessions.ts';
import type { Store } from '../../core/store/store.ts';
import type { Mailboxes } from '../mailbox/mailboxes.ts';
import type { Child } from '../schedule/children.ts';
import { hide, objectName, showMailbox, showNode } from './node-objects.ts';

export interface NodeReportsPorts {
  readonly space: Space;
  readonly path: string;
  readonly software: string;
  readonly clock: Clock;
  readonly store: Store;
  readonly children: ReadonlyMap<string, Child>;
  readonly mailboxes: Mailboxes;
  connection(child: string): SessionStatus;
  /** Whether the node is attached to its parent; undefined for the root. */
  attached(): boolean | undefined;
}

/** People look at these objects; a second is what they notice. */
const intervalMs = 1_000;

export class NodeReports {
  readonly #ports: NodeReportsPorts;
  readonly #shown = new Set<string>();
  #timer: Timer | undefined;
  #started = false;

  constructor(ports: NodeReportsPorts) {
    this.#ports = ports;
  }

  start(): void {
    this.#started = true;
    this.#run();
  }

  /** Something may have changed. */
  poke(): void {
    if (!this.#started || this.#timer) return;
    this.#timer = this.#ports.clock.after(intervalMs, () => {
      this.#timer = undefined;
      this.#run();
    });
  }

  stop(): void {
    this.#started = false;
    this.#timer?.stop();
  }

  #run(): void {
    const { space, path, software, children, mailboxes } = this.#ports;
    const attached = this.#ports.attached();
    showNode(space, path, path === '' ? 'Center' : 'Relay', {
      version: software,
      ...(attached === undefined ? {} : { session: { state: attached ? 'Connected' : 'Disconnected' } }),
      agents: this.#destinations(),
      children: children.size,
    });
    const gone = new Set(this.#shown);
    for (const child of children.values()) {
      const mailbox = mailboxes.get(child.name);
      if (!mailbox) continue;
      gone.delete(child.name);
      this.#shown.add(child.name);
      this.#showChild(child, mailbox);
    }
    for (const name of gone) {
      this.#shown.delete(name);
      hide(space, 'Mailbox', name);
      hide(space, 'Node', objectName(this.#pathOf(name)));
    }
  }

  #showChild(child: Child, mailbox: NonNullable<ReturnType<Mailboxes['get']>>): void {
    const { space, store, connection, clock } = this.#ports;
    const { connected, connectedSinceMs } = connection(child.name);
    const { head, acknowledged, backlog } = store.read((reader) => ({
      head: mailbox.producer.head(reader),
      acknowledged: mailbox.producer.acknowledged(reader),
      backlog: mailbox.producer.backlog(reader),
    }));
    const path = this.#pathOf(child.name);
    const since =
      connectedSinceMs === undefined ? {} : { since: timestamp(Math.min(connectedSinceMs, clock.wallMs())) };
    showNode(space, path, child.role === 'agent' ? 'Agent' : 'Relay', {
      version: this.#ports.software,
      session: { state: connected ? 'Connected' : 'Disconnected', ...since },
      lag: { entries: backlog.entries },
      agents: child.role === 'agent' ? 1 : (child.labels?.leaves ?? 0),
    });
    showMailbox(space, child.name, path, {
      head,
      acknowledged,
      backlogEntries: backlog.entries,
      backlogBytes: backlog.bytes,
    });
  }

  #destinations(): number {
    let sum = 0;
    for (const child of this.#ports.children.values()) sum += child.role === 'agent' ? 1 : (child.labels?.leaves ?? 0);
    return sum;
  }

  #pathOf(child: string): string {
    return this.#ports.path === '' ? child : `${this.#ports.path}:${child}`;
  }
}

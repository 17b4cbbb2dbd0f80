/** A parent and processes of children, as the commands of a transcript control them: the real sessions on memory stores and virtual time. */

import type { FeedConsumer } from '../../core/feed/consumer.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import type { FeedProducer } from '../../core/feed/producer.ts';
import type { Judge } from '../../core/feed/quarantine.ts';
import type { TableRows } from '../../core/feed/table.ts';
import type { PeerIdentity } from '../../core/identity/peer-identity.ts';
import { hash128 } from '../../core/object/hash.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { ChildSession } from '../../core/session/child-session.ts';
import { ParentSessions } from '../../core/session/parent-sessions.ts';
import { MemoryStore } from '../../core/store/memory/memory-store.ts';
import type { Reader } from '../../core/store/store.ts';
import type { Frame } from '../../core/wire/generated/mesh.ts';
import type { Dialer, Link } from '../../core/wire/link.ts';
import { content } from '../support/session-pair.ts';
import { falseFrameOf } from './false-frames.ts';
import { Line, type Side } from './line.ts';
import { onClock, type ProcessClock } from './process.ts';
import { type Meddling, Terminated } from './terminated.ts';
import { bootChild, bootParent, VirtualNodes } from './virtual-nodes.ts';
import { Worker } from './worker.ts';

interface Running<Session> {
  readonly clock: ProcessClock;
  readonly session: Session;
  readonly producer: FeedProducer;
  readonly consumer: FeedConsumer;
}

interface ChildProcess {
  readonly name: string;
  readonly line: Line;
  running: Running<ChildSession> | undefined;
  /** The worker of the present process, if children work on their rows. */
  worker?: Worker | undefined;
  /** The versions in its hellos; absent: those of this program. */
  versions?: readonly [min: number, max: number];
}

const parentPath = 'eu';
/** In transcripts, an entry with this body does not have the form that its key requires. */
const judge: Judge = ({ body }) => (Buffer.from(body).toString() === 'poison' ? { reason: 'it is poison' } : undefined);

export class World extends VirtualNodes {
  readonly #children = new Map<string, ChildProcess>();
  readonly #wallOffsetMs = new Map<string, number>();
  readonly #ready = new Map<string, boolean>();
  readonly #aside = new Set<string>();
  #parent: Running<ParentSessions> | undefined;
  #terminated: Terminated | undefined;
  /** Processes of children work on their rows, each under the poison-work guard. */
  works = false;
  /** Beats are shown; a script that is not about them may leave them out. */
  beats = true;

  // ------------------------------------------------------------------------------------------------- processes

  start(name: string): void {
    if (name === 'parent') this.#startParent();
    else this.#startChild(name);
  }

  /** SIGTERM. */
  end(name: string): void {
    const running = this.#running(name);
    running.session.close();
    if (name !== 'parent') this.#child(name).worker?.end();
    this.#forget(name);
  }

  /** The process is gone, with all unflushed data. The other side sees the connection break, unless the host is gone as well. */
  crash(name: string, silently: boolean): void {
    this.#die(name, silently);
    this.store(name).crash();
  }

  /** Only the process is gone: its commits are still there. */
  #die(name: string, silently = false): void {
    this.#running(name).clock.kill();
    this.#forget(name);
    for (const { name: child, line } of this.#children.values()) {
      if (name !== 'parent' && name !== child) continue;
      const other: Side = name === 'parent' ? 'child' : 'parent';
      line.break(silently ? other : undefined);
    }
  }

  stop(name: string): void {
    this.#running(name).clock.stop();
  }

  goOn(name: string): void {
    this.#running(name).clock.goOn();
  }

  /** The process of another build: its hellos have this range. */
  setVersions(name: string, min: number, max: number): void {
    this.#child(name).versions = [min, max];
  }

  /** From now on TLS is terminated on the way, and both sides prove their identities. */
  async terminate(): Promise<void> {
    this.#terminated = await Terminated.create(this.clock, parentPath, (line) => this.note(line));
  }

  /** A side, and its certificate from now on. */
  identify(side: string, path: string, role: string): Promise<void> {
    return this.#proofs().identify(side as Side, path, role as PeerIdentity['role']);
  }

  /** The machine that terminates TLS changes the next hello, or replays the former one. */
  meddle(how: string): void {
    this.#proofs().meddles = how as Meddling;
  }

  override run(ms: number): Promise<void> {
    return super.run(ms, this.#terminated && (() => new Promise(setImmediate)));
  }

  // ----------------------------------------------------------------------------------------------------- stores

  protected override newStore(name: string): MemoryStore {
    return new MemoryStore({ manualFlush: this.#aside.has(name) });
  }

  empty(name: string): void {
    this.stores.delete(name);
  }

  /** For each store that is made from now on. */
  flushByHand(name: string): void {
    this.#aside.add(name);
  }

  diskFull(name: string): void {
    this.store(name).failFlush(new BanyanError('StoreFull', 'the disk is full: free space and restart'));
  }

  // ------------------------------------------------------------------------------------------------------ rows

  put(name: string, key: string, body: string, originRevision = 0): void {
    this.keys.set(Buffer.from(hash128(key)).toString('hex'), key);
    const { producer } = this.#running(name);
    this.store(name).write((t) => producer.put(t, content(key, body), originRevision));
  }

  remove(name: string, key: string): void {
    const { producer } = this.#running(name);
    this.store(name).write((t) => producer.remove(t, hash128(key), 0));
  }

  /** A row that a node has received from the other side is lost, as by a fault of a disk. */
  loseRow(name: string, key: string): void {
    const { consumer } = this.#running(name);
    this.store(name).write((t) => consumer.removeAbsent(t, [hash128(key)]));
  }

  setReady(name: string, ready: boolean): void {
    this.#ready.set(name, ready);
    if (name === 'parent') this.#parent?.session.readyChanged();
    else this.#children.get(name)?.running?.session.readyChanged();
  }

  setWallOffset(name: string, ms: number): void {
    this.#wallOffsetMs.set(name, ms);
  }

  /** A frame that no process sends, on the line of the only child. */
  inject(name: string, kind: string, numbers: readonly number[]): void {
    const { producer } = this.#running(name === 'parent' ? 'kid' : 'parent');
    this.line('kid').inject(name === 'parent' ? 'parent' : 'child', falseFrameOf(kind, numbers, producer.epoch));
  }

  line(name: string): Line {
    return this.#child(name).line;
  }

  /** Keys that a node has received from the other side. */
  held(name: string): string[] {
    const { consumer } = this.#running(name);
    return this.store(name).read((reader) =>
      [...consumer.rows(reader)].map((row) => consumer.content(reader, row.content!).key),
    );
  }

  show(name: string): string[] {
    const { producer, consumer } = this.#running(name);
    return this.store(name).read((reader) => {
      const { epoch, cursor, seenHead } = consumer.resume(reader);
      const consumed = epoch === '' ? 'never attached' : `cursor ${cursor} seen ${seenHead}`;
      const produced = `head ${producer.head(reader)} acknowledged ${producer.acknowledged(reader)} purged ${producer.purgeRevision(reader)}`;
      return [
        `produces ${this.#rows(reader, producer)} ${produced}`,
        `has ${this.#rows(reader, consumer)} ${consumed}`,
      ];
    });
  }

  // ---------------------------------------------------------------------------------------------------- helpers

  #rows(reader: Reader, table: TableRows): string {
    const rows = [...table.rows(reader)].map((row) => {
      const { key, body } = table.content(reader, row.content!);
      const text = Buffer.from(body).toString();
      return `${key}=${text.length > 12 ? `<${text.length} bytes>` : text}`;
    });
    return rows.length > 12 ? `[${rows.length} rows]` : `[${rows.sort().join(' ')}]`;
  }

  #running(name: string): Running<ParentSessions> | Running<ChildSession> {
    const running = name === 'parent' ? this.#parent : this.#child(name).running;
    if (!running) throw new Error(`"${name}" does not run`);
    return running;
  }

  #child(name: string): ChildProcess {
    let child = this.#children.get(name);
    if (!child) {
      const line = new Line({
        clock: this.clock,
        child: { path: `${parentPath}:kid`, role: 'agent' },
        parent: { path: parentPath, role: 'relay' },
        accept: (link) => {
          if (!this.#parent) throw new BanyanError('Unavailable', 'connection refused');
          const { clock, session } = this.#parent;
          const accept = (accepted: Link) => session.accept(accepted);
          return onClock(clock, this.#terminated ? this.#terminated.accept(accept, link) : accept(link));
        },
        sent: (from, frame) => {
          this.#alter(name, frame);
          if (!this.beats && frame.frame?.$case === 'beat') return;
          this.note(`${from === 'child' ? `${name} > parent` : `parent > ${name}`}  ${this.frameText.of(frame)}`);
        },
      });
      child = { name, line, running: undefined };
      this.#children.set(name, child);
    }
    return child;
  }

  /** Before it is shown and encoded. */
  #alter(name: string, { frame }: Frame): void {
    const { versions: [versionMin, versionMax] = [] } = this.#children.get(name) ?? {};
    if (frame?.$case === 'hello' && versionMin !== undefined) Object.assign(frame.value, { versionMin, versionMax });
    if (frame?.$case === 'proof') this.#terminated?.meddle(frame.value);
  }

  #proofs(): Terminated {
    if (!this.#terminated) throw new Error('TLS is not terminated: use the command terminate before');
    return this.#terminated;
  }

  #forget(name: string): void {
    if (name === 'parent') this.#parent = undefined;
    else Object.assign(this.#child(name), { running: undefined, worker: undefined });
  }

  #base(name: string) {
    return this.base(name, () => this.#wallOffsetMs.get(name) ?? 0);
  }

  #stored(name: string, changes: readonly AppliedChange[]): void {
    const entries = changes.slice(0, 4).map(({ key, after }) => {
      const body = after && Buffer.from(after.body).toString();
      return body === undefined ? `-${key}` : `${key}=${body.length > 12 ? `<${body.length} bytes>` : body}`;
    });
    if (changes.length > 4) entries.push(`and ${changes.length - 4} more`);
    this.note(`${name}: stored [${entries.join(' ')}]`);
  }

  #startParent(): void {
    const { random, clock, log, store } = this.#base('parent');
    const feeds = bootParent({ store, clock, random });
    const session: ParentSessions = new ParentSessions({
      defer: queueMicrotask,
      store,
      clock,
      random,
      log,
      path: parentPath,
      software: 'test',
      feedsOf: () => feeds,
      ready: () => this.#ready.get('parent') ?? true,
      applied: () => {},
      committed: (_child, changes) => this.#stored('parent', changes),
      connected: () => this.note('parent: kid is connected'),
      disconnected: (_child, reason) => this.note(`parent: kid is disconnected: ${reason}`),
      rootAgeMs: () => 0,
    });
    this.#parent = { clock, session, ...feeds };
  }

  #startChild(name: string): void {
    const { random, clock, log, store } = this.#base(name);
    const { line } = this.#child(name);
    const { identity, producer, consumer } = bootChild({ store, clock, random }, judge);
    const dialer: Dialer = { dial: (events) => line.dial(onClock(clock, events)) };
    const note = (line: string) => this.note(`${name}: ${line}`);
    const worker = this.works
      ? new Worker({ store, clock, log, consumer, note, die: () => this.#die(name) })
      : undefined;
    const session = new ChildSession({
      store,
      clock,
      random,
      log,
      dialer: this.#terminated ? this.#terminated.dialer(dialer, clock, random) : dialer,
      identity,
      path: `${parentPath}:kid`,
      role: 'agent',
      software: 'test',
      producer,
      consumer,
      applied: () => {},
      committed: (changes) => {
        this.#stored(name, changes);
        for (const { key, after } of changes) if (after) worker?.work(key, after);
      },
      connected: () => this.note(`${name}: connected`),
      disconnected: (reason) => this.note(`${name}: disconnected: ${reason}`),
      caughtUp: () => this.note(`${name}: caught up`),
      ready: () => this.#ready.get(name) ?? true,
    });
    Object.assign(this.#child(name), { running: { clock, session, producer, consumer }, worker });
    session.start();
    worker?.start();
  }
}

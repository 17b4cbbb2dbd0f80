/**
 * Two replicas `eu` and `eu~1`, a child of theirs, and their parent: the real sessions and the real decisions of ownership on memory stores and virtual time.
 * Messages between the replicas and their parent take a millisecond.
 */
import type { FeedConsumer } from '../../../core/feed/consumer.ts';
import type { AppliedChange } from '../../../core/feed/feed.ts';
import type { FeedProducer } from '../../../core/feed/producer.ts';
import { splitReplica } from '../../../core/identity/replica.ts';
import { hash128 } from '../../../core/object/hash.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import { ChildSession } from '../../../core/session/child-session.ts';
import { failoverDialer } from '../../../core/session/failover-dialer.ts';
import { ParentSessions } from '../../../core/session/parent-sessions.ts';
import type { Watermarks } from '../../../core/session/watermark.ts';
import type { MemoryStore } from '../../../core/store/memory/memory-store.ts';
import type { Dialer } from '../../../core/wire/link.ts';
import { Ownership } from '../../../relay/replicas/ownership.ts';
import { content } from '../../support/session-pair.ts';
import { Line, type Side } from '../line.ts';
import { onClock, type ProcessClock } from '../process.ts';
import { bootChild, bootParent, startMs, VirtualNodes } from '../virtual-nodes.ts';

interface Replica {
  readonly clock: ProcessClock;
  readonly session: ParentSessions;
  readonly producer: FeedProducer;
  readonly store: MemoryStore;
  marks: Watermarks;
  /** The sequence with which the child attached here last. */
  sequence: number;
  /** The time since which the replica receives nothing from above. */
  cutOffAtMs: number | undefined;
}

interface Child {
  readonly clock: ProcessClock;
  readonly session: ChildSession;
  readonly consumer: FeedConsumer;
}

const replicas = ['eu', 'eu~1'];
const source = 'center.retail';

export class ReplicaWorld extends VirtualNodes {
  readonly #replicas = new Map<string, Replica>();
  readonly #children = new Map<string, Child>();
  readonly #lines = new Map<string, Line>();
  readonly #above = new Ownership(() => 0);

  start(name: string): void {
    if (replicas.includes(name)) this.#startReplica(name);
    else this.#startChild(name);
  }

  crash(name: string): void {
    const running = this.#replicas.get(name) ?? this.#children.get(name)!;
    running.clock.kill();
    this.#replicas.delete(name);
    this.#children.delete(name);
    this.store(name).crash();
    for (const [at, line] of this.#lines) if (at.split(' ').includes(name)) line.break();
    if (replicas.includes(name)) this.#decide((above) => above.connection(splitReplica(name).replica, false));
  }

  /** The line between a child and a replica: dials are not answered, and connections break. */
  cut(child: string, replicaName: string): void {
    const line = this.#line(child, replicaName);
    line.cut = true;
    line.break();
  }

  /** Frames on the line, or from one of its ends, are lost silently, and dials are not answered. */
  swallow(child: string, replicaName: string, from?: string): void {
    const line = this.#line(child, replicaName);
    line.cut = true;
    if (from !== child) line.weather.parent.silent = true;
    if (from !== replicaName) line.weather.child.silent = true;
  }

  put(replicaName: string, key: string, body: string, revision: number): void {
    const of = `o/${source}/core/configmaps/ns/${key}`;
    this.keys.set(Buffer.from(hash128(of)).toString('hex'), key);
    const { store, producer } = this.#replicas.get(replicaName)!;
    store.write((t) => producer.put(t, content(of, body), revision));
  }

  /** The replica has all rows of the source up to this revision. */
  reached(replicaName: string, revision: number): void {
    const running = this.#replicas.get(replicaName)!;
    running.marks = { [source]: revision };
    running.session.watermarksChanged();
  }

  /** Its own uplink is dead: it receives nothing from above, and its parent receives nothing from it. */
  cutOff(replicaName: string): void {
    const running = this.#replicas.get(replicaName)!;
    running.cutOffAtMs = running.clock.monotonicMs();
    this.#decide((above) => above.connection(splitReplica(replicaName).replica, false));
  }

  show(child: string): string[] {
    const { consumer, session } = this.#children.get(child)!;
    const rows = this.store(child).read((reader) =>
      [...consumer.rows(reader)].map((row) => {
        const { key, body } = consumer.content(reader, row.content!);
        return `${key.split('/').at(-1)}=${Buffer.from(body).toString()}`;
      }),
    );
    const waits = session.waiting ? `; waits: ${session.waiting.for}` : '';
    return [`has [${rows.sort().join(' ')}]${waits}`];
  }

  // ---------------------------------------------------------------------------------------------------- helpers

  #line(child: string, replicaName: string): Line {
    const known = this.#lines.get(`${child} ${replicaName}`);
    if (known) return known;
    const { name: path, replica } = splitReplica(replicaName);
    const line = new Line({
      clock: this.clock,
      child: { path: `${path}:kid`, role: 'agent' },
      parent: { path, role: 'relay', ...(replica === 0 ? {} : { replica }) },
      accept: (link) => {
        const running = this.#replicas.get(replicaName);
        if (!running) throw new BanyanError('Unavailable', 'connection refused');
        return onClock(running.clock, running.session.accept(link));
      },
      sent: (from: Side, frame) => {
        const kind = frame.frame?.$case;
        if (kind === 'beat' || kind === 'ack' || kind === 'resume') return;
        const way = from === 'child' ? `${child} > ${replicaName}` : `${replicaName} > ${child}`;
        const sequence = kind === 'hello' ? `, attach sequence +${frame.frame!.value.attachSequence - startMs}` : '';
        this.note(`${way}  ${this.frameText.of(frame)}${sequence}`);
      },
    });
    this.#lines.set(`${child} ${replicaName}`, line);
    return line;
  }

  /** At the parent, a millisecond after the report; the replicas act another millisecond later. */
  #decide(act: (above: Ownership) => void): void {
    this.clock.after(1, () => {
      act(this.#above);
      for (const child of this.#above.takeChanged()) {
        const { owner, granted, from, term } = this.#above.children.get(child)!;
        const waits = granted ? '' : `, once ${replicas[from!]} has reported term ${term}`;
        this.note(`above: ${child} is counted at ${replicas[owner]}${waits}`);
      }
      this.clock.after(1, () => this.#actAtReplicas());
    });
  }

  #actAtReplicas(): void {
    const held = this.#above.children.get('kid');
    const { term } = this.#above.state;
    for (const [name, { session, sequence }] of this.#replicas) {
      const { replica } = splitReplica(name);
      if (held && held.owner !== replica && sequence < held.sequence && session.status('kid').connected) {
        session.disconnect('kid', `the child attached to replica ${held.owner}`);
      }
      if (held?.granted === false && held.from === replica) this.#decide((above) => above.termReported(replica, term));
    }
  }

  #startReplica(name: string): void {
    const { clock, log, random, store } = this.base(name);
    const { replica } = splitReplica(name);
    const feeds = bootParent({ store, clock, random });
    const session: ParentSessions = new ParentSessions({
      defer: queueMicrotask,
      store,
      clock,
      random,
      log,
      path: 'eu',
      software: 'test',
      feedsOf: () => feeds,
      ready: () => true,
      replicas: {
        hasReplicas: true,
        superseded: (child, sequence) => {
          const held = this.#above.children.get(child);
          if (!held || sequence >= held.sequence) return undefined;
          const message = `the child has attached to replica ${held.owner} with a higher sequence`;
          return held.owner === replica ? { message, sequence: held.sequence } : { message };
        },
        attached: (_t, child, role, sequence) => {
          this.#replicas.get(name)!.sequence = sequence;
          this.#decide((above) => above.attached(replica, child, sequence, role));
        },
      },
      watermarks: () => this.#replicas.get(name)?.marks ?? {},
      applied() {},
      committed() {},
      acknowledged() {},
      connected: () => this.note(`${name}: kid is connected`),
      disconnected: (_child, reason) => this.note(`${name}: kid is disconnected: ${reason}`),
      rootAgeMs: () => {
        const sinceMs = this.#replicas.get(name)?.cutOffAtMs;
        return sinceMs === undefined ? 0 : clock.monotonicMs() - sinceMs;
      },
    });
    this.#replicas.set(name, {
      clock,
      session,
      store,
      marks: {},
      sequence: -1,
      producer: feeds.producer,
      cutOffAtMs: undefined,
    });
    this.#decide((above) => above.connection(replica, true));
  }

  #startChild(name: string): void {
    const { clock, log, random, store } = this.base(name);
    const { identity, producer, consumer } = bootChild({ store, clock, random });
    const session = new ChildSession({
      store,
      clock,
      random,
      log,
      dialer: failoverDialer(
        { clock, random },
        replicas.map((replica): Dialer => {
          const line = this.#line(name, replica);
          return { dial: (events) => line.dial(onClock(clock, events)) };
        }),
      ),
      identity,
      path: 'eu:kid',
      role: 'agent',
      software: 'test',
      producer,
      consumer,
      applied() {},
      committed: (changes) => this.#stored(name, changes),
      connected: () => this.note(`${name}: connected`),
      disconnected: (reason) => this.note(`${name}: disconnected: ${reason}`),
      caughtUp: () => this.note(`${name}: caught up`),
      ready: () => true,
    });
    this.#children.set(name, { clock, session, consumer });
    session.start();
  }

  #stored(name: string, changes: readonly AppliedChange[]): void {
    const entries = changes.map(({ key, after }) => {
      const last = key.split('/').at(-1);
      return after ? `${last}=${Buffer.from(after.body).toString()}` : `-${last}`;
    });
    this.note(`${name}: stored [${entries.join(' ')}]`);
  }
}

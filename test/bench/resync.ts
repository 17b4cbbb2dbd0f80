/**
 * Children with a thousand entries each come back after one entry in a thousand has changed: the bytes of all frames, both ways, over the bytes of the
 * changes. In one part they resume from their cursors. In the other part their parent does not know the start of its process that they saw last, as after a
 * restore from an older copy, and they reconcile. Parent and children are in one process, with one LMDB store for all ends of either side, and memory links:
 * frames are encoded and read as on any link, and the bytes of connections and handshakes do not count.
 */
import { FeedConsumer } from '../../core/feed/consumer.ts';
import type { Content } from '../../core/feed/feed.ts';
import { FeedProducer } from '../../core/feed/producer.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { helloBurst, helloPerSecond } from '../../core/session/admission.ts';
import { ChildSession } from '../../core/session/child-session.ts';
import { beginBoot, type NodeIdentity } from '../../core/session/node-identity.ts';
import { ParentSessions } from '../../core/session/parent-sessions.ts';
import { text } from '../../core/store/bytes.ts';
import { LmdbStore } from '../../core/store/lmdb/lmdb-store.ts';
import { encodeFrame } from '../../core/wire/codec/frames.ts';
import type { Frame } from '../../core/wire/generated/mesh.ts';
import { memoryDialer } from '../../core/wire/memory/memory-link.ts';
import type { BenchPorts, Figure } from './figure.ts';
import { timed } from './measure.ts';

interface Size {
  readonly children: number;
  /** Entries of each child. */
  readonly entries: number;
}

/** The bytes of each child are the same: more children make the run longer, mostly because of their stores. */
const resynced: Size = { children: 200, entries: 1_000 };
/** More than the parent admits at once. They have few entries, because the turns are measured. */
const storm: Size = { children: 1_000, entries: 20 };
/** The changed entry of a child: another one for each child, because the number of rows with neighbouring hashes is random. */
const changedOf = (name: string, { entries }: Size) => (Number(name.slice('kid-'.length)) * 7) % entries;
/** As the objects of the other benchmarks: an ordinary Deployment. */
const bodyBytes = 2_048;
const childrenPerWrite = 10;

const contentOf = (i: number, version: number): Content => ({
  key: `o/center.retail//configmaps/shop/map-${i}`,
  attributes: text('{"refs":["all"]}'),
  body: Buffer.alloc(bodyBytes, `${version} `),
});

interface Kid {
  readonly name: string;
  readonly mailbox: FeedProducer;
  readonly upstream: FeedConsumer;
  /** The children share a store, and each has an outbox there, which stays empty. */
  readonly outbox: FeedProducer;
  readonly reported: FeedConsumer;
}

export async function bench({ scratch, progress }: BenchPorts): Promise<Figure[]> {
  const open = () => {
    const store = LmdbStore.open({ directory: scratch.directory() }, silentLogger);
    scratch.use({ [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() });
    return store;
  };
  const mesh = new Mesh(open(), open(), resynced);
  progress(`${resynced.entries} entries for each of ${resynced.children} children`);
  await mesh.fill();
  const figures: Figure[] = [];
  for (const [round, how] of (['go on', 'compare'] as const).entries()) {
    mesh.change(round + 1);
    if (how === 'compare') mesh.forgetIncarnation();
    progress(`all children come back and ${how}`);
    mesh.bytes = 0;
    const tookMs = await timed(() => mesh.comeBack());
    await mesh.leave();
    const changes = mesh.changedBytes;
    figures.push(
      {
        name: `bytes when they ${how}`,
        value: mesh.bytes / 1e6,
        unit: 'MB',
        baseline: { name: 'of the changes', value: changes / 1e6 },
        goal: { of: 'ratio', is: '≤', bound: 1.5 },
      },
      { name: `until all have it, when they ${how}`, value: tookMs / 1_000, unit: 's' },
    );
  }
  const many = new Mesh(open(), open(), storm);
  progress(`${storm.children} children come back at once`);
  await many.fill();
  many.change(1);
  const stormMs = await timed(() => many.comeBack());
  await many.leave();
  // A child that was given its turn comes up to half a second after it (core/session/backoff.ts).
  const turnsMs = ((storm.children - helloBurst) * 1_000) / helloPerSecond + 500;
  figures.push({
    name: `until ${storm.children} have it who came at once`,
    value: stormMs / 1_000,
    unit: 's',
    baseline: { name: 'their turns, and how they come', value: turnsMs / 1_000 },
    goal: { of: 'ratio', is: '≤', bound: 1.5 },
  });
  return figures;
}

class Mesh {
  readonly #size: Size;
  readonly #above: LmdbStore;
  readonly #below: LmdbStore;
  readonly #kids: readonly Kid[];
  readonly #identity: NodeIdentity;
  readonly #sessions: ParentSessions;
  #running: ChildSession[] = [];
  #missing = 0;
  #done = () => {};
  /** The bytes of all frames since it was set. */
  bytes = 0;

  constructor(above: LmdbStore, below: LmdbStore, size: Size) {
    this.#size = size;
    this.#above = above;
    this.#below = below;
    const names = Array.from({ length: size.children }, (_, i) => `kid-${i}`);
    const random = systemRandom;
    const { bootNonce } = above.write((t) => beginBoot(t, systemClock, random));
    this.#identity = below.write((t) => beginBoot(t, systemClock, random));
    const ends = above.write((t) =>
      names.map((name) => ({
        name,
        mailbox: FeedProducer.open(t, { name: `mailbox/${name}`, bootNonce, random }),
        reported: FeedConsumer.open(t, { name: `reported/${name}` }),
      })),
    );
    this.#kids = below.write((t) =>
      ends.map((end) => ({
        ...end,
        upstream: FeedConsumer.open(t, { name: `upstream/${end.name}` }),
        outbox: FeedProducer.open(t, { name: `outbox/${end.name}`, bootNonce: this.#identity.bootNonce, random }),
      })),
    );
    const kids = new Map(this.#kids.map((kid) => [kid.name, kid]));
    this.#sessions = new ParentSessions({
      store: above,
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      path: 'eu',
      software: 'bench',
      defer: setImmediate,
      rootAgeMs: () => 0,
      feedsOf: (_t, name) => ({ producer: kids.get(name)!.mailbox, consumer: kids.get(name)!.reported }),
      ready: () => true,
      applied() {},
      committed() {},
      acknowledged() {},
      connected() {},
      disconnected() {},
    });
  }

  /** Written directly: the way to this state is not measured. */
  async fill(): Promise<void> {
    const { entries } = this.#size;
    for (let i = 0; i < this.#kids.length; i += childrenPerWrite) {
      const some = this.#kids.slice(i, i + childrenPerWrite);
      this.#above.write((t) => {
        for (let entry = 0; entry < entries; entry++) {
          const content = contentOf(entry, 0);
          for (const { mailbox } of some) mailbox.put(t, content, 0);
        }
      });
      await this.#above.flushed();
      const limits = { maxBytes: Number.POSITIVE_INFINITY, maxEntries: entries };
      const batches = this.#above.read((reader) =>
        some.map(({ mailbox }) => mailbox.batch(reader, 0, mailbox.head(reader), limits)!),
      );
      this.#below.write((t) => {
        for (const [which, { upstream }] of some.entries()) upstream.apply(t, batches[which]!);
      });
      await this.#below.flushed();
    }
  }

  change(version: number): void {
    this.#above.write((t) => {
      for (const { mailbox, name } of this.#kids)
        mailbox.put(t, contentOf(changedOf(name, this.#size), version), version);
    });
  }

  get changedBytes(): number {
    const sizes = this.#kids.map(({ name }) => {
      const { key, attributes, body } = contentOf(changedOf(name, this.#size), 0);
      return key.length + attributes.length + body.length;
    });
    return sizes.reduce((sum, bytes) => sum + bytes, 0);
  }

  forgetIncarnation(): void {
    this.#below.write((t) => {
      for (const { upstream } of this.#kids) {
        upstream.setResume(t, { ...upstream.resume(t), incarnation: '0'.repeat(32) });
      }
    });
  }

  /** Resolves when every child has the changes, durable. */
  comeBack(): Promise<void> {
    this.#missing = this.#size.children;
    // Timers of sessions keep no process alive, and there is no socket that would.
    const awake = setInterval(() => {}, 1_000);
    return new Promise((resolve) => {
      this.#done = () => {
        clearInterval(awake);
        resolve();
      };
      this.#running = this.#kids.map((kid) => this.#start(kid));
    });
  }

  async leave(): Promise<void> {
    for (const session of this.#running) session.close();
    await new Promise((done) => setTimeout(done, 1_000));
  }

  #start({ name, upstream, outbox }: Kid): ChildSession {
    const network = {
      clock: systemClock,
      delayMs: 1,
      isCut: () => false,
      passes: (frame: Frame) => {
        this.bytes += encodeFrame(frame).length;
        return true;
      },
    };
    const [child, parent] = [{ path: `eu:${name}`, role: 'agent' } as const, { path: 'eu', role: 'relay' } as const];
    const session = new ChildSession({
      store: this.#below,
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      dialer: memoryDialer(network, child, parent, (link) => this.#sessions.accept(link)),
      identity: this.#identity,
      path: child.path,
      role: 'agent',
      software: 'bench',
      producer: outbox,
      consumer: upstream,
      applied() {},
      committed: (changes) => {
        if (!changes.some(({ key }) => key === contentOf(changedOf(name, this.#size), 0).key)) return;
        void this.#below.flushed().then(() => {
          this.#missing--;
          if (this.#missing === 0) this.#done();
        });
      },
      connected() {},
      disconnected() {},
      caughtUp() {},
      ready: () => true,
    });
    session.start();
    return session;
  }
}

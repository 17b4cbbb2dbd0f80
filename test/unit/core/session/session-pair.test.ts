import { describe, expect, it } from 'vitest';
import { dropTable } from '../../../../core/feed/table.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { acknowledgedWithinMs } from '../../../../core/session/acknowledgements.ts';
import { beginAttach, readAttachment } from '../../../../core/session/attach.ts';
import { rootAgeMaxMs } from '../../../../core/session/child-session.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { Hello, Retry } from '../../../../core/wire/generated/mesh.ts';
import { ReplayLink } from '../../../support/recorded-frames.ts';
import { content, SessionPair } from '../../../support/session-pair.ts';

const kinds = (pair: SessionPair, from: 'child' | 'parent') =>
  pair.frames.filter((f) => f.from === from).map((f) => f.frame.frame?.$case);

/** The parent's statements of readiness, in the order of its beats. */
const readyBeats = (pair: SessionPair) =>
  pair.frames.flatMap(({ from, frame: { frame } }) =>
    from === 'parent' && frame?.$case === 'beat' ? [frame.value.ready] : [],
  );

/** A store whose flushes finish when the test says so, in any order, from the time at which `held` is set. */
class HeldFlushes extends MemoryStore {
  held: (() => void)[] | undefined;

  override flushed(): Promise<void> {
    const { held } = this;
    return held ? new Promise((done) => held.push(done)) : super.flushed();
  }
}

/** A disk that accepts nothing for a while. */
class FullDisk extends MemoryStore {
  isFull = false;

  override flushed(): Promise<void> {
    return this.isFull ? Promise.reject(new BanyanError('StoreFull', 'no room')) : super.flushed();
  }
}

const helloOf = (path: string) => {
  const fields = { versionMin: 1, versionMax: 1, path, role: 'agent', bootCounter: 1, bootNonce: Buffer.alloc(16, 7) };
  const value = { ...Hello.decode(new Uint8Array(0)), ...fields, transport: 'memory' };
  return { frame: { $case: 'hello' as const, value } };
};

/** How often the child has announced its state. */
const attachments = ({ events }: SessionPair) => ({
  attached: events.filter((event) => event === 'child: connected').length,
  detached: events.filter((event) => event.startsWith('child: disconnected')).length,
});

/** A time in which little happens. */
async function pass(pair: SessionPair, seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    pair.clock.advance(995);
    await pair.run(5);
  }
}

describe('a child and its parent', () => {
  it('exchange hello and welcome, then the parent’s entries', async () => {
    const pair = new SessionPair();
    pair.put('a', '1');
    pair.child.session.start();
    await pair.run(50);
    expect(pair.held()).toEqual({ a: '1' });
    expect(kinds(pair, 'child').slice(0, 2)).toEqual(['hello', 'resume']);
    expect(kinds(pair, 'parent')[0]).toBe('welcome');
    expect(pair.events).toContain('child: caught up');
  });

  it('send changes, each key once and in its last state', async () => {
    const pair = new SessionPair();
    pair.child.session.start();
    await pair.run(50);
    pair.put('a', '1');
    pair.put('a', '2');
    pair.put('b', '3');
    await pair.run(20);
    expect(pair.held()).toEqual({ a: '2', b: '3' });
    await pair.run(acknowledgedWithinMs);
    expect(pair.parent.store.read((r) => pair.parent.producer.acknowledged(r))).toBe(3);
    // Announced when it can be read: a state that is read earlier, and shown, would be wrong until the next event.
    expect(pair.stored.at(-1)).toBe(3);
  });

  it('count as acknowledged what the child’s hello names: the acknowledgement may have been lost with the connection', async () => {
    const store = new HeldFlushes();
    const pair = new SessionPair(new MemoryStore(), store);
    pair.child.session.start();
    await pair.run(50);
    const held: (() => void)[] = [];
    store.held = held;
    pair.parent.store.write((t) => pair.parent.producer.put(t, content('a', '1'), 1));
    await pair.run(50);
    expect(pair.held()).toEqual({ a: '1' });
    pair.cut = true;
    await pair.run(100_000);
    store.held = undefined;
    for (const done of held) done();
    expect(pair.stored).not.toContain(1);
    pair.cut = false;
    await pair.run(100_000);
    expect(pair.stored.at(-1)).toBe(1);
  });

  it('notify the parent in the transaction that moves its cursor, even if nothing has changed', async () => {
    const pair = new SessionPair();
    pair.child.session.start();
    await pair.run(50);
    const put = (...values: string[]) => {
      for (const value of values)
        pair.child.store.write((t) => pair.child.producer.put(t, content('partial/a', value), 0));
    };
    put('1');
    await pair.run(20);
    put('2', '1');
    await pair.run(20);
    expect(pair.up).toHaveLength(1);
    expect(pair.upCursors).toEqual([1, 3]);
  });

  it('include what the child writes while it attaches before the parent treats the feed as complete', async () => {
    const pair = new SessionPair();
    pair.attaching = (t) => void pair.child.producer.put(t, content('seen/center.retail', '7'), 0);
    pair.child.session.start();
    await pair.run(50);
    expect(pair.upWhenCaughtUp).toEqual(['seen/center.retail']);
  });

  it('report why there is no session, once for each reason, until there is one', async () => {
    const pair = new SessionPair();
    pair.cut = true;
    pair.child.session.start();
    await pair.run(10_000);
    const unreached = () => pair.events.filter((event) => event.startsWith('child: unreached'));
    expect(pair.child.session.unreached).toBe('the network is cut');
    expect(unreached()).toHaveLength(1);
    pair.cut = false;
    await pair.run(60_000);
    expect(pair.child.session.connected).toBe(true);
    expect(pair.child.session.unreached).toBeUndefined();
  });

  it.each([true, false])(
    'keep the newest statement of readiness, %s, if its flush is done before the flush of an older one',
    async (newest) => {
      const store = new HeldFlushes();
      const pair = new SessionPair(store);
      pair.parentReady = newest;
      pair.child.session.start();
      await pair.run(50);
      const changeReady = (ready: boolean) => {
        pair.parentReady = ready;
        pair.parent.sessions.readyChanged();
      };
      changeReady(!newest);
      await pair.run(50);
      store.held = [];
      changeReady(!newest);
      changeReady(newest);
      for (const done of store.held.reverse()) {
        done();
        await pair.run(50);
      }
      expect(readyBeats(pair)).toEqual([newest, !newest, newest]);
    },
  );

  it('send nothing before the flush, and acknowledge nothing before it', async () => {
    const store = new MemoryStore({ manualFlush: true });
    const pair = new SessionPair(store);
    pair.child.session.start();
    await pair.run(10);
    store.completeFlush();
    await pair.run(50);
    store.completeFlush();
    await pair.run(10);
    pair.put('a', '1');
    await pair.run(50);
    expect(pair.held()).toEqual({});
    store.completeFlush();
    await pair.run(20);
    expect(pair.held()).toEqual({ a: '1' });
  });

  it('send the delayed entries when there is room again, though nobody writes anything then', async () => {
    const [above, below] = [new FullDisk(), new FullDisk()];
    const pair = new SessionPair(above, below);
    pair.child.session.start();
    await pair.run(50);
    above.isFull = below.isFull = true;
    pair.put('a', '1');
    below.write((t) => pair.child.producer.put(t, content('labels', '{}'), 0));
    await pair.run(1_500);
    expect([pair.held(), pair.up]).toEqual([{}, []]);
    above.isFull = below.isFull = false;
    await pair.run(1_000);
    expect([pair.held(), pair.up.map(({ key }) => key)]).toEqual([{ a: '1' }, ['labels']]);
  });

  it('attach once, and stay, if the disk was full at the moment of the child’s hello', async () => {
    const pair = new SessionPair();
    const { session, dialer, store } = pair.child;
    const dial = dialer.dial.bind(dialer);
    dialer.dial = async (events, timeoutMs) => {
      dialer.dial = dial;
      const link = await dial(events, timeoutMs);
      const write = store.write.bind(store);
      store.write = () => {
        store.write = write;
        throw new BanyanError('StoreFull', 'no room');
      };
      return link;
    };
    session.start();
    await pass(pair, 120);
    const { attached, detached } = attachments(pair);
    expect([session.connected, attached, detached]).toEqual([true, 1, 0]);
    // The first connection ended before a hello, and the parent did not wait for one.
    expect([...pair.parent.sessions.ends.refused]).toEqual([['no_hello', 1]]);
  });

  it('attach at the next attempt if the disk was full at the moment of the parent’s answer', async () => {
    const pair = new SessionPair();
    const { session, dialer, store } = pair.child;
    const dial = dialer.dial.bind(dialer);
    const write = store.write.bind(store);
    dialer.dial = async (events, timeoutMs) => {
      dialer.dial = dial;
      const onFrame: typeof events.onFrame = (frame) => {
        store.write = () => {
          store.write = write;
          throw new BanyanError('StoreFull', 'no room');
        };
        events.onFrame(frame);
      };
      return dial({ ...events, onFrame }, timeoutMs);
    };
    session.start();
    await pass(pair, 120);
    const { attached, detached } = attachments(pair);
    expect([session.connected, attached, detached]).toEqual([true, 1, 0]);
  });

  it('close a connection if the parent refused the child before its hello', async () => {
    const store = new HeldFlushes();
    const pair = new SessionPair(undefined, store);
    const link = new ReplayLink({ path: 'eu', role: 'relay' });
    // The child is removed, and the parent waits until the removal is durable.
    store.write((t) => beginAttach(t, { path: 'us', role: 'relay' }, pair.clock));
    pair.child.dialer.dial = async (events) => {
      store.held = [];
      const value = { ...Retry.decode(new Uint8Array(0)), reason: 'busy', afterMs: 60_000 };
      pair.clock.after(1, () => events.onFrame({ frame: { $case: 'retry', value } }));
      return link;
    };
    pair.child.session.start();
    await pair.run(5);
    for (const done of store.held!) done();
    await pair.run(5);
    expect([link.sent, link.closed]).toEqual([[], 'the attempt is over']);
  });

  it('part with a reason if the child is removed between its hello and the welcome', async () => {
    const store = new MemoryStore({ manualFlush: true });
    const pair = new SessionPair(store);
    pair.child.session.start();
    await pair.run(10);
    store.write((t) => dropTable(t, 'mailbox/kid'));
    store.completeFlush();
    await pair.run(10);
    expect(kinds(pair, 'parent')).toEqual(['retry']);
    expect(pair.parent.sessions.status('kid').connected).toBe(false);
  });

  it('begin no session, and write nothing, once the child ends, at any stage', async () => {
    for (const afterMs of [0, 1, 2]) {
      const pair = new SessionPair();
      pair.put('a', '1');
      pair.child.session.start();
      await pair.run(afterMs);
      pair.child.session.close();
      const before = pair.child.store.copy();
      await pair.run(20_000);
      const began = pair.events.includes('child: connected');
      expect({ afterMs, began, held: pair.held() }).toEqual({ afterMs, began: false, held: {} });
      expect(pair.parent.sessions.status('kid').connected).toBe(false);
      const attachment = (store: MemoryStore) => store.read((reader) => readAttachment(reader));
      expect(attachment(pair.child.store)).toEqual(attachment(before));
    }
  });

  it('keep the newest session if the flush for an older one finishes later', async () => {
    const flushes: (() => void)[] = [];
    const store = new MemoryStore();
    store.flushed = () => new Promise((resolve) => flushes.push(resolve));
    const pair = new SessionPair(store);
    const links = [0, 1].map(() => {
      const link = new ReplayLink({ path: 'eu:kid', role: 'agent' });
      pair.parent.sessions.accept(link).onFrame(helloOf('eu:kid'));
      return link;
    });
    expect(flushes).toHaveLength(2);
    for (const flush of flushes.reverse()) {
      flush();
      await pair.run(5);
    }
    const [older, newer] = links;
    expect([older!.sent, older!.closed]).toEqual([[], expect.stringContaining('a newer session')]);
    expect(newer!.sent[0]?.frame).toMatchObject({ $case: 'welcome', value: { sessionSequence: 2 } });
    expect(newer!.closed).toBeUndefined();
    expect(pair.events).toEqual(['parent: connected']);
  });

  it('resume after the line broke', async () => {
    const pair = new SessionPair();
    for (let i = 0; i < 10; i++) pair.put(`k${i}`, 'x');
    pair.child.session.start();
    await pair.run(50);
    pair.child.dialer.cut();
    pair.put('k3', 'y');
    pair.parent.store.write((t) => pair.parent.producer.remove(t, hash128('k4'), 0));
    await pair.run(1500);
    expect(pair.held()).toMatchObject({ k3: 'y' });
    expect(Object.keys(pair.held())).toHaveLength(9);
    const batches = pair.frames.flatMap(({ frame }) =>
      frame.frame?.$case === 'batch' ? [frame.frame.value.entries.length] : [],
    );
    expect(batches.reduce((a, b) => a + b)).toBe(12);
    expect(pair.otherHistories).toEqual([]);
  });

  it('carry the up feed as well', async () => {
    const pair = new SessionPair();
    pair.child.session.start();
    await pair.run(20);
    pair.child.store.write((t) => pair.child.producer.put(t, content('labels', '{}'), 0));
    await pair.run(20);
    expect(pair.up.map((change) => change.key)).toEqual(['labels']);
  });

  it('state readiness only with a head that covers it', async () => {
    const store = new MemoryStore({ manualFlush: true });
    const pair = new SessionPair(store);
    pair.parentReady = false;
    pair.child.session.start();
    await pair.run(10);
    store.completeFlush();
    await pair.run(50);
    pair.put('a', '1');
    pair.parentReady = true;
    pair.parent.sessions.readyChanged();
    await pair.run(50);
    expect(pair.events).not.toContain('child: caught up');
    store.completeFlush();
    await pair.run(50);
    expect(pair.events).toContain('child: caught up');
    expect(pair.held()).toEqual({ a: '1' });
  });

  it('begin with a ready child when all its entries are durable, including those written after its hello', async () => {
    const store = new MemoryStore({ manualFlush: true });
    const pair = new SessionPair(new MemoryStore(), store);
    pair.child.session.start();
    while (!kinds(pair, 'child').includes('hello')) {
      store.completeFlush();
      await pair.run(1);
    }
    store.write((t) => pair.child.producer.put(t, content('labels', '{}'), 0));
    await pair.run(50);
    const beats = () =>
      pair.frames.flatMap(({ from, frame: { frame } }) =>
        from === 'child' && frame?.$case === 'beat' ? [[frame.value.head, frame.value.ready]] : [],
      );
    // With a statement "not ready", the child would count as one that reports nothing more.
    expect(beats()).toEqual([]);
    store.completeFlush();
    await pair.run(50);
    expect(beats().at(-1)).toEqual([1, true]);
    expect(pair.up.map(({ key }) => key)).toEqual(['labels']);
  });

  it('keep the reports of an emptied child until it is ready', async () => {
    const pair = new SessionPair();
    pair.child.store.write((t) => pair.child.producer.put(t, content('labels', '{}'), 0));
    pair.child.session.start();
    await pair.run(2000);
    pair.child.session.close();
    pair.childReady = false;
    pair.child = pair.startChild(new MemoryStore());
    const reportedRows = () =>
      pair.parent.store.read((reader) => [...pair.parent.consumer.rows(reader)].filter(({ content }) => content))
        .length;
    pair.child.session.start();
    await pair.run(5000);
    expect(reportedRows()).toBe(1);
    pair.childReady = true;
    pair.child.session.readyChanged();
    await pair.run(50);
    expect(reportedRows()).toBe(0);
  });

  it('show a child that lost its store its former tuple once, also if a replica of the parent knows the child by it', async () => {
    const pair = new SessionPair();
    pair.put('a', '1');
    const report = () => pair.child.store.write((t) => pair.child.producer.put(t, content('labels', '{}'), 0));
    report();
    pair.child.session.start();
    await pair.run(2000);
    pair.child.session.close();
    const former = pair.child.store.copy();
    const otherReplica = pair.parent.store.copy();
    const attach = async (store: MemoryStore) => {
      pair.child = pair.startChild(store);
      report();
      pair.child.session.start();
      await pair.run(5_000);
      expect(pair.held()).toEqual({ a: '1' });
      pair.child.session.close();
    };
    const lost = new MemoryStore();
    await attach(lost);
    expect(pair.putBacks).toBe(1);
    const parent = pair.parent.store;
    pair.parent = pair.startParent(otherReplica);
    await attach(lost);
    expect(pair.putBacks).toBe(1);
    // A copy of the former store knows nothing of the later one.
    pair.parent = pair.startParent(parent);
    pair.attachedWith = 0;
    await attach(former);
    expect(pair.putBacks).toBe(2);
  });

  it('show nothing new to a child that lost its store and caught up with a replica of the parent that had never met it', async () => {
    const pair = new SessionPair();
    const known = pair.parent.store;
    pair.child.store.write((t) => pair.child.producer.put(t, content('labels', '{}'), 0));
    pair.child.session.start();
    await pair.run(2000);
    pair.child.session.close();
    const lost = new MemoryStore();
    pair.parent = pair.startParent(new MemoryStore());
    pair.attachedWith = 0;
    for (const parent of [pair.parent.store, known]) {
      pair.parent = pair.startParent(parent);
      pair.child = pair.startChild(lost);
      pair.child.session.start();
      await pair.run(2000);
      pair.child.session.close();
    }
    expect([pair.putBacks, pair.events.filter((one) => one === 'child: caught up').length]).toEqual([0, 3]);
  });

  it('keep the child’s rows while an emptied parent is not ready, and reconcile when it is', async () => {
    const pair = new SessionPair();
    for (let i = 0; i < 300; i++) pair.put(`k${i}`, 'x');
    pair.child.session.start();
    await pair.run(100);
    expect(Object.keys(pair.held())).toHaveLength(300);
    pair.parentReady = false;
    pair.child.dialer.cut();
    pair.parent = pair.startParent(new MemoryStore());
    await pair.run(1500);
    expect(Object.keys(pair.held())).toHaveLength(300);
    for (let i = 1; i < 300; i++) pair.put(`k${i}`, i === 7 ? 'changed' : 'x');
    pair.frames.length = 0;
    pair.down.length = 0;
    pair.parentReady = true;
    pair.parent.sessions.readyChanged();
    await pair.run(200);
    expect(Object.keys(pair.held())).toHaveLength(299);
    expect(pair.held().k7).toBe('changed');
    expect(pair.down).toHaveLength(2);
    pair.put('later', '1');
    await pair.run(30);
    expect(pair.held().later).toBe('1');
  });

  it('reconcile when the parent was restored from an older copy', async () => {
    const pair = new SessionPair();
    pair.put('a', '1');
    const backup = pair.parent.store.copy();
    pair.child.session.start();
    await pair.run(50);
    pair.put('b', '2');
    await pair.run(50);
    pair.child.dialer.cut();
    pair.parent = pair.startParent(backup);
    await pair.run(1500);
    expect(pair.held()).toEqual({ a: '1' });
    expect(kinds(pair, 'child')).toContain('reconcileRequest');
    expect(pair.otherHistories).toEqual(['kid']);
  });

  it('accept any age of the root from a parent, and pass on one that the next hop accepts', async () => {
    const [above, below] = [new SessionPair(), new SessionPair()];
    above.rootAgeMs = () => Number.MAX_SAFE_INTEGER;
    below.rootAgeMs = () => above.child.session.rootAgeMs();
    const passBoth = async (seconds: number) => {
      for (let i = 0; i < seconds; i++) for (const pair of [above, below]) await pass(pair, 1);
    };
    above.child.session.start();
    await passBoth(20);
    below.child.session.start();
    await passBoth(20);
    expect(attachments(below)).toEqual({ attached: 1, detached: 0 });
    expect(below.child.session.rootAgeMs()).toBe(rootAgeMaxMs);
    above.rootAgeMs = () => 0;
    await passBoth(40);
    expect(below.child.session.rootAgeMs()).toBeLessThan(40_000);
  });

  it('keep an idle session alive with beats', async () => {
    const pair = new SessionPair();
    pair.child.session.start();
    await pair.run(50);
    await pair.run(40_000);
    expect(pair.events.filter((line) => line.includes('disconnected'))).toEqual([]);
    expect(kinds(pair, 'parent').filter((kind) => kind === 'beat').length).toBeGreaterThan(1);
  });

  it('let the newest session win, and refuse a copy of the child', async () => {
    const pair = new SessionPair();
    pair.child.session.start();
    await pair.run(50);
    const copy = pair.child.store.copy();
    pair.startChild(pair.child.store).session.start();
    await pair.run(50);
    expect(pair.events.some((line) => line.includes('newer session'))).toBe(true);
    const retries = () =>
      pair.frames.flatMap(({ frame }) => (frame.frame?.$case === 'retry' ? [frame.frame.value.reason] : []));
    pair.startChild(copy).session.start();
    await pair.run(50);
    expect(retries()).toContain('clone');
  });

  it('admit a child again whose attachment is older than one that is over, once its place has been vacant for two minutes', async () => {
    const pair = new SessionPair();
    pair.child.session.start();
    await pair.run(50);
    pair.attachedWith += 3_600_000;
    const { attachedWith } = pair;
    pair.child.session.close();
    const again = pair.startChild(pair.child.store);
    again.session.start();
    await pass(pair, 100);
    expect(again.session.connected).toBe(false);
    await pass(pair, 60);
    expect(again.session.connected).toBe(true);
    expect(pair.attachedWith).toBe(attachedWith + 1);
  });

  it('admit a child again that was restored while its clock was behind, once its place has been vacant for two minutes', async () => {
    const pair = new SessionPair();
    const backup = pair.child.store.copy();
    // Starts within one second: each counts one more.
    for (let i = 0; i < 3; i++) pair.child = pair.startChild(pair.child.store);
    pair.child.session.start();
    await pair.run(50);
    const restored = pair.startChild(backup);
    restored.session.start();
    await pass(pair, 150);
    expect(restored.session.connected).toBe(false);
    pair.child.session.close();
    await pass(pair, 100);
    expect(restored.session.connected).toBe(false);
    await pass(pair, 60);
    expect(restored.session.connected).toBe(true);
  });
});

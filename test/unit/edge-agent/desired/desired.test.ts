import { describe, expect, it } from 'vitest';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import type { WireEntry } from '../../../../core/feed/feed.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { Desired, type DesiredChange } from '../../../../edge-agent/desired/desired.ts';
import { configMap } from '../support/agent-bench.ts';
import { entry as row, tombstone } from '../support/feed-entries.ts';

const till = '/configmaps/shop/till';
const entry = `o/center.retail/${till}`;
const attributes = (...refs: string[]) => ({ uid: 'u', created: 'c', generation: 1, refs });
const target = { generation: 1, target: 7, priority: 0, created: '', uid: '' };

function bench() {
  const store = new MemoryStore();
  const consumer = store.write((t) => FeedConsumer.open(t, { name: 'upstream' }));
  const changes: DesiredChange[] = [];
  const open = () => {
    const desired = new Desired(store, consumer);
    desired.onChange((change) => changes.push(change));
    return desired;
  };
  const receive = (...entries: WireEntry[]) => store.write((t) => consumer.applyEntries(t, entries));
  return { receive, store, consumer, changes, open };
}

describe('the index of the desired state', () => {
  it('is the same after changes and after a start', () => {
    const { receive, open } = bench();
    const grown = open();
    grown.note(
      receive(row(entry, attributes('a', 'b'), configMap('till'), 3), row('t/center.retail/a', target, undefined, 4)),
    );
    for (const desired of [grown, open()]) {
      expect(desired.objects()).toEqual([till]);
      expect(desired.deliveries(till)).toMatchObject([{ source: 'center.retail', revision: 3 }]);
      expect(desired.placements()).toEqual(['center.retail/a']);
      expect(desired.placement('center.retail/a')).toEqual({ target, objects: new Set([till]) });
      expect(desired.object(desired.deliveries(till)[0]!)).toEqual(configMap('till'));
    }
  });

  it('reports a change once the transaction is over, with the former and the present placements', async () => {
    const { receive, changes, open } = bench();
    const desired = open();
    desired.note(receive(row(entry, attributes('a'), configMap('till'), 3)));
    expect(changes).toEqual([]);
    await Promise.resolve();
    desired.note(receive(row(entry, attributes('b'), configMap('till'), 4)));
    await Promise.resolve();
    expect(changes.map(({ placements }) => [...placements])).toEqual([
      ['center.retail/a'],
      ['center.retail/a', 'center.retail/b'],
    ]);
  });

  it('follows the rows and not the change if the transaction was undone', async () => {
    const { store, consumer, open } = bench();
    const desired = open();
    const undone = () =>
      store.write((t) => {
        desired.note(consumer.applyEntries(t, [row(entry, attributes('a'), configMap('till'), 3)]));
        throw new Error('undone');
      });
    expect(undone).toThrow('undone');
    await Promise.resolve();
    expect(desired.objects()).toEqual([]);
  });

  it('forgets a placement with its last object and its target', () => {
    const { receive, open } = bench();
    const desired = open();
    desired.note(
      receive(row(entry, attributes('a'), configMap('till'), 3), row('t/center.retail/a', target, undefined, 4)),
    );
    desired.note(receive(tombstone(entry, 5)));
    expect(desired.placement('center.retail/a')?.objects.size).toBe(0);
    desired.note(receive(tombstone('t/center.retail/a', 6)));
    expect(desired.placement('center.retail/a')).toBeUndefined();
    expect(desired.placements()).toEqual([]);
  });

  it('distinguishes contents by the body alone', () => {
    const { receive, open } = bench();
    const desired = open();
    desired.note(receive(row(entry, attributes('a'), configMap('till'), 3)));
    const [first] = desired.deliveries(till);
    desired.note(receive(row(entry, attributes('a', 'b'), configMap('till'), 4)));
    expect(desired.deliveries(till)[0]!.bodyHash).toBe(first!.bodyHash);
    desired.note(receive(row(entry, attributes('a'), configMap('till', { a: '2' }), 5)));
    expect(desired.deliveries(till)[0]!.bodyHash).not.toBe(first!.bodyHash);
  });

  it('ignores unknown entries', () => {
    const { receive, open } = bench();
    receive(row('later/thing', {}, undefined, 1), row('tree', { path: 'eu', labels: {} }, undefined, 2));
    expect(open().objects()).toEqual([]);
  });

  it('follows the targets: the winner, create-only objects, and the way of removal', async () => {
    const { receive, changes, open } = bench();
    const desired = open();
    const other = `o/center.ops/${till}`;
    const receiveAndNote = async (...entries: WireEntry[]) => {
      changes.length = 0;
      desired.note(receive(...entries));
      await Promise.resolve();
      return changes[0]!;
    };
    await receiveAndNote(row(entry, { ...attributes('a'), createOnly: ['a'] }, configMap('till'), 3));
    expect(desired.deliveries(till)[0]).toMatchObject({ createOnly: true, deletion: undefined });
    const first = await receiveAndNote(row('t/center.retail/a', { ...target, deletion: 'Orphan' }, undefined, 4));
    expect([...first.deletions]).toEqual([till]);
    await receiveAndNote(
      row(other, attributes('b'), configMap('till'), 5),
      row('t/center.ops/b', target, undefined, 6),
    );
    const sources = () => desired.deliveries(till).map(({ source }) => source);
    expect(sources()).toEqual(['center.ops', 'center.retail']);
    const turned = await receiveAndNote(
      row('t/center.retail/a', { ...target, deletion: 'Orphan', priority: 1 }, undefined, 7),
    );
    expect(sources()).toEqual(['center.retail', 'center.ops']);
    expect(turned.deliveries.map(({ key }) => key)).toEqual([till, till]);
    expect(open().deliveries(till)).toEqual(desired.deliveries(till));
    const quiet = await receiveAndNote(
      row('t/center.retail/a', { ...target, target: 99, deletion: 'Orphan', priority: 1 }, undefined, 8),
    );
    expect(quiet.deliveries).toEqual([]);
    expect([...quiet.placements]).toEqual(['center.retail/a']);
  });
});

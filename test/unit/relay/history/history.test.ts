import { beforeEach, describe, expect, it } from 'vitest';
import { placementId } from '../../../../core/entries/placement-id.ts';
import { formatKey } from '../../../../core/object/key.ts';
import { prefixRange } from '../../../../core/store/bytes.ts';
import { type Keyspace, prefixOf } from '../../../../core/store/keyspace.ts';
import { revisionsKept } from '../../../../relay/history/revisions.ts';
import { historyOf, undoOf } from '../../../../relay/history/undo.ts';
import { payloadOf } from '../../../../relay/spaces/payload.ts';
import { SpaceBench, source } from '../support/space-bench.ts';

const id = placementId(source, 'web');
const spec = {
  locationSelectors: [{}],
  downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] }],
};

describe('the revisions of a placement without waves', () => {
  let bench: SpaceBench;
  const history = () => bench.store.read((reader) => historyOf(reader, id));
  const numbers = () => history().revisions.map(({ number }) => number);
  const undo = (to?: number) =>
    bench.store.read((reader) =>
      undoOf(reader, { table: bench.table, storage: bench.space.storage, payloadOf }, id, to),
    );
  /** What undo would write: `name=data`. */
  const writes = (to?: number) =>
    undo(to).write.map(
      ({ object }) => `${object.metadata.name}=${(object as unknown as { data: { data: string } }).data.data}`,
    );
  const later = (seconds: number) => bench.clock.advance(seconds * 1_000);
  const write = (name: string, data: string) => {
    bench.configMap('shop', name, {}, data);
    bench.settle();
  };
  const rowsOf = (space: Keyspace) =>
    bench.store.read((reader) => [...reader.scan(prefixRange(prefixOf(space)))].length);

  beforeEach(() => {
    bench = new SpaceBench();
    bench.namespace('shop');
    bench.placement('web', spec);
    bench.settle();
  });

  it('are one for each command: its objects come one after the other, each once', () => {
    write('a', '1');
    later(1);
    write('b', '1');
    expect(history().revisions).toMatchObject([{ number: 1, changes: 2 }]);
    later(1);
    write('a', '2');
    expect(numbers()).toEqual([2, 1]);
    later(60);
    write('c', '1');
    expect(history().revisions[0]).toMatchObject({
      number: 3,
      objects: [{ key: { name: 'c' }, action: 'added', to: 1 }],
    });
  });

  it('end after a minute, so that an object that is added every second is not one endless revision', () => {
    for (let i = 0; i < 130; i++) {
      write(`job-${i}`, '1');
      later(1);
    }
    expect(numbers()).toEqual([3, 2, 1]);
  });

  it('name what was changed, with the generations, and the reason of the change', () => {
    write('a', '1');
    later(60);
    bench.space.apply(
      {
        apiVersion: 'edge.banyan.io/v1alpha1',
        kind: 'EdgePlacement',
        metadata: { name: 'web', annotations: { 'kubernetes.io/change-cause': 'a new price' } },
        spec,
      },
      { fieldManager: 'test', force: true },
    );
    write('a', '2');
    later(60);
    bench.delete('ConfigMap', 'a', 'shop');
    bench.settle();
    const [removed, changed, added] = history().revisions;
    expect(added).toMatchObject({ objects: [{ action: 'added' }] });
    expect(changed).toMatchObject({ cause: 'a new price', objects: [{ action: 'changed', from: 1, to: 2 }] });
    expect(removed).toMatchObject({ objects: [{ action: 'removed', from: 2 }] });
  });

  it('are not made by a write that changes nothing, by a change of the placement alone, or by a Namespace that comes along', () => {
    write('a', '1');
    later(60);
    write('a', '1');
    bench.placement('web', { ...spec, priority: 5 });
    bench.namespace('shop', { team: 'till' });
    bench.settle();
    expect(numbers()).toEqual([1]);
    expect(history().revisions[0]!.objects.map(({ key }) => formatKey(key))).toEqual(['/configmaps/shop/a']);
  });

  it('are made by a change of the selection', () => {
    write('a', '1');
    later(60);
    bench.placement('web', { ...spec, downsync: [{ ...spec.downsync[0], objectNames: ['b'] }] });
    bench.settle();
    expect(history().revisions[0]).toMatchObject({ generation: 2, objects: [{ action: 'removed' }] });
    // The object is still in the space, so there is nothing to write.
    expect(undo()).toMatchObject({ to: 1, write: [], extra: [] });
  });

  it('are the last ten, and older ones leave nothing behind', () => {
    for (let i = 1; i <= 14; i++) {
      write('a', String(i));
      later(60);
    }
    expect(numbers()).toEqual([14, 13, 12, 11, 10, 9, 8, 7, 6, 5]);
    expect([rowsOf('revision'), rowsOf('revisionChange')]).toEqual([revisionsKept, revisionsKept]);
    expect(writes(5)).toEqual(['a=5']);
    expect(() => undo(4)).toThrow(
      'EdgePlacement "web" has no revision 4: name one of 5, 6, 7, 8, 9, 10, 11, 12, 13, 14',
    );
    const contents = rowsOf('content');
    bench.delete('EdgePlacement', 'web');
    bench.settle();
    expect([rowsOf('revision'), rowsOf('revisionChange')]).toEqual([0, 0]);
    // The former forms, the rows of the placement, and the rows of its objects are gone.
    expect(rowsOf('content')).toBeLessThan(contents - 9);
    expect(rowsOf('content')).toBe(rowsOf('contentReferences'));
  });

  it('survive a restart', () => {
    write('a', '1');
    later(60);
    write('a', '2');
    bench.restart();
    bench.settle();
    expect(numbers()).toEqual([2, 1]);
    expect(writes(1)).toEqual(['a=1']);
  });

  it('begin again for a placement that was deleted and created again', () => {
    write('a', '1');
    later(60);
    write('a', '2');
    bench.delete('EdgePlacement', 'web');
    bench.placement('web', spec);
    bench.settle();
    later(60);
    write('a', '3');
    expect(history().revisions.every(({ number, uid }) => number <= 2 && uid === history().revisions[0]!.uid)).toBe(
      true,
    );
    expect(writes(1).every((one) => one !== 'a=1')).toBe(true);
  });

  describe('that undo goes back to', () => {
    it('give each object the form that it had, and leave out what is the same', () => {
      write('a', '1');
      write('b', '1');
      later(60);
      write('a', '2');
      later(60);
      write('a', '3');
      write('c', '1');
      expect(undo(2)).toMatchObject({ to: 2, extra: [{ name: 'c' }] });
      expect(writes(2)).toEqual(['a=2']);
      expect(writes(1)).toEqual(['a=1']);
      expect(writes(3)).toEqual([]);
    });

    it('are by default the one before the newest', () => {
      write('a', '1');
      expect(() => undo()).toThrow('revision 1 is the only one');
      later(60);
      write('a', '2');
      expect(undo()).toMatchObject({ to: 1 });
    });

    it('bring back what was deleted', () => {
      write('a', '1');
      later(60);
      bench.delete('ConfigMap', 'a', 'shop');
      bench.settle();
      expect(writes()).toEqual(['a=1']);
    });

    it('are not changed by the undo: it is a revision itself', () => {
      write('a', '1');
      later(60);
      write('a', '2');
      later(60);
      write('a', '1');
      expect(numbers()).toEqual([3, 2, 1]);
      expect(writes(2)).toEqual(['a=2']);
    });
  });

  it('say that there are none yet', () => {
    expect(history()).toEqual({ placement: 'web', revisions: [], held: 0 });
    expect(() => undo()).toThrow('nothing was promoted yet');
    expect(() => undo(3)).toThrow('has no revision 3: nothing was promoted yet');
  });
});

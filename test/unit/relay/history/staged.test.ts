import { describe, expect, it } from 'vitest';
import { historyOf, undoOf } from '../../../../relay/history/undo.ts';
import { payloadOf } from '../../../../relay/spaces/payload.ts';
import { id, RolloutBench } from '../rollout/rollout-bench.ts';

const progressive = {
  strategy: 'Progressive',
  waves: [
    { name: 'canary', count: 1, soakSeconds: 5 },
    { name: 'rest', fraction: 1 },
  ],
};
const phase = (bench: RolloutBench) => bench.status().rollout?.phase;

function promoted(rollout: object = progressive): RolloutBench {
  const bench = new RolloutBench(['eu'], 4);
  bench.write('greeting', 'one');
  bench.place(rollout);
  isPromoted(bench, 1);
  return bench;
}

function isPromoted(bench: RolloutBench, release: number): void {
  bench.until('it is promoted', () => phase(bench) === 'Promoted' && bench.status().rollout?.release === release);
}

const history = (bench: RolloutBench) => bench.origin.store.read((reader) => historyOf(reader, id));
const shown = (bench: RolloutBench) =>
  history(bench).revisions.map(({ number, release, objects }) => [
    number,
    release,
    ...objects.map(({ key, action }) => `${action} ${key.name}`),
  ]);
const undo = (bench: RolloutBench, to?: number) =>
  bench.origin.store.read((reader) =>
    undoOf(reader, { table: bench.origin.table, storage: bench.space.storage, payloadOf }, id, to),
  );
const writes = (bench: RolloutBench, to?: number) =>
  undo(bench, to).write.map(
    ({ object }) => `${object.metadata.name}=${(object as unknown as { data: { text: string } }).data?.text}`,
  );

describe('the revisions of a placement with waves', () => {
  it('are the promoted releases, whatever one command wrote', () => {
    const bench = promoted();
    bench.write('greeting', 'two');
    bench.write('price', 'two');
    bench.settle();
    expect(shown(bench)).toEqual([[1, 1, 'added greeting']]);
    isPromoted(bench, 2);
    expect(shown(bench)).toEqual([
      [2, 2, 'changed greeting', 'added price'],
      [1, 1, 'added greeting'],
    ]);
    expect(undo(bench, 1)).toMatchObject({ extra: [{ name: 'price' }] });
    expect(writes(bench, 1)).toEqual(['greeting=one']);
  });

  it('do not contain a release that was rolled back, and undo goes back to the newest revision', () => {
    const bench = promoted({ ...progressive, onFailure: 'Rollback' });
    bench.write('greeting', 'broken');
    bench.write('price', 'new');
    bench.until('it is taken back', () => phase(bench) === 'RolledBack');
    expect(shown(bench)).toEqual([[1, 1, 'added greeting']]);
    expect(history(bench).held).toBe(2);
    expect(undo(bench)).toMatchObject({ to: 1, extra: [{ name: 'price' }] });
    expect(writes(bench)).toEqual(['greeting=one']);
    bench.write('greeting', 'one');
    bench.remove('price');
    bench.until('nothing is held', () => phase(bench) === 'Promoted');
    expect(shown(bench)).toEqual([[1, 1, 'added greeting']]);
  });

  it('contain Customizers', () => {
    const bench = new RolloutBench(['eu'], 4);
    bench.customizer('greet', 'hello');
    bench.write('greeting', 'one', 'greet');
    bench.place(progressive);
    isPromoted(bench, 1);
    bench.customizer('greet', 'goodbye');
    isPromoted(bench, 2);
    expect(shown(bench)[0]).toEqual([2, 2, 'changed greet']);
    expect(undo(bench, 1).write).toMatchObject([
      { object: { kind: 'Customizer', spec: { replacements: [{ value: 'hello' }] } } },
    ]);
  });

  it('go on when the placement loses its waves: what waited is then promoted', () => {
    const bench = promoted();
    bench.place({ ...progressive, paused: true });
    bench.write('greeting', 'two');
    bench.settle();
    bench.place({ strategy: 'All' });
    bench.settle();
    expect(shown(bench)[0]).toEqual([2, 2, 'changed greeting']);
    bench.clock.advance(60_000);
    bench.write('greeting', 'three');
    bench.settle();
    expect(shown(bench)[0]).toEqual([3, undefined, 'changed greeting']);
    expect([writes(bench, 2), writes(bench, 1)]).toEqual([['greeting=two'], ['greeting=one']]);
  });

  it('survive a restart of the origin', () => {
    const bench = promoted();
    bench.write('greeting', 'two');
    isPromoted(bench, 2);
    bench.restartOrigin();
    bench.settle();
    expect(shown(bench)).toHaveLength(2);
    expect(writes(bench)).toEqual(['greeting=one']);
  });
});

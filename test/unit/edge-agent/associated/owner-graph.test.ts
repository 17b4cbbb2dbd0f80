import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OwnerGraph } from '../../../../edge-agent/associated/owner-graph.ts';

const owner = (uid: string, more: object = {}) => ({ apiVersion: 'v1', kind: 'K', name: uid, uid, ...more });

function graph() {
  const moves: string[] = [];
  const made = new OwnerGraph((uid, before, after) => moves.push(`${uid}: ${before ?? '-'} -> ${after ?? '-'}`));
  return { graph: made, moves };
}

describe('owners', () => {
  it('lead over any number of steps to the placed object, in whatever order they are seen', () => {
    const { graph: of, moves } = graph();
    of.set('pod', [owner('set')]);
    expect(of.unknownOwners('pod').map(({ uid }) => uid)).toEqual(['set']);
    of.set('set', [owner('deployment')]);
    expect(of.rootOf('pod')).toBeUndefined();
    of.setRoot('web', 'deployment');
    expect([of.rootOf('pod'), of.rootOf('set')]).toEqual(['web', 'web']);
    of.delete('set');
    expect(of.rootOf('pod')).toBeUndefined();
    expect(moves).toEqual(['set: - -> web', 'pod: - -> web', 'set: web -> -', 'pod: web -> -']);
  });

  it('follow a placed object that is made anew under its name', () => {
    const { graph: of } = graph();
    of.set('old pod', [owner('1')]);
    of.set('new pod', [owner('2')]);
    of.setRoot('web', '1');
    of.setRoot('web', '2');
    expect([of.rootOf('old pod'), of.rootOf('new pod')]).toEqual([undefined, 'web']);
    of.setRoot('web', undefined);
    expect(of.rootOf('new pod')).toBeUndefined();
  });

  it('that control an object come before those that do not', () => {
    const { graph: of } = graph();
    of.setRoot('a', '1');
    of.setRoot('b', '2');
    of.set('pod', [owner('1'), owner('2', { controller: true })]);
    expect(of.rootOf('pod')).toBe('b');
  });

  it('that own each other lead nowhere', () => {
    const { graph: of } = graph();
    of.set('a', [owner('b')]);
    of.set('b', [owner('a')]);
    expect([of.rootOf('a'), of.rootOf('b')]).toEqual([undefined, undefined]);
  });

  it('are each visited once, however many ways lead to them', () => {
    const { graph: of } = graph();
    const uids = Array.from({ length: 12 }, (_, i) => `u${i}`);
    const begunMs = performance.now();
    for (const uid of uids)
      of.set(
        uid,
        uids.filter((other) => other !== uid).map((other) => owner(other)),
      );
    of.set('u11', [...uids.slice(0, 11).map((uid) => owner(uid)), owner('app')]);
    of.setRoot('web', 'app');
    expect(uids.map((uid) => of.rootOf(uid))).toEqual(uids.map(() => 'web'));
    expect(performance.now() - begunMs).toBeLessThan(1_000);
  });

  it('give the same placed object in whatever order everything was seen', () => {
    const chain = ['pod', 'set', 'deployment'].map((uid, i, all) => [uid, all[i + 1]] as const);
    const steps = fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 });
    fc.assert(
      fc.property(steps, (order) => {
        const { graph: of } = graph();
        for (const step of order) {
          const [uid, above] = chain[step] ?? [];
          if (uid) of.set(uid, above ? [owner(above)] : [owner('app')]);
          else of.setRoot('app', 'app');
        }
        expect(chain.map(([uid]) => of.rootOf(uid))).toEqual(['app', 'app', 'app']);
      }),
    );
  });
});

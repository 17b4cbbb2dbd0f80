import { describe, expect, it } from 'vitest';
import { exposure } from '../../../sim/check/exposure.ts';
import { Releases } from '../../../sim/model/releases.ts';
import type { PlannedNode } from '../../../sim/plan/tree.ts';
import { WrittenWorld } from '../written.ts';

const id = 'center.retail/staged';
const source = 'source/center.retail';
const nodes: PlannedNode[] = [
  { path: '', role: 'center', labels: {}, spaces: ['retail'] },
  { path: 'a1', role: 'agent', labels: {}, spaces: [] },
];
const object = (value: string) => ({
  key: 'o/center.retail//configmaps/w-center-retail-staged/o0',
  attributes: { refs: ['staged'] },
  body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o0' }, data: { value } },
});
const releaseEntry = (release: number, more: object = {}) => ({
  key: `r/${id}`,
  attributes: {
    refs: ['staged'],
    release,
    salt: `uid/${release}`,
    wave: 0,
    halted: false,
    drawn: [],
    lease: release,
    authorizationSeconds: 10,
    held: 1,
    ...more,
  },
});

/** `one` is promoted; `two` is the candidate of release 1. */
function released(more: object = {}, tree = nodes): WrittenWorld {
  const releases = new Releases();
  const written = new WrittenWorld(tree, (world) => exposure(world, releases));
  written.put('', source, object('one'), releaseEntry(0, { held: 0, wave: -1 }));
  written.put('', source, object('two'), releaseEntry(1, more));
  return written;
}

function handOut(written: WrittenWorld, release = 1, path = ''): void {
  written.note(path, 'exposure', `${id}\u0000a1`, { release });
}

describe('the check of exposure', () => {
  it('accepts promoted objects, and a release that was handed out with a valid authorisation', () => {
    const written = released();
    written.put('', 'mailbox/a1', object('one'));
    handOut(written);
    written.put('', 'mailbox/a1', object('two'));
    written.put('a1', 'upstream', object('two'));
    expect(written.messages).toEqual([]);
  });

  it.each(['', 'a1'])('finds an unpromoted version at a destination without a part in its release, at "%s"', (path) => {
    const written = released();
    written.put(path, path === '' ? 'mailbox/a1' : 'upstream', object('two'));
    expect(written.messages).toEqual([expect.stringContaining('neither promoted nor handed to it')]);
  });

  it('finds a release that is handed out though it is halted, is not the present one, or was never authorised', () => {
    const halted = released({ halted: true });
    handOut(halted);
    const other = released();
    handOut(other, 2);
    const early = released({ wave: -1 });
    handOut(early);
    expect(halted.messages).toEqual([expect.stringContaining('it is halted')]);
    expect(other.messages).toEqual([expect.stringContaining('it has release 1')]);
    expect(early.messages).toEqual([expect.stringContaining('no wave of it is authorised')]);
  });

  it('finds an authorisation that is too old', async () => {
    const written = released();
    await written.world.run(13_000);
    handOut(written);
    expect(written.messages).toEqual([expect.stringContaining('the last authorisation came 13000 ms ago')]);
  });

  describe('of a replica that is behind, and takes over the report of an agent', () => {
    const tree: PlannedNode[] = [
      nodes[0]!,
      { path: 'r', role: 'relay', labels: {}, spaces: [], replicas: 2 },
      { path: 'r:a1', role: 'agent', labels: {}, spaces: [] },
    ];
    const candidate = () => {
      const written = released({}, tree);
      for (const path of ['r', 'r~1']) written.put(path, 'upstream', object('two'), releaseEntry(1));
      return written;
    };
    const takeOver = async (written: WrittenWorld) => {
      await written.world.run(13_000);
      handOut(written, 1, 'r~1');
      return written.messages;
    };

    it('accepts a release that another replica has handed out, and promoted objects', async () => {
      const handed = candidate();
      handOut(handed, 1, 'r');
      const promoted = candidate();
      promoted.put('', source, releaseEntry(1, { held: 0, wave: -1 }));
      expect([await takeOver(handed), await takeOver(promoted)]).toEqual([[], []]);
    });

    it('finds any other object', async () => {
      expect(await takeOver(candidate())).toEqual([
        expect.stringContaining('the last authorisation came 13000 ms ago'),
      ]);
    });
  });
});

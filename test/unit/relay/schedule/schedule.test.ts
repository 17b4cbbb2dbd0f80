import { beforeEach, describe, expect, it } from 'vitest';
import { hash128 } from '../../../../core/object/hash.ts';
import { raiseWatermarks } from '../../../../core/session/watermark.ts';
import { storedContents } from '../../core/feed/feed-support.ts';
import { idOf, mapKey, ScheduleBench, selecting, source } from '../support/schedule-bench.ts';

describe('a scheduler', () => {
  let bench: ScheduleBench;

  beforeEach(() => {
    bench = new ScheduleBench();
    bench.agent('paris', { site: 'paris' });
    bench.agent('rome', { site: 'rome' });
    bench.relay('asia', [{ site: 'tokyo' }, { site: 'seoul' }]);
    bench.settle();
  });

  it('gives an agent that a placement matches its objects and its target', () => {
    bench.object('a', ['p']);
    bench.object('other', ['q']);
    bench.placement('p', selecting('paris'));
    bench.settle();
    expect(bench.mailbox('paris')).toEqual(['o/a', 't/p']);
    expect(bench.mailbox('rome')).toEqual([]);
  });

  it('gives a relay the placement too, so that the relay can match further down', () => {
    bench.object('a', ['p']);
    bench.placement('p', selecting('tokyo'));
    bench.settle();
    expect(bench.mailbox('asia').sort()).toEqual(['o/a', 'p/p', 't/p']);
  });

  it('gives agents and relays the reporting rules of a placement, before its objects, and withdraws them', () => {
    bench.object('a', ['p']);
    bench.rules('p', 'x');
    bench.placement('p', selecting('paris', 'tokyo'));
    bench.settle();
    expect(bench.mailbox('paris')).toEqual(['u/p', 'o/a', 't/p']);
    expect(bench.mailbox('asia')).toContain('u/p');
    expect(bench.mailbox('rome')).toEqual([]);
    bench.rules('p', undefined);
    bench.settle();
    expect([bench.mailbox('paris'), bench.mailbox('asia')].flat()).not.toContain('u/p');
    bench.rules('p', 'y');
    bench.settle();
    expect(bench.mailbox('paris')).toContain('u/p');
    bench.placement('p', selecting('rome'));
    bench.settle();
    expect(bench.mailbox('paris')).toEqual([]);
    expect(bench.mailbox('rome')).toEqual(['u/p', 'o/a', 't/p']);
  });

  it('gives a relay nothing that no destination below it can match', () => {
    bench.object('a', ['p']);
    bench.placement('p', selecting('paris'));
    bench.settle();
    expect(bench.mailbox('asia')).toEqual([]);
  });

  it('gives an object once to a child, however many placements want it there', () => {
    bench.object('a', ['p', 'q']);
    bench.placement('p', selecting('paris'));
    bench.placement('q', selecting('paris', 'rome'));
    bench.settle();
    expect(bench.mailbox('paris').filter((key) => key === 'o/a')).toHaveLength(1);
  });

  it('stores an object once, however many mailboxes have it', () => {
    bench.object('a', ['p']);
    const before = storedContents(bench.store);
    bench.placement('p', selecting('paris', 'rome', 'tokyo'));
    bench.settle();
    expect(storedContents(bench.store)).toBe(before + 2);
  });

  it('puts a target behind all objects that it covers', () => {
    bench.placement('p', selecting('paris'));
    bench.settle();
    bench.target('p');
    bench.object('b', ['p']);
    bench.object('c', ['p']);
    bench.settle();
    expect(bench.mailbox('paris')).toEqual(['o/b', 'o/c', 't/p']);
  });

  it('puts no target while objects remain to be done, over many steps', () => {
    bench.placement('p', selecting('paris'));
    bench.settle();
    const target = () => bench.originRevision('paris', `t/${idOf('p')}`);
    const before = target();
    for (let i = 0; i < 1200; i++) bench.object(`o${i}`, ['p']);
    bench.target('p');
    const seen: [objects: number, target: number | undefined][] = [];
    for (let more = true; more; ) {
      more = bench.step().more;
      seen.push([bench.mailbox('paris').length - 1, target()]);
    }
    expect(seen.length).toBeGreaterThan(2);
    for (const [objects, at] of seen) if (objects < 1200) expect(at).toBe(before);
    expect(target()).toBeGreaterThan(before!);
  });

  it('keeps an object that two placements want until the last of them ends', () => {
    bench.object('a', ['p', 'q']);
    for (const name of ['p', 'q']) bench.placement(name, selecting('paris'));
    bench.settle();
    bench.removePlacement('p');
    bench.settle();
    expect(bench.mailbox('paris')).toEqual(['o/a', 't/q']);
    bench.removePlacement('q');
    bench.settle();
    expect(bench.mailbox('paris')).toEqual([]);
  });

  it('keeps an object that loses one of its placements if the other one still has it', () => {
    bench.object('a', ['p', 'q']);
    bench.placement('p', selecting('paris', 'rome'));
    bench.placement('q', selecting('rome'));
    bench.settle();
    bench.object('a', ['q']);
    bench.settle();
    expect([bench.mailbox('paris'), bench.mailbox('rome').sort()]).toEqual([['t/p'], ['o/a', 't/p', 't/q']]);
  });

  it('removes a deleted object, even if its placement goes in the same step', () => {
    bench.object('a', ['p']);
    bench.placement('p', selecting('paris'));
    bench.settle();
    bench.removePlacement('p');
    bench.removeObject('a');
    bench.settle();
    expect(bench.mailbox('paris')).toEqual([]);
  });

  it('removes an object after a restart between the end of its placement and the work on it', () => {
    bench.object('a', ['p']);
    bench.placement('p', selecting('paris'));
    bench.settle();
    bench.object('a', []);
    bench.removePlacement('p');
    bench.restart();
    bench.settle();
    expect(bench.mailbox('paris')).toEqual([]);
    expect(bench.placements.get(idOf('p'))).toBeUndefined();
  });

  it('follows a placement that selects other Locations', () => {
    bench.object('a', ['p']);
    bench.placement('p', selecting('paris'));
    bench.settle();
    bench.placement('p', selecting('rome'));
    bench.settle();
    expect([bench.mailbox('paris'), bench.mailbox('rome')]).toEqual([[], ['o/a', 't/p']]);
  });

  it('follows a child whose labels change, and touches only the placements concerned', () => {
    for (const name of ['p', 'q']) bench.object(name, [name]);
    bench.placement('p', selecting('paris'));
    bench.placement('q', selecting('rome'));
    bench.settle();
    const head = bench.head('paris');
    bench.agent('rome', { site: 'milan' });
    const steps = bench.settle();
    expect(bench.mailbox('rome')).toEqual([]);
    expect(steps.flatMap((step) => [...step.changed])).toEqual([]);
    expect(steps.flatMap((step) => [...step.changedWith])).toEqual([[idOf('q'), new Set(['rome'])]]);
    expect(bench.head('paris')).toBe(head);
  });

  it('sends a new child its targets, and looks at no other child of the placements for it', () => {
    for (let i = 0; i < 100; i++) bench.agent(`till-${i}`, { site: 'tills' });
    bench.placement('p', selecting('tills'));
    bench.settle();
    const before = bench.aimed;
    bench.agent('new', { site: 'tills' });
    const steps = bench.settle();
    expect(bench.mailbox('new')).toEqual(['t/p']);
    expect(steps.flatMap((step) => [...step.changedWith])).toEqual([[idOf('p'), new Set(['new'])]]);
    expect(bench.aimed - before).toBe(1);
  });

  it('follows a relay whose summary grows and shrinks', () => {
    bench.object('a', ['p']);
    bench.placement('p', selecting('delhi'));
    bench.settle();
    expect(bench.mailbox('asia')).toEqual([]);
    bench.relay('asia', [{ site: 'tokyo' }, { site: 'delhi' }]);
    bench.settle();
    expect(bench.mailbox('asia').sort()).toEqual(['o/a', 'p/p', 't/p']);
    bench.relay('asia', [{ site: 'tokyo' }]);
    bench.settle();
    expect(bench.mailbox('asia')).toEqual([]);
  });

  it('drops a removed child, and gives it everything again when it comes back', () => {
    bench.object('a', ['p']);
    bench.placement('p', selecting('paris'));
    bench.settle();
    bench.leave('paris');
    bench.settle();
    expect(bench.placements.get(idOf('p'))?.children).toEqual(new Set());
    bench.agent('paris', { site: 'paris' });
    bench.settle();
    expect(bench.mailbox('paris')).toEqual(['o/a', 't/p']);
  });

  it('gives everything again to a child that left and came back between two steps', () => {
    const many = Array.from({ length: 300 }, (_, i) => `o${i}`);
    bench.placement('p', selecting('paris'));
    bench.placement('q', selecting('tokyo'));
    bench.object('a', ['p']);
    bench.agent('tokyo', { site: 'tokyo' });
    for (const name of many) bench.object(name, ['q']);
    bench.settle();
    // More rows than one step puts into the mailbox of the other child.
    for (const name of many) bench.object(name, ['q'], 'y');
    bench.leave('paris');
    expect(bench.step().more).toBe(true);
    bench.agent('paris', { site: 'paris' });
    bench.settle();
    expect(bench.mailbox('paris')).toEqual(['o/a', 't/p']);
  });

  it('gives a deleted and restored object again as of an older write, though a child has not received the deletion yet', () => {
    const write = () => {
      bench.object('a', ['p']);
      bench.rules('p', 'x');
      bench.placement('p', selecting('paris', 'tokyo'));
      bench.settle();
      return ['asia', 'paris'].map((child) => bench.mailbox(child).sort());
    };
    const before = write();
    bench.removeObject('a');
    bench.rules('p', undefined);
    bench.removePlacement('p');
    bench.settle();
    expect([bench.mailbox('asia'), bench.mailbox('paris')]).toEqual([[], []]);
    const deleted = bench.originRevision('asia', mapKey('a'))!;
    bench.putBack();
    expect(write()).toEqual(before);
    expect(bench.originRevision('asia', mapKey('a'))).toBeGreaterThanOrEqual(deleted);
  });

  it('removes an object that leaves the scope of a child at a revision no older than the child’s', () => {
    bench.object('a', ['p']);
    bench.placement('p', selecting('paris'));
    bench.settle();
    const revisionBefore = bench.originRevision('paris', mapKey('a'))!;
    bench.placement('p', selecting('rome'));
    bench.settle();
    expect(bench.originRevision('paris', mapKey('a'))).toBeGreaterThanOrEqual(revisionBefore);
    bench.placement('p', selecting('paris'));
    bench.settle();
    expect(bench.mailbox('paris')).toEqual(['o/a', 't/p']);
  });

  it('removes a placement at the revision of the write that deleted it: a child may have rows that this mailbox never had', () => {
    const keys = [`t/${idOf('p')}`, `u/${idOf('p')}`];
    bench.placement('p', selecting('paris', 'tokyo'));
    bench.rules('p', 'x');
    bench.settle();
    bench.rules('p', 'y');
    bench.target('p');
    const newest = bench.store.read((reader) => bench.table.get(reader, hash128(keys[0]!))!.originRevision);
    bench.removePlacement('p');
    bench.settle();
    const deleted = [...keys.map((key) => ['paris', key] as const), ['asia', keys[0]!], ['asia', `p/${idOf('p')}`]];
    for (const [child, key] of deleted) expect(bench.originRevision(child!, key!)).toBeGreaterThan(newest);
    expect([bench.mailbox('asia'), bench.mailbox('paris')]).toEqual([[], []]);
  });

  it('removes a placement because of labels at its present revision: a child may have it already, from another parent', () => {
    const keys = [`t/${idOf('p')}`, `u/${idOf('p')}`];
    bench.placement('p', selecting('paris', 'tokyo'));
    bench.rules('p', 'x');
    bench.settle();
    bench.agent('paris', { site: 'oslo' });
    bench.relay('asia', [{ site: 'seoul' }]);
    bench.rules('p', 'y');
    bench.target('p');
    bench.settle();
    for (const key of keys) {
      const newest = bench.store.read((reader) => bench.table.get(reader, hash128(key))!.originRevision);
      for (const child of ['paris', 'asia']) expect(bench.originRevision(child, key)).toBeGreaterThanOrEqual(newest);
    }
    expect([bench.mailbox('asia'), bench.mailbox('paris')]).toEqual([[], []]);
  });

  it('removes rows because of labels at the revision of everything received: after a restore, this node may have an older write than the child', () => {
    const keys = [mapKey('a'), `t/${idOf('p')}`];
    bench.object('a', ['p']);
    bench.placement('p', selecting('paris', 'tokyo'));
    bench.settle();
    const coveredRevision = 1_000;
    bench.store.write((t) => raiseWatermarks(t, { complete: { [source]: coveredRevision } }, 0));
    bench.agent('paris', { site: 'oslo' });
    bench.relay('asia', [{ site: 'seoul' }]);
    bench.settle();
    for (const key of keys) {
      for (const child of ['paris', 'asia']) expect(bench.originRevision(child, key)).toBe(coveredRevision);
    }
    bench.agent('paris', { site: 'paris' });
    bench.settle();
    expect(bench.mailbox('paris')).toEqual(['o/a', 't/p']);
  });

  it('removes the reporting rules of a placement at the revision of the write that did', () => {
    bench.placement('p', selecting('paris'));
    bench.rules('p', 'x');
    bench.settle();
    bench.rules('p', 'y');
    const key = `u/${idOf('p')}`;
    const newest = bench.store.read((reader) => bench.table.get(reader, hash128(key))!.originRevision);
    bench.rules('p', undefined);
    bench.settle();
    expect(bench.originRevision('paris', key)).toBeGreaterThan(newest);
    expect(bench.mailbox('paris')).toEqual(['t/p']);
  });

  it('does nothing if nothing is dirty', () => {
    expect(bench.step()).toEqual({
      more: false,
      changed: new Set(),
      changedWith: new Map(),
    });
  });

  it('completes a placement for more relays than one step has rows', () => {
    const names = Array.from({ length: 2100 }, (_, i) => `r${i}`);
    for (const name of names) bench.relay(name, [{ site: 'oslo' }]);
    bench.placement('p', selecting('oslo'));
    bench.settle();
    bench.placement('p', {
      locationSelectors: [...selecting('oslo').locationSelectors!, ...selecting('rome').locationSelectors!],
    });
    bench.settle();
    expect(bench.mailbox('rome')).toEqual(['t/p']);
    expect(new Set(names.map((name) => bench.mailbox(name).join()))).toEqual(new Set(['p/p,t/p']));
  });
});

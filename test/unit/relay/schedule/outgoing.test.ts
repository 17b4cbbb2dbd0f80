import { beforeEach, describe, expect, it } from 'vitest';
import { asText, text } from '../../../../core/store/bytes.ts';
import type { OutgoingStage } from '../../../../relay/schedule/outgoing.ts';
import { idOf, mapKey, ScheduleBench, selecting } from '../support/schedule-bench.ts';

/** Gives every agent a body of its own. */
const named: OutgoingStage = {
  outgoing: (_t, { child }, what) =>
    what.type === 'content'
      ? {
          type: 'content',
          content: { ...what.content, body: text(`for ${child.name}`) },
          originRevision: what.originRevision,
        }
      : what,
};

describe('the object that an agent gets', () => {
  let bench: ScheduleBench;

  beforeEach(() => {
    bench = new ScheduleBench();
    bench.agent('paris', { site: 'paris' });
    bench.agent('rome', { site: 'rome' });
    bench.relay('asia', [{ site: 'paris' }]);
    bench.settle();
  });

  it('is the result of the stages, while a relay gets the object unchanged', () => {
    bench.stages.push(named);
    bench.object('a', ['p']);
    bench.placement('p', selecting('paris', 'rome'));
    bench.settle();
    expect(['paris', 'rome', 'asia'].map((child) => bench.body(child, 'a'))).toEqual(['for paris', 'for rome', 'x']);
  });

  it('is the last stage’s result from the result of the stage before', () => {
    const changingBody = (change: (body: string) => string): OutgoingStage => ({
      outgoing: (_t, _to, what) =>
        what.type === 'content'
          ? {
              type: 'content',
              content: { ...what.content, body: text(change(asText(what.content.body))) },
              originRevision: what.originRevision,
            }
          : what,
    });
    bench.stages.push(
      changingBody((body) => `${body}, hello`),
      changingBody((body) => `${body}!`),
    );
    bench.object('a', ['p']);
    bench.placement('p', selecting('paris'));
    bench.settle();
    expect(bench.body('paris', 'a')).toBe('x, hello!');
  });

  it('stays unchanged while a stage says so, even if the object has changed', () => {
    bench.object('a', ['p'], 'good');
    bench.placement('p', selecting('paris'));
    bench.settle();
    bench.stages.push({ outgoing: () => ({ type: 'keep' }) });
    bench.object('a', ['p'], 'newer');
    bench.settle();
    expect(bench.body('paris', 'a')).toBe('good');
    expect(bench.body('asia', 'a')).toBe('newer');
  });

  it('is nothing if a stage says so, and comes when the stage no longer does', () => {
    let held = true;
    bench.stages.push({ outgoing: (_t, _to, what) => (held ? { type: 'nothing', originRevision: 0 } : what) });
    bench.object('a', ['p']);
    bench.placement('p', selecting('paris'));
    bench.settle();
    expect(bench.mailbox('paris')).toEqual(['t/p']);
    held = false;
    bench.mark('row', mapKey('a'));
    bench.settle();
    expect(bench.mailbox('paris')).toContain('o/a');
  });

  it('may be made from something older, and is still newer than the agent’s former object', () => {
    bench.object('a', ['p'], 'new');
    bench.placement('p', selecting('paris'));
    bench.settle();
    const before = bench.originRevision('paris', mapKey('a'))!;
    bench.stages.push({
      outgoing: (_t, _to, what) =>
        what.type === 'content'
          ? { type: 'content', content: { ...what.content, body: text('old') }, originRevision: 1 }
          : what,
    });
    bench.mark('row', mapKey('a'));
    bench.settle();
    expect(bench.body('paris', 'a')).toBe('old');
    expect(bench.originRevision('paris', mapKey('a'))).toBe(before);
  });

  it('may be an object that the source no longer has', () => {
    bench.object('a', ['p'], 'kept');
    bench.placement('p', selecting('paris'));
    bench.settle();
    const content = { key: mapKey('a'), attributes: text('{"refs":["p"]}'), body: text('promoted') };
    bench.stages.push({
      outgoing: (_t, _to, what) => (what.type === 'nothing' ? { type: 'content', content, originRevision: 1 } : what),
    });
    bench.removeObject('a');
    bench.settle();
    expect(bench.body('paris', 'a')).toBe('promoted');
    expect(bench.body('asia', 'a')).toBeUndefined();
  });
});

describe('an auxiliary row', () => {
  it('goes to the relays of its placements, never to an agent, and is announced', () => {
    const bench = new ScheduleBench();
    bench.agent('paris', { site: 'paris' });
    bench.relay('asia', [{ site: 'paris' }]);
    bench.relay('africa', [{ site: 'cairo' }]);
    bench.settle();
    bench.placement('p', selecting('paris'));
    bench.customizer('greeting', ['p']);
    bench.settle();
    expect(bench.mailbox('asia')).toContain('a/edge.banyan.io/customizers/shop/greeting');
    expect(bench.mailbox('africa')).toEqual([]);
    expect(bench.mailbox('paris')).toEqual(['t/p']);
    expect(bench.auxiliaries).toEqual(['center.retail/edge.banyan.io/customizers/shop/greeting']);
  });
});

describe('the passage stage', () => {
  let bench: ScheduleBench;

  beforeEach(() => {
    bench = new ScheduleBench();
    bench.agent('paris', { site: 'paris' });
    bench.relay('asia', [{ site: 'tokyo' }]);
    bench.object('a', ['p']);
    bench.settle();
  });

  it('keeps the objects of a child up to date that the child may not lose yet, until it may', () => {
    bench.placement('p', selecting('paris', 'tokyo'));
    bench.settle();
    bench.detaches = () => false;
    bench.placement('p', selecting('rome'));
    bench.object('b', ['p']);
    bench.settle();
    expect(bench.mailbox('paris')).toEqual(expect.arrayContaining(['o/a', 'o/b']));
    expect(bench.mailbox('asia')).toEqual(expect.arrayContaining(['p/p', 'o/a', 'o/b']));
    bench.detaches = () => true;
    bench.mark('match', `${idOf('p')} paris`);
    bench.mark('match', `${idOf('p')} asia`);
    bench.settle();
    expect([bench.mailbox('paris'), bench.mailbox('asia')]).toEqual([[], []]);
  });

  it('gives a child that matches nothing no object until it may have it', () => {
    bench.attaches = () => false;
    bench.placement('p', selecting('paris'));
    bench.settle();
    expect(bench.mailbox('paris')).toEqual([]);
    bench.attaches = () => true;
    bench.mark('match', `${idOf('p')} paris`);
    bench.settle();
    expect(bench.mailbox('paris')).toEqual(expect.arrayContaining(['o/a', 't/p']));
  });
});

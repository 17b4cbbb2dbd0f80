import { beforeEach, describe, expect, it } from 'vitest';
import type { DeliveryBounds } from '../../../../core/match/delivery-bounds.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { asText, text } from '../../../../core/store/bytes.ts';
import { idOf, mapKey, ScheduleBench, selecting } from '../support/schedule-bench.ts';

/** The rows of a source come from a node between that let more through than the space may deliver. */
describe('the last hop, for a space with bounds', () => {
  let bench: ScheduleBench;
  const outside: DeliveryBounds = { namespaces: ['till-*'] };
  const inside: DeliveryBounds = { namespaces: ['shop'] };

  beforeEach(() => {
    bench = new ScheduleBench();
    bench.agent('paris', { site: 'paris' });
    bench.relay('asia', [{ site: 'paris' }]);
    bench.settle();
  });

  it('sends no object outside the bounds, to agents and to relays', () => {
    bench.object('a', ['p']);
    bench.placement('p', selecting('paris'), { delivery: outside });
    bench.settle();
    expect(bench.mailbox('paris')).toEqual(['t/p']);
    expect(bench.mailbox('asia').sort()).toEqual(['p/p', 't/p']);
  });

  it('removes an object when the bounds change, although its row stays, and sends it again', () => {
    bench.object('a', ['p']);
    bench.placement('p', selecting('paris'));
    bench.settle();
    expect(bench.mailbox('paris')).toContain('o/a');
    bench.placement('p', selecting('paris'), { delivery: outside });
    bench.settle();
    expect(bench.mailbox('paris')).not.toContain('o/a');
    expect(bench.mailbox('asia')).not.toContain('o/a');
    bench.placement('p', selecting('paris'), { delivery: inside });
    bench.settle();
    expect(bench.mailbox('paris')).toContain('o/a');
    expect(bench.mailbox('asia')).toContain('o/a');
  });

  it.each(['content', 'keep'] as const)('removes it also if a stage says %s', (type) => {
    bench.object('a', ['p']);
    bench.placement('p', selecting('paris'));
    bench.settle();
    const before = { key: mapKey('a'), attributes: text(JSON.stringify({ refs: ['p'] })), body: text('former') };
    bench.stages.push({
      outgoing: () => (type === 'content' ? { type, content: before, originRevision: 1 } : { type }),
    });
    // A release that removes the object keeps its promoted form until the last wave.
    bench.row(`q/${idOf('p')}//configmaps/shop/a`, { refs: ['p'], revision: 1 }, 'former');
    bench.removeObject('a');
    bench.settle();
    expect(bench.mailbox('paris')).toEqual(type === 'content' ? ['t/p', 'o/a'] : ['o/a', 't/p']);
    bench.placement('p', selecting('paris'), { delivery: outside });
    bench.settle();
    expect(bench.mailbox('paris')).toEqual(['t/p']);
    // A relay needs the promoted form to prove that it knows the release.
    expect(bench.mailbox('asia')).toContain('q/p/a');
  });

  it('matches only Locations within the bounds', () => {
    const rome = { locationSelector: { matchLabels: { site: 'rome' } } };
    bench.agent('rome', { site: 'rome' });
    bench.placement('p', { locationSelectors: [{}] }, { delivery: rome });
    bench.placement('q', { locationExpression: 'true' }, { delivery: rome });
    bench.settle();
    expect(bench.mailbox('paris')).toEqual([]);
    expect(bench.mailbox('asia')).toEqual([]);
    expect(bench.mailbox('rome')).toEqual(['t/p']);
  });

  it('bounds the priority and the rules for reports that an agent gets', () => {
    const secrets = { apiGroup: '', resources: ['secrets'], namespaces: ['shop'] };
    const maps = { apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] };
    bench.rules('p', JSON.stringify({ associated: [], upsync: [secrets, maps] }));
    bench.placement('p', selecting('paris'), { delivery: { ...inside, priorityMax: -1 } });
    bench.settle();
    const contentOf = (key: string) =>
      bench.store.read((reader) => {
        const mailbox = bench.mailboxOf('paris')!;
        return mailbox.content(reader, mailbox.get(reader, hash128(key))!.content!);
      });
    expect(JSON.parse(asText(contentOf(`u/${idOf('p')}`).body)).upsync).toEqual([maps]);
    expect(JSON.parse(asText(contentOf(`t/${idOf('p')}`).attributes)).priority).toBe(-1);
  });
});

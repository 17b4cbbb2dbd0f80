import fc from 'fast-check';
import { expect, it } from 'vitest';
import { quarantineTopic } from '../../../../core/feed/topics.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { guardConditions } from '../../../../relay/inventory-status/guard-conditions.ts';
import { untakenEntries } from '../../../../relay/inventory-status/node-objects.ts';
import { childrenOfReported } from '../../../../relay/mailbox/mailboxes.ts';
import { ReportedBench } from '../support/reported-bench.ts';

const key = 'state/center.retail//configmaps/shop/till';
const state = (desired: number) => ({ desired, applied: true, available: true });

function bench() {
  const made = new ReportedBench('eu');
  made.child('store-17', 'agent');
  const { reported, consumer } = made.mailboxes.get('store-17')!;
  const sound = () =>
    made.store.read((reader) => {
      const row = reported.get(reader, hash128(key));
      return row?.content && JSON.parse(Buffer.from(reported.content(reader, row.content).attributes).toString());
    });
  return { made, reported, consumer, sound };
}

it('of an unreadable report of a child, the last valid form counts, until there is another', () => {
  const { made, consumer, sound } = bench();
  const announced: string[] = [];
  made.store.subscribe(quarantineTopic, (tables) => announced.push(...childrenOfReported(tables)));
  made.report('store-17', { key, attributes: state(1) });
  expect(made.report('store-17', { key, attributes: { desired: 'x' } })).toEqual([]);
  expect(sound()).toEqual(state(1));
  expect(made.store.read((reader) => consumer.quarantined(reader))).toMatchObject([
    { key, reason: expect.stringContaining('desired') },
  ]);
  made.report('store-17', { key, attributes: state(2) });
  expect([sound(), announced]).toEqual([state(2), ['store-17', 'store-17']]);
});

it('a child’s newest report about itself counts, whatever revision the former one claimed', () => {
  const { made, sound } = bench();
  made.report('store-17', { key, attributes: state(1), claims: 2 ** 48 - 1 });
  made.report('store-17', { key, attributes: state(2) });
  expect(sound()).toEqual(state(2));
  made.report('store-17', { key });
  expect(sound()).toBeUndefined();
});

it('rooms read a child’s table without quarantined rows, whichever room reads', () => {
  const { made, reported } = bench();
  made.report('store-17', { key: 'labels', attributes: { leaves: 'many' } });
  expect(made.store.read((reader) => [...reported.rows(reader)])).toEqual([]);
});

it('whatever a child reports about itself, nothing throws, and rooms read only what the keys allow', () => {
  const prefix = fc.constantFrom(
    'labels',
    'partial/center.retail/p',
    key,
    'gone/a/b',
    'seen/a',
    'node/eu:store-17',
    'sum/a/b/c',
  );
  const attributes = fc.oneof(fc.jsonValue(), fc.constant(state(1)));
  fc.assert(
    fc.property(fc.array(fc.tuple(prefix, attributes, fc.uint8Array())), (reports) => {
      const { made, reported } = bench();
      const entries = reports.map(([one, value, body]) => ({ key: one, attributes: value as object, body }));
      made.report('store-17', ...entries);
      made.store.read((reader) => {
        for (const row of reported.rows(reader)) {
          if (!row.content) continue;
          const content = reported.content(reader, row.content);
          if (content.key === key)
            expect(JSON.parse(Buffer.from(content.attributes).toString())).toHaveProperty('desired');
        }
      });
    }),
    { numRuns: 60 },
  );
});

it('a Mailbox names the entries that its child could not accept, and a Node those that count in an older form', () => {
  const refused = { count: 2, sample: ['o/center.retail//configmaps/shop/a: the body is no JSON: it: ends'] };
  expect(untakenEntries(refused)).toEqual({
    quarantinedEntries: 2,
    quarantined: [
      { key: 'o/center.retail//configmaps/shop/a', reason: 'Poisoned', message: 'the body is no JSON: it: ends' },
    ],
  });
  expect(untakenEntries(undefined)).toEqual({ quarantinedEntries: 0 });
  const condition = guardConditions('eu', { refused }).find(({ type }) => type === 'EntriesQuarantined');
  expect(condition).toMatchObject({ status: 'True', reason: 'Refused', message: expect.stringContaining('2 entries') });
});

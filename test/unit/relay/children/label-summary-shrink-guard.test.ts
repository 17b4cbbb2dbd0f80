import { expect, it } from 'vitest';
import { entryKey } from '../../../../core/entries/entry-keys.ts';
import { placementId } from '../../../../core/entries/placement-id.ts';
import {
  encodeLabelSummary,
  type LabelSummary,
  mergeLabelSummaries,
  summaryOfAgent,
} from '../../../../core/match/label-summary.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { heldLabelSummary, LabelSummaryShrinkGuard } from '../../../../relay/children/label-summary-shrink-guard.ts';
import type { Placement } from '../../../../relay/placements/placement.ts';
import { storeSelected } from '../../../../relay/placements/placements.ts';

const place = (env: string) => summaryOfAgent([{ labels: { env } }]);
const [prod, test] = [place('prod'), place('test')];
const both = mergeLabelSummaries([prod, test]);

/** A mailbox with two placements: one for places in prod with the given number of objects, and one for places in test with ten. */
function bench(objectsInProd: number) {
  const store = new MemoryStore();
  const placements = (['prod', 'test'] as const).map(
    (env): Placement => ({
      id: placementId('center.retail', env),
      source: 'center.retail',
      name: env,
      locationSelectors: [{ matchLabels: { env } }],
      children: new Set(['eu']),
    }),
  );
  store.write((t) => {
    for (const { id, name } of placements) {
      const count = name === 'prod' ? objectsInProd : 10;
      for (let i = 0; i < count; i++) storeSelected(t, id, hash128(`${name} ${i}`));
    }
  });
  const changed: string[] = [];
  const narrowing = new LabelSummaryShrinkGuard({
    limits: { entries: 50, fraction: 0.2 },
    wallMs: () => 1_000,
    placementsOf: () => placements,
    entriesOf: () => objectsInProd + 12,
    changed: (child) => changed.push(child),
  });
  const content = (labels: LabelSummary) => ({
    key: entryKey.labels(),
    attributes: encodeLabelSummary(labels),
    body: new Uint8Array(0),
  });
  const reportLabels = (before: LabelSummary, after: LabelSummary, isAnew: boolean) => {
    const change = {
      key: entryKey.labels(),
      keyHash: hash128(entryKey.labels()),
      originRevision: 0,
      before: content(before),
      after: content(after),
    };
    store.write((t) => narrowing.received(t, 'eu', [change], isAnew));
  };
  const held = () => store.read((reader) => narrowing.held(reader, 'eu'));
  return { store, narrowing, reportLabels, held, changed };
}

it('a relay’s new report keeps the former summary if its mailbox would lose more than the budget', () => {
  const { store, reportLabels, held, changed } = bench(60);
  reportLabels(both, test, true);
  expect(held()).toMatchObject({ entries: 60, sinceMs: 1_000, sample: ['center.retail/prod'] });
  expect(store.read((reader) => heldLabelSummary(reader, 'eu'))).toEqual(both);
  expect(changed).toEqual(['eu']);
});

it('a change within the budget, or wanted by other places, or only wider, passes', () => {
  const few = bench(50);
  few.reportLabels(both, test, true);
  const wider = bench(60);
  wider.reportLabels(prod, both, true);
  expect([few.held(), wider.held()]).toEqual([undefined, undefined]);
});

it('a change that somebody made below comes in an ordinary batch and passes', () => {
  const { reportLabels, held } = bench(60);
  reportLabels(both, test, false);
  expect(held()).toBeUndefined();
});

it('the guard ends by itself when the relay reports the places again, in whatever way', () => {
  const { reportLabels, held } = bench(60);
  reportLabels(both, test, true);
  reportLabels(test, both, false);
  expect(held()).toBeUndefined();
});

it('the guard stays over other reports of the relay, and ends by an approval of what the person saw and by nothing else', () => {
  const { store, narrowing, reportLabels, held } = bench(60);
  reportLabels(both, test, true);
  reportLabels(test, { leaves: 0, sets: [] }, false);
  const { token } = held()!;
  expect(held()).toMatchObject({ entries: 70, sinceMs: 1_000 });
  expect(store.write((t) => narrowing.approve(t, 'eu', 'another'))).toBe(false);
  expect(store.write((t) => narrowing.approve(t, 'eu', token))).toBe(true);
  expect(held()).toBeUndefined();
});

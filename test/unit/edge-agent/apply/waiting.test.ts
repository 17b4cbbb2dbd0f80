import { expect, test } from 'vitest';
import { DependencyWaits } from '../../../../edge-agent/apply/waiting.ts';

const [shop, till] = ['/namespaces//shop', '/configmaps/shop/till'];

test('an object that is no longer wanted waits for nothing, neither for another object nor for its kind', () => {
  const again: string[] = [];
  const waiting = new DependencyWaits((key) => void again.push(key));
  for (const key of [till, '/configmaps/shop/other']) waiting.await([shop], key);
  waiting.awaitKind(till);
  waiting.forget(till);
  waiting.kindsChanged();
  waiting.arrived(shop);
  expect(again).toEqual(['/configmaps/shop/other']);
});

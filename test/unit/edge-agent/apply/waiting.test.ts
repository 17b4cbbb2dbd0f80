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

test('an object that waits for several others is tried when the last of them is there, and only once', () => {
  const again: string[] = [];
  const waiting = new DependencyWaits((key) => void again.push(key));
  waiting.await(['a', 'b'], till);
  waiting.arrived('a');
  expect(again).toEqual([]);
  waiting.arrived('b');
  waiting.arrived('b');
  expect(again).toEqual([till]);
});

test('a new wait of an object replaces its earlier wait', () => {
  const again: string[] = [];
  const waiting = new DependencyWaits((key) => void again.push(key));
  waiting.await(['a'], till);
  waiting.await(['b'], till);
  waiting.arrived('a');
  expect(again).toEqual([]);
  waiting.await([], till);
  waiting.arrived('b');
  expect(again).toEqual([]);
});

test('an object does not wait for another that nobody wants any more', () => {
  const again: string[] = [];
  const waiting = new DependencyWaits((key) => void again.push(key));
  waiting.await([shop], till);
  waiting.forget(shop);
  expect(again).toEqual([till]);
});

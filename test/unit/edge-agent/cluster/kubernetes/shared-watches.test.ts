import { expect, test } from 'vitest';
import type { WatchEvents } from '../../../../../edge-agent/cluster/cluster.ts';
import type { ResourceWatch } from '../../../../../edge-agent/cluster/kubernetes/resource-watch.ts';
import { SharedWatches } from '../../../../../edge-agent/cluster/kubernetes/shared-watches.ts';

const pods = { group: '', resource: 'pods' };
const events: WatchEvents = { on() {}, synced() {} };

function bench() {
  const begun: { name: string; listeners: number; stopped: boolean }[] = [];
  const watches = new SharedWatches(({ resource }, { marked = false, metadataOnly = false }) => {
    const watch = { name: `${resource} ${marked} ${metadataOnly}`, listeners: 0, stopped: false };
    begun.push(watch);
    const fake: Pick<ResourceWatch, 'join' | 'isUsed' | 'stop'> = {
      join() {
        watch.listeners++;
        return () => watch.listeners--;
      },
      get isUsed() {
        return watch.listeners > 0;
      },
      stop() {
        watch.stopped = true;
      },
    };
    return fake as ResourceWatch;
  });
  return { begun, watches };
}

test('two requests for the same objects share a watch, which ends with the last of them', () => {
  const { begun, watches } = bench();
  const first = watches.join(pods, events, {});
  const second = watches.join(pods, events, { marked: false });
  expect(begun).toEqual([{ name: 'pods false false', listeners: 2, stopped: false }]);
  first();
  expect(begun[0]).toMatchObject({ listeners: 1, stopped: false });
  second();
  expect(begun[0]).toMatchObject({ listeners: 0, stopped: true });
});

test('a request for other objects, or for fewer of them, has a watch of its own', () => {
  const { begun, watches } = bench();
  watches.join(pods, events, {});
  watches.join(pods, events, { marked: true });
  watches.join(pods, events, { metadataOnly: true });
  watches.join({ group: 'apps', resource: 'pods' }, events, {});
  expect(begun.length).toBe(4);
});

test('a request after all others have ended gets a new one', () => {
  const { begun, watches } = bench();
  watches.join(pods, events, {})();
  watches.join(pods, events, {});
  expect(begun.map(({ stopped }) => stopped)).toEqual([true, false]);
});

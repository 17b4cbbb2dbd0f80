import { expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { raiseWatermarks } from '../../../../core/session/watermark.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { nodeConfigSchema } from '../../../../relay/config/config.ts';
import { type LateParts, NodeState } from '../../../../relay/node/node-state.ts';

const noOtherParts: LateParts = {
  enqueue: () => undefined,
  connection: () => ({ connected: false, silentMs: 0 }),
  endSession: () => undefined,
  childRemoved: () => undefined,
  spaceRemoved: () => undefined,
  judgedAgain: () => undefined,
  hasReceivedFromParent: () => true,
  isParentAway: () => false,
  parentHasReplicas: () => false,
  sums: {
    nodes: () => undefined,
    placements: () => [],
    contributionsChanged: () => undefined,
    decide: () => undefined,
    report: () => undefined,
  },
  authoritiesChanged: () => undefined,
  failed: () => undefined,
};

it('covers sources above up to the watermark of the parent, and own spaces up to their present revision', () => {
  const store = new MemoryStore();
  const config = nodeConfigSchema.parse({
    path: 'eu',
    data: '',
    pki: { ca: '', cert: '', key: '' },
    api: {},
    mesh: {},
    parent: { path: '', address: 'center:1' },
    spaces: [{ name: 'shop', type: 'Workload' }],
  });
  const nodeState = new NodeState(
    config,
    {
      store,
      clock: new VirtualClock(5_000),
      random: new SeededRandom(1),
      log: silentLogger,
      authority: () => '',
      software: 'test',
      defer: () => undefined,
      fatal: (error) => {
        throw error;
      },
      network: {
        listen: () => Promise.reject(new Error('nobody listens here')),
        dialer: () => ({ dial: () => Promise.reject(new Error('nobody dials here')) }),
      },
      api: () => {
        throw new Error('there is no API here');
      },
    },
    noOtherParts,
  );
  store.write((t) => raiseWatermarks(t, { complete: { 'center.retail': 7 } }, 5_000));
  const covered = () => store.read((reader) => nodeState.lookups.covered(reader));
  const before = covered();
  expect(before['center.retail']).toBe(7);
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'new' } };
  const { metadata } = nodeState.spaces.own('eu.shop')!.apply(object, { fieldManager: 'test', force: true });
  expect(covered()['eu.shop']).toBe(Number(metadata.resourceVersion));
  expect(covered()['eu.shop']).toBeGreaterThan(before['eu.shop']!);
});

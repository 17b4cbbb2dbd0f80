/** A watch on `/spaces/SOURCE` shows the same status of a rollout as a list. */
import { expect, it } from 'vitest';
import type { StorageEvent } from '../../../../core/apiserver/storage.ts';
import { formatKey, parseKey } from '../../../../core/object/key.ts';
import { asText } from '../../../../core/store/bytes.ts';
import { WholeTree } from '../../../support/whole-tree.ts';

const map = (value: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'm', namespace: 'shop' },
  data: { value },
});
const placement = {
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name: 'shop' },
  spec: {
    locationSelectors: [{ matchLabels: { env: 'prod' } }],
    downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] }],
    rollout: {
      strategy: 'Progressive',
      waves: [
        { name: 'first', selector: { matchLabels: { at: 'c' } }, soakSeconds: 20 },
        { name: 'second', selector: { matchLabels: { at: 'd' } }, soakSeconds: 600 },
      ],
    },
  },
};
const key = parseKey('edge.banyan.io/edgeplacements//shop');
const message = (body: string | undefined) =>
  (JSON.parse(body ?? '{}') as { status?: { rollout?: { message: string } } }).status?.rollout?.message;

async function watched(act: (tree: WholeTree) => Promise<void>) {
  const tree = new WholeTree({
    relays: ['', 'eu', 'us'],
    agents: ['eu:a', 'us:c', 'us:d'],
    labels: (agent) => ({ env: 'prod', at: agent.slice(-1) }),
  });
  await tree.start();
  await tree.run(1_000);
  tree.apply('', 'retail', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }, map('1'), placement);
  await tree.run(5_000);
  const view = tree.views.get('eu')!('/spaces/center.retail')!;
  let seen = asText(view.storage.get(key)!.body);
  view.storage.subscribe((events: readonly StorageEvent[]) => {
    for (const { object } of events) if (formatKey(object.key) === formatKey(key)) seen = asText(object.body);
  });
  const first = message(seen);
  await act(tree);
  return { first, listed: message(asText(view.storage.get(key)!.body)), seen: message(seen) };
}

it('shows watchers that another wave is authorised, also where no agent of the relay is in it', async () => {
  const { first, listed, seen } = await watched((tree) => tree.run(40_000));
  expect(listed).not.toBe(first);
  expect(seen).toBe(listed);
});

it('shows watchers that the authorisation expires while the relay is cut off', async () => {
  const { first, listed, seen } = await watched(async (tree) => {
    await tree.run(40_000);
    tree.cut('eu', '');
    await tree.run(150_000);
  });
  expect(listed).not.toBe(first);
  expect(seen).toBe(listed);
});

it('shows watchers of a replica that counts nobody that a wave is authorised', async () => {
  const tree = new WholeTree({
    relays: ['', 'eu', 'eu~1'],
    agents: ['eu:c', 'eu:d'],
    labels: (agent) => ({ env: 'prod', at: agent.slice(-1) }),
  });
  await tree.start();
  await tree.run(1_000);
  tree.apply('', 'retail', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }, map('1'), placement);
  await tree.run(5_000);
  const replicas = ['eu', 'eu~1'].map((id) => {
    const view = tree.views.get(id)!('/spaces/center.retail')!;
    const shown = { id, view, seen: asText(view.storage.get(key)!.body) };
    view.storage.subscribe((events: readonly StorageEvent[]) => {
      for (const { object } of events) if (formatKey(object.key) === formatKey(key)) shown.seen = asText(object.body);
    });
    return shown;
  });
  await tree.run(40_000);
  for (const { id, view, seen } of replicas)
    expect(`${id}: ${message(seen)}`).toBe(`${id}: ${message(asText(view.storage.get(key)!.body))}`);
});

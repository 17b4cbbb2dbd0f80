/** Watches of what a node shows of a space of another node, or of its fleet, when the space is removed. */
import { expect, it } from 'vitest';
import type { Space } from '../../../../core/apiserver/space.ts';
import { WholeTree } from '../../../support/whole-tree.ts';
import { FleetClient, type Watched } from './fleet-client.ts';
import { placed } from './fleet-workload.ts';

const space = { apiVersion: 'mesh.banyan.io/v1alpha1', kind: 'Space', metadata: { name: 'team' } };
const key = { group: 'mesh.banyan.io', resource: 'spaces', namespace: '', name: 'team' };
const relays = ['', 'eu', 'eu:paris'];
const agents = ['eu:paris:s1', 'hq'];
const deployments = (name: string) => `/fleet/${name}/apis/apps/v1/deployments`;
/** The name of the space at a node. */
const nameAt = (id: string) => (id === '' ? 'team' : 'center.team');

it('end with Expired at every level, and no watch goes on in the next space of the name', async () => {
  const tree = await new WholeTree({ relays, agents }).start();
  const client = new FleetClient(tree);
  const make = async () => {
    tree.apply('', '', { ...space, spec: { type: 'Workload' } });
    await tree.until('the space is served', () =>
      JSON.stringify(tree.space('').get(key)?.status ?? {}).includes('Served'),
    );
    tree.apply('', 'team', ...placed());
    for (const id of agents) await tree.until('the copies are there', () => has(tree.cluster(id)));
    await tree.run(2_000);
  };
  await make();
  const fleets = relays.map((id) => client.watch(id, deployments(nameAt(id))));
  const views = relays.slice(1).map((id) => tree.space(id, nameAt(id)));
  const removed: string[] = [];
  for (const view of views)
    view.storage.subscribe(
      () => {},
      () => void removed.push(view.name),
    );
  await tree.run(1_000);
  const positions = fleets.map(lastPosition);
  expect(views.map(has)).toEqual([true, true]);

  tree.space('').delete(key);
  await tree.until('all watches have ended', () => removed.length === 2 && fleets.every(({ isEnded }) => isEnded));
  for (const { events } of fleets)
    expect(events.at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
  expect(removed).toEqual(['center.team', 'center.team']);
  for (const id of relays) {
    expect(await client.refused(id, deployments(nameAt(id)))).toMatchObject({ code: 'NotFound' });
    expect(() => tree.views.get(id)!(`/spaces/${nameAt(id)}`)).toThrow(/there is no space/);
  }

  await make();
  for (const [i, id] of relays.entries()) {
    const again = `${deployments(nameAt(id))}?watch=true&resourceVersion=${positions[i]}`;
    expect(await client.refused(id, again)).toMatchObject({ code: 'Expired' });
  }
  for (const [i, id] of relays.slice(1).entries()) {
    const next = tree.space(id, nameAt(id)).storage;
    expect(next.eventsSince(views[i]!.storage.revision())).toBe('expired');
  }
});

function has(one: Space): boolean {
  return one.storage.get({ group: 'apps', resource: 'deployments', namespace: 'shop', name: 'till' }) !== undefined;
}

function lastPosition({ events }: Watched): string {
  return events.at(-1)!.object.metadata.resourceVersion!;
}

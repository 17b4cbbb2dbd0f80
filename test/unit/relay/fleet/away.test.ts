/** Places of the tree that do not answer, in the lists of a fleet. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { WholeTree } from '../../../support/whole-tree.ts';
import { asTable, type FleetClient, placesOf } from './fleet-client.ts';
import { agents, deployments, dotted, fleetTree } from './fleet-workload.ts';

let tree: WholeTree;
let client: FleetClient;

beforeEach(async () => {
  ({ tree, client } = await fleetTree());
});

describe('places that are away', () => {
  it('are named in warnings while the rest of the list comes', async () => {
    tree.cut('us', '');
    await tree.run(90_000);
    const { body, warnings } = await client.get('', deployments);
    expect(placesOf(body)).toEqual(dotted.slice(0, 4).map((path) => `${path} shop/till`));
    expect(warnings.join()).toMatch(/us is missing here with 1 cluster: it is not connected, for \d+s/);
    tree.mend('us', '');
    await tree.run(60_000);
    const again = await client.get('', deployments);
    expect([placesOf(again.body).length, again.warnings]).toEqual([agents.length, []]);
  });

  it('are named by the center, too, if they are deeper', async () => {
    tree.cut('eu:paris', 'eu');
    await tree.run(90_000);
    const { body, warnings } = await client.get('', `${deployments}?limit=10`);
    expect(placesOf(body)).toEqual(dotted.slice(2).map((path) => `${path} shop/till`));
    expect(warnings.join()).toMatch(/eu:paris is missing here with 2 clusters: it is not connected/);
  });

  it('do not hold up the list for long if they hang', async () => {
    tree.stop('us');
    const { body, warnings } = await client.get('', deployments);
    expect(body.items).toHaveLength(4);
    expect(warnings.join()).toMatch(/us is missing here with 1 cluster: /);
    const began = tree.clock.monotonicMs();
    await client.get('', deployments);
    expect(tree.clock.monotonicMs() - began).toBeLessThan(1_000);
    tree.goOn('us');
  });

  it('are shown as last reported if they are clusters of this node, with the time', async () => {
    tree.cut('hq', '');
    await tree.run(90_000);
    const { body, warnings } = await client.get('', deployments, asTable);
    expect(body.rows.map(({ cells }) => [cells[1], cells.at(-1)])).toEqual(
      agents.map((path) => [path, path === 'hq' ? expect.stringMatching(/^\d+s$/) : '']),
    );
    expect(warnings.join()).toMatch(/not connected, shown as last reported: hq/);
    const { body: objects } = await client.get('', `${deployments}?at=hq`);
    expect(objects.items[0]!.metadata.annotations?.['banyan.io/stale']).toMatch(/^\d{4}-.*Z$/);
  });
});

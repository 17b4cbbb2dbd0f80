/** A fleet over replicas of a relay: each replica shows the agents that it counts, so no copy is shown twice and none is missing. */
import { beforeAll, expect, it } from 'vitest';
import { WholeTree } from '../../../support/whole-tree.ts';
import { asTable, FleetClient, placesOf } from './fleet-client.ts';
import { deployments, placed } from './fleet-workload.ts';

const agents = ['eu:s1', 'eu:s2', 'eu:s3'];
const copies = agents.map((path) => `${path.replace(':', '.')} shop/till`);

let tree: WholeTree;
let client: FleetClient;

beforeAll(async () => {
  tree = await new WholeTree({ relays: ['', 'eu', 'eu~1'], agents }).start();
  client = new FleetClient(tree);
  tree.apply('', 'retail', ...placed());
  await tree.run(20_000);
});

it('has each copy once, on pages too, and names clusters without the number of a replica', async () => {
  expect(placesOf((await client.get('', deployments)).body).sort()).toEqual(copies);
  const { body } = await client.get('', `${deployments}?limit=2`);
  const { body: rest } = await client.get('', `${deployments}?limit=2&continue=${body.metadata.continue}`);
  expect([...placesOf(body), ...placesOf(rest)].sort()).toEqual(copies);
  const { body: table } = await client.get('', deployments, asTable);
  expect(table.rows.map(({ cells }) => cells[1]).sort()).toEqual(agents);
});

it('has each copy once after an agent has gone to another replica, and a watch ends or goes on without a gap', async () => {
  const watched = client.watch('', deployments);
  await tree.run(2_000);
  tree.cut('eu:s2', 'eu');
  await tree.run(120_000);
  expect(placesOf((await client.get('', deployments)).body).sort()).toEqual(copies);
  const here = '/fleet/center.retail/apis/apps/v1/deployments';
  expect(placesOf((await client.get('eu~1', here)).body)).toEqual(['eu.s2 shop/till']);
  expect(placesOf((await client.get('eu', here)).body)).not.toContain('eu.s2 shop/till');
  // The replica that shows the agent no longer ends the watch: it does not know whether the other one has told the client already.
  const last = new Map(
    watched.events
      .filter(({ type }) => type !== 'BOOKMARK')
      .map((event) => [event.object.metadata?.labels?.['banyan.io/path'], event.type]),
  );
  if (!watched.isEnded) for (const agent of agents) expect(last.get(agent.replace(':', '.'))).not.toBe('DELETED');
  else expect(watched.lines.at(-1)).toBe('ERROR 410');
  watched.end();
  tree.mend('eu:s2', 'eu');
});

/** Watches of the fleet of a whole tree. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { WholeTree } from '../../../support/whole-tree.ts';
import type { FleetClient } from './fleet-client.ts';
import { agents, deployment, deployments, dotted, fleetTree } from './fleet-workload.ts';

let tree: WholeTree;
let client: FleetClient;

beforeEach(async () => {
  ({ tree, client } = await fleetTree());
});

describe('a watch', () => {
  it('begins with all copies, and goes on with changes at all levels', async () => {
    const watched = client.watch('', deployments);
    await tree.run(1_000);
    expect(watched.lines.sort()).toEqual(dotted.map((path) => `ADDED ${path} till`));
    watched.events.length = 0;
    tree.apply('', 'retail', deployment('web', 1));
    await tree.run(2_000);
    for (const path of dotted) expect(watched.lines).toContain(`ADDED ${path} web`);
    watched.events.length = 0;
    tree.space('', 'retail').delete({ group: 'apps', resource: 'deployments', namespace: 'shop', name: 'web' });
    await tree.run(2_000);
    for (const path of dotted) expect(watched.lines).toContain(`DELETED ${path} web`);
    const { metadata } = watched.events.find(({ type }) => type === 'DELETED')!.object;
    expect(metadata).toMatchObject({ name: 'web', namespace: 'shop', uid: expect.stringMatching(/-8/) });
    watched.end();
    await tree.run(100);
    expect(watched.isEnded).toBe(true);
  });

  it('from a list has all later changes, and none of the copies of the list', async () => {
    const { body } = await client.get('', deployments);
    tree.apply('', 'retail', deployment('web', 1));
    await tree.run(2_000);
    const watched = client.watch('', `${deployments}?resourceVersion=${body.metadata.resourceVersion}`);
    await tree.run(1_000);
    expect(new Set(watched.lines)).toEqual(new Set(dotted.map((path) => `ADDED ${path} web`)));
    watched.end();
  });

  it('goes on from any of its events', async () => {
    const first = client.watch('', deployments);
    await tree.run(1_000);
    const last = first.events.at(-1)!.object.metadata.resourceVersion;
    first.end();
    tree.apply('', 'retail', deployment('web', 1));
    await tree.run(2_000);
    const second = client.watch('', `${deployments}?resourceVersion=${last}`);
    await tree.run(1_000);
    for (const path of dotted) expect(second.lines).toContain(`ADDED ${path} web`);
    expect(second.lines.filter((line) => line.endsWith('till') && line.startsWith('ADDED')).length).toBeLessThan(
      agents.length,
    );
    second.end();
  });

  it('reports a copy that leaves the selection as deleted', async () => {
    tree.apply('', 'retail', deployment('web', 1, { tier: 'front' }));
    await tree.run(2_000);
    const watched = client.watch('', `${deployments}?labelSelector=tier%3Dfront`);
    await tree.run(1_000);
    expect(new Set(watched.lines)).toEqual(new Set(dotted.map((path) => `ADDED ${path} web`)));
    watched.events.length = 0;
    tree.apply('', 'retail', deployment('web', 1, { tier: 'back' }));
    await tree.run(2_000);
    expect(new Set(watched.lines)).toEqual(new Set(dotted.map((path) => `DELETED ${path} web`)));
    watched.end();
  });

  it('sends the changes of a region that was away when the region is back', async () => {
    const watched = client.watch('', `${deployments}?allowWatchBookmarks=true`);
    await tree.run(1_000);
    watched.events.length = 0;
    tree.cut('us', '');
    await tree.run(30_000);
    tree.apply('', 'retail', deployment('web', 1));
    await tree.run(5_000);
    expect(watched.lines.some((line) => line === 'ADDED us.s4 web')).toBe(false);
    tree.mend('us', '');
    await tree.until('the change of the region', () => watched.lines.includes('ADDED us.s4 web'));
    expect(watched.isEnded).toBe(false);
    watched.end();
  });

  it('from a list that lacks a region has the copies of the region when it is back', async () => {
    tree.cut('us', '');
    await tree.run(30_000);
    const { body } = await client.get('', deployments);
    expect(body.items).toHaveLength(agents.length - 1);
    const watched = client.watch('', `${deployments}?resourceVersion=${body.metadata.resourceVersion}`);
    await tree.run(2_000);
    expect(watched.lines).toEqual([]);
    tree.mend('us', '');
    await tree.until('the copies of the region', () => watched.lines.includes('ADDED us.s4 till'));
    watched.end();
  });

  it('gives a client that does not read the newest state of each copy, once', async () => {
    const stalled = client.watch('', `${deployments}?at=hq`);
    await tree.run(1_000);
    stalled.pause();
    stalled.events.length = 0;
    for (let replicas = 2; replicas <= 9; replicas++) {
      tree.apply('', 'retail', deployment('till', replicas));
      await tree.run(500);
    }
    await tree.run(5_000);
    stalled.goOn();
    await tree.run(1_000);
    expect(stalled.events.at(-1)!.object.spec).toMatchObject({ replicas: 9 });
    expect(stalled.events.length).toBeLessThanOrEqual(2);
    stalled.end();
  });

  it('ends with 410 if a relay has forgotten what the client has, and a new list has everything', async () => {
    const watched = client.watch('', deployments);
    await tree.run(1_000);
    tree.kill('us');
    await tree.run(1_000);
    await tree.start('us');
    await tree.until('the end', () => watched.isEnded);
    expect(watched.lines.at(-1)).toBe('ERROR 410');
    const { body } = await client.get('', deployments);
    expect(body.items.length).toBeGreaterThanOrEqual(agents.length - 1);
  });

  it('is refused with 410 from a version that the node does not know', async () => {
    const error = await client.refused('', `${deployments}?watch=true&resourceVersion=17`);
    expect(error.code).toBe('Expired');
  });

  it('tells when all present copies were sent, and has the warnings of a list', async () => {
    tree.cut('us', '');
    await tree.run(90_000);
    const url = `${deployments}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;
    const watched = client.watch('', url);
    await tree.run(2_000);
    expect(watched.events.at(-1)).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
    });
    expect(watched.lines).toHaveLength(4);
    expect(watched.warnings.join()).toMatch(/us is missing here/);
    watched.end();
  });
});

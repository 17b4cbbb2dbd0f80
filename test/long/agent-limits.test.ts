/**
 * An agent's own limits of requests to a real API server: work that waits for a limit is reported where people look, and large objects of others are read in
 * small pages.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { banyan, until } from '../e2e/local-tree.ts';
import { buildMsMax, OneSite } from '../e2e/one-site.ts';
import { placedInProduction } from '../e2e/placements.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const retail = 'space/center/retail';
/** At most two requests for each: a minute's work at the rate of this test. */
const objects = 300;
const largeObjects = 12;

describe.skipIf(missing)(`the limits of an agent${why}`, () => {
  let site: OneSite;
  const reached = () => site.condition('LimitReached');

  beforeAll(async () => {
    site = await OneSite.start('limits');
  }, buildMsMax);
  afterAll(() => site?.[Symbol.asyncDispose]());

  it('an agent whose work waits for its rate limit reports this at its SyncTarget and in the tree, with the field to raise', async () => {
    const many = Array.from({ length: objects }, (_, i) => configMap('bulk', `c${i}`, 'x'));
    const items = [namespace('bulk'), ...many, placedInProduction('bulk')];
    expect(site.tree.apply(retail, { apiVersion: 'v1', kind: 'List', items }).code).toBe(0);
    site.startAgent({ requestsPerSecond: 3 });
    await until('it says that it waits', () => reached() !== undefined, 90);
    expect(reached()).toMatch(
      /^cluster\.kubernetes\.limits\.requestsPerSecond is 3, and requests wait for it.*raise it/,
    );
    await until('the tree shows it', () =>
      banyan('tree', '--data', site.tree.data).out.includes('requestsPerSecond is 3'),
    );
    await site.agent.stop();
  });

  it('is within its limits with a higher rate, and delivers everything', async () => {
    site.agent.start();
    await until(
      'all are there',
      () => site.kubectl('get', 'cm', '-n', 'bulk', '-o', 'name').out.split('\n').length > objects,
      60,
    );
    await until('nothing is said any more', () => reached() === undefined);
    await site.agent.stop();
  });

  it('reads objects when a page of them is larger than its limit, and continues', async () => {
    site.kubectl('create', 'namespace', 'sales');
    const file = join(site.directory, 'large.json');
    for (let i = 0; i < largeObjects; i++) {
      writeFileSync(file, JSON.stringify(configMap('sales', `day-${i}`, 'x'.repeat(900_000))));
      expect(site.kubectl('create', '-f', file).code).toBe(0);
    }
    const upsync = [{ apiGroup: '', resources: ['configmaps'], namespaces: ['sales'] }];
    const placement = placedInProduction('sales') as { spec: object };
    expect(site.tree.apply(retail, { ...placement, spec: { ...placement.spec, upsync } }).code).toBe(0);
    // One answer may have half of this, and twelve answers are more.
    site.startAgent({ inFlightBytes: '8Mi' });
    const mailbox = mailboxOf(join(site.tree.data, 'kubeconfig'), 'node/eu', 'rivoli');
    const configMapNames = () =>
      site.tree.kubectl('node/eu', ['get', 'cm', '-n', 'sales', '-o', 'name', '--server', mailbox]).out;
    const large = () => configMapNames().match(/configmap\/day-/g)?.length ?? 0;
    await until('all large ones have come up', () => large() === largeObjects);
    expect(site.agent.log).not.toMatch(/TooLarge|is larger than/);
  });
});

function namespace(name: string): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

function configMap(of: string, name: string, text: string): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: of, name }, data: { text } };
}

/** The kubeconfig of a tree has only contexts of its topology, and this agent came later. */
function mailboxOf(kubeconfig: string, context: string, agent: string): string {
  const { clusters } = parse(readFileSync(kubeconfig, 'utf8')) as {
    clusters: { name: string; cluster: { server: string } }[];
  };
  const { server } = clusters.find(({ name }) => name === context)!.cluster;
  return `${new URL(server).origin}/mailboxes/${agent}`;
}

/** An agent whose machine's clock is off by a year, either way: the work that it continues, and the messages that it shows. libfaketime changes the clock. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../e2e/local-tree.ts';
import { buildMsMax, OneSite } from '../e2e/one-site.ts';
import { placedInProduction } from '../e2e/placements.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const fakeTime = ['x86_64', 'aarch64']
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`)
  .find((file) => existsSync(file));
const missing = withoutKubectl ?? withoutControlPlane() ?? (fakeTime ? undefined : 'there is no libfaketime');
const why = missing ? ` [not run: ${missing}]` : '';
const retail = 'space/center/retail';

describe.skipIf(missing)(`an agent whose clock is off by a year${why}`, () => {
  let site: OneSite;

  const start = (offset?: string): void => {
    // Only the wall clock: a machine's monotonic clock does not jump with it.
    const clock = offset ? { LD_PRELOAD: fakeTime, FAKETIME: offset, DONT_FAKE_MONOTONIC: '1' } : {};
    site.agent.start({ env: clock });
  };
  const price = () => site.kubectl('get', 'cm/prices', '-n', 'shop', '-o', 'jsonpath={.data.bread}').out;
  const change = (bread: string) =>
    site.tree.ok(retail, 'patch', 'configmap', 'prices', '-n', 'shop', '-p', JSON.stringify({ data: { bread } }));
  const trouble = () => site.condition('ClusterTrouble');
  beforeAll(async () => {
    site = await OneSite.start('clocks');
    site.tree.ok(retail, 'create', 'namespace', 'shop');
    site.tree.ok(retail, 'create', 'configmap', 'prices', '-n', 'shop', '--from-literal=bread=1');
    expect(site.tree.apply(retail, placedInProduction('shop')).code).toBe(0);
    start();
    await until('the prices have come', () => price() === '1');
    await site.agent.stop();
  }, buildMsMax);
  afterAll(() => site?.[Symbol.asyncDispose]());

  it('continues while certificates are valid, and its node says which clock to set', async () => {
    start('+365d');
    const clock = /the clock of the agent's machine is 365 days ahead of that of https.*set the one/;
    await until('its node tells of it', () => clock.test(trouble() ?? ''));
    change('2');
    await until('the new price has come', () => price() === '2');
    await site.agent.stop();
  });

  it('reports that its certificates are not valid yet, and to compare clocks, if its clock is a year behind', async () => {
    start('-365d');
    const parent =
      /the parent's certificate is not accepted: .* is valid only from .*: compare the clocks of both ends/;
    await until('it says why there is no parent', () => parent.test(site.agent.log));
    const cluster =
      /API server https.* can't be reached: certificate is not yet valid; .*set the clock of this machine/;
    await until('it says why there is no cluster', () => cluster.test(site.agent.log));
    // Nothing is removed because of it.
    expect(price()).toBe('2');
    await site.agent.stop();
  });

  it('recovers when the clock is right again', async () => {
    start();
    change('3');
    await until('the new price has come', () => price() === '3');
    await until('nothing is told any more', () => trouble() === undefined);
  });
});

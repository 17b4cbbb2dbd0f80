/** The attempts of a hostile tenant against two real API servers, and in a tree without bounds, where they have to succeed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attempts } from '../e2e/hostile-attempts.ts';
import { buildMsMax } from '../e2e/one-site.ts';
import { TwoTenants } from '../e2e/two-tenants.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const whyNoTree = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';

describe.skipIf(missing)(`a hostile tenant over two real clusters${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-planes-'));
  const planes: ControlPlane[] = [];
  let tenants: TwoTenants;

  beforeAll(async () => {
    const started = ['rivoli', 'hq'].map(async (name) => {
      const plane = await ControlPlane.start({ directory: join(directory, name) });
      planes.push(plane);
      return [name, plane.kubeconfig] as const;
    });
    tenants = new TwoTenants({ real: Object.fromEntries(await Promise.all(started)) });
    await tenants.start();
  }, buildMsMax);
  afterAll(async () => {
    await tenants?.[Symbol.asyncDispose]();
    await Promise.all(planes.map((plane) => plane[Symbol.asyncDispose]()));
    rmSync(directory, { recursive: true, force: true });
  });

  it.each(attempts.map((one) => [one.title, one.run] as const))('cannot %s', async (_, run) => {
    expect(await run(tenants)).toBeUndefined();
  });
});

describe.skipIf(withoutKubectl)(`a tenant in a tree without bounds${whyNoTree}`, () => {
  const tenants = new TwoTenants({ isUnbounded: true });

  beforeAll(() => tenants.start());
  afterAll(() => tenants[Symbol.asyncDispose]());

  it.each(
    attempts.filter(({ neverBecause }) => neverBecause === undefined).map((one) => [one.title, one.run] as const),
  )('can %s, so the attempt notices a success', async (_, run) => {
    expect(await run(tenants)).toBeDefined();
  });
});

/** Validation of built-in kinds: a real API server and the rules give the same answers about generated writes, right, nearly right and wrong. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildMsMax } from '../e2e/one-site.ts';
import { ApiCaller } from '../support/api-caller.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import {
  baseObjects,
  checkedWrite,
  createValidNamespace,
  ownAnswer,
  ownSpace,
  realAnswer,
  urlOf,
} from '../support/differential/answers.ts';
import { BodyComparison } from '../support/differential/body-comparison.ts';
import { BothServers } from '../support/differential/both-servers.ts';

const missing = withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const query = '?dryRun=All&fieldValidation=Strict';
/** A run before a release makes 20,000. A request takes some milliseconds, and more on a busy machine. */
const count = Number(process.env.BANYAN_COMPARISONS ?? '3000');
const comparingMs = count * 400;
/** Each day has questions of its own. The title of the test names the seed, with which `compare.ts` asks them again. */
const dayMs = 86_400_000;
const seed = Number(process.env.BANYAN_SEED ?? Math.floor(Date.now() / dayMs));

describe.skipIf(missing)(`as Kubernetes${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-validation-'));
  let plane: ControlPlane;
  let api: ApiCaller;

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory });
    api = new ApiCaller(plane.kubeconfig);
    await createValidNamespace(api);
  }, buildMsMax);
  afterAll(async () => {
    api?.[Symbol.dispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('valid objects are accepted', async () => {
    const space = ownSpace();
    for (const object of baseObjects) {
      expect(realAnswer(await api.call('POST', urlOf(object) + query, { body: object })), object.kind).toEqual([]);
      expect(
        ownAnswer(() => space.create(object, checkedWrite)),
        object.kind,
      ).toEqual([]);
    }
  });

  it(
    `${count} creates, updates and patches of seed ${seed} get the same answers`,
    async () => {
      const both = new BothServers(api);
      await both.store();
      expect(both.stored.size).toBeGreaterThan(45);
      const found = await both.differences(seed, count);
      const shown = found
        .slice(0, 20)
        .map((one) => JSON.stringify(one, null, 1))
        .join('\n');
      expect(found.length, shown).toBe(0);
    },
    comparingMs,
  );

  it('bad bodies and URLs get the same status and reason, and the request after each is answered as always', async () => {
    await using both = await BodyComparison.start(plane.kubeconfig);
    expect(await both.differences()).toEqual([]);
    expect(both.compared).toBeGreaterThan(100);
  }, 300_000);
});

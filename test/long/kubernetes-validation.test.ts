/** Validation of built-in kinds: a real API server and the rules give the same answers about generated objects, right, nearly right and wrong. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { KubeObject } from '../../core/object/meta.ts';
import { buildMsMax } from '../e2e/one-site.ts';
import { ApiCaller } from '../support/api-caller.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { changedByCluster } from '../support/differential/accepted-differences.ts';
import {
  baseObjects,
  type ComparedAnswer,
  checkedWrite,
  kindOf,
  ownAnswer,
  ownSpace,
  realAnswer,
  urlOf,
} from '../support/differential/answers.ts';
import { changed } from '../support/differential/wrong-objects.ts';

const missing = withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const query = '?dryRun=All&fieldValidation=Strict';
const creates = 2000;
const updates = 800;
/** A request takes some milliseconds, and more on a busy machine. */
const comparingMs = 1_200_000;

const waiting = { timeout: 60_000, interval: 50 };
/** Requests at once. */
const lanes = 8;
const number = fc.nat(1_000_000);
const change = fc.tuple(number, number, number);
const changes = fc.array(change, { minLength: 1, maxLength: 3 });

describe.skipIf(missing)(`as Kubernetes${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-validation-'));
  const space = ownSpace();
  let plane: ControlPlane;
  let api: ApiCaller;

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory });
    api = new ApiCaller(plane.kubeconfig);
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'valid' } };
    await api.call('POST', '/api/v1/namespaces', { body });
    // Pods are refused until the namespace has its account.
    const account = '/api/v1/namespaces/valid/serviceaccounts/default';
    await vi.waitFor(async () => expect((await api.call('GET', account)).status).toBe(200), waiting);
  }, buildMsMax);
  afterAll(async () => {
    api?.[Symbol.dispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const typeOf = (object: KubeObject) => kindOf(object).schema(object.apiVersion.split('/').at(-1)!);

  /** Undefined: the API server has ended the request without an answer, because its own rule has failed. */
  async function asked(method: string, path: string, body: object): Promise<ComparedAnswer | undefined> {
    try {
      return realAnswer(await api.call(method, path, { body }));
    } catch (error) {
      if ((error as { code?: string }).code === 'ECONNRESET') return undefined;
      throw error;
    }
  }

  /** Compares objects of one batch at the same time. fast-check makes the batch, and makes it smaller if there is a difference. */
  const compare = (objects: readonly KubeObject[], runs: number, one: (object: KubeObject) => Promise<void>) =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...objects), changes), { minLength: 1, maxLength: lanes }),
        async (batch) => {
          await Promise.all(batch.map(([object, all]) => one(changed(object, typeOf(object), all))));
        },
      ),
      { numRuns: (2 * runs) / lanes, seed: 40 },
    );

  it('valid objects are accepted', async () => {
    for (const object of baseObjects) {
      expect(await asked('POST', urlOf(object) + query, object), object.kind).toEqual([]);
      expect(
        ownAnswer(() => space.create(object, checkedWrite)),
        object.kind,
      ).toEqual([]);
    }
  });

  it(
    `${creates} new objects get the same answers`,
    () =>
      compare(baseObjects, creates, async (object) => {
        const real = await asked('POST', urlOf(object) + query, object);
        if (real)
          expect(
            ownAnswer(() => space.create(object, checkedWrite)),
            JSON.stringify(object),
          ).toEqual(real);
      }),
    comparingMs,
  );

  it(
    `${updates} changes get the same answers`,
    async () => {
      const stored = baseObjects.filter(({ kind }) => !changedByCluster.has(kind));
      // Both forms of a HorizontalPodAutoscaler are the same object.
      const once = stored.filter(({ apiVersion }) => apiVersion !== 'autoscaling/v1');
      for (const object of once) {
        expect(await asked('POST', urlOf(object), object), object.kind).toEqual([]);
        space.create(object);
      }
      await compare(once, updates, async (object) => {
        const { namespace = '', name = '' } = object.metadata;
        const path = `${urlOf(object)}/${name}`;
        const { metadata } = JSON.parse((await api.call('GET', path)).text) as KubeObject;
        const real = await asked('PUT', path + query, withVersion(object, metadata.resourceVersion));
        const { group, resource } = kindOf(object);
        const live = space.get({ group, resource, namespace, name })!;
        const next = withVersion(object, live.metadata.resourceVersion);
        if (real)
          expect(
            ownAnswer(() => space.update(next, checkedWrite)),
            JSON.stringify(object),
          ).toEqual(real);
      });
    },
    comparingMs,
  );
});

function withVersion(object: KubeObject, resourceVersion: string | undefined): KubeObject {
  return { ...object, metadata: { ...object.metadata, ...(resourceVersion ? { resourceVersion } : {}) } };
}

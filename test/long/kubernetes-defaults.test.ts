/** Defaults of built-in kinds: a real API server and a space store the same form of objects with few fields. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publicObject } from '../../core/apiserver/http/public-form.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { buildMsMax } from '../e2e/one-site.ts';
import { ApiCaller } from '../support/api-caller.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { baseObjects, createValidNamespace, ownSpace, smallObjects, urlOf } from '../support/differential/answers.ts';
import { storedForm } from '../support/differential/stored-form.ts';

const missing = withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';

describe.skipIf(missing)(`defaults of Kubernetes${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-defaults-'));
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

  const title = ({ apiVersion, kind, metadata }: KubeObject) => `${apiVersion} ${kind} ${metadata.name}`;

  it.each([...smallObjects, ...baseObjects].map((object) => [title(object), object] as const))(
    '%s',
    async (_, object) => {
      const { status, text } = await api.call('POST', `${urlOf(object)}?dryRun=All`, { body: object });
      expect(status, text).toBe(201);
      const own = publicObject({ hidesGeneration: false }, ownSpace().create(object));
      expect(storedForm(own)).toEqual(storedForm(JSON.parse(text) as KubeObject));
    },
  );
});

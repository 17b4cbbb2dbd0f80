/** CustomResourceDefinitions in a space and at a real API server: both accept the same ones, and refuse the others with the same fields and words. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { kubectlBy, LocalTree } from '../e2e/local-tree.ts';
import { ApiCaller } from '../support/api-caller.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { type Changes, changed, definitionCases, plainDefinition } from '../support/definition-cases.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const name = 'things.t.example.com';

const wholeSchema =
  'the real message shows the whole schema with the names of Go fields, absent fields too; field and reason are the same';
const syntax = 'the words of another CEL parser; place, field and the beginning of the message are the same';

/** Definitions with another answer. The status and the fields of all causes are the same nevertheless. */
const accepted: Readonly<Record<string, string>> = {
  'status root oneOf': wholeSchema,
  'status root minProps': wholeSchema,
  'status root nullable': wholeSchema,
  'rule bad': syntax,
  'rule optional used': syntax,
};

/** Changes of a definition that is served. */
const updates: Readonly<Record<string, Changes>> = {
  nothing: {},
  'another scope': { '/spec/scope': 'Cluster' },
  'another kind': { '/spec/names/kind': 'Item' },
  'another plural': { '/spec/names/plural': 'items' },
  'another group': { '/spec/group': 'u.example.com' },
  'another version': { '/spec/versions/0/name': 'v2' },
  'no storage': { '/spec/versions/0/storage': false },
  'a wrong schema': { '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b': {} },
  'a webhook with a wrong bundle': {
    '/spec/conversion': {
      strategy: 'Webhook',
      webhook: { clientConfig: { url: 'https://x', caBundle: 'eA==' }, conversionReviewVersions: ['v1'] },
    },
  },
  'a label': { '/metadata/labels': { a: 'b' } },
};

interface Answer {
  readonly status: number;
  /** Reason, field and message of each mistake, sorted: the real API server goes through maps in any order. */
  readonly causes: readonly string[];
}

function fieldsOf({ status, causes }: Answer): object {
  return { status, fields: causes.map((cause) => cause.split('|')[1]) };
}

describe.skipIf(missing)(`definitions as in Kubernetes${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-definitions-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  let plane: ControlPlane;
  let theirs: ApiCaller;
  let ours: ApiCaller;

  async function ask(api: ApiCaller, method: string, at: string, body: unknown): Promise<Answer> {
    const { status, text } = await api.call(method, at, { body });
    const { message, details } = JSON.parse(text) as {
      message?: string;
      details?: { causes?: readonly { reason: string; field: string; message: string }[] };
    };
    const causes = details?.causes?.map((cause) => `${cause.reason}|${cause.field}|${cause.message}`);
    return { status, causes: status < 300 ? [] : (causes?.sort() ?? [`||${message}`]) };
  }

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory: join(directory, 'plane') });
    const topology = {
      apiVersion: 'banyan.io/v1alpha1',
      kind: 'Topology',
      metadata: { name: 'definitions' },
      spec: { center: { spaces: [{ name: 'retail' }] } },
    };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
    const file = join(directory, 'space.kubeconfig');
    writeFileSync(file, tree.kubectl('space/center/retail', ['config', 'view', '--minify', '--flatten']).out);
    theirs = new ApiCaller(plane.kubeconfig);
    ours = new ApiCaller(file);
  });
  afterAll(async () => {
    theirs?.[Symbol.dispose]();
    ours?.[Symbol.dispose]();
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('are accepted, or refused with the same mistakes', async () => {
    const different: string[] = [];
    for (const { name, definition } of definitionCases()) {
      const [real, own] = await Promise.all(
        [theirs, ours].map((api) => ask(api, 'POST', `${path}?dryRun=All`, definition)),
      );
      if (accepted[name] === undefined) expect.soft(own, name).toEqual(real);
      else expect.soft(fieldsOf(own!), name).toEqual(fieldsOf(real!));
      if (JSON.stringify(own) !== JSON.stringify(real)) different.push(name);
    }
    expect(different.sort()).toEqual(Object.keys(accepted).sort());
  });

  it('are changed, or keep what is immutable', async () => {
    for (const api of [theirs, ours]) expect((await ask(api, 'POST', path, plainDefinition())).status).toBe(201);
    for (const kubectl of [
      (args: string[]) => kubectlBy(plane.kubeconfig, args),
      (args: string[]) => tree.kubectl('space/center/retail', args),
    ]) {
      expect(kubectl(['wait', `crd/${name}`, '--for=condition=Established']).code).toBe(0);
    }
    for (const [title, changes] of Object.entries(updates)) {
      const answers = [theirs, ours].map(async (api) => {
        const stored = JSON.parse((await api.call('GET', `${path}/${name}`)).text) as object;
        return ask(api, 'PUT', `${path}/${name}?dryRun=All`, changed(stored, changes));
      });
      const [real, own] = await Promise.all(answers);
      expect.soft(own, title).toEqual(real);
    }
  });
});

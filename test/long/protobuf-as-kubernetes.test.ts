/** The bytes of answers in protobuf: a real API server and our encoder make the same ones of the same object, for generated objects of every kind. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { decodeProtobuf } from '../../core/apiserver/protobuf/decode.ts';
import { encodeProtobuf } from '../../core/apiserver/protobuf/encode.ts';
import { jsonText, parseJson } from '../../core/object/json.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { buildMsMax } from '../e2e/one-site.ts';
import { ApiCaller } from '../support/api-caller.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { baseObjects, createValidNamespace, kindOf, urlOf } from '../support/differential/answers.ts';
import { changed } from '../support/differential/wrong-objects.ts';

const missing = withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const protobuf = 'application/vnd.kubernetes.protobuf';
const runs = 1_000;
const waiting = { timeout: 20_000, interval: 100 };
const number = fc.nat(1_000_000);
const changes = fc.array(fc.tuple(number, number, number), { maxLength: 3 });

describe.skipIf(missing)(`protobuf as in Kubernetes${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-protobuf-'));
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

  /** Both forms of the answer to one request. Neither is stored, so both are made twice, with different identities. */
  async function compare(object: KubeObject): Promise<number> {
    const ask = (accept: string) => api.call('POST', `${urlOf(object)}?dryRun=All`, { body: object, accept });
    const [json, bytes] = await Promise.all([ask('application/json'), ask(protobuf)]);
    if (json.status !== bytes.status) return 0;
    const real = decodeProtobuf(bytes.bytes) as KubeObject;
    const ours = parseJson(json.status < 300 ? withIdentityOf(json.text, real) : json.text) as Record<string, unknown>;
    expect(encodeProtobuf(ours)?.toString('hex'), json.text).toBe(bytes.bytes.toString('hex'));
    return 1;
  }

  /** The two requests may be in different seconds, which the objects show. */
  const settled = (object: KubeObject) => vi.waitFor(() => compare(object), { timeout: 3_000, interval: 10 });

  it('every list has the same bytes, also of the objects that the server made itself', async () => {
    for (const object of baseObjects) {
      const path = urlOf(object).replace('/namespaces/valid', '');
      // An object may change between the two requests.
      await vi.waitFor(async () => {
        const [json, bytes] = [await api.call('GET', path), await api.call('GET', path, { accept: protobuf })];
        const ours = encodeProtobuf(parseJson(json.text) as Record<string, unknown>);
        expect(ours?.toString('hex'), path).toBe(bytes.bytes.toString('hex'));
      }, waiting);
    }
  });

  it(`${runs} generated objects and refusals have the same bytes`, async () => {
    let compared = 0;
    for (const object of baseObjects) compared += await settled(object);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...baseObjects), changes, async (object, all) => {
        const type = kindOf(object).schema(object.apiVersion.split('/').at(-1)!);
        compared += await settled(changed(object, type, all));
      }),
      { numRuns: runs, seed: 79 },
    );
    expect(compared).toBeGreaterThan(runs * 0.9);
  }, 1_200_000);
});

/** The JSON of an object with the values that the server makes anew for each request taken from another answer. */
function withIdentityOf(json: string, other: KubeObject): string {
  const own = JSON.parse(json) as KubeObject;
  const made = ({ metadata, spec }: KubeObject) => [
    metadata.uid,
    metadata.creationTimestamp,
    (spec as { clusterIP?: string } | undefined)?.clusterIP,
    /kube-api-access-\w+/.exec(jsonText(spec ?? {}))?.[0],
  ];
  const others = made(other);
  return made(own).reduce<string>(
    (text, value, i) => (value ? text.replaceAll(value, others[i] ?? value) : text),
    json,
  );
}

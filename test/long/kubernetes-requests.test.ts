/** Some 1,200 raw requests to a workload space and to a real API server: the same answers. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubectlBy } from '../e2e/local-tree.ts';
import { SpaceAndPlane } from '../e2e/space-and-plane.ts';
import { acceptedRequest, acceptedRequests } from '../support/accepted-answers.ts';
import { ApiCaller } from '../support/api-caller.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import {
  comparableAnswer,
  fixedRequests,
  type RawRequest,
  type Resource,
  requestsOf,
} from '../support/raw-requests.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';

describe.skipIf(missing)(`raw requests${why}`, () => {
  let servers: SpaceAndPlane;
  let callers: readonly ApiCaller[];
  const needed = new Set<RegExp>();

  beforeAll(async () => {
    servers = await SpaceAndPlane.start('requests');
    for (const kubeconfig of servers.kubeconfigs)
      expect(kubectlBy(kubeconfig, ['create', 'namespace', 'raw']).code).toBe(0);
    callers = servers.kubeconfigs.map((kubeconfig) => new ApiCaller(kubeconfig));
  }, 300_000);

  afterAll(async () => {
    for (const caller of callers ?? []) caller[Symbol.dispose]();
    await servers?.[Symbol.asyncDispose]();
  });

  /** The requests that both answer differently, with both answers. Without the accepted differences, which count as needed. */
  const differing = async (requests: readonly RawRequest[]) => {
    const found: object[] = [];
    for (const { method, path, ...options } of requests) {
      const asked = callers.map((caller) => caller.call(method, path, options).then(comparableAnswer));
      const [ours, theirs] = await Promise.all(asked);
      if (isDeepStrictEqual(ours, theirs)) continue;
      const accepted = acceptedRequest({ method, path, ...options });
      if (accepted) needed.add(accepted);
      else found.push({ method, path, ...options, ours, theirs });
    }
    return found;
  };

  it('about every resource of the real API server', async () => {
    const [, real] = servers.kubeconfigs;
    const { stdout } = kubectlBy(real, ['get', '--raw', '/apis']);
    const { groups } = JSON.parse(stdout) as { groups: { preferredVersion: { groupVersion: string } }[] };
    const versions = ['v1', ...groups.map(({ preferredVersion }) => preferredVersion.groupVersion)];
    const requests = versions.flatMap((apiVersion) => {
      const base = apiVersion === 'v1' ? '/api' : '/apis';
      const { stdout } = kubectlBy(real, ['get', '--raw', `${base}/${apiVersion}`]);
      const { resources } = JSON.parse(stdout) as { resources: Omit<Resource, 'apiVersion'>[] };
      const own = resources.filter(({ name, verbs }) => !name.includes('/') && verbs.includes('list'));
      return own.flatMap((resource) => requestsOf({ ...resource, apiVersion }));
    });
    expect(requests.length).toBeGreaterThan(700);
    expect(await differing(requests)).toEqual([]);
  }, 600_000);

  it('about an object, its list and the server', async () => {
    expect(await differing(fixedRequests)).toEqual([]);
  }, 600_000);

  it('need each accepted difference', () => {
    const patterns = acceptedRequests.flatMap(({ requests }) => requests);
    expect(patterns.filter((one) => !needed.has(one))).toEqual([]);
  });
});

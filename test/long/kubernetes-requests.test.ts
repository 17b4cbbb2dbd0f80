/** Some 1,200 raw requests to a workload space and to a real API server: the same answers. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { kubectlBy, LocalTree } from '../e2e/local-tree.ts';
import { acceptedRequests, isAcceptedRequest } from '../support/accepted-answers.ts';
import { ApiCaller } from '../support/api-caller.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { likeSpaces } from '../support/kubectl-session.ts';
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
  const directory = mkdtempSync(join(tmpdir(), 'banyan-requests-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  let plane: ControlPlane;
  let callers: readonly ApiCaller[];

  beforeAll(async () => {
    const spec = { center: { spaces: [{ name: 'requests', type: 'Workload' }] } };
    const topology = { apiVersion: 'banyan.io/v1alpha1', kind: 'Topology', metadata: { name: 'requests' }, spec };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
    const own = join(directory, 'space.kubeconfig');
    writeFileSync(own, tree.ok('space/center/requests', 'config', 'view', '--raw', '--minify', '--flatten'));
    plane = await ControlPlane.start({ directory: join(directory, 'plane'), ...likeSpaces });
    for (const kubeconfig of [own, plane.kubeconfig])
      expect(kubectlBy(kubeconfig, ['create', 'namespace', 'raw']).code).toBe(0);
    callers = [new ApiCaller(own), new ApiCaller(plane.kubeconfig)];
  }, 300_000);

  afterAll(async () => {
    for (const caller of callers ?? []) caller[Symbol.dispose]();
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  /** The requests that both answer differently, with both answers. */
  const differing = async (requests: readonly RawRequest[]) => {
    const found: object[] = [];
    for (const { method, path, ...options } of requests) {
      const asked = callers.map((caller) => caller.call(method, path, options).then(comparableAnswer));
      const [ours, theirs] = await Promise.all(asked);
      if (isDeepStrictEqual(ours, theirs) || isAcceptedRequest({ method, path, ...options })) continue;
      found.push({ method, path, ...options, ours, theirs });
    }
    return found;
  };

  it('about every resource of the real API server', async () => {
    const { stdout } = kubectlBy(plane.kubeconfig, ['get', '--raw', '/apis']);
    const { groups } = JSON.parse(stdout) as { groups: { preferredVersion: { groupVersion: string } }[] };
    const versions = ['v1', ...groups.map(({ preferredVersion }) => preferredVersion.groupVersion)];
    const requests = versions.flatMap((apiVersion) => {
      const base = apiVersion === 'v1' ? '/api' : '/apis';
      const { stdout } = kubectlBy(plane.kubeconfig, ['get', '--raw', `${base}/${apiVersion}`]);
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

  it('have a reason for each accepted difference', () => {
    for (const { reason } of acceptedRequests) expect(reason).not.toBe('');
  });
});

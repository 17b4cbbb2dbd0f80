import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutKubectl } from '../support/kubectl.ts';
import { fixture, LocalTree, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const deep = 'a:b:c:d:deep';

describe.skipIf(withoutKubectl)(`URLs of other nodes in a chain of five levels, one hop over WebSocket${why}`, () => {
  const tree = new LocalTree('test/e2e/streams-topology.yaml');
  const at = (node: string, url: string, ...args: string[]) => tree.kubectlAt(node, url, args);

  beforeAll(() => tree.up('--no-restart'));
  afterAll(() => tree[Symbol.asyncDispose]());

  it('lead to the cluster of an agent far below: discovery, writes and reads, by kubectl at the center', () => {
    const cluster = `/tree/${deep}/cluster`;
    const applied = at('center', cluster, 'apply', '-f', fixture('docs/examples/guestbook.yaml'), '--validate=false');
    // The cluster has no EdgePlacements: the rest is applied.
    expect(applied.out).toMatch(/deployment.apps\/frontend created/);
    expect(applied.out).toMatch(/no matches for kind "EdgePlacement"/);
    expect(at('center', cluster, 'rollout', 'status', 'deployment/frontend', '-n', 'guestbook').out).toMatch(
      /successfully rolled out/,
    );
    const pods = at('center', cluster, 'get', 'pods', '-n', 'guestbook', '-o', 'name').out;
    expect(pods).toBe(tree.ok(`cluster/${deep}`, 'get', 'pods', '-n', 'guestbook', '-o', 'name'));
    expect(pods.split('\n').length).toBeGreaterThan(2);
    expect(at('a:b', cluster, 'delete', 'deployment', 'frontend', '-n', 'guestbook').out).toMatch(/deleted/);
  });

  it('lead to the spaces and the system API of a relay below', () => {
    expect(at('center', '/tree/a:b:c', 'get', 'nodes.mesh.banyan.io', '-o', 'name').out).toBe(
      tree.ok('node/a:b:c', 'get', 'nodes.mesh.banyan.io', '-o', 'name'),
    );
    expect(at('a', '/tree/center/spaces/retail', 'get', 'namespaces').out).toMatch(/streams from below|Forbidden/);
  });

  it('have only the rights of the user whom the request impersonates', () => {
    for (const url of ['', `/tree/${deep}/cluster`]) {
      const { code, out } = at('center', url, '--as', 'alice', 'get', 'namespaces');
      expect(code).not.toBe(0);
      expect(out).toContain('User "alice" cannot list resource "namespaces"');
    }
  });

  it('name the missing hop', async () => {
    const version = (path: string) => tree.kubectl('node/center', ['get', '--raw', `/tree/${path}/cluster/version`]);
    expect(version('a:nope').out).toMatch(/\(NotFound\): a: there is no child a:nope/);
    expect(version('a:b:c').out).toMatch(/a:b:c: this node has no streams of the kind cluster/);
    expect(version(deep).out).toMatch(/"gitVersion":/);
    tree.kill('a:b:c');
    await until('it is known', () => version(deep).code !== 0);
    expect(version(deep).out).toMatch(/ServiceUnavailable.*a:b: .*a:b:c/);
  });
});

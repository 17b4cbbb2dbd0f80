import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { withoutKubectl } from '../support/kubectl.ts';
import { banyan, fixture, LocalTree, until } from './local-tree.ts';

const hasIpv6 = Object.values(networkInterfaces()).some((of) => of?.some(({ address }) => address === '::1'));
const lacking = withoutKubectl ?? (hasIpv6 ? undefined : 'this machine has no ::1');
const space = 'space/center/retail';

interface ReadyFile {
  nodes: { path: string; role: string; url: string; metricsUrl: string }[];
}

describe.skipIf(lacking)(`a tree that listens on ::1${lacking ? ` [not run: ${lacking}]` : ''}`, () => {
  const tree = new LocalTree('test/e2e/ipv6-topology.yaml');
  beforeAll(() => tree.up());
  afterAll(() => tree[Symbol.asyncDispose]());

  it('writes its addresses with brackets, in the ready file and in the kubeconfig', () => {
    const { nodes } = JSON.parse(readFileSync(join(tree.data, 'ready.json'), 'utf8')) as ReadyFile;
    const kubeconfig = parse(readFileSync(join(tree.data, 'kubeconfig'), 'utf8')) as {
      clusters: { name: string; cluster: { server: string } }[];
    };
    for (const { url, metricsUrl } of nodes.filter(({ role }) => role !== 'agent')) {
      expect(url).toMatch(/^https:\/\/\[::1\]:\d+$/);
      expect(metricsUrl).toBe(`${url}/metrics`);
      const servers = kubeconfig.clusters.filter(({ cluster }) => cluster.server.startsWith(`${url}/spaces/`));
      expect(servers).not.toEqual([]);
    }
  });

  it('serves stock kubectl, and children that join over both transports', async () => {
    tree.ok(space, 'apply', '-f', fixture('docs/examples/guestbook.yaml'));
    tree.ok(space, 'wait', 'epl/guestbook', '--for=condition=Ready', '--timeout=60s');
    expect(tree.ok(space, 'get', 'epl', 'guestbook')).toContain('available 2/2');
    await until('both transports carry a session', () => {
      const { out } = banyan('tree', '-o', 'wide', '--data', tree.data);
      return /eu +Relay +Connected +websocket /.test(out) && /mitte +Agent +Connected +grpc /.test(out);
    });
  });

  it('logs the addresses of nodes with brackets', () => {
    expect(readFileSync(join(tree.data, 'logs/center.log'), 'utf8')).toMatch(/\[::1\]:\d+/);
    expect(readFileSync(join(tree.data, 'logs/center.log'), 'utf8')).not.toMatch(/[^[]::1:\d+/);
  });
});

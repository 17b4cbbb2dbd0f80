/** The page docs/operations/audit.md: its policy in a tree of three levels, and one id for the events of a request at both ends. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import type { AuditEvent } from '../../core/audit/event.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { LocalTree } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const page = readFileSync('docs/operations/audit.md', 'utf8');
const [policy = '', spec = ''] = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text!);

describe.skipIf(withoutKubectl)(`the audit log${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-audit-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const file = (node: string) => join(tree.data, 'logs', `${node}-audit.log`);
  const eventsAt = (node: string) =>
    readFileSync(file(node), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as AuditEvent);
  const eventAt = (node: string, fits: (event: AuditEvent) => boolean) =>
    vi.waitFor(() => {
      const found = eventsAt(node).find(fits);
      expect(found).toBeDefined();
      return found!;
    });
  const shop = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

  beforeAll(async () => {
    writeFileSync(join(directory, 'audit-policy.yaml'), policy);
    const ofPage = (parse(spec) as { spec: { center: object } }).spec;
    const center = { ...ofPage.center, spaces: [{ name: 'retail' }] };
    const head = { apiVersion: 'banyan.io/v1alpha1', kind: 'Topology', metadata: { name: 'audit' } };
    writeFileSync(join(directory, 'topology.yaml'), stringify({ ...head, spec: { ...ofPage, center } }));
    await tree.up();
  });
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('has a change in a space, with its body and place, in a file that only the owner may read', async () => {
    expect(tree.apply('space/center/retail', shop('shop')).code).toBe(0);
    const event = await eventAt(
      'center',
      ({ verb, objectRef }) => verb === 'create' && objectRef?.resource === 'namespaces',
    );
    expect(event).toMatchObject({
      level: 'Request',
      user: { username: 'admin' },
      requestObject: { metadata: { name: 'shop' } },
      annotations: { 'banyan.io/place': 'space/retail', 'authorization.k8s.io/decision': 'allow' },
    });
    expect(statSync(file('center')).mode & 0o777).toBe(0o600);
  });

  it('never has the content of a Secret', async () => {
    const metadata = { name: 'till', namespace: 'shop' };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { pin: 'four-seven-one-one' } };
    expect(tree.apply('space/center/retail', secret).code).toBe(0);
    await eventAt('center', ({ verb, objectRef }) => verb === 'create' && objectRef?.resource === 'secrets');
    expect(readFileSync(file('center'), 'utf8')).not.toMatch(/four-seven|Zm91ci1zZXZlbi1vbmUtb25l/);
  });

  it('has one id at the center and at the cluster, for a request over two hops', async () => {
    const url = '/tree/eu:rivoli/cluster/api/v1/namespaces';
    const own = tree.kubectl('node/center', ['get', '--raw', url]);
    expect(own.code, own.out).toBe(0);
    const asked = await eventAt('center', ({ requestURI }) => requestURI === url);
    expect(asked).toMatchObject({ verb: 'list', annotations: { 'banyan.io/place': 'cluster/eu:rivoli' } });
    const answered = await eventAt('eu.rivoli', ({ auditID }) => auditID === asked.auditID);
    expect(answered).toMatchObject({
      requestURI: '/api/v1/namespaces',
      user: { username: 'center:admin' },
      responseStatus: { code: 200 },
    });
  });

  it('has a refusal, with the user as whom the request acts', async () => {
    const { out } = tree.kubectl('node/center', ['get', 'secrets', '-A', '--as', 'eve']);
    expect(out).toContain('Forbidden');
    const event = await eventAt(
      'center',
      ({ impersonatedUser, objectRef }) => impersonatedUser?.username === 'eve' && objectRef?.resource === 'secrets',
    );
    expect(event).toMatchObject({
      user: { username: 'admin' },
      responseStatus: { code: 403, reason: 'Forbidden' },
      annotations: { 'authorization.k8s.io/decision': 'forbid' },
    });
  });

  it('counts no lost event', () => {
    expect(tree.ok('node/center', 'get', '--raw', '/metrics')).toMatch(/^banyan_audit_lost_events_total 0$/m);
  });
});

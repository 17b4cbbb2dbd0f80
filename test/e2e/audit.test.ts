/** The page docs/operations/audit.md: its policy in a tree of three levels, and one id for the events of a request at both ends. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import type { AuditEvent } from '../../core/audit/event.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { banyan, kubectlBy, LocalTree } from './local-tree.ts';
import { grant, People } from './people.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const page = readFileSync('docs/operations/audit.md', 'utf8');
const [policy = '', spec = ''] = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text!);

describe.skipIf(withoutKubectl)(`the audit log${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-audit-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const people = new People(tree, directory);
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

  it("has a day's work of one person, each request under one id at the center and at the cluster", async () => {
    people.add('dora', '--group', 'ops');
    const ops = grant('ops', { kind: 'Group', name: 'ops' }, 'edit', { subtree: { path: 'eu:rivoli' } });
    expect(tree.apply('node/center', ops).code).toBe(0);
    const cluster = '/tree/eu:rivoli/cluster';
    const [, , , , , url = ''] = tree.kubectlArgs('center', cluster);
    const as = (...args: string[]) =>
      kubectlBy(people.fileOf('dora'), ['--context', 'node/center', '-s', url, ...args]);
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'till' },
      spec: { containers: [{ name: 'c', image: 'till:1' }] },
    };
    const file = join(directory, 'pod.json');
    writeFileSync(file, JSON.stringify(pod));
    expect(as('create', '-n', 'default', '-f', file).out).toContain('pod/till created');
    expect(as('get', 'pod', 'till', '-n', 'default').code).toBe(0);
    as('exec', 'till', '-n', 'default', '--', 'ls');
    as('delete', 'pod', 'till', '-n', 'default', '--wait=false');
    expect(as('create', 'clusterrole', 'own', '--verb=*', '--resource=*').out).toContain('User "dora" cannot create');
    expect(as('get', 'pods', '--as', 'admin').out).toContain('cannot impersonate');

    const pods = '/api/v1/namespaces/default/pods';
    // kubectl begins an exec with GET or with POST, by its version. An embedded cluster runs no containers, and refuses it.
    const work: readonly (readonly [verb: string | undefined, path: string, subresource?: string])[] = [
      ['create', pods],
      ['get', `${pods}/till`],
      [undefined, `${pods}/till/exec`, 'exec'],
      ['delete', `${pods}/till`],
    ];
    for (const [verb, path, subresource] of work) {
      const isIt = ({ requestURI, verb: of, stage }: AuditEvent) =>
        of === (verb ?? of) && requestURI.split('?')[0] === path && stage === 'ResponseComplete';
      const asked = await eventAt('center', (event) =>
        isIt({ ...event, requestURI: event.requestURI.replace(cluster, '') }),
      );
      const done = await eventAt('eu.rivoli', (event) => event.auditID === asked.auditID && isIt(event));
      expect([asked.user.username, done.user.username]).toEqual(['dora', 'center:dora']);
      expect(done.responseStatus?.code).toBe(asked.responseStatus?.code);
      expect(done.objectRef).toMatchObject({ resource: 'pods', ...(subresource ? { subresource } : {}) });
    }
    const refused = await eventAt(
      'center',
      ({ user, objectRef }) => user.username === 'dora' && objectRef?.resource === 'clusterroles',
    );
    expect(refused).toMatchObject({ verb: 'create', responseStatus: { code: 403 } });
    const acting = await eventAt(
      'center',
      ({ user, responseStatus, requestURI }) =>
        user.username === 'dora' && responseStatus?.code === 403 && !requestURI.includes('clusterroles'),
    );
    expect(acting.responseStatus?.message).toContain('cannot impersonate');
    expect(eventsAt('eu.rivoli').filter(({ auditID }) => [refused.auditID, acting.auditID].includes(auditID))).toEqual(
      [],
    );
  });

  it('has no body with a Secret that somebody plans, and no part of one that is malformed', async () => {
    const [secret, url] = ['four-seven-one-two', '/spaces/retail/api/v1/namespaces/shop/secrets'];
    const metadata = { name: 'planned', namespace: 'shop' };
    const file = join(directory, 'secret.json');
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { pin: secret } }));
    const planned = banyan('plan', '-f', file, '--space', 'space/center/retail', '--data', tree.data);
    expect(planned.code, planned.out).toBe(0);
    const event = await eventAt('center', ({ objectRef }) => objectRef?.subresource === 'plan');
    expect(event.annotations?.['banyan.io/request-body-cut']).toBe('may have the content of a Secret or a token');
    writeFileSync(file, `{"apiVersion":"v1","kind":"Secret","stringData":{"pin":${secret}}}`);
    expect(tree.kubectl('node/center', ['create', '--raw', url, '-f', file]).code).not.toBe(0);
    await eventAt('center', ({ requestURI, responseStatus }) => requestURI === url && responseStatus?.code === 400);
    expect(readFileSync(join(tree.data, 'logs/center-audit.log'), 'utf8')).not.toMatch(
      /four-seven|Zm91ci1zZXZlbi1vbmUt/,
    );
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

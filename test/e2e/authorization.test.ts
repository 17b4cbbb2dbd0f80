/** The authorization matrix: each caller sends each request of test/support/authorization-rows.ts, and every answer is as expected. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { issueUser, type KeyAndCertificate } from '../../core/identity/authority.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import {
  type AuthorizationRow,
  authorizationRows,
  type CallerName,
  callers,
  expectedCell,
  type StrangerName,
  strangers,
} from '../support/authorization-rows.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { banyan, LocalTree, untilAnswered } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const center = 'node/center';
const rbac = 'rbac.authorization.k8s.io';
/** Headers by which a proxy could name a user. No node of the tree has such a proxy. */
const identityHeaders = {
  'x-remote-user': 'admin',
  'x-remote-group': 'system:masters',
  'x-remote-uid': '1',
  'x-remote-extra-scope': 'all',
  'x-forwarded-for': '127.0.0.1',
  'x-forwarded-user': 'admin',
  'x-forwarded-groups': 'system:masters',
  'x-forwarded-client-cert': 'Subject="O=system:masters,CN=admin"',
  'ssl-client-subject-dn': 'O=system:masters,CN=admin',
};
const names = [...Object.keys(callers), ...Object.keys(strangers)] as (CallerName | StrangerName)[];

describe.skipIf(withoutKubectl)(`who may do what${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-authorization-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const agents = new Map<CallerName | StrangerName, Agent>();
  let token = '';
  let urls: Record<AuthorizationRow['at'], string>;

  const apply = (context: string, ...items: object[]) => {
    const { code, out } = tree.apply(context, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };
  const grant = (user: string, role: string, scope: object) => ({
    apiVersion: 'mesh.banyan.io/v1alpha1',
    kind: 'AccessGrant',
    metadata: { name: user.replaceAll(':', '-') },
    spec: { subjects: [{ kind: 'User', name: user }], roleRef: { kind: 'ClusterRole', name: role }, scope },
  });
  const binding = (kind: 'ClusterRoleBinding' | 'RoleBinding', user: string, role: string, namespace?: string) => ({
    apiVersion: `${rbac}/v1`,
    kind,
    metadata: { name: user, ...(namespace ? { namespace } : {}) },
    subjects: [{ apiGroup: rbac, kind: 'User', name: user }],
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
  });
  const pki = (name: string) => readFileSync(join(tree.data, 'pki', name), 'utf8');
  const identify = (caller: CallerName | StrangerName, identity?: KeyAndCertificate) =>
    agents.set(
      caller,
      new Agent({
        keepAlive: true,
        ca: pki('ca.crt'),
        ...(identity ? { cert: identity.certPem, key: identity.keyPem } : {}),
      }),
    );
  const userOf = (name: string): KeyAndCertificate => {
    const { code, stdout, out } = banyan('user', 'add', name, '--data', tree.data);
    expect(code, out).toBe(0);
    const [{ user }] = (parse(stdout) as { users: [{ user: Record<string, string> }] }).users;
    const decoded = (field: string) => Buffer.from(user[field]!, 'base64').toString();
    return { certPem: decoded('client-certificate-data'), keyPem: decoded('client-key-data') };
  };

  beforeAll(async () => {
    const topology = {
      apiVersion: 'banyan.io/v1alpha1',
      kind: 'Topology',
      metadata: { name: 'authorization' },
      spec: {
        center: { spaces: [{ name: 'retail' }, { name: 'ops' }] },
        relays: [{ name: 'eu', access: { fromAbove: 'grants' }, spaces: [{ name: 'local' }] }],
        clusters: [{ name: 'rivoli', parent: 'eu', labels: { env: 'prod' }, access: { fromAbove: 'grants' } }],
      },
    };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
    urls = serversOf(join(tree.data, 'kubeconfig'));
    const shop = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
    const desk = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'desk' } };
    apply('space/center/retail', shop, desk);
    apply('cluster/eu:rivoli', shop, binding('RoleBinding', 'site', 'edit', 'shop'));
    apply(
      center,
      grant('reader', 'view', { space: { name: 'retail' } }),
      grant('editor', 'edit', { space: { name: 'retail', namespaces: ['shop'] } }),
      grant('other', 'admin', { space: { name: 'ops' } }),
      {
        apiVersion: `${rbac}/v1`,
        kind: 'ClusterRole',
        metadata: { name: 'acting' },
        rules: [{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'], resourceNames: ['reader'] }],
      },
      binding('ClusterRoleBinding', 'acting', 'acting'),
    );
    apply(
      'node/eu',
      grant('regional', 'cluster-admin', { subtree: { path: 'eu' } }),
      grant('center:admin', 'view', { subtree: { path: 'eu' } }),
    );
    apply('cluster/eu:rivoli', binding('ClusterRoleBinding', 'center:admin', 'view'));
    identify('anonymous');
    identify('robot');
    tree.ok(center, 'create', 'serviceaccount', 'robot', '-n', 'default');
    apply(center, {
      ...grant('robot', 'view', { space: { name: 'retail' } }),
      spec: {
        subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace: 'default' }],
        roleRef: { kind: 'ClusterRole', name: 'view' },
        scope: { space: { name: 'retail' } },
      },
    });
    token = tree.ok(center, 'create', 'token', 'robot', '-n', 'default').trim();
    for (const name of Object.keys(callers) as CallerName[])
      if (name !== 'admin' && name !== 'robot') identify(name, userOf(name));
    identify('admin', { certPem: pki('user-admin.crt'), keyPem: pki('user-admin.key') });
    identify('agent', { certPem: pki('eu.rivoli.crt'), keyPem: pki('eu.rivoli.key') });
    identify('relay', { certPem: pki('eu.crt'), keyPem: pki('eu.key') });
    identify('headers');
    const authority = (name: string) => ({ certPem: pki(`${name}.crt`), keyPem: pki(`${name}.key`) });
    const issuing = { clock: systemClock, random: systemRandom };
    const master = { name: 'reader', groups: ['system:masters'] };
    identify('expired', await issueUser(authority('users_ca'), master, issuing, 1_000));
    identify('former', await issueUser(authority('ca'), master, issuing));
    identify('revoked', userOf('leaver'));
    await untilAnswered('the leaver is known', () =>
      send('revoked', version('eu:rivoli')).then((status) => status === 200),
    );
    expect(banyan('user', 'revoke', 'leaver', '--data', tree.data).code).toBe(0);
    await untilAnswered('the leaver is refused', () =>
      send('revoked', version('eu:rivoli')).then((status) => status === 401),
    );
    await delay(2_000);
  });
  afterAll(async () => {
    for (const agent of agents.values()) agent.destroy();
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  /** The HTTP status of the answer. */
  function send(caller: CallerName | StrangerName, { at, method, url }: Omit<AuthorizationRow, 'allowed'>) {
    const path = url.replace(/^\/tree\/([^/]+)/, (_, node: string) => `/tree/${encodeURIComponent(node)}`);
    const headers = {
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      ...(caller === 'robot' ? { authorization: `Bearer ${token}` } : {}),
      ...(caller === 'headers' ? identityHeaders : {}),
      ...(caller === 'acting' && at === 'center' ? { 'impersonate-user': 'reader' } : {}),
    };
    return new Promise<number>((resolve, reject) => {
      const asked = request(`${urls[at]}${path}`, { method, headers, agent: agents.get(caller)! }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      });
      asked.on('error', reject);
      asked.end(method === 'GET' || method === 'DELETE' ? undefined : JSON.stringify(bodyFor(url)));
    });
  }

  it.each(names)('%s', async (caller) => {
    const seen: string[] = [];
    const expected: string[] = [];
    for (const row of authorizationRows) {
      const status = await send(caller, row);
      expect(status, `${row.at} ${row.url}`).toBeLessThan(600);
      const cell = status === 401 || status === 403 ? { 401: '401', 403: 'no' }[status] : 'yes';
      seen.push(`${row.at} ${row.method} ${row.url}: ${cell}${cell === 'yes' && status >= 500 ? ` (${status})` : ''}`);
      expected.push(`${row.at} ${row.method} ${row.url}: ${expectedCell(row, caller)}`);
    }
    expect(seen).toEqual(expected);
  });
});

function version(at: AuthorizationRow['at']) {
  return { at, method: 'GET', url: '/version' } as const;
}

function serversOf(kubeconfig: string): Record<AuthorizationRow['at'], string> {
  const { clusters, contexts } = parse(readFileSync(kubeconfig, 'utf8')) as {
    clusters: { name: string; cluster: { server: string } }[];
    contexts: { name: string; context: { cluster: string } }[];
  };
  const serverOf = (name: string) => {
    const { cluster } = contexts.find((context) => context.name === name)!.context;
    return clusters.find((one) => one.name === cluster)!.cluster.server;
  };
  return { center: serverOf(center), eu: serverOf('node/eu'), 'eu:rivoli': serverOf('cluster/eu:rivoli') };
}

/** An object that the URL may take. */
function bodyFor(url: string): object {
  const [path = ''] = url.split('?');
  const resource = path.slice(path.lastIndexOf('/') + 1);
  const metadata = { name: 'matrix' };
  const mesh = { apiVersion: 'mesh.banyan.io/v1alpha1', metadata };
  const subject = { kind: 'User', name: 'x', apiGroup: rbac };
  const roleRef = { kind: 'ClusterRole', name: 'view', apiGroup: rbac };
  const bodies: Record<string, object> = {
    configmaps: { apiVersion: 'v1', kind: 'ConfigMap', metadata },
    namespaces: { apiVersion: 'v1', kind: 'Namespace', metadata },
    roles: { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules: [] },
    clusterroles: { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata, rules: [] },
    clusterrolebindings: {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata,
      subjects: [subject],
      roleRef,
    },
    accessgrants: {
      ...mesh,
      kind: 'AccessGrant',
      spec: { subjects: [subject], roleRef, scope: { subtree: { path: 'eu' } } },
    },
    revocations: { ...mesh, kind: 'Revocation', spec: { user: 'x' } },
    selfsubjectaccessreviews: { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } },
    subjectaccessreviews: { spec: { user: 'x', resourceAttributes: { verb: 'get', resource: 'pods' } } },
  };
  return bodies[resource] ?? {};
}

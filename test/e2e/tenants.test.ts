/** The page docs/operations/tenants.md, with two hostile tenants: each tries to take, to read and to fill what belongs to the other, with stock kubectl. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { withoutKubectl } from '../support/kubectl.ts';
import { banyan, kubectlBy, LocalTree, until } from './local-tree.ts';
import { grant, People } from './people.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const page = readFileSync('docs/operations/tenants.md', 'utf8');
const [spec = ''] = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text!);
const commands = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, text]) => text!.trim().split('\n'));
/** A command of the page that has this text. */
const onPage = (part: string) => commands.find((one) => one.includes(part))!;

const site = 'cluster/eu:rivoli';
type Tenant = 'tills' | 'signs';
const owners: Record<Tenant, string> = { tills: 'tess', signs: 'sid' };

describe.skipIf(withoutKubectl)(`two hostile tenants${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-tenants-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const people = new People(tree, directory);
  const configOf = (tenant: Tenant) => people.fileOf(owners[tenant]);
  const kubectl = (tenant: Tenant, args: readonly string[], input?: object) =>
    kubectlBy(configOf(tenant), args, input && JSON.stringify(input));
  const as = (tenant: Tenant, ...args: string[]) => kubectl(tenant, ['--context', `space/center/${tenant}`, ...args]);
  const apply = (tenant: Tenant, ...items: object[]) =>
    kubectl(tenant, ['--context', `space/center/${tenant}`, 'apply', '-f', '-'], {
      apiVersion: 'v1',
      kind: 'List',
      items,
    });
  const ok = (ran: { code: number; out: string }) => {
    expect(ran.code, ran.out).toBe(0);
    return ran.out;
  };
  const refused = (ran: { code: number; out: string }, ...parts: string[]) => {
    expect(ran.code, ran.out).not.toBe(0);
    for (const part of parts) expect(ran.out).toContain(part);
  };
  const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const map = (ns: string, name: string, data: Record<string, string>) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: ns },
    data,
  });
  const placement = (name: string, more: object) => ({
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name },
    spec: { locationSelectors: [{ matchLabels: { region: 'eu' } }], ...more },
  });
  const all = { downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['*'] }] };
  const atSite = (ns: string, name: string) => tree.json<{ data: object }>(site, 'configmap', name, '-n', ns)?.data;
  const placed = (tenant: Tenant, name: string) =>
    tree.json<{ status?: { failures?: { object: string; reason: string; message: string }[] } }>(
      `space/center/${tenant}`,
      'epl',
      name,
    )?.status;
  /** What a command of the page prints, run by those who run the tree. */
  const ran = (part: string) => {
    const [, context, rest] = /^kubectl --context (\S+) (.*)$/.exec(onPage(part))!;
    const args = [...rest!.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''));
    return ok(tree.kubectl(context!, args));
  };

  beforeAll(async () => {
    const head = { apiVersion: 'banyan.io/v1alpha1', kind: 'Topology', metadata: { name: 'tenants' } };
    writeFileSync(join(directory, 'topology.yaml'), stringify({ ...head, ...(parse(spec) as object) }));
    await tree.up();
    for (const [space, user] of Object.entries(owners)) {
      people.add(user);
      const own = grant(user, { kind: 'User', name: user }, 'cluster-admin', { space: { name: space } });
      expect(tree.apply('node/center', own).code).toBe(0);
    }
    ok(
      apply(
        'tills',
        namespace('till-1'),
        namespace('till-2'),
        map('till-1', 'a', { of: 'tills' }),
        map('till-2', 'b', { of: 'tills' }),
      ),
    );
    ok(apply('tills', placement('tills', { ...all, priority: 1 })));
    ok(apply('signs', namespace('sign-1'), map('sign-1', 'a', { of: 'signs' }), placement('signs', all)));
    await until('both are delivered', () =>
      [atSite('till-1', 'a'), atSite('till-2', 'b'), atSite('sign-1', 'a')].every((one) => one),
    );
  });
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('cannot take a namespace or an object of the other', () => {
    refused(
      apply('signs', namespace('till-1')),
      'Forbidden',
      'namespaces "till-1" is forbidden: the Space signs delivers only into namespaces sign-*, kiosk-*, shared (spec.delivery.namespaces)',
    );
    refused(as('signs', 'create', 'namespace', 'kube-system-2'), 'Forbidden');
    const theirs = placement('theft', { downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['till-1'] }] });
    refused(apply('signs', theirs), 'spec.downsync[0].namespaces[0]: Invalid value: "till-1"');
    expect(atSite('till-1', 'a')).toEqual({ of: 'tills' });
  });

  it('cannot go outside of their Locations, nor above their priority', () => {
    const everywhere = { ...all, locationSelectors: [{ matchLabels: { env: 'prod' } }] };
    refused(
      apply('signs', placement('far', everywhere)),
      'spec.locationSelectors[0]',
      'region in (eu)',
      'spec.delivery.locationSelector',
    );
    refused(apply('signs', placement('loud', { ...all, priority: 1 })), 'spec.priority: Invalid value: 1');
    expect(tree.json('cluster/hq', 'namespace', 'sign-1')).toBeUndefined();
  });

  it('cannot bring cluster-scoped objects', () => {
    const role = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'take-all' },
      rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
    };
    refused(
      apply('tills', role),
      'clusterroles.rbac.authorization.k8s.io "take-all" is forbidden',
      'spec.delivery.clusterScoped',
    );
    refused(
      apply('tills', placement('roles', { downsync: [{ apiGroup: '*', resources: ['clusterroles'] }] })),
      'spec.downsync[0].resources[0]',
    );
  });

  it('cannot read back what belongs to the other, nor Secrets', () => {
    const reads = (resources: string[], namespaces?: string[]) =>
      placement('reads', {
        upsync: [{ apiGroup: '', resources, ...(namespaces ? { namespaces } : {}), returnTo: 'Center' }],
      });
    refused(apply('tills', reads(['configmaps'], ['sign-1'])), 'spec.upsync[0].namespaces: Invalid value: ["sign-1"]');
    refused(apply('tills', reads(['configmaps'])), 'spec.upsync[0].namespaces');
    refused(apply('tills', reads(['secrets'], ['till-1'])), 'spec.upsync[0].resources: Invalid value: ["secrets"]');
    ok(apply('tills', reads(['configmaps'], ['till-3'])));
  });

  it.each([
    'space/center/tills',
    'fleet/center/tills',
    'mailbox/eu',
    'mailbox/eu:rivoli',
    'space/eu/center.tills',
    'cluster/eu:rivoli',
  ])('cannot read at %s', (context) => {
    for (const what of ['configmaps', 'epl', 'events']) {
      const { code, out } = kubectl('signs', ['--context', context, 'get', what, '-A']);
      expect([context, what, code]).toEqual([context, what, 1]);
      expect(out).not.toContain('till-1');
    }
  });

  it.each(['spaces', 'synctargets', 'nodes.mesh.banyan.io', 'mailboxes', 'events', 'accessgrants'])(
    'cannot read %s of a node',
    (what) => {
      for (const node of ['center', 'eu']) {
        refused(kubectl('signs', ['--context', `node/${node}`, 'get', what, '-A']), 'orbidden');
        refused(kubectl('signs', ['--context', `node/${node}`, 'get', '--raw', '/metrics']), 'orbidden');
      }
    },
  );

  it('cannot change the bounds of their own space', () => {
    refused(
      kubectl('signs', [
        '--context',
        'node/center',
        'patch',
        'space',
        'signs',
        '--type=merge',
        '-p',
        '{"spec":{"delivery":null}}',
      ]),
      'orbidden',
    );
  });

  it('cannot exceed the limits of their space, and cannot hinder the other by trying', async () => {
    const limit = (limits: object) =>
      ok(
        tree.kubectl('node/center', [
          ...['patch', 'space', 'tills', '--type=merge', '-p'],
          JSON.stringify({ spec: { limits } }),
        ]),
      );
    limit({ objects: 1 });
    refused(
      apply('tills', map('till-1', 'filler', {})),
      'configmaps "filler" is forbidden: exceeded quota: Space tills (spec.limits.objects), requested: objects=1, used: objects=',
      'limited: objects=1',
    );
    expect(atSite('till-1', 'a')).toEqual({ of: 'tills' });
    ok(apply('signs', map('sign-1', 'meanwhile', {})));
    limit({ objects: 200 });
    ok(apply('tills', map('till-1', 'filler', {})));
    // The node writes slices and Events beside the objects of the tenant.
    const count = () => (JSON.parse(ran('.status.usage')) as { objects: number }).objects;
    await until('the status shows the objects of the tenant', () => count() >= 8 && count() < 100);
    ok(as('tills', 'delete', 'configmap', '-n', 'till-1', 'filler'));
    limit({ requestsPerSecond: 2, watches: 0 });
    const url = '/spaces/tills/api/v1/configmaps';
    const answers = await Promise.all(Array.from({ length: 20 }, () => get('tills', url)));
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
    const tooMany = answers.find(({ status }) => status === 429)!;
    expect(tooMany).toMatchObject({
      retryAfter: '1',
      body: expect.stringContaining('the Space tills allows 2 requests per second (spec.limits.requestsPerSecond)'),
    });
    expect((await get('signs', '/spaces/signs/api/v1/configmaps')).status).toBe(200);
    limit({ requestsPerSecond: null });
    expect(await get('tills', `${url}?watch=true`)).toMatchObject({
      status: 429,
      body: expect.stringContaining('spec.limits.watches'),
    });
    limit({ watches: null });
  });

  it('learn nothing about the other from a conflict, and those who run the site see both', async () => {
    ok(apply('tills', namespace('shared'), map('shared', 'motd', { of: 'tills' })));
    await until('the first has it', () => atSite('shared', 'motd') !== undefined);
    ok(apply('signs', namespace('shared'), map('shared', 'motd', { of: 'signs' })));
    await until(
      'the loser reads it',
      () => placed('signs', 'signs')?.failures?.some(({ reason }) => reason === 'Conflicted') ?? false,
    );
    expect(atSite('shared', 'motd')).toEqual({ of: 'tills' });
    const seen = [
      ['get', 'epl', '-o', 'yaml'],
      ['get', 'events', '-A', '-o', 'yaml'],
      ['get', 'all,cm', '-A', '-o', 'yaml'],
    ]
      .map((args) => ok(as('signs', ...args)))
      .join('\n');
    const copies = ok(kubectl('signs', ['--context', 'fleet/center/signs', 'get', 'cm', '-A', '-o', 'yaml']));
    expect(seen).toContain('another source delivers the same object and has precedence');
    for (const text of [seen, copies]) expect(text).not.toMatch(/tills?\b|till-1|tess/);
    await until('the site sees it', () =>
      ran('SourceConflict').includes(
        'EdgePlacement tills of center.tills delivers it, and not EdgePlacement signs of center.signs',
      ),
    );
    const why = (...from: string[]) => {
      const [, ...args] = onPage('why configmap/motd').split(' -- ')[1]!.split(' ');
      return ok(banyan(...args, ...from));
    };
    const asLoser = ['--kubeconfig', configOf('signs')];
    const winner = 'EdgePlacement tills of center.tills delivers it, and not EdgePlacement signs of center.signs';
    expect(why(...asLoser)).toContain('is in no space that you may read');
    expect(why(...asLoser)).not.toMatch(/tills?\b/);
    expect(why('--data', tree.data)).toContain(winner);
    const reads = grant('neighbour', { kind: 'User', name: owners.signs }, 'view', { space: { name: 'tills' } });
    expect(tree.apply('node/center', reads).code).toBe(0);
    expect(why(...asLoser)).toContain(`${winner}: its placement has a higher priority`);
    ok(tree.kubectl('node/center', ['delete', 'accessgrant', 'neighbour']));
    ok(as('signs', 'delete', 'cm', 'motd', '-n', 'shared'));
  });

  it('bring nothing that the site does not accept, though their space allows it', async () => {
    ok(apply('signs', namespace('kiosk-1'), map('kiosk-1', 'menu', {})));
    ok(
      apply(
        'signs',
        placement('kiosks', { downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['kiosk-1'] }] }),
      ),
    );
    await until(
      'the refusal is reported',
      () => placed('signs', 'kiosks')?.failures?.some(({ reason }) => reason === 'NotAccepted') ?? false,
    );
    expect(ran('get epl kiosks')).toContain(
      'the site eu:rivoli does not accept this object in namespace kiosk-1 from center.signs: accept[1] allows all kinds in namespaces sign-*, shared',
    );
    const [, ...args] = onPage('banyan why').split(' -- ')[1]!.split(' ');
    const { code, out } = banyan(...args, '--data', tree.data);
    expect(code, out).toBe(0);
    expect(out).toContain('the site eu:rivoli does not accept');
    await until('the SyncTarget has it', () => ran('SourceNotAccepted').includes('kiosk-1'));
    expect(tree.json(site, 'namespace', 'kiosk-1')).toBeUndefined();
  });

  it('read that a rule of upsync takes nothing because the site rules it out', async () => {
    const upsync = [{ apiGroup: '', resources: ['configmaps'], namespaces: ['sign-1', 'kiosk-2'] }];
    ok(apply('signs', placement('meters', { upsync })));
    await until('the refusal is reported', () =>
      (placed('signs', 'meters')?.failures ?? []).some(({ reason }) => reason === 'NotAccepted'),
    );
    expect(placed('signs', 'meters')!.failures).toEqual([
      expect.objectContaining({
        object: 'spec.upsync',
        message: expect.stringContaining(
          'the site eu:rivoli does not accept that rules of upsync take configmaps in namespace kiosk-2 for center.signs',
        ),
      }),
    ]);
    await until('the SyncTarget has it', () =>
      ran('SourceNotAccepted').includes('configmaps in namespace kiosk-2 for center.signs/meters'),
    );
    ok(as('signs', 'delete', 'epl', 'meters'));
  });

  it('lose at the clusters what their space may no longer deliver, and nothing else', async () => {
    ran('patch space tills');
    await until('it is withdrawn', () => atSite('till-1', 'a') === undefined);
    expect(atSite('till-2', 'b')).toEqual({ of: 'tills' });
    expect(atSite('shared', 'motd')).toEqual({ of: 'tills' });
    expect(atSite('sign-1', 'a')).toEqual({ of: 'signs' });
    expect(ok(as('tills', 'get', 'cm', 'a', '-n', 'till-1', '-o', 'name'))).toContain('configmap/a');
    ok(
      tree.kubectl('node/center', [
        'patch',
        'space',
        'tills',
        '--type=merge',
        '-p',
        '{"spec":{"delivery":{"namespaces":["till-*","shared"]}}}',
      ]),
    );
    await until('it comes back', () => atSite('till-1', 'a') !== undefined);
  });

  interface Answer {
    readonly status: number;
    readonly retryAfter: string | undefined;
    readonly body: string;
  }

  /** A request with the certificate of the tenant, without the retries of kubectl. */
  function get(tenant: Tenant, path: string): Promise<Answer> {
    const { clusters, users } = parse(readFileSync(configOf(tenant), 'utf8')) as {
      clusters: { cluster: { server: string; 'certificate-authority-data': string } }[];
      users: { user: Record<string, string> }[];
    };
    const decoded = (text: string) => Buffer.from(text, 'base64').toString();
    const { user } = users[0]!;
    const { cluster } = clusters.find(({ cluster: { server } }) => server.endsWith(`/spaces/${tenant}`))!;
    const url = new URL(path, cluster.server);
    const options = {
      ca: decoded(cluster['certificate-authority-data']),
      cert: decoded(user['client-certificate-data']!),
      key: decoded(user['client-key-data']!),
      agent: false as const,
    };
    return new Promise((resolve, reject) => {
      const asked = request(url, options, (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => {
          body += chunk;
        });
        response.on('end', () =>
          resolve({ status: response.statusCode!, retryAfter: response.headers['retry-after'], body }),
        );
      });
      asked.on('error', reject);
      asked.end();
    });
  }
});

/** The page docs/operations/tenants.md, with two hostile tenants: each tries to take, to read and to fill what belongs to the other, with stock kubectl. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutKubectl } from '../support/kubectl.ts';
import { attempts } from './hostile-attempts.ts';
import { banyan, until } from './local-tree.ts';
import { all, commands, map, namespace, ok, placement, TwoTenants } from './two-tenants.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
/** A command of the page that has this text. */
const onPage = (part: string) => commands.find((one) => one.includes(part))!;

describe.skipIf(withoutKubectl)(`two hostile tenants${why}`, () => {
  const tenants = new TwoTenants();
  const { tree } = tenants;
  const refused = (ran: { code: number; out: string }, ...parts: string[]) => {
    expect(ran.code, ran.out).not.toBe(0);
    for (const part of parts) expect(ran.out).toContain(part);
  };
  /** What a command of the page prints, run by those who run the tree. */
  const ran = (part: string) => {
    const [, context, rest] = /^kubectl --context (\S+) (.*)$/.exec(onPage(part))!;
    const args = [...rest!.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''));
    return ok(tree.kubectl(context!, args));
  };

  beforeAll(() => tenants.start());
  afterAll(() => tenants[Symbol.asyncDispose]());

  it.each(attempts.map((one) => [one.title, one.run] as const))('cannot %s', async (_, run) => {
    expect(await run(tenants)).toBeUndefined();
  });

  it('cannot take a namespace or an object of the other', () => {
    refused(
      tenants.apply('signs', namespace('till-1')),
      'Forbidden',
      'namespaces "till-1" is forbidden: the Space signs delivers only into namespaces sign-*, kiosk-*, shared (spec.delivery.namespaces)',
    );
    refused(tenants.as('signs', 'create', 'namespace', 'kube-system-2'), 'Forbidden');
    const theirs = placement('theft', { downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['till-1'] }] });
    refused(tenants.apply('signs', theirs), 'spec.downsync[0].namespaces[0]: Invalid value: "till-1"');
    expect(tenants.dataAtSite('till-1', 'a')?.of).toBe('tills');
  });

  it('cannot go outside of their Locations, nor above their priority', () => {
    const everywhere = { ...all, locationSelectors: [{ matchLabels: { env: 'prod' } }] };
    refused(
      tenants.apply('signs', placement('far', everywhere)),
      'spec.locationSelectors[0]',
      'region in (eu)',
      'spec.delivery.locationSelector',
    );
    refused(tenants.apply('signs', placement('loud', { ...all, priority: 1 })), 'spec.priority: Invalid value: 1');
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
      tenants.apply('tills', role),
      'clusterroles.rbac.authorization.k8s.io "take-all" is forbidden',
      'spec.delivery.clusterScoped',
    );
    refused(
      tenants.apply('tills', placement('roles', { downsync: [{ apiGroup: '*', resources: ['clusterroles'] }] })),
      'spec.downsync[0].resources[0]',
    );
  });

  it('cannot read back what belongs to the other, nor Secrets', () => {
    const reads = (resources: string[], namespaces?: string[]) =>
      placement('reads', {
        upsync: [{ apiGroup: '', resources, ...(namespaces ? { namespaces } : {}), returnTo: 'Center' }],
      });
    refused(
      tenants.apply('tills', reads(['configmaps'], ['sign-1'])),
      'spec.upsync[0].namespaces: Invalid value: ["sign-1"]',
    );
    refused(tenants.apply('tills', reads(['configmaps'])), 'spec.upsync[0].namespaces');
    refused(
      tenants.apply('tills', reads(['secrets'], ['till-1'])),
      'spec.upsync[0].resources: Invalid value: ["secrets"]',
    );
    ok(tenants.apply('tills', reads(['configmaps'], ['till-3'])));
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
      tenants.apply('tills', map('till-1', 'filler', {})),
      'configmaps "filler" is forbidden: exceeded quota: Space tills (spec.limits.objects), requested: objects=1, used: objects=',
      'limited: objects=1',
    );
    expect(tenants.dataAtSite('till-1', 'a')?.of).toBe('tills');
    ok(tenants.apply('signs', map('sign-1', 'meanwhile', {})));
    limit({ objects: 200 });
    ok(tenants.apply('tills', map('till-1', 'filler', {})));
    // The node writes slices and Events beside the objects of the tenant.
    const count = () => (JSON.parse(ran('.status.usage')) as { objects: number }).objects;
    await until('the status shows the objects of the tenant', () => count() >= 8 && count() < 100);
    ok(tenants.as('tills', 'delete', 'configmap', '-n', 'till-1', 'filler'));
    limit({ requestsPerSecond: 2, watches: 0 });
    const url = '/spaces/tills/api/v1/configmaps';
    const answers = await Promise.all(Array.from({ length: 20 }, () => tenants.get('tills', url)));
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
    const tooMany = answers.find(({ status }) => status === 429)!;
    expect(tooMany).toMatchObject({
      retryAfter: '1',
      body: expect.stringContaining('the Space tills allows 2 requests per second (spec.limits.requestsPerSecond)'),
    });
    expect((await tenants.get('signs', '/spaces/signs/api/v1/configmaps')).status).toBe(200);
    limit({ requestsPerSecond: null });
    expect(await tenants.get('tills', `${url}?watch=true`)).toMatchObject({
      status: 429,
      body: expect.stringContaining('spec.limits.watches'),
    });
    limit({ watches: null });
  });

  it('learn nothing about the other from a conflict, and those who run the site see both', async () => {
    ok(tenants.apply('tills', map('shared', 'motd', { of: 'tills' })));
    await until('the first has it', () => tenants.dataAtSite('shared', 'motd') !== undefined);
    ok(tenants.apply('signs', namespace('shared'), map('shared', 'motd', { of: 'signs' })));
    await until(
      'the loser reads it',
      () => tenants.placed('signs', 'signs')?.failures?.some(({ reason }) => reason === 'Conflicted') ?? false,
    );
    expect(tenants.dataAtSite('shared', 'motd')?.of).toBe('tills');
    const seen = [
      ['get', 'epl', '-o', 'yaml'],
      ['get', 'events', '-A', '-o', 'yaml'],
      ['get', 'all,cm', '-A', '-o', 'yaml'],
    ]
      .map((args) => ok(tenants.as('signs', ...args)))
      .join('\n');
    const copies = ok(tenants.kubectl('signs', ['--context', 'fleet/center/signs', 'get', 'cm', '-A', '-o', 'yaml']));
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
    const asLoser = ['--kubeconfig', tenants.configOf('signs')];
    const winner = 'EdgePlacement tills of center.tills delivers it, and not EdgePlacement signs of center.signs';
    expect(why(...asLoser)).toContain('is in no space that you may read');
    expect(why(...asLoser)).not.toMatch(/tills?\b/);
    expect(why('--data', tree.data)).toContain(winner);
    tenants.grant('neighbour', 'signs', 'view', { space: { name: 'tills' } });
    expect(why(...asLoser)).toContain(`${winner}: its placement has a higher priority`);
    ok(tree.kubectl('node/center', ['delete', 'accessgrant', 'neighbour']));
    ok(tenants.as('signs', 'delete', 'cm', 'motd', '-n', 'shared'));
  });

  it('bring nothing that the site does not accept, though their space allows it', async () => {
    ok(tenants.apply('signs', namespace('kiosk-1'), map('kiosk-1', 'menu', {})));
    ok(
      tenants.apply(
        'signs',
        placement('kiosks', { downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['kiosk-1'] }] }),
      ),
    );
    await until(
      'the refusal is reported',
      () => tenants.placed('signs', 'kiosks')?.failures?.some(({ reason }) => reason === 'NotAccepted') ?? false,
    );
    expect(ran('get epl kiosks')).toContain(
      'the site eu:rivoli does not accept this object in namespace kiosk-1 from center.signs: accept[1] allows all kinds in namespaces sign-*, shared',
    );
    const [, ...args] = onPage('banyan why').split(' -- ')[1]!.split(' ');
    const { code, out } = banyan(...args, '--data', tree.data);
    expect(code, out).toBe(0);
    expect(out).toContain('the site eu:rivoli does not accept');
    await until('the SyncTarget has it', () => ran('SourceNotAccepted').includes('kiosk-1'));
    expect(tenants.atSite('namespace', 'kiosk-1')).toBeUndefined();
  });

  it('read that a rule of upsync takes nothing because the site rules it out', async () => {
    const upsync = [{ apiGroup: '', resources: ['configmaps'], namespaces: ['sign-1', 'kiosk-2'] }];
    ok(tenants.apply('signs', placement('meters', { upsync })));
    await until('the refusal is reported', () =>
      (tenants.placed('signs', 'meters')?.failures ?? []).some(({ reason }) => reason === 'NotAccepted'),
    );
    expect(tenants.placed('signs', 'meters')!.failures).toEqual([
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
    ok(tenants.as('signs', 'delete', 'epl', 'meters'));
  });

  it('lose at the clusters what their space may no longer deliver, and nothing else', async () => {
    ran('patch space tills');
    await until('it is withdrawn', () => tenants.dataAtSite('till-1', 'a') === undefined);
    expect(tenants.dataAtSite('till-2', 'b')).toEqual({ of: 'tills' });
    expect(tenants.dataAtSite('shared', 'motd')?.of).toBe('tills');
    expect(tenants.dataAtSite('sign-1', 'a')).toEqual({ of: 'signs' });
    expect(ok(tenants.as('tills', 'get', 'cm', 'a', '-n', 'till-1', '-o', 'name'))).toContain('configmap/a');
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
    await until('it comes back', () => tenants.dataAtSite('till-1', 'a') !== undefined);
  });
});

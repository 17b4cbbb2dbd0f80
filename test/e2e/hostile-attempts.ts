/**
 * What the owner of the space signs tries against the space tills, by all ways out of a space and into another one. The same attempts run against embedded and
 * real clusters. A tree without bounds and with all rights shows that an attempt notices a success.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { banyan, type Ran, until } from './local-tree.ts';
import { all, jewel, map, namespace, ok, placement, type TwoTenants } from './two-tenants.ts';

/** What the attempt has gained, in the words of the tree. Undefined: nothing. */
type Gain = string | undefined;

export interface Attempt {
  readonly title: string;
  run(tenants: TwoTenants): Gain | Promise<Gain>;
  /** Why the attempt gains nothing in a tree without bounds either: no right is about it. Absent: the attempt succeeds there. */
  readonly neverBecause?: string;
}

const core = (resources: string[], more: object) => [{ apiGroup: '', resources, ...more }];
const group = 'rbac.authorization.k8s.io';
const binding = {
  apiVersion: `${group}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name: 'take-all' },
  subjects: [{ kind: 'User', apiGroup: group, name: 'sid' }],
  roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'cluster-admin' },
};

/** A command that must be refused. */
function command(title: string, ran: (tenants: TwoTenants) => Ran): Attempt {
  return { title, run: (tenants) => gainOf(ran(tenants)) };
}

function reads(what: string, context: string): Attempt {
  const args = ['--context', context, 'get', what, '-A', '-o', 'yaml'];
  return command(`read ${what} at ${context}`, (tenants) => tenants.kubectl('signs', args));
}

function applies(title: string, ...items: object[]): Attempt {
  return command(title, (tenants) => tenants.apply('signs', ...items));
}

/** A request that must get the status 403, and not the answer of the program behind it. */
function asks(title: string, path: string, headers: Readonly<Record<string, string>> = {}, node = 'center'): Attempt {
  const run = async (tenants: TwoTenants) => {
    const { status, body } = await tenants.get('signs', path, headers, node);
    return status === 403 && !body.includes(jewel) ? undefined : `${status} ${body}`;
  };
  return { title, run };
}

const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
const socket = { ...upgrade, 'sec-websocket-key': Buffer.alloc(16).toString('base64') };
const pod = '/tree/eu:rivoli/cluster/api/v1/namespaces/till-1/pods/till';

export const attempts: readonly Attempt[] = [
  // Read.
  ...['space/center/tills', 'space/eu/center.tills', 'mailbox/eu', 'mailbox/eu:rivoli'].flatMap((context) =>
    ['configmaps', 'secrets', 'epl'].map((what) => reads(what, context)),
  ),
  ...['secrets', 'spaces', 'synctargets', 'nodes.mesh.banyan.io', 'accessgrants'].map((what) =>
    reads(what, 'node/center'),
  ),
  command('read Secrets at the cluster, through the tree', (tenants) =>
    tenants.kubectl('signs', [...tenants.cluster('signs', 'eu:rivoli'), 'get', 'secrets', '-n', 'till-1']),
  ),
  command('read as the owner of the other space', (tenants) =>
    tenants.kubectl('signs', ['--context', 'space/center/tills', '--as', 'tess', 'get', 'configmaps', '-A']),
  ),
  command('read as a member of system:masters', (tenants) =>
    tenants.kubectl('signs', [
      ...['--context', 'space/center/tills', '--as', 'sid', '--as-group', 'system:masters'],
      ...['get', 'configmaps', '-A'],
    ]),
  ),
  asks('read by headers of a proxy', '/spaces/tills/api/v1/configmaps', {
    'x-remote-user': 'tess',
    'x-remote-group': 'system:masters',
  }),
  ...['/spaces/signs/../tills', '/spaces/signs/%2e%2e/tills', '/SPACES/tills/../../spaces/tills'].map((prefix) =>
    asks(`read by the path ${prefix}`, `${prefix}/api/v1/configmaps`),
  ),

  // Overwrite.
  applies('take a namespace of the other', namespace('till-1')),
  applies(
    'place what is in a namespace of the other',
    placement('theft', { downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['till-1'] }] }),
  ),
  command('write in the space of the other', (tenants) =>
    tenants.applyAt('signs', 'space/center/tills', map('till-1', 'mine', { of: 'signs' })),
  ),
  command('delete in the space of the other', (tenants) =>
    tenants.kubectl('signs', [
      '--context',
      'space/center/tills',
      'delete',
      'configmap',
      '-n',
      'till-2',
      'b',
      '--dry-run=server',
    ]),
  ),
  command('write at the cluster, through the tree', (tenants) =>
    tenants.kubectl('signs', [
      ...tenants.cluster('signs', 'eu:rivoli'),
      ...['create', 'configmap', 'straight', '-n', 'till-1'],
    ]),
  ),
  applies('bring a role for the cluster', binding),
  applies('bring a webhook for the cluster', {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'listen' },
    webhooks: [
      {
        name: 'listen.signs.example.com',
        clientConfig: { url: 'https://signs.example.com/listen' },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['*'] }],
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Ignore',
      },
    ],
  }),
  applies(
    'place definitions',
    placement('kinds', { downsync: [{ apiGroup: '*', resources: ['customresourcedefinitions'] }] }),
  ),
  {
    title: 'overwrite an object of the other, with the mark of its delivery',
    neverBecause: 'the older placement of the higher priority wins',
    run: (tenants) => contested(tenants, () => tenants.dataAtSite('shared', 'motd')?.of === 'signs'),
  },
  {
    title: 'remove an object of the other, by the removal of an own one',
    neverBecause: 'the cluster has the object of the other, and not the own one',
    run: async (tenants) => {
      const uid = () =>
        tenants.atSite<{ metadata: { uid: string } }>('configmap', 'motd', '-n', 'shared')?.metadata.uid;
      const before = uid();
      await contested(tenants, () => undefined);
      return uid() === before ? undefined : 'the object was made anew or is gone';
    },
  },

  // Upsync.
  applies(
    'take up from a namespace of the other',
    placement('reads', { upsync: core(['configmaps'], { namespaces: ['till-1'] }) }),
  ),
  applies('take up from all namespaces', placement('reads', { upsync: core(['configmaps'], {}) })),
  applies('take up Secrets', placement('reads', { upsync: core(['secrets'], { namespaces: ['shared'] }) })),
  {
    title: 'take up an object that the other delivers, from a namespace of both',
    neverBecause: 'the object was not created at the cluster',
    run: (tenants) => takenUp(tenants, () => tenants.fleetOf('signs', 'shared').includes(jewel)),
  },
  {
    title: 'stop the delivery of the other, by a rule of upsync in a namespace of both',
    neverBecause: 'the object was not created at the cluster',
    run: (tenants) =>
      takenUp(tenants, async () => {
        const now = `at ${performance.now()}`;
        ok(tenants.apply('tills', map('shared', 'motd', { of: 'tills', jewel, now })));
        const arrives = () => tenants.dataAtSite('shared', 'motd')?.now === now;
        await until(
          'the change is there, or is reported',
          () => arrives() || tenants.hasFailure('tills', 'tills', 'Conflicted'),
        );
        return !arrives();
      }),
  },

  // Priority and places.
  applies('have a higher priority', placement('loud', { ...all, priority: 1 })),
  command('raise the priority of a placement', (tenants) =>
    tenants.as('signs', 'patch', 'epl', 'signs', '--type=merge', '--dry-run=server', '-p', '{"spec":{"priority":9}}'),
  ),
  applies('bring a PriorityClass', {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: 'first' },
    value: 1_000_000,
  }),
  applies('go to other places', placement('far', { ...all, locationSelectors: [{ matchLabels: { env: 'prod' } }] })),
  applies('go everywhere', placement('far', { ...all, locationSelectors: [{}], locationExpression: 'true' })),

  // Names and rights.
  {
    title: 'learn the name of the other from a conflict',
    neverBecause: 'the report of a conflict has no name of another source',
    run: (tenants) =>
      contested(tenants, () =>
        nameIn(
          ['epl', 'events', 'ss'].map((what) => ok(tenants.as('signs', 'get', what, '-A', '-o', 'yaml'))).join(''),
        ),
      ),
  },
  {
    title: 'learn the name of the other from banyan why',
    run: (tenants) =>
      contested(tenants, () => {
        const about = ['configmap/motd', '-n', 'shared', '--space', 'space/center/signs', '--at', 'eu:rivoli'];
        return nameIn(banyan('why', ...about, '--kubeconfig', tenants.configOf('signs')).out);
      }),
  },
  command('change the bounds of the own space', (tenants) =>
    tenants.kubectl('signs', [
      ...['--context', 'node/center', 'patch', 'space', 'signs', '--type=merge', '--dry-run=server'],
      ...['-p', '{"spec":{"delivery":{"priorityMax":9}}}'],
    ]),
  ),
  command('get a grant for the space of the other', (tenants) =>
    tenants.applyAt('signs', 'node/center', {
      apiVersion: 'mesh.banyan.io/v1alpha1',
      kind: 'AccessGrant',
      metadata: { name: 'mine' },
      spec: {
        subjects: [{ kind: 'User', name: 'sid' }],
        roleRef: { kind: 'ClusterRole', name: 'view' },
        scope: { space: { name: 'tills' } },
      },
    }),
  ),
  command('get all rights at the node', (tenants) => tenants.applyAt('signs', 'node/center', binding)),

  // Watch.
  ...['/spaces/tills', '/fleet/tills', '/mailboxes/eu', ''].map((prefix) =>
    asks(`watch at ${prefix || 'the node'}`, `${prefix}/api/v1/secrets?watch=true&timeoutSeconds=1`),
  ),
  asks('watch the copy at a relay', '/spaces/center.tills/api/v1/configmaps?watch=true&timeoutSeconds=1', {}, 'eu'),

  // Summaries.
  reads('statussummaries', 'space/center/tills'),
  {
    title: 'have an object of the other summarized',
    neverBecause: 'a summary has the rows of the own objects',
    run: async (tenants) => {
      const apiVersion = 'edge.banyan.io/v1alpha1';
      const select = [
        { name: 'of', def: 'obj.data.of' },
        { name: 'why', def: 'propagation.reason' },
      ];
      ok(tenants.apply('signs', { apiVersion, kind: 'StatusSummarizer', metadata: { name: 'spy' }, spec: { select } }));
      return contested(
        tenants,
        async () => {
          const rows = () => tenants.as('signs', 'get', 'statussummary', 'taker.spy', '-o', 'yaml').out;
          await until('it is summarized', () => rows().includes('Conflicted'));
          return nameIn(rows());
        },
        { statusSummarizers: ['spy'] },
      );
    },
  },
  asks('read the metrics', '/metrics'),
  asks('read the metrics of a relay', '/metrics', {}, 'eu'),

  // Events.
  reads('events', 'space/center/tills'),
  reads('events', 'node/center'),
  reads('events', 'node/eu'),

  // Fleet.
  reads('configmaps', 'fleet/center/tills'),
  {
    title: 'see the copies of the other among the own ones',
    neverBecause: 'the fleet of a space has the copies of this space',
    run: (tenants) => contested(tenants, () => nameIn(tenants.fleetOf('signs', 'shared'))),
  },

  // Streams.
  asks('run a command in a pod of the other', `${pod}/exec?command=id&stdout=true`, socket),
  asks('attach to a pod of the other', `${pod}/attach?stdout=true`, socket),
  asks('open a port of a pod of the other', `${pod}/portforward?ports=80`, socket),
  asks('read the log of a pod of the other', `${pod}/log`),
  asks('run a command in a pod of the other, from a relay', `${pod}/exec?command=id&stdout=true`, socket, 'eu'),

  // Webhooks.
  {
    title: 'have the center call a program on its own machine',
    run: calledByGate,
  },
];

function gainOf({ code, out }: Ran): Gain {
  return code === 0 || out.includes(jewel) ? out : undefined;
}

/** The owners and the objects of the other. `shared` is a namespace of both. */
function nameIn(text: string): Gain {
  return new RegExp(`.*(${jewel}|\\btills?\\b|till-1|tess).*`).exec(text)?.[0];
}

/** Delivers the object that tills has at the cluster, in its dress, and asks when the conflict is reported, or when the attempt has succeeded. */
async function contested(
  tenants: TwoTenants,
  gain: () => Gain | boolean | Promise<Gain | boolean>,
  rule: object = {},
): Promise<Gain> {
  const dress = {
    labels: { 'banyan.io/managed': 'true' },
    annotations: { 'banyan.io/source': 'center.tills', 'banyan.io/agent': 'eu:rivoli', 'banyan.io/created': 'true' },
  };
  const downsync = core(['configmaps'], { namespaces: ['shared'], ...rule });
  ok(tenants.apply('signs', namespace('shared'), map('shared', 'motd', { of: 'signs' }, dress)));
  ok(tenants.apply('signs', placement('taker', { downsync, adopt: 'Always', replace: 'IfImmutable' })));
  try {
    await until(
      'the loser reads it',
      () => tenants.hasFailure('signs', 'taker', 'Conflicted') || tenants.dataAtSite('shared', 'motd')?.of === 'signs',
    );
    return said(await gain());
  } finally {
    ok(tenants.as('signs', 'delete', 'epl/taker', 'cm/motd', '-n', 'shared'));
    await until('it is gone', () => !tenants.fleetOf('signs', 'shared').includes('motd'));
  }
}

/** Takes up what is born in the namespace of both. Asks when something of it has come. */
async function takenUp(tenants: TwoTenants, gain: () => boolean | Promise<boolean>): Promise<Gain> {
  const born = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'born', namespace: 'shared' } };
  tenants.applyAtSite(born);
  const upsync = core(['configmaps'], { namespaces: ['shared'], returnTo: 'Center' });
  ok(tenants.apply('signs', placement('reads', { upsync })));
  try {
    await until('it has come', () => tenants.fleetOf('signs', 'shared').includes('born'));
    return said(await gain());
  } finally {
    ok(tenants.as('signs', 'delete', 'epl', 'reads'));
    await until('it is gone', () => !tenants.fleetOf('signs', 'shared').includes('born'));
  }
}

function said(gain: Gain | boolean): Gain {
  return typeof gain === 'boolean' ? (gain ? 'it has succeeded' : undefined) : gain;
}

async function calledByGate(tenants: TwoTenants): Promise<Gain> {
  let calls = 0;
  const server = createServer((_, response) => {
    calls += 1;
    response.end('{"passed":true}');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const waves = [{ name: 'first', count: 1, gates: [{ name: 'ops', webhook: { url } }] }];
  const downsync = core(['configmaps'], { namespaces: ['sign-1'] });
  const gated = () => ok(tenants.as('signs', 'get', 'epl', 'gated', '-o', 'yaml'));
  ok(tenants.apply('signs', placement('gated', { downsync, rollout: { strategy: 'Progressive', waves } })));
  try {
    await until('the node says that it does not call', () => calls > 0 || gated().includes('the node does not call'));
    return calls > 0 ? 'the node has called' : undefined;
  } finally {
    ok(tenants.as('signs', 'delete', 'epl', 'gated'));
    server.close();
    server.closeAllConnections();
  }
}

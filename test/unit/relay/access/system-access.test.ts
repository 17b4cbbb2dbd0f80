/** The rights at a node, over a real system space. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Authorizer } from '../../../../core/access/authorizer.ts';
import { defaultClusterRoles } from '../../../../core/access/default-roles.ts';
import type { AccessPlace } from '../../../../core/access/grant-scope.ts';
import { rbacGroup } from '../../../../core/access/rbac-objects.ts';
import type { Space } from '../../../../core/apiserver/space.ts';
import { tokenKeysIn } from '../../../../core/authentication/token-key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { childrenSchema } from '../../../../relay/config/config.ts';
import { NodeSpaces } from '../../../../relay/spaces/node-spaces.ts';

let store: MemoryStore;
let spaces: NodeSpaces;
let deferred: (() => void)[];
const settle = () => {
  while (deferred.length > 0) deferred.shift()!();
};

function open(fromAbove = 'grants'): NodeSpaces {
  const ports = {
    store,
    clock: new VirtualClock(Date.UTC(2030, 0, 1)),
    random: new SeededRandom(1),
    log: silentLogger,
    defer: (run: () => void) => void deferred.push(run),
    path: 'eu',
    tokenKeys: () => tokenKeysIn(store),
    isServedAbove: (source: string) => source === 'center.retail',
  };
  return new NodeSpaces(
    ports,
    { spaces: [{ name: 'ops', type: 'Workload' }], access: { fromAbove }, children: childrenSchema.parse({}) },
    {
      inventoryChanged: () => {},
      revocationsChanged: () => {},
      claimsChanged: () => {},
      spaceRemoved: () => {},
      nodeDeleted: () => {},
      authoritiesWritten: () => {},
      metricsAccountsChanged: () => {},
      isParentAway: () => false,
    },
  );
}

beforeEach(() => {
  store = new MemoryStore();
  deferred = [];
  spaces = open();
  settle();
});

const jo = { name: 'jo', groups: ['tills', 'system:authenticated'] };
const system = (): Space => spaces.system;
const role = (name: string, more: object) => ({
  apiVersion: `${rbacGroup}/v1`,
  kind: 'ClusterRole',
  metadata: { name },
  ...more,
});
const reading = { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] };
const bind = (name: string, kind = 'ClusterRoleBinding', namespace?: string) => ({
  apiVersion: `${rbacGroup}/v1`,
  kind,
  metadata: { name, ...(namespace ? { namespace } : {}) },
  roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name },
  subjects: [{ kind: 'User', name: 'jo' }],
});
const grant = (name: string, scope: object, roleName = name) => ({
  apiVersion: 'mesh.banyan.io/v1alpha1',
  kind: 'AccessGrant',
  metadata: { name },
  spec: { subjects: [{ kind: 'Group', name: 'tills' }], roleRef: { kind: 'ClusterRole', name: roleName }, scope },
});

function mayRead(place: AccessPlace, authorizer: Authorizer = spaces.authorizer): boolean {
  const attributes = {
    user: jo,
    verb: 'get',
    apiGroup: '',
    resource: 'configmaps',
    subresource: '',
    namespace: 'shop',
    name: 'a',
  };
  return authorizer.decide(attributes, place).allowed;
}

describe('the system space', () => {
  it('has the default roles, with the rules of aggregated roles shown', () => {
    const names = system().storage.scan({ group: rbacGroup, resource: 'clusterroles' });
    expect(names.map(({ key }) => key.name)).toEqual(
      defaultClusterRoles.map(({ metadata }) => metadata.name).toSorted(),
    );
    const edit = system().get({ group: rbacGroup, resource: 'clusterroles', namespace: '', name: 'edit' });
    expect(JSON.stringify(edit)).toContain('edgeplacements');
  });

  it('keeps a default role that somebody changed, and writes one again that is gone', () => {
    const key = (name: string) => ({ group: rbacGroup, resource: 'clusterroles', namespace: '', name });
    system().patch(key('banyan:metrics'), { type: 'merge', patch: { rules: [] } });
    system().delete(key('system:discovery'));
    spaces.close();
    spaces = open();
    expect(system().get(key('banyan:metrics'))?.rules).toEqual([]);
    expect(system().get(key('system:discovery'))).toBeDefined();
  });

  it('decides about itself by its roles and bindings, from the write on, and also after a start', () => {
    expect(mayRead({ node: 'eu' })).toBe(false);
    system().create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
    system().create(role('reader', { rules: [reading] }));
    system().create(bind('reader', 'RoleBinding', 'shop'));
    expect(mayRead({ node: 'eu' })).toBe(true);
    expect(mayRead({ space: 'ops' })).toBe(false);
    spaces.close();
    spaces = open();
    expect(mayRead({ node: 'eu' })).toBe(true);
    system().delete({ group: rbacGroup, resource: 'rolebindings', namespace: 'shop', name: 'reader' });
    expect(mayRead({ node: 'eu' })).toBe(false);
  });

  it('decides about other places by grants', () => {
    system().create(role('reader', { rules: [reading] }));
    system().create(grant('reader', { space: { name: 'ops', namespaces: ['shop'] } }));
    expect([mayRead({ space: 'ops' }), mayRead({ space: 'other' }), mayRead({ node: 'eu' })]).toEqual([
      true,
      false,
      false,
    ]);
    system().delete({ group: 'mesh.banyan.io', resource: 'accessgrants', namespace: '', name: 'reader' });
    expect(mayRead({ space: 'ops' })).toBe(false);
  });

  it('shows the rules that an aggregated role gets later', () => {
    const labels = { 'tills.example.com/part': 'yes' };
    system().create(role('tills', { rules: [], aggregationRule: { clusterRoleSelectors: [{ matchLabels: labels }] } }));
    system().create({ ...role('part', { rules: [reading] }), metadata: { name: 'part', labels } });
    settle();
    const tills = system().get({ group: rbacGroup, resource: 'clusterroles', namespace: '', name: 'tills' });
    expect(tills?.rules).toEqual([reading]);
  });
});

describe('a write of a user', () => {
  it('gives away no more than the user has', () => {
    expect(() => system().create(role('reader', { rules: [reading] }), { user: jo })).toThrow(
      /attempting to grant RBAC permissions not currently held/,
    );
    system().create(role('reader', { rules: [reading] }));
    expect(() => system().create(bind('reader'), { user: jo })).toThrow(/not currently held/);
    expect(() => system().create(grant('reader', { space: { name: 'ops' } }), { user: jo })).toThrow(
      /accessgrants.mesh.banyan.io "reader" is forbidden: in the space "ops", user "jo"/,
    );
    const admin = { name: 'root', groups: ['system:masters'] };
    system().create(grant('reader', { space: { name: 'ops' } }), { user: admin });
  });

  it('is refused with the field if the object says nothing clear', () => {
    expect(() => system().create(grant('x', {}, 'view'))).toThrow(/spec.scope: Required value: write exactly one of/);
    expect(() => system().create(grant('x', { subtree: { path: 'us' } }, 'view'))).toThrow(
      /this node has only eu and what is below/,
    );
    expect(() => system().create({ ...bind('x'), subjects: [{ kind: 'Robot', name: 'r' }] })).toThrow(
      /Unsupported value: "Robot"/,
    );
  });

  it('in a workload space may hold any role: there, a role is cargo', () => {
    spaces
      .own('eu.ops')!
      .create(role('everything', { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] }), { user: jo });
    expect(mayRead({ node: 'eu' })).toBe(false);
  });
});

describe('a user of a node above', () => {
  const above = { name: 'center:jo', groups: ['center:tills', 'system:authenticated', 'banyan:from-above'] };
  const pods = {
    ...{ user: above, verb: 'list', apiGroup: '', resource: 'pods', subresource: '', namespace: 'shop', name: '' },
  };
  const places: AccessPlace[] = [{ node: 'eu' }, { space: 'ops' }, { mailbox: 'paris' }, { cluster: 'eu:paris' }];
  const verdicts = () => places.map((place) => spaces.authorizer.decide(pods, place).allowed);

  it('has no right with `grants` and without a grant, and none with `none`', () => {
    for (const fromAbove of ['grants', 'none']) {
      spaces = open(fromAbove);
      expect(verdicts()).toEqual([false, false, false, false]);
    }
  });

  it('has the role of the configuration at the node, its spaces and below', () => {
    spaces = open('view');
    expect(verdicts()).toEqual([true, true, true, true]);
    expect(spaces.authorizer.decide({ ...pods, verb: 'delete' }, { space: 'ops' }).allowed).toBe(false);
    expect(spaces.authorizer.decide({ ...pods, user: jo }, { space: 'ops' }).allowed).toBe(false);
    spaces = open('cluster-admin');
    expect(spaces.authorizer.decide({ ...pods, verb: 'delete' }, { space: 'ops' }).allowed).toBe(true);
  });

  it('reads which role is missing', () => {
    spaces = open('looker');
    expect(spaces.authorizer.decide(pods, { space: 'ops' }).reason).toContain('looker');
  });
});

describe('an AccessGrant that names what is not there', () => {
  const mesh = (kind: string, name: string, spec: object) => ({
    apiVersion: 'mesh.banyan.io/v1alpha1',
    kind,
    metadata: { name },
    spec,
  });
  const admin = { name: 'admin', groups: ['system:masters'] };
  const view = { kind: 'ClusterRole', name: 'view' };
  const subjects = [{ kind: 'User', name: 'jo' }];

  function warningsOf(object: object): string[] {
    const warnings: string[] = [];
    system().create(object as KubeObject, { user: admin, warn: (text) => void warnings.push(text) });
    return warnings;
  }

  it.each([
    [
      'a role',
      { roleRef: { kind: 'ClusterRole', name: 'none' }, scope: { space: { name: 'ops' } } },
      'spec.roleRef.name: this node has no ClusterRole "none"',
    ],
    ['a space', { scope: { space: { name: 'none' } } }, 'spec.scope.space.name: this node has no space "none"'],
    [
      'a space of a node above',
      { scope: { space: { name: 'center.none' } } },
      'spec.scope.space.name: this node has no space "center.none"',
    ],
    [
      'a child',
      { scope: { mailboxes: { children: ['none'] } } },
      'spec.scope.mailboxes.children[0]: this node has no child "none"',
    ],
    [
      'a path',
      { scope: { subtree: { path: 'eu:none' } } },
      'spec.scope.subtree.path: this node knows no node "eu:none"',
    ],
    [
      'a path below',
      { scope: { clusters: { path: 'eu:none:store' } } },
      'spec.scope.clusters.path: this node knows no node "eu:none:store"',
    ],
    [
      'an account',
      { subjects: [{ kind: 'ServiceAccount', namespace: 'a', name: 'b' }], scope: { space: { name: 'ops' } } },
      'spec.subjects[0]: this node has no ServiceAccount "a/b"',
    ],
  ])('gives a warning with the field: %s', (_title, spec, warning) => {
    expect(warningsOf(mesh('AccessGrant', 'grant', { subjects, roleRef: view, ...spec }))).toEqual([
      `${warning}: the grant gives no right there until somebody makes one`,
    ]);
  });

  it('gives none for what is there, and none for an agent of a relay below, which only the relay knows', () => {
    system().create(mesh('Node', 'eu.paris', {}) as KubeObject);
    for (const [i, scope] of [
      { space: { name: 'ops' } },
      { space: { name: 'center.retail' } },
      { subtree: { path: 'eu:paris' } },
      { clusters: { path: 'eu:paris:store' } },
      { mailboxes: { children: ['paris'] } },
    ].entries())
      expect(warningsOf(mesh('AccessGrant', `grant-${i}`, { subjects, roleRef: view, scope }))).toEqual([]);
    expect(warningsOf(mesh('Space', 'other', { type: 'Workload' }))).toEqual([]);
  });

  it('gives the warning to the author of a later space of the name', () => {
    warningsOf(mesh('AccessGrant', 'former', { subjects, roleRef: view, scope: { space: { name: 'team' } } }));
    expect(warningsOf(mesh('Space', 'team', { type: 'Workload' }))).toEqual([
      'AccessGrants already give rights in a space of this name: former. Delete those that were for a former space',
    ]);
  });
});

it('a removed space tells its listeners', () => {
  let removed = 0;
  spaces.named('ops')!.storage.subscribe(
    () => {},
    () => {
      removed++;
    },
  );
  spaces.remove('ops');
  expect(removed).toBe(1);
});

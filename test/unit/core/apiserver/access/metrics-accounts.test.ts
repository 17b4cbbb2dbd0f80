/** Which ServiceAccounts may read metrics below, over a real system space. */
import { beforeEach, describe, expect, it } from 'vitest';
import { MetricsAccounts } from '../../../../../core/apiserver/access/metrics-accounts.ts';
import type { Space } from '../../../../../core/apiserver/space.ts';
import { makeTokenKey, tokenKeysOf } from '../../../../../core/authentication/token-key.ts';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import { openSpace } from '../../../../../relay/spaces/own-spaces.ts';

const key = tokenKeysOf(makeTokenKey())[0]!;
let space: Space;
let deferred: (() => void)[];
let changes: number;
let keysMade: number;
let warned: number;
beforeEach(() => {
  const clock = new VirtualClock(Date.UTC(2030, 0, 1));
  const ports = { store: new MemoryStore(), clock, random: new SeededRandom(1), log: silentLogger, path: '' };
  ({ space } = openSpace({ ...ports, defer: () => {} }, 'system', 'System', () => {}));
  deferred = [];
  changes = keysMade = warned = 0;
});

const open = () =>
  new MetricsAccounts({
    space,
    path: 'eu',
    log: { ...silentLogger, warn: () => void warned++ },
    keys: () => {
      keysMade++;
      return { signing: key, accepted: [key] };
    },
    defer: (run) => void deferred.push(run),
    changed: () => void changes++,
  });
const settle = () => {
  while (deferred.length > 0) deferred.shift()!();
};
const account = (name: string) =>
  space.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'default' } }).metadata.uid;
const bind = (name: string, role: string, ...subjects: object[]) =>
  space.create({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects,
  });
const subject = (name: string) => ({ kind: 'ServiceAccount', name, namespace: 'default' });
const namesOf = (accounts: MetricsAccounts) =>
  accounts.issuers().map(({ path, accounts: of }) => `${path}: ${of.map(({ name }) => name)}`);

describe('the accounts that may read metrics below', () => {
  it('are those that a binding of the role for metrics names, as long as both exist', () => {
    const accounts = open();
    const uid = account('prometheus');
    for (const name of ['alice', 'other']) account(name);
    settle();
    expect([accounts.issuers(), keysMade, changes]).toEqual([[], 0, 0]);
    bind('metrics', 'banyan:metrics', subject('prometheus'), subject('nobody'), { kind: 'User', name: 'alice' });
    bind('view', 'view', subject('other'));
    settle();
    expect(accounts.issuers()).toEqual([
      {
        path: 'eu',
        keys: [{ id: key.id, spki: expect.stringMatching(/^MFkw/) }],
        accounts: [{ namespace: 'default', name: 'prometheus', uid }],
      },
    ]);
    expect([keysMade, changes]).toEqual([1, 1]);
    space.delete({ group: '', resource: 'serviceaccounts', namespace: 'default', name: 'prometheus' });
    settle();
    expect([accounts.issuers(), changes]).toEqual([[], 2]);
    account('prometheus');
    settle();
    expect(namesOf(accounts)).toEqual(['eu: prometheus']);
    space.delete({
      group: 'rbac.authorization.k8s.io',
      resource: 'clusterrolebindings',
      namespace: '',
      name: 'metrics',
    });
    settle();
    expect(accounts.issuers()).toEqual([]);
  });

  it('come after those of the nodes above, also at the start, and the list is the same until a change', () => {
    account('prometheus');
    bind('metrics', 'banyan:metrics', subject('prometheus'));
    const accounts = open();
    accounts.setAbove([{ path: '', keys: [], accounts: [{ namespace: 'n', name: 'central', uid: 'u' }] }]);
    expect(namesOf(accounts)).toEqual([': central', 'eu: prometheus']);
    const before = accounts.issuers();
    bind('another', 'banyan:metrics', { kind: 'Group', name: 'g' });
    settle();
    expect(accounts.issuers()).toBe(before);
  });

  it('are at most sixteen, and a line of the log says so', () => {
    const names = Array.from({ length: 17 }, (_, i) => `a${String(i).padStart(2, '0')}`);
    for (const name of names) account(name);
    bind('metrics', 'banyan:metrics', ...names.map(subject));
    expect([
      open()
        .issuers()[0]
        ?.accounts.map(({ name }) => name),
      warned,
    ]).toEqual([names.slice(0, 16), 1]);
  });
});

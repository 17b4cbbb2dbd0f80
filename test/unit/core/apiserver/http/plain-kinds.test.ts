import { describe, expect, it } from 'vitest';
import type { NodeAuthorizer } from '../../../../../core/access/authorizer.ts';
import { checkAccessWrite } from '../../../../../core/apiserver/access/access-writes.ts';
import { builtinKinds } from '../../../../../core/apiserver/builtin/builtin-kinds.ts';
import { isPlainKind } from '../../../../../core/apiserver/http/plain-kinds.ts';
import { ownKinds } from '../../../../../core/apiserver/kinds/kinds-of-space.ts';
import { SpaceKinds } from '../../../../../core/apiserver/kinds/space-kinds.ts';
import type { Kind, SpaceType, WriteAdmission } from '../../../../../core/apiserver/space.ts';
import { EmbeddedStorage } from '../../../../../core/apiserver/storage/embedded.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import { boards } from '../crd/support.ts';

const storage = new EmbeddedStorage({ store: new MemoryStore(), name: 'retail', logger: silentLogger });
storage.write((writer) => {
  const definition = { ...boards({ type: 'object' }), metadata: { name: 'boards.shop.example.com', uid: 'u' } };
  const status = { conditions: [{ type: 'Established', status: 'True' }] };
  const key = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', namespace: '', name: 'boards' };
  writer.put(key, Buffer.from(JSON.stringify({ ...definition, status })));
});
const kindsOf = (type: SpaceType) => new SpaceKinds(storage, [...builtinKinds(), ...ownKinds(type)]);

/** No right decides about a plain kind. */
const noAuthorizer = undefined as unknown as NodeAuthorizer;

type Row = readonly [title: string, admission: WriteAdmission, type: SpaceType];

const kinds = kindsOf('System');
const accessPorts = { kinds, storage, path: '', authorizer: noAuthorizer, isServedAbove: () => false };
const admissions: readonly Row[] = [
  ['access', (request) => checkAccessWrite(accessPorts, request), 'System'],
  ['access', (request) => checkAccessWrite(accessPorts, request), 'Cluster'],
];

/** An object that fails the test when anything but its name is read or changed. */
function nameOnly(kind: Kind): KubeObject {
  const forbids = (what: string, allowed: object): ProxyHandler<KubeObject> => ({
    get: (_target, field) => {
      if (Object.hasOwn(allowed, field)) return (allowed as Record<PropertyKey, unknown>)[field];
      throw new Error(`${what} reads ${String(field)}`);
    },
    set: (_target, field) => {
      throw new Error(`${what} changes ${String(field)}`);
    },
    ownKeys: () => {
      throw new Error(`${what} lists the fields`);
    },
  });
  const metadata = new Proxy({} as KubeObject, forbids('metadata', { name: 'a', namespace: 'shop' }));
  const object = { apiVersion: `${kind.group}/${kind.storageVersion}`, kind: kind.kind, metadata };
  return new Proxy({} as KubeObject, forbids('object', object));
}

/** A refusal of the name is none. */
function flawOf(admit: () => void): unknown {
  try {
    admit();
  } catch (error) {
    return error instanceof BanyanError && error.code === 'Forbidden' ? undefined : error;
  }
  return undefined;
}

describe('admission of the kinds whose bytes the other thread makes', () => {
  const plain = (type: SpaceType) =>
    kindsOf(type)
      .all()
      .filter((kind) => isPlainKind(kind, type));

  it.each([
    ['Workload', []],
    ['Inventory', []],
    ['System', ['accessgrants', 'certificatesigningrequests', 'clusterroles', 'rolebindings', 'roles']],
    ['Cluster', ['certificatesigningrequests', 'clusterroles', 'rolebindings', 'roles']],
  ] as const)('has all kinds into which no admission of the space looks: %s', (type, others) => {
    const resources = plain(type).map(({ resource }) => resource);
    const all = kindsOf(type)
      .all()
      .map(({ resource }) => resource);
    const seen = all.filter((resource) => !resources.includes(resource));
    expect(seen.sort()).toEqual([...others, ...(others.length > 0 ? ['clusterrolebindings'] : [])].sort());
  });

  it.each(admissions)('reads and changes no more than names: %s', (_title, admission, type) => {
    const user = { name: 'jo', groups: [] };
    for (const kind of plain(type)) {
      const { group, resource } = kind;
      const key = { group, resource, namespace: kind.namespaced ? 'shop' : '', name: 'a' };
      for (const operation of ['create', 'update'] as const)
        expect(flawOf(() => admission({ operation, key, object: nameOnly(kind), user }))).toBeUndefined();
    }
  });
});

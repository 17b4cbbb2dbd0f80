import { describe, expect, it } from 'vitest';
import type { NodeAuthorizer } from '../../../../../core/access/authorizer.ts';
import { checkAccessWrite } from '../../../../../core/apiserver/access/access-writes.ts';
import { builtinKinds } from '../../../../../core/apiserver/builtin/builtin-kinds.ts';
import { isPlainKind } from '../../../../../core/apiserver/http/plain-kinds.ts';
import { ownKindsAdmission } from '../../../../../core/apiserver/kinds/admission.ts';
import { deliveryAdmission } from '../../../../../core/apiserver/kinds/delivery-check.ts';
import type { SpaceType } from '../../../../../core/apiserver/kinds/kinds-of-space.ts';
import { SpaceKinds } from '../../../../../core/apiserver/kinds/space-kinds.ts';
import type { FilledAs, Kind, WriteAdmission } from '../../../../../core/apiserver/space.ts';
import { EmbeddedStorage } from '../../../../../core/apiserver/storage/embedded.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import { clusterAdmission } from '../../../../../edge-agent/cluster/embedded/admission.ts';
import { boards } from '../crd/support.ts';

const storage = new EmbeddedStorage({ store: new MemoryStore(), name: 'retail', logger: silentLogger });
storage.write((writer) => {
  const definition = { ...boards({ type: 'object' }), metadata: { name: 'boards.shop.example.com', uid: 'u' } };
  const status = { conditions: [{ type: 'Established', status: 'True' }] };
  const key = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', namespace: '', name: 'boards' };
  writer.put(key, Buffer.from(JSON.stringify({ ...definition, status })));
});
const kinds = new SpaceKinds(storage, builtinKinds());

/** No right decides about a plain kind. */
const noAuthorizer = undefined as unknown as NodeAuthorizer;
const accessPorts = { kinds, storage, path: '', authorizer: noAuthorizer, isServedAbove: () => false };

type Row = readonly [title: string, admission: WriteAdmission, fills: FilledAs | undefined];

const own = (type: SpaceType) => ownKindsAdmission(kinds, { type, path: '' }, storage);
const admissions: readonly Row[] = [
  ['own kinds, Workload', own('Workload'), 'Workload'],
  ['own kinds, Inventory', own('Inventory'), undefined],
  ['own kinds, System', own('System'), undefined],
  ['own kinds, Cluster', own('Cluster'), 'Cluster'],
  ['spec.delivery', deliveryAdmission({ name: 'retail', kinds, bounds: () => ({ namespaces: ['shop'] }) }), 'Workload'],
  ['the embedded cluster', clusterAdmission(() => expect.unreachable()), 'Cluster'],
  ['access', (request) => checkAccessWrite(accessPorts, request), undefined],
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
  const plain = (fills: FilledAs | undefined) => kinds.all().filter((kind) => isPlainKind(kind, fills));

  it('has custom kinds with one version, and the built-in kinds into which no admission looks', () => {
    for (const fills of ['Workload', 'Cluster', undefined] as const) {
      const resources = plain(fills).map(({ resource }) => resource);
      expect(resources).toEqual(expect.arrayContaining(['configmaps', 'secrets', 'deployments', 'pods', 'boards']));
      expect(resources).not.toContain('customresourcedefinitions');
      const isWorkload = fills === 'Workload';
      for (const seen of ['services', 'clusterroles', 'rolebindings', 'certificatesigningrequests'])
        expect([fills, seen, resources.includes(seen)]).toEqual([fills, seen, isWorkload]);
    }
  });

  it.each(admissions)('reads and changes no more than names: %s', (_title, admission, fills) => {
    const user = { name: 'jo', groups: [] };
    for (const kind of plain(fills)) {
      const { group, resource } = kind;
      const key = { group, resource, namespace: kind.namespaced ? 'shop' : '', name: 'a' };
      for (const operation of ['create', 'update'] as const)
        expect(flawOf(() => admission({ operation, key, object: nameOnly(kind), user }))).toBeUndefined();
    }
  });
});

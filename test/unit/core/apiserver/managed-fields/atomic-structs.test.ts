/** Structs that server-side apply treats as one value, and one that it does not treat so in one place. */
import { expect, it } from 'vitest';
import { conflictError } from '../../../../../core/apiserver/managed-fields/conflicts.ts';
import { HandlerBench } from '../http/handler-bench.ts';
import { refusalOf } from '../http/handler-errors.ts';

const headers = { 'content-type': 'application/apply-patch+yaml' };

async function conflicts(url: string, made: object, applied: object): Promise<string[]> {
  const bench = new HandlerBench();
  await bench.call('POST', url, { body: { ...made, metadata: { name: 'a' } } });
  const body = { ...applied, metadata: { name: 'a' } };
  const error = await refusalOf(bench.call('PATCH', `${url}/a?fieldManager=team`, { body, headers }));
  return error.details.causes!.map(({ field }) => field);
}

it('the target of an autoscaler of version 1 has one owner, and that of version 2 one for each field', async () => {
  const of = (version: string, name: string) => ({
    apiVersion: `autoscaling/${version}`,
    kind: 'HorizontalPodAutoscaler',
    spec: { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name, apiVersion: 'apps/v1' } },
  });
  const url = (version: string) => `/apis/autoscaling/${version}/namespaces/shop/horizontalpodautoscalers`;
  expect(await conflicts(url('v1'), of('v1', 'a'), of('v1', 'b'))).toEqual(['.spec.scaleTargetRef']);
  expect(await conflicts(url('v2'), of('v2', 'a'), of('v2', 'b'))).toEqual(['.spec.scaleTargetRef.name']);
});

it('the claim of a volume has an owner for each field, although other references have one', async () => {
  const of = (name: string) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      hostPath: { path: '/x' },
      claimRef: { name, namespace: 'shop' },
    },
  });
  expect(await conflicts('/api/v1/persistentvolumes', of('a'), of('b'))).toEqual(['.spec.claimRef.name']);
});

it('conflicts about members of a node come before those about fields below it', () => {
  const entry = { manager: 'm', operation: 'Update', apiVersion: 'v1', subresource: '' } as const;
  const fields = { 'f:a': { 'f:deep': {} }, 'f:b': {} };
  const error = conflictError([{ entry: { ...entry, fields, time: '' }, fields }]);
  expect(error.details.causes!.map(({ field }) => field)).toEqual(['.b', '.a.deep']);
});

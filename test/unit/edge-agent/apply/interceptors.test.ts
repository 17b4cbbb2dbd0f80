import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import {
  conversionServiceOf,
  decideInterceptor,
  interceptorWaitMaxMs,
  isLenientHash,
  lenientForm,
  lenientHash,
  podLabelsOf,
  servicesOf,
} from '../../../../edge-agent/apply/interceptors.ts';

const guard = { namespace: 'guard', name: 'guard', isForeign: false };
const service = { namespace: 'guard', name: 'guard' };
const other = { namespace: 'guard', name: 'other' };

function webhooks(...list: unknown[]): KubeObject {
  const metadata = { name: 'all' };
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata,
    webhooks: list,
  };
}
const webhook = (of: object | undefined, failurePolicy?: string) => ({
  name: `${failurePolicy}`,
  clientConfig: of ? { service: of } : { url: 'https://example.com' },
  ...(failurePolicy === undefined ? {} : { failurePolicy }),
});

describe('an interceptor', () => {
  const strict = webhooks(webhook(guard, 'Fail'));
  const state = { isThere: false, isLenient: false, missing: 0, unavailable: [], waitedMs: 0 };

  it('is applied when all others are applied and its workload is available', () => {
    expect(decideInterceptor(strict, state)).toBe('apply');
  });

  it('waits for others and for its workload until the bound', () => {
    for (const waits of [{ missing: 1 }, { unavailable: [guard] }]) {
      expect(decideInterceptor(strict, { ...state, ...waits })).toBe('wait');
      expect(decideInterceptor(strict, { ...state, ...waits, waitedMs: interceptorWaitMaxMs - 1 })).toBe('wait');
    }
  });

  it('is applied after the bound although others are missing', () => {
    expect(decideInterceptor(strict, { ...state, missing: 3, waitedMs: interceptorWaitMaxMs })).toBe('apply');
  });

  it.each([
    ['Fail', webhooks(webhook(guard, 'Fail')), 'lenient'],
    ['the default, which is Fail', webhooks(webhook(guard)), 'lenient'],
    ['Ignore', webhooks(webhook(guard, 'Ignore')), 'apply'],
    ['Fail, and another service', webhooks(webhook(other, 'Fail')), 'apply'],
    ['Fail, and a URL', webhooks(webhook(undefined, 'Fail')), 'apply'],
    ['no webhook', webhooks(), 'apply'],
    ['a value of the wrong type, which the cluster refuses', webhooks('x', { clientConfig: 3 }), 'apply'],
  ])('without its workload after the bound, with %s: %s', (_, object, expected) => {
    const late = { ...state, unavailable: [guard], waitedMs: interceptorWaitMaxMs };
    expect(decideInterceptor(object, late)).toBe(expected);
  });

  it('stays, and its updates wait for nothing, when the workload fails later', () => {
    expect(decideInterceptor(strict, { ...state, isThere: true, missing: 1, unavailable: [guard] })).toBe('apply');
  });

  it('stays lenient until its workload is available, also after a restart', () => {
    const lenient = { ...state, isThere: true, isLenient: true };
    expect(decideInterceptor(strict, { ...lenient, unavailable: [guard] })).toBe('lenient');
    expect(decideInterceptor(strict, { ...lenient, missing: 1 })).toBe('apply');
  });

  it('is lenient at once if no placement brings the workload behind its Service, and waits for nothing else', () => {
    const foreign = { ...state, unavailable: [{ ...guard, isForeign: true }] };
    expect(decideInterceptor(strict, foreign)).toBe('lenient');
    expect(decideInterceptor(strict, { ...foreign, missing: 1 })).toBe('wait');
    expect(decideInterceptor(webhooks(webhook(guard, 'Ignore')), foreign)).toBe('apply');
    const both = {
      ...state,
      unavailable: [
        { ...guard, isForeign: true },
        { ...other, isForeign: false },
      ],
    };
    expect(decideInterceptor(strict, both)).toBe('wait');
    const served = { apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService', metadata: {}, spec: { service } };
    expect(decideInterceptor(served, foreign)).toBe('wait');
  });
});

describe('the lenient form', () => {
  it('changes the failurePolicy of webhooks without an available workload, and nothing else', () => {
    const object = webhooks(webhook(guard, 'Fail'), webhook(guard), webhook(other, 'Fail'), webhook(undefined, 'Fail'));
    const changed = lenientForm(object, [guard]).webhooks as { failurePolicy?: string }[];
    expect(changed.map(({ failurePolicy }) => failurePolicy)).toEqual(['Ignore', 'Ignore', 'Fail', 'Fail']);
    expect(lenientForm(object, [])).toEqual(object);
  });

  it('has another hash than the desired form', () => {
    expect([lenientHash('a'), 'a', '', undefined].map(isLenientHash)).toEqual([true, false, false, false]);
  });
});

it('the Services of webhooks and of an APIService are found, each once', () => {
  expect(servicesOf(webhooks(webhook(guard), webhook(other), webhook(guard), webhook(undefined)))).toEqual([
    service,
    other,
  ]);
  const apiService = { apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService', metadata: { name: 'v1.x' } };
  expect(servicesOf({ ...apiService, spec: { service: { ...service, port: 443 } } })).toEqual([service]);
  expect(servicesOf({ ...apiService, spec: {} })).toEqual([]);
  expect(servicesOf({ ...apiService, spec: { service: { name: 7 } } })).toEqual([]);
});

it('the Service that converts the objects of a definition is found', () => {
  const definition = (conversion?: object): KubeObject => ({
    apiVersion: 'v1',
    kind: 'D',
    metadata: {},
    spec: { conversion },
  });
  const webhook = { clientConfig: { service } };
  expect(conversionServiceOf(definition({ strategy: 'Webhook', webhook }))).toEqual(service);
  expect(conversionServiceOf(definition({ strategy: 'None', webhook }))).toBeUndefined();
  expect(conversionServiceOf(definition())).toBeUndefined();
});

it('the labels of pods are those of the template, or those of the Pod itself', () => {
  const labels = { app: 'guard' };
  const template = { metadata: { labels } };
  const of = (object: Partial<KubeObject>) =>
    podLabelsOf({ apiVersion: 'v1', kind: 'Rollout', metadata: { labels: { a: 'b' } }, ...object });
  expect(of({ spec: { template } })).toEqual(labels);
  expect(of({ kind: 'Pod', metadata: { labels } })).toEqual(labels);
  expect(of({ spec: { template: {} } })).toEqual({});
  expect(of({ spec: {} })).toBeUndefined();
});

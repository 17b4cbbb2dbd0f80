import { beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import { HandlerBench } from './handler-bench.ts';

const corePath = '/api/v1/namespaces/shop/events';
const newPath = '/apis/events.k8s.io/v1/namespaces/shop/events';

let api: HandlerBench;
beforeEach(() => {
  api = new HandlerBench({ store: new MemoryStore() });
});

const coreEvent: KubeObject = {
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: 'old', namespace: 'shop' },
  involvedObject: { kind: 'Pod', name: 'p', namespace: 'shop' },
  reason: 'Pulled',
  message: 'the image is there',
  type: 'Normal',
  source: { component: 'kubelet' },
  firstTimestamp: '2026-01-01T00:00:00Z',
  lastTimestamp: '2026-01-01T00:00:01Z',
  count: 2,
  reportingComponent: 'kubelet',
  reportingInstance: 'node-1',
};
const newEvent: KubeObject = {
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { name: 'new', namespace: 'shop' },
  regarding: { kind: 'Job', name: 'j', namespace: 'shop' },
  reason: 'Completed',
  note: 'the job is done',
  type: 'Normal',
  action: 'Complete',
  eventTime: '2026-01-01T00:00:02.000000Z',
  reportingController: 'job-controller',
  reportingInstance: 'x',
};

interface List {
  readonly items: readonly KubeObject[];
}

describe('an Event', () => {
  it('is one object in both APIs, with the names of fields of each', async () => {
    api.space.create(coreEvent);
    api.space.create(newEvent);
    const asNew = await api.get<KubeObject>(`${newPath}/old`);
    expect(asNew).toMatchObject({
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      regarding: { name: 'p' },
      note: 'the image is there',
      deprecatedSource: { component: 'kubelet' },
      deprecatedCount: 2,
      deprecatedFirstTimestamp: '2026-01-01T00:00:00Z',
      deprecatedLastTimestamp: '2026-01-01T00:00:01Z',
      reportingController: 'kubelet',
    });
    expect(asNew).not.toHaveProperty('message');
    const asCore = await api.get<KubeObject>(`${corePath}/new`);
    expect(asCore).toMatchObject({
      apiVersion: 'v1',
      involvedObject: { kind: 'Job', name: 'j' },
      message: 'the job is done',
      reportingComponent: 'job-controller',
      eventTime: '2026-01-01T00:00:02.000000Z',
    });
    expect(asCore).not.toHaveProperty('note');
    expect(asCore.metadata.uid).toBe((await api.get<KubeObject>(`${newPath}/new`)).metadata.uid);
  });

  it('is in the lists of both APIs, and selected by the names of fields of each', async () => {
    api.space.create(coreEvent);
    api.space.create(newEvent);
    const names = async (path: string) => (await api.get<List>(path)).items.map(({ metadata }) => metadata.name);
    expect(await names(corePath)).toEqual(['new', 'old']);
    expect(await names(newPath)).toEqual(['new', 'old']);
    expect(await names(`${corePath}?fieldSelector=involvedObject.name=j`)).toEqual(['new']);
    expect(await names(`${newPath}?fieldSelector=regarding.name=p,reportingController=kubelet`)).toEqual(['old']);
    const list = await api.get<List>('/apis/events.k8s.io/v1/events?limit=1');
    expect(list.items[0]).toMatchObject({ apiVersion: 'events.k8s.io/v1', note: 'the job is done' });
  });

  it('changes in both APIs, by an update, a patch and an apply in either form', async () => {
    api.space.create(newEvent);
    const live = await api.get<KubeObject>(`${newPath}/new`);
    expect(() => api.space.update({ ...live, note: 'updated' })).toThrow('message: Invalid value: "updated": field is');
    const series = { count: 2, lastObservedTime: '2026-01-01T00:00:02.000000Z' };
    api.space.update({ ...live, series });
    expect(await api.get(`${corePath}/new`)).toMatchObject({ series });
    const newKey = { group: 'events.k8s.io', resource: 'events', namespace: 'shop', name: 'new' };
    const patched = api.space.patch(newKey, {
      type: 'strategic',
      patch: { series: { count: 3, lastObservedTime: '2026-01-01T00:00:03.000000Z' } },
    });
    expect(patched).toMatchObject({ apiVersion: 'events.k8s.io/v1', series: { count: 3 } });
    expect(await api.get(`${corePath}/new`)).toMatchObject({ series: { count: 3 } });
    const core = await api.get<KubeObject>(`${corePath}/new`);
    api.space.update({ ...core, message: 'from the other side' });
    expect(await api.get(`${newPath}/new`)).toMatchObject({ note: 'from the other side', regarding: { name: 'j' } });
  });

  it('is deleted in both APIs', async () => {
    api.space.create(coreEvent);
    api.space.delete({ group: 'events.k8s.io', resource: 'events', namespace: 'shop', name: 'old' });
    expect((await api.get<List>(corePath)).items).toEqual([]);
    api.space.create(newEvent);
    await api.call('DELETE', newPath);
    expect((await api.get<List>(newPath)).items).toEqual([]);
  });

  it('exists once: a second Event with its name is refused in the other API too', () => {
    api.space.create(coreEvent);
    expect(() => api.space.create({ ...newEvent, metadata: coreEvent.metadata })).toThrow(/already exists/);
  });
});

import { describe, expect, it } from 'vitest';
import type { JsonObject, KubeObject, ManagedFieldsEntry } from '../../../../core/object/meta.ts';
import { formerBytes, mergePatchOf, siteForm, withFormerValues } from '../../../../edge-agent/apply/former-form.ts';

const entry = (manager: string, operation: 'Apply' | 'Update', fieldsV1: object): ManagedFieldsEntry => ({
  manager,
  operation,
  apiVersion: 'v1',
  fieldsType: 'FieldsV1',
  fieldsV1: fieldsV1 as JsonObject,
});
const map = (
  data: object | undefined,
  managedFields: ManagedFieldsEntry[] = [],
  metadata: object = {},
): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', ...metadata, ...(managedFields.length > 0 ? { managedFields } : {}) },
  ...(data ? { data } : {}),
});
const data = (...names: string[]) => ({ 'f:data': Object.fromEntries(names.map((name) => [`f:${name}`, {}])) });

describe('the form of the site', () => {
  it('has the former values where only the agent owns the field, and the present values elsewhere', () => {
    const live = map({ a: 'hub', b: 'both', c: 'site', d: 'new' }, [
      entry('banyan', 'Apply', data('a', 'b')),
      entry('site', 'Update', data('b', 'c', 'd')),
    ]);
    expect(siteForm(live, map({ a: '1', b: '2', c: '3' })).data).toEqual({ a: '1', b: 'both', c: 'site', d: 'new' });
  });

  it('has neither a field nor an empty map that only the agent added', () => {
    const own = { 'f:data': { '.': {}, 'f:a': {} }, 'f:metadata': { 'f:labels': { 'f:banyan.io/managed': {} } } };
    const live = map({ a: 'hub' }, [entry('banyan', 'Apply', own)], { labels: { 'banyan.io/managed': 'true' } });
    const form = siteForm(live, map(undefined));
    expect(form).not.toHaveProperty('data');
    expect(form.metadata).not.toHaveProperty('labels');
  });

  it('has a list that is owned as a whole as it was, and keeps a value whose shape has changed', () => {
    const live = { ...map(undefined, [entry('banyan', 'Apply', { 'f:subjects': {}, 'f:spec': { 'f:a': {} } })]) };
    Object.assign(live, { subjects: ['hub'], spec: { a: 1 } });
    const former = { ...map(undefined), subjects: ['x', 'y'], spec: 'text' };
    expect(siteForm(live, former)).toMatchObject({ subjects: ['x', 'y'] });
  });

  it('has the former item of a list, also if the item leaves out the default of a key', () => {
    const port = 'k:{"port":80,"protocol":"TCP"}';
    const own = { 'f:spec': { 'f:ports': { [port]: { '.': {}, 'f:port': {}, 'f:targetPort': {} } } } };
    const live = { ...map(undefined, [entry('banyan', 'Apply', own)]), spec: { ports: [{ port: 80, targetPort: 2 }] } };
    const former = { ...map(undefined), spec: { ports: [{ name: 'x', port: 80, targetPort: 1 }] } };
    expect(siteForm(live, former)).toMatchObject({ spec: { ports: [{ port: 80, targetPort: 1 }] } });
  });

  it('is kept without the status and the list of managers', () => {
    const live = { ...map({ a: '1' }, [entry('site', 'Update', data('a'))]), status: { ready: true } };
    const kept = JSON.parse(Buffer.from(formerBytes(live)).toString()) as object;
    expect(kept).toEqual({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { a: '1' } });
  });
});

describe('the applied object', () => {
  const live = map({ a: 'hub', b: 'hub' }, [entry('banyan', 'Apply', data('a', 'b'))]);

  it('has the former value of a field that the agent owns and that is not desired any more', () => {
    expect(withFormerValues(map({ b: 'new' }), map({ a: '1', b: '2', c: '3' }), live).data).toEqual({
      a: '1',
      b: 'new',
    });
  });

  it('does not have the former value of a field that the agent does not own', () => {
    expect(withFormerValues(map({}), map({ c: '3' }), live).data).toEqual({});
  });

  it('has the former item of a list with keys', () => {
    const own = { 'f:ports': { 'k:{"port":1}': { '.': {}, 'f:port': {} }, 'k:{"port":2}': { '.': {}, 'f:name': {} } } };
    const ports = (...items: object[]): KubeObject => ({ ...map(undefined), ports: items });
    const now = { ...ports({ port: 1 }, { port: 2, name: 'hub' }) };
    now.metadata.managedFields = [entry('banyan', 'Apply', own)];
    const former = ports({ port: 2, name: 'site', other: 'x' }, { port: 3 });
    expect(withFormerValues(ports({ port: 1 }), former, now).ports).toEqual([{ port: 1 }, { port: 2, name: 'site' }]);
  });
});

describe('the merge patch', () => {
  it.each([
    [{ a: 1, b: { c: 1, d: 2 } }, { a: 1, b: { c: 1, d: 2 } }, {}],
    [{ a: 1, b: { c: 1, d: 2 } }, { b: { c: 1, d: 3 } }, { a: null, b: { d: 3 } }],
    [{ a: [1, 2] }, { a: [1] }, { a: [1] }],
    [{ a: { b: 1 } }, { a: 'text' }, { a: 'text' }],
    [{}, { a: { b: 1 } }, { a: { b: 1 } }],
  ])('from %j to %j', (from, to, patch) => {
    expect(mergePatchOf(from, to)).toEqual(patch);
  });
});

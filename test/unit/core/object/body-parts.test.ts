import { describe, expect, it } from 'vitest';
import { hasSameField, headOf, withHead } from '../../../../core/object/body-parts.ts';
import { canonicalBytes, parseBody } from '../../../../core/object/canonical.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';

const objects: readonly KubeObject[] = [
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } },
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { '"status":{': '}\\",{' }, immutable: true },
  { apiVersion: 'a/v1', kind: 'A', metadata: { name: 'a', labels: { '}': '{' } }, spec: [[{}], '"'], zone: null },
  { apiVersion: 'a/v1', kind: 'A', metadata: { name: 'a' }, count: 5, status: { metadata: { a: [1, '\\'] } }, zone: 7 },
  { apiVersion: 'a/v1', kind: 'A', metadata: { name: 'a' }, spec: { status: {} }, status: {} },
];

describe('canonical bytes', () => {
  it.each(objects)('show their metadata and status: %j', (object) => {
    const { apiVersion, kind, metadata, status } = object;
    const head = { apiVersion, kind, metadata, ...(status === undefined ? {} : { status }) };
    expect(headOf(canonicalBytes(object))).toEqual(head);
  });

  it.each(objects)('are the same with a new head as those of the new object: %j', (object) => {
    const metadata = { ...object.metadata, finalizers: ['a/b'] };
    for (const next of [
      { ...object, metadata },
      { ...object, metadata, status: { phase: 'New' } },
    ])
      expect(parseBody(withHead(canonicalBytes(object), next))).toEqual(parseBody(canonicalBytes(next)));
    const next = { ...object, metadata, status: { phase: 'New' } };
    expect(Buffer.from(withHead(canonicalBytes(object), next)).toString()).toBe(
      Buffer.from(canonicalBytes(next)).toString(),
    );
  });

  it('are compared field by field', () => {
    const [, one, other, third] = objects.map(canonicalBytes);
    expect(hasSameField(one!, one!, 'data')).toBe(true);
    expect(hasSameField(one!, other!, 'spec')).toBe(false);
    expect(hasSameField(other!, third!, 'metadata')).toBe(false);
    expect(hasSameField(other!, third!, 'kind')).toBe(true);
    expect(hasSameField(other!, third!, 'data')).toBe(true);
  });

  it('lose their status with a head that has none', () => {
    const { status: _, ...rest } = objects[3]!;
    expect(withHead(canonicalBytes(objects[3]!), rest as KubeObject)).toEqual(canonicalBytes(rest as KubeObject));
  });
});

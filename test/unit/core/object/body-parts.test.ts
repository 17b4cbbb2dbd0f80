import { describe, expect, it } from 'vitest';
import { BodyParts, headOf } from '../../../../core/object/body-parts.ts';
import { canonicalBytes, parseBody } from '../../../../core/object/canonical.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';

const objects: readonly KubeObject[] = [
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } },
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { '"status":{': '}\\",{' }, immutable: true },
  {
    apiVersion: 'a/v1',
    kind: 'A',
    metadata: { name: 'a', labels: { '}': '{', ü: 'ß€' } },
    spec: [[{}], '"'],
    zone: null,
    größe: 5,
  },
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
      expect(parseBody(new BodyParts(canonicalBytes(object)).withHead(next))).toEqual(parseBody(canonicalBytes(next)));
    const next = { ...object, metadata, status: { phase: 'New' } };
    expect(Buffer.from(new BodyParts(canonicalBytes(object)).withHead(next)).toString()).toBe(
      Buffer.from(canonicalBytes(next)).toString(),
    );
  });

  it('are compared field by field', () => {
    const [, one, other, third] = objects;
    const of = (object: KubeObject | undefined) => new BodyParts(canonicalBytes(object!));
    expect(of(one).hasSame('data', of(one))).toBe(true);
    expect(of(one).hasSame('spec', of(other))).toBe(false);
    expect(of(other).hasSame('metadata', of(third))).toBe(false);
    expect(of(other).hasSame('kind', of(third))).toBe(true);
    expect(of(other).hasSame('data', of(third))).toBe(true);
  });

  it('lose their status with a head that has none', () => {
    const { status: _, ...rest } = objects[3]!;
    expect(new BodyParts(canonicalBytes(objects[3]!)).withHead(rest as KubeObject)).toEqual(
      canonicalBytes(rest as KubeObject),
    );
  });
});

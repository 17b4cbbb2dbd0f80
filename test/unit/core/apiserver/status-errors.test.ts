import { describe, expect, it } from 'vitest';
import { invalidObject } from '../../../../core/apiserver/status-errors.ts';
import { refusal, testSpace } from './kinds/space-support.ts';

describe('an object with very many faults', () => {
  it('reports a hundred of them, and the number of the others', () => {
    const causes = Array.from({ length: 250 }, (_, i) => ({
      reason: 'FieldValueInvalid',
      message: 'wrong',
      field: `f${i}`,
    }));
    const { message, details } = invalidObject({ group: '', kind: 'Pod' }, 'a', causes);
    expect(details.causes).toHaveLength(101);
    expect(details.causes!.at(-1)!.message).toBe('150 more fields have mistakes');
    expect(message).toMatch(/^Pod "a" is invalid: \[f0: wrong, .*, f99: wrong, 150 more fields have mistakes\]$/);
  });

  it('costs little: the message once named every pair of controller owners, until the process ran out of memory', () => {
    const ownerReferences = Array.from({ length: 10_000 }, (_, i) => ({ uid: `${i}`, controller: true }));
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'shop', ownerReferences } };
    const { code, message } = refusal(() => testSpace().space.create(object as never));
    expect(code).toBe('Invalid');
    expect(message.length).toBeLessThan(20_000);
  });
});

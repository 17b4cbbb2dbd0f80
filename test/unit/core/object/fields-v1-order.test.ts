import { describe, expect, it } from 'vitest';
import { canonicalBytes } from '../../../../core/object/canonical.ts';
import { sortFieldsV1 } from '../../../../core/object/fields-v1-order.ts';

const port = (port: unknown, more: object = { protocol: 'TCP' }) => `k:${JSON.stringify({ port, ...more })}`;

describe('the members of FieldsV1', () => {
  it.each<[string, string[]]>([
    ['fields by name', ['.', 'f:a', 'f:a1', 'f:b']],
    ['items by the numbers of their keys', ['.', port(80), port(443), port(8080)]],
    ['items by the next key if the first one is equal', [port(53, { protocol: 'TCP' }), port(53, { protocol: 'UDP' })]],
    ['items with fewer keys first', [port(80, {}), port(80)]],
    ['numbers before texts before booleans before null', [port(5), port('5'), port(true), port(null)]],
    ['values by size', ['v:-1', 'v:9', 'v:10', 'v:9223372036854775806', 'v:9223372036854775807']],
    ['texts that are no JSON as texts', ['k:', 'k:{', 'k:{a']],
  ])('have an order: %s', (_, names) => {
    expect(sortFieldsV1(names.toReversed())).toEqual(names);
  });

  it('have this order in the bytes of an object, and its other fields are sorted by name', () => {
    const fieldsV1 = { 'f:spec': { 'f:ports': { [port(443)]: {}, [port(80)]: {}, '.': {} } } };
    const object = { kind: 'Service', apiVersion: 'v1', metadata: { name: 'a', managedFields: [{ fieldsV1 }] } };
    expect(Buffer.from(canonicalBytes({ ...object, 'v:443': 1, 'v:80': 2 })).toString()).toBe(
      `{"metadata":{"managedFields":[{"fieldsV1":{"f:spec":{"f:ports":{".":{},${JSON.stringify(port(80))}:{},${JSON.stringify(port(443))}:{}}}}}],"name":"a"},"apiVersion":"v1","kind":"Service","v:443":1,"v:80":2}`,
    );
  });
});

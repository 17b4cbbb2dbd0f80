import { expect, it } from 'vitest';
import { checkScaleValues } from '../../../../../core/apiserver/crd/scale-values.ts';
import type { Cause } from '../../../../../core/runtime/errors.ts';

const paths = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };

function flaws(object: object, isStatus = false, more: object = {}): string[] {
  const causes: Cause[] = [];
  checkScaleValues(object, { ...paths, ...more }, isStatus, causes);
  return causes.map(({ field, message }) => `${field}: ${message}`);
}

it.each<[string, object, string[]]>([
  ['absent fields', {}, []],
  ['a null on the way', { spec: null }, []],
  ['numbers', { spec: { replicas: 3 }, status: { replicas: 0 } }, []],
  [
    'a text',
    { spec: { replicas: '3' } },
    ['.spec.replicas: Invalid value: 0: .spec.replicas accessor error: 3 is of the type string, expected int64'],
  ],
  [
    'a null as the number',
    { spec: { replicas: null } },
    ['.spec.replicas: Invalid value: 0: .spec.replicas accessor error: <nil> is of the type <nil>, expected int64'],
  ],
  [
    'a text on the way',
    { spec: 'x' },
    [
      '.spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected map[string]interface{}',
    ],
  ],
  [
    'fewer than none',
    { spec: { replicas: -1 } },
    ['.spec.replicas: Invalid value: -1: should be a non-negative integer'],
  ],
  [
    'more than 32 bits',
    { status: { replicas: 2 ** 31 } },
    ['.status.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647'],
  ],
  [
    'more digits than a double holds',
    { spec: { replicas: 9_007_199_254_740_993n } },
    ['.spec.replicas: Invalid value: 9007199254740993: should be less than or equal to 2147483647'],
  ],
])('%s', (_name, object, expected) => expect(flaws(object)).toEqual(expected));

it('a write of the status does not concern the spec', () => {
  expect(flaws({ spec: { replicas: -1 }, status: { replicas: -2 } }, true)).toHaveLength(1);
});

it('the selector has to be a text', () => {
  expect(flaws({ status: { selector: 1 } }, false, { labelSelectorPath: '.status.selector' })).toEqual([
    '.status.selector: Invalid value: "": .status.selector accessor error: 1 is of the type int64, expected string',
  ]);
});

/** Configurations of server-side applies with lists whose items nobody can tell apart. The answers of Kubernetes to more of them are in test/fixtures/validation/. */
import { expect, it } from 'vitest';
import { ownSpace } from '../../../../support/differential/answers.ts';

function refusal(fields: object): string {
  const config = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'till', namespace: 'valid' },
    ...fields,
  };
  try {
    ownSpace().apply(config, { fieldManager: 'team', fieldValidation: 'Ignore' });
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

const object = 'failed to create typed patch object (valid/till; /v1, Kind=ServiceAccount): ';
const withoutKey = `associative list with keys has an element that omits all key fields ["name"] (and doesn't have default values for any key fields)`;

it('items with keys are taken', () => {
  expect(refusal({ secrets: [{ name: 'a' }, { name: 'b' }] })).toBe('');
});

it('an item without a key is refused, and the items behind it are not looked at', () => {
  const secrets = [{ name: 'a' }, { kind: 'Secret' }, { name: 'a' }];
  expect(refusal({ secrets })).toBe(`${object}.secrets: element 1: ${withoutKey}`);
});

it('all mistakes of a configuration are named together, also beside unknown fields', () => {
  expect(refusal({ secrets: [{}], spec: 1 })).toBe(
    `${object}errors:\n  .spec: field not declared in schema\n  .secrets: element 0: ${withoutKey}`,
  );
});

/** Statuses that users write, with the answers of kube-apiserver 1.34, recorded by test/support/differential/record-statuses.ts. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Space } from '../../../../../../core/apiserver/space.ts';
import { baseObjects, kindOf, ownAnswer, ownSpace } from '../../../../../support/differential/answers.ts';

interface Recorded {
  readonly kind: string;
  readonly status: object;
  readonly answer: readonly string[];
}

const file = new URL('../../../../../fixtures/validation/status-answers.json', import.meta.url);
const recorded = JSON.parse(readFileSync(file, 'utf8')) as readonly Recorded[];
const withStatusOf = (kind: string) => baseObjects.find((one) => one.kind === kind)!;
const user = { name: 'jo', groups: [] };

function written(space: Space, kind: string, status: object, by?: typeof user): readonly string[] {
  const object = withStatusOf(kind);
  const stored = space.get(space.keyOf(object)) ?? space.create(object);
  const options = { dryRun: true, subresource: 'status' as const, ...(by ? { user: by } : {}) };
  return ownAnswer(() => space.update({ ...stored, status }, options));
}

it.each(recorded.map((one) => [one.kind, JSON.stringify(one.status), one] as const))(
  'a %s with the status %s gets the answer of Kubernetes',
  (_kind, _status, { kind, status, answer }) => {
    expect(kindOf(withStatusOf(kind)).subresources.status).toBe(true);
    expect(written(ownSpace(), kind, status, user)).toEqual(answer);
  },
);

it('a status that a node sums up is not checked: counts of several clusters need not fit together', () => {
  const status = { replicas: 1, availableReplicas: 2 };
  expect(written(ownSpace(), 'Deployment', status, user)).not.toEqual([]);
  expect(written(ownSpace(), 'Deployment', status)).toEqual([]);
});

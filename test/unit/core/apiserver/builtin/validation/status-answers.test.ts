/** Statuses that users write, with the answers of kube-apiserver 1.34, recorded by test/support/differential/record-statuses.ts. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Space } from '../../../../../../core/apiserver/space.ts';
import { kindOf, ownAnswer, ownSpace } from '../../../../../support/differential/answers.ts';
import { objectWithStatus } from '../../../../../support/differential/status-changes.ts';

interface Recorded {
  readonly kind: string;
  /** The status that the write follows. Absent: the object is new. */
  readonly before?: object;
  readonly status: object;
  readonly answer: readonly string[];
}

const file = new URL('../../../../../fixtures/validation/status-answers.json', import.meta.url);
const recorded = JSON.parse(readFileSync(file, 'utf8')) as readonly Recorded[];
const user = { name: 'jo', groups: [] };

function written(space: Space, kind: string, status: object, by?: typeof user): readonly string[] {
  const object = objectWithStatus(kind);
  const stored = space.get(space.keyOf(object)) ?? space.create(object);
  const options = { dryRun: true, subresource: 'status' as const, ...(by ? { user: by } : {}) };
  return ownAnswer(() => space.update({ ...stored, status }, options));
}

it.each(recorded.map((one) => [one.kind, JSON.stringify(one.status), JSON.stringify(one.before ?? {}), one] as const))(
  'a %s with the status %s after %s gets the answer of Kubernetes',
  (_kind, _status, _before, { kind, before, status, answer }) => {
    expect(kindOf(objectWithStatus(kind)).subresources.status).toBe(true);
    const space = ownSpace();
    if (before) space.update({ ...space.create(objectWithStatus(kind)), status: before }, { subresource: 'status' });
    expect(written(space, kind, status, user)).toEqual(answer);
  },
);

it('a status that a node sums up is not checked: counts of several clusters need not fit together', () => {
  const status = { replicas: 1, availableReplicas: 2 };
  expect(written(ownSpace(), 'Deployment', status, user)).not.toEqual([]);
  expect(written(ownSpace(), 'Deployment', status)).toEqual([]);
});

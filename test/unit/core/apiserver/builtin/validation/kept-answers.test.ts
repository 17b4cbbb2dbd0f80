/** Objects of every kind with the answers of kube-apiserver 1.34, recorded by test/support/differential/record.ts. test/long/kubernetes-validation asks a living one. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { baseObjects, checkedWrite, kindOf, ownAnswer, ownSpace } from '../../../../../support/differential/answers.ts';
import { type Change, changed } from '../../../../../support/differential/wrong-objects.ts';

interface Kept {
  readonly of: string;
  readonly changes: readonly Change[];
  readonly answer: readonly string[];
}

const file = new URL('../../../../../fixtures/validation/kept-answers.json', import.meta.url);
const all = JSON.parse(readFileSync(file, 'utf8')) as readonly Kept[];
const space = ownSpace();
const idOf = ({ apiVersion, kind }: { apiVersion: string; kind: string }) => `${apiVersion} ${kind}`;

describe.each(baseObjects.map((object) => [idOf(object), object] as const))('%s', (id, object) => {
  it('is accepted when it is valid', () => {
    expect(ownAnswer(() => space.create(object, checkedWrite))).toEqual([]);
  });

  it('is refused for the causes that Kubernetes names', () => {
    const type = kindOf(object).schema(object.apiVersion.split('/').at(-1)!);
    for (const { changes, answer } of all.filter(({ of }) => of === id)) {
      const next = changed(object, type, changes);
      expect(
        ownAnswer(() => space.create(next, checkedWrite)),
        JSON.stringify(changes),
      ).toEqual(answer);
    }
  });
});

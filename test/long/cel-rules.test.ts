/** Rules of CustomResourceDefinitions: a real API server, a space and an embedded cluster give the same answers to the same rules. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubectlBy, LocalTree, type Ran, until } from '../e2e/local-tree.ts';
import { buildMsMax } from '../e2e/one-site.ts';
import { type CelAnswer, celCaseSchema, celCases, celCaseValue } from '../support/cel-cases.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { definitionOf } from '../support/definition.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const rules = Object.values(celCases)
  .flat()
  .map(([rule]) => rule);
const expected = Object.values(celCases)
  .flat()
  .map(([, answer]) => answer);

/** A space names no more mistakes at once. One is for the cost of all rules. */
const refusedAtOnceMax = 99;

type Kubectl = (args: readonly string[], input?: object) => Ran;

/** The message of each rule is its index. */
const definition = (left: readonly number[]) => {
  const validations = left.map((index) => ({ rule: rules[index], message: `rule ${index}` }));
  const spec = { ...celCaseSchema, 'x-kubernetes-validations': validations };
  return definitionOf({ group: 'cel.example.com', kind: 'Case', properties: { spec } });
};
const object = {
  apiVersion: 'cel.example.com/v1',
  kind: 'Case',
  metadata: { name: 'one', namespace: 'default' },
  spec: celCaseValue,
};

async function answersOf(kubectl: Kubectl): Promise<CelAnswer[]> {
  const answers: CelAnswer[] = rules.map(() => true);
  const all = rules.map((_, index) => index);
  for (let from = 0; from < rules.length; from += refusedAtOnceMax) {
    const some = all.slice(from, from + refusedAtOnceMax);
    const refusal = kubectl(['create', '--dry-run=server', '-f', '-'], definition(some));
    for (const [, position] of refusal.out.matchAll(/x-kubernetes-validations\[(\d+)\]\.rule: /g)) {
      answers[some[Number(position)]!] = 'refused';
    }
  }
  const taken = kubectl(['create', '-f', '-'], definition(all.filter((index) => answers[index] !== 'refused')));
  expect(taken.code, taken.out).toBe(0);
  let checked = '';
  await until('the kind is served', () => {
    checked = kubectl(['create', '--dry-run=server', '-f', '-'], object).out;
    return checked.includes('rule ');
  });
  for (const line of checked.split('\n')) {
    const [, index] = /rule (\d+)\s*$/.exec(line) ?? [];
    if (index !== undefined) answers[Number(index)] = /(?:evaluating|for) rule: rule/.test(line) ? 'error' : false;
  }
  return answers;
}

describe.skipIf(missing)(`rules of definitions${why}`, () => {
  const tree = new LocalTree('test/e2e/removal-order-topology.yaml');
  const directory = mkdtempSync(join(tmpdir(), 'banyan-cel-'));
  let plane: ControlPlane;
  const inTree =
    (context: string): Kubectl =>
    (args, input) =>
      tree.kubectl(context, args, input && JSON.stringify(input));

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory });
    await tree.up('--no-restart');
  }, buildMsMax);
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('are answered by a real API server as the cases say', async () => {
    const real: Kubectl = (args, input) => kubectlBy(plane.kubeconfig, args, input && JSON.stringify(input));
    expect(shown(await answersOf(real))).toEqual(shown(expected));
  });

  it.each(['space/center/retail', 'cluster/eu:rivoli'])('are answered alike by %s', async (context) => {
    expect(shown(await answersOf(inTree(context)))).toEqual(shown(expected));
  });
});

function shown(answers: readonly CelAnswer[]): string[] {
  return answers.map((answer, index) => `${rules[index]}: ${answer}`);
}

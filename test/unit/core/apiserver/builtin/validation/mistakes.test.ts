/** The mistakes of people, with the answers of kube-apiserver 1.34, recorded by test/support/differential/record-mistakes.ts. */
import { readFileSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { acceptedMistakes } from '../../../../../support/differential/accepted-differences.ts';
import { baseObjects, urlOf } from '../../../../../support/differential/answers.ts';
import { askOwn } from '../../../../../support/differential/asked.ts';
import { mistakes } from '../../../../../support/differential/mistakes.ts';
import { HandlerBench } from '../../http/handler-bench.ts';

const file = new URL('../../../../../fixtures/validation/mistake-answers.json', import.meta.url);
const recorded = JSON.parse(readFileSync(file, 'utf8')) as readonly { name: string; answer?: readonly string[] }[];
const bench = new HandlerBench();
const asked = mistakes().filter(({ isSetup }) => !isSetup);

beforeAll(async () => {
  bench.space.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'valid' } });
  for (const body of baseObjects)
    await askOwn(bench, { method: 'POST', url: urlOf(body), type: 'application/json', body });
  for (const one of mistakes().filter(({ isSetup }) => isSetup)) await askOwn(bench, one);
});

it('each mistake has a recorded answer', () => {
  expect(recorded.map(({ name }) => name)).toEqual(asked.map(({ name }) => name));
});

it.each(recorded.map((one, i) => [one.name, one.answer, asked[i]!] as const))('%s', async (name, answer, mistake) => {
  if (!answer) return;
  const own = await askOwn(bench, mistake);
  if (name in acceptedMistakes) expect(own, acceptedMistakes[name]).not.toEqual(answer);
  else expect(own).toEqual(answer);
});

/**
 * Prints generated objects with the answers of a real API server, for test/fixtures/validation/kept-answers.json:
 * `node test/support/differential/record.ts KUBECONFIG`. The short test compares the rules with them, without a control plane.
 */
import { SeededRandom } from '../../../core/runtime/random.ts';
import { ApiCaller } from '../api-caller.ts';
import { baseObjects, kindOf, realAnswer, urlOf } from './answers.ts';
import { type Change, changed } from './wrong-objects.ts';

const [kubeconfig = ''] = process.argv.slice(2);
/** As many answers as the file holds in 100 KB. Each of them has a cause that no other one has. */
const keptMax = 600;
const triesMax = 12_000;

const random = new SeededRandom(40);
const number = () => Math.floor(random.fraction() * 1_000_000);
using api = new ApiCaller(kubeconfig);
const seen = new Set<string>();
const kept: string[] = [];
for (let i = 0; i < triesMax && kept.length < keptMax; i++) {
  const index = i % baseObjects.length;
  const object = baseObjects[index]!;
  const changes: Change[] = [[number(), number(), number()]];
  const next = changed(object, kindOf(object).schema(object.apiVersion.split('/').at(-1)!), changes);
  const answer = realAnswer(await api.call('POST', `${urlOf(next)}?dryRun=All&fieldValidation=Strict`, { body: next }));
  const causes = answer?.map((cause) => `${object.kind} ${cause.replaceAll(/\[\d+\]/g, '[]')}`) ?? [];
  if (!answer || !causes.some((cause) => !seen.has(cause))) continue;
  for (const cause of causes) seen.add(cause);
  kept.push(JSON.stringify({ of: `${object.apiVersion} ${object.kind}`, changes, answer }));
}
console.log(`[\n${kept.join(',\n')}\n]`);

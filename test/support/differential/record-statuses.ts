/**
 * Prints the answers of a real API server to changes of statuses, for test/fixtures/validation/status-answers.json:
 * `node test/support/differential/record-statuses.ts KUBECONFIG`. The cluster needs a namespace `valid` with nothing in it.
 */
import { ApiCaller } from '../api-caller.ts';
import { baseObjects, realAnswer, urlOf } from './answers.ts';
import { statusChanges } from './status-changes.ts';

const [kubeconfig = ''] = process.argv.slice(2);
using api = new ApiCaller(kubeconfig);
const lines: string[] = [];
for (const [kind, changes] of Object.entries(statusChanges)) {
  const object = baseObjects.find((one) => one.kind === kind)!;
  const path = `${urlOf(object)}/${object.metadata.name}`;
  for (const status of changes) {
    await api.call('POST', urlOf(object), { body: object });
    const stored = JSON.parse((await api.call('GET', path)).text) as object;
    const answer = await api.call('PUT', `${path}/status?dryRun=All`, { body: { ...stored, status } });
    lines.push(JSON.stringify({ kind, status, answer: realAnswer(answer) }));
  }
}
console.log(`[\n${lines.join(',\n')}\n]`);

/**
 * Prints the answers of a real API server to changes of statuses, for test/fixtures/validation/status-answers.json:
 * `node test/support/differential/record-statuses.ts KUBECONFIG`. The cluster needs a namespace `valid` with nothing in it.
 */
import { ApiCaller } from '../api-caller.ts';
import { realAnswer, urlOf } from './answers.ts';
import { followingStatuses, objectWithStatus, statusChanges } from './status-changes.ts';

const [kubeconfig = ''] = process.argv.slice(2);
using api = new ApiCaller(kubeconfig);
const lines: string[] = [];

async function put(kind: string, status: object, query: string) {
  const object = objectWithStatus(kind);
  const path = `${urlOf(object)}/${object.metadata.name}`;
  await api.call('POST', urlOf(object), { body: object });
  const stored = JSON.parse((await api.call('GET', path)).text) as object;
  return api.call('PUT', `${path}/status${query}`, { body: { ...stored, status } });
}

async function remove(kind: string) {
  const object = objectWithStatus(kind);
  await api.call('DELETE', `${urlOf(object)}/${object.metadata.name}`, { body: { propagationPolicy: 'Background' } });
}

await remove('Job');
for (const [kind, changes] of Object.entries(statusChanges)) {
  for (const status of changes) {
    const answer = await put(kind, status, '?dryRun=All');
    lines.push(JSON.stringify({ kind, status, answer: realAnswer(answer) }));
  }
}
for (const [kind, pairs] of Object.entries(followingStatuses)) {
  for (const [before, status] of pairs) {
    await remove(kind);
    const written = await put(kind, before, '');
    if (written.status !== 200) throw new Error(`${kind} ${JSON.stringify(before)}: ${written.text}`);
    const answer = await put(kind, status, '?dryRun=All');
    lines.push(JSON.stringify({ kind, before, status, answer: realAnswer(answer) }));
  }
}
console.log(`[\n${lines.join(',\n')}\n]`);

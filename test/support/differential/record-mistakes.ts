/**
 * Prints the answers of a real API server to the mistakes of people, for test/fixtures/validation/mistake-answers.json:
 * `node test/support/differential/record-mistakes.ts KUBECONFIG`. The cluster needs nothing but its own objects.
 */
import { ApiCaller } from '../api-caller.ts';
import { askReal } from './asked.ts';
import { BothServers } from './both-servers.ts';
import { mistakes } from './mistakes.ts';

const [kubeconfig = ''] = process.argv.slice(2);
using api = new ApiCaller(kubeconfig);
await api.call('POST', '/api/v1/namespaces', {
  body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'valid' } },
});
await new BothServers(api).store();
const lines: string[] = [];
for (const mistake of mistakes()) {
  const answer = await askReal(api, mistake);
  if (!mistake.isSetup) lines.push(JSON.stringify({ name: mistake.name, answer }));
}
console.log(`[\n${lines.join(',\n')}\n]`);

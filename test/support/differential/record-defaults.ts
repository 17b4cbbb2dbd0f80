/**
 * Prints the small objects as a real API server stores them, for test/fixtures/defaults/stored-forms.json:
 * `node test/support/differential/record-defaults.ts KUBECONFIG`. The cluster needs a namespace `valid`.
 */
import type { KubeObject } from '../../../core/object/meta.ts';
import { ApiCaller } from '../api-caller.ts';
import { smallObjects, urlOf } from './answers.ts';
import { storedForm } from './stored-form.ts';

const [kubeconfig = ''] = process.argv.slice(2);
using api = new ApiCaller(kubeconfig);
const lines: string[] = [];
for (const object of smallObjects) {
  const { status, text } = await api.call('POST', `${urlOf(object)}?dryRun=All`, { body: object });
  if (status >= 300) throw new Error(`${object.kind} ${object.metadata.name}: ${text}`);
  lines.push(JSON.stringify(storedForm(JSON.parse(text) as KubeObject)));
}
console.log(`[\n${lines.join(',\n')}\n]`);

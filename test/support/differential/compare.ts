/** Compares generated writes and prints the differences as JSON, one a line: `node test/support/differential/compare.ts KUBECONFIG SEED COUNT`. */
import { ApiCaller } from '../api-caller.ts';
import { createValidNamespace } from './answers.ts';
import { BothServers } from './both-servers.ts';

const [kubeconfig = '', seed = '1', count = '1000'] = process.argv.slice(2);
using api = new ApiCaller(kubeconfig);
await createValidNamespace(api);
const both = new BothServers(api);
await both.store();
const found = await both.differences(Number(seed), Number(count));
for (const difference of found) console.log(JSON.stringify(difference));
console.error(`${count} compared, ${found.length} differ`);

/**
 * Sends bodies and URLs that no honest client sends to a real API server and to an own one, and prints both answers where they differ:
 * `node test/support/differential/compare-bodies.ts KUBECONFIG`.
 */
import { BodyComparison } from './body-comparison.ts';

const [kubeconfig = ''] = process.argv.slice(2);
await using both = await BodyComparison.start(kubeconfig);
const found = await both.differences();
for (const difference of found) console.log(JSON.stringify(difference));
console.error(`${both.compared} compared, ${found.length} differ`);

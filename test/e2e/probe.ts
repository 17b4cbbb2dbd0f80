/**
 * A program that reads one path of several clusters, in the given order, again and again, and prints the result of each in a line: the available replicas of
 * a workload, the items of a list, or 0 for nothing. A process of its own, so that it continues while the test waits for kubectl.
 *
 * node probe.ts KUBECONFIG PATH CONTEXT...
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';

interface Named<T> {
  readonly name: string;
  readonly value: T;
}
interface Kubeconfig {
  readonly clusters: readonly { name: string; cluster: Record<string, string> }[];
  readonly users: readonly { name: string; user: Record<string, string> }[];
  readonly contexts: readonly { name: string; context: { cluster: string; user: string } }[];
}

/** The time between two rounds: shorter than a step of the embedded cluster, and little load. */
const roundMs = 20;

const [file = '', path = '', ...contexts] = process.argv.slice(2);
const config = parse(readFileSync(file, 'utf8')) as Kubeconfig;
const clusters = contexts.map(clusterOf);

for (;;) {
  const seen: number[] = [];
  for (const cluster of clusters) seen.push(await look(cluster.value));
  process.stdout.write(`${seen.join(' ')}\n`);
  await sleep(roundMs);
}

interface Endpoint {
  readonly url: string;
  readonly agent: Agent;
}

function clusterOf(name: string): Named<Endpoint> {
  const { context } = config.contexts.find((one) => one.name === name)!;
  const { cluster } = config.clusters.find((one) => one.name === context.cluster)!;
  const { user } = config.users.find((one) => one.name === context.user)!;
  const data = (of: Record<string, string>, key: string) =>
    of[`${key}-data`] === undefined ? readFileSync(of[key]!) : Buffer.from(of[`${key}-data`]!, 'base64');
  const agent = new Agent({
    keepAlive: true,
    ca: data(cluster, 'certificate-authority'),
    cert: data(user, 'client-certificate'),
    key: data(user, 'client-key'),
  });
  return { name, value: { url: cluster.server!, agent } };
}

function look({ url, agent }: Endpoint): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}${path}`, { agent }, (answer) => {
      let body = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        body += chunk;
      });
      answer.on('end', () => {
        if (answer.statusCode === 404) return resolve(0);
        if (answer.statusCode !== 200) return reject(new Error(`${url}${path}: ${answer.statusCode} ${body}`));
        const { items, status } = JSON.parse(body) as { items?: []; status?: { availableReplicas?: number } };
        resolve(items ? items.length : (status?.availableReplicas ?? 0));
      });
    });
    asked.on('error', reject);
    asked.end();
  });
}

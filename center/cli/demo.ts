/** `npm start`: the example tree, a workload with a placement, and its summary arriving. */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { ApiClient } from './api-client.ts';
import { findResource, objectPath } from './resources.ts';
import { endTree, startTree, untilSignal } from './up.ts';

const space = 'space/center/retail';
const placement = '/apis/edge.banyan.io/v1alpha1/edgeplacements/guestbook';
/** Everything is local: a minute means that something is broken. */
const readyWithinSeconds = 60;
const lookEveryMs = 100;

export async function demo(say: (line: string) => void): Promise<number> {
  const stop = untilSignal();
  const options = {
    file: shipped('deploy/topologies/shop.yaml'),
    data: resolve('.banyan/demo'),
    timeoutSeconds: readyWithinSeconds,
    detach: false,
    restart: true,
  };
  const { supervisor, data, readyMs } = await startTree(options, say);
  say(
    `ready after ${(readyMs / 1000).toFixed(1)} s: a center, four relays and six edge clusters, each a process of its own`,
  );
  const api = new ApiClient(data.kubeconfig);
  const workload = shipped('docs/examples/guestbook.yaml');
  say(`applying docs/examples/guestbook.yaml to ${space}`);
  await applyFile(api, workload);
  await showSummary(api, say);
  for (const line of nextThings(data.root, data.kubeconfig)) say(line);
  await stop;
  api.close();
  return endTree(supervisor, data);
}

async function applyFile(api: ApiClient, file: string): Promise<void> {
  for (const document of parseAllDocuments(readFileSync(file, 'utf8'))) {
    const object = document.toJS() as KubeObject;
    const resource = await findResource(api, space, object.kind);
    await api.apply(space, objectPath(resource, object.metadata.namespace ?? '', object.metadata.name!), object);
  }
}

async function showSummary(api: ApiClient, say: (line: string) => void): Promise<void> {
  const deadline = performance.now() + readyWithinSeconds * 1000;
  let shown = '';
  for (;;) {
    const status = (await api.get(space, placement))?.status as
      | { display?: string; conditions?: { type: string; status: string }[] }
      | undefined;
    const display = status?.display ?? '';
    if (display !== shown && display !== '') say(display);
    shown = display;
    if (status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True')) return;
    if (performance.now() > deadline)
      throw new BanyanError('Timeout', `the example is not available after ${readyWithinSeconds} s: ${shown}`);
    await new Promise((done) => setTimeout(done, lookEveryMs));
  }
}

function nextThings(data: string, kubeconfig: string): string[] {
  return [
    '',
    'Next things to try, in another terminal:',
    `  export KUBECONFIG=${kubeconfig}`,
    '  kubectl get epl,deploy -A',
    '  kubectl --context cluster/eu:paris:rivoli get pods -n guestbook',
    '  kubectl --context space/eu/center.retail get epl          # the same placement, summed up for one region',
    '  kubectl --context node/eu:berlin label location lab env=prod   # a sixth cluster',
    `  npm exec -- banyan tree --data ${data}`,
    `  npm exec -- banyan why deployment/frontend -n guestbook --at eu:paris:rivoli --data ${data}`,
    'Ctrl-C ends all of it.',
  ];
}

/** Files that come with the program: two folders up in a checkout, beside the bundles' folder in a package. */
function shipped(file: string): string {
  const inCheckout = fileURLToPath(new URL(`../../${file}`, import.meta.url));
  return existsSync(inCheckout) ? inCheckout : fileURLToPath(new URL(`../${file}`, import.meta.url));
}

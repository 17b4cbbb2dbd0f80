/** `npm start`: runs the example tree, deploys a workload with a placement, and shows how its summary arrives. */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Condition, KubeObject } from '../../core/object/meta.ts';
import { cliCommand, shellWord } from '../../core/runtime/cli-command.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { badFile } from '../../core/runtime/config-file.ts';
import { durationText } from '../../core/runtime/duration-text.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { parseYamlFiles } from '../../core/runtime/yaml-text.ts';
import type { DataDirectory } from '../supervisor/data-directory.ts';
import { NodeApiClient } from './api-client.ts';
import { findResource, objectPath } from './resources.ts';
import { placementOutput } from './status.ts';
import { endTree, startTree, untilSignal } from './up.ts';

const space = 'space/center/retail';
const name = 'guestbook';
const placement = `/apis/edge.banyan.io/v1alpha1/edgeplacements/${name}`;
const lookEveryMs = 100;

/** `timeoutSeconds`: how long the tree may need to become ready. After that, the workload has the same time to become available. */
export async function demo(timeoutSeconds: number, print: (line: string) => void): Promise<number> {
  const stop = untilSignal();
  const options = {
    file: shipped('deploy/topologies/shop.yaml'),
    data: resolve('.banyan/demo'),
    timeoutSeconds,
    detach: false,
    restart: true,
  };
  const { supervisor, data, readyMs } = await startTree(options, print, stop);
  if (readyMs === undefined) return endTree(supervisor, data);
  print(`ready after ${durationText(readyMs)}: a center, four relays and six edge clusters, each a process of its own`);
  const api = new NodeApiClient(data.kubeconfig);
  try {
    await Promise.race([showWorkload(api, data, timeoutSeconds * 1000, print), stop]);
    await stop;
  } finally {
    api.close();
    await endTree(supervisor, data);
  }
  return 0;
}

async function showWorkload(
  api: NodeApiClient,
  data: DataDirectory,
  withinMs: number,
  print: (line: string) => void,
): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + withinMs;
  const file = 'docs/examples/guestbook.yaml';
  print(`applying ${file} to ${space}`);
  await retryUntil(deadlineMs, () => applyFile(api, shipped(file)));
  let lastDisplay = '';
  for (;;) {
    const { display = '', isReady } = await retryUntil(deadlineMs, () => readStatus(api));
    if (display !== lastDisplay && display !== '') print(display);
    lastDisplay = display;
    if (isReady) break;
    if (systemClock.monotonicMs() > deadlineMs) throw await notAvailable(api, data, withinMs);
    await wait(lookEveryMs);
  }
  for (const line of nextThings(data)) print(line);
}

async function readStatus(
  api: NodeApiClient,
): Promise<{ readonly display?: string | undefined; readonly isReady: boolean }> {
  const status = (await api.get(space, placement))?.status;
  const { display, conditions } = (status ?? {}) as { display?: string; conditions?: Condition[] };
  return { display, isReady: conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false };
}

/** Repeats a request without an answer until the deadline, because a busy machine answers late. After the deadline, throws Timeout. */
async function retryUntil<T>(deadlineMs: number, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof BanyanError && error.code === 'Unavailable')) throw error;
      if (systemClock.monotonicMs() > deadlineMs) throw new BanyanError('Timeout', error.message, {}, { cause: error });
      await wait(lookEveryMs);
    }
  }
}

/** The error contains the placement's status, because the status disappears when the tree ends. */
async function notAvailable(api: NodeApiClient, data: DataDirectory, withinMs: number): Promise<BanyanError> {
  const question = { context: space, name, nowMs: Date.now() };
  const report = await placementOutput(api, question, true).then(({ text }) => text, describeError);
  return new BanyanError(
    'Timeout',
    `the EdgePlacement ${name} in ${space} was not Ready after ${durationText(withinMs)}; its last status:\n${report}\nThe logs of the nodes are in ${data.logs}; --timeout SECONDS waits longer`,
  );
}

async function applyFile(api: NodeApiClient, file: string): Promise<void> {
  const parsed = parseYamlFiles(readFileSync(file, 'utf8'));
  if ('problems' in parsed) throw badFile(file, parsed.problems);
  for (const document of parsed.value) {
    const object = document.value as KubeObject;
    const resource = await findResource(api, space, object.kind);
    await api.apply(space, objectPath(resource, object.metadata.namespace ?? '', object.metadata.name!), object);
  }
}

/** The commands that the demo suggests. A test runs each of them. */
function nextThings({ root, kubeconfig }: DataDirectory): string[] {
  const checkout = checkoutRoot();
  return [
    '',
    'Next things to try, in another terminal:',
    ...(checkout === undefined ? [] : [`  cd ${shellWord(checkout)}`]),
    `  export KUBECONFIG=${shellWord(kubeconfig)}`,
    '  kubectl get epl,deploy -A',
    '  kubectl --context fleet/center/retail get deploy -A       # the copies at all clusters',
    '  kubectl --context cluster/eu:paris:rivoli get pods -n guestbook',
    '  kubectl --context space/eu/center.retail get epl          # the same placement, summed up for one region',
    '  kubectl --context node/eu:berlin label location lab env=prod --overwrite   # a sixth cluster',
    "  kubectl wait epl/guestbook --for=jsonpath='{.status.summary.available}'=6 --timeout=2m",
    `  ${cliCommand('tree', '--data', root)}`,
    `  ${cliCommand('why', 'deployment/frontend', '-n', 'guestbook', '--at', 'eu:paris:rivoli', '--data', root)}`,
    'Ctrl-C ends all of it.',
  ];
}

/** The root of the checkout. Undefined: this is a package. npm finds the command of a checkout only from a folder inside the checkout. */
function checkoutRoot(): string | undefined {
  const root = new URL('../../', import.meta.url);
  return existsSync(new URL('center/cli/demo.ts', root)) ? fileURLToPath(root) : undefined;
}

/** The path of a file that belongs to the program. In a checkout, the file is two folders up. In a package, it is beside the folder of the bundles. */
function shipped(file: string): string {
  const inCheckout = fileURLToPath(new URL(`../../${file}`, import.meta.url));
  return existsSync(inCheckout) ? inCheckout : fileURLToPath(new URL(`../${file}`, import.meta.url));
}
